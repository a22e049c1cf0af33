//! Opening a corpus as a program does: options with defaults, and reading what its own writer has committed.

use crate::support::{
    Page, Random, TestDir, copy, corpusdb, crawl, digest, ingest, init, lines, prose, sound,
};
use corpusdb::store::StoreError;
use corpusdb::tokenizer::TokenizerError;
use corpusdb::{Context, Corpus, CorpusWriter, DedupMode, ErrorKind, IngestOptions, Policy};
use std::path::{Path, PathBuf};

fn pour(writer: &mut CorpusWriter, scratch: &TestDir, name: &str) {
    let line = format!("{{\"text\":\"{name} one two three four five six\"}}\n");
    let paths = [scratch.write(&format!("{name}.jsonl"), line)];
    let options = IngestOptions::new("web");
    writer.ingest(&paths, &options, &Context::new()).unwrap();
}

#[test]
fn a_writer_reads_its_commits_without_reopening() {
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
    let mut writer = Corpus::options().memory(64 << 20).threads(1).open_writer(&path).unwrap();
    pour(&mut writer, &scratch, "a");
    let first = writer.corpus();
    pour(&mut writer, &scratch, "b");
    assert_eq!((first.count(None).unwrap(), writer.corpus().count(None).unwrap()), (1, 2));
    assert_eq!(first.check(corpusdb::store::CheckDepth::Deep, &Context::new()).unwrap(), []);
    drop(writer);
    assert_eq!(first.count(None).unwrap(), 1);
    let opened = Corpus::open(path.to_str().unwrap()).unwrap();
    assert_eq!(opened.count(None).unwrap(), 2);
}

#[test]
fn an_error_is_of_the_kind_of_its_call() {
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    let error = Corpus::open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(matches!(error.origin(), Some(StoreError::NotACorpus { .. })));
    Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
    let writer = CorpusWriter::open(&path).unwrap();
    let locked = CorpusWriter::open(&path).unwrap_err();
    assert_eq!((locked.kind(), locked.kind().exit_status()), (ErrorKind::Locked, 2));
    let holder = locked.details().and_then(|details| details.holder.clone()).unwrap();
    assert!(locked.to_string().contains(&holder), "{locked}");
    let corpus = writer.corpus();
    let unknown = corpus.encode(Some("bpe"), "a text", false);
    let unknown = unknown.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
    assert!(matches!(unknown.origin(), Some(TokenizerError::Unknown(_))));
    drop(writer);
    // What shows a moment of the writer holds the corpus as the writer did.
    assert_eq!(CorpusWriter::open(&path).unwrap_err().kind(), ErrorKind::Locked);
    drop(corpus);
    CorpusWriter::open(&path).unwrap();
}

/// An open corpus of no document took 12 MiB: RocksDB allocates logs and manifests ahead of what is written.
#[cfg(target_os = "linux")]
#[test]
fn an_open_corpus_allocates_no_space_ahead() {
    use std::os::unix::fs::MetadataExt;
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
    let mut writer = CorpusWriter::open(&path).unwrap();
    pour(&mut writer, &scratch, "a");
    let blocks = std::fs::read_dir(path.join("db")).unwrap().map(|entry| {
        let about = entry.unwrap().metadata().unwrap();
        about.blocks() * 512
    });
    let allocated: u64 = blocks.sum();
    assert!(allocated < 2 << 20, "{allocated} bytes");
}

/// The files of the database with that ending, in order.
fn files(corpus: &str, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(Path::new(corpus).join("db")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|found| found == end)).collect();
    found.sort();
    found
}

/// Each commit of one document made some 16 tables, and so did the next opening.
#[test]
fn small_commits_stay_in_the_log_until_a_table_is_full() {
    const HOW: [&str; 4] = ["--source", "web", "--id-field", "id"];
    let scratch = TestDir::new();
    let (corpus, twin) = (scratch.arg("corpus"), scratch.arg("twin"));
    let many = scratch.write("many.jsonl", lines(&crawl(31, 2000, true)));
    for corpus in [&corpus, &twin] {
        init(corpus, &[]);
        ingest(corpus, &[&many], &HOW);
        corpusdb(&["compact", corpus]).good();
    }
    let mut random = Random::new(3);
    let (mut quiet, mut most, mut flushes, mut all) = (0, 0, 0, String::new());
    for number in 0..40 {
        let page = Page::keyed(format!("one-{number}"), prose(&mut random, number, 30));
        let file = scratch.write(&format!("{number}.jsonl"), lines(std::slice::from_ref(&page)));
        all += &lines(&[page]);
        let before = files(&corpus, "sst");
        assert_eq!(ingest(&corpus, &[&file], &HOW)["added"], 1);
        let (after, logs) = (files(&corpus, "sst"), files(&corpus, "log").len());
        if before == after {
            quiet += 1
        } else {
            flushes += 1
        }
        most = most.max(logs);
        corpusdb(&["show", &corpus, &format!("one-{number}")]).good();
        if number == 5 {
            sound(&corpus);
            lost_logs_are_named(&scratch, &corpus);
        }
    }
    assert!(quiet > 30 && flushes > 0 && (2..=17).contains(&most), "{quiet} {flushes} {most}");
    sound(&corpus);
    // As in one commit for all of them, and as in tables.
    ingest(&twin, &[&scratch.write("all.jsonl", all)], &HOW);
    let query = "SELECT key, text, standing FROM documents ORDER BY id";
    let documents =
        |corpus: &str| corpusdb(&["sql", corpus, query, "--format", "jsonl"]).good().stdout;
    assert_eq!(documents(&corpus), documents(&twin));
    let before = digest(&corpus);
    corpusdb(&["compact", &corpus]).good();
    assert!(files(&corpus, "log").len() <= 1);
    let page = Page::keyed("last", "as many words as it takes to be a document");
    let file = scratch.write("last.jsonl", lines(&[page]));
    assert_eq!(ingest(&corpus, &[&file], &HOW)["added"], 1);
    assert_ne!(digest(&corpus), before);
}

