//! What can go wrong on the way in. Whatever was committed before stays.

use super::chat::TemplateError;
use crate::decide::DecideError;
use files::input::ReadError;
use files::output::OutputError;
use model::near_names::{UnknownName, way_out};
use model::{Error, ErrorDetails, ErrorKind, Hint, Interrupted, IoError, from_lower};
use std::path::{Path, PathBuf};
use store::StoreError;
use tokenizer::TokenizerError;

/// An error of ingest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IngestError {
    /// An input that cannot be read, or not to its end.
    #[error(transparent)]
    Read(ReadError),
    /// Rows that cannot be read or written.
    #[error(transparent)]
    Store(StoreError),
    /// A decision that could not be taken.
    #[error(transparent)]
    Decide(DecideError),
    /// A tokenizer that cannot be used.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// A bad record, with `--on-error fail`.
    #[error("{}: record {number} (counted from 0) at byte {offset}: {reason}", path.display())]
    Rejected {
        /// The file.
        path: PathBuf,
        /// Records before it.
        number: u64,
        /// Its first byte in the decompressed stream.
        offset: u64,
        /// Why, in words.
        reason: String,
    },
    /// A text that a tokenizer refused, with `--on-error fail`.
    #[error("{}: record {number} (counted from 0): tokenizer `{tokenizer}` cannot encode its text: {why}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Records before it.
        number: u64,
        /// The tokenizer.
        tokenizer: String,
        /// Why, in its words.
        why: String,
    },
    /// A stop was asked for; commits stay.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The share of removed documents crossed the limit; the batch that crossed it is not committed.
    #[error(
        "{removed} of {added} documents would be removed as duplicates, more than the share of {limit} allowed; the last batch is not committed: {example}; {undo}"
    )]
    TooManyRemoved {
        /// Documents removed, the refused batch included.
        removed: u64,
        /// Documents added, the refused batch included.
        added: u64,
        /// The share allowed.
        limit: f64,
        /// A pair that shows what was taken for a duplicate.
        example: String,
        /// The command that removes what was committed before.
        undo: String,
    },
    /// The share of rejected records crossed the limit; the batch that crossed it is not committed.
    #[error(
        "{rejected} of {records} records would be rejected, more than the share of {limit} allowed; the last batch is not committed: {why}; {undo}"
    )]
    TooManyRejected {
        /// Records rejected, those of the refused batch included.
        rejected: u64,
        /// Records read, those of the refused batch included.
        records: u64,
        /// The share allowed.
        limit: f64,
        /// The most frequent reason, and what most likely repairs it.
        why: String,
        /// The command that removes what was committed before.
        undo: String,
    },
    /// A chat template for other tokenizers than the corpus has.
    #[error(
        "tokenizer `{tokenizer}` encodes `{marker}` of the chat template as {tokens} ordinary tokens, so turn markers could not be distinguished from content"
    )]
    UnknownMarker {
        /// The tokenizer.
        tokenizer: String,
        /// What the template writes.
        marker: String,
        /// Tokens that it becomes.
        tokens: usize,
    },
    /// A chat template that cannot be used.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A field that is not a name of a source: it has ever other values.
    #[error(
        "field `{field}` names more than {most} sources, which are kept in memory: give a field that names few"
    )]
    TooManySources {
        /// The field.
        field: String,
        /// Sources that a corpus may have of such fields.
        most: usize,
    },
    /// A load that is not for this corpus, or is invalid.
    #[error("{0}")]
    Load(String),
    /// A row of a load that cannot be true; what was committed before its batch stays.
    #[error("{}: row {row} (counted from 0): {why}; nothing of its batch is stored", path.display())]
    LoadRow {
        /// The file.
        path: PathBuf,
        /// Rows before it.
        row: u64,
        /// What is wrong, in words.
        why: String,
    },
    /// Options that do not go together.
    #[error("{0}")]
    Options(String),
    /// A field that the corpus does not have.
    #[error(transparent)]
    Unknown(UnknownName),
    /// Values from outside that cannot be joined.
    #[error("{0}")]
    Join(String),
    /// Records that are not items of a suite, or texts that cannot be looked at.
    #[error("{0}")]
    Suite(String),
    /// A name that nothing is written under, or a file that could not be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A file beside the corpus.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A bug of ours: a stage of the pipeline ended by panic.
    #[error("a stage of the ingest failed unexpectedly (see its message above); commits stay")]
    Panicked,
    /// A signal that this release does not know.
    #[error("documents get the signal `{name}`, `{expression}`, which this release does not know")]
    Signal {
        /// Its name.
        name: String,
        /// The function that it is.
        expression: String,
    },
    /// Threads could not be had.
    #[error("cannot start {threads} threads: {why}")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// Why.
        why: String,
    },
}

