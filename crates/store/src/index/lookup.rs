//! Looks up sorted buckets: in the filter, then in the runs not folded yet, then in the families.
//!
//! An [`IndexReader`] is what a view has for it: the counters, the runs and the filter of its moment.
//!
//! Hashes are spread evenly, so the share of the key space that a scan passes over tells how many rows it passes: one
//! scan along the keys is taken where these cost less than looking each key up.

use crate::bytes::key::{self, BandMemberKey, BandRunKey, StoreKey};
use crate::database::PinnedMoment;
use crate::database::family::corrupt_row;
use crate::error::StoreError;
use crate::index::bucket::{Bands, BandsMore, bucket_of, decode_first, fold_mark, key_of};
use crate::index::filter::RunFilter;
use crate::index::filter_cache::FilterCache;
use crate::index::run::{
    BandCounters, Extent, FirstMember, IndexRun, IndexRunCursor, IndexRuns, RunCounters,
};
use model::invariant::part;
use model::{CommitSeq, DocId, Generation};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Keys that one thread asks at once.
pub(crate) const CHUNK: usize = 4096;
/// Cost of a point look-up and of a row passed by a scan, and of beginning one: nanoseconds.
const POINT: u64 = 1500;
const PASSED: u64 = 200;
const BEGIN: u64 = 20_000;

/// What a look-up of one bucket found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BandBucket {
    /// Its first member ever.
    pub first: DocId,
    /// Whether it has further members.
    pub more: bool,
    /// Admitted members, ascending, at most the cap.
    pub members: Vec<DocId>,
    /// Whether admitted members beyond the cap were skipped.
    pub capped: bool,
}

/// Where to look.
pub(crate) struct RunLookup<'a> {
    pub(crate) pinned: &'a PinnedMoment,
    pub(crate) generation: Generation,
    /// Oldest first.
    pub(crate) runs: &'a [Arc<IndexRun>],
    pub(crate) filter: Option<&'a RunFilter>,
    pub(crate) extent: Extent,
}

/// A bucket that the filter lets pass.
struct BucketCandidate {
    /// Its place among the buckets asked for.
    at: usize,
    bucket: u64,
    /// What is known of its first member; a run may know that there is none.
    first: Option<Option<FirstMember>>,
    /// What runs say of its further members, among all of them.
    members: Range<usize>,
}

/// What runs say of further members: who joined or left, newest first.
type Stated = (DocId, bool);

/// Answers for every key of `sorted`, ascending; adds to `read` the members looked at.
pub(crate) fn look_up(
    ask: &RunLookup<'_>,
    sorted: &[(u8, u64)],
    cap: usize,
    keep: impl Fn(DocId) -> bool,
    read: &mut u64,
) -> Result<Vec<Option<BandBucket>>, StoreError> {
    let (candidates, members) = candidates(ask, sorted)?;
    let mut keep = |document| {
        *read += 1;
        keep(document)
    };
    let mut answers = vec![None; sorted.len()];
    for candidate in candidates {
        let Some(Some((first, more))) = candidate.first else { continue };
        let mut bucket = BandBucket { first, more, members: Vec::new(), capped: false };
        let stated = part(&members, candidate.members);
        if more {
            let key = key_of(ask.generation, candidate.bucket);
            read_members(ask.pinned, &key, stated, cap, &mut keep, &mut bucket)?;
        } else if keep(first) {
            bucket.members.push(first);
        }
        if let Some(answer) = answers.get_mut(candidate.at) {
            *answer = Some(bucket);
        }
    }
    Ok(answers)
}

/// The first member of each bucket and whether it has more; none of its further members is read.
pub(crate) fn look_up_firsts(
    ask: &RunLookup<'_>,
    sorted: &[(u8, u64)],
) -> Result<Vec<Option<FirstMember>>, StoreError> {
    let (candidates, _) = candidates(ask, sorted)?;
    let mut answers = vec![None; sorted.len()];
    for candidate in candidates {
        if let Some(answer) = answers.get_mut(candidate.at) {
            *answer = candidate.first.flatten();
        }
    }
    Ok(answers)
}

