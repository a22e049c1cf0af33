//! What verbs cost in rows read, as a corpus grows: for one document nothing that grows with the others.

use super::{Corpus, CorpusWriter};
use crate::ingest::IngestOptions;
use crate::ingest::read::ReadOptions;
use crate::model::{DedupMode, Interrupt, Policy, Silent};
use crate::store::counted;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;

const MEMORY: u64 = 32 << 20;

/// Records of the numbers given, all different, of different lengths, with keys.
fn records(numbers: std::ops::Range<u64>) -> String {
    let text = |number: u64| {
        let words = (0..12 + number).map(|at| format!("w{}", number * 7919 + at * at));
        words.collect::<Vec<_>>().join(" ")
    };
    numbers
        .map(|number| {
            format!("{}\n", serde_json::json!({ "id": format!("k{number}"), "text": text(number) }))
        })
        .collect()
}

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new(mode: DedupMode, documents: u64) -> Self {
        let place = Self { directory: tempfile::tempdir().unwrap() };
        Corpus::init(&place.path(), &Policy::new(mode, 0.8).unwrap(), &[]).unwrap();
        place.pour(&mut place.writer(), 0..documents);
        place
    }

    fn path(&self) -> std::path::PathBuf {
        self.directory.path().join("corpus")
    }

    fn writer(&self) -> CorpusWriter {
        CorpusWriter::open(&self.path(), MEMORY, 1).unwrap()
    }

    fn pour(&self, writer: &mut CorpusWriter, numbers: std::ops::Range<u64>) {
        let file = self.directory.path().join("records.jsonl");
        std::fs::write(&file, records(numbers)).unwrap();
        let read = ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
        let options = IngestOptions { threads: 1, read, ..IngestOptions::new("web") };
        let file = [file.display().to_string()];
        writer.ingest(&file, &options, &[], &Silent, &Interrupt::default()).unwrap();
    }
}

/// Rows read by `work`, all of it on this thread.
fn rows(work: impl FnOnce() + Send) -> BTreeMap<&'static str, u64> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| counted::during(work).1)
}

fn of(rows: &BTreeMap<&'static str, u64>, family: &str) -> u64 {
    rows.get(family).copied().unwrap_or(0)
}

#[test]
fn removing_and_restoring_one_document_reads_no_more_headers_of_a_larger_corpus() {
    let cost = |documents: u64| {
        let place = Place::new(DedupMode::Witness, documents);
        let mut writer = place.writer();
        let one: RoaringTreemap = [5].into_iter().collect();
        let (silent, interrupt) = (Silent, Interrupt::default());
        let removed = rows(|| {
            writer.remove(&one, true, &silent, &interrupt).unwrap();
        });
        let restored = rows(|| {
            writer.restore(&one, &silent, &interrupt).unwrap();
        });
        (of(&removed, "documents"), of(&restored, "documents"))
    };
    let (small, large) = (cost(150), cost(300));
    assert!(large.0 <= small.0 + 2 && large.1 <= small.1 + 2, "{small:?} {large:?}");
    assert!(small.0 < 30 && small.1 < 30, "{small:?}");
}

#[test]
fn removing_a_share_of_a_corpus_reads_headers_in_proportion() {
    let cost = |documents: u64, reach: crate::decide::Reach| {
        let place = Place::new(DedupMode::Exact, documents);
        let mut writer = place.writer();
        let half: RoaringTreemap = (0..documents).step_by(2).collect();
        let removed = rows(|| {
            writer.remove(&half, reach, &Silent, &Interrupt::default()).unwrap();
        });
        let restored = rows(|| {
            writer.restore(&half, &Silent, &Interrupt::default()).unwrap();
        });
        of(&removed, "documents") + of(&restored, "documents")
    };
    for reach in [crate::decide::Reach::Exact, crate::decide::Reach::Similar] {
        let (small, large) = (cost(100, reach), cost(200, reach));
        assert!(large <= small * 2 + 20, "{reach:?}: {small} then {large} headers");
    }
}

#[test]
fn a_key_is_looked_up_and_headers_are_not_read_through() {
    let cost = |documents: u64| {
        let place = Place::new(DedupMode::Witness, documents);
        let corpus = Corpus::open(&place.path(), MEMORY).unwrap();
        let found = rows(|| {
            assert_eq!(corpus.find_key("k7").unwrap().len(), 1);
            assert!(corpus.find_key("nobody has it").unwrap().is_empty());
        });
        of(&found, "documents")
    };
    let (small, large) = (cost(100), cost(200));
    assert!(small == large && small < 5, "{small} then {large}");
}

#[test]
fn info_reads_the_commits_that_it_lists() {
    let place = Place::new(DedupMode::None, 3);
    let mut writer = place.writer();
    for number in 0..30 {
        writer.create_snapshot(&format!("s{number}")).unwrap();
    }
    drop(writer);
    let corpus = Corpus::open(&place.path(), MEMORY).unwrap();
    let read = rows(|| {
        let info = corpus.info().unwrap();
        assert_eq!(info.commits.len(), 10);
        assert_eq!(info.commits.last().unwrap().commit, corpus.view().commit().0);
    });
    assert!(of(&read, "commits") <= 11, "{read:?}");
}

#[test]
fn a_commit_of_connected_components_reads_standings_of_the_documents_it_meets() {
    for mode in [DedupMode::Components, DedupMode::Lsh] {
        let place = Place::new(mode, 60);
        let mut writer = place.writer();
        // Duplicates, so that there are standings to read.
        place.pour(&mut writer, 0..1);
        let read = rows(|| place.pour(&mut writer, 1000..1010));
        assert!(of(&read, "postings") < 5, "{mode:?}: {read:?}");
    }
}
