//! Duplicates in numbers: losses by group, similarities, sizes of clusters.
//!
//! One walk over the matches in the order of removed documents. Witnesses may be any earlier documents, so their groups
//! are looked up in sorted batches: a block of a column is read once for the walk and once for each batch.

use crate::inspect::InspectError;
use crate::inspect::groups::{DocumentGroups, GroupId, GroupTotal};
use model::invariant::part;
use model::{DedupMode, DocId, Match, MatchKind, Policy, SourceId};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
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

/// Similarity of duplicates to their witness.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Similarities {
    /// Equal raw bytes.
    pub exact: u64,
    /// Other bytes, the same shingles: similarity 1.
    pub same_shingles: u64,
    /// The others, ascending; the bins without a document at either end are left out.
    pub bins: Vec<SimilarityBin>,
}

/// Near duplicates of some similarity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SimilarityBin {
    /// The least similarity.
    pub from: f64,
    /// All are less similar than this.
    pub to: f64,
    /// Removed documents whose similarity falls into this bin.
    pub documents: u64,
}

pub(in crate::inspect) struct SimilarityHistogram {
    pub(in crate::inspect) exact: u64,
    same_shingles: u64,
    /// Bounds of the bins, ascending, the last one 1.
    bounds: Vec<f64>,
    counts: Vec<u64>,
}

impl SimilarityHistogram {
    /// Bins begin at the threshold and are 0.02 wide where every match was verified against it; else one bin is below
    /// 0.5 and the others are 0.05 wide.
    pub(in crate::inspect) fn new(policy: &Policy) -> Self {
        let (start, step) = match policy.mode {
            DedupMode::Components | DedupMode::Lsh => (0.0, 5),
            _ => (policy.threshold, 2),
        };
        let least = if step == 5 { 50 } else { 0 };
        let steps = (least..=100_u32)
            .filter(|bound| bound % step == 0)
            .map(|bound| f64::from(bound) / 100.0);
        let mut bounds = vec![start];
        bounds.extend(steps.filter(|bound| *bound > start));
        let counts = vec![0; bounds.len()];
        Self { exact: 0, same_shingles: 0, bounds, counts }
    }

    pub(in crate::inspect) fn add(&mut self, jaccard: f64) {
        if jaccard >= 1.0 {
            self.same_shingles += 1;
            return;
        }
        let after = self.bounds.partition_point(|bound| *bound <= jaccard);
        if let Some(count) = self.counts.get_mut(after.saturating_sub(1)) {
            *count += 1;
        }
    }

    pub(in crate::inspect) fn counted(self) -> Similarities {
        let ends = self.bounds.iter().skip(1);
        let bins = self.bounds.iter().zip(ends).zip(&self.counts);
        let bins: Vec<SimilarityBin> = bins
            .map(|((from, to), documents)| SimilarityBin {
                from: *from,
                to: *to,
                documents: *documents,
            })
            .collect();
        let any = |bin: &SimilarityBin| bin.documents > 0;
        let first = bins.iter().position(any).unwrap_or(bins.len());
        let end = bins.iter().rposition(any).map_or(first, |last| last + 1);
        let bins = part(&bins, first..end).to_vec();
        Similarities { exact: self.exact, same_shingles: self.same_shingles, bins }
    }
}

/// Clusters of some size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ClusterSizes {
    /// The least size, the witness included.
    pub from: u64,
    /// The largest size.
    pub to: u64,
    /// How many clusters have so many documents.
    pub clusters: u64,
    /// Documents in them.
    pub documents: u64,
}

/// Counts of cluster sizes, and the largest clusters so far.
pub(in crate::inspect) struct ClusterSizeHistogram {
    /// Clusters and their documents, by the power of two that bounds their size.
    pub(in crate::inspect) powers: BTreeMap<u32, (u64, u64)>,
    heap: BinaryHeap<Reverse<(u64, Reverse<DocId>)>>,
    most: usize,
}

impl ClusterSizeHistogram {
    fn add(&mut self, cluster: DocId, size: u64) {
        let power = size.saturating_sub(1).checked_ilog2().map_or(0, |power| power + 1);
        let counts = self.powers.entry(power).or_default();
        counts.0 += 1;
        counts.1 += size;
        self.heap.push(Reverse((size, Reverse(cluster))));
        if self.heap.len() > self.most {
            self.heap.pop();
        }
    }

