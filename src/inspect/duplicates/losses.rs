//! Counts the removed documents of each group, by the group of their witnesses.
//!
//! One walk over the matches in the order of removed documents. Witnesses may be any earlier documents, so their groups
//! are looked up in sorted batches: a block of a column is read once for the walk and once for each batch.

use crate::inspect::InspectError;
use crate::inspect::groups::{DocumentGroups, GroupId, GroupTotal};
use model::{DocId, Match, MatchKind, SourceId};
use serde::Serialize;
use std::collections::BTreeMap;
use store::{NumberBlock, View, system_fields};

/// Removed documents of a batch that waits for the groups of witnesses, of 24 bytes each.
const WAITING: usize = 1 << 18;
/// Pairs of groups that are counted, at most, of some 60 bytes each.
const PAIRS: usize = 1 << 20;

/// Counts of removed documents: all, those with equal bytes, and bytes of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RemovedCounts {
    pub documents: u64,
    pub exact: u64,
    pub bytes: u64,
}

/// Removed documents by their group and that of their witness.
pub(super) type PairCounts = BTreeMap<(GroupId, GroupId), RemovedCounts>;

/// Counts what was removed from one source, or from all; `each` sees the matches.
pub(super) fn pair_counts(
    view: &View,
    groups: &mut DocumentGroups<'_>,
    only: Option<SourceId>,
    mut each: impl FnMut(&Match),
) -> Result<PairCounts, InspectError> {
    let mut pairs = PairCounts::new();
    let mut waiting: Vec<PendingWitness> = Vec::new();
    let mut columns = TextLengths { view, only, block: None };
    for matched in view.matched()? {
        let (removed, _, found) = matched?;
        if !found.is_duplicate() {
            continue;
        }
        let Some(bytes) = columns.bytes(removed)? else { continue };
        each(&found);
        let exact = found.kind == MatchKind::Exact;
        let group = groups.of(removed)?;
        waiting.push(PendingWitness { witness: found.witness, group, exact, bytes });
        if waiting.len() >= WAITING {
            settle(groups, &mut waiting, &mut pairs)?;
        }
    }
    settle(groups, &mut waiting, &mut pairs)?;
    Ok(pairs)
}

/// What each group lost, summed over its pairs.
pub(super) fn lost(pairs: &PairCounts) -> BTreeMap<GroupId, GroupTotal> {
    let mut lost: BTreeMap<GroupId, GroupTotal> = BTreeMap::new();
    for ((group, _), count) in pairs {
        let lost = lost.entry(*group).or_default();
        lost.documents += count.documents;
        lost.bytes += count.bytes;
    }
    lost
}

/// What a group has, and what of it was removed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LossShare {
    /// How many documents of it are stored, kept or not.
    pub documents: u64,
    /// Of these, exact and near duplicates.
    pub removed: u64,
    /// `removed / documents`.
    pub share: f64,
    /// UTF-8 bytes of the texts stored.
    pub bytes: u64,
    /// Of these, in duplicates.
    pub removed_bytes: u64,
    /// `removed_bytes / bytes`.
    pub share_bytes: f64,
}

impl LossShare {
    pub(super) fn of(lost: GroupTotal, total: GroupTotal) -> Self {
        Self {
            documents: total.documents,
            removed: lost.documents,
            share: share(lost.documents, total.documents),
            bytes: total.bytes,
            removed_bytes: lost.bytes,
            share_bytes: share(lost.bytes, total.bytes),
        }
    }
}

/// Removed documents of a group whose witnesses are in one group.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PairShare {
    /// Removed documents.
    pub documents: u64,
    /// Of these, those with equal raw bytes.
    pub exact: u64,
    /// UTF-8 bytes of their texts.
    pub bytes: u64,
    /// `documents` in the documents of their group.
    pub share: f64,
    /// `bytes` in the bytes of their group.
    pub share_bytes: f64,
}

impl PairShare {
    pub(super) fn of(removed: RemovedCounts, total: GroupTotal) -> Self {
        Self {
            documents: removed.documents,
            exact: removed.exact,
            bytes: removed.bytes,
            share: share(removed.documents, total.documents),
            share_bytes: share(removed.bytes, total.bytes),
        }
    }
}

/// A part as a share of the whole, from 0 to 1; 0 if the whole is 0.
#[expect(clippy::cast_precision_loss, reason = "a share is shown with a few digits")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A removed document whose witness's group is not looked up yet.
struct PendingWitness {
    witness: DocId,
    group: GroupId,
    exact: bool,
    bytes: u64,
}

fn settle(
    groups: &mut DocumentGroups<'_>,
    waiting: &mut Vec<PendingWitness>,
    pairs: &mut PairCounts,
) -> Result<(), InspectError> {
    waiting.sort_unstable_by_key(|removed| removed.witness);
    for PendingWitness { witness, group, exact, bytes } in waiting.drain(..) {
        let pair = pairs.entry((group, groups.of(witness)?)).or_default();
        pair.documents += 1;
        pair.exact += u64::from(exact);
        pair.bytes += bytes;
        if pairs.len() > PAIRS {
            return Err(InspectError::TooManyPairs { most: PAIRS });
        }
    }
    Ok(())
}

/// The current block's columns: lengths of texts, and sources where only one source is counted.
struct TextLengths<'a> {
    view: &'a View,
    only: Option<SourceId>,
    block: Option<(u64, NumberBlock, Option<NumberBlock>)>,
}

impl TextLengths<'_> {
    /// Bytes of a document's text; none where the document is not counted.
    fn bytes(&mut self, document: DocId) -> Result<Option<u64>, InspectError> {
        let number = document.block();
        let (_, lengths, sources) = match &mut self.block {
            Some(block) if block.0 == number => block,
            place => {
                *place = None;
                let lengths = self.view.column_block(system_fields::BYTES, number)?;
                let sources =
                    self.only.map(|_| self.view.column_block(system_fields::SOURCE_OF, number));
                place.insert((number, lengths, sources.transpose()?))
            }
        };
        if let (Some(only), Some(sources)) = (self.only, sources)
            && sources.source_of(document)? != only
        {
            return Ok(None);
        }
        Ok(Some(lengths.expect(system_fields::BYTES, document)?))
    }
}
