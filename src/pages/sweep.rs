//! What other thresholds and shingle sizes would remove, as a page: shares, and similarities inside clusters.

use super::chart::{AltText, Chart, ChartAxis, ChartRange, range_chart};
use super::figures::{ABSENT, BarChart, cut};
use super::{Contents, PageModel};
use crate::inspect::duplicates::{DedupSweep, SimilarityQuartiles, SweepLine};
use model::show;
use serde::Serialize;

/// A page about a sweep over thresholds and shingle sizes.
#[derive(Debug, Serialize)]
pub struct SweepPage<'a> {
    name: String,
    contents: Contents,
    /// The policy, in words.
    policy: &'a str,
    sweep: &'a DedupSweep,
    sizes: Vec<SweepFigures>,
}

/// The figures of one shingle size.
#[derive(Debug, Serialize)]
struct SweepFigures {
    shingle: u32,
    /// The least threshold, with what it removes.
    least: (String, String),
    /// The largest one.
    most: (String, String),
    shares: BarChart,
    similarities: Option<Chart>,
    rows: Vec<(String, Vec<String>)>,
}

impl<'a> SweepPage<'a> {
    /// The page for a corpus called `name` with a policy in words.
    pub fn new(sweep: &'a DedupSweep, policy: &'a str, name: &str) -> Self {
        let of_size = sweep.lines.chunk_by(|one, other| one.shingle == other.shingle);
        Self {
            name: cut(name),
            contents: Contents(vec![("sweep", "By shingle size and threshold")]),
            policy,
            sweep,
            sizes: of_size.map(figures).collect(),
        }
    }
}

impl PageModel for SweepPage<'_> {
    const TEMPLATE: &'static str = "sweep.html";

    fn title(&self) -> String {
        format!("Thresholds: {}", self.name)
    }
}

fn figures(lines: &[SweepLine]) -> SweepFigures {
    let removes = |line: Option<&SweepLine>| {
        line.map(|line| (threshold(line), show::percent(line.verified.share))).unwrap_or_default()
    };
    let shingle = lines.first().map_or(0, |line| line.shingle);
    SweepFigures {
        shingle,
        least: removes(lines.first()),
        most: removes(lines.last()),
        shares: shares(lines),
        similarities: similarities(shingle, lines),
        rows: lines.iter().map(|line| (threshold(line), numbers(line))).collect(),
    }
}

fn threshold(line: &SweepLine) -> String {
    let own = if line.own { " (the policy)" } else { "" };
    format!("{}{own}", line.threshold)
}

/// Of the documents that unverified bands remove, the share that is less similar than the threshold.
fn below(line: &SweepLine) -> String {
    show::percent_of(line.unverified_below, line.unverified.removed)
}

fn shares(lines: &[SweepLine]) -> BarChart {
    let series = ["removed with verification", "removed by shared bands alone"];
    let row = |line: &SweepLine| {
        let (verified, unverified) = (line.verified.share, line.unverified.share);
        let alone = format!("{}, {} of it below", show::percent(unverified), below(line));
        (threshold(line), vec![(verified, show::percent(verified)), (unverified, alone)])
    };
    BarChart::new(series.map(|name| (name, String::new())), lines.iter().map(row).collect())
}

/// For each threshold the similarities of what is removed with verification, and of what is removed without.
fn similarities(shingle: u32, lines: &[SweepLine]) -> Option<Chart> {
    let range = |line: &SweepLine, how: &str, all: Option<SimilarityQuartiles>| {
        let values = values(&all?);
        let [least, lower, median, upper, most] = values.map(|value| format!("{value:.2}"));
        let name = format!("{}{how}", line.threshold);
        let described =
            format!("{name}: {least} to {most}, half between {lower} and {upper}, median {median}");
        Some(ChartRange { name, described, values })
    };
    let ranges: Vec<ChartRange> = lines
        .iter()
        .flat_map(|line| {
            [
                range(line, "", line.verified.similarity),
                range(line, " unverified", line.unverified.similarity),
            ]
        })
        .flatten()
        .collect();
    let least = ranges.iter().map(|range| range.values[0]).reduce(f64::min)?;
    let alt = AltText::new(format!("Similarity inside clusters, {shingle}-token shingles"), "");
    let axis = ChartAxis::measured(least, 1.0, "similarity (Jaccard) to the kept document");
    Some(range_chart(&alt, &axis, &ranges))
}

const fn values(of: &SimilarityQuartiles) -> [f64; 5] {
    [of.least, of.lower, of.median, of.upper, of.most]
}

fn numbers(line: &SweepLine) -> Vec<String> {
    let (verified, unverified) = (&line.verified, &line.unverified);
    let spread = verified.similarity.as_ref().map(values);
    let spread = spread.map_or([const { None }; 5], |all| all.map(Some));
    let mut cells = vec![
        show::number(verified.removed),
        show::number(verified.clusters),
        show::number(verified.largest),
    ];
    let shown = |value: Option<f64>| value.map_or(ABSENT.to_owned(), |it| format!("{it:.2}"));
    cells.extend(spread.map(shown));
    cells.extend([
        show::number(unverified.removed),
        show::number(unverified.largest),
        show::number(line.unverified_below),
    ]);
    cells
}
