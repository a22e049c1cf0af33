//! Compacts whole families, a range of keys after the other, so that a request to stop is heard between them.
//!
//! A compaction is believed when its tables are new. RocksDB's call has no result, and for want of room it gives a
//! compaction up while it takes later writes: so the live tables of before and after are compared, and the commit that
//! ends a purge is not made while an old one is live.

use crate::error::StoreError;
use model::Context;
use model::show::count;
use rocksdb::{BottommostLevelCompaction, CompactOptions, DB, LiveFile, WriteBatch};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of tables that are compacted before the next look at the interrupt: some seconds of work.
pub const PIECE: u64 = 256 << 20;

/// A range of the keys of a family: from a key on, up to another one, that included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CompactionRange {
    family: &'static str,
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
}

/// Rewrites families into their most compact form, some `piece` bytes of tables at a time: deleted and replaced rows
/// are gone after it. What is buffered must have been flushed.
///
/// # Errors
/// [`StoreError::Interrupted`] between two pieces: those before are compact, and all rows are there.
pub fn compact(
    db: &DB,
    families: impl Iterator<Item = &'static str>,
    piece: u64,
    context: &Context<'_>,
) -> Result<(), StoreError> {
    let (files, families) = (db.live_files()?, Vec::from_iter(families));
    let pieces: Vec<CompactionRange> =
        families.iter().flat_map(|family| pieces(&files, family, piece)).collect();
    context.progress.begin("compacting", Some(pieces.len() as u64));
    let mut options = CompactOptions::default();
    options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    for (done, CompactionRange { family, from, to }) in (1..).zip(pieces) {
        context.check_interrupt()?;
        if let Some(handle) = db.cf_handle(family) {
            db.compact_range_cf_opt(&handle, from, to, &options);
        }
        context.progress.advance(done);
    }
    context.progress.end();
    expect_rewritten(db, &families, &files)
}

