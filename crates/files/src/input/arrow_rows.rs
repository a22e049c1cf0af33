//! Makes records of the rows of Arrow record batches, by the columns of text and id and those that are kept as fields.
//!
//! One batch is held, and as many of its rows as records as memory should hold.
//!
//! One batch is held, and as many of its rows as records as memory should hold.

use super::error::{ReadError, field_names_for_message};
use super::item::{ReadItem, ReadOptions, byte_len, reject};
use super::text_field::guess_text_field;
use super::{arrow_json, arrow_types, keys};
use arrow::array::{Array, ArrayRef, AsArray, GenericByteArray, LargeStringArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, LargeBinaryType, Schema, SchemaRef};
use model::near_names::UnknownName;
use model::{
    NotFinite, ReadRecord, RecordKey, RecordOrigin, RejectReason, hexadecimal, json_string,
    with_members, without_not_finite,
};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// The columns of a table by what they are for.
pub(super) struct RecordColumns {
    /// None when records stay whole.
    text: Option<TextColumn>,
    id: Option<IdColumn>,
    /// The fields, in the order of the table.
    others: Vec<usize>,
    /// The schema of the fields.
    schema: SchemaRef,
    /// Columns that are left, since their values have no form in JSON.
    left: Vec<String>,
}

/// The column of the texts.
struct TextColumn {
    at: usize,
    name: String,
    /// Whether its texts are JSON: each spells a text, or null.
    is_json: bool,
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

impl RecordColumns {
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
                unknown: UnknownName::new("column", column, names.clone()),
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
            None => {
                let holds = |kind: &DataType| kind.is_string() || kind.is_binary();
                let fields = schema.fields().iter();
                let fields = fields
                    .map(|field| (field.name().as_str(), holds(value_type(field.data_type()))));
                let guess = guess_text_field(fields);
                Some(guess.ok_or_else(|| ReadError::NoTextField {
                    path: path.to_path_buf(),
                    record: None,
                    found: field_names_for_message(names.clone()),
                })?)
            }
        };
        let text = match text_name {
            Some(name) => {
                let at = find(name)?;
                if !kind(at).is_string() && !kind(at).is_binary() {
                    return Err(wrong(at, "a text column must hold strings"));
                }
                let is_json = arrow_json::is_json(schema.field(at));
                Some(TextColumn { at, name: name.to_owned(), is_json })
            }
            None => None,
        };
        let id = match &options.id_field {
            Some(name) => {
                let at = find(name)?;
                if !kind(at).is_string() && !kind(at).is_numeric() && !kind(at).is_binary() {
                    return Err(wrong(at, "an id column must hold strings or numbers"));
                }
                Some(IdColumn { at, name: name.clone(), is_number: kind(at).is_numeric() })
            }
            None => None,
        };
        // Kept verbatim, an id is a field too.
        let id_alone = id.as_ref().filter(|_| !options.verbatim).map(|id| id.at);
        let taken = [id_alone, text.as_ref().map(|text| text.at)];
        let (mut others, mut left) = (Vec::new(), Vec::new());
        for (at, field) in schema.fields().iter().enumerate() {
            if taken.contains(&Some(at)) || !is_kept(field, options) {
                continue;
            }
            match arrow_json::has_json_form(field) {
                true => others.push(at),
                false => left.push(format!("{} ({})", field.name(), field.data_type())),
            }
        }
        let fields: Fields = others.iter().map(|at| Arc::new(schema.field(*at).clone())).collect();
        Ok(Self { text, id, others, schema: Arc::new(Schema::new(fields)), left })
    }

    /// The columns that records are made of, in the order of the table.
    pub(super) fn wanted(&self) -> Vec<usize> {
        let mut wanted = self.others.clone();
        wanted.extend(self.text.as_ref().map(|text| text.at));
        wanted.extend(self.id.as_ref().map(|id| id.at));
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }

    /// Columns that are left, each with its type, since their values have no form in JSON.
    pub(super) fn left(&self) -> &[String] {
        &self.left
    }
}

/// Whether a column has the number of each row in the table that pandas wrote. It says nothing of the record: the same
/// record has another one in the next table.
pub fn is_row_number(field: &Field) -> bool {
    let number = field.name().strip_prefix("__index_level_");
    let number = number.and_then(|rest| rest.strip_suffix("__"));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
        && value_type(field.data_type()).is_integer()
}

/// Whether a column is a field that is kept.
fn is_kept(field: &Field, options: &ReadOptions) -> bool {
    let name = field.name();
    let is_asked = |asked: &Option<String>| asked.as_ref() == Some(name);
    match &options.meta_field {
        _ if is_asked(&options.source_field) => true,
        _ if options.renamed.iter().any(|(_, theirs)| theirs == name) => true,
        Some(_) => is_asked(&options.meta_field),
        None => !is_row_number(field) && !options.drop_fields.contains(name),
    }
}

