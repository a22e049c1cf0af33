//! Formats of inputs: what each gives, which are read again, pipes, and what is no input.

use crate::support::{
    Page, TestDir, command, corpusdb, corpusdb_reading, corpusdb_test, crawl, gzip, ingest, init,
    interrupt, json_lines, lines, numbers, parquet_of_pages, repository, sound, sql, zstd,
};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

// ----
// Formats of files: what each gives, which files are read again, and which field is the text.

/// All texts, in the order of ids.
fn texts(t: &TestDir, corpus: &str) -> Vec<String> {
    t.column(corpus, "SELECT text FROM documents ORDER BY id")
}

corpusdb_test!(every_format_gives_the_same_texts_once, |t| {
    let pages = crawl(21, 60, true);
    let jsonl = lines(&pages);
    t.write("plain.jsonl", &jsonl);
    t.run("init plain");
    t.run("ingest plain plain.jsonl --source web");
    let expected = texts(&t, "plain");
    assert_eq!(expected, pages.iter().map(|page| page.text.clone()).collect::<Vec<_>>());
    // Compression is recognised by content: the names say something else.
    t.write("gz/pages.jsonl", gzip(jsonl.as_bytes()));
    t.write("zst/pages.jsonl.gz", zstd(jsonl.as_bytes()));
    let (first, second) = jsonl.as_bytes().split_at(jsonl.len() / 3);
    t.write("members/pages.gz", [gzip(first), gzip(second)].concat());
    t.write("frames/pages.zst", [zstd(first), zstd(b""), zstd(second)].concat());
    t.write("parquet/pages", "");
    parquet_of_pages(&t.path("parquet/pages"), &pages);
    for name in ["gz", "zst", "members", "frames", "parquet"] {
        let corpus = format!("{name}.corpus");
        t.run(&format!("init {corpus}"));
        let ingest = format!("ingest {corpus} {name} --source web --json");
        let small = format!("{ingest} --batch-bytes 3kB");
        let ran = t.run(&small).counts("read 60, added 60, unchanged 0, rejected 0");
        let report = ran.json();
        assert_eq!(report["type"], "ingest");
        let standings = ["kept", "exact_duplicates", "near_duplicates", "empty"];
        assert_eq!(numbers(&report, standings).iter().sum::<u64>(), 60, "{ran}");
        assert_eq!(texts(&t, &corpus), expected, "{name}");
        let before = t.run(&format!("check {corpus} --digest")).stdout;
        // Unread, because size and time are the same; then read, and known record for record.
        t.run(&small).counts("read 0, added 0, unchanged 60, commits 0");
        t.run(&format!("{ingest} --reread")).counts("added 0, unchanged 60, rejected 0");
        assert_eq!(t.run(&format!("check {corpus} --digest")).stdout, before, "{name}");
        t.sound(&corpus);
    }
});

corpusdb_test!(files_made_by_other_tools_are_read, |t| {
    let corpora = repository("tests/corpora");
    let pages = std::fs::read_to_string(corpora.join("pages.jsonl")).unwrap();
    let text = |page: &serde_json::Value| page["text"].as_str().unwrap().to_owned();
    let expected: Vec<String> = json_lines(&pages).iter().map(text).collect();
    for name in ["pages.jsonl", "pages-members.gz", "pages-frames.zst"] {
        let file = corpora.join(name);
        t.run(&format!("init {name}"));
        t.run(&format!("ingest {name} '{}' --source web --id-field id", file.display()));
        assert_eq!(texts(&t, name), expected, "{name}");
        let shown = t.run(&format!("show {name} --key 7 --json")).counts("id 7").json();
        assert_eq!(shown["metadata"]["year"], 2007, "{name}");
    }
});

