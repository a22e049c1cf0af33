//! What a read put together or decoded, kept for later reads of the same moment: blocks of numbers, pages of strings.
//!
//! RocksDB caches what lies in its tables. A block that is there in patches it puts together for every read: half a
//! millisecond for 65,536 values, and a look-up needs one of them. A page of strings takes some microseconds, and its
//! neighbours are mostly asked for next. A moment never changes, so what was read of it once holds as long as it is
//! there; every other moment of the database begins with none.

use crate::bytes::page::{StringColumn, StringPageBody};
use model::{ColumnId, DocId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that a block takes beside its own.
const BESIDE: usize = 256;

/// A moment, a column, and the number of a block or the first document of a page.
type CacheKey = (u64, CachedColumn, u64);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CachedColumn {
    // The first in order, which forgetting a moment begins with.
    Numbers(ColumnId),
    Strings(StringColumn),
}

#[derive(Clone)]
enum CachedValue {
    Block(Arc<[u8]>),
    Page(Arc<StringPageBody>),
}

/// The blocks and pages of all moments of an open database, within a number of bytes: those that were not read for longest go
/// first.
#[derive(Clone)]
pub(crate) struct PageCache(Arc<Mutex<CacheState>>);

/// What one moment sees of them; its blocks go with it.
pub(crate) struct MomentPages {
    all: PageCache,
    moment: u64,
    /// Blocks that were put together for it: what tests of cost count.
    merged: AtomicU64,
}

#[derive(Default)]
struct CacheState {
    room: usize,
    taken: usize,
    blocks: BTreeMap<CacheKey, CacheEntry>,
    /// Places by the turn in which they were read last.
    by_turn: BTreeMap<u64, CacheKey>,
    turns: u64,
    moments: u64,
}

struct CacheEntry {
    value: CachedValue,
    turn: u64,
}

impl PageCache {
    /// A cache with room for `room` bytes.
    pub(crate) fn within(room: usize) -> Self {
        Self(Arc::new(Mutex::new(CacheState { room, ..CacheState::default() })))
    }

    /// The cached blocks of a new moment, apart from those of every other.
    pub(crate) fn of_moment(&self) -> MomentPages {
        let mut kept = self.kept();
        kept.moments += 1;
        let (all, moment) = (self.clone(), kept.moments);
        MomentPages { all, moment, merged: AtomicU64::new(0) }
    }

    fn kept(&self) -> MutexGuard<'_, CacheState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MomentPages {
    /// A block as it is stored, if it was put together for this moment and is still here.
    pub(crate) fn get(&self, column: ColumnId, block: u64) -> Option<Arc<[u8]>> {
        match self.all.kept().get((self.moment, CachedColumn::Numbers(column), block))? {
            CachedValue::Block(bytes) => Some(bytes),
            CachedValue::Page(_) => None,
        }
    }

    /// The page that has a document, with its first one, if it is here.
    pub(crate) fn page(
        &self,
        column: StringColumn,
        document: DocId,
    ) -> Option<(DocId, Arc<StringPageBody>)> {
        let place = |document| (self.moment, CachedColumn::Strings(column), document);
        let mut kept = self.all.kept();
        let (&at, _) = kept.blocks.range(place(0)..=place(document.0)).next_back()?;
        match kept.get(at)? {
            CachedValue::Page(page) if document.0 - at.2 < page.ends().len() as u64 => {
                Some((DocId(at.2), page))
            }
            _ => None,
        }
    }

    /// Keeps a page of strings, if there is room for it.
    pub(crate) fn keep_page(&self, column: StringColumn, first: DocId, page: &Arc<StringPageBody>) {
        let place = (self.moment, CachedColumn::Strings(column), first.0);
        self.all.kept().put(place, CachedValue::Page(Arc::clone(page)));
    }

    /// Keeps a block that was put together for this moment, if there is room for it.
    pub(crate) fn keep(&self, column: ColumnId, block: u64, bytes: &Arc<[u8]>) {
        self.merged.fetch_add(1, Relaxed);
        let place = (self.moment, CachedColumn::Numbers(column), block);
        self.all.kept().put(place, CachedValue::Block(Arc::clone(bytes)));
    }

    /// How often a block was put together for this moment.
    pub(crate) fn merged(&self) -> u64 {
        self.merged.load(Relaxed)
    }
}

impl Drop for MomentPages {
    fn drop(&mut self) {
        self.all.kept().forget(self.moment);
    }
}

impl CacheState {
    fn get(&mut self, place: CacheKey) -> Option<CachedValue> {
        let held = self.blocks.get_mut(&place)?;
        self.turns += 1;
        self.by_turn.remove(&held.turn);
        held.turn = self.turns;
        self.by_turn.insert(held.turn, place);
        Some(held.value.clone())
    }

    fn put(&mut self, place: CacheKey, value: CachedValue) {
        // Two threads may have put the same block together.
        self.remove(place);
        let size = value.size();
        if size > self.room {
            return;
        }
        self.turns += 1;
        self.taken += size;
        self.by_turn.insert(self.turns, place);
        self.blocks.insert(place, CacheEntry { value, turn: self.turns });
        while self.taken > self.room {
            let Some((_, oldest)) = self.by_turn.first_key_value() else { return };
            self.remove(*oldest);
        }
    }

    fn remove(&mut self, place: CacheKey) {
        if let Some(held) = self.blocks.remove(&place) {
            self.by_turn.remove(&held.turn);
            self.taken -= held.value.size();
        }
    }

    fn forget(&mut self, moment: u64) {
        let first = (moment, CachedColumn::Numbers(ColumnId(0)), 0);
        let of_moment = self.blocks.range(first..).map(|(place, _)| *place);
        let gone: Vec<CacheKey> = of_moment.take_while(|(of, ..)| *of == moment).collect();
        for place in gone {
            self.remove(place);
        }
    }
}

impl CachedValue {
    fn size(&self) -> usize {
        let own = match self {
            Self::Block(bytes) => bytes.len(),
            Self::Page(page) => page.size(),
        };
        own.saturating_add(BESIDE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const COLUMN: ColumnId = ColumnId(3);

    fn bytes(length: usize, first: u8) -> Arc<[u8]> {
        let mut bytes = vec![0; length.max(1)];
        bytes[0] = first;
        bytes.into()
    }

    #[test]
    fn least_recently_read_blocks_are_evicted_first() {
        let all = PageCache::within(3 * (100 + BESIDE));
        let (older, newer) = (all.of_moment(), all.of_moment());
        older.keep(COLUMN, 0, &bytes(100, 1));
        older.keep(COLUMN, 1, &bytes(100, 2));
        newer.keep(COLUMN, 0, &bytes(100, 3));
        assert_eq!(older.get(COLUMN, 0).unwrap()[0], 1);
        assert_eq!(newer.get(COLUMN, 0).unwrap()[0], 3);
        newer.keep(COLUMN, 5, &bytes(100, 4));
        assert!(older.get(COLUMN, 1).is_none(), "it was read before all others");
        newer.keep(COLUMN, 6, &bytes(1000, 5));
        assert!(newer.get(COLUMN, 6).is_none(), "it is larger than the room");
        assert_eq!(newer.get(COLUMN, 5).unwrap()[0], 4);
        drop(older);
        assert_eq!(all.kept().blocks.len(), 2);
        drop(newer);
        assert!(all.kept().taken == 0 && all.kept().by_turn.is_empty());
    }

    proptest! {
        #[test]
        fn the_cache_keeps_the_last_blocks_within_its_room(
            room in 0_usize..4000,
            steps in proptest::collection::vec((0_usize..3, 0_u64..4, 0_usize..900, any::<u8>(), 0_u8..8), 0..60),
        ) {
            let all = PageCache::within(room);
            let mut moments: Vec<MomentPages> = (0..3).map(|_| all.of_moment()).collect();
            let mut model: BTreeMap<(usize, u64), Arc<[u8]>> = BTreeMap::new();
            for (moment, block, length, first, kind) in steps {
                match kind {
                    0 => {
                        moments[moment] = all.of_moment();
                        model.retain(|(of, _), _| *of != moment);
                    }
                    1..4 => {
                        let put = bytes(length, first);
                        moments[moment].keep(COLUMN, block, &put);
                        model.insert((moment, block), put);
                    }
                    _ => {
                        if let Some(found) = moments[moment].get(COLUMN, block) {
                            prop_assert_eq!(Some(&found), model.get(&(moment, block)));
                        }
                    }
                }
                let kept = all.kept();
                let taken: usize = kept.blocks.values().map(|held| held.value.size()).sum();
                prop_assert!(taken == kept.taken && taken <= room);
                prop_assert_eq!(kept.blocks.len(), kept.by_turn.len());
            }
        }
    }
}
