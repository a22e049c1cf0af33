//! Recognises files that must not be read as plain text.
//!
//! They are of other formats or encodings, pages, JSON, or texts that a program annotated.
//!
//! Other formats are told by their first bytes, and by their name where a format has no mark. Annotated texts have
//! marks of another program between their lines: dumps of a wiki, mailboxes, columns of tagged words.

use model::invariant::part;

/// Describes a file that would make no training text, with the way out; none: it is a text. `head` is its beginning,
/// decompressed; `name` its name in lower case, without the end that says the compression.
pub(super) fn describe_foreign(head: &[u8], name: &str) -> Option<String> {
    if let Some((what, way)) = mark(head) {
        return Some(format!("{what}, not a text: {way}"));
    }
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let valid = valid_utf8(head);
    let text = text(head);
    let what = if ends(&[".warc", ".wet", ".wat"]) {
        "named as a web archive (WARC), but it does not begin with a record: repair it"
    } else if ends(&[".json", ".jsonl", ".ndjson"]) && text.is_some_and(is_json_value) {
        "JSON over several lines, not one object a line: read its objects with --format json"
    } else if begins_as_json(head) {
        "JSON, but not one object a line: read its objects with --format json"
    } else if let Some(what) = text.and_then(|text| annotated_text(text, name)) {
        what
    } else if head.contains(&0) {
        return Some("not a text: it has NUL bytes".to_owned());
    } else if valid < head.len() {
        let way = "convert it to UTF-8, such as with `iconv -f WINDOWS-1252 -t UTF-8`";
        return Some(format!(
            "not UTF-8 from byte {valid} on, perhaps Latin-1, Windows-1252 or similar: {way}"
        ));
    } else {
        return None;
    };
    Some(format!("{what}, or take the file as one document with --format text"))
}

const CONVERT: &str = "convert it to JSON lines or Parquet";
const UNPACK: &str = "unpack it, and give its content";
const DECOMPRESS: &str = "it is compressed twice; decompress it once";
const RECOMPRESS: &str = "decompress it, or compress it again with gzip, zstd or xz";
const EXTRACT: &str = "extract its text to JSON lines";

/// Position, bytes, what begins so, the way out.
const MARKS: [(usize, &[u8], &str, &str); 30] = [
    (
        0,
        b"FEA1",
        "a Feather file of version 1",
        "write it again as version 2, with pyarrow.feather.write_feather",
    ),
    (
        0,
        b"filedesc://",
        "a web archive in the old ARC format",
        "convert it to WARC (`warcio recompress`)",
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
    // Forms of compression that are not read.
    (0, b"\x5d\0\0", "compressed with lzma, as before xz", RECOMPRESS),
    (0, b"LZIP\x01", "compressed with lzip", RECOMPRESS),
    (0, b"\xff\x06\0\0sNaPpY", "compressed with snappy (frames)", RECOMPRESS),
    (0, b"\x1f\x9d", "compressed with compress (.Z)", RECOMPRESS),
    (0, b"\x89LZO\0\r\n\x1a\n", "compressed with lzop", RECOMPRESS),
    (0, b"\x02\x21\x4c\x18", "compressed with lz4 in its old form", RECOMPRESS),
    (0, b"x\x9c", "compressed with zlib", RECOMPRESS),
    (0, b"%PDF-", "a PDF document", EXTRACT),
    (0, b"{\\rtf", "an RTF document", EXTRACT),
    (0, b"\xd0\xcf\x11\xe0", "an Office document", EXTRACT),
    (0, b"\x89PNG\r\n\x1a\n", "an image", "it has no text"),
    (0, b"\xff\xd8\xff", "an image", "it has no text"),
    (0, b"\x7fELF", "a program", "it has no text"),
];

/// Whether it begins as a format does that is not text.
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

/// Bytes of the beginning that are UTF-8; a character that is cut at its end counts as one.
fn valid_utf8(head: &[u8]) -> usize {
    match std::str::from_utf8(head) {
        Err(error) if error.error_len().is_some() => error.valid_up_to(),
        _ => head.len(),
    }
}

/// The encoding of a text that is not UTF-8 but one with units of two or four bytes: by its mark of byte order, or by
/// the places of its zeros; a text in a script other than Latin has few.
pub(super) fn other_encoding(head: &[u8]) -> Option<&'static str> {
    match head {
        [0xff, 0xfe, 0, 0, ..] => return Some("UTF-32LE"),
        [0, 0, 0xfe, 0xff, ..] => return Some("UTF-32BE"),
        [0xff, 0xfe, ..] => return Some("UTF-16LE"),
        [0xfe, 0xff, ..] => return Some("UTF-16BE"),
        _ => {}
    }
    let units = head.len() / 4;
    if units < 2 {
        return None;
    }
    let zeros =
        |at: usize| head.iter().skip(at).step_by(4).take(units).filter(|b| **b == 0).count();
    let [a, b, c, d] = [zeros(0), zeros(1), zeros(2), zeros(3)];
    let (most, few) = (units * 3 / 4, units / 8);
    match () {
        () if b >= most && c >= most && d >= most && a <= few => Some("UTF-32LE"),
        () if a >= most && b >= most && c >= most && d <= few => Some("UTF-32BE"),
        () if b >= most && d >= most && a <= few && c <= few => Some("UTF-16LE"),
        () if a >= most && c >= most && b <= few && d <= few => Some("UTF-16BE"),
        () => None,
    }
}

