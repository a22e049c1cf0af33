//! Splits rows of separated values, by RFC 4180 or with an escape before quotes, and recognises such a table.
//!
//! A list of JSON objects has separators, too, so it is recognised here before a table is searched for.

use super::item::{CsvOptions, byte_len};
use super::text_field::guess_text_field;
use memchr::memmem::find;
use memchr::{memchr, memchr_iter, memchr2};
use std::borrow::Cow;

/// What stands between values and around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CsvDialect {
    pub(super) delimiter: u8,
    /// Whether values may be quoted.
    pub(super) quotes: bool,
    /// In a quoted value, what gives the character behind it no meaning: `\"` is a quote, beside `""`.
    pub(super) escape: Option<u8>,
    /// What ends a row: a line feed, or a carriage return where there is none.
    pub(super) end: u8,
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CsvCell<'r> {
    /// The value; where it `has_quotes`, what follows its first quote.
    spelled: &'r [u8],
    pub(super) is_quoted: bool,
    /// Whether there are quotes behind the first that end the value, or are doubled for one quote, or escapes.
    has_quotes: bool,
    escape: Option<u8>,
}

/// How often something was met, and on which line first, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCount {
    /// How often.
    pub count: u64,
    /// The line.
    pub line: u64,
}

impl LineCount {
    pub(super) const fn meet(&mut self, line: u64) {
        if self.count == 0 {
            self.line = line;
        }
        self.count += 1;
    }

    /// Adds the oddities of a row with `lines` lines before it.
    const fn add(&mut self, row: Self, lines: u64) {
        if self.count == 0 {
            self.line = lines + row.line;
        }
        self.count += row.count;
    }
}

/// Rows and quotes of a table that may be meant otherwise than they were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CsvOddities {
    /// Rows that repeat the row of names, which are no records.
    pub names: LineCount,
    /// Quoted values that go on behind their closing quote.
    pub strays: LineCount,
    /// Quoted values of a table between tabs that hold a line end and a tab.
    pub spread: LineCount,
}

impl CsvOddities {
    /// Adds the oddities of a row with `lines` lines before it.
    pub(super) const fn add(&mut self, row: &CsvRowEnd, lines: u64) {
        if row.strays.count > 0 {
            self.strays.add(row.strays, lines);
        }
        if row.spread.count > 0 {
            self.spread.add(row.spread, lines);
        }
    }
}

impl<'r> CsvCell<'r> {
    /// The value. One that continues behind its closing quote has what follows too, as other readers have it.
    #[inline]
    pub(super) fn bytes(&self) -> Cow<'r, [u8]> {
        match self.has_quotes {
            true => self.without_quotes().into(),
            false => self.spelled.into(),
        }
    }

    fn without_quotes(&self) -> Vec<u8> {
        let mut value = Vec::with_capacity(self.spelled.len());
        let mut rest = self.spelled;
        while let (inside, Some((mark, behind))) = up_to_mark(rest, self.escape) {
            value.extend_from_slice(inside);
            rest = behind;
            match behind {
                [one, behind @ ..] if mark != b'"' || *one == b'"' => {
                    value.push(*one);
                    rest = behind;
                }
                [] if mark != b'"' => value.push(mark),
                _ => break,
            }
        }
        value.extend_from_slice(rest);
        value
    }

    /// Whether it is no text at all, quoted or not.
    pub(super) const fn is_empty(&self) -> bool {
        self.spelled.is_empty()
    }

    /// The value as a text.
    pub(super) fn text(&self) -> Cow<'r, str> {
        match self.bytes() {
            Cow::Borrowed(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text.into(),
                Err(_) => String::from_utf8_lossy(bytes),
            },
            Cow::Owned(bytes) => match String::from_utf8(bytes) {
                Ok(text) => text.into(),
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned().into(),
            },
        }
    }
}