/// Fails for a table of these families that was there `before` and is live still. A compaction that RocksDB gives up says
/// nothing, and for want of room it does not even refuse later commits.
fn expect_rewritten(
    db: &DB,
    families: &[&'static str],
    before: &[LiveFile],
) -> Result<(), StoreError> {
    let before: BTreeSet<&str> = before.iter().map(|file| file.name.as_str()).collect();
    let mut left: BTreeMap<String, u64> = BTreeMap::new();
    for file in db.live_files()? {
        let family = file.column_family_name;
        if before.contains(file.name.as_str()) && families.contains(&family.as_str()) {
            *left.entry(family).or_default() += 1;
        }
    }
    if left.is_empty() {
        return Ok(());
    }
    // RocksDB reports a damaged block to whoever writes next.
    db.write(WriteBatch::default())?;
    let tables = left.values().sum();
    let families: Vec<String> = left.into_keys().collect();
    Err(StoreError::Rocks(format!(
        "{} not rewritten (of {}): RocksDB gave the compaction up, as it does where there is no room; make room for twice the largest family, then run the same again",
        count(tables, "table is", "tables are"),
        families.join(", ")
    )))
}

/// Ranges that together are all keys of a family, and have none in common. They are cut where tables of the lowest
/// level end, so that none of these is in two of them.
fn pieces(files: &[LiveFile], family: &'static str, piece: u64) -> Vec<CompactionRange> {
    let own = || files.iter().filter(|file| file.column_family_name == family);
    let lowest = own().map(|file| file.level).max().unwrap_or(0);
    let mut tables: Vec<&LiveFile> = own().filter(|file| file.level == lowest).collect();
    // Tables of level 0 overlap each other.
    if lowest == 0 {
        tables.clear();
    }
    tables.sort_by(|a, b| a.start_key.cmp(&b.start_key));
    let mut pieces = Vec::new();
    let (mut from, mut bytes) = (None, 0);
    for table in tables {
        bytes += table.size as u64;
        let Some(to) = table.end_key.clone().filter(|_| bytes >= piece) else { continue };
        // The first key after it.
        let next = to.iter().copied().chain([0]).collect();
        pieces.push(CompactionRange { family, from: from.replace(next), to: Some(to) });
        bytes = 0;
    }
    pieces.push(CompactionRange { family, from, to: None });
    pieces
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a database of this test, which is whole")]
mod tests {
    use super::*;
    use model::{Interrupt, Progress, ProgressTally};
    use rocksdb::{FlushOptions, IteratorMode, Options};
    use std::sync::atomic::{AtomicU64, Ordering};

    const FAMILIES: [&str; 2] = ["default", "more"];

    type Row = (Box<[u8]>, Box<[u8]>);
    type Range = (Option<Vec<u8>>, Option<Vec<u8>>);

    /// Requests a stop after a number of pieces.
    struct Stopping {
        after: u64,
        interrupt: Interrupt,
        told: AtomicU64,
        total: AtomicU64,
    }

    impl Stopping {
        fn after(pieces: u64) -> Self {
            let interrupt = Interrupt::default();
            Self { after: pieces, interrupt, told: AtomicU64::new(0), total: AtomicU64::new(0) }
        }

        fn run(&self, db: &DB, piece: u64) -> Result<(), StoreError> {
            compact(
                db,
                FAMILIES.into_iter(),
                piece,
                &Context::new().with_progress(self).with_interrupt(&self.interrupt),
            )
        }
    }

    impl Progress for Stopping {
        fn begin(&self, _: &str, total: Option<u64>) {
            self.total.store(total.unwrap(), Ordering::SeqCst);
        }
        fn advance(&self, done: u64) {
            self.told.store(done, Ordering::SeqCst);
            if done == self.after {
                self.interrupt.raise();
            }
        }
        fn tally(&self, _: &ProgressTally) {}
        fn end(&self) {}
        fn note(&self, _: &str) {}
    }

    /// A database of small tables on several levels, with rows that were replaced and rows that were deleted.
    fn database(directory: &std::path::Path) -> DB {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        options.set_target_file_size_base(16 << 10);
        options.set_disable_auto_compactions(true);
        options.set_compression_type(rocksdb::DBCompressionType::None);
        let families = FAMILIES.map(|name| (name, options.clone()));
        let db = DB::open_cf_with_opts(&options, directory, families).unwrap();
        for family in FAMILIES {
            let family = db.cf_handle(family).unwrap();
            for round in 0_u32..4 {
                for row in (round % 2..4000).step_by(round as usize % 3 + 1) {
                    db.put_cf(&family, format!("{row:04}"), [round as u8; 100]).unwrap();
                }
                for row in (0_u32..4000).filter(|row| row % 7 == round) {
                    db.delete_cf(&family, format!("{row:04}")).unwrap();
                }
                db.flush_cf_opt(&family, &FlushOptions::default()).unwrap();
                if round == 1 {
                    db.compact_range_cf(&family, None::<&[u8]>, None::<&[u8]>);
                }
            }
        }
        db
    }

    fn rows(db: &DB) -> Vec<Row> {
        let family = |name| db.cf_handle(name).unwrap();
        let of = |name| db.iterator_cf(&family(name), IteratorMode::Start).map(Result::unwrap);
        FAMILIES.into_iter().flat_map(|name| of(name).collect::<Vec<_>>()).collect()
    }

    /// Rows that are hidden by others or deleted, and tables above the lowest level.
    fn loose(db: &DB) -> (u64, usize) {
        let files = db.live_files().unwrap();
        let entries: u64 = files.iter().map(|file| file.num_entries).sum();
        let lowest = files.iter().map(|file| file.level).max().unwrap();
        let above = files.iter().filter(|file| file.level < lowest).count();
        (entries - rows(db).len() as u64, above)
    }

    #[test]
    fn pieces_together_are_one_compaction() {
        let directory = tempfile::tempdir().unwrap();
        let db = database(directory.path());
        let before = rows(&db);
        assert!(loose(&db).0 > 1000 && loose(&db).1 > 0);
        let all = Stopping::after(u64::MAX);
        all.run(&db, 40 << 10).unwrap();
        let (told, total) = (all.told.into_inner(), all.total.into_inner());
        assert!(told == total && total > 8, "{total} pieces");
        assert_eq!(rows(&db), before);
        assert_eq!(loose(&db), (0, 0));
    }

    #[test]
    fn a_stop_is_heard_between_pieces_and_loses_no_row() {
        let directory = tempfile::tempdir().unwrap();
        let db = database(directory.path());
        let before = rows(&db);
        for after in [1, 4, 7] {
            let some = Stopping::after(after);
            let error = some.run(&db, 40 << 10).unwrap_err();
            assert!(matches!(error, StoreError::Interrupted(_)), "{error}");
            assert_eq!(some.told.into_inner(), after);
            assert_eq!(rows(&db), before);
        }
        let asked = Stopping::after(u64::MAX);
        asked.interrupt.raise();
        assert!(asked.run(&db, 40 << 10).is_err(), "asked before it began");
        assert_eq!(asked.told.into_inner(), 0);
        Stopping::after(u64::MAX).run(&db, 40 << 10).unwrap();
        assert_eq!((rows(&db), loose(&db)), (before, (0, 0)));
    }

    #[test]
    fn pieces_are_all_keys_once() {
        let file = |level, start: u8, end: u8, size| LiveFile {
            column_family_name: "a".to_owned(),
            name: String::new(),
            size,
            level,
            start_key: Some(vec![start]),
            end_key: Some(vec![end]),
            num_entries: 1,
            num_deletions: 0,
        };
        let cut = |files: &[LiveFile], piece| -> Vec<Range> {
            pieces(files, "a", piece).into_iter().map(|piece| (piece.from, piece.to)).collect()
        };
        let whole = vec![(None, None)];
        let lowest =
            [file(6, 40, 49, 5), file(1, 0, 99, 50), file(6, 10, 19, 5), file(6, 60, 80, 5)];
        assert_eq!(cut(&lowest, 16), whole);
        assert_eq!(cut(&[], 1), whole);
        assert_eq!(cut(&[file(0, 1, 5, 9), file(0, 2, 9, 9)], 1), whole, "level 0");
        assert_eq!(
            cut(&lowest, 10),
            [(None, Some(vec![49])), (Some(vec![49, 0]), None)],
            "in the order of their keys"
        );
        assert_eq!(cut(&lowest, 5).len(), 4);
        assert_eq!(
            pieces(&lowest, "b", 1),
            [CompactionRange { family: "b", ..CompactionRange::default() }]
        );
    }
}
