//! Arrow files (Feather) and streams: their messages in order, each looked at before it is decoded.
//!
//! A file is a stream between marks, with a table of contents behind it that says where the batches are. It is read as
//! the stream that it is, so that it may be compressed or come through a pipe; the table is compared with what was read.

use super::arrow_rows::BatchReader;
use super::error::ReadError;
use super::item::{byte_len, to_usize};
use super::stream::{BoundedBytes, ByteStream};
use crate::model::{Origin, contain};
use arrow::array::RecordBatch;
use arrow::buffer::{Buffer, MutableBuffer};
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{
    CompressionType, Message, RecordBatch as BatchHeader, root_as_footer, root_as_message,
};
use std::collections::VecDeque;
use std::io::Read;

/// What an Arrow file begins with, padded with zeros to a multiple of eight bytes, and ends with.
const FILE_MARK: &[u8; 8] = b"ARROW1\0\0";
/// Writers pad the mark at the beginning to as much as they align buffers to: 8 bytes, 64, or a page.
const PADDING: [u8; 8] = [0; 8];
/// What stands before the length of a message.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// The description of a message, or of columns, is no longer than this.
const MOST_METADATA: u64 = 64 << 20;
/// How far the first message is looked for behind a description of columns that stands bare, and how many places that
/// look like its beginning are tried.
const MOST_SCHEMA: usize = 4 << 20;
const TRIED_MARKS: usize = 64;
/// LZ4 makes at most so much of a byte.
const LZ4_RATIO: u64 = 255;

/// Whether an Arrow file begins, or a stream with the description of its columns.
pub(super) fn is_arrow(stream: &mut ByteStream) -> Result<bool, ReadError> {
    let head = stream.peek(FILE_MARK.len())?;
    let said = head.strip_prefix(&CONTINUATION).and_then(|rest| rest.first_chunk::<4>());
    let bytes = said.map_or(0, |said| u64::from(u32::from_le_bytes(*said)));
    if head.starts_with(FILE_MARK) || bytes == 0 || bytes > MOST_METADATA {
        return Ok(head.starts_with(FILE_MARK));
    }
    let message = stream.peek(to_usize(bytes) + 8)?.get(8..).unwrap_or_default();
    Ok(root_as_message(message).is_ok_and(|message| message.header_as_schema().is_some()))
}

/// The batches of an Arrow file or stream.
pub(super) struct ArrowReader {
    stream: Box<ByteStream>,
    decoder: StreamDecoder,
    /// Batches that were decoded and not given.
    ready: VecDeque<RecordBatch>,
    is_file: bool,
    is_done: bool,
    /// The words before lengths are there, as since version 0.15.
    has_continuations: bool,
    /// Record batches so far.
    batches: usize,
    /// Most bytes that a batch may have, decompressed.
    limit: u64,
    fault: Option<ArrowDamage>,
}

/// Why the reading stops.
#[derive(Clone)]
enum ArrowDamage {
    Damaged { at: u64, what: String },
    TooLong { bytes: u64 },
}

impl ArrowReader {
    /// The batches of `stream`, which stands at its beginning. `limit`: most bytes of one.
    pub(super) fn new(mut stream: Box<ByteStream>, limit: u64) -> Result<Self, ReadError> {
        let is_file = stream.peek(FILE_MARK.len())? == FILE_MARK;
        if is_file {
            take(&mut stream, byte_len(FILE_MARK.len()))?;
            while stream.peek(PADDING.len())? == PADDING {
                take(&mut stream, byte_len(PADDING.len()))?;
            }
        }
        let mut reader = Self {
            stream,
            decoder: StreamDecoder::new(),
            ready: VecDeque::new(),
            is_file,
            is_done: false,
            has_continuations: false,
            batches: 0,
            limit,
            fault: None,
        };
        if let Some(bytes) = reader.bare_schema()? {
            let at = reader.stream.offset();
            if let Some(schema) = take(&mut reader.stream, byte_len(bytes))? {
                let decoded = reader.decode(framed(&schema).into());
                reader.fault = decoded.err().map(|what| ArrowDamage::Damaged { at, what });
            }
        }
        Ok(reader)
    }

    /// Bytes up to the first message of a file where the description of its columns stands bare, without a length before
    /// it, as Polars writes it.
    fn bare_schema(&mut self) -> Result<Option<usize>, ReadError> {
        if !self.is_file || self.stream.peek(CONTINUATION.len())? == CONTINUATION {
            return Ok(None);
        }
        let ahead = self.stream.peek(MOST_SCHEMA)?;
        let marks =
            ahead.chunks_exact(8).enumerate().filter(|(_, eight)| eight.starts_with(&CONTINUATION));
        Ok(marks.map(|(at, _)| at * 8).take(TRIED_MARKS).find(|bytes| {
            let schema = root_as_message(ahead.get(..*bytes).unwrap_or_default());
            schema.is_ok_and(|message| message.header_as_schema().is_some())
        }))
    }

