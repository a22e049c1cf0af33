//! The writer's end of the band index: stages the entries of a commit, folds many runs, drops abandoned generations.
//!
//! With a generation go its runs, which a later folding would make rows of again, its counters, and what the filter
//! knows of it.

use crate::bytes::key::{BandRunKey, StoreKey};
use crate::database::family::family_handle;
use crate::database::tuning::MemoryBudget;
use crate::database::{Database, PinnedMoment};
use crate::error::StoreError;
use crate::files::directory::CorpusDirectory;
use crate::index::bucket::{Bands, BandsMore, encode_first, key_of, member_key_of};
use crate::index::changes::{BandBatch, Sorted};
use crate::index::filter_cache::FilterCache;
use crate::index::lookup::{self, IndexReader};
use crate::index::merge::merge_runs;
use crate::index::run::{BandCounters, BandRuns, IndexEntry, IndexRun};
use model::{CommitSeq, Generation, IoError};
use rocksdb::{CompactOptions, DB, WriteBatch};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Entries from which a commit writes a run: fewer are cheaper as rows.
const RUN_FROM: usize = 4096;
/// Entries that may stay in runs when an ingest ends: the first look-up of buckets reads them, 12 bytes each. Folding
/// fewer costs a small ingest more than all its own work: a table over the whole range of hashes, and the compaction
/// that it sets off.
const LEAVE: usize = 1 << 22;
/// Runs that may stay: each is searched by every look-up.
const MOST_RUNS: usize = 64;

/// Entries folded by one ingest from which its end waits for compactions: the next process, which may
/// only want to add a few documents, would begin with them.
const BACKLOG: usize = 4 << 20;

/// Bytes of folded runs that may stay on disk until a compaction comes by itself.
const RECLAIM: u64 = 16 << 20;

/// What the writer holds of the band index.
pub(crate) struct IndexWriter {
    pub(crate) db: Arc<Database>,
    pub(crate) counts: BandCounters,
    /// Not folded, oldest first.
    pub(crate) runs: Vec<Arc<IndexRun>>,
    pub(crate) gate: Arc<FilterCache>,
    folder: PathBuf,
    /// Entries in runs at which they are folded.
    fold_at: usize,
    /// Entries folded since the last look.
    folded: usize,
    /// Entries from which a commit writes a run.
    run_from: usize,
    threads: usize,
}

/// The entries of a commit, on their way into it.
pub(crate) struct StagedRuns {
    pub(crate) counts: BandCounters,
    pub(crate) runs: Vec<Arc<IndexRun>>,
    /// The runs go as rows.
    pub(crate) as_rows: bool,
    /// Generations without entries.
    pub(crate) forgotten: Vec<Range<u32>>,
}

