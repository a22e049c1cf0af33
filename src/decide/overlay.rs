//! An overlay of this commit's decisions over a view: the store as it will be, with a cache of the rows that were read.

use super::decision::Newcomer;
use super::fingerprints::{stored_print, stored_sketch};
use super::view_ranker::{RankNumbers, ViewRanker};
use model::{
    BucketKey, BucketMap, DedupMode, DedupScope, DocId, Error, FieldId, Match, SourceId, Standing,
    bucket_keys,
};
use roaring::RoaringTreemap;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use store::{
    BlockStandings, DocumentPlace, DocumentPrint, StoreError, TextKind, View, system_fields,
};
use text::dedup::{Fingerprinter, Rank, Sketch, band_keys};

/// A value before the commit, and its value now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OverlayChange<T> {
    pub(super) before: T,
    pub(super) now: T,
}

pub(super) struct Overlay {
    pub(super) view: View,
    pub(super) ranker: ViewRanker,
    /// The field whose number the keep order looks at.
    order_field: Option<FieldId>,
    kept: Arc<RoaringTreemap>,
    first_new: DocId,
    newcomers: HashMap<DocId, Newcomer>,
    /// `now` is `None` for an eligible document that is not decided yet.
    standings: BTreeMap<DocId, OverlayChange<Option<Standing>>>,
    matches: BTreeMap<DocId, OverlayChange<Option<Match>>>,
    members: HashMap<DocId, BTreeMap<DocId, bool>>,
    /// Stored clusters that were read before.
    clusters: HashMap<DocId, Vec<DocId>>,
    /// Exact rows that this commit changes, and rows as they are stored.
    exact: BTreeMap<(TextKind, [u8; 16]), Option<DocId>>,
    stored_exact: HashMap<(TextKind, [u8; 16]), Option<DocId>>,
    /// Buckets that documents joined in this commit, and are met in: most have one such member.
    local: BucketMap<DocId>,
    /// All members, in the order they joined, of buckets with more than one.
    local_more: BucketMap<Vec<DocId>>,
    indexed: BTreeMap<DocId, Vec<u64>>,
    /// Numbers of stored documents that this commit changes.
    numbers: HashMap<DocId, Option<i64>>,
    remembered: Mutex<DecisionRowCache>,
    /// Apart from the other rows: all threads ask for these of each candidate.
    stored_standings: RwLock<StandingCache>,
}

impl Overlay {
    /// `kept` are the documents that `view` has as kept, `first_new` the first that it has not decided.
    pub(super) fn new(view: View, kept: Arc<RoaringTreemap>, first_new: DocId) -> Self {
        Self {
            ranker: ViewRanker::new(&view),
            order_field: view.order_field(),
            view,
            kept,
            first_new,
            newcomers: HashMap::new(),
            standings: BTreeMap::new(),
            matches: BTreeMap::new(),
            members: HashMap::new(),
            clusters: HashMap::new(),
            exact: BTreeMap::new(),
            stored_exact: HashMap::new(),
            local: BucketMap::default(),
            local_more: BucketMap::default(),
            indexed: BTreeMap::new(),
            numbers: HashMap::new(),
            remembered: Mutex::default(),
            stored_standings: RwLock::default(),
        }
    }

    pub(super) fn mode(&self) -> DedupMode {
        self.view.policy().mode
    }