corpusdb_test!(text_files_and_directories_are_read_in_byte_order_of_path, |t| {
    let prose = repository("tests/corpora/prose").display().to_string();
    t.run("init c");
    t.run(&format!("ingest c '{prose}' --source rights --format text --json"))
        .counts("added 4, kept 4");
    let keys = t.column("c", "SELECT key FROM documents ORDER BY id");
    let names: Vec<&str> = keys.iter().map(|key| key.strip_prefix(&prose).unwrap()).collect();
    assert_eq!(names, ["/asia/hi.txt@0", "/asia/zh.txt@1", "/de.txt@2", "/ru.txt@3"]);
    let read = |name: &str| std::fs::read_to_string(format!("{prose}/{name}")).unwrap();
    assert_eq!(texts(&t, "c"), ["asia/hi.txt", "asia/zh.txt", "de.txt", "ru.txt"].map(read));

    // The same by pattern and one by one, in the order given; a file reached twice is read once.
    t.run("init other");
    t.run(&format!("ingest other '{prose}/**/*.txt' '{prose}/de.txt' '{prose}' --source rights"));
    t.same("other", "c");

    t.write("hidden/.secret", "not for reading");
    t.ran("ingest c hidden --source x").fails(&["no files in this directory", "hidden"]);
    t.ran("ingest c nowhere --source x").fails(&["nowhere", "no such file"]);
    t.ran("ingest c *.nothing --source x").fails(&["*.nothing", "no file matches"]);
});

corpusdb_test!(standard_input_is_read_to_its_end_and_again_adds_nothing, |t| {
    t.run("init c");
    let jsonl = lines(&crawl(22, 40, false)).into_bytes();
    let arguments = ["ingest", &t.arg("c"), "-", "--source", "pipe", "--json"];
    let packed = [gzip(&jsonl), zstd(&jsonl)];
    corpusdb_reading(&arguments, &jsonl).good().counts("added 40, unchanged 0, rejected 0");
    for input in packed {
        corpusdb_reading(&arguments, &input).good().counts("added 0, unchanged 40, rejected 0");
    }
    t.sound("c");
});

corpusdb_test!(only_changed_files_are_read_again, |t| {
    t.run("init c");
    let pages = crawl(23, 90, false);
    for (at, part) in pages.chunks(30).enumerate() {
        t.write(&format!("crawl/{at}.jsonl"), lines(part));
    }
    let again = || t.run("ingest c crawl --source web --batch-bytes 2kB --json");
    again().counts("added 90, unchanged 0, rejected 0");
    again().counts("read 0, added 0, unchanged 90");
    // Lines appended: only they are new. A file rewritten: what stands where it stood is known.
    let appended = Page::new("appended to the second file").line();
    t.write("crawl/1.jsonl", lines(&pages[30..60]) + &appended);
    again().counts("read 1, added 1, unchanged 90");
    let mut changed = pages[..30].to_vec();
    changed[4].text = "another text at the same place".to_owned();
    t.write("crawl/0.jsonl", lines(&changed));
    again().counts("read 30, added 1, unchanged 90");
    again().counts("read 0, added 0, unchanged 91");
    t.sound("c");
});

corpusdb_test!(the_text_field_is_guessed_in_order_named_or_asked_for, |t| {
    t.run("init c");
    t.write(
        "a.jsonl",
        "{\"body\":\"the body\",\"document\":\"the document\",\"raw_content\":\"raw\"}\n",
    );
    t.run("ingest c a.jsonl --source guessed");
    t.run("ingest c a.jsonl --source named --text-field body");
    assert_eq!(texts(&t, "c"), ["raw", "the body"]);
    t.write("b.jsonl", "{\"titel\":\"x\",\"inhalt\":\"y\"}\n");
    t.ran("ingest c b.jsonl --source x").fails(&["b.jsonl", "`titel`, `inhalt`", "--text-field"]);
    parquet_of_pages(&t.path("c.parquet"), &crawl(1, 3, true));
    t.ran("ingest c c.parquet --source x --text-field inhalt").fails(&[
        "c.parquet",
        "inhalt",
        "`id`, `text`, `language`, `year`",
    ]);
    t.run("count c").is("2");
    t.sound("c");
});

corpusdb_test!(an_empty_cell_equals_a_null, |t| {
    t.run("init c");
    t.write("a.csv", "id,text,n\n1,,1\n2,\"\",2\n3,three words here,3\n");
    t.run("ingest c a.csv --source web --id-field id --json")
        .counts("added 2, empty 1, rejected 1");
    t.run("rejects c").prints(&["no text: field `text` is absent or null"]);
    t.sound("c");
});

