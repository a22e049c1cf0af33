//! Compaction: what is stored stays the same, and a stop is heard between its pieces.

use crate::support::{TestDir, crawl, digest, lines, make, pour, sound_digest, writer};
use corpusdb::{Context, DedupMode, IngestOptions, Interrupt, Progress, ProgressTally};
use std::sync::atomic::{AtomicU64, Ordering};

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

/// `compact` in Python ignored Ctrl-C until every family was rewritten.
#[test]
fn a_stopped_compaction_loses_nothing_and_runs_again() {
    let scratch = TestDir::new();
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
}
