//! Excerpts of texts on one line: the beginning of a text, and the first place where two texts differ.

/// Characters of an excerpt.
const CHARACTERS: usize = 120;

/// Characters of an excerpt before the place where two texts differ.
const BEFORE: usize = 40;

/// The first 120 characters of a text, white space as single spaces, with `…` where more follow.
pub(in crate::inspect) fn beginning(text: &str) -> String {
    from(text, 0)
}

/// Both texts from shortly before the first character in which they differ, as [`beginning`] shows them, with `…` at
/// the front where more precede. For texts that differ in white space alone, their beginnings.
pub(in crate::inspect) fn parting(a: &str, b: &str) -> (String, String) {
    let same = flat(a).zip(flat(b)).take_while(|(a, b)| a == b).count();
    let parts = flat(a).nth(same) != flat(b).nth(same);
    let start = if parts && same > CHARACTERS / 2 { same - BEFORE } else { 0 };
    (from(a, start), from(b, start))
}

fn from(text: &str, start: usize) -> String {
    let mut shown = String::new();
    let mut rest = flat(text).skip(start);
    if start > 0 {
        shown.push('…');
    }
    shown.extend(rest.by_ref().take(CHARACTERS));
    if rest.next().is_some() {
        shown.push('…');
    }
    shown
}

/// The characters of a text, runs of white space as one space, none at either end.
fn flat(text: &str) -> impl Iterator<Item = char> + '_ {
    let words = text.split_whitespace().enumerate();
    // Control characters would act on a terminal.
    words.flat_map(spaced).map(|c| if c.is_control() { '\u{fffd}' } else { c })
}

fn spaced((at, word): (usize, &str)) -> impl Iterator<Item = char> + '_ {
    (at > 0).then_some(' ').into_iter().chain(word.chars())
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

    #[test]
    fn an_example_pair_shows_where_its_texts_part() {
        // Two equal beginnings would not show how the texts differ.
        let common = "word ".repeat(500);
        let (a, b) = parting(&format!("{common} one\n end"), &format!("{common}two end"));
        assert!(a.starts_with("…") && a.ends_with("word one end"), "{a}");
        assert!(b.starts_with("…") && b.ends_with("word two end"), "{b}");
        assert_eq!(parting("a b", "a c"), ("a b".to_owned(), "a c".to_owned()));
        let (a, b) = parting(&common, &format!("{common}more"));
        assert!(a.starts_with('…') && b.ends_with("word more"), "{a} {b}");
        assert_eq!(parting("a\nb", " a b"), ("a b".to_owned(), "a b".to_owned()));
        assert!(parting(&common, &common).0.starts_with("word"));
    }
}
