//! Objects of stores and web servers: read as files are, whatever is cut, replaced or silent on the way.

use crate::support::{
    Page, Scratch, command, corpusdb, crawl, digest, init, lines, numbers, ran, repository, sound,
};
use crate::web::{Server, State};
use corpusdb::ingest::ReadOptions;
use corpusdb::remote::ObjectStores;
use corpusdb::{Corpus, DedupMode, IngestOptions, Interrupt, Policy, Silent};
use serde_json::Value;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Runs the command with a server as the store of its environment.
fn with(server: &Server, arguments: &[&str]) -> crate::support::Ran {
    let mut command = command(arguments);
    command.stdin(Stdio::null()).envs(server.store());
    ran(arguments, command.output().unwrap())
}

/// Ingests addresses under their keys; the report.
fn ingest(server: &Server, corpus: &str, paths: &[&str]) -> Value {
    let by_id = ["--source", "web", "--id-field", "id", "--json"];
    with(server, &[&["ingest", corpus], paths, &by_id].concat()).good().json()
}

/// Some files of a crawl: plain, compressed, below another.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let pages = crawl(11, 1200, true);
    let part = |at: usize| lines(&pages[at * 400..(at + 1) * 400]).into_bytes();
    vec![
        ("a.jsonl", part(0)),
        ("b/c.jsonl.zst", zstd::encode_all(part(1).as_slice(), 3).unwrap()),
        ("b/d e.jsonl", part(2)),
    ]
}

/// All documents with what was decided. A digest says also where they stood.
fn rows(corpus: &str) -> String {
    let columns = "id, key, source, standing, dup_of, jaccard, bytes, chars, text, meta";
    let query = format!("SELECT {columns} FROM documents ORDER BY id");
    corpusdb(&["sql", corpus, &query, "--format", "json"]).good().stdout
}

/// The documents of a corpus of the same files on disk.
fn expected(scratch: &Scratch) -> String {
    let corpus = scratch.arg("expected");
    init(&corpus, &[]);
    let paths: Vec<String> =
        files().iter().map(|(name, bytes)| scratch.write(&format!("in/{name}"), bytes)).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    crate::support::ingest(&corpus, &paths, &["--source", "web", "--id-field", "id"]);
    rows(&corpus)
}

fn bucket(server: &Server) {
    let named = |(name, bytes): (&str, Vec<u8>)| (format!("crawl/2026/{name}"), bytes);
    server.state().files.extend(files().into_iter().map(named));
    for (name, bytes) in [(".hidden/x.jsonl", "no"), ("2027/x.jsonl", "no"), ("2026/.y", "no")] {
        server.state().files.insert(format!("crawl/{name}"), bytes.as_bytes().to_vec());
    }
}

#[test]
fn objects_are_read_as_files_are_from_web_servers_and_buckets() {
    let scratch = Scratch::new();
    let expected = expected(&scratch);
    let server = Server::start(State::default());
    for (name, bytes) in files() {
        server.state().files.insert(name.to_owned(), bytes);
    }
    let web = scratch.arg("web");
    init(&web, &[]);
    let urls = ["a.jsonl", "b/c.jsonl.zst", "b/d%20e.jsonl"].map(|path| server.url(path));
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    assert_eq!(numbers(&ingest(&server, &web, &urls), ["read", "rejected"]), [1200, 0]);
    assert_eq!(rows(&web), expected);
    bucket(&server);
    let mut digests = Vec::new();
    for (name, path) in [
        ("prefix", "s3://crawl/2026/"),
        ("folder", "s3://crawl/2026"),
        ("pattern", "s3://crawl/202[0-6]/**/*.jsonl*"),
    ] {
        let corpus = scratch.arg(name);
        init(&corpus, &[]);
        ingest(&server, &corpus, &[path]);
        assert_eq!(rows(&corpus), expected, "{path}");
        digests.push(digest(&corpus));
        let requests = server.state().requests.len();
        let again = ingest(&server, &corpus, &[path]);
        assert_eq!(numbers(&again, ["read", "unchanged", "commits"]), [0, 1200, 0], "{again}");
        let asked = server.state().requests.split_off(requests);
        assert!(!asked.iter().any(|request| request.contains("jsonl")), "read again: {asked:?}");
        sound(&corpus);
    }
    assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{digests:?}");
}

