//! Tests of the band index: whatever way an entry took, and whichever way it is asked for, the answer is the model's.

use crate::bytes::key::{BandRunKey, StoreKey};
use crate::database::family::family_handle;
use crate::index::BucketJoin;
use crate::index::bucket::{Bands, BandsMore, bucket_of, key_of};
use crate::index::lookup::{self, BandBucket};
use crate::index::run::{BandCounters, BandRuns};
use crate::{
    self as store, CheckDepth, CommitRecord, MemoryBudget, OpenedJournal, StoreWriter, View,
};
use model::{Context, DedupMode, DocId, Policy};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

const BUDGET: u64 = 64 << 20;
const BANDS: u8 = 3;

/// The members of each bucket, ascending.
type Model = BTreeMap<(u8, u64), BTreeSet<DocId>>;

/// A document and its hashes, one a band.
type Placed = (DocId, Vec<u64>);

fn create(path: &Path) {
    store::create(path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
}

fn open(path: &Path) -> StoreWriter {
    StoreWriter::open(path, MemoryBudget::within(BUDGET), 2).unwrap()
}

/// Takes documents out of their buckets and puts others in, in one commit.
fn change(writer: &mut StoreWriter, model: &mut Model, leaving: &[Placed], joining: &[Placed]) {
    let mut batch = writer.begin().unwrap();
    let keys = |hashes: &[u64]| (0..).zip(hashes.iter().copied()).collect::<Vec<(u8, u64)>>();
    let mut out: Vec<(u8, u64, DocId)> = Vec::new();
    for (document, hashes) in leaving {
        for (band, hash) in keys(hashes) {
            out.push((band, hash, *document));
            if let Some(held) = model.get_mut(&(band, hash)) {
                held.remove(document);
                if held.is_empty() {
                    model.remove(&(band, hash));
                }
            }
        }
    }
    out.sort_unstable();
    batch.leave_buckets(&out).unwrap();
    for (document, hashes) in joining {
        let keys = keys(hashes);
        let found = batch.view().bucket_firsts(&keys).unwrap();
        batch.join_buckets(&[BucketJoin { document: *document, hashes, stored: found.into() }]);
        for key in keys {
            model.entry(key).or_default().insert(*document);
        }
    }
    batch.commit(&CommitRecord::about("test", "")).unwrap();
}

/// Puts documents into their buckets, one hash a band, in one commit.
fn commit(writer: &mut StoreWriter, model: &mut Model, documents: &[Placed]) {
    change(writer, model, &[], documents);
}

/// Which of the members is the first is the store's to say.
fn expected(
    model: &Model,
    key: (u8, u64),
    cap: usize,
    first: Option<DocId>,
    keep: impl Fn(DocId) -> bool,
) -> Option<BandBucket> {
    let held = model.get(&key)?;
    let first = first.filter(|first| held.contains(first)).expect("the first is a member");
    let mut members: Vec<DocId> = held.iter().copied().filter(|member| keep(*member)).collect();
    let more = held.len() > 1;
    let capped = members.len() > cap && more;
    if more {
        members.truncate(cap);
    }
    Some(BandBucket { first, more, members, capped })
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
    let firsts = view.bucket_firsts(&keys).unwrap();
    let marks: Vec<_> = firsts.iter().map(|first| first.map(|(_, more)| more)).collect();
    let expected_marks: Vec<_> =
        keys.iter().map(|key| model.get(key).map(|held| held.len() > 1)).collect();
    assert_eq!(marks, expected_marks, "{what}: marks of first members");
    for (cap, modulus) in [(0, 1), (2, 2), (128, 1), (128, 3)] {
        let keep = |document: DocId| document.0.is_multiple_of(modulus);
        let expected: Vec<_> = keys
            .iter()
            .zip(&firsts)
            .map(|(key, first)| expected(model, *key, cap, first.map(|(first, _)| first), keep))
            .collect();
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
        lookup::merge_join(view.pinned(), &keys).unwrap(),
        lookup::point_look_ups(view.pinned(), &keys).unwrap(),
        "{what}: scan and point look-ups"
    );
}

fn sound(path: &Path, view: &View, what: &str) {
    let faults =
        store::check(view, (&OpenedJournal::hold(path), path), CheckDepth::Full, &Context::new())
            .unwrap();
    assert!(faults.is_empty(), "{what}: {faults:?}");
}

#[derive(Clone, Debug)]
enum Step {
    /// Documents with hashes that join; which of those that are there leave, some that never were, and
    /// whether the commit may write rows.
    Commit(Vec<Vec<u64>>, Vec<prop::sample::Index>, bool),
    Fold,
    Flush,
    Reopen {
        keep_filter: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let document = prop::collection::vec(0_u64..60, BANDS as usize);
    let joining = prop::collection::vec(document, 0..30);
    let leaving = prop::collection::vec(any::<prop::sample::Index>(), 0..25);
    prop_oneof![
        6 => (joining, leaving, any::<bool>())
            .prop_map(|(joining, leaving, rows)| Step::Commit(joining, leaving, rows)),
        2 => Just(Step::Fold),
        1 => Just(Step::Flush),
        2 => any::<bool>().prop_map(|keep_filter| Step::Reopen { keep_filter }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testing::cases(12), ..ProptestConfig::default() })]
    #[test]
    fn every_way_to_write_and_to_ask_gives_the_same_buckets(
        steps in prop::collection::vec(step(), 1..12),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("corpus");
        create(&path);
        let mut writer = open(&path);
        let (mut model, mut next) = (Model::new(), 0);
        let mut placed: Vec<Placed> = vec![(DocId(1_000_000), vec![1, 2, 3])];
        let mut older: Vec<(View, Model)> = Vec::new();
        for step in steps {
            match step {
                Step::Commit(joining, leaving, rows) => {
                    writer.bands.set_run_from(if rows { usize::MAX } else { 1 });
                    let mut leaving: Vec<Placed> =
                        leaving.iter().map(|at| placed[at.index(placed.len())].clone()).collect();
                    leaving.sort_unstable();
                    leaving.dedup();
                    let mut joining: Vec<Placed> = joining
                        .into_iter()
                        .map(|hashes| {
                            next += 1;
                            (DocId(next), hashes)
                        })
                        .collect();
                    // One that is there may be put in again, one that left may come back.
                    joining.extend(
                        placed.iter().filter(|one| one.0.0 % 7 == 0 && !leaving.contains(one)).cloned(),
                    );
                    older.push((writer.view().clone(), model.clone()));
                    change(&mut writer, &mut model, &leaving, &joining);
                    placed.extend(joining);
                    placed.sort_unstable();
                    placed.dedup();
                }
                Step::Fold => {
                    writer.bands.merge_runs().unwrap();
                    prop_assert!(writer.bands.runs().is_empty());
                    agrees(writer.view(), &model, "a view from before the folding");
                    writer.refresh_view().unwrap();
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
        agrees(&store::read(&path, MemoryBudget::within(BUDGET)).unwrap(), &model, "a reader");
        for (view, model) in &older {
            agrees(view, model, "an older view");
        }
        sound(&path, writer.view(), "at the end");
        let generation = writer.view().generation();
        let counted = writer.bands.counts().extent(generation).buckets;
        prop_assert_eq!(counted, model.len() as u64, "buckets are counted");
        let gone: Vec<Placed> = placed;
        change(&mut writer, &mut model, &gone, &[]);
        writer.bands.merge_runs().unwrap();
        writer.refresh_view().unwrap();
        prop_assert!(model.is_empty());
        let (firsts, members) = rows_of(writer.view());
        prop_assert!(firsts <= 1 && members == 0, "at most the mark of what was folded is left");
    }
}

/// Rows of `bands` and `bands_more`.
fn rows_of(view: &View) -> (usize, usize) {
    let mut rows = (0, 0);
    let mut bands = view.pinned().scan::<Bands>(&[], None).unwrap();
    while bands.advance().unwrap().is_some() {
        rows.0 += 1;
    }
    let mut more = view.pinned().scan::<BandsMore>(&[], None).unwrap();
    while more.advance().unwrap().is_some() {
        rows.1 += 1;
    }
    rows
}

/// Documents with hashes of their own in every band but the first, where they share few.
fn many(from: u64, count: u64) -> Vec<Placed> {
    let hash =
        |document: u64, band: u64| (document * 31 + band).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
    (from..from + count)
        .map(|document| {
            (DocId(document), vec![document % 50, hash(document, 1), hash(document, 2)])
        })
        .collect()
}

#[test]
fn a_large_commit_becomes_a_run_with_its_filter() {
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
    writer.bands.merge_runs().unwrap();
    writer.flush().unwrap();
    assert!(writer.bands.runs().is_empty());
    agrees(writer.view(), &model, "folded");
    drop(writer);
    for bytes in [&saved[..], &saved[..1000], b""] {
        std::fs::write(&file, bytes).unwrap();
        let mut writer = open(&path);
        agrees(writer.view(), &model, "a stale or damaged file");
        assert!(writer.bands.gate().is_loaded(), "it was built again");
        writer.flush().unwrap();
        assert!(std::fs::read(&file).unwrap() != bytes, "it was written again");
    }
    sound(&path, &store::read(&path, MemoryBudget::within(BUDGET)).unwrap(), "at the end");
}

#[test]
fn repeated_documents_leave_no_rows_and_no_growing_filter() {
    const EACH: u64 = 20_000;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("corpus");
    create(&path);
    let mut model = Model::new();
    let mut writer = open(&path);
    let mut last = many(0, EACH);
    commit(&mut writer, &mut model, &last);
    for night in 1..8 {
        let new = many(night * EACH, EACH);
        change(&mut writer, &mut model, &last, &new);
        assert!(
            writer.bands.gate().entries() <= 250_000,
            "buckets of all nights are in the filter"
        );
        last = new;
    }
    writer.bands.merge_runs().unwrap();
    writer.flush().unwrap();
    assert_eq!(writer.bands.counts().buckets(), model.len() as u64);
    // The mark of what was folded is a row too; fifty buckets of the first band are shared by all.
    assert_eq!(rows_of(writer.view()), (model.len() + 1, EACH as usize - 50));
    let some = model.into_iter().step_by(200).collect();
    agrees(writer.view(), &some, "after the last night");
}

#[test]
fn first_members_are_read_without_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("corpus");
    create(&path);
    let mut model = Model::new();
    let mut writer = open(&path);
    let same: Vec<Placed> = (0..500).map(|at| (DocId(at), vec![1, 2, 3])).collect();
    commit(&mut writer, &mut model, &same);
    let view = writer.view().clone();
    let before = view.bucket_members_read();
    let firsts = view.bucket_firsts(&[(0, 1), (1, 2), (2, 3)]).unwrap();
    assert_eq!(firsts, vec![Some((DocId(0), true)); 3]);
    assert_eq!(view.bucket_members_read(), before);
    view.buckets(&[(0, 1)], 1000, |_| false).unwrap();
    assert_eq!(view.bucket_members_read(), before + 500, "the counter counts");
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
        db.put_cf(&family_handle::<BandRuns>(&db).unwrap(), &key, damaged).unwrap();
        writer.flush().unwrap();
        let view = store::read(&path, MemoryBudget::within(BUDGET)).unwrap();
        let error = view.buckets(&[(0, 1)], 1, |_| true).unwrap_err().to_string();
        assert!(error.contains("corrupt band run in family band_runs"), "{error}");
        let faults = store::check(
            &view,
            (&OpenedJournal::hold(&path), &path),
            CheckDepth::Full,
            &Context::new(),
        )
        .unwrap();
        assert!(faults.iter().any(|fault| fault.place == "band_runs"), "{faults:?}");
    }
    drop(writer);
    let error =
        StoreWriter::open(&path, MemoryBudget::within(BUDGET), 2).err().unwrap().to_string();
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
    writer.bands.merge_runs().unwrap();
    writer.flush().unwrap();
    agrees(&store::read(&path, MemoryBudget::within(BUDGET)).unwrap(), &model, "a reader");
    // The log tells of a folding that the manifest does not have.
    let counts = BandCounters { folded: 1000, ..BandCounters::default() };
    let db = Arc::clone(&writer.db);
    let family = family_handle::<BandRuns>(&db).unwrap();
    db.put_cf(&family, BandCounters::KEY.to_bytes(), counts.encode()).unwrap();
    let error = store::read(&path, MemoryBudget::within(BUDGET)).err().unwrap().to_string();
    assert!(error.contains("missing folded band runs"), "{error}");
}

#[test]
fn a_folded_run_whose_deletion_is_not_seen_hides_no_newer_row() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("corpus");
    create(&path);
    let mut model = Model::new();
    let mut writer = open(&path);
    commit(&mut writer, &mut model, &many(0, 3000));
    let run = writer.bands.runs()[0].clone();
    writer.bands.merge_runs().unwrap();
    writer.refresh_view().unwrap();
    change(&mut writer, &mut model, &many(0, 2), &many(5000, 3));
    assert!(writer.bands.runs().is_empty(), "a small commit writes rows");
    let key = BandRunKey { commit: run.commit, part: run.part }.to_bytes();
    writer.db.put_cf(&family_handle::<BandRuns>(&writer.db).unwrap(), &key, run.encode()).unwrap();
    agrees(&store::read(&path, MemoryBudget::within(BUDGET)).unwrap(), &model, "a reader");
    drop(writer);
    agrees(open(&path).view(), &model, "the next writer");
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
fn a_budget_too_small_for_the_filter_gives_no_filter() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("corpus");
    create(&path);
    let mut model = Model::new();
    let memory = MemoryBudget { bands: 200 << 10, ..MemoryBudget::within(BUDGET) };
    let mut writer = StoreWriter::open(&path, memory, 2).unwrap();
    for at in 0..8 {
        commit(&mut writer, &mut model, &many(at * 10_000, 10_000));
    }
    agrees(writer.view(), &model, "without");
    assert!(!writer.bands.gate().is_loaded());
    drop(writer);
    let writer = StoreWriter::open(&path, memory, 2).unwrap();
    agrees(writer.view(), &model, "without, opened again");
    assert!(!writer.bands.gate().is_loaded());
}
