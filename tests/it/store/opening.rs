//! Opening: options with defaults, and one writer beside many readers.

use crate::support::{
    Page, Random, TestDir, WEB_BY_ID, copy, corpusdb, corpusdb_test, crawl, digest, ingest, init,
    keyed_options, lines, make, paths_below, pour, prose, reader, repository, sound, sound_digest,
    writer,
};
use corpusdb::store::{CheckDepth, StoreError};
use corpusdb::tokenizer::{Segmentation, TokenizerError};
use corpusdb::{Context, Corpus, CorpusWriter, DedupMode, ErrorKind, IngestOptions, Policy};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

// ----
// Opening a corpus as a program does: options with defaults, and reading what its own writer has committed.

fn pour_one(writer: &mut CorpusWriter, scratch: &TestDir, name: &str) {
    let line = format!("{{\"text\":\"{name} one two three four five six\"}}\n");
    let paths = [scratch.write(&format!("{name}.jsonl"), line)];
    let options = IngestOptions::new("web");
    writer.ingest(&paths, &options, &Context::new()).unwrap();
}

corpusdb_test!(a_writer_reads_its_commits_without_reopening, |scratch| {
    let path = scratch.path("corpus");
    Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
    let mut writer = Corpus::options().memory(64 << 20).threads(1).open_writer(&path).unwrap();
    pour_one(&mut writer, &scratch, "a");
    let first = writer.corpus();
    pour_one(&mut writer, &scratch, "b");
    assert_eq!((first.count(None).unwrap(), writer.corpus().count(None).unwrap()), (1, 2));
    assert_eq!(first.check(corpusdb::store::CheckDepth::Deep, &Context::new()).unwrap(), []);
    drop(writer);
    assert_eq!(first.count(None).unwrap(), 1);
    let opened = Corpus::open(path.to_str().unwrap()).unwrap();
    assert_eq!(opened.count(None).unwrap(), 2);
});

corpusdb_test!(an_error_is_of_the_kind_of_its_call, |scratch| {
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
    let unknown = corpus.encode(Some("bpe"), "a text", false, Segmentation::Best);
    let unknown = unknown.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
    assert!(matches!(unknown.origin(), Some(TokenizerError::Unknown(_))));
    drop(writer);
    // What shows a moment of the writer holds the corpus as the writer did.
    assert_eq!(CorpusWriter::open(&path).unwrap_err().kind(), ErrorKind::Locked);
    drop(corpus);
    CorpusWriter::open(&path).unwrap();
});

/// An open corpus of no document took 12 MiB: RocksDB allocates logs and manifests ahead of what is written.
#[cfg(target_os = "linux")]
#[test]
fn an_open_corpus_allocates_no_space_ahead() {
    use std::os::unix::fs::MetadataExt;
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
    let mut writer = CorpusWriter::open(&path).unwrap();
    pour_one(&mut writer, &scratch, "a");
    // A file that RocksDB removes meanwhile, behind the listing's back, takes no space.
    let blocks =
        std::fs::read_dir(path.join("db")).unwrap().map(|entry| match entry.unwrap().metadata() {
            Ok(about) => about.blocks() * 512,
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
                0
            }
        });
    let allocated: u64 = blocks.sum();
    assert!(allocated < 2 << 20, "{allocated} bytes");
}

/// The files of the database with that ending, in order.
fn files(corpus: &str, end: &str) -> Vec<PathBuf> {
    let mut found = paths_below(&Path::new(corpus).join("db"));
    found.retain(|path| path.extension().is_some_and(|found| found == end));
    found
}

