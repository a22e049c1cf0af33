//! Prints duplicates for people: in numbers, as a matrix, of one document, and the differences of two texts.

use crate::cli::output::{Output, Paint};
use corpusdb::duplicates::{
    ClosePair, DiffPart, DocumentDuplicates, DuplicatePair, DuplicatesMatrix, DuplicatesSummary,
    GroupLoss, LargeCluster, Similarities,
};
use corpusdb::show::{number, percent, size};
use std::collections::BTreeMap;

/// Pairs of sources listed.
const PAIRS: usize = 20;
/// The longest name that heads a column; for longer ones columns are numbered.
const LONGEST: usize = 16;
/// Columns for the group of a line and its counts.
const COUNTS: usize = 4;

/// A pair on one line, the witness first.
pub(super) fn pair_line(pair: &DuplicatePair) -> String {
    format!(
        "{:5} {:.3}  {} {} ({})  <-  {} {} ({})",
        pair.kind,
        pair.jaccard,
        pair.witness,
        pair.witness_key,
        pair.witness_source,
        pair.id,
        pair.key,
        pair.source
    )
}

pub(super) fn print_summary(found: &DuplicatesSummary, out: &mut Output) {
    out.line(format!("policy: {}", found.policy));
    if let Some(source) = &found.source {
        out.line(format!("of source {source} alone:"));
    }
    out.line(format!("documents: {}, {} kept", number(found.documents), number(found.kept)));
    let removed: Vec<String> = found
        .removed
        .iter()
        .map(|count| format!("{} {}", number(count.documents), count.kind))
        .collect();
    out.line(match removed.is_empty() {
        true => "not kept: none".to_owned(),
        false => format!("not kept: {}", removed.join(", ")),
    });
    if found.sources.is_empty() {
        return out.line("no duplicates");
    }
    let by = found.by.as_str();
    out.line(format!("duplicates by {by}:"));
    let rows = found.sources.iter().map(|source| {
        vec![
            source.source.clone(),
            number(source.documents),
            number(source.removed),
            percent(source.share),
            size(source.removed_bytes),
            percent(source.share_bytes),
        ]
    });
    out.table(&[by, "documents", "removed", "share", "text removed", "share"], rows);
    print_pairs(found, out);
    print_similarities(&found.similarity, out);
    out.line(format!("clusters: {}", number(found.clusters)));
    let rows = found.cluster_sizes.iter().map(|bin| {
        let sizes = if bin.from == bin.to {
            number(bin.to)
        } else {
            format!("{}-{}", number(bin.from), number(bin.to))
        };
        vec![sizes, number(bin.clusters), number(bin.documents)]
    });
    out.table(&["size", "clusters", "documents"], rows);
    if !found.largest.is_empty() {
        out.line("largest clusters, each with its least similar pair:");
    }
    found.largest.iter().for_each(|cluster| print_cluster(cluster, out));
}

/// The most frequent pairs of sources, one a line.
fn print_pairs(found: &DuplicatesSummary, out: &mut Output) {
    out.line(format!("duplicates by {0} and {0} of the witness:", found.by));
    let rows = found.source_pairs.iter().take(PAIRS).map(|pair| {
        vec![
            format!("{} <- {}", pair.witness_source, pair.source),
            number(pair.documents),
            number(pair.exact),
            size(pair.bytes),
            percent(pair.share),
            percent(pair.share_bytes),
        ]
    });
    let of_its = format!("of its {}", found.by);
    let head = ["witness <- removed", "removed", "exact", "text", &of_its, "of its text"];
    out.table(&head, rows);
    match found.source_pairs.get(PAIRS..).unwrap_or_default() {
        [] => {}
        more => {
            let documents: u64 = more.iter().map(|pair| pair.documents).sum();
            out.line(format!(
                "  {} more pairs with {} documents: --matrix shows all, --source those of one source",
                more.len(),
                number(documents)
            ))
        }
    }
}

