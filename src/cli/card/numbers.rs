//! How declared numbers are spread, source by source: the scores that documents came with or were given.

use super::figure::{Section, figure, note};
use super::words::{called, count, documents, value};
use crate::cli::page::chart::{Axis, Told, linear};
use crate::cli::page::html::{name, short, table};
use crate::cli::page::ranges::{Range, ranges};
use crate::cli::print;
use corpusdb::query::{ColumnStats, SourceSpread, StatsValue};
use corpusdb::report::CorpusReport;

/// A number, of timestamps the microseconds.
fn number(value: Option<StatsValue>) -> Option<f64> {
    match value? {
        StatsValue::Int(value) | StatsValue::Timestamp(value) => Some(value as f64),
        StatsValue::Float(value) => Some(value),
    }
}

pub(super) fn section(report: &CorpusReport) -> Option<Section> {
    let spreads = &report.spreads;
    let declared: Vec<&ColumnStats> = spreads
        .columns
        .iter()
        .filter(|it| it.of_kept && report.about.fields.iter().any(|field| field.name == it.column))
        .collect();
    if declared.is_empty() {
        return None;
    }
    let drawn = declared.iter().filter_map(|column| {
        let sources = spreads.by_source.iter().filter(|it| it.column.column == column.column);
        let sources: Vec<&SourceSpread> = sources.collect();
        (!sources.is_empty()).then(|| drawn(column, &sources))
    });
    let mut out = format!("<div class=\"pair\">\n{}</div>\n", drawn.collect::<String>());
    out += &note(
        "A line goes from the value that 5 of 100 documents do not exceed to the one that 95 do not, the box holds the \
         half in the middle, the mark is the median. Kept documents only.",
    );
    if spreads.sources_left_out > 0 {
        let left_out = count(spreads.sources_left_out, "smaller source is", "smaller sources are");
        out += &note(&format!("{left_out} not drawn."));
    }
    if spreads.columns_left_out > 0 {
        let left_out = count(spreads.columns_left_out, "more column is", "more columns are");
        out += &note(&format!("{left_out} not told by source."));
    }
    Some(Section::new("numbers", "Declared numbers, by source", out))
}

/// A column as a figure: its ranges by source, a sentence above, the numbers below.
pub(super) fn drawn(column: &ColumnStats, sources: &[&SourceSpread]) -> String {
    let shown: Vec<(&SourceSpread, [f64; 5])> = sources
        .iter()
        .filter_map(|it| {
            let of = &it.column;
            let [p5, p25, p50, p75, p95] = [of.p5, of.p25, of.p50, of.p75, of.p95].map(number);
            Some((*it, [p5?, p25?, p50?, p75?, p95?]))
        })
        .collect();
    let all = column.count + column.nulls;
    if shown.is_empty() {
        let says = format!("{}: none of {} has a value.", called(&column.column), documents(all));
        return figure(&says, "", "");
    }
    let list: Vec<Range> = shown
        .iter()
        .map(|(it, values)| Range {
            name: it.source.clone(),
            told: format!("{}: {}", it.source, told(&it.column)),
            values: *values,
        })
        .collect();
    let title = format!("{} by source", column.column);
    let shows = list.iter().map(|it| it.told.clone()).collect::<Vec<_>>().join("; ");
    let picture = ranges(Told { title: &title, shows: &shows }, &axis(column.kind, &shown), &list);
    figure(&sentence(column, &shown), &picture, &numbers(&shown))
}

/// What of a column is told of a source.
fn told(of: &ColumnStats) -> String {
    let shown = |value: Option<StatsValue>| value.map_or("–".to_owned(), text);
    format!(
        "median {}, 5 % to 95 % {} to {}, {}",
        shown(of.p50),
        shown(of.p5),
        shown(of.p95),
        count(of.count, "value", "values")
    )
}

fn text(of: StatsValue) -> String {
    match of {
        StatsValue::Float(number) => value(number),
        // Years are no numbers of things.
        StatsValue::Int(number) if number >= 10_000 => print::number(number.unsigned_abs()),
        other => other.to_string(),
    }
}

fn sentence(column: &ColumnStats, shown: &[(&SourceSpread, [f64; 5])]) -> String {
    let median = |it: &&(&SourceSpread, [f64; 5])| it.1.get(2).copied().unwrap_or(0.0);
    let by = |a: &&(&SourceSpread, [f64; 5]), b: &&(&SourceSpread, [f64; 5])| {
        median(a).total_cmp(&median(b))
    };
    let (low, high) = (shown.iter().min_by(by), shown.iter().max_by(by));
    let of = |it: Option<&(&SourceSpread, [f64; 5])>| {
        it.map_or_else(String::new, |(it, _)| {
            format!("{} in {}", it.column.p50.map_or_else(String::new, text), called(&it.source))
        })
    };
    let medians = if shown.len() > 1 {
        format!("the median goes from {} to {}", of(low), of(high))
    } else {
        format!("the median is {}", of(low))
    };
    let equal = shown.iter().filter(|(it, _)| it.column.p5 == it.column.p95).count();
    let equal = match equal {
        0 => String::new(),
        1 => ". In one source nearly all values are equal: it tells no documents apart there"
            .to_owned(),
        more => format!(
            ". In {more} sources nearly all values are equal: it tells no documents apart there"
        ),
    };
    let nulls = match column.nulls {
        0 => String::new(),
        nulls => format!(". {} no value", count(nulls, "kept document has", "kept documents have")),
    };
    format!("{}: {medians}{equal}{nulls}.", called(&column.column))
}

fn axis(kind: &str, shown: &[(&SourceSpread, [f64; 5])]) -> Axis {
    let all = || shown.iter().flat_map(|(_, values)| values.iter().copied());
    let (low, high) =
        (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let write = |value: f64| match kind {
        "timestamp" => {
            let shown = corpusdb_timestamp(value);
            shown.chars().take(10).collect()
        }
        _ if value.fract() == 0.0 && value >= 10_000.0 => short(value as u64),
        _ => self::value(value),
    };
    if low >= 0.0 && kind != "timestamp" && low < high / 3.0 {
        return linear(high, "", write);
    }
    // Values far from 0: the axis begins where they do.
    let span = if high > low { high - low } else { low.abs().max(1.0) };
    let ticks = (0..=4).map(|at| low + span * f64::from(at) / 4.0);
    let ticks: Vec<(f64, String)> = ticks.map(|at| (at, write(at))).collect();
    // Dates are wide: the ends alone.
    let wide = kind == "timestamp";
    let ticks = ticks.into_iter().enumerate().filter(|(at, _)| !wide || at % 4 == 0);
    Axis { label: "", is_log: false, ticks: ticks.map(|(_, tick)| tick).collect(), opposite: None }
}

/// Microseconds since 1970 as text.
fn corpusdb_timestamp(value: f64) -> String {
    StatsValue::Timestamp(value as i64).to_string()
}

fn numbers(shown: &[(&SourceSpread, [f64; 5])]) -> String {
    let head =
        ["Source", "Values", "None", "5 %", "25 %", "50 %", "75 %", "95 %", "Mean", "Spread"];
    let rows: Vec<Vec<String>> = shown
        .iter()
        .map(|(it, _)| {
            let of = &it.column;
            let mut row = vec![name(&it.source), print::number(of.count), print::number(of.nulls)];
            let values = [of.p5, of.p25, of.p50, of.p75, of.p95, of.mean];
            row.extend(values.map(|value| value.map_or("–".to_owned(), text)));
            row.push(of.spread.map_or("–".to_owned(), value));
            row
        })
        .collect();
    table(&head.map(str::to_owned), &rows)
}
