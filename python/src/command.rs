//! The command in the module: `corpusdb` on the path is an entry point into it.

use corpusdb::cli::{main_from, pages};
use corpusdb::query::QualityReport;
use corpusdb::report::CorpusReport;
use corpusdb::tokenizer::analyse::AnalysisReport;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

/// Runs the command with `arguments`, of which the first is its own name; its exit code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    // In a virtual environment the interpreter's own file is that of another one.
    let interpreter: String =
        py.import("sys")?.getattr("executable")?.extract().unwrap_or_default();
    let program = match interpreter.is_empty() {
        true => vec!["corpusdb".into()],
        false => vec![interpreter.into(), "-m".into(), "corpusdb".into()],
    };
    Ok(py.detach(|| {
        let code = main_from(&arguments, program);
        // What stands in the buffer of standard output is written by nobody else when the interpreter ends.
        let _ = std::io::stdout().flush();
        code
    }))
}

/// The page of `corpusdb tokenizer analyse --html`.
pub(crate) fn tokenizer_page(report: &AnalysisReport, title: &str) -> String {
    pages::tokenizer_page(report, title)
}

/// The page of `corpusdb report -o`.
pub(crate) fn data_card(report: &CorpusReport) -> String {
    pages::data_card(report)
}

/// The page of `corpusdb signals report --html` of the corpus in a directory.
pub(crate) fn signals_page(report: &QualityReport, corpus: &Path) -> String {
    pages::signals_page(report, &pages::named(corpus))
}

/// The file of `corpusdb report --croissant`; an earlier one is empty where there is none.
pub(crate) fn croissant(py: Python<'_>, report: &CorpusReport, before: &str) -> PyResult<String> {
    let before = (!before.is_empty()).then_some(before);
    match pages::croissant(report, before) {
        Ok(described) => Ok(described.text),
        Err(error) => Err(crate::error::named(py, "BadInput", &format!("{error:#}"))),
    }
}

/// The file of `corpusdb report --eu-summary`.
pub(crate) fn eu_summary(report: &CorpusReport) -> String {
    pages::eu_summary(report)
}