/// The values of a row, one after the other.
pub(super) struct CsvCells<'r> {
    dialect: CsvDialect,
    /// From the next value on; none behind the last.
    rest: Option<&'r [u8]>,
}

impl CsvDialect {
    /// Values without quotes.
    pub(super) const fn plain(delimiter: u8, end: u8) -> Self {
        Self { delimiter, quotes: false, escape: None, end }
    }

    /// The dialect that the options say of a table that begins with these rows, which are all of it, or more follow.
    /// Where the options say nothing of an escape, it is the one that the rows show.
    pub(super) fn of(
        delimiter: u8,
        end: u8,
        options: CsvOptions,
        (head, is_all): (&[u8], bool),
    ) -> Self {
        // A quote that escapes a quote is a doubled one.
        let escape = options.escape.filter(|escape| *escape != b'"');
        let dialect = Self { delimiter, quotes: options.quotes, escape, end };
        if !options.quotes || options.escape.is_some() || find(head, b"\\\"").is_none() {
            return dialect;
        }
        let escaped = Self { escape: Some(b'\\'), ..dialect };
        let is_regular = |dialect: Self| dialect.is_regular(head, is_all, options.comment);
        if !is_regular(dialect) && is_regular(escaped) { escaped } else { dialect }
    }

    /// Whether the rows have as many values each, none of which goes on behind its closing quote.
    fn is_regular(self, head: &[u8], is_all: bool, comment: Option<u8>) -> bool {
        let (mut rest, mut width) = (head, None);
        while !rest.is_empty() {
            let mut end = CsvRowEnd::new(self);
            let found = end.find(rest);
            let is_cut = found.is_none() && !is_all;
            if end.strays.count > 0 || found.is_none() && is_all && end.is_open() {
                return false;
            }
            let Some((row, behind)) = rest.split_at_checked(found.unwrap_or(rest.len())) else {
                break;
            };
            rest = behind;
            let row = without_line_end(row);
            if is_cut || row.is_empty() || row.first() == comment.as_ref() {
                continue;
            }
            let count = self.cells(row).count();
            if *width.get_or_insert(count) != count {
                return false;
            }
        }
        true
    }

    /// Whether the first values of all rows below the first are whole numbers, as pandas numbers the rows of a table.
    pub(super) fn has_row_numbers(self, head: &[u8], is_all: bool, comment: Option<u8>) -> bool {
        let mut rest = head;
        let names = next_row(&mut rest, self, is_all);
        while let Some(row) = next_row(&mut rest, self, is_all) {
            let is_passed = row.is_empty() || row.first() == comment.as_ref() || names == Some(row);
            let first = self.cells(row).next();
            if !is_passed && !first.is_some_and(|cell| is_whole(&cell.bytes())) {
                return false;
            }
        }
        true
    }

    /// The values of a row, which has its line end no more.
    pub(super) const fn cells(self, row: &[u8]) -> CsvCells<'_> {
        CsvCells { dialect: self, rest: Some(row) }
    }
}

impl<'r> Iterator for CsvCells<'r> {
    type Item = CsvCell<'r>;

    #[inline]
    fn next(&mut self) -> Option<CsvCell<'r>> {
        let row = self.rest.take()?;
        let CsvDialect { delimiter, quotes, escape, .. } = self.dialect;
        let inside = match row {
            [b'"', inside @ ..] if quotes => inside,
            _ => {
                let (spelled, rest) = up_to(row, delimiter);
                self.rest = rest;
                return Some(CsvCell { spelled, is_quoted: false, has_quotes: false, escape });
            }
        };
        let ((spelled, rest), has_quotes) = match up_to(inside, b'"') {
            _ if escape.is_some() => (quoted(inside, self.dialect), true),
            (value, None | Some([])) => ((value, None), false),
            (value, Some([first, rest @ ..])) if *first == delimiter => {
                ((value, Some(rest)), false)
            }
            _ => (quoted(inside, self.dialect), true),
        };
        self.rest = rest;
        Some(CsvCell { spelled, is_quoted: true, has_quotes, escape })
    }

    /// Faster than to look at each.
    fn count(mut self) -> usize {
        let CsvDialect { delimiter, quotes, .. } = self.dialect;
        match self.rest {
            Some(row) if quotes && memchr(b'"', row).is_some() => {
                std::iter::from_fn(|| self.next()).count()
            }
            Some(row) => memchr_iter(delimiter, row).count() + 1,
            None => 0,
        }
    }
}

