//! Changes of mind that are stopped at each step they tell: one that was through was not stopped, one that was stopped
//! left something to do, and the same call again comes to the same corpus.

use crate::support::{
    StopAt, StopWhen, TestDir, copy, crawl, ingest, init, lines, reader, sound_digest, writer,
};
use corpusdb::curate::{BlockReach, ComputedField, NewField, NewSignals, RejectSelection};
use corpusdb::dedup::Normaliser;
use corpusdb::signals::Signal;
use corpusdb::{Context, CorpusWriter, DedupMode, Error, FieldKind, Interrupt, Policy};
use std::path::{Path, PathBuf};

/// What is stored and by which policy, how many records are set aside, and whether a purge or a redo is to be ended.
fn state(corpus: &Path) -> (String, u64, bool) {
    let corpus = reader(corpus);
    let view = corpus.view();
    let is_purging = view.unended_purge().unwrap().is_some();
    let is_open = is_purging || view.refingerprinted().unwrap().is_some();
    (format!("{} {}", view.policy(), sound_digest(&corpus)), view.state().rejects, is_open)
}

type Change<'a> = &'a dyn Fn(&mut CorpusWriter, &Context<'_>) -> Result<(), Error>;

/// Stops a change of the corpus at every step in turn: how many steps stopped it.
#[track_caller]
fn stopped_everywhere(scratch: &TestDir, corpus: &Path, name: &str, change: Change<'_>) -> usize {
    let whole = scratch.path(&format!("{name}-whole"));
    copy(corpus, &whole);
    change(&mut writer(&whole), &Context::new()).unwrap();
    let expected = state(&whole);
    let mut stopped = 0;
    for at in 0.. {
        let cut = scratch.path(&format!("{name}-{at}"));
        copy(corpus, &cut);
        let stop = StopAt::new(StopWhen::Told(at));
        let mut open = writer(&cut);
        let outcome = change(&mut open, &stop.context());
        drop(open);
        if let Err(error) = &outcome {
            assert!(error.is_interrupt(), "{name}, step {at}: {error}");
            stopped += 1;
            assert_ne!(state(&cut), expected, "{name}, step {at}: stopped, and nothing is left");
            change(&mut writer(&cut), &Context::new()).unwrap();
        }
        assert_eq!(state(&cut), expected, "{name}, step {at}");
        std::fs::remove_dir_all(&cut).unwrap();
        if !stop.is_raised() {
            return stopped;
        }
    }
    stopped
}

/// A crawl with copies, a field, records that cannot be read, and some documents removed.
fn corpus(scratch: &TestDir) -> PathBuf {
    let path = scratch.path("corpus");
    let name = path.display().to_string();
    init(&name, &["--field", "year:int"]);
    let mut pages = crawl(3, 40, true);
    for (at, page) in pages.iter_mut().enumerate() {
        page.fields["year"] = (2000 + at).into();
    }
    let mut text = lines(&pages);
    text.push_str("no record\n{\"text\": 1}\n");
    let file = scratch.write("pages.jsonl", text);
    ingest(&name, &[&file], &["--source", "web", "--id-field", "id"]);
    let removed = (0..4).collect();
    let mut open = writer(&path);
    open.remove(&removed, BlockReach::Similar, &Context::new()).unwrap();
    path
}

#[test]
fn a_change_that_is_complete_is_not_interrupted() {
    let scratch = TestDir::new();
    let corpus = corpus(&scratch);
    let some = || (2..9).collect();
    let everywhere = |name: &str, change: Change<'_>| {
        let stopped = stopped_everywhere(&scratch, &corpus, name, change);
        assert!(stopped > 0, "{name} hears no stop");
    };
    everywhere("remove", &|writer, context| {
        writer.remove(&some(), BlockReach::Similar, context).map(drop)
    });
    everywhere("restore", &|writer, context| writer.restore(&some(), context).map(drop));
    everywhere("rejects", &|writer, context| {
        writer.drop_rejects(&RejectSelection::default(), context).map(drop)
    });
    everywhere("redo", &|writer, context| {
        let policy = Policy::new(DedupMode::None, 0.8).unwrap();
        writer.redo(&policy, context)?;
        writer.switch(&policy, context)
    });
    everywhere("version", &|writer, context| {
        let now = writer.view().policy().clone();
        let policy = Policy { normaliser: Normaliser::Web, ..now };
        writer.redo(&policy, context)?;
        writer.switch(&policy, context)
    });
    everywhere("add", &|writer, context| {
        let field = NewField { batch: 7, ..NewField::new("again", FieldKind::Keyword) };
        writer.add_field(&field, context).map(drop)
    });
    everywhere("compute", &|writer, context| {
        let (name, expression) = ("size".to_owned(), "length(text)".to_owned());
        let field = ComputedField { name, expression, kind: None, batch: 7 };
        writer.compute_field(&field, context).map(drop)
    });
    everywhere("signals", &|writer, context| {
        let new = NewSignals { signals: Signal::ALL[..2].to_vec(), batch: 7 };
        writer.add_signals(&new, context).map(drop)
    });
    everywhere("purge", &|writer, context| {
        // Those of a purge that was stopped are purged by the next one.
        writer.purge(some(), BlockReach::Exact, true, context).map(drop)
    });
}

