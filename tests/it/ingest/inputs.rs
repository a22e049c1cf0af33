//! Formats of inputs through the command: files and pipes, batches of any size, what comes again.

use crate::support::{
    TestDir, command, corpusdb, corpusdb_reading, corpusdb_test, ingest, init, interrupt,
    repository, sound, sql,
};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

/// A file that a reference library wrote.
fn golden(name: &str) -> String {
    repository("tests/corpora/inputs").join(name).to_string_lossy().into_owned()
}

/// Columns of all documents, in the order of ids.
fn rows(t: &TestDir, corpus: &str, columns: &str) -> Vec<Value> {
    sql(&t.arg(corpus), &format!("SELECT {columns} FROM documents ORDER BY id"))
}

corpusdb_test!(a_table_is_ingested_by_columns_from_file_and_pipe, |t| {
    let table = golden("pandas.csv");
    for corpus in ["file", "pipe", "lines"] {
        t.run(&format!("init {corpus} --field score:float --field n:int --field lang:keyword"));
    }
    let columns = |corpus: &str| rows(&t, corpus, "key, text, n, score, lang");
    t.run(&format!("ingest lines '{}' --source web --id-field url", golden("records.jsonl")));
    t.run(&format!("ingest file '{table}' --source web --id-field url --json"))
        .counts("added 4, unchanged 0, rejected 0");
    let piped = ["ingest", &t.arg("pipe"), "-", "--source", "web", "--id-field", "url"];
    corpusdb_reading(&piped, &std::fs::read(&table).unwrap()).good();
    assert_eq!(columns("file"), columns("lines"));
    assert_eq!(columns("file")[1]["n"], -2);
    assert_eq!(columns("pipe"), columns("file"));
    t.sound("file");
});

corpusdb_test!(tables_lists_and_paragraphs_ingest_alike_in_any_batches, |t| {
    let row = |n: usize| format!("\"row {n},\nwith {}\",{n}\n", "words ".repeat(n % 50));
    let table: String = (0..300).map(row).collect();
    let list: Vec<Value> =
        (0..300).map(|n| json!({"text": format!("value {n}"), "n": n})).collect();
    let paragraphs: String = (0..300).map(|n| format!("paragraph {n}\nof two lines\n\n")).collect();
    t.write("in/a.csv", format!("text,n\n{table}broken\n"));
    t.write("in/b.json", serde_json::to_string_pretty(&list).unwrap());
    t.write("in/c.txt", paragraphs);
    for size in ["1KiB", "7KiB", "16MiB"] {
        t.run(&format!("init {size} --mode exact"));
        let ingest = format!(
            "ingest {size} in --source web --text-by paragraph --batch-bytes {size} --json"
        );
        t.run(&ingest).counts("added 900, unchanged 0, rejected 1");
        t.run(&ingest).counts("added 0, unchanged 900, rejected 0");
        t.same(size, "1KiB");
        t.sound(size);
    }
});

corpusdb_test!(a_grown_table_is_read_on_and_bad_rows_name_their_line, |t| {
    t.run("init c");
    t.write("a.csv", "text,n\none,1\n\"two\nlines\",2\n");
    t.run("ingest c a.csv --source web --json").counts("added 2, unchanged 0, rejected 0");
    t.write("a.csv", "text,n\none,1\n\"two\nlines\",2\nthree,3\nbad\nfour,4\n");
    t.ran("ingest c a.csv --source web --on-error fail").fails(&["a.csv", "line 6 has 1 values"]);
    t.run("count c").is("3");
    t.run("ingest c a.csv --source web --json").counts("added 1, unchanged 3, rejected 1");
    assert_eq!(t.run("rejects c --json").json_lines()[0]["raw"], "bad");
    t.sound("c");
});

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

corpusdb_test!(records_with_sources_equal_an_ingest_a_source, |t| {
    t.write("a.jsonl", mixed(300, "first"));
    for size in ["1KiB", "16MiB"] {
        t.run(&format!("init {size} --mode exact"));
        let ingest = format!(
            "ingest {size} a.jsonl --source rest --source-from origin --id-field id --batch-bytes {size} --json"
        );
        t.run(&ingest).counts("added 300, unchanged 0, rejected 0");
        t.run(&ingest).counts("added 0, unchanged 300, rejected 0");
        let counts = "SELECT concat(name, ' ', documents) FROM sources ORDER BY name";
        assert_eq!(t.column(size, counts), ["books 86", "code 86", "rest 43", "web 85"]);
        t.sound(size);
    }
    t.same("1KiB", "16MiB");
    let documents = |corpus: &str| rows(&t, corpus, "key, source, text");
    assert_eq!(documents("1KiB"), documents("16MiB"));
    assert_eq!(documents("1KiB")[0]["source"], "rest");
    assert_eq!(documents("1KiB")[1]["source"], "books");
    // The field is the document's source, and no field of it.
    let shown = t.run("show 16MiB 1 --json");
    assert!(!shown.stdout.contains("origin"), "{shown}");
});

corpusdb_test!(a_mixed_file_supersedes_per_source, |t| {
    t.run("init c --mode exact");
    for (name, edition) in [("a", "first"), ("b", "second"), ("c", "third")] {
        t.write(&format!("{name}.jsonl"), mixed(60, edition));
    }
    t.write("web.jsonl", "{\"id\":\"k1\",\"text\":\"the last word\"}\n");
    let mixed = |name: &str| {
        t.run(&format!("ingest c {name} --source rest --source-from origin --id-field id --json"))
    };
    let web = || t.run("ingest c web.jsonl --source web --id-field id --json");
    mixed("a.jsonl").counts("added 60, updated 0");
    mixed("b.jsonl").counts("added 60, updated 60");
    // The first file was overtaken: it is read again, and wins; then both rest.
    mixed("a.jsonl").counts("added 60, updated 60");
    mixed("a.jsonl").counts("added 0, unchanged 60, rejected 0");
    t.sound("c");
    // Its key in one source is another document than the same key in another.
    t.run("count c --where \"kept AND key = 'k1'\"").is("3");
    // A file of one source that a mixed one overtook is read again, too.
    web();
    mixed("c.jsonl");
    web().counts("added 1, unchanged 0, rejected 0");
    t.sound("c");
});

