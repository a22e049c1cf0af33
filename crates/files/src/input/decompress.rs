//! Gzip, Zstandard, bzip2, xz and LZ4 recognised by content, with the position reached in the file as stored.
//!
//! Frames that were compressed apart and put together are one stream. A dictionary of Zstandard that stands before them,
//! as in web archives, is that of the frames behind it. Zeros and line ends behind a frame are padding, as tapes and
//! stores leave it; whatever else stands there is no part of the stream, and is counted.

use lz4_flex::frame::FrameDecoder;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};
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
const HEAD: usize = 10;
/// What a dictionary of Zstandard begins with, and the frame that holds one for those behind it: other decoders skip it
/// ("Zstandard Compression for WARC Files" of the IIPC).
const DICTIONARY: &[u8] = b"\x37\xa4\x30\xec";
const DICTIONARY_FRAME: &[u8] = b"\x5d\x2a\x4d\x18";
/// Bytes of the longest such dictionary, decompressed; archives have some of 1 MiB.
const MOST_DICTIONARY: u64 = 64 << 20;

/// Ends of names that say how a file is compressed.
const ENDINGS: [&str; 5] = [".gz", ".zst", ".bz2", ".xz", ".lz4"];

/// The name of a file, in small letters, without the end that says how it is compressed.
pub fn without_compression(name: &str) -> &str {
    ENDINGS.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// Decompressed bytes of one file.
pub(super) struct Decompressor {
    frames: Frames,
    compression: InputCompression,
    /// The dictionary of the Zstandard frames to come.
    dictionary: Vec<u8>,
    progress: Arc<BytesRead>,
}

/// How far a file was read.
#[derive(Default)]
struct BytesRead {
    /// Bytes of the file as stored that were consumed.
    consumed: AtomicU64,
    /// The file could not be read on.
    has_failed: AtomicBool,
    /// Bytes behind the last frame that belong to none.
    trailing: AtomicU64,
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

/// Where a file stands.
enum Frames {
    Plain(CountedFile),
    /// Before the first one.
    Start(CountedFile),
    /// Within a frame.
    Within(Box<FrameReader>),
    Over,
}

/// One frame (gzip: a member; bzip2, xz: a stream).
enum FrameReader {
    Gzip(flate2::bufread::GzDecoder<CountedFile>),
    Zstd(zstd::stream::read::Decoder<'static, CountedFile>),
    Bzip2(bzip2::bufread::BzDecoder<CountedFile>),
    Xz(Box<lzma_rust2::XzReader<CountedFile>>),
    Lz4(FrameDecoder<EofWatch>),
}

impl Decompressor {
    /// Looks at the first bytes of `raw` and puts the decoder before it that they ask for.
    pub(super) fn new(raw: Box<dyn Read + Send>) -> Result<Self> {
        let progress = Arc::new(BytesRead::default());
        let mut file = CountedFile {
            inner: BufReader::with_capacity(FILE_BUFFER, raw),
            front: Vec::new(),
            progress: Arc::clone(&progress),
        };
        let compression = detect_compression(file.look(HEAD)?);
        let frames = match compression {
            InputCompression::None => Frames::Plain(file),
            _ => Frames::Start(file),
        };
        Ok(Self { frames, compression, dictionary: Vec::new(), progress })
    }

    /// Bytes of the file as stored that were consumed so far.
    pub(super) fn consumed(&self) -> u64 {
        self.progress.consumed.load(Ordering::Relaxed)
    }

    /// Bytes behind the last frame that belong to none, once the end is reached.
    pub(super) fn trailing(&self) -> u64 {
        self.progress.trailing.load(Ordering::Relaxed)
    }

    /// Whether there is a decoder at all.
    pub(super) fn is_compressed(&self) -> bool {
        self.compression != InputCompression::None
    }

    /// Whether `error` says that the compressed data is bad, and not that the file cannot be read.
    pub(super) fn blames_data(&self, error: &std::io::Error) -> bool {
        let is_read = !self.progress.has_failed.load(Ordering::Relaxed);
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

    /// Skips what pads the frame that has ended, and opens the next one.
    fn next_frame(&mut self, mut file: CountedFile) -> Result<Frames> {
        loop {
            if !skip_padding(&mut file)? {
                return Ok(Frames::Over);
            }
            if detect_compression(file.look(HEAD)?) != self.compression {
                break;
            }
            match dictionary(&mut file)? {
                Some(dictionary) => self.dictionary = dictionary,
                None => {
                    let frame = FrameReader::new(self.compression, file, &self.dictionary)?;
                    return Ok(frame.map_or(Frames::Over, |frame| Frames::Within(Box::new(frame))));
                }
            }
        }
        // What is cut within the mark of a frame is cut.
        let ahead = file.look(HEAD)?;
        let is_mark = self.compression.magic().iter().zip(ahead).all(|(mark, byte)| mark == byte);
        if ahead.len() < HEAD && is_mark {
            return Err(Error::new(ErrorKind::UnexpectedEof, "a frame does not end"));
        }
        let before = self.consumed();
        std::io::copy(&mut file, &mut std::io::sink())?;
        self.progress.trailing.store(self.consumed() - before, Ordering::Relaxed);
        Ok(Frames::Over)
    }
}

impl Read for Decompressor {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            match &mut self.frames {
                Frames::Plain(file) => return file.read(buffer),
                Frames::Over => return Ok(0),
                Frames::Start(_) => {}
                Frames::Within(frame) => {
                    let read = frame.read(buffer)?;
                    if read > 0 || buffer.is_empty() {
                        return Ok(read);
                    }
                }
            }
            let file = match std::mem::replace(&mut self.frames, Frames::Over) {
                Frames::Start(file) | Frames::Plain(file) => file,
                Frames::Within(frame) => frame.into_file(),
                Frames::Over => return Ok(0),
            };
            self.frames = self.next_frame(file)?;
        }
    }
}

impl InputCompression {
    /// What its frames begin with.
    const fn magic(self) -> &'static [u8] {
        match self {
            Self::None => b"",
            Self::Gzip => b"\x1f\x8b",
            Self::Zstd => b"\x28\xb5\x2f\xfd",
            Self::Bzip2 => b"BZh",
            Self::Xz => b"\xfd7zXZ\0",
            Self::Lz4 => b"\x04\x22\x4d\x18",
        }
    }
}

impl FrameReader {
    /// The frame that begins there; the file itself where it is not compressed.
    fn new(
        compression: InputCompression,
        mut file: CountedFile,
        dictionary: &[u8],
    ) -> Result<std::result::Result<Self, CountedFile>> {
        Ok(Ok(match compression {
            InputCompression::None => return Ok(Err(file)),
            InputCompression::Gzip => Self::Gzip(flate2::bufread::GzDecoder::new(file)),
            InputCompression::Zstd => {
                let needed = needed_dictionary(file.look(HEAD)?);
                if let Some(needed) = needed.filter(|_| needed != dictionary_number(dictionary)) {
                    return Err(Error::new(ErrorKind::Unsupported, AbsentDictionary(needed)));
                }
                let decoder = zstd::stream::read::Decoder::with_dictionary(file, dictionary)?;
                let mut decoder = decoder.single_frame();
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                Self::Zstd(decoder)
            }
            InputCompression::Bzip2 => Self::Bzip2(bzip2::bufread::BzDecoder::new(file)),
            InputCompression::Xz => {
                let decoder = lzma_rust2::XzReader::new_mem_limit(file, false, XZ_MEMORY);
                Self::Xz(Box::new(decoder))
            }
            InputCompression::Lz4 => {
                Self::Lz4(FrameDecoder::new(EofWatch { inner: file, is_starved: false }))
            }
        }))
    }

    /// Decompressed bytes; none at the end of the frame.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self {
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Zstd(decoder) => decoder.read(buffer),
            Self::Bzip2(decoder) => decoder.read(buffer),
            Self::Xz(decoder) => decoder.read(buffer),
            Self::Lz4(decoder) => {
                let read = decoder.read(buffer)?;
                // The decoder takes an input that ends within a frame for its end.
                if read == 0 && !buffer.is_empty() && decoder.get_ref().is_starved {
                    return Err(Error::new(ErrorKind::UnexpectedEof, "a frame does not end"));
                }
                Ok(read)
            }
        }
    }

    /// The file behind the frame.
    fn into_file(self) -> CountedFile {
        match self {
            Self::Gzip(decoder) => decoder.into_inner(),
            Self::Zstd(decoder) => decoder.finish(),
            Self::Bzip2(decoder) => decoder.into_inner(),
            Self::Xz(decoder) => decoder.into_inner(),
            Self::Lz4(decoder) => decoder.into_inner().inner,
        }
    }
}

