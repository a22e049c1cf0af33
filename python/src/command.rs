//! The command in the module: `corpusdb` on the path is an entry point into it.

use crate::error::named;
use corpusdb::cli::main_from;
use corpusdb::export::OutputError;
use corpusdb::pages::{self, Page, PageError};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

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

/// Writes a page where a file is named for it, as the command does: whole or not at all, over no file of another kind.
pub(crate) fn write_page<P: Page>(
    py: Python<'_>,
    file: Option<PathBuf>,
    page: impl FnOnce() -> P,
) -> PyResult<()> {
    let Some(file) = file else { return Ok(()) };
    let written = || pages::write_page(&file, &pages::page(&page())?);
    written().map_err(|error| failed(py, error))
}

/// The exception that a page or description ends in which cannot be made or written.
pub(crate) fn failed(py: Python<'_>, error: PageError) -> PyErr {
    match error {
        PageError::Output(OutputError::Io(error)) => {
            let number = error.source.raw_os_error();
            PyOSError::new_err((number, format!("{error}: {}", error.source)))
        }
        PageError::Output(error @ OutputError::Taken { .. }) => {
            named(py, "AlreadyExists", &error.to_string())
        }
        other => named(py, "BadInput", &other.to_string()),
    }
}
