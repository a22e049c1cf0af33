//! The data card of a corpus as a page: sizes, lengths, losses, numbers, contamination, domains, history, and a plan.

use super::chart::{AltText, Chart, ChartAxis, ChartColumn, ChartLine, column_chart, line_chart};
use super::duplicates::DuplicatesSection;
use super::figures::{
    BarChart, HeatCell, HeatRow, HeatTable, OTHERS, SpreadFigure, cut, cut_behind, value_text,
};
use super::plan::PlanSection;
use super::{Contents, PageModel, duplicates, plan};
use crate::query::{
    ColumnStats, CommitInfo, CommitStretch, DocumentCounts, DomainStats, GroupStats, LengthBin,
    LengthStats, LossStats, RejectStats, SnapshotInfo, SourceSpread, StatsValue,
    SuiteContamination,
};
use crate::report::{About, CorpusReport, Largest, Omitted, SuiteReported};
use model::show;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Domains in the chart; the table has more.
const DOMAINS: usize = 20;
/// Characters of a reason, which may quote the input.
pub(super) const REASON: usize = 300;
/// Tokenizers whose lengths are drawn.
const LENGTHS: usize = 3;

/// Sources and languages that are drawn; one more bar is the sum of the others.
const SOURCES: usize = 16;
const LANGUAGES: usize = 12;
/// Tokenizers in the table of counts.
const COUNTED: usize = 4;

/// The name of documents without a language.
const NONE: &str = "(none)";

/// The data card of a corpus.
#[derive(Debug, Serialize)]
pub struct CardPage<'a> {
    name: String,
    version: &'static str,
    contents: Contents,
    about: &'a About,
    omitted: &'a [Omitted],
    sizes: SizesSection<'a>,
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
        let contents = [
            Some(("about", "What this corpus is")),
            Some(("sizes", "Sizes, before and after")),
            (!lengths.is_empty()).then_some(("lengths", "Lengths of documents")),
            duplicates.is_some().then_some(duplicates::TITLE),
            Some(("losses", "What is not kept, and why")),
            numbers.is_some().then_some(("numbers", "Declared numbers, by source")),
            Some(("contamination", "Test items in it")),
            Some(("domains", "Domains")),
            Some(("history", "How it was built")),
            plan.is_some().then_some(plan::TITLE),
            Some(("method", "What the figures mean")),
        ];
        Self {
            name: cut(&report.name),
            version: report.version,
            contents: Contents(contents.into_iter().flatten().collect()),
            about: &report.about,
            omitted: &report.omitted,
            sizes: SizesSection::new(report),
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

// ---- sizes ----

/// A name, and its share of something.
#[derive(Debug, Serialize)]
struct NamedShare {
    name: String,
    share: f64,
}

/// Sizes by source and language, before and after dedup.
#[derive(Debug, Serialize)]
struct SizesSection<'a> {
    all: &'a DocumentCounts,
    kept: &'a DocumentCounts,
    groups: &'a Largest<GroupStats>,
    is_by_source_alone: bool,
    /// The source with most kept text, and the one that lost the largest share.
    largest_source: Option<NamedShare>,
    lost_most: Option<NamedShare>,
    by_source: BarChart,
    languages: Option<LanguagesFigure>,
    /// Tokenizers in the table of counts, and the heads of their columns.
    tokenizers: Vec<&'a str>,
    token_heads: Vec<String>,
}

#[derive(Debug, Serialize)]
struct LanguagesFigure {
    largest: Option<NamedShare>,
    /// Kept documents without a language.
    without: u64,
    chart: BarChart,
    /// Kept documents by source and language; absent where there is one source or one language.
    by_source: Option<HeatTable>,
    /// Sources where no language has nine of ten documents.
    mixed: u64,
}

/// Documents or bytes that came in, and those kept, of one source or language.
struct SizeShare {
    name: String,
    all: u64,
    kept: u64,
}