/// The buckets that may have members, with their first members, and what runs say of further ones.
fn candidates(
    ask: &RunLookup<'_>,
    sorted: &[(u8, u64)],
) -> Result<(Vec<BucketCandidate>, Vec<Stated>), StoreError> {
    debug_assert!(sorted.is_sorted(), "buckets are asked for in order");
    // In a pass of its own: the processor then waits for many cache lines at once.
    let passes = |(at, (band, hash)): (usize, &(u8, u64))| {
        let bucket = bucket_of(*band, *hash);
        let may = ask.filter.is_none_or(|filter| filter.may_contain(ask.generation, bucket));
        may.then_some(BucketCandidate { at, bucket, first: None, members: 0..0 })
    };
    let mut candidates: Vec<BucketCandidate> =
        sorted.iter().enumerate().filter_map(passes).collect();
    let members = ask_runs(ask, &mut candidates);
    ask_family(ask, &mut candidates)?;
    Ok((candidates, members))
}

/// Gives candidates their first member as the newest run has it; answers what runs say of the others.
fn ask_runs(ask: &RunLookup<'_>, candidates: &mut [BucketCandidate]) -> Vec<Stated> {
    let runs = ask.runs.iter().rev().filter(|run| run.generation == ask.generation);
    let mut seekers: Vec<(IndexRunCursor<'_>, IndexRunCursor<'_>)> = runs
        .map(|run| (IndexRunCursor::new(&run.firsts), IndexRunCursor::new(&run.members)))
        .collect();
    let mut members = Vec::new();
    if seekers.is_empty() {
        return members;
    }
    for candidate in candidates {
        let (bucket, start) = (candidate.bucket, members.len());
        for (firsts, further) in &mut seekers {
            if candidate.first.is_none()
                && let Some(entry) = firsts.seek(bucket).first()
                && entry.bucket() == bucket
            {
                candidate.first = Some(entry.first());
            }
            let further = further.seek(bucket).iter();
            let of_bucket = further.take_while(|entry| entry.bucket() == bucket);
            members.extend(of_bucket.map(|entry| entry.member()));
        }
        candidate.members = start..members.len();
    }
    members
}

/// Gives those candidates their first member that have none yet.
fn ask_family(ask: &RunLookup<'_>, candidates: &mut [BucketCandidate]) -> Result<(), StoreError> {
    let wanted: Vec<&mut BucketCandidate> =
        candidates.iter_mut().filter(|candidate| candidate.first.is_none()).collect();
    let keys: Vec<[u8; 10]> =
        wanted.iter().map(|candidate| key_of(ask.generation, candidate.bucket)).collect();
    let firsts = if scan_is_cheaper(ask.extent, &wanted) {
        merge_join(ask.pinned, &keys)?
    } else {
        point_look_ups(ask.pinned, &keys)?
    };
    for (candidate, first) in wanted.into_iter().zip(firsts) {
        candidate.first = Some(first);
    }
    Ok(())
}

/// Whether passing the rows between the first and the last key costs less than looking each key up.
/// Hashes are spread evenly, so the share of the key space is the share of the rows.
fn scan_is_cheaper(extent: Extent, wanted: &[&mut BucketCandidate]) -> bool {
    let (Some(first), Some(last)) = (wanted.first(), wanted.last()) else { return false };
    let width = u128::from(last.bucket.saturating_sub(first.bucket)) + 1;
    let space = u128::from(extent.bands.max(1)) << 40;
    let rows = u128::from(extent.buckets) * width.min(space) / space;
    let rows = u64::try_from(rows).unwrap_or(u64::MAX);
    extent.bands > 0
        && rows.saturating_mul(PASSED).saturating_add(BEGIN) < wanted.len() as u64 * POINT
}

pub(crate) fn point_look_ups(
    pinned: &PinnedMoment,
    keys: &[[u8; 10]],
) -> Result<Vec<Option<FirstMember>>, StoreError> {
    let found = pinned.multi_get::<Bands>(keys)?;
    let decoded = keys.iter().zip(found).map(|(key, value)| match value {
        Some(value) => decode(key, &value).map(Some),
        None => Ok(None),
    });
    decoded.collect()
}

