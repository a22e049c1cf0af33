//! The engine's session over one view: its tables, its limits, and the statements it accepts.

use super::error::QueryError;
use super::provider::{Documents, PARTITIONS};
use super::small_tables;
use crate::store::View;
use datafusion::error::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use std::sync::Arc;

/// Bytes that sorts, joins and aggregates may hold before they spill to temporary files.
const MEMORY: usize = 1 << 30;
/// Rows the engine gathers into a batch.
const BATCH: usize = 8192;
/// The same when rows carry whole texts or metadata.
const BATCH_WITH_TEXT: usize = 256;
/// Nesting of parentheses that the parser follows.
const NESTING: usize = 200;

/// A session whose tables are those of `view`.
pub(super) fn session(view: &View) -> Result<SessionState, QueryError> {
    let mut config = SessionConfig::new()
        .with_target_partitions(PARTITIONS)
        .with_batch_size(BATCH)
        .with_information_schema(true);
    // Our scans are partitioned as they should be; dealing rows round would lose their order.
    config.options_mut().optimizer.enable_round_robin_repartition = false;
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(Arc::new(FairSpillPool::new(MEMORY)));
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime.build_arc().map_err(QueryError::run)?)
        .with_default_features()
        .build();
    let context = SessionContext::new_with_state(state);
    context.register_table("documents", Arc::new(Documents::new(view))).map_err(QueryError::run)?;
    for table in small_tables::all(view) {
        context.register_table(table.name(), Arc::new(table)).map_err(QueryError::run)?;
    }
    Ok(context.state())
}

/// The optimised plan of one SELECT, WITH or EXPLAIN; anything else is refused.
pub(super) async fn plan(state: &SessionState, sql: &str) -> Result<LogicalPlan, QueryError> {
    let fault = |error: DataFusionError| QueryError::statement(sql, &error);
    let statement = parse(sql)?;
    let plan = state.statement_to_plan(statement).await.map_err(fault)?;
    // A query may still hold `SELECT .. INTO` or `WITH x AS (INSERT ..)`.
    let readers =
        SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    readers
        .verify_plan(&plan)
        .map_err(|_| QueryError::NotAQuery { statement: sql.trim().to_owned() })?;
    state.optimize(&plan).map_err(fault)
}

fn parse(sql: &str) -> Result<Statement, QueryError> {
    let fault = |error: DataFusionError| QueryError::statement(sql, &error);
    let mut parser =
        DFParserBuilder::new(sql).with_recursion_limit(NESTING).build().map_err(fault)?;
    let mut statements = parser.parse_statements().map_err(fault)?;
    match (statements.pop_front(), statements.is_empty()) {
        (Some(statement), true) if reads_only(&statement) => Ok(statement),
        _ => Err(QueryError::NotAQuery { statement: sql.trim().to_owned() }),
    }
}

fn reads_only(statement: &Statement) -> bool {
    match statement {
        Statement::Statement(statement) => matches!(**statement, SqlStatement::Query(_)),
        Statement::Explain(explain) => reads_only(&explain.statement),
        _ => false,
    }
}

/// Checks that `text` is one expression and nothing after it, so that it may stand in a statement
/// of ours.
pub(super) fn check_expression(text: &str) -> Result<(), DataFusionError> {
    let dialect = GenericDialect {};
    let parser =
        DFParserBuilder::new(text).with_dialect(&dialect).with_recursion_limit(NESTING).build();
    let parsed = parser?.parse_into_expr()?;
    match parsed.alias {
        None => Ok(()),
        Some(alias) => {
            Err(DataFusionError::Plan(format!("`{alias}` after the end of the expression")))
        }
    }
}

/// Smaller batches for a plan that carries texts, so that memory stays bounded.
pub(super) fn size_batches(state: &mut SessionState, plan: &LogicalPlan) {
    if reads_text(plan) {
        *state.config_mut() = state.config().clone().with_batch_size(BATCH_WITH_TEXT);
    }
}

fn reads_text(plan: &LogicalPlan) -> bool {
    let here = match plan {
        LogicalPlan::TableScan(scan) if scan.table_name.table() == "documents" => {
            let mut fields = scan.projected_schema.fields().iter();
            fields.any(|field| field.name() == "text" || field.name() == "meta")
        }
        _ => false,
    };
    here || plan.inputs().into_iter().any(reads_text)
}
