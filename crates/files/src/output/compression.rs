//! The compressions of output files, and the writer of a file or stream that is compressed as a whole.

use super::error::WriteError;
use super::files::{HashedFile, ManifestFile};
use flate2::write::GzEncoder;
use model::named;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::Path;
use zstd::stream::write::Encoder;

/// Level of zstd for whole files: its own default.
const ZSTD_LEVEL: i32 = 3;

/// How files are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema, clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum OutputCompression {
    /// No compression
    None,
    /// Zstandard: the whole file, pages of Parquet, or buffers of Arrow
    Zstd,
    /// gzip: the whole file, or pages of Parquet
    Gzip,
    /// Snappy; pages of Parquet only
    Snappy,
    /// LZ4; pages of Parquet or buffers of Arrow
    Lz4,
}

named!(OutputCompression {
    None = "none", Zstd = "zstd", Gzip = "gzip", Snappy = "snappy", Lz4 = "lz4",
});

impl OutputCompression {
    /// What it adds to the name of a file that is compressed as a whole.
    #[doc(hidden)]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Zstd => ".zst",
            Self::Gzip => ".gz",
            _ => "",
        }
    }
}

/// Where the bytes of a file go: a file that is hashed, or a stream of the caller.
pub enum FileOutput<'a> {
    /// A file.
    File(HashedFile),
    /// A stream of the caller.
    Stream {
        /// It.
        out: &'a mut (dyn Write + Send),
        /// Bytes written so far.
        bytes: u64,
    },
}

impl<'a> FileOutput<'a> {
    /// An output to a stream of the caller.
    pub fn stream(out: &'a mut (dyn Write + Send)) -> Self {
        Self::Stream { out, bytes: 0 }
    }

    /// Bytes of it so far.
    pub const fn bytes(&self) -> u64 {
        match self {
            Self::File(file) => file.bytes(),
            Self::Stream { bytes, .. } => *bytes,
        }
    }

    /// The path of a file; a stream has none.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(file) => Some(file.path()),
            Self::Stream { .. } => None,
        }
    }

    /// Completes it, with `rows` rows; a stream is not listed in a manifest.
    pub fn finish(self, rows: u64) -> Result<Option<ManifestFile>, WriteError> {
        match self {
            Self::File(file) => file.finish(rows).map(Some),
            Self::Stream { out, .. } => {
                out.flush().map_err(WriteError::Stream)?;
                Ok(None)
            }
        }
    }
}

impl From<HashedFile> for FileOutput<'_> {
    fn from(file: HashedFile) -> Self {
        Self::File(file)
    }
}

impl Write for FileOutput<'_> {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(content),
            Self::Stream { out, bytes } => {
                let written = out.write(content)?;
                *bytes += written as u64;
                Ok(written)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Stream { out, .. } => out.flush(),
        }
    }
}

/// A file or stream under way: as it is, as one zstd frame, or as one gzip member without a name and a time, so that
/// equal contents are equal bytes, where they come in equal portions: how much a compressor gets at a time decides how
/// much of it is written at a moment, and in gzip the bytes too.
pub(crate) struct CompressedFile<'a>(Compressor<'a>);

enum Compressor<'a> {
    Plain(FileOutput<'a>),
    Zstd(Encoder<'static, FileOutput<'a>>),
    Gzip(GzEncoder<FileOutput<'a>>),
}

impl<'a> CompressedFile<'a> {
    /// Creates `dir/name`. Of `bytes` bytes, where that is known: a zstd frame then begins with their number.
    pub fn create(
        dir: &Path,
        name: &str,
        compression: OutputCompression,
        bytes: Option<u64>,
    ) -> Result<Self, WriteError> {
        Self::of(HashedFile::create(dir, name)?.into(), compression, bytes)
    }

    /// Compresses a file or stream that is begun. A compression that is not of whole files leaves it as it is.
    pub fn of(
        out: FileOutput<'a>,
        compression: OutputCompression,
        bytes: Option<u64>,
    ) -> Result<Self, WriteError> {
        let compressor = match compression {
            OutputCompression::Zstd => {
                let failed = WriteError::of_output("compressing", out.path());
                let encoder = Encoder::new(out, ZSTD_LEVEL).and_then(|mut encoder| {
                    encoder.set_pledged_src_size(bytes)?;
                    Ok(encoder)
                });
                Compressor::Zstd(encoder.map_err(failed)?)
            }
            OutputCompression::Gzip => {
                Compressor::Gzip(GzEncoder::new(out, flate2::Compression::default()))
            }
            _ => Compressor::Plain(out),
        };
        Ok(Self(compressor))
    }

    fn output(&self) -> &FileOutput<'a> {
        match &self.0 {
            Compressor::Plain(out) => out,
            Compressor::Zstd(encoder) => encoder.get_ref(),
            Compressor::Gzip(encoder) => encoder.get_ref(),
        }
    }

    /// Whether what is put is compressed.
    pub(crate) const fn is_compressed(&self) -> bool {
        !matches!(self.0, Compressor::Plain(_))
    }

    /// Bytes of the file so far.
    pub fn bytes(&self) -> u64 {
        self.output().bytes()
    }

    /// Appends content.
    pub fn put(&mut self, content: &[u8]) -> Result<(), WriteError> {
        let written = match &mut self.0 {
            Compressor::Plain(out) => out.write_all(content),
            Compressor::Zstd(encoder) => encoder.write_all(content),
            Compressor::Gzip(encoder) => encoder.write_all(content),
        };
        written.map_err(|error| WriteError::of_output("writing", self.output().path())(error))
    }

    /// Appends content that nobody else needs any more.
    pub(crate) fn put_owned(&mut self, content: Vec<u8>) -> Result<(), WriteError> {
        match &mut self.0 {
            Compressor::Plain(FileOutput::File(file)) => file.put_owned(content),
            _ => self.put(&content),
        }
    }

    /// Completes the file, which holds `rows` rows; a stream is not listed in a manifest.
    pub fn finish(self, rows: u64) -> Result<Option<ManifestFile>, WriteError> {
        let failed = WriteError::of_output("writing", self.output().path());
        let out = match self.0 {
            Compressor::Plain(out) => Ok(out),
            Compressor::Zstd(encoder) => encoder.finish(),
            Compressor::Gzip(encoder) => encoder.finish(),
        };
        out.map_err(failed)?.finish(rows)
    }

    /// Finishes what is known to be a file, as [`CompressedFile::finish`] does.
    pub(crate) fn finish_file(self, rows: u64) -> Result<ManifestFile, WriteError> {
        self.finish(rows)?.ok_or_else(|| WriteError::Bug("a stream in place of a file".to_owned()))
    }
}
