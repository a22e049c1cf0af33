//! Any place of a file, on disk or in a store: what a format that is read from its end asks for.

use super::error::ReadError;
use super::item::byte_len;
use crate::remote::RemoteReader;
use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read};

/// Bytes that are asked for at a time where it is not known how many are wanted.
const BUFFER: usize = 64 << 10;

/// A file of which any place may be read.
pub(super) enum RandomAccessFile {
    Local(File),
    Remote(RemoteReader),
}

impl RandomAccessFile {
    /// Bytes of the file.
    pub(super) fn bytes(&self) -> io::Result<u64> {
        match self {
            Self::Local(file) => Ok(file.metadata()?.len()),
            Self::Remote(file) => Ok(file.size()),
        }
    }

    /// The same file once more.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Local(file) => Self::Local(file.try_clone()?),
            Self::Remote(file) => Self::Remote(file.clone()),
        })
    }

    /// What a decoder came to; where a store failed it, that is told, and not what the decoder made of it.
    pub(super) fn blame_store_first<T>(
        &self,
        decoded: std::result::Result<T, String>,
        fault: impl FnOnce(String) -> ReadError,
    ) -> std::result::Result<T, ReadError> {
        decoded.map_err(|why| match self {
            Self::Remote(file) => file.fault().map_or_else(|| fault(why), ReadError::Remote),
            Self::Local(_) => fault(why),
        })
    }
}

impl Length for RandomAccessFile {
    fn len(&self) -> u64 {
        self.bytes().unwrap_or_default()
    }
}

impl ChunkReader for RandomAccessFile {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(match self {
            Self::Local(file) => Box::new(file.get_read(start)?),
            Self::Remote(file) => {
                let place = RandomAccessCursor { file: file.clone(), at: start };
                Box::new(BufReader::with_capacity(BUFFER, place))
            }
        })
    }

    fn get_bytes(&self, start: u64, bytes: usize) -> Result<Bytes> {
        let file = match self {
            Self::Local(file) => return file.get_bytes(start, bytes),
            Self::Remote(file) => file,
        };
        let read = file.read(start, bytes).map_err(|error| ParquetError::External(error.into()))?;
        if read.len() < bytes {
            let wanted = start.saturating_add(byte_len(bytes));
            let has = file.size();
            return Err(ParquetError::EOF(format!("byte {wanted} of a file of {has} bytes")));
        }
        Ok(read.into())
    }
}

/// A file in a store from some place on.
struct RandomAccessCursor {
    file: RemoteReader,
    at: u64,
}

impl Read for RandomAccessCursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(self.at, buffer.len())?;
        self.at += byte_len(read.len());
        read.as_slice().read(buffer)
    }
}
