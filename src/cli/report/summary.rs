//! What the EU asks providers of general-purpose models to publish of their training content, as far as a corpus knows
//! it.
//!
//! The template is that of the Commission under Article 53(1)(d) of Regulation (EU) 2024/1689 (July 2025). Its sections
//! keep their numbers and names; what only the provider knows is a blank with a name.

use super::croissant::by;
use crate::cli::page::html::cut;
use crate::cli::print;
use corpusdb::query::StatsValue;
use corpusdb::report::CorpusReport;

/// What stands where the store knows nothing.
const BLANK: &str = "_to be filled in_";
/// Languages and sources that are listed.
const LISTED: usize = 50;

/// The summary of a report that has the domains with most text.
pub fn summary(report: &CorpusReport) -> String {
    let mut out = String::from(
        "# Public summary of training content\n\n\
         For the template of the European Commission under Article 53(1)(d) of Regulation (EU) 2024/1689. What stands in \
         italics is to be filled in: a corpus cannot know it.\n\n",
    );
    out += &general(report);
    out += &sources(report);
    out += &processing(report);
    out + &format!(
        "\nCounted by corpusdb {} from commit {} of the corpus `{}`.\n",
        report.version,
        report.about.commit,
        plain(&report.name)
    )
}

/// Words of the corpus within Markdown: on one line, and nothing in them acts.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for character in cut(text).chars() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '!' | '&' | '~' | '$' => {
                out.push('\\');
                out.push(character);
            }
            _ if character.is_control() => out.push('\u{fffd}'),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            _ => out.push(character),
        }
    }
    out
}

fn general(report: &CorpusReport) -> String {
    let kept = &report.sizes.kept;
    let mut out = format!(
        "## 1. General information\n\n### 1.1. Provider identification\n\n{}\n\
         ### 1.2. Model identification\n\n{}\n### 1.3. Modalities, overall training data size and other characteristics\n\n",
        blanks(&[
            "Provider name and contact details",
            "Authorised representative name and contact details"
        ]),
        blanks(&[
            "Versioned model name(s)",
            "Model dependencies",
            "Date of placement of the model on the Union market"
        ]),
    );
    let tokens = match (&report.plan, kept.tokens.iter().next()) {
        (Some(plan), _) => Some((
            plan.epoch.tokens,
            format!("one epoch of plan {}, by {}", plan.number, plain(&plan.epoch.tokenizer)),
        )),
        (None, Some((name, tokens))) => Some((*tokens, format!("by {}", plain(name)))),
        (None, None) => None,
    };
    out += "* Modality: text. No other modality is in the corpus.\n";
    out += &match tokens {
        Some((tokens, by)) => {
            format!(
                "* Size of the text: {}; exactly {} tokens ({by}).\n",
                range(tokens),
                print::number(tokens)
            )
        }
        None => format!(
            "* Size of the text: {BLANK} (the corpus has no tokenizer); {}.\n",
            print::size(kept.bytes)
        ),
    };
    out += &format!(
        "* {} documents, {} of text, of {} documents that came in.\n* Types of content: {BLANK}\n",
        print::number(kept.documents),
        print::size(kept.bytes),
        print::number(report.sizes.all.documents)
    );
    out += &newest(report);
    let languages: Vec<String> = by(report, |group| group.language.clone())
        .into_iter()
        .take(LISTED)
        .map(|(language, documents)| {
            let share = 100.0 * documents as f64 / kept.documents.max(1) as f64;
            format!(
                "{} ({share:.1} %)",
                language.map_or("without a language".to_owned(), |it| plain(&it))
            )
        })
        .collect();
    out += &format!(
        "* Linguistic characteristics of the overall training data: by documents, {}.\n",
        languages.join(", ")
    );
    out + &format!("* Other relevant characteristics of the overall training data: {BLANK}\n\n")
}

/// The range of the template that so many tokens lie in.
fn range(tokens: u64) -> &'static str {
    match tokens {
        0..1_000_000_000 => "less than 1 billion tokens",
        1_000_000_000..=10_000_000_000_000 => "1 billion to 10 trillion tokens",
        _ => "more than 10 trillion tokens",
    }
}

/// The latest date of the data, where a field may tell it.
fn newest(report: &CorpusReport) -> String {
    let latest = report.spreads.columns.iter().filter(|it| it.of_kept);
    let latest = latest.filter_map(|it| match it.max {
        Some(max @ StatsValue::Timestamp(_)) => {
            Some(format!("`{}` goes up to {max}", plain(&it.column)))
        }
        _ => None,
    });
    let latest: Vec<String> = latest.collect();
    match latest.as_slice() {
        [] => format!("* Latest date of data acquisition/collection for model training: {BLANK}\n"),
        some => format!(
            "* Latest date of data acquisition/collection for model training: {BLANK} (of the documents' own fields, {})\n",
            some.join(", ")
        ),
    }
}

