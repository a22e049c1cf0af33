//! Rows of separated values: where one ends, and the values in it, by RFC 4180.

use std::borrow::Cow;

/// What stands between values and around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) delimiter: u8,
    /// Whether values may be quoted.
    pub(super) quotes: bool,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell<'r> {
    pub(super) bytes: Cow<'r, [u8]>,
    pub(super) is_quoted: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Before the first byte of a value.
    #[default]
    Start,
    Plain,
    Quoted,
    /// Behind a quote in a quoted value: it ends it, or is the first of two that stand for one.
    Closing,
}

/// What a byte is to the row.
enum Step {
    /// A byte of a value.
    Value,
    /// A mark that is no part of it.
    Mark,
    /// The end of a value.
    Between,
    /// The end of the row.
    End,
}

impl Dialect {
    fn step(self, state: &mut State, byte: u8) -> Step {
        let (next, step) = match (*state, byte) {
            (State::Quoted, b'"') => (State::Closing, Step::Mark),
            (State::Quoted, _) => (State::Quoted, Step::Value),
            (State::Closing, b'"') => (State::Quoted, Step::Value),
            (State::Start, b'"') if self.quotes => (State::Quoted, Step::Mark),
            (_, b'\n') => (State::Start, Step::End),
            (_, byte) if byte == self.delimiter => (State::Start, Step::Between),
            _ => (State::Plain, Step::Value),
        };
        *state = next;
        step
    }

    /// The values of a row, which has its line end no more. A value that goes on behind its closing quote has what
    /// follows too, as other readers have it.
    pub(super) fn cells(self, row: &[u8]) -> Vec<Cell<'_>> {
        let mut cells = Vec::new();
        let mut state = State::Start;
        // The value so far: a stretch of the row, until a quote in it makes it one of its own.
        let (mut from, mut to, mut owned, mut is_quoted) = (0, 0, None::<Vec<u8>>, false);
        for (at, byte) in row.iter().enumerate() {
            match self.step(&mut state, *byte) {
                Step::Value | Step::End => match &mut owned {
                    Some(owned) => owned.push(*byte),
                    None if to == at => to = at + 1,
                    None => {
                        let mut value = row.get(from..to).unwrap_or_default().to_vec();
                        value.push(*byte);
                        owned = Some(value);
                    }
                },
                Step::Mark => {
                    if !is_quoted {
                        (from, to, is_quoted) = (at + 1, at + 1, true);
                    }
                }
                Step::Between => {
                    cells.push(cell(row, from..to, owned.take(), is_quoted));
                    (from, to, is_quoted) = (at + 1, at + 1, false);
                }
            }
        }
        cells.push(cell(row, from..to, owned, is_quoted));
        cells
    }
}

fn cell(
    row: &[u8],
    stretch: std::ops::Range<usize>,
    owned: Option<Vec<u8>>,
    is_quoted: bool,
) -> Cell<'_> {
    let bytes = owned.map_or_else(|| row.get(stretch).unwrap_or_default().into(), Cow::Owned);
    Cell { bytes, is_quoted }
}

/// Finds the end of a row in bytes that come stretch by stretch.
pub(super) struct RowEnd {
    dialect: Dialect,
    state: State,
    /// Line ends in the row so far, its own counted.
    pub(super) lines: u64,
    /// At which of them the quote stands that was opened last.
    pub(super) quote_line: u64,
}

impl RowEnd {
    pub(super) const fn new(dialect: Dialect) -> Self {
        Self { dialect, state: State::Start, lines: 0, quote_line: 0 }
    }

    /// How many of `bytes`, which follow those it has seen, belong to the row, if it ends among them.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            self.lines += u64::from(*byte == b'\n');
            match self.dialect.step(&mut self.state, *byte) {
                Step::End => return Some(at + 1),
                Step::Mark if self.state == State::Quoted => self.quote_line = self.lines,
                _ => {}
            }
        }
        None
    }

    /// Whether a quote is open where the bytes ended.
    pub(super) fn is_open(&self) -> bool {
        self.state == State::Quoted
    }
}

/// A row without its line end.
pub(super) fn without_line_end(row: &[u8]) -> &[u8] {
    let row = row.strip_suffix(b"\n").unwrap_or(row);
    row.strip_suffix(b"\r").unwrap_or(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(row: &str) -> Vec<String> {
        let dialect = Dialect { delimiter: b',', quotes: true };
        let cells = dialect.cells(row.as_bytes());
        cells.iter().map(|cell| String::from_utf8_lossy(&cell.bytes).into_owned()).collect()
    }

    #[test]
    fn quotes_hold_delimiters_line_ends_and_quotes() {
        assert_eq!(values("a,b"), ["a", "b"]);
        assert_eq!(values(""), [""]);
        assert_eq!(values(",,"), ["", "", ""]);
        assert_eq!(values("\"a,\r\nb\",\"say \"\"so\"\"\",\"\""), ["a,\r\nb", "say \"so\"", ""]);
        assert_eq!(values("\"\"\"\",\"\"\"a\""), ["\"", "\"a"]);
        assert_eq!(values("say \"so\",5\""), ["say \"so\"", "5\""]);
        assert_eq!(values("\"a\"b\"c\",d"), ["ab\"c\"", "d"]);
        let plain = Dialect { delimiter: b'\t', quotes: false };
        let cells = plain.cells(b"\"a\t5\"");
        assert_eq!(cells[0], Cell { bytes: Cow::Borrowed(b"\"a"), is_quoted: false });
        assert_eq!(cells[1].bytes.as_ref(), b"5\"");
    }

    #[test]
    fn a_row_ends_where_no_quote_is_open_however_its_bytes_come() {
        let dialect = Dialect { delimiter: b',', quotes: true };
        let rows = b"a,\"b\n\"\"c\",d\"e\r\nnext";
        for cut in 0..=rows.len() {
            let mut end = RowEnd::new(dialect);
            let (head, tail) = rows.split_at(cut);
            let found = end.find(head).or_else(|| end.find(tail).map(|at| cut + at));
            assert_eq!((found, end.lines), (Some(rows.len() - 4), 2), "{cut}");
        }
        let mut open = RowEnd::new(dialect);
        assert_eq!(open.find(b"a,\"b\nc,\nd"), None);
        assert!(open.is_open());
    }
}