/// The record separator of RFC 7464.
pub(super) const SEPARATOR: u8 = 0x1e;

/// Whether a JSON object begins: a brace, a name in quotes, a colon.
pub(super) fn begins_as_object(bytes: &[u8]) -> bool {
    let Some(rest) = bytes.trim_ascii_start().strip_prefix(b"{") else { return false };
    let Some(rest) = rest.trim_ascii_start().strip_prefix(b"\"") else { return false };
    let mut is_escape = false;
    let end = rest.iter().position(|byte| {
        let is_end = *byte == b'"' && !is_escape;
        is_escape = *byte == b'\\' && !is_escape;
        is_end
    });
    end.is_some_and(|end| part(rest, end + 1..).trim_ascii_start().starts_with(b":"))
}

/// Whether records begin that each have a separator in front (RFC 7464), as `jq --seq` writes them.
pub(super) fn begins_as_sequence(bytes: &[u8]) -> bool {
    let is_gap = |byte: &u8| *byte == SEPARATOR || byte.is_ascii_whitespace();
    let gap = bytes.iter().take_while(|byte| is_gap(byte)).count();
    let (gap, rest) = bytes.split_at_checked(gap).unwrap_or((bytes, b""));
    gap.contains(&SEPARATOR) && begins_as_json(rest)
}

/// Whether a JSON object begins, or a list of them.
fn begins_as_json(bytes: &[u8]) -> bool {
    let list = bytes.trim_ascii_start().strip_prefix(b"[");
    begins_as_object(bytes) || list.is_some_and(begins_as_object)
}

/// Whether a page begins.
pub(super) fn is_html(text: &str) -> bool {
    let begins = |start: &str| {
        text.trim_start().get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
    };
    begins("<!doctype html") || begins("<html")
}

/// Whether a list begins, or an object that does not end on its line.
pub(super) fn is_json_value(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or_default().trim_end();
    first == "{" || first.starts_with('[')
}

/// Lines that are examined.
const LINES: usize = 200;
/// Lines of words that must agree.
const LEAST: usize = 5;

/// Describes a text that would make no training text as it stands, with the way out.
fn annotated_text(text: &str, name: &str) -> Option<&'static str> {
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    // The last line may be cut.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    if is_wiki(text) {
        Some(
            "a dump of a wiki (MediaWiki XML), not a text: extract its pages to JSON lines or Parquet",
        )
    } else if is_mailbox(whole) {
        Some("a mailbox (mbox), not a text: extract its messages to JSON lines or Parquet")
    } else if ends(&[".conllu", ".conll"]) || is_columns(whole) {
        Some(
            "words in columns (CoNLL), not a text: put its sentences together as JSON lines or plain text",
        )
    } else if is_one_column(whole, name) {
        Some("a table of one column (CSV), not a text: read it with --format csv")
    } else {
        None
    }
}

