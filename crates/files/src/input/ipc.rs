//! Reads Arrow files (Feather) and streams: their messages in order, each checked before it is decoded.
//!
//! A file is a stream between marks, with a table of contents behind it that says where the batches are. It is read as
//! the stream that it is, so that it may be compressed or come through a pipe; the table is compared with what was read.
//! Where dictionaries stand behind the batches that need them, and any place of the file can be read, the messages come
//! in the order of the table.
//!
//! Texts are decoded as bytes, and made texts column by column: of a column with bytes that are no text the rows are
//! looked at one by one.

use super::arrow_contents::{
    ArrowBlocks, ArrowContents, ArrowDamage, ArrowMessage, CONTINUATION, FILE_MARK, MOST_METADATA,
    NextMessage, body_bytes,
};
use super::arrow_rows::BatchReader;
use super::arrow_types::as_fields;
use super::columnar_reader::RandomAccessFile;
use super::error::ReadError;
use super::item::{byte_len, to_usize};
use super::stream::{BoundedBytes, ByteStream};
use arrow::array::RecordBatch;
use arrow::buffer::{Buffer, MutableBuffer};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{
    CompressionType, Endianness, Field as FieldTable, Message, MetadataVersion,
    RecordBatch as BatchHeader, Type, root_as_message,
};
use model::invariant::part;
use model::{RecordOrigin, catch_panic};
use std::collections::{BTreeMap, VecDeque};
use std::io::Read;

/// Writers pad the mark at the beginning to as much as they align buffers to: 8 bytes, 64, or a page.
const PADDING: [u8; 8] = [0; 8];
/// How far the first message is searched for behind a description of columns that stands bare, and how many places that
/// look like its beginning are tried.
const MOST_SCHEMA: usize = 4 << 20;
const TRIED_MARKS: usize = 64;
/// The most bytes that LZ4 makes of one.
const LZ4_RATIO: u64 = 255;

/// Whether an Arrow file begins, or a stream with the description of its columns.
pub(super) fn is_arrow(stream: &mut ByteStream) -> Result<bool, ReadError> {
    let head = stream.peek(FILE_MARK.len())?;
    if head.starts_with(FILE_MARK) {
        return Ok(true);
    }
    // Before version 0.15 nothing stood before the length.
    let before = if head.starts_with(&CONTINUATION) { CONTINUATION.len() } else { 0 };
    let length = head.get(before..).and_then(|rest| rest.first_chunk::<4>());
    let bytes = length.map_or(0, |length| u64::from(u32::from_le_bytes(*length)));
    if bytes == 0 || bytes > MOST_METADATA {
        return Ok(false);
    }
    let begin = before + 4;
    let message = stream.peek(begin + to_usize(bytes))?.get(begin..).unwrap_or_default();
    Ok(root_as_message(message).is_ok_and(|message| message.header_as_schema().is_some()))
}

/// The batches of an Arrow file or stream.
pub(super) struct ArrowReader {
    source: MessageSource,
    decoder: StreamDecoder,
    /// Batches that were decoded and not given.
    ready: VecDeque<RecordBatch>,
    is_done: bool,
    /// Record batches so far.
    batches: usize,
    /// The columns as they are described; none before that.
    fields: Option<Fields>,
    /// Columns, those in others too, whose values stand in a dictionary; none before the columns are described.
    dictionary_columns: Option<usize>,
    /// Bytes of the dictionaries that are held, by their numbers.
    dictionaries: BTreeMap<i64, u64>,
    /// Most bytes that a batch may have, decompressed, and that all dictionaries may have.
    limit: u64,
    fault: Option<ArrowDamage>,
}

/// Where the messages come from.
enum MessageSource {
    Stream(MessageStream),
    Blocks(Box<ArrowBlocks>),
}

/// The messages of a file or stream as they stand.
struct MessageStream {
    stream: Box<ByteStream>,
    is_file: bool,
    /// The words before lengths are there, as since version 0.15.
    has_continuations: bool,
    /// Where the message behind the description of the columns begins.
    first: u64,
    /// Where the last message ends, and what was read behind it.
    end: (u64, Vec<u8>),
}

