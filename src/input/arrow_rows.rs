//! Rows of a table in Arrow's form to records: which columns are text and id, and the fields of the others.
//!
//! Record batches as records: one batch is held, and as many of its rows as records as memory should hold.

use super::error::ReadError;
use super::item::{ReadItem, ReadOptions, byte_len, reject};
use super::{keys, roles};
use crate::model::{Origin, ReadRecord, RecordKey, RejectReason};
use arrow::array::{Array, AsArray, GenericByteArray, LargeStringArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, LargeBinaryType, Schema};
use arrow::json::writer::{LineDelimited, WriterBuilder};
use std::path::Path;

/// The columns of a table by what they are for.
pub(super) struct Columns {
    /// None when records stay whole.
    text: Option<(usize, String)>,
    id: Option<IdColumn>,
    others: Vec<usize>,
}

/// The column that identifies records.
struct IdColumn {
    at: usize,
    name: String,
    is_number: bool,
}

/// Rows as they become records, those before `next` given.
pub(super) struct ArrowRows {
    text: Option<GenericByteArray<LargeBinaryType>>,
    id: Option<LargeStringArray>,
    metadata: Vec<String>,
    next: usize,
}

impl Columns {
    /// The columns of `schema` that the options name; the text column is guessed when they name none.
    ///
    /// # Errors
    /// [`ReadError::NoTextField`], [`ReadError::NoColumn`] or [`ReadError::ColumnType`], with `path` as the table's
    /// name.
    pub(super) fn of(
        schema: &Schema,
        path: &Path,
        options: &ReadOptions,
    ) -> Result<Self, ReadError> {
        let names = schema.fields().iter().map(|field| field.name().as_str());
        let find = |column: &str| {
            schema.index_of(column).map_err(|_| ReadError::NoColumn {
                path: path.to_path_buf(),
                column: column.to_owned(),
                found: roles::field_names_for_message(names.clone()),
            })
        };
        let kind = |at: usize| value_type(schema.field(at).data_type());
        let wrong = |at: usize, needed| ReadError::ColumnType {
            path: path.to_path_buf(),
            column: schema.field(at).name().clone(),
            kind: schema.field(at).data_type().to_string(),
            needed,
        };
        let text_name = match &options.text_field {
            _ if options.whole => None,
            Some(name) => Some(name.as_str()),
            None => Some(roles::vote_text_field(names.clone()).ok_or_else(|| {
                ReadError::NoTextField {
                    path: path.to_path_buf(),
                    found: roles::field_names_for_message(names.clone()),
                }
            })?),
        };
        let text = match text_name {
            Some(name) => {
                let at = find(name)?;
                if !kind(at).is_string() && !kind(at).is_binary() {
                    return Err(wrong(at, "a text column must hold strings"));
                }
                Some((at, name.to_owned()))
            }
            None => None,
        };
        let id = match &options.id_field {
            Some(name) => {
                let at = find(name)?;
                if !kind(at).is_string() && !kind(at).is_numeric() {
                    return Err(wrong(at, "an id column must hold strings or numbers"));
                }
                Some(IdColumn { at, name: name.clone(), is_number: kind(at).is_numeric() })
            }
            None => None,
        };
        let id_column = id.as_ref().map(|id| id.at);
        let text_column = text.as_ref().map(|(at, _)| *at);
        let others = (0..schema.fields().len())
            .filter(|at| Some(*at) != text_column && Some(*at) != id_column);
        let others = others.collect();
        Ok(Self { text, id, others })
    }
}

impl ArrowRows {
    /// The rows of a batch; an error says why they cannot be kept as JSON.
    pub(super) fn new(batch: &RecordBatch, columns: &Columns) -> Result<Self, String> {
        let words = |error: arrow::error::ArrowError| error.to_string();
        let text = match &columns.text {
            Some((text, _)) => {
                let text = cast(batch.column(*text), &DataType::LargeBinary).map_err(words)?;
                Some(text.as_binary().clone())
            }
            None => None,
        };
        let id = match &columns.id {
            Some(IdColumn { at, .. }) => Some(
                cast(batch.column(*at), &DataType::LargeUtf8).map_err(words)?.as_string().clone(),
            ),
            None => None,
        };
        let metadata = if columns.others.is_empty() {
            vec!["{}".to_owned(); batch.num_rows()]
        } else {
            let others = batch.project(&columns.others).map_err(words)?;
            let mut writer = WriterBuilder::new().build::<_, LineDelimited>(Vec::new());
            writer.write(&others).map_err(words)?;
            writer.finish().map_err(words)?;
            let lines =
                String::from_utf8(writer.into_inner()).map_err(|error| error.to_string())?;
            lines.lines().map(str::to_owned).collect()
        };
        if metadata.len() != batch.num_rows() {
            return Err(format!(
                "{} rows but {} of their fields",
                batch.num_rows(),
                metadata.len()
            ));
        }
        Ok(Self { text, id, metadata, next: 0 })
    }

