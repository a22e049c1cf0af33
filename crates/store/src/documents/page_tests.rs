//! Tests of pages over histories: splits into commits, values that change, pages that are lost.

use crate::batch::CommitBatch;
use crate::bytes::grid_rows::{DocumentPlace, DocumentPrint};
use crate::bytes::key::{DocumentKey, StoreKey};
use crate::bytes::record::CommitRecord;
use crate::database::family::{StoreFamily, family_handle};
use crate::database::tuning::MemoryBudget;
use crate::documents::document::{DocumentRecord, NewDocument};
use crate::documents::grid::{PlacePages, PrintPages, SketchPages};
use crate::documents::indexed_values::IndexedValues;
use crate::documents::pages::{KeyPages, MetadataPages, TextPages};
use crate::error::StoreError;
use crate::opening::create;
use crate::view::View;
use crate::writer::StoreWriter;
use model::{CommitSeq, DedupMode, DocId, Policy, SourceId};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What a test stores of a document.
#[derive(Clone, Debug, PartialEq)]
struct Sample {
    text: Option<String>,
    key: Option<String>,
    metadata: String,
    sketch: Option<Vec<u8>>,
    number: u64,
}

fn sample() -> impl Strategy<Value = Sample> {
    let text = prop_oneof![
        1 => Just(None),
        6 => (0_usize..700, any::<char>()).prop_map(|(n, c)| Some(format!("{n} {}", c.to_string().repeat(n)))),
        1 => (7000_usize..20_000).prop_map(|n| Some("xyz ".repeat(n / 4))),
    ];
    let key = proptest::option::of("[a-z]{1,40}");
    let metadata = prop_oneof![
        Just("{}".to_owned()),
        "[a-z]{1,9}".prop_map(|it| format!("{{\"a\":\"{it}\"}}"))
    ];
    let sketch = proptest::option::of(any::<u8>().prop_map(|it| vec![it; 256]));
    (text, key, metadata, sketch, any::<u64>()).prop_map(|(text, key, metadata, sketch, number)| {
        Sample { text, key, metadata, sketch, number }
    })
}

struct Corpus {
    writer: StoreWriter,
    _directory: tempfile::TempDir,
}

impl Corpus {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("corpus");
        create(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
        let writer = StoreWriter::open(&path, MemoryBudget::within(16 << 20), 2).unwrap();
        Self { writer, _directory: directory }
    }

