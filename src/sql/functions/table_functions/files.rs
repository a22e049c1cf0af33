//! Finds the files that a path or pattern in a statement stands for.
//!
//! They are those that an ingest would read, if their names end as the function expects.

use crate::sql::error::SqlError;
use files::input::{InputFile, ReadError, ReadOptions, expand, path_fields, without_compression};
use model::Interrupt;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableFileKind {
    Parquet,
    Csv,
    Json,
}

impl TableFileKind {
    pub(super) const ALL: [Self; 3] = [Self::Parquet, Self::Csv, Self::Json];

    /// The SQL function that reads such files.
    pub(super) const fn function(self) -> &'static str {
        match self {
            Self::Parquet => "read_parquet",
            Self::Csv => "read_csv",
            Self::Json => "read_json",
        }
    }

    pub(super) const fn example(self) -> &'static str {
        match self {
            Self::Parquet => "scores/*.parquet",
            Self::Csv => "scores.csv",
            Self::Json => "scores.jsonl",
        }
    }

    /// How names of such files end, compressed or not; other files of a directory are not read.
    const fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Parquet => &["parquet"],
            Self::Csv => &["csv", "tsv"],
            Self::Json => &["jsonl", "json", "ndjson"],
        }
    }
}

/// A file of a statement.
#[derive(Clone, Debug)]
pub(super) struct DataFile {
    pub(super) input: InputFile,
    /// Values that the names of directories give (`year=2024`), for columns that the file does not have itself.
    pub(super) partitions: Vec<(String, Option<String>)>,
}

impl DataFile {
    /// Whether the name ends so, compressed or not.
    pub(super) fn ends_with(&self, ending: &str) -> bool {
        let name = self.input.name();
        let name = without_compression(&name);
        name.strip_suffix(ending).is_some_and(|name| name.ends_with('.'))
    }

    /// The value that a directory's name gives for a column.
    pub(super) fn partition(&self, column: &str) -> Option<Option<&str>> {
        let mut partitions = self.partitions.iter();
        partitions.find(|(name, _)| name == column).map(|(_, value)| value.as_deref())
    }

    /// The error that the file cannot be read.
    pub(super) fn fault(&self, why: &str) -> SqlError {
        refused(&self.input.path.display().to_string(), why)
    }
}

fn refused(path: &str, why: impl Into<String>) -> SqlError {
    SqlError::File { path: path.to_owned(), why: why.into() }
}

/// The files of a path or pattern, in the order of an ingest.
///
/// # Errors
/// [`SqlError::File`], when there is none, or one that cannot be read twice.
pub(super) fn find(kind: TableFileKind, path: &str) -> Result<Vec<DataFile>, SqlError> {
    // The rest of an address may have secrets.
    if let Some((scheme, _)) = path.split_once("://") {
        let why = "only local files can be read here: download it first";
        return Err(refused(&format!("{scheme}://…"), why));
    }
    let given = Path::new(path);
    let endings = || kind.endings().join(", .");
    let is_folder = match given.metadata() {
        Ok(found) => found.is_dir(),
        Err(_) if path.contains(['*', '?', '[']) => false,
        Err(error) => return Err(refused(path, error.to_string())),
    };
    let found = expand(&[path.to_owned()], &ReadOptions::default(), &Interrupt::default());
    let inputs = found.map(|found| found.files).or_else(|error| match error {
        ReadError::EmptyDirectory { .. } => Ok(Vec::new()),
        ReadError::NoMatch { .. } => Err(refused(path, "no file has such a name")),
        other => Err(refused(path, other.to_string())),
    })?;
    let files = inputs.into_iter().map(|input| {
        let partitions = path_fields(&input.path);
        DataFile { input, partitions }
    });
    let is_kind = |file: &DataFile| kind.endings().iter().any(|ending| file.ends_with(ending));
    let files: Vec<DataFile> = files.filter(|file| !is_folder || is_kind(file)).collect();
    if files.is_empty() {
        return Err(refused(path, format!("no file in it ends in .{}", endings())));
    }
    match files.iter().find(|file| !file.input.is_file()) {
        Some(pipe) => Err(pipe.fault("a pipe cannot be read twice: write it to a file first")),
        None => Ok(files),
    }
}
