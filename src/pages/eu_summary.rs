//! The EU's summary of training content for general-purpose models, as far as a corpus knows it.
//!
//! The template is that of the Commission under Article 53(1)(d) of Regulation (EU) 2024/1689 (July 2025). Its sections
//! keep their numbers and names; what only the provider knows is a labelled blank. A person continues with the file:
//! text that was filled in, or added below a line, is kept when the summary is written again.

use super::croissant::earlier;
use super::figures::cut;
use super::sizes::tokenizers;
use super::{PageError, environment, write_page};
use crate::inspect::{CorpusReport, is_programming_language};
use crate::inspect::{DomainStats, Domains, GroupStats};
use minijinja::context;
use minijinja::value::Value;
use model::show;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The text of a blank.
const BLANK: &str = "_to be filled in_";
/// Languages and sources that are listed, at most.
const LISTED: usize = 50;
/// The head of the table of sources, as it is and as an earlier release wrote it; that of the table of domains, and the
/// beginning of the last line.
const SOURCES: &str = "| source | documents | text | belongs to |";
const EARLIER_SOURCES: &str = "| source | documents kept | text kept | belongs to |";
const DOMAINS: &str = "| domain | text | documents |";
const LAST: &str = "Counted by corpusdb ";
/// Lines of the template that some corpora leave out.
const SOMETIMES: [&str; 2] =
    ["Latest dates in the documents' own fields", "Programming and markup languages"];

#[derive(Serialize)]
struct EuSummary<'a> {
    name: String,
    version: &'static str,
    commit: String,
    policy: String,
    /// Documents that are trained on: those of the plan, or all that are kept.
    documents: u64,
    bytes: u64,
    kept: u64,
    came_in: u64,
    tokens: Option<TokenCount<'a>>,
    /// Fields of dates, each with its latest value.
    latest: Vec<(&'a str, String)>,
    /// Languages that people speak, documents without one, and apart from them code.
    languages: Vec<NamedCount<Option<String>>>,
    code: Vec<NamedCount<Option<String>>>,
    sources: Vec<NamedCount<String>>,
    other_documents: u64,
    domains: &'a Domains,
    largest_bytes: u64,
    removed: u64,
    purged: u64,
    blocked: u64,
    exact: u64,
    near: u64,
}

/// The size of the text in tokens, by a plan or by the kept documents.
#[derive(Serialize)]
struct TokenCount<'a> {
    range: &'static str,
    count: u64,
    plan: Option<String>,
    tokenizer: &'a str,
}

#[derive(Serialize)]
struct NamedCount<T> {
    name: T,
    documents: u64,
    bytes: u64,
}

/// The summary of a report, which must have the domains with most text. What a person filled in of `before`, an earlier
/// summary, stays.
///
/// # Errors
/// [`PageError::Template`].
pub fn eu_summary(report: &CorpusReport, before: Option<&str>) -> Result<String, PageError> {
    let context = context! {
        page => Value::from_serialize(view(report)),
        blank => Value::from_safe_string(BLANK.to_owned()),
    };
    let fresh = environment()?.get_template("eu_summary.md")?.render(context)?;
    Ok(match before {
        None => fresh,
        Some(before) => taken_over(&fresh, before),
    })
}

/// Writes the summary into a file, whole or not at all. What a person filled in there stays.
///
/// # Errors
/// As [`write_page`] and [`eu_summary`].
pub fn write_eu_summary(file: &Path, report: &CorpusReport) -> Result<(), PageError> {
    write_page(file, &eu_summary(report, earlier(file)?.as_deref())?)
}

fn view(report: &CorpusReport) -> EuSummary<'_> {
    let count = |standing: &str| {
        let found = report.about.standings.iter().find(|it| it.standing == standing);
        found.map_or(0, |it| it.documents)
    };
    let domains = report.plan.as_ref().and_then(|plan| plan.domains.as_ref());
    let domains = domains.unwrap_or(&report.domains);
    let mut sources: Vec<NamedCount<String>> =
        named_counts(report, |group| Some(cut(&group.source)));
    sources.truncate(LISTED);
    let listed: u64 = sources.iter().map(|it| it.documents).sum();
    let is_code =
        |group: &GroupStats| group.language.as_deref().is_some_and(is_programming_language);
    let language = |group: &GroupStats| group.language.as_deref().map(cut);
    let languages = named_counts(report, |group| (!is_code(group)).then(|| language(group)));
    let code = named_counts(report, |group| is_code(group).then(|| language(group)));
    let (counted, provenance) = match &report.plan {
        Some(plan) => (&plan.sizes.all, &plan.provenance),
        None => (&report.sizes.kept, &report.provenance),
    };
    let latest = provenance.dates.iter().map(|it| (it.field.as_str(), it.last.to_string()));
    EuSummary {
        name: cut(&report.name),
        version: report.version,
        commit: report.about.commit.to_string(),
        policy: report.about.policy.clone(),
        documents: counted.documents,
        bytes: counted.bytes,
        kept: report.sizes.kept.documents,
        came_in: report.sizes.all.documents,
        tokens: tokens(report),
        latest: latest.collect(),
        languages: languages.into_iter().take(LISTED).collect(),
        code: code.into_iter().take(LISTED).collect(),
        sources,
        other_documents: counted.documents.saturating_sub(listed),
        domains,
        largest_bytes: domains.largest.iter().map(|it: &DomainStats| it.bytes).sum(),
        removed: count("removed"),
        purged: count("purged"),
        blocked: count("blocked"),
        exact: count("exact"),
        near: count("near"),
    }
}

