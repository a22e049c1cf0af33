//! Exports into a bucket: nothing of others is deleted or written over, whenever it came there.

use crate::support::exports::corpus;
use crate::support::server::{Server, State};
use crate::support::{Page, Ran, TestDir, command, crawl, ingest, init, lines, ran};
use serde_json::Value;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A bucket with an object of somebody else, and a corpus that is exported into it.
struct BucketExports {
    _scratch: TestDir,
    corpus: String,
    server: Server,
}

const OUT: &str = "b/out/";
const MANIFEST: &str = "b/.out.manifest.json";

impl BucketExports {
    fn new() -> Self {
        let scratch = TestDir::new();
        let corpus = corpus(&scratch, "c", &crawl(61, 120, true));
        Self::of(scratch, corpus)
    }

    /// With texts that are sent in several parts.
    fn large() -> Self {
        let scratch = TestDir::new();
        let corpus = scratch.arg("c");
        init(&corpus, &["--mode", "none"]);
        let page = |n: usize| Page::keyed(n.to_string(), format!("{n:x} word ").repeat(30_000));
        let file = scratch.write("c.jsonl", lines(&(0..50).map(page).collect::<Vec<_>>()));
        ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id"]);
        Self::of(scratch, corpus)
    }

    fn of(scratch: TestDir, corpus: String) -> Self {
        let server = Server::start(State::default());
        server.state().files.insert("b/other".to_owned(), b"x".to_vec());
        Self { _scratch: scratch, corpus, server }
    }

    fn arguments<'a>(&'a self, to: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["export", &self.corpus, "--to", to], more].concat()
    }

    fn export(&self, more: &[&str]) -> Ran {
        self.export_to("s3://b/out/", &[&["--shard-bytes", "4kB"], more].concat())
    }

    fn export_to(&self, to: &str, more: &[&str]) -> Ran {
        let arguments = self.arguments(to, more);
        let mut command = command(&arguments);
        command.stdin(Stdio::null()).envs(self.server.store());
        ran(&arguments, command.output().unwrap())
    }

    /// Objects of the folder with their bytes, without its name.
    fn objects(&self) -> Vec<(String, Vec<u8>)> {
        let state = self.server.state();
        let found = state.files.iter();
        found
            .filter_map(|(name, bytes)| Some((name.strip_prefix(OUT)?.to_owned(), bytes.clone())))
            .collect()
    }

    fn names(&self) -> Vec<String> {
        self.objects().into_iter().map(|(name, _)| name).collect()
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        self.server.state().files.insert(format!("{OUT}{name}"), bytes.to_vec());
    }

    fn remove(&self, name: &str) -> Vec<u8> {
        self.server.state().files.remove(&format!("{OUT}{name}")).unwrap()
    }

    fn parts(&self) -> usize {
        self.names().iter().filter(|name| name.starts_with("part-")).count()
    }

    /// Kills an export once its folder has so many parts more.
    fn killed_with(&self, parts: usize, more: &[&str]) {
        let parts = self.parts() + parts;
        self.server.state().put_delay = Duration::from_millis(40);
        let more = [&["--shard-bytes", "4kB"], more].concat();
        let arguments = self.arguments("s3://b/out/", &more);
        let mut command = command(&arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.envs(self.server.store()).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            if self.parts() >= parts {
                break;
            }
            assert!(child.try_wait().unwrap().is_none() && Instant::now() < until);
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it had asked for is answered.
        std::thread::sleep(Duration::from_millis(200));
        self.server.state().put_delay = Duration::ZERO;
        assert!(!self.server.state().files.contains_key(MANIFEST));
    }
}

const JSONL: [&str; 2] = ["--format", "jsonl"];

/// Spark names its files `part-00000-...`: an export that was resumed took them for its own, and deleted them.
#[test]
fn objects_of_others_stay_when_an_export_is_resumed() {
    let exports = BucketExports::new();
    exports.export(&JSONL).good();
    let whole = exports.objects();
    exports.server.state().files.retain(|name, _| !name.starts_with(OUT));
    exports.killed_with(3, &JSONL);
    for theirs in ["part-00000-c000.snappy.parquet", "part-99999.jsonl", "sub/part-00000.jsonl"] {
        exports.put(theirs, b"precious");
        for force in [&[][..], &["--force"]] {
            exports.export(&[&JSONL[..], force].concat()).fails(&[theirs, "exists"]);
        }
        assert_eq!(exports.remove(theirs), b"precious");
    }
    exports.export(&JSONL).good();
    assert!(exports.objects() == whole);
}

