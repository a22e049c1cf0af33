//! Ingests that are killed and interrupted end as undisturbed ones do; compaction changes nothing and hears a stop.

use crate::support::loads::journal;
use crate::support::{
    Random, TestDir, WEB_BY_ID, command, copy, corpusdb, corpusdb_test, crawl, declaring, digest,
    ingest, init, init_with_tokenizer, kill, lines, make, pour, ran, reader, seeds, silent, sound,
    sound_digest, trained, until, writer,
};
use corpusdb::{Context, DedupMode, IngestOptions, Interrupt, Progress, ProgressTally};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

// ----
// Killed and interrupted ingests: run again, they end where an uninterrupted one does.

/// An ingest of two files, plain and compressed, in many small commits, ready to be killed.
struct Job {
    scratch: TestDir,
    tokenizer: String,
    paths: [String; 2],
}

impl Job {
    fn new() -> Self {
        let scratch = TestDir::new();
        let pages = crawl(71, 500, true);
        let plain = scratch.write("crawl/1.jsonl", format!("{}not a line\n", lines(&pages[..300])));
        let packed = scratch
            .write("crawl/2.zst", zstd::encode_all(lines(&pages[300..]).as_bytes(), 3).unwrap());
        let tokenizer = scratch.write("tokenizer.json", trained());
        Self { scratch, tokenizer, paths: [plain, packed] }
    }

    /// A new corpus for it.
    fn corpus(&self, name: &str) -> String {
        let corpus = self.scratch.arg(name);
        let fields = declaring(&["url:keyword", "year:int", "quality:float"]);
        init_with_tokenizer(&corpus, &[&fields[..], &["--threshold", "0.7"]].concat());
        corpus
    }

    fn arguments<'a>(&'a self, corpus: &'a str) -> Vec<&'a str> {
        let [plain, packed] = &self.paths;
        let ingest = ["ingest", corpus, plain, packed, "--batch-bytes", "2500", "--json"];
        [&ingest[..], &WEB_BY_ID].concat()
    }

