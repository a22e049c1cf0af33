//! Files of other people: what each is read as, what damage costs, what of a folder is left and why.

use crate::support::{
    TestDir, WEB_BY_ID, copy, corpusdb, corpusdb_reading, corpusdb_test, digest, gzip, ingest,
    init, json_lines, numbers, repository, sql,
};
use serde_json::{Value, json};
use std::io::Write;

fn fresh(scratch: &TestDir, name: &str) -> String {
    let corpus = scratch.arg(name);
    init(&corpus, &["--mode", "none", "--field", "lang:keyword"]);
    corpus
}

/// Keys, or texts of what has none, in the order of ids.
fn texts(corpus: &str) -> Vec<String> {
    let query = "SELECT text FROM documents ORDER BY id";
    let rows = json_lines(&corpusdb(&["sql", corpus, query, "--format", "json"]).good().stdout);
    rows.iter().map(|row| row["text"].as_str().unwrap().to_owned()).collect()
}

/// What `ingest` says of files: `seen`, `read`, `unchanged`, `left`.
fn files(report: &Value) -> [u64; 4] {
    numbers(&report["files"], ["seen", "read", "unchanged", "left"])
}

/// The files that were left, by their names, and what they are.
fn left(report: &Value) -> Vec<(String, String)> {
    let left = report["files"]["left_files"].as_array().cloned().unwrap_or_default();
    let name = |file: &Value| file["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let mut left: Vec<_> =
        left.iter().map(|file| (name(file), file["role"].as_str().unwrap().to_owned())).collect();
    left.sort();
    left
}

fn line(n: usize) -> String {
    format!("{{\"id\":\"r{n}\",\"text\":\"record number {n}\"}}\n")
}

// A format by its ending, its first bytes, or a vote of many lines; a record that is bad costs itself.
corpusdb_test!(a_file_is_recognised_behind_a_bad_first_record, |scratch| {
    let lines: String = (0..20).map(line).collect();
    let long = format!("{{\"id\":\"long\",\"text\":\"{}\"}}\n", "word ".repeat(1 << 20));
    let longer = format!("{{\"id\":\"longer\",\"text\":\"{}\"}}\n", "word ".repeat(1 << 22));
    let bad = |first: &[u8]| [first, lines.as_bytes()].concat();
    for (name, bytes, records, rejects) in [
        ("bad-byte.jsonl", bad(b"{\"text\":\"a\xff\"}\n"), 20, 1),
        ("nul.jsonl", bad(b"{\"text\":\"a\0\"}\n"), 20, 1),
        ("cut.jsonl", bad(b"{\"text\":\"a\n"), 20, 1),
        ("comment.jsonl", bad(b"# made by hand\n"), 20, 1),
        ("no-ending", bad(b"{\"text\":\"a\xff\"}\n"), 20, 1),
        ("lines.txt", lines.clone().into_bytes(), 20, 0),
        ("lines.json", lines.clone().into_bytes(), 20, 0),
        ("long-first", [long.as_bytes(), lines.as_bytes()].concat(), 21, 0),
        ("longer.jsonl", [lines.as_bytes(), longer.as_bytes(), b"bad\n"].concat(), 21, 1),
        ("long-first.gz", gzip(&[long.as_bytes(), lines.as_bytes()].concat()), 21, 0),
        ("bad-row.csv", b"id,text\n1,a\xff\n2,good\n3,good too\n".to_vec(), 2, 1),
        ("nul.csv", b"id,text\n1,with \0 in it\n2,good\n".to_vec(), 2, 0),
        ("old-mac.csv", b"id,text\r1,one\r2,\"two\r2\"\r".to_vec(), 2, 0),
        ("excel.csv", b"sep=;\r\nid;text\r\n1;one, two\r\n2;three\r\n".to_vec(), 2, 0),
        ("sep", b"sep=;\nid;text\n1;one\n2;three\n".to_vec(), 2, 0),
    ] {
        let path = scratch.write(&format!("in/{name}"), bytes);
        let corpus = fresh(&scratch, &format!("c-{name}"));
        let report = ingest(&corpus, &[&path], &["--source", "web"]);
        assert_eq!(numbers(&report, ["added", "rejected"]), [records, rejects], "{name}: {report}");
        let piped = fresh(&scratch, &format!("p-{name}"));
        let bytes = std::fs::read(&path).unwrap();
        let is_named = name.contains('.') && !name.ends_with(".txt") && !name.ends_with(".gz");
        if !is_named {
            corpusdb_reading(&["ingest", &piped, "-", "--source", "web"], &bytes).good();
            assert_eq!(texts(&piped), texts(&corpus), "{name} by a pipe");
        }
    }
    let mac = texts(&scratch.arg("c-old-mac.csv"));
    assert_eq!(mac, ["one", "two\r2"], "a quote holds a line end of any kind");
});

// The first records vote on the text field: no number of threads and no cut into batches changes that. A pipe may say no
// more for hours: there the first record that has one decides.
corpusdb_test!(a_header_before_the_records_does_not_decide_their_text_field, |scratch| {
    let records: String = (0..200).map(line).collect();
    let with_header = |header: &str| format!("{header}\n{records}");
    let header = with_header("{\"name\":\"pages\",\"body\":\"what they are\"}");
    let path = scratch.write("in/pages.jsonl", &header);
    let mut digests = Vec::new();
    for more in [["--threads", "1"], ["--threads", "8"], ["--batch-bytes", "1"]] {
        let corpus = fresh(&scratch, &format!("corpus{}{}", more[0], more[1]));
        let report = ingest(&corpus, &[&path], &[&["--source", "web"], &more[..]].concat());
        assert_eq!(numbers(&report, ["added", "rejected"]), [200, 1], "{report}");
        digests.push(digest(&corpus));
    }
    digests.dedup();
    assert_eq!(digests.len(), 1);
    for (header, added) in [("{\"name\":\"pages\"}", 200), ("{\"body\":\"what they are\"}", 1)] {
        let corpus = fresh(&scratch, &format!("piped-{added}"));
        let input = with_header(header);
        let arguments = ["ingest", &corpus, "-", "--source", "web", "--json"];
        let report = corpusdb_reading(&arguments, input.as_bytes()).good().json();
        assert_eq!(numbers(&report, ["added"]), [added], "{report}");
    }
});

// An Arrow file of Polars has the dictionaries of its categories behind its batches. It is read in the order of its
// table of contents where it has places; as a pipe it is damaged, and the way out is said.
corpusdb_test!(an_arrow_file_is_read_in_the_order_of_its_table_of_contents, |scratch| {
    let file = repository("tests/corpora/inputs/polars-categories.arrow");
    let corpus = fresh(&scratch, "corpus");
    let file = file.display().to_string();
    for expected in [[3, 0], [0, 3]] {
        let report = ingest(&corpus, &[&file], &["--source", "web", "--reread"]);
        assert_eq!(numbers(&report, ["added", "unchanged"]), expected, "{report}");
    }
    let rows = sql(&corpus, "SELECT lang, meta FROM documents ORDER BY id LIMIT 1");
    assert_eq!(rows[0]["lang"], "de", "{rows:?}");
    let piped = fresh(&scratch, "piped");
    let bytes = std::fs::read(&file).unwrap();
    corpusdb_reading(&["ingest", &piped, "-", "--source", "web"], &bytes)
        .fails(&["after the batches"]);
});

// What is no text in UTF-8 is named, with the way out, and none of it becomes a text; so is JSON that is no lines.
corpusdb_test!(unread_files_are_named_with_the_way_out, |scratch| {
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let big = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
    let lines: String = (0..9).map(line).collect();
    let marked = [&b"\xff\xfe"[..], &utf16(&lines)].concat();
    let wide: Vec<u8> = lines.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    for (name, bytes, words) in [
        ("a.jsonl", marked.clone(), "iconv -f UTF-16LE"),
        ("a.csv", [&b"\xfe\xff"[..], &big("id,text\n1,a\n")].concat(), "iconv -f UTF-16BE"),
        ("a.txt", big("no mark of byte order at all\n"), "UTF-16BE"),
        ("b.txt", wide, "UTF-32LE"),
        ("c.txt", b"caf\xe9 au lait, d\xe9j\xe0 vu\n".to_vec(), "WINDOWS-1252"),
        ("d.bin", b"\x01\x02\0\0\x07".to_vec(), "NUL"),
        ("package", b"{\n  \"name\": \"x\",\n  \"text\": \"y\"\n}\n".to_vec(), "--format json"),
        (
            "old.arc",
            b"filedesc://old.arc 0.0.0.0 2007 text/plain 67\n1 0 Example\n".to_vec(),
            "WARC",
        ),
    ] {
        let corpus = fresh(&scratch, &format!("c-{name}"));
        let path = scratch.write(&format!("in/{name}"), bytes);
        let beside = scratch.write("good.jsonl", line(1));
        let report = ingest(&corpus, &[&path, &beside], &["--source", "web"]);
        assert_eq!(numbers(&report, ["added", "rejected"]), [1, 1], "{name}: {report}");
        let rejects = corpusdb(&["rejects", &corpus]).good().stdout;
        assert!(rejects.contains(words), "{name}: {rejects}");
    }
    // Also where somebody says what it is.
    let corpus = fresh(&scratch, "said");
    let path = scratch.write("in/said.jsonl", marked);
    corpusdb(&["ingest", &corpus, &path, "--source", "web", "--format", "jsonl", "--json"]);
    assert!(corpusdb(&["rejects", &corpus]).good().stdout.contains("UTF-16LE"));
    // Pages are taken as they are, and that is said.
    let corpus = fresh(&scratch, "pages");
    let page =
        scratch.write("p/a.html", "<!doctype html>\n<html><p>The quay is closed.</p></html>\n");
    let report = ingest(&corpus, &[&page], &["--source", "web"]);
    assert_eq!(report["alarms"][0]["kind"], "html-files", "{report}");
    let report = ingest(&corpus, &[&page], &["--source", "text", "--format", "text"]);
    assert_eq!(report["alarms"], json!([]), "{report}");
});

// An input without a byte is no document, from a file, a pipe or an archive.
corpusdb_test!(an_input_without_a_byte_adds_nothing_and_is_named, |scratch| {
    let corpus = fresh(&scratch, "corpus");
    let plain = scratch.write("in/empty.txt", "");
    let packed = scratch.write("in/empty.gz", gzip(b""));
    let report = ingest(&corpus, &[&plain, &packed], &["--source", "web"]);
    assert_eq!(numbers(&report, ["read", "added"]), [0, 0], "{report}");
    assert_eq!(files(&report), [2, 0, 0, 2]);
    assert!(left(&report).iter().all(|(_, role)| role == "empty"), "{report}");
    let said = corpusdb_reading(&["ingest", &corpus, "-", "--source", "web"], b"").good().stdout;
    assert!(said.contains("it has no bytes"), "{said}");
    // It has become one later.
    scratch.write("in/empty.txt", "Now it says something.\n");
    assert_eq!(numbers(&ingest(&corpus, &[&plain], &["--source", "web"]), ["added"]), [1]);
});

// Padding of tapes and stores behind frames is no damage; what else stands there is left and said.
corpusdb_test!(padding_behind_frames_is_ignored_and_other_bytes_warned_of, |scratch| {
    let (one, two) = (line(1), line(2));
    let pack = |name: &str, bytes: &[u8]| match name {
        "gz" => gzip(bytes),
        "zst" => zstd::encode_all(bytes, 1).unwrap(),
        "bz2" => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        _ => {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
    };
    for ending in ["gz", "zst", "bz2", "lz4"] {
        let (first, second) = (pack(ending, one.as_bytes()), pack(ending, two.as_bytes()));
        for (what, behind, trailing) in [
            ("zeros", &[0; 700][..], false),
            ("a line end", b"\r\n", false),
            ("something else", b"-- \nsigned by nobody", true),
        ] {
            let bytes = [&first[..], &[0; 9], &second, &pack(ending, b""), behind].concat();
            let path = scratch.write(&format!("in/a.jsonl.{ending}"), bytes);
            let corpus = fresh(&scratch, &format!("{ending}-{}", what.len()));
            let report = ingest(&corpus, &[&path], &["--source", "web"]);
            assert_eq!(numbers(&report, ["added"]), [2], "{ending}, {what}: {report}");
            let alarms = report["alarms"].as_array().unwrap();
            let is_said = alarms.iter().any(|alarm| alarm["kind"] == "trailing-bytes");
            assert_eq!(is_said, trailing, "{ending}, {what}: {report}");
        }
    }
});

// What stands before the damage is read, the file is named, and the files behind it are read.
corpusdb_test!(a_damaged_file_costs_itself_and_is_named, |scratch| {
    let many: String = (0..20_000).map(line).collect();
    let whole = gzip(many.as_bytes());
    scratch.write("in/a.jsonl", line(90_001));
    scratch.write("in/b.jsonl.gz", &whole[..whole.len() / 2]);
    scratch.write("in/c.jsonl", line(90_002));
    scratch.write("in/d.csv", "text\nfine\n\"never closed\n");
    scratch.write("in/e.jsonl", "{\"a\":1}\n{\"a\":2}\n");
    scratch.write("in/f.jsonl", line(90_003));
    let folder = scratch.arg("in");
    let corpus = fresh(&scratch, "corpus");
    let arguments = ["ingest", &corpus, &folder, "--source", "web", "--json"];
    let ran = corpusdb(&arguments);
    assert_eq!(ran.code, Some(1), "done, and something is wrong: {}", ran.stderr);
    let report = ran.json();
    assert_eq!(files(&report), [6, 3, 0, 3], "{report}");
    let named = [("b.jsonl.gz", "damaged"), ("d.csv", "damaged"), ("e.jsonl", "foreign")];
    assert_eq!(left(&report), named.map(|(name, role)| (name.to_owned(), role.to_owned())));
    let kinds: Vec<_> = report["alarms"].as_array().unwrap().iter().map(|a| &a["kind"]).collect();
    assert!(kinds.contains(&&json!("damaged-files")) && kinds.contains(&&json!("foreign-files")));
    let found = texts(&corpus);
    assert!(
        found.contains(&"record number 90003".to_owned()) && found.contains(&"fine".to_owned())
    );
    let before = found.len();
    assert!(before > 5_000, "half of the damaged one: {before}");
    // Again: nothing is stored twice, and the damage is still there; mended, the rest comes in.
    let report = corpusdb(&arguments).json();
    assert_eq!(numbers(&report, ["added"]), [0], "{report}");
    assert_eq!(files(&report), [6, 0, 3, 3], "{report}");
    scratch.write("in/b.jsonl.gz", &whole);
    scratch.write("in/d.csv", "text\nfine\n\"closed\"\n");
    std::fs::remove_file(scratch.path("in/e.jsonl")).unwrap();
    let report = corpusdb(&arguments).good().json();
    assert_eq!(numbers(&report, ["added"]), [20_005 - before as u64], "{report}");
    // To stop there is a choice, and what nothing could be read of is an error.
    let stopped = fresh(&scratch, "stopped");
    scratch.write("in/b.jsonl.gz", &whole[..whole.len() / 2]);
    corpusdb(&["ingest", &stopped, &folder, "--source", "web", "--on-damaged-file", "stop"])
        .fails(&["b.jsonl.gz", "truncated or damaged"]);
    assert!(!texts(&stopped).contains(&"record number 90002".to_owned()));
    let alone = fresh(&scratch, "alone");
    corpusdb(&["ingest", &alone, &scratch.arg("in/b.jsonl.gz"), "--source", "web"])
        .fails(&["b.jsonl.gz", "truncated or damaged"]);
});

// What a program wrote beside its data, what is hidden, excluded, or a corpus is left, each with its reason.
corpusdb_test!(files_of_a_folder_are_read_or_skipped_with_a_reason, |scratch| {
    let inner = scratch.arg("in/inner");
    init(&inner, &[]);
    scratch.write("in/_SUCCESS", "");
    scratch.write("in/._SUCCESS.crc", "crc");
    scratch.write("in/part-00000-0a-c000.json", line(1));
    scratch.write("in/part-00001-0a-c000.json", line(2));
    scratch.write("in/README.md", "# About\n");
    scratch.write("in/notes.txt", "not a part\n");
    scratch.write("in/.cache/x.jsonl", line(9));
    let corpus = fresh(&scratch, "corpus");
    let report =
        ingest(&corpus, &[&scratch.arg("in")], &["--source", "web", "--exclude", "part-00001*"]);
    assert_eq!(texts(&corpus), ["record number 1"]);
    let expected = [
        ("._SUCCESS.crc", "hidden"),
        (".cache", "hidden"),
        ("README.md", "description"),
        ("_SUCCESS", "marker"),
        ("inner", "corpus"),
        ("notes.txt", "description"),
        ("part-00001-0a-c000.json", "excluded"),
    ];
    assert_eq!(left(&report), expected.map(|(name, role)| (name.to_owned(), role.to_owned())));
    assert_eq!(files(&report), [8, 1, 0, 7]);
    let said = corpusdb(&["ingest", &corpus, &scratch.arg("in"), "--source", "web"]).good().stdout;
    assert!(said.contains("8 files: 1 read, 1 unchanged, 6 skipped"), "{said}");
    // A text beside texts is one of them, whatever it is called.
    scratch.write("book/README.md", "# About this book\n");
    scratch.write("book/chapter.md", "It was a dark and stormy night.\n");
    let book = fresh(&scratch, "books");
    assert_eq!(files(&ingest(&book, &[&scratch.arg("book")], &["--source", "book"])), [2, 2, 0, 0]);
});

// Folders say fields, from whichever argument the file is reached, unless a record has them; own exports come back.
corpusdb_test!(folders_of_partitions_are_fields_of_their_records, |scratch| {
    scratch.write("in/lang=de/dump=2024-10/a.jsonl", line(1));
    scratch.write(
        "in/lang=fr/dump=2024-10/a.jsonl",
        "{\"id\":\"own\",\"text\":\"x\",\"lang\":\"it\"}\n",
    );
    scratch.write("in/lang=__HIVE_DEFAULT_PARTITION__/dump=a%2Fb/a.jsonl", line(3));
    let expected = [
        json!({"key": "r3", "lang": null, "dump": "a/b"}),
        json!({"key": "r1", "lang": "de", "dump": "2024-10"}),
        json!({"key": "own", "lang": "it", "dump": "2024-10"}),
    ];
    let folder = scratch.arg("in");
    let pattern = scratch.arg("in/**/a.jsonl");
    for (name, argument) in [("folder", &folder), ("pattern", &pattern)] {
        let corpus = fresh(&scratch, name);
        ingest(&corpus, &[argument], &WEB_BY_ID);
        let query = "SELECT key, lang, meta ->> 'dump' AS dump FROM documents ORDER BY id";
        let found =
            json_lines(&corpusdb(&["sql", &corpus, query, "--format", "json"]).good().stdout);
        assert_eq!(found, expected, "{name}");
        let again =
            ingest(&corpus, &[argument], &["--source", "web", "--id-field", "id", "--reread"]);
        assert_eq!(numbers(&again, ["added", "unchanged"]), [0, 3], "{name}: {again}");
    }
    // What was stored before it lay in such a folder is the same record.
    let plain = scratch.write("plain.jsonl", line(1));
    let corpus = fresh(&scratch, "moved");
    ingest(&corpus, &[&plain], &WEB_BY_ID);
    let moved = scratch.write("lang=de/plain.jsonl", std::fs::read(&plain).unwrap());
    let report = ingest(&corpus, &[&moved], &WEB_BY_ID);
    assert_eq!(numbers(&report, ["added", "unchanged"]), [0, 1], "{report}");
    let parts = scratch.arg("parts");
    let corpus = scratch.arg("folder");
    corpusdb(&["export", &corpus, "--to", &parts, "--format", "jsonl", "--partition-by", "lang"])
        .good();
    let back = fresh(&scratch, "back");
    ingest(&back, &[&parts], &["--source", "web", "--id-field", "key"]);
    let count = "SELECT count(*) AS n FROM documents WHERE lang IN ('de', 'it')";
    let found = json_lines(&corpusdb(&["sql", &back, count, "--format", "json"]).good().stdout);
    assert_eq!(found, [json!({"n": 2})]);
});

// A dataset that is a choice of rows of its files is not read as all of them.
corpusdb_test!(a_saved_dataset_with_a_choice_of_rows_is_refused, |scratch| {
    let folder = repository("tests/corpora/inputs/dataset");
    copy(&folder, &scratch.path("in"));
    let state = std::fs::read_to_string(scratch.path("in/state.json")).unwrap();
    let mut state: Value = serde_json::from_str(&state).unwrap();
    state["_indices_data_files"] = json!([{"filename": "indices.arrow"}]);
    scratch.write("in/state.json", state.to_string());
    let corpus = fresh(&scratch, "corpus");
    corpusdb(&["ingest", &corpus, &scratch.arg("in"), "--source", "web"])
        .fails(&["_indices_data_files", "flatten_indices"]);
});

// Every format that documents are exported to comes back as the same keys and texts.
corpusdb_test!(every_export_is_read_again, |scratch| {
    let corpus = fresh(&scratch, "corpus");
    let odd = [
        "plain",
        "with, commas \"and\" quotes",
        "two\nlines\r\nand more",
        "\u{feff}mark",
        "ünï ∑ 日本",
    ];
    let lines: String = odd
        .iter()
        .enumerate()
        .map(|(n, text)| {
            format!("{}\n", json!({"id": format!("k{n}"), "text": text, "lang": "de"}))
        })
        .collect();
    scratch.ingest(&corpus, "in.jsonl", lines, &WEB_BY_ID);
    for format in ["jsonl", "csv", "parquet", "arrow"] {
        let out = scratch.arg(&format!("out.{format}"));
        corpusdb(&["export", &corpus, "--all", "--to", &out]).good();
        let back = fresh(&scratch, &format!("back-{format}"));
        ingest(&back, &[&out], &["--source", "web", "--id-field", "key"]);
        assert_eq!(texts(&back), texts(&corpus), "{format}");
        let answer = scratch.arg(&format!("answer.{format}"));
        let query = "SELECT key, text FROM documents ORDER BY id";
        corpusdb(&["sql", &corpus, query, "-o", &answer]).good();
        let again = fresh(&scratch, &format!("answer-{format}"));
        ingest(&again, &[&answer], &["--source", "web", "--id-field", "key"]);
        assert_eq!(texts(&again), texts(&corpus), "answer as {format}");
    }
});

const HERE: &str = "tests/it/ingest/other_files.rs";

/// The rows of "Case by case" in the page of inputs, by how they begin, and where the test of each stands.
const CASES: [(&str, &str, &str); 19] = [
    ("with `--format`", HERE, "unread_files_are_named_with_the_way_out"),
    ("with an ending", HERE, "a_file_is_recognised_behind_a_bad_first_record"),
    (
        "with the first bytes",
        "src/input/arrow_tests.rs",
        "arrow_files_feather_and_streams_give_their_rows",
    ),
    ("with objects on", HERE, "a_file_is_recognised_behind_a_bad_first_record"),
    (
        "standard input",
        "tests/it/ingest/formats.rs",
        "a_table_is_ingested_by_columns_from_file_and_pipe",
    ),
    (
        "concatenated gzip members",
        "src/input/tests.rs",
        "compression_is_recognised_by_content_in_members_and_frames",
    ),
    ("with zeros", HERE, "padding_behind_frames_is_ignored_and_other_bytes_warned_of"),
    ("without an ending", HERE, "a_file_is_recognised_behind_a_bad_first_record"),
    ("empty", HERE, "an_input_without_a_byte_adds_nothing_and_is_named"),
    ("with a line of 20 MB", HERE, "a_file_is_recognised_behind_a_bad_first_record"),
    ("in UTF-16", HERE, "unread_files_are_named_with_the_way_out"),
    ("a table with carriage", HERE, "a_file_is_recognised_behind_a_bad_first_record"),
    ("ARC", HERE, "unread_files_are_named_with_the_way_out"),
    ("a web archive", "src/input/warc_reader.rs", "chunked_bodies_are_joined_and_others_left"),
    ("a folder that Spark", HERE, "files_of_a_folder_are_read_or_skipped_with_a_reason"),
    ("folders of partitions", HERE, "folders_of_partitions_are_fields_of_their_records"),
    ("a clone", "src/input/format_tests.rs", "folders_of_datasets_give_their_records_alone"),
    ("a dataset", "src/input/format_tests.rs", "folders_of_datasets_give_their_records_alone"),
    (
        "a prefix of a bucket",
        "tests/it/ingest/remote.rs",
        "a_prefix_is_a_folder_with_the_rules_of_one",
    ),
];

#[test]
fn every_case_of_the_page_of_inputs_has_its_test() {
    let read = |path: &str| std::fs::read_to_string(repository(path)).unwrap();
    let page = read("docs/reference/inputs.md");
    let section = page.split("### Case by case").nth(1).unwrap().split("\n#").next().unwrap();
    let rows: Vec<&str> =
        section.lines().filter_map(|line| line.strip_prefix("| ")).skip(1).collect();
    assert_eq!(rows.len(), CASES.len(), "{rows:?}");
    for (row, (case, file, test)) in rows.iter().zip(CASES) {
        assert!(row.starts_with(case), "{row}: {case}");
        let forms = [format!("fn {test}()"), format!("corpusdb_test!({test},")];
        let file_text = read(file);
        assert!(forms.iter().any(|form| file_text.contains(form)), "{file}: {test}");
    }
}
