//! What becomes of answers: a reader that goes away, a full disk, a terminal that would obey what strangers wrote.

use crate::support::{Page, Ran, TestDir, command, corpusdb, crawl, init, lines, ran};
use serde_json::json;
use std::process::{Command, Stdio};

fn corpus(scratch: &TestDir) -> String {
    let corpus = scratch.arg("crawl");
    init(&corpus, &[]);
    let pages = scratch.write("pages.jsonl", lines(&crawl(7, 60, true)));
    corpusdb(&["ingest", &corpus, &pages, "--source", "web", "--id-field", "id"]).good();
    corpus
}

/// Runs the command with a pipe for stdout whose reader has gone away before the first byte.
fn unread(arguments: &[&str]) -> Ran {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = command(arguments);
    command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
    ran(arguments, command.spawn().unwrap().wait_with_output().unwrap())
}

/// Runs the command with a full disk behind stdout.
fn unwritten(arguments: &[&str]) -> Ran {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = command(arguments);
    command.stdin(Stdio::null()).stdout(full).stderr(Stdio::piped());
    ran(arguments, command.spawn().unwrap().wait_with_output().unwrap())
}

fn mode(corpus: &str) -> String {
    let info = corpusdb(&["info", corpus, "--json"]).good().json();
    info["policy"].as_str().unwrap().to_owned()
}

/// `dedup redo c | head -1` printed its report before it switched: it ended with 0, and the policy was the old one.
#[test]
fn a_closed_pipe_changes_neither_the_work_nor_the_exit_code() {
    let scratch = TestDir::new();
    let corpus = corpus(&scratch);
    let redo = unread(&["dedup", "redo", &corpus, "--mode", "components"]);
    assert_eq!((redo.code, redo.stderr.as_str()), (Some(0), ""), "{redo}");
    assert!(mode(&corpus).contains("mode components"), "{}", mode(&corpus));
    // What is found is said by the exit code, also to nobody.
    let similar = unread(&[
        "similar",
        &corpus,
        "--text",
        "nothing like this was ever written in any of these pages",
    ]);
    assert_eq!(similar.code, Some(1), "{similar}");
    let shown = unread(&["show", &corpus, "no such key"]);
    assert_eq!(shown.code, Some(1), "{shown}");
    for row_by_row in [
        &["sql", &corpus, "SELECT text FROM documents", "--format", "jsonl"][..],
        &["export", &corpus, "--to", "-", "--format", "jsonl"],
        &["sample", &corpus, "-n", "20"],
    ] {
        let streamed = unread(row_by_row);
        assert_eq!(streamed.code, Some(0), "{streamed}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn unwritable_answers_are_errors_after_the_work_is_done() {
    let scratch = TestDir::new();
    let corpus = corpus(&scratch);
    let redo = unwritten(&["dedup", "redo", &corpus, "--mode", "exact"]);
    assert_eq!(redo.code, Some(2), "{redo}");
    assert!(redo.stderr.contains("cannot write to standard output"), "{redo}");
    assert!(mode(&corpus).contains("mode exact"), "{}", mode(&corpus));
    for arguments in [
        &["info", &corpus][..],
        &["info", &corpus, "--json"],
        &["export", &corpus, "--to", "-", "--format", "csv"],
        &["count", &corpus],
    ] {
        let failed = unwritten(arguments);
        assert_eq!(failed.code, Some(2), "{failed}");
    }
}

/// What a stranger's text, key or field says to a terminal is shown and not obeyed, by every verb.
#[test]
#[cfg(target_os = "linux")]
fn a_terminal_obeys_nothing_that_a_document_says() {
    if Command::new("script").arg("--version").output().is_err() {
        return;
    }
    let scratch = TestDir::new();
    let evil = "\x1b[31mRED\x1b[2J\x1b]0;title\x07\u{9b}31m\u{202e}drawkcab\r";
    let page = |n: u32| {
        let text = format!("{evil} one two three four five six seven eight nine ten eleven {n}");
        Page { fields: json!({ "note": evil }), ..Page::keyed(format!("k{n}{evil}"), text) }
    };
    let pages = scratch.write(
        "pages.jsonl",
        lines(&[page(1), page(1), page(2)])
            + "{\"text\": 5, \"id\": \"x\x1b[2J\"}\nnot \x1b[2J json\n",
    );
    let corpus = scratch.arg("crawl");
    init(&corpus, &[]);
    corpusdb(&["ingest", &corpus, &pages, "--source", "web", "--id-field", "id"]).good();
    for arguments in [
        "info CORPUS",
        "stats CORPUS",
        "show CORPUS 0",
        "sample CORPUS",
        "rejects CORPUS",
        "similar CORPUS 0 --all",
        "duplicates CORPUS",
        "duplicates CORPUS --list --diff",
        "duplicates CORPUS 1 --diff",
        "show CORPUS 0 --json",
        "sample CORPUS --json",
        "export CORPUS --to - --format csv",
        "export CORPUS --to - --format jsonl",
        "sql CORPUS 'SELECT key, text, source FROM documents'",
        "sql CORPUS 'SELECT key, text FROM documents' --format line",
        "sql CORPUS 'SELECT key, text FROM documents' --format markdown",
        "sql CORPUS 'SELECT key, text FROM documents' --format csv",
        "sql CORPUS 'SELECT key, text FROM documents' --format json",
        "show CORPUS $'k\\x1b[2J'",
        "field list CORPUS",
        "count CORPUS --where $'x\\x1b[31mRED'",
    ] {
        let program = env!("CARGO_BIN_EXE_corpusdb");
        let line = format!("'{program}' {}", arguments.replace("CORPUS", &corpus));
        // `script` gives the command a terminal for all of its streams.
        let shell = format!("bash -c {}", quoted(&line));
        let output = Command::new("script")
            .args(["-qec", &shell, "/dev/null"])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(!shown.is_empty(), "{arguments}");
        for obeyed in ["\x1b[31mRED", "\x1b[2J", "\x1b]0;", "\u{9b}", "\u{202e}"] {
            assert!(!shown.contains(obeyed), "{arguments}: {obeyed:?} in {shown:?}");
        }
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
