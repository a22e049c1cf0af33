//! Finds the stored documents that a block reaches beside the removed ones, and those that lifting a block lets in.
//!
//! Both searches serve many commits at once: a walk over documents serves a whole group of removals.

use crate::decide::{BlockExtent, BlockKeys, BlockReach, Blocklist, stored_sketch};
use model::{BLOCK_SIZE, DocId, Error, Standing};
use rayon::prelude::*;
use roaring::RoaringTreemap;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use store::{BlockKind, View, block_hashes, system_fields};
use text::dedup::{Fingerprinter, block_keys};

/// Removed documents searched for together: some 50 bytes each, for each way they are met in.
const GROUP: usize = 1 << 18;
/// Documents of one group where similarity counts: each has 64 keys.
const SIMILAR_GROUP: usize = 1 << 13;
/// Documents read as one piece of parallel work.
const PIECE: usize = 1 << 12;
/// The most distinct lengths of texts for which the column of lengths is read before headers.
const LENGTHS: usize = 1 << 12;

/// Documents by the one at which they are to be decided.
#[derive(Default)]
struct ReachedDocuments {
    /// The last document of the group that was looked up.
    until: Option<DocId>,
    by: BTreeMap<DocId, BTreeSet<DocId>>,
}

impl ReachedDocuments {
    fn covers(&self, chunk: &[DocId]) -> bool {
        matches!((self.until, chunk.last()), (Some(until), Some(last)) if *last <= until)
    }

    /// Takes the documents that are to be decided together with the chunk.
    fn take(&mut self, chunk: &[DocId]) -> BTreeSet<DocId> {
        let mut taken = BTreeSet::new();
        while let Some(first) = self.by.first_entry() {
            if chunk.last().is_none_or(|last| first.key() > last) {
                break;
            }
            taken.extend(first.remove());
        }
        taken.retain(|document| chunk.binary_search(document).is_err());
        taken
    }
}

/// Stored documents that removals reach.
pub(super) struct ReachSearch {
    extent: BlockExtent,
    met: ReachedDocuments,
}

impl ReachSearch {
    pub(super) fn new(extent: BlockExtent) -> Self {
        Self { extent, met: ReachedDocuments::default() }
    }

    /// Looks up what `chunk` and the removals behind it reach, unless it has been. What is in `selection` is removed
    /// itself.
    pub(super) fn look_up(
        &mut self,
        view: &View,
        chunk: &[DocId],
        rest: &mut dyn Iterator<Item = DocId>,
        selection: &RoaringTreemap,
    ) -> Result<(), Error> {
        let BlockExtent { reach, key } = self.extent;
        if reach == BlockReach::Nothing || self.met.covers(chunk) {
            return Ok(());
        }
        let group = BlockKeyIndex::most(reach);
        let mut wanted = BlockKeyIndex::default();
        let (mut until, mut keys) = (None, Vec::new());
        for document in chunk.iter().copied().chain(rest).take(group.max(chunk.len())) {
            wanted.add(view, document, reach)?;
            if key == Some(true) {
                keys.extend(view.block_identity(document)?.map(|hash| (document, hash)));
            }
            until = Some(document);
        }
        let mut candidates = eligible(view)?;
        candidates -= selection;
        let mut by = wanted.find(view, &candidates, reach)?;
        // Documents that came again under their keys: the newest one has the key.
        let hashes: Vec<[u8; 16]> = keys.iter().map(|(_, hash)| *hash).collect();
        for ((document, _), holder) in keys.iter().zip(view.identities(&hashes)?) {
            if let Some(holder) = holder.filter(|holder| candidates.contains(holder.0)) {
                by.entry(*document).or_default().insert(holder);
            }
        }
        self.met = ReachedDocuments { until, by };
        Ok(())
    }

    pub(super) fn take(&mut self, chunk: &[DocId]) -> BTreeSet<DocId> {
        self.met.take(chunk)
    }
}

/// Documents that can be blocked.
fn eligible(view: &View) -> Result<RoaringTreemap, Error> {
    let mut found = RoaringTreemap::new();
    for standing in [Standing::Kept, Standing::Exact, Standing::Near, Standing::Empty] {
        found |= view.documents_standing(standing)?;
    }
    Ok(found)
}

/// An index of removed documents by the keys that they block by.
#[derive(Default)]
pub(super) struct BlockKeyIndex {
    /// Raw and normalised texts, with the first document that has them.
    texts: HashMap<(BlockKind, [u8; 16]), DocId>,
    /// Hashes of sketches, with all that have them: similarity is proved pair by pair.
    similar: HashMap<[u8; 16], Vec<DocId>>,
    /// Lengths of their texts in bytes; more than [`LENGTHS`] are not all held.
    lengths: BTreeSet<u64>,
}

impl BlockKeyIndex {
    /// How many documents are searched for together.
    pub(super) const fn most(reach: BlockReach) -> usize {
        if matches!(reach, BlockReach::Similar) { SIMILAR_GROUP } else { GROUP }
    }

    pub(super) fn add(
        &mut self,
        view: &View,
        document: DocId,
        reach: BlockReach,
    ) -> Result<(), Error> {
        // Whoever has the key is the document itself, or gave way.
        let of = BlockKeys::of_removed(view, document, (reach, false))?;
        for (what, hash) in of.keys() {
            match what {
                BlockKind::Identity => {}
                BlockKind::Normalised if reach < BlockReach::Normalised => {}
                BlockKind::Text | BlockKind::Normalised => {
                    self.texts.entry((what, hash)).or_insert(document);
                }
                BlockKind::Similar => self.similar.entry(hash).or_default().push(document),
            }
        }
        if self.lengths.len() <= LENGTHS {
            self.lengths.insert(view.text_bytes(document)?);
        }
        Ok(())
    }