/// A frame of Zstandard was made with the dictionary of this number, which is not there.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("made with the Zstandard dictionary {0}, which does not stand before it")]
pub(super) struct AbsentDictionary(u32);

/// Skips zeros and line ends; says whether anything comes behind them.
fn skip_padding(file: &mut CountedFile) -> Result<bool> {
    loop {
        let ahead = file.fill_buf()?;
        let padding = ahead.iter().take_while(|byte| matches!(byte, 0 | b'\r' | b'\n')).count();
        if padding == 0 {
            return Ok(!ahead.is_empty());
        }
        file.consume(padding);
    }
}

/// The number of the dictionary that a frame of Zstandard was made with, if its header says one (RFC 8878, 3.1.1.1).
fn needed_dictionary(head: &[u8]) -> Option<u32> {
    let (descriptor, rest) = head.strip_prefix(InputCompression::Zstd.magic())?.split_first()?;
    let is_single_segment = descriptor & 0x20 != 0;
    let rest = if is_single_segment { rest } else { rest.get(1..)? };
    let width = match descriptor & 3 {
        3 => 4,
        width => usize::from(width),
    };
    let number = rest.get(..width)?.iter().rev();
    Some(number.fold(0, |number, byte| number << 8 | u32::from(*byte))).filter(|number| *number > 0)
}

