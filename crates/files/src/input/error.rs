//! The errors that stop the reading of an input, as opposed to rejects of single records.

use super::folders::LeftRole;
use super::table_formats::LakeFormat;
use crate::remote::RemoteError;
use model::near_names::UnknownName;
use model::{Error, ErrorDetails, ErrorKind, Interrupted, error_words, from_lower};
use std::path::{Path, PathBuf};

/// An input that cannot be found, opened or read on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Nothing has that path.
    #[error("{}: no such file or directory", path.display())]
    NotFound {
        /// As given.
        path: PathBuf,
    },
    /// A pattern that matches no file.
    #[error("{pattern}: no file matches the pattern")]
    NoMatch {
        /// As given.
        pattern: String,
    },
    /// An invalid pattern.
    #[error("{pattern}: not a file pattern: {why}")]
    Pattern {
        /// As given.
        pattern: String,
        /// The parser's words.
        why: String,
    },
    /// A directory or a pattern without files that are read.
    #[error("{}: no files in this directory are read (hidden ones, leftovers, markers, descriptions and corpora are skipped{why}); a file is read where its path is given", path.display())]
    EmptyDirectory {
        /// As given.
        path: PathBuf,
        /// The first that is skipped, with the reason, in words.
        why: String,
    },
    /// A table of several files whose metadata say which rows it has now.
    #[error("{}: {kind}: rows that it has deleted or replaced are still in its files; give its current rows to an ingest in Python, `w.ingest(rows, source=..)` with rows from {reader}, or write them to Parquet files first", path.display())]
    TableFolder {
        /// The folder of the table.
        path: PathBuf,
        /// Whose format it is.
        kind: &'static str,
        /// What reads its current rows.
        reader: &'static str,
    },
    /// A dataset that was saved with a choice of its rows, which stands in a file of its own.
    #[error("{}: the dataset selects rows of its files (`_indices_data_files`); write the selected rows to files first: `dataset.flatten_indices().save_to_disk(..)`", path.display())]
    MappedDataset {
        /// The description that says so.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("{}: cannot {doing}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// Its words.
        #[source]
        source: std::io::Error,
    },
    /// A compressed stream or a Parquet file that is cut off or damaged. What was read before it
    /// is good.
    #[error("{}: {what} at byte {offset} of the file; it is truncated or damaged, and the records before were read", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Position in the file as stored, where the reading stood.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// Zstandard data whose dictionary is not there. What was read before it is good.
    #[error("{}: {what}, at byte {offset} of the file; decompress it with its dictionary (`zstd -d -D DICTIONARY`), the records before were read", path.display())]
    Dictionary {
        /// The file.
        path: PathBuf,
        /// Position in the file as stored.
        offset: u64,
        /// Which dictionary it is.
        what: String,
    },
    /// Data in which the next record cannot be found. What was read before it is good.
    #[error("{}: {what}, at byte {offset} of the decompressed data; the records before were read", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Position in the decompressed data.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// A table with a quote that is never closed, so that no row behind it can be told.
    #[error("{}: a quote that opens on line {line} is not closed before the end of the file; close it, or read quotes as any other character with `quotes=false`; the records before were read", path.display())]
    OpenQuote {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
    },
    /// No field is named and none has a usual name.
    #[error("{}: {}no text field among {found}; {}", path.display(), of_record(*record), way_to_text(found))]
    NoTextField {
        /// The file, or the name of records of a program.
        path: PathBuf,
        /// The number of that record, from 0; absent where the columns of a table were looked at.
        record: Option<u64>,
        /// The fields of its first record, with commas.
        found: String,
    },
    /// A Parquet file without a column that was asked for.
    #[error("{}: {unknown}; {}", path.display(), unknown.hint())]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The name asked for, and the columns it has.
        unknown: UnknownName,
    },
    /// A Parquet column of a type that cannot be used.
    #[error("{}: column `{column}` is of type {kind}, {needed}", path.display())]
    ColumnType {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// Its Arrow type.
        kind: String,
        /// What would be usable.
        needed: &'static str,
    },
    /// Parquet rows whose fields have no form in JSON.
    #[error("{}: rows from {row} on cannot be stored as JSON: {what}", path.display())]
    Rows {
        /// The file.
        path: PathBuf,
        /// The first of them.
        row: u64,
        /// The converter's words.
        what: String,
    },
    /// A record batch of an Arrow file that would not fit into memory.
    #[error("{}: the record batch that begins with row {row} has {bytes} bytes, and the limit is {limit}; raise `memory=`, or rewrite the file in smaller batches (`max_chunksize`, `chunksize`)", path.display())]
    Batch {
        /// The file.
        path: PathBuf,
        /// Its first row.
        row: u64,
        /// Its bytes, decompressed.
        bytes: u64,
        /// Bytes that may be.
        limit: u64,
    },
    /// Records of a program that have no name to be told by.
    #[error(
        "records from memory need a name, which errors and rejects show; give one that is not empty"
    )]
    NoName,
    /// The iterator that gives records failed. What it gave before is good.
    #[error(
        "{name}: reading record {number} (counted from 0) failed; the records before were read"
    )]
    Records {
        /// Their name.
        name: String,
        /// Records before it.
        number: u64,
        /// The iterator's words.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An object of a store. What was read before is good.
    #[error(transparent)]
    Remote(RemoteError),
    /// A stop was asked for.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// Parquet through a pipe.
    #[error("{}: a Parquet file is read from its end, so it cannot come through a pipe; give its path", path.display())]
    ParquetPipe {
        /// `-`, or the pipe.
        path: PathBuf,
    },
}