impl MessageStream {
    /// The stream at its first message.
    fn new(mut stream: Box<ByteStream>) -> Result<Self, ReadError> {
        let is_file = stream.peek(FILE_MARK.len())? == FILE_MARK;
        if is_file {
            take(&mut stream, byte_len(FILE_MARK.len()))?;
            while stream.peek(PADDING.len())? == PADDING {
                take(&mut stream, byte_len(PADDING.len()))?;
            }
        }
        Ok(Self { stream, is_file, has_continuations: false, first: 0, end: (0, Vec::new()) })
    }

    /// The description of the columns of a file where it stands bare, without a length before it, as Polars writes it.
    fn bare_schema(&mut self) -> Result<Option<ArrowMessage>, ReadError> {
        if !self.is_file || self.stream.peek(CONTINUATION.len())? == CONTINUATION {
            return Ok(None);
        }
        let ahead = self.stream.peek(MOST_SCHEMA)?;
        let marks =
            ahead.chunks_exact(8).enumerate().filter(|(_, eight)| eight.starts_with(&CONTINUATION));
        let bytes = marks.map(|(at, _)| at * 8).take(TRIED_MARKS).find(|bytes| {
            let schema = root_as_message(part(ahead, ..*bytes));
            schema.is_ok_and(|message| message.header_as_schema().is_some())
        });
        let Some(bytes) = bytes else { return Ok(None) };
        let at = self.stream.offset();
        let metadata = take(&mut self.stream, byte_len(bytes))?;
        self.first = self.stream.offset();
        Ok(metadata.map(|metadata| ArrowMessage { at, metadata, body: MutableBuffer::new(0) }))
    }

    fn next(&mut self, limit: u64) -> Result<NextMessage, ReadError> {
        let at = self.stream.offset();
        let damaged = |what: String| Ok(Err(ArrowDamage::Damaged { at, what }));
        let cut = || damaged("a message is cut off".to_owned());
        let Some(mut word) = take(&mut self.stream, 4)? else {
            // A stream may end without saying so, at the end of a message.
            let is_over = self.stream.offset() == at && !self.is_file;
            return if is_over { Ok(Ok(None)) } else { cut() };
        };
        // Before version 0.15 nothing stood before the length.
        if word.as_slice() == CONTINUATION {
            let Some(next) = take(&mut self.stream, 4)? else { return cut() };
            self.has_continuations = true;
            word = next;
        } else if self.is_file && self.has_continuations {
            // Some writers do not say that the messages end before the table of contents begins.
            self.end = (at, word.to_vec());
            return Ok(Ok(None));
        }
        let bytes =
            u64::from(u32::from_le_bytes(<[u8; 4]>::try_from(word.as_slice()).unwrap_or_default()));
        if bytes == 0 {
            self.end = (at, Vec::new());
            return Ok(Ok(None));
        }
        if bytes > MOST_METADATA {
            return damaged(format!("a message says that it is described by {bytes} bytes"));
        }
        let Some(metadata) = take(&mut self.stream, bytes)? else { return cut() };
        let body = match body_bytes(&metadata, at, limit) {
            Ok(bytes) => take(&mut self.stream, bytes)?,
            Err(fault) => return Ok(Err(fault)),
        };
        let Some(body) = body else { return cut() };
        if self.first == 0 {
            self.first = self.stream.offset();
        }
        Ok(Ok(Some(ArrowMessage { at, metadata, body })))
    }

