//! Reads CSV and JSON files as batches of the engine, with the reader of an ingest.
//!
//! The columns of the table, and their types, come from the beginnings of the files; then the rows of each file are
//! read into these columns.

use super::arrays::ColumnBuilder;
use super::files::{DataFile, TableFileKind};
use super::kinds::{CellKind, CellValue};
use crate::sql::documents::scan::BatchSink;
use crate::sql::error::SqlError;
use arrow::array::{ArrayRef, StringViewArray};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use files::input::{
    CsvHeader, CsvOptions, CsvValue, InputFormat, InputReader, RawRecord, ReadError, ReadItem,
    ReadOptions, RecordBuilder, may_have_half_pairs,
};
use model::invariant::{at, text_part};
use model::{JsonName, RejectReason, canonical};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::iter::repeat_n;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// Bytes that are read of the beginning of each file, and of all beginnings together, at most; but at least this many
/// records of each file.
const HEAD: usize = 4 << 20;
const ALL_HEADS: usize = 64 << 20;
const HEAD_RECORDS: usize = 64;
const FEW: usize = 8;
/// How many times longer than the longest text a line may be.
const LINE: u64 = 4;

/// Columns by name, in the order in which they appear.
#[derive(Clone, Debug, Default)]
pub(super) struct KindColumns {
    pub(super) columns: Vec<(String, CellKind)>,
    places: HashMap<String, usize>,
}

impl KindColumns {
    /// Adds a value's type to the column of that name.
    pub(super) fn add(&mut self, name: &str, kind: CellKind) {
        let at = self.place_or_new(name);
        self.widen(at, kind);
    }

    fn widen(&mut self, at: usize, kind: CellKind) {
        if let Some((_, known)) = self.columns.get_mut(at) {
            *known = std::mem::take(known).with(kind);
        }
    }

    /// The place of the column of that name, which is added if it is new.
    fn place_or_new(&mut self, name: &str) -> usize {
        if let Some(at) = self.place(name) {
            return at;
        }
        self.places.insert(name.to_owned(), self.columns.len());
        self.columns.push((name.to_owned(), CellKind::Null));
        self.columns.len() - 1
    }

