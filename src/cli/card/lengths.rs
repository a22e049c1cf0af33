//! How long documents are.

use super::figure::{Section, figure};
use super::words::documents;
use crate::cli::page::chart::{Told, counted};
use crate::cli::page::columns::{Column, columns};
use crate::cli::page::html::{name, short, table};
use crate::cli::print;
use corpusdb::query::{LengthStats, StatsValue};
use corpusdb::report::CorpusReport;

/// Tokenizers whose lengths are drawn.
const TOKENIZERS: usize = 3;

pub(super) fn section(report: &CorpusReport) -> Option<Section> {
    let bytes = report.lengths.iter().filter(|it| it.column == "bytes");
    let tokens = report.lengths.iter().filter(|it| it.column.starts_with("tokens_"));
    let drawn: Vec<String> = bytes
        .chain(tokens.take(TOKENIZERS))
        .filter(|it| !it.bins.is_empty())
        .map(|it| drawn(report, it))
        .collect();
    let pair = format!(
        "<ul class=\"key\"><li><i class=\"pale\"></i>as they came in</li><li><i class=\"f0\"></i>kept</li></ul>\n\
         <div class=\"pair\">\n{}</div>\n",
        drawn.concat()
    );
    (!drawn.is_empty()).then(|| Section::new("lengths", "Lengths of documents", pair))
}

/// What a length is measured in.
fn unit(column: &str) -> String {
    match column.strip_prefix("tokens_") {
        Some(tokenizer) => format!("tokens of {}", name(tokenizer)),
        None => "bytes".to_owned(),
    }
}

fn drawn(report: &CorpusReport, lengths: &LengthStats) -> String {
    let unit = unit(&lengths.column);
    let spread = report.spreads.columns.iter().find(|it| it.of_kept && it.column == lengths.column);
    let whole = |value: Option<StatsValue>| match value {
        Some(StatsValue::Int(value)) => print::number(u64::try_from(value).unwrap_or(0)),
        Some(other) => other.to_string(),
        None => "–".to_owned(),
    };
    let says = match spread.filter(|spread| spread.count > 0) {
        Some(spread) => format!(
            "Half of the kept documents have {} {unit} or less; nine of ten have {} to {}, the longest {}.",
            whole(spread.p50),
            whole(spread.p5),
            whole(spread.p95),
            whole(spread.max)
        ),
        None => format!("No kept document has a length in {unit}."),
    };
    let most = lengths.bins.iter().map(|bin| bin.all).max().unwrap_or(0);
    let y = counted(most, "", |value| short(value.round() as u64));
    let bars: Vec<Column> = lengths
        .bins
        .iter()
        .map(|bin| Column {
            mark: short(bin.from),
            told: format!(
                "{} to {}: {}, {} kept",
                print::number(bin.from),
                print::number(bin.to),
                documents(bin.all),
                print::number(bin.kept)
            ),
            heights: vec![bin.all as f64, bin.kept as f64],
        })
        .collect();
    let title = format!("Documents by length in {}", lengths.column);
    let shows = format!("{} columns, each twice as wide as the one before", bars.len());
    let told = Told { title: &title, shows: &shows };
    let rows: Vec<Vec<String>> = lengths
        .bins
        .iter()
        .map(|bin| {
            let bounds = format!("{} – {}", print::number(bin.from), print::number(bin.to));
            vec![bounds, print::number(bin.all), print::number(bin.kept)]
        })
        .collect();
    let head = [capital(&unit), "Documents".to_owned(), "Kept".to_owned()];
    figure(&says, &columns(told, &lengths.column, &y, &bars), &table(&head, &rows))
}

fn capital(word: &str) -> String {
    let mut rest = word.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}