/// The number of a dictionary, which stands behind its mark.
fn dictionary_number(dictionary: &[u8]) -> Option<u32> {
    dictionary.strip_prefix(DICTIONARY)?.first_chunk().map(|number| u32::from_le_bytes(*number))
}

/// The dictionary that the frame which begins here holds, as it is or compressed itself; of any other frame none, and
/// nothing is consumed.
fn dictionary(file: &mut CountedFile) -> Result<Option<Vec<u8>>> {
    const SIZE: usize = 4;
    if !file.look(HEAD)?.starts_with(DICTIONARY_FRAME) {
        return Ok(None);
    }
    let head = file.look(DICTIONARY_FRAME.len() + SIZE + DICTIONARY.len())?;
    let sized = head.strip_prefix(DICTIONARY_FRAME).and_then(|rest| rest.split_first_chunk());
    let Some((size, content)) = sized else { return Ok(None) };
    let size = u64::from(u32::from_le_bytes(*size));
    let is_packed = content.starts_with(InputCompression::Zstd.magic());
    if !is_packed && !content.starts_with(DICTIONARY) {
        return Ok(None);
    }
    file.consume(DICTIONARY_FRAME.len() + SIZE);
    let bytes = at_most(file.by_ref().take(size))?;
    if bytes.len() as u64 != size {
        return Err(Error::new(ErrorKind::UnexpectedEof, "the dictionary before it does not end"));
    }
    if !is_packed {
        return Ok(Some(bytes));
    }
    let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes.as_slice())?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
    at_most(decoder).map(Some)
}

/// All bytes of a dictionary, if it is not too long.
fn at_most(mut dictionary: impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    dictionary.by_ref().take(MOST_DICTIONARY + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MOST_DICTIONARY {
        true => Err(Error::new(
            ErrorKind::InvalidData,
            format!("a dictionary of more than {MOST_DICTIONARY} bytes stands before it"),
        )),
        false => Ok(bytes),
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

/// A file as stored. Counts what its user consumes, not what it reads ahead.
struct CountedFile {
    inner: BufReader<Box<dyn Read + Send>>,
    /// Bytes that were examined and not consumed: they stand before those of `inner`.
    front: Vec<u8>,
    progress: Arc<BytesRead>,
}

impl CountedFile {
    /// Up to `bytes` bytes that come next; nothing is consumed.
    fn look(&mut self, bytes: usize) -> Result<&[u8]> {
        let missing = bytes.saturating_sub(self.front.len());
        let more = u64::try_from(missing).unwrap_or(u64::MAX);
        let read = self.inner.by_ref().take(more).read_to_end(&mut self.front);
        self.note(&read);
        read?;
        Ok(&self.front)
    }

    fn note<T>(&self, read: &Result<T>) {
        self.progress.has_failed.fetch_or(read.is_err(), Ordering::Relaxed);
    }
}

impl Read for CountedFile {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for CountedFile {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        if !self.front.is_empty() {
            return Ok(&self.front);
        }
        let filled = self.inner.fill_buf();
        self.progress.has_failed.fetch_or(filled.is_err(), Ordering::Relaxed);
        filled
    }

    fn consume(&mut self, bytes: usize) {
        let count = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.progress.consumed.fetch_add(count, Ordering::Relaxed);
        if self.front.is_empty() {
            self.inner.consume(bytes);
        } else {
            self.front.drain(..bytes.min(self.front.len()));
        }
    }
}

/// Remembers whether more was asked for than there was.
struct EofWatch {
    inner: CountedFile,
    is_starved: bool,
}

impl Read for EofWatch {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let read = self.inner.read(buffer)?;
        self.is_starved |= read == 0 && !buffer.is_empty();
        Ok(read)
    }
}
