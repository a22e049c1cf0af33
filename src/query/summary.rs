//! All duplicates in numbers: what was removed, from where, how similar, in which clusters.
//!
//! Two walks: over the matches, in the order of removed documents, and over the clusters, in the order
//! of witnesses. Only counts are held, and the largest clusters so far.

use super::duplicates::{DuplicatePair, Pairs};
use super::error::QueryError;
use super::excerpt::beginning;
use super::source_runs::SourceRuns;
use crate::model::{DedupMode, DocId, MatchKind, Policy, SourceId, Standing};
use crate::store::fields;
use crate::store::{ColumnBlock, View};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Members of a large cluster among which the example is looked for.
const EXAMPLES: usize = 1000;

/// All duplicates in numbers.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct DuplicatesSummary {
    /// The dedup policy, in words.
    pub policy: String,
    /// Documents stored.
    pub documents: u64,
    /// Documents kept.
    pub kept: u64,
    /// Documents not kept, of each standing that has any.
    pub removed: Vec<RemovedCount>,
    /// What duplicates take from each source that lost any.
    pub sources: Vec<SourceLoss>,
    /// Duplicates by their source and that of their witness, most first.
    pub source_pairs: Vec<SourcePair>,
    /// Similarity of duplicates to their witness.
    pub similarity: Similarities,
    /// Clusters of two documents and more.
    pub clusters: u64,
    /// Their sizes, by powers of two.
    pub cluster_sizes: Vec<ClusterSizes>,
    /// The largest ones, largest first; as many as were asked for.
    pub largest: Vec<LargeCluster>,
}

/// Documents of one standing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RemovedCount {
    /// The standing: `exact` and `near` are duplicates.
    pub kind: &'static str,
    /// Documents.
    pub documents: u64,
}

/// What duplicates take from a source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SourceLoss {
    /// Its name.
    pub source: String,
    /// Documents stored.
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

/// Duplicates of one source whose witnesses are in one source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SourcePair {
    /// The source of the removed documents.
    pub source: String,
    /// The source of their witnesses.
    pub witness_source: String,
    /// Removed documents.
    pub documents: u64,
    /// Of these, those with equal raw bytes.
    pub exact: u64,
    /// UTF-8 bytes of their texts.
    pub bytes: u64,
    /// `documents` in the documents of their source.
    pub share: f64,
    /// `bytes` in the bytes of their source.
    pub share_bytes: f64,
}

/// Similarity of duplicates to their witness.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[non_exhaustive]
pub struct SimilarityBin {
    /// The least similarity.
    pub from: f64,
    /// All are less similar than this.
    pub to: f64,
    /// Documents.
    pub documents: u64,
}

/// Clusters of some size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ClusterSizes {
    /// The least size, the witness included.
    pub from: u64,
    /// The largest size.
    pub to: u64,
    /// Clusters.
    pub clusters: u64,
    /// Documents in them.
    pub documents: u64,
}

/// A large cluster.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct LargeCluster {
    /// The witness, which names the cluster.
    pub id: u64,
    /// Its key.
    pub key: String,
    /// Its source.
    pub source: String,
    /// Documents, the witness included.
    pub size: u64,
    /// Its documents by source, most first.
    pub sources: Vec<ClusterSource>,
    /// The least similar of its first 1,000 members, with the witness.
    pub example: Option<ExamplePair>,
}

/// Documents of a cluster from one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ClusterSource {
    /// The source.
    pub source: String,
    /// Documents, the witness included.
    pub documents: u64,
}

/// A removed document and its witness with the beginnings of their texts.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ExamplePair {
    /// Who they are and how similar.
    #[serde(flatten)]
    pub pair: DuplicatePair,
    /// The beginning of the witness's text.
    pub witness_beginning: String,
    /// The beginning of the removed document's text.
    pub beginning: String,
}

/// All duplicates in numbers, with the `largest` largest clusters.
///
/// # Errors
/// [`QueryError::Store`] when a row cannot be read.
pub fn duplicates_summary(view: &View, largest: usize) -> Result<DuplicatesSummary, QueryError> {
    let sources = SourceRuns::read(view)?;
    let mut removed = Vec::new();
    for standing in Standing::ALL {
        let documents = view.documents_standing(standing)?.len();
        if documents > 0 && standing != Standing::Kept {
            removed.push(RemovedCount { kind: standing.name(), documents });
        }
    }
    let (pairs, similarity) = matches(view, &sources)?;
    let sizes = cluster_sizes(view, largest)?;
    let mut names = Pairs::new(view);
    let mut large = Vec::new();
    for (size, Reverse(id)) in sizes.largest() {
        large.push(large_cluster(view, &sources, &mut names, id, size)?);
    }
    Ok(DuplicatesSummary {
        policy: view.policy().to_string(),
        documents: view.documents(),
        kept: view.state().kept,
        removed,
        sources: losses(view, &pairs),
        source_pairs: source_pairs(view, &pairs),
        similarity,
        clusters: sizes.powers.values().map(|(clusters, _)| clusters).sum(),
        cluster_sizes: sizes.bins(),
        largest: large,
    })
}

