//! Gzip and Zstandard recognised by content, with the position reached in the file as stored.

use std::io::{BufRead, BufReader, Chain, Cursor, Read, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes read from the file at a time.
const FILE_BUFFER: usize = 256 << 10;
/// Windows of up to 2 GiB: public corpora are published with `zstd --long=31`. The memory is only
/// taken when a file asks for it.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;

/// Decompressed bytes of one file.
pub(super) struct Decompressed {
    inner: Box<dyn Read + Send>,
    compression: Compression,
    consumed: Arc<AtomicU64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Decompressed {
    /// Looks at the first bytes of `raw` and puts the decoder before it that they ask for.
    pub(super) fn new(mut raw: Box<dyn Read + Send>) -> Result<Self> {
        let mut head = Vec::with_capacity(4);
        raw.by_ref().take(4).read_to_end(&mut head)?;
        let compression = recognise(&head);
        let consumed = Arc::new(AtomicU64::new(0));
        let file = Counted {
            inner: BufReader::with_capacity(FILE_BUFFER, Cursor::new(head).chain(raw)),
            consumed: Arc::clone(&consumed),
        };
        let inner: Box<dyn Read + Send> = match compression {
            Compression::None => Box::new(file),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(file)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                Box::new(decoder)
            }
        };
        Ok(Self { inner, compression, consumed })
    }

    /// Bytes of the file as stored that were consumed so far.
    pub(super) fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    /// Whether `error` says that the compressed data is bad, and not that the file cannot be read.
    pub(super) fn blames_data(&self, error: &std::io::Error) -> bool {
        self.compression != Compression::None && error.raw_os_error().is_none()
    }

    /// What the file is compressed with.
    pub(super) fn name(&self) -> &'static str {
        match self.compression {
            Compression::None => "plain",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }
}

impl Read for Decompressed {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.inner.read(buffer)
    }
}

fn recognise(head: &[u8]) -> Compression {
    match head {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        // A frame, or a skippable frame before it.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
        _ => Compression::None,
    }
}

/// The bytes that were looked at, then the rest.
type Rewound = Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>;

/// Counts what its user consumes, not what it reads ahead.
struct Counted {
    inner: BufReader<Rewound>,
    consumed: Arc<AtomicU64>,
}

impl Counted {
    fn count(&self, bytes: usize) {
        self.consumed.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count(read);
        Ok(read)
    }
}

impl BufRead for Counted {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.count(bytes);
        self.inner.consume(bytes);
    }
}
