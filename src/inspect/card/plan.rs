//! The part of a report about a stored plan: its mix, its rows, what it leaves over, and the documents of its epoch.

use super::options::ReportOptions;
use super::sizes::{CardSizes, Provenance, provenance};
use crate::corpus::{Corpora, parts};
use crate::epoch::{self, Explanation};
use crate::inspect::{self, Domains};
use model::{Error, Interrupt};
use roaring::RoaringTreemap;
use serde::Serialize;
use store::View;

/// What the first epoch of a stored plan that has rows will be.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PlanReport {
    /// The number of the plan.
    pub number: u32,
    /// Documents that it draws although they were removed after its snapshot; they are still trained on.
    pub removed_since: u64,
    /// What its first epoch will be.
    pub epoch: Explanation,
    /// The documents of which that epoch gives any token, each once; as `kept` those that still are.
    pub sizes: CardSizes,
    /// What these documents say of their dates and licences.
    pub provenance: Provenance,
    /// Their domains, where the domains with most text were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domains: Option<Domains>,
}

/// What a stored plan makes of the corpora, with the documents of its epoch.
pub(super) fn plan(
    corpora: &Corpora,
    (number, options): (u32, &ReportOptions),
    interrupt: &Interrupt,
) -> Result<(PlanReport, RoaringTreemap), Error> {
    let planned = epoch::stored_plan(corpora.first(), number)?;
    let removed_since = epoch::removed_since(corpora, &planned)?;
    let explained = epoch::explain(corpora, &planned, interrupt)?;
    let documents = epoch::documents_of_epoch(corpora, &planned, interrupt)?;
    let of: Vec<(&View, RoaringTreemap)> =
        corpora.views().map(|(shard, view)| (view, parts(shard, &documents))).collect();
    let mut counted = Vec::with_capacity(of.len());
    for (view, documents) in &of {
        interrupt.check()?;
        counted.push(inspect::group_counts(view, documents.clone())?);
    }
    let domains = || inspect::domains(&of, options.domains, true);
    let report = PlanReport {
        number,
        removed_since,
        epoch: explained,
        sizes: CardSizes::of(counted),
        provenance: provenance(&of)?,
        domains: options.domains_by_text.then(domains).transpose()?,
    };
    Ok((report, documents))
}
