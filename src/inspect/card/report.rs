//! Gathers the parts of a report from the queries that count them.

use super::duplicates::{DuplicatesReport, duplicates};
use super::largest::{Largest, largest};
use super::options::ReportOptions;
use super::parts::{CardOverview, about};
use super::parts::{ContaminationReport, contaminated};
use super::parts::{PlanReport, plan};
use super::parts::{SampledDocument, samples};
use super::sizes::{CardSizes, CardSpreads, Provenance, provenance, spreads};
use crate::corpus::{Corpora, Corpus};
use crate::inspect::InspectError;
use crate::inspect::{
    self, Domains, LengthStats, LossStats, RejectStats, SnapshotInfo, SourceLanguageCounts,
    Timeline,
};
use crate::sql::{DocumentFilter, SqlError};
use model::{Context, Error, Interrupt};
use serde::Serialize;
use store::View;

/// Limits of lists: sources with losses, reasons of rejects.
const LOSSES: usize = 24;
const REASONS: usize = 40;
/// Limits of the history: stretches of commits, events, snapshots.
const STRETCHES: u64 = 96;
const EVENTS: usize = 40;
const SNAPSHOTS: usize = 40;

/// The data card of a corpus.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CorpusReport {
    /// What the corpus is called: the name of its directory.
    pub name: String,
    /// The version of corpusdb that wrote the report.
    pub version: &'static str,
    /// What it is.
    pub about: CardOverview,
    /// How large it is.
    pub sizes: CardSizes,
    /// How long documents are.
    pub lengths: Vec<LengthStats>,
    /// Distributions of lengths and declared numbers.
    pub spreads: CardSpreads,
    /// The documents of each source by standing.
    pub losses: Largest<LossStats>,
    /// Why records were not read.
    pub rejects: Largest<RejectStats>,
    /// What dedup removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<DuplicatesReport>,
    /// How much of evaluation suites is in it.
    pub contamination: ContaminationReport,
    /// What the kept documents say of their dates and licences.
    pub provenance: Provenance,
    /// Some of the kept documents, or with a plan of those that its epoch trains on; none without texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<SampledDocument>,
    /// The seed by which they are drawn.
    pub seed: u64,
    /// The domains of kept documents.
    pub domains: Domains,
    /// The history of the corpus.
    pub timeline: Timeline,
    /// The snapshots, newest last.
    pub snapshots: Vec<SnapshotInfo>,
    /// How many older ones there are.
    pub snapshots_left_out: u64,
    /// The plan, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanReport>,
    /// Parts that are left out, and why.
    pub omitted: Vec<OmittedPart>,
}

/// A part that the report leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OmittedPart {
    /// Its name in the report.
    pub part: &'static str,
    /// Why.
    pub why: String,
}
impl Corpus {
    /// Everything that a data card says of this corpus: sizes before and after dedup, lengths, duplicates, rejects,
    /// spreads of declared numbers, domains, commits, snapshots, and what a stored plan makes of it. A function of the
    /// commit and the options. Beside bitmaps of documents it holds some tens of MB, whatever the corpus holds; columns
    /// are read, the keys and the metadata of kept documents, the texts of two documents for each cluster shown and of
    /// the documents drawn, and with a plan the rows of its epoch.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) for a plan that there is not, or that does not fit the corpus any more;
    /// [`InspectError`](crate::sql::InspectError) when rows cannot be read, or after the stop.
    pub fn report(
        &self,
        options: &ReportOptions,
        context: &Context<'_>,
    ) -> Result<CorpusReport, Error> {
        let path = std::path::absolute(self.path()).unwrap_or_else(|_| self.path().to_path_buf());
        let name = path.file_name().unwrap_or(path.as_os_str());
        report(self.corpora(), &name.to_string_lossy(), options, context.interrupt)
    }

