//! Cuts parts into groups and files, the same way for every format.
//!
//! Where groups and files end depends on the parts since the file began and on nothing else, so an export that
//! continues behind a finished file writes the bytes that it would have written.

use super::Shard;
use super::part::Part;
use crate::export::error::ExportError;
use crate::output::ManifestFile;

/// Rows at which a group ends: a row group of Parquet, a record batch of Arrow.
const GROUP_ROWS: u64 = 8192;
/// Bytes of rows in memory at which a group ends, a part more at most, by the bytes at which a file ends.
const GROUP_BYTES: std::ops::RangeInclusive<u64> = 4 << 10..=8 << 20;

/// Bytes at which a group ends in files of so many.
pub(in crate::export) fn group_bytes(shard_bytes: u64) -> u64 {
    (shard_bytes / 8).clamp(*GROUP_BYTES.start(), *GROUP_BYTES.end())
}

/// A file that is complete.
pub(in crate::export) struct Finished {
    pub file: ManifestFile,
    /// The id behind its last document.
    pub next: u64,
}

/// Opens the file of a number.
type Open<'a> = Box<dyn FnMut(u32) -> Result<Box<dyn Shard + 'a>, ExportError> + Send + 'a>;

/// Takes what is complete.
type Take<'a> = Box<dyn FnMut(Finished) -> Result<(), ExportError> + Send + 'a>;

/// Files under way, one after another.
pub(in crate::export) struct Shards<'a> {
    open: Open<'a>,
    finished: Take<'a>,
    /// Bytes at which a file ends.
    most: u64,
    number: u32,
    shard: Option<Box<dyn Shard + 'a>>,
    waiting: Vec<Part>,
    waiting_rows: u64,
    waiting_bytes: u64,
    /// Bytes of the largest group of the file: what the next one is expected to take.
    largest: u64,
    next: u64,
}

impl<'a> Shards<'a> {
    /// The first file is of that number; each ends at `most` bytes.
    pub fn new(
        number: u32,
        most: u64,
        open: impl FnMut(u32) -> Result<Box<dyn Shard + 'a>, ExportError> + Send + 'a,
        finished: impl FnMut(Finished) -> Result<(), ExportError> + Send + 'a,
    ) -> Self {
        Self {
            open: Box::new(open),
            finished: Box::new(finished),
            most,
            number,
            shard: None,
            waiting: Vec::new(),
            waiting_rows: 0,
            waiting_bytes: 0,
            largest: 0,
            next: 0,
        }
    }

    /// Takes parts in order.
    pub fn write(&mut self, parts: Vec<Part>) -> Result<(), ExportError> {
        for part in parts {
            self.waiting_rows += part.count;
            self.waiting_bytes += part.weight;
            self.next = part.next;
            self.waiting.push(part);
            if self.waiting_rows < GROUP_ROWS && self.waiting_bytes < group_bytes(self.most) {
                continue;
            }
            let bytes = self.append()?;
            if bytes.saturating_add(self.largest) > self.most {
                self.close()?;
            }
        }
        Ok(())
    }

    /// Completes the last file; one without rows, if there is none and `at_least_one`.
    pub fn finish(mut self, at_least_one: bool) -> Result<(), ExportError> {
        if !self.waiting.is_empty() || (self.shard.is_none() && self.number == 0 && at_least_one) {
            self.append()?;
        }
        self.close()
    }

    /// Writes the group that waits; gives the bytes of the file by then.
    fn append(&mut self) -> Result<u64, ExportError> {
        let mut shard = match self.shard.take() {
            Some(shard) => shard,
            None => (self.open)(self.number)?,
        };
        let before = shard.bytes();
        shard.append(std::mem::take(&mut self.waiting))?;
        (self.waiting_rows, self.waiting_bytes) = (0, 0);
        let bytes = shard.bytes();
        self.largest = self.largest.max(bytes - before);
        self.shard = Some(shard);
        Ok(bytes)
    }

    fn close(&mut self) -> Result<(), ExportError> {
        let Some(shard) = self.shard.take() else { return Ok(()) };
        self.largest = 0;
        self.number = self.number.checked_add(1).ok_or_else(|| {
            ExportError::Options("more than 2^32 files: raise `shard_bytes=`".to_owned())
        })?;
        match shard.finish()? {
            Some(file) => (self.finished)(Finished { file, next: self.next }),
            None => Ok(()),
        }
    }
}