/// Removed documents, those among them with equal bytes, and bytes of text.
#[derive(Clone, Copy, Default)]
struct Removed {
    documents: u64,
    exact: u64,
    bytes: u64,
}

type PairCounts = BTreeMap<(SourceId, SourceId), Removed>;

fn matches(view: &View, sources: &SourceRuns) -> Result<(PairCounts, Similarities), QueryError> {
    let mut pairs = PairCounts::new();
    let mut histogram = Histogram::new(view.policy());
    // Matches come in the order of removed documents: one block of lengths serves a run of them.
    let mut lengths: Option<(u64, ColumnBlock)> = None;
    view.for_each_match::<QueryError>(|removed, _, found| {
        if found.kind == MatchKind::Superseded {
            return Ok(());
        }
        let block = match &lengths {
            Some((block, column)) if *block == removed.block() => column,
            _ => {
                let column = view.column_block(fields::BYTES, removed.block())?;
                &lengths.insert((removed.block(), column)).1
            }
        };
        let bytes = block.get(removed.slot()).and_then(|bytes| u64::try_from(bytes).ok());
        let pair = pairs.entry((sources.of(removed), sources.of(found.witness))).or_default();
        pair.documents += 1;
        pair.exact += u64::from(found.kind == MatchKind::Exact);
        pair.bytes += bytes.unwrap_or(0);
        if found.kind == MatchKind::Exact {
            histogram.exact += 1;
        } else {
            histogram.add(found.jaccard());
        }
        Ok(())
    })?;
    Ok((pairs, histogram.counted()))
}

fn losses(view: &View, pairs: &PairCounts) -> Vec<SourceLoss> {
    let mut found = Vec::new();
    for (id, record) in view.sources() {
        let of_source = || pairs.iter().filter(|((source, _), _)| *source == id);
        let removed = of_source().map(|(_, count)| count.documents).sum();
        let removed_bytes = of_source().map(|(_, count)| count.bytes).sum();
        if removed > 0 {
            found.push(SourceLoss {
                source: record.name.clone(),
                documents: record.documents,
                removed,
                share: share(removed, record.documents),
                bytes: record.bytes,
                removed_bytes,
                share_bytes: share(removed_bytes, record.bytes),
            });
        }
    }
    found
}

fn source_pairs(view: &View, pairs: &PairCounts) -> Vec<SourcePair> {
    let totals: BTreeMap<SourceId, (u64, u64)> =
        view.sources().map(|(id, record)| (id, (record.documents, record.bytes))).collect();
    let mut found: Vec<SourcePair> = pairs
        .iter()
        .map(|((source, witness), count)| {
            let (documents, bytes) = totals.get(source).copied().unwrap_or_default();
            SourcePair {
                source: view.source_name(*source).to_owned(),
                witness_source: view.source_name(*witness).to_owned(),
                documents: count.documents,
                exact: count.exact,
                bytes: count.bytes,
                share: share(count.documents, documents),
                share_bytes: share(count.bytes, bytes),
            }
        })
        .collect();
    found.sort_by_key(|pair| Reverse(pair.documents));
    found
}

/// Counts of similarities between bounds.
struct Histogram {
    exact: u64,
    same_shingles: u64,
    /// Ascending, from the first to 1.
    bounds: Vec<f64>,
    counts: Vec<u64>,
}