/// What stands before the first such byte, and what behind it, if there is one.
#[inline]
fn up_to(bytes: &[u8], end: u8) -> (&[u8], Option<&[u8]>) {
    match memchr(end, bytes) {
        Some(at) => (bytes.get(..at).unwrap_or(bytes), bytes.get(at + 1..)),
        None => (bytes, None),
    }
}

/// What stands before the first quote or escape, that, and what stands behind it, if there is one.
#[inline]
fn up_to_mark(bytes: &[u8], escape: Option<u8>) -> (&[u8], Option<(u8, &[u8])>) {
    let at = match escape {
        None => memchr(b'"', bytes),
        Some(escape) => memchr2(b'"', escape, bytes),
    };
    let (before, behind) =
        at.and_then(|at| bytes.split_at_checked(at)).unwrap_or((bytes, Default::default()));
    (before, behind.split_first().map(|(mark, behind)| (*mark, behind)))
}

/// What belongs to the quoted value with which `row` begins, without its first quote, and what stands behind the
/// delimiter.
fn quoted(row: &[u8], dialect: CsvDialect) -> (&[u8], Option<&[u8]>) {
    let mut rest = row;
    while let (_, Some((mark, behind))) = up_to_mark(rest, dialect.escape) {
        match behind {
            [one, behind @ ..] if mark != b'"' || *one == b'"' => rest = behind,
            _ => {
                let (_, next) = up_to(behind, dialect.delimiter);
                let length = next.map_or(row.len(), |next| row.len() - next.len() - 1);
                return (row.get(..length).unwrap_or(row), next);
            }
        }
    }
    (row, None)
}

/// The state in which the examined bytes of a row end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CsvState {
    /// Before the first byte of a value.
    Start,
    Plain,
    Quoted,
    /// Behind a quote in a quoted value: it ends it, or is the first of two that stand for one.
    Closing,
    /// Behind an escape in a quoted value.
    Escaped,
}

/// Finds the end of a row in bytes that come stretch by stretch.
pub(super) struct CsvRowEnd {
    dialect: CsvDialect,
    state: CsvState,
    /// Line ends in the row so far, its own counted.
    pub(super) lines: u64,
    /// At which of them the quote stands that was opened last.
    pub(super) quote_line: u64,
    /// Whether the value behind it has line ends, and whether it has tabs.
    has_ends: bool,
    has_tabs: bool,
    /// Quoted values that go on behind their closing quote, by line of the row.
    strays: LineCount,
    /// Quoted values between tabs that hold a line end and a tab.
    spread: LineCount,
}

impl CsvRowEnd {
    pub(super) const fn new(dialect: CsvDialect) -> Self {
        let none = LineCount { count: 0, line: 0 };
        Self {
            dialect,
            state: CsvState::Start,
            lines: 0,
            quote_line: 0,
            has_ends: false,
            has_tabs: false,
            strays: none,
            spread: none,
        }
    }

