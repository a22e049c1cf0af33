//! Marks that are stored with plans: an epoch opened by them is the epoch that is walked, whatever the recipe.

use crate::support::Random;
use crate::support::checker::corpus::{CheckedCorpus, THREE, content, open, part, recipe, rows};
use crate::support::checker::recipes::{drawn, feasible};
use corpusdb::epoch::StreamOptions;
use corpusdb::store::CheckDepth;
use corpusdb::{Context, Corpus, Interrupt};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[test]
fn epochs_with_stored_marks_are_those_that_are_walked() {
    let place = CheckedCorpus::of(5, &THREE);
    let mut writer = place.writer();
    writer.create_snapshot("then").unwrap();
    let (mut random, interrupt) = (Random::new(1234), Interrupt::default());
    let (mut met, mut tried) = (0, 0);
    while met < 14 && tried < 80 {
        tried += 1;
        let text = format!("snapshot = \"then\"\n{}", drawn(&mut random));
        let corpus = writer.corpus();
        let Some(walked) = feasible(&corpus, &text) else { continue };
        let Ok(told) = corpus.explain(&walked, &Context::new()) else { continue };
        let epochs = told.epochs.min(3);
        drop(corpus);
        // The one that `feasible` lowered, where it did.
        let planned = recipe(&text);
        let Ok((record, stored)) =
            writer.plan_epochs(&planned, epochs, &Context::new().with_interrupt(&interrupt))
        else {
            continue;
        };
        assert_eq!(stored.number(), Some(record.number));
        met += 1;
        let corpus = writer.corpus();
        let stored = corpus.stored_plan(record.number).unwrap();
        assert_eq!(stored.number(), Some(record.number));
        let walked = corpus.plan(&planned, &Context::new()).unwrap();
        assert_eq!((walked.number(), walked.plan.hash()), (None, record.hash));
        for number in 0..epochs {
            let (Ok(by), Ok(anew)) = (
                corpus.epoch(&stored, number, &Context::new()),
                corpus.epoch(&walked, number, &Context::new()),
            ) else {
                // Too few rows for a batch, which marks do not change.
                assert!(corpus.epoch(&stored, number, &Context::new()).is_err(), "{text}");
                assert!(corpus.epoch(&walked, number, &Context::new()).is_err(), "{text}");
                continue;
            };
            let facts = |epoch: &corpusdb::epoch::Epoch| {
                (epoch.rows(), epoch.batches(), epoch.first_run_row())
            };
            assert_eq!(facts(&by), facts(&anew), "epoch {number} of {text}");
            let (found, expected) = (rows(&by), rows(&anew));
            assert!(found.iter().map(content).eq(expected.iter().map(content)), "{text}");
            assert!(found.iter().zip(&expected).all(|(a, b)| a.ids() == b.ids()), "{text}");
            let from = random.below(by.batches() as usize) as u64;
            let step = |epoch: &corpusdb::epoch::Epoch| {
                let mut stream =
                    epoch.stream(&StreamOptions { prefetch: 1, ..part(from, 0, 1) }).unwrap();
                let first = stream.next().unwrap().unwrap();
                (first.number, first.rows.iter().map(content).collect::<Vec<_>>(), stream.state())
            };
            assert_eq!(step(&by), step(&anew), "batch {from} of {text}");
            let after = by.rows() + 1;
            let row = |epoch: &corpusdb::epoch::Epoch| {
                epoch.run_row_after(after, &Context::new()).map_err(|error| error.to_string())
            };
            assert_eq!(row(&by), row(&anew));
        }
    }
    assert_eq!(met, 14, "recipes of {tried} that could be met");
    // Marks are compared with a walk there.
    let corpus = writer.corpus();
    assert_eq!(corpus.check(CheckDepth::Deep, &Context::new()).unwrap(), []);
    let last = corpus.epochs().unwrap().last().unwrap().number;
    drop(corpus);
    assert_eq!(
        writer.mark_epochs(last, 1, &Context::new().with_interrupt(&interrupt)).unwrap(),
        0,
        "they are there"
    );
    writer.drop_plan(last).unwrap();
    assert!(writer.mark_epochs(last, 1, &Context::new().with_interrupt(&interrupt)).is_err());
}

