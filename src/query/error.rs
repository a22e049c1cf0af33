//! What can go wrong in a query: the user's words, the store, the engine.

use crate::model::DocId;
use crate::model::near_names::{listed, meant, nearest};
use crate::model::{Error, ErrorKind, Hint, Interrupted, from_lower};
use crate::store::StoreError;
use arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;

const CATALOGUE: &str = "datafusion.public.";
const TABLES: &str =
    "; there are documents, duplicates, sources, commits, epochs, rejects, tokenizers, snapshots";
const TABLE_FUNCTIONS: &str =
    "; there are documents_at, read_parquet, read_csv, read_json, range, generate_series";

/// An error of the query layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// Rows that cannot be read.
    #[error(transparent)]
    Store(StoreError),
    /// A place at which several documents without a key were read.
    #[error(
        "{documents} documents were read at `{place}`: name one by its key ({}{})",
        keys.join(", "),
        if keys.len() < *documents { ", .." } else { "" }
    )]
    Ambiguous {
        /// `PATH` or `PATH:NUMBER`.
        place: String,
        /// How many.
        documents: usize,
        /// Keys of the first.
        keys: Vec<String>,
    },
    /// A suite that does not fit into memory.
    #[error(
        "evidence of suite `{suite}` needs about {bytes} bytes of memory, and {most} are available: raise `memory=` to {} or more",
        bytes.saturating_mul(4)
    )]
    Suites {
        /// The suite.
        suite: String,
        /// Bytes that it takes.
        bytes: u64,
        /// Bytes that it may take.
        most: u64,
    },
    /// A `--where` expression that is not a boolean expression over `documents`.
    #[error(
        "cannot use the expression `{expression}`: {why}; it takes a SQL boolean expression over the columns {columns}"
    )]
    Where {
        /// The user's expression.
        expression: String,
        /// Why.
        why: String,
        /// The columns of `documents`, comma-separated.
        columns: String,
    },
    /// A condition on records that come in that cannot be used.
    #[error(
        "cannot use the condition `{condition}`: {why}; it takes a SQL boolean expression over the fields of the records and over key, source, text, bytes, chars and meta (a name with capitals needs double quotes, text single ones)"
    )]
    Incoming {
        /// The user's condition.
        condition: String,
        /// Why.
        why: String,
    },
    /// A statement that cannot be parsed or planned.
    #[error("cannot run `{statement}`: {why}")]
    Statement {
        /// The user's statement.
        statement: String,
        /// Why.
        why: String,
    },
    /// Something other than one SELECT.
    #[error(
        "refused `{statement}`: only one SELECT, WITH, EXPLAIN, DESCRIBE or SHOW is run, nothing that writes"
    )]
    NotAQuery {
        /// The user's statement.
        statement: String,
    },
    /// A file that a statement names and that cannot be read.
    #[error("cannot read `{path}`: {why}")]
    File {
        /// The file or pattern.
        path: String,
        /// Why.
        why: String,
    },
    /// A table that there is not.
    #[error("no table `{name}`; there are {known}")]
    NoTable {
        /// The name asked for.
        name: String,
        /// Those there are.
        known: String,
    },
    /// A column that there is not.
    #[error("no column `{name}`; there are {known}")]
    NoColumn {
        /// The name asked for.
        name: String,
        /// Those there are.
        known: String,
    },
    /// A column of documents that there is not.
    #[error("no column `{name}`; there are {known}")]
    NoDocumentColumn {
        /// The name asked for.
        name: String,
        /// Those there are.
        known: String,
    },
    /// An answer with two columns of one name.
    #[error("the answer has two columns named `{name}`")]
    SameNames {
        /// The name.
        name: String,
    },
    /// The engine failed while it ran.
    #[error("the query failed: {why}")]
    Run {
        /// Why.
        why: String,
    },
    /// No document has that key.
    #[error("no document has the key {key}")]
    NoKey {
        /// The key asked for.
        key: String,
    },
    /// No document has that id.
    #[error("no document {document}: the corpus holds ids 0 to below {documents}")]
    NoDocument {
        /// The id asked for.
        document: DocId,
        /// Documents stored.
        documents: u64,
    },
    /// A stored sketch that the policy cannot have made.
    #[error("the sketch of document {document} has {bytes} bytes, which does not match the policy")]
    Sketch {
        /// The document.
        document: DocId,
        /// Bytes stored.
        bytes: usize,
    },
    /// Similar documents asked of a corpus that does not look for any.
    #[error("mode `none` has no index of texts, so similar documents cannot be found")]
    NotLooked,
    /// A text without a token under the policy's normaliser.
    #[error("the text has no words under the normaliser `{normaliser}`: nothing to look for")]
    NoWords {
        /// The normaliser.
        normaliser: &'static str,
    },
    /// No source has that name.
    #[error("no source `{name}`: there is {known}")]
    NoSource {
        /// The name asked for.
        name: String,
        /// Those there are.
        known: String,
    },
    /// Documents cannot be counted by that.
    #[error("cannot group by `{name}`; there is {known} (declared fields that are not floats)")]
    NoGroups {
        /// The name asked for.
        name: String,
        /// Those there are.
        known: String,
    },
    /// A unit of time that a field does not have.
    #[error("cannot group by `{name}`: {why}")]
    NoUnit {
        /// The field with its unit, as asked for.
        name: String,
        /// Why.
        why: String,
    },
    /// Documents are to be counted by one field twice.
    #[error("`{name}` is named twice; name each field once")]
    GroupedTwice {
        /// The field.
        name: String,
    },
    /// Fields with too many values to count by.
    #[error(
        "there are more than {most} groups; group by a field with fewer values, by fewer fields, or by a unit of a timestamp, such as `published:month`"
    )]
    TooManyGroups {
        /// How many may be counted.
        most: usize,
    },
    /// Too many pairs of groups to count.
    #[error(
        "there are more than {most} pairs of groups; group by a field with fewer values, by fewer fields, or give one source"
    )]
    TooManyPairs {
        /// How many may be counted.
        most: usize,
    },
    /// The changes from a moment to an earlier one.
    #[error(
        "`{from}` (commit {from_commit}) is later than `{to}` (commit {to_commit}): give the earlier one first, `{to}` and then `{from}`"
    )]
    Backwards {
        /// The moment asked from.
        from: String,
        /// Its commit.
        from_commit: u64,
        /// The moment asked to.
        to: String,
        /// Its commit.
        to_commit: u64,
    },
    /// Another policy that what is stored cannot serve.
    #[error(
        "this corpus cannot change to {asked}: it has {stored}; mode, threshold, bands and rows, keep order and scope can change"
    )]
    Fixed {
        /// What was asked for.
        asked: String,
        /// What the corpus has.
        stored: String,
    },
    /// Stored metadata is not JSON.
    #[error("the metadata of document {document} is not JSON: {why}")]
    Metadata {
        /// The document.
        document: DocId,
        /// Why.
        why: String,
    },
    /// The output could not be written.
    #[error("cannot write the result")]
    Write(#[source] std::io::Error),
    /// The machine gave no thread or no runtime.
    #[error("cannot start a query thread")]
    Thread(#[source] std::io::Error),
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A query thread ended early: a fault of the engine or of ours.
    #[error("a query thread panicked; please report the query")]
    Panicked,
}

impl QueryError {
    /// The way out, where there is one to name.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Sketch { .. } | Self::Metadata { .. } => Some(Hint::deep_check()),
            Self::NoTable { name, known }
            | Self::NoColumn { name, known }
            | Self::NoSource { name, known } => meant(name, listed(known)),
            Self::NoDocumentColumn { name, known } => {
                let field = "a field of the records is no column: `columns=` 'meta.*' writes each of them (JSON lines), `columns=` meta all of them as one JSON text";
                meant(name, listed(known)).or_else(|| Some(Hint::text(field)))
            }
            Self::NoDocument { document, .. } => {
                Some(Hint::text(format!("a key made of digits is written `key:{document}`")))
            }
            Self::SameNames { .. } => Some(Hint::text("rename one with AS")),
            Self::NotLooked => {
                let text = "create a corpus in mode witness and ingest into it";
                Some(Hint::text(text).with_command("corpusdb init NEW --mode witness"))
            }
            _ => None,
        }
    }
}