    /// How many of `bytes`, which follow those it has seen, belong to the row, if it ends among them.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        let CsvDialect { delimiter, quotes, escape, end } = self.dialect;
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            match self.state {
                CsvState::Quoted => {
                    let (inside, behind) = up_to_mark(rest, escape);
                    let ends = byte_len(memchr_iter(end, inside).count());
                    self.lines += ends;
                    if delimiter == b'\t' {
                        self.look_between_tabs(inside, ends);
                    }
                    let (mark, behind) = behind?;
                    self.state = if mark == b'"' { CsvState::Closing } else { CsvState::Escaped };
                    rest = behind;
                }
                CsvState::Escaped => {
                    let (one, behind) = rest.split_at_checked(1)?;
                    let ends = u64::from(*first == end);
                    self.lines += ends;
                    if delimiter == b'\t' {
                        self.look_between_tabs(one, ends);
                    }
                    (self.state, rest) = (CsvState::Quoted, behind);
                }
                CsvState::Closing if *first == b'"' => {
                    self.state = CsvState::Quoted;
                    rest = rest.get(1..)?;
                }
                CsvState::Closing => {
                    self.state = CsvState::Plain;
                    if *first != delimiter && *first != end && *first != b'\r' {
                        self.strays.meet(self.lines + 1);
                    }
                }
                CsvState::Start | CsvState::Plain => {
                    let found = if quotes { memchr2(b'"', end, rest) } else { memchr(end, rest) };
                    let (before, behind) = rest.split_at_checked(found.unwrap_or(rest.len()))?;
                    if let Some(last) = before.last() {
                        let is_start = *last == delimiter;
                        self.state = if is_start { CsvState::Start } else { CsvState::Plain };
                    }
                    let (found, behind) = behind.split_first()?;
                    if *found == end {
                        (self.state, self.lines) = (CsvState::Start, self.lines + 1);
                        return Some(bytes.len() - behind.len());
                    }
                    if self.state == CsvState::Start {
                        (self.state, self.quote_line) = (CsvState::Quoted, self.lines);
                        (self.has_ends, self.has_tabs) = (false, false);
                    }
                    rest = behind;
                }
            }
        }
        None
    }

    /// Notes a quoted value of a table between tabs that holds a line end and a tab; `inside` has `ends` line ends.
    fn look_between_tabs(&mut self, inside: &[u8], ends: u64) {
        if !(self.has_ends && self.has_tabs) {
            self.has_ends |= ends > 0;
            self.has_tabs |= memchr(b'\t', inside).is_some();
            if self.has_ends && self.has_tabs {
                self.spread.meet(self.quote_line + 1);
            }
        }
    }

    /// Whether a quote is open where the bytes ended.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, CsvState::Quoted | CsvState::Escaped)
    }
}

/// Whether it is a whole number without a sign.
pub(super) fn is_whole(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(u8::is_ascii_digit)
}

/// A row without its line end: a line feed, a carriage return, or both.
pub(super) fn without_line_end(row: &[u8]) -> &[u8] {
    match row {
        [row @ .., b'\r', b'\n'] | [row @ .., b'\n' | b'\r'] | row => row,
    }
}

/// Delimiters that are searched for, the likelier first.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// What ends the rows of a table that begins so: a carriage return where no line feed stands, as programs of old write.
pub(super) fn row_end(head: &[u8]) -> u8 {
    if !head.contains(&b'\n') && head.contains(&b'\r') { b'\r' } else { b'\n' }
}

/// The delimiter that a line says which stands before the row of names, as Excel reads it: `sep=;`.
pub(super) fn said_delimiter(line: &[u8]) -> Option<u8> {
    let line = line.trim_ascii();
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    match line.strip_prefix(b"sep=") {
        Some([delimiter]) if CsvOptions::is_delimiter(*delimiter) => Some(*delimiter),
        Some([]) => Some(b'\t'),
        _ => None,
    }
}

/// Whether an array of objects begins.
pub(super) fn is_list_of_objects(text: &str) -> bool {
    let between =
        |text: &str, begins: char| text.trim_start().strip_prefix(begins).map(str::to_owned);
    between(text, '[')
        .and_then(|rest| between(&rest, '{'))
        .is_some_and(|rest| rest.trim_start().starts_with('"'))
}

/// Whether the first line has a tab.
pub(super) fn has_tab(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.contains('\t'))
}

