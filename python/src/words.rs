//! Parses words of Python options, such as a depth, and writes reports as JSON text.

use crate::error::named;
use corpusdb::cli::rows::{Face, spell_message};
use corpusdb::near_names::{self, UnknownName};
use pyo3::prelude::*;
use serde::Serialize;

/// The value of a word, for options whose words the library does not parse.
pub(crate) fn one_of<T: Copy>(
    py: Python<'_>,
    class: &str,
    name: &str,
    word: &str,
    words: &[(&str, T)],
) -> PyResult<T> {
    let found = words.iter().find(|(known, _)| *known == word).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let known: Vec<String> = words.iter().map(|(known, _)| format!("`{known}`")).collect();
        let known = known.join(", ");
        named(py, class, &format!("{name}: expected one of {known}, got `{word}`"))
    })
}

/// A report as JSON text.
///
/// # Errors
/// `corpusdb.CorpusError` if the value cannot be written as JSON; reports of the library can.
pub(crate) fn json<T: Serialize + ?Sized>(py: Python<'_>, value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| named(py, "CorpusError", &error.to_string()))
}

/// Like [`json`], with a field that says whether it was a dry run.
pub(crate) fn tried<T: Serialize>(py: Python<'_>, report: &T, dry_run: bool) -> PyResult<String> {
    #[derive(Serialize)]
    struct TriedReport<'a, T> {
        #[serde(flatten)]
        report: &'a T,
        dry_run: bool,
    }
    json(py, &TriedReport { report, dry_run })
}

/// The message for a name that does not exist, with the way out.
#[pyfunction]
pub(crate) fn unknown_name(what: &str, name: &str, known: Vec<String>) -> String {
    // The kinds of names that the library's message knows; any other is a `name`.
    let what = ["field", "signal", "snapshot"].into_iter().find(|one| *one == what);
    let unknown = UnknownName::new(what.unwrap_or("name"), name, known);
    spell_message(&format!("{unknown}; {}", unknown.hint()), Face::Python)
}

/// The known name that was most likely meant, as a question.
#[pyfunction]
pub(crate) fn did_you_mean(name: &str, known: Vec<String>) -> Option<String> {
    near_names::did_you_mean(name, known.iter().map(String::as_str))
}

/// A text on one line without control characters, safe to print on a terminal.
#[pyfunction]
pub(crate) fn one_line(text: &str) -> String {
    corpusdb::show::one_line(text).into_owned()
}

/// The style of what a notebook shows within an element of the class `corpusdb`.
#[pyfunction]
pub(crate) fn notebook_style() -> &'static str {
    corpusdb::pages::notebook_style()
}
