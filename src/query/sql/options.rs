//! What a statement is given beside its text: a snapshot to look at, files of this machine, values of parameters.

use super::parameters::SqlParameters;

/// What a statement may look at; [`Corpus::sql_with`](crate::Corpus::sql_with) takes it. By default `documents` is all
/// that is stored, and no file can be read.
///
/// ```
/// use corpusdb::query::SqlOptions;
///
/// let options = SqlOptions::default().snapshot("june").files(true);
/// assert_ne!(options, SqlOptions::default());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct SqlOptions {
    pub(super) snapshot: Option<String>,
    pub(super) files: bool,
    pub(super) parameters: SqlParameters,
}

impl SqlOptions {
    /// The table `documents` holds only what this snapshot keeps. Columns are as they are today, `kept` and `standing`
    /// too, and the other tables are today's.
    pub fn snapshot(mut self, name: impl Into<String>) -> Self {
        self.snapshot = Some(name.into());
        self
    }

    /// Whether `read_parquet`, `read_csv` and `read_json` may read files of this machine. Not for statements of people
    /// who may not read whatever this process may.
    pub const fn files(mut self, allowed: bool) -> Self {
        self.files = allowed;
        self
    }

    /// The values of `?`, `$1` or `$name` in the statement. They are bound to it and never become part of its text.
    pub fn parameters(mut self, values: SqlParameters) -> Self {
        self.parameters = values;
        self
    }
}
