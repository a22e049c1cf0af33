//! Readers of an object: in order with some parts fetched ahead, or at any place through a small cache of blocks.

use super::error::RemoteError;
use super::object::{BodyReader, RemoteObject};
use super::request::PendingRequest;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// Parts under way at a time, at most.
const AHEAD: usize = 4;
/// Bytes of a part by which a server of ranges is distinguished from one that sends the whole file.
const PIECE: usize = 1 << 20;
/// Bytes of the first part, by which a format is recognised.
const FIRST: u64 = 256 << 10;
/// Bytes of a block.
const BLOCK: u64 = 1 << 20;
/// Blocks that are asked for at once where one is read behind another.
const RUN: u64 = 4;
/// Fewest blocks that are held: more than a run.
const FEWEST: u64 = 8;

/// An object being read.
pub struct RemoteCursor {
    object: RemoteObject,
    /// Bytes of a part.
    part: u64,
    /// Up to where parts are asked for.
    asked: u64,
    /// How many may be under way.
    window: usize,
    parts: VecDeque<PendingRequest<Vec<u8>>>,
    /// Where the server gives whole files only.
    is_whole: bool,
    /// Its next piece; none behind the last.
    whole: Option<PendingRequest<(BodyReader, Vec<u8>)>>,
    current: Vec<u8>,
    at: usize,
    /// Bytes before `current`.
    before: u64,
}

impl RemoteCursor {
    /// Opens an object; about `ahead` bytes of it may be in memory. Nothing is asked for yet.
    #[doc(hidden)]
    pub fn new(object: &RemoteObject, ahead: u64) -> Self {
        Self {
            object: object.clone(),
            part: (ahead / (AHEAD as u64 + 1)).max(64 << 10),
            asked: 0,
            window: 1,
            parts: VecDeque::new(),
            is_whole: false,
            whole: None,
            current: Vec::new(),
            at: 0,
            before: 0,
        }
    }

    /// Whether the object begins with these bytes. They are read after it all the same.
    pub(crate) fn begins_with(&mut self, head: &[u8]) -> Result<bool, RemoteError> {
        if self.before == 0 && self.current.is_empty() {
            self.fill()?;
        }
        Ok(self.current.starts_with(head))
    }

    /// The next part; empty at the end.
    fn fill(&mut self) -> Result<(), RemoteError> {
        self.before += self.current.len() as u64;
        (self.current, self.at) = (Vec::new(), 0);
        match (self.is_whole, self.object.has_ranges()) {
            (true, _) => return self.fill_of_whole(),
            (false, false) => return self.begin_whole(),
            (false, true) => {}
        }
        while self.parts.len() < self.window && self.asked < self.object.size() {
            let bytes = if self.asked == 0 { FIRST.min(self.part) } else { self.part };
            let end = self.object.size().min(self.asked + bytes);
            self.parts.push_back(self.object.begin(self.asked..end));
            self.asked = end;
        }
        let Some(part) = self.parts.pop_front() else { return Ok(()) };
        match part.wait(&self.object.interrupt) {
            Ok(bytes) => self.current = bytes,
            Err(RemoteError::NoRanges { .. }) => return self.begin_whole(),
            Err(error) => return Err(error),
        }
        self.window = (self.window * 2).min(AHEAD);
        Ok(())
    }

    fn fill_of_whole(&mut self) -> Result<(), RemoteError> {
        let Some(pending) = self.whole.take() else { return Ok(()) };
        let (body, piece) = pending.wait(&self.object.interrupt)?;
        let is_last = piece.len() < PIECE;
        self.current = piece;
        if !is_last {
            // The next piece comes while this one is read.
            self.whole = Some(self.object.pull(body, PIECE));
        }
        Ok(())
    }

    /// Reads what is left as a whole from its start on, and skips what was had.
    fn begin_whole(&mut self) -> Result<(), RemoteError> {
        self.parts.clear();
        self.is_whole = true;
        self.whole = Some(self.object.pull(BodyReader::from(&self.object, self.before), PIECE));
        self.fill_of_whole()
    }
}

