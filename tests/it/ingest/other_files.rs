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

// Of two files with a key the last one wins, and an older copy of one mostly has the later name: it won, without a word.
corpusdb_test!(copies_and_parts_of_a_file_are_left_and_named, |scratch| {
    let old = line(1).replace("record", "older record");
    let ends = "~ .bak .old .orig .tmp .temp .part .partial .crdownload .download .incomplete ._COPYING_ .swp .gz.part";
    for end in ends.split(' ') {
        scratch.write(&format!("in/pages.jsonl{end}"), &old);
    }
    scratch.write("in/pages.jsonl.bak.gz", gzip(old.as_bytes()));
    scratch.write("in/#pages.jsonl#", &old);
    scratch.write("in/pages.jsonl", line(1));
    for (name, argument) in [("folder", scratch.arg("in")), ("pattern", scratch.arg("in/*"))] {
        let corpus = fresh(&scratch, name);
        let report = ingest(&corpus, &[&argument], &WEB_BY_ID);
        assert_eq!(texts(&corpus), ["record number 1"], "{name}");
        assert_eq!(files(&report), [17, 1, 0, 16], "{name}: {report}");
        assert!(left(&report).iter().all(|(_, role)| role == "leftover"), "{name}: {report}");
        let alarm = &report["alarms"][0];
        assert_eq!((&alarm["kind"], &alarm["files"]), (&json!("files-left"), &json!(16)));
    }
    // Whoever names one, or its ending, gets it; and a folder of nothing else is an error that says why.
    let corpus = fresh(&scratch, "named");
    for argument in [scratch.arg("in/pages.jsonl.old"), scratch.arg("in/*.bak")] {
        let report = ingest(&corpus, &[&argument], &WEB_BY_ID);
        assert_eq!(files(&report), [1, 1, 0, 0], "{report}");
    }
    assert_eq!(texts(&corpus), ["older record number 1"]);
    std::fs::remove_file(scratch.path("in/pages.jsonl")).unwrap();
    corpusdb(&["ingest", &corpus, &scratch.arg("in"), "--source", "web"])
        .fails(&["#pages.jsonl#: what an editor keeps", "is read where its path is given"]);
});

// A name decided: records were left as descriptions of others, and one script made a page and a licence documents.
corpusdb_test!(records_are_data_and_texts_beside_them_are_not, |scratch| {
    let named = "notice.csv authors.jsonl license_x.jsonl metadata.json citation-1.json.gz readme";
    for (n, name) in named.split(' ').enumerate() {
        let lines = match name {
            "notice.csv" => format!("id,text\nr{n},record number {n}\n"),
            _ => line(n) + &line(n + 100),
        };
        let is_packed = name.ends_with(".gz");
        let bytes = if is_packed { gzip(lines.as_bytes()) } else { lines.into_bytes() };
        scratch.write(&format!("in/{name}"), bytes);
    }
    let data = fresh(&scratch, "data");
    let report = ingest(&data, &[&scratch.arg("in")], &WEB_BY_ID);
    assert_eq!(numbers(&report, ["added", "rejected"]), [11, 0], "{report}");
    for (name, bytes) in [
        ("README.md", "# A page about boats and their crews\n"),
        ("LICENSE", "Permission is granted\n"),
        ("load.py", "import datasets\n"),
        ("urls.txt", "http://h.example/1\nhttp://h.example/2\n"),
        ("docs/method.md", "How the data were made.\n"),
        ("dataset_infos.json", "{\n \"x\": 1\n}\n"),
    ] {
        scratch.write(&format!("in/{name}"), bytes);
    }
    for (name, argument) in [("folder", scratch.arg("in")), ("pattern", scratch.arg("in/**"))] {
        let corpus = fresh(&scratch, name);
        let report = ingest(&corpus, &[&argument], &WEB_BY_ID);
        assert_eq!(numbers(&report, ["added", "rejected"]), [11, 0], "{name}: {report}");
        assert_eq!(files(&report), [12, 6, 0, 6], "{name}: {report}");
        assert!(left(&report).iter().all(|(_, role)| role == "description"), "{report}");
        assert_eq!(report["alarms"][0]["kind"], "files-left", "{report}");
    }
    // They are read where they are asked for, and where no file beside them has records.
    let texts = fresh(&scratch, "texts");
    let arguments = [scratch.arg("in/*.md"), scratch.arg("in/docs")];
    let report = ingest(&texts, &[&arguments[0], &arguments[1]], &["--source", "web"]);
    assert_eq!((files(&report), &report["alarms"]), ([2, 2, 0, 0], &json!([])), "{report}");
    let all = ingest(&texts, &[&scratch.arg("in")], &["--source", "all", "--format", "text"]);
    assert_eq!(files(&all)[3], 0, "{all}");
    scratch.write("list/index.csv", "file,year\na.txt,2001\n");
    scratch.write("list/a.txt", "A text with its row in a list.\n");
    let report = ingest(&texts, &[&scratch.arg("list")], &["--source", "list"]);
    assert_eq!(numbers(&report, ["added"]), [1], "{report}");
});

