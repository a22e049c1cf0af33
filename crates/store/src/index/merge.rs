//! Folds the band index: merges committed runs into tables of the families.
//!
//! Folding is idempotent: a kill anywhere leaves the runs, the tables, or both, and the answers are the same.
//!
//! RocksDB takes the tables in under a newer sequence number, so views that are older go on seeing the runs. A reader
//! that has the manifest of before a folding and the log of after it would miss both: it finds the mark of the last
//! folded commit behind its counters, and opens again.

use crate::bytes::key::{BandRunKey, StoreKey};
use crate::database::family::{StoreFamily, family_handle};
use crate::database::tuning;
use crate::error::StoreError;
use crate::index::bucket::{Bands, BandsMore, encode_first, fold_mark, key_of, member_key_of};
use crate::index::lookup::newest;
use crate::index::run::{BandCounters, BandRuns, IndexEntry, IndexRun};
use model::invariant::part;
use model::{DocId, Generation, IoError};
use rayon::prelude::*;
use rocksdb::{DB, IngestExternalFileOptions, SstFileWriter, WriteBatch};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Entries of a table: smaller ones triple what compactions rewrite.
const TABLE: usize = 1 << 20;

/// Folds `runs`, all there are, oldest first; answers the counters as now stored. `folder` is for
/// tables in the making, on the database's file system.
pub(crate) fn merge_runs(
    db: &DB,
    folder: &Path,
    runs: &[Arc<IndexRun>],
    counts: &BandCounters,
    threads: usize,
) -> Result<BandCounters, StoreError> {
    let Some(newest) = runs.last() else { return Ok(counts.clone()) };
    std::fs::create_dir_all(folder).map_err(IoError::of("creating", folder))?;
    let folded = newest.commit.0;

    // Further members first: a first member that is marked leads to them.
    let further = tables(runs, |run| &run.members, folder, "more", threads, write_members)?;
    ingest::<BandsMore>(db, further)?;
    let mut firsts = tables(runs, |run| &run.firsts, folder, "first", threads, write_firsts)?;
    let last = folder.join("mark.sst");
    let options = tuning::table_options(&Bands::INFO);
    let mut table = SstFileWriter::create(&options);
    table.open(&last)?;
    table.put(fold_mark(), encode_first(DocId(folded), false))?;
    table.finish()?;
    firsts.push(last);
    ingest::<Bands>(db, firsts)?;

    let counts = BandCounters { folded, ..counts.clone() };
    let family = family_handle::<BandRuns>(db)?;
    let mut rows = WriteBatch::default();
    for run in runs {
        let key = BandRunKey { commit: run.commit, part: run.part };
        rows.delete_cf(&family, key.to_bytes());
    }
    rows.put_cf(&family, BandCounters::KEY.to_bytes(), counts.encode());
    // Not synced: until the next commit is, runs and tables say the same.
    db.write(rows)?;
    // Empty now; who opens next removes it if not.
    let _ = std::fs::remove_dir(folder);
    Ok(counts)
}

fn ingest<C: StoreFamily>(db: &DB, tables: Vec<PathBuf>) -> Result<(), StoreError> {
    if tables.is_empty() {
        return Ok(());
    }
    let mut options = IngestExternalFileOptions::default();
    options.set_move_files(true);
    db.ingest_external_file_cf_opts(&family_handle::<C>(db)?, &options, tables)?;
    Ok(())
}

/// The generation and bucket where a range of buckets begins.
type Start = (Generation, u64);

