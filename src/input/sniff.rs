//! What the beginning of a text looks like: a table of separated values, a list of JSON objects.

use super::cells::{CsvDialect, CsvRowEnd, without_line_end};
use super::guess;
use super::item::CsvOptions;

/// Delimiters that are looked for, the likelier first.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

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

/// Whether it begins with a row of distinct names, and goes on with rows of as many values: two of them, or, where a
/// name is a usual one of a text, what stands below it. A row that is cut counts as begun, unless it `is_all`.
pub(super) fn is_table(text: &str, is_all: bool, options: CsvOptions) -> bool {
    /// Rows that must agree, the names among them, and that are looked at.
    const LEAST: usize = 3;
    const MOST: usize = 8;
    let first = text.lines().next().unwrap_or_default();
    let delimiter = options.delimiter.unwrap_or_else(|| likely_delimiter(first.as_bytes()));
    let dialect = CsvDialect { delimiter, quotes: options.quotes };
    let mut rest = text.as_bytes();
    let Some(names) = next_row(&mut rest, dialect, true) else { return false };
    let cells = dialect.cells(names);
    let names: Vec<&str> =
        cells.iter().filter_map(|cell| std::str::from_utf8(&cell.bytes).ok()).collect();
    let has_text = guess::vote_text_field(names.iter().copied()).is_some();
    if !are_names(&names) || (names.len() == 1 && !has_text) {
        return false;
    }
    let mut agreeing = 1;
    while agreeing < MOST {
        let Some(row) = next_row(&mut rest, dialect, is_all) else { break };
        if row.is_empty() {
            continue;
        }
        let cells = dialect.cells(row);
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

/// Distinct words such as columns are called, of which one may be empty: that of the row numbers.
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
mod tests {
    use super::*;

    #[test]
    fn tables_and_lists_are_told_from_texts() {
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
