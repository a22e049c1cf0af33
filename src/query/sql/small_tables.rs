//! The tables of SQL beside `documents`, made of records of the store: duplicates, sources, commits and others.
//!
//! Short tables are built whole. Duplicates, and the tables of the siblings `rejects`, `removals`, `outputs` and
//! `contamination`, may be long: their rows come in batches.

use super::producer::{Producer, Sink};
use super::removals::{texts_or_null, times};
use super::scan::Scan;
use super::{contamination, outputs, rejects, removals};
use crate::query::error::QueryError;
use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray, UInt32Array, UInt64Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow::record_batch::RecordBatch;
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

type Rows = std::result::Result<(), QueryError>;
type Push = fn(&View, &Wanted<'_>, &mut Sink<'_>) -> Rows;

/// What the engine wants of a scan.
struct Wanted<'a> {
    /// All columns of the table: batches have them all.
    schema: &'a SchemaRef,
    /// Indexes of the columns that the statement uses. Other columns may be left empty where their values are long.
    columns: &'a [usize],
    /// Rows of a batch, at most.
    rows: usize,
}

/// One of the small tables of a view; its rows are read when it is scanned.
pub(in crate::query) struct SmallTable {
    view: View,
    name: &'static str,
    schema: SchemaRef,
    push: Push,
}

pub(in crate::query) fn all(view: &View) -> Vec<SmallTable> {
    let tokens = view.tokenizers().map(|(_, record)| format!("tokens_{}", record.name));
    let counters = ["documents", "kept", "bytes", "kept_bytes"].map(str::to_owned);
    let mut per_source = vec![("name".to_owned(), DataType::Utf8)];
    per_source.extend(counters.into_iter().chain(tokens).map(|name| (name, DataType::Int64)));
    vec![
        SmallTable::new(view, "duplicates", named(&DUPLICATES), duplicates),
        SmallTable::new(view, "sources", per_source, sources),
        SmallTable::new(view, "commits", named(&COMMITS), commits),
        SmallTable::new(view, "removals", named(&removals::COLUMNS), removed),
        SmallTable::new(view, "outputs", named(&outputs::COLUMNS), on_record),
        SmallTable::new(view, "epochs", named(&EPOCHS), epochs),
        SmallTable::new(view, "rejects", named(&rejects::COLUMNS), rejected),
        SmallTable::new(view, "tokenizers", named(&TOKENIZERS), tokenizers),
        SmallTable::new(view, "snapshots", named(&SNAPSHOTS), snapshots),
        SmallTable::new(view, "contamination", named(&contamination::COLUMNS), contaminated),
    ]
}

impl SmallTable {
    fn new(view: &View, name: &'static str, columns: Vec<(String, DataType)>, push: Push) -> Self {
        let nullable = match name {
            "commits" | "removals" => &NULLABLE[..],
            "contamination" => &contamination::NULLABLE,
            "outputs" => &outputs::NULLABLE,
            _ => &[],
        };
        let field = |(column, kind): (String, DataType)| {
            let is_nullable = nullable.contains(&column.as_str());
            Field::new(column, kind, is_nullable)
        };
        let fields: Vec<Field> = columns.into_iter().map(field).collect();
        Self { view: view.clone(), name, schema: Arc::new(Schema::new(fields)), push }
    }

    pub(in crate::query) const fn name(&self) -> &'static str {
        self.name
    }

    pub(in crate::query) fn columns(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

fn named(columns: &[(&str, DataType)]) -> Vec<(String, DataType)> {
    columns.iter().map(|(name, kind)| ((*name).to_owned(), kind.clone())).collect()
}

impl fmt::Debug for SmallTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SmallTable({})", self.name)
    }
}

#[async_trait]
impl TableProvider for SmallTable {
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
        let everything = (0..self.schema.fields().len()).collect();
        let projection = projection.unwrap_or(&everything).clone();
        let projected = Arc::new(self.schema.project(&projection)?);
        let (view, schema, push) = (self.view.clone(), Arc::clone(&self.schema), self.push);
        let limit = limit.unwrap_or(usize::MAX);
        let producer: Producer = Arc::new(move |rows, sink| {
            let mut failed = None;
            let mut left = limit;
            let wanted = Wanted { schema: &schema, columns: &projection, rows };
            push(&view, &wanted, &mut |batch| {
                let batch = batch.slice(0, left.min(batch.num_rows()));
                left -= batch.num_rows();
                match batch.project(&projection) {
                    Ok(batch) => match sink(batch) {
                        ControlFlow::Continue(()) if left > 0 => ControlFlow::Continue(()),
                        _ => ControlFlow::Break(()),
                    },
                    Err(error) => {
                        failed = Some(QueryError::arrow(error));
                        ControlFlow::Break(())
                    }
                }
            })?;
            failed.map_or(Ok(()), Err)
        });
        Ok(Arc::new(Scan::new(self.name, projected, String::new(), vec![producer], None, None)))
    }
}

const DUPLICATES: [(&str, DataType); 7] = [
    ("id", DataType::UInt64),
    ("witness", DataType::UInt64),
    ("kind", DataType::Utf8),
    ("jaccard", DataType::Float64),
    ("containment_removed", DataType::Float64),
    ("containment_witness", DataType::Float64),
    ("commit", DataType::UInt64),
];