// Deleted rows of tables came in, and their metadata were documents.
corpusdb_test!(a_table_format_is_refused_with_the_way_out, |scratch| {
    scratch.write("ice/metadata/v1.metadata.json", "{}");
    scratch.write("ice/metadata/version-hint.text", "1");
    scratch.write("delta/_delta_log/00000000000000000000.json", "{}");
    scratch.write("hudi/.hoodie/hoodie.properties", "x");
    scratch.write("set.lance/_versions/1.manifest", "x");
    for (table, way) in [
        ("ice", "pyiceberg"),
        ("delta", "deltalake.DeltaTable"),
        ("hudi", "hudi.HudiTable"),
        ("set.lance", "lance.dataset"),
    ] {
        let corpus = fresh(&scratch, &format!("c-{table}"));
        let file = scratch.write(&format!("{table}/data/lang=de/a.jsonl"), line(1));
        for argument in ["", "/data", "/data/lang=de", "/data/*/*.jsonl", "/**"] {
            let argument = scratch.arg(&format!("{table}{argument}"));
            corpusdb(&["ingest", &corpus, &argument, "--source", "web"]).fails(&[
                &format!("{table}: a"),
                way,
                "w.ingest(",
            ]);
        }
        let report = ingest(&corpus, &[&file], &["--source", "web"]);
        assert_eq!(numbers(&report, ["added"]), [1], "{report}");
    }
    // Below a folder of other files, a table is refused too, unless it is excluded.
    let lake = fresh(&scratch, "lake");
    copy(&scratch.path("delta"), &scratch.path("lake-of/delta"));
    scratch.write("lake-of/a.jsonl", line(2));
    let arguments = ["ingest", &lake, &scratch.arg("lake-of"), "--source", "web"];
    corpusdb(&arguments).fails(&["lake-of/delta: a Delta table"]);
    corpusdb(&[&arguments[..], &["--exclude", "delta/**"]].concat()).good();
});