    /// Bytes of the file as stored that were consumed.
    pub(super) fn input_bytes(&self) -> u64 {
        self.stream.input_bytes()
    }

    /// Reads one message and has it decoded; says whether there was one.
    fn message(&mut self) -> Result<Result<bool, ArrowDamage>, ReadError> {
        let at = self.stream.offset();
        let damaged = |what: String| Ok(Err(ArrowDamage::Damaged { at, what }));
        let cut = || damaged("a message is cut off".to_owned());
        let Some(mut word) = take(&mut self.stream, 4)? else {
            // A stream may end without saying so, at the end of a message.
            let is_over = self.stream.offset() == at && !self.is_file;
            return if is_over { Ok(Ok(false)) } else { cut() };
        };
        // Before version 0.15 nothing stood before the length.
        if word.as_slice() == CONTINUATION {
            let Some(next) = take(&mut self.stream, 4)? else { return cut() };
            self.has_continuations = true;
            word = next;
        } else if self.is_file && self.has_continuations {
            // Some writers do not say that the messages end before the table of contents begins.
            return self.end(at, &word);
        }
        let bytes =
            u64::from(u32::from_le_bytes(<[u8; 4]>::try_from(word.as_slice()).unwrap_or_default()));
        if bytes == 0 {
            return self.end(at, &[]);
        }
        if bytes > MOST_METADATA {
            return damaged(format!("a message says that it is described by {bytes} bytes"));
        }
        let Some(metadata) = take(&mut self.stream, bytes)? else { return cut() };
        let body_bytes = match root_as_message(&metadata) {
            Ok(message) => u64::try_from(message.bodyLength()).unwrap_or(u64::MAX),
            Err(error) => return damaged(format!("a message cannot be read: {error}")),
        };
        if body_bytes > self.limit {
            return Ok(Err(ArrowDamage::TooLong { bytes: body_bytes }));
        }
        let Some(body) = take(&mut self.stream, body_bytes)? else { return cut() };
        if let Err(fault) = check(&metadata, &body, self.limit, at) {
            return Ok(Err(fault));
        }
        let is_batch = |message: Message<'_>| message.header_as_record_batch().is_some();
        self.batches += usize::from(root_as_message(&metadata).is_ok_and(is_batch));
        Ok(self
            .decode(framed(&metadata).into())
            .and_then(|()| self.decode(body.into()))
            .map_or_else(|what| Err(ArrowDamage::Damaged { at, what }), |()| Ok(true)))
    }

