//! Records of a fixed number of words in a scratch file that is gone when it is closed, and tapes that end in one.

use model::invariant::at;
use model::{Error, IoError};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Records read from a file at a time, in bytes, at most.
pub(super) const READ_BYTES: usize = 64 << 10;
/// Records that a tape holds before it writes them, in bytes.
const TAPE_BYTES: usize = 256 << 10;

/// Numbers the scratch files of this process.
static MADE: AtomicU64 = AtomicU64::new(0);

/// A file of records without a name: nothing is left of it when the process ends in any way.
pub(super) struct RecordFile<const W: usize> {
    file: File,
    folder: PathBuf,
    records: u64,
}

impl<const W: usize> RecordFile<W> {
    pub(super) fn create(folder: &Path) -> Result<Self, Error> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("records-{}-{number}.scratch", std::process::id()));
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.map_err(IoError::of("creating", &path))?;
        fs::remove_file(&path).map_err(IoError::of("removing", &path))?;
        Ok(Self { file, folder: folder.to_path_buf(), records: 0 })
    }

    /// Writes records behind all others, and answers their numbers.
    pub(super) fn append(&mut self, records: &[[u32; W]]) -> Result<Range<u64>, Error> {
        let first = self.records;
        let mut bytes = Vec::with_capacity(READ_BYTES);
        for some in records.chunks((READ_BYTES / Self::WIDTH).max(1)) {
            bytes.clear();
            some.iter().flatten().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
            let at = self.records * Self::WIDTH as u64;
            self.file.write_all_at(&bytes, at).map_err(|error| self.refused("writing", error))?;
            self.records += some.len() as u64;
        }
        Ok(first..self.records)
    }

    const WIDTH: usize = 4 * W;

    /// Reads the records of a range into `out`, in place of what it has; `bytes` is its scratch memory.
    fn read(
        &self,
        range: Range<u64>,
        bytes: &mut Vec<u8>,
        out: &mut Vec<[u32; W]>,
    ) -> Result<(), Error> {
        // A range is of at most as many records as fit into a buffer.
        bytes.resize((range.end - range.start) as usize * Self::WIDTH, 0);
        let read = self.file.read_exact_at(bytes, range.start * Self::WIDTH as u64);
        read.map_err(|error| self.refused("reading", error))?;
        let (words, _) = bytes.as_chunks::<4>();
        out.clear();
        out.extend(words.as_chunks::<W>().0.iter().map(|of| of.map(u32::from_le_bytes)));
        Ok(())
    }

    fn refused(&self, doing: &'static str, error: io::Error) -> Error {
        IoError::of(doing, &self.folder.join("(scratch)"))(error).into()
    }
}

/// Reads some records of a file in their order.
pub(super) struct RunReader<'f, const W: usize> {
    file: &'f RecordFile<W>,
    left: Range<u64>,
    /// Records read at a time.
    step: u64,
    held: Vec<[u32; W]>,
    next: usize,
    bytes: Vec<u8>,
}

impl<'f, const W: usize> RunReader<'f, W> {
    pub(super) fn new(file: &'f RecordFile<W>, left: Range<u64>, bytes: usize) -> Self {
        let step = (bytes / RecordFile::<W>::WIDTH).max(1) as u64;
        Self { file, left, step, held: Vec::new(), next: 0, bytes: Vec::new() }
    }

    pub(super) fn next(&mut self) -> Result<Option<[u32; W]>, Error> {
        if self.next == self.held.len() {
            let end = self.left.end.min(self.left.start + self.step);
            self.file.read(self.left.start..end, &mut self.bytes, &mut self.held)?;
            (self.left.start, self.next) = (end, 0);
        }
        let record = self.held.get(self.next).copied();
        self.next += 1;
        Ok(record)
    }
}

/// Records that are written one after the other, and then read in that order.
pub(super) struct Tape<const W: usize> {
    folder: PathBuf,
    file: Option<RecordFile<W>>,
    held: Vec<[u32; W]>,
}

impl<const W: usize> Tape<W> {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), file: None, held: Vec::new() }
    }

    pub(super) fn push(&mut self, record: [u32; W]) -> Result<(), Error> {
        self.held.push(record);
        if self.held.len() * 4 * W >= TAPE_BYTES {
            let file = match &mut self.file {
                Some(file) => file,
                None => self.file.insert(RecordFile::create(&self.folder)?),
            };
            file.append(&self.held)?;
            self.held.clear();
        }
        Ok(())
    }

    pub(super) fn read(&self) -> TapeReader<'_, W> {
        let written = self.file.as_ref();
        let written = written.map(|file| RunReader::new(file, 0..file.records, READ_BYTES));
        TapeReader { written, held: self.held.iter() }
    }
}

/// Reads a tape from its beginning.
pub(super) struct TapeReader<'t, const W: usize> {
    written: Option<RunReader<'t, W>>,
    held: std::slice::Iter<'t, [u32; W]>,
}

impl<const W: usize> TapeReader<'_, W> {
    /// The next record. A caller reads as many as were pushed.
    pub(super) fn next(&mut self) -> Result<[u32; W], Error> {
        if let Some(written) = &mut self.written {
            if let Some(record) = written.next()? {
                return Ok(record);
            }
            self.written = None;
        }
        let record = *at(self.held.as_slice(), 0);
        self.held.next();
        Ok(record)
    }
}