impl Histogram {
    /// From the threshold in steps of 0.02 where every match was verified against it; else below 0.5 and
    /// from there in steps of 0.05.
    fn new(policy: &Policy) -> Self {
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

    fn add(&mut self, jaccard: f64) {
        if jaccard >= 1.0 {
            self.same_shingles += 1;
            return;
        }
        let after = self.bounds.partition_point(|bound| *bound <= jaccard);
        if let Some(count) = self.counts.get_mut(after.saturating_sub(1)) {
            *count += 1;
        }
    }

    fn counted(self) -> Similarities {
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
        let bins = bins.get(first..end).unwrap_or_default().to_vec();
        Similarities { exact: self.exact, same_shingles: self.same_shingles, bins }
    }
}

/// Sizes of clusters counted, and the largest so far.
struct Sizes {
    /// Clusters and their documents, by the power of two that bounds their size.
    powers: BTreeMap<u32, (u64, u64)>,
    heap: BinaryHeap<Reverse<(u64, Reverse<DocId>)>>,
    most: usize,
}

impl Sizes {
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
    fn largest(&self) -> Vec<(u64, Reverse<DocId>)> {
        let mut found: Vec<_> = self.heap.iter().map(|Reverse(cluster)| *cluster).collect();
        found.sort_by_key(|cluster| Reverse(*cluster));
        found
    }

    fn bins(&self) -> Vec<ClusterSizes> {
        let bin = |(power, (clusters, documents)): (&u32, &(u64, u64))| {
            let to = 1_u64.checked_shl(*power).unwrap_or(u64::MAX);
            ClusterSizes { from: to / 2 + 1, to, clusters: *clusters, documents: *documents }
        };
        self.powers.iter().map(bin).collect()
    }
}

fn cluster_sizes(view: &View, most: usize) -> Result<Sizes, QueryError> {
    let mut sizes = Sizes { powers: BTreeMap::new(), heap: BinaryHeap::new(), most };
    let mut open: Option<(DocId, u64)> = None;
    view.for_each_member::<QueryError>(|witness, _| {
        match &mut open {
            Some((cluster, size)) if *cluster == witness => *size += 1,
            _ => {
                if let Some((cluster, size)) = open.replace((witness, 2)) {
                    sizes.add(cluster, size);
                }
            }
        }
        Ok(())
    })?;
    if let Some((cluster, size)) = open {
        sizes.add(cluster, size);
    }
    Ok(sizes)
}

fn large_cluster(
    view: &View,
    sources: &SourceRuns,
    names: &mut Pairs<'_>,
    id: DocId,
    size: u64,
) -> Result<LargeCluster, QueryError> {
    let members = view.members(id)?;
    let mut of_source: BTreeMap<SourceId, u64> = BTreeMap::new();
    for document in members.iter().copied().chain([id]) {
        *of_source.entry(sources.of(document)).or_default() += 1;
    }
    let mut counted: Vec<ClusterSource> = of_source
        .into_iter()
        .map(|(source, documents)| ClusterSource {
            source: view.source_name(source).to_owned(),
            documents,
        })
        .collect();
    counted.sort_by_key(|source| Reverse(source.documents));
    let mut least: Option<(f64, DuplicatePair)> = None;
    for member in members.into_iter().take(EXAMPLES) {
        let Some(found) = view.match_of(member)? else { continue };
        let jaccard = found.jaccard();
        if least.as_ref().is_none_or(|(before, _)| jaccard < *before)
            && let Some(pair) = names.pair(member, &found)?
        {
            least = Some((jaccard, pair));
        }
    }
    let example = match least {
        None => None,
        Some((_, pair)) => Some(ExamplePair {
            witness_beginning: beginning(&view.text(DocId(pair.witness))?),
            beginning: beginning(&view.text(DocId(pair.id))?),
            pair,
        }),
    };
    let (key, source) = names.named(id)?;
    Ok(LargeCluster { id: id.0, key, source, size, sources: counted, example })
}

/// A part of a whole, in 0..=1; 0 of nothing.
#[expect(clippy::cast_precision_loss, reason = "a share is shown with a few digits")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Profile;

    #[test]
    fn similarities_fall_into_the_bin_they_reach() {
        let mut histogram = Histogram::new(&Policy::of(Profile::Web));
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
        let mut histogram = Histogram::new(&Policy::of(Profile::Fineweb));
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
        let mut sizes = Sizes { powers: BTreeMap::new(), heap: BinaryHeap::new(), most: 2 };
        for (cluster, size) in [(1, 2), (5, 4), (9, 3), (12, 5), (20, 5), (30, 2)] {
            sizes.add(DocId(cluster), size);
        }
        let bins: Vec<_> =
            sizes.bins().iter().map(|b| (b.from, b.to, b.clusters, b.documents)).collect();
        assert_eq!(bins, [(2, 2, 2, 4), (3, 4, 2, 7), (5, 8, 2, 10)]);
        assert_eq!(sizes.largest(), [(5, Reverse(DocId(12))), (5, Reverse(DocId(20)))]);
    }
}
