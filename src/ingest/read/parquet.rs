//! Rows of a Parquet file, a row group's pages at a time.

use super::error::ReadError;
use super::guess;
use super::item::{Item, ReadOptions, reject};
use crate::model::{Origin, Record, RecordKey, RejectReason};
use arrow::array::{Array, AsArray, GenericByteArray, LargeStringArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, LargeBinaryType, Schema};
use arrow::json::writer::{LineDelimited, WriterBuilder};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::ParquetMetaData;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows decoded at a time, at most.
const BATCH_ROWS: u64 = 1024;
/// Bytes of a decoded batch that are aimed at, by the file's own averages.
const BATCH_BYTES: u64 = 16 << 20;

/// One open Parquet file.
pub(super) struct Parquet {
    path: Arc<PathBuf>,
    reader: ParquetRecordBatchReader,
    groups: Vec<Group>,
    file_bytes: u64,
    columns: Columns,
    max_doc_bytes: u64,
    batch: Option<Batch>,
    rows: u64,
    fault: Option<String>,
}

/// Where a row group ends in rows and begins in bytes.
struct Group {
    rows_before_end: u64,
    first_byte: u64,
}

struct Columns {
    /// None when records stay whole.
    text: Option<(usize, String)>,
    id: Option<(usize, String)>,
    others: Vec<usize>,
}

/// A decoded batch, its rows before `next` given.
struct Batch {
    text: Option<GenericByteArray<LargeBinaryType>>,
    id: Option<LargeStringArray>,
    metadata: Vec<String>,
    next: usize,
}

impl Parquet {
    pub(super) fn open(
        path: &Arc<PathBuf>,
        file: File,
        options: &ReadOptions,
    ) -> Result<Self, ReadError> {
        let file_bytes = file.metadata().map_err(ReadError::io(path, "look at it"))?.len();
        let corrupt = |what| corrupt(path, file_bytes.saturating_sub(8), what);
        let builder = guard(|| ParquetRecordBatchReaderBuilder::try_new(file))
            .and_then(|builder| builder.map_err(|error| error.to_string()))
            .map_err(|why| corrupt(format!("no Parquet footer: {why}")))?;
        let columns = columns(builder.schema(), path, options)?;
        let groups = groups(builder.metadata());
        let batch_rows = batch_rows(builder.metadata());
        let reader = guard(|| builder.with_batch_size(batch_rows).build())
            .and_then(|reader| reader.map_err(|error| error.to_string()))
            .map_err(|why| corrupt(format!("no Parquet row groups: {why}")))?;
        Ok(Self {
            path: Arc::clone(path),
            reader,
            groups,
            file_bytes,
            columns,
            max_doc_bytes: options.max_doc_bytes,
            batch: None,
            rows: 0,
            fault: None,
        })
    }

    pub(super) fn next(
        &mut self,
        origin: impl FnOnce(u64) -> Origin,
    ) -> Result<Option<Item>, ReadError> {
        loop {
            if let Some(batch) = &mut self.batch
                && batch.next < batch.metadata.len()
            {
                let item = batch.take(&self.columns, self.max_doc_bytes, origin(self.rows));
                self.rows += 1;
                return Ok(Some(item));
            }
            let Some(batch) = self.read_batch()? else { return Ok(None) };
            self.batch = Some(batch);
        }
    }

    /// The share of rows read, in bytes of the file.
    pub(super) fn input_bytes(&self) -> u64 {
        let total = self.groups.last().map_or(0, |group| group.rows_before_end);
        if total == 0 {
            return self.file_bytes;
        }
        let bytes = u128::from(self.file_bytes) * u128::from(self.rows) / u128::from(total);
        u64::try_from(bytes).unwrap_or(self.file_bytes).min(self.file_bytes)
    }

