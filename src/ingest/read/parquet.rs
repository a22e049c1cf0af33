//! Rows of a Parquet file, a row group's pages at a time.

use super::error::ReadError;
use super::guess;
use super::item::{Item, ReadOptions, reject};
use crate::model::{Origin, Record, RecordKey, RejectReason, contain};
use arrow::array::{Array, AsArray, GenericByteArray, LargeStringArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, LargeBinaryType, Schema};
use arrow::json::writer::{LineDelimited, WriterBuilder};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::ParquetMetaData;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows decoded at a time, at most. A row group's average says nothing of rows that are far longer than
/// others, so even where all seem short only so many are decoded before their length is known.
const BATCH_ROWS: u64 = 32;
/// Bytes of a decoded batch that are aimed at: by the row group's average, then by what was decoded.
const BATCH_BYTES: u64 = 16 << 20;
/// Row groups of so many bytes together are read as one.
const RUN_BYTES: u64 = 16 << 20;

/// One open Parquet file.
pub(super) struct Parquet {
    path: Arc<PathBuf>,
    file: File,
    metadata: ArrowReaderMetadata,
    groups: Vec<Group>,
    runs: Vec<Run>,
    /// The run being read, and its reader.
    run: usize,
    reader: Option<ParquetRecordBatchReader>,
    file_bytes: u64,
    columns: Columns,
    max_doc_bytes: u64,
    batch: Option<Batch>,
    rows: u64,
    fault: Option<String>,
}

/// Row groups that are read as one.
struct Run {
    groups: Range<usize>,
    /// Rows of the file before it and before its end.
    rows: Range<u64>,
    batch_rows: u64,
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
        let metadata = guard(|| ArrowReaderMetadata::load(&file, ArrowReaderOptions::default()))
            .and_then(|metadata| metadata.map_err(|error| error.to_string()))
            .map_err(|why| corrupt(format!("no Parquet footer: {why}")))?;
        let columns = columns(metadata.schema(), path, options)?;
        let groups = groups(metadata.metadata());
        let runs = runs(metadata.metadata());
        Ok(Self {
            path: Arc::clone(path),
            file,
            metadata,
            groups,
            runs,
            run: 0,
            reader: None,
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
            None => self.decode(),
        };
        let batch = match read {
            Ok(None) => return Ok(None),
            Ok(Some(batch)) => batch,
            Err(why) => {
                self.fault = Some(why.clone());
                return Err(self.corrupt_row(why));
            }
        };
        self.fit(&batch);
        let batch = Batch::new(&batch, &self.columns).map_err(|what| ReadError::Rows {
            path: self.path.to_path_buf(),
            row: self.rows,
            what,
        })?;
        Ok(Some(batch))
    }

    /// The next rows of the run, or of the one behind it.
    fn decode(&mut self) -> Result<Option<RecordBatch>, String> {
        loop {
            if let Some(reader) = &mut self.reader {
                let batch = guard(|| reader.next().transpose())?;
                if let Some(batch) = batch.map_err(|error| error.to_string())? {
                    return Ok(Some(batch));
                }
                self.reader = None;
                self.run += 1;
            }
            let Some(run) = self.runs.get(self.run) else { return Ok(None) };
            let before = self.rows.saturating_sub(run.rows.start);
            let file = self.file.try_clone().map_err(|error| error.to_string())?;
            let metadata = self.metadata.clone();
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
                .with_row_groups(run.groups.clone().collect())
                .with_batch_size(usize::try_from(run.batch_rows).unwrap_or(1))
                .with_offset(usize::try_from(before).unwrap_or(usize::MAX));
            let reader = guard(|| builder.build())?.map_err(|error| error.to_string())?;
            self.reader = Some(reader);
        }
    }

    /// Fewer rows at a time for the rest of the run, when those just decoded are far longer than its average.
    fn fit(&mut self, batch: &RecordBatch) {
        let (bytes, rows) = (length(batch.get_array_memory_size()), length(batch.num_rows()));
        let Some(run) = self.runs.get_mut(self.run) else { return };
        if bytes <= 2 * BATCH_BYTES || run.batch_rows <= 1 || rows == 0 {
            return;
        }
        run.batch_rows = (BATCH_BYTES / (bytes / rows).max(1)).clamp(1, run.batch_rows);
        // It is opened again behind these rows.
        self.reader = None;
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

/// Row groups one behind the other, small ones together; fewer rows at a time where they are long on average.
fn runs(metadata: &ParquetMetaData) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let (mut bytes_of_last, mut rows_before) = (0_u64, 0);
    for (at, group) in metadata.row_groups().iter().enumerate() {
        let bytes = u64::try_from(group.total_byte_size()).unwrap_or(0);
        let rows = u64::try_from(group.num_rows()).unwrap_or(0);
        let rows = rows_before..rows_before + rows;
        rows_before = rows.end;
        let average = bytes / (rows.end - rows.start).max(1);
        let batch_rows = (BATCH_BYTES / average.max(1)).clamp(1, BATCH_ROWS);
        bytes_of_last = bytes_of_last.saturating_add(bytes);
        match runs.last_mut().filter(|_| bytes_of_last <= RUN_BYTES) {
            Some(last) => {
                last.groups.end = at + 1;
                last.rows.end = rows.end;
                last.batch_rows = last.batch_rows.min(batch_rows);
            }
            None => {
                bytes_of_last = bytes;
                runs.push(Run { groups: at..at + 1, rows, batch_rows });
            }
        }
    }
    runs
}

/// The decoder checks less than all that a damaged file can claim; its panic is such a file.
fn guard<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    contain(run).map_err(|why| format!("the decoder gave up: {why}"))
}

fn corrupt(path: &Path, offset: u64, what: String) -> ReadError {
    ReadError::Corrupt { path: path.to_path_buf(), offset, what }
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