from_lower!(QueryError::Store(StoreError));

impl From<QueryError> for Error {
    /// Errors of files keep their own kind, whichever room met them.
    fn from(error: QueryError) -> Self {
        let kind = match error {
            QueryError::Interrupted(stop) => return stop.into(),
            QueryError::Store(error) => return error.into(),
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
            | QueryError::SameNames { .. }
            | QueryError::File { .. }
            | QueryError::Run { .. } => ErrorKind::BadQuery,
            QueryError::NoTable { .. }
            | QueryError::NoColumn { .. }
            | QueryError::NoDocumentColumn { .. }
            | QueryError::NoDocument { .. }
            | QueryError::NoSource { .. } => ErrorKind::NotFound,
            QueryError::NoKey { .. } => ErrorKind::KeyNotFound,
            QueryError::Fixed { .. } => ErrorKind::BadPolicy,
            QueryError::Sketch { .. } | QueryError::Metadata { .. } => ErrorKind::Corrupt,
            _ => ErrorKind::Failed,
        };
        let hint = error.hint();
        Self::new(kind, error).with_hint(hint)
    }
}

impl QueryError {
    /// What failed while a plan ran; errors of ours that went through the engine come back as they were.
    pub(super) fn run(error: DataFusionError) -> Self {
        match error {
            DataFusionError::Context(_, inner) => Self::run(*inner),
            DataFusionError::External(inner) => match inner.downcast::<Self>() {
                Ok(own) => *own,
                Err(other) => Self::Run { why: other.to_string() },
            },
            DataFusionError::ArrowError(inner, _) => Self::arrow(*inner),
            other => Self::Run { why: words(&other) },
        }
    }

