//! `corpusdb stats`: prints the corpus in numbers.

use crate::cli::columns::cut;
use crate::cli::output::Output;
use crate::cli::verb::{PythonMethod, Report, Verb, VerbCall};
use corpusdb::Corpus;
use corpusdb::inspect::{
    ColumnStats, DocumentCounts, GroupStats, LossStats, MisfitStats, RejectStats, SourceLengths,
    Stats, StatsValue,
};
use corpusdb::show::{count, decimals, listed, number, one_line, percent_of, size};
use corpusdb::sql::DocumentFilter;
use serde::Serialize;
use std::collections::BTreeMap;
use unicode_width::UnicodeWidthStr;

/// Reasons of rejects that are listed, and places of a histogram, at most.
const REASONS: usize = 12;
const PLACES: usize = 20;

/// Show lengths by source, and why documents are not kept.
///
/// Also the reasons of rejects. `by` shows sizes by language, or quantiles of lengths and declared numbers.
#[derive(clap::Args)]
pub(super) struct StatsArgs {
    #[command(flatten)]
    filter: DocumentFilter,
    /// What the table shows: a row a source, a source and language, or a column.
    #[arg(long, value_enum, default_value_t)]
    by: StatsTable,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum StatsTable {
    /// How long the kept documents of each source are.
    #[default]
    Source,
    /// Documents, bytes and tokens of each source and language.
    Language,
    /// Quantiles of every length and declared number, of kept and of all documents.
    Column,
}

/// A corpus in numbers.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Stats")]
pub(super) struct StatsAnswer {
    #[serde(flatten)]
    stats: Stats,
    #[serde(skip)]
    by: StatsTable,
}

impl Verb for StatsArgs {
    const PATH: &str = "stats";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Corpus.stats");
    const EXAMPLES: &[&str] = &[
        "corpusdb stats crawl",
        "corpusdb stats crawl --by language",
        "corpusdb stats crawl --by column --where \"language = 'en' AND quality > 0.5\"",
        "corpusdb stats crawl --source web --snapshot june",
        "corpusdb stats crawl --json | jq '.columns[] | select(.of_kept)'",
    ];
    const NOTES: &str = "\
All numbers are exact. A quantile is an observed value: the least one that this share of the values does not exceed.
The bars show how many documents of a source are how long, from the least length to the greatest,
on a logarithmic axis that all sources share; the highest bar of each source is full.";
    type On = Corpus;
    type Report = StatsAnswer;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let filter = self.filter.with_interrupt(call.context.interrupt());
        Ok(StatsAnswer { stats: corpus.stats(filter)?, by: self.by })
    }
}

impl Report for StatsAnswer {
    const TYPE: &'static str = "stats";

    fn print(&self, out: &mut Output) {
        let Self { stats, by } = self;
        let Stats { moment, all, kept, .. } = stats;
        out.line(format!(
            "{} (commit {}): {} documents with {} of text, {} kept with {}",
            moment.name,
            moment.commit,
            number(all.documents),
            size(all.bytes),
            number(kept.documents),
            size(kept.bytes)
        ));
        match by {
            StatsTable::Source => print_lengths(stats, out),
            StatsTable::Language => return print_groups(stats, out),
            StatsTable::Column => return print_columns(stats, out),
        }
        print_losses(&stats.losses, out);
        print_misfits(&stats.misfits, out);
        print_rejects(&stats.rejects, out);
    }
}