    /// Bytes of their texts and fields, asked before any was given.
    pub(super) fn bytes(&self) -> u64 {
        // A slice of a batch shares the buffer of the whole: what counts is between its first and last place.
        let places = self.text.as_ref().map(|text| text.value_offsets());
        let text = places.and_then(|at| Some(at.last()?.abs_diff(*at.first()?))).unwrap_or(0);
        text + self.metadata.iter().map(|fields| byte_len(fields.len())).sum::<u64>()
    }

    /// Whether all were given.
    pub(super) fn is_empty(&self) -> bool {
        self.next >= self.metadata.len()
    }

    /// The next row, of which there must be one.
    pub(super) fn take(
        &mut self,
        columns: &Columns,
        max_doc_bytes: u64,
        origin: Origin,
    ) -> ReadItem {
        let row = self.next;
        self.next += 1;
        let metadata = self.metadata.get_mut(row).map(std::mem::take).unwrap_or_default();
        let bytes = match (&self.text, &columns.text) {
            (Some(text), Some((_, name))) if text.is_null(row) => {
                let reason = RejectReason::NoText(name.clone());
                return reject(reason, origin, metadata.as_bytes(), byte_len(metadata.len()));
            }
            (Some(text), _) => text.value(row),
            (None, _) => &[],
        };
        let raw_bytes = byte_len(bytes.len());
        if raw_bytes > max_doc_bytes {
            let reason = RejectReason::TooLong { bytes: raw_bytes, limit: max_doc_bytes };
            return reject(reason, origin, bytes, raw_bytes);
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(error) => {
                let reason = RejectReason::NotUtf8(byte_len(error.valid_up_to()));
                return reject(reason, origin, bytes, raw_bytes);
            }
        };
        let key = match (&self.id, &columns.id) {
            (Some(ids), Some(IdColumn { name, is_number, .. })) => {
                let value = (!ids.is_null(row)).then(|| ids.value(row));
                let of = if *is_number { keys::of_number } else { keys::of_text };
                match value.and_then(of) {
                    Some(key) => key,
                    None => {
                        let reason = RejectReason::BadId(name.clone());
                        return reject(reason, origin, bytes, raw_bytes);
                    }
                }
            }
            _ => RecordKey::Position,
        };
        ReadItem::Record(ReadRecord { key, source: None, text, metadata, origin })
    }
}

fn value_type(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// Rows that are made into records at a time, at first and at most. How long they come to be is known only once
/// they are made, so more are made only when those before were short.
const ROWS: (u64, u64) = (32, 8192);
/// Bytes of rows made into records that are aimed at.
const BYTES: u64 = 16 << 20;

/// Who gives record batches.
pub(super) trait BatchReader {
    /// The next batch, none at the end. `origin` is where its first row stands.
    fn next_batch(&mut self, origin: &Origin) -> Result<Option<RecordBatch>, ReadError>;
}

/// The rows of batches, one after the other.
pub(super) struct BatchRows<S> {
    supply: S,
    held: Option<OpenBatch>,
    /// Rows that are made into records next.
    rows_next: u64,
}

/// A record batch whose rows become records.
struct OpenBatch {
    batch: RecordBatch,
    columns: Columns,
    /// Its rows that were made into records.
    made: usize,
    /// Those of them that are not all given.
    rows: Option<ArrowRows>,
}

impl<S: BatchReader> BatchRows<S> {
    pub(super) const fn new(supply: S) -> Self {
        Self { supply, held: None, rows_next: ROWS.0 }
    }

    pub(super) const fn supply(&self) -> &S {
        &self.supply
    }

    pub(super) fn next(
        &mut self,
        options: &ReadOptions,
        origin: Origin,
    ) -> Result<Option<ReadItem>, ReadError> {
        loop {
            let Some(held) = &mut self.held else {
                let Some(batch) = self.supply.next_batch(&origin)? else { return Ok(None) };
                // Whoever gives batches may give some that do not have the columns that were promised.
                let columns = Columns::of(&batch.schema(), &origin.path, options)?;
                self.held = Some(OpenBatch { batch, columns, made: 0, rows: None });
                continue;
            };
            if let Some(rows) = held.rows.as_mut().filter(|rows| !rows.is_empty()) {
                return Ok(Some(rows.take(&held.columns, options.max_doc_bytes, origin)));
            }
            held.rows = None;
            let left = held.batch.num_rows().saturating_sub(held.made);
            if left == 0 {
                self.held = None;
                continue;
            }
            let count = left.min(usize::try_from(self.rows_next).unwrap_or(left));
            let slice = held.batch.slice(held.made, count);
            held.made += count;
            let rows = ArrowRows::new(&slice, &held.columns).map_err(|what| ReadError::Rows {
                path: origin.path.to_path_buf(),
                row: origin.number,
                what,
            })?;
            let average = (rows.bytes() / byte_len(count).max(1)).max(1);
            let (_, most) = ROWS;
            self.rows_next = (BYTES / average).clamp(1, most.min(self.rows_next.saturating_mul(2)));
            held.rows = Some(rows);
        }
    }
}
