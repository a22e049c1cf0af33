//! Inputs that are neither records nor texts, and ingests of which nothing could be read.

use crate::support::{TestDir, corpusdb, corpusdb_reading, ingest, init, sound};
use serde_json::json;

/// Made one document each of tables and archives, exit code 0.
#[test]
fn a_file_of_another_format_is_refused_and_becomes_no_text() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
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
        let path = scratch.write(name, bytes);
        let ran = corpusdb(&["ingest", &corpus, &path, "--source", "main"]);
        assert_ne!(ran.code, Some(0), "{ran}");
        if name != "x.tar.gz" {
            assert!(ran.code == Some(1) && ran.stderr.contains("nothing could be read"), "{ran}");
            // Told of every time, and counted once.
            let again = corpusdb(&["ingest", &corpus, &path, "--source", "main", "--json"]);
            assert_eq!((again.code, &again.json()["rejected"]), (Some(1), &json!(0)), "{again}");
        }
    }
    assert_eq!(corpusdb(&["count", &corpus]).good().stdout.trim(), "0");
    // Beside others they are set aside, and told of; whoever insists gets the text.
    scratch.write("many/a.csv", "id,year\n1,2001\n");
    scratch.write("many/b.jsonl", "{\"text\":\"a record\"}\n");
    let many = scratch.arg("many");
    let report = ingest(&corpus, &[&many], &["--source", "main"]);
    assert_eq!((&report["kept"], &report["rejected"]), (&json!(1), &json!(1)));
    assert_eq!(report["alarms"][0]["kind"], "not-text", "{report}");
    let table = scratch.arg("many/a.csv");
    let report = ingest(&corpus, &[&table], &["--source", "main", "--format", "text"]);
    assert_eq!((&report["kept"], &report["rejected"]), (&json!(1), &json!(0)));
    sound(&corpus);
}

/// A table of one column became one document when it was piped in, and no word was said.
#[test]
fn a_piped_table_of_one_column_needs_the_format() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let table = b"text\nfirst row\nsecond row\nthird row\n";
    let ran = corpusdb_reading(&["ingest", &corpus, "-", "--source", "main"], table);
    assert!(ran.code == Some(1) && ran.stderr.contains("nothing could be read"), "{ran}");
    let text = ["ingest", &corpus, "-", "--source", "main", "--format", "text"];
    assert_eq!(corpusdb_reading(&text, table).code, Some(0));
    assert_eq!(corpusdb(&["count", &corpus]).good().stdout.trim(), "1");
}

/// Every line of a file was set aside, and the exit code was 0.
#[test]
fn an_ingest_of_rejects_alone_fails_every_time() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let path = scratch.write("a.jsonl", "{bad\n".repeat(30));
    for rejected in [30, 0] {
        let ran = corpusdb(&["ingest", &corpus, &path, "--source", "main", "--json"]);
        assert_eq!((ran.code, &ran.json()["rejected"]), (Some(1), &json!(rejected)), "{ran}");
        assert_eq!(ran.json()["alarms"][0]["kind"], "all-rejected");
    }
    let path = scratch.write("a.jsonl", "{bad\n".repeat(30) + "{\"text\":\"good\"}\n");
    assert_eq!(ingest(&corpus, &[&path], &["--source", "main"])["kept"], 1);
}

/// A file that is no text, beside files that an earlier run had read, made the same command fail.
#[test]
fn a_stray_file_beside_unchanged_ones_fails_no_later_run() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    scratch.write("in/a.jsonl", "{\"text\":\"good\"}\n{\"text\":\"better\"}\n{bad\n");
    scratch.write("in/b.csv", "id,title,n\n1,\"hello, world\",2\n2,\"more of it\",3\n3,x,4\n");
    let folder = scratch.arg("in");
    for (kept, unchanged) in [(2, 0), (0, 2), (0, 2)] {
        let report = ingest(&corpus, &[&folder], &["--source", "main"]);
        assert_eq!((&report["kept"], &report["unchanged"]), (&json!(kept), &json!(unchanged)));
        assert_eq!(report["alarms"][0]["kind"], "not-text", "{report}");
    }
    // Alone it is all there is, and that fails.
    let stray = format!("{folder}/b.csv");
    let ran = corpusdb(&["ingest", &corpus, &stray, "--source", "main", "--json"]);
    assert_eq!((ran.code, &ran.json()["alarms"][0]["kind"]), (Some(1), &json!("all-rejected")));
    sound(&corpus);
}