impl Read for RemoteCursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.current.len() {
            self.fill()?;
        }
        let read = self.current.get(self.at..).unwrap_or_default().read(buffer)?;
        self.at += read;
        Ok(read)
    }
}

/// An object with random access; copies share the cache.
#[derive(Clone)]
pub struct RemoteReader {
    object: RemoteObject,
    cache: Arc<Mutex<BlockCache>>,
}

#[derive(Default)]
struct BlockCache {
    /// By number, with when they were used last.
    blocks: BTreeMap<u64, (u64, Arc<Vec<u8>>)>,
    uses: u64,
    most: u64,
    /// What stopped the reading, in words that decoders do not pass on.
    fault: Option<RemoteError>,
}

impl RemoteReader {
    /// Opens an object; about `most` bytes of it may be in memory.
    ///
    /// # Errors
    /// [`RemoteError::NoRanges`] where the server gives no parts of it.
    pub(crate) fn new(object: &RemoteObject, most: u64) -> Result<Self, RemoteError> {
        if !object.has_ranges() {
            return Err(RemoteError::NoRanges { address: object.name().to_owned() });
        }
        let cache = BlockCache { most: (most / BLOCK).max(FEWEST), ..BlockCache::default() };
        Ok(Self { object: object.clone(), cache: Arc::new(Mutex::new(cache)) })
    }

    /// Bytes of the object.
    pub(crate) fn size(&self) -> u64 {
        self.object.size()
    }

    /// What stopped the reading, if anything did.
    pub(crate) fn fault(&self) -> Option<RemoteError> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).fault.clone()
    }

    /// Up to `length` bytes from `start` on; fewer only at the end.
    pub(crate) fn read(&self, start: u64, length: usize) -> Result<Vec<u8>, RemoteError> {
        let end = self.size().min(start.saturating_add(length as u64));
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::new();
        let mut at = start;
        while at < end {
            let number = at / BLOCK;
            let block = match self.block(&mut cache, number) {
                Ok(block) => block,
                Err(error) => {
                    cache.fault = Some(error.clone());
                    return Err(error);
                }
            };
            let from = usize::try_from(at - number * BLOCK).unwrap_or(usize::MAX);
            let most = usize::try_from(end - number * BLOCK).unwrap_or(usize::MAX);
            let part = block.get(from..most.min(block.len())).unwrap_or_default();
            if part.is_empty() {
                break;
            }
            bytes.extend_from_slice(part);
            at += part.len() as u64;
        }
        Ok(bytes)
    }

    fn block(&self, cache: &mut BlockCache, number: u64) -> Result<Arc<Vec<u8>>, RemoteError> {
        cache.uses += 1;
        let now = cache.uses;
        if let Some((used, block)) = cache.blocks.get_mut(&number) {
            *used = now;
            return Ok(Arc::clone(block));
        }
        // Behind one that is held the reading continues: several come by one request.
        let is_behind = number.checked_sub(1).is_some_and(|one| cache.blocks.contains_key(&one));
        let blocks = if is_behind { RUN } else { 1 };
        let end = self.size().min((number + blocks) * BLOCK);
        let bytes = self.object.begin(number * BLOCK..end).wait(&self.object.interrupt)?;
        let mut first = None;
        for (number, block) in
            (number..).zip(bytes.chunks(usize::try_from(BLOCK).unwrap_or(usize::MAX)))
        {
            let block = Arc::new(block.to_vec());
            first.get_or_insert_with(|| Arc::clone(&block));
            cache.blocks.insert(number, (now, block));
        }
        while cache.blocks.len() as u64 > cache.most {
            let oldest = cache.blocks.iter().min_by_key(|(number, (used, _))| (*used, **number));
            let Some(oldest) = oldest.map(|(number, _)| *number) else { break };
            cache.blocks.remove(&oldest);
        }
        Ok(first.unwrap_or_default())
    }
}