/// `redo` said "interrupted" when its last chunk was decided, and `switch` heard nothing.
#[test]
fn a_complete_redo_is_not_interrupted_and_a_switch_stops() {
    let scratch = TestDir::new();
    let corpus = corpus(&scratch);
    let policy = Policy::new(DedupMode::None, 0.8).unwrap();
    let before = sound_digest(&reader(&corpus));
    let mut open = writer(&corpus);
    let documents = open.view().documents();
    let stop = StopAt::new(StopWhen::Done(documents));
    let report = open.redo(&policy, &stop.context()).unwrap();
    assert!(stop.is_raised() && report.kept_before > 0, "{report:?}");
    assert!(open.switch(&policy, &stop.context()).unwrap_err().is_interrupt());
    assert_eq!(sound_digest(&reader(&corpus)), before, "what was decided before is in force");
    let again = open.redo(&policy, &Context::new()).unwrap();
    assert_eq!(again, report);
    open.switch(&policy, &Context::new()).unwrap();
    assert_ne!(sound_digest(&reader(&corpus)), before);
}

/// The last part of a redo under another version heard no stop and told nothing, and its `switch` could not go on.
#[test]
fn a_redo_resumes_while_fingerprints_are_written() {
    let scratch = TestDir::new();
    let corpus = scratch.path("corpus");
    let name = corpus.display().to_string();
    init(&name, &["--mode", "none"]);
    let text = |n: u32| format!("{{\"text\": \"Stra\u{df}e {n}, don\u{2019}t stop\"}}\n");
    let file = scratch.write("texts.jsonl", (0..5000).map(text).collect::<String>());
    ingest(&name, &[&file], &["--source", "web"]);
    let mut open = writer(&corpus);
    let policy = Policy { normaliser: Normaliser::Web, ..open.view().policy().clone() };
    open.redo(&policy, &Context::new()).unwrap();
    // The first advance is that of the commit by which the policy comes into force.
    let stop = StopAt::new(StopWhen::Advance(2));
    let error = open.switch(&policy, &stop.context()).unwrap_err();
    assert!(error.is_interrupt(), "{error}");
    assert_eq!(open.view().refingerprinted().unwrap(), Some(4096));
    assert_eq!(open.view().policy(), &policy);
    sound_digest(&reader(&corpus));
    let before = open.view().commit();
    open.switch(&policy, &Context::new()).unwrap();
    assert_eq!(open.view().commit().0, before.0 + 1, "one commit was left to make");
    assert_eq!(open.view().refingerprinted().unwrap(), None);
    sound_digest(&reader(&corpus));
}

/// A proof that was stopped while rows were read said that what was compacted stays so.
#[test]
fn a_stopped_proof_says_how_to_go_on() {
    let scratch = TestDir::new();
    let corpus = corpus(&scratch);
    let interrupt = Interrupt::default();
    interrupt.raise();
    let context = Context::new().with_interrupt(&interrupt);
    let error = writer(&corpus).prove_purge(None, None, &context).unwrap_err();
    assert!(error.is_interrupt(), "{error}");
    assert_eq!(error.to_string(), "interrupted; run the same command again to continue");
}
