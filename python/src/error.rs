//! Turns errors of the library into the exceptions of `corpusdb.errors`, by their kinds.

use corpusdb::cli::rows::{Face, spell_message};
use corpusdb::export::OutputError;
use corpusdb::pages::PageError;
use corpusdb::{Error, ErrorKind};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::error::Error as _;
use std::io;

/// An exception of a class of `corpusdb.errors`, with a message.
pub(crate) fn named(py: Python<'_>, class: &str, message: &str) -> PyErr {
    with(py, class, message, |_| Ok(()))
}

fn with(
    py: Python<'_>,
    class: &str,
    message: &str,
    fill: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>,
) -> PyErr {
    let made = || {
        let class = py.import("corpusdb.errors")?.getattr(class)?;
        let fields = PyDict::new(py);
        fill(&fields)?;
        class.call((message,), Some(&fields))
    };
    match made() {
        Ok(exception) => PyErr::from_value(exception),
        // This happens only if the package is incomplete.
        Err(_) => PyRuntimeError::new_err(message.to_owned()),
    }
}

/// The exception for an error of the library.
pub(crate) fn raise(py: Python<'_>, error: impl Into<Error>) -> PyErr {
    let error = error.into();
    // An exception that a Python iterator raised comes back as it was.
    if let Some(own) = python(&error) {
        return own.clone_ref(py);
    }
    // A missing file is `NotFound`, whichever call reads it.
    if let Some(number) = system_error(&error)
        && error.kind() != ErrorKind::NotFound
    {
        return PyOSError::new_err((number, words(&error)));
    }
    let class = match error.kind() {
        ErrorKind::Interrupted => return PyKeyboardInterrupt::new_err(words(&error)),
        ErrorKind::Failed => "CorpusError",
        kind => kind.name(),
    };
    with(py, class, &words(&error), |fields| {
        let Some(details) = error.details() else { return Ok(()) };
        let texts = [("holder", &details.holder), ("file", &details.file)];
        let numbers = [("record", details.record), ("byte", details.byte)];
        texts
            .iter()
            .filter_map(|(name, text)| Some((name, text.as_ref()?)))
            .try_for_each(|(name, text)| fields.set_item(name, text))?;
        numbers
            .iter()
            .filter_map(|(name, number)| Some((name, (*number)?)))
            .try_for_each(|(name, number)| fields.set_item(name, number))
    })
}

/// The system's error number, if it concerns a file that the caller named: Python's own exception is raised then.
fn system_error(error: &Error) -> Option<i32> {
    if let Some(found) = error.origin::<io::Error>() {
        return found.raw_os_error();
    }
    match error.origin::<PageError>()? {
        PageError::Output(OutputError::Io(found)) => found.source.raw_os_error(),
        _ => None,
    }
}

fn python(error: &Error) -> Option<&PyErr> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(own) = error.downcast_ref::<PyErr>() {
            return Some(own);
        }
        cause = error.source();
    }
    None
}

/// The message with its causes and hint, as the command prints them, but with Python's names of options and verbs.
fn words(error: &Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(": ");
        words.push_str(&error.to_string());
        cause = error.source();
    }
    if let Some(hint) = error.hint() {
        words.push_str("; ");
        words.push_str(&hint.to_string());
    }
    spell_message(&words, Face::Python)
}