    fn read_batch(&mut self) -> Result<Option<Batch>, ReadError> {
        self.batch = None;
        // Behind a fault the decoder might go on with other rows.
        let read = match self.fault.take() {
            Some(why) => Err(why),
            None => guard(|| self.reader.next().transpose())
                .and_then(|batch| batch.map_err(|error| error.to_string())),
        };
        let batch = match read {
            Ok(None) => return Ok(None),
            Ok(Some(batch)) => batch,
            Err(why) => {
                self.fault = Some(why.clone());
                return Err(self.corrupt_row(why));
            }
        };
        let batch = Batch::new(&batch, &self.columns).map_err(|what| ReadError::Rows {
            path: self.path.to_path_buf(),
            row: self.rows,
            what,
        })?;
        Ok(Some(batch))
    }

    fn corrupt_row(&self, why: String) -> ReadError {
        let group = self.groups.iter().find(|group| self.rows < group.rows_before_end);
        let offset = group.map_or(0, |group| group.first_byte);
        let what = format!("row {} or after it, in the row group that begins: {why}", self.rows);
        corrupt(&self.path, offset, what)
    }
}

impl Batch {
    fn new(batch: &RecordBatch, columns: &Columns) -> Result<Self, String> {
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

    fn take(&mut self, columns: &Columns, max_doc_bytes: u64, origin: Origin) -> Item {
        let row = self.next;
        self.next += 1;
        let metadata = self.metadata.get_mut(row).map(std::mem::take).unwrap_or_default();
        let bytes = match (&self.text, &columns.text) {
            (Some(text), Some((_, name))) if text.is_null(row) => {
                let reason = RejectReason::NoText(name.clone());
                return reject(reason, origin, metadata.as_bytes(), length(metadata.len()));
            }
            (Some(text), _) => text.value(row),
            (None, _) => &[],
        };
        let raw_bytes = length(bytes.len());
        if raw_bytes > max_doc_bytes {
            let reason = RejectReason::TooLong { bytes: raw_bytes, limit: max_doc_bytes };
            return reject(reason, origin, bytes, raw_bytes);
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(error) => {
                let reason = RejectReason::NotUtf8(length(error.valid_up_to()));
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
        Item::Record(Record { key, text, metadata, origin })
    }
}

fn columns(schema: &Schema, path: &Path, options: &ReadOptions) -> Result<Columns, ReadError> {
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let find = |column: &str| {
        schema.index_of(column).map_err(|_| ReadError::NoColumn {
            path: path.to_path_buf(),
            column: column.to_owned(),
            found: guess::list(names.clone()),
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
        None => Some(guess::text_field(names.clone()).ok_or_else(|| ReadError::NoTextField {
            path: path.to_path_buf(),
            found: guess::list(names.clone()),
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
    let others =
        (0..schema.fields().len()).filter(|at| Some(*at) != text_column && Some(*at) != id_column);
    let others = others.collect();
    Ok(Columns { text, id, others })
}

fn value_type(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

fn groups(metadata: &ParquetMetaData) -> Vec<Group> {
    let mut rows_before_end = 0;
    metadata
        .row_groups()
        .iter()
        .map(|group| {
            rows_before_end += u64::try_from(group.num_rows()).unwrap_or(0);
            let starts = group.columns().iter().map(|column| {
                let dictionary = column.dictionary_page_offset().unwrap_or(i64::MAX);
                u64::try_from(column.data_page_offset().min(dictionary)).unwrap_or(0)
            });
            Group { rows_before_end, first_byte: starts.min().unwrap_or(0) }
        })
        .collect()
}

/// Fewer rows at a time where they are long, by the largest average of all row groups.
fn batch_rows(metadata: &ParquetMetaData) -> usize {
    let averages = metadata.row_groups().iter().map(|group| {
        let bytes = u64::try_from(group.total_byte_size()).unwrap_or(0);
        bytes / u64::try_from(group.num_rows()).unwrap_or(1).max(1)
    });
    let average = averages.max().unwrap_or(0).max(1);
    usize::try_from((BATCH_BYTES / average).clamp(1, BATCH_ROWS)).unwrap_or(1)
}

/// The decoder checks less than all that a damaged file can claim; its panic is such a file.
fn guard<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
        format!("the decoder gave up: {}", words.unwrap_or("no reason given"))
    })
}

fn corrupt(path: &Path, offset: u64, what: String) -> ReadError {
    ReadError::Corrupt { path: path.to_path_buf(), offset, what }
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
