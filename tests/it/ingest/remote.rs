//! Objects of stores and web servers: read as files are, whatever is cut, replaced or silent on the way.

use crate::support::server::{Framing, Server, State};
use crate::support::{
    Page, Ran, TestDir, WEB_BY_ID, command, corpusdb, corpusdb_test, crawl, digest, init, lines,
    numbers, ran, repository, sound, with_corpus,
};
use corpusdb::ingest::ReadOptions;
use corpusdb::remote::ObjectStores;
use corpusdb::{Context, Corpus, DedupMode, IngestOptions, Interrupt, Policy};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Runs the command with a server as the store of its environment.
fn with(server: &Server, arguments: &[&str]) -> Ran {
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
fn expected(scratch: &TestDir) -> String {
    let corpus = scratch.arg("expected");
    init(&corpus, &[]);
    let paths: Vec<String> =
        files().iter().map(|(name, bytes)| scratch.write(&format!("in/{name}"), bytes)).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    crate::support::ingest(&corpus, &paths, &WEB_BY_ID);
    rows(&corpus)
}

fn bucket(server: &Server) {
    let named = |(name, bytes): (&str, Vec<u8>)| (format!("crawl/2026/{name}"), bytes);
    server.state().files.extend(files().into_iter().map(named));
    for (name, bytes) in [(".hidden/x.jsonl", "no"), ("2027/x.jsonl", "no"), ("2026/.y", "no")] {
        server.state().files.insert(format!("crawl/{name}"), bytes.as_bytes().to_vec());
    }
}

corpusdb_test!(objects_are_read_as_files_are_from_web_servers_and_buckets, |scratch| {
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
        // A name is looked for before it is a pattern.
        let is_read = |request: &String| request.starts_with("GET") && request.contains("jsonl");
        assert!(!asked.iter().any(is_read), "read again: {asked:?}");
        sound(&corpus);
    }
    assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{digests:?}");
});

corpusdb_test!(connections_that_are_cut_go_on_at_the_byte_reached, |scratch| {
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
});

/// Expects that a file and objects with its bytes come to the same rows.
fn same_from_anywhere(server: &Server, scratch: &TestDir, file: &Path, id: &str, paths: &[&str]) {
    let (local, remote) = (scratch.arg("local"), scratch.arg("remote"));
    let keyed = ["--source", "web", "--id-field", id];
    init(&local, &[]);
    crate::support::ingest(&local, &[&file.display().to_string()], &keyed);
    for path in paths {
        let _ = std::fs::remove_dir_all(&remote);
        init(&remote, &[]);
        with(server, &[&["ingest", &remote, path], &keyed[..]].concat()).good();
        assert_eq!(rows(&remote), rows(&local), "{path}");
    }
}

corpusdb_test!(a_parquet_object_is_read_from_its_end_and_needs_ranges, |scratch| {
    let file = repository("tests/corpora/inputs/hub/data/train-00000-of-00002.parquet");
    let bytes = std::fs::read(&file).unwrap();
    let server = Server::start(State { cuts: (2, 100), ..State::default() });
    for name in ["x/rows.parquet", "x/rows"] {
        server.state().files.insert(name.to_owned(), bytes.clone());
    }
    same_from_anywhere(
        &server,
        &scratch,
        &file,
        "url",
        &[&server.url("x/rows"), "s3://x/rows.parquet"],
    );
    server.state().no_ranges = true;
    let (remote, url) = (scratch.arg("remote"), server.url("x/rows.parquet"));
    let words = ["ignores Range", "rows.parquet"];
    with(&server, &["ingest", &remote, &url, "--source", "web", "--id-field", "url"]).fails(&words);
});