/// Documents and bytes by a name of their group, most documents first: of those that the plan trains on, or of all that are
/// kept. Groups without a name are not counted.
fn named_counts<T: Ord>(
    report: &CorpusReport,
    name: impl Fn(&GroupStats) -> Option<T>,
) -> Vec<NamedCount<T>> {
    let groups = report.plan.as_ref().map_or(&report.sizes.groups, |plan| &plan.sizes.groups);
    let mut counts: BTreeMap<T, (u64, u64)> = BTreeMap::new();
    for group in &groups.shown {
        let of = if report.plan.is_some() { &group.all } else { &group.kept };
        if let Some(name) = name(group).filter(|_| of.documents > 0) {
            let (documents, bytes) = counts.entry(name).or_default();
            *documents += of.documents;
            *bytes += of.bytes;
        }
    }
    let count = |(name, (documents, bytes))| NamedCount { name, documents, bytes };
    let mut counts: Vec<NamedCount<T>> = counts.into_iter().map(count).collect();
    counts.sort_by_key(|it| Reverse(it.documents));
    counts
}

fn tokens(report: &CorpusReport) -> Option<TokenCount<'_>> {
    let (count, plan, tokenizer) = match &report.plan {
        Some(plan) => {
            (plan.epoch.tokens, Some(plan.number.to_string()), plan.epoch.tokenizer.as_str())
        }
        None => {
            let name = *tokenizers(report).first()?;
            (*report.sizes.kept.tokens.get(name)?, None, name)
        }
    };
    // The ranges are those of the template.
    let range = match count {
        0..1_000_000_000 => "less than 1 billion tokens",
        1_000_000_000..=10_000_000_000_000 => "1 billion to 10 trillion tokens",
        _ => "more than 10 trillion tokens",
    };
    Some(TokenCount { range, count, plan, tokenizer })
}

/// Text of the corpus within Markdown: on one line, with its markup escaped.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::new();
    for character in show::one_line(text).chars() {
        if "\\`*_[]<>|#!&~$".contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// An item of a summary: its heading and its label; the label is empty for text below the heading.
type ItemName<'a> = (&'a str, &'a str);

/// An earlier summary as read back: the answer to each item, the text below it, and whom each source belongs to.
#[derive(Default)]
struct EarlierSummary<'a> {
    filled: BTreeMap<ItemName<'a>, &'a str>,
    below: BTreeMap<ItemName<'a>, Vec<&'a str>>,
    belongs: BTreeMap<&'a str, &'a str>,
}

/// The label and the answer of a line.
fn item(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("* ")?.split_once(": ")
}

/// The first and the last cell of a row.
fn ends(row: &str) -> Option<(&str, &str)> {
    let cells = row.strip_prefix("| ")?.strip_suffix(" |")?;
    Some((cells.split(" | ").next()?, cells.rsplit(" | ").next()?))
}

/// Reads an earlier summary. `fresh` has the items and sentences of the template.
fn read<'a>(before: &'a str, fresh: &str) -> EarlierSummary<'a> {
    let labels: BTreeSet<&str> =
        fresh.lines().filter_map(item).map(|(label, _)| label).chain(SOMETIMES).collect();
    let sentences: BTreeSet<&str> =
        fresh.lines().filter(|line| !line.is_empty() && item(line).is_none()).collect();
    let mut found = EarlierSummary::default();
    let (mut heading, mut label, mut table) = ("", "", "");
    for line in before.lines() {
        if line.starts_with('#') {
            (heading, label, table) = (line, "", "");
            continue;
        }
        if [SOURCES, EARLIER_SOURCES, DOMAINS].contains(&line) {
            table = if line == EARLIER_SOURCES { SOURCES } else { line };
            continue;
        }
        if !table.is_empty() && line.starts_with('|') {
            let belongs = ends(line).filter(|(_, last)| table == SOURCES && *last != BLANK);
            found.belongs.extend(belongs);
            continue;
        }
        table = "";
        match item(line).filter(|(label, _)| labels.contains(label)) {
            Some((of, says)) => {
                label = of;
                found.filled.insert((heading, label), says);
            }
            None if sentences.contains(line) || line.starts_with(LAST) => {}
            None => found.below.entry((heading, label)).or_default().push(line),
        }
    }
    for lines in found.below.values_mut() {
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
        let blank = lines.iter().take_while(|line| line.trim().is_empty()).count();
        lines.drain(..blank);
    }
    found.below.retain(|_, lines| !lines.is_empty());
    found
}