    /// The documents of `candidates` that match an indexed one, grouped by the first document that they match.
    pub(super) fn find(
        &self,
        view: &View,
        candidates: &RoaringTreemap,
        reach: BlockReach,
    ) -> Result<BTreeMap<DocId, BTreeSet<DocId>>, Error> {
        let mut by: BTreeMap<DocId, BTreeSet<DocId>> = BTreeMap::new();
        for block in view.blocks() {
            let mut ids = candidates.iter();
            ids.advance_to(block * BLOCK_SIZE);
            let mut ids: Vec<DocId> =
                ids.take_while(|id| id / BLOCK_SIZE == block).map(DocId).collect();
            if reach == BlockReach::Exact && self.lengths.len() <= LENGTHS {
                // Equal texts have equal lengths, which are read 65,536 at a time.
                let lengths = view.column_block(system_fields::BYTES, block)?;
                ids.retain(|id| {
                    let length = lengths.get(id.slot()).map(i64::cast_unsigned);
                    length.is_none_or(|length| self.lengths.contains(&length))
                });
            }
            let pieces: Vec<Vec<(DocId, DocId)>> = ids
                .par_chunks(PIECE)
                .map(|piece| self.find_in(view, piece, reach))
                .collect::<Result<_, Error>>()?;
            for (removed, document) in pieces.into_iter().flatten() {
                by.entry(removed).or_default().insert(document);
            }
        }
        Ok(by)
    }

    fn find_in(
        &self,
        view: &View,
        piece: &[DocId],
        reach: BlockReach,
    ) -> Result<Vec<(DocId, DocId)>, Error> {
        let mut found = Vec::new();
        let mut blocklist = None;
        for document in piece {
            let print = view.print(*document)?;
            let hashes = block_hashes(print.raw, None, (print.words, print.normalised)).into_iter();
            let equal = hashes.filter_map(|(what, hash)| self.texts.get(&(what, hash?)));
            let mut removed = equal.min().copied();
            if removed.is_none() && reach == BlockReach::Similar {
                let blocklist = match &mut blocklist {
                    Some(blocklist) => blocklist,
                    none => none.insert((Blocklist::new(view)?, Fingerprinter::new(view.policy()))),
                };
                removed = self.similar(view, *document, blocklist)?;
            }
            found.extend(removed.map(|removed| (removed, *document)));
        }
        Ok(found)
    }

    /// The first removed document that is similar.
    fn similar(
        &self,
        view: &View,
        document: DocId,
        (blocklist, craft): &mut (Blocklist<'_>, Fingerprinter),
    ) -> Result<Option<DocId>, Error> {
        let Some(sketch) = stored_sketch(view, document)? else { return Ok(None) };
        let mut candidates = BTreeSet::new();
        for key in block_keys(&sketch) {
            candidates.extend(self.similar.get(&key).into_iter().flatten());
        }
        if candidates.is_empty() {
            return Ok(None);
        }
        let shingles = craft.shingles(&view.compared_text(document)?);
        for removed in candidates {
            if blocklist.is_similar((&sketch, &shingles), removed)? {
                return Ok(Some(removed));
            }
        }
        Ok(None)
    }
}

/// Blocked documents that restorations may let in.
#[derive(Default)]
pub(super) struct UnblockSearch {
    met: ReachedDocuments,
}

impl UnblockSearch {
    /// Looks up which blocked documents `chunk` and the restorations behind it may let in, unless it has been.
    pub(super) fn look_up(
        &mut self,
        view: &View,
        chunk: &[DocId],
        rest: &mut dyn Iterator<Item = DocId>,
    ) -> Result<(), Error> {
        if self.met.covers(chunk) {
            return Ok(());
        }
        let with_sketch = view.has_blocks(BlockKind::Similar)?;
        let group = if with_sketch { SIMILAR_GROUP } else { GROUP };
        // The last one that has a key lets go of it.
        let mut freed: HashMap<(BlockKind, [u8; 16]), DocId> = HashMap::new();
        let group: Vec<DocId> =
            chunk.iter().copied().chain(rest).take(group.max(chunk.len())).collect();
        let reach = Blocklist::new(view)?.reach();
        for document in &group {
            let of = BlockKeys::of_removed(view, *document, (reach, true))?;
            freed.extend(of.keys().map(|(what, hash)| ((what, hash), *document)));
        }
        let with_key = freed.keys().any(|(what, _)| *what == BlockKind::Identity);
        let of = |document| BlockKeys::of(view, document, (with_key, with_sketch));
        // A document of the group that comes back first may be blocked by one that comes back later.
        let blocked = view.documents_standing(Standing::Blocked)?;
        let mut by: BTreeMap<DocId, BTreeSet<DocId>> = BTreeMap::new();
        for document in blocked.iter().map(DocId).chain(group.iter().copied()) {
            for (what, hash) in of(document)?.keys() {
                if let Some(restored) = freed.get(&(what, hash))
                    && *restored != document
                {
                    by.entry(*restored).or_default().insert(document);
                }
            }
        }
        self.met = ReachedDocuments { until: group.last().copied(), by };
        Ok(())
    }

    pub(super) fn take(&mut self, chunk: &[DocId]) -> BTreeSet<DocId> {
        self.met.take(chunk)
    }
}
