//! What a view knows of the band index beside the families: runs not folded, counters, filter.

use super::filter::Filter;
use super::gate::Gate;
use super::look_up::{Ask, Bucket, CHUNK, look_up, look_up_firsts};
use crate::model::{CommitSeq, DocId, Generation};
use crate::store::columns::{BandRuns, Bands, corrupt};
use crate::store::database::Pinned;
use crate::store::error::StoreError;
use crate::store::rows::band_counters::BandCounters;
use crate::store::rows::band_firsts::decode_first;
use crate::store::rows::band_runs::{BandRunRow, First, Run};
use crate::store::rows::keys::{BandRunKey, Key};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Read when first asked for; a writer's views get it from the writer.
#[derive(Default)]
pub struct BandIndex {
    counts: OnceLock<BandCounters>,
    runs: OnceLock<Vec<Arc<Run>>>,
    gate: Option<Arc<Gate>>,
    members_read: AtomicU64,
}

impl BandIndex {
    pub(super) fn known(counts: BandCounters, runs: Vec<Arc<Run>>, gate: Arc<Gate>) -> Self {
        let (counts, runs) = (counts.into(), runs.into());
        Self { counts, runs, gate: Some(gate), members_read: AtomicU64::new(0) }
    }

    pub(super) fn counts(&self, pinned: &Pinned) -> Result<&BandCounters, StoreError> {
        if let Some(counts) = self.counts.get() {
            return Ok(counts);
        }
        let counts = read_counters(pinned)?.unwrap_or_default();
        Ok(self.counts.get_or_init(|| counts))
    }

    /// Runs not folded, oldest first.
    pub(super) fn runs(&self, pinned: &Pinned) -> Result<&[Arc<Run>], StoreError> {
        if let Some(runs) = self.runs.get() {
            return Ok(runs);
        }
        let runs = load(pinned, self.counts(pinned)?)?;
        Ok(self.runs.get_or_init(|| runs))
    }

    /// Whether the view misses tables of runs whose rows it sees deleted: its manifest was read
    /// before a folding, its log after.
    pub(in crate::store) fn misses_folded(&self, pinned: &Pinned) -> Result<bool, StoreError> {
        let folded = self.counts(pinned)?.folded;
        if folded == 0 {
            return Ok(false);
        }
        let mark = super::fold::mark();
        let Some(found) = pinned.get_bytes::<Bands>(&mark)? else { return Ok(true) };
        let (until, _) = decode_first(&found)
            .map_err(|why| corrupt::<Bands>("mark of folded runs", &mark, why))?;
        Ok(until.0 < folded)
    }

    /// See [`crate::store::View::buckets`].
    pub(in crate::store) fn buckets(
        &self,
        pinned: &Pinned,
        generation: Generation,
        sorted: &[(u8, u64)],
        cap: usize,
        keep: impl Fn(DocId) -> bool,
    ) -> Result<Vec<Option<Bucket>>, StoreError> {
        let filter = self.filter(pinned, sorted.len())?;
        let ask = self.ask(pinned, generation, filter.as_deref())?;
        self.counted(|read| look_up(&ask, sorted, cap, keep, read))
    }

    /// See [`crate::store::View::buckets_bulk`].
    pub(in crate::store) fn buckets_bulk(
        &self,
        pinned: &Pinned,
        generation: Generation,
        sorted: &[(u8, u64)],
        cap: usize,
        keep: &(dyn Fn(DocId) -> bool + Sync),
    ) -> Result<Vec<Option<Bucket>>, StoreError> {
        let filter = self.filter(pinned, sorted.len())?;
        let ask = self.ask(pinned, generation, filter.as_deref())?;
        let answers: Vec<_> = sorted
            .par_chunks(CHUNK)
            .map(|chunk| self.counted(|read| look_up(&ask, chunk, cap, keep, read)))
            .collect::<Result<_, _>>()?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// See [`crate::store::View::bucket_firsts`].
    pub(in crate::store) fn firsts(
        &self,
        pinned: &Pinned,
        generation: Generation,
        sorted: &[(u8, u64)],
    ) -> Result<Vec<Option<First>>, StoreError> {
        let filter = self.filter(pinned, sorted.len())?;
        let ask = self.ask(pinned, generation, filter.as_deref())?;
        let answers: Vec<_> = sorted
            .par_chunks(CHUNK)
            .map(|chunk| look_up_firsts(&ask, chunk))
            .collect::<Result<_, _>>()?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// Members that look-ups through this view have looked at, kept or not.
    pub(in crate::store) fn members_read(&self) -> u64 {
        self.members_read.load(Ordering::Relaxed)
    }

    fn counted<T>(&self, look: impl FnOnce(&mut u64) -> T) -> T {
        let mut read = 0;
        let answer = look(&mut read);
        self.members_read.fetch_add(read, Ordering::Relaxed);
        answer
    }

    fn filter(&self, pinned: &Pinned, asked: usize) -> Result<Option<Arc<Filter>>, StoreError> {
        let Some(gate) = &self.gate else { return Ok(None) };
        Ok(gate.filter(asked, pinned, self.counts(pinned)?, self.runs(pinned)?))
    }

    fn ask<'a>(
        &'a self,
        pinned: &'a Pinned,
        generation: Generation,
        filter: Option<&'a Filter>,
    ) -> Result<Ask<'a>, StoreError> {
        let extent = self.counts(pinned)?.extent(generation);
        Ok(Ask { pinned, generation, filter, extent, runs: self.runs(pinned)? })
    }
}

pub(super) fn read_counters(pinned: &Pinned) -> Result<Option<BandCounters>, StoreError> {
    let what = "counts of the band index";
    pinned.read_with::<BandRuns, _>(what, &BandCounters::KEY, BandRunRow::counters)
}

/// The runs that were not folded, oldest first. A reader may see the row of one that was: no commit names the
/// log that deletes it, so its loss is not noticed. Above such a run there may be newer rows, which it would hide.
pub(super) fn load(pinned: &Pinned, counts: &BandCounters) -> Result<Vec<Arc<Run>>, StoreError> {
    let start = BandRunKey { commit: CommitSeq(counts.folded + 1), part: 0 }.to_bytes();
    let mut rows = pinned.scan::<BandRuns>(&start, None)?;
    let mut runs = Vec::new();
    while let Some((_, run)) = rows.next_with("band run", BandRunRow::run)? {
        runs.push(Arc::new(run));
    }
    Ok(runs)
}