#[test]
fn connections_that_are_cut_go_on_at_the_byte_reached() {
    let scratch = Scratch::new();
    let expected = expected(&scratch);
    let size: usize = files().iter().map(|(_, bytes)| bytes.len()).sum();
    for no_ranges in [false, true] {
        // Without ranges every attempt begins anew: as many cuts at one byte as there are attempts are the end.
        let cuts = if no_ranges { 5 } else { 9 };
        let state = State { no_ranges, cuts: (cuts, 3000), ..State::default() };
        let server = Server::start(state);
        bucket(&server);
        let corpus = scratch.arg(if no_ranges { "whole" } else { "parts" });
        init(&corpus, &[]);
        if no_ranges {
            let urls = files()
                .iter()
                .map(|(name, _)| server.url(&format!("crawl/2026/{}", name.replace(' ', "%20"))))
                .collect::<Vec<_>>();
            ingest(&server, &corpus, &urls.iter().map(String::as_str).collect::<Vec<_>>());
        } else {
            ingest(&server, &corpus, &["s3://crawl/2026/"]);
            let sent = server.state().sent;
            assert!(sent < size + size / 20, "{sent} bytes for {size}: read again from the start");
        }
        assert_eq!(server.state().cuts.0, 0, "nothing was cut");
        assert_eq!(rows(&corpus), expected);
    }
}

#[test]
fn a_parquet_object_is_read_from_its_end_and_needs_ranges() {
    let scratch = Scratch::new();
    let file = repository("tests/corpora/inputs/hub/data/train-00000-of-00002.parquet");
    let bytes = std::fs::read(&file).unwrap();
    let server = Server::start(State { cuts: (2, 100), ..State::default() });
    for name in ["x/rows.parquet", "x/rows"] {
        server.state().files.insert(name.to_owned(), bytes.clone());
    }
    let (local, remote) = (scratch.arg("local"), scratch.arg("remote"));
    let id = ["--source", "web", "--id-field", "url"];
    init(&local, &[]);
    crate::support::ingest(&local, &[&file.display().to_string()], &id);
    for path in [server.url("x/rows"), "s3://x/rows.parquet".to_owned()] {
        let _ = std::fs::remove_dir_all(&remote);
        init(&remote, &[]);
        with(&server, &[&["ingest", &remote, &path], &id[..]].concat()).good();
        assert_eq!(rows(&remote), rows(&local), "{path}");
    }
    server.state().no_ranges = true;
    let url = server.url("x/rows.parquet");
    let words = ["ignores Range", "rows.parquet"];
    with(&server, &[&["ingest", &remote, &url], &id[..]].concat()).fails(&words);
}

#[test]
fn an_object_that_is_replaced_while_it_is_read_is_told_and_read_anew() {
    let scratch = Scratch::new();
    let line = |n: usize, word: &str| {
        format!("{{\"id\":\"{n}\",\"text\":\"{word} {n} {}\"}}\n", "long ".repeat(200))
    };
    let text = |word: &str| (0..3000).map(|n| line(n, word)).collect::<String>().into_bytes();
    let (old, new) = (text("older"), text("newer"));
    assert_eq!(old.len(), new.len());
    let server = Server::start(State::default());
    server.state().files.insert("b/x.jsonl".to_owned(), old);
    server.state().replace = Some((2, "b/x.jsonl".to_owned(), new.clone()));
    let (corpus, expected) = (scratch.arg("corpus"), scratch.arg("expected"));
    for corpus in [&corpus, &expected] {
        init(corpus, &[]);
    }
    let small =
        ["--source", "web", "--id-field", "id", "--batch-bytes", "100kB", "--memory", "64MiB"];
    let all = [&["ingest", &corpus, "s3://b/x.jsonl"], &small[..]].concat();
    with(&server, &all).fails(&["s3://b/x.jsonl", "replaced while it was read"]);
    with(&server, &all).good();
    let file = scratch.write("x.jsonl", new);
    corpusdb(&[&["ingest", &expected, &file], &small[..]].concat()).good();
    let kept = |corpus: &str| {
        let query = "SELECT key, text FROM documents WHERE kept ORDER BY key";
        corpusdb(&["sql", corpus, query, "--format", "json"]).good().stdout
    };
    assert_eq!(kept(&corpus), kept(&expected));
    sound(&corpus);
}