#[test]
fn overwriting_deletes_what_the_manifest_lists_as_it_lists_it() {
    let exports = BucketExports::new();
    exports.export(&JSONL).good();
    let whole = exports.objects();
    exports.export(&JSONL).fails(&["exists", "--force"]);
    // Somebody's own object under a name of the manifest.
    let part = exports.remove("part-00001.jsonl");
    exports.put("part-00001.jsonl", b"precious");
    exports.export(&["--format", "csv", "--force"]).fails(&["part-00001.jsonl", "exists"]);
    exports.put("part-00001.jsonl", &part);
    // A manifest that lists what is not in its folder, and one that nobody's export wrote.
    let put = |name: &str, bytes: &[u8]| {
        exports.server.state().files.insert(name.to_owned(), bytes.to_vec());
    };
    let manifest = exports.server.state().files[MANIFEST].clone();
    let mut listing: Value = serde_json::from_slice(&manifest).unwrap();
    listing["files"][0]["name"] = "../other".into();
    listing["files"][0]["bytes"] = 1.into();
    put(MANIFEST, listing.to_string().as_bytes());
    exports.export(&["--format", "csv", "--force"]).fails(&["part-00000.jsonl", "exists"]);
    put(MANIFEST, b"{}");
    exports.export(&["--format", "csv", "--force"]).fails(&[".out.manifest.json", "exists"]);
    put(MANIFEST, &manifest);
    assert!(exports.objects() == whole);
    assert_eq!(exports.server.state().files["b/other"], b"x");
    let csv = ["--format", "csv", "--force", "--shard-bytes", "1MB"];
    exports.export_to("s3://b/out/", &csv).good();
    assert_eq!(exports.names(), ["part-00000.csv"]);
    // Earlier releases wrote it among the files.
    let manifest = exports.server.state().files.remove(MANIFEST).unwrap();
    exports.put(".manifest.json", &manifest);
    exports.export(&JSONL).fails(&["exists", "--force"]);
    exports.export(&[&JSONL[..], &["--force"]].concat()).good();
    assert!(exports.objects() == whole);
    assert!(exports.server.state().files.contains_key(MANIFEST));
    // A bucket has nothing beside it.
    exports.export_to("s3://b", &JSONL).fails(&["--to s3://b does not end in a name"]);
}

/// What appears while an export runs is written over by none of its files.
#[test]
fn an_object_that_appears_meanwhile_is_left_as_it_is() {
    let exports = BucketExports::new();
    let rival = |name: &str| Some((format!("{OUT}{name}"), b"precious".to_vec()));
    exports.server.state().rival = rival("part-00000.jsonl");
    exports.export(&JSONL).fails(&["s3://b/out/part-00000.jsonl", "appeared"]);
    exports.export(&JSONL).fails(&["part-00000.jsonl", "appeared"]);
    assert_eq!(exports.remove("part-00000.jsonl"), b"precious");
    // One that is seen at the end only.
    exports.killed_with(4, &JSONL);
    exports.server.state().rival = rival("theirs.txt");
    exports.export(&JSONL).fails(&["theirs.txt", "appeared"]);
    assert_eq!(exports.remove("theirs.txt"), b"precious");
    let before = exports.server.state().requests.len();
    exports.export(&JSONL).good();
    let asked = exports.server.state().requests.split_off(before);
    assert!(!asked.iter().any(|asked| asked.starts_with("PUT b/out/part-")), "{asked:?}");
    assert!(!exports.names().iter().any(|name| name.starts_with(".export-")));
}

#[test]
fn a_killed_export_goes_on_with_its_own_objects_alone() {
    for force in [&[][..], &["--force"]] {
        let exports = BucketExports::new();
        exports.export(&JSONL).good();
        let whole = exports.objects();
        if force.is_empty() {
            exports.server.state().files.retain(|name, _| !name.starts_with(OUT));
            // The manifest of what is gone is replaced.
        } else {
            // Another one, with more files.
            let csv = ["--format", "csv", "--shard-bytes", "4kB", "--force"];
            exports.export_to("s3://b/out/", &csv).good();
        }
        let more = [&JSONL[..], force].concat();
        exports.killed_with(3, &more);
        // The file whose line the record lacks is taken for its own by its bytes.
        let (name, text) =
            exports.objects().into_iter().find(|(name, _)| name.starts_with(".export-")).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let last = lines.iter().rposition(|line| line.contains("finished")).unwrap();
        let kept: Vec<&str> =
            lines.iter().enumerate().filter(|(at, _)| *at != last).map(|(_, line)| *line).collect();
        exports.put(&name, (kept.join("\n") + "\n").as_bytes());
        exports.export(&more).good();
        assert!(exports.objects() == whole, "{:?}", exports.names());
    }
}

#[test]
fn a_single_object_replaces_what_stood_there_and_nothing_else() {
    // Of one request, and of several parts.
    for exports in [BucketExports::new(), BucketExports::large()] {
        let to = |more: &[&str]| {
            exports.export_to("s3://b/a.jsonl", &[&["--memory", "256MiB"], more].concat())
        };
        let put = |name: &str, bytes: &[u8]| {
            exports.server.state().files.insert(format!("b/{name}"), bytes.to_vec());
        };
        let found = |name: &str| exports.server.state().files.get(&format!("b/{name}")).cloned();
        put("a.jsonl", b"precious");
        to(&[]).fails(&["a.jsonl", "exists"]);
        assert_eq!(found("a.jsonl").unwrap(), b"precious");
        to(&["--force"]).good();
        assert!(found("a.jsonl").unwrap().starts_with(b"{\"key\""));
        assert!(found(".a.jsonl.manifest.json").unwrap().starts_with(b"{"));
        put(".a.jsonl.manifest.json", b"mine");
        to(&["--force"]).fails(&[".a.jsonl.manifest.json", "exists"]);
        assert_eq!(found(".a.jsonl.manifest.json").unwrap(), b"mine");
        exports.server.state().files.retain(|name, _| name == "b/other");
        // What appears before the last request.
        exports.server.state().appearing = Some(("b/a.jsonl".to_owned(), b"theirs".to_vec()));
        to(&[]).fails(&["s3://b/a.jsonl", "appeared"]);
        assert_eq!(found("a.jsonl").unwrap(), b"theirs");
        assert!(found(".a.jsonl.manifest.json").is_none());
        assert!(exports.server.state().uploads.is_empty());
    }
}
