//! Tests of logs that are cut, emptied, zeroed or gone: nothing opens with a hole.

use super::*;
use crate::bytes::record::{CommitRecord, RejectRecord};
use crate::database::tuning::MemoryBudget;
use crate::{StoreError, StoreWriter, create, read};
use model::{DedupMode, Policy};

const MEMORY: u64 = 16 << 20;

/// What an error says, with the way out.
fn words(error: &StoreError) -> String {
    format!("{error}; {}", error.hint().unwrap())
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Commits `count` rejects, one a commit.
fn rejects(writer: &mut StoreWriter, count: u64) {
    for _ in 0..count {
        let mut batch = writer.begin().unwrap();
        let number = batch.commit_seq().0;
        let record = RejectRecord {
            source: "web".to_owned(),
            path: "a".to_owned(),
            number,
            offset: 0,
            reason: String::new(),
            bytes: 0,
            raw: vec![3; 20_000],
        };
        batch.reject([number as u8; 16], &record).unwrap();
        batch.commit(&CommitRecord::default()).unwrap();
    }
}

/// A corpus as a kill leaves it: two logs, both holding what is in no table, since but one family of those
/// in the older log has become a table.
fn killed(at: &Path) -> CorpusDirectory {
    let living = at.join("living");
    create(&living, &Policy::new(DedupMode::Exact, 0.8).unwrap(), &[]).unwrap();
    let mut writer = StoreWriter::open(&living, MemoryBudget::within(MEMORY), 2).unwrap();
    rejects(&mut writer, 3);
    for family in ["commits", "meta"] {
        let family = writer.db.cf_handle(family).unwrap();
        writer.db.flush_cf(&family).unwrap();
    }
    rejects(&mut writer, 3);
    // A kill is a moment, a copy takes its time: no table comes or goes meanwhile.
    writer.db.wait_for_compact(&rocksdb::WaitForCompactOptions::default()).unwrap();
    let place = CorpusDirectory::new(&at.join("killed"));
    copy(&living, &place.root);
    place
}

fn logs(place: &CorpusDirectory) -> Vec<std::path::PathBuf> {
    let mut numbers = place.logs().unwrap();
    numbers.sort_unstable();
    let paths = numbers.into_iter().map(|number| place.database().join(name(number)));
    paths.filter(|path| std::fs::metadata(path).unwrap().len() > 0).collect()
}

/// What a corpus says when it is opened, by a reader and by a writer, on copies.
fn opened(place: &CorpusDirectory, beside: &Path) -> [Result<usize, StoreError>; 2] {
    let read_one =
        |path: &Path| Ok(read(path, MemoryBudget::within(MEMORY))?.rejects(100)?.count());
    let copied = beside.join("copied");
    copy(&place.root, &copied);
    let reader = read_one(&copied);
    let writer = StoreWriter::open(&copied, MemoryBudget::within(MEMORY), 2)
        .and_then(|writer| Ok(writer.view().rejects(100)?.count()));
    std::fs::remove_dir_all(&copied).unwrap();
    [reader, writer]
}

#[test]
fn an_older_log_that_is_damaged_in_any_way_is_refused_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let place = killed(directory.path());
    assert!(opened(&place, directory.path()).into_iter().all(|found| found.unwrap() == 6));
    let logs = logs(&place);
    assert!(logs.len() >= 2, "{logs:?}");
    for log in &logs {
        let whole = std::fs::read(log).unwrap();
        let cut = |at: usize| Some(whole[..at].to_vec());
        let mut zeroed = whole.clone();
        zeroed[whole.len() / 2..].fill(0);
        let mut flipped = whole.clone();
        flipped[5] ^= 0x40;
        let mut recycled = whole.clone();
        recycled[6] = 5;
        for (what, bytes) in [
            ("gone", None),
            ("emptied", cut(0)),
            ("cut", cut(whole.len() / 2)),
            ("cut by a byte", cut(whole.len() - 1)),
            ("zeroed", Some(vec![0; whole.len()])),
            ("zeroed from its middle on", Some(zeroed)),
            ("with a wrong length", Some(flipped)),
            ("with a type that is none of its own", Some(recycled)),
        ] {
            match bytes {
                None => std::fs::remove_file(log).unwrap(),
                Some(bytes) => std::fs::write(log, bytes).unwrap(),
            }
            for found in opened(&place, directory.path()) {
                let error = found.expect_err(what);
                let words = words(&error);
                assert!(matches!(error, StoreError::LostLog { .. }), "{what}: {words}");
                let name = log.file_name().unwrap().to_str().unwrap();
                assert!(words.contains(name) && words.contains("restore a backup"), "{words}");
                assert!(words.contains("commit"), "{words}");
            }
            std::fs::write(log, &whole).unwrap();
        }
    }
    assert!(opened(&place, directory.path()).into_iter().all(|found| found.unwrap() == 6));
}

#[test]
fn flushed_logs_may_go_and_older_journals_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("corpus");
    create(&path, &Policy::new(DedupMode::Exact, 0.8).unwrap(), &[]).unwrap();
    let place = CorpusDirectory::new(&path);
    let mut writer = StoreWriter::open(&path, MemoryBudget::within(MEMORY), 2).unwrap();
    rejects(&mut writer, 2);
    let note = std::fs::read(place.manifest_note()).ok();
    writer.flush().unwrap();
    drop(writer);
    let found = |what: &str| {
        for found in opened(&place, directory.path()) {
            assert_eq!(found.unwrap(), 2, "{what}");
        }
    };
    found("whole");
    // The note of the moment before the logs became tables: the database itself is asked.
    match note {
        Some(note) => std::fs::write(place.manifest_note(), note).unwrap(),
        None => std::fs::remove_file(place.manifest_note()).unwrap(),
    }
    found("with an older note");
    std::fs::remove_file(place.manifest_note()).unwrap();
    found("without a note");
    // Releases that named no logs wrote every other record.
    let journal = std::fs::read(place.journal()).unwrap();
    let commits: Vec<u8> =
        journal.chunks(48).filter_map(|pair| pair.get(24..)).flatten().copied().collect();
    std::fs::write(place.journal(), commits).unwrap();
    found("with an older journal");
}

/// RocksDB's words were all: `Corruption: checksum mismatch`, of no file and with no way out.
#[test]
fn a_partly_zeroed_log_is_named_with_the_way_out() {
    let directory = tempfile::tempdir().unwrap();
    let place = killed(directory.path());
    for log in &logs(&place) {
        let whole = std::fs::read(log).unwrap();
        let end = whole.len() as u64;
        assert_eq!(damage(log, end, LogScan::Bytes).unwrap(), None, "checksums are RocksDB's");
        // Within a record, over the border of two, and one bit.
        let middle = whole.len() / 2;
        for (what, places) in [
            ("a stretch", middle..middle + 9),
            ("records", middle..middle + 40_000),
            ("a byte", 50..51),
        ] {
            let mut bytes = whole.clone();
            let upto = places.end.min(bytes.len());
            bytes[places.start..upto].iter_mut().for_each(|byte| *byte ^= 0x55);
            if what != "a byte" {
                bytes[places.start..upto].fill(0);
            }
            std::fs::write(log, bytes).unwrap();
            for found in opened(&place, directory.path()) {
                let words = words(&found.expect_err(what));
                let name = log.file_name().unwrap().to_str().unwrap();
                for told in [name, "of commit", "restore a backup"] {
                    assert!(words.contains(told), "{what}: {words}");
                }
            }
            std::fs::write(log, &whole).unwrap();
        }
    }
}
