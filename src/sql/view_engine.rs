//! Builds the DataFusion session state that all statements over one view begin with: functions, rules and settings.
//!
//! Functions and rules are made once for a view; tables, the clock and limits of memory belong to each statement. A
//! statement that may read files has an engine of its own, whose caches of files end with it.

use crate::sql::documents::coded::CodedGroupBy;
use crate::sql::documents::table::PARTITIONS;
use crate::sql::engine::memory::{BatchLimits, QueryLimits, SortSharePool};
use crate::sql::engine::stop::{OperatorStop, StoppableRule};
use crate::sql::error::SqlError;
use crate::sql::functions::{counts, json, text_quality};
use crate::sql::rules::exact;
use crate::sql::rules::in_lists::NullSafeInLists;
use crate::sql::rules::join_keys::KeysOfOneTable;
use crate::sql::rules::keys_of_groups::KeysEndAtJoins;
use crate::sql::rules::multisets::SetsCountCopies;
use crate::sql::rules::null_joins::JoinsKeepNulls;
use crate::sql::rules::operands::{KeysAreTexts, ZeroHasNoSign};
use crate::sql::rules::single_rows::AggregatesKeepTheirRow;
use crate::sql::rules::sorts::SortsStay;
use crate::sql::rules::subqueries::SubqueriesKeepNulls;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::session_state::SessionState;
use datafusion::execution::{FunctionRegistry, SessionStateBuilder};
use datafusion::functions_aggregate::approx_percentile_cont::approx_percentile_cont_udaf;
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::{Analyzer, AnalyzerRule, Optimizer};
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::prelude::SessionConfig;
use std::sync::Arc;
use store::View;

/// Rows the engine gathers into a batch.
const BATCH: usize = 8192;

/// The engine of a view without tables: made once and cloned for every statement. It keeps no view open.
pub(in crate::sql) fn engine(view: &View) -> std::result::Result<Arc<SessionState>, SqlError> {
    view.cached(|| made(view, runtime(view)?).map_err(SqlError::run))
}

/// Memory and temporary files of one statement.
pub(in crate::sql) fn runtime(view: &View) -> std::result::Result<Arc<RuntimeEnv>, SqlError> {
    let pool = Arc::new(SortSharePool::new(QueryLimits::of(view).pool));
    RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc().map_err(SqlError::run)
}

fn made(view: &View, runtime: Arc<RuntimeEnv>) -> Result<SessionState> {
    let limits = QueryLimits::of(view);
    let mut config = SessionConfig::new()
        .with_target_partitions(PARTITIONS)
        .with_batch_size(BATCH)
        .with_information_schema(true)
        .with_extension(Arc::new(BatchLimits {
            rows: limits.rows_with_text(view),
            texts: limits.texts,
            file_row: limits.file_row,
        }));
    // Scans choose their own partitions; dealing rows out round-robin would lose their order.
    config.options_mut().optimizer.enable_round_robin_repartition = false;
    // One sort of all rows, not one for each partition: all run on one thread, and the first to finish would take the
    // memory that the others need for its merge.
    config.options_mut().optimizer.repartition_sorts = false;
    // It fails where the plan of a statement knows that a column is never null, and the operator that computes it does not.
    config.options_mut().execution.skip_physical_aggregate_schema_check = true;
    // Memory that a sort reserves to merge what it spilled: a part of its share, which may be small.
    config.options_mut().execution.sort_spill_reservation_bytes = limits.pool / 16;
    // `KeysAreTexts` and `IntervalsHaveLengths` see comparisons before the engine makes their types alike, the others
    // afterwards.
    let mut analyzers: Vec<Arc<dyn AnalyzerRule + Send + Sync>> =
        vec![Arc::new(KeysAreTexts), Arc::new(exact::IntervalsHaveLengths)];
    analyzers.extend(Analyzer::new().rules);
    analyzers.push(Arc::new(JoinsKeepNulls));
    analyzers.push(Arc::new(SetsCountCopies));
    analyzers.push(Arc::new(SubqueriesKeepNulls));
    analyzers.push(Arc::new(AggregatesKeepTheirRow));
    analyzers.push(Arc::new(KeysEndAtJoins));
    analyzers.push(Arc::new(NullSafeInLists));
    let mut optimizers = Optimizer::new().rules;
    let joins = place_of("eliminate_cross_join", optimizers.iter().map(|rule| rule.name()))?;
    optimizers.insert(joins, Arc::new(KeysOfOneTable));
    optimizers.push(Arc::new(ZeroHasNoSign));
    // What it takes for conditions are keys again at the end.
    optimizers.push(Arc::new(ExtractEquijoinPredicate::new()));
    let mut physical = PhysicalOptimizer::new().rules;
    let sorts = place_of("EnsureRequirements", physical.iter().map(|rule| rule.name()))?;
    physical.insert(sorts, Arc::new(SortsStay));
    physical.push(Arc::new(CodedGroupBy));
    let mut state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_default_features()
        .with_analyzer_rules(
            analyzers.into_iter().map(|it| Arc::new(StoppableRule(it)) as _).collect(),
        )
        .with_type_planner(Arc::new(exact::TimestampsAreMicroseconds))
        .with_optimizer_rules(
            optimizers.into_iter().map(|it| Arc::new(StoppableRule(it)) as _).collect(),
        )
        .with_physical_optimizer_rules(
            physical.into_iter().map(|it| Arc::new(StoppableRule(it)) as _).collect(),
        )
        .build();
    state.register_expr_planner(Arc::new(OperatorStop))?;
    counts::register(&mut state)?;
    json::register(&mut state)?;
    exact::register(&mut state)?;
    exact::register_series(&mut state);
    text_quality::register(&mut state)?;
    // The name that other databases have for it.
    let percentile = approx_percentile_cont_udaf().as_ref().clone();
    let named = Arc::new(percentile.with_aliases(["approx_percentile"]));
    state.register_udaf(named)?;
    Ok(state)
}

/// The place of the engine's rule of that name, which one of ours must stand before.
fn place_of<'a>(name: &str, mut rules: impl Iterator<Item = &'a str>) -> Result<usize> {
    let place = rules.position(|rule| rule == name);
    place.ok_or_else(|| DataFusionError::Internal(format!("the engine has no rule `{name}`")))
}
