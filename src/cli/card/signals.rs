//! What published rules would remove, as a page: by source, rule by rule, how scores are spread, and who stands at the
//! thresholds.

use super::figure::{Section, figure, folded, note, parted, says};
use super::numbers::drawn;
use super::words::{called, count, documents, of, share, value};
use crate::cli::page::html::{escape, name, table};
use crate::cli::print;
use corpusdb::query::{
    DocumentCounts, QualityExample, QualityReport, QualityRule, QualityScore, SourceSpread,
    StatsValue,
};

/// The sections of the page.
pub(super) fn sections(report: &QualityReport) -> Vec<Section> {
    vec![
        Section::new("sources", "What would go, by source", by_source(report)),
        Section::new("rules", "What each rule would remove", by_rule(report)),
        Section::new("scores", "How scores are spread", scores(&report.scores)),
        Section::new("border", "Documents at the thresholds", borders(&report.rules)),
    ]
}

/// What stands behind the heading.
pub(super) fn lead(report: &QualityReport) -> String {
    let QualityReport { documents: all, removes, .. } = report;
    let mut out = says(&format!(
        "The rules of {} would remove {} of {} ({}), and {} of {} of text.",
        called(report.set),
        print::number(removes.documents),
        documents(all.documents),
        of(removes.documents, all.documents),
        print::size(removes.bytes),
        print::size(all.bytes)
    ));
    if let Some(source) = &report.source {
        out += &note(&format!("Of the source {} alone.", called(source)));
    }
    if let Some(condition) = &report.condition {
        out += &note(&format!("Of documents with <code>{}</code> alone.", escape(condition)));
    }
    let of_texts: Vec<&str> =
        report.scores.iter().filter(|it| it.origin == "text").map(|it| it.signal).collect();
    let from = match of_texts.len() {
        0 => "All scores were read of stored fields.".to_owned(),
        all if all == report.scores.len() => "All scores were found in the texts.".to_owned(),
        _ => format!("Found in the texts, since they are not stored: {}.", of_texts.join(", ")),
    };
    out + &note(&format!("{from} Kept documents only; nothing was removed."))
}

fn counts(of: &DocumentCounts) -> [String; 2] {
    [print::number(of.documents), print::size(of.bytes)]
}

fn by_source(report: &QualityReport) -> String {
    let rows: Vec<(String, Vec<f64>, String)> = report
        .sources
        .iter()
        .map(|it| {
            let part = share(it.removes.documents, it.documents.documents);
            let behind = of(it.removes.documents, it.documents.documents);
            (it.source.clone(), vec![1.0 - part, part], behind)
        })
        .collect();
    let most = report.sources.iter().max_by(|a, b| {
        let of = |it: &DocumentCounts, all: &DocumentCounts| share(it.documents, all.documents);
        of(&a.removes, &a.documents).total_cmp(&of(&b.removes, &b.documents))
    });
    let says = match most {
        None => "No document was looked at.".to_owned(),
        Some(most) => format!(
            "{} would lose the largest share, {}.",
            called(&most.source),
            of(most.removes.documents, most.documents.documents)
        ),
    };
    let names: Vec<&String> = report.documents.tokens.keys().collect();
    let mut head =
        ["Source", "Documents", "Text", "Removed", "Text removed"].map(str::to_owned).to_vec();
    head.extend(names.iter().map(|tokenizer| format!("Removed, {}", name(tokenizer))));
    let cells = |source: &str, all: &DocumentCounts, removed: &DocumentCounts| {
        let mut row = vec![name(source)];
        row.extend(counts(all));
        row.extend(counts(removed));
        let tokens = |name: &&String| removed.tokens.get(*name).copied().unwrap_or(0);
        row.extend(names.iter().map(|name| print::number(tokens(name))));
        row
    };
    let mut numbers: Vec<Vec<String>> =
        report.sources.iter().map(|it| cells(&it.source, &it.documents, &it.removes)).collect();
    numbers.push(cells("in all", &report.documents, &report.removes));
    let mut out = figure(&says, &parted(&["stays", "would go"], &rows), &table(&head, &numbers));
    if report.sources_left_out > 0 {
        let left_out = count(report.sources_left_out, "smaller source is", "smaller sources are");
        out += &note(&format!("{left_out} not told apart."));
    }
    out
}

