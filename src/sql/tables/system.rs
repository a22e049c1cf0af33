//! The tables of SQL beside `documents`, made of records of the store: duplicates, sources, commits and others.
//!
//! Short tables are built whole. Duplicates and `long_tables` may be long: their rows come in batches.

use super::arrays::{batch, counts, ids, numbers, texts, texts_or_null, times};
use super::specs::{ColumnSpec, TableSpec};
use super::{long_tables, specs};
use crate::sql::documents::scan::{
    BatchSink, PartitionProducer, SystemTableRequest, TableScanExec,
};
use crate::sql::engine::evaluation::check_planning;
use crate::sql::error::SqlError;
use arrow::array::{ArrayRef, Float64Array, UInt64Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use model::{CommitSeq, DocId, Match, TokenizerId, hexadecimal};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use store::View;

type Rows = std::result::Result<(), SqlError>;
pub(in crate::sql) type PushRows = fn(&View, &SystemTableRequest<'_>, &mut BatchSink<'_>) -> Rows;

/// All of them with what gives their rows, in the order of SHOW TABLES.
pub(in crate::sql) const TABLES: [(TableSpec, PushRows); 10] = [
    (specs::DUPLICATES, duplicates),
    (specs::SOURCES, sources),
    (specs::COMMITS, commits),
    (specs::REMOVALS, long_tables::removals),
    (specs::OUTPUTS, long_tables::outputs),
    (specs::EPOCHS, epochs),
    (specs::REJECTS, long_tables::rejects),
    (specs::TOKENIZERS, tokenizers),
    (specs::SNAPSHOTS, snapshots),
    (specs::CONTAMINATION, long_tables::contamination),
];

/// One of the small tables of a view; its rows are read when it is scanned.
pub(crate) struct SystemTable {
    view: View,
    name: &'static str,
    schema: SchemaRef,
    push: PushRows,
}

/// The names of all tables, in the order of SHOW TABLES.
pub(crate) fn table_names() -> impl Iterator<Item = &'static str> {
    std::iter::once("documents").chain(TABLES.iter().map(|(spec, _)| spec.name))
}

/// All small tables of a view.
pub(crate) fn all(view: &View) -> impl Iterator<Item = SystemTable> {
    TABLES.into_iter().map(|(spec, push)| SystemTable::new(view, &spec, push))
}

impl SystemTable {
    fn new(view: &View, spec: &TableSpec, push: PushRows) -> Self {
        let mut fields: Vec<Field> = spec.columns.iter().map(ColumnSpec::field).collect();
        if spec.name == specs::SOURCES.name {
            let counted =
                view.own_tokenizers().map(|(_, record)| format!("tokens_{}", record.name));
            fields.extend(counted.map(|name| Field::new(name, DataType::Int64, false)));
        }
        Self { view: view.clone(), name: spec.name, schema: Arc::new(Schema::new(fields)), push }
    }

    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn columns(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl fmt::Debug for SystemTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemTable({})", self.name)
    }
}

#[async_trait]
impl TableProvider for SystemTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        check_planning()?;
        let everything = (0..self.schema.fields().len()).collect();
        let projection = projection.unwrap_or(&everything).clone();
        let projected = Arc::new(self.schema.project(&projection)?);
        let (view, schema, push) = (self.view.clone(), Arc::clone(&self.schema), self.push);
        let limit = limit.unwrap_or(usize::MAX);
        let producer: PartitionProducer = Arc::new(move |rows, sink| {
            let mut failed = None;
            let mut left = limit;
            let wanted = SystemTableRequest { schema: &schema, columns: &projection, rows };
            push(&view, &wanted, &mut |batch| {
                let batch = batch.slice(0, left.min(batch.num_rows()));
                left -= batch.num_rows();
                match batch.project(&projection) {
                    Ok(batch) => match sink(batch) {
                        ControlFlow::Continue(()) if left > 0 => ControlFlow::Continue(()),
                        _ => ControlFlow::Break(()),
                    },
                    Err(error) => {
                        failed = Some(SqlError::arrow(error));
                        ControlFlow::Break(())
                    }
                }
            })?;
            failed.map_or(Ok(()), Err)
        });
        Ok(Arc::new(TableScanExec::new(
            self.name,
            projected,
            String::new(),
            vec![producer],
            None,
            None,
        )))
    }
}

fn duplicates(view: &View, wanted: &SystemTableRequest<'_>, sink: &mut BatchSink<'_>) -> Rows {
    let mut waiting: Vec<(DocId, CommitSeq, Match)> = Vec::new();
    for matched in view.matched()? {
        let (removed, commit, found) = matched?;
        if !found.is_duplicate() {
            continue;
        }
        waiting.push((removed, commit, found));
        if waiting.len() == wanted.rows {
            if sink(batch(wanted.schema, duplicate_columns(&waiting))?).is_break() {
                return Ok(());
            }
            waiting.clear();
        }
    }
    push(wanted, duplicate_columns(&waiting), sink)
}

fn duplicate_columns(rows: &[(DocId, CommitSeq, Match)]) -> Vec<ArrayRef> {
    let found = || rows.iter().map(|(_, _, found)| found);
    vec![
        ids(rows.iter().map(|(removed, _, _)| removed.0)),
        ids(found().map(|found| found.witness.0)),
        texts(found().map(|found| found.kind.name())),
        Arc::new(Float64Array::from_iter_values(found().map(Match::jaccard))),
        Arc::new(Float64Array::from_iter_values(found().map(Match::containment_removed))),
        Arc::new(Float64Array::from_iter_values(found().map(Match::containment_witness))),
        ids(rows.iter().map(|(_, commit, _)| commit.0)),
    ]
}

