//! The table `documents` for the engine: which filters are ours, and the scan that answers them.

use super::columns::Filler;
use super::evaluate::{StoredBlock, Test};
use super::predicate::{Predicate, Translator};
use super::scan::{Producer, Scan, Sink};
use super::schema::{DocumentColumn, DocumentColumns};
use crate::query::error::QueryError;
use crate::store::View;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use roaring::RoaringBitmap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Threads that scan; each takes a run of blocks.
pub(in crate::query) const PARTITIONS: usize = 2;

/// The table `documents` of one view.
pub(in crate::query) struct Documents {
    view: View,
    columns: DocumentColumns,
}

impl Documents {
    pub(in crate::query) fn new(view: &View) -> Self {
        Self { view: view.clone(), columns: DocumentColumns::of(view) }
    }

    fn translator(&self) -> Translator<'_> {
        Translator::new(&self.view, &self.columns)
    }
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Documents(commit {})", self.view.commit())
    }
}

#[async_trait]
impl TableProvider for Documents {
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
        let translator = self.translator();
        let support = |filter: &&Expr| match translator.truth(filter) {
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
        let predicate = self.translator().all(filters).ok_or_else(|| {
            DataFusionError::Internal(
                "a filter that the indexes cannot answer was handed to the scan".to_owned(),
            )
        })?;
        let test = Test::in_view(&predicate, &self.view)?;
        let everything = (0..self.columns.columns.len()).collect();
        let projection = projection.unwrap_or(&everything);
        let schema = Arc::new(self.columns.schema.project(projection)?);
        let wanted: Arc<[DocumentColumn]> =
            projection.iter().filter_map(|at| self.columns.columns.get(*at).cloned()).collect();

        let partitions = if limit.is_some() { 1 } else { PARTITIONS };
        let producer = |blocks: Range<u64>| -> Producer {
            let (view, test) = (self.view.clone(), test.clone());
            let (wanted, schema) = (Arc::clone(&wanted), Arc::clone(&schema));
            Arc::new(move |rows, sink| {
                Part { view: &view, test: &test, wanted: &wanted, schema: &schema }.push(
                    blocks.clone(),
                    limit,
                    rows,
                    sink,
                )
            })
        };
        let producers = split(self.view.blocks(), partitions).into_iter().map(producer).collect();
        let rows = (predicate == Predicate::All && limit.is_none()).then(|| self.view.documents());
        let mut detail = format!("index={}", explain(filters));
        if let Some(limit) = limit {
            detail.push_str(&format!(", limit={limit}"));
        }
        Ok(Arc::new(Scan::new("documents", schema, detail, producers, rows, Some("id"))))
    }
}

fn explain(filters: &[Expr]) -> String {
    let filters: Vec<String> = filters.iter().map(ToString::to_string).collect();
    if filters.is_empty() { "all".to_owned() } else { filters.join(" AND ") }
}

/// Runs of blocks of equal length, at most `parts`; one, empty, when there are no blocks.
fn split(blocks: Range<u64>, parts: usize) -> Vec<Range<u64>> {
    let len = blocks.end.div_ceil(u64::try_from(parts).unwrap_or(1).max(1)).max(1);
    let runs = blocks.end.div_ceil(len).max(1);
    (0..runs).map(|run| run * len..((run + 1) * len).min(blocks.end)).collect()
}

/// The scan of one run of blocks.
struct Part<'a> {
    view: &'a View,
    test: &'a Test,
    wanted: &'a [DocumentColumn],
    schema: &'a SchemaRef,
}

impl Part<'_> {
    fn push(
        &self,
        blocks: Range<u64>,
        limit: Option<usize>,
        rows: usize,
        sink: &mut Sink<'_>,
    ) -> std::result::Result<(), QueryError> {
        let mut left = limit.map_or(u64::MAX, |limit| u64::try_from(limit).unwrap_or(u64::MAX));
        let mut filler = Filler::new(self.view, self.wanted, Arc::clone(self.schema), rows)?;
        for number in blocks {
            // Asks whether anyone still listens: a run of blocks may yield no batch for long.
            if left == 0 || sink(RecordBatch::new_empty(Arc::clone(self.schema))).is_break() {
                break;
            }
            let block = StoredBlock::new(self.view, number);
            let mut slots = self.test.select(&block)?;
            if slots.len() > left {
                slots = slots.iter().take(usize::try_from(left).unwrap_or(usize::MAX)).collect();
            }
            left -= slots.len();
            if slots.is_empty() {
                continue;
            }
            let go_on = if self.wanted.is_empty() {
                sink(self.counted(slots.len())?).is_continue()
            } else {
                self.rows(&mut filler, block, &slots, sink)?
            };
            if !go_on {
                break;
            }
        }
        Ok(())
    }

    /// A batch without columns.
    fn counted(&self, rows: u64) -> std::result::Result<RecordBatch, QueryError> {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(self.schema), Vec::new(), &options)
            .map_err(QueryError::arrow)
    }

    fn rows<'v>(
        &self,
        filler: &mut Filler<'v>,
        block: StoredBlock<'v>,
        slots: &RoaringBitmap,
        sink: &mut Sink<'_>,
    ) -> std::result::Result<bool, QueryError> {
        let open = filler.open(block)?;
        let slots: Vec<u16> = slots.iter().filter_map(|slot| u16::try_from(slot).ok()).collect();
        let mut rest = slots.as_slice();
        while !rest.is_empty() {
            let taken = filler.take(&open, rest)?;
            let (now, later) = rest.split_at_checked(taken).unwrap_or((rest, &[]));
            if sink(filler.batch(&open, now)?).is_break() {
                return Ok(false);
            }
            rest = later;
        }
        Ok(true)
    }
}
