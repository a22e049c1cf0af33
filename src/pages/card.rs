//! The data card of a corpus as a page: a run first, then sizes, duplicates, languages, losses, contamination, domains,
//! dates and licences, lengths, numbers, some documents, and the history.

use super::chart::{AltText, Chart, ChartAxis, ChartLine, line_chart};
use super::duplicates::DuplicatesSection;
use super::figures::{BarChart, OTHERS, SpreadFigure, cut, cut_behind, value_text};
use super::plan::PlanSection;
use super::sizes::{LanguagesSection, LengthFigure, SizesSection, lengths, tokenizers};
use super::{Contents, PageModel, duplicates, plan};
use crate::inspect::{
    CardOverview, CardSuite, CorpusReport, OmittedPart, Provenance, SampledDocument,
};
use crate::inspect::{
    ColumnStats, CommitInfo, CommitStretch, DateRange, DomainStats, LicenceCount, LossStats,
    RejectStats, SnapshotInfo, SourceSpread, SuiteContamination,
};
use model::show;
use serde::Serialize;
use std::collections::BTreeMap;

/// Domains in the chart; the table has more.
const DOMAINS: usize = 20;
/// Characters of a reason, which may quote the input.
pub(super) const REASON: usize = 300;
/// Tokenizers whose tokens are among the numbers at the top.
const TILES: usize = 3;

/// The data card of a corpus.
#[derive(Debug, Serialize)]
pub struct CardPage<'a> {
    name: String,
    version: &'static str,
    contents: Contents,
    /// How many documents are kept, and what became of the others.
    headline: String,
    /// Tokens of the kept documents, by the tokenizer of the plan, or by the first that were registered.
    tokens: Vec<(&'a str, u64)>,
    about: &'a CardOverview,
    omitted: &'a [OmittedPart],
    sizes: SizesSection<'a>,
    languages: Option<LanguagesSection>,
    origins: OriginsSection<'a>,
    samples: &'a [SampledDocument],
    seed: String,
    lengths: Vec<LengthFigure<'a>>,
    duplicates: Option<DuplicatesSection<'a>>,
    losses: LossesSection<'a>,
    numbers: Option<NumbersSection>,
    contamination: ContaminationSection<'a>,
    domains: DomainsSection<'a>,
    history: HistorySection<'a>,
    plan: Option<PlanSection<'a>>,
}

impl<'a> CardPage<'a> {
    /// The card of a report.
    pub fn new(report: &'a CorpusReport) -> Self {
        let stored = report.sizes.all.documents;
        let duplicates = report.duplicates.as_ref().map(|it| DuplicatesSection::new(it, stored));
        let plan = report.plan.as_ref().map(|plan| PlanSection::new(&plan.epoch, Some(plan)));
        let (lengths, numbers) = (lengths(report), numbers(report));
        let languages = LanguagesSection::new(report);
        let contents = [
            plan.is_some().then_some(plan::TITLE),
            Some(("sizes", "Sources, before and after")),
            duplicates.is_some().then_some(duplicates::TITLE),
            Some(("languages", "Languages")),
            Some(("losses", "What is not kept, and why")),
            Some(("contamination", "Test items in it")),
            Some(("origins", "Dates and licences")),
            Some(("domains", "Domains")),
            (!lengths.is_empty()).then_some(("lengths", "Lengths of documents")),
            numbers.is_some().then_some(("numbers", "Declared numbers, by source")),
            (!report.samples.is_empty()).then_some(("samples", "Some of its documents")),
            Some(("about", "How it was made")),
            Some(("history", "Its history")),
            Some(("method", "What the figures mean")),
        ];
        let counted = tokenizers(report)
            .into_iter()
            .filter_map(|name| Some((name, *report.sizes.kept.tokens.get(name)?)));
        let tiles = if plan.is_some() { 1 } else { TILES };
        Self {
            name: cut(&report.name),
            version: report.version,
            contents: Contents(contents.into_iter().flatten().collect()),
            headline: headline(report),
            tokens: counted.take(tiles).collect(),
            about: &report.about,
            omitted: &report.omitted,
            sizes: SizesSection::new(report),
            languages,
            origins: origins(report),
            samples: &report.samples,
            seed: report.seed.to_string(),
            lengths,
            duplicates,
            losses: losses(report),
            numbers,
            contamination: contamination(report),
            domains: domains(report),
            history: history(report),
            plan,
        }
    }
}