// Each file that was looked at and not read was called one without bytes.
corpusdb_test!(a_file_that_is_not_read_is_left_with_its_reason, |scratch| {
    let packed = [&b"\xff\x06\0\0sNaPpY\0\0"[..], &[7; 40]].concat();
    let others = [
        ("a.avro", &b"Obj\x01and more"[..], "an Avro file"),
        ("b.zip", b"PK\x03\x04and more", "a zip archive"),
        ("c.txt", b"caf\xe9 au lait, dit-il\n", "WINDOWS-1252"),
        ("d.jsonl.lzma", b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0", "lzma"),
        ("e.jsonl.sz", &packed, "snappy"),
        ("f.jsonl.Z", b"\x1f\x9d\x90\x7b\x44", "compress"),
        ("g.json", b"{\n \"name\": 1\n}\n", "--format json"),
    ];
    for (name, bytes, _) in others {
        scratch.write(&format!("in/{name}"), bytes);
    }
    scratch.write("in/h.jsonl", "");
    scratch.write("in/y.jsonl", line(1));
    let corpus = fresh(&scratch, "corpus");
    let report = ingest(&corpus, &[&scratch.arg("in")], &["--source", "web"]);
    assert_eq!(files(&report), [9, 1, 0, 8], "{report}");
    let expected = others.map(|(name, ..)| (name.to_owned(), "foreign".to_owned()));
    let empty = [("h.jsonl".to_owned(), "empty".to_owned())];
    assert_eq!(left(&report), [&expected[..], &empty].concat());
    let found = report["files"]["left_files"].as_array().unwrap();
    for (name, bytes, words) in others {
        let is_it = |file: &&Value| file["path"].as_str().unwrap().ends_with(name);
        let file = found.iter().find(is_it).unwrap();
        assert!(file["why"].as_str().unwrap().contains(words), "{file}");
        assert_eq!(file["bytes"], bytes.len(), "{file}");
    }
    // Told once: they are rejects, and that is an alarm already.
    let kinds: Vec<_> = report["alarms"].as_array().unwrap().iter().map(|a| &a["kind"]).collect();
    assert_eq!(kinds, ["not-text"], "{report}");
});

// Records with a separator before each were one document of raw JSON.
corpusdb_test!(records_behind_separators_are_json_under_any_name, |scratch| {
    let records: String = (0..5).map(|n| format!("\u{1e}{}", line(n))).collect();
    let spread = records.replace(",\"text", ",\n  \"text");
    let cut = format!("\u{1e}{{\"id\":\"cut\",\"text\":\"{records}");
    for (name, bytes, added, rejected) in [
        ("a.json-seq", records.clone().into_bytes(), 5, 0),
        ("b.txt", records.clone().into_bytes(), 5, 0),
        ("c.jsonl", records.clone().into_bytes(), 5, 0),
        ("d", spread.into_bytes(), 5, 0),
        ("e.gz", gzip(records.as_bytes()), 5, 0),
        ("f", cut.into_bytes(), 5, 1),
        ("g.txt", b"\x1e is a character\n".to_vec(), 1, 0),
    ] {
        let path = scratch.write(&format!("in/{name}"), &bytes);
        let corpus = fresh(&scratch, &format!("c-{name}"));
        let report = ingest(&corpus, &[&path], &["--source", "web"]);
        assert_eq!(numbers(&report, ["added", "rejected"]), [added, rejected], "{name}: {report}");
        let piped = fresh(&scratch, &format!("p-{name}"));
        corpusdb_reading(&["ingest", &piped, "-", "--source", "web"], &bytes);
        assert_eq!(texts(&piped), texts(&corpus), "{name} by a pipe");
    }
    // A file that grows goes on, also where somebody says what it is.
    let corpus = fresh(&scratch, "said");
    let grown = scratch.write("in/log", &records);
    let said = ["--source", "web", "--format", "jsonl"];
    assert_eq!(numbers(&ingest(&corpus, &[&grown], &said), ["added"]), [5]);
    scratch.write("in/log", format!("{records}\u{1e}{}", line(9)));
    let report = ingest(&corpus, &[&grown], &said);
    assert_eq!(numbers(&report, ["read", "added"]), [1, 1], "{report}");
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
const CASES: [(&str, &str, &str); 22] = [
    ("with `--format`", HERE, "unread_files_are_named_with_the_way_out"),
    ("with an ending", HERE, "a_file_is_recognised_behind_a_bad_first_record"),
    (
        "with the first bytes",
        "crates/files/src/input/arrow_tests.rs",
        "arrow_files_feather_and_streams_give_their_rows",
    ),
    ("with objects on", HERE, "a_file_is_recognised_behind_a_bad_first_record"),
    ("with a record separator", HERE, "records_behind_separators_are_json_under_any_name"),
    (
        "standard input",
        "tests/it/ingest/formats.rs",
        "a_table_is_ingested_by_columns_from_file_and_pipe",
    ),
    (
        "concatenated gzip members",
        "crates/files/src/input/tests.rs",
        "compression_is_recognised_by_content_in_members_and_frames",
    ),
    ("with zeros", HERE, "padding_behind_frames_is_ignored_and_other_bytes_warned_of"),
    ("without an ending", HERE, "a_file_is_recognised_behind_a_bad_first_record"),
    ("empty", HERE, "an_input_without_a_byte_adds_nothing_and_is_named"),
    ("with a line of 20 MB", HERE, "a_file_is_recognised_behind_a_bad_first_record"),
    ("in UTF-16", HERE, "unread_files_are_named_with_the_way_out"),
    ("a table with carriage", HERE, "a_file_is_recognised_behind_a_bad_first_record"),
    ("ARC", HERE, "unread_files_are_named_with_the_way_out"),
    (
        "a web archive",
        "crates/files/src/input/warc_reader.rs",
        "chunked_bodies_are_joined_and_others_left",
    ),
    ("a folder that Spark", HERE, "files_of_a_folder_are_read_or_skipped_with_a_reason"),
    ("copies and parts", HERE, "copies_and_parts_of_a_file_are_left_and_named"),
    ("a folder of Iceberg", HERE, "a_table_format_is_refused_with_the_way_out"),
    ("folders of partitions", HERE, "folders_of_partitions_are_fields_of_their_records"),
    ("a clone", HERE, "records_are_data_and_texts_beside_them_are_not"),
    (
        "a dataset",
        "crates/files/src/input/format_tests.rs",
        "folders_of_datasets_give_their_records_alone",
    ),
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