    /// Behind the last message a file has a table of contents, and its mark once more: what is wrong with it, against the
    /// number of batches that were read.
    fn check_contents(&mut self, batches: usize) -> Result<Result<(), ArrowDamage>, ReadError> {
        if !self.is_file {
            return Ok(Ok(()));
        }
        let (messages_end, mut contents) = std::mem::take(&mut self.end);
        while let Some(next) = take_up_to(&mut self.stream, 64 << 10)? {
            contents.extend_from_slice(&next);
            contents.drain(..contents.len().saturating_sub(to_usize(MOST_METADATA)));
        }
        let at = self.stream.offset();
        let checked =
            ArrowContents::parse(&contents).and_then(|contents| match contents.batches() {
                said if said != batches => Err(format!(
                    "{batches} record batches are before its table of contents, which counts {said}"
                )),
                _ => contents.check(self.first..messages_end),
            });
        Ok(checked.map_err(|what| ArrowDamage::Damaged { at, what }))
    }
}

impl ArrowReader {
    /// The batches of `stream`, which stands at its beginning. `limit`: most bytes of one, and of all dictionaries.
    pub(super) fn new(stream: Box<ByteStream>, limit: u64) -> Result<Self, ReadError> {
        let mut messages = MessageStream::new(stream)?;
        let schema = messages.bare_schema()?;
        let mut reader = Self {
            source: MessageSource::Stream(messages),
            decoder: StreamDecoder::new(),
            ready: VecDeque::new(),
            is_done: false,
            batches: 0,
            fields: None,
            dictionary_columns: None,
            dictionaries: BTreeMap::new(),
            limit,
            fault: None,
        };
        if let Some(schema) = schema {
            reader.fault = reader.take_message(schema).err();
        }
        Ok(reader)
    }

    /// The batches in the order of the table of contents where that is another one than the order in which they stand.
    /// `file` is the file whose first bytes were given.
    pub(super) fn by_contents(mut self, file: RandomAccessFile) -> Result<Self, ReadError> {
        let is_file = matches!(&self.source, MessageSource::Stream(stream) if stream.is_file);
        if !is_file || self.fault.is_some() {
            return Ok(self);
        }
        if self.dictionary_columns.is_none() {
            match self.message()? {
                Ok(is_more) => self.is_done = !is_more,
                Err(fault) => self.fault = Some(fault),
            }
        }
        if self.dictionary_columns.is_none_or(|columns| columns == 0) {
            return Ok(self);
        }
        if let MessageSource::Stream(messages) = &self.source
            && let Some(blocks) = ArrowBlocks::out_of_order(file, messages.first)?
        {
            self.source = MessageSource::Blocks(Box::new(blocks));
        }
        Ok(self)
    }

    /// Bytes of the file as stored that were consumed.
    pub(super) fn input_bytes(&self) -> u64 {
        match &self.source {
            MessageSource::Stream(messages) => messages.stream.input_bytes(),
            MessageSource::Blocks(blocks) => blocks.input_bytes(),
        }
    }

    /// Reads one message and has it decoded; says whether there was one.
    fn message(&mut self) -> Result<Result<bool, ArrowDamage>, ReadError> {
        let (limit, batches) = (self.limit, self.batches);
        let next = match &mut self.source {
            MessageSource::Stream(messages) => messages.next(limit)?,
            MessageSource::Blocks(blocks) => blocks.next(limit)?,
        };
        match next {
            Ok(Some(message)) => return Ok(self.take_message(message).map(|()| true)),
            Ok(None) => {}
            Err(fault) => return Ok(Err(fault)),
        }
        // A message that needed another one behind it is decoded now.
        let end = [CONTINUATION, [0; 4]].concat();
        let ended = self.decode(end.into());
        let MessageSource::Stream(messages) = &mut self.source else {
            return Ok(ended.map(|()| false).map_err(|what| ArrowDamage::Damaged { at: 0, what }));
        };
        if let Err(what) = ended {
            return Ok(Err(ArrowDamage::Damaged { at: messages.end.0, what }));
        }
        Ok(messages.check_contents(batches)?.map(|()| false))
    }

