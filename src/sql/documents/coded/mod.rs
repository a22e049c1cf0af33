//! Groups by the codes that the store has for values (terms, sources, booleans, whole numbers), not by the values.
//!
//! A text is looked up once for each group, not once for each row. The engine aggregates in two stages: the first makes
//! groups and states of each partition of the scan, the second merges them. The first stage over a scan of `documents`
//! is replaced by one that does the same from codes: [`codes`] makes them, [`groups`] numbers their combinations,
//! [`stage`] runs the engine's own accumulators over the numbers.

mod codes;
mod groups;
mod stage;

use super::scan::DocumentScan;
use super::scan::PartitionProducer;
use super::scan::TableScanExec;
use super::schema::{ColumnSource, DocumentColumn};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use stage::{AggregateCall, CodedAggregation};
use std::sync::Arc;

/// Aggregates whose state is of a fixed size, so that the number of groups bounds what they hold.
const FIXED: [&str; 11] = [
    "avg",
    "bool_and",
    "bool_or",
    "count",
    "max",
    "min",
    "stddev",
    "stddev_pop",
    "sum",
    "var",
    "var_pop",
];

/// The optimiser rule that replaces first stages of a plan.
#[derive(Debug)]
pub(crate) struct CodedGroupBy;

impl PhysicalOptimizerRule for CodedGroupBy {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        coded(plan)
    }

    fn name(&self) -> &str {
        "groups_by_code"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn coded(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(aggregation) = plan.downcast_ref::<AggregateExec>()
        && let Some(scan) = first_stage(aggregation)?
    {
        return Ok(Arc::new(scan));
    }
    let inputs: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
    if inputs.is_empty() {
        return Ok(plan);
    }
    let inputs = inputs.into_iter().map(coded).collect::<Result<Vec<_>>>()?;
    let properties = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    plan.replace_children(inputs, properties)
}

/// The scan that replaces a first stage over `documents`; none for another stage, or one that codes cannot serve.
fn first_stage(aggregation: &AggregateExec) -> Result<Option<TableScanExec>> {
    // The engine may put a projection in between, which computes expressions that several aggregates share.
    let (input, between) = match aggregation.input().downcast_ref::<ProjectionExec>() {
        Some(projection) => (projection.input(), projection.expr()),
        None => (aggregation.input(), [].as_slice()),
    };
    let Some(scan) = input.downcast_ref::<TableScanExec>() else { return Ok(None) };
    let Some(selected) = scan.selected() else { return Ok(None) };
    let of_scan = |expression: Arc<dyn PhysicalExpr>| of_scan(expression, between);
    let by = aggregation.group_expr();
    if *aggregation.mode() != AggregateMode::Partial || by.is_empty() || !by.is_single() {
        return Ok(None);
    }
    let wanted = |(expression, _): &(Arc<dyn PhysicalExpr>, String)| {
        let expression = of_scan(Arc::clone(expression)).ok()?;
        let column = expression.downcast_ref::<Column>()?;
        selected.wanted.get(column.index()).filter(|wanted| has_codes(wanted.source))
    };
    let by: Option<Vec<DocumentColumn>> = by.expr().iter().map(|by| wanted(by).cloned()).collect();
    let Some(by) = by else { return Ok(None) };
    let input = aggregation.input_schema();
    if !aggregation.aggr_expr().iter().all(|aggregate| is_served(aggregate, &input)) {
        return Ok(None);
    }
    let mut aggregates = Vec::with_capacity(aggregation.aggr_expr().len());
    for (aggregate, filter) in aggregation.aggr_expr().iter().zip(aggregation.filter_expr()) {
        aggregates.push(AggregateCall {
            function: Arc::clone(aggregate),
            arguments: aggregate.expressions().into_iter().map(of_scan).collect::<Result<_>>()?,
            filter: filter.clone().map(of_scan).transpose()?,
        });
    }
    let used = used_columns(&aggregates);
    let schema = Arc::new(scan.schema().project(&used)?);
    for expression in aggregates.iter_mut().flat_map(AggregateCall::expressions) {
        *expression = reassign_expr_columns(Arc::clone(expression), &schema)?;
    }
    let columns = used.iter().filter_map(|at| selected.wanted.get(*at).cloned()).collect();
    let names: Vec<&str> = by.iter().map(|column| column.name.as_str()).collect();
    let detail = format!("{}, groups=[{}] by code", scan.detail(), names.join(", "));
    let read = DocumentScan { wanted: columns, schema, ..selected.clone() };
    let stage = Arc::new(CodedAggregation { read, by, aggregates, schema: aggregation.schema() });
    let producer = |part| -> PartitionProducer {
        let stage = Arc::clone(&stage);
        Arc::new(move |rows, sink| stage.run(part, rows, sink))
    };
    let producers = (0..selected.parts.len()).map(producer).collect();
    Ok(Some(TableScanExec::new("documents", aggregation.schema(), detail, producers, None, None)))
}

/// Whether the store has a code for each value of a column.
const fn has_codes(content: ColumnSource) -> bool {
    matches!(
        content,
        ColumnSource::SourceName
            | ColumnSource::Keyword(_)
            | ColumnSource::Kept
            | ColumnSource::Standing
            | ColumnSource::Bool(_)
            | ColumnSource::Integer { .. }
    )
}

fn is_served(aggregate: &AggregateFunctionExpr, input: &SchemaRef) -> bool {
    let fixed = |argument: &Arc<dyn PhysicalExpr>| {
        let kind = argument.data_type(input);
        kind.is_ok_and(|kind| kind.primitive_width().is_some() || kind == DataType::Boolean)
    };
    FIXED.contains(&aggregate.fun().name())
        && !aggregate.is_distinct()
        && aggregate.order_bys().is_empty()
        && aggregate.groups_accumulator_supported()
        && aggregate.expressions().iter().all(fixed)
}

/// Rewrites an expression over the columns of a projection as one over those of its input.
fn of_scan(
    expression: Arc<dyn PhysicalExpr>,
    between: &[ProjectionExpr],
) -> Result<Arc<dyn PhysicalExpr>> {
    let through = expression.transform_down(|part| {
        let column = part.downcast_ref::<Column>().map(Column::index);
        Ok(match column.and_then(|column| between.get(column)) {
            Some(of) => Transformed::new(Arc::clone(&of.expr), true, TreeNodeRecursion::Jump),
            None => Transformed::no(part),
        })
    });
    Ok(through?.data)
}

/// The columns of the scan that the aggregates read, ascending.
fn used_columns(aggregates: &[AggregateCall]) -> Vec<usize> {
    let all = aggregates.iter().flat_map(|it| it.arguments.iter().chain(&it.filter));
    let mut used: Vec<usize> = all.flat_map(collect_columns).map(|column| column.index()).collect();
    used.sort_unstable();
    used.dedup();
    used
}
