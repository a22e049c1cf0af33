//! The beginning of a text, on one line.

/// Characters shown of a text.
const CHARACTERS: usize = 120;

/// The first 120 characters of a text, white space as single spaces; `…` at the end when there is more.
pub(super) fn beginning(text: &str) -> String {
    let mut shown = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        for c in (count > 0).then_some(' ').into_iter().chain(word.chars()) {
            if count == CHARACTERS {
                shown.push('…');
                return shown;
            }
            // Control characters would act on a terminal.
            shown.push(if c.is_control() { '\u{fffd}' } else { c });
            count += 1;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_one_bounded_line() {
        assert_eq!(beginning("  one\n\ttwo  "), "one two");
        assert_eq!(beginning("a\x1b[31mb"), "a\u{fffd}[31mb");
        assert_eq!(beginning(&"ab ".repeat(40)), ["ab"; 40].join(" "));
        assert_eq!(beginning(&"é".repeat(120)), "é".repeat(120));
        assert_eq!(beginning(&"é".repeat(121)), format!("{}…", "é".repeat(120)));
        assert_eq!(beginning(""), "");
    }
}