fn is_wiki(text: &str) -> bool {
    let mut text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with("<?xml") {
        text = text.split_once("?>").map_or("", |(_, behind)| behind.trim_start());
    }
    text.strip_prefix("<mediawiki").is_some_and(|rest| rest.starts_with([' ', '\n', '\r', '>']))
}

/// A line of the sender and the time, then header lines.
fn is_mailbox(text: &str) -> bool {
    let mut lines = text.lines();
    let is_from = lines.next().and_then(|line| line.strip_prefix("From ")).is_some_and(|line| {
        let is_time = |word: &str| {
            let parts: Vec<&str> = word.split(':').collect();
            parts.len() >= 2
                && parts
                    .iter()
                    .all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let is_year =
            |word: &str| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
        line.split_whitespace().any(is_time) && line.split_whitespace().any(is_year)
    });
    let headers = lines.take_while(|line| !line.is_empty()).take(LINES);
    is_from && headers.filter(|line| is_header(line)).count() >= 2
}

fn is_header(line: &str) -> bool {
    line.split_once(':').is_some_and(|(name, _)| {
        name.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

/// One word a line, with its number or a tag beside it, in as many columns all through.
fn is_columns(text: &str) -> bool {
    if text.starts_with("-DOCSTART-") {
        return true;
    }
    let words = || {
        let lines = text.lines().take(LINES).map(str::trim_end);
        lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
    };
    if words().take(LEAST).count() < LEAST {
        return false;
    }
    ['\t', ' '].into_iter().any(|between| {
        let columns = |line: &str| line.split(between).count();
        let Some(width) = words().next().map(columns) else { return false };
        if width < 2 || words().any(|line| columns(line) != width) {
            return false;
        }
        let every = |at: usize, holds: &dyn Fn(&str) -> bool| {
            words().all(|line| line.split(between).nth(at).is_some_and(holds))
        };
        let is_numbered = between == '\t' && width >= 8 && every(0, &is_number);
        is_numbered || (1..width).any(|at| every(at, &is_tag))
    })
}

/// `7`, `7-8` for words written as one, `7.1` for one that is left out.
fn is_number(word: &str) -> bool {
    let mut parts = word.splitn(2, ['-', '.']);
    parts.all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Parts of speech of Universal Dependencies, and parts of names.
fn is_tag(word: &str) -> bool {
    const SPEECH: [&str; 17] = [
        "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN",
        "PUNCT", "SCONJ", "SYM", "VERB", "X",
    ];
    let is_part = |word: &str| {
        word.split_once('-').is_some_and(|(place, name)| {
            matches!(place, "B" | "I" | "E" | "S" | "L" | "U") && !name.is_empty()
        })
    };
    word == "O" || SPEECH.contains(&word) || is_part(word)
}

/// Whether this is one column of texts, a name and values below it: on standard input, where no file name says so, or
/// with all values in quotes.
fn is_one_column(text: &str, name: &str) -> bool {
    const NAMES: [&str; 8] =
        ["body", "content", "document", "message", "prompt", "review", "sentence", "text"];
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().trim_end();
    let is_name = NAMES.contains(&first.trim_matches('"').to_ascii_lowercase().as_str());
    if !is_name || text.lines().take(3).count() < 3 {
        return false;
    }
    let is_quoted = |line: &str| line.len() > 1 && line.starts_with('"') && line.ends_with('"');
    name == "-" || lines.take(LEAST).all(|line| is_quoted(line.trim_end()))
}

#[cfg(test)]
mod foreign_tests {
    use super::*;

    #[test]
    fn archives_and_binary_files_are_distinguished_from_texts() {
        for (head, name, words) in [
            (&b"PK"[..], "x.warc", "WARC"),
            (b"FEA1\0\0", "a", "Feather"),
            (b"[1,\n2]", "a.json", "--format json"),
            (b"{\n \"text\": 1}", "a.json", "--format json"),
            (b"a\0b", "a.txt", "NUL"),
            (b"filedesc://a.arc 0.0.0.0 2007", "a", "ARC"),
            (b"{\n \"name\": \"x\",", "package", "--format json"),
            (b"[ { \"a\" : 1", "-", "--format json"),
            (b"abc\xff\xfe", "a.txt", "UTF-8"),
            (b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0", "a.jsonl", "lzma"),
            (b"\xff\x06\0\0sNaPpY\0\x2a", "a.jsonl", "snappy"),
            (b"\x1f\x9d\x90\x7b", "a.jsonl", "compress (.Z)"),
        ] {
            let why = describe_foreign(head, name).unwrap_or_default();
            assert!(why.contains(words), "{name}: {why}");
        }
        for (head, name) in [
            (&b""[..], "empty.txt"),
            (b"Hello, world\nfoo, bar\nbaz, qux\n", "poem.txt"),
            (b"{\n not json", "code.rs"),
            (b"{\"a\", 1}", "array.c"),
            (b"[\"a\", 1]", "list.py"),
            (b"[section]\nname = 1\n", "a.ini"),
            (b"[link](x) and\n", "a.md"),
            ("cut \u{e9}".as_bytes().split_last().expect("is long").1, "a.txt"),
        ] {
            assert_eq!(describe_foreign(head, name), None, "{name}");
        }
    }
}

#[cfg(test)]
mod tagged_tests {
    use super::*;

    #[test]
    fn dumps_mailboxes_and_columns_are_distinguished_from_texts() {
        for (text, name, words) in [
            ("<mediawiki xmlns=\"http://x\" version=\"0.11\">\n<siteinfo>", "x", "MediaWiki"),
            ("<?xml version=\"1.0\"?>\n<mediawiki>\n", "dump.xml", "MediaWiki"),
            (
                "From a@b.org Sat Jan  3 01:05:34 2009\nReturn-Path: <a@b.org>\nSubject: Re: x\n\nHello\n",
                "x.txt",
                "mbox",
            ),
            (
                "# sent_id = 1\n1\tA\ta\tDET\tDT\t_\t2\tdet\t_\t_\n2-3\tb\t_\t_\t_\t_\t_\t_\t_\t_\n2\tb\tb\tNOUN\tNN\t_\t0\troot\t_\t_\n\n1\tC\tc\tX\t_\t_\t0\troot\t_\t_\n2\t.\t.\tPUNCT\t_\t_\t1\tp\t_\t_\n",
                "x.txt",
                "CoNLL",
            ),
            (
                "EU NNP B-NP B-ORG\nrejects VBZ B-VP O\nGerman JJ B-NP B-MISC\ncall NN I-NP O\n\nPeter NNP B-NP B-PER\n. . O O\n",
                "x.txt",
                "CoNLL",
            ),
            ("The\tDET\ncat\tNOUN\nsat\tVERB\n.\tPUNCT\n\nIt\tPRON\nran\tVERB\n", "-", "CoNLL"),
            ("-DOCSTART- -X- O O\n\n", "x", "CoNLL"),
            ("# newdoc\n", "a.conllu", "CoNLL"),
            ("text\nfirst row\nsecond row\nthird row\n", "-", "one column"),
            ("text\n\"first, row\"\n\"second\"\n\"third \"\"row\"\"\"\n", "x.txt", "one column"),
        ] {
            let why = annotated_text(text, name).unwrap_or_default();
            assert!(why.contains(words), "{text}: {why}");
        }
        for (text, name) in [
            ("", "-"),
            ("<media>\nnone", "a.xml"),
            ("<?xml version=\"1.0\"?>\n<mediawikis>\n", "a.xml"),
            ("From here to 2009 it was 10:15 all day.\nNote: it rained.\n\nStill.\n", "a.txt"),
            ("From: a@b.org\nSubject: x\n\nHello\n", "a.eml"),
            ("O\nO O\nO\nO\nO\nO\n", "a.txt"),
            ("roses are red\nviolets are blue\nsugar is sweet\nand so are\nyou my dear\n", "a.txt"),
            ("a b\nc d\ne f\ng h\ni j\n", "a.txt"),
            ("1\t2\n2\t4\n3\t6\n4\t8\n5\t10\n", "a.txt"),
            ("text\nis what this is about\nand more\nand more\n", "a.txt"),
            ("Hello\nfirst row\nsecond row\nthird\n", "-"),
        ] {
            assert_eq!(annotated_text(text, name), None, "{text}");
        }
    }
}
