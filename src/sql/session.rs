//! The engine's session for one statement over a view: its tables, what it accepts, and the size of its batches.
//!
//! Three steps in their order: [`session_with`] registers the tables, [`parse`] and [`plan`] refuse what is not a query
//! that only reads, and [`size_batches`] lowers the rows of a batch where a plan carries long values.

use super::query::SqlQuery;
use crate::sql::documents::table::DocumentsTable;
use crate::sql::engine::memory::BatchLimits;
use crate::sql::error::SqlError;
use crate::sql::faults::shown;
use crate::sql::functions::table_functions;
use crate::sql::functions::table_functions::FileTable;
use crate::sql::syntax::{parser, size};
use crate::sql::tables::system;
use crate::sql::view_engine::{engine, runtime};
use datafusion::catalog::{
    CatalogProvider, CatalogProviderList, MemoryCatalogProvider, MemoryCatalogProviderList,
    MemorySchemaProvider, SchemaProvider, TableProvider,
};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{ObjectName, Statement as SqlStatement};
use std::sync::Arc;
use store::View;

/// Longest constant, in bytes, that is negligible beside a row.
const CONSTANT: usize = 1 << 10;

/// A session with the tables of `view`, within the memory that the view was opened with. It reads no file.
pub(crate) fn session(view: &View) -> Result<SessionState, SqlError> {
    session_with(view, &SqlQuery::default())
}

/// A session with the tables of `view`, and the snapshot and files that `query` names.
pub(crate) fn session_with(view: &View, query: &SqlQuery) -> Result<SessionState, SqlError> {
    let mut state = engine(view)?.as_ref().clone();
    state.config_mut().set_extension(Arc::new(StatementRuntime(runtime(view)?)));
    // The engine numbers the names that it makes up; every statement begins at one.
    *state.execution_props_mut() = ExecutionProps::new();
    state.mark_start_execution();
    table_functions::register(&mut state, view, query);
    let tables = MemorySchemaProvider::new();
    let documents = match &query.snapshot {
        None => DocumentsTable::new(view),
        Some(snapshot) => DocumentsTable::kept_in(view, snapshot)?,
    };
    let register = |name: &str, table: Arc<dyn TableProvider>| {
        tables.register_table(name.to_owned(), table).map_err(SqlError::run)
    };
    register("documents", Arc::new(documents))?;
    for table in system::all(view) {
        register(table.name(), Arc::new(table))?;
    }
    let names = &state.config_options().catalog;
    let (catalogue, all) = (MemoryCatalogProvider::new(), MemoryCatalogProviderList::new());
    let schema = catalogue.register_schema(&names.default_schema, Arc::new(tables));
    schema.map_err(SqlError::run)?;
    all.register_catalog(names.default_catalog.clone(), Arc::new(catalogue));
    state.register_catalog_list(Arc::new(all));
    Ok(state)
}

/// The memory pool and temporary files of one statement, kept as an extension: the state is a clone of one that all
/// statements share.
struct StatementRuntime(Arc<RuntimeEnv>);

/// The context in which a plan of this session runs: with the statement's own memory pool.
pub(crate) fn context(state: &SessionState) -> TaskContext {
    let context = TaskContext::from(state);
    match state.config().get_extension::<StatementRuntime>() {
        Some(own) => context.with_runtime(Arc::clone(&own.0)),
        None => context,
    }
}

/// The kind of a statement.
pub(crate) enum StatementKind {
    /// A query that gives rows.
    Rows(Statement),
    /// SHOW TABLES.
    Tables,
    /// SHOW COLUMNS or DESCRIBE of a table.
    Columns(String),
    /// SHOW FUNCTIONS.
    Functions,
}

/// The optimised plan of a query; refuses one that would write.
pub(crate) async fn plan(
    state: &SessionState,
    statement: Statement,
    query: &SqlQuery,
) -> Result<LogicalPlan, SqlError> {
    let sql = query.text.as_str();
    let fault = |error: DataFusionError| SqlError::planned(sql, error);
    let too_much = |why| SqlError::Statement { statement: shown(sql), why };
    size::check_statement(&statement).map_err(too_much)?;
    query.parameters.check(&statement).map_err(too_much)?;
    let plan = state.statement_to_plan(statement).await.map_err(fault)?;
    let plan = query.parameters.bind(plan).map_err(fault)?;
    // A query may still hold `SELECT .. INTO` or `WITH x AS (INSERT ..)`.
    let readers =
        SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    readers.verify_plan(&plan).map_err(|_| SqlError::NotAQuery { statement: shown(sql) })?;
    state.optimize(&plan).map_err(fault)
}

