//! Cuts rows into groups and files, the same way for every format.
//!
//! Where groups and files end depends on the rows since the file began and on nothing else: not on how many come at a
//! time, on threads or on memory. So what continues behind a finished file writes the bytes that it would have written.

use super::error::WriteError;
use super::files::ManifestFile;
use super::format::{EncodedGroup, ShardFile};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, IntervalUnit};
use rayon::prelude::*;

/// Bytes that a value counts beside those of its text: numbers are as wide, and lines of text have names and marks.
const VALUE_BYTES: u64 = 8;

/// Where a group ends: a row group of Parquet, a record batch of Arrow, lines that are encoded together.
#[derive(Clone, Copy, Debug)]
pub struct GroupSize {
    /// Rows at which it ends.
    pub rows: u64,
    /// Bytes of values at which it ends, the last row included.
    pub bytes: u64,
}

/// Rows, and for each the position behind it: the point at which an interrupted run continues.
pub struct PositionedRows {
    /// The rows.
    pub rows: RecordBatch,
    /// One for each row; none where nothing is continued.
    pub behind: Vec<u64>,
}

/// Files of a shard that are complete.
pub struct ShardOutcome {
    /// The largest first; none for a stream.
    pub files: Vec<ManifestFile>,
    /// The position behind its last row.
    pub next: u64,
    /// How many values of each column the format cannot hold.
    pub lost: Vec<u64>,
}

type Encode<'a> =
    Box<dyn Fn(&[RecordBatch]) -> Result<EncodedGroup, WriteError> + Send + Sync + 'a>;
type Open<'a, E> = Box<dyn FnMut(u32) -> Result<Box<dyn ShardFile + 'a>, E> + Send + 'a>;
type Take<'a, E> = Box<dyn FnMut(ShardOutcome) -> Result<(), E> + Send + 'a>;

/// Files under way, one after another.
pub struct ShardWriter<'a, E> {
    encode: Encode<'a>,
    open: Open<'a, E>,
    finished: Take<'a, E>,
    group: GroupSize,
    /// Bytes at which a file ends.
    shard_bytes: u64,
    number: u32,
    shard: Option<Box<dyn ShardFile + 'a>>,
    waiting: WaitingRows,
    /// Bytes of the largest group of the file: the next one is expected to take no more.
    largest: u64,
    next: u64,
    lost: Vec<u64>,
}

/// Rows that wait until their group is full.
#[derive(Default)]
struct WaitingRows {
    batches: Vec<RecordBatch>,
    rows: u64,
    bytes: u64,
}

/// A full group, and the position behind it.
struct RowGroup {
    batches: Vec<RecordBatch>,
    next: u64,
}

impl<'a, E: From<WriteError> + Send> ShardWriter<'a, E> {
    /// `encode` makes a group of rows, on any thread; `open` begins the files of a number, the first one being
    /// `number`; each ends at `shard_bytes` bytes and goes to `finished`.
    pub fn new(
        number: u32,
        shard_bytes: u64,
        group: GroupSize,
        encode: impl Fn(&[RecordBatch]) -> Result<EncodedGroup, WriteError> + Send + Sync + 'a,
        open: impl FnMut(u32) -> Result<Box<dyn ShardFile + 'a>, E> + Send + 'a,
        finished: impl FnMut(ShardOutcome) -> Result<(), E> + Send + 'a,
    ) -> Self {
        Self {
            encode: Box::new(encode),
            open: Box::new(open),
            finished: Box::new(finished),
            group,
            shard_bytes,
            number,
            shard: None,
            waiting: WaitingRows::default(),
            largest: 0,
            next: 0,
            lost: Vec::new(),
        }
    }

    /// Writes all that `read` gives, until it gives nothing: the next rows are read while these are written.
    /// `progress` gets the number of rows before they are written, and may stop the work.
    pub fn write_while_reading(
        &mut self,
        mut read: impl FnMut() -> Result<Vec<PositionedRows>, E> + Send,
        mut progress: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut window = read()?;
        while !window.is_empty() {
            progress(window.iter().map(|read| read.rows.num_rows() as u64).sum())?;
            let (written, following) = rayon::join(|| self.write(window), &mut read);
            written?;
            window = following?;
        }
        Ok(())
    }

    /// Takes rows in order.
    pub fn write(&mut self, rows: Vec<PositionedRows>) -> Result<(), E> {
        let mut groups = Vec::new();
        for rows in &rows {
            self.cut(rows, &mut groups);
        }
        drop(rows);
        self.append(groups)
    }

    /// Completes the last file; one without rows, if there is none and `at_least_one`.
    pub fn finish(mut self, at_least_one: bool) -> Result<(), E> {
        let WaitingRows { batches, .. } = std::mem::take(&mut self.waiting);
        if !batches.is_empty() {
            self.append(vec![RowGroup { batches, next: self.next }])?;
        } else if self.shard.is_none() && self.number == 0 && at_least_one {
            self.shard = Some((self.open)(0)?);
        }
        self.close()
    }

    /// Cuts rows into groups; those behind the last full one wait.
    fn cut(&mut self, read: &PositionedRows, groups: &mut Vec<RowGroup>) {
        let mut start = 0;
        for (row, bytes) in row_bytes(&read.rows).into_iter().enumerate() {
            self.waiting.rows += 1;
            self.waiting.bytes += bytes;
            if self.waiting.rows < self.group.rows && self.waiting.bytes < self.group.bytes {
                continue;
            }
            let mut full = std::mem::take(&mut self.waiting).batches;
            full.push(read.rows.slice(start, row + 1 - start));
            let next = read.behind.get(row).copied().unwrap_or_default();
            groups.push(RowGroup { batches: full, next });
            start = row + 1;
        }
        let rest = read.rows.num_rows() - start;
        if rest > 0 {
            self.waiting.batches.push(read.rows.slice(start, rest));
        }
        self.next = read.behind.last().copied().unwrap_or(self.next);
    }

