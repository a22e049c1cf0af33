//! Where two texts differ, on one line each: a little before, what is in one and not in the other, a little after.

use corpusdb::duplicates::DiffPart;

/// Characters shown of a text.
const WIDTH: usize = 68;
/// Characters shown before the first difference.
const BEFORE: usize = 24;

/// The beginning of a text, on one line.
pub(super) fn beginning(text: &str) -> String {
    let mut line = Line::default();
    line.push(text);
    line.end()
}

/// Both texts around their first difference: that which was removed, that which was kept. None where they are equal.
pub(super) fn around(parts: &[DiffPart]) -> Option<(String, String)> {
    let first = parts.iter().position(|part| !matches!(part, DiffPart::Same(_)))?;
    let mut lines = (Line::default(), Line::default());
    if let Some(DiffPart::Same(same)) = first.checked_sub(1).and_then(|at| parts.get(at)) {
        let words = plain(same);
        let count = words.chars().count();
        let tail: String = words.chars().skip(count.saturating_sub(BEFORE)).collect();
        let tail = if count > BEFORE { format!("…{tail}") } else { tail };
        lines.0.add(&tail);
        lines.1.add(&tail);
    }
    for part in parts.get(first..)? {
        match part {
            DiffPart::Same(text) => {
                lines.0.push(text);
                lines.1.push(text);
            }
            DiffPart::Removed(text) => lines.0.mark(text),
            DiffPart::Added(text) => lines.1.mark(text),
        }
        if lines.0.is_full() && lines.1.is_full() {
            break;
        }
    }
    Some((lines.0.end(), lines.1.end()))
}

/// A line as it grows, white space as single spaces.
#[derive(Default)]
struct Line {
    text: String,
    count: usize,
}

impl Line {
    fn is_full(&self) -> bool {
        self.count > WIDTH
    }

    fn add(&mut self, text: &str) {
        for c in text.chars() {
            if self.is_full() {
                return;
            }
            if c == ' ' && self.text.ends_with(' ') {
                continue;
            }
            self.text.push(c);
            self.count += 1;
        }
    }

    fn push(&mut self, text: &str) {
        // No more than a line is looked at, however long the text.
        let some: String = text.chars().take(4 * WIDTH).collect();
        self.add(&plain(&some));
    }

    /// What the other text has not, in brackets.
    fn mark(&mut self, text: &str) {
        self.add("[");
        self.push(text);
        self.add("]");
    }

    fn end(self) -> String {
        if self.count <= WIDTH {
            return self.text.trim().to_owned();
        }
        let shown: String = self.text.chars().take(WIDTH - 1).collect();
        format!("{}…", shown.trim())
    }
}

/// White space as spaces; control characters would act on a terminal.
fn plain(text: &str) -> String {
    let spaced = text.chars().map(|c| match c {
        c if c.is_whitespace() => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    });
    spaced.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(text: &str) -> DiffPart {
        DiffPart::Same(text.to_owned())
    }

    #[test]
    fn the_first_difference_is_shown_and_not_two_equal_beginnings() {
        let parts = [
            same(&"equal words before ".repeat(40)),
            DiffPart::Removed("daß".to_owned()),
            DiffPart::Added("dass".to_owned()),
            same(" einer\nWelt"),
        ];
        let (removed, kept) = around(&parts).unwrap();
        assert_eq!(removed, "…fore equal words before [daß] einer Welt");
        assert_eq!(kept, "…fore equal words before [dass] einer Welt");
        assert_eq!(around(&[same("all")]), None);
        let at_once = [DiffPart::Added("x".to_owned()), same("y")];
        assert_eq!(around(&at_once), Some(("y".to_owned(), "[x]y".to_owned())));
    }

    #[test]
    fn lines_fit_a_terminal() {
        assert_eq!(beginning("a\n\tb\x07"), "a b\u{fffd}");
        let long = beginning(&"é".repeat(500));
        assert!(long.ends_with('…') && long.chars().count() == WIDTH, "{long}");
        let parts = [DiffPart::Removed("r".repeat(900)), DiffPart::Added("a".repeat(900))];
        let (removed, kept) = around(&parts).unwrap();
        assert!(removed.starts_with("[rrr") && kept.starts_with("[aaa"));
        assert!(removed.chars().count() == WIDTH && kept.chars().count() == WIDTH);
    }
}
