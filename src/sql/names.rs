//! The names and keywords that statements over a view may use, for completion: tables, columns, functions, keywords.

use super::session;
use crate::sql::documents::schema::{ColumnSource, DocumentColumns};
use crate::sql::error::SqlError;
use arrow::datatypes::SchemaRef;
use datafusion::datasource::TableProvider;
use datafusion::execution::session_state::SessionState;
use model::Standing;
use std::collections::BTreeSet;
use std::sync::Arc;
use store::View;
use store::system_fields::is_shortened;

/// Keywords of the statements that are run.
const KEYWORDS: [&str; 85] = [
    "ALL",
    "AND",
    "ANTI",
    "ANY",
    "AS",
    "ASC",
    "BETWEEN",
    "BIGINT",
    "BOOLEAN",
    "BY",
    "CASE",
    "CAST",
    "COLUMNS",
    "CROSS",
    "CURRENT",
    "DATE",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DOUBLE",
    "ELSE",
    "END",
    "ESCAPE",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "EXTRACT",
    "FALSE",
    "FILTER",
    "FIRST",
    "FOLLOWING",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "JOIN",
    "LAST",
    "LATERAL",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NATURAL",
    "NOT",
    "NULL",
    "NULLS",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "PRECEDING",
    "QUALIFY",
    "RANGE",
    "RECURSIVE",
    "RIGHT",
    "ROW",
    "ROWS",
    "SELECT",
    "SEMI",
    "SHOW",
    "SIMILAR",
    "TABLES",
    "THEN",
    "TIMESTAMP",
    "TO",
    "TRUE",
    "UNBOUNDED",
    "UNION",
    "UNNEST",
    "USING",
    "VALUES",
    "VARCHAR",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
];

/// The names that statements over a corpus may use, for completion.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqlNames {
    /// The tables, by name.
    pub tables: Vec<SqlTableNames>,
    /// Functions of the engine, by name: scalar and aggregate functions, window functions, and table functions.
    pub functions: Vec<String>,
    /// Words of the language, in capitals.
    pub keywords: &'static [&'static str],
}

/// A table and its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqlTableNames {
    /// The table's name.
    pub name: String,
    /// The table's columns, in their order.
    pub columns: Vec<String>,
}

/// The names that statements over `view` may use.
///
/// # Errors
/// [`SqlError`] when the engine gives no session.
pub fn sql_names(view: &View) -> Result<SqlNames, SqlError> {
    let state = session::session(view)?;
    let mut functions = BTreeSet::new();
    functions.extend(state.scalar_functions().keys().cloned());
    functions.extend(state.aggregate_functions().keys().cloned());
    functions.extend(state.window_functions().keys().cloned());
    functions.extend(state.table_functions().keys().cloned());
    Ok(SqlNames {
        tables: crate::sql::engine::runtime::block_on(tables(&state))?,
        functions: functions.into_iter().collect(),
        keywords: &KEYWORDS,
    })
}

/// Values of columns of `documents`, and names of snapshots, for completion. They come from indexes: no document is read.
#[derive(Clone)]
pub struct SqlValues {
    view: View,
}

impl SqlValues {
    /// The values at the moment of a view.
    #[must_use]
    pub fn of(view: &View) -> Self {
        Self { view: view.clone() }
    }

    /// The first `most` values of `source`, `standing`, `language` or a declared keyword field that begin so, in byte
    /// order; none of other columns, nor values of more than 1,024 bytes.
    ///
    /// # Errors
    /// [`SqlError::Store`] when a row cannot be read.
    pub fn of_column(
        &self,
        column: &str,
        beginning: &str,
        most: usize,
    ) -> Result<Vec<String>, SqlError> {
        let columns = DocumentColumns::of(&self.view);
        let Some(column) = columns.named(column) else { return Ok(Vec::new()) };
        Ok(match column.source {
            ColumnSource::SourceName => {
                let sources = self.view.sources().map(|(_, record)| record.name.clone());
                first(sources.collect(), beginning, most)
            }
            ColumnSource::Standing => {
                first(Standing::ALL.map(|it| it.name().to_owned()).into(), beginning, most)
            }
            ColumnSource::Keyword(field) => {
                let terms = self.view.terms_beginning(field, beginning.as_bytes(), most)?;
                let whole = terms.into_iter().filter(|(value, _)| !is_shortened(value));
                whole.filter_map(|(value, _)| String::from_utf8(value).ok()).collect()
            }
            _ => Vec::new(),
        })
    }

    /// The first `most` names of snapshots that begin so.
    ///
    /// # Errors
    /// [`SqlError::Store`] when a row cannot be read.
    pub fn of_snapshots(&self, beginning: &str, most: usize) -> Result<Vec<String>, SqlError> {
        let snapshots = self.view.snapshots()?.into_iter().map(|record| record.name);
        Ok(first(snapshots.collect(), beginning, most))
    }
}

fn first(mut names: Vec<String>, beginning: &str, most: usize) -> Vec<String> {
    names.retain(|name| name.starts_with(beginning));
    names.sort_unstable();
    names.truncate(most);
    names
}

async fn tables(state: &SessionState) -> Result<Vec<SqlTableNames>, SqlError> {
    let options = &state.config_options().catalog;
    let catalogue = state.catalog_list().catalog(&options.default_catalog);
    let Some(schema) = catalogue.and_then(|it| it.schema(&options.default_schema)) else {
        return Ok(Vec::new());
    };
    let columns = |schema: SchemaRef| schema.fields().iter().map(|it| it.name().clone()).collect();
    let mut tables = Vec::new();
    for name in schema.table_names().into_iter().collect::<BTreeSet<String>>() {
        let table: Option<Arc<dyn TableProvider>> =
            schema.table(&name).await.map_err(SqlError::run)?;
        tables.extend(table.map(|table| SqlTableNames { name, columns: columns(table.schema()) }));
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::keywords::ALL_KEYWORDS;

    #[test]
    fn every_word_of_the_language_is_one_to_the_parser() {
        assert!(KEYWORDS.is_sorted());
        let unknown: Vec<_> = KEYWORDS.iter().filter(|it| !ALL_KEYWORDS.contains(it)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