impl IndexWriter {
    /// Reads what is there, and removes what a killed folding left.
    pub(crate) fn open(
        db: &Arc<Database>,
        place: &CorpusDirectory,
        generation: Generation,
        memory: MemoryBudget,
        threads: usize,
    ) -> Result<Self, StoreError> {
        let folder = place.folding();
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(IoError::of("removing", &folder)(error).into());
            }
            _ => {}
        }
        let pinned = PinnedMoment::at_now(db);
        let counts = match super::lookup::read_counters(&pinned)? {
            Some(counts) => counts,
            None => estimate(db, generation)?,
        };
        let runs = lookup::load(&pinned, &counts)?;
        // A quarter of the share for runs, the rest for the filter.
        let fold_at = (memory.bands / 4 / size_of::<IndexEntry>()).clamp(1 << 18, 1 << 22);
        let budget = memory.band_filter();
        let gate = Arc::new(FilterCache::new(place.band_filter(), budget, counts.chain));
        let (db, run_from) = (Arc::clone(db), RUN_FROM);
        Ok(Self { db, counts, runs, gate, folder, fold_at, run_from, folded: 0, threads })
    }

    /// What a view of this moment needs.
    pub(crate) fn index(&self) -> IndexReader {
        IndexReader::known(self.counts.clone(), self.runs.clone(), Arc::clone(&self.gate))
    }

    /// Puts what a commit changes in buckets of a generation into its write.
    pub(crate) fn stage(
        &self,
        changes: BandBatch,
        generation: Generation,
        commit: CommitSeq,
        batch: &mut WriteBatch,
    ) -> Result<Option<StagedRuns>, StoreError> {
        let entries = changes.entries();
        if entries == 0 {
            return Ok(None);
        }
        // Rows under runs would be older than they are: see the invariant of this module.
        let as_rows = entries < self.run_from && self.runs.is_empty();
        let mut counts = self.counts.clone();
        let Sorted { firsts, members, gained, bands } = changes.into_sorted();
        counts.add(generation, gained, bands);
        let cut = IndexRun::cut(commit, 0, generation, counts.chain, firsts, members);
        counts.chain = cut.last().map_or(counts.chain, |(run, _)| run.chain);
        let family = family_handle::<BandRuns>(&self.db)?;
        let mut runs = Vec::new();
        for (run, bytes) in cut {
            if as_rows {
                put_rows(&self.db, &run, batch)?;
            } else {
                let key = BandRunKey { commit, part: run.part };
                batch.put_cf(&family, key.to_bytes(), bytes);
            }
            runs.push(Arc::new(run));
        }
        batch.put_cf(&family, BandCounters::KEY.to_bytes(), counts.encode());
        Ok(Some(StagedRuns { counts, runs, as_rows, forgotten: Vec::new() }))
    }

    /// The filter learns of a commit, beside its write: no view sees that before.
    pub(crate) fn announce(&self, staged: Option<&StagedRuns>) {
        if let Some(StagedRuns { counts, runs, .. }) = staged {
            let added: Vec<_> =
                runs.iter().map(|run| (run.generation, run.firsts.as_slice())).collect();
            self.gate.add(counts, &added);
        }
    }

    /// The commit stands; folds when its runs were one too many.
    pub(crate) fn committed(&mut self, staged: Option<StagedRuns>) -> Result<(), StoreError> {
        let Some(staged) = staged else { return Ok(()) };
        self.counts = staged.counts;
        self.forget_in_memory(&staged.forgotten);
        if !staged.as_rows {
            self.runs.extend(staged.runs);
        }
        if self.entries() >= self.fold_at || self.runs.len() > MOST_RUNS {
            self.merge_runs()?;
        }
        Ok(())
    }

    /// An ingest ends: leaves few entries in runs, and the filter in its file. Answers whether views
    /// must be made again.
    pub(crate) fn finish_ingest(&mut self) -> Result<bool, StoreError> {
        let folds = self.entries() > LEAVE.min(self.fold_at);
        if folds {
            self.merge_runs()?;
        }
        self.gate.save();
        Ok(folds)
    }

    /// Gives back what folded runs still take on disk, when it is much.
    pub(crate) fn reclaim(&self) -> Result<(), StoreError> {
        let family = family_handle::<BandRuns>(&self.db)?;
        let size = self.db.property_int_value_cf(&family, "rocksdb.total-sst-files-size")?;
        let held = (self.entries() * size_of::<IndexEntry>()) as u64;
        if size.is_some_and(|size| size > RECLAIM + held) {
            // When it fails it says nothing, but the rows are deleted already. Others continue meanwhile: an exclusive
            // one would first wait for all that is being compacted.
            let mut options = CompactOptions::default();
            options.set_exclusive_manual_compaction(false);
            self.db.compact_range_cf_opt(&family, None::<&[u8]>, None::<&[u8]>, &options);
        }
        Ok(())
    }

    fn entries(&self) -> usize {
        self.runs.iter().map(|run| run.entries()).sum()
    }

    /// Whether so much was folded since the last look that compactions have a backlog.
    pub(crate) fn take_backlog(&mut self) -> bool {
        std::mem::take(&mut self.folded) > BACKLOG
    }

    pub(crate) fn merge_runs(&mut self) -> Result<(), StoreError> {
        self.folded += self.entries();
        self.counts = merge_runs(&self.db, &self.folder, &self.runs, &self.counts, self.threads)?;
        self.runs.clear();
        Ok(())
    }

    #[cfg(test)]
    pub(crate) const fn set_run_from(&mut self, entries: usize) {
        self.run_from = entries;
    }

    #[cfg(test)]
    pub(crate) fn runs(&self) -> &[Arc<IndexRun>] {
        &self.runs
    }

    #[cfg(test)]
    pub(crate) const fn counts(&self) -> &BandCounters {
        &self.counts
    }

    #[cfg(test)]
    pub(crate) fn gate(&self) -> &FilterCache {
        &self.gate
    }
}

