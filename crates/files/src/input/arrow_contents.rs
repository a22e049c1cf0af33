//! Reads the footer of an Arrow file, its table of contents, and the file's messages in the order of that table.
//!
//! A batch needs the dictionaries of its columns. In a stream they stand before it; in a file the table of contents
//! names them, and they may stand anywhere: Polars writes those of its categories behind all batches. Where they stand
//! before the batches the two orders are the same, and the stream is read, which reads further ahead.

use super::columnar_reader::RandomAccessFile;
use super::error::ReadError;
use super::item::to_usize;
use crate::remote::RemoteError;
use arrow::buffer::MutableBuffer;
use arrow_ipc::{Block, root_as_footer, root_as_message};
use model::RecordOrigin;
use model::invariant::part;
use parquet::file::reader::ChunkReader;
use std::collections::BTreeSet;
use std::ops::Range;

/// What an Arrow file begins with, padded with zeros to a multiple of eight bytes, and ends with.
pub(super) const FILE_MARK: &[u8; 8] = b"ARROW1\0\0";
/// What stands before the length of a message.
pub(super) const CONTINUATION: [u8; 4] = [0xff; 4];
/// The description of a message, or of columns, is no longer than this.
pub(super) const MOST_METADATA: u64 = 64 << 20;
/// What ends a file: the length of the table of contents, and the mark without its padding.
const TRAILER: u64 = 10;
/// Between the last message and the table of contents there is no more than the word that the messages end, and zeros up
/// to a page.
const MOST_PADDING: u64 = 8 + 4096;

/// One message, and where it begins.
pub(super) struct ArrowMessage {
    pub(super) at: u64,
    pub(super) metadata: MutableBuffer,
    pub(super) body: MutableBuffer,
}

/// Why the reading stops.
#[derive(Clone)]
pub(super) enum ArrowDamage {
    Damaged { at: u64, what: String },
    TooLong { bytes: u64 },
}

/// The next message, none behind the last.
pub(super) type NextMessage = Result<Option<ArrowMessage>, ArrowDamage>;

