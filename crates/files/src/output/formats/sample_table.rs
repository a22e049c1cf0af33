//! The layout of shards that `mds` and `litdata` share, written and read back: samples behind a table of their offsets.
//!
//! A shard is the number n of samples as u32, n + 1 offsets as u32 counted from the file's first byte, what the format
//! says of itself, then the samples.

use super::segment_table::SegmentTableWriter;
use crate::output::compression::{CompressedFile, OutputCompression};
use crate::output::error::WriteError;
use crate::output::files::ManifestFile;
use crate::output::row_format::{
    EncodedRows, RowShard, RowSpec, ShardReadError, damaged, little_endian,
};
use arrow::buffer::Buffer;
use model::IoError;
use std::fs;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Bytes that are copied at a time.
const COPIED: usize = 1 << 20;

/// Bytes before the first sample of a shard of `samples`, what the format says of itself apart.
pub(super) const fn table_bytes(samples: u64) -> u64 {
    4 * (samples + 2)
}

/// A shard under way. The table before its samples is known at the end only: until then they are in memory, and
/// beyond a share of it in a file beside.
pub(super) struct SampleFile {
    dir: PathBuf,
    name: String,
    compression: OutputCompression,
    /// What the format says of itself.
    self_description: Vec<u8>,
    sizes: Vec<usize>,
    samples: Vec<Buffer>,
    /// Bytes of `samples`, and how many may be held.
    held: u64,
    most: u64,
    spilled: Option<SpillFile>,
    /// Beside formats that have no place for segments.
    segments: Option<SegmentTableWriter>,
}

/// Samples that are not in memory. The file goes when its owner does.
struct SpillFile {
    path: PathBuf,
    file: File,
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        // Where that fails, the directory is cleared by whoever enters it next.
        let _ = fs::remove_file(&self.path);
    }
}

impl SpillFile {
    fn create(path: PathBuf) -> Result<Self, WriteError> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.map_err(IoError::of("creating", &path))?;
        Ok(Self { path, file })
    }

    fn append(&mut self, samples: &[Buffer]) -> Result<(), WriteError> {
        let mut written = samples.iter().map(|sample| self.file.write_all(sample));
        Ok(written.try_for_each(|one| one).map_err(IoError::of("writing", &self.path))?)
    }

    fn copy_to(&mut self, out: &mut CompressedFile<'_>) -> Result<(), WriteError> {
        let failed = || IoError::of("reading", &self.path);
        self.file.rewind().map_err(failed())?;
        let mut piece = vec![0; COPIED];
        loop {
            let read = self.file.read(&mut piece).map_err(failed())?;
            match piece.get(..read) {
                Some(read) if !read.is_empty() => out.put(read)?,
                _ => return Ok(()),
            }
        }
    }
}

impl SampleFile {
    pub fn create(
        spec: &RowSpec,
        dir: &Path,
        name: String,
        self_description: Vec<u8>,
        segments: Option<SegmentTableWriter>,
    ) -> Box<dyn RowShard> {
        Box::new(Self {
            dir: dir.to_path_buf(),
            name,
            compression: spec.compression,
            self_description,
            sizes: Vec::new(),
            samples: Vec::new(),
            held: 0,
            most: spec.memory,
            spilled: None,
            segments,
        })
    }

    /// The table before the samples.
    fn table(&self) -> Result<Vec<u8>, WriteError> {
        let samples = self.sizes.len() as u64;
        let number = |number: u64| {
            u32::try_from(number)
                .map(u32::to_le_bytes)
                .map_err(|_| WriteError::Bug(format!("{} of 4 GiB or more", self.name)))
        };
        let mut table = Vec::new();
        table.extend(number(samples)?);
        let mut offset = table_bytes(samples) + self.self_description.len() as u64;
        table.extend(number(offset)?);
        for size in &self.sizes {
            offset += *size as u64;
            table.extend(number(offset)?);
        }
        Ok(table)
    }

    fn spill(&mut self) -> Result<(), WriteError> {
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            None => {
                let path = self.dir.join(format!("{}.samples", self.name));
                self.spilled.insert(SpillFile::create(path)?)
            }
        };
        spilled.append(&self.samples)?;
        self.samples.clear();
        self.held = 0;
        Ok(())
    }
}

impl RowShard for SampleFile {
    fn append(&mut self, group: EncodedRows) -> Result<(), WriteError> {
        self.held += group.bytes.len() as u64;
        self.samples.push(group.bytes);
        self.sizes.extend(group.sizes);
        if let Some(segments) = &mut self.segments {
            segments.append(&group.rows)?;
        }
        if self.held > self.most { self.spill() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<ManifestFile>, WriteError> {
        let table = self.table()?;
        let samples: u64 = self.sizes.iter().map(|size| *size as u64).sum();
        let bytes = table.len() as u64 + self.self_description.len() as u64 + samples;
        let mut file =
            CompressedFile::create(&self.dir, &self.name, self.compression, Some(bytes))?;
        file.put(&table)?;
        file.put(&self.self_description)?;
        if let Some(mut spilled) = self.spilled.take() {
            spilled.copy_to(&mut file)?;
        }
        for sample in std::mem::take(&mut self.samples) {
            file.put(&sample)?;
        }
        let mut files = vec![file.finish_file(self.sizes.len() as u64)?];
        if let Some(segments) = self.segments.take() {
            files.push(segments.finish()?);
        }
        Ok(files)
    }
}

/// The offsets of the samples of a shard of `size` bytes, and of its end. `from` is then behind the table.
pub(super) fn read_table(
    from: &mut impl Read,
    size: u64,
    path: &Path,
) -> Result<Vec<u64>, ShardReadError> {
    let mut next = |bytes: u64| {
        let mut found = Vec::new();
        let read = (&mut *from).take(bytes).read_to_end(&mut found);
        read.map(|_| found).map_err(IoError::of("reading", path))
    };
    let count = little_endian(&next(4)?);
    // The count is held against the size of the whole file before room is made for the table.
    let table = if table_bytes(count) <= size { next(4 * (count + 1))? } else { Vec::new() };
    let offsets: Vec<u64> = table.chunks_exact(4).map(little_endian).collect();
    let begins = offsets.first().is_some_and(|first| *first >= table_bytes(count));
    let sound = offsets.len() as u64 == count + 1
        && offsets.is_sorted()
        && offsets.last() == Some(&size)
        && begins;
    match sound {
        true => Ok(offsets),
        false => damaged(path, format!("has no table of {count} samples within its {size} bytes")),
    }
}
