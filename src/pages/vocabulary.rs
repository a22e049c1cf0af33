//! How tokenizers use their ids, what their vocabularies are made of, and what text never reaches: a section of their
//! page.

use super::chart::{AltText, Chart, ChartAxis, ChartLine, line_chart};
use super::figures::{BarChart, cut};
use crate::model::show;
use crate::tokenizer::analyse::{AnalysisReport, CensusRow, ReachClass, TokenizerAnalysis};
use serde::Serialize;
use std::collections::BTreeMap;

/// Tokens of this length and longer are drawn together.
const LONGEST: u64 = 16;
/// Rows of kinds and of scripts.
const ROWS: usize = 14;

/// How the ids are used, what the vocabulary is made of, what text never reaches.
#[derive(Debug, Serialize)]
pub(super) struct VocabularySection<'a> {
    ranks: Chart,
    lengths: Chart,
    kinds: BarChart,
    scripts: BarChart,
    tokens_by_kind: BarChart,
    reach: Vec<ReachLine>,
    unreached: Vec<Unreached<'a>>,
}

#[derive(Debug, Serialize)]
struct ReachLine {
    label: &'static str,
    /// Of each tokenizer.
    ids: Vec<u64>,
}

/// Tokens of a tokenizer that no text reaches.
#[derive(Debug, Serialize)]
struct Unreached<'a> {
    name: &'a str,
    examples: Vec<&'a (u32, String)>,
}

const REACH: [(ReachClass, &str); 7] = [
    (ReachClass::Alone, "reached: its own text is encoded as it"),
    (ReachClass::InContext, "reached: in a context only"),
    (ReachClass::PartOfCharacter, "reached: part of a character"),
    (ReachClass::Added, "never: added beside the model"),
    (ReachClass::NotUtf8, "never: bytes that no UTF-8 text has"),
    (ReachClass::NotByModel, "never: the model splits its text differently"),
    (ReachClass::NotBeforeModel, "never: its text is split or changed before the model"),
];

impl<'a> VocabularySection<'a> {
    pub(super) fn new(report: &'a AnalysisReport) -> Self {
        let reach = REACH.iter().map(|(class, label)| {
            let ids = report.tokenizers.iter().map(|it| {
                let row = it.reach.iter().find(|row| row.class == *class);
                row.map_or(0, |row| row.ids)
            });
            ReachLine { label, ids: ids.collect() }
        });
        let unreached = report.tokenizers.iter().map(|it| {
            let is_lost =
                |class| matches!(class, ReachClass::NotByModel | ReachClass::NotBeforeModel);
            let lost = it.reach.iter().filter(|row| is_lost(row.class));
            Unreached { name: &it.name, examples: lost.flat_map(|row| &row.examples).collect() }
        });
        Self {
            ranks: ranks(report),
            lengths: lengths(report),
            kinds: census(report, |it| &it.census.kinds, ids_share),
            scripts: census(report, |it| &it.census.scripts, ids_share),
            tokens_by_kind: census(
                report,
                |it| &it.census.kinds,
                |it, row| show::share(row.tokens, it.total.counts.tokens),
            ),
            reach: reach.collect(),
            unreached: unreached.filter(|it| !it.examples.is_empty()).collect(),
        }
    }
}

fn ranks(report: &AnalysisReport) -> Chart {
    let line = |it: &TokenizerAnalysis| {
        let total = it.total.counts.tokens;
        let points = it.vocabulary_use.ranks.iter();
        ChartLine::new(
            &cut(&it.name),
            points.map(|point| (point.rank as f64, show::share(point.count, total))),
        )
    };
    let lines: Vec<ChartLine> = report.tokenizers.iter().map(line).collect();
    let all = || lines.iter().flat_map(ChartLine::points);
    let widest = all().map(|point| point.0).fold(10.0, f64::max);
    let least = all().map(|point| point.1).filter(|y| *y > 0.0).fold(0.1, f64::min);
    let x = ChartAxis::logarithmic((1.0, widest), (1.0, 10.0), "rank", power_of_ten);
    let y = ChartAxis::logarithmic((least, 1.0), (1.0, 10.0), "share of the tokens", power_of_ten);
    line_chart(&AltText::new("Share of the tokens by rank of their id", ""), &x, &y, &lines)
}

/// 1, 10, 100, 1,000, and from there on, and below 1, as a power.
fn power_of_ten(value: f64) -> String {
    let exponent = value.log10().round();
    if (0.0..4.0).contains(&exponent) {
        return show::number(value.round() as u64);
    }
    let digit = |digit: char| match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        // The others follow U+2074 in order.
        _ => digit.to_digit(10).and_then(|d| char::from_u32(0x2070 + d)).unwrap_or(digit),
    };
    format!("10{}", exponent.to_string().chars().map(digit).collect::<String>())
}

fn lengths(report: &AnalysisReport) -> Chart {
    let line = |it: &TokenizerAnalysis| {
        let mut tokens: BTreeMap<u64, u64> = (1..=LONGEST).map(|bytes| (bytes, 0)).collect();
        for bin in &it.vocabulary_use.lengths {
            *tokens.entry(bin.bytes.clamp(1, LONGEST)).or_default() += bin.tokens;
        }
        let total = it.total.counts.tokens;
        let points =
            tokens.into_iter().map(|(bytes, count)| (bytes as f64, show::share(count, total)));
        ChartLine::new(&cut(&it.name), points)
    };
    let lines: Vec<ChartLine> = report.tokenizers.iter().map(line).collect();
    let label = format!("bytes of the token ({LONGEST}: or more)");
    let places = (1..=LONGEST).map(|bytes| bytes as f64);
    let x = ChartAxis::marked(&label, places, |bytes| format!("{bytes:.0}"));
    let y = ChartAxis::linear(ChartLine::highest(&lines), "share of the tokens", |value| {
        format!("{:.0} %", 100.0 * value)
    });
    line_chart(&AltText::new("Share of the tokens by their length in bytes", ""), &x, &y, &lines)
}

fn ids_share(of: &TokenizerAnalysis, row: &CensusRow) -> f64 {
    show::share(row.ids, of.ids)
}

/// The rows of the first tokenizers, by what is drawn: the largest of any tokenizer first.
fn census(
    report: &AnalysisReport,
    rows: fn(&TokenizerAnalysis) -> &Vec<CensusRow>,
    value: fn(&TokenizerAnalysis, &CensusRow) -> f64,
) -> BarChart {
    let mut names: Vec<&str> = Vec::new();
    for row in report.tokenizers.iter().flat_map(rows) {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    let mut drawn: Vec<(String, Vec<(f64, String)>)> = names
        .into_iter()
        .map(|name| {
            let of_each = report.tokenizers.iter().map(|it| {
                let row = rows(it).iter().find(|row| row.name == name);
                let share = row.map_or(0.0, |row| value(it, row));
                (share, show::percent(share))
            });
            (name.to_owned(), of_each.collect())
        })
        .collect();
    let largest =
        |row: &(String, Vec<(f64, String)>)| row.1.iter().map(|bar| bar.0).fold(0.0, f64::max);
    drawn.sort_by(|a, b| largest(b).total_cmp(&largest(a)));
    drawn.truncate(ROWS);
    BarChart::new(series(report), drawn)
}

/// The tokenizers as series of bars. No total says anything of them.
pub(super) fn series(report: &AnalysisReport) -> impl Iterator<Item = (&str, String)> {
    report.tokenizers.iter().map(|it| (it.name.as_str(), String::new()))
}