    fn commit(&mut self, change: impl FnOnce(&mut CommitBatch<'_>)) {
        let mut batch = self.writer.begin().unwrap();
        change(&mut batch);
        batch.commit(&CommitRecord::about("test", "")).unwrap();
    }

    fn add(&mut self, samples: &[Sample]) {
        self.commit(|batch| {
            let source = batch.source("s").unwrap();
            for sample in samples {
                let id = batch.next_document();
                batch.add(new_document(source, id, sample)).unwrap();
            }
        });
    }

    /// The rows of all page families.
    fn pages(&self) -> BTreeMap<(&'static str, Vec<u8>), Vec<u8>> {
        let mut found = BTreeMap::new();
        rows::<PlacePages>(self.writer.view(), &mut found);
        rows::<PrintPages>(self.writer.view(), &mut found);
        rows::<SketchPages>(self.writer.view(), &mut found);
        rows::<TextPages>(self.writer.view(), &mut found);
        rows::<KeyPages>(self.writer.view(), &mut found);
        rows::<MetadataPages>(self.writer.view(), &mut found);
        found
    }
}

fn rows<F: StoreFamily>(view: &View, found: &mut BTreeMap<(&'static str, Vec<u8>), Vec<u8>>) {
    let mut rows = view.pinned().scan::<F>(&[], None).unwrap();
    while let Some((key, value)) = rows.advance().unwrap() {
        found.insert((F::NAME, key.to_vec()), value.to_vec());
    }
}

fn place(source: SourceId, id: DocId, sample: &Sample) -> DocumentPlace {
    // A borrower names an owner; which one does not matter here.
    let text_of = sample.text.is_none().then_some(DocId(id.0 / 2));
    DocumentPlace {
        source,
        file: model::FileId(1),
        number: sample.number,
        content: [7; 16],
        text_of,
    }
}

fn print(sample: &Sample) -> DocumentPrint {
    let raw = (u128::from(sample.number) << 64).to_le_bytes();
    DocumentPrint {
        raw,
        normalised: [sample.number as u8; 16],
        words: sample.number as u32,
        shingles: 2,
    }
}

fn new_document(source: SourceId, id: DocId, sample: &Sample) -> NewDocument {
    let header = DocumentRecord {
        place: place(source, id, sample),
        print: print(sample),
        commit: CommitSeq(0),
        key: sample.key.clone(),
        bytes: 1,
        chars: 1,
    };
    NewDocument {
        header,
        identity: [id.0 as u8; 16],
        text: sample.text.clone(),
        sketch: sample.sketch.clone(),
        metadata: sample.metadata.clone(),
        indexed: IndexedValues::default(),
    }
}

#[track_caller]
fn assert_holds(view: &View, samples: &[Sample]) {
    let all = 0..samples.len() as u64;
    for (id, sample) in (0..).map(DocId).zip(samples) {
        let source = view.place(id).unwrap().source;
        assert_eq!(view.place(id).unwrap(), place(source, id, sample));
        assert_eq!(view.print(id).unwrap(), print(sample));
        assert_eq!(view.key(id).unwrap(), sample.key);
        assert_eq!(view.metadata(id).unwrap(), sample.metadata);
        assert_eq!(view.sketch_of_owner(id).unwrap(), sample.sketch);
        assert_eq!(view.text_of_owner(id).ok(), sample.text);
    }
    let places = view.places(all.clone()).unwrap().map(|row| row.unwrap().1.number);
    assert!(places.eq(samples.iter().map(|sample| sample.number)));
    let keys = view.keys(all.clone()).unwrap().map(|row| row.unwrap().1);
    assert!(keys.eq(samples.iter().map(|sample| sample.key.clone())));
    let some: Vec<DocId> = all.clone().filter(|id| id % 3 < 2).map(DocId).collect();
    let each = |at: fn(&View, DocId) -> Option<String>| some.iter().map(move |id| at(view, *id));
    assert!(view.keys_of(&some).unwrap().into_iter().eq(each(|view, id| view.key(id).unwrap())));
    let places: Vec<_> = some.iter().map(|id| view.place(*id).unwrap()).collect();
    assert_eq!(view.places_of(&some).unwrap(), places);
    let metadata = view.metadata_in(all, str::to_owned).unwrap().map(|row| row.unwrap().1);
    let stored = samples.iter().map(|sample| sample.metadata.clone());
    assert!(metadata.eq(stored.filter(|metadata| metadata != "{}")));
}

/// Samples in runs of that many.
fn split<'a>(samples: &'a [Sample], sizes: &[usize]) -> Vec<&'a [Sample]> {
    let (mut left, mut runs) = (samples, Vec::new());
    for size in sizes.iter().cycle() {
        if left.is_empty() {
            break;
        }
        let (run, rest) = left.split_at((*size).min(left.len()));
        runs.push(run);
        left = rest;
    }
    runs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn pages_do_not_know_of_commits(
        samples in proptest::collection::vec(sample(), 1..700),
        sizes in proptest::collection::vec(1_usize..300, 1..6),
    ) {
        let (mut one, mut many) = (Corpus::new(), Corpus::new());
        one.add(&samples);
        for run in split(&samples, &sizes) {
            many.add(run);
        }
        prop_assert!(one.pages() == many.pages());
        assert_holds(many.writer.view(), &samples);
    }

    #[test]
    fn pages_hold_what_was_put_last(
        samples in proptest::collection::vec(sample(), 2..400),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), sample()), 0..60),
        more in proptest::collection::vec(sample(), 0..80),
    ) {
        let (mut corpus, mut model) = (Corpus::new(), samples.clone());
        corpus.add(&samples);
        for some in changes.chunks(20) {
            corpus.commit(|batch| {
                for (at, sample) in some {
                    let id = DocId(at.index(model.len()) as u64);
                    let source = batch.view().place(id).unwrap().source;
                    batch.set_place(id, place(source, id, sample));
                    batch.set_print(id, print(sample));
                    batch.set_sketch(id, sample.sketch.clone());
                    batch.set_text(id, sample.text.clone());
                    batch.set_key(id, sample.key.clone());
                    batch.set_metadata(id, sample.metadata.clone());
                    model[id.0 as usize] = sample.clone();
                }
                // Documents that come with the same commit as changes of the last page.
                let source = batch.source("s").unwrap();
                for sample in &more {
                    let id = batch.next_document();
                    batch.add(new_document(source, id, sample)).unwrap();
                }
            });
            model.extend(more.clone());
        }
        assert_holds(corpus.writer.view(), &model);
    }
}

