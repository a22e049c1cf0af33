//! Reads the rows of a Parquet file, a row group's pages at a time, from disk or from a store.
//!
//! Every format that is read from its end asks a [`RandomAccessFile`] for the bytes at any place of a file.

use super::arrow_rows::{ArrowRows, RecordColumns};
use super::error::ReadError;
use super::item::{ReadItem, ReadOptions, byte_len};
use super::parquet_footer::{ParquetFooter, ParquetRows};
use crate::remote::RemoteReader;
use arrow::array::RecordBatch;
use arrow::datatypes::{Fields, Schema};
use bytes::Bytes;
use model::{RecordOrigin, catch_panic};
use parquet::arrow::ProjectionMask;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io;
use std::io::{BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most rows decoded at a time. A row group's average says nothing of rows that are far longer than others, so
/// even where all seem short no more are decoded before their length is known.
const BATCH_ROWS: u64 = 32;
/// Bytes of a decoded batch that are aimed at: by the row group's average, then by what was decoded.
const BATCH_BYTES: u64 = 16 << 20;
/// Row groups of up to this many bytes together are read as one.
const RUN_BYTES: u64 = 16 << 20;

/// One open Parquet file.
pub(super) struct ColumnarReader {
    path: Arc<PathBuf>,
    file: RandomAccessFile,
    footer: ParquetFooter,
    groups: Vec<RowGroupEnd>,
    runs: Vec<RowGroupRun>,
    /// The run being read, and its reader.
    run: usize,
    reader: Option<ParquetRows>,
    /// The texts of the run are read as bytes, since one of them is no text: that one costs its row alone.
    is_bytes: bool,
    file_bytes: u64,
    columns: RecordColumns,
    /// Columns of the file that records are made of: no other is decoded.
    projection: ProjectionMask,
    /// The columns of `projection` as they are given.
    given: Fields,
    left: Vec<String>,
    max_doc_bytes: u64,
    batch: Option<ArrowRows>,
    rows: u64,
    fault: Option<String>,
}

/// Row groups that are read as one.
struct RowGroupRun {
    groups: Range<usize>,
    /// Rows of the file before it and before its end.
    rows: Range<u64>,
    batch_rows: u64,
    /// Whether the checksums of its pages were compared.
    is_checked: bool,
}

/// Where a row group ends in rows and begins in bytes.
struct RowGroupEnd {
    rows_before_end: u64,
    first_byte: u64,
}

impl ColumnarReader {
    pub(super) fn open(
        path: &Arc<PathBuf>,
        file: RandomAccessFile,
        options: &ReadOptions,
    ) -> Result<Self, ReadError> {
        let file_bytes = file.bytes().map_err(ReadError::io(path, "look at it"))?;
        let corrupt = |what| corrupt(path, file_bytes.saturating_sub(8), what);
        let footer = guard(|| ParquetFooter::load(&file))
            .and_then(|footer| footer.map_err(|error| error.to_string()));
        let footer =
            file.blame_store_first(footer, |why| corrupt(format!("no Parquet footer: {why}")))?;
        let all = RecordColumns::of(&Schema::new(footer.columns().clone()), path, options)?;
        let wanted = all.wanted();
        let copy = file.try_clone().map_err(ReadError::io(path, "open it"))?;
        let footer = guard(|| footer.with_fitting_moments(copy, wanted.iter().copied()));
        let footer = file.blame_store_first(footer, corrupt)?;
        if let Some(fault) = file.store_fault() {
            return Err(fault);
        }
        let given: Fields =
            wanted.iter().filter_map(|at| footer.columns().get(*at).cloned()).collect();
        let columns = RecordColumns::of(&Schema::new(given.clone()), path, options)?;
        let left = all.left().to_vec();
        let projection = footer.projection(wanted);
        let groups = groups(footer.metadata().metadata());
        let runs = runs(footer.metadata().metadata());
        Ok(Self {
            path: Arc::clone(path),
            file,
            footer,
            groups,
            runs,
            run: 0,
            reader: None,
            is_bytes: false,
            file_bytes,
            columns,
            projection,
            given,
            left,
            max_doc_bytes: options.max_doc_bytes,
            batch: None,
            rows: 0,
            fault: None,
        })
    }

    pub(super) fn next(
        &mut self,
        origin: impl FnOnce(u64) -> RecordOrigin,
    ) -> Result<Option<ReadItem>, ReadError> {
        loop {
            if let Some(batch) = &mut self.batch
                && !batch.is_empty()
            {
                let item = batch.take(&self.columns, self.max_doc_bytes, origin(self.rows));
                self.rows += 1;
                return Ok(Some(item));
            }
            let Some(batch) = self.read_batch()? else { return Ok(None) };
            self.batch = Some(batch);
        }
    }

    /// Skips the first rows; answers over how many.
    pub(super) fn skip_rows(&mut self, rows: u64) -> u64 {
        self.rows = rows.min(self.groups.last().map_or(0, |group| group.rows_before_end));
        let is_before = |run: &RowGroupRun| run.rows.end <= self.rows;
        self.run = self.runs.iter().take_while(|run| is_before(run)).count();
        self.rows
    }

    /// Columns that are left, since their values have no form in JSON.
    pub(super) fn left(&self) -> &[String] {
        &self.left
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

    fn read_batch(&mut self) -> Result<Option<ArrowRows>, ReadError> {
        self.batch = None;
        // Behind a fault the decoder might continue with other rows.
        let read = match self.fault.take() {
            Some(why) => Err(why),
            None => self.decode(),
        };
        let batch = match read {
            Ok(None) => return Ok(None),
            Ok(Some(batch)) => batch,
            Err(why) => {
                self.fault = Some(why.clone());
                return self.file.blame_store_first(Err(why), |why| self.corrupt_row(why));
            }
        };
        self.fit(&batch);
        let batch = ArrowRows::new(&batch, &self.columns).map_err(|what| ReadError::Rows {
            path: self.path.to_path_buf(),
            row: self.rows,
            what,
        })?;
        Ok(Some(batch))
    }

    /// The next rows of the run, or of the one behind it.
    fn decode(&mut self) -> Result<Option<RecordBatch>, String> {
        loop {
            let Some(reader) = &mut self.reader else {
                if self.open_run()? {
                    continue;
                }
                return Ok(None);
            };
            let read = guard(|| reader.next());
            match read.and_then(|batch| batch.map_err(|error| error.to_string())) {
                Ok(Some(batch)) => {
                    let batch = ParquetFooter::given(&batch, &self.given);
                    return batch.map(Some).map_err(|error| error.to_string());
                }
                Ok(None) => {
                    self.reader = None;
                    self.run += 1;
                    self.is_bytes = false;
                }
                Err(why) if self.is_bytes => return Err(why),
                Err(why) => {
                    self.is_bytes = true;
                    self.reader = None;
                    if self.open_run().is_err() {
                        return Err(why);
                    }
                }
            }
        }
    }

    /// Opens the run before whose next row the reading stands; whether there is one.
    fn open_run(&mut self) -> Result<bool, String> {
        self.check_run()?;
        let Some(run) = self.runs.get(self.run) else { return Ok(false) };
        let before = self.rows.saturating_sub(run.rows.start);
        let metadata = match self.is_bytes {
            true => guard(|| self.footer.as_bytes())?.map_err(|error| error.to_string())?,
            false => self.footer.metadata().clone(),
        };
        let file = || self.file.try_clone();
        let rows = guard(|| {
            self.footer.rows(metadata, file, |rows| {
                rows.with_projection(self.projection.clone())
                    .with_row_groups(run.groups.clone().collect())
                    .with_batch_size(usize::try_from(run.batch_rows).unwrap_or(1))
                    .with_offset(usize::try_from(before).unwrap_or(usize::MAX))
            })
        });
        let reader = rows?.map_err(|error| error.to_string())?;
        self.reader = Some(reader);
        Ok(true)
    }

    /// Compares the checksums of the run's pages before any row of it is given: a row group is damaged as a whole, and
    /// those before it are a run of their own.
    fn check_run(&mut self) -> Result<(), String> {
        let Some(run) = self.runs.get_mut(self.run).filter(|run| !run.is_checked) else {
            return Ok(());
        };
        let file = Arc::new(self.file.try_clone().map_err(|error| error.to_string())?);
        for group in run.groups.clone() {
            let end = self.groups.get(group).map_or(0, |group| group.rows_before_end);
            if end <= self.rows {
                continue;
            }
            let checked = guard(|| self.footer.check_pages(&file, group, &self.projection));
            if self.file.store_fault().is_some() {
                return Err("the store failed".to_owned());
            }
            let Err(why) = checked.and_then(|checked| checked) else { continue };
            let begin = group.checked_sub(1).and_then(|group| self.groups.get(group));
            let begin = begin.map_or(0, |group| group.rows_before_end);
            if begin <= self.rows {
                return Err(why);
            }
            let (groups, rows) = (group..run.groups.end, begin..run.rows.end);
            let rest = RowGroupRun { groups, rows, ..*run };
            (run.groups.end, run.rows.end) = (group, begin);
            run.is_checked = true;
            self.runs.insert(self.run + 1, rest);
            return Ok(());
        }
        run.is_checked = true;
        Ok(())
    }

    /// Fewer rows at a time for the rest of the run, when those just decoded are far longer than its average.
    fn fit(&mut self, batch: &RecordBatch) {
        let (bytes, rows) = (byte_len(batch.get_array_memory_size()), byte_len(batch.num_rows()));
        let Some(run) = self.runs.get_mut(self.run) else { return };
        if bytes <= 2 * BATCH_BYTES || run.batch_rows <= 1 || rows == 0 {
            return;
        }
        run.batch_rows = (BATCH_BYTES / (bytes / rows).max(1)).clamp(1, run.batch_rows);
        // The reader is opened again behind these rows.
        self.reader = None;
    }

    fn corrupt_row(&self, why: String) -> ReadError {
        let group = self.groups.iter().find(|group| self.rows < group.rows_before_end);
        let offset = group.map_or(0, |group| group.first_byte);
        let what = format!("row {} or after it, in the row group that begins: {why}", self.rows);
        corrupt(&self.path, offset, what)
    }
}

fn groups(metadata: &ParquetMetaData) -> Vec<RowGroupEnd> {
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
            RowGroupEnd { rows_before_end, first_byte: starts.min().unwrap_or(0) }
        })
        .collect()
}

