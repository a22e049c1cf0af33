//! Counts all duplicates: what was removed, from where, how similar, in which clusters.
//!
//! Two walks: over the matches in the order of removed documents (`losses`), and over the clusters in the order of
//! witnesses. Only counts and the largest clusters so far are held.

use super::counts::{ClusterSizes, cluster_sizes};
use super::counts::{LossShare, PairCounts, PairShare, lost, pair_counts};
use super::counts::{Similarities, SimilarityHistogram};
use super::excerpts::{beginning, parting};
use crate::inspect::InspectError;
use crate::inspect::groups::{DocumentGroups, GroupId, GroupTotal};
use crate::inspect::info::standing_counts;
use crate::sql::{DuplicatePair, PairReader};
use model::{DocId, MatchKind, Standing};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use store::View;
use store::system_fields;

/// Members of a large cluster among which an example is searched for.
const EXAMPLES: usize = 1000;

/// Which duplicates are counted, and by what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DuplicatesOptions {
    /// Largest clusters listed.
    pub largest: usize,
    /// Only documents of this source and what was removed from it, whatever source its witness is of.
    pub source: Option<String>,
    /// Declared fields of any type but float, or `language`, that take the place of the source in what is counted. A
    /// timestamp may have a unit behind it, as in `published:month`; several fields make a group together.
    pub by: Vec<String>,
}

/// All duplicates in numbers.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DuplicatesSummary {
    /// The dedup policy, in words.
    pub policy: String,
    /// The one source whose documents and duplicates are counted; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How many documents are stored, kept or not.
    pub documents: u64,
    /// How many documents are kept.
    pub kept: u64,
    /// Documents not kept, of each standing that has any.
    pub removed: Vec<RemovedCount>,
    /// How documents are grouped below: by `source`, or by fields with commas between them, whose values are told, with
    /// ` / ` between them.
    pub by: String,
    /// Duplicates of each source that has any.
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
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RemovedCount {
    /// The standing: `exact` and `near` are duplicates.
    pub kind: &'static str,
    /// Documents.
    pub documents: u64,
}

/// What duplicates take from a source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SourceLoss {
    /// The name of the source.
    pub source: String,
    /// What it lost.
    #[serde(flatten)]
    pub loss: LossShare,
}

/// Duplicates of one source whose witnesses are in one source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SourcePair {
    /// The source of the removed documents, or their value of the field.
    pub source: String,
    /// The source of their witnesses, or their value of the field.
    pub witness_source: String,
    /// What was removed.
    #[serde(flatten)]
    pub removed: PairShare,
}

/// A large cluster.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LargeCluster {
    /// The witness, which names the cluster.
    pub id: u64,
    /// The key of the kept document of the cluster.
    pub key: String,
    /// The source of the kept document of the cluster.
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
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ClusterSource {
    /// The name of the source.
    pub source: String,
    /// Documents, the witness included.
    pub documents: u64,
}

/// A removed document and its witness with parts of their texts.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ExamplePair {
    /// The two documents and their similarity.
    #[serde(flatten)]
    pub pair: DuplicatePair,
    /// The beginning of the witness's text.
    pub witness_beginning: String,
    /// The beginning of the removed document's text.
    pub beginning: String,
    /// The witness's text from shortly before the place where the two part.
    pub witness_excerpt: String,
    /// The removed document's text from there.
    pub excerpt: String,
}

