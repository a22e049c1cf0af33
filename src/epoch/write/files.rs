//! A file that is hashed as it is written.

use crate::epoch::error::EpochError;
use crate::epoch::manifest::ManifestFile;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const BUFFER: usize = 1 << 20;

/// A file under way.
pub(super) struct HashedFile {
    path: PathBuf,
    name: String,
    inner: BufWriter<Hashing>,
}

struct Hashing {
    file: File,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl HashedFile {
    /// Creates `dir/name`.
    pub fn create(dir: &Path, name: &str) -> Result<Self, EpochError> {
        let path = dir.join(name);
        let file = File::create_new(&path).map_err(EpochError::io("creating", &path))?;
        let hashing = Hashing { file, hasher: blake3::Hasher::new(), bytes: 0 };
        Ok(Self { path, name: name.to_owned(), inner: BufWriter::with_capacity(BUFFER, hashing) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn put(&mut self, bytes: &[u8]) -> Result<(), EpochError> {
        self.inner.write_all(bytes).map_err(EpochError::io("writing", &self.path))
    }

    /// Completes the file, which holds `rows` rows.
    pub fn finish(mut self, rows: u64) -> Result<ManifestFile, EpochError> {
        self.inner.flush().map_err(EpochError::io("writing", &self.path))?;
        let hashing = self.inner.get_ref();
        Ok(ManifestFile {
            name: self.name,
            bytes: hashing.bytes,
            rows,
            blake3: hashing.hasher.finalize().to_hex().to_string(),
        })
    }
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(bytes.get(..written).unwrap_or_default());
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
