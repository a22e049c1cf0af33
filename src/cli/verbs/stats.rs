//! `corpusdb stats`: prints the corpus in numbers.

use crate::cli::output::{Output, cut};
use crate::cli::verb::{PythonMethod, Report, Verb, VerbCall};
use corpusdb::Corpus;
use corpusdb::query::{
    ColumnStats, DocumentCounts, DocumentFilter, GroupStats, LossStats, MisfitStats, RejectStats,
    Stats, StatsValue,
};
use corpusdb::show::{decimals, number, percent_of, size};

/// Show counts by source and language, lengths and duplicates.
///
/// Also quantiles of declared numbers, and the reasons of rejects.
#[derive(clap::Args)]
pub(super) struct StatsArgs {
    #[command(flatten)]
    filter: DocumentFilter,
}

impl Verb for StatsArgs {
    const PATH: &str = "stats";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Corpus.stats");
    const EXAMPLES: &[&str] = &[
        "corpusdb stats crawl",
        "corpusdb stats crawl --where \"language = 'en' AND quality > 0.5\"",
        "corpusdb stats crawl --source web --snapshot june",
        "corpusdb stats crawl --json | jq '.columns[] | select(.of_kept)'",
    ];
    const NOTES: &str = "All numbers are exact. A quantile is an observed value: the least one that this share of the values does not exceed.";
    type On = Corpus;
    type Report = Stats;

    fn run(self, corpus: &Corpus, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        Ok(corpus.stats(self.filter)?)
    }
}

impl Report for Stats {
    const TYPE: &'static str = "stats";

    fn print(&self, out: &mut Output) {
        let Self { moment, all, kept, .. } = self;
        out.line(format!(
            "{} (commit {}): {} documents with {} of text, {} kept with {}",
            moment.name,
            moment.commit,
            number(all.documents),
            size(all.bytes),
            number(kept.documents),
            size(kept.bytes)
        ));
        print_groups(self, out);
        for (of_kept, title) in [(true, "kept documents:"), (false, "all documents:")] {
            // Where all are kept, twice the same would be told.
            let columns = self.columns.iter().filter(|it| it.of_kept == of_kept && it.count > 0);
            let columns: Vec<&ColumnStats> = columns.collect();
            if !columns.is_empty() && (of_kept || all != kept) {
                out.line(title);
                print_spreads(&columns, out);
            }
        }
        print_misfits(&self.misfits, out);
        print_losses(&self.losses, out);
        print_rejects(&self.rejects, out);
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
    out.line("values that do not have the type of their field, which are null:");
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
    out.line("not kept:");
    // Reasons that no source has are left out.
    type Count = fn(&LossStats) -> u64;
    let kinds: [(&str, Count); 7] = [
        ("exact", |it| it.exact),
        ("near", |it| it.near),
        ("superseded", |it| it.superseded),
        ("removed", |it| it.removed),
        ("blocked", |it| it.blocked),
        ("empty", |it| it.empty),
        ("unknown", |it| it.unknown),
    ];
    let kinds = kinds.into_iter().filter(|(_, count)| losses.iter().any(|it| count(it) > 0));
    let kinds: Vec<(&str, Count)> = kinds.collect();
    let mut head = vec!["source".to_owned(), "documents".to_owned()];
    kinds.iter().for_each(|(name, _)| head.extend([(*name).to_owned(), "share".to_owned()]));
    let row = |it: &LossStats| {
        let mut row = vec![cut(&it.source), number(it.documents)];
        for (_, count) in &kinds {
            row.extend([number(count(it)), percent_of(count(it), it.documents)]);
        }
        row
    };
    out.wide_table(&head, &losses.iter().map(row).collect::<Vec<_>>(), 1, 0);
}

fn print_rejects(rejects: &[RejectStats], out: &mut Output) {
    if rejects.is_empty() {
        return;
    }
    out.line("rejected records:");
    let head = ["source", "records", "bytes", "reason"].map(str::to_owned);
    let rows = rejects
        .iter()
        .map(|it| vec![cut(&it.source), number(it.records), size(it.bytes), cut(&it.reason)]);
    out.wide_table(&head, &rows.collect::<Vec<_>>(), 1, 0);
}
