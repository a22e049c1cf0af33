//! Exports that were stopped: run again they go on, and end in the same bytes.

use crate::support::exports::{corpus, export, files, names};
use crate::support::{Random, TestDir, command, corpusdb, crawl, reader};
use corpusdb::export::{ExportJob, ExportOptions, FormatName};
use corpusdb::{Context, Corpus, Error, Interrupt, Progress, ProgressTally};
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[test]
fn killed_at_any_moment_and_run_again_it_ends_in_the_same_bytes() {
    let scratch = TestDir::new();
    let corpus = corpus(&scratch, "c", &crawl(3, 1500, true));
    let mut random = Random::new(4);
    for (name, more) in [
        ("out", &["--format", "jsonl", "--compression", "zstd", "--shard-bytes", "8kB"][..]),
        ("out", &["--format", "parquet", "--shard-bytes", "40kB", "--partition-by", "language"]),
        ("out.jsonl", &["--all"]),
    ] {
        let whole = scratch.path(&format!("whole/{name}"));
        std::fs::create_dir_all(whole.parent().unwrap()).unwrap();
        let started = Instant::now();
        export(&corpus, whole.to_str().unwrap(), more);
        let took = started.elapsed().as_micros() as usize;
        let expected = files(&scratch.path("whole"));
        let mut killed = 0;
        for round in 0..8 {
            let place = scratch.path(&format!("round-{round}"));
            std::fs::create_dir_all(&place).unwrap();
            let out = place.join(name);
            let arguments = [&["export", &corpus, "--to", out.to_str().unwrap()], more].concat();
            for _ in 0..3 {
                let mut child = command(&arguments)
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                std::thread::sleep(Duration::from_micros(random.below(took) as u64));
                let over = child.try_wait().unwrap().is_some();
                child.kill().ok();
                child.wait().unwrap();
                if over {
                    break;
                }
                killed += 1;
            }
            // It is there whole, or not at all.
            if !out.exists() {
                corpusdb(&arguments).good();
            }
            // What is left when it was killed behind its last rename goes with an export of the same.
            let left = names(&place).into_iter().filter(|name| name.contains(".tmp-"));
            for left in left {
                std::fs::remove_dir_all(place.join(left)).unwrap();
            }
            assert!(files(&place) == expected, "{name} {more:?}, round {round}");
            std::fs::remove_dir_all(&place).unwrap();
        }
        assert!(killed > 4, "{killed} kills say little");
        std::fs::remove_dir_all(scratch.path("whole")).unwrap();
    }
}

/// Asks for a stop once so many documents are written, and remembers where the export began.
struct StopAfterDocuments<'a> {
    interrupt: &'a Interrupt,
    at: u64,
    seen: Mutex<Vec<u64>>,
    total: AtomicU64,
    /// All documents are written.
    is_over: AtomicBool,
}

impl Progress for StopAfterDocuments<'_> {
    fn begin(&self, stage: &str, total: Option<u64>) {
        self.is_over.store(stage == "files", Ordering::Relaxed);
        if stage == "documents" {
            self.total.store(total.unwrap_or(0), Ordering::Relaxed);
        }
    }
    fn advance(&self, done: u64) {
        if self.is_over.load(Ordering::Relaxed) {
            return;
        }
        self.seen.lock().unwrap().push(done);
        if done >= self.at {
            self.interrupt.raise();
        }
    }
    fn tally(&self, _: &ProgressTally) {}
    fn end(&self) {}
    fn note(&self, _: &str) {}
}

/// Exports until `at` documents are written; answers what was told of progress, and how it went.
fn run(
    corpus: &Corpus,
    options: &ExportOptions,
    to: &Path,
    at: u64,
) -> (Vec<u64>, Result<u64, Error>) {
    let interrupt = Interrupt::default();
    let progress = StopAfterDocuments {
        interrupt: &interrupt,
        at,
        seen: Mutex::default(),
        total: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
    };
    let job = ExportJob::new(to);
    let context =
        Context::new().with_progress(&progress).with_interrupt(&interrupt).with_threads(1);
    let done = corpus.export(options, &job, &context).map(|manifest| manifest.rows);
    if let Ok(rows) = done {
        assert_eq!(progress.total.load(Ordering::Relaxed), rows);
    }
    (progress.seen.into_inner().unwrap(), done)
}