fn print_similarities(found: &Similarities, out: &mut Output) {
    out.line("similarity to the witness:");
    let mut rows = Vec::new();
    for bin in &found.bins {
        rows.push((format!("{:.2}-{:.2}", bin.from, bin.to), bin.documents));
    }
    rows.push(("1, other bytes".to_owned(), found.same_shingles));
    rows.push(("1, equal bytes".to_owned(), found.exact));
    let most = rows.iter().map(|(_, documents)| *documents).max().unwrap_or(0).max(1);
    let rows = rows.into_iter().map(|(bin, documents)| {
        // At least one mark where there is anything.
        let marks = usize::try_from((documents * 30).div_ceil(most)).unwrap_or(30);
        vec![bin, number(documents), format!("{:<30}", "#".repeat(marks))]
    });
    out.table(&["similarity", "documents", ""], rows)
}

fn print_cluster(cluster: &LargeCluster, out: &mut Output) {
    let sources: Vec<String> = cluster
        .sources
        .iter()
        .map(|source| format!("{} {}", number(source.documents), source.source))
        .collect();
    out.line(format!(
        "  cluster {} {} ({}): {} documents: {}",
        cluster.id,
        cluster.key,
        cluster.source,
        number(cluster.size),
        sources.join(", ")
    ));
    if let Some(example) = &cluster.example {
        out.line(format!("    {}", pair_line(&example.pair)));
        out.line(format!("      kept:    {}", example.witness_excerpt));
        out.line(format!("      removed: {}", example.excerpt));
    }
}

/// Lines are groups that lost documents, columns are groups of the witnesses.
pub(super) fn print_matrix(found: &DuplicatesMatrix, out: &mut Output) {
    let by = found.by.join(" / ");
    let of = found.source.as_ref().map(|name| format!(" of source {name}")).unwrap_or_default();
    let share = found.removed as f64 / found.documents.max(1) as f64;
    out.line(format!(
        "{} of {} documents{of} are duplicates, {}",
        number(found.removed),
        number(found.documents),
        percent(share)
    ));
    if found.cells.is_empty() {
        return;
    }
    out.line(format!("removed documents by {by} (lines) and by {by} of the witness (columns):"));
    let mut head = vec![by, "documents".to_owned(), "removed".to_owned(), "share".to_owned()];
    head.extend(heads(found, out));
    out.wide_table(&head, &lines(found), 1, COUNTS);
    let kept = || found.groups.iter().filter(|group| group.removed == 0);
    let documents: u64 = kept().map(|group| group.documents).sum();
    if documents > 0 {
        out.line(format!(
            "  {} more with {} documents have no duplicates",
            number(kept().count() as u64),
            number(documents)
        ));
    }
}

/// The heads of the columns: the names of the groups, or numbers that lines above explain if a name is long.
fn heads(found: &DuplicatesMatrix, out: &mut Output) -> Vec<String> {
    let names: Vec<String> = found.witness_groups.iter().map(|group| label(group)).collect();
    if names.iter().all(|name| name.chars().count() <= LONGEST) {
        return names;
    }
    let mut heads = Vec::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        let head = format!("[{}]", at + 1);
        out.line(format!("  {head} {name}"));
        heads.push(head);
    }
    heads
}

/// A line for each group that lost documents: its documents, how many it lost, and the share that went to each group.
fn lines(found: &DuplicatesMatrix) -> Vec<Vec<String>> {
    let cells: BTreeMap<_, _> =
        found.cells.iter().map(|cell| ((&cell.group, &cell.witness_group), cell)).collect();
    let line = |group: &GroupLoss| {
        let counts = [number(group.documents), number(group.removed), percent(group.share)];
        let cell = |witness| match cells.get(&(&group.group, witness)) {
            Some(cell) => format!("{} {}", number(cell.documents), percent(cell.share)),
            None => ".".to_owned(),
        };
        let cells = found.witness_groups.iter().map(cell);
        std::iter::once(label(&group.group)).chain(counts).chain(cells).collect()
    };
    found.groups.iter().filter(|group| group.removed > 0).map(line).collect()
}

fn label(group: &[Option<String>]) -> String {
    let values = group.iter().map(|value| value.as_deref().unwrap_or("(none)"));
    values.collect::<Vec<_>>().join(" / ")
}