corpusdb_test!(fields_are_mapped_in_every_format, |t| {
    let rows_of = |name: &str, path: &str| {
        t.run(&format!("init {name} --field quality:float"));
        t.run(&format!(
            "ingest {name} '{path}' --source rest --map text=text,id=url,source=lang --map quality=score,note=n"
        ));
        t.sound(name);
        let meta = rows(&t, name, "meta")[1].to_string();
        assert!(meta.contains("note") && meta.contains("-2"), "{meta}");
        rows(&t, name, "key, source, quality, text")
    };
    let expected = rows_of("lines", &golden("records.jsonl"));
    assert_eq!(expected[2]["source"], "rest", "it names none");
    assert_eq!(expected[1]["source"], "de");
    assert_eq!(expected[1]["quality"], 1.25);
    for name in ["pandas.csv", "pandas.json", "lz4.feather", "hub"] {
        assert_eq!(rows_of(name, &golden(name)), expected, "{name}");
    }
});

corpusdb_test!(bad_and_too_many_sources_are_refused, |t| {
    t.run("init c");
    t.write("bad.jsonl", "{\"text\":\"a\",\"from\":[1]}\n{\"text\":\"b\",\"from\":\"x\"}\n");
    t.run("ingest c bad.jsonl --source rest --source-from from --json")
        .counts("added 1, unchanged 0, rejected 1");
    t.ran("ingest c bad.jsonl --source x --text-field a --map text=b")
        .fails(&["text=b", "`a` already"]);
    let line = |n: usize| format!("{{\"text\":\"{n}\",\"from\":\"s{n}\"}}\n");
    t.write("many.jsonl", (0..5000).map(line).collect::<String>());
    t.ran("ingest c many.jsonl --source rest --source-from from")
        .fails(&["`from` names more than 4096 sources"]);
    t.sound("c");
});

corpusdb_test!(web_archives_give_texts_and_count_unread_pages, |t| {
    t.run("init c");
    let ingest = format!("ingest c '{}' --source web --id-field url", golden("pages.warc.gz"));
    let ran = t.run(&ingest).prints(&["1 HTML pages and 1 other contents"]);
    assert!(ran.stderr.contains("trafilatura"), "{ran}");
    t.run("count c").is("3");
    let again = t.run(&format!("{ingest} --reread --json"));
    let report = again.counts("added 0, unchanged 3, rejected 0").json();
    assert_eq!(report["passed"], json!({"html": 1, "gone": 1, "other": 1}));
    assert_eq!(report["alarms"][0], json!({"kind": "html", "pages": 1}));
    let piped = ["ingest", &t.arg("c"), "-", "--source", "wet", "--id-field", "url"];
    corpusdb_reading(&piped, &std::fs::read(golden("wet.warc.gz")).unwrap()).good();
    t.run("count c --where \"language = 'deu'\"").is("1");
    t.sound("c");
});

corpusdb_test!(arrow_is_read_from_a_pipe_and_from_folders_in_parts, |t| {
    t.run("init c");
    let piped = ["ingest", &t.arg("c"), "-", "--source", "pipe", "--id-field", "url"];
    corpusdb_reading(&piped, &std::fs::read(golden("zstd.feather")).unwrap()).good();
    t.run("count c").is("4");
    let folder = format!("ingest c '{}' --source folder --json", golden("dataset-dict"));
    t.run(&folder).counts("added 4, unchanged 0, rejected 0");
    t.run(&folder).counts("added 0, unchanged 4, rejected 0");
    t.sound("c");
    // Alpaca as a table: what looks like a number was said in words.
    t.run("init chats");
    t.write("a.csv", "instruction,input,output\nHow many?,,42\n\"Why, then?\",x,Because.\n");
    t.run("ingest chats a.csv --source chats --chat alpaca --json")
        .counts("added 2, unchanged 0, rejected 0");
    let texts = t.column("chats", "SELECT text FROM documents ORDER BY id");
    assert!(texts[0].contains("42"), "{texts:?}");
});

// ---- what distinguishes one file from another, and pipes that say nothing ----

corpusdb_test!(another_file_of_the_same_size_and_time_is_read, |t| {
    t.run("init c");
    let time = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    for (name, text) in [("one", "the first state of it"), ("two", "the other state of it")] {
        let path = t.write(name, text);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }
    let link = t.path("current.txt");
    for (target, added) in
        [("one", "added 1"), ("one", "added 0"), ("two", "added 1"), ("two", "added 0")]
    {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(t.path(target), &link).unwrap();
        t.run("ingest c current.txt --source web --json").counts(added);
    }
    t.sound("c");
});

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
    assert_eq!(
        sql(&corpus, "SELECT meta FROM documents ORDER BY id"),
        [json!({"meta": "{\"n\":7}"}), json!({"meta": "{\"n\":8}"})]
    );
    let corpus = scratch.arg("dropped");
    init(&corpus, &["--mode", "none"]);
    let report = ingest(&corpus, &[&file], &["--source", "web", "--drop-fields", "either"]);
    assert_eq!(report["alarms"], json!([]));
}
