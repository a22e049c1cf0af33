//! The store as it will be after the decisions made so far in this commit: overlay over a view.

use super::error::DecideError;
use super::rank::{Rank, Ranker};
use super::remembered::Remembered;
use crate::dedup::{Fingerprinter, Sketch, band_keys};
use crate::model::{BucketMap, DocId, FieldId, Match, MatchKind, Scope, SourceId, Standing};
use crate::store::{Header, StoreError, TextKind, View, fields};
use roaring::RoaringTreemap;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A document that this commit decides about for the first time.
pub(super) struct Newcomer {
    pub(super) header: Header,
    pub(super) sketch: Option<Sketch>,
    /// None when the text is stored already: then they are made from it when asked for.
    pub(super) shingles: Option<Arc<[u64]>>,
    /// Its number in the field that ranks documents.
    pub(super) number: Option<i64>,
}

/// What a change is measured against, and what it came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Change<T> {
    pub(super) before: T,
    pub(super) now: T,
}

pub(super) struct Scene {
    pub(super) view: View,
    pub(super) ranker: Ranker,
    kept: Arc<RoaringTreemap>,
    first_new: DocId,
    pub(super) newcomers: HashMap<DocId, Newcomer>,
    /// `now` is none for an eligible document that is still to be decided.
    pub(super) standings: BTreeMap<DocId, Change<Option<Standing>>>,
    pub(super) matches: BTreeMap<DocId, Change<Option<Match>>>,
    members: HashMap<DocId, BTreeMap<DocId, bool>>,
    /// Clusters as they are stored, of those that were read before.
    pub(super) clusters: HashMap<DocId, Vec<DocId>>,
    /// Exact rows that this commit changes, and rows as they are stored.
    pub(super) exact: BTreeMap<(TextKind, [u8; 16]), Option<DocId>>,
    stored_exact: HashMap<(TextKind, [u8; 16]), Option<DocId>>,
    /// Buckets that documents joined in this commit, and are met in: most have one such member.
    local: BucketMap<DocId>,
    /// All members, in the order they joined, of those with more.
    local_more: BucketMap<Vec<DocId>>,
    pub(super) indexed: BTreeMap<DocId, Vec<u64>>,
    remembered: Mutex<Remembered>,
}

impl Scene {
    /// `kept` are the documents that `view` has as kept, `first_new` the first that it has not decided.
    pub(super) fn new(view: View, kept: Arc<RoaringTreemap>, first_new: DocId) -> Self {
        Self {
            ranker: Ranker::new(&view),
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
            remembered: Mutex::default(),
        }
    }

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
        self.standings.insert(document, Change { before, now });
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
        self.matches.entry(document).or_insert(Change { before: was, now: None }).now = now;
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
    pub(super) fn text_hash(&self, kind: TextKind, header: &Header) -> [u8; 16] {
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

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn header(&self, document: DocId) -> Result<Header, StoreError> {
        if let Some(newcomer) = self.newcomers.get(&document) {
            return Ok(newcomer.header.clone());
        }
        if let Some(found) = self.remembered().header(document) {
            return Ok(found);
        }
        let found = self.view.expect_header(document)?;
        self.remembered().remember_header(document, &found);
        Ok(found)
    }

    pub(super) fn rank(&self, document: DocId) -> Result<Rank, DecideError> {
        if self.ranker.is_first() {
            return Ok(Rank::first(document));
        }
        if let Some(newcomer) = self.newcomers.get(&document) {
            return Ok(self.ranker.rank(document, &newcomer.header, newcomer.number));
        }
        let number = match self.ranker.field() {
            Some(field) => self.number(field, document)?,
            None => None,
        };
        Ok(self.ranker.rank(document, &self.header(document)?, number))
    }

    fn number(&self, field: FieldId, document: DocId) -> Result<Option<i64>, DecideError> {
        if let Some(found) = self.remembered().number(document) {
            return Ok(found);
        }
        let block = self.view.column_block(fields::column_of(field), document.block())?;
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

/// The sketch of a stored document, its owner's when it borrows one; none when too short for one.
///
/// # Errors
/// [`DecideError`] when it cannot be read or is none under the view's policy.
pub fn stored_sketch(view: &View, document: DocId) -> Result<Option<Sketch>, DecideError> {
    // Most documents own their sketch: ask for it before asking who does.
    let found = match view.sketch_of_owner(document)? {
        Some(found) => Some(found),
        None => match view.expect_header(document)?.text_of {
            Some(owner) => view.sketch_of_owner(owner)?,
            None => None,
        },
    };
    match found {
        None => Ok(None),
        Some(bytes) => match Sketch::from_bytes(&bytes, view.policy()) {
            Some(sketch) => Ok(Some(sketch)),
            None => Err(DecideError::Sketch { document: document.0, bytes: bytes.len() }),
        },
    }
}