// Each commit of one document made some 16 tables, and so did the next opening.
corpusdb_test!(small_commits_stay_in_the_log_until_a_table_is_full, |scratch| {
    let (corpus, twin) = (scratch.arg("corpus"), scratch.arg("twin"));
    let many = scratch.write("many.jsonl", lines(&crawl(31, 2000, true)));
    for corpus in [&corpus, &twin] {
        init(corpus, &[]);
        ingest(corpus, &[&many], &WEB_BY_ID);
        corpusdb(&["compact", corpus]).good();
    }
    let mut random = Random::new(3);
    let (mut quiet, mut most, mut flushes, mut all) = (0, 0, 0, String::new());
    for number in 0..40 {
        let page = Page::keyed(format!("one-{number}"), prose(&mut random, number, 30));
        let file = scratch.write(&format!("{number}.jsonl"), lines(std::slice::from_ref(&page)));
        all += &lines(&[page]);
        let before = files(&corpus, "sst");
        assert_eq!(ingest(&corpus, &[&file], &WEB_BY_ID)["added"], 1);
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
    ingest(&twin, &[&scratch.write("all.jsonl", all)], &WEB_BY_ID);
    let query = "SELECT key, text, standing FROM documents ORDER BY id";
    let documents =
        |corpus: &str| corpusdb(&["sql", corpus, query, "--format", "jsonl"]).good().stdout;
    assert_eq!(documents(&corpus), documents(&twin));
    let before = digest(&corpus);
    corpusdb(&["compact", &corpus]).good();
    assert!(files(&corpus, "log").len() <= 1);
    let page = Page::keyed("last", "as many words as it takes to be a document");
    let file = scratch.write("last.jsonl", lines(&[page]));
    assert_eq!(ingest(&corpus, &[&file], &WEB_BY_ID)["added"], 1);
    assert_ne!(digest(&corpus), before);
});

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
    std::fs::remove_file(&files(&restored, "log")[1]).unwrap();
    corpusdb(&["count", &restored]).fails(&["lost acknowledged commits"]);
}

corpusdb_test!(a_writer_makes_a_copy_to_try_on_and_keeps_its_lock, |scratch| {
    let path = scratch.path("corpus");
    Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
    let mut writer = CorpusWriter::open(&path).unwrap();
    for name in ["a", "b", "c"] {
        pour_one(&mut writer, &scratch, name);
        // What reads an earlier moment is in nobody's way.
        let shown = writer.corpus();
        let copy = writer.dry_run_copy().unwrap();
        let locked = CorpusWriter::open(&path).err().unwrap();
        assert_eq!(locked.kind(), ErrorKind::Locked);
        let mut tried = CorpusWriter::open(copy.path()).unwrap();
        let digest = tried.corpus().digest(&Context::new()).unwrap();
        assert_eq!(digest, shown.digest(&Context::new()).unwrap());
        pour_one(&mut tried, &scratch, "tried");
        assert_eq!(tried.view().documents(), shown.view().documents() + 1);
        let deep = corpusdb::store::CheckDepth::Deep;
        assert_eq!(tried.corpus().check(deep, &Context::new()).unwrap(), []);
        // While the copy is written, so is the corpus.
        pour_one(&mut writer, &scratch, &format!("{name}{name}"));
        drop(tried);
        let place = copy.path().to_path_buf();
        drop(copy);
        assert!(!place.exists());
    }
    assert_eq!(writer.view().documents(), 6);
    drop(writer);
    sound(path.to_str().unwrap());
});

corpusdb_test!(a_writer_opens_its_corpus_again_under_its_lock, |scratch| {
    let path = scratch.path("corpus");
    Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
    let mut writer = CorpusWriter::open(&path).unwrap();
    let manifest = || std::fs::read_to_string(path.join("db").join("CURRENT")).unwrap();
    for name in ["a", "b", "c"] {
        pour_one(&mut writer, &scratch, name);
        let before = manifest();
        writer = writer.reopen().unwrap();
        assert_ne!(manifest(), before, "the list of files is a new one");
        let locked = CorpusWriter::open(&path).err().unwrap();
        assert_eq!(locked.kind(), ErrorKind::Locked);
    }
    assert_eq!(writer.view().documents(), 3);
    drop(writer);
    sound(path.to_str().unwrap());
});

// ----
// One writer and many readers: the lock, views beside a writer, and what is no corpus.

corpusdb_test!(a_second_writer_is_refused_and_readers_go_on, |scratch| {
    let path = scratch.path("corpus");
    let corpus = scratch.arg("corpus");
    make(&path, DedupMode::Witness, 0.8);
    let file = scratch.write("a.jsonl", lines(&crawl(81, 40, true)));
    let mut writer = writer(&path);
    pour(&mut writer, std::slice::from_ref(&file), &keyed_options(2 << 10));
    let holder = format!("process {}", std::process::id());
    let words = ["is being written by", holder.as_str()];
    corpusdb(&["ingest", &corpus, &file, "--source", "web"]).fails(&words);
    corpusdb(&["ingest", &corpus, &file, "--source", "web", "--dry-run"]).fails(&words);
    corpusdb(&["snapshot", "create", &corpus, "now"]).fails(&words);
    corpusdb(&["tokenizer", "train", &corpus, "own", "--vocab-size", "300"]).fails(&words);
    let found = corpusdb(&["count", &corpus]).good().stdout;
    assert_eq!(found, format!("{}\n", writer.view().documents()));
    sound(&corpus);
    let before = digest(&corpus);
    drop(writer);
    assert_eq!(digest(&corpus), before);
    corpusdb(&["snapshot", "create", &corpus, "now"]).good();
});