    fn take_message(&mut self, message: ArrowMessage) -> Result<(), ArrowDamage> {
        let ArrowMessage { at, mut metadata, body } = message;
        let bytes = check(&metadata, &body, self.limit, at)?;
        let parsed = root_as_message(&metadata).ok();
        let dictionary = parsed.and_then(|message| message.header_as_dictionary_batch());
        if let Some(dictionary) = dictionary {
            let held = self.dictionaries.entry(dictionary.id()).or_default();
            *held = bytes.saturating_add(if dictionary.isDelta() { *held } else { 0 });
            let bytes = self.dictionaries.values().fold(0_u64, |sum, one| sum.saturating_add(*one));
            if bytes > self.limit {
                return Err(ArrowDamage::TooLong { bytes });
            }
        }
        let mut texts = Vec::new();
        // The decoder takes the description of columns in with the message behind it.
        if let Some(schema) = parsed.and_then(|message| message.header_as_schema()) {
            if schema.endianness() == Endianness::Big {
                return Err(ArrowDamage::Damaged { at, what: BIG_ENDIAN.to_owned() });
            }
            if parsed.is_some_and(|message| message.version() > MetadataVersion::V5) {
                return Err(ArrowDamage::Damaged { at, what: LATER_VERSION.to_owned() });
            }
            let described = catch_panic(|| fb_to_schema(schema)).ok();
            self.dictionary_columns = described.as_ref().map(dictionary_columns);
            self.fields = described.map(|schema| schema.fields);
            text_types(schema.fields().into_iter().flatten(), &mut texts);
        }
        let is_batch = parsed.is_some_and(|message| message.header_as_record_batch().is_some());
        self.batches += usize::from(is_batch);
        for (place, kind) in texts {
            if let Some(byte) = metadata.as_slice_mut().get_mut(place) {
                *byte = kind.0;
            }
        }
        let decoded = self.decode(framed(&metadata).into()).and_then(|()| self.decode(body.into()));
        decoded.map_err(|mut what| {
            if is_batch && self.dictionary_columns > Some(self.dictionaries.len()) {
                what.push_str(BEHIND);
            }
            ArrowDamage::Damaged { at, what }
        })
    }

    /// The decoder checks less than all that a damaged file can claim; its panic is such a file.
    fn decode(&mut self, mut bytes: Buffer) -> Result<(), String> {
        while !bytes.is_empty() {
            let decoded = catch_panic(|| self.decoder.decode(&mut bytes))
                .map_err(|why| format!("the decoder gave up: {why}"))?;
            self.ready.extend(decoded.map_err(|error| error.to_string())?);
        }
        Ok(())
    }
}

/// Said of a batch before whose dictionaries it stands.
const BEHIND: &str = "; a dictionary is missing before it: a dictionary after the batches is found only in an uncompressed Arrow file, on disk or in a bucket";

/// Said of a file of a machine that stores the highest byte of a number first.
const BIG_ENDIAN: &str = "the file is big-endian: its numbers stand highest byte first, which is not read; write it again on a little-endian machine, or with pyarrow, which reads it";

/// Said of a file of a version that did not exist when this was written.
const LATER_VERSION: &str =
    "the file is of a later version than 5 of Arrow's format: write it again with an older library";

/// Where the types of texts stand in a description of columns, and the types of bytes for them: neither has members, so
/// one byte tells them apart.
fn text_types<'m>(fields: impl Iterator<Item = FieldTable<'m>>, places: &mut Vec<(usize, Type)>) {
    for field in fields {
        let bytes = match field.type_type() {
            Type::Utf8 => Some(Type::Binary),
            Type::LargeUtf8 => Some(Type::LargeBinary),
            Type::Utf8View => Some(Type::BinaryView),
            _ => None,
        };
        let member = field._tab.vtable().get(FieldTable::VT_TYPE_TYPE);
        let place = field._tab.loc().saturating_add(usize::from(member));
        places.extend(bytes.filter(|_| member > 0).map(|bytes| (place, bytes)));
        // A union has no form in JSON, whatever is in it.
        if field.type_type() != Type::Union {
            let inner: Vec<FieldTable<'m>> = field.children().into_iter().flatten().collect();
            text_types(inner.into_iter(), places);
        }
    }
}