/// Any log that is not in tables yet: cut or gone, it is missed.
#[track_caller]
fn lost_logs_are_named(scratch: &TestDir, corpus: &str) {
    let logs = files(corpus, "log");
    assert!(logs.len() > 3, "{logs:?}");
    for (at, log) in logs.iter().enumerate() {
        let bytes = std::fs::read(log).unwrap();
        // The newest is empty where nothing was committed since it was made.
        if bytes.is_empty() {
            continue;
        }
        for cut in [Some(bytes.len() - 3), Some(bytes.len() / 2), None] {
            let copied = scratch.path(&format!("lost-{at}"));
            copy(Path::new(corpus), &copied);
            let log = copied.join("db").join(log.file_name().unwrap());
            match cut {
                Some(length) => std::fs::write(&log, &bytes[..length]).unwrap(),
                None => std::fs::remove_file(&log).unwrap(),
            }
            let copied = copied.display().to_string();
            for verb in ["count", "compact"] {
                corpusdb(&[verb, &copied])
                    .fails(&["lost acknowledged commits", "restore a backup"]);
            }
            // A backup that holds all logs is not to be had of it either.
            corpusdb(&["backup", "create", &copied, &scratch.arg("none")]).fails(&["lost"]);
            std::fs::remove_dir_all(&copied).unwrap();
        }
    }
    // A corpus that was restored misses its logs as the first one does.
    let (directory, restored) = (scratch.arg("backups"), scratch.arg("restored"));
    corpusdb(&["backup", "create", corpus, &directory]).good();
    corpusdb(&["backup", "restore", &directory, &restored]).good();
    assert_eq!(digest(&restored), digest(corpus));
    let logs = files(&restored, "log");
    std::fs::remove_file(&logs[1]).unwrap();
    corpusdb(&["count", &restored]).fails(&["lost acknowledged commits"]);
}

#[test]
fn a_writer_makes_a_copy_to_try_on_and_keeps_its_lock() {
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
    let mut writer = CorpusWriter::open(&path).unwrap();
    for name in ["a", "b", "c"] {
        pour(&mut writer, &scratch, name);
        // What reads an earlier moment is in nobody's way.
        let shown = writer.corpus();
        let copy = writer.dry_run_copy().unwrap();
        let locked = CorpusWriter::open(&path).err().unwrap();
        assert_eq!(locked.kind(), ErrorKind::Locked);
        let mut tried = CorpusWriter::open(copy.path()).unwrap();
        let digest = tried.corpus().digest(&Context::new()).unwrap();
        assert_eq!(digest, shown.digest(&Context::new()).unwrap());
        pour(&mut tried, &scratch, "tried");
        assert_eq!(tried.view().documents(), shown.view().documents() + 1);
        let deep = corpusdb::store::CheckDepth::Deep;
        assert_eq!(tried.corpus().check(deep, &Context::new()).unwrap(), []);
        // While the copy is written, so is the corpus.
        pour(&mut writer, &scratch, &format!("{name}{name}"));
        drop(tried);
        let place = copy.path().to_path_buf();
        drop(copy);
        assert!(!place.exists());
    }
    assert_eq!(writer.view().documents(), 6);
    drop(writer);
    sound(path.to_str().unwrap());
}

#[test]
fn a_writer_opens_its_corpus_again_under_its_lock() {
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
    let mut writer = CorpusWriter::open(&path).unwrap();
    let manifest = || std::fs::read_to_string(path.join("db").join("CURRENT")).unwrap();
    for name in ["a", "b", "c"] {
        pour(&mut writer, &scratch, name);
        let before = manifest();
        writer = writer.reopen().unwrap();
        assert_ne!(manifest(), before, "the list of files is a new one");
        let locked = CorpusWriter::open(&path).err().unwrap();
        assert_eq!(locked.kind(), ErrorKind::Locked);
    }
    assert_eq!(writer.view().documents(), 3);
    drop(writer);
    sound(path.to_str().unwrap());
}