// Regression: an Arrow file of Polars has the dictionaries of its categories behind its batches.
corpusdb_test!(an_arrow_object_is_read_in_the_order_of_its_footer, |scratch| {
    let file = repository("tests/corpora/inputs/polars-categories.arrow");
    let server = Server::start(State { cuts: (2, 100), ..State::default() });
    server.state().files.insert("x/rows.arrow".to_owned(), std::fs::read(&file).unwrap());
    let url = server.url("x/rows.arrow");
    same_from_anywhere(&server, &scratch, &file, "id", &[&url, "s3://x/rows.arrow"]);
    // Without ranges it comes from its beginning on, as from a pipe.
    server.state().no_ranges = true;
    let words = ["rows.arrow", "after the batches"];
    let fresh = scratch.arg("fresh");
    init(&fresh, &[]);
    with(&server, &[&["ingest", &fresh, &url], &WEB_BY_ID[..]].concat()).fails(&words);
});

corpusdb_test!(an_object_replaced_while_read_is_read_again, |scratch| {
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
});

corpusdb_test!(missing_and_forbidden_objects_get_the_way_out, |scratch| {
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
});

// A server that answers nothing holds nobody up who wants to stop.
corpusdb_test!(a_stop_is_heard_while_a_server_is_silent, |scratch| {
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
            writer.ingest(&[path], &options, &Context::new().with_interrupt(&interrupt))
        });
        let error = stopped.unwrap_err().to_string();
        assert!(error.contains("interrupted"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }
});

// A file that has grown is read on: what stands before is proved by its hash, and nothing comes twice.
corpusdb_test!(an_object_that_has_grown_or_was_read_in_part_is_read_on, |scratch| {
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
    crate::support::ingest(&expected, &[&file], &WEB_BY_ID);
    assert_eq!(rows(&corpus), rows(&expected));
    sound(&corpus);
});

// A web server is asked as curl asks it: with the login, for the path as it is written, by GET.
corpusdb_test!(addresses_go_out_as_they_are_written, |scratch| {
    let text = lines(&crawl(5, 40, true));
    let login = "Basic am9lOnNlYzpyZXQvMQ==".to_owned();
    let server = Server::start(State { login: Some(login), no_heads: true, ..State::default() });
    for name in ["a/b.jsonl", "get"] {
        server.state().files.insert(name.to_owned(), text.clone().into_bytes());
    }
    server.state().files.insert("empty.jsonl".to_owned(), Vec::new());
    let with_login = |path: &str| server.url(path).replace("://", "://joe:sec%3Aret%2F1@");
    for path in ["a%2Fb.jsonl", "get?file=%2Fb&token=t%2F1", "empty.jsonl"] {
        let corpus = scratch.arg(&path.replace(['%', '?'], "-"));
        init(&corpus, &[]);
        let report = ingest(&server, &corpus, &[&with_login(path)]);
        let count = if path.starts_with("empty") { 0 } else { 40 };
        assert_eq!(numbers(&report, ["read"]), [count], "{path}: {report}");
        let wanted = format!("/{path} Basic am9lOnNlYzpyZXQvMQ==");
        let targets = std::mem::take(&mut server.state().targets);
        assert!(
            !targets.is_empty() && targets.iter().all(|target| *target == wanted),
            "{targets:?}"
        );
        sound(&corpus);
    }
    let refused = server.url("a%2Fb.jsonl").replace("://", "://joe:wrong@");
    let corpus = scratch.arg("refused");
    init(&corpus, &[]);
    with(&server, &["ingest", &corpus, &refused, "--source", "web"]).fails(&["401", "login"]);
});