    /// As [`QueryError::run`] for errors of the array library.
    pub(super) fn arrow(error: ArrowError) -> Self {
        match error {
            ArrowError::ExternalError(inner) => match inner.downcast::<Self>() {
                Ok(own) => *own,
                Err(other) => Self::Run { why: other.to_string() },
            },
            ArrowError::IoError(_, source) => Self::Write(source),
            other => Self::Run { why: other.to_string() },
        }
    }

    /// As [`QueryError::statement`], but for errors of ours that went through the engine: they come back as they were.
    pub(super) fn planned(statement: &str, error: DataFusionError) -> Self {
        match error {
            DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
                Self::planned(statement, *inner)
            }
            DataFusionError::External(inner) => match inner.downcast::<Self>() {
                Ok(own) => *own,
                Err(other) => {
                    Self::Statement { statement: shown(statement), why: other.to_string() }
                }
            },
            other => Self::statement(statement, &other),
        }
    }

    pub(super) fn statement(statement: &str, error: &DataFusionError) -> Self {
        Self::Statement { statement: shown(statement), why: words(error) }
    }
}

/// The user's words as an error repeats them: the beginning of long ones.
pub(super) fn shown(statement: &str) -> String {
    const CHARACTERS: usize = 1000;
    let statement = statement.trim();
    match statement.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", statement.get(..end).unwrap_or_default()),
        None => statement.to_owned(),
    }
}

impl From<QueryError> for DataFusionError {
    fn from(error: QueryError) -> Self {
        Self::External(Box::new(error))
    }
}