#[test]
fn a_lost_page_is_missing_not_its_neighbour() {
    let mut corpus = Corpus::new();
    let sample = |number: u64| Sample {
        text: Some(format!("the text {number} ").repeat(40)),
        key: Some(format!("key-{number}").repeat(20)),
        metadata: format!("{{\"n\":\"{}\"}}", "m".repeat(300 + number as usize % 9)),
        sketch: Some(vec![number as u8; 256]),
        number,
    };
    let samples: Vec<Sample> = (0..600).map(sample).collect();
    corpus.add(&samples);
    lose::<TextPages>(&mut corpus, &|view, id| view.text_of_owner(id).map(drop));
    lose::<KeyPages>(&mut corpus, &|view, id| view.key(id).map(drop));
    lose::<MetadataPages>(&mut corpus, &|view, id| view.metadata(id).map(drop));
    lose::<PlacePages>(&mut corpus, &|view, id| view.place(id).map(drop));
    lose::<PrintPages>(&mut corpus, &|view, id| view.print(id).map(drop));
    lose::<SketchPages>(&mut corpus, &|view, id| view.sketch_of_owner(id).map(drop));
}

/// Takes each page of a family away in turn, and asks for all documents.
fn lose<F: StoreFamily>(
    corpus: &mut Corpus,
    read: &dyn Fn(&View, DocId) -> Result<(), StoreError>,
) {
    let mut pages = BTreeMap::new();
    rows::<F>(corpus.writer.view(), &mut pages);
    assert!(pages.len() > 1, "{}", F::NAME);
    let starts: Vec<u64> =
        pages.keys().map(|(_, key)| DocumentKey::decode(key).unwrap().document.0).collect();
    let documents = corpus.writer.view().documents();
    for (at, ((_, key), page)) in pages.iter().enumerate() {
        let put = |writer: &StoreWriter, page: Option<&[u8]>| {
            let family = family_handle::<F>(&writer.db).unwrap();
            match page {
                Some(page) => writer.db.put_cf(&family, key, page).unwrap(),
                None => writer.db.delete_cf(&family, key).unwrap(),
            }
        };
        put(&corpus.writer, None);
        corpus.writer.refresh_view().unwrap();
        let lost = starts[at]..*starts.get(at + 1).unwrap_or(&documents);
        for id in 0..documents {
            let found = read(corpus.writer.view(), DocId(id));
            match lost.contains(&id) {
                true => assert!(
                    matches!(found, Err(StoreError::Missing { family, .. }) if family == F::NAME),
                    "{id} of {}",
                    F::NAME
                ),
                false => found.unwrap(),
            }
        }
        put(&corpus.writer, Some(page));
    }
    corpus.writer.refresh_view().unwrap();
}

/// A last page that is not full is taken in by the next commit: however many commits there are, one is short.
#[test]
fn small_commits_leave_one_short_page() {
    let mut corpus = Corpus::new();
    let sample = Sample {
        text: Some("some words of a short text. ".repeat(20)),
        key: Some("a/key".to_owned()),
        metadata: "{}".to_owned(),
        sketch: None,
        number: 3,
    };
    for _ in 0..300 {
        corpus.add(std::slice::from_ref(&sample));
    }
    let mut texts = BTreeMap::new();
    rows::<TextPages>(corpus.writer.view(), &mut texts);
    // 560 bytes each: 30 of them come to 16 KiB.
    assert_eq!(texts.len(), 300 / 30);
    let mut places = BTreeMap::new();
    rows::<PlacePages>(corpus.writer.view(), &mut places);
    assert_eq!(places.len(), 2);
}
