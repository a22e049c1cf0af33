//! The room that the crowd takes, from commit to commit.

use super::cluster_labels::ClusterCoverage;
use super::crowd::{CrowdIndex, CrowdMember};
use super::writer_cache::{TextTwins, WriterCache};
use model::{DedupMode, DocId, Error, Generation, Policy};
use store::{CommitRecord, MemoryBudget, StoreWriter, create};
use text::dedup::{FamilyQuery, Sketch};

/// A bucket that finds no room takes as much.
const ROW: usize = 32;

fn writer(directory: &tempfile::TempDir, memory: u64) -> StoreWriter {
    let path = directory.path().join("corpus");
    create(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
    StoreWriter::open(&path, MemoryBudget::within(memory), 1).unwrap()
}

/// A document like no other.
fn entrant(document: DocId) -> CrowdMember {
    let mut shingles: Vec<u64> =
        (0..300).map(|at| (document.0 * 300 + at).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    shingles.sort_unstable();
    CrowdMember { document, sketch: Sketch::of(&shingles), shingles: shingles.into() }
}

fn read(documents: &[DocId]) -> Result<Vec<CrowdMember>, Error> {
    Ok(documents.iter().copied().map(entrant).collect())
}

fn commit(writer: &mut StoreWriter, crowd: CrowdIndex) {
    let mut batch = writer.begin().unwrap();
    let twins = TextTwins::new(Generation(0), 0);
    WriterCache::put_back(&mut batch, crowd, twins, &[]);
    batch.commit(&CommitRecord::default()).unwrap();
}

#[test]
fn extra_room_lasts_one_commit() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer(&directory, 8 << 20);
    let room = writer.begin().unwrap().carry_over_budget();
    for number in 0..4_u64 {
        let (mut crowd, _) = WriterCache::take(&writer.begin().unwrap());
        assert_eq!(crowd.budget(), room, "commit {number}");
        crowd.widen();
        assert_eq!(crowd.budget(), 2 * room, "commit {number}");
        let members: Vec<DocId> = (number * 1000..(number + 1) * 1000).map(DocId).collect();
        crowd.absorb((0, number), &members, &read).unwrap();
        // The last document that there is room for may go beyond it, and tables grow by doubling.
        assert!(crowd.bytes() < 4 * room, "commit {number}: {} of {room}", crowd.bytes());
        commit(&mut writer, crowd);
    }
    // The next commit has the room that this one had.
    let (mut crowd, _) = WriterCache::take(&writer.begin().unwrap());
    assert!(crowd.bytes() > room);
    crowd.shrink();
    assert!(crowd.bytes() < room && crowd.is_empty());
    // One that is full of what it was given has all of it in the next commit.
    let members: Vec<DocId> = (0..2000).map(DocId).collect();
    crowd.absorb((0, 0), &members, &read).unwrap();
    assert!(crowd.bytes() >= room && crowd.held((0, 0)).is_some_and(|held| !held.is_whole));
    let full = crowd.bytes();
    commit(&mut writer, crowd);
    let (mut crowd, _) = WriterCache::take(&writer.begin().unwrap());
    crowd.shrink();
    assert_eq!(crowd.bytes(), full);
}

#[test]
fn buckets_that_find_no_room_take_none_beside_their_row() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer(&directory, 800);
    let (mut crowd, _) = WriterCache::take(&writer.begin().unwrap());
    let absorb = |crowd: &mut CrowdIndex, bucket: u64| {
        let members: Vec<DocId> = (0..200).map(|at| DocId(bucket * 200 + at)).collect();
        crowd.absorb((0, bucket), &members, &read).unwrap();
        assert!(crowd.held((0, bucket)).is_some_and(|held| !held.is_whole));
    };
    absorb(&mut crowd, 0);
    let before = crowd.bytes();
    (1..=1000).for_each(|bucket| absorb(&mut crowd, bucket));
    assert_eq!(crowd.bytes() - before, 1000 * ROW);
    // And these rows are forgotten when they are the most.
    commit(&mut writer, crowd);
    let (crowd, _) = WriterCache::take(&writer.begin().unwrap());
    assert!((1..=1000).all(|bucket| crowd.held((0, bucket)).is_none()));
}