corpusdb_test!(readers_beside_an_ingest_see_committed_states_only, |scratch| {
    let path = scratch.path("corpus");
    make(&path, DedupMode::Witness, 0.7);
    let pages = crawl(82, 1200, true);
    let files: Vec<String> = pages
        .chunks(150)
        .enumerate()
        .map(|(at, part)| scratch.write(&format!("{at}.jsonl"), lines(part)))
        .collect();
    let done = AtomicBool::new(false);
    let looks = AtomicUsize::new(0);
    let (seen, states) = std::thread::scope(|scope| {
        let ingest = scope.spawn(|| {
            let mut writer = writer(&path);
            for file in &files {
                // Flushed after each, so that readers meet tables that come and go.
                pour(&mut writer, std::slice::from_ref(file), &keyed_options(1 << 10));
                let before = looks.load(Ordering::SeqCst);
                let mut waited = 0;
                while looks.load(Ordering::SeqCst) < before + 3 && waited < 5000 {
                    waited += 1;
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            done.store(true, Ordering::SeqCst);
            let mut documents = 0;
            let commits = writer.view().commits().unwrap().into_iter();
            let states: BTreeSet<(u64, u64)> = commits
                .map(|(commit, record)| {
                    documents += record.added;
                    (commit.0, documents)
                })
                .collect();
            states
        });
        let look = || {
            let mut seen = Vec::new();
            loop {
                let last = done.load(Ordering::SeqCst);
                let corpus = Corpus::options().memory(16 << 20).open(&path).unwrap();
                let view = corpus.view();
                let documents = corpus.count(None).unwrap();
                assert_eq!(documents, view.documents());
                let standings: u64 =
                    corpus.info().unwrap().standings.iter().map(|count| count.documents).sum();
                assert_eq!(standings, documents, "every document stands somewhere");
                let faults = corpus
                    .check(
                        if seen.len() % 4 == 0 { CheckDepth::Deep } else { CheckDepth::Quick },
                        &Context::new(),
                    )
                    .unwrap();
                assert!(faults.is_empty(), "{faults:?}");
                // Held while the writer goes on, it stays what it was.
                assert_eq!(corpus.count(None).unwrap(), documents);
                seen.push((view.commit().0, documents));
                looks.fetch_add(1, Ordering::SeqCst);
                if last {
                    return seen;
                }
            }
        };
        let other = scope.spawn(look);
        let mut seen = vec![look()];
        seen.push(other.join().unwrap());
        (seen, ingest.join().unwrap())
    });
    for seen in &seen {
        assert!(seen.is_sorted(), "{seen:?}");
        assert!(
            seen.iter().all(|state| states.contains(state)),
            "a reader saw a state that was never committed"
        );
    }
    let moments: BTreeSet<_> = seen.iter().flatten().collect();
    assert!(moments.len() > 5, "the readers saw {} moments only", moments.len());
    sound_digest(&reader(&path));
});

corpusdb_test!(other_directories_are_refused_with_the_way_out, |scratch| {
    let absent = scratch.arg("absent");
    std::fs::create_dir(scratch.path("empty")).unwrap();
    scratch.write("other/file", "x");
    let file = scratch.write("a.jsonl", lines(&crawl(83, 3, false)));
    // A directory in use was to be made a corpus, which `init` then refused.
    let taken = |way| (way, "corpusdb init NEW".to_owned());
    let free = |way: String| (way.clone(), format!("corpusdb init {way}"));
    let cases = [
        free(absent),
        free(scratch.arg("empty")),
        taken(scratch.arg("other")),
        taken(file.clone()),
    ];
    for (corpus, way_out) in cases {
        for verb in [
            &["info", &corpus][..],
            &["count", &corpus],
            &["check", &corpus],
            &["ingest", &corpus, &file, "--source", "web"],
        ] {
            corpusdb(verb).fails(&[&corpus, "is not a corpus", &way_out]);
        }
    }
    assert!(!scratch.path("absent").exists(), "a look makes nothing");
    corpusdb(&["init", &scratch.arg("other")])
        .fails(&["already exists and is not an empty directory"]);
    corpusdb(&["init", &file]).fails(&["already exists and is not an empty directory"]);
    init(&scratch.arg("empty"), &[]);
    corpusdb(&["init", &scratch.arg("empty")]).fails(&["already exists"]);
    sound(&scratch.arg("empty"));
});

corpusdb_test!(a_half_made_directory_is_no_corpus, |scratch, corpus| {
    std::fs::remove_file(scratch.path("corpus/FORMAT")).unwrap();
    for verb in ["info", "count", "check"] {
        corpusdb(&[verb, &corpus]).fails(&["is not a corpus"]);
    }
    corpusdb(&["init", &corpus]).fails(&["a corpus whose creation was interrupted"]);
});

corpusdb_test!(a_newer_format_is_refused_with_the_release_to_use, |_scratch, corpus| {
    let format = Path::new(&corpus).join("FORMAT");
    let ours = std::fs::read_to_string(&format).unwrap();
    assert_eq!(
        ours,
        format!("corpusdb {} {}\n", corpusdb::store::format_version(), env!("CARGO_PKG_VERSION"))
    );
    std::fs::write(&format, "corpusdb 99 7.4.1\n").unwrap();
    let file = repository("tests/corpora/pages.jsonl").display().to_string();
    for verb in [
        &["info", &corpus][..],
        &["count", &corpus],
        &["check", &corpus],
        &["ingest", &corpus, &file, "--source", "web"],
    ] {
        corpusdb(verb).fails(&[
            "store format 99",
            "corpusdb 7.4.1",
            "use that release or a newer one",
        ]);
    }
    let error = Corpus::options().memory(16 << 20).open(&corpus).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongFormat);
    assert!(matches!(error.origin(), Some(StoreError::NewerFormat { found: 99, .. })), "{error}");
    for nonsense in ["", "corpusdb\n", "corpusdb x 1\n", "postgres 1 1\n"] {
        std::fs::write(&format, nonsense).unwrap();
        corpusdb(&["info", &corpus]).fails(&["is not a corpus"]);
    }
    std::fs::write(&format, ours).unwrap();
    sound(&corpus);
});

// What cannot be looked at was said to be no corpus.
corpusdb_test!(a_format_that_cannot_be_read_is_no_absent_one, |scratch, corpus| {
    std::fs::rename(scratch.path("corpus/FORMAT"), scratch.path("FORMAT")).unwrap();
    std::fs::create_dir(scratch.path("corpus/FORMAT")).unwrap();
    let refused = corpusdb(&["info", &corpus]).fails(&["reading", "FORMAT"]);
    assert!(!refused.stderr.contains("is not a corpus"), "{refused}");
});

corpusdb_test!(a_second_writer_of_one_process_names_this_process, |scratch| {
    init(&scratch.arg("corpus"), &[]);
    let first = crate::support::writer(&scratch.path("corpus"));
    let refused = corpusdb::CorpusWriter::open(scratch.path("corpus")).unwrap_err();
    assert!(refused.to_string().contains("this very process (process "), "{refused}");
    assert!(refused.hint().unwrap().text.contains("with the handle that has it open"));
    corpusdb(&["compact", &scratch.arg("corpus")]).fails(&["is being written by process "]);
    drop(first);
});

/// Files of the database are for the group where the umask says so.
#[test]
fn files_of_a_corpus_follow_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = TestDir::new();
    for (umask, wanted) in [("002", 0o020), ("022", 0)] {
        let corpus = scratch.arg(umask);
        let file = scratch.write("a.jsonl", lines(&crawl(83, 30, false)));
        let program = env!("CARGO_BIN_EXE_corpusdb");
        let script = format!(
            "umask {umask}; {program} init {corpus} && {program} ingest {corpus} {file} --source web"
        );
        let ran = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        for directory in [scratch.path(umask), scratch.path(umask).join("db")] {
            for entry in std::fs::read_dir(&directory).unwrap() {
                let entry = entry.unwrap();
                let mode = entry.metadata().unwrap().permissions().mode();
                assert_eq!(mode & 0o022, wanted, "{:?} {mode:o}", entry.path());
            }
        }
    }
}
