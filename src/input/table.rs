//! Rows of a table in Arrow's form to records: which columns are text and id, and the fields of the others.

use super::error::ReadError;
use super::guess;
use super::item::{ReadItem, ReadOptions, byte_len, reject};
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
    id: Option<(usize, String)>,
    others: Vec<usize>,
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
                found: guess::field_names_for_message(names.clone()),
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
            None => Some(guess::vote_text_field(names.clone()).ok_or_else(|| {
                ReadError::NoTextField {
                    path: path.to_path_buf(),
                    found: guess::field_names_for_message(names.clone()),
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
                Some((at, name.clone()))
            }
            None => None,
        };
        let id_column = id.as_ref().map(|(at, _)| *at);
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
            Some((id, _)) => Some(
                cast(batch.column(*id), &DataType::LargeUtf8).map_err(words)?.as_string().clone(),
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
            (Some(ids), Some((_, name))) if ids.is_null(row) => {
                return reject(RejectReason::BadId(name.clone()), origin, bytes, raw_bytes);
            }
            (Some(ids), _) => RecordKey::Given(ids.value(row).to_owned()),
            (None, _) => RecordKey::Position,
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