/// Counters of a store that kept none before format 2.
fn estimate(db: &DB, generation: Generation) -> Result<BandCounters, StoreError> {
    let family = family_handle::<Bands>(db)?;
    let rows = db.property_int_value_cf(&family, "rocksdb.estimate-num-keys")?.unwrap_or(0);
    let mut counts = BandCounters::default();
    if rows > 0 {
        counts.add(generation, i64::try_from(rows).unwrap_or(i64::MAX), 32);
    }
    Ok(counts)
}

fn put_rows(db: &DB, run: &IndexRun, batch: &mut WriteBatch) -> Result<(), StoreError> {
    let bands = family_handle::<Bands>(db)?;
    for entry in &run.firsts {
        let key = key_of(run.generation, entry.bucket());
        match entry.first() {
            Some((first, more)) => batch.put_cf(&bands, key, encode_first(first, more)),
            None => batch.delete_cf(&bands, key),
        }
    }
    let further = family_handle::<BandsMore>(db)?;
    for entry in &run.members {
        let (document, left) = entry.member();
        let key = member_key_of(run.generation, entry.bucket(), document.0);
        if left {
            batch.delete_cf(&further, key);
        } else {
            batch.put_cf(&further, key, []);
        }
    }
    Ok(())
}

fn is_in(generations: &[Range<u32>], generation: Generation) -> bool {
    generations.iter().any(|range| range.contains(&generation.0))
}

impl IndexWriter {
    /// Puts into a commit, behind its own entries, that nothing of `generations` is left in runs and counters. Their
    /// rows are the caller's to delete.
    pub(crate) fn drop_generations(
        &self,
        staged: Option<StagedRuns>,
        generations: Vec<Range<u32>>,
        batch: &mut WriteBatch,
    ) -> Result<Option<StagedRuns>, StoreError> {
        if generations.is_empty() {
            return Ok(staged);
        }
        let mut staged = staged.unwrap_or_else(|| StagedRuns {
            counts: self.counts.clone(),
            runs: Vec::new(),
            as_rows: false,
            forgotten: Vec::new(),
        });
        let family = family_handle::<BandRuns>(&self.db)?;
        for run in self.runs.iter().filter(|run| is_in(&generations, run.generation)) {
            let key = BandRunKey { commit: run.commit, part: run.part };
            batch.delete_cf(&family, key.to_bytes());
        }
        staged.counts.generations.retain(|(generation, _)| !is_in(&generations, *generation));
        batch.put_cf(&family, BandCounters::KEY.to_bytes(), staged.counts.encode());
        staged.forgotten = generations;
        Ok(Some(staged))
    }

    /// The commit that forgets them stands.
    pub(crate) fn forget_in_memory(&mut self, generations: &[Range<u32>]) {
        if !generations.is_empty() {
            self.runs.retain(|run| !is_in(generations, run.generation));
            // A filter cannot forget: another one is built when it is worth its cost.
            self.gate.empty();
        }
    }
}