    fn place(&self, name: &str) -> Option<usize> {
        // A few names are compared faster than they are hashed.
        match self.columns.len() <= FEW {
            true => self.columns.iter().position(|(known, _)| known == name),
            false => self.places.get(name).copied(),
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.place(name).is_some()
    }
}

/// What the beginning of a file shows.
#[derive(Default)]
pub(super) struct FileHead {
    pub(super) columns: KindColumns,
    pub(super) records: usize,
    pub(super) bytes: usize,
}

/// How to read a file whose lines may have `longest` bytes.
pub(super) fn read_options(kind: TableFileKind, file: &DataFile, longest: usize) -> ReadOptions {
    let format = match kind {
        TableFileKind::Csv if file.ends_with("tsv") => InputFormat::Tsv,
        TableFileKind::Csv => InputFormat::Csv,
        TableFileKind::Json => InputFormat::Json,
        TableFileKind::Parquet => InputFormat::Parquet,
    };
    let max_doc_bytes = u64::try_from(longest).unwrap_or(u64::MAX) / LINE;
    // The caller infers the types of columns from many rows, so numbers of CSV come as numbers.
    let table = CsvOptions { numbers: true, ..CsvOptions::default() };
    ReadOptions { format, whole: true, max_doc_bytes, table, ..ReadOptions::default() }
}

/// Reads the columns of the first records of a file.
pub(super) fn head(
    file: &DataFile,
    options: &ReadOptions,
    files: usize,
) -> Result<FileHead, SqlError> {
    let enough = (ALL_HEADS / files.max(1)).min(HEAD);
    let mut rows = FileRows::open(file, options)?;
    let mut head = FileHead::default();
    while head.bytes < HEAD && (head.records < HEAD_RECORDS || head.bytes < enough) {
        let Some(row) = rows.next(|name| Some(head.columns.place_or_new(name)))? else { break };
        head.records += 1;
        head.bytes += row.bytes();
        // Columns of CSV come in the order of the header.
        let kinds = row.each(options.table, |at, value| {
            head.columns.widen(at, CellKind::of(&value));
            Ok(())
        });
        kinds.map_err(|why| row.place.fault(file, &why))?;
    }
    if head.records == 0 {
        rows.reader.columns().iter().for_each(|name| head.columns.add(name, CellKind::Null));
    }
    Ok(head)
}

pub(super) struct RecordScan {
    pub(super) options: ReadOptions,
    pub(super) wanted: KindColumns,
    pub(super) schema: SchemaRef,
    /// Bytes that the rows of a batch should have.
    pub(super) bytes: usize,
}

impl RecordScan {
    /// Pushes the rows of a file, so many at a time at most; says whether more are wanted.
    ///
    /// # Errors
    /// [`SqlError::File`], with the row and the column where a value is not what the beginning of the files says.
    pub(super) fn push(
        &self,
        file: &DataFile,
        rows: usize,
        sink: &mut BatchSink<'_>,
    ) -> Result<ControlFlow<()>, SqlError> {
        let mut reader = FileRows::open(file, &self.options)?;
        let mut batch = BatchBuilder::new(&self.wanted, file);
        let values = self.wanted.columns.len().saturating_mul(size_of::<CellValue<'_>>());
        let mut bytes = 0_usize;
        loop {
            let row = reader.next(|name| batch.place(name))?;
            let is_end = row.is_none();
            if let Some(row) = row {
                bytes = bytes.saturating_add(row.bytes() + values);
                batch.push(&row, self.options.table)?;
            }
            if batch.rows >= rows || bytes >= self.bytes || is_end {
                if batch.rows > 0 && sink(batch.finish(&self.schema)?).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                bytes = 0;
            }
            if is_end {
                return Ok(ControlFlow::Continue(()));
            }
        }
    }
}

/// Builds a batch of the rows of a file.
struct BatchBuilder<'f> {
    file: &'f DataFile,
    wanted: &'f KindColumns,
    columns: Vec<ColumnBuilder>,
    rows: usize,
}

impl<'f> BatchBuilder<'f> {
    fn new(wanted: &'f KindColumns, file: &'f DataFile) -> Self {
        let columns = wanted.columns.iter().map(|(_, kind)| ColumnBuilder::new(kind)).collect();
        Self { file, wanted, columns, rows: 0 }
    }

    /// The column for values of a name; none if a directory's name gives the value.
    fn place(&self, name: &str) -> Option<usize> {
        self.wanted.place(name).filter(|_| self.file.partition(name).is_none())
    }

    fn push(&mut self, row: &FileRow<'_>, table: CsvOptions) -> Result<(), SqlError> {
        let (columns, names) = (&mut self.columns, &self.wanted.columns);
        let pushed = row.each(table, |place, value| match columns.get_mut(place) {
            Some(column) => column.push(&value).map_err(|words| {
                let (name, _) = at(names, place);
                format!("column `{name}`: {words}, the type at the beginning of the files")
            }),
            None => Ok(()),
        });
        self.rows += 1;
        let rows = self.rows;
        // Columns without a value in this row.
        let mut short = self.columns.iter_mut().filter(|column| column.len() < rows);
        let filled = pushed.and_then(|()| short.try_for_each(ColumnBuilder::push_null));
        filled.map_err(|why| row.place.fault(self.file, &why))
    }