// A server may make its answer as it goes: then its end is the end of the file, and a cut is none.
corpusdb_test!(answers_without_a_length_are_read_to_their_end, |scratch| {
    let expected = expected(&scratch);
    for framing in [Framing::Chunked, Framing::UntilClosed] {
        let state = State { no_lengths: Some(framing), no_tags: true, ..State::default() };
        let server = Server::start(state);
        bucket(&server);
        let urls = files()
            .iter()
            .map(|(name, _)| server.url(&format!("crawl/2026/{}", name.replace(' ', "%20"))))
            .collect::<Vec<_>>();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        let corpus = scratch.arg(&format!("{framing:?}"));
        init(&corpus, &[]);
        // The end of a connection cannot be told from the end of a file; a chunk that is missing can.
        if framing == Framing::Chunked {
            server.state().cuts = (5, 3000);
        }
        ingest(&server, &corpus, &urls);
        assert_eq!(server.state().cuts.0, 0, "nothing was cut");
        assert_eq!(rows(&corpus), expected, "{framing:?}");
        // Nothing tells a version: the files are read again.
        assert_eq!(numbers(&ingest(&server, &corpus, &urls), ["read"]), [1200]);
        let always = [&["ingest", &corpus, urls[0]], &WEB_BY_ID[..]];
        if framing == Framing::Chunked {
            server.state().cuts = (1000, 3000);
            with(&server, &always.concat()).fails(&["gave up"]);
            server.state().cuts = (0, 0);
        }
        sound(&corpus);
        server.state().files.insert("x.parquet".to_owned(), b"PAR1".repeat(9));
        let url = server.url("x.parquet");
        with(&server, &["ingest", &corpus, &url, "--source", "web"]).fails(&["ignores Range"]);
    }
});

// One name that no request can ask for costs its own object, and is told.
corpusdb_test!(odd_names_of_a_bucket_cost_themselves, |scratch| {
    let server = Server::start(State::default());
    let text = |n: usize| lines(&crawl(n as u64 + 1, 10, true)).into_bytes();
    let odd = ["a//x.jsonl", "a/../y.jsonl", "a/./z.jsonl", "a/t/", "a/c\u{1}.jsonl", "a/s.jsonl "];
    let good = [
        "a/[1].jsonl",
        "a/st*r.jsonl",
        "a/q?q.jsonl",
        "a/50%.jsonl",
        "a/%2F.jsonl",
        "a/b&<c>.jsonl",
    ];
    for (n, name) in odd.iter().chain(&good).enumerate() {
        server.state().files.insert(format!("b/{name}"), text(n));
    }
    server.state().files.insert("b/a/folder/".to_owned(), Vec::new());
    server.state().files.insert("b/a/.hidden//x".to_owned(), text(50));
    let count = |path: &str| {
        let corpus = scratch.arg("corpus");
        let _ = std::fs::remove_dir_all(&corpus);
        init(&corpus, &[]);
        let report = ingest(&server, &corpus, &[path]);
        let alarms = report["alarms"].as_array().cloned().unwrap_or_default();
        let left = alarms.into_iter().find(|alarm| alarm["kind"] == "objects-left");
        (numbers(&report, ["read"])[0], left)
    };
    for path in ["s3://b/a/", "s3://b/a", "s3://b"] {
        let (read, left) = count(path);
        let left = left.unwrap();
        assert_eq!((read, &left["objects"]), (60, &Value::from(6)), "{path}: {left}");
        assert!(left["first"].to_string().contains("copy it"), "{left}");
    }
    for name in ["s3://b/a/[1].jsonl", "s3://b/a/st*r.jsonl", "s3://b/a/q?q.jsonl"] {
        assert_eq!(count(name), (10, None), "{name}");
    }
    assert_eq!(count("s3://b/a/[0-9%]*").0, 20);
    let corpus = scratch.arg("corpus");
    let fails = |path: &str, words: &[&str]| {
        with(&server, &["ingest", &corpus, path, "--source", "web"]).fails(words);
    };
    fails("s3://b/a//x.jsonl", &["empty part", "copy the object"]);
    server.state().files.insert("c/x//y".to_owned(), text(1));
    fails("s3://c/x/", &["s3://c/x//y", "no object there can be requested"]);
    with(&server, &["export", &corpus, "--to", "s3://b//x/", "--format", "jsonl"])
        .fails(&["slash"]);
});