impl ArrowDamage {
    pub(super) fn error(self, origin: &RecordOrigin, limit: u64) -> ReadError {
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

/// Bytes of the body of a message that begins at `at`.
pub(super) fn body_bytes(metadata: &[u8], at: u64, limit: u64) -> Result<u64, ArrowDamage> {
    let message = root_as_message(metadata).map_err(|error| {
        let what = format!("a message cannot be read: {error}");
        ArrowDamage::Damaged { at, what }
    })?;
    let bytes = u64::try_from(message.bodyLength()).unwrap_or(u64::MAX);
    if bytes > limit { Err(ArrowDamage::TooLong { bytes }) } else { Ok(bytes) }
}

/// Where the messages of a file stand.
pub(super) struct ArrowContents {
    dictionaries: Vec<ArrowBlock>,
    batches: Vec<ArrowBlock>,
}

/// Where one message stands: bytes.
#[derive(Clone, Copy)]
struct ArrowBlock {
    at: u64,
    /// What describes it, with the length before that.
    metadata: u64,
    body: u64,
}

impl ArrowBlock {
    fn new(block: &Block) -> Result<Self, String> {
        let (at, body) = (u64::try_from(block.offset()), u64::try_from(block.bodyLength()));
        match (at, u64::try_from(block.metaDataLength()), body) {
            (Ok(at), Ok(metadata), Ok(body)) => Ok(Self { at, metadata, body }),
            _ => Err("its table of contents names a place or a length below zero".to_owned()),
        }
    }

    const fn end(&self) -> u64 {
        self.at.saturating_add(self.metadata).saturating_add(self.body)
    }
}

impl ArrowContents {
    /// The table of contents that stands last in `end`, with its length and the mark behind it.
    pub(super) fn parse(end: &[u8]) -> Result<Self, String> {
        let mark = part(FILE_MARK, ..6);
        let cut = || "the table of contents at its end is cut off".to_owned();
        let sized = end.strip_suffix(mark).and_then(|rest| rest.split_last_chunk::<4>());
        let (contents, bytes) = sized.ok_or_else(cut)?;
        let bytes = to_usize(u64::from(u32::from_le_bytes(*bytes)));
        let from = contents.len().checked_sub(bytes).ok_or_else(cut)?;
        let footer = root_as_footer(part(contents, from..))
            .map_err(|error| format!("the table of contents at its end cannot be read: {error}"))?;
        let dictionaries = footer.dictionaries().into_iter().flatten().map(ArrowBlock::new);
        let batches = footer.recordBatches().into_iter().flatten().map(ArrowBlock::new);
        Ok(Self {
            dictionaries: dictionaries.collect::<Result<_, _>>()?,
            batches: batches.collect::<Result<_, _>>()?,
        })
    }

    /// Record batches that it names.
    pub(super) const fn batches(&self) -> usize {
        self.batches.len()
    }

    /// Checks that the listed messages stand within `messages`, one behind the other.
    pub(super) fn check(&self, messages: Range<u64>) -> Result<(), String> {
        let mut free = messages.start;
        for block in self.by_place() {
            if block.at < free || block.end() > messages.end || block.metadata == 0 {
                let (at, end) = (block.at, block.end());
                return Err(format!(
                    "its table of contents names a message from byte {at} to {end}, where there is no message"
                ));
            }
            free = block.end();
        }
        Ok(())
    }

    /// Checks that the listed messages, which begin at `first`, have no gaps; answers where they end.
    fn without_gaps(&self, first: u64) -> Option<u64> {
        self.by_place().iter().try_fold(first, |end, block| (block.at == end).then(|| block.end()))
    }

    fn by_place(&self) -> Vec<ArrowBlock> {
        let mut blocks: Vec<ArrowBlock> =
            self.dictionaries.iter().chain(&self.batches).copied().collect();
        blocks.sort_unstable_by_key(|block| block.at);
        blocks
    }
}

/// The messages of a file: the dictionaries and then the batches that its table of contents names.
pub(super) struct ArrowBlocks {
    file: RandomAccessFile,
    blocks: std::vec::IntoIter<ArrowBlock>,
    file_bytes: u64,
    consumed: u64,
}

impl ArrowBlocks {
    /// The messages of `file` behind the description of its columns, which ends at byte `first`. None where the order in
    /// which they stand serves as well, or where the table of contents is not to be believed: then that order is what is
    /// left.
    ///
    /// # Errors
    /// What a store answered.
    pub(super) fn out_of_order(
        file: RandomAccessFile,
        first: u64,
    ) -> Result<Option<Self>, ReadError> {
        let file_bytes = file.bytes().unwrap_or_default();
        let order = order_of_contents(&file, file_bytes, first);
        match file.store_fault() {
            // The file can still be read as a whole.
            Some(ReadError::Remote(RemoteError::NoRanges { .. })) => return Ok(None),
            Some(fault) => return Err(fault),
            None => {}
        }
        let Ok(Some(blocks)) = order else { return Ok(None) };
        Ok(Some(Self { file, blocks: blocks.into_iter(), file_bytes, consumed: first }))
    }

    /// Bytes consumed; behind the last message all of the file.
    pub(super) const fn input_bytes(&self) -> u64 {
        self.consumed
    }

    /// The next message, whose body has at most `limit` bytes.
    pub(super) fn next(&mut self, limit: u64) -> Result<NextMessage, ReadError> {
        let Some(block) = self.blocks.next() else {
            self.consumed = self.file_bytes;
            return Ok(Ok(None));
        };
        let ArrowBlock { at, metadata: metadata_bytes, .. } = block;
        let damaged = |what| ArrowDamage::Damaged { at, what };
        let metadata = read_metadata(&self.file, &block).map_err(damaged);
        let message = metadata.and_then(|metadata| {
            let bytes = body_bytes(&metadata, at, limit)?;
            if bytes > block.body {
                let said = block.body;
                return Err(damaged(format!(
                    "a message says that it has {bytes} bytes, the table of contents {said}"
                )));
            }
            let body = read(&self.file, at + metadata_bytes, bytes).map_err(damaged)?;
            Ok(Some(ArrowMessage { at, metadata, body }))
        });
        if let Some(fault) = self.file.store_fault() {
            return Err(fault);
        }
        self.consumed += block.metadata + block.body;
        Ok(message)
    }
}

/// The messages in the order of the table of contents, where that is another one than their own and can be relied on.
fn order_of_contents(
    file: &RandomAccessFile,
    file_bytes: u64,
    first: u64,
) -> Result<Option<Vec<ArrowBlock>>, String> {
    let no_contents = || "no table of contents".to_owned();
    let end = file_bytes.checked_sub(TRAILER).ok_or_else(no_contents)?;
    let bytes = read(file, end, 4)?;
    let bytes = <[u8; 4]>::try_from(bytes.as_slice()).map_err(|_| no_contents())?;
    let bytes = u64::from(u32::from_le_bytes(bytes));
    let begin = end.checked_sub(bytes).ok_or_else(no_contents)?;
    if bytes > MOST_METADATA {
        return Err(no_contents());
    }
    let contents = ArrowContents::parse(&read(file, begin, bytes + TRAILER)?)?;
    contents.check(first..begin)?;
    let Some(messages_end) = contents.without_gaps(first) else { return Ok(None) };
    let is_all = is_padding(file, messages_end..begin)?;
    if !is_all || !has_late_dictionary(file, &contents)? {
        return Ok(None);
    }
    Ok(Some([contents.dictionaries, contents.batches].concat()))
}

/// Whether no message stands there, but at most the word that there are no more.
fn is_padding(file: &RandomAccessFile, place: Range<u64>) -> Result<bool, String> {
    let bytes = place.end - place.start;
    if bytes > MOST_PADDING {
        return Ok(false);
    }
    let padding = read(file, place.start, bytes)?;
    let padding = padding.strip_prefix(&CONTINUATION).unwrap_or(&padding);
    Ok(padding.iter().all(|byte| *byte == 0))
}

/// Whether a dictionary stands behind a batch and is neither an addition to one nor there in its place: for these the
/// order in which the messages stand is right.
fn has_late_dictionary(file: &RandomAccessFile, contents: &ArrowContents) -> Result<bool, String> {
    let Some(first_batch) = contents.batches.iter().map(|block| block.at).min() else {
        return Ok(false);
    };
    if contents.dictionaries.iter().all(|block| block.at < first_batch) {
        return Ok(false);
    }
    let mut known = BTreeSet::new();
    let (mut is_late, mut is_replaced) = (false, false);
    for block in contents.by_place() {
        let metadata = read_metadata(file, &block)?;
        let message = root_as_message(&metadata).map_err(|error| error.to_string())?;
        let Some(dictionary) = message.header_as_dictionary_batch() else { continue };
        if !dictionary.isDelta() {
            is_replaced |= !known.insert(dictionary.id());
            is_late |= block.at > first_batch;
        }
    }
    Ok(is_late && !is_replaced)
}

/// What describes a message, without the length before it.
fn read_metadata(file: &RandomAccessFile, block: &ArrowBlock) -> Result<MutableBuffer, String> {
    if block.metadata > MOST_METADATA {
        return Err(format!("a message says that it is described by {} bytes", block.metadata));
    }
    let stored = read(file, block.at, block.metadata)?;
    let sized = stored.strip_prefix(&CONTINUATION).unwrap_or(&stored);
    let metadata = sized.split_first_chunk::<4>().and_then(|(bytes, metadata)| {
        metadata.get(..to_usize(u64::from(u32::from_le_bytes(*bytes))))
    });
    let metadata = metadata.ok_or("a message is longer than the table of contents says")?;
    let mut aligned = MutableBuffer::with_capacity(metadata.len());
    aligned.extend_from_slice(metadata);
    Ok(aligned)
}

/// Bytes of the file, aligned so that columns need not be copied.
fn read(file: &RandomAccessFile, at: u64, bytes: u64) -> Result<MutableBuffer, String> {
    let read = file.get_bytes(at, to_usize(bytes)).map_err(|error| error.to_string())?;
    let mut aligned = MutableBuffer::with_capacity(read.len());
    aligned.extend_from_slice(&read);
    Ok(aligned)
}