/// The fresh summary with a person's answers from an earlier one.
fn taken_over(fresh: &str, before: &str) -> String {
    let mut earlier = read(before, fresh);
    let (mut out, mut heading, mut table) = (String::new(), "", "");
    for line in fresh.lines() {
        let mut name = None;
        if line.starts_with('#') {
            heading = line;
            name = Some((heading, ""));
        } else if line == SOURCES || line == DOMAINS || line.is_empty() {
            table = line;
        }
        match (item(line), ends(line)) {
            (Some((label, says)), _) => {
                name = Some((heading, label));
                let filled = earlier.filled.get(&(heading, label)).filter(|_| says == BLANK);
                out += &format!("* {label}: {}", filled.unwrap_or(&says));
            }
            (None, Some((source, _))) if table == SOURCES => {
                let belongs = earlier.belongs.get(source).copied();
                out += &belongs.map_or_else(|| line.to_owned(), |it| line.replace(BLANK, it));
            }
            _ => out += line,
        }
        out.push('\n');
        if let Some(lines) = name.and_then(|name| earlier.below.remove(&name)) {
            if line.starts_with('#') {
                out.push('\n');
            }
            lines.iter().for_each(|line| out += &format!("{line}\n"));
        }
    }
    // Text below headings and items that no longer exist.
    for lines in earlier.below.values() {
        out.push('\n');
        lines.iter().for_each(|line| out += &format!("{line}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRESH: &str = "# Public summary\n\nWhat stands in italics is to be filled in.\n\n## 1. General\n\n\
        * Provider: _to be filled in_\n* Documents: 12\n* Types: _to be filled in_\n\n## 2. List\n\n\
        | source | documents | text | belongs to |\n|---|---:|---:|---|\n| web | 12 | 3.0 kB | _to be filled in_ |\n\
        | books | 1 | 3 B | _to be filled in_ |\n\nCounted by corpusdb 1 from commit 2 of the corpus `c`.\n";

    #[test]
    fn filled_parts_stay_and_counts_are_fresh() {
        let before = FRESH
            .replace(
                "Provider: _to be filled in_",
                "Provider: Example Ltd\n  Main Street 1\n\n  Dublin",
            )
            .replace("Documents: 12", "Documents: 9\n* These are many: really")
            .replace("| web | 12 | 3.0 kB | _to be filled in_ |", "| web | 9 | 2.0 kB | 2.3 |")
            .replace(
                "## 2. List\n",
                "## 2. List\n\nA sentence of ours.\n\n| set | link |\n|---|---|\n| a | b |\n",
            )
            .replace("commit 2", "commit 1");
        let told = taken_over(FRESH, &before);
        let expected = FRESH
            .replace(
                "Provider: _to be filled in_",
                "Provider: Example Ltd\n  Main Street 1\n\n  Dublin",
            )
            .replace("Documents: 12", "Documents: 12\n* These are many: really")
            .replace("| 3.0 kB | _to be filled in_ |", "| 3.0 kB | 2.3 |")
            .replace(
                "## 2. List\n",
                "## 2. List\n\nA sentence of ours.\n\n| set | link |\n|---|---|\n| a | b |\n",
            );
        assert_eq!(told, expected);
        // Taking over is idempotent.
        assert_eq!(taken_over(FRESH, &told), told);
        assert_eq!(taken_over(FRESH, FRESH), FRESH);
    }

    #[test]
    fn nothing_that_was_written_is_lost_where_its_item_is_gone() {
        let before =
            FRESH.replace("# Public summary\n", "# Public summary\n\n## 9. Of ours\n\nwords\n");
        let told = taken_over(FRESH, &before);
        assert!(told.starts_with(FRESH) && told.ends_with("\nwords\n"), "{told}");
    }

    #[test]
    fn words_of_the_corpus_do_nothing_in_markdown() {
        assert_eq!(
            plain("a|b\n<c>`*_[x](y)\u{202e}"),
            "a\\|b\u{fffd}\\<c\\>\\`\\*\\_\\[x\\](y)\u{fffd}"
        );
    }
}