/// Reads one SELECT, WITH, EXPLAIN, DESCRIBE or SHOW; anything else is refused.
pub(crate) fn parse(sql: &str) -> Result<StatementKind, SqlError> {
    let fault = |error: DataFusionError| SqlError::statement(sql, &error);
    let too_much = |why| SqlError::Statement { statement: shown(sql), why };
    size::check_text(sql).map_err(too_much)?;
    let mut statements =
        parser::parser(sql).and_then(|mut it| it.parse_statements()).map_err(fault)?;
    let asked = match (statements.pop_front(), statements.is_empty()) {
        (Some(statement), true) => asked(statement),
        _ => None,
    };
    asked.ok_or_else(|| SqlError::NotAQuery { statement: shown(sql) })
}

fn asked(statement: Statement) -> Option<StatementKind> {
    if reads_only(&statement) {
        return Some(StatementKind::Rows(statement));
    }
    let Statement::Statement(statement) = statement else { return None };
    let name = |name: &ObjectName| {
        let last = name.0.last().and_then(|part| part.as_ident());
        Some(StatementKind::Columns(last?.value.to_lowercase()))
    };
    match *statement {
        SqlStatement::ExplainTable { table_name, .. } => name(&table_name),
        SqlStatement::ShowTables { .. } => Some(StatementKind::Tables),
        SqlStatement::ShowFunctions { filter: None } => Some(StatementKind::Functions),
        SqlStatement::ShowColumns { show_options, .. } => name(&show_options.show_in?.parent_name?),
        _ => None,
    }
}

fn reads_only(statement: &Statement) -> bool {
    match statement {
        Statement::Statement(statement) => matches!(**statement, SqlStatement::Query(_)),
        Statement::Explain(explain) => reads_only(&explain.statement),
        _ => false,
    }
}

/// Lowers the rows of a batch for a plan that carries texts, or a long constant beside every row, so that memory stays
/// bounded. Operators of the engine and scans use the same number.
pub(crate) fn size_batches(state: &mut SessionState, plan: &LogicalPlan) {
    let config = state.config();
    let mut rows = config.batch_size();
    let with_text = config.get_extension::<BatchLimits>();
    let (most, texts) = with_text.map_or((1, 0), |limits| (limits.rows, limits.texts));
    for scan in scans(plan) {
        match scan {
            ScanWidth::Texts => rows = rows.min(most),
            ScanWidth::RowsOf(bytes) => rows = rows.min(texts / bytes).max(1),
        }
    }
    let constant = longest_constant(plan);
    if constant > CONSTANT {
        rows = rows.min(texts / constant).max(1);
    }
    *state.config_mut() = config.clone().with_batch_size(rows);
}

/// Bytes of the longest constant: the engine may copy it for each row of a batch.
fn longest_constant(plan: &LogicalPlan) -> usize {
    let mut longest = 0;
    // No visit fails.
    let _ = plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expression| {
            expression.apply(|part| {
                if let Expr::Literal(value, _) = part {
                    longest = longest.max(value.size());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    });
    longest
}

/// The long values that a scan reads.
enum ScanWidth {
    /// Texts or metadata of documents.
    Texts,
    /// Rows of files, each of this many bytes.
    RowsOf(usize),
}

fn scans(plan: &LogicalPlan) -> Vec<ScanWidth> {
    let mut found = Vec::new();
    // No visit fails.
    let _ = plan.apply_with_subqueries(|node| {
        let LogicalPlan::TableScan(scan) = node else { return Ok(TreeNodeRecursion::Continue) };
        let Ok(table) = source_as_provider(&scan.source) else {
            return Ok(TreeNodeRecursion::Continue);
        };
        let columns = scan.projected_schema.as_arrow();
        if table.downcast_ref::<DocumentsTable>().is_some() {
            let mut names = columns.fields().iter().map(|field| field.name().as_str());
            found.extend(
                names.any(|name| name == "text" || name == "meta").then_some(ScanWidth::Texts),
            );
        }
        if let Some(files) = table.downcast_ref::<FileTable>() {
            found.extend(files.row_bytes(columns).map(ScanWidth::RowsOf));
        }
        Ok(TreeNodeRecursion::Continue)
    });
    found
}
