//! Runs the command: the program `corpusdb` on the path is an entry point that calls this module.

use corpusdb::cli::main_from;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::Write;

/// Runs the command and returns its exit code. The first of `arguments` is the name of the command.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    // In a virtual environment the process runs the interpreter outside of it; `sys.executable` is the one inside.
    let interpreter: String =
        py.import("sys")?.getattr("executable")?.extract().unwrap_or_default();
    let program = match interpreter.is_empty() {
        true => vec!["corpusdb".into()],
        false => vec![interpreter.into(), "-m".into(), "corpusdb".into()],
    };
    Ok(py.detach(|| {
        let code = main_from(&arguments, program);
        // Nothing else flushes the buffer of standard output when the interpreter ends.
        let _ = std::io::stdout().flush();
        code
    }))
}
