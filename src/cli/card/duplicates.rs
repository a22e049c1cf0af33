//! What dedup took away.

use super::figure::{Section, figure, folded, heat, says};
use super::words::{called, count, documents, of, share, value};
use crate::cli::page::chart::{Told, counted};
use crate::cli::page::columns::{Column, columns};
use crate::cli::page::html::{bars, lines, name, short, table};
use crate::cli::print;
use corpusdb::duplicates::DiffPart;
use corpusdb::report::{DuplicatesReport, ReportCluster};

/// Of `stored` documents.
pub(super) fn section(report: &DuplicatesReport, stored: u64) -> Section {
    let of_kind = |kind: &str| {
        let found = report.removed.iter().find(|it| it.kind == kind);
        found.map_or(0, |it| it.documents)
    };
    let (exact, near) = (of_kind("exact"), of_kind("near"));
    let mut out = says(&match (exact + near, report.threshold) {
        (0, _) => "No duplicate was found.".to_owned(),
        (duplicates, Some(threshold)) => format!(
            "{} ({}) are duplicates: {} have the same bytes as a kept document, {} are similar to one \
             (similarity {} or more). They make {}.",
            documents(duplicates),
            of(duplicates, stored),
            print::number(exact),
            print::number(near),
            value(threshold),
            count(report.clusters, "cluster", "clusters")
        ),
        (duplicates, None) => format!(
            "{} ({}) have the same bytes as a kept document. They make {}.",
            documents(duplicates),
            of(duplicates, stored),
            count(report.clusters, "cluster", "clusters")
        ),
    });
    if exact + near > 0 {
        out += &matrix(report);
        out += &format!("<div class=\"pair\">\n{}{}</div>\n", similarity(report), sizes(report));
        out += &largest(report);
    }
    Section::new("duplicates", "Duplicates", out)
}

/// Who lost how much to whom.
fn matrix(report: &DuplicatesReport) -> String {
    let matrix = &report.matrix;
    let mut names: Vec<String> = matrix.sources.iter().map(|source| name(source)).collect();
    if matrix.left_out > 0 {
        names.push(format!("({} others)", print::number(matrix.left_out)));
    }
    let (mut within, mut across, mut worst) = (0, 0, None);
    for (row, cells) in matrix.removed.iter().enumerate() {
        for (column, removed) in cells.iter().enumerate() {
            *(if row == column { &mut within } else { &mut across }) += removed;
            if row != column && worst.is_none_or(|(most, _, _)| *removed > most) {
                worst = Some((*removed, row, column));
            }
        }
    }
    let between = worst.filter(|(most, _, _)| *most > 0).and_then(|(most, row, column)| {
        let pair = matrix.sources.get(row).zip(matrix.sources.get(column))?;
        Some(format!(
            " Across sources, most were found in {} of {}: {}.",
            called(pair.0),
            called(pair.1),
            documents(most)
        ))
    });
    let says = format!(
        "{} of the duplicates have their original in the same source, {} in another one.{}",
        of(within, within + across),
        of(across, within + across),
        between.unwrap_or_default()
    );
    let rows: Vec<(String, Vec<(f64, String)>)> = names
        .iter()
        .zip(matrix.removed.iter().zip(&matrix.documents))
        .map(|(name, (cells, documents))| {
            let cells = cells.iter().map(|removed| {
                let text = if *removed == 0 { String::new() } else { print::number(*removed) };
                (share(*removed, *documents), text)
            });
            let cells = [(0.0, print::number(*documents))].into_iter().chain(cells);
            (name.clone(), cells.collect())
        })
        .collect();
    let mut head = vec!["Stored".to_owned()];
    head.extend(names.iter().map(|name| format!("in {name}")));
    let picture = heat("Duplicates of", &head, &rows);
    let note = super::figure::note(
        "A row is a source that lost documents, a column where their originals are; the shade is the share of the \
         row's documents.",
    );
    figure(&says, &(picture + &note), "")
}