corpusdb_test!(an_unknown_tokenizer_is_refused_before_anything_is_read, |t| {
    t.run("init c");
    t.write("a.jsonl", lines(&crawl(30, 5, false)));
    t.ran("ingest c a.jsonl --source web --tokenizer gpt2")
        .fails(&["no tokenizer `gpt2`", "tokenizer add"]);
    t.run("count c").is("0");
});

// ----
// Formats of inputs through the command: files and pipes, batches of any size, what comes again.

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
            "ingest {size} in/a.csv in/b.json in/c.txt --source web --text-by paragraph --batch-bytes {size} --json"
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
    let ran = t.run(&ingest).prints(&["1 HTML pages, 1 other contents"]);
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

// A part of a page, asked for by a range, superseded the page.
corpusdb_test!(a_part_of_a_page_supersedes_no_page, |t| {
    t.run("init c");
    let answer = |page: &str, status: &str, body: &str| {
        let http = format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\n\r\n{body}");
        let header = format!(
            "WARC-Type: response\r\nWARC-Target-URI: http://a.example/{page}\r\nContent-Type: application/http"
        );
        format!("WARC/1.0\r\n{header}\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n", http.len())
    };
    t.write("a.warc", answer("a", "200 OK", "The whole page."));
    let part = answer("a", "206 Partial Content\r\nContent-Range: bytes 4-8/15", "whole");
    t.write("b.warc", part + &answer("b", "200 OK", "Another page."));
    t.run("ingest c a.warc --source web --id-field url");
    let told = t.run("ingest c b.warc --source web --id-field url");
    assert!(told.stdout.contains("1 parts of pages in web archives skipped (206"), "{told}");
    t.run("count c --where \"kept AND text = 'The whole page.'\"").is("1");
    t.sound("c");
});

