//! Gzip, Zstandard, bzip2, xz and LZ4 recognised by content, with the position reached in the file as stored.

use lz4_flex::frame::FrameDecoder;
use std::io::{BufRead, BufReader, Chain, Cursor, Error, ErrorKind, Read, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes read from the file at a time.
const FILE_BUFFER: usize = 256 << 10;
/// Windows of up to 2 GiB: public corpora are published with `zstd --long=31`. The memory is only
/// taken when a file asks for it.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;
/// Memory in KiB that xz may take for its dictionary: `xz -9` asks for 64 MiB, and only `--lzma2=dict=` for more.
const XZ_MEMORY: u32 = 513 << 10;
/// Bytes that tell how a file is compressed.
const HEAD: u64 = 10;

/// Decompressed bytes of one file.
pub(super) struct Decompressor {
    inner: Box<dyn Read + Send>,
    compression: InputCompression,
    consumed: Arc<AtomicU64>,
    /// The file could not be read on.
    failed: Arc<AtomicBool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputCompression {
    None,
    Gzip,
    Zstd,
    Bzip2,
    Xz,
    Lz4,
}

impl Decompressor {
    /// Looks at the first bytes of `raw` and puts the decoder before it that they ask for.
    pub(super) fn new(mut raw: Box<dyn Read + Send>) -> Result<Self> {
        let mut head = Vec::new();
        raw.by_ref().take(HEAD).read_to_end(&mut head)?;
        let compression = detect_compression(&head);
        let consumed = Arc::new(AtomicU64::new(0));
        let failed = Arc::new(AtomicBool::new(false));
        let file = CountedReader {
            inner: BufReader::with_capacity(FILE_BUFFER, Cursor::new(head).chain(raw)),
            consumed: Arc::clone(&consumed),
            failed: Arc::clone(&failed),
        };
        let inner: Box<dyn Read + Send> = match compression {
            InputCompression::None => Box::new(file),
            InputCompression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
            InputCompression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(file)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                Box::new(decoder)
            }
            InputCompression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(file)),
            InputCompression::Xz => {
                Box::new(lzma_rust2::XzReader::new_mem_limit(file, true, XZ_MEMORY))
            }
            InputCompression::Lz4 => Box::new(Lz4FrameReader::new(file)),
        };
        Ok(Self { inner, compression, consumed, failed })
    }

    /// Bytes of the file as stored that were consumed so far.
    pub(super) fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    /// Whether there is a decoder at all.
    pub(super) fn is_compressed(&self) -> bool {
        self.compression != InputCompression::None
    }

    /// Whether `error` says that the compressed data is bad, and not that the file cannot be read.
    pub(super) fn blames_data(&self, error: &std::io::Error) -> bool {
        let is_read = !self.failed.load(Ordering::Relaxed);
        self.is_compressed() && is_read && error.raw_os_error().is_none()
    }

    /// What the file is compressed with.
    pub(super) fn name(&self) -> &'static str {
        match self.compression {
            InputCompression::None => "plain",
            InputCompression::Gzip => "gzip",
            InputCompression::Zstd => "zstd",
            InputCompression::Bzip2 => "bzip2",
            InputCompression::Xz => "xz",
            InputCompression::Lz4 => "LZ4",
        }
    }
}

impl Read for Decompressor {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.inner.read(buffer)
    }
}

fn detect_compression(head: &[u8]) -> InputCompression {
    match head {
        [0x1f, 0x8b, ..] => InputCompression::Gzip,
        // A frame, or a skippable frame before it.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            InputCompression::Zstd
        }
        // A size of blocks, then a block or the end.
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59]
        | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90] => {
            InputCompression::Bzip2
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => InputCompression::Xz,
        [0x04, 0x22, 0x4d, 0x18, ..] => InputCompression::Lz4,
        _ => InputCompression::None,
    }
}

/// The bytes that were looked at, then the rest.
type PeekedRead = Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>;

/// Counts what its user consumes, not what it reads ahead.
struct CountedReader {
    inner: BufReader<PeekedRead>,
    consumed: Arc<AtomicU64>,
    failed: Arc<AtomicBool>,
}

impl CountedReader {
    fn count(&self, bytes: usize) {
        self.consumed.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Read for CountedReader {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let read = self.inner.read(buffer);
        self.failed.fetch_or(read.is_err(), Ordering::Relaxed);
        let read = read?;
        self.count(read);
        Ok(read)
    }
}

impl BufRead for CountedReader {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        let filled = self.inner.fill_buf();
        self.failed.fetch_or(filled.is_err(), Ordering::Relaxed);
        filled
    }

    fn consume(&mut self, bytes: usize) {
        self.count(bytes);
        self.inner.consume(bytes);
    }
}

/// LZ4 frames, one behind the other. The decoder takes an input that ends within a frame for its end.
struct Lz4FrameReader {
    decoder: FrameDecoder<EofWatch>,
    is_within: bool,
}

/// Remembers whether more was asked for than there was.
struct EofWatch {
    inner: CountedReader,
    is_starved: bool,
}

impl Lz4FrameReader {
    fn new(inner: CountedReader) -> Self {
        let decoder = FrameDecoder::new(EofWatch { inner, is_starved: false });
        Self { decoder, is_within: false }
    }
}

impl Read for Lz4FrameReader {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            if !self.is_within && self.decoder.get_mut().inner.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.is_within = true;
            let read = self.decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            if self.decoder.get_ref().is_starved {
                return Err(Error::new(ErrorKind::UnexpectedEof, "a frame does not end"));
            }
            self.is_within = false;
        }
    }
}

impl Read for EofWatch {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let read = self.inner.read(buffer)?;
        self.is_starved |= read == 0 && !buffer.is_empty();
        Ok(read)
    }
}
