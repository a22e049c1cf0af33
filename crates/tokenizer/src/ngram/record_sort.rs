//! Sorts records of a fixed number of words within bounded memory: sorted runs in a scratch file, merged as they are read.

use super::record_file::{READ_BYTES, RecordFile, RunReader};
use model::Error;
use rayon::slice::ParallelSliceMut;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The least number of records that are sorted in memory.
const LEAST: usize = 1024;

/// Collects records to be sorted by all their words, so that their order depends neither on the memory nor on threads.
pub(super) struct RecordSort<const W: usize> {
    folder: PathBuf,
    /// Records held at most.
    most: usize,
    held: Vec<[u32; W]>,
    written: Option<RecordFile<W>>,
    runs: Vec<Range<u64>>,
}

impl<const W: usize> RecordSort<W> {
    /// A sort that holds `memory` bytes of records, and writes the others into scratch files of `folder`.
    pub(super) fn new(folder: &Path, memory: u64) -> Self {
        let most = usize::try_from(memory / (4 * W as u64)).unwrap_or(usize::MAX).max(LEAST);
        let (held, runs) = (Vec::new(), Vec::new());
        Self { folder: folder.to_path_buf(), most, held, written: None, runs }
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
        let file = match self.written.take() {
            Some(file) => file,
            None => RecordFile::create(&self.folder)?,
        };
        self.runs.push(self.written.insert(file).append(&self.held)?);
        self.held.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<SortedRecords<W>, Error> {
        if self.written.is_none() {
            self.held.par_sort_unstable();
            return Ok(SortedRecords::Held(self.held));
        }
        self.write()?;
        let Self { runs, written, .. } = self;
        Ok(match written {
            Some(file) => SortedRecords::Written { file, runs },
            None => SortedRecords::Held(Vec::new()),
        })
    }
}

/// Sorted records, which can be read several times.
pub(super) enum SortedRecords<const W: usize> {
    /// All of them in memory.
    Held(Vec<[u32; W]>),
    /// Runs in a file.
    Written { file: RecordFile<W>, runs: Vec<Range<u64>> },
}

impl<const W: usize> SortedRecords<W> {
    /// Reads them from the first one.
    pub(super) fn scan(&self) -> Result<SortedScan<'_, W>, Error> {
        let Self::Written { file, runs } = self else {
            let Self::Held(held) = self else { return Ok(SortedScan::Held([].iter())) };
            return Ok(SortedScan::Held(held.iter()));
        };
        let mut readers = Vec::with_capacity(runs.len());
        let mut heads = BinaryHeap::with_capacity(runs.len());
        for run in runs {
            let mut reader = RunReader::new(file, run.clone(), READ_BYTES);
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
