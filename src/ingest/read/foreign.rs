//! Files that are neither records nor a text: told by their first bytes, and by their name where a format has no mark.

use super::tagged::tagged;

/// What a file is that would make no training text, and the way out; none: it is a text. `head` is its
/// beginning, decompressed; `name` its name in lower case, without the end that says the compression.
pub(super) fn foreign(head: &[u8], name: &str) -> Option<String> {
    if let Some((_, _, what, way)) = MARKS
        .iter()
        .find(|(at, mark, _, _)| head.get(*at..).is_some_and(|from| from.starts_with(mark)))
    {
        return Some(format!("{what}, not a text: {way}"));
    }
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let text = text(head);
    let what = if ends(&[".csv", ".tsv"]) || text.is_some_and(is_table) {
        "a table of separated values, not a text: convert it to JSON lines or Parquet"
    } else if head.starts_with(b"WARC/") || ends(&[".warc", ".wet", ".wat"]) {
        "a web archive (WARC), not a text: extract its pages to JSON lines or Parquet"
    } else if text.is_some_and(|text| is_json_value(text, ends(&[".json", ".jsonl", ".ndjson"]))) {
        "JSON over several lines, not one object a line: convert it with `jq -c .`, a list with `jq -c '.[]'`"
    } else if let Some(what) = text.and_then(|text| tagged(text, name)) {
        what
    } else if text.is_none() {
        return Some("not a text: bytes that are not UTF-8, or NUL".to_owned());
    } else {
        return None;
    };
    Some(format!("{what}, or take the file as one document with --format text"))
}

const CONVERT: &str = "convert it to JSON lines or Parquet";
const UNPACK: &str = "unpack it, and give what was in it";
const DECOMPRESS: &str = "decompress it, or compress it with gzip or zstd";
const EXTRACT: &str = "extract its text to JSON lines";

/// Position, bytes, what begins so, the way out.
const MARKS: [(usize, &[u8], &str, &str); 24] = [
    (0, b"ARROW1\0\0", "an Arrow file (Feather)", "convert it to Parquet or JSON lines"),
    (0, b"\xff\xff\xff\xff", "an Arrow stream", "convert it to Parquet or JSON lines"),
    (0, b"FEA1", "a Feather file", "convert it to Parquet or JSON lines"),
    (0, b"ORC", "an ORC file", CONVERT),
    (0, b"Obj\x01", "an Avro file", CONVERT),
    (0, b"SQLite format 3\0", "an SQLite database", CONVERT),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file", CONVERT),
    (
        0,
        b"\x93NUMPY",
        "a NumPy array",
        "for token ids write JSON lines with `input_ids` (--pretokenized)",
    ),
    (0, b"\x80\x02", "a pickle", CONVERT),
    (0, b"\x80\x04", "a pickle", CONVERT),
    (0, b"\x80\x05", "a pickle", CONVERT),
    (0, b"PK\x03\x04", "a zip archive", UNPACK),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (0, b"Rar!\x1a\x07", "a RAR archive", UNPACK),
    (257, b"ustar", "a tar archive", UNPACK),
    (0, b"BZh", "compressed with bzip2", DECOMPRESS),
    (0, b"\xfd7zXZ\0", "compressed with xz", DECOMPRESS),
    (0, b"\x04\x22\x4d\x18", "compressed with lz4", DECOMPRESS),
    (0, b"%PDF-", "a PDF document", EXTRACT),
    (0, b"{\\rtf", "an RTF document", EXTRACT),
    (0, b"\xd0\xcf\x11\xe0", "an Office document", EXTRACT),
    (0, b"\x89PNG\r\n\x1a\n", "an image", "it has no text"),
    (0, b"\xff\xd8\xff", "an image", "it has no text"),
    (0, b"\x7fELF", "a program", "it has no text"),
];

/// The head as text, what is cut at its end left out; none when it is not UTF-8 or holds NUL.
fn text(head: &[u8]) -> Option<&str> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    (!text.contains('\0')).then_some(text)
}

/// Whether it begins with a line of distinct names between commas, tabs or semicolons, and goes on with
/// lines of as many values.
fn is_table(text: &str) -> bool {
    /// Lines that must agree, the names among them, and that are looked at.
    const LEAST: usize = 3;
    const MOST: usize = 8;
    let is_name = |name: &str| {
        let name = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name);
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    };
    // The last line may be cut.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let mut lines = whole.lines();
    let Some(first) = lines.next() else { return false };
    [',', '\t', ';'].into_iter().any(|between| {
        let names: Vec<&str> = first.split(between).collect();
        let are_distinct = names
            .iter()
            .enumerate()
            .all(|(at, name)| !names.iter().take(at).any(|other| other == name));
        let mut agreeing = 1;
        for line in lines.clone().take(MOST - 1) {
            if values(line, between) != names.len() {
                return false;
            }
            agreeing += 1;
        }
        names.len() > 1
            && agreeing >= LEAST
            && are_distinct
            && names.iter().all(|name| is_name(name))
    })
}

/// Values of a line, quoted ones as one.
fn values(line: &str, between: char) -> usize {
    let mut is_quoted = false;
    let mut count = 1;
    for character in line.chars() {
        is_quoted ^= character == '"';
        count += usize::from(character == between && !is_quoted);
    }
    count
}

/// Whether a list of objects begins, or, by the name of a JSON file, an object that does not end on its line.
fn is_json_value(text: &str, is_named: bool) -> bool {
    let text = text.trim_start();
    let first = text.lines().next().unwrap_or_default().trim_end();
    let is_list = text.strip_prefix('[').is_some_and(|rest| {
        rest.trim_start().strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with('"'))
    });
    is_list || is_named && (first == "{" || text.starts_with('['))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_archives_and_what_is_no_text_are_told_from_texts() {
        for (head, name, words) in [
            (&b"id,text,n\n1,\"a, b\",2\n2,c,3\n"[..], "-", "separated values"),
            (b"id\ttext\n1\ta\n2\tb\n3", "x.txt", "separated values"),
            (b"whatever", "a.csv", "separated values"),
            (b"WARC/1.0\r\nWARC-Type: warcinfo\r\n", "x", "WARC"),
            (b"ARROW1\0\0\xff\xff", "a.feather", "Feather"),
            (b"FEA1\0\0", "a", "Feather"),
            (b"[\n  {\n \"text\": 1}]", "a", "jq -c"),
            (b"{\n \"text\": 1}", "a.json", "jq -c"),
            (b"a\0b", "a.txt", "NUL"),
            (b"abc\xff\xfe", "a.txt", "UTF-8"),
        ] {
            let why = foreign(head, name).unwrap_or_default();
            assert!(why.contains(words), "{name}: {why}");
        }
        for (head, name) in [
            (&b""[..], "empty.txt"),
            (b"Hello, world\nfoo, bar\nbaz, qux\n", "poem.txt"),
            (b"roses,violets\nare red, are blue, are\nsweet\n", "poem.txt"),
            (b"{\n not json", "code.rs"),
            (b"[section]\nname = 1\n", "a.ini"),
            (b"[link](x) and\n", "a.md"),
            (b"import os, sys\nx, y = 1, 2\n", "a.py"),
            ("cut \u{e9}".as_bytes().split_last().expect("is long").1, "a.txt"),
        ] {
            assert_eq!(foreign(head, name), None, "{name}");
        }
    }
}
