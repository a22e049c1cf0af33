//! Rows of CSV and JSON as batches of the engine, by the reader of an ingest: the columns that the beginnings of the
//! files have, then the rows of each.

use super::arrays::{Misfit, array};
use super::files::{DataFile, FileKind};
use super::kinds::{Cell, ValueKind};
use crate::input::{
    CsvHeader, CsvOptions, CsvValue, InputFormat, InputReader, RawRecord, ReadError, ReadItem,
    ReadOptions, RecordBuilder,
};
use crate::model::{JsonMembers, RejectReason, canonical};
use crate::query::error::QueryError;
use crate::query::sql::producer::Sink;
use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::{ControlFlow, Range};
use std::string::FromUtf8Error;
use std::sync::Arc;

/// Bytes that are looked at of the beginning of a file, at most, and of the beginnings of all files; of each at least
/// so many records.
const HEAD: usize = 4 << 20;
const ALL_HEADS: usize = 64 << 20;
const HEAD_RECORDS: usize = 64;
/// A line may be so many times longer than the longest text.
const LINE: u64 = 4;

/// Columns by name, in the order in which they appear.
#[derive(Clone, Debug, Default)]
pub(super) struct KindColumns {
    pub(super) columns: Vec<(String, ValueKind)>,
    places: HashMap<String, usize>,
}

impl KindColumns {
    /// Adds values to the column of a name.
    pub(super) fn add(&mut self, name: &str, kind: ValueKind) {
        let at = self.place_or_new(name);
        self.widen(at, kind);
    }

    fn widen(&mut self, at: usize, kind: ValueKind) {
        if let Some((_, known)) = self.columns.get_mut(at) {
            *known = std::mem::take(known).with(kind);
        }
    }

    /// The place of a column, which is added when there is none of the name.
    fn place_or_new(&mut self, name: &str) -> usize {
        if let Some(at) = self.place(name) {
            return at;
        }
        self.places.insert(name.to_owned(), self.columns.len());
        self.columns.push((name.to_owned(), ValueKind::Null));
        self.columns.len() - 1
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Whether there is a column of the name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.place(name).is_some()
    }
}

/// What the beginning of a file says.
#[derive(Default)]
pub(super) struct FileHead {
    pub(super) columns: KindColumns,
    pub(super) records: usize,
    pub(super) bytes: usize,
}

/// How a file is read whose lines may have so many bytes.
pub(super) fn read_options(kind: FileKind, file: &DataFile, longest: usize) -> ReadOptions {
    let format = match kind {
        FileKind::Csv if file.ends_with("tsv") => InputFormat::Tsv,
        FileKind::Csv => InputFormat::Csv,
        FileKind::Json => InputFormat::Json,
        FileKind::Parquet => InputFormat::Parquet,
    };
    let max_doc_bytes = u64::try_from(longest).unwrap_or(u64::MAX) / LINE;
    ReadOptions { format, whole: true, max_doc_bytes, ..ReadOptions::default() }
}

/// The columns of the first records of one of so many files.
///
/// # Errors
/// [`QueryError::File`], when it cannot be read, or has what is no record.
pub(super) fn head(
    file: &DataFile,
    options: &ReadOptions,
    files: usize,
) -> Result<FileHead, QueryError> {
    let enough = (ALL_HEADS / files.max(1)).min(HEAD);
    let mut rows = FileRows::open(file, options)?;
    let mut head = FileHead::default();
    while head.bytes < HEAD && (head.records < HEAD_RECORDS || head.bytes < enough) {
        let Some(row) = rows.next(|name| Some(head.columns.place_or_new(name)))? else { break };
        if head.records == 0 {
            rows.names().iter().for_each(|name| head.columns.add(name, ValueKind::Null));
        }
        head.records += 1;
        head.bytes += row.bytes();
        // The columns of a table come in the order of its names.
        row.each(options.table, |at, cell| head.columns.widen(at, ValueKind::of(&cell)))
            .map_err(|why| row.fault(file, &why))?;
    }
    if head.records == 0 {
        rows.names().iter().for_each(|name| head.columns.add(name, ValueKind::Null));
    }
    Ok(head)
}

/// What is read of a file.
pub(super) struct RecordScan {
    pub(super) options: ReadOptions,
    /// The columns that are wanted, in their order.
    pub(super) wanted: KindColumns,
    pub(super) schema: SchemaRef,
    /// Bytes of rows that are aimed at in a batch.
    pub(super) bytes: usize,
}