/// Row groups one behind the other, small ones together; fewer rows at a time where they are long on average.
fn runs(metadata: &ParquetMetaData) -> Vec<RowGroupRun> {
    let mut runs: Vec<RowGroupRun> = Vec::new();
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
                runs.push(RowGroupRun { groups: at..at + 1, rows, batch_rows, is_checked: false });
            }
        }
    }
    runs
}

/// The decoder checks less than all that a damaged file can claim; its panic is such a file.
fn guard<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_panic(run).map_err(|why| format!("the decoder gave up: {why}"))
}

fn corrupt(path: &Path, offset: u64, what: String) -> ReadError {
    ReadError::Corrupt { path: path.to_path_buf(), offset, what }
}

/// Bytes that are read at a time where the caller does not say how many it wants.
const BUFFER: usize = 64 << 10;

/// A file with random access.
pub(super) enum RandomAccessFile {
    Local(File),
    Remote(RemoteReader),
}

impl RandomAccessFile {
    /// Bytes of the file.
    pub(super) fn bytes(&self) -> io::Result<u64> {
        match self {
            Self::Local(file) => Ok(file.metadata()?.len()),
            Self::Remote(file) => Ok(file.size()),
        }
    }

    /// Another handle of this file.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Local(file) => Self::Local(file.try_clone()?),
            Self::Remote(file) => Self::Remote(file.clone()),
        })
    }

    /// The result of a decoder; if the store failed, the store's error instead of the decoder's.
    pub(super) fn blame_store_first<T>(
        &self,
        decoded: std::result::Result<T, String>,
        fault: impl FnOnce(String) -> ReadError,
    ) -> std::result::Result<T, ReadError> {
        decoded.map_err(|why| self.store_fault().unwrap_or_else(|| fault(why)))
    }

    /// The error that a store answered in place of bytes.
    pub(super) fn store_fault(&self) -> Option<ReadError> {
        match self {
            Self::Remote(file) => file.fault().map(ReadError::Remote),
            Self::Local(_) => None,
        }
    }
}

