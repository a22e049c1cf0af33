//! What an export replaces: nothing unless it is asked to, then what stood there at the start, and no file of others.

use crate::support::exports::{corpus, export, files, names};
use crate::support::{AtEndOf, Ran, TestDir, corpusdb, crawl, reader};
use corpusdb::export::{AnswerOptions, ExportJob, ExportOptions, FormatName, write_answer};
use corpusdb::{Context, Corpus, Error, ErrorKind, Progress};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;

/// A small corpus, exported from the library and by the command.
struct Exports {
    scratch: TestDir,
    corpus: Corpus,
    rows: u64,
}

impl Exports {
    fn new() -> Self {
        let scratch = TestDir::new();
        corpus(&scratch, "c", &crawl(51, 60, true));
        let corpus = reader(&scratch.path("c"));
        let rows = corpus.count("kept").unwrap();
        Self { scratch, corpus, rows }
    }

    /// Exports to a name: to a directory of small files where it has no ending.
    fn run(&self, to: &str, force: bool, progress: &dyn Progress) -> Result<u64, Error> {
        let path = self.scratch.path(to);
        let is_directory = !to.contains('.');
        let options = ExportOptions {
            format: FormatName::from_name("jsonl"),
            shard_bytes: is_directory.then_some(4000),
            ..ExportOptions::default()
        };
        let job = ExportJob { force, ..ExportJob::new(&path) };
        let context = Context::new().with_progress(progress).with_threads(1);
        self.corpus.export(&options, &job, &context).map(|manifest| manifest.rows)
    }

    fn command(&self, to: &str, more: &[&str]) -> Ran {
        let (corpus, to) = (self.scratch.arg("c"), self.scratch.arg(to));
        corpusdb(&[&["export", &corpus, "--to", &to], more].concat())
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.scratch.path(name)).unwrap()
    }

    /// Names beside the corpus that begin so.
    fn beside(&self, beginning: &str) -> Vec<String> {
        let found = names(&self.scratch.path("")).into_iter();
        found.filter(|name| name.starts_with(beginning)).collect()
    }

    fn inode(&self, name: &str) -> u64 {
        fs::metadata(self.scratch.path(name)).unwrap().ino()
    }
}

/// An export that began when its name was free replaced what had appeared by its end.
#[test]
fn a_file_that_appeared_meanwhile_stays_and_the_export_waits() {
    let exports = Exports::new();
    for (to, theirs) in [("a.jsonl", "a.jsonl"), ("out", "out/theirs.txt"), ("b", "b")] {
        let rival = AtEndOf::new("files", || drop(exports.scratch.write(theirs, "precious")));
        let refused = exports.run(to, false, &rival).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists, "{refused}");
        let told = refused.to_string();
        assert!(rival.is_done() && told.contains("appeared") && told.contains(".tmp-"), "{told}");
        assert_eq!(exports.read(theirs), "precious");
        // Its manifest has not appeared either.
        assert_eq!(exports.beside(&format!(".{to}")), Vec::<String>::new());
        let data = exports.scratch.path(&exports.beside(&format!("{to}.tmp-"))[0]).join("data");
        let made = fs::metadata(data.join(&names(&data)[0])).unwrap();
        match theirs.contains('/') {
            true => fs::remove_dir_all(exports.scratch.path(to)).unwrap(),
            false => fs::remove_file(exports.scratch.path(to)).unwrap(),
        }
        assert_eq!(exports.run(to, false, &corpusdb::NoProgress).unwrap(), exports.rows);
        assert!(exports.scratch.path(&format!(".{to}.manifest.json")).exists());
        if to.contains('.') {
            assert_eq!(exports.inode(to), made.ino());
        }
        assert!(exports.beside(&format!("{to}.tmp-")).is_empty());
    }
}

/// `--force` deleted whatever stood in a directory that had a manifest.
#[test]
fn overwriting_takes_only_what_the_manifest_lists() {
    let exports = Exports::new();
    exports.run("out", false, &corpusdb::NoProgress).unwrap();
    let whole = files(&exports.scratch.path("out"));
    for (name, text) in [("out/thesis.txt", "mine"), ("out/sub/part-00000.jsonl", "mine")] {
        exports.scratch.write(name, text);
        exports.command("out", &["--format", "csv", "--force"]).fails(&[name, "exists"]);
        assert_eq!(exports.read(name), "mine");
        fs::remove_file(exports.scratch.path(name)).unwrap();
    }
    // A file that was changed since is somebody's.
    let first = exports.read("out/part-00000.jsonl");
    exports.scratch.write("out/part-00000.jsonl", format!("{first}mine\n"));
    exports.command("out", &["--format", "csv", "--force"]).fails(&["part-00000.jsonl exists"]);
    exports.scratch.write("out/part-00000.jsonl", &first);
    // A link in it is no file of the export.
    symlink("/dev/null", exports.scratch.path("out/part-00099.jsonl")).unwrap();
    exports.command("out", &["--format", "csv", "--force"]).fails(&["part-00099.jsonl exists"]);
    fs::remove_file(exports.scratch.path("out/part-00099.jsonl")).unwrap();
    assert!(files(&exports.scratch.path("out")) == whole);
    // A file that is missing is missed by nobody.
    fs::remove_file(exports.scratch.path("out/part-00001.jsonl")).unwrap();
    exports.command("out", &["--format", "csv", "--force"]).good();
    assert_eq!(names(&exports.scratch.path("out")), ["part-00000.csv"]);
}

