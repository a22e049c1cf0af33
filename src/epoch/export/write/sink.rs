//! A file that is written as it is, or as one zstd frame.

use super::files::HashedFile;
use crate::epoch::error::EpochError;
use crate::epoch::export::ManifestFile;
use crate::epoch::recipe::Compression;
use std::io::Write;
use std::path::{Path, PathBuf};
use zstd::stream::write::Encoder;

/// Level of zstd: its own default.
const LEVEL: i32 = 3;

/// A file under way.
pub(super) enum Sink {
    Plain(HashedFile),
    Zstd(Encoder<'static, HashedFile>),
}

impl Sink {
    /// Creates `dir/name`. Of `bytes` bytes, where that is known: the frame then begins with their number.
    pub fn create(
        dir: &Path,
        name: &str,
        compression: Compression,
        bytes: Option<u64>,
    ) -> Result<Self, EpochError> {
        let file = HashedFile::create(dir, name)?;
        if compression == Compression::None {
            return Ok(Self::Plain(file));
        }
        let path = file.path().to_path_buf();
        let mut encoder =
            Encoder::new(file, LEVEL).map_err(EpochError::io("compressing", &path))?;
        encoder.set_pledged_src_size(bytes).map_err(EpochError::io("compressing", &path))?;
        Ok(Self::Zstd(encoder))
    }

    fn file(&self) -> &HashedFile {
        match self {
            Self::Plain(file) => file,
            Self::Zstd(encoder) => encoder.get_ref(),
        }
    }

    /// Bytes of the file so far.
    pub fn bytes(&self) -> u64 {
        self.file().bytes()
    }

    pub fn put(&mut self, bytes: &[u8]) -> Result<(), EpochError> {
        match self {
            Self::Plain(file) => file.put(bytes),
            Self::Zstd(encoder) => {
                let written = encoder.write_all(bytes);
                let path: PathBuf = encoder.get_ref().path().to_path_buf();
                written.map_err(EpochError::io("writing", &path))
            }
        }
    }

    /// Completes the file, which holds `rows` rows.
    pub fn finish(self, rows: u64) -> Result<ManifestFile, EpochError> {
        let path = self.file().path().to_path_buf();
        let file = match self {
            Self::Plain(file) => file,
            Self::Zstd(encoder) => encoder.finish().map_err(EpochError::io("writing", &path))?,
        };
        file.finish(rows)
    }
}