from_lower!(ReadError::Remote(RemoteError));

impl ReadError {
    /// The role of the file that the error blames; none where reading on meets the same error, or the loss is unknown.
    #[must_use]
    pub const fn blames_file(&self) -> Option<LeftRole> {
        match self {
            Self::Io { .. }
            | Self::Corrupt { .. }
            | Self::Damaged { .. }
            | Self::OpenQuote { .. }
            | Self::Rows { .. }
            | Self::Batch { .. } => Some(LeftRole::Damaged),
            Self::NoTextField { .. }
            | Self::NoColumn { .. }
            | Self::ColumnType { .. }
            | Self::Dictionary { .. } => Some(LeftRole::Foreign),
            _ => None,
        }
    }

    /// The message for a file that is named beside it: the words of the error and of its source, without the path.
    #[must_use]
    #[doc(hidden)]
    pub fn words_of(&self, path: &str) -> String {
        let words = error_words(self);
        words
            .strip_prefix(path)
            .and_then(|words| words.strip_prefix(": "))
            .unwrap_or(&words)
            .to_owned()
    }

    /// A folder that is a table, or lies in one.
    pub(super) fn of_table(folder: &Path, format: LakeFormat) -> Self {
        let (path, kind, reader) = (folder.to_path_buf(), format.name(), format.reader());
        Self::TableFolder { path, kind, reader }
    }

    /// For `map_err` on operations on `path`.
    pub(super) fn io(path: &Path, doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| match RemoteError::within(&source) {
            Some(error) => error.clone().into(),
            None => Self::Io { path, doing, source },
        }
    }
}

/// The way out for records without a field of a usual name; `found` names their fields in backquotes, with commas.
pub(super) fn way_to_text(found: &str) -> String {
    let has = |name: &str| found.contains(&format!("`{name}`"));
    let of_chat = |option: &str| {
        format!(
            "they look like conversations: ingest them with {option}, or name a text with `text_field=`"
        )
    };
    if has("messages") {
        of_chat("`chat=messages`")
    } else if has("conversations") {
        of_chat(
            "`chat=sharegpt` (`chat=messages` with `text_field=conversations` where turns have `role` and `content`)",
        )
    } else if has("conversation") {
        of_chat(
            "`chat=messages` with `text_field=conversation` (`chat=sharegpt` where turns have `from` and `value`)",
        )
    } else if has("chosen") && has("rejected") {
        "they look like preferences, and one answer can be the text: ingest them with `chat=messages` and `text_field=chosen` where `chosen` is a whole conversation, with `chat=prompt-completion` and `map=completion=chosen` where it is the answer to `prompt`, or with `text_field=chosen` as plain text; the other fields are kept"
            .to_owned()
    } else if has("prompt") && has("completion") {
        of_chat("`chat=prompt-completion`")
    } else if has("instruction") && has("output") {
        of_chat("`chat=alpaca`")
    } else {
        "name one with `text_field=`".to_owned()
    }
}

fn of_record(number: Option<u64>) -> String {
    number.map(|number| format!("record {number} (counted from 0): ")).unwrap_or_default()
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        let (mut kind, mut details) = (ErrorKind::BadInput, ErrorDetails::default());
        match &error {
            ReadError::Interrupted(stop) => return (*stop).into(),
            ReadError::NotFound { .. } | ReadError::NoMatch { .. } => kind = ErrorKind::NotFound,
            ReadError::Remote(remote) => return remote.clone().into(),
            ReadError::NoTextField { path, record, .. } => {
                details.file = Some(path.display().to_string());
                details.record = *record;
            }
            ReadError::Corrupt { path, offset, .. }
            | ReadError::Dictionary { path, offset, .. } => {
                details.file = Some(path.display().to_string());
                details.byte = Some(*offset);
            }
            _ => {}
        }
        Self::new(kind, error).with_details(details)
    }
}

/// The names of fields, as an error lists them.
pub(super) fn field_names_for_message<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 40;
    let mut names: Vec<String> = fields.map(|field| format!("`{field}`")).collect();
    if names.is_empty() {
        return "no fields at all".to_owned();
    }
    if names.len() > SHOWN {
        let more = names.len() - SHOWN;
        names.truncate(SHOWN);
        names.push(format!("{more} more"));
    }
    names.join(", ")
}
