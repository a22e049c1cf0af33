//! Counts documents that are not kept, by source and reason.

use super::scope::{ScopeMember, StatsScope};
use crate::inspect::InspectError;
use crate::inspect::snapshots::{LossReasonReader, SnapshotState};
use model::{DocId, SourceId, Standing};
use serde::Serialize;
use std::collections::BTreeMap;
use store::system_fields;

/// The documents of a source by standing, with shares.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LossStats {
    /// The name of the source.
    pub source: String,
    /// Documents, kept or not.
    pub documents: u64,
    /// Documents kept.
    pub kept: u64,
    /// Those whose bytes equal a kept one's.
    pub exact: u64,
    /// Those that are similar to a kept one.
    pub near: u64,
    /// Those whose key was ingested again with other content.
    pub superseded: u64,
    /// Those that the user removed.
    pub removed: u64,
    /// Those that equal a removed one.
    pub blocked: u64,
    /// Those without words.
    pub empty: u64,
    /// Those that were erased.
    pub purged: u64,
    /// Those that a snapshot does not keep for a reason that no longer holds.
    pub unknown: u64,
    /// `exact` as a share of the documents.
    pub exact_rate: f64,
    /// `near` as a share of the documents.
    pub near_rate: f64,
    /// `superseded` as a share of the documents.
    pub superseded_rate: f64,
    /// `removed` as a share of the documents.
    pub removed_rate: f64,
}

/// Counts the documents of a scope by source and standing; where the moment is a snapshot, by the standing they had
/// then.
pub(super) fn losses(
    scope: &StatsScope<'_>,
    moment: &SnapshotState,
    is_snapshot: bool,
) -> Result<Vec<LossStats>, InspectError> {
    let view = scope.view;
    let mut reasons = match is_snapshot {
        true => Some(LossReasonReader::new(view, moment, DocId(0))?),
        false => None,
    };
    let mut counts: BTreeMap<SourceId, LossStats> = BTreeMap::new();
    for block in scope.blocks() {
        let sources = view.column_block(system_fields::SOURCE_OF, block)?;
        let standings = view.block_standings(block)?;
        for (slot, member) in (0..=u16::MAX).zip(scope.members(block)?) {
            let document = DocId::at(block, slot);
            let loss = match (member, &mut reasons) {
                (ScopeMember::Outside, _) => continue,
                (ScopeMember::Kept, _) => Some(Standing::Kept),
                (ScopeMember::Lost, Some(reasons)) => reasons.of(document)?.reason,
                (ScopeMember::Lost, None) => standings.of(slot),
            };
            counts.entry(sources.source_of(document)?).or_default().count(loss);
        }
    }
    let named = |(source, counts): (SourceId, LossStats)| {
        let source = view.source_name(source)?.to_owned();
        Ok(LossStats { source, ..counts.with_rates() })
    };
    let mut all: Vec<LossStats> =
        counts.into_iter().map(named).collect::<Result<_, InspectError>>()?;
    all.sort_by(|a, b| a.source.cmp(&b.source));
    Ok(all)
}

impl LossStats {
    fn count(&mut self, standing: Option<Standing>) {
        self.documents += 1;
        let place = match standing {
            Some(Standing::Kept) => &mut self.kept,
            Some(Standing::Exact) => &mut self.exact,
            Some(Standing::Near) => &mut self.near,
            Some(Standing::Superseded) => &mut self.superseded,
            Some(Standing::Removed) => &mut self.removed,
            Some(Standing::Blocked) => &mut self.blocked,
            Some(Standing::Empty) => &mut self.empty,
            Some(Standing::Purged) => &mut self.purged,
            None => &mut self.unknown,
        };
        *place += 1;
    }

    fn with_rates(self) -> Self {
        let rate = |part: u64| part as f64 / self.documents.max(1) as f64;
        Self {
            exact_rate: rate(self.exact),
            near_rate: rate(self.near),
            superseded_rate: rate(self.superseded),
            removed_rate: rate(self.removed),
            ..self
        }
    }
}
