//! What EXPLAIN says of each scan of `documents`, in words: indexes, filters, columns and ids, before the engine's plan.

use crate::sql::documents::filter::ResolvedPredicate;
use crate::sql::documents::predicate::Predicate;
use crate::sql::documents::table::DocumentsTable;
use crate::sql::error::SqlError;
use crate::sql::faults::shown;
use arrow::array::{ArrayRef, StringArray};
use arrow::record_batch::RecordBatch;
use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, LogicalPlan, Operator, TableScan};
use datafusion::sql::unparser::Unparser;
use datafusion::sql::unparser::dialect::Dialect;
use model::BLOCK_SIZE;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The rows about scans of `documents` that come before those of the engine; none where the plan is not of an EXPLAIN,
/// or scans no documents.
pub(super) fn scans_explained(plan: &LogicalPlan) -> Result<Option<RecordBatch>, SqlError> {
    let (explained, schema) = match plan {
        LogicalPlan::Explain(explain) if explain.logical_optimization_succeeded => {
            (&explain.plan, &explain.schema)
        }
        LogicalPlan::Analyze(analyze) => (&analyze.input, &analyze.schema),
        _ => return Ok(None),
    };
    let (mut texts, mut filters) = (Vec::new(), Vec::new());
    let walked = explained.apply_with_subqueries(|node| {
        match node {
            LogicalPlan::Filter(filter) => {
                if let LogicalPlan::TableScan(scan) = filter.input.as_ref() {
                    filters.push((std::ptr::from_ref(scan), filter.predicate.clone()));
                }
            }
            LogicalPlan::TableScan(scan) => {
                let table = source_as_provider(&scan.source)?;
                if let Some(documents) = table.downcast_ref::<DocumentsTable>() {
                    let of_scan = filters.iter().find(|(of, _)| std::ptr::eq(*of, scan));
                    let filter = of_scan.map(|(_, predicate)| predicate);
                    texts.push(scan_explained(documents, scan, filter)?);
                }
            }
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map_err(SqlError::run)?;
    if texts.is_empty() {
        return Ok(None);
    }
    let names: ArrayRef = Arc::new(StringArray::from(vec!["documents"; texts.len()]));
    let columns = vec![names, Arc::new(StringArray::from(texts)) as ArrayRef];
    let schema = Arc::new(schema.as_arrow().clone());
    RecordBatch::try_new(schema, columns).map(Some).map_err(SqlError::arrow)
}

/// A line for what the indexes answer, what rows are tested by, the columns that are read, and the run of ids.
fn scan_explained(
    documents: &DocumentsTable,
    scan: &TableScan,
    filter: Option<&Expr>,
) -> Result<String, SqlError> {
    let (view, predicates) = (documents.view(), documents.predicates());
    let answered = scan.filters.iter().map(|filter| {
        let mut indexes = BTreeSet::new();
        predicates.truth(filter).iter().for_each(|part| add_indexes(part, &mut indexes));
        let by: Vec<&str> = indexes.into_iter().collect();
        let by = if by.is_empty() { String::new() } else { format!(" (by {})", by.join(", ")) };
        format!("{}{by}", spelled(filter))
    });
    let answered: Vec<String> = answered.collect();
    let tested: Vec<String> =
        filter.map(split_conjunction).into_iter().flatten().map(spelled).collect();
    let columns: Vec<&str> =
        scan.projected_schema.fields().iter().map(|field| field.name().as_str()).collect();
    let test =
        ResolvedPredicate::resolve(&predicates.all(&scan.filters).unwrap_or(Predicate::All), view)?;
    let (all, blocks) = (view.blocks(), test.blocks(view.blocks()));
    let end = (blocks.end * BLOCK_SIZE).min(view.documents());
    let mut lines = vec![
        match answered.as_slice() {
            [] => "index    none: every document is taken".to_owned(),
            answered => format!("index    {}", answered.join(" AND ")),
        },
        match tested.as_slice() {
            [] => "filter   none: the index answers exactly".to_owned(),
            tested => format!("filter   {}, tested on each row read", tested.join(" AND ")),
        },
        match columns.as_slice() {
            [] => "columns  none: rows are counted".to_owned(),
            columns => format!("columns  {}", columns.join(", ")),
        },
        match blocks.is_empty() || end == 0 {
            true => "ids      none".to_owned(),
            false => format!(
                "ids      {} to {}: {} of {} blocks",
                blocks.start * BLOCK_SIZE,
                end - 1,
                blocks.end - blocks.start,
                all.end - all.start
            ),
        },
    ];
    lines.extend(documents.snapshot().map(|name| format!("within   the snapshot {name}")));
    lines.extend(scan.fetch.map(|rows| format!("limit    {rows}")));
    Ok(lines.join("\n"))
}

/// The indexes that answer a predicate.
fn add_indexes(predicate: &Predicate, found: &mut BTreeSet<&'static str>) {
    match predicate {
        Predicate::All | Predicate::Nothing => {}
        Predicate::And(parts) | Predicate::Or(parts) => {
            parts.iter().for_each(|part| add_indexes(part, found));
        }
        Predicate::NotTrue(inner) => add_indexes(inner, found),
        Predicate::Id(_) => drop(found.insert("id")),
        Predicate::Key { .. } => drop(found.insert("key")),
        Predicate::Number { .. } | Predicate::Present { .. } => drop(found.insert("column")),
        Predicate::Value { .. } => drop(found.insert("bitmap")),
    }
}

/// An expression as a user writes it, on one line.
fn spelled(expression: &Expr) -> String {
    let plain = expression.clone().transform(|part| {
        Ok(match part {
            Expr::Column(column) => {
                Transformed::yes(Expr::Column(Column::new_unqualified(column.name)))
            }
            other => Transformed::no(other),
        })
    });
    let written = plain
        .and_then(|plain| Unparser::new(&PlainNames).with_pretty(true).expr_to_sql(&plain.data));
    let text = match written {
        Ok(written) => written.to_string(),
        Err(_) => expression.human_display().to_string(),
    };
    let text = shown(&text.replace('\n', " "));
    // Beside other conditions, alternatives need their brackets.
    match expression {
        Expr::BinaryExpr(binary) if binary.op == Operator::Or => format!("({text})"),
        _ => text,
    }
}

/// Names stand in quotes only where SQL needs them.
struct PlainNames;

impl Dialect for PlainNames {
    fn identifier_quote_style(&self, name: &str) -> Option<char> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        (!name.chars().all(is_plain)).then_some('"')
    }
}