impl ArrowRows {
    /// The rows of a batch; an error says why they cannot be kept as JSON.
    pub(super) fn new(batch: &RecordBatch, columns: &RecordColumns) -> Result<Self, String> {
        let words = |error: arrow::error::ArrowError| error.to_string();
        let text = match &columns.text {
            Some(TextColumn { at, .. }) => {
                let text = cast(batch.column(*at), &DataType::LargeBinary).map_err(words)?;
                Some(text.as_binary().clone())
            }
            None => None,
        };
        let id = match &columns.id {
            Some(IdColumn { at, .. }) => Some(ids(batch.column(*at)).map_err(words)?),
            None => None,
        };
        let metadata = if columns.others.is_empty() {
            vec!["{}".to_owned(); batch.num_rows()]
        } else {
            let others: Vec<ArrayRef> =
                columns.others.iter().map(|at| Arc::clone(batch.column(*at))).collect();
            let schema = schema_of(&columns.schema, &others);
            arrow_json::rows_as_json(&RecordBatch::try_new(schema, others).map_err(words)?)?
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

    /// The next row, which must exist.
    pub(super) fn take(
        &mut self,
        columns: &RecordColumns,
        max_doc_bytes: u64,
        origin: RecordOrigin,
    ) -> ReadItem {
        let row = self.next;
        self.next += 1;
        let metadata = self.metadata.get_mut(row).map(std::mem::take).unwrap_or_default();
        let bytes = self.text.as_ref().filter(|text| !text.is_null(row));
        let bytes = bytes.map(|text| text.value(row));
        let id = self.id.as_ref().filter(|ids| !ids.is_null(row)).map(|ids| ids.value(row));
        let text = row_text(bytes, columns, max_doc_bytes);
        let made = text.and_then(|text| Ok((text, row_key(id, columns)?)));
        match made {
            Ok((text, key)) => {
                // What is not finite stands as Python spells it, so that it is counted.
                let known = ["NaN", "Infinity"].iter().any(|word| metadata.contains(word));
                let without = if known { without_not_finite(&metadata) } else { None };
                let (metadata, not_finite) = without.unwrap_or((metadata, NotFinite::default()));
                ReadItem::Record(ReadRecord {
                    not_finite,
                    ..ReadRecord::new(key, text, metadata, origin)
                })
            }
            Err(reason) => {
                let raw = raw_row(columns, id, bytes, &metadata);
                reject(reason, origin, &raw, byte_len(raw.len()))
            }
        }
    }
}

/// The schema of some columns: one of texts has bytes where one of them is no text.
fn schema_of(schema: &SchemaRef, columns: &[ArrayRef]) -> SchemaRef {
    let both = || schema.fields().iter().zip(columns);
    if both().all(|(field, column)| field.data_type() == column.data_type()) {
        return Arc::clone(schema);
    }
    let fields = both()
        .map(|(field, column)| field.as_ref().clone().with_data_type(column.data_type().clone()));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Ids as texts: bytes of a fixed size as hexadecimal digits, others that are no text as null.
fn ids(column: &ArrayRef) -> Result<LargeStringArray, arrow::error::ArrowError> {
    let kind = value_type(column.data_type());
    if matches!(kind, DataType::FixedSizeBinary(_)) {
        let column = cast(column, kind)?;
        let ids = column.as_fixed_size_binary().iter().map(|bytes| bytes.map(hexadecimal));
        return Ok(LargeStringArray::from_iter(ids));
    }
    Ok(cast(column, &DataType::LargeUtf8)?.as_string().clone())
}

fn row_text(
    bytes: Option<&[u8]>,
    columns: &RecordColumns,
    max_doc_bytes: u64,
) -> Result<String, RejectReason> {
    let Some(TextColumn { name, is_json, .. }) = &columns.text else { return Ok(String::new()) };
    let bytes = bytes.ok_or_else(|| RejectReason::NoText(name.clone()))?;
    let text = std::str::from_utf8(bytes)
        .map_err(|error| RejectReason::NotUtf8(byte_len(error.valid_up_to())));
    let text = match (text?, is_json) {
        (text, false) => Cow::Borrowed(text),
        ("null", true) => return Err(RejectReason::NoText(name.clone())),
        (json, true) => Cow::Owned(
            serde_json::from_str(json).map_err(|_| RejectReason::TextNotString(name.clone()))?,
        ),
    };
    let bytes = byte_len(text.len());
    match bytes > max_doc_bytes {
        true => Err(RejectReason::TooLong { bytes, limit: max_doc_bytes }),
        false => Ok(text.into_owned()),
    }
}

fn row_key(id: Option<&str>, columns: &RecordColumns) -> Result<RecordKey, RejectReason> {
    let Some(IdColumn { name, is_number, .. }) = &columns.id else {
        return Ok(RecordKey::Position);
    };
    let of = if *is_number { keys::of_number } else { keys::of_text };
    id.and_then(of).ok_or_else(|| RejectReason::BadId(name.clone()))
}

/// A row as a JSON object of all that it has. Bytes of its text that are no UTF-8 stand in it as they are.
fn raw_row(
    columns: &RecordColumns,
    id: Option<&str>,
    text: Option<&[u8]>,
    metadata: &str,
) -> Vec<u8> {
    let id_alone = columns.id.as_ref().filter(|id| !columns.others.contains(&id.at));
    let id = id_alone.zip(id).map(|(IdColumn { name, is_number, .. }, id)| {
        let json = if *is_number { id.to_owned() } else { json_string(id) };
        (name.as_str(), json.into_bytes())
    });
    let text = columns.text.as_ref().zip(text).map(|(TextColumn { name, is_json, .. }, text)| {
        let json = match (std::str::from_utf8(text), is_json) {
            (Ok(_), true) => text.to_vec(),
            (Ok(text), false) => json_string(text).into_bytes(),
            (Err(_), _) => raw_string(text),
        };
        (name.as_str(), json)
    });
    with_members(id.into_iter().chain(text), metadata)
}

/// Bytes that are no UTF-8 between quotes, as JSON escapes them.
fn raw_string(bytes: &[u8]) -> Vec<u8> {
    let mut raw = b"\"".to_vec();
    for byte in bytes {
        match byte {
            b'"' | b'\\' => raw.extend([b'\\', *byte]),
            0..0x20 => raw.extend(format!("\\u{byte:04x}").bytes()),
            byte => raw.push(*byte),
        }
    }
    raw.push(b'"');
    raw
}

fn value_type(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, values) => values,
        DataType::RunEndEncoded(_, values) => values.data_type(),
        other => other,
    }
}

/// Rows that are made into records at a time, at first and at most. How long they come to be is known only once
/// they are made, so more are made only when those before were short.
const ROWS: (u64, u64) = (32, 8192);
/// Bytes of rows made into records that are aimed at.
const BYTES: u64 = 16 << 20;

/// A source of record batches.
pub(super) trait BatchReader {
    /// The next batch, none at the end. `origin` is where its first row stands.
    fn next_batch(&mut self, origin: &RecordOrigin) -> Result<Option<RecordBatch>, ReadError>;
}

/// The rows of batches, one after the other.
pub(super) struct BatchRows<S> {
    supply: S,
    held: Option<OpenBatch>,
    /// Columns that are left.
    left: Vec<String>,
    /// Rows that are made into records next.
    rows_next: u64,
}

/// A record batch whose rows become records.
struct OpenBatch {
    batch: RecordBatch,
    columns: RecordColumns,
    /// The number of its rows that were made into records.
    made: usize,
    /// Rows that were made into records and are not all given.
    rows: Option<ArrowRows>,
}

impl<S: BatchReader> BatchRows<S> {
    pub(super) const fn new(supply: S) -> Self {
        Self { supply, held: None, left: Vec::new(), rows_next: ROWS.0 }
    }

