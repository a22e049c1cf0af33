//! Rows of separated values: where one ends, and the values in it, by RFC 4180.

use std::borrow::Cow;

/// What stands between values and around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CsvDialect {
    pub(super) delimiter: u8,
    /// Whether values may be quoted.
    pub(super) quotes: bool,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CsvCell<'r> {
    pub(super) bytes: Cow<'r, [u8]>,
    pub(super) is_quoted: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CsvState {
    /// Before the first byte of a value.
    #[default]
    Start,
    Plain,
    Quoted,
    /// Behind a quote in a quoted value: it ends it, or is the first of two that stand for one.
    Closing,
}

/// What a byte is to the row.
enum CsvStep {
    /// A byte of a value.
    Value,
    /// A mark that is no part of it.
    Mark,
    /// The end of a value.
    Between,
    /// The end of the row.
    End,
}

impl CsvDialect {
    fn step(self, state: &mut CsvState, byte: u8) -> CsvStep {
        let (next, step) = match (*state, byte) {
            (CsvState::Quoted, b'"') => (CsvState::Closing, CsvStep::Mark),
            (CsvState::Quoted, _) => (CsvState::Quoted, CsvStep::Value),
            (CsvState::Closing, b'"') => (CsvState::Quoted, CsvStep::Value),
            (CsvState::Start, b'"') if self.quotes => (CsvState::Quoted, CsvStep::Mark),
            (_, b'\n') => (CsvState::Start, CsvStep::End),
            (_, byte) if byte == self.delimiter => (CsvState::Start, CsvStep::Between),
            _ => (CsvState::Plain, CsvStep::Value),
        };
        *state = next;
        step
    }

    /// The values of a row, which has its line end no more. A value that goes on behind its closing quote has what
    /// follows too, as other readers have it.
    pub(super) fn cells(self, row: &[u8]) -> Vec<CsvCell<'_>> {
        let mut cells = Vec::new();
        let mut state = CsvState::Start;
        // The value so far: a stretch of the row, until a quote in it makes it one of its own.
        let (mut from, mut to, mut owned, mut is_quoted) = (0, 0, None::<Vec<u8>>, false);
        for (at, byte) in row.iter().enumerate() {
            match self.step(&mut state, *byte) {
                CsvStep::Value | CsvStep::End => match &mut owned {
                    Some(owned) => owned.push(*byte),
                    None if to == at => to = at + 1,
                    None => {
                        let mut value = row.get(from..to).unwrap_or_default().to_vec();
                        value.push(*byte);
                        owned = Some(value);
                    }
                },
                CsvStep::Mark => {
                    if !is_quoted {
                        (from, to, is_quoted) = (at + 1, at + 1, true);
                    }
                }
                CsvStep::Between => {
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
) -> CsvCell<'_> {
    let bytes = owned.map_or_else(|| row.get(stretch).unwrap_or_default().into(), Cow::Owned);
    CsvCell { bytes, is_quoted }
}

/// Finds the end of a row in bytes that come stretch by stretch.
pub(super) struct CsvRowEnd {
    dialect: CsvDialect,
    state: CsvState,
    /// Line ends in the row so far, its own counted.
    pub(super) lines: u64,
    /// At which of them the quote stands that was opened last.
    pub(super) quote_line: u64,
}

impl CsvRowEnd {
    pub(super) const fn new(dialect: CsvDialect) -> Self {
        Self { dialect, state: CsvState::Start, lines: 0, quote_line: 0 }
    }

    /// How many of `bytes`, which follow those it has seen, belong to the row, if it ends among them.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            self.lines += u64::from(*byte == b'\n');
            match self.dialect.step(&mut self.state, *byte) {
                CsvStep::End => return Some(at + 1),
                CsvStep::Mark if self.state == CsvState::Quoted => self.quote_line = self.lines,
                _ => {}
            }
        }
        None
    }

    /// Whether a quote is open where the bytes ended.
    pub(super) fn is_open(&self) -> bool {
        self.state == CsvState::Quoted
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
        let dialect = CsvDialect { delimiter: b',', quotes: true };
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
        let plain = CsvDialect { delimiter: b'\t', quotes: false };
        let cells = plain.cells(b"\"a\t5\"");
        assert_eq!(cells[0], CsvCell { bytes: Cow::Borrowed(b"\"a"), is_quoted: false });
        assert_eq!(cells[1].bytes.as_ref(), b"5\"");
    }

    #[test]
    fn a_row_ends_where_no_quote_is_open_however_its_bytes_come() {
        let dialect = CsvDialect { delimiter: b',', quotes: true };
        let rows = b"a,\"b\n\"\"c\",d\"e\r\nnext";
        for cut in 0..=rows.len() {
            let mut end = CsvRowEnd::new(dialect);
            let (head, tail) = rows.split_at(cut);
            let found = end.find(head).or_else(|| end.find(tail).map(|at| cut + at));
            assert_eq!((found, end.lines), (Some(rows.len() - 4), 2), "{cut}");
        }
        let mut open = CsvRowEnd::new(dialect);
        assert_eq!(open.find(b"a,\"b\nc,\nd"), None);
        assert!(open.is_open());
    }
}