/// What stands most often between the values of a row of names.
pub(super) fn likely_delimiter(line: &[u8]) -> u8 {
    let count = |delimiter: u8| {
        let mut is_quoted = false;
        let is_one = |byte: &&u8| {
            is_quoted ^= **byte == b'"';
            **byte == delimiter && !is_quoted
        };
        line.iter().filter(is_one).count()
    };
    let (mut best, mut most) = (b',', 0);
    for delimiter in DELIMITERS {
        let found = count(delimiter);
        if found > most {
            (best, most) = (delimiter, found);
        }
    }
    best
}

/// Whether it begins with a row of distinct names, and continues with rows of as many values: two of them, or, where a
/// name is a usual one of a text, what stands below it. A row that is cut counts as begun, unless it `is_all`.
pub(super) fn is_table(text: &str, is_all: bool, options: CsvOptions) -> bool {
    /// Rows that must agree, the names among them, and that are examined.
    const LEAST: usize = 3;
    const MOST: usize = 8;
    let end = row_end(text.as_bytes());
    let (first, below) = text.split_once(char::from(end)).unwrap_or((text, ""));
    let said = said_delimiter(first.as_bytes());
    let mut rest = if said.is_some() { below } else { text }.as_bytes();
    let first = if said.is_some() { below.lines().next().unwrap_or_default() } else { first };
    let delimiter = options.delimiter.or(said);
    let delimiter = delimiter.unwrap_or_else(|| likely_delimiter(first.as_bytes()));
    let dialect = CsvDialect::of(delimiter, end, options, (rest, is_all));
    let Some(names) = next_row(&mut rest, dialect, true) else { return false };
    let names: Vec<Cow<'_, str>> = dialect.cells(names).map(|cell| cell.text()).collect();
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let has_text = guess_text_field(names.iter().map(|name| (*name, true))).is_some();
    if !are_names(&names) || (names.len() == 1 && !has_text) {
        return false;
    }
    let mut agreeing = 1;
    while agreeing < MOST {
        let Some(row) = next_row(&mut rest, dialect, is_all) else { break };
        if row.is_empty() {
            continue;
        }
        let cells: Vec<CsvCell<'_>> = dialect.cells(row).collect();
        if cells.len() != names.len() {
            return false;
        }
        // A column of its own may be any list of lines below a word, unless its values stand in quotes.
        if names.len() == 1 && !cells.iter().all(|cell| cell.is_quoted) {
            return false;
        }
        agreeing += 1;
    }
    let is_begun = !is_all && !rest.is_empty();
    agreeing >= LEAST || has_text && (agreeing > 1 || is_begun && names.len() > 1)
}

/// Distinct words that look like names of columns; one may be empty, that of the row numbers.
fn are_names(names: &[&str]) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    };
    let are_distinct = names
        .iter()
        .enumerate()
        .all(|(at, name)| !names.iter().take(at).any(|other| other == name));
    are_distinct
        && names.iter().enumerate().all(|(at, name)| is_name(name) || at == 0 && name.is_empty())
        && names.iter().any(|name| !name.is_empty())
}

/// Takes the next row off `rest`, without its line end; one that is cut only if it `is_all`.
fn next_row<'t>(rest: &mut &'t [u8], dialect: CsvDialect, is_all: bool) -> Option<&'t [u8]> {
    let mut end = CsvRowEnd::new(dialect);
    let length = match end.find(rest) {
        Some(length) => length,
        None if is_all && !rest.is_empty() && !end.is_open() => rest.len(),
        None => return None,
    };
    let (row, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(without_line_end(row))
}

#[cfg(test)]
mod cells_tests {
    use super::*;
    use proptest::prelude::*;

    const RFC: CsvDialect = CsvDialect { delimiter: b',', quotes: true, escape: None, end: b'\n' };
    const ESCAPED: CsvDialect = CsvDialect { escape: Some(b'\\'), ..RFC };

