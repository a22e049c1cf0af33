//! The table `documents` for the engine: says which filters the indexes answer, and makes the scan.

use super::filter::ResolvedPredicate;
use super::predicate::{Predicate, PredicateBuilder};
use super::scan::DocumentScan;
use super::scan::PartitionProducer;
use super::scan::TableScanExec;
use super::schema::{DocumentColumn, DocumentColumns};
use crate::sql::engine::evaluation::check_planning;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use roaring::RoaringTreemap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use store::{StoreError, View};

/// Threads of a scan; each reads a run of blocks.
pub(crate) const PARTITIONS: usize = 2;

/// The table `documents` of one view, or what a snapshot keeps of it.
pub(crate) struct DocumentsTable {
    view: View,
    columns: DocumentColumns,
    within: Option<SnapshotFilter>,
}

/// The documents that a snapshot keeps.
struct SnapshotFilter {
    snapshot: String,
    kept: Arc<RoaringTreemap>,
}

impl DocumentsTable {
    pub(crate) fn new(view: &View) -> Self {
        Self { view: view.clone(), columns: DocumentColumns::of(view), within: None }
    }

    /// The documents that the snapshot of that name keeps; columns are as they are in the view.
    pub(crate) fn kept_in(view: &View, snapshot: &str) -> std::result::Result<Self, StoreError> {
        let (kept, snapshot) = (Arc::new(kept_in(view, snapshot)?), snapshot.to_owned());
        Ok(Self { within: Some(SnapshotFilter { snapshot, kept }), ..Self::new(view) })
    }

    pub(in crate::sql) const fn view(&self) -> &View {
        &self.view
    }

    /// The snapshot whose documents these are.
    pub(in crate::sql) fn snapshot(&self) -> Option<&str> {
        self.within.as_ref().map(|within| within.snapshot.as_str())
    }

    pub(in crate::sql) fn predicates(&self) -> PredicateBuilder<'_> {
        PredicateBuilder::new(&self.view, &self.columns)
    }
}

impl fmt::Debug for DocumentsTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DocumentsTable(commit {})", self.view.commit())
    }
}

#[async_trait]
impl TableProvider for DocumentsTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.columns.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let predicates = self.predicates();
        let support = |filter: &&Expr| match predicates.truth(filter) {
            Some(_) => TableProviderFilterPushDown::Exact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        check_planning()?;
        let predicate = self.predicates().all(filters).ok_or_else(|| {
            DataFusionError::Internal(
                "a filter that the indexes cannot answer was handed to the scan".to_owned(),
            )
        })?;
        let mut test = ResolvedPredicate::resolve(&predicate, &self.view)?;
        if let Some(within) = &self.within {
            test = ResolvedPredicate::And(vec![
                ResolvedPredicate::Within(Arc::clone(&within.kept)),
                test,
            ]);
        }
        let everything = (0..self.columns.columns.len()).collect();
        let projection = projection.unwrap_or(&everything);
        let schema = Arc::new(self.columns.schema.project(projection)?);
        let wanted: Arc<[DocumentColumn]> =
            projection.iter().filter_map(|at| self.columns.columns.get(*at).cloned()).collect();

        let is_single = test.is_single();
        let partitions = if limit.is_some() { 1 } else { PARTITIONS };
        let parts: Arc<[Range<u64>]> = split(test.blocks(self.view.blocks()), partitions).into();
        let selected = DocumentScan {
            view: self.view.clone(),
            test,
            wanted,
            schema: Arc::clone(&schema),
            parts,
        };
        let producer = |blocks: &Range<u64>| -> PartitionProducer {
            let (selected, blocks) = (selected.clone(), blocks.clone());
            Arc::new(move |rows, sink| selected.push(blocks.clone(), limit, rows, sink))
        };
        let producers = selected.parts.iter().map(producer).collect();
        let all = || self.within.as_ref().map_or(self.view.documents(), |of| of.kept.len());
        let rows = (predicate == Predicate::All && limit.is_none()).then(all);
        let mut detail = format!("index={}", explain(filters));
        if let Some(within) = &self.within {
            detail.push_str(&format!(", snapshot={}", within.snapshot));
        }
        if let Some(limit) = limit {
            detail.push_str(&format!(", limit={limit}"));
        }
        let scan = TableScanExec::new("documents", schema, detail, producers, rows, Some("id"));
        let scan = scan.single(is_single);
        Ok(Arc::new(if limit.is_none() { scan.over(selected) } else { scan }))
    }
}

fn explain(filters: &[Expr]) -> String {
    let filters: Vec<String> = filters.iter().map(ToString::to_string).collect();
    if filters.is_empty() { "all".to_owned() } else { filters.join(" AND ") }
}

/// At most `parts` runs of blocks of equal length; one empty run when there are no blocks.
fn split(blocks: Range<u64>, parts: usize) -> Vec<Range<u64>> {
    let all = blocks.end.saturating_sub(blocks.start);
    let len = all.div_ceil(u64::try_from(parts).unwrap_or(1).max(1)).max(1);
    let runs = all.div_ceil(len).max(1);
    let run = |run: u64| blocks.start + run * len..(blocks.start + (run + 1) * len).min(blocks.end);
    (0..runs).map(run).collect()
}

/// The documents that a snapshot keeps.
///
/// # Errors
/// [`StoreError::Unknown`], with those that there are.
pub fn kept_in(view: &View, snapshot: &str) -> Result<RoaringTreemap, StoreError> {
    view.snapshot_kept(&view.expect_snapshot(snapshot)?.name)
}