impl Length for RandomAccessFile {
    fn len(&self) -> u64 {
        self.bytes().unwrap_or_default()
    }
}

impl ChunkReader for RandomAccessFile {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(match self {
            Self::Local(file) => Box::new(file.get_read(start)?),
            Self::Remote(file) => {
                let place = RandomAccessCursor { file: file.clone(), at: start };
                Box::new(BufReader::with_capacity(BUFFER, place))
            }
        })
    }

    fn get_bytes(&self, start: u64, bytes: usize) -> Result<Bytes> {
        let file = match self {
            Self::Local(file) => return file.get_bytes(start, bytes),
            Self::Remote(file) => file,
        };
        let read = file.read(start, bytes).map_err(|error| ParquetError::External(error.into()))?;
        if read.len() < bytes {
            let wanted = start.saturating_add(byte_len(bytes));
            let has = file.size();
            return Err(ParquetError::EOF(format!("byte {wanted} of a file of {has} bytes")));
        }
        Ok(read.into())
    }
}

/// A file in a store from some place on.
struct RandomAccessCursor {
    file: RemoteReader,
    at: u64,
}

impl Read for RandomAccessCursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(self.at, buffer.len())?;
        self.at += byte_len(read.len());
        read.as_slice().read(buffer)
    }
}