fn similarity(report: &DuplicatesReport) -> String {
    let found = &report.similarity;
    let near: u64 = found.bins.iter().map(|bin| bin.documents).sum::<u64>() + found.same_shingles;
    if near == 0 {
        return figure("All duplicates have the same bytes as their original.", "", "");
    }
    let bound = |value: f64| format!("{value:.2}");
    let mut all: Vec<(String, String, u64)> = found
        .bins
        .iter()
        .map(|bin| {
            let bounds = format!("{} to {}", bound(bin.from), bound(bin.to));
            (bound(bin.from), bounds, bin.documents)
        })
        .collect();
    all.push(("1".to_owned(), "1, with other bytes".to_owned(), found.same_shingles));
    let close: u64 = found.bins.iter().filter(|bin| bin.from >= 0.949).map(|it| it.documents).sum();
    let close = close + found.same_shingles;
    let says = format!(
        "{} of the near duplicates are almost the same as their original (similarity 0.95 and more); the others \
         are near the threshold or between.",
        of(close, near)
    );
    let most = all.iter().map(|(_, _, documents)| *documents).max().unwrap_or(0);
    let y = counted(most, "", |value| short(value.round() as u64));
    let bars: Vec<Column> = all
        .iter()
        .map(|(mark, bounds, found)| Column {
            mark: mark.clone(),
            told: format!("{bounds}: {}", documents(*found)),
            heights: vec![*found as f64],
        })
        .collect();
    let told = Told { title: "Near duplicates by similarity to their original", shows: "" };
    let rows: Vec<Vec<String>> = all
        .into_iter()
        .map(|(_, bounds, documents)| vec![bounds, print::number(documents)])
        .collect();
    let head = ["Similarity", "Documents"].map(str::to_owned);
    figure(&says, &columns(told, "similarity (Jaccard)", &y, &bars), &table(&head, &rows))
}

fn sizes(report: &DuplicatesReport) -> String {
    let rows: Vec<(String, Vec<(f64, String)>)> = report
        .cluster_sizes
        .iter()
        .map(|bin| {
            let sizes = if bin.from == bin.to {
                print::number(bin.from)
            } else {
                format!("{} – {}", print::number(bin.from), print::number(bin.to))
            };
            (sizes, vec![(bin.clusters as f64, print::number(bin.clusters))])
        })
        .collect();
    let pairs =
        report.cluster_sizes.first().filter(|bin| bin.to <= 2).map_or(0, |bin| bin.clusters);
    let most = report.largest.first().map_or(0, |it| it.cluster.size);
    let says = format!(
        "{} of the clusters are pairs; the largest has {}.",
        of(pairs, report.clusters),
        documents(most)
    );
    figure(
        &says,
        &format!("<p class=\"note\">Clusters by number of documents</p>\n{}", bars(&rows)),
        "",
    )
}

/// The largest clusters, each with an example.
fn largest(report: &DuplicatesReport) -> String {
    let Some(first) = report.largest.first() else { return String::new() };
    let mut out = format!(
        "<h3>Largest clusters</h3>\n{}",
        says(&format!(
            "The largest cluster is {} around {}. Below, each with the least similar of its first members.",
            documents(first.cluster.size),
            called(&first.cluster.key)
        ))
    );
    for cluster in &report.largest {
        out += &one(cluster);
    }
    out
}

fn one(reported: &ReportCluster) -> String {
    let cluster = &reported.cluster;
    let mut sources: Vec<String> = cluster
        .sources
        .iter()
        .map(|it| format!("{} of {}", print::number(it.documents), name(&it.source)))
        .collect();
    if reported.sources_left_out > 0 {
        sources.push(count(reported.sources_left_out, "more source", "more sources"));
    }
    let title =
        format!("{} around {}", documents(cluster.size), crate::cli::page::html::cut(&cluster.key));
    let Some(example) = &cluster.example else {
        return format!("<p>{}: {}.</p>\n", name(&title), sources.join(", "));
    };
    let parts: String = reported.diff.iter().map(part).collect();
    folded(
        &title,
        &format!(
            "<p>{}. {} is kept, {} is {} to {}.</p>\n<div class=\"diff\" tabindex=\"0\">{parts}</div>\n",
            sources.join(", "),
            called(&example.pair.witness_key),
            called(&example.pair.key),
            if example.pair.kind == "exact" { "identical" } else { "similar" },
            value(example.pair.jaccard)
        ),
    )
}

fn part(part: &DiffPart) -> String {
    match part {
        DiffPart::Same(text) => lines(text),
        DiffPart::Removed(text) => format!("<del>{}</del>", lines(text)),
        DiffPart::Added(text) => format!("<ins>{}</ins>", lines(text)),
    }
}
