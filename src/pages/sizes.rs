//! How large a corpus is: a section of the card on sources, one on languages, and how long documents are.

use super::chart::{AltText, Chart, ChartAxis, ChartColumn, column_chart};
use super::figures::{BarChart, HeatCell, HeatRow, HeatTable, OTHERS, cut, value_text};
use crate::inspect::{CorpusReport, Largest, is_programming_language};
use crate::inspect::{DocumentCounts, DocumentLengthBin, GroupStats, LengthStats, StatsValue};
use model::show;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Tokenizers whose lengths are drawn.
const LENGTHS: usize = 3;
/// Sources and languages that are drawn; one more bar is the sum of the others.
const SOURCES: usize = 16;
const LANGUAGES: usize = 12;
/// Tokenizers in the table of counts.
const COUNTED: usize = 4;

/// The name of documents without a language.
const NONE: &str = "(none)";

/// A name, and its share of something.
#[derive(Debug, Serialize)]
pub(super) struct NamedShare {
    name: String,
    share: f64,
}

/// Sizes by source, before and after dedup; in a table by language, too.
#[derive(Debug, Serialize)]
pub(super) struct SizesSection<'a> {
    all: &'a DocumentCounts,
    kept: &'a DocumentCounts,
    groups: &'a Largest<GroupStats>,
    is_by_source_alone: bool,
    /// The source with most kept text, and the one that lost the largest share.
    largest_source: Option<NamedShare>,
    lost_most: Option<NamedShare>,
    by_source: BarChart,
    /// Tokenizers in the table of counts, and the heads of their columns.
    tokenizers: Vec<&'a str>,
    token_heads: Vec<String>,
}

/// What documents are written in: languages that people speak, and apart from them code.
#[derive(Debug, Serialize)]
pub(super) struct LanguagesSection {
    spoken: Option<LanguagesFigure>,
    /// Programming and markup languages.
    code: Option<LanguagesFigure>,
    /// Kept documents without a language.
    without: u64,
    /// Kept documents by source and spoken language; absent where there is one source or one language.
    by_source: Option<HeatTable>,
    /// Sources where no spoken language has nine of ten documents.
    mixed: u64,
}

#[derive(Debug, Serialize)]
struct LanguagesFigure {
    /// Kept documents in these languages.
    kept: u64,
    /// The one with most of these, and its share of them.
    largest: NamedShare,
    chart: BarChart,
}

/// Documents or bytes that came in, and those kept, of one source or language.
struct SizeShare {
    name: String,
    all: u64,
    kept: u64,
}

impl<'a> SizesSection<'a> {
    pub(super) fn new(report: &'a CorpusReport) -> Self {
        let sizes = &report.sizes;
        let bytes = |counts: &DocumentCounts| counts.bytes;
        let groups = &sizes.groups;
        let sources = size_shares(groups, SOURCES, |group| Some(group.source.clone()), bytes);
        let all = size_shares(groups, usize::MAX, |group| Some(group.source.clone()), bytes);
        let named = || all.iter().filter(|it| it.name != OTHERS);
        let largest = named().max_by_key(|it| it.kept);
        let lost = |part: &SizeShare| show::share(part.all - part.kept, part.all);
        let lost_most = named().max_by(|a, b| lost(a).total_cmp(&lost(b)));
        let tokenizers = tokenizers(report).into_iter().take(COUNTED);
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
            token_heads: tokenizers.clone().map(|it| format!("Tokens kept, {}", cut(it))).collect(),
            tokenizers: tokenizers.collect(),
        }
    }
}

/// The tokenizers in the order in which they were registered, that of the plan before all.
pub(super) fn tokenizers(report: &CorpusReport) -> Vec<&str> {
    let of_plan = report.plan.as_ref().map(|plan| plan.epoch.tokenizer.as_str());
    let mut all: Vec<&str> = report.about.tokenizers.iter().map(|it| it.name.as_str()).collect();
    all.sort_by_key(|name| Some(*name) != of_plan);
    all
}