impl PageModel for CardPage<'_> {
    const TEMPLATE: &'static str = "card.html";

    fn title(&self) -> String {
        format!("Data card: {}", self.name)
    }
}

/// How many documents are kept, and what became of the others; kinds without any are left out.
fn headline(report: &CorpusReport) -> String {
    let (all, kept) = (report.sizes.all.documents, report.sizes.kept.documents);
    if all == 0 {
        return "Nothing has come in yet.".to_owned();
    }
    if all == kept {
        return format!("Every document that came in is kept: {}.", show::number(all));
    }
    let of = |standing: &str| {
        let found = report.about.standings.iter().find(|it| it.standing == standing);
        found.map_or(0, |it| it.documents)
    };
    let mut rest = all - kept;
    let kinds = [
        (of("exact") + of("near"), "duplicate was removed", "duplicates were removed"),
        (
            of("superseded"),
            "is an earlier version of a document that came again",
            "are earlier versions of documents that came again",
        ),
        (
            of("removed"),
            "was taken out by hand or by a rule",
            "were taken out by hand or by a rule",
        ),
        (of("blocked"), "equals one that was taken out", "equal one that was taken out"),
        (of("purged"), "was erased", "were erased"),
        (of("empty"), "is empty", "are empty"),
    ];
    let mut parts = Vec::new();
    for (documents, one, many) in kinds.into_iter().filter(|(documents, _, _)| *documents > 0) {
        rest = rest.saturating_sub(documents);
        parts.push(show::count(documents, one, many));
    }
    parts.extend((rest > 0).then(|| show::count(rest, "other is not", "others are not")));
    let kept = format!(
        "{} of {} {} kept",
        show::number(kept),
        show::count(all, "document", "documents"),
        if kept == 1 { "is" } else { "are" }
    );
    format!("{kept}: {}.", parts.join(", "))
}

// ---- losses ----

/// What became of the documents of each source, and why records were not read.
#[derive(Debug, Serialize)]
struct LossesSection<'a> {
    documents: u64,
    kept: u64,
    /// The most frequent reason why documents are not kept, with their number.
    most: Option<(&'static str, u64)>,
    kinds: Vec<&'static str>,
    totals: Vec<u64>,
    rows: Vec<LossRow>,
    /// Absent where there are no documents.
    chart: Option<BarChart>,
    first_reason: Option<(String, u64)>,
    reasons: &'a [RejectStats],
    other_reasons: Option<&'a RejectStats>,
    reasons_left_out: u64,
}

#[derive(Debug, Serialize)]
struct LossRow {
    name: String,
    documents: u64,
    counts: Vec<u64>,
}

type LossCountFn = fn(&LossStats) -> u64;

/// The standings of documents, in the order in which they are drawn.
const STANDINGS: [(&str, LossCountFn); 9] = [
    ("kept", |it| it.kept),
    ("exact duplicates", |it| it.exact),
    ("near duplicates", |it| it.near),
    ("superseded", |it| it.superseded),
    ("removed", |it| it.removed),
    ("blocked", |it| it.blocked),
    ("empty", |it| it.empty),
    ("purged", |it| it.purged),
    ("others", |it| it.unknown),
];

fn losses(report: &CorpusReport) -> LossesSection<'_> {
    let losses = &report.losses;
    let mut all: Vec<(String, &LossStats)> =
        losses.shown.iter().map(|it| (cut(&it.source), it)).collect();
    let others = format!("({} others)", show::number(losses.left_out));
    all.extend(losses.others.as_ref().map(|it| (others, it)));
    let sum = |count: LossCountFn| all.iter().map(|(_, it)| count(it)).sum::<u64>();
    // Standings that no source has are left out.
    let standings: Vec<(&str, LossCountFn)> =
        STANDINGS.into_iter().filter(|(_, count)| sum(*count) > 0).collect();
    let reasons_not_kept = standings.iter().filter(|(name, _)| *name != "kept");
    let most = reasons_not_kept.map(|(name, count)| (*name, sum(*count))).max_by_key(|it| it.1);
    let row = |(name, it): &(String, &LossStats)| LossRow {
        name: name.clone(),
        documents: it.documents,
        counts: standings.iter().map(|(_, count)| count(it)).collect(),
    };
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for it in &report.rejects.shown {
        *reasons.entry(&it.reason).or_default() += it.records;
    }
    let first_reason = reasons.into_iter().max_by_key(|(_, records)| *records);
    LossesSection {
        documents: sum(|it| it.documents),
        kept: sum(|it| it.kept),
        most,
        kinds: standings.iter().map(|(name, _)| *name).collect(),
        totals: standings.iter().map(|(_, count)| sum(*count)).collect(),
        rows: all.iter().map(row).collect(),
        chart: (!all.is_empty()).then(|| loss_chart(&all, &standings)),
        first_reason: first_reason.map(|(text, records)| (cut_behind(text, REASON), records)),
        reasons: &report.rejects.shown,
        other_reasons: report.rejects.others.as_ref(),
        reasons_left_out: report.rejects.left_out,
    }
}

