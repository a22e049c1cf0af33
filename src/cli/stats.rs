//! `corpusdb stats`: the corpus in numbers.

use super::Outcome;
use super::print::{self, number, size};
use super::setup::CommandSession;
use super::tables::{cut, fitting, value};
use corpusdb::query::{
    ColumnStats, DocumentCounts, DocumentFilter, GroupStats, LossStats, MisfitStats, RejectStats,
    Stats, StatsValue,
};
use std::path::PathBuf;

/// Show counts by source and language, quantiles of lengths and numbers, shares of duplicates, reasons of rejects
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  corpusdb stats crawl
  corpusdb stats crawl --where \"language = 'en' AND quality > 0.5\"
  corpusdb stats crawl --source web --snapshot june
  corpusdb stats crawl --json | jq '.columns[] | select(.of_kept)'

All numbers are exact. A quantile is a value that there is: the least that so many of the values do not exceed.")]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// Only documents for which this is true: a SQL boolean expression over `documents`, whose columns are today's
    #[arg(long = "where", value_name = "SQL")]
    condition: Option<String>,
    /// Only what is of this source
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// What was stored and kept when this snapshot was made
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,
}

pub(super) fn run(args: &Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let Args { corpus, condition, source, snapshot } = args;
    let filter = DocumentFilter {
        condition: condition.clone(),
        source: source.clone(),
        snapshot: snapshot.clone(),
    };
    let stats = session.read(corpus)?.stats(filter)?;
    if session.json {
        print::typed("stats", &stats)?;
    } else {
        told(&stats)?;
    }
    Ok(Outcome::Good)
}

fn told(stats: &Stats) -> anyhow::Result<()> {
    let Stats { moment, all, kept, .. } = stats;
    print::line(&format!(
        "{} (commit {}): {} documents with {} of text, {} kept with {}",
        moment.name,
        moment.commit,
        number(all.documents),
        size(all.bytes),
        number(kept.documents),
        size(kept.bytes)
    ))?;
    groups(stats)?;
    for (of_kept, title) in [(true, "kept documents:"), (false, "all documents:")] {
        // Where all are kept, twice the same would be told.
        let columns = stats.columns.iter().filter(|it| it.of_kept == of_kept && it.count > 0);
        let columns: Vec<&ColumnStats> = columns.collect();
        if !columns.is_empty() && (of_kept || all != kept) {
            print::line(title)?;
            spreads(&columns)?;
        }
    }
    misfits(&stats.misfits)?;
    losses(&stats.losses)?;
    rejects(&stats.rejects)
}

/// Documents, bytes and tokens by source and language, as many tokenizers as the terminal is wide for.
fn groups(stats: &Stats) -> anyhow::Result<()> {
    if stats.groups.is_empty() {
        return Ok(());
    }
    print::line(match stats.is_by_source_alone {
        true => "by source (languages make more than 1,000 groups, or are no words):",
        false => "by source and language:",
    })?;
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
    fitting(&head, &rows, 2)
}

/// How values are spread, a column a line.
fn spreads(columns: &[&ColumnStats]) -> anyhow::Result<()> {
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
    fitting(&head.map(str::to_owned), &rows, 1)
}

fn misfits(misfits: &[MisfitStats]) -> anyhow::Result<()> {
    if misfits.is_empty() {
        return Ok(());
    }
    print::line("values of another type than their field, which are null:")?;
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
    fitting(&head, &misfits.iter().map(row).collect::<Vec<_>>(), 2)
}

fn losses(losses: &[LossStats]) -> anyhow::Result<()> {
    if losses.iter().all(|it| it.kept == it.documents) {
        return Ok(());
    }
    print::line("not kept:")?;
    // Kinds that no source has are left out.
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
            let share = 100.0 * count(it) as f64 / it.documents.max(1) as f64;
            row.extend([number(count(it)), format!("{share:.2}%")]);
        }
        row
    };
    fitting(&head, &losses.iter().map(row).collect::<Vec<_>>(), 1)
}

fn rejects(rejects: &[RejectStats]) -> anyhow::Result<()> {
    if rejects.is_empty() {
        return Ok(());
    }
    print::line("records that were not read:")?;
    let head = ["source", "records", "bytes", "reason"].map(str::to_owned);
    let rows = rejects
        .iter()
        .map(|it| vec![cut(&it.source), number(it.records), size(it.bytes), cut(&it.reason)]);
    fitting(&head, &rows.collect::<Vec<_>>(), 1)
}
