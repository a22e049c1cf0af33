//! Errors of the library as exceptions of `corpusdb.errors`, with their words unchanged.

use corpusdb::Error;
use corpusdb::curate::CurateError;
use corpusdb::epoch::{EpochError, ShardError};
use corpusdb::export::ExportError;
use corpusdb::ingest::{IngestError, ReadError};
use corpusdb::query::QueryError;
use corpusdb::remote::RemoteError;
use corpusdb::store::StoreError;
use corpusdb::tokenizer::TokenizerError;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::error::Error as _;

/// The exception of that class of `corpusdb.errors`, with that message.
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
        // Only when the package is not whole.
        Err(_) => PyRuntimeError::new_err(message.to_owned()),
    }
}

/// The exception that an error of the library is.
pub(crate) fn raise(py: Python<'_>, error: Error) -> PyErr {
    // An exception that a Python iterator raised comes back as it was.
    if let Some(own) = python(&error) {
        return own.clone_ref(py);
    }
    if error.is_interrupt() {
        return PyKeyboardInterrupt::new_err(words(&error));
    }
    let (class, message) = (class_of(&error), words(&error));
    with(py, class, &message, |fields| match &error {
        Error::Store(StoreError::Locked { holder, .. }) => fields.set_item("holder", holder),
        Error::Ingest(IngestError::Rejected { path, number, offset, .. }) => {
            fields.set_item("file", path.display().to_string())?;
            fields.set_item("record", number)?;
            fields.set_item("byte", offset)
        }
        Error::Ingest(
            IngestError::Refused { path, number, .. }
            | IngestError::LoadRow { path, row: number, .. },
        ) => {
            fields.set_item("file", path.display().to_string())?;
            fields.set_item("record", number)
        }
        Error::Ingest(IngestError::Read(ReadError::Corrupt { path, offset, .. }))
        | Error::Read(ReadError::Corrupt { path, offset, .. }) => {
            fields.set_item("file", path.display().to_string())?;
            fields.set_item("byte", offset)
        }
        _ => Ok(()),
    })
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

/// The message with its causes, as the command prints them.
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
        words.push_str(&hint.text);
    }
    words
}

fn class_of(error: &Error) -> &'static str {
    match error {
        Error::Store(error) => of_store(error),
        Error::Policy(_) => "BadPolicy",
        Error::Read(error) => of_read(error),
        Error::Ingest(error) => of_ingest(error),
        Error::Query(error) => of_query(error),
        Error::Epoch(error) => of_epoch(error),
        Error::Export(error) => of_export(error),
        Error::Remote(RemoteError::NotFound { .. }) => "NotFound",
        Error::Tokenizer(error) => of_tokenizer(error),
        Error::Curate(error) => of_curate(error),
        _ => "CorpusError",
    }
}

fn of_store(error: &StoreError) -> &'static str {
    match error {
        StoreError::NotACorpus { .. }
        | StoreError::NoSnapshot { .. }
        | StoreError::NoBackup { .. } => "NotFound",
        StoreError::AlreadyExists { .. } | StoreError::HalfMade { .. } => "AlreadyExists",
        StoreError::Locked { .. } | StoreError::BackupsLocked { .. } => "Locked",
        StoreError::LostCommits { .. }
        | StoreError::LostLog { .. }
        | StoreError::LostTables { .. }
        | StoreError::Backup { .. }
        | StoreError::Damaged { .. }
        | StoreError::Repairing { .. }
        | StoreError::Corrupt { .. }
        | StoreError::Missing { .. } => "Corrupt",
        StoreError::NewerFormat { .. } | StoreError::OlderFormat { .. } => "WrongFormat",
        StoreError::Name(_) => "BadName",
        StoreError::ComparedFields { .. } => "BadInput",
        _ => "CorpusError",
    }
}

fn of_read(error: &ReadError) -> &'static str {
    match error {
        ReadError::NotFound { .. }
        | ReadError::NoMatch { .. }
        | ReadError::Remote(RemoteError::NotFound { .. }) => "NotFound",
        _ => "BadInput",
    }
}

fn of_ingest(error: &IngestError) -> &'static str {
    match error {
        IngestError::Read(error) => of_read(error),
        IngestError::Store(error) => of_store(error),
        IngestError::Tokenizer(error) => of_tokenizer(error),
        IngestError::Rejected { .. }
        | IngestError::Refused { .. }
        | IngestError::UnknownMarker { .. }
        | IngestError::Template(_)
        | IngestError::Load(_)
        | IngestError::LoadRow { .. }
        | IngestError::Join(_)
        | IngestError::Suite(_) => "BadInput",
        _ => "CorpusError",
    }
}