#[test]
fn an_export_resumes_without_reading_finished_parts() {
    let scratch = TestDir::new();
    corpus(&scratch, "c", &crawl(6, 3000, true));
    let corpus = reader(&scratch.path("c"));
    let options = ExportOptions {
        format: FormatName::from_name("jsonl"),
        shard_bytes: Some(16 << 10),
        ..ExportOptions::default()
    };
    let (_, whole) = run(&corpus, &options, &scratch.path("whole"), u64::MAX);
    let rows = whole.unwrap();
    let out = scratch.path("out");
    let (seen, stopped) = run(&corpus, &options, &out, rows / 2);
    assert!(stopped.unwrap_err().is_interrupt());
    assert!(!out.exists() && *seen.last().unwrap() < rows, "{seen:?} of {rows}");
    let staging = names(&scratch.path("")).into_iter().find(|name| name.starts_with("out.tmp-"));
    let staging = scratch.path(&staging.unwrap());
    // A file that is not as it was finished is not believed, nor what comes behind it.
    let finished = names(&staging.join("data"));
    assert!(finished.len() > 4, "{finished:?}");
    let spoiled = staging.join("data").join(&finished[finished.len() - 2]);
    let mut bytes = std::fs::read(&spoiled).unwrap();
    bytes[10] ^= 1;
    std::fs::write(&spoiled, bytes).unwrap();
    std::fs::write(staging.join("data/stray"), "left over").unwrap();
    let (seen, done) = run(&corpus, &options, &out, u64::MAX);
    assert_eq!(done.unwrap(), rows);
    assert!(seen[0] > 0 && seen[0] < rows / 2, "it began at {} of {rows}", seen[0]);
    assert!(files(&out) == files(&scratch.path("whole")));
    assert!(!staging.exists());
}

#[test]
fn another_export_of_the_same_name_does_not_resume_this_one() {
    let scratch = TestDir::new();
    corpus(&scratch, "c", &crawl(6, 2000, true));
    corpus(&scratch, "d", &crawl(7, 2000, true));
    let options = |condition: &str| ExportOptions {
        condition: Some(condition.to_owned()),
        format: FormatName::from_name("jsonl"),
        shard_bytes: Some(16 << 10),
        ..ExportOptions::default()
    };
    let (first, out) = (reader(&scratch.path("c")), scratch.path("out"));
    let (_, stopped) = run(&first, &options("bytes > 10"), &out, 600);
    stopped.unwrap_err();
    for (corpus, condition) in [(&first, "bytes > 20"), (&reader(&scratch.path("d")), "bytes > 10")]
    {
        let (seen, done) = run(corpus, &options(condition), &out, u64::MAX);
        let done = done.unwrap();
        assert_eq!(seen[0], 0, "it goes on with what is another's");
        let expected = corpus.count(format!("kept AND {condition}")).unwrap();
        assert_eq!(done, expected);
        // What the first one left goes with the second.
        let left = names(&scratch.path("")).into_iter().filter(|name| name.contains(".tmp-"));
        assert_eq!(left.count(), 0);
        std::fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn two_exports_of_the_same_do_not_disturb_each_other() {
    let scratch = TestDir::new();
    corpus(&scratch, "c", &crawl(6, 300, true));
    let corpus = reader(&scratch.path("c"));
    let options = ExportOptions::default();
    let to = scratch.path("out.jsonl");
    /// Exports the same once more, while the first one is at work.
    struct Second<'a> {
        corpus: &'a Corpus,
        to: &'a Path,
        told: Mutex<Option<String>>,
    }
    impl Progress for Second<'_> {
        fn begin(&self, stage: &str, _: Option<u64>) {
            if stage != "documents" {
                return;
            }
            let job = ExportJob::new(self.to);
            let refused =
                self.corpus.export(&ExportOptions::default(), &job, &Context::new()).unwrap_err();
            *self.told.lock().unwrap() = Some(refused.to_string());
        }
        fn advance(&self, _: u64) {}
        fn tally(&self, _: &ProgressTally) {}
        fn end(&self) {}
        fn note(&self, _: &str) {}
    }
    let second = Second { corpus: &corpus, to: &to, told: Mutex::default() };
    corpus.export(&options, &ExportJob::new(&to), &Context::new().with_progress(&second)).unwrap();
    let told = second.told.into_inner().unwrap().unwrap();
    assert!(told.contains("is being written by another export"), "{told}");
    let found = names(&scratch.path(""));
    assert_eq!(found, [".out.jsonl.manifest.json", "c", "c.jsonl", "out.jsonl"]);
}
