//! One value as text on one line: cut to a width, and without characters that would act on a terminal.

use model::show::acts_on_terminals;
use std::borrow::Cow;
use std::fmt::{self, Display, Write};
use unicode_width::UnicodeWidthChar;

/// Bytes kept for every column of width: combining marks have no width of their own.
const BYTES_A_COLUMN: usize = 8;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TableCell {
    pub text: String,
    /// Columns of a terminal that the text takes.
    pub width: usize,
    /// Whether the text was cut: then it ends in `…`.
    pub is_cut: bool,
    /// Whether the text stands for a null.
    pub is_null: bool,
}

impl TableCell {
    /// The beginning of what `value` displays, at most `most` columns wide; no more of the value is formatted.
    pub(super) fn of(value: &dyn Display, most: usize) -> Self {
        let mut line = CellText { most: most.max(1), ..CellText::default() };
        // The only error is that the line is full.
        let _ = write!(line, "{value}");
        line.cell()
    }

    /// The word for a null.
    pub(super) fn null() -> Self {
        Self { text: "NULL".to_owned(), width: 4, is_cut: false, is_null: true }
    }

    /// This cell in at most `most` columns.
    pub(super) fn within(&self, most: usize) -> Cow<'_, Self> {
        if self.width <= most {
            return Cow::Borrowed(self);
        }
        let mut line = CellText { most: most.max(1), ..CellText::default() };
        let _ = line.write_str(&self.text);
        Cow::Owned(Self { is_null: self.is_null, ..line.cell() })
    }

    /// The digits, where the text is a whole number.
    pub(super) fn digits(&self) -> Option<&str> {
        let digits = self.text.strip_prefix('-').unwrap_or(&self.text);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(digits)
    }

    /// Puts a comma before each three digits of a whole number.
    pub(super) fn separate(&mut self) {
        let Some(digits) = self.digits().map(str::len) else { return };
        let mut at = self.text.len();
        let first = at - digits + 3;
        self.text.reserve(digits / 3);
        while at > first {
            at -= 3;
            self.text.insert(at, ',');
        }
        self.width = self.text.len();
    }
}

/// Takes text up to a width, and ignores the rest.
#[derive(Default)]
struct CellText {
    text: String,
    width: usize,
    most: usize,
    /// Bytes and width of the text that leaves one column for `…`.
    before_mark: (usize, usize),
    is_full: bool,
}

impl CellText {
    fn cell(mut self) -> TableCell {
        if self.is_full {
            self.text.truncate(self.before_mark.0);
            self.text.push('…');
            self.width = self.before_mark.1 + 1;
        }
        TableCell { text: self.text, width: self.width, is_cut: self.is_full, is_null: false }
    }
}

impl fmt::Write for CellText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars().map(visible) {
            let wide = c.width().unwrap_or(0);
            if self.width + wide > self.most || self.text.len() >= self.most * BYTES_A_COLUMN {
                self.is_full = true;
                return Err(fmt::Error);
            }
            self.text.push(c);
            self.width += wide;
            if self.width < self.most {
                self.before_mark = (self.text.len(), self.width);
            }
        }
        Ok(())
    }
}

/// The character that is shown for `c` on one line of a terminal. No filter comes behind it.
pub(super) fn visible(c: char) -> char {
    match c {
        ' '..='~' => c,
        '\n' => '↵',
        '\t' => ' ',
        c if acts_on_terminals(c) => '\u{fffd}',
        c => c,
    }
}

/// A character, or a replacement for one that would act on a terminal.
pub(super) const fn harmless(c: char) -> char {
    match c {
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => '\u{fffd}',
        // Marks that turn the direction of what follows, outside the cell too.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, most: usize) -> (String, usize, bool) {
        let TableCell { text, width, is_cut, .. } = TableCell::of(&text, most);
        (text, width, is_cut)
    }

    #[test]
    fn a_cell_is_one_line_of_bounded_width() {
        assert_eq!(shown("abc", 3), ("abc".to_owned(), 3, false));
        assert_eq!(shown("abcd", 3), ("ab…".to_owned(), 3, true));
        assert_eq!(shown("a\n\tb\x1b", 9), ("a↵ b\u{fffd}".to_owned(), 5, false));
        assert_eq!(shown("日本語", 6), ("日本語".to_owned(), 6, false));
        assert_eq!(shown("日本語", 5), ("日本…".to_owned(), 5, true));
        assert_eq!(shown("日本語", 4), ("日…".to_owned(), 3, true));
        assert_eq!(shown("日", 1), ("…".to_owned(), 1, true));
        assert_eq!(shown("", 1), (String::new(), 0, false));
        let marks = shown(&"\u{301}".repeat(1000), 10);
        assert!(marks.2 && marks.0.len() <= 10 * BYTES_A_COLUMN + 3);
        assert_eq!(TableCell::of(&"abcdef", 5).within(3).text, "ab…");
        // A table goes to a terminal as it is.
        let obeyed: String =
            (0..=0x2070).filter_map(char::from_u32).filter(|c| acts_on_terminals(*c)).collect();
        assert!(obeyed.chars().count() > 70 && !shown(&obeyed, 200).0.contains(acts_on_terminals));
    }

    #[test]
    fn a_whole_number_has_commas_and_nothing_else_has() {
        let separated = |text: &str| {
            let mut cell = TableCell::of(&text, 40);
            cell.separate();
            assert_eq!(cell.width, cell.text.chars().count());
            cell.text
        };
        for (plain, shown) in [
            ("0", "0"),
            ("999", "999"),
            ("1000", "1,000"),
            ("-123456", "-123,456"),
            ("-9223372036854775808", "-9,223,372,036,854,775,808"),
            ("", ""),
            ("-", "-"),
            ("NULL", "NULL"),
            ("12345.5", "12345.5"),
        ] {
            assert_eq!(separated(plain), shown);
        }
    }
}