pub(crate) fn merge_join(
    pinned: &PinnedMoment,
    keys: &[[u8; 10]],
) -> Result<Vec<Option<FirstMember>>, StoreError> {
    let mut answers = vec![None; keys.len()];
    let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return Ok(answers) };
    let mut rows = pinned.scan::<Bands>(first, key::after_prefix(last))?;
    let mut wanted = keys.iter().zip(&mut answers).peekable();
    'rows: while let Some((key, value)) = rows.advance()? {
        while let Some((next, answer)) = wanted.peek_mut() {
            match next.as_slice().cmp(key) {
                std::cmp::Ordering::Greater => continue 'rows,
                std::cmp::Ordering::Equal => **answer = Some(decode(key, value)?),
                std::cmp::Ordering::Less => {}
            }
            wanted.next();
        }
        break;
    }
    Ok(answers)
}

fn decode(key: &[u8], value: &[u8]) -> Result<FirstMember, StoreError> {
    decode_first(value).map_err(|why| corrupt_row::<Bands>("band bucket", key, why))
}

/// Members in rank order, of the family and as runs have `stated`: the first member may rank behind
/// later ones when it came back from a removal.
fn read_members(
    pinned: &PinnedMoment,
    key: &[u8],
    stated: &[Stated],
    cap: usize,
    mut keep: impl FnMut(DocId) -> bool,
    bucket: &mut BandBucket,
) -> Result<(), StoreError> {
    let stated = newest(stated.to_vec());
    let gone: Vec<DocId> = stated.iter().filter(|(_, left)| *left).map(|(of, _)| *of).collect();
    let joined = stated.iter().filter(|(_, left)| !left).map(|(of, _)| *of);
    let mut held: Vec<DocId> = joined.chain([bucket.first]).collect();
    held.sort_unstable();
    held.dedup();
    let mut held = held.into_iter().peekable();
    let mut offer = |document: DocId| {
        if keep(document) {
            if bucket.members.len() < cap {
                bucket.members.push(document);
            } else {
                bucket.capped = true;
            }
        }
        bucket.capped
    };
    let mut rows = pinned.scan_prefix::<BandsMore>(key)?;
    while let Some((BandMemberKey { document, .. }, ())) = rows.next()? {
        while let Some(before) = held.next_if(|before| *before < document) {
            if offer(before) {
                return Ok(());
            }
        }
        if held.next_if_eq(&document).is_none() && gone.binary_search(&document).is_ok() {
            continue;
        }
        if offer(document) {
            return Ok(());
        }
    }
    for document in held {
        if offer(document) {
            break;
        }
    }
    Ok(())
}

/// The newest statement about each document, ascending by document; `stated` is newest first.
pub(crate) fn newest(mut stated: Vec<Stated>) -> Vec<Stated> {
    // The sort is stable: of one document, the newest stays in front.
    stated.sort_by_key(|(document, _)| *document);
    stated.dedup_by_key(|(document, _)| *document);
    stated
}

/// Read when first asked for; a writer's views get it from the writer.
#[derive(Default)]
pub struct IndexReader {
    counts: OnceLock<BandCounters>,
    runs: OnceLock<Vec<Arc<IndexRun>>>,
    gate: Option<Arc<FilterCache>>,
    members_read: AtomicU64,
}

impl IndexReader {
    pub(crate) fn known(
        counts: BandCounters,
        runs: Vec<Arc<IndexRun>>,
        gate: Arc<FilterCache>,
    ) -> Self {
        let (counts, runs) = (counts.into(), runs.into());
        Self { counts, runs, gate: Some(gate), members_read: AtomicU64::new(0) }
    }

    pub(crate) fn counts(&self, pinned: &PinnedMoment) -> Result<&BandCounters, StoreError> {
        if let Some(counts) = self.counts.get() {
            return Ok(counts);
        }
        let counts = read_counters(pinned)?.unwrap_or_default();
        Ok(self.counts.get_or_init(|| counts))
    }

    /// Runs not folded, oldest first.
    pub(crate) fn runs(&self, pinned: &PinnedMoment) -> Result<&[Arc<IndexRun>], StoreError> {
        if let Some(runs) = self.runs.get() {
            return Ok(runs);
        }
        let runs = load(pinned, self.counts(pinned)?)?;
        Ok(self.runs.get_or_init(|| runs))
    }