/// An earlier release wrote the manifest of a directory into it.
#[test]
fn a_directory_of_an_earlier_release_is_replaced() {
    let exports = Exports::new();
    let out = exports.scratch.path("out");
    exports.run("out", false, &corpusdb::NoProgress).unwrap();
    let beside = exports.scratch.path(".out.manifest.json");
    fs::rename(&beside, out.join(".manifest.json")).unwrap();
    exports.command("out", &["--format", "csv"]).fails(&["out exists", "--force"]);
    exports.scratch.write("out/thesis.txt", "mine");
    exports.command("out", &["--format", "csv", "--force"]).fails(&["thesis.txt exists"]);
    fs::remove_file(out.join("thesis.txt")).unwrap();
    exports.command("out", &["--format", "csv", "--force"]).good();
    assert_eq!(names(&out), ["part-00000.csv"]);
    assert!(fs::read_to_string(&beside).unwrap().contains("\"csv\""));
}

#[test]
fn a_file_that_changed_meanwhile_is_not_overwritten() {
    let exports = Exports::new();
    exports.run("out", false, &corpusdb::NoProgress).unwrap();
    exports.run("a.jsonl", false, &corpusdb::NoProgress).unwrap();
    let beside = exports.read(".a.jsonl.manifest.json");
    let before = files(&exports.scratch.path("out"));
    for (to, theirs) in [("out", "out/theirs.txt"), ("a.jsonl", "a.jsonl")] {
        let rival = AtEndOf::new("files", || {
            let path = exports.scratch.path(theirs);
            let _ = fs::remove_file(&path);
            exports.scratch.write(theirs, "precious");
        });
        let told = exports.run(to, true, &rival).unwrap_err().to_string();
        assert!(rival.is_done() && told.contains(&format!("{theirs} appeared")), "{told}");
        assert_eq!(exports.read(theirs), "precious");
    }
    assert_eq!(exports.read(".a.jsonl.manifest.json"), beside);
    fs::remove_file(exports.scratch.path("out/theirs.txt")).unwrap();
    assert!(files(&exports.scratch.path("out")) == before);
    let old = exports.inode("out/part-00000.jsonl");
    for to in ["out", "a.jsonl"] {
        exports.run(to, true, &corpusdb::NoProgress).unwrap();
    }
    assert_ne!(exports.inode("out/part-00000.jsonl"), old);
    assert!(files(&exports.scratch.path("out")) == before);
    assert!(exports.read("a.jsonl").lines().count() as u64 == exports.rows);
    assert!([exports.beside("out.tmp-"), exports.beside("a.jsonl.tmp-")].concat().is_empty());
}

#[test]
fn an_export_killed_before_it_got_its_name_ends_at_once() {
    let exports = Exports::new();
    exports.run("b.jsonl", false, &corpusdb::NoProgress).unwrap();
    for (to, force) in [("out", false), ("a.jsonl", false), ("b.jsonl", true)] {
        let kill = AtEndOf::new("files", || panic!("killed"));
        catch_unwind(AssertUnwindSafe(|| exports.run(to, force, &kill))).unwrap_err();
        assert_eq!(exports.scratch.path(to).exists(), force);
        let data = exports.scratch.path(&exports.beside(&format!("{to}.tmp-"))[0]).join("data");
        let first = if to == "out" { "part-00000.jsonl" } else { to };
        let made = fs::metadata(data.join(first)).unwrap().ino();
        assert_eq!(exports.run(to, force, &corpusdb::NoProgress).unwrap(), exports.rows);
        let first = if to == "out" { "out/part-00000.jsonl" } else { to };
        assert_eq!(exports.inode(first), made);
        assert!(exports.beside(&format!("{to}.tmp-")).is_empty());
    }
}

/// The whole statement ran before the directory was noticed.
#[test]
fn the_wrong_kind_of_output_is_refused_before_any_work() {
    let exports = Exports::new();
    fs::create_dir(exports.scratch.path("empty")).unwrap();
    exports.scratch.write("filled/x", "mine");
    let corpus = exports.scratch.arg("c");
    // It fails at its end.
    let statement = "SELECT 1 / (count(*) - count(*)) FROM documents";
    for name in ["empty", "filled"] {
        let to = exports.scratch.arg(name);
        for more in [&[][..], &["--force"]] {
            let asked = [&["sql", &corpus, statement, "-o", &to, "--format", "csv"], more].concat();
            corpusdb(&asked).fails(&[name, "nor a directory a file"]);
        }
    }
    exports.scratch.write("file", "mine");
    exports
        .command("file", &["--format", "csv", "--shard-bytes", "4kB", "--force"])
        .fails(&["nor a directory a file"]);
    assert_eq!((exports.read("file"), exports.read("filled/x")), ("mine".into(), "mine".into()));
    assert!(names(&exports.scratch.path("empty")).is_empty());
}