    /// Encodes groups side by side and appends them in order.
    fn append(&mut self, groups: Vec<RowGroup>) -> Result<(), E> {
        let encode = &self.encode;
        let encoded = |group: RowGroup| Ok((encode(&group.batches)?, group.next));
        let encoded: Vec<(EncodedGroup, u64)> =
            groups.into_par_iter().map(encoded).collect::<Result<_, WriteError>>()?;
        let behind = self.next;
        for (group, next) in encoded {
            let mut shard = match self.shard.take() {
                Some(shard) => shard,
                None => (self.open)(self.number)?,
            };
            self.lost.resize(self.lost.len().max(group.lost.len()), 0);
            self.lost.iter_mut().zip(&group.lost).for_each(|(sum, lost)| *sum += lost);
            let before = shard.bytes();
            shard.append(group)?;
            let bytes = shard.bytes();
            self.largest = self.largest.max(bytes.saturating_sub(before));
            self.shard = Some(shard);
            self.next = next;
            if bytes.saturating_add(self.largest) > self.shard_bytes {
                self.close()?;
            }
        }
        self.next = behind;
        Ok(())
    }

    fn close(&mut self) -> Result<(), E> {
        let Some(shard) = self.shard.take() else { return Ok(()) };
        self.largest = 0;
        self.number = self.number.checked_add(1).ok_or_else(|| {
            WriteError::Unfit("more than 2^32 files: raise `shard_bytes=`".to_owned())
        })?;
        let (files, lost) = (shard.finish()?, std::mem::take(&mut self.lost));
        (self.finished)(ShardOutcome { files, next: self.next, lost })
    }
}

/// Bytes of the values of each row: those of its texts, and a fixed number for each value. They follow from the values
/// alone, not from the arrays that hold them.
pub(super) fn row_bytes(rows: &RecordBatch) -> Vec<u64> {
    let mut bytes = vec![0; rows.num_rows()];
    for column in rows.columns() {
        add_bytes(column.as_ref(), &mut bytes);
    }
    bytes
}

/// Adds the bytes of the values of an array to those of its rows.
fn add_bytes(array: &dyn Array, bytes: &mut [u64]) {
    let fixed = fixed_bytes(array.data_type());
    bytes.iter_mut().for_each(|sum| *sum += fixed);
    let nulls = array.nulls();
    let is_valid = |row: usize| nulls.is_none_or(|nulls| nulls.is_valid(row));
    let rows = bytes.iter_mut().enumerate().filter(|(row, _)| is_valid(*row));
    macro_rules! lengths {
        ($array:expr) => {{
            let array = $array;
            rows.for_each(|(row, sum)| *sum += array.value(row).len() as u64);
        }};
    }
    macro_rules! nested {
        ($array:expr) => {{
            let array = $array;
            rows.for_each(|(row, sum)| {
                let items = array.value(row);
                if items.data_type().is_primitive() {
                    *sum += items.len() as u64 * fixed_bytes(items.data_type());
                    return;
                }
                let mut inner = vec![0; items.len()];
                add_bytes(items.as_ref() as &dyn Array, &mut inner);
                *sum += inner.iter().sum::<u64>();
            });
        }};
    }
    match array.data_type() {
        DataType::Utf8 => lengths!(array.as_string::<i32>()),
        DataType::LargeUtf8 => lengths!(array.as_string::<i64>()),
        DataType::Utf8View => lengths!(array.as_string_view()),
        DataType::Binary => lengths!(array.as_binary::<i32>()),
        DataType::LargeBinary => lengths!(array.as_binary::<i64>()),
        DataType::BinaryView => lengths!(array.as_binary_view()),
        DataType::List(_) => nested!(array.as_list::<i32>()),
        DataType::LargeList(_) => nested!(array.as_list::<i64>()),
        DataType::ListView(_) => nested!(array.as_list_view::<i32>()),
        DataType::LargeListView(_) => nested!(array.as_list_view::<i64>()),
        DataType::FixedSizeList(..) => nested!(array.as_fixed_size_list()),
        DataType::Struct(_) => {
            let mut inner = vec![0; bytes.len()];
            for column in array.as_struct().columns() {
                add_bytes(column.as_ref(), &mut inner);
            }
            let rows = bytes.iter_mut().zip(inner).enumerate();
            rows.filter(|(row, _)| is_valid(*row)).for_each(|(_, (sum, inner))| *sum += inner);
        }
        DataType::Map(..) => {
            let array = array.as_map();
            rows.for_each(|(row, sum)| {
                let entries = array.value(row);
                let mut inner = vec![0; entries.len()];
                add_bytes(&entries, &mut inner);
                *sum += inner.iter().sum::<u64>();
            });
        }
        _ => {}
    }
}

/// What a value counts whatever it is.
const fn fixed_bytes(of: &DataType) -> u64 {
    match of {
        DataType::FixedSizeBinary(width) => VALUE_BYTES + width.unsigned_abs() as u64,
        DataType::Decimal128(..) | DataType::Interval(IntervalUnit::MonthDayNano) => 16,
        DataType::Decimal256(..) => 32,
        _ => VALUE_BYTES,
    }
}
