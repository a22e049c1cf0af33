//! Prints duplicates for people: in numbers, as a matrix, of one document, and the differences of two texts.

use crate::cli::columns::eighths;
use crate::cli::output::{Output, Paint};
use corpusdb::inspect::{
    ClosePair, DiffPart, DocumentDuplicates, DuplicatesMatrix, DuplicatesSummary, GroupLoss,
    GroupPair, LargeCluster, LossShare, RemovedCount, Similarities, SimilarityBin, SourceLoss,
};
use corpusdb::show::{count, number, percent, percent_of, share, size};
use corpusdb::sql::DuplicatePair;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Groups of the summary with a line of their own.
const GROUPS: usize = 12;
/// Characters shown at either end of a long line that both texts have.
const EQUAL: usize = 80;
/// Columns of a bar.
const BAR: usize = 16;
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

/// The summary, and how it is shown.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub(super) struct SummaryAnswer {
    pub(super) summary: DuplicatesSummary,
    /// The short name of the policy.
    #[serde(skip)]
    pub(super) policy: String,
    /// The corpus, as a command names it.
    #[serde(skip)]
    pub(super) corpus: String,
    /// Whether every group has a line.
    #[serde(skip)]
    pub(super) all: bool,
}

pub(super) fn print_summary(answer: &SummaryAnswer, out: &mut Output) {
    let SummaryAnswer { summary: found, policy, corpus, .. } = answer;
    let of = found.source.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
    let (duplicates, others): (Vec<_>, Vec<_>) =
        found.removed.iter().partition(|count| matches!(count.kind, "exact" | "near"));
    let kinds = |counts: &[&RemovedCount]| -> String {
        let kinds =
            counts.iter().map(|count| format!("{} {}", number(count.documents), count.kind));
        kinds.collect::<Vec<_>>().join(", ")
    };
    let removed = duplicates.iter().map(|count| count.documents).sum();
    out.line(match removed {
        0 => format!("no duplicates{of} ({policy})"),
        _ => format!(
            "{}{of} in {}: {} ({policy})",
            count(removed, "duplicate", "duplicates"),
            count(found.clusters, "cluster", "clusters"),
            kinds(&duplicates)
        ),
    });
    let kept = format!("{} of {} documents kept", number(found.kept), number(found.documents));
    let others = if others.is_empty() { String::new() } else { format!("; {}", kinds(&others)) };
    out.line(format!("{kept}{others}"));
    if removed == 0 {
        return;
    }
    out.line("");
    print_groups(found, answer.all, out);
    out.line("");
    print_similarities(&found.similarity, out);
    let sizes = found.cluster_sizes.iter().map(|bin| {
        let to = number(bin.to);
        let sizes = if bin.from == bin.to { to } else { format!("{}-{to}", number(bin.from)) };
        format!("{} of {sizes}", number(bin.clusters))
    });
    let sizes: Vec<String> = sizes.collect();
    out.line(format!("sizes of clusters: {}", sizes.join(", ")));
    out.line("");
    if !found.largest.is_empty() {
        let head = ["largest clusters", "documents", "source", "id", "least similar"];
        out.table(&head, found.largest.iter().map(cluster_cells));
    }
    out.line(format!(
        "pairs     corpusdb duplicates {corpus} ID --diff; all: --list, counts: --matrix"
    ));
}

/// What duplicates take from the groups, most first.
fn print_groups(found: &DuplicatesSummary, all: bool, out: &mut Output) {
    let mut groups: Vec<&SourceLoss> = found.sources.iter().collect();
    groups.sort_by_key(|group| Reverse(group.loss.removed));
    let own = if all || groups.len() <= GROUPS + 1 { groups.len() } else { GROUPS };
    let (own, more) = groups.split_at(own);
    let row = |name: String, groups: &[&SourceLoss]| {
        let sum = |of: fn(&LossShare) -> u64| groups.iter().map(|it| of(&it.loss)).sum::<u64>();
        let (removed, documents) = (sum(|of| of.removed), sum(|of| of.documents));
        let (removed_bytes, bytes) = (sum(|of| of.removed_bytes), sum(|of| of.bytes));
        vec![
            name,
            number(documents),
            number(removed),
            percent_of(removed, documents),
            size(removed_bytes),
            percent_of(removed_bytes, bytes),
        ]
    };
    let more = (!more.is_empty()).then(|| row(format!("{} more", more.len()), more));
    let rows = own.iter().map(|group| row(group.source.clone(), &[*group])).chain(more);
    out.table(&[&found.by, "documents", "removed", "of them", "text removed", "of it"], rows);
}