/// Quantiles and a histogram of the lengths of each source, on one logarithmic axis.
fn print_lengths(stats: &Stats, out: &mut Output) {
    let Some(SourceLengths { spread: first, .. }) = stats.lengths.first() else { return };
    let column = first.column.column.as_str();
    let in_all = stats.columns.iter().find(|it| it.of_kept && it.column == column);
    let Some(in_all) = in_all.filter(|it| it.count > 0) else { return };
    let mut sum: Vec<u64> = Vec::new();
    for bins in stats.lengths.iter().map(|it| &it.bins) {
        sum.resize(sum.len().max(bins.len()), 0);
        sum.iter_mut().zip(bins).for_each(|(sum, bin)| *sum += bin);
    }
    let begin = sum.iter().position(|count| *count > 0).unwrap_or(0);
    let together = (sum.len() - begin).div_ceil(PLACES).max(1);
    let axis = [in_all.min, in_all.max].map(|it| it.map_or(String::new(), value)).join(" to ");
    let width = (sum.len() - begin).div_ceil(together).max(axis.width());
    let row = |name: &str, it: &ColumnStats, bins: &[u64]| {
        let mut row = vec![cut(name), number(it.count)];
        row.extend([it.p25, it.p50, it.p75, it.max].map(|it| it.map_or(String::new(), value)));
        let bars = histogram(bins.get(begin..).unwrap_or_default(), together);
        row.push(format!("{bars:<width$}"));
        row
    };
    let mut rows: Vec<Vec<String>> = stats
        .lengths
        .iter()
        .map(|it| row(&it.spread.source, &it.spread.column, &it.bins))
        .collect();
    let others = in_all.count.saturating_sub(sum.iter().sum());
    if rows.len() > 1 {
        rows.push(row("all of them", in_all, if others == 0 { &sum } else { &[] }));
    }
    let of = match column.strip_prefix("tokens_") {
        Some(tokenizer) => format!("tokens of {tokenizer}"),
        None => column.to_owned(),
    };
    out.line(format!("\nkept documents by {of}:"));
    out.table(&["source", "kept", "p25", "p50", "p75", "max", &format!("{axis:<width$}")], rows);
    if others > 0 {
        let more = count(others, "document", "documents");
        out.line(format!("  {more} of other sources: --by language, --source NAME"));
    }
}

/// Bins as bars of eighths, side by side, some of them together in each.
fn histogram(bins: &[u64], together: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bars: Vec<u64> = bins.chunks(together).map(|bins| bins.iter().sum()).collect();
    let most = bars.iter().max().copied().unwrap_or(0).max(1);
    let bar = |count: u64| match (count * 8).div_ceil(most).checked_sub(1) {
        Some(eighth) => BARS.get(eighth as usize).copied().unwrap_or('█'),
        None => ' ',
    };
    bars.into_iter().map(bar).collect()
}

/// The spreads of all columns, of kept documents and of all.
fn print_columns(stats: &Stats, out: &mut Output) {
    for (of_kept, title) in [(true, "kept documents:"), (false, "all documents:")] {
        // Where all are kept, twice the same would be told.
        let columns = stats.columns.iter().filter(|it| it.of_kept == of_kept && it.count > 0);
        let columns: Vec<&ColumnStats> = columns.collect();
        if !columns.is_empty() && (of_kept || stats.all != stats.kept) {
            out.line(title);
            print_spreads(&columns, out);
        }
    }
}

/// A value of a column in a table.
pub(super) fn value(value: StatsValue) -> String {
    match value {
        StatsValue::Int(value) if value >= 0 => number(value.unsigned_abs()),
        StatsValue::Float(value) => decimals(value),
        other => other.to_string(),
    }
}

/// Documents, bytes and tokens by source and language, as many tokenizers as the terminal is wide for.
fn print_groups(stats: &Stats, out: &mut Output) {
    if stats.groups.is_empty() {
        return;
    }
    out.line(match stats.is_by_source_alone {
        true => "by source (there are more than 1,000 languages, or they are not keywords):",
        false => "by source and language:",
    });
    let names: Vec<&String> = stats.kept.tokens.keys().collect();
    let row = |name: String, language: String, all: &DocumentCounts, kept: &DocumentCounts| {
        let mut row = vec![
            name,
            language,
            number(all.documents),
            number(kept.documents),
            size(all.bytes),
            size(kept.bytes),
        ];
        row.extend(names.iter().map(|name| number(kept.tokens.get(*name).copied().unwrap_or(0))));
        row
    };
    let of_group = |group: &GroupStats| {
        let language = group.language.as_deref().map_or("-".to_owned(), cut);
        row(cut(&group.source), language, &group.all, &group.kept)
    };
    let mut rows: Vec<Vec<String>> = stats.groups.iter().map(of_group).collect();
    if rows.len() > 1 {
        rows.push(row("in all".to_owned(), String::new(), &stats.all, &stats.kept));
    }
    let mut head = ["source", "language", "documents", "kept", "text", "kept text"]
        .map(str::to_owned)
        .to_vec();
    head.extend(names.iter().map(|name| format!("kept {}", cut(name))));
    out.wide_table(&head, &rows, 2, 0);
}

