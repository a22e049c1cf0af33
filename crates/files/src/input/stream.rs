//! Lines of a decompressed input, with the position and the hash of all that was consumed.

use super::decompress::{AbsentDictionary, Decompressor};
use super::error::ReadError;
use super::item::{byte_len, to_usize};
use crate::remote::RemoteError;
use memchr::memchr;
use model::invariant::part;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes asked of the decompressor at a time: also the pieces the hash is fed, which wants them
/// long.
const CHUNK: usize = 256 << 10;
/// A buffer that one long line made larger than this is given back.
const LARGE: usize = 64 * CHUNK;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A stretch of the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BoundedBytes<'a> {
    /// The whole of it, without the line end.
    Whole(&'a [u8]),
    /// Longer than the limit: its first bytes, and its length.
    TooLong { head: &'a [u8], bytes: u64 },
}

/// What stands up to an end that is searched for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StreamPiece<'a> {
    /// Position of its first byte.
    pub(super) at: u64,
    /// Its bytes, the end with them.
    pub(super) bytes: BoundedBytes<'a>,
    /// Whether the end was found; else the input ends within it.
    pub(super) is_closed: bool,
}

/// Decompressed bytes of an input, buffered.
///
/// `buffer[..start]` is consumed, `buffer[start..]` is read ahead; `buffer[0]` stands at `base` in
/// the decompressed stream, and all before it is in the hash.
pub(super) struct ByteStream {
    path: Arc<PathBuf>,
    source: Decompressor,
    buffer: Vec<u8>,
    start: usize,
    base: u64,
    /// None where no hash is asked for.
    hasher: Option<blake3::Hasher>,
    ended: bool,
    fault: Option<std::io::Error>,
    head: Vec<u8>,
    /// The stream ends there, whatever comes behind.
    limit: u64,
    /// What a pipe has is taken at once: more may not come for hours.
    is_pipe: bool,
    /// A place that was marked, in `buffer`, while its bytes are there.
    marked_at: Option<usize>,
    /// The marked place in the stream, with the hash of what stands before it, once its bytes have gone.
    marked: Option<(u64, [u8; 32])>,
}

impl ByteStream {
    /// The bytes up to `limit`.
    pub(super) fn new(
        path: Arc<PathBuf>,
        raw: Box<dyn Read + Send>,
        limit: u64,
        is_pipe: bool,
    ) -> Result<Self, ReadError> {
        let source = Decompressor::new(raw).map_err(ReadError::io(&path, "read it"))?;
        let mut stream = Self {
            path,
            source,
            buffer: Vec::new(),
            start: 0,
            base: 0,
            hasher: Some(blake3::Hasher::new()),
            ended: false,
            fault: None,
            head: Vec::new(),
            limit,
            is_pipe,
            marked_at: None,
            marked: None,
        };
        while stream.ahead().len() < BYTE_ORDER_MARK.len() && !stream.ended {
            stream.fill()?;
        }
        if stream.ahead().starts_with(BYTE_ORDER_MARK) {
            stream.start = BYTE_ORDER_MARK.len();
        }
        Ok(stream)
    }

    /// Position of the next unread byte in the decompressed stream.
    pub(super) fn offset(&self) -> u64 {
        self.base + byte_len(self.start)
    }

    /// Hashes nothing any more: every hash is zeros.
    pub(super) fn leave_hash(&mut self) {
        self.hasher = None;
    }

    /// Hash of all bytes before [`Stream::offset`]. Hashes what is consumed of the buffer: up to some
    /// 256 KiB, so it is not for every record.
    pub(super) fn prefix(&self) -> [u8; 32] {
        self.prefix_to(self.start)
    }

    /// Marks this place.
    pub(super) fn mark(&mut self) {
        (self.marked_at, self.marked) = (Some(self.start), None);
    }

    /// The place that was marked last, and the hash of all bytes before it.
    pub(super) fn marked(&self) -> Option<(u64, [u8; 32])> {
        let here = |at: usize| (self.base + byte_len(at), self.prefix_to(at));
        self.marked.or_else(|| self.marked_at.map(here))
    }

