//! The analysis of tokenizers as one HTML page that needs nothing else: no server, no script, no other file.
//!
//! Style and drawings are in the page. It is read in light and dark, on paper and on a phone: bars and
//! tables are HTML, only curves are SVG (`chart`). All that comes from the corpus or from a vocabulary
//! goes through `html`, which escapes it.
//!
//! One section a file: `summary` side by side, `groups` by language or source, `curve` of the vocabulary
//! size, `vocabulary`, `cases`, `method`.

mod cases;
mod chart;
mod curve;
mod groups;
mod html;
mod method;
mod summary;
mod vocabulary;

use super::print;
use corpusdb::tokenizer::analyse::AnalysisReport;
use html::escape;

/// The page of a report; `title` names the corpus.
pub(crate) fn page(report: &AnalysisReport, title: &str) -> String {
    let sections = [
        summary::section(report),
        groups::section(report),
        curve::section(report),
        vocabulary::section(report),
        cases::section(report),
        method::section(report),
    ];
    let title = escape(title);
    let names: Vec<String> =
        report.tokenizers.iter().map(|analysis| escape(&analysis.name)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>Tokenizers on {title}</title>\n\
         <style>\n{}</style>\n</head>\n<body>\n<header>\n<h1>Tokenizers on {title}</h1>\n<p>{}</p>\n\
         <p class=\"note\">{}</p>\n</header>\n<main>\n{}</main>\n</body>\n</html>\n",
        include_str!("style.css"),
        names.join(", "),
        sample(report),
        sections.concat(),
    )
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