fn loss_chart(all: &[(String, &LossStats)], standings: &[(&str, LossCountFn)]) -> BarChart {
    let row = |(name, it): &(String, &LossStats)| {
        let parts = standings.iter().map(|(_, count)| show::share(count(it), it.documents));
        (name.clone(), parts.collect(), format!("{} kept", show::percent_of(it.kept, it.documents)))
    };
    let total = |count: LossCountFn| show::number(all.iter().map(|(_, it)| count(it)).sum());
    let series = standings.iter().map(|(name, count)| (*name, total(*count)));
    BarChart::parted(series, all.iter().map(row).collect())
}

// ---- numbers ----

/// How declared numbers are spread, source by source: the scores that documents came with or were given.
#[derive(Debug, Serialize)]
struct NumbersSection {
    columns: Vec<SpreadFigure>,
    sources_left_out: u64,
    columns_left_out: u64,
}

fn numbers(report: &CorpusReport) -> Option<NumbersSection> {
    let spreads = &report.spreads;
    let is_declared = |column: &str| report.about.fields.iter().any(|field| field.name == column);
    let mut declared =
        spreads.columns.iter().filter(|it| it.of_kept && is_declared(&it.column)).peekable();
    declared.peek()?;
    let figure = |column: &ColumnStats| {
        let sources = spreads.by_source.iter().filter(|it| it.column.column == column.column);
        let sources: Vec<&SourceSpread> = sources.collect();
        (!sources.is_empty()).then(|| SpreadFigure::new(column, &sources))
    };
    Some(NumbersSection {
        columns: declared.filter_map(figure).collect(),
        sources_left_out: spreads.sources_left_out,
        columns_left_out: spreads.columns_left_out,
    })
}

// ---- contamination ----

/// What of evaluation suites is in the corpus.
#[derive(Debug, Serialize)]
struct ContaminationSection<'a> {
    suites: &'a [CardSuite],
    left_out: u64,
    /// Suites with items in kept documents.
    tainted: u64,
    worst: Option<&'a SuiteContamination>,
    chart: BarChart,
}

fn contamination(report: &CorpusReport) -> ContaminationSection<'_> {
    let suites = &report.contamination.suites;
    let contaminated = |it: &SuiteContamination| show::share(it.contaminated_items, it.items);
    let worst = suites.iter().map(|it| &it.found);
    let worst = worst.max_by(|a, b| contaminated(a).total_cmp(&contaminated(b)));
    let rows = suites.iter().map(|it| {
        let share = contaminated(&it.found);
        (it.found.suite.clone(), vec![(share, show::percent(share))])
    });
    ContaminationSection {
        suites,
        left_out: report.contamination.left_out,
        tainted: suites.iter().filter(|it| it.found.documents > 0).count() as u64,
        worst: worst.filter(|it| it.contaminated_items > 0),
        chart: BarChart::new([], rows.collect()),
    }
}

// ---- dates and licences ----

/// What documents say of their dates and licences: those that a run trains on, or those that are kept.
#[derive(Debug, Serialize)]
struct OriginsSection<'a> {
    is_of_run: bool,
    documents: u64,
    dates: Vec<DatesRow<'a>>,
    /// The licence that most documents name.
    largest: Option<&'a LicenceCount>,
    licences: BarChart,
    without: u64,
}

/// A field, documents with a date there, the earliest and the latest one.
#[derive(Debug, Serialize)]
struct DatesRow<'a> {
    field: &'a str,
    documents: u64,
    first: String,
    last: String,
}