impl<'a> SizesSection<'a> {
    fn new(report: &'a CorpusReport) -> Self {
        let sizes = &report.sizes;
        let bytes = |counts: &DocumentCounts| counts.bytes;
        let sources = size_shares(report, SOURCES, |group| group.source.clone(), bytes);
        let all = size_shares(report, usize::MAX, |group| group.source.clone(), bytes);
        let named = || all.iter().filter(|it| it.name != OTHERS);
        let largest = named().max_by_key(|it| it.kept);
        let lost = |part: &SizeShare| show::share(part.all - part.kept, part.all);
        let lost_most = named().max_by(|a, b| lost(a).total_cmp(&lost(b)));
        let tokenizers = sizes.kept.tokens.keys().take(COUNTED).map(String::as_str);
        Self {
            all: &sizes.all,
            kept: &sizes.kept,
            groups: &sizes.groups,
            is_by_source_alone: sizes.is_by_source_alone,
            largest_source: largest.map(|it| NamedShare {
                name: it.name.clone(),
                share: show::share(it.kept, sizes.kept.bytes),
            }),
            lost_most: lost_most
                .filter(|it| lost(it) > 0.0)
                .map(|it| NamedShare { name: it.name.clone(), share: lost(it) }),
            by_source: size_chart(&sources, show::size),
            languages: languages(report, &sources),
            token_heads: tokenizers.clone().map(|it| format!("Tokens kept, {}", cut(it))).collect(),
            tokenizers: tokenizers.collect(),
        }
    }
}

/// Sizes by source or by language, the largest first.
fn size_shares(
    report: &CorpusReport,
    most: usize,
    of: impl Fn(&GroupStats) -> String,
    size: fn(&DocumentCounts) -> u64,
) -> Vec<SizeShare> {
    let groups = &report.sizes.groups;
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for group in &groups.shown {
        let (all, kept) = sums.entry(of(group)).or_default();
        *all += size(&group.all);
        *kept += size(&group.kept);
    }
    let mut parts: Vec<SizeShare> =
        sums.into_iter().map(|(name, (all, kept))| SizeShare { name, all, kept }).collect();
    parts.sort_by_key(|part| Reverse(part.all));
    let (mut all, mut kept) =
        groups.others.as_ref().map_or((0, 0), |it| (size(&it.all), size(&it.kept)));
    for part in parts.split_off(most.min(parts.len())) {
        all += part.all;
        kept += part.kept;
    }
    parts.extend((all > 0).then(|| SizeShare { name: OTHERS.to_owned(), all, kept }));
    parts
}

fn size_chart(parts: &[SizeShare], write: fn(u64) -> String) -> BarChart {
    let bar = |size: u64| (size as f64, write(size));
    let rows = parts.iter().map(|part| (part.name.clone(), vec![bar(part.all), bar(part.kept)]));
    let total = |of: fn(&SizeShare) -> u64| write(parts.iter().map(of).sum());
    let series = [("as it came in", total(|part| part.all)), ("kept", total(|part| part.kept))];
    BarChart::new(series, rows.collect())
}

fn languages(report: &CorpusReport, sources: &[SizeShare]) -> Option<LanguagesFigure> {
    let sizes = &report.sizes;
    if sizes.groups.shown.iter().all(|group| group.language.is_none()) {
        return None;
    }
    let language = |group: &GroupStats| group.language.clone().unwrap_or(NONE.to_owned());
    let documents = |counts: &DocumentCounts| counts.documents;
    let languages = size_shares(report, LANGUAGES, language, documents);
    let named = languages.iter().filter(|it| it.name != OTHERS && it.name != NONE);
    let without = languages.iter().find(|part| part.name == NONE);
    let (by_source, mixed) = by_source_and_language(report, sources, &languages);
    Some(LanguagesFigure {
        largest: named.max_by_key(|it| it.kept).map(|it| NamedShare {
            name: it.name.clone(),
            share: show::share(it.kept, sizes.kept.documents),
        }),
        without: without.map_or(0, |it| it.kept),
        chart: size_chart(&languages, show::number),
        by_source,
        mixed,
    })
}

/// Kept documents by source and language, shaded by their share of the source; and the number of sources that mix
/// languages.
fn by_source_and_language(
    report: &CorpusReport,
    sources: &[SizeShare],
    languages: &[SizeShare],
) -> (Option<HeatTable>, u64) {
    let named = |parts: &[SizeShare]| -> Vec<String> {
        let names = parts.iter().map(|part| part.name.clone());
        names.filter(|name| name != OTHERS).collect()
    };
    let (rows, mut columns) = (named(sources), named(languages));
    if rows.len() < 2 || columns.len() < 2 {
        return (None, 0);
    }
    let mut counts: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for group in &report.sizes.groups.shown {
        let language = group.language.as_deref().unwrap_or(NONE);
        let of_source = counts.entry(&group.source).or_default();
        *of_source.entry(language).or_default() += group.kept.documents;
    }
    let none = BTreeMap::new();
    let of = |source: &String| counts.get(source.as_str()).unwrap_or(&none);
    let mixed = rows.iter().filter(|source| {
        let most = of(source).values().copied().max().unwrap_or(0);
        show::share(most, of(source).values().sum()) < 0.9
    });
    let mixed = mixed.count() as u64;
    if languages.len() > columns.len() {
        columns.push(OTHERS.to_owned());
    }
    let row = |source: &String| {
        let total = of(source).values().sum();
        let mut rest = total;
        // The last column is the sum of the other languages.
        let cells = columns.iter().map(|language| {
            let count = of(source).get(language.as_str()).copied().unwrap_or(0);
            let count = if language == OTHERS { rest } else { count };
            rest -= count;
            HeatCell::new(count, total)
        });
        HeatRow { name: cut(source), cells: cells.collect(), total }
    };
    let rows = rows.iter().map(row).collect();
    let columns = columns.iter().map(|language| cut(language)).collect();
    (Some(HeatTable { columns, rows }), mixed)
}