/// Writes the merged entries into one table a range, in parallel; answers the tables.
fn tables(
    runs: &[Arc<IndexRun>],
    entries: impl Fn(&IndexRun) -> &[IndexEntry] + Sync,
    folder: &Path,
    name: &str,
    threads: usize,
    write: impl Fn(&Path, RunMerge<'_>) -> Result<(), StoreError> + Sync,
) -> Result<Vec<PathBuf>, StoreError> {
    let total: usize = runs.iter().map(|run| entries(run).len()).sum();
    if total == 0 {
        return Ok(Vec::new());
    }
    let wanted = (total / TABLE).clamp(1, threads.max(1));
    let starts = starts(runs, &entries, wanted);
    let ends = starts.iter().skip(1).map(|start| Some(*start)).chain([None]);
    let ranges: Vec<(Start, Option<Start>)> = starts.iter().copied().zip(ends).collect();
    let tables: Vec<Option<PathBuf>> = ranges
        .par_iter()
        .enumerate()
        .map(|(at, (start, end))| {
            let merged = RunMerge::new(runs, &entries, *start, *end);
            if merged.heap.is_empty() {
                return Ok(None);
            }
            let path = folder.join(format!("{name}-{at}.sst"));
            write(&path, merged)?;
            Ok(Some(path))
        })
        .collect::<Result<_, StoreError>>()?;
    Ok(tables.into_iter().flatten().collect())
}

/// Where ranges of about equal size begin, ascending: quantiles of the longest run.
fn starts(
    runs: &[Arc<IndexRun>],
    entries: &impl Fn(&IndexRun) -> &[IndexEntry],
    wanted: usize,
) -> Vec<Start> {
    let longest = runs.iter().max_by_key(|run| entries(run).len());
    let mut starts = vec![(Generation(0), 0)];
    for at in 1..wanted {
        let cut = longest.and_then(|run| {
            let entries = entries(run);
            entries.get(entries.len() * at / wanted).map(|e| (run.generation, e.bucket()))
        });
        if let Some(cut) = cut
            && starts.last().is_some_and(|last| *last < cut)
        {
            starts.push(cut);
        }
    }
    starts
}

/// The entries of several runs in one order: generation, then bucket; of one bucket the newest run's first.
struct RunMerge<'r> {
    sources: Vec<&'r [IndexEntry]>,
    /// Generation, entry's bucket, newest first, source.
    heap: BinaryHeap<Reverse<(Generation, u64, Reverse<usize>)>>,
}

impl<'r> RunMerge<'r> {
    fn new(
        runs: &'r [Arc<IndexRun>],
        entries: &impl Fn(&IndexRun) -> &[IndexEntry],
        start: Start,
        end: Option<Start>,
    ) -> Self {
        let mut merged = Self { sources: Vec::new(), heap: BinaryHeap::new() };
        for run in runs {
            let entries = entries(run);
            let place = |limit: Start| {
                entries.partition_point(|entry| (run.generation, entry.bucket()) < limit)
            };
            let entries = part(entries, place(start)..end.map_or(entries.len(), place));
            let source = merged.sources.len();
            if let Some(first) = entries.first() {
                merged.heap.push(Reverse((run.generation, first.bucket(), Reverse(source))));
            }
            merged.sources.push(entries);
        }
        merged
    }
}

impl Iterator for RunMerge<'_> {
    type Item = (Generation, IndexEntry);

    fn next(&mut self) -> Option<Self::Item> {
        let mut top = self.heap.peek_mut()?;
        let Reverse((generation, _, Reverse(source))) = *top;
        let rest = self.sources.get_mut(source)?;
        let (first, after) = rest.split_first()?;
        *rest = after;
        match after.first() {
            Some(next) => *top = Reverse((generation, next.bucket(), Reverse(source))),
            None => drop(PeekMut::pop(top)),
        }
        Some((generation, *first))
    }
}

fn write_firsts(path: &Path, merged: RunMerge<'_>) -> Result<(), StoreError> {
    let options = tuning::table_options(&Bands::INFO);
    let mut table = SstFileWriter::create(&options);
    table.open(path)?;
    let mut last = None;
    for (generation, entry) in merged {
        // The newest came first.
        if last.replace((generation, entry.bucket())) == Some((generation, entry.bucket())) {
            continue;
        }
        let key = key_of(generation, entry.bucket());
        match entry.first() {
            Some((first, more)) => table.put(key, encode_first(first, more))?,
            None => table.delete(key)?,
        }
    }
    table.finish()?;
    Ok(())
}

fn write_members(path: &Path, merged: RunMerge<'_>) -> Result<(), StoreError> {
    let options = tuning::table_options(&BandsMore::INFO);
    let mut table = SstFileWriter::create(&options);
    table.open(path)?;
    // Each run gives the members of a bucket ascending, but several runs together do not.
    let mut bucket: Vec<(DocId, bool)> = Vec::new();
    let mut of = None;
    let mut end = |of: Option<(Generation, u64)>, bucket: &mut Vec<(DocId, bool)>| {
        let Some((generation, at)) = of else { return Ok(()) };
        for (document, left) in newest(std::mem::take(bucket)) {
            let key = member_key_of(generation, at, document.0);
            if left { table.delete(key)? } else { table.put(key, [])? }
        }
        Ok::<(), StoreError>(())
    };
    for (generation, entry) in merged {
        if of != Some((generation, entry.bucket())) {
            end(of, &mut bucket)?;
            of = Some((generation, entry.bucket()));
        }
        bucket.push(entry.member());
    }
    end(of, &mut bucket)?;
    table.finish()?;
    Ok(())
}