// A whole file was called damaged.
corpusdb_test!(data_without_their_dictionary_are_named_so, |t| {
    t.run("init c");
    let line = |n: u32| format!("{{\"text\":\"sample {n} of {}\"}}\n", n * 7);
    let lines: Vec<String> = (0..200).map(line).collect();
    let dictionary = zstd::dict::from_samples(&lines, 1024).unwrap();
    let mut packer = zstd::bulk::Compressor::with_dictionary(3, &dictionary).unwrap();
    let packed = packer.compress(lines.concat().as_bytes()).unwrap();
    t.write("a.jsonl.zst", &packed);
    let words = ["made with the Zstandard dictionary", "zstd -d -D"];
    let told = t.ran("ingest c a.jsonl.zst --source web").fails(&words);
    assert!(!told.stderr.contains("damaged"), "{told}");
    let size = u32::try_from(dictionary.len()).unwrap().to_le_bytes();
    let front = [&[0x5d, 0x2a, 0x4d, 0x18][..], &size, &dictionary].concat();
    t.write("a.jsonl.zst", [front, packed].concat());
    t.run("ingest c a.jsonl.zst --source web --json").counts("added 200, rejected 0");
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

corpusdb_test!(a_silent_pipe_delays_neither_a_stop_nor_an_error, |_scratch, corpus| {
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
});

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
    let found = sql(&corpus, "SELECT meta FROM documents ORDER BY id");
    assert_eq!(found, [json!({"meta": "{\"n\":7}"}), json!({"meta": "{\"n\":8}"})]);
    let corpus = scratch.arg("dropped");
    init(&corpus, &["--mode", "none"]);
    let report = ingest(&corpus, &[&file], &["--source", "web", "--drop-fields", "either"]);
    assert_eq!(report["alarms"], json!([]));
}

// ----
// Inputs that are neither records nor texts, and ingests of which nothing could be read.

// Made one document each of tables and archives, exit code 0.
corpusdb_test!(a_file_of_another_format_is_refused_and_becomes_no_text, |t| {
    t.run("init c");
    for (name, bytes) in [
        ("a.csv", &b"id,year\n1,2001\n2,2002\n"[..]),
        ("piped", b"id,year\n1,2001\n2,2002\n"),
        (
            "x.warc",
            b"WARC/1.0\r\nWARC-Type: response\r\nContent-Type: text/html\r\nContent-Length: 18\r\n\r\n<html>hello</html>\r\n\r\n",
        ),
        ("x.feather", b"FEA1\0\0\0\0"),
        ("list.json", b"[{\"year\": 2001},\n {\"year\": 2002}]"),
        ("several.json", b"{\n \"text\": \"one\"\n}\n"),
        ("dump.xml", b"<mediawiki xmlns=\"http://x\">\n  <page><title>A</title></page>\n"),
        ("list", b"From a@b.org Sat Jan  3 01:05:34 2009\nSubject: x\nTo: c@d.org\n\nHello\n"),
        ("words.txt", b"EU B-ORG\nrejects O\nthe O\nGerman B-MISC\ncall O\n. O\n"),
        ("x.tar.gz", b"\x1f\x8b-not-gzip"),
    ] {
        t.write(name, bytes);
        let ran = t.ran(&format!("ingest c {name} --source main"));
        assert_ne!(ran.code, Some(0), "{ran}");
        if name != "x.tar.gz" {
            assert!(ran.stderr.contains("nothing could be read"), "{ran}");
            ran.answers_badly();
            // Reported every time, and counted once.
            let again = t.ran(&format!("ingest c {name} --source main --json"));
            again.answers_badly().counts("rejected 0");
        }
    }
    t.run("count c").is("0");
    // Beside others they are rejects, and an alarm; whoever insists gets the text.
    t.write("many/a.csv", "id,year\n1,2001\n");
    t.write("many/b.jsonl", "{\"text\":\"a record\"}\n");
    let beside = t.run("ingest c many --source main --json").counts("kept 1, rejected 1");
    assert_eq!(beside.json()["alarms"][0]["kind"], "not-text", "{beside}");
    t.run("ingest c many/a.csv --source main --format text --json").counts("kept 1, rejected 0");
    t.sound("c");
});

// A table of one column became one document when it was piped in, and no word was said.
corpusdb_test!(a_piped_table_of_one_column_needs_the_format, |t| {
    t.run("init c");
    let table = b"text\nfirst row\nsecond row\nthird row\n";
    let corpus = t.arg("c");
    let ran = corpusdb_reading(&["ingest", &corpus, "-", "--source", "main"], table);
    assert!(ran.stderr.contains("nothing could be read"), "{ran}");
    ran.answers_badly();
    let text = ["ingest", &corpus, "-", "--source", "main", "--format", "text"];
    corpusdb_reading(&text, table).good();
    t.run("count c").is("1");
});

// Every line of a file was set aside, and the exit code was 0.
corpusdb_test!(an_ingest_of_rejects_alone_fails_every_time, |t| {
    t.run("init c");
    t.write("a.jsonl", "{bad\n".repeat(30));
    for counts in ["rejected 30", "rejected 0"] {
        let ran = t.ran("ingest c a.jsonl --source main --json").answers_badly().counts(counts);
        assert_eq!(ran.json()["alarms"][0]["kind"], "all-rejected", "{ran}");
    }
    t.write("a.jsonl", "{bad\n".repeat(30) + "{\"text\":\"good\"}\n");
    t.run("ingest c a.jsonl --source main --json").counts("kept 1");
});

// A file that is no text, beside files that an earlier run had read, made the same command fail.
corpusdb_test!(a_stray_file_beside_unchanged_ones_fails_no_later_run, |t| {
    t.run("init c");
    t.write("in/a.jsonl", "{\"text\":\"good\"}\n{\"text\":\"better\"}\n{bad\n");
    t.write("in/b.csv", "id,title,n\n1,\"hello, world\",2\n2,\"more of it\",3\n3,x,4\n");
    for counts in ["kept 2, unchanged 0", "kept 0, unchanged 2", "kept 0, unchanged 2"] {
        let ran = t.run("ingest c in --source main --json").counts(counts);
        assert_eq!(ran.json()["alarms"][0]["kind"], "not-text", "{ran}");
    }
    // Alone it is all there is, and that fails.
    let ran = t.ran("ingest c in/b.csv --source main --json").answers_badly();
    assert_eq!(ran.json()["alarms"][0]["kind"], "all-rejected", "{ran}");
    t.sound("c");
});
