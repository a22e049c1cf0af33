//! Formats of inputs through the command: files and pipes, batches of any size, what comes again.

use crate::support::{
    TestDir, command, corpusdb, corpusdb_reading, digest, ingest, init, interrupt, json_lines,
    numbers, repository, sound,
};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

const ADDED: [&str; 3] = ["added", "unchanged", "rejected"];

/// A file that a reference library wrote.
fn golden(name: &str) -> String {
    repository("tests/corpora/inputs").join(name).to_string_lossy().into_owned()
}

/// Columns of all documents, in the order of ids.
fn rows(corpus: &str, columns: &str) -> Vec<Value> {
    let query = format!("SELECT {columns} FROM documents ORDER BY id");
    json_lines(&corpusdb(&["sql", corpus, &query, "--format", "json"]).good().stdout)
}

#[test]
fn a_table_is_ingested_by_columns_from_file_and_pipe() {
    let scratch = TestDir::new();
    let fields = ["--field", "score:float", "--field", "n:int", "--field", "lang:keyword"];
    let table = golden("pandas.csv");
    let columns = "key, text, n, score, lang";
    let (file, pipe, expected) = (scratch.arg("file"), scratch.arg("pipe"), scratch.arg("lines"));
    for corpus in [&file, &pipe, &expected] {
        init(corpus, &fields);
    }
    let id = ["--source", "web", "--id-field", "url"];
    ingest(&expected, &[&golden("records.jsonl")], &id);
    let report = ingest(&file, &[&table], &id);
    assert_eq!(numbers(&report, ADDED), [4, 0, 0], "{report}");
    let bytes = std::fs::read(&table).unwrap();
    corpusdb_reading(&["ingest", &pipe, "-", "--source", "web", "--id-field", "url"], &bytes)
        .good();
    assert_eq!(rows(&file, columns), rows(&expected, columns));
    assert_eq!(rows(&file, columns)[1]["n"], json!(-2));
    assert_eq!(rows(&pipe, columns), rows(&file, columns));
    sound(&file);
}

#[test]
fn tables_lists_and_paragraphs_ingest_alike_in_any_batches() {
    let scratch = TestDir::new();
    let row = |n: usize| format!("\"row {n},\nwith {}\",{n}\n", "words ".repeat(n % 50));
    let table: String = (0..300).map(row).collect();
    let list: Vec<Value> =
        (0..300).map(|n| json!({"text": format!("value {n}"), "n": n})).collect();
    let paragraphs: String = (0..300).map(|n| format!("paragraph {n}\nof two lines\n\n")).collect();
    scratch.write("in/a.csv", format!("text,n\n{table}broken\n"));
    scratch.write("in/b.json", serde_json::to_string_pretty(&list).unwrap());
    scratch.write("in/c.txt", paragraphs);
    let folder = scratch.arg("in");
    let mut digests = Vec::new();
    for size in ["1KiB", "7KiB", "16MiB"] {
        let corpus = scratch.arg(size);
        init(&corpus, &["--mode", "exact"]);
        let more = ["--source", "web", "--text-by", "paragraph", "--batch-bytes", size];
        let report = ingest(&corpus, &[&folder], &more);
        assert_eq!(numbers(&report, ADDED), [900, 0, 1], "{report}");
        let again = ingest(&corpus, &[&folder], &more);
        assert_eq!(numbers(&again, ADDED), [0, 900, 0], "{again}");
        digests.push(digest(&corpus));
        sound(&corpus);
    }
    assert!(digests.iter().all(|digest| *digest == digests[0]));
}

