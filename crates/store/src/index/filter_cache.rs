//! Holds the filter of the band index, and decides when to load or build it.
//!
//! Nothing is read ahead: look-ups are counted, and when what they cost without a filter has
//! reached what it costs to have one, it is read from its file or built from the rows. So an ingest
//! pays at most twice what the better choice would have cost, whatever its size.

use crate::database::PinnedMoment;
use crate::error::StoreError;
use crate::index::bucket::{Bands, of_key};
use crate::index::filter::{self, RunFilter};
use crate::index::run::{BandCounters, IndexEntry, IndexRun};
use model::Generation;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Nanoseconds saved for each requested bucket; most of them are absent.
const SAVED: u64 = 1300;
/// Nanoseconds a byte of the file, and a row when built again.
const A_BYTE: u64 = 1;
const A_ROW: u64 = 250;
/// Fewer entries are not worth a file: they are built again in milliseconds.
const SAVE_FROM: u64 = 100_000;

/// Shared by a writer and its views.
pub struct FilterCache {
    path: PathBuf,
    /// Bytes the filter may have.
    budget: u64,
    asked: AtomicU64,
    state: RwLock<FilterState>,
}

#[derive(Default)]
struct FilterState {
    /// Digest of the newest entries; views of older ones do not load.
    chain: u64,
    filter: Option<Arc<RunFilter>>,
    /// Digest of the file's entries, as far as known.
    saved: Option<u64>,
    file_is_stale: bool,
    /// Too large, or unreadable: this process has no filter.
    given_up: bool,
}

impl FilterCache {
    pub(crate) fn new(path: PathBuf, budget: u64, chain: u64) -> Self {
        let state = RwLock::new(FilterState { chain, ..FilterState::default() });
        Self { path, budget, asked: AtomicU64::new(0), state }
    }

    /// The filter for a view, `asked` of whose buckets are wanted.
    pub(crate) fn filter(
        &self,
        asked: usize,
        pinned: &PinnedMoment,
        counts: &BandCounters,
        runs: &[Arc<IndexRun>],
    ) -> Option<Arc<RunFilter>> {
        {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            if state.filter.is_some() || state.given_up || state.chain != counts.chain {
                return state.filter.clone();
            }
        }
        let asked = asked as u64;
        let asked = self.asked.fetch_add(asked, Ordering::Relaxed).saturating_add(asked);
        let gain = asked.saturating_mul(SAVED);
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.filter.is_some() || state.given_up || state.chain != counts.chain {
            return state.filter.clone();
        }
        if RunFilter::bytes_for(counts.buckets()) > self.budget {
            state.given_up = true;
            return None;
        }
        let size = std::fs::metadata(&self.path).map_or(u64::MAX, |metadata| metadata.len());
        if !state.file_is_stale && size <= self.budget * 4 && gain >= size.saturating_mul(A_BYTE) {
            state.filter = filter::read(&self.path).and_then(|(filter, chain)| {
                state.saved = (chain == counts.chain).then_some(chain);
                caught_up(filter, chain, counts.chain, runs)
            });
            state.file_is_stale = state.filter.is_none();
        } else if gain >= counts.buckets().saturating_mul(A_ROW) {
            // What cannot be read here is an error where it is looked up.
            state.filter = build(pinned, counts, runs).ok().map(Arc::new);
            state.given_up = state.filter.is_none();
        }
        state.filter.clone()
    }

