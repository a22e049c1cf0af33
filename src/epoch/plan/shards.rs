//! The other corpora that a plan draws from, recognised again by texts that it draws from them.

use super::Plan;
use super::masks::documents;
use crate::corpus::{Corpora, parts};
use crate::epoch::coverage::PinnedSource;
use crate::epoch::error::EpochError;
use model::{DocId, Error};
use roaring::RoaringTreemap;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::View;

/// How many texts tell a corpus.
const TEXTS: u64 = 16;

/// A corpus beside the one that stores the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PinnedShard {
    /// The commit it showed.
    pub commit: u64,
    /// How many of its documents the plan draws.
    pub documents: u64,
    /// blake3 over the hashes of 16 of their texts, in hexadecimal: no other corpus has these under the same numbers.
    /// Where none is drawn, any corpus will do.
    pub texts: String,
}

/// What a plan says of the corpora beside the first one, at the commits of all.
///
/// # Errors
/// [`EpochError`] when two have the same documents; [`EpochError::Store`].
pub(in crate::epoch) fn shards(
    corpora: &Corpora,
    commits: impl Iterator<Item = u64>,
    pinned: &[Arc<PinnedSource>],
) -> Result<Vec<PinnedShard>, EpochError> {
    if corpora.count() == 1 {
        return Ok(Vec::new());
    }
    let all = documents(pinned);
    let mut told: Vec<PinnedShard> = Vec::new();
    for ((shard, view), commit) in corpora.views().zip(commits) {
        let drawn = parts(shard, &all);
        let found = PinnedShard { commit, documents: drawn.len(), texts: texts(view, &drawn)? };
        let same = |other: &PinnedShard| {
            (other.documents, &other.texts) == (found.documents, &found.texts)
        };
        if let Some(other) = told.iter().position(|other| !drawn.is_empty() && same(other)) {
            return Err(Error::bad_input(format!(
                "shards {other} and {shard} have the same documents, which would be drawn twice: was one shard of a load imported into two corpora?"
            ))
            .into());
        }
        told.push(found);
    }
    Ok(told.split_off(1))
}

/// Refuses corpora other than those that a plan draws from, and these in another order.
pub(in crate::epoch) fn check_shards(corpora: &Corpora, planned: &Plan) -> Result<(), EpochError> {
    let expected = &planned.plan.shards;
    if expected.is_empty() {
        return Ok(());
    }
    let all = documents(&planned.pinned);
    for ((shard, view), expected) in corpora.views().skip(1).zip(expected) {
        let drawn = parts(shard, &all);
        if drawn.max().is_some_and(|last| last >= view.documents())
            || drawn.len() != expected.documents
            || texts(view, &drawn)? != expected.texts
        {
            return Err(EpochError::OtherShard { shard });
        }
    }
    Ok(())
}

/// A hash over the texts of some documents, from the first to the last.
fn texts(view: &View, documents: &RoaringTreemap) -> Result<String, EpochError> {
    let mut hasher = blake3::Hasher::new();
    for id in ranks(documents.len()).filter_map(|rank| documents.select(rank)) {
        hasher.update(&id.to_le_bytes());
        hasher.update(&view.print(DocId(id))?.raw);
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// At most [`TEXTS`] of `count` ranks: all, or the first, the last and some at equal distances between.
fn ranks(count: u64) -> impl Iterator<Item = u64> {
    let told = count.min(TEXTS);
    let (last, steps) = (u128::from(count.saturating_sub(1)), u128::from(told.max(2) - 1));
    // No more than `last`, so the cast keeps it.
    (0..told).map(move |at| (last * u128::from(at) / steps) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_listed_whole_and_many_by_first_and_last() {
        for few in [0, 1, 2, 5, 15, 16] {
            assert_eq!(ranks(few).collect::<Vec<_>>(), (0..few).collect::<Vec<_>>());
        }
        for many in [17, 100, 1 << 40, u64::MAX] {
            let found: Vec<u64> = ranks(many).collect();
            assert_eq!((found.len(), found[0], found[15]), (16, 0, many - 1));
            assert!(found.is_sorted_by(|one, next| one < next), "{many}");
        }
    }
}
