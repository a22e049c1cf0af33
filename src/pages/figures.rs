//! Figures that several pages share: bars, stacked bars, shaded tables, and the spread of a column by source.

use super::chart::{AltText, Chart, ChartAxis, ChartRange, LegendEntry, range_chart};
use crate::inspect::{ColumnStats, SourceSpread, StatsValue};
use model::show;
use serde::Serialize;

/// The name of the sum of groups that are not shown one by one, and of documents without a language.
pub(super) const OTHERS: &str = "(others)";

/// The text for a missing value.
pub(super) const ABSENT: &str = "–";

/// Horizontal bars: of several series beside each other, or stacked parts of a whole.
#[derive(Debug, Serialize)]
pub(super) struct BarChart {
    legend: Vec<LegendEntry>,
    rows: Vec<BarRow>,
}

#[derive(Debug, Serialize)]
struct BarRow {
    name: String,
    bars: Vec<ChartBar>,
}

/// A bar: its parts, each with class and width in percent, and its label.
#[derive(Debug, Serialize)]
struct ChartBar {
    parts: Vec<(String, f64)>,
    label: String,
}

impl BarChart {
    /// A bar for each series of each row, with its length and label. The legend has the names and totals of the series;
    /// a single series needs none.
    pub(super) fn new<'a>(
        series: impl IntoIterator<Item = (&'a str, String)>,
        rows: Vec<(String, Vec<(f64, String)>)>,
    ) -> Self {
        // The rest of the width is for labels.
        const LONGEST: f64 = 80.0;
        let most =
            rows.iter().flat_map(|(_, bars)| bars).map(|(value, _)| *value).fold(0.0, f64::max);
        let width = |value: f64| if most > 0.0 { LONGEST * value / most } else { 0.0 };
        let bar = |(at, (value, label)): (usize, (f64, String))| ChartBar {
            parts: vec![(LegendEntry::new(at, "", String::new()).class, width(value))],
            label,
        };
        let row = |(name, bars): (String, Vec<(f64, String)>)| BarRow {
            name: cut(&name),
            bars: bars.into_iter().enumerate().map(bar).collect(),
        };
        let mut legend = legend(series);
        if legend.len() == 1 && legend.iter().all(|it| it.total.is_empty()) {
            legend.clear();
        }
        Self { legend, rows: rows.into_iter().map(row).collect() }
    }

    /// A stacked bar for each row: its name, its parts from 0 to 1 in the order of the series, and its label.
    pub(super) fn parted<'a>(
        series: impl IntoIterator<Item = (&'a str, String)>,
        rows: Vec<(String, Vec<f64>, String)>,
    ) -> Self {
        const WHOLE: f64 = 72.0;
        let legend = legend(series);
        let row = |(name, parts, label): (String, Vec<f64>, String)| {
            let parts = legend.iter().zip(parts).filter(|(_, part)| *part > 0.0);
            let parts = parts.map(|(series, part)| (series.class.clone(), WHOLE * part)).collect();
            BarRow { name: cut(&name), bars: vec![ChartBar { parts, label }] }
        };
        let rows = rows.into_iter().map(row).collect();
        Self { legend, rows }
    }
}

fn legend<'a>(series: impl IntoIterator<Item = (&'a str, String)>) -> Vec<LegendEntry> {
    let series = series.into_iter().enumerate();
    series.map(|(at, (name, total))| LegendEntry::new(at, name, total)).collect()
}

/// A table of counts whose cells are shaded by their share.
#[derive(Debug, Serialize)]
pub(super) struct HeatTable {
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<HeatRow>,
}