    fn values_of(dialect: CsvDialect, row: &str) -> Vec<String> {
        dialect.cells(row.as_bytes()).map(|cell| cell.text().into_owned()).collect()
    }

    fn values(row: &str) -> Vec<String> {
        values_of(RFC, row)
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
        let plain = CsvDialect::plain(b'\t', b'\n');
        let cells: Vec<CsvCell<'_>> = plain.cells(b"\"a\t5\"").collect();
        assert_eq!((cells[0].bytes().as_ref(), cells[0].is_quoted), (&b"\"a"[..], false));
        assert_eq!(cells[1].bytes().as_ref(), b"5\"");
    }

    #[test]
    fn a_row_ends_where_no_quote_is_open_however_its_bytes_come() {
        let rows = b"a,\"b\n\"\"c\",d\"e\r\nnext";
        for cut in 0..=rows.len() {
            let mut end = CsvRowEnd::new(RFC);
            let (head, tail) = rows.split_at(cut);
            let found = end.find(head).or_else(|| end.find(tail).map(|at| cut + at));
            assert_eq!((found, end.lines), (Some(rows.len() - 4), 2), "{cut}");
        }
        let mut open = CsvRowEnd::new(RFC);
        assert_eq!(open.find(b"a,\"b\nc,\nd"), None);
        assert!(open.is_open());
    }

    /// A quote behind a backslash ended the value, and the text lost its quotes: DuckDB's values.
    #[test]
    fn an_escape_gives_what_follows_it_no_meaning() {
        for (row, expected) in [
            ("\"say \\\"so\\\"\",b", &["say \"so\"", "b"][..]),
            ("\"a\\\\\",\"\\\"\"", &["a\\", "\""]),
            ("\"one \\n two\",\\\"x\\\\", &["one n two", "\\\"x\\\\"]),
            ("\"a\\\nb\",\"say \"\"so\"\"\"", &["a\nb", "say \"so\""]),
            ("\"a\\\",b", &["a\",b"]),
            ("\"a\\", &["a\\"]),
        ] {
            assert_eq!(values_of(ESCAPED, row), expected, "{row}");
        }
        let rows = b"a,\"b\\\"\\\\\\\n\",\"c\"\nnext";
        for cut in 0..=rows.len() {
            let mut end = CsvRowEnd::new(ESCAPED);
            let (head, tail) = rows.split_at(cut);
            let found = end.find(head).or_else(|| end.find(tail).map(|at| cut + at));
            assert_eq!((found, end.lines, end.strays.count), (Some(rows.len() - 4), 2, 0), "{cut}");
        }
    }

    #[test]
    fn an_escape_is_found_where_values_do_not_end_without_it() {
        let escape = |head: &str| {
            CsvDialect::of(b',', b'\n', CsvOptions::default(), (head.as_bytes(), true)).escape
        };
        for head in [
            "id,text\na,\"say \\\"x\\\" y\"\nb,\"\"\n",
            "id,text\na,\"\\\"x\\\"\"\n",
            "id,text\na,\"first \\\"no\\\", then \\\"x\\\"\"\nb,\"C:\\\\\"",
        ] {
            assert_eq!(escape(head), Some(b'\\'), "{head}");
        }
        for head in [
            "id,text\na,\"C:\\\"\nb,c\n",
            "id,text\na,\"say \"\"x\"\" y\"\nb,\"C:\\\"\n",
            "id,text\na,\"say \\\"x\\\" y\"\nb,\"say \"\"x\"\" y\"\"\n",
            "id,text\na,\\\"b\n",
        ] {
            assert_eq!(escape(head), None, "{head}");
        }
        let said = CsvOptions { escape: Some(b'"'), ..CsvOptions::default() };
        let head = b"id,text\na,\"say \\\"x\\\" y\"\n";
        assert_eq!(CsvDialect::of(b',', b'\n', said, (head, true)).escape, None);
    }