impl RecordScan {
    /// Pushes the rows of a file, so many at a time at most; says whether more are wanted.
    ///
    /// # Errors
    /// [`QueryError::File`], with the row and the column where a value is not what the beginning of the files says.
    pub(super) fn push(
        &self,
        file: &DataFile,
        rows: usize,
        sink: &mut Sink<'_>,
    ) -> Result<ControlFlow<()>, QueryError> {
        let mut reader = FileRows::open(file, &self.options)?;
        let cells = self.wanted.columns.len().saturating_mul(size_of::<Option<Cell<'_>>>());
        let (mut held, mut bytes) = (Vec::new(), 0_usize);
        loop {
            let row = reader.next(|name| self.wanted.place(name))?;
            let is_end = row.is_none();
            if let Some(row) = row {
                bytes = bytes.saturating_add(row.bytes() + cells);
                held.push(row);
            }
            if held.len() >= rows || bytes >= self.bytes || is_end {
                if !held.is_empty() && sink(self.batch(file, &held, reader.names())?).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                held.clear();
                bytes = 0;
            }
            if is_end {
                return Ok(ControlFlow::Continue(()));
            }
        }
    }

    fn batch(
        &self,
        file: &DataFile,
        rows: &[Row],
        names: &[String],
    ) -> Result<RecordBatch, QueryError> {
        let wanted = &self.wanted;
        let at: Vec<Option<usize>> = names.iter().map(|name| wanted.place(name)).collect();
        let mut columns: Vec<Vec<Option<Cell<'_>>>> =
            vec![vec![None; rows.len()]; wanted.columns.len()];
        for (number, row) in rows.iter().enumerate() {
            let taken = row.each(self.options.table, |place, cell| {
                let at =
                    if row.is_table() { at.get(place).copied().flatten() } else { Some(place) };
                let place = at.and_then(|at| columns.get_mut(at)?.get_mut(number));
                place.into_iter().for_each(|place| *place = Some(cell.clone()));
            });
            taken.map_err(|why| row.fault(file, &why))?;
        }
        let made = wanted.columns.iter().zip(columns).map(|((name, kind), mut cells)| {
            if let Some(value) = file.partition(name) {
                let value = value.map(|value| Cell::Text(value.into()));
                cells.iter_mut().for_each(|cell| cell.clone_from(&value));
            }
            array(kind, &cells).map_err(|Misfit { row, words }| {
                let why = format!("column `{name}`: {words}, as the files begin with");
                rows.get(row).map_or_else(|| file.fault(&why), |row| row.fault(file, &why))
            })
        });
        let made = made.collect::<Result<Vec<ArrayRef>, QueryError>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), made, &options)
            .map_err(QueryError::arrow)
    }
}

/// The rows of an open file.
struct FileRows<'f> {
    file: &'f DataFile,
    reader: InputReader<'static>,
    builder: RecordBuilder,
    number: u64,
}

/// A row that was cut out of its file.
struct Row {
    /// Counted from 1.
    number: u64,
    values: RowValues,
}

enum RowValues {
    Csv {
        row: Vec<u8>,
        line: u64,
        header: Arc<CsvHeader>,
    },
    /// An object, and where in it the values of columns stand.
    Json {
        object: String,
        values: Vec<(usize, Range<usize>)>,
    },
}

impl<'f> FileRows<'f> {
    fn open(file: &'f DataFile, options: &ReadOptions) -> Result<Self, QueryError> {
        let reader =
            InputReader::open(&file.input, options).map_err(|why| read_fault(file, &why))?;
        Ok(Self { file, reader, builder: RecordBuilder::new(options), number: 0 })
    }

    /// Names of the columns of a CSV file, once a row was asked for.
    fn names(&self) -> &[String] {
        self.reader.columns()
    }

