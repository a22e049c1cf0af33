//! The analysis of tokenizers as one HTML page that needs nothing else: no server, no script, no other file.
//!
//! Style, drawings and the forms of HTML are those of all pages (`super::page`). All that comes from the corpus or from
//! a vocabulary is escaped there.
//!
//! One section a file: `summary` side by side, `groups` by language or source, `curve` of the vocabulary
//! size, `vocabulary`, `cases`, `method`.

mod cases;
mod curve;
mod groups;
mod method;
mod summary;
mod vocabulary;

use super::page::document;
use super::page::html::escape;
use super::print;
use corpusdb::tokenizer::analyse::AnalysisReport;

/// The page of a report; `title` names the corpus.
pub fn page(report: &AnalysisReport, title: &str) -> String {
    let sections = [
        summary::section(report),
        groups::section(report),
        curve::section(report),
        vocabulary::section(report),
        cases::section(report),
        method::section(report),
    ];
    let names: Vec<String> =
        report.tokenizers.iter().map(|analysis| escape(&analysis.name)).collect();
    let opening =
        format!("<p>{}</p>\n<p class=\"note\">{}</p>\n", names.join(", "), sample(report));
    document(&format!("Tokenizers on {title}"), &opening, &sections.concat())
}

fn sample(report: &AnalysisReport) -> String {
    let documents = print::number(report.documents);
    let size = print::size(report.bytes);
    let groups = match report.grouped_by.as_str() {
        "all" => String::new(),
        by => format!(", grouped by {}", escape(by)),
    };
    if report.documents == report.selected_documents {
        return format!("Measured on all {documents} selected documents, {size}{groups}.");
    }
    format!(
        "Measured on a sample of {documents} documents, {size}, of {} selected, {}{groups}.",
        print::number(report.selected_documents),
        print::size(report.selected_bytes)
    )
}

#[cfg(test)]
mod tests;
