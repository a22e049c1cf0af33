//! A file that is written as it is, as one zstd frame, or as one gzip member.

use super::error::WriteError;
use super::files::{HashedFile, ManifestFile};
use crate::model::IoError;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::{Path, PathBuf};
use zstd::stream::write::Encoder;

/// Level of zstd: its own default.
const ZSTD_LEVEL: i32 = 3;

/// What a file is wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Plain,
    Zstd,
    Gzip,
}

/// A file under way.
pub(crate) enum Sink {
    Plain(HashedFile),
    Zstd(Encoder<'static, HashedFile>),
    /// Without a name and a time, so that equal contents are equal bytes.
    Gzip(GzEncoder<HashedFile>),
}

impl Sink {
    /// Creates `dir/name`. Of `bytes` bytes, where that is known: a zstd frame then begins with their number.
    pub fn create(
        dir: &Path,
        name: &str,
        frame: Frame,
        bytes: Option<u64>,
    ) -> Result<Self, WriteError> {
        Self::of(HashedFile::create(dir, name)?, frame, bytes)
    }

    /// The same of a file that is begun.
    pub fn of(file: HashedFile, frame: Frame, bytes: Option<u64>) -> Result<Self, WriteError> {
        match frame {
            Frame::Plain => return Ok(Self::Plain(file)),
            Frame::Gzip => {
                return Ok(Self::Gzip(GzEncoder::new(file, flate2::Compression::default())));
            }
            Frame::Zstd => {}
        }
        let path = file.path().to_path_buf();
        let mut encoder =
            Encoder::new(file, ZSTD_LEVEL).map_err(IoError::of("compressing", &path))?;
        encoder.set_pledged_src_size(bytes).map_err(IoError::of("compressing", &path))?;
        Ok(Self::Zstd(encoder))
    }

    fn file(&self) -> &HashedFile {
        match self {
            Self::Plain(file) => file,
            Self::Zstd(encoder) => encoder.get_ref(),
            Self::Gzip(encoder) => encoder.get_ref(),
        }
    }

    /// Bytes of the file so far.
    pub fn bytes(&self) -> u64 {
        self.file().bytes()
    }

    pub fn put(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        let written = match self {
            Self::Plain(file) => return file.put(bytes),
            Self::Zstd(encoder) => encoder.write_all(bytes),
            Self::Gzip(encoder) => encoder.write_all(bytes),
        };
        let path: PathBuf = self.file().path().to_path_buf();
        Ok(written.map_err(IoError::of("writing", &path))?)
    }

    /// Completes the file, which holds `rows` rows.
    pub fn finish(self, rows: u64) -> Result<ManifestFile, WriteError> {
        let path = self.file().path().to_path_buf();
        let file = match self {
            Self::Plain(file) => Ok(file),
            Self::Zstd(encoder) => encoder.finish(),
            Self::Gzip(encoder) => encoder.finish(),
        };
        file.map_err(IoError::of("writing", &path))?.finish(rows)
    }
}