    /// The next row. `place` says which column has the values of a name of JSON, if one.
    fn next(
        &mut self,
        mut place: impl FnMut(&str) -> Option<usize>,
    ) -> Result<Option<Row>, QueryError> {
        let raw = self.reader.next_raw().map_err(|why| read_fault(self.file, &why))?;
        let Some(raw) = raw else { return Ok(None) };
        self.number += 1;
        let number = self.number;
        let raw = match raw {
            RawRecord::Csv { row, line, header, .. } => {
                return Ok(Some(Row { number, values: RowValues::Csv { row, line, header } }));
            }
            RawRecord::Json { object, text, is_spread, origin } => match plain(object) {
                Ok(object) => match placed(&object, &mut place) {
                    Some(values) => {
                        return Ok(Some(Row {
                            number,
                            values: RowValues::Json { object, values },
                        }));
                    }
                    None => {
                        let object = object.into_bytes();
                        RawRecord::Json { object, text, is_spread, origin }
                    }
                },
                Err(object) => RawRecord::Json { object, text, is_spread, origin },
            },
            other => other,
        };
        // What is odd is a record or none by the rules of an ingest.
        let why = match self.builder.build(raw) {
            ReadItem::Record(record) => {
                let object = record.metadata;
                let values = placed(&object, &mut place).unwrap_or_default();
                return Ok(Some(Row { number, values: RowValues::Json { object, values } }));
            }
            ReadItem::Reject(reject) => match reject.reason {
                RejectReason::TooLong { bytes, .. } => {
                    format!("{bytes} bytes are more than may be held of a row (--memory)")
                }
                other => other.to_string(),
            },
        };
        Err(self.file.fault(&format!("row {number}: {why}")))
    }
}

/// The text of an object without halves of surrogate pairs, which are no text.
fn plain(object: Vec<u8>) -> Result<String, Vec<u8>> {
    let is_half = |part: &[u8]| matches!(part, [b'\\', b'u', b'd' | b'D']);
    let is_odd = object.contains(&b'\\') && object.windows(3).any(is_half);
    if is_odd {
        return Err(object);
    }
    String::from_utf8(object).map_err(FromUtf8Error::into_bytes)
}

/// Where the values of columns stand in an object; none where it is no JSON.
fn placed(
    object: &str,
    place: &mut impl FnMut(&str) -> Option<usize>,
) -> Option<Vec<(usize, Range<usize>)>> {
    let JsonMembers(members) = serde_json::from_str(object).ok()?;
    let place = |(name, value): (Cow<'_, str>, &RawValue)| {
        let at = place(&name)?;
        let from = value.get().as_ptr().addr().checked_sub(object.as_ptr().addr())?;
        Some((at, from..from + value.get().len()))
    };
    Some(members.into_iter().filter_map(place).collect())
}

impl Row {
    fn bytes(&self) -> usize {
        match &self.values {
            RowValues::Csv { row, .. } => row.len(),
            RowValues::Json { object, .. } => object.len(),
        }
    }

    /// Whether places of its values are those of the names of a table, not of columns.
    const fn is_table(&self) -> bool {
        matches!(self.values, RowValues::Csv { .. })
    }

    /// Calls `take` with every value that is not null, and its place.
    fn each<'r>(
        &'r self,
        table: CsvOptions,
        mut take: impl FnMut(usize, Cell<'r>),
    ) -> Result<(), String> {
        match &self.values {
            RowValues::Csv { row, line, header } => {
                let values = header.values(row, *line, table).map_err(|why| why.to_string())?;
                for (at, value) in values.into_iter().enumerate() {
                    match value {
                        Some(CsvValue::Number(spelled)) => take(at, Cell::Number(spelled)),
                        Some(CsvValue::Text(text)) => take(at, Cell::Text(text)),
                        None => {}
                    }
                }
            }
            RowValues::Json { object, values } => {
                for (at, range) in values {
                    let json = object.get(range.clone()).unwrap_or_default();
                    let json = match json.starts_with(['[', '{']) {
                        true => Cow::Owned(canonical(json)?.json),
                        false => Cow::Borrowed(json),
                    };
                    take(*at, Cell::Json(json));
                }
            }
        }
        Ok(())
    }

    fn fault(&self, file: &DataFile, why: &str) -> QueryError {
        let number = self.number;
        file.fault(&match &self.values {
            RowValues::Csv { line, .. } => format!("row {number}, on line {line}: {why}"),
            RowValues::Json { .. } => format!("row {number}: {why}"),
        })
    }
}

/// What could not be read, told once of its file.
fn read_fault(file: &DataFile, error: &ReadError) -> QueryError {
    if let ReadError::OpenQuote { line, .. } = error {
        let why = format!("a quote that opens on line {line} is not closed before the end");
        return file.fault(&why);
    }
    file.fault(&error.words_of(&file.input.path.to_string_lossy()))
}