    fn prefix_to(&self, end: usize) -> [u8; 32] {
        let consumed = part(&self.buffer, ..end);
        HASHED_AGAIN.with(|bytes| bytes.set(bytes.get() + byte_len(consumed.len())));
        let Some(mut hasher) = self.hasher.clone() else { return [0; 32] };
        hasher.update(consumed);
        *hasher.finalize().as_bytes()
    }

    /// Whether the file is compressed.
    pub(super) fn is_compressed(&self) -> bool {
        self.source.is_compressed()
    }

    /// Whether the bytes come through a pipe, which may say no more for hours.
    pub(super) const fn is_pipe(&self) -> bool {
        self.is_pipe
    }

    /// Shows `look` the next bytes, and whether they are all, until it has seen enough, or they are more than `limit`;
    /// nothing is consumed. Bytes before a fault are all, too: the next read meets the fault.
    pub(super) fn look_ahead(
        &mut self,
        limit: usize,
        mut look: impl FnMut(&[u8], bool) -> bool,
    ) -> Result<(), ReadError> {
        while !look(self.ahead(), self.ended) && !self.ended && self.ahead().len() < limit {
            if self.fault.is_some() {
                break;
            }
            self.fill()?;
        }
        Ok(())
    }

    /// Bytes of the file as stored that were consumed.
    pub(super) fn input_bytes(&self) -> u64 {
        self.source.consumed()
    }

    /// What the file is compressed with, and the bytes behind its last frame that belong to none: they were left.
    pub(super) fn trailing(&self) -> Option<(&'static str, u64)> {
        let trailing = self.source.trailing();
        (trailing > 0).then(|| (self.source.name(), trailing))
    }

    /// The first line that is not blank, unless it is longer than `limit`; nothing is consumed.
    pub(super) fn peek_line(&mut self, limit: usize) -> Result<Option<&[u8]>, ReadError> {
        loop {
            let blank = self.ahead().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let rest = part(self.ahead(), blank..);
            if let Some(end) =
                line_end(rest).or((self.ended && !rest.is_empty()).then_some(rest.len()))
            {
                return Ok(self.ahead().get(blank..blank + end));
            }
            if self.ended || self.ahead().len() > limit {
                return Ok(None);
            }
            self.fill()?;
        }
    }

    /// Up to `limit` bytes that come next; nothing is consumed.
    pub(super) fn peek(&mut self, limit: usize) -> Result<&[u8], ReadError> {
        while self.ahead().len() < limit && !self.ended {
            self.fill()?;
        }
        let ahead = self.ahead();
        Ok(ahead.get(..limit).unwrap_or(ahead))
    }

    /// The next line that is not blank and the position of its first byte; `None` at the end. Of a
    /// line longer than `limit` only `keep` bytes are held.
    pub(super) fn next_line(
        &mut self,
        limit: usize,
        keep: usize,
    ) -> Result<Option<(u64, BoundedBytes<'_>)>, ReadError> {
        loop {
            let mut scanned = 0;
            let end = loop {
                let ahead = self.ahead();
                if let Some(at) = line_end(part(ahead, scanned..)) {
                    break scanned + at;
                }
                scanned = ahead.len();
                if self.ended {
                    break scanned;
                }
                if scanned > limit {
                    let at = self.offset();
                    let bytes = self.skip_line(keep)?;
                    return Ok(Some((at, BoundedBytes::TooLong { head: &self.head, bytes })));
                }
                self.fill()?;
            };
            if end == 0 {
                return Ok(None);
            }
            let at = self.offset();
            let from = self.start;
            self.start += end;
            let line = part(&self.buffer, from..self.start);
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let line = from..from + line.len();
            let too_long = line.len() > limit;
            let line = self.buffer.get(line).unwrap_or_default();
            let piece = if too_long {
                BoundedBytes::TooLong {
                    head: line.get(..keep).unwrap_or(line),
                    bytes: byte_len(line.len()),
                }
            } else {
                BoundedBytes::Whole(line)
            };
            return Ok(Some((at, piece)));
        }
    }