/// What was planned without marks gets them later, and an extension of it goes on at the same row.
#[test]
fn plans_without_marks_go_on_working_and_get_them_when_asked() {
    let place = CheckedCorpus::of(6, &THREE);
    let mut writer = place.writer();
    let interrupt = Interrupt::default();
    let text = "seed = 5\n[mix]\ntokens = 900\n[pack]\nlength = 24\nkind = \"concat\"\n[batch]\nrows = 5\ntail = \"carry\"\n[tokenizer]\nspecials = { pad = \"<|pad|>\" }\n";
    let (record, _) =
        writer.plan_epochs(&recipe(text), 0, &Context::new().with_interrupt(&interrupt)).unwrap();
    let numbers = |writer: &corpusdb::CorpusWriter| {
        let corpus = writer.corpus();
        let planned = corpus.stored_plan(record.number).unwrap();
        let epochs: Vec<Vec<_>> = (0..3)
            .map(|number| rows(&open(&corpus, &planned, number)).iter().map(content).collect())
            .collect();
        (epochs, open(&corpus, &planned, 1).run_row_after(50, &Context::new()).unwrap())
    };
    let before = numbers(&writer);
    let extend = |writer: &mut corpusdb::CorpusWriter| {
        writer
            .extend(record.number, before.1, None, &Context::new().with_interrupt(&interrupt))
            .unwrap()
    };
    let commits = |writer: &corpusdb::CorpusWriter| writer.view().commit().0;
    let (child, _) = extend(&mut writer);
    writer.drop_plan(child.number).unwrap();
    let at = commits(&writer);
    assert_eq!(
        writer.mark_epochs(record.number, 2, &Context::new().with_interrupt(&interrupt)).unwrap(),
        2
    );
    assert_eq!(commits(&writer), at + 1);
    assert_eq!(numbers(&writer), before, "the third epoch begins at the end of the second");
    assert_eq!(
        writer.mark_epochs(record.number, 3, &Context::new().with_interrupt(&interrupt)).unwrap(),
        1
    );
    assert_eq!(
        writer.mark_epochs(record.number, 3, &Context::new().with_interrupt(&interrupt)).unwrap(),
        0
    );
    assert_eq!(commits(&writer), at + 2, "what is there is not written again");
    assert_eq!(numbers(&writer), before);
    let (again, _) = extend(&mut writer);
    assert_eq!(again.hash, child.hash);
    let error = writer
        .mark_epochs(record.number, 1000, &Context::new().with_interrupt(&interrupt))
        .unwrap_err();
    assert!(error.to_string().contains("epoch 999"), "{error}");
    assert_eq!(writer.corpus().check(CheckDepth::Deep, &Context::new()).unwrap(), []);
}

/// Every file of a directory, with its length and when it was written to last.
fn files(directory: &Path) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let about = entry.metadata().unwrap();
        found.insert(entry.path(), (about.len(), about.modified().unwrap()));
        if about.is_dir() {
            found.extend(files(&entry.path()));
        }
    }
    found
}

/// A corpus may lie on a file system that takes no writes: readers make no lock, no log and no directory.
#[test]
fn whoever_reads_an_epoch_writes_nothing_into_the_corpus() {
    let place = CheckedCorpus::of(7, &THREE);
    let mut writer = place.writer();
    let text = "[mix]\ntokens = 900\n[pack]\nlength = 24\n[batch]\nrows = 5\n";
    let (record, _) = writer.plan(&recipe(text), &Context::new()).unwrap();
    drop(writer);
    let before = files(&place.path);
    let corpus = Corpus::options().memory(32 << 20).open(&place.path).unwrap();
    let planned = corpus.stored_plan(record.number).unwrap();
    for number in [0, 1] {
        assert!(!rows(&open(&corpus, &planned, number)).is_empty());
    }
    corpus.explain(&planned, &Context::new()).unwrap();
    assert!(corpus.count("kept").unwrap() > 0);
    assert_eq!(corpus.check(CheckDepth::Deep, &Context::new()).unwrap(), []);
    assert_eq!(files(&place.path), before);
    drop(corpus);
    assert_eq!(files(&place.path), before);
}