    /// The forms of a text by which documents are equal under this policy.
    pub(super) fn forms(&self) -> &'static [TextKind] {
        TextKind::of_policy(self.view.policy())
    }

    // ---- what this commit changes ----

    /// Drops the shingles of newcomers: nothing is compared with them any more.
    pub(super) fn release_shingles(&mut self) {
        self.newcomers.values_mut().for_each(|newcomer| newcomer.shingles = None);
    }

    /// A stored document has another number in the field that ranks documents.
    pub(super) fn set_number(&mut self, document: DocId, number: Option<i64>) {
        self.numbers.insert(document, number);
        self.remembered().ranks.0.remove(&document);
    }

    /// A document that this commit decides for the first time.
    pub(super) fn newcomer(&self, document: DocId) -> Result<&Newcomer, StoreError> {
        let (what, family) = ("document", "place_pages");
        let missing = || StoreError::Missing { what, family, key: document.to_string() };
        self.newcomers.get(&document).ok_or_else(missing)
    }

    /// A document that this commit decides for the first time is there from now on.
    pub(super) fn admit(&mut self, document: DocId, newcomer: Newcomer) {
        self.newcomers.insert(document, newcomer);
    }

    /// Clusters as they are stored, which were read already.
    pub(super) fn cache_clusters(&mut self, clusters: HashMap<DocId, Vec<DocId>>) {
        self.clusters = clusters;
    }

    /// Documents whose standing this commit looks at, ascending; those to be decided have none now.
    pub(super) fn standing_changes(
        &self,
    ) -> impl Iterator<Item = (DocId, OverlayChange<Option<Standing>>)> {
        self.standings.iter().map(|(document, change)| (*document, *change))
    }

    /// Documents whose standing changes in this way, ascending.
    pub(super) fn documents_that(
        &self,
        change_so: impl Fn(OverlayChange<Option<Standing>>) -> bool,
    ) -> Vec<DocId> {
        let changes = self.standing_changes().filter(|(_, change)| change_so(*change));
        changes.map(|(document, _)| document).collect()
    }

    pub(super) fn standing_change(
        &self,
        document: DocId,
    ) -> Option<OverlayChange<Option<Standing>>> {
        self.standings.get(&document).copied()
    }

    /// Documents whose match this commit looks at, ascending.
    pub(super) fn match_changes(
        &self,
    ) -> impl Iterator<Item = (DocId, OverlayChange<Option<Match>>)> {
        self.matches.iter().map(|(document, change)| (*document, *change))
    }

    pub(super) fn match_change(&self, document: DocId) -> Option<OverlayChange<Option<Match>>> {
        self.matches.get(&document).copied()
    }

    /// Exact rows that this commit writes, ascending.
    pub(super) fn exact_changes(
        &self,
    ) -> impl Iterator<Item = (TextKind, [u8; 16], Option<DocId>)> {
        self.exact.iter().map(|((kind, hash), leader)| (*kind, *hash, *leader))
    }

    /// Has an exact row lead to a document, or to none.
    pub(super) fn set_exact(&mut self, kind: TextKind, hash: [u8; 16], leader: Option<DocId>) {
        self.exact.insert((kind, hash), leader);
    }

    /// Documents that join their buckets in this commit, ascending, with the keys of these by band.
    pub(super) fn joined(&self) -> impl Iterator<Item = (DocId, &[u64])> {
        self.indexed.iter().map(|(document, bands)| (*document, bands.as_slice()))
    }

    /// The keys of the buckets that a document joins in this commit.
    pub(super) fn joined_buckets(&self, document: DocId) -> Option<&[u64]> {
        self.indexed.get(&document).map(Vec::as_slice)
    }

    /// The field whose number the keep order looks at.
    pub(super) const fn order_field(&self) -> Option<FieldId> {
        self.order_field
    }

    // ---- standings and matches ----

    pub(super) fn is_new(&self, document: DocId) -> bool {
        document >= self.first_new
    }

    pub(super) fn is_kept(&self, document: DocId) -> bool {
        match self.standings.get(&document) {
            Some(change) => change.now == Some(Standing::Kept),
            None => self.kept.contains(document.0),
        }
    }

    /// The standing decided last; none for a document that is still to be decided.
    pub(super) fn standing(&self, document: DocId) -> Result<Option<Standing>, Error> {
        match self.standings.get(&document) {
            Some(change) => Ok(change.now),
            None if self.kept.contains(document.0) => Ok(Some(Standing::Kept)),
            None if self.is_new(document) => Ok(None),
            None => self.stored_standing(document).map(Some),
        }
    }

    /// The standing of a document that this commit has not touched. Bitmaps are read once a commit.
    fn stored_standing(&self, document: DocId) -> Result<Standing, Error> {
        let (block, slot) = (document.block(), document.slot());
        let known = self.standings_held().blocks.get(&block).map(|found| found.of(slot));
        let found = match known {
            Some(found) => found,
            None => {
                let mut held =
                    self.stored_standings.write().unwrap_or_else(PoisonError::into_inner);
                held.read(&self.view, block)?.of(slot)
            }
        };
        let missing =
            StoreError::Missing { what: "standing", family: "postings", key: document.to_string() };
        Ok(found.ok_or(missing)?)
    }

    fn standings_held(&self) -> RwLockReadGuard<'_, StandingCache> {
        self.stored_standings.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Blocks of standings that were read so far.
    pub(super) fn standings_read(&self) -> u64 {
        self.standings_held().read
    }

    /// Whether links may lead to a document by now: it is eligible as the commit has it, or else as the store does.
    /// Documents that are to be decided meet each other; counted here, they would crowd the decided ones out.
    pub(super) fn is_met(&self, document: DocId) -> bool {
        match self.standings.get(&document) {
            Some(change) => change.now.is_some_and(Standing::is_eligible),
            // An error counts as yes: it shows when the document is examined.
            None => self.is_eligible(document).unwrap_or(true),
        }
    }

    pub(super) fn is_eligible(&self, document: DocId) -> Result<bool, Error> {
        Ok(self.standing(document)?.is_none_or(Standing::is_eligible))
    }

    /// None says that the document is eligible and to be decided.
    pub(super) fn set_standing(
        &mut self,
        document: DocId,
        now: Option<Standing>,
    ) -> Result<(), Error> {
        if let Some(change) = self.standings.get_mut(&document) {
            change.now = now;
            return Ok(());
        }
        let before = if self.is_new(document) { None } else { self.standing(document)? };
        self.standings.insert(document, OverlayChange { before, now });
        Ok(())
    }

    pub(super) fn match_of(&self, document: DocId) -> Result<Option<Match>, Error> {
        match self.matches.get(&document) {
            Some(change) => Ok(change.now),
            None if self.is_new(document) => Ok(None),
            None => Ok(self.view.match_of(document)?),
        }
    }

    pub(super) fn set_match(&mut self, document: DocId, now: Option<Match>) -> Result<(), Error> {
        let was = self.match_of(document)?;
        let in_cluster = |found: &Match| found.is_duplicate();
        if let Some(old) = was.filter(in_cluster) {
            self.members.entry(old.witness).or_default().insert(document, false);
        }
        if let Some(new) = now.filter(in_cluster) {
            self.members.entry(new.witness).or_default().insert(document, true);
        }
        self.matches.entry(document).or_insert(OverlayChange { before: was, now: None }).now = now;
        Ok(())
    }

    /// The documents that name `witness`, ascending.
    pub(super) fn members(&self, witness: DocId) -> Result<BTreeSet<DocId>, Error> {
        let mut found: BTreeSet<DocId> = if self.is_new(witness) {
            BTreeSet::new()
        } else {
            match self.clusters.get(&witness) {
                Some(members) => members.iter().copied().collect(),
                None => self.view.members(witness)?.into_iter().collect(),
            }
        };
        for (document, joined) in self.members.get(&witness).into_iter().flatten() {
            if *joined {
                found.insert(*document)
            } else {
                found.remove(document)
            };
        }
        Ok(found)
    }

    // ---- texts ----

    /// The hash under which documents of equal text meet.
    pub(super) fn text_hash(
        &self,
        kind: TextKind,
        document: DocId,
    ) -> Result<[u8; 16], StoreError> {
        let hash = kind.hash_of(&self.print(document)?);
        Ok(self.scoped(self.scope_of(document)?, hash))
    }

    /// The source of a document, where only documents of one source meet; else one source stands for all.
    pub(super) fn scope_of(&self, document: DocId) -> Result<SourceId, StoreError> {
        match self.view.policy().scope {
            DedupScope::Global => Ok(SourceId(0)),
            DedupScope::PerSource => Ok(self.place(document)?.source),
        }
    }

    /// Whether two documents are of one source, and of one normalised text.
    pub(super) fn have_equal_tokens(&self, one: DocId, other: DocId) -> Result<bool, StoreError> {
        Ok(self.print(one)?.normalised == self.print(other)?.normalised
            && self.place(one)?.source == self.place(other)?.source)
    }

    /// In scope per source only documents of one source meet.
    pub(super) fn scoped(&self, source: SourceId, hash: [u8; 16]) -> [u8; 16] {
        self.view.policy().text_key(source, hash)
    }

    /// Reads many exact rows at once, those that were not read before.
    pub(super) fn remember_exact(
        &mut self,
        kind: TextKind,
        hashes: impl Iterator<Item = [u8; 16]>,
    ) -> Result<(), Error> {
        let unread: Vec<_> =
            hashes.filter(|hash| !self.stored_exact.contains_key(&(kind, *hash))).collect();
        let found = self.view.exacts(kind, &unread)?;
        self.stored_exact.extend(unread.into_iter().map(|hash| (kind, hash)).zip(found));
        Ok(())
    }

    pub(super) fn exact(&self, kind: TextKind, hash: [u8; 16]) -> Result<Option<DocId>, Error> {
        match self.exact.get(&(kind, hash)).or_else(|| self.stored_exact.get(&(kind, hash))) {
            Some(found) => Ok(*found),
            None => Ok(self.view.exact(kind, hash)?),
        }
    }

    // ---- rows, read once ----

    fn remembered(&self) -> MutexGuard<'_, DecisionRowCache> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn place(&self, document: DocId) -> Result<DocumentPlace, StoreError> {
        if let Some(newcomer) = self.newcomers.get(&document) {
            return Ok(newcomer.header.place);
        }
        if let Some(found) = self.remembered().places.known(document) {
            return Ok(found);
        }
        let found = self.view.place(document)?;
        self.remembered().places.remember(document, &found);
        Ok(found)
    }

    pub(super) fn print(&self, document: DocId) -> Result<DocumentPrint, StoreError> {
        if let Some(newcomer) = self.newcomers.get(&document) {
            return Ok(newcomer.header.print);
        }
        if let Some(found) = self.remembered().prints.known(document) {
            return Ok(found);
        }
        let found = stored_print(&self.view, document)?;
        self.remembered().prints.remember(document, &found);
        Ok(found)
    }

    /// The key that the user gave a document, if any. It is not remembered: only messages ask for it.
    pub(super) fn key(&self, document: DocId) -> Result<Option<String>, StoreError> {
        match self.newcomers.get(&document) {
            Some(newcomer) => Ok(newcomer.header.key.clone()),
            None => self.view.key(document),
        }
    }

    /// The source of this commit that the view does not know yet.
    pub(super) fn name_source(&mut self, source: SourceId, name: &str) {
        self.ranker.name_source(source, name);
    }

    pub(super) fn rank(&self, document: DocId) -> Result<Rank, Error> {
        if self.ranker.is_first() {
            return Ok(Rank::first(document));
        }
        if let Some(newcomer) = self.newcomers.get(&document) {
            return Ok(self.ranker.rank(document, &newcomer.header, newcomer.number));
        }
        if let Some(found) = self.remembered().ranks.known(document) {
            return Ok(found);
        }
        let (raw, number) = (self.print(document)?.raw, self.number(document)?);
        let rank = self.ranker.rank_stored(&self.view, document, &raw, number)?;
        self.remembered().ranks.remember(document, &rank);
        Ok(rank)
    }

    /// The number of a stored document that the keep order looks at. Blocks are read outside of the lock.
    fn number(&self, document: DocId) -> Result<Option<i64>, Error> {
        let Some(field) = self.order_field else { return Ok(None) };
        if let Some(number) = self.numbers.get(&document) {
            return Ok(*number);
        }
        if let Some(found) = self.remembered().numbers.known(document) {
            return Ok(found);
        }
        let block = self.view.column_block(system_fields::column_of(field), document.block())?;
        let found = block.get(document.slot());
        self.remembered().numbers.remember(document.block(), block);
        Ok(found)
    }

    /// The document's sketch, its owner's when it borrows one; none when too short for one.
    pub(super) fn sketch(&self, document: DocId) -> Result<Option<Sketch>, Error> {
        if let Some(newcomer) = self.newcomers.get(&document) {
            return Ok(newcomer.sketch.clone());
        }
        if let Some(found) = self.remembered().sketches.known(document) {
            return Ok(found);
        }
        let found = stored_sketch(&self.view, document)?;
        self.remembered().sketches.remember(document, &found);
        Ok(found)
    }

    pub(super) fn shingles(
        &self,
        document: DocId,
        craft: &mut Fingerprinter,
    ) -> Result<Arc<[u64]>, Error> {
        if let Some(Newcomer { shingles: Some(shingles), .. }) = self.newcomers.get(&document) {
            return Ok(Arc::clone(shingles));
        }
        if let Some(found) = self.remembered().shingles(document) {
            return Ok(found);
        }
        let found: Arc<[u64]> = craft.shingles(&self.view.compared_text(document)?).into();
        self.remembered().remember_shingles(document, &found);
        Ok(found)
    }

    // ---- buckets ----

    /// The bucket keys of a document.
    pub(super) fn band_keys(&self, document: DocId, sketch: &Sketch) -> Result<Vec<u64>, Error> {
        Ok(band_keys(sketch, self.view.policy(), self.scope_of(document)?))
    }

    /// Kept documents that joined the bucket in this commit, in rank order.
    pub(super) fn local(&self, bucket: BucketKey) -> &[DocId] {
        match self.local.get(&bucket) {
            None => &[],
            Some(only) => {
                self.local_more.get(&bucket).map_or(std::slice::from_ref(only), Vec::as_slice)
            }
        }
    }

    /// Reserves room for the buckets of `documents` documents, so that later ones move nothing.
    pub(super) fn reserve_buckets(&mut self, documents: usize) {
        let bands = usize::try_from(self.view.policy().bands).unwrap_or(0);
        self.local.reserve(documents.saturating_mul(bands));
    }

    /// Adds the document to its buckets, and to the members that joined where `is_met` lets the bucket pass.
    pub(super) fn index(
        &mut self,
        document: DocId,
        bands: Vec<u64>,
        is_met: impl Fn(BucketKey) -> bool,
    ) {
        if self.indexed.contains_key(&document) {
            return;
        }
        for key in bucket_keys(&bands) {
            if !is_met(key) {
                continue;
            }
            let first = *self.local.entry(key).or_insert(document);
            if first != document {
                self.local_more.entry(key).or_insert_with(|| vec![first]).push(document);
            }
        }
        self.indexed.insert(document, bands);
    }
}