#[test]
fn a_grown_table_is_read_on_and_bad_rows_name_their_line() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let path = scratch.write("a.csv", "text,n\none,1\n\"two\nlines\",2\n");
    assert_eq!(numbers(&ingest(&corpus, &[&path], &["--source", "web"]), ADDED), [2, 0, 0]);
    scratch.write("a.csv", "text,n\none,1\n\"two\nlines\",2\nthree,3\nbad\nfour,4\n");
    let fails = ["ingest", &corpus, &path, "--source", "web", "--on-error", "fail"];
    let ran = corpusdb(&fails).fails(&["a.csv", "line 6 has 1 values"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert_eq!(rows(&corpus, "text").len(), 3);
    let report = ingest(&corpus, &[&path], &["--source", "web"]);
    assert_eq!(numbers(&report, ADDED), [1, 3, 1], "{report}");
    let rejects = corpusdb(&["rejects", &corpus, "--json"]).good().json_lines();
    assert_eq!(rejects[0]["raw"], "bad", "{}", rejects[0]);
    sound(&corpus);
}

/// Pages of three sources, under keys that two of them share.
fn mixed(count: usize, edition: &str) -> String {
    let line = |n: usize| {
        let origin = ["web", "books", "code"][n % 3];
        let named = if n.is_multiple_of(7) { Value::Null } else { origin.into() };
        let text = format!("{edition} page {n} of {origin}");
        json!({"id": format!("k{}", n / 3), "text": text, "origin": named}).to_string() + "\n"
    };
    (0..count).map(line).collect()
}

#[test]
fn records_with_sources_equal_an_ingest_a_source() {
    let scratch = TestDir::new();
    let path = scratch.write("a.jsonl", mixed(300, "first"));
    let flags = ["--source", "rest", "--source-from", "origin", "--id-field", "id"];
    let mut digests = Vec::new();
    for size in ["1KiB", "16MiB"] {
        let corpus = scratch.arg(size);
        init(&corpus, &["--mode", "exact"]);
        let more = [&flags[..], &["--batch-bytes", size]].concat();
        let report = ingest(&corpus, &[&path], &more);
        assert_eq!(numbers(&report, ADDED), [300, 0, 0], "{report}");
        let again = ingest(&corpus, &[&path], &more);
        assert_eq!(numbers(&again, ADDED), [0, 300, 0], "{again}");
        let sources = corpusdb(&[
            "sql",
            &corpus,
            "SELECT name, documents FROM sources ORDER BY name",
            "--format",
            "json",
        ])
        .good()
        .json_lines();
        let of = |name: &str| {
            sources.iter().find(|row| row["name"] == name).unwrap()["documents"].as_u64()
        };
        assert_eq!(
            [of("web"), of("books"), of("code"), of("rest")].map(Option::unwrap),
            [85, 86, 86, 43]
        );
        digests.push((digest(&corpus), rows(&corpus, "key, source, text")));
        sound(&corpus);
    }
    assert_eq!(digests[0], digests[1]);
    let (_, documents) = &digests[0];
    assert_eq!(documents[0]["source"], "rest");
    assert_eq!(documents[1]["source"], "books");
    // The field is the document's source, and no field of it.
    let corpus = scratch.arg("16MiB");
    let of = corpusdb(&["show", &corpus, "1", "--json"]).good().json();
    assert!(!of.to_string().contains("origin"), "{of}");
}

#[test]
fn a_mixed_file_supersedes_per_source() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "exact"]);
    let flags = ["--source", "rest", "--source-from", "origin", "--id-field", "id"];
    let first = scratch.write("a.jsonl", mixed(60, "first"));
    let second = scratch.write("b.jsonl", mixed(60, "second"));
    ingest(&corpus, &[&first], &flags);
    let report = ingest(&corpus, &[&second], &flags);
    assert_eq!((&report["added"], &report["updated"]), (&json!(60), &json!(60)));
    // The first file was overtaken: it is read again, and wins; then both rest.
    let report = ingest(&corpus, &[&first], &flags);
    assert_eq!((&report["added"], &report["updated"]), (&json!(60), &json!(60)), "{report}");
    let report = ingest(&corpus, &[&first], &flags);
    assert_eq!(numbers(&report, ADDED), [0, 60, 0], "{report}");
    sound(&corpus);
    // Its key in one source is another document than the same key in another.
    assert_eq!(
        corpusdb(&["count", &corpus, "--where", "kept AND key = 'k1'"]).good().stdout.trim(),
        "3"
    );
    // A file of one source that a mixed one overtook is read again, too.
    let web = scratch.write("web.jsonl", "{\"id\":\"k1\",\"text\":\"the last word\"}\n");
    ingest(&corpus, &[&web], &["--source", "web", "--id-field", "id"]);
    let third = scratch.write("c.jsonl", mixed(60, "third"));
    ingest(&corpus, &[&third], &flags);
    let report = ingest(&corpus, &[&web], &["--source", "web", "--id-field", "id"]);
    assert_eq!(numbers(&report, ADDED), [1, 0, 0], "{report}");
    sound(&corpus);
}

