//! Sorts records of a fixed number of words within bounded memory: runs in a scratch file, merged as they are read.

use super::record_file::{READ_BYTES, RecordFile, RunReader};
use model::Error;
use rayon::slice::ParallelSliceMut;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes of a run that are read at a time, at least.
const LEAST_READ_BYTES: usize = 4 << 10;
/// The least number of records that are sorted in memory.
const LEAST: usize = 1024;

/// Collects records to be sorted by all their words, so that their order depends neither on the memory nor on threads.
pub(super) struct RecordSort<const W: usize> {
    folder: PathBuf,
    /// Records held at most.
    most: usize,
    held: Vec<[u32; W]>,
    /// Sorted runs, where not all can be held.
    written: Option<(RecordFile<W>, Vec<Range<u64>>)>,
}

impl<const W: usize> RecordSort<W> {
    /// A sort that holds `memory` bytes of records, and writes the others into scratch files of `folder`.
    pub(super) fn new(folder: &Path, memory: u64) -> Self {
        let most = usize::try_from(memory / (4 * W as u64)).unwrap_or(usize::MAX).max(LEAST);
        Self { folder: folder.to_path_buf(), most, held: Vec::new(), written: None }
    }

    pub(super) fn push(&mut self, record: [u32; W]) -> Result<(), Error> {
        let held = self.held.len();
        if held == self.most {
            self.write()?;
        } else if held == self.held.capacity() {
            // Never more than `most`, as doubling would have it.
            self.held.reserve_exact(held.max(LEAST).min(self.most - held));
        }
        self.held.push(record);
        Ok(())
    }

    fn write(&mut self) -> Result<(), Error> {
        self.held.par_sort_unstable();
        let (file, runs) = match &mut self.written {
            Some(written) => written,
            None => self.written.insert((RecordFile::create(&self.folder)?, Vec::new())),
        };
        runs.push(file.append(&self.held)?);
        self.held.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<SortedRecords<W>, Error> {
        if self.written.is_some() {
            self.write()?;
        }
        self.held.par_sort_unstable();
        Ok(match self.written {
            Some((file, runs)) => {
                // A reader holds bytes and records. The runs share what held them.
                let bytes = self.most * 4 * W / (2 * runs.len());
                let bytes = bytes.clamp(LEAST_READ_BYTES, READ_BYTES);
                SortedRecords::Written { file, runs, bytes }
            }
            None => SortedRecords::Held(self.held),
        })
    }
}

/// Sorted records, which can be read several times.
pub(super) enum SortedRecords<const W: usize> {
    /// All of them in memory.
    Held(Vec<[u32; W]>),
    /// Runs in a file, each read by so many bytes.
    Written { file: RecordFile<W>, runs: Vec<Range<u64>>, bytes: usize },
}

impl<const W: usize> SortedRecords<W> {
    /// Reads them from the first one.
    pub(super) fn scan(&self) -> Result<SortedScan<'_, W>, Error> {
        let (file, runs, bytes) = match self {
            Self::Held(held) => return Ok(SortedScan::Held(held.iter())),
            Self::Written { file, runs, bytes } => (file, runs, *bytes),
        };
        let mut readers = Vec::with_capacity(runs.len());
        let mut heads = BinaryHeap::with_capacity(runs.len());
        for run in runs {
            let mut reader = RunReader::new(file, run.clone(), bytes);
            if let Some(first) = reader.next()? {
                heads.push(Reverse((first, readers.len())));
                readers.push(reader);
            }
        }
        Ok(SortedScan::Merged { readers, heads })
    }
}

/// Reads sorted records in their order.
pub(super) enum SortedScan<'r, const W: usize> {
    /// From memory.
    Held(std::slice::Iter<'r, [u32; W]>),
    /// From the runs of a file: the next record of each, with the number of its reader.
    Merged { readers: Vec<RunReader<'r, W>>, heads: BinaryHeap<Reverse<([u32; W], usize)>> },
}

impl<const W: usize> SortedScan<'_, W> {
    pub(super) fn next(&mut self) -> Result<Option<[u32; W]>, Error> {
        match self {
            Self::Held(held) => Ok(held.next().copied()),
            Self::Merged { readers, heads } => {
                let Some(mut head) = heads.peek_mut() else { return Ok(None) };
                let Reverse((record, number)) = *head;
                match readers.get_mut(number).map(RunReader::next).transpose()?.flatten() {
                    Some(next) => *head = Reverse((next, number)),
                    None => drop(PeekMut::pop(head)),
                }
                Ok(Some(record))
            }
        }
    }
}
