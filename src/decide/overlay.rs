//! The store as it will be after the decisions made so far in this commit: overlay over a view, with the rows that were
//! read, the eligible documents and the ranks by which it is asked.

use super::decision::Newcomer;
use super::error::DecideError;
use super::fingerprints::{stored_header, stored_sketch};
use crate::dedup::{Fingerprinter, Rank, Ranker, Sketch, band_keys};
use crate::model::{
    BucketMap, DocId, FieldId, Match, MatchKind, Scope, SourceId, Standing, TermId,
};
use crate::store::{
    BlockStandings, DocumentRecord, NumberBlock, SourceRecord, StoreError, TextKind, View,
    system_fields,
};
use roaring::{RoaringBitmap, RoaringTreemap};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// What a change is measured against, and what it came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OverlayChange<T> {
    pub(super) before: T,
    pub(super) now: T,
}

pub(super) struct Overlay {
    pub(super) view: View,
    pub(super) ranker: Ranker,
    /// The field whose number the keep order looks at.
    order_field: Option<FieldId>,
    /// Places of the sources in the keep order, by source id.
    source_places: Vec<u64>,
    kept: Arc<RoaringTreemap>,
    first_new: DocId,
    newcomers: HashMap<DocId, Newcomer>,
    /// `now` is none for an eligible document that is still to be decided.
    standings: BTreeMap<DocId, OverlayChange<Option<Standing>>>,
    matches: BTreeMap<DocId, OverlayChange<Option<Match>>>,
    members: HashMap<DocId, BTreeMap<DocId, bool>>,
    /// Clusters as they are stored, of those that were read before.
    clusters: HashMap<DocId, Vec<DocId>>,
    /// Exact rows that this commit changes, and rows as they are stored.
    exact: BTreeMap<(TextKind, [u8; 16]), Option<DocId>>,
    stored_exact: HashMap<(TextKind, [u8; 16]), Option<DocId>>,
    /// Buckets that documents joined in this commit, and are met in: most have one such member.
    local: BucketMap<DocId>,
    /// All members, in the order they joined, of those with more.
    local_more: BucketMap<Vec<DocId>>,
    indexed: BTreeMap<DocId, Vec<u64>>,
    /// Numbers of stored documents that this commit changes.
    numbers: HashMap<DocId, Option<i64>>,
    remembered: Mutex<DecisionRowCache>,
}

impl Overlay {
    /// `kept` are the documents that `view` has as kept, `first_new` the first that it has not decided.
    pub(super) fn new(view: View, kept: Arc<RoaringTreemap>, first_new: DocId) -> Self {
        let keep = &view.policy().keep;
        let ranker = Ranker::new(keep);
        let order_field = view.order_field();
        let place = |source: &SourceRecord| ranker.place_of_source(&source.name);
        let source_places = view.sources().map(|(_, record)| place(record)).collect();
        Self {
            ranker,
            order_field,
            source_places,
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
        }
    }

    // ---- what this commit changes ----

    /// Those of newcomers go: nothing is compared with them any more.
    pub(super) fn release_shingles(&mut self) {
        self.newcomers.values_mut().for_each(|newcomer| newcomer.shingles = None);
    }

    /// A stored document has another number in the field that ranks documents.
    pub(super) fn set_number(&mut self, document: DocId, number: Option<i64>) {
        self.numbers.insert(document, number);
    }

    /// A document that this commit decides for the first time is there from now on.
    pub(super) fn admit(&mut self, document: DocId, newcomer: Newcomer) {
        self.newcomers.insert(document, newcomer);
    }

    /// Clusters as they are stored, which were read already.
    pub(super) fn cache_clusters(&mut self, clusters: HashMap<DocId, Vec<DocId>>) {
        self.clusters = clusters;
    }