/// The engine's message without its class, or the missing column and those there are.
pub(super) fn words(error: &DataFusionError) -> String {
    if let Some(name) = unknown_column(error) {
        let DataFusionError::SchemaError(schema, _) = error.find_root() else {
            return format!("no column `{name}`");
        };
        let SchemaError::FieldNotFound { valid_fields, .. } = schema.as_ref() else {
            return format!("no column `{name}`");
        };
        let known: Vec<&str> = valid_fields.iter().map(|column| column.name.as_str()).collect();
        let near = nearest(name, known.iter().copied());
        let near = near.map_or_else(String::new, |near| format!(" did you mean `{near}`?"));
        let is_of_documents = ["key", "standing", "meta"].iter().all(|name| known.contains(name));
        let field = match is_of_documents {
            true => format!(
                "; a field of the records is `meta ->> '{name}'`, and what `id_field=` named is the column key"
            ),
            false => String::new(),
        };
        return format!(
            "no column `{name}`;{near} there are {} (a name with capitals needs double quotes, text needs single ones){field}",
            known.join(", ")
        );
    }
    let text = match error.find_root() {
        DataFusionError::Plan(text) | DataFusionError::Execution(text) => text.clone(),
        DataFusionError::ResourcesExhausted(text) if text.contains("`memory=`") => text.clone(),
        DataFusionError::ResourcesExhausted(text) => format!(
            "it needs more memory than queries have (a quarter of `memory=`), and cannot spill all of it to disk; give more, or select less ({text})"
        ),
        DataFusionError::SQL(inner, _) => {
            inner.to_string().trim_start_matches("sql parser error: ").to_owned()
        }
        DataFusionError::NotImplemented(text) => misplaced(text).unwrap_or_else(|| text.clone()),
        DataFusionError::External(inner) => inner.to_string(),
        other => pattern(&other.strip_backtrace()).unwrap_or_else(|| other.strip_backtrace()),
    };
    // The catalogue's own name, which users never wrote.
    let text = text.replace(CATALOGUE, "").replace('\n', " ");
    let known = match () {
        () if text.starts_with("table function '") => TABLE_FUNCTIONS,
        () if text.starts_with("table '") => TABLES,
        () => "",
    };
    format!("{}{known}", text.trim_end_matches('.'))
}

/// What is wrong with a regular expression, which is not a fault of the engine's.
fn pattern(text: &str) -> Option<String> {
    let (_, why) = text.split_once("Regular expression did not compile: ")?;
    Some(match why.split_once("CompiledTooBig(") {
        Some((_, rest)) => {
            let most: String = rest.chars().take_while(char::is_ascii_digit).collect();
            format!(
                "the regular expression takes more than {most} bytes when it is compiled: use smaller counts in its braces"
            )
        }
        None => format!(
            "the regular expression is wrong: {}",
            why.split(". This").next().unwrap_or(why)
        ),
    })
}

/// What stands where nothing computes it, and the way out, in place of how the engine writes it down.
fn misplaced(text: &str) -> Option<String> {
    let (_, named) = text.split_once("does not support logical expression ")?;
    Some(if named.starts_with("WindowFunction") {
        "a window function (OVER) is not allowed in a condition: compute it in a subquery, as in `id IN (SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM documents) WHERE n <= 100)`".to_owned()
    } else if ["Exists", "InSubquery", "ScalarSubquery", "SetComparison"]
        .iter()
        .any(|kind| named.starts_with(kind))
    {
        "a subquery is not allowed here: use it in its own condition, as in `id IN (SELECT witness FROM duplicates)`".to_owned()
    } else {
        let kind: String = named.chars().take_while(|c| c.is_alphanumeric()).collect();
        format!("an expression of the kind {kind} is not allowed here: leave it out")
    })
}

/// The name of the column an error complains of.
pub(super) fn unknown_column(error: &DataFusionError) -> Option<&str> {
    let DataFusionError::SchemaError(schema, _) = error.find_root() else { return None };
    let SchemaError::FieldNotFound { field, .. } = schema.as_ref() else { return None };
    Some(&field.name)
}