    /// The decoder checks less than all that a damaged file can claim; its panic is such a file.
    fn decode(&mut self, mut bytes: Buffer) -> Result<(), String> {
        while !bytes.is_empty() {
            let decoded = contain(|| self.decoder.decode(&mut bytes))
                .map_err(|why| format!("the decoder gave up: {why}"))?;
            self.ready.extend(decoded.map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    /// Behind the last message: what it needed another one for is decoded. A file has a table of contents there, of
    /// which `first` was read, and its mark once more.
    fn end(&mut self, at: u64, first: &[u8]) -> Result<Result<bool, ArrowDamage>, ReadError> {
        let end = [CONTINUATION, [0; 4]].concat();
        if let Err(what) = self.decode(end.into()) {
            return Ok(Err(ArrowDamage::Damaged { at, what }));
        }
        if !self.is_file {
            return Ok(Ok(false));
        }
        let mut contents = first.to_vec();
        while let Some(next) = take_up_to(&mut self.stream, 64 << 10)? {
            contents.extend_from_slice(&next);
            contents.drain(..contents.len().saturating_sub(to_usize(MOST_METADATA)));
        }
        let at = self.stream.offset();
        Ok(match batches_of(&contents) {
            Ok(batches) if batches == self.batches => Ok(false),
            Ok(batches) => {
                let read = self.batches;
                let what = format!(
                    "{read} record batches stand before its table of contents, which says {batches}"
                );
                Err(ArrowDamage::Damaged { at, what })
            }
            Err(what) => Err(ArrowDamage::Damaged { at, what }),
        })
    }
}

/// A message with what stands before one.
fn framed(message: &[u8]) -> Vec<u8> {
    let mut framed = Vec::with_capacity(message.len() + 8);
    framed.extend_from_slice(&CONTINUATION);
    framed.extend_from_slice(&u32::try_from(message.len()).unwrap_or_default().to_le_bytes());
    framed.extend_from_slice(message);
    framed
}

/// Record batches that the table of contents of a file says there are: it stands last, with its length and the mark
/// behind it.
fn batches_of(end: &[u8]) -> Result<usize, String> {
    let mark = FILE_MARK.get(..6).unwrap_or_default();
    let cut = || "the table of contents at its end is cut off".to_owned();
    let sized = end.strip_suffix(mark).and_then(|rest| rest.split_last_chunk::<4>());
    let (contents, bytes) = sized.ok_or_else(cut)?;
    let bytes = to_usize(u64::from(u32::from_le_bytes(*bytes)));
    let from = contents.len().checked_sub(bytes).ok_or_else(cut)?;
    let contents = root_as_footer(contents.get(from..).unwrap_or_default())
        .map_err(|error| format!("the table of contents at its end cannot be read: {error}"))?;
    Ok(contents.recordBatches().map_or(0, |blocks| blocks.len()))
}

impl BatchReader for ArrowReader {
    fn next_batch(&mut self, origin: &Origin) -> Result<Option<RecordBatch>, ReadError> {
        while self.ready.is_empty() && !self.is_done {
            let read = match self.fault.take() {
                Some(fault) => Err(fault),
                None => self.message()?,
            };
            match read {
                Ok(is_more) => self.is_done = !is_more,
                // What was decoded before stands before it.
                Err(fault) if !self.ready.is_empty() => self.fault = Some(fault),
                Err(fault) => {
                    self.fault = Some(fault.clone());
                    return Err(fault.error(origin, self.limit));
                }
            }
        }
        Ok(self.ready.pop_front())
    }
}

impl ArrowDamage {
    fn error(self, origin: &Origin, limit: u64) -> ReadError {
        let path = origin.path.to_path_buf();
        match self {
            Self::Damaged { at, what } => {
                let what = format!("Arrow data, row {} or after it: {what}", origin.number);
                ReadError::Damaged { path, offset: at, what }
            }
            Self::TooLong { bytes } => ReadError::Batch { path, row: origin.number, bytes, limit },
        }
    }
}

/// Whether a message becomes no more than `limit` bytes when it is decompressed: its buffers say so themselves, and
/// of LZ4, which the decoder believes, it is tried where it could be more.
fn check(metadata: &[u8], body: &[u8], limit: u64, at: u64) -> Result<(), ArrowDamage> {
    let damaged = |what: &str| ArrowDamage::Damaged { at, what: what.to_owned() };
    let message = root_as_message(metadata).map_err(|error| damaged(&error.to_string()))?;
    let Some(batch) = header(&message) else { return Ok(()) };
    let (Some(compression), Some(buffers)) = (batch.compression(), batch.buffers()) else {
        return Ok(());
    };
    let is_lz4 = compression.codec() == CompressionType::LZ4_FRAME;
    let mut bytes = 0_u64;
    for buffer in buffers {
        let (Ok(from), Ok(long)) =
            (usize::try_from(buffer.offset()), usize::try_from(buffer.length()))
        else {
            return Err(damaged("a buffer stands nowhere"));
        };
        if long == 0 {
            continue;
        }
        let stored = from.checked_add(long).and_then(|to| body.get(from..to));
        let Some((said, data)) = stored.and_then(|stored| stored.split_first_chunk::<8>()) else {
            return Err(damaged("a buffer reaches beyond its message"));
        };
        // -1: as it is.
        let said = u64::try_from(i64::from_le_bytes(*said)).unwrap_or(0);
        bytes = bytes.saturating_add(said);
        let could_be = byte_len(data.len()).saturating_mul(LZ4_RATIO);
        if is_lz4 && said > 0 && could_be > limit && lz4_bytes(data, said) > said {
            return Err(damaged("a buffer is longer than it says"));
        }
    }
    if bytes > limit { Err(ArrowDamage::TooLong { bytes }) } else { Ok(()) }
}

fn header<'m>(message: &Message<'m>) -> Option<BatchHeader<'m>> {
    message
        .header_as_record_batch()
        .or_else(|| message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()))
}

/// Bytes that LZ4 data decompresses to, counted up to one more than it should be.
fn lz4_bytes(data: &[u8], most: u64) -> u64 {
    let mut frames = lz4_flex::frame::FrameDecoder::new(data).take(most.saturating_add(1));
    // What is damaged is told by the decoder.
    std::io::copy(&mut frames, &mut std::io::sink()).unwrap_or(0)
}

/// So many bytes, aligned so that columns need not be copied; none when the input ends before.
fn take(stream: &mut ByteStream, bytes: u64) -> Result<Option<MutableBuffer>, ReadError> {
    if bytes == 0 {
        return Ok(Some(MutableBuffer::new(0)));
    }
    let mut left = to_usize(bytes);
    let piece = stream.next_piece(to_usize(bytes), 0, |ahead| match ahead.len() >= left {
        true => Some(left),
        false => {
            left -= ahead.len();
            None
        }
    })?;
    Ok(piece.filter(|piece| piece.is_closed).and_then(|piece| match piece.bytes {
        BoundedBytes::Whole(bytes) => {
            let mut taken = MutableBuffer::with_capacity(bytes.len());
            taken.extend_from_slice(bytes);
            Some(taken)
        }
        BoundedBytes::TooLong { .. } => None,
    }))
}

/// At most so many bytes, none at the end.
fn take_up_to(stream: &mut ByteStream, bytes: usize) -> Result<Option<MutableBuffer>, ReadError> {
    let ahead = byte_len(stream.peek(bytes)?.len());
    let taken = take(stream, ahead)?;
    Ok(taken.filter(|taken| !taken.is_empty()))
}
