//! Files that are neither records nor a text: told by their first bytes, and by their name where a format has no mark.

use super::tagged::annotated_text;

/// What a file is that would make no training text, and the way out; none: it is a text. `head` is its
/// beginning, decompressed; `name` its name in lower case, without the end that says the compression.
pub(super) fn describe_foreign(head: &[u8], name: &str) -> Option<String> {
    if let Some((what, way)) = mark(head) {
        return Some(format!("{what}, not a text: {way}"));
    }
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let text = text(head);
    let what = if ends(&[".warc", ".wet", ".wat"]) {
        "called a web archive (WARC), but no record of one begins it: repair it"
    } else if ends(&[".json", ".jsonl", ".ndjson"]) && text.is_some_and(is_json_value) {
        "JSON over several lines, not one object a line: read its objects with --format json"
    } else if let Some(what) = text.and_then(|text| annotated_text(text, name)) {
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
const DECOMPRESS: &str = "it is compressed twice, decompress it once";
const EXTRACT: &str = "extract its text to JSON lines";

/// Position, bytes, what begins so, the way out.
const MARKS: [(usize, &[u8], &str, &str); 22] = [
    (
        0,
        b"FEA1",
        "a Feather file of version 1",
        "write it anew as version 2, with pyarrow.feather.write_feather",
    ),
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

/// Whether it begins as a format does that is no text.
pub(super) fn is_marked(head: &[u8]) -> bool {
    mark(head).is_some()
}

fn mark(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let is = |at: usize, mark: &[u8]| head.get(at..).is_some_and(|from| from.starts_with(mark));
    MARKS.iter().find(|(at, mark, _, _)| is(*at, mark)).map(|(_, _, what, way)| (*what, *way))
}

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

/// Whether a list begins, or an object that does not end on its line.
fn is_json_value(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or_default().trim_end();
    first == "{" || first.starts_with('[')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_and_what_is_no_text_are_told_from_texts() {
        for (head, name, words) in [
            (&b"PK"[..], "x.warc", "WARC"),
            (b"FEA1\0\0", "a", "Feather"),
            (b"[1,\n2]", "a.json", "--format json"),
            (b"{\n \"text\": 1}", "a.json", "--format json"),
            (b"a\0b", "a.txt", "NUL"),
            (b"abc\xff\xfe", "a.txt", "UTF-8"),
        ] {
            let why = describe_foreign(head, name).unwrap_or_default();
            assert!(why.contains(words), "{name}: {why}");
        }
        for (head, name) in [
            (&b""[..], "empty.txt"),
            (b"Hello, world\nfoo, bar\nbaz, qux\n", "poem.txt"),
            (b"{\n not json", "code.rs"),
            (b"[section]\nname = 1\n", "a.ini"),
            (b"[link](x) and\n", "a.md"),
            ("cut \u{e9}".as_bytes().split_last().expect("is long").1, "a.txt"),
        ] {
            assert_eq!(describe_foreign(head, name), None, "{name}");
        }
    }
}