#[derive(Debug, Serialize)]
pub(super) struct HeatRow {
    pub(super) name: String,
    pub(super) cells: Vec<HeatCell>,
    /// The sum of all cells, including those that are not shown.
    pub(super) total: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct HeatCell {
    pub(super) count: u64,
    /// Shade in percent.
    pub(super) shade: f64,
}

impl HeatCell {
    /// A count, shaded by its share of `whole`.
    pub(super) fn new(count: u64, whole: u64) -> Self {
        Self { count, shade: 60.0 * show::share(count, whole).clamp(0.0, 1.0).sqrt() }
    }
}

/// The spread of a numeric column by source.
#[derive(Debug, Serialize)]
pub(super) struct SpreadFigure {
    column: String,
    documents: u64,
    nulls: u64,
    /// The sources with the least and the greatest median, each with the median.
    least: Option<(String, String)>,
    greatest: Option<(String, String)>,
    /// Sources where nearly all values are equal.
    equal: u64,
    chart: Option<Chart>,
    rows: Vec<SpreadRow>,
}

/// A source: documents with and without a value, quantiles, mean and spread.
#[derive(Debug, Serialize)]
struct SpreadRow {
    name: String,
    count: u64,
    nulls: u64,
    values: Vec<String>,
}

impl SpreadFigure {
    pub(super) fn new(column: &ColumnStats, sources: &[&SourceSpread]) -> Self {
        let quantiles = |it: &ColumnStats| {
            let [p5, p25, p50, p75, p95] = [it.p5, it.p25, it.p50, it.p75, it.p95].map(number);
            Some([p5?, p25?, p50?, p75?, p95?])
        };
        let shown = sources.iter().filter_map(|it| Some((*it, quantiles(&it.column)?)));
        let shown: Vec<(&SourceSpread, [f64; 5])> = shown.collect();
        let by = |a: &&(&SourceSpread, [f64; 5]), b: &&(&SourceSpread, [f64; 5])| {
            let [_, _, a, _, _] = a.1;
            let [_, _, b, _, _] = b.1;
            a.total_cmp(&b)
        };
        let of =
            |it: &(&SourceSpread, [f64; 5])| (it.0.source.clone(), value_text(it.0.column.p50));
        Self {
            column: column.column.clone(),
            documents: column.count + column.nulls,
            nulls: column.nulls,
            least: shown.iter().min_by(by).map(of),
            greatest: shown.iter().max_by(by).map(of),
            equal: shown.iter().filter(|(it, _)| it.column.p5 == it.column.p95).count() as u64,
            chart: (!shown.is_empty()).then(|| spread_chart(column, &shown)),
            rows: shown.iter().map(|(it, _)| spread_row(it)).collect(),
        }
    }
}

fn spread_row(source: &SourceSpread) -> SpreadRow {
    let of = &source.column;
    let values = [of.p5, of.p25, of.p50, of.p75, of.p95, of.mean].map(value_text);
    let spread = of.spread.map_or_else(|| ABSENT.to_owned(), show::decimals);
    SpreadRow {
        name: source.source.clone(),
        count: of.count,
        nulls: of.nulls,
        values: values.into_iter().chain([spread]).collect(),
    }
}

fn spread_chart(column: &ColumnStats, shown: &[(&SourceSpread, [f64; 5])]) -> Chart {
    let range = |(it, values): &(&SourceSpread, [f64; 5])| {
        let of = &it.column;
        let described = format!(
            "{}: median {}, 5 % to 95 % {} to {}, {}",
            cut(&it.source),
            value_text(of.p50),
            value_text(of.p5),
            value_text(of.p95),
            show::count(of.count, "value", "values")
        );
        ChartRange { name: cut(&it.source), described, values: *values }
    };
    let ranges: Vec<ChartRange> = shown.iter().map(range).collect();
    let alt = AltText::new(format!("{} by source", cut(&column.column)), "");
    range_chart(&alt, &spread_axis(column, shown), &ranges)
}

fn spread_axis(column: &ColumnStats, shown: &[(&SourceSpread, [f64; 5])]) -> ChartAxis {
    let all = || shown.iter().flat_map(|(_, values)| values.iter().copied());
    let low = all().fold(f64::INFINITY, f64::min);
    let high = all().fold(f64::NEG_INFINITY, f64::max);
    let label = cut(&column.column);
    // Dates are wide, so only the ends are shown.
    if column.kind == "timestamp" {
        let day =
            |value: f64| StatsValue::Timestamp(value as i64).to_string().chars().take(10).collect();
        return ChartAxis::marked(&label, [low, high].into_iter(), day);
    }
    ChartAxis::measured(low, high, &label)
}

/// The value as a number; of a timestamp, its microseconds.
fn number(value: Option<StatsValue>) -> Option<f64> {
    match value? {
        StatsValue::Int(value) | StatsValue::Timestamp(value) => Some(value as f64),
        StatsValue::Float(value) => Some(value),
    }
}

/// A value as people read it.
pub(super) fn value_text(of: Option<StatsValue>) -> String {
    match of {
        None => ABSENT.to_owned(),
        Some(StatsValue::Float(number)) => show::decimals(number),
        // Small integers may be years, which have no thousands separators.
        Some(StatsValue::Int(number)) if number >= 10_000 => show::number(number.unsigned_abs()),
        Some(StatsValue::Timestamp(at)) => {
            let time = StatsValue::Timestamp(at).to_string();
            time.strip_suffix("T00:00:00Z").map_or_else(|| time.clone(), str::to_owned)
        }
        Some(other) => other.to_string(),
    }
}

/// A name, its end cut off where it is long.
pub(super) fn cut(text: &str) -> String {
    cut_behind(text, 80)
}

/// At most that many characters of a text, with dots where its end is cut off.
pub(super) fn cut_behind(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or(text)),
        None => text.to_owned(),
    }
}
