//! Selects or counts the documents for which a SQL boolean expression is true; by the indexes alone where they suffice.

use super::{session, statement};
use crate::sql::documents::filter::{ResolvedPredicate, StoredBlock};
use crate::sql::documents::predicate::{Predicate, PredicateBuilder};
use crate::sql::documents::schema::DocumentColumns;
use crate::sql::engine::evaluation::Evaluation;
use crate::sql::engine::{evaluation, runtime};
use crate::sql::error::SqlError;
use crate::sql::syntax::faults::{shown, unknown_column, words};
use crate::sql::syntax::parameters::SqlParameters;
use crate::sql::syntax::{parser, size};
use arrow::array::{Array, Int64Array, UInt64Array};
use arrow::record_batch::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use model::BLOCK_SIZE;
use model::near_names::did_you_mean;
use model::text_file::without_byte_order_mark;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use roaring::{RoaringBitmap, RoaringTreemap};
use std::sync::mpsc::sync_channel;
use store::View;
use text::signals::Signal;

/// Batches that wait between the engine and the bitmap.
const QUEUE: usize = 2;

/// The documents that satisfy a SQL boolean expression over `documents`; without one, all stored
/// documents, kept or not. It blocks; do not call it on a thread that drives an async runtime.
///
/// # Errors
/// [`SqlError::Where`] for an expression that cannot be used, with the columns there are;
/// [`SqlError`] for what fails while it runs.
pub fn select(view: &View, where_sql: Option<&str>) -> Result<RoaringTreemap, SqlError> {
    match where_sql {
        Some(expression) => select_with(view, expression, &SqlParameters::default()),
        None => Ok((0..view.documents()).collect()),
    }
}

/// As [`select`], by an expression with parameters.
pub(crate) fn select_with(
    view: &View,
    expression: &str,
    values: &SqlParameters,
) -> Result<RoaringTreemap, SqlError> {
    let expression = without_byte_order_mark(expression);
    let state = session::session(view)?;
    let plan = runtime::block_on(plan(view, &state, "id", (expression, expression), values))?;
    let Some(predicate) = index_predicate(view, &plan) else {
        let mut found = RoaringTreemap::new();
        for_each_batch(state, &plan, |batch| {
            if let Some(ids) =
                batch.columns().first().and_then(|ids| ids.as_any().downcast_ref::<UInt64Array>())
            {
                found.extend(ids.values());
            }
        })?;
        return Ok(found);
    };
    let test = ResolvedPredicate::resolve(&predicate, view)?;
    let blocks: Vec<(u64, RoaringBitmap)> = test
        .blocks(view.blocks())
        .into_par_iter()
        .map(|block| Ok((block, test.select(&StoredBlock::new(view, block))?)))
        .collect::<Result<_, SqlError>>()?;
    let mut found = RoaringTreemap::new();
    for (block, slots) in blocks {
        let base = block * BLOCK_SIZE;
        // Blocks come in order, so every id is larger than all before it.
        let _ = found.append(slots.iter().map(|slot| base + u64::from(slot)));
    }
    Ok(found)
}

/// How many documents satisfy a SQL boolean expression over `documents`; no document is examined when the indexes can
/// answer. It blocks; do not call it on a thread that drives an async runtime.
///
/// # Errors
/// As [`select`].
pub fn count(view: &View, where_sql: Option<&str>) -> Result<u64, SqlError> {
    match where_sql {
        Some(expression) => count_with(view, expression, &SqlParameters::default()),
        None => Ok(view.documents()),
    }
}

/// As [`count`], by an expression with parameters.
pub(crate) fn count_with(
    view: &View,
    expression: &str,
    values: &SqlParameters,
) -> Result<u64, SqlError> {
    let expression = without_byte_order_mark(expression);
    count_of(view, expression, expression, values)
}

/// For how many documents a SQL boolean expression over `documents` is null. It blocks as [`count`] does.
///
/// # Errors
/// As [`select`].
pub fn count_nulls(view: &View, expression: &str) -> Result<u64, SqlError> {
    let expression = without_byte_order_mark(expression);
    // Line breaks: the expression may end in a comment.
    let condition = format!("(\n{expression}\n) IS NULL");
    count_of(view, expression, &condition, &SqlParameters::default())
}

