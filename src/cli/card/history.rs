//! How the corpus came to be: its commits in their order, and its snapshots.

use super::figure::{Section, figure, folded, note};
use super::words::{called, count, documents, of};
use crate::cli::page::chart::{Line, Told, Width, counted, draw};
use crate::cli::page::html::{name, short, table};
use crate::cli::print;
use corpusdb::query::{CommitInfo, CommitStretch};
use corpusdb::report::CorpusReport;

pub(super) fn section(report: &CorpusReport) -> Section {
    let mut out = growth(report);
    out += &events(report);
    out += &snapshots(report);
    Section::new("history", "How it came to be", out)
}

fn growth(report: &CorpusReport) -> String {
    let stretches = &report.timeline.stretches;
    let added: u64 = stretches.iter().map(|it| it.added).sum();
    let kept: u64 = stretches.iter().map(|it| it.kept).sum();
    let ingests: u64 = stretches.iter().map(|it| it.ingests).sum();
    let Some(last) = stretches.last().filter(|_| added > 0) else {
        return note("Nothing has been ingested yet.");
    };
    let says = format!(
        "{} came in by {}; {} of them were kept when they came, {} are today.",
        documents(added),
        count(ingests, "commit", "commits"),
        of(kept, added),
        of(report.sizes.kept.documents, added)
    );
    let line = |label: &str, count: fn(&CommitStretch) -> u64| {
        let mut sum = 0;
        let points = stretches.iter().map(|it| {
            sum += count(it);
            (it.last as f64, sum as f64)
        });
        let points: Vec<(f64, f64)> = [(0.0, 0.0)].into_iter().chain(points).collect();
        Line::plain(label, points.into_iter())
    };
    let lines = [line("came in", |it| it.added), line("kept then", |it| it.kept)];
    let write = |value: f64| short(value.round() as u64);
    let x = counted(last.last, "commit", write);
    let y = counted(added, "documents", write);
    let told = Told {
        title: "Documents by commit",
        shows: "Two rising lines over the commits in their order: documents that came in, and those of them that were \
                kept when they came.",
    };
    let head =
        ["Commits", "Of ingests", "Came in", "Kept then", "Changed", "Not read"].map(str::to_owned);
    let rows: Vec<Vec<String>> = stretches
        .iter()
        .map(|it| {
            let commits = if it.first == it.last {
                print::number(it.first)
            } else {
                format!("{} – {}", print::number(it.first), print::number(it.last))
            };
            let counts = [it.ingests, it.added, it.kept, it.changed, it.rejected];
            [commits].into_iter().chain(counts.map(print::number)).collect()
        })
        .collect();
    figure(&says, &draw(Width::Whole, told, &x, &y, &lines), &table(&head, &rows))
}

/// What was done beside ingests.
fn events(report: &CorpusReport) -> String {
    let timeline = &report.timeline;
    if timeline.events.is_empty() {
        return String::new();
    }
    let row = |it: &CommitInfo| {
        vec![
            print::number(it.commit),
            name(&it.kind),
            name(&it.subject),
            print::number(it.changed),
            name(it.reason.as_deref().unwrap_or("")),
            name(it.time.as_deref().unwrap_or("")),
        ]
    };
    let rows: Vec<Vec<String>> = timeline.events.iter().map(row).collect();
    let head = ["Commit", "What", "Of", "Documents changed", "Reason", "Time"].map(str::to_owned);
    let mut inner = table(&head, &rows);
    if timeline.earlier_events > 0 {
        inner += &note(&format!("{} more before these.", print::number(timeline.earlier_events)));
    }
    folded("What was done beside ingests", &inner)
}

fn snapshots(report: &CorpusReport) -> String {
    let mut out = "<h3>Snapshots</h3>\n".to_owned();
    let Some(newest) = report.snapshots.last() else {
        return out + &note("There are none.");
    };
    let all = report.snapshots.len() as u64 + report.snapshots_left_out;
    let says = format!(
        "There {} {}; the newest, {}, keeps {}.",
        if all == 1 { "is" } else { "are" },
        count(all, "snapshot", "snapshots"),
        called(&newest.name),
        documents(newest.kept)
    );
    let head = ["Snapshot", "Commit", "Documents", "Kept", "Purged since"].map(str::to_owned);
    let rows: Vec<Vec<String>> = report
        .snapshots
        .iter()
        .map(|it| {
            let counts = [it.commit, it.documents, it.kept, it.purged];
            [name(&it.name)].into_iter().chain(counts.map(print::number)).collect()
        })
        .collect();
    out += &figure(&says, &table(&head, &rows), "");
    out
}