    /// Notes the entries of a commit before a view sees it, `counts` being those after it: what is too
    /// much only costs a look-up.
    pub(crate) fn add(&self, counts: &BandCounters, added: &[(Generation, &[IndexEntry])]) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.chain = counts.chain;
        let Some(filter) = &state.filter else { return };
        let new: Vec<(Generation, u64)> =
            added.iter().flat_map(|(of, firsts)| unknown(filter, *of, firsts)).collect();
        let grown = filter.grown(new.len() as u64);
        let is_too_large = grown.bytes() > self.budget;
        if is_too_large || is_mostly_of_the_gone(&grown, counts) {
            // The next caller builds a filter of the entries that are there.
            state.given_up = is_too_large && RunFilter::bytes_for(counts.buckets()) > self.budget;
            state.filter = None;
            state.file_is_stale = true;
            return;
        }
        for (generation, bucket) in new {
            grown.insert(generation, bucket);
        }
        state.filter = Some(grown);
    }

    /// Writes the filter to its file, if there is a newer one than there. A disk that refuses leaves
    /// none: it is rebuildable.
    pub(crate) fn save(&self) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let chain = state.chain;
        if let Some(filter) = &state.filter
            && state.saved != Some(chain)
            && filter.entries() >= SAVE_FROM
        {
            let written = filter::write(&self.path, filter, chain);
            state.saved = written.is_ok().then_some(chain);
        }
    }

    /// Drops the filter and its file, which mostly has entries that are gone.
    pub(crate) fn empty(&self) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        *state = FilterState { chain: state.chain, file_is_stale: true, ..FilterState::default() };
        // One that stays, holds too much, which costs a look-up at most.
        let _ = std::fs::remove_file(&self.path);
    }

    #[cfg(test)]
    pub(crate) fn entries(&self) -> u64 {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.filter.as_ref().map_or(0, |filter| filter.entries())
    }

    #[cfg(test)]
    pub(crate) fn is_loaded(&self) -> bool {
        self.state.read().unwrap_or_else(PoisonError::into_inner).filter.is_some()
    }
}

/// The buckets with a member that a filter does not let pass yet.
fn unknown(
    filter: &RunFilter,
    generation: Generation,
    firsts: &[IndexEntry],
) -> impl Iterator<Item = (Generation, u64)> {
    firsts
        .iter()
        .filter(|entry| entry.first().is_some())
        .map(move |entry| (generation, entry.bucket()))
        .filter(|(generation, bucket)| !filter.may_contain(*generation, *bucket))
}

/// Whether most buckets of a filter are vacant by now: nothing is ever taken out of it.
fn is_mostly_of_the_gone(filter: &RunFilter, counts: &BandCounters) -> bool {
    filter.entries() > counts.buckets().max(SAVE_FROM).saturating_mul(2)
}

/// The filter of the entries until `from`, with those of later runs up to `until`; none when the
/// runs do not lead from one to the other.
fn caught_up(
    filter: RunFilter,
    from: u64,
    until: u64,
    runs: &[Arc<IndexRun>],
) -> Option<Arc<RunFilter>> {
    let mut filter = Arc::new(filter);
    if from == until {
        return Some(filter);
    }
    let mut at = from;
    for run in runs.iter().skip_while(|run| run.previous != from) {
        if run.previous != at {
            return None;
        }
        let new: Vec<(Generation, u64)> = unknown(&filter, run.generation, &run.firsts).collect();
        filter = filter.grown(new.len() as u64);
        new.into_iter().for_each(|(generation, bucket)| filter.insert(generation, bucket));
        at = run.chain;
    }
    (at == until).then_some(filter)
}

/// A filter of all rows and runs.
fn build(
    pinned: &PinnedMoment,
    counts: &BandCounters,
    runs: &[Arc<IndexRun>],
) -> Result<RunFilter, StoreError> {
    // A quarter more, for what is to come.
    let buckets = counts.buckets();
    let filter = RunFilter::with_capacity(buckets + buckets / 4);
    let mut rows = pinned.scan::<Bands>(&[], None)?;
    while let Some((key, _)) = rows.advance()? {
        if let Some((generation, bucket)) = of_key(key) {
            filter.insert(generation, bucket);
        }
    }
    for run in runs {
        let new: Vec<(Generation, u64)> = unknown(&filter, run.generation, &run.firsts).collect();
        new.into_iter().for_each(|(generation, bucket)| filter.insert(generation, bucket));
    }
    Ok(filter)
}
