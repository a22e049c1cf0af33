//! Laws: whatever way an entry took, and whichever way it is asked for, the answer is the model's.

use super::counts::Counts;
use super::look_up::{self, Bucket};
use super::row::{bucket_of, key_of};
use crate::model::{DedupMode, DocId, Policy, Silent};
use crate::store::columns::BandRuns;
use crate::store::db::family;
use crate::store::keys::{BandRunKey, Key};
use crate::store::{self, CommitRecord, Depth, Memory, View, Writer};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const BUDGET: u64 = 64 << 20;
const BANDS: u8 = 3;

/// The members of each bucket, in the order they came.
type Model = BTreeMap<(u8, u64), Vec<DocId>>;

fn create(path: &Path) {
    store::create(path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
}

fn open(path: &Path) -> Writer {
    Writer::open(path, Memory::within(BUDGET), 2).unwrap()
}

/// Puts documents into their buckets, one hash a band, in one commit.
fn commit(writer: &mut Writer, model: &mut Model, documents: &[(DocId, Vec<u64>)]) {
    let mut batch = writer.begin().unwrap();
    for (document, hashes) in documents {
        let keys: Vec<(u8, u64)> = (0..).zip(hashes.iter().copied()).collect();
        let found = batch.view().buckets(&keys, 0, |_| false).unwrap();
        let found: Vec<_> =
            found.into_iter().map(|found| found.map(|found| (found.first, found.more))).collect();
        batch.index(*document, hashes, &found);
        for key in keys {
            model.entry(key).or_default().push(*document);
        }
    }
    batch.commit(&CommitRecord { kind: "test".to_owned(), ..CommitRecord::default() }).unwrap();
}

fn expected(
    model: &Model,
    key: (u8, u64),
    cap: usize,
    keep: impl Fn(DocId) -> bool,
) -> Option<Bucket> {
    let held = model.get(&key)?;
    let mut members: Vec<DocId> = held.iter().copied().filter(|member| keep(*member)).collect();
    members.sort_unstable();
    members.dedup();
    let capped = members.len() > cap && held.len() > 1;
    if held.len() > 1 {
        members.truncate(cap);
    }
    let more = held.iter().any(|member| *member != held[0]);
    Some(Bucket { first: held[0], more, members, capped })
}

/// Every key of the model and some that nobody has.
fn probes(model: &Model) -> Vec<(u8, u64)> {
    let mut keys: Vec<(u8, u64)> = model.keys().copied().collect();
    keys.extend((0..BANDS).flat_map(|band| (0..40).map(move |at| (band, at * 97 + 1_000_000))));
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn agrees(view: &View, model: &Model, what: &str) {
    let keys = probes(model);
    for (cap, modulus) in [(0, 1), (2, 2), (128, 1), (128, 3)] {
        let keep = |document: DocId| document.0.is_multiple_of(modulus);
        let expected: Vec<_> = keys.iter().map(|key| expected(model, *key, cap, keep)).collect();
        assert_eq!(view.buckets(&keys, cap, keep).unwrap(), expected, "{what}");
        assert_eq!(view.buckets_bulk(&keys, cap, &keep).unwrap(), expected, "{what}, in bulk");
        for (key, expected) in keys.iter().zip(&expected) {
            assert_eq!(&view.buckets(&[*key], cap, keep).unwrap()[0], expected, "{what}: {key:?}");
        }
    }
    let keys: Vec<_> = keys
        .iter()
        .map(|(band, hash)| key_of(view.generation(), bucket_of(*band, *hash)))
        .collect();
    assert_eq!(
        look_up::merge_join(view.pinned(), &keys).unwrap(),
        look_up::point_look_ups(view.pinned(), &keys).unwrap(),
        "{what}: scan and point look-ups"
    );
}

fn sound(path: &Path, view: &View, what: &str) {
    let faults = store::check(view, path, Depth::Full, &Silent).unwrap();
    assert!(faults.is_empty(), "{what}: {faults:?}");
}

#[derive(Clone, Debug)]
enum Step {
    /// Documents with hashes; whether the commit may write rows.
    Commit(Vec<Vec<u64>>, bool),
    Fold,
    Flush,
    Reopen {
        keep_filter: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let document = prop::collection::vec(0_u64..60, BANDS as usize);
    let documents = prop::collection::vec(document, 1..30);
    prop_oneof![
        6 => (documents, any::<bool>()).prop_map(|(documents, rows)| Step::Commit(documents, rows)),
        2 => Just(Step::Fold),
        1 => Just(Step::Flush),
        2 => any::<bool>().prop_map(|keep_filter| Step::Reopen { keep_filter }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn every_way_to_write_and_to_ask_gives_the_same_buckets(
        steps in prop::collection::vec(step(), 1..12),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("corpus");
        create(&path);
        let mut writer = open(&path);
        let (mut model, mut next) = (Model::new(), 0);
        let mut older: Vec<(View, Model)> = Vec::new();
        for step in steps {
            match step {
                Step::Commit(documents, rows) => {
                    writer.bands.set_run_from(if rows { usize::MAX } else { 1 });
                    let documents: Vec<_> = documents
                        .into_iter()
                        .map(|hashes| {
                            next += 1;
                            (DocId(next), hashes)
                        })
                        .collect();
                    older.push((writer.view().clone(), model.clone()));
                    commit(&mut writer, &mut model, &documents);
                }
                Step::Fold => {
                    writer.bands.fold().unwrap();
                    prop_assert!(writer.bands.runs().is_empty());
                    agrees(writer.view(), &model, "a view from before the folding");
                    writer.committed().unwrap();
                }
                Step::Flush => writer.flush().unwrap(),
                Step::Reopen { keep_filter } => {
                    older.clear();
                    drop(writer);
                    if !keep_filter {
                        let _ = std::fs::remove_file(path.join("bands.filter"));
                    }
                    writer = open(&path);
                }
            }
            agrees(writer.view(), &model, "the writer's view");
        }
        prop_assert!(writer.bands.gate().is_loaded());
        agrees(&store::read(&path, Memory::within(BUDGET)).unwrap(), &model, "a reader");
        for (view, model) in &older {
            agrees(view, model, "an older view");
        }
        sound(&path, writer.view(), "at the end");
    }
}

/// Documents with hashes of their own in every band but the first, where they share few.
fn many(from: u64, count: u64) -> Vec<(DocId, Vec<u64>)> {
    let hash =
        |document: u64, band: u64| (document * 31 + band).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
    (from..from + count)
        .map(|document| {
            (DocId(document), vec![document % 50, hash(document, 1), hash(document, 2)])
        })
        .collect()
}

#[test]
fn a_large_commit_goes_into_a_run_and_the_filter_lives_on_in_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("corpus");
    create(&path);
    let mut model = Model::new();
    let mut writer = open(&path);
    commit(&mut writer, &mut model, &many(0, 10));
    assert!(writer.bands.runs().is_empty(), "few entries are rows");
    commit(&mut writer, &mut model, &many(10, 60_000));
    assert_eq!(writer.bands.runs().len(), 1);
    commit(&mut writer, &mut model, &many(60_010, 10));
    assert_eq!(writer.bands.runs().len(), 2, "no row is newer than a run");
    agrees(writer.view(), &model, "with runs");
    assert!(writer.bands.gate().is_loaded());
    writer.flush().unwrap();
    let file = path.join("bands.filter");
    let saved = std::fs::read(&file).unwrap();

    // A file that is behind is caught up from runs; one of other entries is not believed.
    commit(&mut writer, &mut model, &many(60_020, 10));
    drop(writer);
    let mut writer = open(&path);
    agrees(writer.view(), &model, "caught up");
    assert!(writer.bands.gate().is_loaded());
    commit(&mut writer, &mut model, &many(60_030, 40_000));
    writer.bands.fold().unwrap();
    writer.flush().unwrap();
    assert!(writer.bands.runs().is_empty());
    agrees(writer.view(), &model, "folded");
    drop(writer);
    for bytes in [&saved[..], &saved[..1000], b""] {
        std::fs::write(&file, bytes).unwrap();
        let mut writer = open(&path);
        agrees(writer.view(), &model, "a stale or damaged file");
        assert!(writer.bands.gate().is_loaded(), "it was built anew");
        writer.flush().unwrap();
        assert!(std::fs::read(&file).unwrap() != bytes, "it was written anew");
    }
    sound(&path, &store::read(&path, Memory::within(BUDGET)).unwrap(), "at the end");
}

#[test]
fn a_damaged_run_is_an_error_a_fault_and_no_panic() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("corpus");
    create(&path);
    let mut model = Model::new();
    let mut writer = open(&path);
    commit(&mut writer, &mut model, &many(0, 3000));
    let run = writer.bands.runs()[0].clone();
    let key = BandRunKey { commit: run.commit, part: run.part }.to_bytes();
    let mut bytes = run.encode();
    bytes[27] ^= 0xff;
    for damaged in [&bytes[..], &bytes[..100], b""] {
        let db = Arc::clone(&writer.db);
        db.put_cf(&family::<BandRuns>(&db).unwrap(), &key, damaged).unwrap();
        writer.flush().unwrap();
        let view = store::read(&path, Memory::within(BUDGET)).unwrap();
        let error = view.buckets(&[(0, 1)], 1, |_| true).unwrap_err().to_string();
        assert!(error.contains("corrupt band run in family band_runs"), "{error}");
        let faults = store::check(&view, &path, Depth::Full, &Silent).unwrap();
        assert!(faults.iter().any(|fault| fault.place == "band_runs"), "{faults:?}");
    }
    drop(writer);
    let error = Writer::open(&path, Memory::within(BUDGET), 2).err().unwrap().to_string();
    assert!(error.contains("corrupt band run"), "{error}");
}

#[test]
fn a_reader_that_misses_folded_tables_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("corpus");
    create(&path);
    let mut model = Model::new();
    let mut writer = open(&path);
    commit(&mut writer, &mut model, &many(0, 3000));
    writer.bands.fold().unwrap();
    writer.flush().unwrap();
    agrees(&store::read(&path, Memory::within(BUDGET)).unwrap(), &model, "a reader");
    // The log tells of a folding that the manifest does not have.
    let counts = Counts { folded: 1000, ..Counts::default() };
    let db = Arc::clone(&writer.db);
    let family = family::<BandRuns>(&db).unwrap();
    db.put_cf(&family, Counts::KEY.to_bytes(), counts.encode()).unwrap();
    let error = store::read(&path, Memory::within(BUDGET)).err().unwrap().to_string();
    assert!(error.contains("missing folded band runs"), "{error}");
}

#[test]
fn few_look_ups_read_no_filter() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("corpus");
    create(&path);
    let mut model = Model::new();
    let mut writer = open(&path);
    commit(&mut writer, &mut model, &many(0, 60_000));
    writer.flush().unwrap();
    drop(writer);
    let writer = open(&path);
    let few: Vec<(u8, u64)> = model.keys().copied().take(30).collect();
    writer.view().buckets(&few, 128, |_| true).unwrap();
    assert!(!writer.bands.gate().is_loaded());
    agrees(writer.view(), &model, "many look-ups");
    assert!(writer.bands.gate().is_loaded());
}

#[test]
fn a_budget_too_small_for_the_filter_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("corpus");
    create(&path);
    let mut model = Model::new();
    let memory = Memory { bands: 200 << 10, ..Memory::within(BUDGET) };
    let mut writer = Writer::open(&path, memory, 2).unwrap();
    for at in 0..8 {
        commit(&mut writer, &mut model, &many(at * 10_000, 10_000));
    }
    agrees(writer.view(), &model, "without");
    assert!(!writer.bands.gate().is_loaded());
    drop(writer);
    let writer = Writer::open(&path, memory, 2).unwrap();
    agrees(writer.view(), &model, "without, opened again");
    assert!(!writer.bands.gate().is_loaded());
}