pub(super) fn print_document(found: &DocumentDuplicates, out: &mut Output) {
    out.line(format!("document {}: {} (source {})", found.id, found.key, found.source));
    out.line(format!("  standing: {}", found.standing));
    if let Some(successor) = found.successor {
        out.line(format!("  superseded by document {successor}, the newer one of its key"));
    }
    if let Some(close) = &found.witness {
        let pair = &close.pair;
        out.line(format!(
            "  witness: document {}: {} (source {})",
            pair.witness, pair.witness_key, pair.witness_source
        ));
        out.line(format!("  similarity: {}", similarity(close)));
        out.line(format!("  {}", bands(close, found.bands)));
        print_close(close, out);
    }
    let Some(cluster) = &found.cluster else {
        return;
    };
    if cluster.members.is_empty() && cluster.size == 1 {
        return out.line(format!(
            "  it has no duplicates (`corpusdb similar CORPUS {}` shows the nearest)",
            found.id
        ));
    }
    out.line(format!(
        "  cluster {} of {} documents, kept: {} (source {})",
        cluster.id,
        number(cluster.size),
        cluster.key,
        cluster.source
    ));
    for member in &cluster.members {
        out.line(format!("    {}, {}", pair_line(&member.pair), bands(member, found.bands)));
        if member.pair.id != found.id {
            print_close(member, out);
        }
    }
    let listed = u64::try_from(cluster.members.len()).unwrap_or(u64::MAX);
    let left = cluster.size.saturating_sub(1).saturating_sub(listed);
    if left > 0 {
        out.note(format!("{} more members; `limit=` lists more", number(left)));
    }
}

fn similarity(close: &ClosePair) -> String {
    let pair = &close.pair;
    if pair.kind == "exact" {
        return "equal bytes".to_owned();
    }
    format!(
        "{:.4}{}; {:.1} % of its shingles and {:.1} % of the witness's are shared",
        pair.jaccard,
        close.estimate.map(|estimate| format!(" (estimated {estimate:.3})")).unwrap_or_default(),
        pair.containment_removed * 100.0,
        pair.containment_witness * 100.0
    )
}

fn bands(close: &ClosePair, all: u32) -> String {
    if close.estimate.is_none() {
        return "no bands: matched as a whole".to_owned();
    }
    let shared = close.shared_bands.len();
    let listed: Vec<String> = close.shared_bands.iter().map(u8::to_string).collect();
    match shared {
        0 => format!("0 of {all} bands shared"),
        _ if shared == usize::try_from(all).unwrap_or(usize::MAX) => {
            format!("all {all} bands shared")
        }
        _ => format!("{shared} of {all} bands shared: {}", listed.join(" ")),
    }
}

fn print_close(close: &ClosePair, out: &mut Output) {
    if let Some(parts) = &close.diff {
        print_diff(parts, out);
    }
}

/// Words of the witness alone as [-word-], words of the duplicate alone as {+word+}; on a terminal with colours.
pub(super) fn print_diff(parts: &[DiffPart], out: &mut Output) {
    let mut line = vec![(Paint::Plain, "    ".to_owned())];
    for part in parts {
        let (paint, text) = match part {
            DiffPart::Same(text) => (Paint::Plain, shorten(text)),
            DiffPart::Removed(text) => (Paint::Removed, text.clone()),
            DiffPart::Added(text) => (Paint::Added, text.clone()),
        };
        for (at, piece) in text.split('\n').enumerate() {
            if at > 0 {
                out.painted(&line);
                line = vec![(Paint::Plain, "    ".to_owned())];
            }
            // A line that only one text has ends in a piece without a word, which needs no marks.
            if !piece.is_empty() {
                line.push((paint, piece.to_owned()));
            }
        }
    }
    if line.iter().any(|(_, text)| !text.trim().is_empty()) {
        out.painted(&line);
    }
}

/// The beginning and end of a long text that both have.
fn shorten(text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    match lines.as_slice() {
        [first, .., last] if lines.len() > 6 => {
            format!("{first}… {} equal lines …\n{last}", lines.len() - 2)
        }
        _ => text.to_owned(),
    }
}