#[test]
fn members_that_join_an_empty_bucket_are_held() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer(&directory, 8 << 20);
    let (mut crowd, _) = WriterCache::take(&writer.begin().unwrap());
    crowd.absorb((0, 7), &[], &read).unwrap();
    assert!(crowd.held((0, 7)).is_some_and(|held| held.is_whole));
    crowd.join(&[(0, 7)], || Ok(entrant(DocId(3)))).unwrap();
    let CrowdMember { sketch, shingles, .. } = entrant(DocId(3));
    let sought = FamilyQuery { shingles: &shingles, sketch: &sketch, floor: 0.0 };
    assert!(crowd.find(&[(0, 7)], sought, |_| true).contains(&DocId(3)));
}

#[test]
fn members_of_small_buckets_are_counted_while_held() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer(&directory, 8 << 20);
    let (mut crowd, _) = WriterCache::take(&writer.begin().unwrap());
    let before = crowd.bytes();
    let members: Vec<DocId> = (0..100).map(DocId).collect();
    (0..50).for_each(|bucket| crowd.note_few((1, bucket), &members));
    assert!(crowd.bytes() >= before + 50 * 800, "{} bytes", crowd.bytes());
    crowd.absorb((0, 7), &members[..3], &read).unwrap();
    let held = crowd.bytes();
    commit(&mut writer, crowd);
    let (crowd, _) = WriterCache::take(&writer.begin().unwrap());
    assert!(crowd.bytes() + 50 * 800 <= held);
}

#[test]
fn a_large_cluster_is_held_in_part_until_all_are_needed() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer(&directory, 32 << 20);
    let (mut crowd, _) = WriterCache::take(&writer.begin().unwrap());
    let members: Vec<DocId> = (0..1000).map(DocId).collect();
    for bucket in 0..8 {
        crowd.absorb_clusters((0, bucket), &members, |_| Ok(DocId(0)), &read).unwrap();
        assert!(crowd.held((0, bucket)).is_some_and(|held| held.is_whole));
    }
    let few = crowd.homes.len();
    assert!(few < 100, "{few} held");
    crowd.join_cluster(DocId(5000), &[(0, 3)], || Ok(entrant(DocId(5000)))).unwrap();
    assert!(crowd.homes.contains_key(&DocId(5000)), "one of another cluster");
    let passed = crowd.passed_over(DocId(5000), &[(0, 3)]);
    let [(family, label, ClusterCoverage::Some)] = passed[..] else { panic!("{passed:?}") };
    assert!(crowd.passed_over(DocId(7), &[(0, 3)]).is_empty(), "one of the cluster");
    assert!(crowd.deepen(family, label, &members, &read).unwrap());
    assert_eq!(crowd.homes.len(), 1001);
    let passed = crowd.passed_over(DocId(5000), &[(0, 3), (0, 5)]);
    assert!(matches!(passed[..], [(_, _, ClusterCoverage::All)]), "{passed:?}");
}

#[test]
fn a_rebuilt_cluster_is_forgotten_without_its_buckets() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer(&directory, 800);
    let (mut crowd, _) = WriterCache::take(&writer.begin().unwrap());
    let members: Vec<DocId> = (0..200).map(DocId).collect();
    crowd.absorb_clusters((0, 0), &members, |_| Ok(DocId(0)), &read).unwrap();
    (1..=1000).for_each(|bucket| {
        crowd.absorb_clusters((0, bucket), &members, |_| Ok(DocId(0)), &read).unwrap();
    });
    commit(&mut writer, crowd);
    let (mut crowd, _) = WriterCache::take(&writer.begin().unwrap());
    members.iter().for_each(|member| crowd.dissolve(*member));
    assert!(members.iter().all(|member| crowd.labels.of(*member).is_none()));
}
