//! One writer and many readers: the lock, views beside a writer, and what is no corpus.

use crate::support::{
    TestDir, corpusdb, crawl, digest, init, keyed_options, lines, make, pour, reader, repository,
    sound, sound_digest, writer,
};
use corpusdb::store::{CheckDepth, StoreError};
use corpusdb::{Context, Corpus, DedupMode, ErrorKind};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn a_second_writer_is_refused_and_readers_go_on() {
    let scratch = TestDir::new();
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
    assert_eq!(
        corpusdb(&["count", &corpus]).good().stdout,
        format!("{}\n", writer.view().documents())
    );
    sound(&corpus);
    let before = digest(&corpus);
    drop(writer);
    assert_eq!(digest(&corpus), before);
    corpusdb(&["snapshot", "create", &corpus, "now"]).good();
}

#[test]
fn readers_beside_an_ingest_see_committed_states_only() {
    let scratch = TestDir::new();
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
}

#[test]
fn other_directories_are_refused_with_the_way_out() {
    let scratch = TestDir::new();
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
}

#[test]
fn a_half_made_directory_is_no_corpus() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    std::fs::remove_file(scratch.path("corpus/FORMAT")).unwrap();
    for verb in ["info", "count", "check"] {
        corpusdb(&[verb, &corpus]).fails(&["is not a corpus"]);
    }
    corpusdb(&["init", &corpus]).fails(&["a corpus whose creation was interrupted"]);
}

#[test]
fn a_newer_format_is_refused_with_the_release_to_use() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
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
}

/// What cannot be looked at was said to be no corpus.
#[test]
fn a_format_that_cannot_be_read_is_no_absent_one() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    std::fs::rename(scratch.path("corpus/FORMAT"), scratch.path("FORMAT")).unwrap();
    std::fs::create_dir(scratch.path("corpus/FORMAT")).unwrap();
    let refused = corpusdb(&["info", &corpus]).fails(&["reading", "FORMAT"]);
    assert!(!refused.stderr.contains("is not a corpus"), "{refused}");
}

#[test]
fn a_second_writer_of_one_process_names_this_process() {
    let scratch = TestDir::new();
    init(&scratch.arg("corpus"), &[]);
    let first = crate::support::writer(&scratch.path("corpus"));
    let refused = corpusdb::CorpusWriter::open(scratch.path("corpus")).unwrap_err();
    assert!(refused.to_string().contains("this very process (process "), "{refused}");
    assert!(refused.hint().unwrap().text.contains("with the handle that has it open"));
    corpusdb(&["compact", &scratch.arg("corpus")]).fails(&["is being written by process "]);
    drop(first);
}

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