/// The spread of values, a line for each column.
fn print_spreads(columns: &[&ColumnStats], out: &mut Output) {
    let head = [
        "column", "min", "p5", "p25", "p50", "p75", "p95", "max", "mean", "spread", "values",
        "nulls",
    ];
    let rows: Vec<Vec<String>> = columns
        .iter()
        .map(|it| {
            let quantiles = [it.min, it.p5, it.p25, it.p50, it.p75, it.p95, it.max, it.mean];
            let mut row = vec![cut(&it.column)];
            row.extend(quantiles.into_iter().map(|it| it.map_or(String::new(), value)));
            row.push(it.spread.map_or(String::new(), |spread| value(StatsValue::Float(spread))));
            row.extend([number(it.count), number(it.nulls)]);
            row
        })
        .collect();
    out.wide_table(&head.map(str::to_owned), &rows, 1, 0);
}

fn print_misfits(misfits: &[MisfitStats], out: &mut Output) {
    if misfits.is_empty() {
        return;
    }
    out.line("\nvalues that do not have the type of their field, which are null:");
    let head = ["field", "type", "documents", "kept", "document", "value"].map(str::to_owned);
    let row = |it: &MisfitStats| {
        vec![
            cut(&it.field),
            it.kind.to_owned(),
            number(it.documents),
            number(it.kept),
            it.example.document.to_string(),
            cut(&it.example.value),
        ]
    };
    out.wide_table(&head, &misfits.iter().map(row).collect::<Vec<_>>(), 2, 0);
}

fn print_losses(losses: &[LossStats], out: &mut Output) {
    if losses.iter().all(|it| it.kept == it.documents) {
        return;
    }
    out.line("\nnot kept:");
    // Reasons that no source has are left out.
    type Count = fn(&LossStats) -> u64;
    let kinds: [(&str, Count); 8] = [
        ("exact", |it| it.exact),
        ("near", |it| it.near),
        ("superseded", |it| it.superseded),
        ("removed", |it| it.removed),
        ("blocked", |it| it.blocked),
        ("empty", |it| it.empty),
        ("purged", |it| it.purged),
        ("unknown", |it| it.unknown),
    ];
    let kinds = kinds.into_iter().filter(|(_, count)| losses.iter().any(|it| count(it) > 0));
    let kinds: Vec<(&str, Count)> = kinds.collect();
    let mut head = vec!["source".to_owned(), "documents".to_owned(), "kept".to_owned()];
    head.extend(kinds.iter().map(|(name, _)| (*name).to_owned()));
    let row = |it: &LossStats| {
        let mut row =
            vec![cut(&it.source), number(it.documents), percent_of(it.kept, it.documents)];
        row.extend(kinds.iter().map(|(_, count)| number(count(it))));
        row
    };
    out.wide_table(&head, &losses.iter().map(row).collect::<Vec<_>>(), 1, 0);
}

/// The most frequent reasons of rejects, each with its sources.
fn print_rejects(rejects: &[RejectStats], out: &mut Output) {
    if rejects.is_empty() {
        return;
    }
    out.line("\nrejected records:");
    let mut reasons: BTreeMap<&str, (u64, Vec<String>)> = BTreeMap::new();
    for RejectStats { source, reason, records, .. } in rejects {
        let (sum, sources) = reasons.entry(reason).or_default();
        *sum += records;
        sources.push(cut(source));
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, (records, _))| std::cmp::Reverse(*records));
    for (reason, (records, sources)) in reasons.iter().take(REASONS) {
        let (sources, reason) = (listed(sources), one_line(reason));
        out.line(format!("  {} of {sources}: {reason}", number(*records)));
    }
    let more: u64 = reasons.iter().skip(REASONS).map(|(_, (records, _))| records).sum();
    if more > 0 {
        out.line(format!("  {} more: `corpusdb rejects` lists them", number(more)));
    }
}