fn dictionary_columns(schema: &Schema) -> usize {
    let is_coded = |field: &&&Field| matches!(field.data_type(), DataType::Dictionary(..));
    schema.flattened_fields().iter().filter(is_coded).count()
}

/// A message with what stands before one.
fn framed(message: &[u8]) -> Vec<u8> {
    let mut framed = Vec::with_capacity(message.len() + 8);
    framed.extend_from_slice(&CONTINUATION);
    framed.extend_from_slice(&u32::try_from(message.len()).unwrap_or_default().to_le_bytes());
    framed.extend_from_slice(message);
    framed
}

impl BatchReader for ArrowReader {
    fn next_batch(&mut self, origin: &RecordOrigin) -> Result<Option<RecordBatch>, ReadError> {
        while self.ready.is_empty() && !self.is_done {
            let read = match self.fault.take() {
                Some(fault) => Err(fault),
                None => self.message()?,
            };
            match read {
                Ok(is_more) => self.is_done = !is_more,
                // Batches that are decoded already come before the fault.
                Err(fault) if !self.ready.is_empty() => self.fault = Some(fault),
                Err(fault) => {
                    self.fault = Some(fault.clone());
                    return Err(fault.error(origin, self.limit));
                }
            }
        }
        let Some(batch) = self.ready.pop_front() else { return Ok(None) };
        let made = self.fields.as_ref().map(|fields| as_fields(&batch, fields));
        Ok(Some(made.and_then(Result::ok).unwrap_or(batch)))
    }
}

/// Bytes that a message becomes when it is decompressed, no more than `limit`: its buffers say so themselves, and of LZ4,
/// which the decoder believes, it is tried where it could be more.
fn check(metadata: &[u8], body: &[u8], limit: u64, at: u64) -> Result<u64, ArrowDamage> {
    let damaged = |what: &str| ArrowDamage::Damaged { at, what: what.to_owned() };
    let message = root_as_message(metadata).map_err(|error| damaged(&error.to_string()))?;
    let stored = byte_len(body.len());
    let Some(batch) = header(&message) else { return Ok(stored) };
    let (Some(compression), Some(buffers)) = (batch.compression(), batch.buffers()) else {
        return Ok(stored);
    };
    let is_lz4 = compression.codec() == CompressionType::LZ4_FRAME;
    let mut bytes = 0_u64;
    for buffer in buffers {
        let (Ok(from), Ok(long)) =
            (usize::try_from(buffer.offset()), usize::try_from(buffer.length()))
        else {
            return Err(damaged("a buffer has no place"));
        };
        if long == 0 {
            continue;
        }
        let buffer = from.checked_add(long).and_then(|to| body.get(from..to));
        let Some((said, data)) = buffer.and_then(|buffer| buffer.split_first_chunk::<8>()) else {
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
    if bytes > limit { Err(ArrowDamage::TooLong { bytes }) } else { Ok(bytes.max(stored)) }
}

fn header<'m>(message: &Message<'m>) -> Option<BatchHeader<'m>> {
    message
        .header_as_record_batch()
        .or_else(|| message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()))
}

/// Bytes that LZ4 data decompresses to, counted up to one more than it should be.
fn lz4_bytes(data: &[u8], most: u64) -> u64 {
    let mut frames = lz4_flex::frame::FrameDecoder::new(data).take(most.saturating_add(1));
    // The decoder reports damage.
    std::io::copy(&mut frames, &mut std::io::sink()).unwrap_or(0)
}

/// Takes `bytes` bytes, aligned so that columns need not be copied; none when the input ends before.
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

/// Takes at most `bytes` bytes; none at the end.
fn take_up_to(stream: &mut ByteStream, bytes: usize) -> Result<Option<MutableBuffer>, ReadError> {
    let ahead = byte_len(stream.peek(bytes)?.len());
    let taken = take(stream, ahead)?;
    Ok(taken.filter(|taken| !taken.is_empty()))
}