from_lower!(IngestError::Read(ReadError));
from_lower!(IngestError::Store(StoreError));
from_lower!(IngestError::Decide(DecideError));

impl IngestError {
    /// The way out, where there is one to name.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::Store(error) => return error.hint(),
            Self::Io(error) => return error.hint(),
            Self::Decide(error) => return error.hint(),
            Self::Tokenizer(error) => return error.hint(),
            Self::Unknown(UnknownName { name, known, .. }) if !known.is_empty() => {
                let way_out = way_out(name, known);
                let sign = if way_out.ends_with('?') { "" } else { ";" };
                Hint::text(format!("{way_out}{sign} or declare it"))
                    .with_command(format!("corpusdb field add CORPUS {name}:float"))
            }
            Self::Unknown(unknown) => unknown.hint(),
            Self::Rejected { .. } => {
                Hint::text("repair it, or store bad records as rejects (`on_error=reject`)")
            }
            Self::Refused { .. } => {
                Hint::text("store it without ids of that tokenizer (`on_error=reject`)")
            }
            Self::UnknownMarker { .. } => Hint::text(
                "every registered tokenizer must have it as one token: use the template of this one, make one that has it (`corpusdb tokenizer extend`) and drop this one (`corpusdb tokenizer drop`), or take it as text (`template_markers=text`)",
            ),
            Self::Signal { .. } => Hint::text("use the release that stored it, or drop the field")
                .with_command("corpusdb field drop"),
            _ => return None,
        })
    }

    /// What is wrong with a row of a load.
    pub(super) fn load_row(path: &Path, row: u64, why: impl Into<String>) -> Self {
        Self::LoadRow { path: path.to_path_buf(), row, why: why.into() }
    }
}

impl From<IngestError> for Error {
    /// Errors of files, inputs and tokenizers keep their own kind, whichever room met them.
    fn from(error: IngestError) -> Self {
        let (mut kind, mut details) = (ErrorKind::BadInput, ErrorDetails::default());
        match error {
            IngestError::Interrupted(stop) => return stop.into(),
            IngestError::Store(error) => return error.into(),
            IngestError::Read(error) => return error.into(),
            IngestError::Decide(error) => return error.into(),
            IngestError::Tokenizer(error) => return error.into(),
            IngestError::Rejected { ref path, number, offset, .. } => {
                details.file = Some(path.display().to_string());
                details.record = Some(number);
                details.byte = Some(offset);
            }
            IngestError::Refused { ref path, number, .. }
            | IngestError::LoadRow { ref path, row: number, .. } => {
                details.file = Some(path.display().to_string());
                details.record = Some(number);
            }
            IngestError::Unknown(_) => kind = ErrorKind::NotFound,
            IngestError::Template(TemplateError::Io { ref source, .. })
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                kind = ErrorKind::NotFound;
            }
            IngestError::UnknownMarker { .. }
            | IngestError::Template(_)
            | IngestError::Load(_)
            | IngestError::Join(_)
            | IngestError::Options(_)
            | IngestError::Suite(_) => {}
            _ => kind = ErrorKind::Failed,
        }
        let hint = error.hint();
        Self::new(kind, error).with_hint(hint).with_details(details)
    }
}