/// All duplicates in numbers, or those removed from one source.
///
/// # Errors
/// [`InspectError`], [`InspectError::NoGroups`], [`InspectError::NoUnit`] and [`InspectError::GroupedTwice`] for what
/// there is not, [`InspectError::TooManyGroups`] and [`InspectError::TooManyPairs`] for fields with more than 1,000 values
/// or a million pairs of them, [`InspectError`] when a row cannot be read.
pub fn duplicates_summary(
    view: &View,
    options: &DuplicatesOptions,
) -> Result<DuplicatesSummary, InspectError> {
    let only = options
        .source
        .as_deref()
        .map(|name| view.expect_source(name))
        .transpose()?
        .map(|(id, _)| id);
    let of_source =
        |id| view.documents_with(system_fields::SOURCE, &system_fields::source_value(id));
    let of_source = only.map(of_source).transpose()?;
    let mut groups = DocumentGroups::by(view, &options.by)?;
    let totals = groups.totals(only)?;
    let counts = standing_counts(view, of_source.as_ref())?.into_iter();
    let removed = counts
        .filter(|of| of.standing != Standing::Kept.name())
        .map(|of| RemovedCount { kind: of.standing, documents: of.documents })
        .collect();
    let mut histogram = SimilarityHistogram::new(view.policy());
    let pairs = pair_counts(view, &mut groups, only, |found| match found.kind {
        MatchKind::Exact => histogram.exact += 1,
        _ => histogram.add(found.jaccard()),
    })?;
    let counts =
        |document: DocId| of_source.as_ref().is_none_or(|these| these.contains(document.0));
    let sizes = cluster_sizes(view, options.largest, counts)?;
    let (mut names, mut sources) = (PairReader::new(view), DocumentGroups::by(view, &[])?);
    let mut large = Vec::new();
    for (size, Reverse(id)) in sizes.largest() {
        large.push(large_cluster(view, &mut sources, &mut names, id, size)?);
    }
    let record = only.and_then(|only| view.sources().find(|(id, _)| *id == only));
    Ok(DuplicatesSummary {
        policy: view.policy().to_string(),
        source: options.source.clone(),
        documents: record.map_or(view.documents(), |(_, record)| record.documents),
        kept: record.map_or(view.state().kept, |(_, record)| record.kept),
        removed,
        by: groups.names().join(","),
        sources: losses(&groups, &totals, &pairs)?,
        source_pairs: source_pairs(&groups, &totals, &pairs)?,
        similarity: histogram.counted(),
        clusters: sizes.powers.values().map(|(clusters, _)| clusters).sum(),
        cluster_sizes: sizes.bins(),
        largest: large,
    })
}

fn losses(
    groups: &DocumentGroups<'_>,
    totals: &BTreeMap<GroupId, GroupTotal>,
    pairs: &PairCounts,
) -> Result<Vec<SourceLoss>, InspectError> {
    let lost = lost(pairs);
    let mut found = Vec::with_capacity(lost.len());
    for group in groups.in_order(lost.keys().copied())? {
        let total = totals.get(&group).copied().unwrap_or_default();
        let lost = lost.get(&group).copied().unwrap_or_default();
        found.push(SourceLoss { source: groups.label(group)?, loss: LossShare::of(lost, total) });
    }
    Ok(found)
}

fn source_pairs(
    groups: &DocumentGroups<'_>,
    totals: &BTreeMap<GroupId, GroupTotal>,
    pairs: &PairCounts,
) -> Result<Vec<SourcePair>, InspectError> {
    let mut found = Vec::with_capacity(pairs.len());
    for ((source, witness), count) in pairs {
        let total = totals.get(source).copied().unwrap_or_default();
        found.push(SourcePair {
            source: groups.label(*source)?,
            witness_source: groups.label(*witness)?,
            removed: PairShare::of(*count, total),
        });
    }
    found.sort_by_key(|pair| Reverse(pair.removed.documents));
    Ok(found)
}

fn large_cluster(
    view: &View,
    sources: &mut DocumentGroups<'_>,
    names: &mut PairReader<'_>,
    id: DocId,
    size: u64,
) -> Result<LargeCluster, InspectError> {
    let members = view.members(id)?;
    let mut of_source: BTreeMap<GroupId, u64> = BTreeMap::new();
    for document in members.iter().copied().chain([id]) {
        *of_source.entry(sources.of(document)?).or_default() += 1;
    }
    let mut counted = Vec::with_capacity(of_source.len());
    for group in sources.in_order(of_source.keys().copied())? {
        let documents = of_source.get(&group).copied().unwrap_or(0);
        counted.push(ClusterSource { source: sources.label(group)?, documents });
    }
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
        Some((_, pair)) => {
            let (kept, removed) = (view.text(DocId(pair.witness))?, view.text(DocId(pair.id))?);
            let (witness_excerpt, excerpt) = parting(&kept, &removed);
            let (witness_beginning, beginning) = (beginning(&kept), beginning(&removed));
            Some(ExamplePair { pair, witness_beginning, beginning, witness_excerpt, excerpt })
        }
    };
    let (key, source) = names.named(id)?;
    Ok(LargeCluster { id: id.0, key, source, size, sources: counted, example })
}
