//! Limits of the process and of the corpus directory: trials that leave nothing, low limits that are raised or named.

use crate::support::{
    Page, Ran, TestDir, copy, corpusdb, crawl, digest, ingest, init, lines, ran, repository, sound,
    writer,
};
use corpusdb::store::DryRunCorpus;
use std::path::Path;
use std::process::Command;

/// The command under a limit that the shell sets.
fn limited(limit: &str, arguments: &[&str]) -> Ran {
    let script = format!("ulimit {limit}; exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_corpusdb")]).args(arguments);
    ran(arguments, command.output().unwrap())
}

fn tables(corpus: &str) -> usize {
    let entries = std::fs::read_dir(Path::new(corpus).join("db")).unwrap();
    entries
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|e| e == "sst"))
        .count()
}

#[test]
fn many_tables_raise_the_soft_limit_of_open_files() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "url:keyword", "--field", "year:int"]);
    for part in 0..3 {
        let file = scratch.write(&format!("{part}.jsonl"), lines(&crawl(part, 20, false)));
        ingest(&corpus, &[&file], &["--source", "web"]);
    }
    let tables = tables(&corpus);
    assert!(tables > 40, "{tables} tables");
    let limit = tables / 2;
    limited(&format!("-Sn {limit}"), &["count", &corpus]).good();
    limited(&format!("-n {limit}"), &["count", &corpus]).fails(&["open files", "ulimit -n"]);
    let file = scratch.write("more.jsonl", lines(&crawl(9, 20, false)));
    let more = ["ingest", &corpus, &file, "--source", "web"];
    limited(&format!("-n {limit}"), &more).fails(&["open files", "ulimit -n"]);
    sound(&corpus);
}

#[test]
fn an_ingest_resumes_after_a_file_size_limit() {
    let scratch = TestDir::new();
    let (corpus, whole) = (scratch.arg("corpus"), scratch.arg("whole"));
    let file = scratch.write("a.jsonl", lines(&crawl(5, 900, true)));
    let arguments = |corpus: &str| {
        ["ingest", corpus, &file, "--source", "web", "--id-field", "id", "--batch-bytes", "64kB"]
            .map(str::to_owned)
    };
    for corpus in [&corpus, &whole] {
        init(corpus, &[]);
    }
    corpusdb(&arguments(&whole)).good();
    let words = arguments(&corpus);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // In blocks of 512 or of 1,024 bytes, as shells differ.
    limited("-f 200", &words).fails(&["too large", "ulimit -f"]);
    sound(&corpus);
    corpusdb(&words).good();
    assert_eq!(digest(&corpus), digest(&whole));
}

/// What is in the corpus directory.
fn names(corpus: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(corpus).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_trial_on_a_corpus_of_an_older_format_does_not_migrate_it() {
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    copy(&repository("tests/formats/v3/corpus"), &path);
    let format = std::fs::read(path.join("FORMAT")).unwrap();
    let before = names(&path);
    let file = scratch.write("a.jsonl", lines(&[Page::keyed("new", "a page that is new to it")]));
    let corpus = scratch.arg("corpus");
    let words =
        ["ingest", &corpus, &file, "--source", "web", "--id-field", "id", "--dry-run", "--json"];
    assert_eq!(corpusdb(&words).good().json()["added"], 1);
    assert_eq!(std::fs::read(path.join("FORMAT")).unwrap(), format);
    let after = names(&path).into_iter().filter(|name| name != "writer.lock");
    assert_eq!(
        after.collect::<Vec<_>>(),
        before.into_iter().filter(|n| n != "writer.lock").collect::<Vec<_>>()
    );
    let golden = std::fs::read_to_string(repository("tests/formats/v3/digest")).unwrap();
    drop(writer(&path));
    assert_eq!(digest(&corpus), golden.trim());
}

#[test]
fn the_next_writer_removes_the_twin_of_a_killed_process() {
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    init(&scratch.arg("corpus"), &[]);
    let stale = [
        format!("dry-run-{}-0", std::process::id()),
        "dry-run-999999-0".to_owned(),
        "opening-999999-3".to_owned(),
    ];
    let leave = || {
        for name in &stale {
            std::fs::create_dir_all(path.join(name).join("db")).unwrap();
            std::fs::write(path.join(name).join("alive"), "").unwrap();
        }
        // As earlier releases made them.
        std::fs::create_dir_all(path.join("dry-run-77-0/db")).unwrap();
    };
    let litter = || {
        names(&path)
            .into_iter()
            .filter(|n| n.starts_with("dry-run") || n.starts_with("opening"))
            .count()
    };
    leave();
    drop(writer(&path));
    assert_eq!(litter(), 0);
    leave();
    let trial = DryRunCorpus::make(&path).unwrap();
    assert_eq!(litter(), 1, "its own");
    // A writer beside it leaves it alone; it goes with its owner.
    drop(writer(&path));
    assert!(trial.path().join("FORMAT").exists());
    drop(trial);
    assert_eq!(litter(), 0);
    // The user's own directories are nobody's litter.
    std::fs::create_dir(path.join("dry-runs")).unwrap();
    drop(writer(&path));
    assert!(path.join("dry-runs").exists());
}