#[test]
fn fields_are_mapped_in_every_format() {
    let scratch = TestDir::new();
    let rows_of = |name: &str, path: &str| {
        let corpus = scratch.arg(name);
        init(&corpus, &["--field", "quality:float"]);
        let map = ["--map", "text=text,id=url,source=lang", "--map", "quality=score,note=n"];
        ingest(&corpus, &[path], &[&["--source", "rest"], &map[..]].concat());
        sound(&corpus);
        let meta = rows(&corpus, "meta")[1].to_string();
        assert!(meta.contains("note") && meta.contains("-2"), "{meta}");
        rows(&corpus, "key, source, quality, text")
    };
    let expected = rows_of("lines", &golden("records.jsonl"));
    assert_eq!(expected[2]["source"], "rest", "it names none");
    assert_eq!(expected[1]["source"], "de");
    assert_eq!(expected[1]["quality"], json!(1.25));
    for name in ["pandas.csv", "pandas.json", "lz4.feather", "hub"] {
        assert_eq!(rows_of(name, &golden(name)), expected, "{name}");
    }
    let corpus = scratch.arg("bad");
    init(&corpus, &[]);
    let path = scratch
        .write("bad.jsonl", "{\"text\":\"a\",\"from\":[1]}\n{\"text\":\"b\",\"from\":\"x\"}\n");
    let report = ingest(&corpus, &[&path], &["--source", "rest", "--source-from", "from"]);
    assert_eq!(numbers(&report, ADDED), [1, 0, 1]);
    let twice = ["ingest", &corpus, &path, "--source", "x", "--text-field", "a", "--map", "text=b"];
    corpusdb(&twice).fails(&["text=b", "`a` already"]);
    let many: String =
        (0..5000).map(|n| format!("{{\"text\":\"{n}\",\"from\":\"s{n}\"}}\n")).collect();
    let path = scratch.write("many.jsonl", many);
    let many = ["ingest", &corpus, &path, "--source", "rest", "--source-from", "from"];
    corpusdb(&many).fails(&["`from` names more than 4096 sources"]);
    sound(&corpus);
}

#[test]
fn web_archives_give_texts_and_count_unread_pages() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let archive = golden("pages.warc.gz");
    let ran =
        corpusdb(&["ingest", &corpus, &archive, "--source", "web", "--id-field", "url"]).good();
    assert!(ran.stdout.contains("1 HTML pages and 1 other contents"), "{ran}");
    assert!(ran.stderr.contains("trafilatura"), "{ran}");
    assert_eq!(rows(&corpus, "key").len(), 3);
    let report =
        ingest(&corpus, &[&archive], &["--source", "web", "--id-field", "url", "--reread"]);
    assert_eq!(report["passed"], json!({"html": 1, "gone": 1, "other": 1}));
    assert_eq!(report["alarms"][0], json!({"kind": "html", "pages": 1}));
    assert_eq!(numbers(&report, ADDED), [0, 3, 0], "{report}");
    let wet = std::fs::read(golden("wet.warc.gz")).unwrap();
    let piped = ["ingest", &corpus, "-", "--source", "wet", "--id-field", "url"];
    corpusdb_reading(&piped, &wet).good();
    let german = corpusdb(&["count", &corpus, "--where", "language = 'deu'"]).good();
    assert_eq!(german.stdout.trim(), "1");
    sound(&corpus);
}

#[test]
fn arrow_is_read_from_a_pipe_and_from_folders_in_parts() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let feather = std::fs::read(golden("zstd.feather")).unwrap();
    let piped = ["ingest", &corpus, "-", "--source", "pipe", "--id-field", "url"];
    corpusdb_reading(&piped, &feather).good();
    assert_eq!(rows(&corpus, "key").len(), 4);
    let folder = golden("dataset-dict");
    let report = ingest(&corpus, &[&folder], &["--source", "folder"]);
    assert_eq!(numbers(&report, ADDED), [4, 0, 0], "{report}");
    let report = ingest(&corpus, &[&folder], &["--source", "folder"]);
    assert_eq!(numbers(&report, ADDED), [0, 4, 0], "{report}");
    sound(&corpus);
    // Alpaca as a table: what looks like a number was said in words.
    let chats = scratch.arg("chats");
    init(&chats, &[]);
    let table = scratch
        .write("a.csv", "instruction,input,output\nHow many?,,42\n\"Why, then?\",x,Because.\n");
    let report = ingest(&chats, &[&table], &["--source", "chats", "--chat", "alpaca"]);
    assert_eq!(numbers(&report, ADDED), [2, 0, 0], "{report}");
    assert!(rows(&chats, "text")[0]["text"].as_str().unwrap().contains("42"));
}

