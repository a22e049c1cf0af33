//! Looking sorted buckets up: the filter, then the runs not folded yet, then the families.

use super::filter::Filter;
use crate::model::{DocId, Generation};
use crate::store::columns::{Bands, BandsMore, corrupt};
use crate::store::database::Pinned;
use crate::store::error::StoreError;
use crate::store::rows::band_counters::Extent;
use crate::store::rows::band_firsts::{bucket_of, decode_first, key_of};
use crate::store::rows::band_runs::{First, Run, Seeker};
use crate::store::rows::keys::{self, BandMemberKey};
use std::ops::Range;
use std::sync::Arc;

/// Keys that one thread asks at once.
pub(super) const CHUNK: usize = 4096;
/// Cost of a point look-up and of a row passed by a scan, and of beginning one: nanoseconds.
const POINT: u64 = 1500;
const PASSED: u64 = 200;
const BEGIN: u64 = 20_000;

/// What a look-up of one bucket found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Its first member ever.
    pub first: DocId,
    /// Whether it has further members.
    pub more: bool,
    /// Admitted members, ascending, at most the cap.
    pub members: Vec<DocId>,
    /// Whether admitted members beyond the cap were passed over.
    pub capped: bool,
}

/// Where to look.
pub(super) struct Ask<'a> {
    pub(super) pinned: &'a Pinned,
    pub(super) generation: Generation,
    /// Oldest first.
    pub(super) runs: &'a [Arc<Run>],
    pub(super) filter: Option<&'a Filter>,
    pub(super) extent: Extent,
}

/// A bucket that the filter lets pass.
struct Candidate {
    /// Its place among the buckets asked for.
    at: usize,
    bucket: u64,
    /// What is known of its first member; a run may know that there is none.
    first: Option<Option<First>>,
    /// What runs say of its further members, among all of them.
    members: Range<usize>,
}

/// What runs say of further members: who joined or left, newest first.
type Stated = (DocId, bool);

/// Answers for every key of `sorted`, ascending; adds to `read` the members looked at.
pub(super) fn look_up(
    ask: &Ask<'_>,
    sorted: &[(u8, u64)],
    cap: usize,
    keep: impl Fn(DocId) -> bool,
    read: &mut u64,
) -> Result<Vec<Option<Bucket>>, StoreError> {
    let (candidates, members) = candidates(ask, sorted)?;
    let mut keep = |document| {
        *read += 1;
        keep(document)
    };
    let mut answers = vec![None; sorted.len()];
    for candidate in candidates {
        let Some(Some((first, more))) = candidate.first else { continue };
        let mut bucket = Bucket { first, more, members: Vec::new(), capped: false };
        let stated = members.get(candidate.members).unwrap_or_default();
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
pub(super) fn look_up_firsts(
    ask: &Ask<'_>,
    sorted: &[(u8, u64)],
) -> Result<Vec<Option<First>>, StoreError> {
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
    ask: &Ask<'_>,
    sorted: &[(u8, u64)],
) -> Result<(Vec<Candidate>, Vec<Stated>), StoreError> {
    debug_assert!(sorted.is_sorted(), "buckets are asked for in order");
    // In a pass of its own: the processor then waits for many cache lines at once.
    let passes = |(at, (band, hash)): (usize, &(u8, u64))| {
        let bucket = bucket_of(*band, *hash);
        let may = ask.filter.is_none_or(|filter| filter.may_contain(ask.generation, bucket));
        may.then_some(Candidate { at, bucket, first: None, members: 0..0 })
    };
    let mut candidates: Vec<Candidate> = sorted.iter().enumerate().filter_map(passes).collect();
    let members = ask_runs(ask, &mut candidates);
    ask_family(ask, &mut candidates)?;
    Ok((candidates, members))
}

/// Gives candidates their first member as the newest run has it; answers what runs say of the others.
fn ask_runs(ask: &Ask<'_>, candidates: &mut [Candidate]) -> Vec<Stated> {
    let runs = ask.runs.iter().rev().filter(|run| run.generation == ask.generation);
    let mut seekers: Vec<(Seeker<'_>, Seeker<'_>)> =
        runs.map(|run| (Seeker::new(&run.firsts), Seeker::new(&run.members))).collect();
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
fn ask_family(ask: &Ask<'_>, candidates: &mut [Candidate]) -> Result<(), StoreError> {
    let wanted: Vec<&mut Candidate> =
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
fn scan_is_cheaper(extent: Extent, wanted: &[&mut Candidate]) -> bool {
    let (Some(first), Some(last)) = (wanted.first(), wanted.last()) else { return false };
    let width = u128::from(last.bucket.saturating_sub(first.bucket)) + 1;
    let space = u128::from(extent.bands.max(1)) << 40;
    let rows = u128::from(extent.buckets) * width.min(space) / space;
    let rows = u64::try_from(rows).unwrap_or(u64::MAX);
    extent.bands > 0
        && rows.saturating_mul(PASSED).saturating_add(BEGIN) < wanted.len() as u64 * POINT
}

pub(super) fn point_look_ups(
    pinned: &Pinned,
    keys: &[[u8; 10]],
) -> Result<Vec<Option<First>>, StoreError> {
    let found = pinned.multi_get::<Bands>(keys)?;
    let decoded = keys.iter().zip(found).map(|(key, value)| match value {
        Some(value) => decode(key, &value).map(Some),
        None => Ok(None),
    });
    decoded.collect()
}

pub(super) fn merge_join(
    pinned: &Pinned,
    keys: &[[u8; 10]],
) -> Result<Vec<Option<First>>, StoreError> {
    let mut answers = vec![None; keys.len()];
    let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return Ok(answers) };
    let mut rows = pinned.scan::<Bands>(first, keys::after_prefix(last))?;
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

fn decode(key: &[u8], value: &[u8]) -> Result<First, StoreError> {
    decode_first(value).map_err(|why| corrupt::<Bands>("band bucket", key, why))
}

/// Members in rank order, of the family and as runs have `stated`: the first member may rank behind
/// later ones when it came back from a removal.
fn read_members(
    pinned: &Pinned,
    key: &[u8],
    stated: &[Stated],
    cap: usize,
    mut keep: impl FnMut(DocId) -> bool,
    bucket: &mut Bucket,
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
    while let Some((BandMemberKey { document, .. }, ())) = rows.next("band member")? {
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

/// Of what is stated of each document, newest first, the newest; ascending by document.
pub(super) fn newest(mut stated: Vec<Stated>) -> Vec<Stated> {
    // The sort is stable: of one document, the newest stays in front.
    stated.sort_by_key(|(document, _)| *document);
    stated.dedup_by_key(|(document, _)| *document);
    stated
}