    /// Documents whose standing this commit looks at, ascending; who is to be decided has none now.
    pub(super) fn standing_changes(
        &self,
    ) -> impl Iterator<Item = (DocId, OverlayChange<Option<Standing>>)> {
        self.standings.iter().map(|(document, change)| (*document, *change))
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
    pub(super) fn standing(&self, document: DocId) -> Result<Option<Standing>, DecideError> {
        match self.standings.get(&document) {
            Some(change) => Ok(change.now),
            None if self.kept.contains(document.0) => Ok(Some(Standing::Kept)),
            None if self.is_new(document) => Ok(None),
            None => self.stored_standing(document).map(Some),
        }
    }

    /// The standing of a document that this commit has not touched. Bitmaps are read once a commit.
    fn stored_standing(&self, document: DocId) -> Result<Standing, DecideError> {
        let block = document.block();
        let mut remembered = self.remembered();
        let found = remembered.standings(block, || self.view.block_standings(block))?;
        let missing =
            StoreError::Missing { what: "standing", family: "postings", key: document.to_string() };
        Ok(found.of(document.slot()).ok_or(missing)?)
    }

    /// Blocks of standings that were read so far.
    pub(super) fn standings_read(&self) -> u64 {
        self.remembered().standings_read
    }

    pub(super) fn is_eligible(&self, document: DocId) -> Result<bool, DecideError> {
        Ok(self.standing(document)?.is_none_or(Standing::is_eligible))
    }

    /// Kept documents before this commit.
    pub(super) fn stored_kept(&self) -> &RoaringTreemap {
        &self.kept
    }

    /// None says that the document is eligible and to be decided.
    pub(super) fn set_standing(
        &mut self,
        document: DocId,
        now: Option<Standing>,
    ) -> Result<(), DecideError> {
        if let Some(change) = self.standings.get_mut(&document) {
            change.now = now;
            return Ok(());
        }
        let before = if self.is_new(document) { None } else { self.standing(document)? };
        self.standings.insert(document, OverlayChange { before, now });
        Ok(())
    }

    pub(super) fn match_of(&self, document: DocId) -> Result<Option<Match>, DecideError> {
        match self.matches.get(&document) {
            Some(change) => Ok(change.now),
            None if self.is_new(document) => Ok(None),
            None => Ok(self.view.match_of(document)?),
        }
    }

    pub(super) fn set_match(
        &mut self,
        document: DocId,
        now: Option<Match>,
    ) -> Result<(), DecideError> {
        let was = self.match_of(document)?;
        let in_cluster = |found: &Match| found.kind != MatchKind::Superseded;
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
    pub(super) fn members(&self, witness: DocId) -> Result<BTreeSet<DocId>, DecideError> {
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
    pub(super) fn text_hash(&self, kind: TextKind, header: &DocumentRecord) -> [u8; 16] {
        match kind {
            TextKind::Raw => self.scoped(header.source, header.raw),
            TextKind::Normalised => self.scoped(header.source, header.normalised),
        }
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
    ) -> Result<(), DecideError> {
        let unread: Vec<_> =
            hashes.filter(|hash| !self.stored_exact.contains_key(&(kind, *hash))).collect();
        let found = self.view.exacts(kind, &unread)?;
        self.stored_exact.extend(unread.into_iter().map(|hash| (kind, hash)).zip(found));
        Ok(())
    }

    pub(super) fn exact(
        &self,
        kind: TextKind,
        hash: [u8; 16],
    ) -> Result<Option<DocId>, DecideError> {
        match self.exact.get(&(kind, hash)).or_else(|| self.stored_exact.get(&(kind, hash))) {
            Some(found) => Ok(*found),
            None => Ok(self.view.exact(kind, hash)?),
        }
    }

    // ---- rows, read once ----

    fn remembered(&self) -> MutexGuard<'_, DecisionRowCache> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn header(&self, document: DocId) -> Result<DocumentRecord, StoreError> {
        if let Some(newcomer) = self.newcomers.get(&document) {
            return Ok(newcomer.header.clone());
        }
        if let Some(found) = self.remembered().header(document) {
            return Ok(found);
        }
        let found = stored_header(&self.view, document)?;
        self.remembered().remember_header(document, &found);
        Ok(found)
    }

    /// The source of this commit that the view does not know yet.
    pub(super) fn name_source(&mut self, source: SourceId, name: &str) {
        let at = source.0 as usize;
        if self.source_places.len() <= at {
            self.source_places.resize(at + 1, self.ranker.place_of_others());
        }
        if let Some(place) = self.source_places.get_mut(at) {
            *place = self.ranker.place_of_source(name);
        }
    }

    pub(super) fn rank(&self, document: DocId) -> Result<Rank, DecideError> {
        if self.ranker.is_first() {
            return Ok(Rank::first(document));
        }
        if let Some(newcomer) = self.newcomers.get(&document) {
            return Ok(self.rank_of(document, &newcomer.header, newcomer.number));
        }
        let number = match self.order_field {
            Some(field) => self.number(field, document)?,
            None => None,
        };
        Ok(self.rank_of(document, &self.header(document)?, number))
    }

    fn rank_of(&self, document: DocId, header: &DocumentRecord, number: Option<i64>) -> Rank {
        let place = self.source_places.get(header.source.0 as usize).copied();
        let place = place.unwrap_or_else(|| self.ranker.place_of_others());
        self.ranker.rank(document, &header.raw, header.chars, place, number)
    }

    fn number(&self, field: FieldId, document: DocId) -> Result<Option<i64>, DecideError> {
        if let Some(number) = self.numbers.get(&document) {
            return Ok(*number);
        }
        if let Some(found) = self.remembered().number(document) {
            return Ok(found);
        }
        let block = self.view.column_block(system_fields::column_of(field), document.block())?;
        let found = block.get(document.slot());
        self.remembered().remember_numbers(document.block(), block);
        Ok(found)
    }

    /// The document's sketch, its owner's when it borrows one; none when too short for one.
    pub(super) fn sketch(&self, document: DocId) -> Result<Option<Sketch>, DecideError> {
        if let Some(newcomer) = self.newcomers.get(&document) {
            return Ok(newcomer.sketch.clone());
        }
        if let Some(found) = self.remembered().sketch(document) {
            return Ok(found);
        }
        let found = stored_sketch(&self.view, document)?;
        self.remembered().remember_sketch(document, &found);
        Ok(found)
    }

    pub(super) fn shingles(
        &self,
        document: DocId,
        craft: &mut Fingerprinter,
    ) -> Result<Arc<[u64]>, DecideError> {
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
    pub(super) fn band_keys(
        &self,
        document: DocId,
        sketch: &Sketch,
    ) -> Result<Vec<u64>, DecideError> {
        let policy = self.view.policy();
        let source = match policy.scope {
            Scope::Global => SourceId(0),
            Scope::PerSource => self.header(document)?.source,
        };
        Ok(band_keys(sketch, policy, source))
    }

    /// Kept documents that joined the bucket in this commit, in rank order.
    pub(super) fn local(&self, band: u8, hash: u64) -> &[DocId] {
        match self.local.get(&(band, hash)) {
            None => &[],
            Some(only) => {
                self.local_more.get(&(band, hash)).map_or(std::slice::from_ref(only), Vec::as_slice)
            }
        }
    }

    /// Makes room for the buckets of so many documents, so that they need not be moved while there come more.
    pub(super) fn reserve_buckets(&mut self, documents: usize) {
        let bands = usize::try_from(self.view.policy().bands).unwrap_or(0);
        self.local.reserve(documents.saturating_mul(bands));
    }

    /// Notes that the document belongs into its buckets from now on, and that it is among the members that
    /// joined those of them that `is_met` lets pass.
    pub(super) fn index(
        &mut self,
        document: DocId,
        bands: Vec<u64>,
        is_met: impl Fn(u8, u64) -> bool,
    ) {
        if self.indexed.contains_key(&document) {
            return;
        }
        for key in (0..=u8::MAX).zip(bands.iter().copied()) {
            if !is_met(key.0, key.1) {
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
    headers: HashMap<DocId, DocumentRecord>,
    sketches: HashMap<DocId, Option<Sketch>>,
    shingles: HashMap<DocId, Arc<[u64]>>,
    held: usize,
    numbers: HashMap<u64, NumberBlock>,
    standings: HashMap<u64, BlockStandings>,
    /// Blocks of standings that were read.
    pub(super) standings_read: u64,
}

impl DecisionRowCache {
    /// Documents whose headers or sketches are held: some 16 MB of each.
    const ROWS: usize = 1 << 16;
    /// Shingles held: 32 MB.
    const SHINGLES: usize = 4 << 20;
    /// Blocks of one column held: half a megabyte each.
    const BLOCKS: usize = 32;

    /// Blocks of standings held: at most 29 MB.
    const STANDINGS: usize = 512;

    pub(super) fn header(&self, document: DocId) -> Option<DocumentRecord> {
        self.headers.get(&document).cloned()
    }

    pub(super) fn remember_header(&mut self, document: DocId, header: &DocumentRecord) {
        if self.headers.len() >= Self::ROWS {
            self.headers.clear();
        }
        self.headers.insert(document, header.clone());
    }

    pub(super) fn sketch(&self, document: DocId) -> Option<Option<Sketch>> {
        self.sketches.get(&document).cloned()
    }

    pub(super) fn remember_sketch(&mut self, document: DocId, sketch: &Option<Sketch>) {
        if self.sketches.len() >= Self::ROWS {
            self.sketches.clear();
        }
        self.sketches.insert(document, sketch.clone());
    }

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

    pub(super) fn number(&self, document: DocId) -> Option<Option<i64>> {
        self.numbers.get(&document.block()).map(|block| block.get(document.slot()))
    }

    pub(super) fn remember_numbers(&mut self, block: u64, numbers: NumberBlock) {
        if self.numbers.len() >= Self::BLOCKS {
            self.numbers.clear();
        }
        self.numbers.insert(block, numbers);
    }

    /// The standings of a block, which `read` gives when they are not held.
    pub(super) fn standings<E>(
        &mut self,
        block: u64,
        read: impl FnOnce() -> Result<BlockStandings, E>,
    ) -> Result<&BlockStandings, E> {
        if self.standings.len() >= Self::STANDINGS && !self.standings.contains_key(&block) {
            self.standings.clear();
        }
        match self.standings.entry(block) {
            Entry::Occupied(held) => Ok(held.into_mut()),
            Entry::Vacant(slot) => {
                self.standings_read += 1;
                Ok(slot.insert(read()?))
            }
        }
    }
}

/// Answers from any thread; an error is kept until the end.
pub(super) struct Eligible<'s> {
    scene: &'s Overlay,
    /// Terms of the standings `exact` and `near`; kept documents are known.
    terms: Vec<TermId>,
    blocks: RwLock<HashMap<u64, Arc<RoaringBitmap>>>,
    failed: Mutex<Option<StoreError>>,
}

impl<'s> Eligible<'s> {
    pub(super) fn new(scene: &'s Overlay) -> Result<Self, DecideError> {
        let mut terms = Vec::new();
        for standing in [Standing::Exact, Standing::Near] {
            let value = system_fields::standing_value(scene.view.generation(), standing);
            terms.extend(scene.view.term(system_fields::STANDING, &value)?);
        }
        let (blocks, failed) = (RwLock::default(), Mutex::default());
        Ok(Self { scene, terms, blocks, failed })
    }

    /// Whether links may lead to the document by now: it is eligible as the commit has it, or else as the store does.
    /// Those that are to be decided meet each other; counted here, they would crowd the decided ones out.
    pub(super) fn is_met(&self, document: DocId) -> bool {
        match self.scene.standings.get(&document) {
            Some(change) => change.now.is_some_and(Standing::is_eligible),
            None => self.contains(document),
        }
    }

    /// Whether the store has the document as kept, exact or near.
    fn contains(&self, document: DocId) -> bool {
        if self.scene.stored_kept().contains(document.0) {
            return true;
        }
        let number = document.block();
        let known = {
            let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
            blocks.get(&number).map(Arc::clone)
        };
        let block = known.or_else(|| self.load(number));
        block.is_some_and(|block| block.contains(document.slot().into()))
    }

    fn load(&self, number: u64) -> Option<Arc<RoaringBitmap>> {
        let mut found = RoaringBitmap::new();
        for term in &self.terms {
            match self.scene.view.posting_block(*term, number) {
                Ok(slots) => found |= slots,
                Err(error) => {
                    *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    return None;
                }
            }
        }
        let found = Arc::new(found);
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        blocks.insert(number, Arc::clone(&found));
        Some(found)
    }

    /// What could not be read meanwhile.
    pub(super) fn end(self) -> Result<(), DecideError> {
        match self.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}

/// The removed members of buckets, each with the rank of its witness: the worst-ranked first.
pub(super) type FollowerCache = BucketMap<Arc<[(Rank, DocId)]>>;