fn origins(report: &CorpusReport) -> OriginsSection<'_> {
    let Provenance { dates, licences, without_licence, .. } = match &report.plan {
        Some(plan) => &plan.provenance,
        None => &report.provenance,
    };
    let dates = dates.iter().map(|DateRange { field, documents, first, last, .. }| DatesRow {
        field,
        documents: *documents,
        first: value_text(Some(*first)),
        last: value_text(Some(*last)),
    });
    let bar = |name: &str, documents: u64| {
        (name.to_owned(), vec![(documents as f64, show::number(documents))])
    };
    let shown = licences.shown.iter().map(|it| bar(&it.licence, it.documents));
    let others = licences.others.as_ref().map(|it| bar(OTHERS, it.documents));
    let without = (*without_licence > 0).then(|| bar("(none named)", *without_licence));
    OriginsSection {
        is_of_run: report.plan.is_some(),
        documents: match &report.plan {
            Some(plan) => plan.sizes.all.documents,
            None => report.sizes.kept.documents,
        },
        dates: dates.collect(),
        largest: licences.shown.first(),
        licences: BarChart::new([], shown.chain(others).chain(without).collect()),
        without: *without_licence,
    }
}

// ---- domains ----

/// The domains of documents whose key is an address.
#[derive(Debug, Serialize)]
struct DomainsSection<'a> {
    documents: u64,
    bytes: u64,
    /// The number of domains; absent where it is not known.
    domains: Option<u64>,
    top: &'a [DomainStats],
    is_complete: bool,
    /// Documents of the ten largest.
    first_ten: u64,
    other_documents: u64,
    other_bytes: u64,
    chart: BarChart,
}

fn domains(report: &CorpusReport) -> DomainsSection<'_> {
    let found = &report.domains;
    let sum = |of: fn(&DomainStats) -> u64| found.top.iter().map(of).sum::<u64>();
    let bar = |name: &str, documents: u64| {
        (name.to_owned(), vec![(documents as f64, show::number(documents))])
    };
    let drawn = || found.top.iter().take(DOMAINS);
    let others = found.documents.saturating_sub(drawn().map(|it| it.documents).sum());
    let mut rows: Vec<_> = drawn().map(|it| bar(&it.domain, it.documents)).collect();
    rows.extend((others > 0).then(|| bar(OTHERS, others)));
    DomainsSection {
        documents: found.documents,
        bytes: found.bytes,
        domains: found.domains,
        top: &found.top,
        is_complete: found.is_complete,
        first_ten: found.top.iter().take(10).map(|it| it.documents).sum(),
        other_documents: found.documents.saturating_sub(sum(|it| it.documents)),
        other_bytes: found.bytes.saturating_sub(sum(|it| it.bytes)),
        chart: BarChart::new([("kept documents", show::number(found.documents))], rows),
    }
}

// ---- history ----

/// How the corpus came to be: its commits in their order, and its snapshots.
#[derive(Debug, Serialize)]
struct HistorySection<'a> {
    stretches: &'a [CommitStretch],
    added: u64,
    /// Absent where nothing came in.
    chart: Option<Chart>,
    events: &'a [CommitInfo],
    earlier_events: u64,
    snapshots: &'a [SnapshotInfo],
    snapshots_left_out: u64,
}

fn history(report: &CorpusReport) -> HistorySection<'_> {
    let timeline = &report.timeline;
    let added = timeline.stretches.iter().map(|it| it.added).sum();
    HistorySection {
        stretches: &timeline.stretches,
        added,
        chart: (added > 0).then(|| growth_chart(&timeline.stretches, added)),
        events: &timeline.events,
        earlier_events: timeline.earlier_events,
        snapshots: &report.snapshots,
        snapshots_left_out: report.snapshots_left_out,
    }
}

fn growth_chart(stretches: &[CommitStretch], added: u64) -> Chart {
    let line = |name: &str, count: fn(&CommitStretch) -> u64| {
        let mut sum = 0;
        let points = stretches.iter().map(|it| {
            sum += count(it);
            (it.last as f64, sum as f64)
        });
        let points: Vec<(f64, f64)> = [(0.0, 0.0)].into_iter().chain(points).collect();
        ChartLine::new(name, points.into_iter()).with_total(show::number(sum))
    };
    let lines = [line("came in", |it| it.added), line("kept then", |it| it.kept)];
    let last = stretches.last().map_or(0, |it| it.last);
    let (x, y) = (ChartAxis::counted(last, "commit"), ChartAxis::counted(added, "documents"));
    let shows =
        "two rising lines over the commits: documents ingested, and those kept at their commit";
    line_chart(&AltText::new("Documents by commit", shows), &x, &y, &lines)
}
