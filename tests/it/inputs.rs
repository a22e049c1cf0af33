//! Formats of inputs through the command: files and pipes, batches of any size, what comes again.

use crate::support::{
    Scratch, corpusdb, corpusdb_reading, digest, ingest, init, json_lines, numbers, repository,
    sound,
};
use serde_json::{Value, json};

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
fn a_table_is_ingested_by_its_columns_from_a_file_and_from_a_pipe() {
    let scratch = Scratch::new();
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
fn batches_of_any_size_give_the_same_corpus_of_a_table_a_list_and_paragraphs() {
    let scratch = Scratch::new();
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
fn a_table_that_has_grown_is_read_on_and_one_that_fails_at_a_row_is_told_by_its_line() {
    let scratch = Scratch::new();
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