// ---- what tells one file from another, and pipes that say nothing ----

#[test]
fn another_file_of_the_same_size_and_time_is_read() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let time = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    for (name, text) in [("one", "the first state of it"), ("two", "the other state of it")] {
        let path = scratch.write(name, text);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }
    let link = scratch.path("current.txt");
    for (target, added) in [("one", 1), ("one", 0), ("two", 1), ("two", 0)] {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(scratch.path(target), &link).unwrap();
        let report = ingest(&corpus, &[&link.display().to_string()], &["--source", "web"]);
        assert_eq!(numbers(&report, ["added"]), [added], "{target}");
    }
    sound(&corpus);
}

#[test]
fn a_silent_pipe_delays_neither_a_stop_nor_an_error() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let spawn = |more: &[&str]| {
        let mut arguments = vec!["ingest", &corpus, "-", "--source", "web", "--batch-bytes", "1"];
        arguments.extend(more);
        let mut command = command(&arguments);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        piped.spawn().unwrap()
    };
    let ends = |child: &mut std::process::Child| {
        (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            child.try_wait().unwrap().is_some()
        })
    };
    let record = b"{\"text\": \"a record, and then nothing for a long time\"}\n";
    let committed = || corpusdb(&["count", &corpus]).stdout.trim().parse().unwrap_or(0_u64) > 0;
    let mut child = spawn(&["--format", "jsonl"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(record).unwrap();
    stdin.flush().unwrap();
    while !committed() {
        std::thread::sleep(Duration::from_millis(20));
    }
    interrupt(&child);
    assert!(ends(&mut child), "it waits on");
    assert!(!child.wait().unwrap().success());
    drop(stdin);

    let mut child = spawn(&["--format", "jsonl", "--on-error", "fail"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"text\": \"one more record of the pipe\"}\nnot JSON\n").unwrap();
    stdin.flush().unwrap();
    assert!(ends(&mut child), "it waits on");
    assert_eq!(child.wait().unwrap().code(), Some(2));
    drop(stdin);
    assert_eq!(corpusdb(&["count", &corpus]).good().stdout.trim(), "2");
    sound(&corpus);
}

/// Columns of a type without a form in JSON: the others come in, and those are named; rows that were read are passed over.
#[test]
fn columns_without_a_form_in_json_are_left_and_named() {
    use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray, UnionArray};
    use arrow::datatypes::{DataType, Field, UnionFields};
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    let fields = UnionFields::try_new([0], [Field::new("a", DataType::Int32, true)]).unwrap();
    let values: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![1, 2]))];
    let union = UnionArray::try_new(fields, vec![0, 0].into(), None, values).unwrap();
    let columns: [(&str, ArrayRef); 3] = [
        ("text", Arc::new(StringArray::from(vec!["one text", "another text"]))),
        ("either", Arc::new(union)),
        ("n", Arc::new(Int32Array::from(vec![7, 8]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut stream = Vec::new();
    let mut writer =
        arrow_ipc::writer::StreamWriter::try_new(&mut stream, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    let file = scratch.write("a.arrow", stream);
    let report = ingest(&corpus, &[&file], &["--source", "web"]);
    assert_eq!(report["alarms"][0]["kind"], "columns-left");
    assert!(report["alarms"][0]["columns"][0].as_str().unwrap().starts_with("either ("));
    assert_eq!(rows(&corpus, "meta"), [json!({"meta": "{\"n\":7}"}), json!({"meta": "{\"n\":8}"})]);
    let corpus = scratch.arg("dropped");
    init(&corpus, &["--mode", "none"]);
    let report = ingest(&corpus, &[&file], &["--source", "web", "--drop-fields", "either"]);
    assert_eq!(report["alarms"], json!([]));
}