// A store that put the parts together and whose answer was lost knows nothing of the upload any more.
corpusdb_test!(a_completion_whose_answer_is_lost_is_looked_for, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    let page = |n: usize| {
        format!("{{\"id\":\"{n}\",\"text\":\"{n} {}\"}}\n", format!("{n:x} word ").repeat(30_000))
    };
    let file = scratch.write("x.jsonl", (0..40).map(page).collect::<String>());
    crate::support::ingest(&corpus, &[&file], &WEB_BY_ID);
    let server = Server::start(State { lost_completions: 1, ..State::default() });
    let export = ["export", &corpus, "--to", "s3://b/x.jsonl", "--memory", "256MiB"];
    with(&server, &export).good();
    let remote = server.state().files["b/x.jsonl"].clone();
    let local = scratch.arg("local.jsonl");
    corpusdb(&["export", &corpus, "--to", &local]).good();
    assert!(remote.len() > 8 << 20 && remote == std::fs::read(&local).unwrap());
    // An upload that is gone, and no object in its place, is a failure.
    let server = Server::start(State::default());
    server.state().files.insert("b/other".to_owned(), Vec::new());
    server.state().uploads_vanish = true;
    with(&server, &export).fails(&["s3://b/x.jsonl"]);
    assert!(!server.state().files.contains_key("b/x.jsonl"));
});

// An uplink that takes a part in more than half a minute works, and so does a completion that takes as long.
corpusdb_test!(slow_stores_are_waited_for, with_corpus(&["--mode", "none"]), |(
    scratch,
    corpus,
)| {
    let page = |n: usize| {
        format!("{{\"id\":\"{n}\",\"text\":\"{n} {}\"}}\n", format!("{n:x} word ").repeat(30_000))
    };
    let file = scratch.write("x.jsonl", (0..40).map(page).collect::<String>());
    crate::support::ingest(&corpus, &[&file], &WEB_BY_ID);
    let server = Server::start(State { delay: Duration::from_secs(31), ..State::default() });
    with(&server, &["export", &corpus, "--to", "s3://b/x.jsonl", "--memory", "256MiB"]).good();
    assert!(server.state().files["b/x.jsonl"].len() > 8 << 20);
});

// Addresses that differ in more than their secrets are two files, and those that differ in nothing else are refused.
corpusdb_test!(a_signature_hides_no_other_file, |scratch| {
    let server = Server::start(State::default());
    let [one, two] = [3, 4].map(|seed| lines(&crawl(seed, 30, true)).into_bytes());
    server.state().by_query = true;
    for (query, bytes) in
        [("file=1&token=a", &one), ("file=2&token=a", &two), ("key=1", &one), ("key=2", &two)]
    {
        server.state().files.insert(format!("get?{query}"), bytes.clone());
    }
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    let addresses = ["get?file=1&token=a", "get?file=2&token=a"].map(|path| server.url(path));
    let report = ingest(&server, &corpus, &[&addresses[0], &addresses[1]]);
    assert_eq!(numbers(&report, ["read"]), [60], "{report}");
    let clash = ["get?key=1", "get?key=2"].map(|path| server.url(path));
    with(&server, &["ingest", &corpus, &clash[0], &clash[1], "--source", "web"])
        .fails(&["given twice"]);
    // The same file, signed anew.
    server.state().files.insert("get?key=2".to_owned(), one.clone());
    let other = scratch.arg("other");
    init(&other, &["--mode", "none"]);
    let report = ingest(&server, &other, &[&clash[0], &clash[1]]);
    assert_eq!(numbers(&report, ["read"]), [30], "{report}");
});

// `no_proxy=*` means every server, those that are named by figures too.
corpusdb_test!(no_proxy_for_all_means_all, |scratch| {
    let server = Server::start(State::default());
    server.state().files.insert("b/x.jsonl".to_owned(), lines(&crawl(5, 40, true)).into_bytes());
    for (at, (name, hosts)) in
        [("no_proxy", "*"), ("NO_PROXY", "example.org, *")].into_iter().enumerate()
    {
        for path in [server.url("b/x.jsonl"), "s3://b/".to_owned()] {
            let corpus = scratch.arg(&format!("{at}{}", path.starts_with("s3")));
            init(&corpus, &[]);
            let arguments = ["ingest", &corpus, &path, "--source", "web", "--json"];
            let mut command = command(&arguments);
            command.stdin(Stdio::null()).envs(server.store()).env(name, hosts);
            for proxy in ["http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
                command.env(proxy, "http://127.0.0.1:1");
            }
            let report = ran(&arguments, command.output().unwrap()).good().json();
            assert_eq!(numbers(&report, ["read"]), [40], "{report}");
        }
    }
});