fn by_rule(report: &QualityReport) -> String {
    let all = report.documents.documents;
    let part = |it: &QualityRule| {
        let others = it.removes.documents.saturating_sub(it.only.documents);
        let behind = of(it.removes.documents, all);
        (it.rule.clone(), vec![share(it.only.documents, all), share(others, all)], behind)
    };
    let rows: Vec<(String, Vec<f64>, String)> = report.rules.iter().map(part).collect();
    let strictest = report.rules.iter().max_by_key(|it| it.removes.documents);
    let idle = report.rules.iter().filter(|it| it.removes.documents == 0).count() as u64;
    let says = match strictest {
        None => "The set has no rules.".to_owned(),
        Some(it) if it.removes.documents == 0 => "No rule would remove any document.".to_owned(),
        Some(it) => format!(
            "<code>{}</code> would remove most, {}, of which {} by no other rule. {} nothing.",
            escape(&it.rule),
            documents(it.removes.documents),
            print::number(it.only.documents),
            count(idle, "rule would remove", "rules would remove")
        ),
    };
    let mut head =
        ["Rule", "Removes", "Text", "Only it", "Text of these"].map(str::to_owned).to_vec();
    head.extend(report.sources.iter().map(|it| name(&it.source)));
    let numbers: Vec<Vec<String>> = report
        .rules
        .iter()
        .map(|it| {
            let mut row = vec![escape(&it.rule)];
            row.extend(counts(&it.removes));
            row.extend(counts(&it.only));
            row.extend(it.by_source.iter().map(|documents| print::number(*documents)));
            row
        })
        .collect();
    let picture = parted(&["by this rule only", "by others too"], &rows);
    figure(&says, &picture, &table(&head, &numbers))
}

fn scores(all: &[QualityScore]) -> String {
    let drawn = all.iter().map(|score| {
        let sources: Vec<&SourceSpread> = score.sources.iter().collect();
        drawn(&score.spread, &sources)
    });
    let out = format!("<div class=\"pair\">\n{}</div>\n", drawn.collect::<String>());
    out + &note(
        "A line goes from the value that 5 of 100 documents do not exceed to the one that 95 do not, the box holds the \
         half in the middle, the mark is the median; each is exact below 512, and otherwise at most one part in 256 too low.",
    )
}

fn borders(rules: &[QualityRule]) -> String {
    let mut out = says("Of each threshold, the documents that are nearest to it on either side.");
    let mut is_empty = true;
    for rule in rules {
        for threshold in &rule.thresholds {
            let sides = [("removed", &threshold.outside), ("stays", &threshold.inside)];
            let rows: Vec<Vec<String>> = sides
                .iter()
                .flat_map(|(side, found)| found.iter().map(|it| example(side, it)))
                .collect();
            if rows.is_empty() {
                continue;
            }
            is_empty = false;
            let head = ["Key", "", "Value", "Source", "Text"].map(str::to_owned);
            let bound = threshold.bound;
            let title = format!("{}: at {bound} {}", rule.signal, value(threshold.at));
            out += &folded(&title, &table(&head, &rows));
        }
    }
    if is_empty {
        out += &note("No examples were asked for.");
    }
    out
}

fn example(side: &str, of: &QualityExample) -> Vec<String> {
    let shown = match of.value {
        StatsValue::Float(number) => value(number),
        other => other.to_string(),
    };
    vec![name(&of.key), side.to_owned(), shown, name(&of.source), escape(&of.text)]
}