fn sources(view: &View, wanted: &SystemTableRequest<'_>, sink: &mut BatchSink<'_>) -> Rows {
    let all = || view.sources().map(|(_, record)| record);
    let mut arrays: Vec<ArrayRef> = vec![
        texts(all().map(|record| record.name.as_str())),
        counts(all().map(|record| record.documents)),
        counts(all().map(|record| record.kept)),
        counts(all().map(|record| record.bytes)),
        counts(all().map(|record| record.kept_bytes)),
    ];
    for (TokenizerId(tokenizer), _) in view.own_tokenizers() {
        let of = |tokens: &[(u16, u64)]| {
            tokens.iter().find(|(id, _)| *id == tokenizer).map_or(0, |(_, count)| *count)
        };
        arrays.push(counts(all().map(|record| of(&record.tokens))));
    }
    push(wanted, arrays, sink)
}

fn commits(view: &View, wanted: &SystemTableRequest<'_>, sink: &mut BatchSink<'_>) -> Rows {
    let all = view.commits()?;
    let rows = || all.iter().map(|(_, record)| record);
    let arrays = vec![
        ids(all.iter().map(|(commit, _)| commit.0)),
        texts(rows().map(|record| record.kind.as_str())),
        texts(rows().map(|record| record.subject.as_str())),
        ids(rows().map(|record| record.first)),
        counts(rows().map(|record| record.added)),
        counts(rows().map(|record| record.kept)),
        counts(rows().map(|record| record.changed)),
        counts(rows().map(|record| record.rejected)),
        texts_or_null(rows().map(|record| record.reason.as_deref())),
        texts_or_null(rows().map(|record| record.condition.as_deref())),
        times(rows().map(|record| record.time)),
    ];
    push(wanted, arrays, sink)
}

fn epochs(view: &View, wanted: &SystemTableRequest<'_>, sink: &mut BatchSink<'_>) -> Rows {
    let all = view.epochs()?;
    let arrays = vec![
        numbers(all.iter().map(|record| record.number)),
        texts(all.iter().map(|record| hexadecimal(&record.hash))),
        texts(all.iter().map(|record| &record.snapshot)),
        texts(all.iter().map(|record| &record.plan)),
    ];
    push(wanted, arrays, sink)
}

fn tokenizers(view: &View, wanted: &SystemTableRequest<'_>, sink: &mut BatchSink<'_>) -> Rows {
    let rows = || view.tokenizers().map(|(_, record)| record);
    let arrays = vec![
        numbers(view.tokenizers().map(|(id, _)| u32::from(id.0))),
        texts(rows().map(|record| &record.name)),
        numbers(rows().map(|record| record.vocab_size)),
        texts(rows().map(|record| hexadecimal(&record.hash))),
        texts(rows().map(|record| &record.backend)),
        texts(rows().map(|record| &record.lineage)),
        // A complete tokenizer's bound lies beyond every document that may come.
        ids(rows().map(|record| record.encoded_to.min(view.documents()))),
    ];
    push(wanted, arrays, sink)
}

fn snapshots(view: &View, wanted: &SystemTableRequest<'_>, sink: &mut BatchSink<'_>) -> Rows {
    let all = view.snapshots()?;
    let arrays = vec![
        texts(all.iter().map(|record| &record.name)),
        ids(all.iter().map(|record| record.commit)),
        numbers(all.iter().map(|record| record.generation)),
        counts(all.iter().map(|record| record.documents)),
        counts(all.iter().map(|record| record.kept)),
        texts(all.iter().map(|record| hexadecimal(&record.kept_hash))),
        counts(all.iter().map(|record| record.purged)),
    ];
    push(wanted, arrays, sink)
}

/// Pushes a table that is made whole. A batch of a longer table is a copy: of a slice, the engine would count the
/// whole.
fn push(wanted: &SystemTableRequest<'_>, arrays: Vec<ArrayRef>, sink: &mut BatchSink<'_>) -> Rows {
    let whole = batch(wanted.schema, arrays)?;
    if whole.num_rows() <= wanted.rows {
        // The sink's answer does not matter: this is the last batch.
        let _ = sink(whole);
        return Ok(());
    }
    for start in (0..whole.num_rows()).step_by(wanted.rows) {
        let slice = whole.slice(start, wanted.rows.min(whole.num_rows() - start));
        let all = UInt64Array::from_iter_values((0..).take(slice.num_rows()));
        if sink(take_record_batch(&slice, &all).map_err(SqlError::arrow)?).is_break() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::record_batch::RecordBatch;

    #[test]
    fn batches_of_a_table_hold_their_own_rows_alone() {
        let field = Field::new("id", DataType::UInt64, false);
        let (schema, columns) = (Arc::new(Schema::new(vec![field])), [0]);
        let wanted = SystemTableRequest { schema: &schema, columns: &columns, rows: 400 };
        let mut given: Vec<RecordBatch> = Vec::new();
        push(&wanted, vec![ids(0..1000)], &mut |batch| {
            given.push(batch);
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(given.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [400, 400, 200]);
        let values = given.iter().flat_map(|batch| {
            let ids = batch.column(0).as_any().downcast_ref::<UInt64Array>().unwrap();
            ids.values().to_vec()
        });
        assert!(values.eq(0..1000));
        assert!(given.iter().all(|batch| batch.get_array_memory_size() < 1000 * 8));
    }
}