    fn finish(&mut self, schema: &SchemaRef) -> Result<RecordBatch, SqlError> {
        let rows = std::mem::take(&mut self.rows);
        let columns =
            self.wanted.columns.iter().zip(&mut self.columns).map(|((name, _), column)| {
                let built = column.finish()?;
                Ok(match self.file.partition(name) {
                    Some(value) => Arc::new(StringViewArray::from_iter(repeat_n(value, rows))),
                    None => built,
                })
            });
        let columns = columns.collect::<Result<Vec<ArrayRef>, String>>();
        let columns = columns.map_err(|why| self.file.fault(&why))?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
            .map_err(SqlError::arrow)
    }
}

struct FileRows<'f> {
    file: &'f DataFile,
    reader: InputReader<'static>,
    builder: RecordBuilder,
    number: u64,
    /// For each column of the CSV file its column of the table, up to the last that has one.
    places: Vec<Option<usize>>,
    /// For each column of the table where its value stands in the last object that was read.
    values: Vec<Option<Range<usize>>>,
}

struct FileRow<'r> {
    place: FileRowPlace,
    values: RowValues<'r>,
}

#[derive(Clone, Copy)]
struct FileRowPlace {
    /// Counted from 1.
    number: u64,
    /// For CSV: the line that the row begins on.
    line: Option<u64>,
}

enum RowValues<'r> {
    Csv { row: Cow<'r, [u8]>, header: Arc<CsvHeader>, places: &'r [Option<usize>] },
    Json { object: Cow<'r, str>, values: &'r [Option<Range<usize>>] },
}

impl<'f> FileRows<'f> {
    fn open(file: &'f DataFile, options: &ReadOptions) -> Result<Self, SqlError> {
        let reader =
            InputReader::open_once(&file.input, options).map_err(|why| read_fault(file, &why))?;
        let builder = RecordBuilder::new(options);
        Ok(Self { file, reader, builder, number: 0, places: Vec::new(), values: Vec::new() })
    }

    /// The next row. `place` gives the column for values of a name, if there is one.
    fn next(
        &mut self,
        mut place: impl FnMut(&str) -> Option<usize>,
    ) -> Result<Option<FileRow<'_>>, SqlError> {
        let file = self.file;
        let raw = self.reader.next_raw().map_err(|why| read_fault(file, &why))?;
        let Some(raw) = raw else { return Ok(None) };
        self.number += 1;
        let number = self.number;
        let raw = match raw {
            RawRecord::Csv { row, line, header, .. } => {
                if number == 1 {
                    self.places = header.columns().iter().map(|name| place(name)).collect();
                    let wanted = self.places.iter().rposition(Option::is_some);
                    self.places.truncate(wanted.map_or(0, |last| last + 1));
                }
                let values = RowValues::Csv { row, header, places: &self.places };
                let place = FileRowPlace { number, line: Some(line) };
                return Ok(Some(FileRow { place, values }));
            }
            RawRecord::Json { object, text, is_spread, origin } => {
                match plain(object).and_then(|object| {
                    match placed(&object, &mut place, &mut self.values) {
                        true => Ok(object),
                        false => Err(bytes_of(object)),
                    }
                }) {
                    Ok(object) => {
                        let values = RowValues::Json { object, values: &self.values };
                        let place = FileRowPlace { number, line: None };
                        return Ok(Some(FileRow { place, values }));
                    }
                    Err(object) => RawRecord::Json { object, text, is_spread, origin },
                }
            }
            other => other,
        };
        // The rules of an ingest decide whether an unusual object is a record.
        let why = match self.builder.build(raw) {
            ReadItem::Record(record) => {
                let object = Cow::Owned(record.metadata);
                placed(&object, &mut place, &mut self.values);
                let values = RowValues::Json { object, values: &self.values };
                return Ok(Some(FileRow { place: FileRowPlace { number, line: None }, values }));
            }
            ReadItem::Reject(reject) => match reject.reason {
                RejectReason::TooLong { bytes, .. } => {
                    format!("{bytes} bytes are more than a row may have (`memory=`)")
                }
                other => other.to_string(),
            },
        };
        Err(file.fault(&format!("row {number}: {why}")))
    }
}