fn of_query(error: &QueryError) -> &'static str {
    match error {
        QueryError::Store(error) => of_store(error),
        QueryError::Ambiguous { .. }
        | QueryError::Where { .. }
        | QueryError::Incoming { .. }
        | QueryError::Statement { .. }
        | QueryError::NotAQuery { .. }
        | QueryError::NotLooked
        | QueryError::NoWords { .. }
        | QueryError::NoGroups { .. }
        | QueryError::NoUnit { .. }
        | QueryError::GroupedTwice { .. }
        | QueryError::TooManyGroups { .. }
        | QueryError::TooManyPairs { .. }
        | QueryError::Backwards { .. }
        | QueryError::File { .. }
        | QueryError::Run { .. } => "BadQuery",
        QueryError::NoKey { .. } => "KeyNotFound",
        QueryError::NoTable { .. }
        | QueryError::NoColumn { .. }
        | QueryError::NoDocument { .. }
        | QueryError::NoSource { .. } => "NotFound",
        QueryError::Fixed { .. } => "BadPolicy",
        QueryError::Sketch { .. } | QueryError::Metadata { .. } => "Corrupt",
        _ => "CorpusError",
    }
}

fn of_epoch(error: &EpochError) -> &'static str {
    match error {
        EpochError::Store(error) => of_store(error),
        EpochError::Select(error) => of_query(error),
        EpochError::Recipe(_)
        | EpochError::NotBuilt { .. }
        | EpochError::Overlap { .. }
        | EpochError::Claimed { .. }
        | EpochError::Limit { .. }
        | EpochError::Uneven { .. }
        | EpochError::PadNeeded { .. }
        | EpochError::NoTensor { .. }
        | EpochError::Views { .. } => "BadRecipe",
        EpochError::Unknown { .. } => "NotFound",
        EpochError::Infeasible { .. }
        | EpochError::Empty { .. }
        | EpochError::NoRows { .. }
        | EpochError::NotEncoded { .. } => "Infeasible",
        EpochError::OutOfRange { .. } => "OutOfRange",
        EpochError::Stale(_)
        | EpochError::Shards(ShardError::TooFew { .. })
        | EpochError::OtherShard { .. } => "Stale",
        EpochError::Shards(ShardError::Twice { .. })
        | EpochError::SameShards { .. }
        | EpochError::Files { .. } => "BadInput",
        EpochError::InShard { error, .. } => of_epoch(error),
        EpochError::OutputExists { .. } | EpochError::BuildUnderWay { .. } => "AlreadyExists",
        EpochError::Plan(_) => "Corrupt",
        _ => "CorpusError",
    }
}

fn of_export(error: &ExportError) -> &'static str {
    match error {
        ExportError::Store(error) => of_store(error),
        ExportError::Query(error) => of_query(error),
        ExportError::Exists { .. } | ExportError::UnderWay { .. } => "AlreadyExists",
        ExportError::NoPartition { .. } => "NotFound",
        ExportError::Options(_) | ExportError::Collision { .. } | ExportError::Unnamed { .. } => {
            "BadInput"
        }
        _ => "CorpusError",
    }
}

fn of_tokenizer(error: &TokenizerError) -> &'static str {
    match error {
        TokenizerError::Unknown { .. } => "NotFound",
        _ => "BadTokenizer",
    }
}

fn of_curate(error: &CurateError) -> &'static str {
    match error {
        CurateError::Store(error) => of_store(error),
        CurateError::Tokenizer(error) => of_tokenizer(error),
        CurateError::OtherSketches { .. } | CurateError::Policy(_) | CurateError::NoRedo => {
            "BadPolicy"
        }
        CurateError::NoSource { .. } => "NotFound",
        CurateError::Select(error) => of_query(error),
        CurateError::NothingToTrainOn
        | CurateError::NothingToAnalyse
        | CurateError::NotEncoded { .. } => "NotFound",
        CurateError::SeedToken { .. } => "BadTokenizer",
        CurateError::Field(_) | CurateError::NoPair { .. } => "BadInput",
        _ => "CorpusError",
    }
}