    pub(super) const fn supply(&self) -> &S {
        &self.supply
    }

    /// Columns that are left, since their values have no form in JSON.
    pub(super) fn left(&self) -> &[String] {
        &self.left
    }

    /// Skips up to a number of rows; answers how many.
    pub(super) fn skip_rows(
        &mut self,
        options: &ReadOptions,
        origin: &RecordOrigin,
        rows: u64,
    ) -> Result<u64, ReadError> {
        let mut left = usize::try_from(rows).unwrap_or(usize::MAX);
        while left > 0 && self.open(options, origin)? {
            let Some(held) = &mut self.held else { break };
            let skipped = left.min(held.batch.num_rows());
            held.made = skipped;
            left -= skipped;
            if held.made == held.batch.num_rows() {
                self.held = None;
            }
        }
        Ok(rows - byte_len(left))
    }

    /// Takes the next batch; whether there is one.
    fn open(&mut self, options: &ReadOptions, origin: &RecordOrigin) -> Result<bool, ReadError> {
        let Some(batch) = self.supply.next_batch(origin)? else { return Ok(false) };
        let batch = arrow_types::as_given(batch).map_err(|error| ReadError::Rows {
            path: origin.path.to_path_buf(),
            row: origin.number,
            what: error.to_string(),
        })?;
        // A source may give batches without the columns that it promised.
        let columns = RecordColumns::of(&batch.schema(), &origin.path, options)?;
        self.left = columns.left().to_vec();
        self.held = Some(OpenBatch { batch, columns, made: 0, rows: None });
        Ok(true)
    }

    pub(super) fn next(
        &mut self,
        options: &ReadOptions,
        origin: RecordOrigin,
    ) -> Result<Option<ReadItem>, ReadError> {
        loop {
            let Some(held) = &mut self.held else {
                if !self.open(options, &origin)? {
                    return Ok(None);
                }
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