/// How many documents satisfy `condition`; error messages show `expression`, the user's part of it.
fn count_of(
    view: &View,
    expression: &str,
    condition: &str,
    values: &SqlParameters,
) -> Result<u64, SqlError> {
    let state = session::session(view)?;
    let words = (expression, condition);
    let selection = runtime::block_on(plan(view, &state, "id", words, values))?;
    if let Some(predicate) = index_predicate(view, &selection) {
        let test = ResolvedPredicate::resolve(&predicate, view)?;
        let count = |block| Ok(test.select(&StoredBlock::new(view, block))?.len());
        let blocks = test.blocks(view.blocks()).into_par_iter();
        return blocks.map(count).try_reduce(|| 0, |a, b| Ok(a + b));
    }
    let plan = runtime::block_on(plan(view, &state, "count(*)", words, values))?;
    let mut counted = 0;
    for_each_batch(state, &plan, |batch| {
        if let Some(counts) =
            batch.columns().first().and_then(|counts| counts.as_any().downcast_ref::<Int64Array>())
        {
            counted =
                counts.values().first().and_then(|count| u64::try_from(*count).ok()).unwrap_or(0);
        }
    })?;
    Ok(counted)
}

/// The optimised plan of `SELECT what` over the documents that satisfy `condition`, with values for the parameters of
/// both. Error messages show `expression`, the user's part of it.
pub(crate) async fn plan(
    view: &View,
    state: &SessionState,
    what: &str,
    (expression, condition): (&str, &str),
    values: &SqlParameters,
) -> Result<LogicalPlan, SqlError> {
    session::check_expression(expression)
        .map_err(|error| condition_error(view, expression, &error))?;
    // Line breaks: the expression may end in a comment.
    let sql = format!("SELECT {what} FROM documents WHERE (\n{condition}\n)");
    let statement = parser::statement(&sql);
    let planned = match statement {
        Ok(statement) => {
            size::check_statement(&statement)
                .and_then(|()| values.check(&statement))
                .map_err(|why| condition_error(view, expression, &DataFusionError::Plan(why)))?;
            let plan = state.statement_to_plan(statement).await;
            plan.and_then(|plan| values.bind(plan)).and_then(|plan| state.optimize(&plan))
        }
        Err(error) => Err(error),
    };
    planned.map_err(|error| match evaluation::check_planning() {
        Err(stopped) => stopped,
        Ok(()) => condition_error(view, expression, &error),
    })
}

pub(crate) fn condition_error(view: &View, expression: &str, error: &DataFusionError) -> SqlError {
    let columns = DocumentColumns::of(view).names();
    let question = |name: &str| {
        did_you_mean(name, columns.split(", "))
            .map_or_else(String::new, |question| format!("; {question}"))
    };
    let unknown = unknown_column(error);
    let why = match unknown.map(|name| (name, Signal::from_name(name))) {
        // A signal may be named like a column that is there: `lang` is none, `language` is.
        Some((name, Some(signal))) => format!(
            "`{name}` is not a column{}; the signal `{name}` is not stored: `corpusdb signals add` stores it, or `{}` computes it from each text, as preset('gopher', 'text') does for a whole preset",
            question(name),
            signal.expression
        ),
        Some((name, None)) => format!(
            "`{name}` is not a column{} (one with capitals needs double quotes, text needs single ones)",
            question(name)
        ),
        None => words(error),
    };
    SqlError::Where { expression: shown(expression), why, columns }
}

/// The predicate of a plan that is one scan whose filters the indexes answer; none for other plans.
fn index_predicate(view: &View, plan: &LogicalPlan) -> Option<Predicate> {
    match plan {
        LogicalPlan::Projection(projection) => index_predicate(view, &projection.input),
        LogicalPlan::SubqueryAlias(alias) => index_predicate(view, &alias.input),
        LogicalPlan::EmptyRelation(_) => Some(Predicate::Nothing),
        LogicalPlan::TableScan(scan)
            if scan.fetch.is_none() && scan.table_name.table() == "documents" =>
        {
            PredicateBuilder::new(view, &DocumentColumns::of(view)).all(&scan.filters)
        }
        _ => None,
    }
}

pub(crate) fn for_each_batch(
    state: SessionState,
    plan: &LogicalPlan,
    mut each: impl FnMut(&RecordBatch),
) -> Result<(), SqlError> {
    let (sender, receiver) = sync_channel(QUEUE);
    let work = async move { statement::run(state, plan, &sender).await };
    let all = |evaluation: &Evaluation| {
        for batch in receiver {
            evaluation.hand_over(batch.get_array_memory_size());
            each(&batch);
        }
    };
    runtime::drive(work, all).map(|((), ())| ())
}