#[test]
fn what_is_not_there_or_not_allowed_is_told_with_the_way_out() {
    let scratch = Scratch::new();
    let server = Server::start(State::default());
    bucket(&server);
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let fails = |path: &str, words: &[&str]| {
        with(&server, &["ingest", &corpus, path, "--source", "web"]).fails(words);
    };
    fails("s3://crawl/none.jsonl", &["s3://crawl/none.jsonl", "no such object"]);
    fails("s3://nobucket/", &["s3://nobucket/", "no such object"]);
    fails("s3://crawl/2026/*.csv", &["no such object"]);
    fails("s3:///x", &["names no bucket"]);
    fails(&server.url("none.jsonl"), &["no such object"]);
    fails(&server.url("crawl/"), &["does not list its files"]);
    fails("https://127.0.0.1:1/x.jsonl", &["gave up", "after 7 attempts"]);
    assert_eq!(corpusdb(&["count", &corpus]).good().stdout.trim(), "0");
}

/// A server that answers nothing holds nobody up who wants to stop.
#[test]
fn a_stop_is_heard_while_a_server_is_silent() {
    let scratch = Scratch::new();
    let path = scratch.path("corpus");
    Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
    let server = Server::start(State { silent: true, ..State::default() });
    let mut writer = Corpus::options().memory(64 << 20).threads(1).open_writer(&path).unwrap();
    let stores = ObjectStores::new(server.store().map(|(name, value)| (name.to_owned(), value)));
    let read = ReadOptions { stores, ..ReadOptions::default() };
    let options = IngestOptions { read, ..IngestOptions::new("web") };
    for path in ["s3://b/x/".to_owned(), server.url("x.jsonl")] {
        let interrupt = Interrupt::default();
        let raised = interrupt.clone();
        let started = Instant::now();
        let stopped = std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(300));
                raised.raise();
            });
            writer.ingest(&[path], &options, &[], &Silent, &interrupt)
        });
        let error = stopped.unwrap_err().to_string();
        assert!(error.contains("interrupted"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }
}

/// A file that has grown is read on: what stands before is proved by its hash, and nothing comes twice.
#[test]
fn an_object_that_has_grown_or_was_read_in_part_is_read_on() {
    let scratch = Scratch::new();
    let pages: Vec<Page> = crawl(3, 900, true);
    let (first, all) = (lines(&pages[..500]), lines(&pages));
    let server = Server::start(State::default());
    server.state().files.insert("b/x.jsonl".to_owned(), first.into_bytes());
    let (corpus, expected) = (scratch.arg("corpus"), scratch.arg("expected"));
    for corpus in [&corpus, &expected] {
        init(corpus, &[]);
    }
    ingest(&server, &corpus, &["s3://b/x.jsonl"]);
    server.state().files.insert("b/x.jsonl".to_owned(), all.clone().into_bytes());
    let report = ingest(&server, &corpus, &["s3://b/x.jsonl"]);
    let [read, unchanged] = numbers(&report, ["read", "unchanged"]);
    assert!(read == 400 && unchanged >= 500, "{report}");
    let file = scratch.write("x.jsonl", all);
    crate::support::ingest(&expected, &[&file], &["--source", "web", "--id-field", "id"]);
    assert_eq!(rows(&corpus), rows(&expected));
    sound(&corpus);
}