    #[test]
    fn values_that_may_be_meant_otherwise_are_counted_by_line() {
        let odd = |dialect: CsvDialect, rows: &str| {
            let (mut odd, mut rest, mut lines) = (CsvOddities::default(), rows.as_bytes(), 4);
            while !rest.is_empty() {
                let mut end = CsvRowEnd::new(dialect);
                let length = end.find(rest).unwrap_or(rest.len());
                odd.add(&end, lines);
                lines += end.lines;
                rest = &rest[length..];
            }
            [odd.strays.count, odd.strays.line, odd.spread.count, odd.spread.line]
        };
        let tabs = CsvDialect { delimiter: b'\t', ..RFC };
        for (dialect, rows, expected) in [
            (RFC, "a,b\n\"c\nd\"e,f\n\"g\" ,\"h\"i\n", [3, 7, 0, 0]),
            (RFC, "\"a\",\"b\"\r\n\"a\nb\",\"\"\n\"\"\"c\"\"\"\n", [0; 4]),
            (RFC, "\"a\tb\nc\"\n", [0; 4]),
            (tabs, "a\tb\n\"c\nd\te\"\tf\n\"g\nh\"\t\"i\tj\"\n", [0, 0, 1, 6]),
        ] {
            assert_eq!(odd(dialect, rows), expected, "{rows:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(256)))]
        /// A value that is written with quotes comes back, wherever the bytes are cut, and is counted without a look
        /// at each.
        #[test]
        fn values_that_are_quoted_come_back(
            written in prop::collection::vec("[ab,\"\n;\r]{0,5}", 1..6),
            cut in 0_usize..40,
        ) {
            let is_plain = |value: &&String| !value.contains([',', '"', '\n', '\r']);
            let quoted = |value: &String| match Some(value).filter(is_plain) {
                Some(plain) => plain.clone(),
                None => format!("\"{}\"", value.replace('"', "\"\"")),
            };
            let row = written.iter().map(quoted).collect::<Vec<_>>().join(",");
            let rows = format!("{row}\nnext");
            let (head, tail) = rows.as_bytes().split_at(cut.min(rows.len()));
            let mut end = CsvRowEnd::new(RFC);
            let found = end.find(head).or_else(|| end.find(tail).map(|at| head.len() + at));
            prop_assert_eq!(found, Some(row.len() + 1));
            prop_assert_eq!(values(&row), &written[..]);
            prop_assert_eq!(RFC.cells(row.as_bytes()).count(), written.len());
        }
    }
}

#[cfg(test)]
mod sniff_tests {
    use super::*;

    #[test]
    fn tables_and_lists_are_distinguished_from_texts() {
        let is = |text: &str| is_table(text, true, CsvOptions::default());
        for table in [
            "id,text,n\n1,\"a, b\",2\n2,c,3\n",
            "id\ttext\n1\ta\n2\tb\n3\tc",
            "a;b\n1;2\n3;4\n",
            ",text\n0,a\n",
            "text,url\n\"two\n\nparagraphs\",u\n",
            "text\n\"first, row\"\n\"second\"\n",
        ] {
            assert!(is(table), "{table}");
        }
        assert!(is_table("text,url\n\"a long", false, CsvOptions::default()));
        for text in [
            "",
            "a,b",
            "Hello, world\nfoo, bar\nbaz, qux\n",
            "roses,violets\nare red, are blue, are\nsweet\n",
            "import os, sys\nx, y = 1, 2\n",
            "text\nis what this is about\nand more\nand more\n",
            "a,b\n1,2\n",
            "a,a\n1,2\n3,4\n5,6\n",
        ] {
            assert!(!is(text), "{text}");
        }
        for list in ["[{\"a\"", " [\n  {\n \"text\": 1}]"] {
            assert!(is_list_of_objects(list), "{list}");
        }
        for text in ["[link](x) and\n", "[1, 2]", "[section]\nname = 1\n", "[[{\"a\""] {
            assert!(!is_list_of_objects(text), "{text}");
        }
    }
}
