//! The native half of the Python package `corpusdb`: converts values and calls the library, nothing else.
//!
//! Long calls run without the interpreter's lock and stop at Ctrl-C (`blocking`). Handles that a fork copied raise an
//! error and are never dropped (`process`). Errors of the library become those of `corpusdb.errors` (`error`). `corpus`
//! is the open handle; the other calls are functions that take the handle, one file a topic.

mod blocking;
mod call;
mod cells;
mod command;
mod contamination;
mod corpus;
mod curate;
mod documents;
mod duplicates;
mod error;
mod feed;
mod fields;
mod ingest;
mod kernel;
mod loader;
mod loan;
mod parameters;
mod plan;
mod policy;
mod process;
mod remaining;
mod rows;
mod snapshots;
mod stream;
mod tokenizers;
mod value;
mod words;

#[pyo3::pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use crate::blocking::wait_for_reads;
    #[pymodule_export]
    use crate::call::call;
    #[pymodule_export]
    use crate::command::main;
    #[pymodule_export]
    use crate::contamination::{judge, review};
    #[pymodule_export]
    use crate::corpus::Handle;
    #[pymodule_export]
    use crate::curate::{check, digest, drop_rejects, prove_purge, purge, remove, restore};
    #[pymodule_export]
    use crate::documents::{
        conversion_note, find_key, is_current, rejects, sample, select, show, shown_tokens, tokens,
    };
    #[pymodule_export]
    use crate::duplicates::{DuplicateIter, diff, duplicates, duplicates_matrix};
    #[pymodule_export]
    use crate::fields::set_field;
    #[pymodule_export]
    use crate::ingest::ingest;
    #[pymodule_export]
    use crate::kernel::{
        kernel_close, kernel_components, kernel_decide, kernel_encode, kernel_fingerprint,
        kernel_length_grouped, kernel_near, kernel_pack, kernel_similar, kernel_unpad,
        kernel_verify, load_encoder, standings_digest,
    };
    #[pymodule_export]
    use crate::loader::{PlanReader, PyBatchOrigin, PyBatches, PyCollator, manifest_text};
    #[pymodule_export]
    use crate::plan::{PyPlan, extend_plan, mark_epochs, plan_recipe, stored_plan, stored_plans};
    #[pymodule_export]
    use crate::policy::policy_json;
    #[pymodule_export]
    use crate::policy::policy_words;
    #[pymodule_export]
    use crate::process::refuse_forked;
    #[pymodule_export]
    use crate::rows::{PyRows, RowReader, sql};
    #[pymodule_export]
    use crate::snapshots::{ChangeIter, snapshot_changes};
    #[pymodule_export]
    use crate::stream::RowStream;
    #[pymodule_export]
    use crate::tokenizers::{PyEncoder, encoder, pieces, tokenizer_names};
    #[pymodule_export]
    use crate::words::{did_you_mean, notebook_style, one_line, unknown_name};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        corpusdb::cli::silence_contained_panics();
        let at_exit = module.py().import("atexit")?;
        at_exit.call_method1("register", (module.getattr("wait_for_reads")?,)).map(|_| ())
    }

    /// Whether this process was forked from one that had used this module.
    #[pyfunction]
    fn is_forked() -> bool {
        crate::process::is_forked()
    }

    /// The version of the fingerprints. Fingerprints of different versions cannot be compared.
    #[pyfunction]
    fn signature_version() -> u32 {
        corpusdb::dedup::SIGNATURE_VERSION
    }

    /// The release, as `corpusdb --version` prints it.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