// ---- lengths ----

/// How long documents are, in bytes or in tokens of a tokenizer.
#[derive(Debug, Serialize)]
struct LengthFigure<'a> {
    unit: String,
    /// The median length, and the fifth and ninety-fifth percentiles; absent where there are no documents.
    half: Option<String>,
    from: String,
    to: String,
    longest: String,
    all: u64,
    kept: u64,
    bins: &'a [LengthBin],
    chart: Chart,
}

fn lengths(report: &CorpusReport) -> Vec<LengthFigure<'_>> {
    let bytes = report.lengths.iter().filter(|it| it.column == "bytes");
    let tokens = report.lengths.iter().filter(|it| it.column.starts_with("tokens_"));
    let drawn = bytes.chain(tokens.take(LENGTHS)).filter(|it| !it.bins.is_empty());
    drawn.map(|it| length_figure(report, it)).collect()
}

fn length_figure<'a>(report: &CorpusReport, lengths: &'a LengthStats) -> LengthFigure<'a> {
    let unit = match lengths.column.strip_prefix("tokens_") {
        Some(tokenizer) => format!("tokens of {}", cut(tokenizer)),
        None => "bytes".to_owned(),
    };
    let spread = report.spreads.columns.iter().find(|it| it.of_kept && it.column == lengths.column);
    let spread = spread.filter(|spread| spread.count > 0);
    // Lengths are counts, whatever the column's type.
    let written = |value: Option<StatsValue>| match value {
        Some(StatsValue::Int(length)) => show::number(length.unsigned_abs()),
        other => value_text(other),
    };
    let [p5, p95, max] = spread.map_or([None; 3], |it| [it.p5, it.p95, it.max]).map(written);
    let sum = |of: fn(&LengthBin) -> u64| lengths.bins.iter().map(of).sum::<u64>();
    let (all, kept) = (sum(|bin| bin.all), sum(|bin| bin.kept));
    LengthFigure {
        half: spread.map(|it| written(it.p50)),
        from: p5,
        to: p95,
        longest: max,
        all,
        kept,
        bins: &lengths.bins,
        chart: length_chart(&unit, &lengths.bins, all, kept),
        unit,
    }
}

fn length_chart(unit: &str, bins: &[LengthBin], all: u64, kept: u64) -> Chart {
    let most = bins.iter().map(|bin| bin.all).max().unwrap_or(0);
    let column = |bin: &LengthBin| ChartColumn {
        mark: show::short(bin.from),
        described: format!(
            "{} to {}: {}, {} kept",
            show::number(bin.from),
            show::number(bin.to),
            show::count(bin.all, "document", "documents"),
            show::number(bin.kept)
        ),
        heights: vec![bin.all as f64, bin.kept as f64],
    };
    let columns: Vec<ChartColumn> = bins.iter().map(column).collect();
    let shows = format!("{} columns, each twice as wide as the one before", columns.len());
    let alt = AltText::new(format!("Documents by length in {unit}"), shows);
    let series = [("as they came in", all), ("kept", kept)];
    column_chart(&alt, unit, &ChartAxis::counted(most, "documents"), &series, &columns)
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
const STANDINGS: [(&str, LossCountFn); 8] = [
    ("kept", |it| it.kept),
    ("exact duplicates", |it| it.exact),
    ("near duplicates", |it| it.near),
    ("superseded", |it| it.superseded),
    ("removed", |it| it.removed),
    ("blocked", |it| it.blocked),
    ("empty", |it| it.empty),
    ("purged and others", |it| {
        let known = [it.kept, it.exact, it.near, it.superseded, it.removed, it.blocked, it.empty];
        it.documents.saturating_sub(known.iter().sum())
    }),
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
    suites: &'a [SuiteReported],
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