/// The text of an object; back as bytes where it may have halves of surrogate pairs, which are no text.
fn plain(object: Cow<'_, [u8]>) -> Result<Cow<'_, str>, Cow<'_, [u8]>> {
    match object {
        object if may_have_half_pairs(&object) => Err(object),
        Cow::Borrowed(object) => {
            std::str::from_utf8(object).map(Cow::Borrowed).map_err(|_| Cow::Borrowed(object))
        }
        Cow::Owned(object) => {
            String::from_utf8(object).map(Cow::Owned).map_err(|error| error.into_bytes().into())
        }
    }
}

fn bytes_of(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Notes where the values of columns stand in an object; says whether the object is JSON.
fn placed(
    object: &str,
    place: &mut impl FnMut(&str) -> Option<usize>,
    values: &mut Vec<Option<Range<usize>>>,
) -> bool {
    values.fill(None);
    let members = PlacedMembers { object, place, values };
    let mut json = serde_json::Deserializer::from_str(object);
    members.deserialize(&mut json).and_then(|()| json.end()).is_ok()
}

/// Visits the members of an object, and notes where wanted values stand.
struct PlacedMembers<'o, P> {
    object: &'o str,
    place: &'o mut P,
    values: &'o mut Vec<Option<Range<usize>>>,
}

impl<'j, P: FnMut(&str) -> Option<usize>> DeserializeSeed<'j> for PlacedMembers<'_, P> {
    type Value = ();

    fn deserialize<D: Deserializer<'j>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'j, P: FnMut(&str) -> Option<usize>> Visitor<'j> for PlacedMembers<'_, P> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<(), A::Error> {
        let start = self.object.as_ptr().addr();
        while let Some(JsonName(name)) = map.next_key()? {
            let Some(at) = (self.place)(&name) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let value = map.next_value::<&RawValue>()?.get();
            if self.values.len() <= at {
                self.values.resize(at + 1, None);
            }
            // Of equal names the last value counts.
            if let Some(place) = self.values.get_mut(at) {
                let from = value.as_ptr().addr().saturating_sub(start);
                *place = Some(from..from + value.len());
            }
        }
        Ok(())
    }
}

impl FileRow<'_> {
    fn bytes(&self) -> usize {
        match &self.values {
            RowValues::Csv { row, .. } => row.len(),
            RowValues::Json { object, .. } => object.len(),
        }
    }

    /// Calls `take` with the value of each wanted column, except nulls of CSV.
    ///
    /// # Errors
    /// Why it is not a row; else the first error of `take`.
    fn each(
        &self,
        table: CsvOptions,
        mut take: impl FnMut(usize, CellValue<'_>) -> Result<(), String>,
    ) -> Result<(), String> {
        match &self.values {
            RowValues::Csv { row, header, places } => {
                let line = self.place.line.unwrap_or_default();
                header.each_value(row, line, table, places, |at, value| match value {
                    CsvValue::Number(spelled) => take(at, CellValue::Number(spelled)),
                    CsvValue::Text(text) => take(at, CellValue::Text(text)),
                })
            }
            RowValues::Json { object, values } => {
                for (at, range) in values.iter().enumerate() {
                    let Some(range) = range.clone() else { continue };
                    let json = text_part(object, range);
                    let json = match json.starts_with(['[', '{']) {
                        true => Cow::Owned(canonical(json)?.json),
                        false => Cow::Borrowed(json),
                    };
                    take(at, CellValue::Json(json))?;
                }
                Ok(())
            }
        }
    }
}

impl FileRowPlace {
    fn fault(self, file: &DataFile, why: &str) -> SqlError {
        let number = self.number;
        file.fault(&match self.line {
            Some(line) => format!("row {number}, on line {line}: {why}"),
            None => format!("row {number}: {why}"),
        })
    }
}

/// A read error as ours; it names the file once.
fn read_fault(file: &DataFile, error: &ReadError) -> SqlError {
    if let ReadError::OpenQuote { line, .. } = error {
        let why = format!("a quote that opens on line {line} is not closed before the end");
        return file.fault(&why);
    }
    file.fault(&error.words_of(&file.input.path.to_string_lossy()))
}