    /// Whether the view misses tables of runs whose rows it sees deleted: its manifest was read
    /// before a folding, its log after.
    pub(crate) fn misses_folded(&self, pinned: &PinnedMoment) -> Result<bool, StoreError> {
        let folded = self.counts(pinned)?.folded;
        if folded == 0 {
            return Ok(false);
        }
        let mark = fold_mark();
        let Some(found) = pinned.get_bytes::<Bands>(&mark)? else { return Ok(true) };
        let (until, _) = decode_first(&found)
            .map_err(|why| corrupt_row::<Bands>("mark of folded runs", &mark, why))?;
        Ok(until.0 < folded)
    }

    /// See [`crate::View::buckets`].
    pub(crate) fn buckets(
        &self,
        pinned: &PinnedMoment,
        generation: Generation,
        sorted: &[(u8, u64)],
        cap: usize,
        keep: impl Fn(DocId) -> bool,
    ) -> Result<Vec<Option<BandBucket>>, StoreError> {
        let filter = self.filter(pinned, sorted.len())?;
        let ask = self.ask(pinned, generation, filter.as_deref())?;
        self.counted(|read| look_up(&ask, sorted, cap, keep, read))
    }

    /// See [`crate::View::buckets_bulk`].
    pub(crate) fn buckets_bulk(
        &self,
        pinned: &PinnedMoment,
        generation: Generation,
        sorted: &[(u8, u64)],
        cap: usize,
        keep: &(dyn Fn(DocId) -> bool + Sync),
    ) -> Result<Vec<Option<BandBucket>>, StoreError> {
        let filter = self.filter(pinned, sorted.len())?;
        let ask = self.ask(pinned, generation, filter.as_deref())?;
        let answers: Vec<_> = sorted
            .par_chunks(CHUNK)
            .map(|chunk| self.counted(|read| look_up(&ask, chunk, cap, keep, read)))
            .collect::<Result<_, _>>()?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// See [`crate::View::bucket_firsts`].
    pub(crate) fn firsts(
        &self,
        pinned: &PinnedMoment,
        generation: Generation,
        sorted: &[(u8, u64)],
    ) -> Result<Vec<Option<FirstMember>>, StoreError> {
        let filter = self.filter(pinned, sorted.len())?;
        let ask = self.ask(pinned, generation, filter.as_deref())?;
        let answers: Vec<_> = sorted
            .par_chunks(CHUNK)
            .map(|chunk| look_up_firsts(&ask, chunk))
            .collect::<Result<_, _>>()?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// Members that look-ups through this view have looked at, kept or not.
    pub(crate) fn members_read(&self) -> u64 {
        self.members_read.load(Ordering::Relaxed)
    }

    fn counted<T>(&self, look: impl FnOnce(&mut u64) -> T) -> T {
        let mut read = 0;
        let answer = look(&mut read);
        self.members_read.fetch_add(read, Ordering::Relaxed);
        answer
    }

    fn filter(
        &self,
        pinned: &PinnedMoment,
        asked: usize,
    ) -> Result<Option<Arc<RunFilter>>, StoreError> {
        let Some(gate) = &self.gate else { return Ok(None) };
        Ok(gate.filter(asked, pinned, self.counts(pinned)?, self.runs(pinned)?))
    }

    fn ask<'a>(
        &'a self,
        pinned: &'a PinnedMoment,
        generation: Generation,
        filter: Option<&'a RunFilter>,
    ) -> Result<RunLookup<'a>, StoreError> {
        let extent = self.counts(pinned)?.extent(generation);
        Ok(RunLookup { pinned, generation, filter, extent, runs: self.runs(pinned)? })
    }
}

pub(crate) fn read_counters(pinned: &PinnedMoment) -> Result<Option<BandCounters>, StoreError> {
    pinned.read::<RunCounters, _>(&())
}

/// The runs that were not folded, oldest first. A reader may see the row of one that was: no commit names the
/// log that deletes it, so its loss is not noticed. Above such a run there may be newer rows, which it would hide.
pub(crate) fn load(
    pinned: &PinnedMoment,
    counts: &BandCounters,
) -> Result<Vec<Arc<IndexRun>>, StoreError> {
    let start = BandRunKey { commit: CommitSeq(counts.folded + 1), part: 0 }.to_bytes();
    pinned.scan::<IndexRuns>(&start, None)?.filter_map(|_, run| Some(Arc::new(run))).collect()
}