/// Sizes by source or by language, the largest first; groups without a name are not counted.
fn size_shares(
    groups: &Largest<GroupStats>,
    most: usize,
    of: impl Fn(&GroupStats) -> Option<String>,
    size: fn(&DocumentCounts) -> u64,
) -> Vec<SizeShare> {
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for group in &groups.shown {
        let Some(name) = of(group) else { continue };
        let (all, kept) = sums.entry(name).or_default();
        *all += size(&group.all);
        *kept += size(&group.kept);
    }
    let mut parts: Vec<SizeShare> =
        sums.into_iter().map(|(name, (all, kept))| SizeShare { name, all, kept }).collect();
    parts.sort_by_key(|part| Reverse(part.all));
    let others = groups.others.as_ref().filter(|it| of(it).is_some());
    let (mut all, mut kept) = others.map_or((0, 0), |it| (size(&it.all), size(&it.kept)));
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

impl LanguagesSection {
    /// The section; none where no document has a language.
    pub(super) fn new(report: &CorpusReport) -> Option<Self> {
        let groups = &report.sizes.groups;
        let kept = |counts: &DocumentCounts| counts.documents;
        let spoken = size_shares(groups, LANGUAGES, spoken, kept);
        let of_code = |group: &GroupStats| {
            group.language.clone().filter(|name| is_programming_language(name))
        };
        let code = size_shares(groups, LANGUAGES, of_code, kept);
        let sum = |is_of: fn(&GroupStats) -> bool| -> u64 {
            groups.shown.iter().filter(|group| is_of(group)).map(|it| it.kept.documents).sum()
        };
        let is_code =
            |group: &GroupStats| group.language.as_deref().is_some_and(is_programming_language);
        let (by_source, mixed) = by_source_and_language(report, &spoken);
        let section = Self {
            spoken: languages_figure(
                &spoken,
                sum(|group| {
                    group.language.as_deref().is_some_and(|it| !is_programming_language(it))
                }),
            ),
            code: languages_figure(&code, sum(is_code)),
            without: sum(|group| group.language.is_none()),
            by_source,
            mixed,
        };
        (section.spoken.is_some() || section.code.is_some()).then_some(section)
    }
}

/// The name of a group by what people speak; none for code.
fn spoken(group: &GroupStats) -> Option<String> {
    let language = group.language.as_deref().unwrap_or(NONE);
    (!is_programming_language(language)).then(|| language.to_owned())
}

/// The figure of languages in which so many documents are kept; none without any.
fn languages_figure(languages: &[SizeShare], kept: u64) -> Option<LanguagesFigure> {
    let named = languages.iter().filter(|it| it.name != NONE && it.name != OTHERS);
    let largest = named.max_by_key(|it| it.kept)?;
    Some(LanguagesFigure {
        kept,
        largest: NamedShare { name: largest.name.clone(), share: show::share(largest.kept, kept) },
        chart: size_chart(languages, show::number),
    })
}

/// Kept documents by source and spoken language, shaded by their share of the source; and the number of sources that mix
/// languages.
fn by_source_and_language(
    report: &CorpusReport,
    languages: &[SizeShare],
) -> (Option<HeatTable>, u64) {
    let groups = &report.sizes.groups;
    let source = |group: &GroupStats| spoken(group).map(|_| group.source.clone());
    let sources = size_shares(groups, SOURCES, source, |counts| counts.documents);
    let named = |parts: &[SizeShare]| -> Vec<String> {
        let names = parts.iter().map(|part| part.name.clone());
        names.filter(|name| name != OTHERS).collect()
    };
    let (rows, mut columns) = (named(&sources), named(languages));
    if rows.len() < 2 || columns.len() < 2 {
        return (None, 0);
    }
    let mut counts: BTreeMap<&str, BTreeMap<String, u64>> = BTreeMap::new();
    for group in &report.sizes.groups.shown {
        let Some(language) = spoken(group) else { continue };
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
            let count = of(source).get(language).copied().unwrap_or(0);
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

/// How long documents are, in bytes or in tokens of a tokenizer.
#[derive(Debug, Serialize)]
pub(super) struct LengthFigure<'a> {
    unit: String,
    /// The median length, and the fifth and ninety-fifth percentiles; absent where there are no documents.
    half: Option<String>,
    from: String,
    to: String,
    longest: String,
    all: u64,
    kept: u64,
    bins: &'a [DocumentLengthBin],
    chart: Chart,
}

pub(super) fn lengths(report: &CorpusReport) -> Vec<LengthFigure<'_>> {
    let of = |column: &str| report.lengths.iter().find(|it| it.column == column);
    let tokens = tokenizers(report).into_iter().take(LENGTHS).map(|name| format!("tokens_{name}"));
    let columns = std::iter::once("bytes".to_owned()).chain(tokens);
    let drawn = columns.filter_map(|column| of(&column)).filter(|it| !it.bins.is_empty());
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
    let sum = |of: fn(&DocumentLengthBin) -> u64| lengths.bins.iter().map(of).sum::<u64>();
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

fn length_chart(unit: &str, bins: &[DocumentLengthBin], all: u64, kept: u64) -> Chart {
    let most = bins.iter().map(|bin| bin.all).max().unwrap_or(0);
    let column = |bin: &DocumentLengthBin| ChartColumn {
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