/// A bar for each step of similarity, in two columns.
fn print_similarities(found: &Similarities, out: &mut Output) {
    let step = |bin: &SimilarityBin| {
        let name = match bin.from {
            0.0 => format!("<{:.2}", bin.to),
            from => format!("{from:.2}"),
        };
        (name.replacen("0.", ".", 1), bin.documents)
    };
    let equal = (found.same_shingles > 0).then(|| ("1".to_owned(), found.same_shingles));
    let bars: Vec<(String, u64)> = found.bins.iter().map(step).chain(equal).collect();
    let most = bars.iter().map(|(_, documents)| *documents).max().unwrap_or(0);
    if most == 0 {
        return;
    }
    let figures = number(most).len();
    let drawn = |(name, documents): &(String, u64)| {
        let bar = eighths(share(*documents, most), BAR);
        format!("{name:>4} {bar:<BAR$} {:>figures$}", number(*documents))
    };
    out.line("near duplicates by similarity to the kept document");
    let lines = bars.len().div_ceil(2);
    for at in 0..lines {
        let cells: Vec<String> = bars.iter().skip(at).step_by(lines).map(drawn).collect();
        out.line(format!("  {}", cells.join("     ")));
    }
}

/// A large cluster, with its member that is least similar to the document it matched.
fn cluster_cells(cluster: &LargeCluster) -> Vec<String> {
    let others = cluster.sources.iter().filter(|of| of.source != cluster.source).count();
    let others = if others == 0 { String::new() } else { format!(" and {others} more") };
    let least = cluster.example.as_ref().map(|example| {
        let pair = &example.pair;
        format!("{} at {:.3}", pair.id, pair.jaccard)
    });
    vec![
        cluster.key.clone(),
        number(cluster.size),
        format!("{}{others}", cluster.source),
        cluster.id.to_string(),
        least.unwrap_or_default(),
    ]
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
    let kept = || found.groups.iter().filter(|group| group.loss.removed == 0);
    let documents: u64 = kept().map(|group| group.loss.documents).sum();
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
        let LossShare { documents, removed, share, .. } = group.loss;
        let counts = [number(documents), number(removed), percent(share)];
        let cell = |witness| match cells.get(&(&group.group, witness)) {
            Some(GroupPair { removed, .. }) => {
                format!("{} {}", number(removed.documents), percent(removed.share))
            }
            None => ".".to_owned(),
        };
        let cells = found.witness_groups.iter().map(cell);
        std::iter::once(label(&group.group)).chain(counts).chain(cells).collect()
    };
    found.groups.iter().filter(|group| group.loss.removed > 0).map(line).collect()
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
        let pair = &member.pair;
        let of = match pair.witness == cluster.id {
            true => String::new(),
            false => format!(" <- {}", pair.witness),
        };
        out.line(format!(
            "    {:.3} {:5}  {} {} ({}){of}{}",
            pair.jaccard,
            pair.kind,
            pair.id,
            pair.key,
            pair.source,
            match member.shared_bands.len() {
                0 => String::new(),
                shared => format!(", {shared} bands"),
            }
        ));
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
            let equal = lines.len() - 2;
            format!("{}… {equal} equal lines …\n{}", shorten_line(first), shorten_line(last))
        }
        lines => lines.iter().map(|line| shorten_line(line)).collect(),
    }
}

/// The beginning and end of a long line.
fn shorten_line(line: &str) -> String {
    let places: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
    let ends = places.get(EQUAL).zip(places.len().checked_sub(EQUAL).and_then(|at| places.get(at)));
    match ends {
        Some((head, tail)) if places.len() > 3 * EQUAL => format!(
            "{} … {} equal characters … {}",
            line.get(..*head).unwrap_or_default(),
            places.len() - 2 * EQUAL,
            line.get(*tail..).unwrap_or_default()
        ),
        _ => line.to_owned(),
    }
}
