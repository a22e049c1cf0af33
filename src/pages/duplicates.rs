//! What dedup removed: a section of the card, and a page of its own.

use super::chart::{AltText, Chart, ChartAxis, ChartColumn, column_chart};
use super::figures::{BarChart, HeatCell, HeatRow, HeatTable, cut};
use super::{Contents, PageModel};
use crate::inspect::{DuplicatesReport, ReportCluster};
use model::show;
use serde::Serialize;

pub(super) const TITLE: (&str, &str) = ("duplicates", "Duplicates");

/// The duplicates of a corpus, alone.
#[derive(Debug, Serialize)]
pub struct DuplicatesPage<'a> {
    name: String,
    contents: Contents,
    duplicates: DuplicatesSection<'a>,
}

impl<'a> DuplicatesPage<'a> {
    /// The page for a corpus of `stored` documents, called `name`.
    pub fn new(report: &'a DuplicatesReport, stored: u64, name: &str) -> Self {
        let duplicates = DuplicatesSection::new(report, stored);
        Self { name: cut(name), contents: Contents(vec![TITLE]), duplicates }
    }
}

impl PageModel for DuplicatesPage<'_> {
    const TEMPLATE: &'static str = "duplicates.html";

    fn title(&self) -> String {
        format!("Duplicates: {}", self.name)
    }
}

#[derive(Debug, Serialize)]
pub(super) struct DuplicatesSection<'a> {
    stored: u64,
    exact: u64,
    near: u64,
    threshold: Option<f64>,
    clusters: u64,
    /// Duplicates whose original is of the same source, and of another one.
    within: u64,
    across: u64,
    worst: Option<SourcePairCount<'a>>,
    matrix: HeatTable,
    similarity: Option<SimilarityFigure>,
    sizes: BarChart,
    /// Clusters of two documents.
    pairs: u64,
    largest: &'a [ReportCluster],
}

/// Duplicates of one source whose originals are in another.
#[derive(Debug, Serialize)]
struct SourcePairCount<'a> {
    source: &'a str,
    witness_source: &'a str,
    documents: u64,
}

#[derive(Debug, Serialize)]
struct SimilarityFigure {
    near: u64,
    /// Near duplicates that are almost equal to their original.
    close: u64,
    chart: Chart,
    rows: Vec<(String, u64)>,
}

impl<'a> DuplicatesSection<'a> {
    pub(super) fn new(report: &'a DuplicatesReport, stored: u64) -> Self {
        let of_kind = |kind: &str| {
            let found = report.removed.iter().find(|it| it.kind == kind);
            found.map_or(0, |it| it.documents)
        };
        let matrix = &report.matrix;
        let (mut within, mut across, mut worst) = (0, 0, None);
        for (row, cells) in matrix.removed.iter().enumerate() {
            for (column, removed) in cells.iter().enumerate() {
                *(if row == column { &mut within } else { &mut across }) += removed;
                if row != column && worst.is_none_or(|(most, _, _)| *removed > most) {
                    worst = Some((*removed, row, column));
                }
            }
        }
        let worst = worst.filter(|(documents, _, _)| *documents > 0);
        let worst = worst.and_then(|(documents, row, column)| {
            let (source, witness_source) = (matrix.sources.get(row)?, matrix.sources.get(column)?);
            Some(SourcePairCount { source, witness_source, documents })
        });
        let smallest = report.cluster_sizes.first().filter(|bin| bin.to <= 2);
        Self {
            stored,
            exact: of_kind("exact"),
            near: of_kind("near"),
            threshold: report.threshold,
            clusters: report.clusters,
            within,
            across,
            worst,
            matrix: matrix_table(report),
            similarity: similarity(report),
            sizes: cluster_sizes(report),
            pairs: smallest.map_or(0, |bin| bin.clusters),
            largest: &report.largest,
        }
    }
}

/// Which source lost how much to which.
fn matrix_table(report: &DuplicatesReport) -> HeatTable {
    let matrix = &report.matrix;
    let mut names: Vec<String> = matrix.sources.iter().map(|source| cut(source)).collect();
    if matrix.left_out > 0 {
        names.push(format!("({} others)", show::number(matrix.left_out)));
    }
    let rows = names.iter().zip(matrix.removed.iter().zip(&matrix.documents));
    let row = |(name, (cells, documents)): (&String, (&Vec<u64>, &u64))| HeatRow {
        name: name.clone(),
        cells: cells.iter().map(|removed| HeatCell::new(*removed, *documents)).collect(),
        total: *documents,
    };
    HeatTable { rows: rows.map(row).collect(), columns: names }
}

fn similarity(report: &DuplicatesReport) -> Option<SimilarityFigure> {
    let found = &report.similarity;
    let near: u64 = found.bins.iter().map(|bin| bin.documents).sum::<u64>() + found.same_shingles;
    if near == 0 {
        return None;
    }
    let mut bins: Vec<(String, String, u64)> = found
        .bins
        .iter()
        .map(|bin| {
            let bounds = format!("{:.2} to {:.2}", bin.from, bin.to);
            (format!("{:.2}", bin.from), bounds, bin.documents)
        })
        .collect();
    bins.push(("1".to_owned(), "1, with other bytes".to_owned(), found.same_shingles));
    let close: u64 = found.bins.iter().filter(|bin| bin.from >= 0.949).map(|it| it.documents).sum();
    let most = bins.iter().map(|(_, _, documents)| *documents).max().unwrap_or(0);
    let columns: Vec<ChartColumn> = bins
        .iter()
        .map(|(mark, bounds, documents)| ChartColumn {
            mark: mark.clone(),
            described: format!("{bounds}: {}", show::count(*documents, "document", "documents")),
            heights: vec![*documents as f64],
        })
        .collect();
    let alt = AltText::new(
        "Near duplicates by similarity to their original",
        "a column for each range of similarity",
    );
    let y = ChartAxis::counted(most, "documents");
    let chart =
        column_chart(&alt, "similarity (Jaccard)", &y, &[("near duplicates", near)], &columns);
    let rows = bins.into_iter().map(|(_, bounds, documents)| (bounds, documents)).collect();
    Some(SimilarityFigure { near, close: close + found.same_shingles, chart, rows })
}

fn cluster_sizes(report: &DuplicatesReport) -> BarChart {
    let rows = report.cluster_sizes.iter().map(|bin| {
        let size = if bin.from == bin.to {
            show::number(bin.from)
        } else {
            format!("{} – {}", show::number(bin.from), show::number(bin.to))
        };
        (size, vec![(bin.clusters as f64, show::number(bin.clusters))])
    });
    BarChart::new(
        [("clusters, by number of documents", show::number(report.clusters))],
        rows.collect(),
    )
}