fn duplicates(view: &View, wanted: &Wanted<'_>, sink: &mut Sink<'_>) -> Rows {
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

fn sources(view: &View, wanted: &Wanted<'_>, sink: &mut Sink<'_>) -> Rows {
    let all = || view.sources().map(|(_, record)| record);
    let mut arrays: Vec<ArrayRef> = vec![
        texts(all().map(|record| record.name.as_str())),
        counts(all().map(|record| record.documents)),
        counts(all().map(|record| record.kept)),
        counts(all().map(|record| record.bytes)),
        counts(all().map(|record| record.kept_bytes)),
    ];
    for (TokenizerId(tokenizer), _) in view.tokenizers() {
        let of = |tokens: &[(u16, u64)]| {
            tokens.iter().find(|(id, _)| *id == tokenizer).map_or(0, |(_, count)| *count)
        };
        arrays.push(counts(all().map(|record| of(&record.tokens))));
    }
    push(wanted, arrays, sink)
}

/// Columns that have values for removals alone.
const NULLABLE: [&str; 3] = ["reason", "condition", "time"];

const COMMITS: [(&str, DataType); 11] = [
    ("commit", DataType::UInt64),
    ("kind", DataType::Utf8),
    ("subject", DataType::Utf8),
    ("first", DataType::UInt64),
    ("added", DataType::Int64),
    ("kept", DataType::Int64),
    ("changed", DataType::Int64),
    ("rejected", DataType::Int64),
    ("reason", DataType::Utf8),
    ("condition", DataType::Utf8),
    ("time", DataType::Timestamp(TimeUnit::Microsecond, None)),
];

fn commits(view: &View, wanted: &Wanted<'_>, sink: &mut Sink<'_>) -> Rows {
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

fn removed(view: &View, wanted: &Wanted<'_>, sink: &mut Sink<'_>) -> Rows {
    removals::push(view, wanted.schema, wanted.rows, sink)
}

fn on_record(view: &View, wanted: &Wanted<'_>, sink: &mut Sink<'_>) -> Rows {
    outputs::push(view, wanted.schema, wanted.rows, sink)
}

fn contaminated(view: &View, wanted: &Wanted<'_>, sink: &mut Sink<'_>) -> Rows {
    contamination::push(view, wanted.schema, wanted.rows, sink)
}

const EPOCHS: [(&str, DataType); 4] = [
    ("number", DataType::UInt32),
    ("hash", DataType::Utf8),
    ("snapshot", DataType::Utf8),
    ("plan", DataType::Utf8),
];

fn epochs(view: &View, wanted: &Wanted<'_>, sink: &mut Sink<'_>) -> Rows {
    let all = view.epochs()?;
    let arrays = vec![
        numbers(all.iter().map(|record| record.number)),
        texts(all.iter().map(|record| hexadecimal(&record.hash))),
        texts(all.iter().map(|record| &record.snapshot)),
        texts(all.iter().map(|record| &record.plan)),
    ];
    push(wanted, arrays, sink)
}

fn rejected(view: &View, wanted: &Wanted<'_>, sink: &mut Sink<'_>) -> Rows {
    let raw = rejects::COLUMNS.iter().position(|(name, _)| *name == "raw");
    let with_raw = wanted.columns.iter().any(|at| Some(*at) == raw);
    rejects::push(view, wanted.schema, wanted.rows, with_raw, sink)
}

const TOKENIZERS: [(&str, DataType); 7] = [
    ("id", DataType::UInt32),
    ("name", DataType::Utf8),
    ("vocab_size", DataType::UInt32),
    ("hash", DataType::Utf8),
    ("backend", DataType::Utf8),
    ("lineage", DataType::Utf8),
    ("encoded_to", DataType::UInt64),
];

fn tokenizers(view: &View, wanted: &Wanted<'_>, sink: &mut Sink<'_>) -> Rows {
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

const SNAPSHOTS: [(&str, DataType); 7] = [
    ("name", DataType::Utf8),
    ("commit", DataType::UInt64),
    ("generation", DataType::UInt32),
    ("documents", DataType::Int64),
    ("kept", DataType::Int64),
    ("kept_hash", DataType::Utf8),
    ("purged", DataType::Int64),
];

fn snapshots(view: &View, wanted: &Wanted<'_>, sink: &mut Sink<'_>) -> Rows {
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
fn push(wanted: &Wanted<'_>, arrays: Vec<ArrayRef>, sink: &mut Sink<'_>) -> Rows {
    let whole = batch(wanted.schema, arrays)?;
    if whole.num_rows() <= wanted.rows {
        // The sink's answer does not matter: this is the last batch.
        let _ = sink(whole);
        return Ok(());
    }
    for start in (0..whole.num_rows()).step_by(wanted.rows) {
        let slice = whole.slice(start, wanted.rows.min(whole.num_rows() - start));
        let all = UInt64Array::from_iter_values((0..).take(slice.num_rows()));
        if sink(take_record_batch(&slice, &all).map_err(QueryError::arrow)?).is_break() {
            break;
        }
    }
    Ok(())
}

fn batch(
    schema: &SchemaRef,
    arrays: Vec<ArrayRef>,
) -> std::result::Result<RecordBatch, QueryError> {
    RecordBatch::try_new(Arc::clone(schema), arrays).map_err(QueryError::arrow)
}

fn ids(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

fn counts(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(
        values.map(|value| i64::try_from(value).unwrap_or(i64::MAX)),
    ))
}

fn numbers(values: impl Iterator<Item = u32>) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(values))
}

fn texts<T: AsRef<str>>(values: impl Iterator<Item = T>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_of_a_table_hold_their_own_rows_alone() {
        let field = Field::new("id", DataType::UInt64, false);
        let (schema, columns) = (Arc::new(Schema::new(vec![field])), [0]);
        let wanted = Wanted { schema: &schema, columns: &columns, rows: 400 };
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
