//! Table functions: `documents_at`, `read_parquet`, `read_csv`, `read_json`.
//!
//! `documents_at` reads a snapshot, the others read files beside the corpus. `table` makes one table of several files,
//! which `files` finds; names of directories add columns, as in an ingest. `records` reads CSV and JSON as an ingest
//! does, infers types with `kinds`, and builds columns with `arrays`; `parquet` reads record batches, whose columns
//! `columns` unifies.

mod arrays;
mod columns;
mod files;
mod kinds;
mod parquet;
mod records;
mod table;

pub(in crate::sql) use table::FileTable;

use crate::sql::documents::table::DocumentsTable;
use crate::sql::error::SqlError;
use crate::sql::query::SqlQuery;
use crate::sql::syntax::parameters::SqlParameters;
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::Expr;
use files::TableFileKind;
use std::fmt;
use std::sync::Arc;
use store::View;

/// Registers our table functions; `range` and `generate_series` are the engine's.
pub(in crate::sql) fn register(state: &mut SessionState, view: &View, query: &SqlQuery) {
    let parameters = &query.parameters;
    let documents_at = SnapshotTableFunction { view: view.clone(), parameters: parameters.clone() };
    state.register_udtf("documents_at", Arc::new(documents_at));
    for kind in TableFileKind::ALL {
        let allowed = query.files;
        let function = FileTableFunction { kind, allowed, parameters: parameters.clone() };
        state.register_udtf(kind.function(), Arc::new(function));
    }
}

/// `documents_at('june')`.
struct SnapshotTableFunction {
    view: View,
    parameters: SqlParameters,
}

impl fmt::Debug for SnapshotTableFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DocumentsAt(commit {})", self.view.commit())
    }
}

impl TableFunctionImpl for SnapshotTableFunction {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let Some(name) = text(args.exprs(), &self.parameters) else {
            return plan_err!(
                "`documents_at` takes the name of a snapshot, as in documents_at('june')"
            );
        };
        let kept = DocumentsTable::kept_in(&self.view, &name).map_err(SqlError::from)?;
        Ok(Arc::new(kept))
    }
}

/// `read_parquet('scores.parquet')` and its like.
#[derive(Debug)]
struct FileTableFunction {
    kind: TableFileKind,
    allowed: bool,
    parameters: SqlParameters,
}

impl TableFunctionImpl for FileTableFunction {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let function = self.kind.function();
        if !self.allowed {
            return plan_err!(
                "`{function}` reads local files, which is not allowed here: it is allowed in `corpusdb sql`, and in a program that permits it (files of SqlQuery, `files=True` in Python)"
            );
        }
        let Some(path) = text(args.exprs(), &self.parameters) else {
            return plan_err!(
                "`{function}` takes one path or pattern as a text, as in {function}('{}')",
                self.kind.example()
            );
        };
        Ok(Arc::new(FileTable::open(self.kind, &path, args.session())?))
    }
}

/// The only argument, where it is a text, or a parameter with a text as its value.
fn text(arguments: &[Expr], parameters: &SqlParameters) -> Option<String> {
    match arguments {
        [
            Expr::Literal(
                ScalarValue::Utf8(Some(text))
                | ScalarValue::LargeUtf8(Some(text))
                | ScalarValue::Utf8View(Some(text)),
                _,
            ),
        ] => Some(text.clone()),
        [argument] => parameters.text_of(argument).map(str::to_owned),
        _ => None,
    }
}
