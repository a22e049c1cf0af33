//! Counts what one snapshot keeps.

use crate::inspect::InspectError;
use crate::inspect::counts::{CountsSum, DocumentCounts, DocumentSizes};
use crate::inspect::groups::{DocumentGroups, GroupId};
use model::DocId;
use serde::Serialize;
use std::collections::BTreeMap;
use store::View;

/// A snapshot: its commit and its documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SnapshotDetails {
    /// The name of the snapshot.
    pub name: String,
    /// Its commit.
    pub commit: u64,
    /// Documents stored then, kept or not.
    pub documents: u64,
    /// Documents kept then.
    pub kept: u64,
    /// UTF-8 bytes of their texts.
    pub kept_bytes: u64,
    /// Their tokens, by tokenizer.
    pub tokens: BTreeMap<String, u64>,
    /// The sources that have any of them.
    pub sources: Vec<SnapshotSource>,
    /// The numbers of the stored plans that draw from it.
    pub plans: Vec<u32>,
}

/// How much a snapshot keeps of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SnapshotSource {
    /// The name of the source.
    pub source: String,
    /// Counts of its kept documents.
    #[serde(flatten)]
    pub kept: DocumentCounts,
}

/// What the snapshot of that name holds.
///
/// # Errors
/// [`InspectError`] for a snapshot that there is not, or when rows cannot be read.
pub fn show_snapshot(view: &View, name: &str) -> Result<SnapshotDetails, InspectError> {
    let record = view.expect_snapshot(name)?;
    let (mut groups, mut sizes) = (DocumentGroups::by(view, &[])?, DocumentSizes::new(view));
    let mut all = CountsSum::default();
    let mut of_sources: BTreeMap<GroupId, CountsSum> = BTreeMap::new();
    for document in view.snapshot_kept(name)?.into_iter().map(DocId) {
        let size = sizes.of(document)?;
        all.add(&size);
        of_sources.entry(groups.of(document)?).or_default().add(&size);
    }
    let mut named = BTreeMap::new();
    for (group, sum) in of_sources {
        named.insert(groups.label(group)?, sum);
    }
    let mut sources = Vec::with_capacity(named.len());
    for (_, record) in view.sources() {
        if let Some(sum) = named.get(&record.name) {
            let source = record.name.clone();
            sources.push(SnapshotSource { source, kept: sum.counts(view) });
        }
    }
    let DocumentCounts { bytes, tokens, .. } = all.counts(view);
    Ok(SnapshotDetails {
        name: record.name,
        commit: record.commit,
        documents: record.documents,
        kept: record.kept,
        kept_bytes: bytes,
        tokens,
        sources,
        plans: view.plans_from(name)?,
    })
}