    /// The last `length` consumed bytes, as long as nothing was read since.
    pub(super) fn consumed(&self, length: usize) -> &[u8] {
        part(&self.buffer, self.start.saturating_sub(length)..self.start)
    }

    /// The next piece up to the end that `find` sees, or all that is left; `None` at the end of the input. `find` gets
    /// the bytes one stretch after the other and answers how many of the last one belong to the piece. Of a piece
    /// longer than `limit` only `keep` bytes are held.
    pub(super) fn next_piece(
        &mut self,
        limit: usize,
        keep: usize,
        mut find: impl FnMut(&[u8]) -> Option<usize>,
    ) -> Result<Option<StreamPiece<'_>>, ReadError> {
        let at = self.offset();
        let mut scanned = 0;
        let end = loop {
            let ahead = self.ahead();
            if let Some(end) = find(part(ahead, scanned..)) {
                break Some(scanned + end);
            }
            scanned = ahead.len();
            if self.ended {
                break None;
            }
            if scanned > limit {
                let (bytes, is_closed) = self.skip_piece(keep, scanned, find)?;
                let bytes = BoundedBytes::TooLong { head: &self.head, bytes };
                return Ok(Some(StreamPiece { at, bytes, is_closed }));
            }
            self.fill()?;
        };
        let taken = end.unwrap_or(scanned);
        if taken == 0 && end.is_none() {
            return Ok(None);
        }
        let from = self.start;
        self.start += taken;
        let bytes = part(&self.buffer, from..self.start);
        let bytes = if bytes.len() > limit {
            let head = bytes.get(..keep).unwrap_or(bytes);
            BoundedBytes::TooLong { head, bytes: byte_len(bytes.len()) }
        } else {
            BoundedBytes::Whole(bytes)
        };
        Ok(Some(StreamPiece { at, bytes, is_closed: end.is_some() }))
    }

    /// Consumes a piece with `scanned` bytes already searched; gives its length and whether its end was found.
    fn skip_piece(
        &mut self,
        keep: usize,
        scanned: usize,
        mut find: impl FnMut(&[u8]) -> Option<usize>,
    ) -> Result<(u64, bool), ReadError> {
        self.head.clear();
        let mut bytes = 0;
        let mut end = None;
        let mut taken = scanned;
        loop {
            let stretch = part(&self.buffer, self.start..self.start + taken);
            let room = keep.saturating_sub(self.head.len()).min(stretch.len());
            self.head.extend_from_slice(part(stretch, ..room));
            bytes += byte_len(taken);
            self.start += taken;
            if end.is_some() || self.ended {
                return Ok((bytes, end.is_some()));
            }
            self.fill()?;
            end = find(self.ahead());
            taken = end.unwrap_or(self.ahead().len());
        }
    }

    /// Consumes bytes as long as `is_wanted` is true.
    pub(super) fn skip_while(&mut self, is_wanted: impl Fn(u8) -> bool) -> Result<(), ReadError> {
        loop {
            let ahead = self.ahead();
            let taken = ahead.iter().take_while(|byte| is_wanted(**byte)).count();
            let is_all = taken == ahead.len();
            self.start += taken;
            if !is_all || self.ended {
                return Ok(());
            }
            self.fill()?;
        }
    }

    /// All that is left. When it is longer than `limit` only `keep` bytes are held.
    pub(super) fn rest(
        &mut self,
        limit: usize,
        keep: usize,
    ) -> Result<BoundedBytes<'_>, ReadError> {
        while !self.ended && self.ahead().len() <= limit {
            self.fill()?;
        }
        if self.ahead().len() > limit {
            let bytes = self.skip(keep, |_| None)?;
            return Ok(BoundedBytes::TooLong { head: &self.head, bytes });
        }
        let from = self.start;
        self.start = self.buffer.len();
        Ok(BoundedBytes::Whole(part(&self.buffer, from..)))
    }

    fn skip_line(&mut self, keep: usize) -> Result<u64, ReadError> {
        self.skip(keep, line_end)
    }

    /// Consumes up to and with the end that `find` sees, or all; keeps the first `keep` bytes in
    /// `head` and gives the length without the line end.
    fn skip(
        &mut self,
        keep: usize,
        find: impl Fn(&[u8]) -> Option<usize>,
    ) -> Result<u64, ReadError> {
        self.head.clear();
        let mut bytes = 0;
        loop {
            let ahead = part(&self.buffer, self.start..);
            let end = find(ahead);
            let taken = ahead.get(..end.unwrap_or(ahead.len())).unwrap_or_default();
            let room = keep.saturating_sub(self.head.len()).min(taken.len());
            self.head.extend_from_slice(part(taken, ..room));
            bytes += byte_len(taken.len());
            self.start += taken.len();
            if end.is_some() {
                let line_end = [taken.ends_with(b"\n"), taken.ends_with(b"\r\n")];
                return Ok(bytes - line_end.into_iter().map(u64::from).sum::<u64>());
            }
            if self.ended {
                return Ok(bytes);
            }
            self.fill()?;
        }
    }

    fn ahead(&self) -> &[u8] {
        part(&self.buffer, self.start..)
    }

    /// Reads one more chunk behind what is ahead, after dropping what is consumed.
    fn fill(&mut self) -> Result<(), ReadError> {
        if let Some(error) = self.fault.take() {
            return Err(self.fail(error));
        }
        if self.start > 0 {
            self.marked = self.marked();
            self.marked_at = None;
            if let Some(hasher) = &mut self.hasher {
                hasher.update(part(&self.buffer, ..self.start));
            }
            self.base += byte_len(self.start);
            self.buffer.drain(..self.start);
            self.start = 0;
            if self.buffer.capacity() > LARGE {
                self.buffer.shrink_to(CHUNK);
            }
        }
        let left = self.limit.saturating_sub(self.base + byte_len(self.buffer.len()));
        let most = left.min(byte_len(CHUNK));
        let read = match self.is_pipe {
            true => self.read_some(to_usize(most)),
            false => self.source.by_ref().take(most).read_to_end(&mut self.buffer),
        };
        match read {
            Ok(read) => self.ended = read == 0,
            // Bytes before the fault are given first, and decoders do not repeat a fault.
            Err(error) => self.fault = Some(error),
        }
        Ok(())
    }

    /// Reads available bytes, at most `most`.
    fn read_some(&mut self, most: usize) -> std::io::Result<usize> {
        let before = self.buffer.len();
        self.buffer.resize(before + most, 0);
        let read = self.source.read(self.buffer.get_mut(before..).unwrap_or_default());
        self.buffer.truncate(before + read.as_ref().copied().unwrap_or(0));
        read
    }

    fn fail(&mut self, error: std::io::Error) -> ReadError {
        let dictionary = error.get_ref().and_then(|error| error.downcast_ref());
        let dictionary: Option<AbsentDictionary> = dictionary.copied();
        self.fault = Some(match (RemoteError::within(&error), dictionary) {
            (Some(remote), _) => remote.clone().into(),
            (_, Some(absent)) => std::io::Error::new(error.kind(), absent),
            _ => std::io::Error::new(error.kind(), error.to_string()),
        });
        if let Some(absent) = dictionary {
            let (path, offset) = (self.path.to_path_buf(), self.source.consumed());
            return ReadError::Dictionary { path, offset, what: absent.to_string() };
        }
        if self.source.blames_data(&error) {
            ReadError::Corrupt {
                path: self.path.to_path_buf(),
                offset: self.source.consumed(),
                what: format!("{} data: {error}", self.source.name()),
            }
        } else {
            ReadError::io(&self.path, "read it")(error)
        }
    }
}

thread_local! {
    /// Bytes that this thread hashed for positions, besides those of the stream itself: what tests of cost count.
    pub static HASHED_AGAIN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Length of the line at the start of `bytes`, its line feed counted.
pub(super) fn line_end(bytes: &[u8]) -> Option<usize> {
    memchr(b'\n', bytes).map(|at| at + 1)
}