#[test]
fn pipes_and_devices_are_refused_and_links_followed() {
    let exports = Exports::new();
    let pipe = exports.scratch.path("pipe.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for more in [&[][..], &["--force"]] {
        exports.command("pipe.jsonl", more).fails(&["pipe.jsonl", "a pipe, a device or a socket"]);
        for device in ["/dev/null", "/dev/stdout", "/dev/fd/1"] {
            let corpus = exports.scratch.arg("c");
            let asked = ["export", &corpus, "--to", device, "--format", "jsonl"];
            corpusdb(&[&asked[..], more].concat()).fails(&[device, "a pipe, a device or a socket"]);
        }
    }
    fs::create_dir(exports.scratch.path("other")).unwrap();
    for (link, to) in [("a.jsonl", "other/a.jsonl"), ("out", "other/out")] {
        symlink(to, exports.scratch.path(link)).unwrap();
        if link == "out" {
            fs::create_dir(exports.scratch.path(to)).unwrap();
        }
        for force in [false, true] {
            exports.run(link, force, &corpusdb::NoProgress).unwrap();
            assert!(exports.scratch.path(link).is_symlink());
        }
        exports.run(link, false, &corpusdb::NoProgress).unwrap_err();
    }
    let found = names(&exports.scratch.path("other"));
    assert_eq!(found, [".a.jsonl.manifest.json", ".out.manifest.json", "a.jsonl", "out"]);
    // `out/` is the directory, too.
    let to = format!("{}/", exports.scratch.arg("out"));
    let corpus = exports.scratch.arg("c");
    let asked = ["export", &corpus, "--to", &to, "--format", "csv", "--force"];
    corpusdb(&asked).good();
    assert_eq!(names(&exports.scratch.path("other/out")), ["part-00000.csv"]);
}

/// The names of what is under way were longer than names may be.
#[test]
fn names_of_any_length_that_a_disk_takes_can_be_written() {
    let exports = Exports::new();
    fs::create_dir(exports.scratch.path("long")).unwrap();
    let letters = ["x".repeat(200), "x".repeat(240), "x".repeat(249), "д".repeat(124)];
    for letters in &letters {
        let name = format!("{letters}.jsonl");
        exports.run(&format!("long/{name}"), false, &corpusdb::NoProgress).unwrap();
        exports.run(&format!("long/{name}"), true, &corpusdb::NoProgress).unwrap();
        assert_eq!(exports.read(&format!("long/{name}")).lines().count() as u64, exports.rows);
    }
    // Each has its own manifest.
    assert_eq!(names(&exports.scratch.path("long")).len(), 2 * letters.len());
    let (corpus, to) = (exports.scratch.arg("c"), format!("long/{}.csv", "y".repeat(251)));
    corpusdb(&["sql", &corpus, "SELECT 1 AS a", "-o", &exports.scratch.arg(&to)]).good();
    assert_eq!(exports.read(&to), "a\n1\n");
    let directory = "z".repeat(255);
    exports.command(&directory, &["--format", "csv"]).good();
    assert!(exports.scratch.path(&directory).is_dir());
    let beyond = format!("{}.jsonl", "x".repeat(250));
    exports.command(&beyond, &[]).fails(&["too long"]);
}

/// A file was replaced whose manifest was not, and the other way round.
#[test]
fn a_file_is_never_beside_the_manifest_of_another() {
    let exports = Exports::new();
    exports.run("a.jsonl", false, &corpusdb::NoProgress).unwrap();
    let corpus = exports.scratch.path("c");
    let rows = reader(&corpus).sql("SELECT 1 AS a").unwrap();
    let to = exports.scratch.path("a.jsonl");
    let job = ExportJob { force: true, ..ExportJob::new(&to) };
    write_answer(rows, AnswerOptions::default(), &job, &Context::new()).unwrap();
    assert_eq!(exports.read("a.jsonl"), "{\"a\":1}\n");
    assert_eq!(exports.beside(".a.jsonl"), Vec::<String>::new());
    // What nobody's export left there is not replaced.
    exports.scratch.write(".b.jsonl.manifest.json", "mine");
    exports.command("b.jsonl", &[]).fails(&[".b.jsonl.manifest.json exists"]);
    let rival =
        AtEndOf::new("files", || drop(exports.scratch.write(".d.jsonl.manifest.json", "mine")));
    let told = exports.run("d.jsonl", false, &rival).unwrap_err().to_string();
    assert!(told.contains(".d.jsonl.manifest.json appeared"), "{told}");
    assert!(!Path::new(&exports.scratch.path("d.jsonl")).exists());
    assert_eq!(exports.read(".d.jsonl.manifest.json"), "mine");
    let report = export(&exports.scratch.arg("c"), &exports.scratch.arg("e.jsonl"), &[]);
    assert_eq!(report["rows"], exports.rows);
}