    fn start(&self, corpus: &str) -> Child {
        command(&self.arguments(corpus))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn finish(&self, corpus: &str) {
        corpusdb(&self.arguments(corpus)).good();
    }
}

/// Waits until the corpus has `commits` or the child is gone; answers whether it still runs.
fn wait_for(child: &mut Child, corpus: &str, commits: u64) -> bool {
    until(child, || journal(corpus) >= commits)
}

corpusdb_test!(killed_ingest_rerun_gives_same_digest, Job::new(), |job| {
    let whole = job.corpus("whole");
    let before = journal(&whole);
    job.finish(&whole);
    sound(&whole);
    let (expected, commits) = (digest(&whole), journal(&whole));
    assert!(commits > before + 60, "{commits} commits are too few to be killed between");
    let mut random = Random::new(9);
    let mut killed = 0;
    for round in 0..seeds(10) {
        let corpus = job.corpus(&format!("killed-{round}"));
        // In every fifth round it is killed three times.
        for _ in 0..if round % 5 == 0 { 3 } else { 1 } {
            let from = journal(&corpus);
            let moment = from + random.below((commits - from).max(1) as usize) as u64;
            let mut child = job.start(&corpus);
            let runs = wait_for(&mut child, &corpus, moment);
            std::thread::sleep(Duration::from_micros(random.below(4000) as u64));
            kill(&mut child);
            killed += u64::from(runs);
            // What is there is sound before anyone repairs it, and stands where the journal says or one ahead.
            let found = reader(Path::new(&corpus));
            sound_digest(&found);
            let (at, known) = (found.view().commit().0, journal(&corpus));
            assert!(at == known || at == known + 1, "round {round}: commit {at}, journal {known}");
        }
        job.finish(&corpus);
        let found = reader(Path::new(&corpus));
        assert_eq!(sound_digest(&found), expected, "round {round}");
        assert_eq!(found.rejects(10).unwrap().count(), 1, "round {round}");
        let again = corpusdb(&job.arguments(&corpus)).good().json();
        let shown = (again["added"].as_u64(), again["commits"].as_u64());
        assert_eq!(shown, (Some(0), Some(0)), "round {round}");
        std::fs::remove_dir_all(&corpus).unwrap();
    }
    assert!(killed >= 7, "only {killed} of the kills came before the end");
});

corpusdb_test!(interrupted_it_exits_with_130_and_the_same_command_goes_on, Job::new(), |job| {
    let whole = job.corpus("whole");
    job.finish(&whole);
    for signal in ["INT", "TERM", "HUP"] {
        let corpus = job.corpus(signal);
        let start = journal(&corpus);
        let mut child = job.start(&corpus);
        assert!(
            wait_for(&mut child, &corpus, start + 15),
            "it ended before it could be interrupted"
        );
        let kill = format!("kill -{signal} {}", child.id());
        assert!(std::process::Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        let ran = ran(&job.arguments(&corpus), child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(130), "{ran}");
        assert!(
            ran.stderr.contains("interrupted") && ran.stderr.contains("run the same command again"),
            "{ran}"
        );
        assert!(journal(&corpus) < journal(&whole), "nothing was left to do");
        sound(&corpus);
        job.finish(&corpus);
        assert_eq!(digest(&corpus), digest(&whole), "{signal}");
    }
});

// `nohup`, and `&` in a script, start the command with signals ignored: it took them for a stop all the same.
corpusdb_test!(a_signal_that_was_ignored_from_the_start_stops_nothing, Job::new(), |job| {
    let whole = job.corpus("whole");
    job.finish(&whole);
    for signal in ["HUP", "INT", "TERM"] {
        let corpus = job.corpus(signal);
        let start = journal(&corpus);
        let mut child = std::process::Command::new("sh")
            .args(["-c", &format!("trap '' {signal}; exec \"$@\""), "sh"])
            .arg(env!("CARGO_BIN_EXE_corpusdb"))
            .args(job.arguments(&corpus))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(wait_for(&mut child, &corpus, start + 15), "it ended before the signal came");
        let kill = format!("kill -{signal} {}", child.id());
        assert!(std::process::Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        let ran = ran(&job.arguments(&corpus), child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(0), "{signal}: {ran}");
        assert_eq!(digest(&corpus), digest(&whole), "{signal}");
    }
});

corpusdb_test!(an_ingest_finishes_a_killed_tokenizer_registration, Job::new(), |job| {
    let [plain, packed] = &job.paths;
    let first = job.scratch.arg("first");
    init(&first, &[]);
    ingest(&first, &[plain], &["--source", "web", "--id-field", "id", "--batch-bytes", "2kB"]);
    let make = |name: &str| {
        copy(Path::new(&first), &job.scratch.path(name));
        job.scratch.arg(name)
    };
    let add = |corpus: &str| ["tokenizer", "add", corpus, "own", &job.tokenizer].map(str::to_owned);
    let rest = |corpus: &str| drop(ingest(corpus, &[packed], &WEB_BY_ID));
    let whole = make("whole");
    corpusdb(&add(&whole)).good();
    rest(&whole);
    let expected = digest(&whole);
    let mut random = Random::new(10);
    for round in 0..4 {
        let corpus = make(&format!("killed-{round}"));
        let start = journal(&corpus);
        let mut child = silent(&add(&corpus));
        wait_for(&mut child, &corpus, start + 1);
        std::thread::sleep(Duration::from_micros(random.below(3000) as u64));
        kill(&mut child);
        if round % 2 == 0 {
            corpusdb(&add(&corpus)).good();
        }
        rest(&corpus);
        sound(&corpus);
        assert_eq!(digest(&corpus), expected, "round {round}");
    }
});

corpusdb_test!(a_corpus_killed_in_init_is_refused, |scratch| {
    for round in 0..6 {
        let corpus = scratch.arg(&format!("corpus-{round}"));
        let mut child = silent(&["init", &corpus]);
        until(&mut child, || Path::new(&corpus).exists());
        std::thread::sleep(Duration::from_millis(5 * round));
        kill(&mut child);
        if Path::new(&corpus).join("FORMAT").exists() {
            sound(&corpus);
            continue;
        }
        for verb in ["info", "count", "check"] {
            corpusdb(&[verb, &corpus]).fails(&["is not a corpus", "corpusdb init"]);
        }
    }
});

corpusdb_test!(killed_while_it_folds_band_runs_every_bucket_is_whole, |scratch| {
    let pages = crawl(72, 640, true);
    let large = scratch.write("large.jsonl", lines(&pages[..400]));
    let small = scratch.write("small.jsonl", lines(&pages[400..]));
    let ingest = |corpus: &str, file: &str, batch: &str| {
        let arguments = ["ingest", corpus, file, "--source", "web", "--id-field", "id"];
        [&arguments[..], &["--batch-bytes", batch]]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect()
    };
    // One commit large enough for a run; behind it, every small one writes a run too.
    let first = scratch.arg("first");
    init(&first, &["--field", "url:keyword", "--field", "year:int", "--threshold", "0.7"]);
    let arguments: Vec<String> = ingest(&first, &large, "8MB");
    corpusdb(&arguments).good();
    let make = |name: &str| {
        copy(Path::new(&first), &scratch.path(name));
        scratch.arg(name)
    };
    let whole = make("whole");
    let arguments: Vec<String> = ingest(&whole, &small, "300");
    corpusdb(&arguments).good();
    let expected = sound_digest(&reader(Path::new(&whole)));
    let mut random = Random::new(11);
    let (mut folding, mut left) = (0, 0);
    for round in 0..seeds(8) {
        let corpus = make(&format!("killed-{round}"));
        let arguments: Vec<String> = ingest(&corpus, &small, "300");
        let mut child = silent(&arguments);
        let folder = Path::new(&corpus).join("folding");
        until(&mut child, || folder.exists());
        std::thread::sleep(Duration::from_micros(random.below(12_000) as u64));
        folding += u64::from(child.try_wait().unwrap().is_none());
        kill(&mut child);
        left += u64::from(folder.exists());
        sound_digest(&reader(Path::new(&corpus)));
        corpusdb(&arguments).good();
        assert!(!folder.exists(), "round {round}: what a folding left is still there");
        assert_eq!(sound_digest(&reader(Path::new(&corpus))), expected, "round {round}");
        std::fs::remove_dir_all(&corpus).unwrap();
    }
    assert!(folding >= 4 && left >= 1, "{folding} of 8 were killed, {left} while they folded");
});

// Verbs about fields in many small commits: killed at any of them and run again, they end where one run ends.
corpusdb_test!(fields_are_whole_whenever_their_verbs_were_killed, |scratch| {
    let pages = crawl(72, 300, true);
    let file = scratch.write("pages.jsonl", lines(&pages));
    let scores: String = (0..300)
        .flat_map(|n| [(n, n), (n * 7 % 300, n + 1)])
        .map(|(n, v)| format!("{{\"d\":{n},\"perplexity\":{v}.5,\"grade\":\"g{}\"}}\n", v % 5))
        .collect();
    let scores = scratch.write("scores.jsonl", scores);
    let first = scratch.arg("first");
    init(&first, &["--field", "perplexity:float", "--field", "grade:keyword", "--mode", "none"]);
    ingest(&first, &[&file], &WEB_BY_ID);
    let made = |name: &str| {
        copy(Path::new(&first), &scratch.path(name));
        scratch.arg(name)
    };
    let verbs: [&[&str]; 4] = [
        &["add", "url:keyword", "--batch-rows", "9"],
        &[
            "set",
            "--from",
            &scores,
            "--on",
            "id=d",
            "--columns",
            "perplexity,grade",
            "--batch-rows",
            "17",
        ],
        &["compute", "size", "bytes + chars", "--batch-rows", "9"],
        &["compute", "named", "concat(source, key)", "--batch-rows", "9"],
    ];
    let words = |corpus: &str, verb: &[&str]| -> Vec<String> {
        let words = [&["field", verb[0], corpus][..], &verb[1..]].concat();
        words.into_iter().map(str::to_owned).collect()
    };
    let whole = made("whole");
    let mut expected = Vec::new();
    for verb in verbs {
        let before = journal(&whole);
        corpusdb(&words(&whole, verb)).good();
        expected.push((digest(&whole), journal(&whole) - before));
    }
    sound(&whole);
    let mut random = Random::new(10);
    let mut killed = 0;
    for round in 0..4 {
        let corpus = made(&format!("killed-{round}"));
        for (verb, (digest, commits)) in verbs.iter().zip(&expected) {
            for _ in 0..2 {
                let moment = journal(&corpus) + random.below(*commits as usize) as u64;
                let mut child =
                    command(&words(&corpus, verb)).stdout(Stdio::null()).spawn().unwrap();
                let runs = wait_for(&mut child, &corpus, moment);
                std::thread::sleep(Duration::from_micros(random.below(3000) as u64));
                kill(&mut child);
                killed += u64::from(runs);
                sound_digest(&reader(Path::new(&corpus)));
            }
            corpusdb(&words(&corpus, verb)).good();
            let found = reader(Path::new(&corpus));
            assert_eq!(sound_digest(&found), *digest, "round {round}, {verb:?}");
        }
    }
    assert!(killed >= 16, "only {killed} of the kills came before the end");
});

// ----
// Compaction: what is stored stays the same, and a stop is heard between its pieces.

/// Asks for a stop once so many pieces are done; counts those that were.
struct StopAfterFamily {
    after: u64,
    interrupt: Interrupt,
    done: AtomicU64,
    total: AtomicU64,
}

impl StopAfterFamily {
    fn after(after: u64) -> Self {
        let (done, total) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { after, interrupt: Interrupt::default(), done, total }
    }
}

impl Progress for StopAfterFamily {
    fn begin(&self, stage: &str, total: Option<u64>) {
        assert_eq!(stage, "compacting");
        self.total.store(total.unwrap(), Ordering::SeqCst);
    }
    fn advance(&self, done: u64) {
        self.done.store(done, Ordering::SeqCst);
        if done == self.after {
            self.interrupt.raise();
        }
    }
    fn tally(&self, _: &ProgressTally) {}
    fn end(&self) {}
    fn note(&self, _: &str) {}
}

// `compact` in Python ignored Ctrl-C until every family was rewritten.
corpusdb_test!(a_stopped_compaction_loses_nothing_and_runs_again, |scratch| {
    let path = scratch.path("corpus");
    make(&path, DedupMode::Witness, 0.8);
    let mut writer = writer(&path);
    let file = scratch.write("a.jsonl", lines(&crawl(17, 300, true)));
    pour(&mut writer, &[file], &IngestOptions::new("web"));
    let before = sound_digest(&writer.corpus());
    let commit = writer.view().commit();
    for after in [1, 3, 10] {
        let stopping = StopAfterFamily::after(after);
        let error = writer
            .compact(&Context::new().with_progress(&stopping).with_interrupt(&stopping.interrupt))
            .unwrap_err();
        assert!(error.is_interrupt(), "{error}");
        assert_eq!(stopping.done.into_inner(), after, "no piece is begun after it");
        assert!(stopping.total.into_inner() > 10);
        // What did not come to its end is no commit.
        assert_eq!(writer.view().commit(), commit);
        assert_eq!(sound_digest(&writer.corpus()), before);
    }
    let asked = StopAfterFamily::after(0);
    asked.interrupt.raise();
    assert!(
        writer
            .compact(&Context::new().with_progress(&asked).with_interrupt(&asked.interrupt))
            .unwrap_err()
            .is_interrupt()
    );
    assert_eq!(asked.done.into_inner(), 0);
    // Whoever was stopped goes on writing, and a compaction that comes to its end is told.
    let file = scratch.write("b.jsonl", lines(&crawl(18, 50, true)));
    pour(&mut writer, &[file], &IngestOptions::new("more"));
    let grown = sound_digest(&writer.corpus());
    assert_ne!(grown, before);
    let commit = writer.view().commit();
    let whole = StopAfterFamily::after(u64::MAX);
    writer.compact(&Context::new().with_progress(&whole).with_interrupt(&whole.interrupt)).unwrap();
    assert_eq!(whole.done.into_inner(), whole.total.into_inner());
    writer.compact(&Context::new()).unwrap();
    assert_eq!(sound_digest(&writer.corpus()), grown);
    assert_eq!(writer.view().commit().0, commit.0 + 2);
    drop(writer);
    assert_eq!(digest(&scratch.arg("corpus")), grown);
});