    /// Largest first, then lowest id.
    pub(in crate::inspect) fn largest(&self) -> Vec<(u64, Reverse<DocId>)> {
        let mut found: Vec<_> = self.heap.iter().map(|Reverse(cluster)| *cluster).collect();
        found.sort_by_key(|cluster| Reverse(*cluster));
        found
    }

    pub(in crate::inspect) fn bins(&self) -> Vec<ClusterSizes> {
        let bin = |(power, (clusters, documents)): (&u32, &(u64, u64))| {
            let to = 1_u64.checked_shl(*power).unwrap_or(u64::MAX);
            ClusterSizes { from: to / 2 + 1, to, clusters: *clusters, documents: *documents }
        };
        self.powers.iter().map(bin).collect()
    }
}

/// The sizes of clusters that removed a document for which `counts`, and the `most` largest.
pub(in crate::inspect) fn cluster_sizes(
    view: &View,
    most: usize,
    counts: impl Fn(DocId) -> bool,
) -> Result<ClusterSizeHistogram, InspectError> {
    let mut sizes = ClusterSizeHistogram { powers: BTreeMap::new(), heap: BinaryHeap::new(), most };
    // The current cluster, its size, and whether it counts.
    let mut open: Option<(DocId, u64, bool)> = None;
    for member in view.all_members()? {
        let (witness, removed) = member?;
        match &mut open {
            Some((cluster, size, counted)) if *cluster == witness => {
                *size += 1;
                *counted |= counts(removed);
            }
            _ => {
                if let Some((cluster, size, true)) = open.replace((witness, 2, counts(removed))) {
                    sizes.add(cluster, size);
                }
            }
        }
    }
    if let Some((cluster, size, true)) = open {
        sizes.add(cluster, size);
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Profile;

    #[test]
    fn similarities_fall_into_the_bin_they_reach() {
        let mut histogram = SimilarityHistogram::new(&Policy::of(Profile::Web));
        for jaccard in [0.8, 0.82, 41.0 / 50.0, 0.819_999, 0.999, 1.0] {
            histogram.add(jaccard);
        }
        let counted = histogram.counted();
        assert_eq!(counted.same_shingles, 1);
        let bins: Vec<(f64, f64, u64)> =
            counted.bins.iter().map(|bin| (bin.from, bin.to, bin.documents)).collect();
        assert_eq!(bins.len(), 10);
        assert_eq!(bins[..2], [(0.8, 0.82, 2), (0.82, 0.84, 2)]);
        assert_eq!(bins[9], (0.98, 1.0, 1));
    }

    #[test]
    fn unverified_similarities_have_a_bin_below_the_threshold() {
        let mut histogram = SimilarityHistogram::new(&Policy::of(Profile::Fineweb));
        for jaccard in [0.0, 0.3, 0.5, 0.74] {
            histogram.add(jaccard);
        }
        let bins: Vec<(f64, f64, u64)> =
            histogram.counted().bins.iter().map(|bin| (bin.from, bin.to, bin.documents)).collect();
        assert_eq!(bins[..2], [(0.0, 0.5, 2), (0.5, 0.55, 1)]);
        assert_eq!(bins[bins.len() - 1], (0.7, 0.75, 1));
    }

    #[test]
    fn sizes_are_counted_by_powers_and_the_largest_known() {
        let mut sizes =
            ClusterSizeHistogram { powers: BTreeMap::new(), heap: BinaryHeap::new(), most: 2 };
        for (cluster, size) in [(1, 2), (5, 4), (9, 3), (12, 5), (20, 5), (30, 2)] {
            sizes.add(DocId(cluster), size);
        }
        let bins: Vec<_> =
            sizes.bins().iter().map(|b| (b.from, b.to, b.clusters, b.documents)).collect();
        assert_eq!(bins, [(2, 2, 2, 4), (3, 4, 2, 7), (5, 8, 2, 10)]);
        assert_eq!(sizes.largest(), [(5, Reverse(DocId(12))), (5, Reverse(DocId(20)))]);
    }
}