fn sources(report: &CorpusReport) -> String {
    let mut out = String::from(
        "## 2. List of data sources\n\nThe corpus names its sources as follows. The provider says of each to which of 2.1 \
         to 2.6 it belongs.\n\n| source | documents kept | text kept | belongs to |\n|---|---:|---:|---|\n",
    );
    let mut bytes = std::collections::BTreeMap::new();
    for group in &report.sizes.groups.shown {
        *bytes.entry(group.source.as_str()).or_insert(0_u64) += group.kept.bytes;
    }
    let shown = by(report, |group| group.source.clone());
    for (source, documents) in shown.iter().take(LISTED) {
        let size = print::size(bytes.get(source.as_str()).copied().unwrap_or(0));
        out +=
            &format!("| {} | {} | {size} | {BLANK} |\n", plain(source), print::number(*documents));
    }
    let listed: u64 = shown.iter().take(LISTED).map(|(_, documents)| documents).sum();
    let rest = report.sizes.kept.documents.saturating_sub(listed);
    if rest > 0 {
        out += &format!("| (others) | {} | | {BLANK} |\n", print::number(rest));
    }
    out += "\n### 2.1. Publicly available datasets\n\n";
    out += &blanks(&[
        "Datasets of more than 3 % of all publicly available ones, with links",
        "Description of the others",
    ]);
    out += "\n### 2.2. Private non-publicly available datasets obtained from third parties\n\n";
    out += &format!(
        "#### 2.2.1. Datasets commercially licensed by rightsholders or their representatives\n\n{}\n\
         #### 2.2.2. Private datasets obtained from other third parties\n\n{}",
        blanks(&["Licensing agreements"]),
        blanks(&["Publicly known datasets", "Description of the others"])
    );
    out += "\n### 2.3. Data crawled and scraped from online sources\n\n";
    out += &blanks(&[
        "Crawlers, by name and operator, and how they behave",
        "Period of the collection",
    ]);
    out += &domains(report);
    out += "\n### 2.4. User data\n\n";
    out += &blanks(&["Services it was collected by"]);
    out += "\n### 2.5. Synthetic data\n\n";
    out += &blanks(&["Models that made it"]);
    out += "\n### 2.6. Other sources of data\n\n";
    out + &blanks(&["Description"])
}

fn domains(report: &CorpusReport) -> String {
    let found = &report.domains;
    if found.largest.is_empty() {
        return "* Domains: no key of a kept document is an address of the web.\n".to_owned();
    }
    let all = match found.domains {
        Some(domains) => print::number(domains),
        None => "more than 65,536".to_owned(),
    };
    let mut out = format!(
        "* Domains: {} of {all}, those with most text: a tenth of all, as the template asks. They give {} of the {} of text \
         whose key is an address.\n\n| domain | text | documents |\n|---|---:|---:|\n",
        print::number(found.largest.len() as u64),
        print::size(found.largest.iter().map(|it| it.bytes).sum()),
        print::size(found.bytes)
    );
    for domain in &found.largest {
        out += &format!(
            "| {} | {} | {} |\n",
            plain(&domain.domain),
            print::size(domain.bytes),
            print::number(domain.documents)
        );
    }
    out
}

fn processing(report: &CorpusReport) -> String {
    let mut out = String::from(
        "\n## 3. Data processing aspects\n\n### 3.1. Respect of reservation of rights from text and data mining exception or limitation\n\n",
    );
    out += &blanks(&[
        "Measures before and during the collection, and codes of practice that are kept",
    ]);
    let count = |standing: &str| {
        let found = report.about.standings.iter().find(|it| it.standing == standing);
        found.map_or(0, |it| it.documents)
    };
    out += &format!(
        "* Removed from the corpus on request or by a rule: {} documents; erased for good: {}; kept from coming in again: {}.\n",
        print::number(count("removed")),
        print::number(count("purged")),
        print::number(count("blocked"))
    );
    out += "\n### 3.2. Removal of illegal content\n\n";
    out += &blanks(&["Measures taken"]);
    out += "\n### 3.3. Other information (optional)\n\n";
    out + &format!(
        "* Duplicates: {} documents with the same bytes as a kept one and {} similar to one were left out ({}).\n",
        print::number(count("exact")),
        print::number(count("near")),
        plain_sentence(&report.about.policy)
    )
}

/// Words of the library.
fn plain_sentence(text: &str) -> String {
    text.replace('|', "/")
}

fn blanks(names: &[&str]) -> String {
    names.iter().map(|name| format!("* {name}: {BLANK}\n")).collect()
}
