//! Any place of an object, through a small cache of its blocks.

use super::error::RemoteError;
use super::fetch::RemoteObject;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a block.
const BLOCK: u64 = 1 << 20;
/// Blocks that are asked for at once where one is read behind another.
const RUN: u64 = 4;
/// Fewest blocks that are held: more than a run.
const FEWEST: u64 = 8;

/// An object of which any place may be read; copies share the cache.
#[derive(Clone)]
pub(crate) struct RemoteReader {
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
    /// Opens an object, of which about `most` bytes may be held.
    pub(crate) fn new(object: &RemoteObject, most: u64) -> Self {
        let cache = BlockCache { most: (most / BLOCK).max(FEWEST), ..BlockCache::default() };
        Self { object: object.clone(), cache: Arc::new(Mutex::new(cache)) }
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
        // Behind one that is held the reading goes on: several come by one request.
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
