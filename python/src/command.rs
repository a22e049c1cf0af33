//! The command in the module: `corpusdb` on the path is an entry point into it.

use corpusdb::cli::main_from;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::Write;

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