/// Bounded; a part that is full is forgotten whole.
#[derive(Default)]
pub(super) struct DecisionRowCache {
    places: RememberedParts<DocumentPlace>,
    prints: RememberedParts<DocumentPrint>,
    ranks: RememberedParts<Rank>,
    sketches: RememberedParts<Option<Sketch>>,
    shingles: HashMap<DocId, Arc<[u64]>>,
    held: usize,
    numbers: RankNumbers,
}

/// One part of the rows of documents.
struct RememberedParts<T>(HashMap<DocId, T>);

impl<T> Default for RememberedParts<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Clone> RememberedParts<T> {
    /// Documents whose parts are held: 16 MB of sketches, 5 MB of anything else.
    const ROWS: usize = 1 << 16;

    fn known(&self, document: DocId) -> Option<T> {
        self.0.get(&document).cloned()
    }

    fn remember(&mut self, document: DocId, part: &T) {
        if self.0.len() >= Self::ROWS {
            self.0.clear();
        }
        self.0.insert(document, part.clone());
    }
}

impl DecisionRowCache {
    /// Shingles held: 32 MB.
    const SHINGLES: usize = 4 << 20;

    pub(super) fn shingles(&self, document: DocId) -> Option<Arc<[u64]>> {
        self.shingles.get(&document).map(Arc::clone)
    }

    pub(super) fn remember_shingles(&mut self, document: DocId, shingles: &Arc<[u64]>) {
        if self.held + shingles.len() > Self::SHINGLES {
            self.shingles.clear();
            self.held = 0;
        }
        if shingles.len() <= Self::SHINGLES {
            self.held += shingles.len();
            self.shingles.insert(document, Arc::clone(shingles));
        }
    }
}

/// Standings of stored documents, by blocks. Bounded; when it is full, all are forgotten.
#[derive(Default)]
struct StandingCache {
    blocks: HashMap<u64, BlockStandings>,
    /// Blocks that were read.
    read: u64,
}

impl StandingCache {
    /// Blocks held: at most 29 MB.
    const MOST: usize = 512;

    /// The standings of a block, which another thread may have read meanwhile.
    fn read(&mut self, view: &View, block: u64) -> Result<&BlockStandings, StoreError> {
        if self.blocks.len() >= Self::MOST && !self.blocks.contains_key(&block) {
            self.blocks.clear();
        }
        match self.blocks.entry(block) {
            Entry::Occupied(held) => Ok(held.into_mut()),
            Entry::Vacant(slot) => {
                self.read += 1;
                Ok(slot.insert(view.block_standings(block)?))
            }
        }
    }
}