    /// What dedup took away, as [`Corpus::report`] tells it: the same part alone.
    ///
    /// # Errors
    /// [`InspectError`](crate::sql::InspectError) for sources by the thousand that have duplicates of each other, or
    /// when rows cannot be read.
    pub fn report_duplicates(&self, options: &ReportOptions) -> Result<DuplicatesReport, Error> {
        duplicates(self.view(), options)
    }
}

/// The first of these corpora, called `name`, as a data card tells it; a plan may be over all of them.
///
/// # Errors
/// [`Error`] for a plan that there is not or that does not fit the corpus any more, when rows cannot be read, or after
/// the stop.
pub(crate) fn report(
    corpora: &Corpora,
    name: &str,
    options: &ReportOptions,
    interrupt: &Interrupt,
) -> Result<CorpusReport, Error> {
    let view = corpora.first();
    // Checks that may fail come first.
    let plan =
        options.plan.map(|number| plan(corpora, (number, options), interrupt)).transpose()?;
    go_on(interrupt)?;
    let stats = inspect::stats(view, &DocumentFilter::default())?;
    go_on(interrupt)?;
    let spreads = spreads(view, stats.columns, options.sources)?;
    go_on(interrupt)?;
    let mut omitted = Vec::new();
    let duplicates = match duplicates(view, options) {
        Ok(found) => Some(found),
        Err(error) if matches!(error.origin(), Some(InspectError::TooManyPairs { .. })) => {
            omitted.push(OmittedPart { part: "duplicates", why: error.to_string() });
            None
        }
        Err(error) => return Err(error),
    };
    go_on(interrupt)?;
    let kept = [(view, view.kept()?)];
    let by_text = options.domains_by_text && plan.is_none();
    let domains = inspect::domains(&kept, options.domains, by_text)?;
    go_on(interrupt)?;
    let provenance = provenance(&kept)?;
    go_on(interrupt)?;
    let (plan, of_epoch) = plan.unzip();
    let [(_, kept)] = kept;
    let samples = match options.texts {
        true => samples(corpora, &of_epoch.unwrap_or(kept), (options.samples, options.seed))?,
        false => Vec::new(),
    };
    let contamination = match contaminated(view) {
        Ok(found) => found,
        Err(error) if matches!(error.origin(), Some(SqlError::Suites { .. })) => {
            omitted.push(OmittedPart { part: "contamination", why: error.to_string() });
            ContaminationReport::default()
        }
        Err(error) => return Err(error),
    };
    let (snapshots, snapshots_left_out) = snapshots(view)?;
    Ok(CorpusReport {
        name: name.to_owned(),
        version: env!("CARGO_PKG_VERSION"),
        about: about(view)?,
        sizes: CardSizes::of(vec![SourceLanguageCounts {
            all: stats.all,
            kept: stats.kept,
            groups: stats.groups,
            is_by_source_alone: stats.is_by_source_alone,
        }]),
        lengths: inspect::lengths(view)?,
        spreads,
        losses: largest(stats.losses, LOSSES),
        rejects: largest(stats.rejects, REASONS),
        duplicates,
        contamination,
        provenance,
        samples,
        seed: options.seed,
        domains,
        timeline: inspect::timeline(view, STRETCHES, EVENTS)?,
        snapshots,
        snapshots_left_out,
        plan,
        omitted,
    })
}

fn go_on(interrupt: &Interrupt) -> Result<(), Error> {
    Ok(interrupt.check()?)
}

/// The newest snapshots in the order of their commits, and how many older ones there are.
fn snapshots(view: &View) -> Result<(Vec<SnapshotInfo>, u64), Error> {
    let mut all: Vec<SnapshotInfo> =
        view.snapshots()?.into_iter().map(SnapshotInfo::from).collect();
    all.sort_by(|a, b| (a.commit, &a.name).cmp(&(b.commit, &b.name)));
    let older = all.len().saturating_sub(SNAPSHOTS);
    Ok((all.split_off(older), older as u64))
}
