//! A statement with its options: the snapshot to read, permission to read files, values of parameters.

use crate::sql::syntax::parameters::SqlParameters;
use model::Interrupt;

/// A statement; [`Corpus::sql`](crate::Corpus::sql) takes one, or its text alone. By default `documents` is all that is
/// stored, no file can be read, and nothing stops it.
///
/// ```
/// use corpusdb::sql::SqlQuery;
///
/// let ask = SqlQuery::new("SELECT count(*) FROM documents").snapshot("june").files(true);
/// # let _ = ask;
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct SqlQuery {
    pub(super) text: String,
    pub(super) snapshot: Option<String>,
    pub(super) files: bool,
    pub(super) parameters: SqlParameters,
    pub(super) interrupt: Interrupt,
}

impl SqlQuery {
    /// A statement of this text: one SELECT, WITH, EXPLAIN, DESCRIBE or SHOW.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// This query with another text.
    pub fn text(self, text: impl Into<String>) -> Self {
        Self { text: text.into(), ..self }
    }

    /// The table `documents` holds only what this snapshot keeps. Columns are as they are today, `kept` and `standing`
    /// too, and the other tables are today's.
    pub fn snapshot(self, name: impl Into<String>) -> Self {
        Self { snapshot: Some(name.into()), ..self }
    }

    /// Whether `read_parquet`, `read_csv` and `read_json` may read files of this machine. Leave it off for statements
    /// of people who may not read every file that this process may read.
    pub fn files(self, allowed: bool) -> Self {
        Self { files: allowed, ..self }
    }

    /// The values of `?`, `$1` or `$name` in the statement. They are bound to it and never become part of its text.
    pub fn parameters(self, values: SqlParameters) -> Self {
        Self { parameters: values, ..self }
    }

    /// The statement ends once this stop is asked for, also while its rows are read.
    pub fn interrupt(self, interrupt: &Interrupt) -> Self {
        Self { interrupt: interrupt.clone(), ..self }
    }
}

impl From<&str> for SqlQuery {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<&String> for SqlQuery {
    fn from(text: &String) -> Self {
        Self::new(text)
    }
}

impl From<String> for SqlQuery {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}
