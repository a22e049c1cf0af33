//! How large a corpus is, by source and language, before and after dedup: a section of the card.

use super::figures::{BarChart, HeatCell, HeatRow, HeatTable, OTHERS, cut};
use crate::model::show;
use crate::query::{DocumentCounts, GroupStats};
use crate::report::{CorpusReport, Largest};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Sources and languages that are drawn; the others are one more.
const SOURCES: usize = 16;
const LANGUAGES: usize = 12;
/// Tokenizers whose counts the table has.
const COUNTED: usize = 4;

/// What stands for documents without a language.
const NONE: &str = "(none)";

/// A name, and its share of something.
#[derive(Debug, Serialize)]
struct NamedShare {
    name: String,
    share: f64,
}

/// Sizes by source and language, before and after dedup.
#[derive(Debug, Serialize)]
pub(super) struct SizesSection<'a> {
    all: &'a DocumentCounts,
    kept: &'a DocumentCounts,
    groups: &'a Largest<GroupStats>,
    is_by_source_alone: bool,
    /// The source with most kept text, and the one that lost most of its own.
    largest_source: Option<NamedShare>,
    lost_most: Option<NamedShare>,
    by_source: BarChart,
    languages: Option<LanguagesFigure>,
    /// Tokenizers whose counts the table has, and the heads of their columns.
    tokenizers: Vec<&'a str>,
    token_heads: Vec<String>,
}

#[derive(Debug, Serialize)]
struct LanguagesFigure {
    largest: Option<NamedShare>,
    /// Kept documents without a language.
    without: u64,
    chart: BarChart,
    /// Kept documents by both; absent where there is one source or one language.
    by_source: Option<HeatTable>,
    /// Sources without a language that nine documents of ten have.
    mixed: u64,
}

/// All documents and those that are kept, of something that has a name.
struct SizeShare {
    name: String,
    all: SizeSum,
    kept: SizeSum,
}

#[derive(Clone, Copy, Default)]
struct SizeSum {
    documents: u64,
    bytes: u64,
}

impl SizeSum {
    fn add(&mut self, documents: u64, bytes: u64) {
        self.documents += documents;
        self.bytes += bytes;
    }
}

impl<'a> SizesSection<'a> {
    pub(super) fn new(report: &'a CorpusReport) -> Self {
        let sizes = &report.sizes;
        let bytes = |sum: &SizeSum| sum.bytes;
        let sources = parts(report, SOURCES, |group| group.source.clone(), bytes);
        let all = parts(report, usize::MAX, |group| group.source.clone(), bytes);
        let named = || all.iter().filter(|it| it.name != OTHERS);
        let largest = named().max_by_key(|it| it.kept.bytes);
        let lost = |part: &SizeShare| show::share(part.all.bytes - part.kept.bytes, part.all.bytes);
        let lost_most = named().max_by(|a, b| lost(a).total_cmp(&lost(b)));
        let tokenizers = sizes.kept.tokens.keys().take(COUNTED).map(String::as_str);
        Self {
            all: &sizes.all,
            kept: &sizes.kept,
            groups: &sizes.groups,
            is_by_source_alone: sizes.is_by_source_alone,
            largest_source: largest.map(|it| NamedShare {
                name: it.name.clone(),
                share: show::share(it.kept.bytes, sizes.kept.bytes),
            }),
            lost_most: lost_most
                .filter(|it| lost(it) > 0.0)
                .map(|it| NamedShare { name: it.name.clone(), share: lost(it) }),
            by_source: size_chart(&sources, bytes, show::size),
            languages: languages(report, &sources),
            token_heads: tokenizers.clone().map(|it| format!("Tokens kept, {}", cut(it))).collect(),
            tokenizers: tokenizers.collect(),
        }
    }
}

/// Groups by one of their names, in the order of the size that is drawn.
fn parts(
    report: &CorpusReport,
    most: usize,
    of: impl Fn(&GroupStats) -> String,
    size: fn(&SizeSum) -> u64,
) -> Vec<SizeShare> {
    let groups = &report.sizes.groups;
    let mut sums: BTreeMap<String, (SizeSum, SizeSum)> = BTreeMap::new();
    for group in &groups.shown {
        let (all, kept) = sums.entry(of(group)).or_default();
        all.add(group.all.documents, group.all.bytes);
        kept.add(group.kept.documents, group.kept.bytes);
    }
    let mut parts: Vec<SizeShare> =
        sums.into_iter().map(|(name, (all, kept))| SizeShare { name, all, kept }).collect();
    parts.sort_by_key(|part| Reverse(size(&part.all)));
    let mut others =
        SizeShare { name: OTHERS.to_owned(), all: SizeSum::default(), kept: SizeSum::default() };
    for part in parts.split_off(most.min(parts.len())) {
        others.all.add(part.all.documents, part.all.bytes);
        others.kept.add(part.kept.documents, part.kept.bytes);
    }
    if let Some(sum) = &groups.others {
        others.all.add(sum.all.documents, sum.all.bytes);
        others.kept.add(sum.kept.documents, sum.kept.bytes);
    }
    parts.extend((others.all.documents > 0).then_some(others));
    parts
}

fn size_chart(
    parts: &[SizeShare],
    size: fn(&SizeSum) -> u64,
    write: fn(u64) -> String,
) -> BarChart {
    let bar = |sum: &SizeSum| (size(sum) as f64, write(size(sum)));
    let rows = parts.iter().map(|part| (part.name.clone(), vec![bar(&part.all), bar(&part.kept)]));
    let total =
        |of: fn(&SizeShare) -> &SizeSum| write(parts.iter().map(|part| size(of(part))).sum());
    let series = [("as it came in", total(|part| &part.all)), ("kept", total(|part| &part.kept))];
    BarChart::new(series, rows.collect())
}

fn languages(report: &CorpusReport, sources: &[SizeShare]) -> Option<LanguagesFigure> {
    let sizes = &report.sizes;
    if sizes.groups.shown.iter().all(|group| group.language.is_none()) {
        return None;
    }
    let language = |group: &GroupStats| group.language.clone().unwrap_or(NONE.to_owned());
    let documents = |sum: &SizeSum| sum.documents;
    let languages = parts(report, LANGUAGES, language, documents);
    let named = languages.iter().filter(|it| it.name != OTHERS && it.name != NONE);
    let without = languages.iter().find(|part| part.name == NONE);
    let (by_source, mixed) = by_source_and_language(report, sources, &languages);
    Some(LanguagesFigure {
        largest: named.max_by_key(|it| it.kept.documents).map(|it| NamedShare {
            name: it.name.clone(),
            share: show::share(it.kept.documents, sizes.kept.documents),
        }),
        without: without.map_or(0, |it| it.kept.documents),
        chart: size_chart(&languages, documents, show::number),
        by_source,
        mixed,
    })
}

/// Kept documents by source and language, the share of the source as the shade; and how many sources mix languages.
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
        // The column of the others comes last.
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