// A prefix of a bucket is a folder: what describes data is left, folders say fields, and a saved dataset is its files.
corpusdb_test!(a_prefix_is_a_folder_with_the_rules_of_one, |scratch| {
    let server = Server::start(State::default());
    let text = |n: usize| lines(&crawl(n as u64 + 1, 10, true)).into_bytes();
    let put = |name: &str, bytes: Vec<u8>| server.state().files.insert(format!("b/{name}"), bytes);
    put("set/_SUCCESS", b"x".to_vec());
    put("set/.cache/x.jsonl", text(9));
    put("set/README.md", b"# About\n".to_vec());
    put("set/lang=de/part-00000-0a-c000.jsonl", text(1));
    put("set/lang=fr/part-00000-0a-c000.jsonl", text(2));
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "lang:keyword", "--mode", "none"]);
    let report = ingest(&server, &corpus, &["s3://b/set/"]);
    assert_eq!(numbers(&report["files"], ["seen", "read", "left"]), [5, 2, 3], "{report}");
    let left = |report: &Value| -> Vec<String> {
        let left = report["files"]["left_files"].as_array().unwrap().iter();
        left.map(|file| file["path"].as_str().unwrap().to_owned()).collect()
    };
    let expected = ["s3://b/set/.cache/x.jsonl", "s3://b/set/README.md", "s3://b/set/_SUCCESS"];
    assert_eq!(left(&report), expected);
    let count = corpusdb(&["count", &corpus, "--where", "lang = 'fr'"]).good().stdout;
    assert_ne!(count.trim(), "0", "a folder says the field");
    put("none/.hidden.jsonl", text(4));
    with(&server, &["ingest", &corpus, "s3://b/none", "--source", "web"])
        .fails(&["s3://b/none: no files in this directory"]);
    // Of a pattern, too: the older copy won.
    put("copies/authors.jsonl", text(5));
    put("copies/authors.jsonl.bak", text(6));
    put("copies/load.py", b"import datasets\n".to_vec());
    for address in ["s3://b/copies", "s3://b/copies/*", "s3://b/cop*/**"] {
        let corpus = scratch.arg(&format!("copies{}", address.len()));
        init(&corpus, &[]);
        let report = ingest(&server, &corpus, &[address]);
        assert_eq!(numbers(&report["files"], ["seen", "read", "left"]), [3, 1, 2], "{report}");
        let expected = ["s3://b/copies/authors.jsonl.bak", "s3://b/copies/load.py"];
        assert_eq!(left(&report), expected, "{address}");
    }
    let report = ingest(&server, &corpus, &["s3://b/copies/authors.jsonl.bak"]);
    assert_eq!(numbers(&report["files"], ["seen", "read"]), [1, 1], "{report}");
    put("table/_delta_log/0.json", b"{}".to_vec());
    put("table/a.jsonl", text(7));
    with(&server, &["ingest", &corpus, "s3://b/table", "--source", "web"])
        .fails(&["s3://b/table: a Delta table", "deltalake"]);
    // What a saved dataset lists must be there, and nothing else is read.
    let state = r#"{"_data_files":[{"filename":"a.arrow"}]}"#;
    put("saved/state.json", state.as_bytes().to_vec());
    put("saved/dataset_info.json", b"{}".to_vec());
    put("saved/other.jsonl", text(3));
    with(&server, &["ingest", &corpus, "s3://b/saved", "--source", "web"])
        .fails(&["s3://b/saved/a.arrow"]);
});
