//! The native half of the Python package `corpusdb`: converts and delegates, decides nothing.
//!
//! Long calls run without the interpreter's lock and listen to Ctrl-C (`blocking`); what a fork has copied is refused
//! and never dropped (`process`); errors of the library become those of `corpusdb.errors` (`error`). `corpus` is what
//! is opened; what is asked of it is a function that takes it, one file a topic.

mod backups;
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
mod repair;
mod rows;
mod signals;
mod snapshots;
mod stream;
mod tokenize;
mod tokenizers;
mod value;
mod words;

#[pyo3::pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use crate::backups::{
        create_backup, drop_backup, list_backups, restore_backup, unlock_backups, verify_backups,
    };
    #[pymodule_export]
    use crate::blocking::wait_for_reads;
    #[pymodule_export]
    use crate::call::call;
    #[pymodule_export]
    use crate::command::main;
    #[pymodule_export]
    use crate::contamination::{
        add_suite, check_contamination, contamination, document_evidence, drop_suite, judge,
        review, suite_evidence, suites,
    };
    #[pymodule_export]
    use crate::corpus::Handle;
    #[pymodule_export]
    use crate::curate::{check, compact, digest, prove_purge, purge, redo, remove, restore};
    #[pymodule_export]
    use crate::documents::{find_key, rejects, report, sample, select, show, shown_tokens, tokens};
    #[pymodule_export]
    use crate::duplicates::{
        DuplicateIter, diff, document_duplicates, duplicates, duplicates_matrix,
        duplicates_summary, explain_dedup, similar,
    };
    #[pymodule_export]
    use crate::fields::set_field;
    #[pymodule_export]
    use crate::ingest::ingest;
    #[pymodule_export]
    use crate::kernel::{
        kernel_close, kernel_components, kernel_decide, kernel_encode, kernel_fingerprint,
        kernel_near, kernel_similar, kernel_verify, load_encoder, standings_digest,
    };
    #[pymodule_export]
    use crate::loader::{Batches, Origin, Reader};
    #[pymodule_export]
    use crate::plan::{
        PyPlan, drop_plan, extend_plan, mark_epochs, plan_recipe, stored_plan, stored_plans,
    };
    #[pymodule_export]
    use crate::policy::policy_json;
    #[pymodule_export]
    use crate::policy::{create, policy_words};
    #[pymodule_export]
    use crate::repair::{repair, salvage};
    #[pymodule_export]
    use crate::rows::{PyRows, RowReader, sql};
    #[pymodule_export]
    use crate::signals::{signals_preset, signals_report};
    #[pymodule_export]
    use crate::snapshots::{ChangeIter, diff_snapshots, drop_snapshot, snapshot_changes};
    #[pymodule_export]
    use crate::stream::RowStream;
    #[pymodule_export]
    use crate::tokenize::{
        add_tokenizer, backfill_tokenizer, drop_tokenizer, extend_tokenizer, train_tokenizer,
    };
    #[pymodule_export]
    use crate::tokenizers::{
        PyEncoder, analyse_tokenizers, check_tokenizer, diff_tokenizers, encoder, pieces,
        tokenizer_file, tokenizer_names, tokenizer_originals, tokenizer_record,
    };
    #[pymodule_export]
    use crate::words::one_line;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        corpusdb::cli::silence_contained_panics();
        let at_exit = module.py().import("atexit")?;
        at_exit.call_method1("register", (module.getattr("wait_for_reads")?,)).map(|_| ())
    }

    /// Whether this process is a fork of one that had used this module.
    #[pyfunction]
    fn is_forked() -> bool {
        crate::process::is_forked()
    }

    /// What fingerprints are made by: those of two versions cannot be compared.
    #[pyfunction]
    fn signature_version() -> u32 {
        corpusdb::dedup::SIGNATURE_VERSION
    }

    /// The release, as `corpusdb --version` says it.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
