//! The store as it will be after the decisions made so far in this commit: overlay over a view.

use super::error::DecideError;
use crate::dedup::{Fingerprinter, Sketch};
use crate::model::{BucketMap, DocId, Match, MatchKind, Standing};
use crate::store::{Header, StoreError, View};
use roaring::RoaringTreemap;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Which of the two texts of a document an exact row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum TextForm {
    Raw = 0,
    Normalised = 1,
}

impl TextForm {
    pub(super) fn hash(self, header: &Header) -> [u8; 16] {
        match self {
            Self::Raw => header.raw,
            Self::Normalised => header.normalised,
        }
    }
}

/// A document that came with this commit.
pub(super) struct Newcomer {
    pub(super) header: Header,
    pub(super) sketch: Option<Sketch>,
    pub(super) shingles: Arc<[u64]>,
}

/// What a change is measured against, and what it came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Change<T> {
    pub(super) before: T,
    pub(super) now: T,
}

/// Rows of stored documents that were read for a decision: a cascade asks for the same ones again
/// and again. Bounded; forgotten whole when full.
#[derive(Default)]
struct Remembered {
    headers: HashMap<DocId, Header>,
    sketches: HashMap<DocId, Option<Sketch>>,
    shingles: HashMap<DocId, Arc<[u64]>>,
    held: usize,
}

impl Remembered {
    /// Documents whose headers or sketches are held: some 16 MB of each.
    const ROWS: usize = 1 << 16;
    /// Shingles held: 32 MB.
    const SHINGLES: usize = 4 << 20;

    fn remember_header(&mut self, document: DocId, header: &Header) {
        if self.headers.len() >= Self::ROWS {
            self.headers.clear();
        }
        self.headers.insert(document, header.clone());
    }

    fn remember_sketch(&mut self, document: DocId, sketch: &Option<Sketch>) {
        if self.sketches.len() >= Self::ROWS {
            self.sketches.clear();
        }
        self.sketches.insert(document, sketch.clone());
    }

    fn remember_shingles(&mut self, document: DocId, shingles: &Arc<[u64]>) {
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

pub(super) struct Scene {
    pub(super) view: View,
    kept: Arc<RoaringTreemap>,
    first_new: DocId,
    pub(super) newcomers: HashMap<DocId, Newcomer>,
    pub(super) standings: BTreeMap<DocId, Change<Option<Standing>>>,
    pub(super) matches: BTreeMap<DocId, Change<Option<Match>>>,
    members: HashMap<DocId, BTreeMap<DocId, bool>>,
    pub(super) exact: BTreeMap<(TextForm, [u8; 16]), Option<DocId>>,
    /// Buckets of documents that were kept for the first time in this commit: most have one member.
    local: BucketMap<DocId>,
    /// All members, ascending, of those with more.
    local_more: BucketMap<Vec<DocId>>,
    pub(super) indexed: BTreeMap<DocId, Vec<u64>>,
    /// Whether a document stored before this commit changed its standing.
    pub(super) unsettled: bool,
    remembered: Mutex<Remembered>,
}

impl Scene {
    pub(super) fn new(view: View, kept: Arc<RoaringTreemap>) -> Self {
        let first_new = DocId(view.documents());
        Self {
            view,
            kept,
            first_new,
            newcomers: HashMap::new(),
            standings: BTreeMap::new(),
            matches: BTreeMap::new(),
            members: HashMap::new(),
            exact: BTreeMap::new(),
            local: BucketMap::default(),
            local_more: BucketMap::default(),
            indexed: BTreeMap::new(),
            unsettled: false,
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

    pub(super) fn standing(&self, document: DocId) -> Result<Standing, DecideError> {
        match self.standings.get(&document).and_then(|change| change.now) {
            Some(now) => Ok(now),
            None if self.kept.contains(document.0) => Ok(Standing::Kept),
            None => Ok(self.view.standing(document)?),
        }
    }

    pub(super) fn set_standing(
        &mut self,
        document: DocId,
        now: Standing,
    ) -> Result<(), DecideError> {
        let before = if self.is_new(document) { None } else { Some(self.standing(document)?) };
        self.unsettled |= before.is_some_and(|before| before != now);
        let change = self.standings.entry(document).or_insert(Change { before, now: None });
        change.now = Some(now);
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
            self.view.members(witness)?.into_iter().collect()
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

    pub(super) fn exact(
        &self,
        form: TextForm,
        hash: [u8; 16],
    ) -> Result<Option<DocId>, DecideError> {
        match self.exact.get(&(form, hash)) {
            Some(found) => Ok(*found),
            None => Ok(self.view.exact(form as u8, hash)?),
        }
    }

    pub(super) fn header(&self, document: DocId) -> Result<Header, StoreError> {
        if let Some(newcomer) = self.newcomers.get(&document) {
            return Ok(newcomer.header.clone());
        }
        if let Some(found) = self.remembered().headers.get(&document) {
            return Ok(found.clone());
        }
        let found = self.view.expect_header(document)?;
        self.remembered().remember_header(document, &found);
        Ok(found)
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The document's sketch, its owner's when it borrows one; none when too short for one.
    pub(super) fn sketch(&self, document: DocId) -> Result<Option<Sketch>, DecideError> {
        if let Some(newcomer) = self.newcomers.get(&document) {
            return Ok(newcomer.sketch.clone());
        }
        if let Some(found) = self.remembered().sketches.get(&document) {
            return Ok(found.clone());
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
        if let Some(newcomer) = self.newcomers.get(&document) {
            return Ok(Arc::clone(&newcomer.shingles));
        }
        if let Some(found) = self.remembered().shingles.get(&document) {
            return Ok(Arc::clone(found));
        }
        let found: Arc<[u64]> = craft.shingles(&self.view.text(document)?).into();
        self.remembered().remember_shingles(document, &found);
        Ok(found)
    }

    /// Members that joined the bucket in this commit, ascending.
    pub(super) fn local(&self, band: u8, hash: u64) -> &[DocId] {
        match self.local.get(&(band, hash)) {
            None => &[],
            Some(only) => {
                self.local_more.get(&(band, hash)).map_or(std::slice::from_ref(only), Vec::as_slice)
            }
        }
    }

    /// Notes that the document belongs into its buckets from now on.
    pub(super) fn index(&mut self, document: DocId, bands: Vec<u64>) {
        for key in (0..=u8::MAX).zip(bands.iter().copied()) {
            let first = *self.local.entry(key).or_insert(document);
            if first == document {
                continue;
            }
            let bucket = self.local_more.entry(key).or_insert_with(|| vec![first]);
            if let Err(at) = bucket.binary_search(&document) {
                bucket.insert(at, document);
            }
        }
        self.indexed.insert(document, bands);
    }
}

/// The sketch of a stored document, its owner's when it borrows one.
pub(super) fn stored_sketch(view: &View, document: DocId) -> Result<Option<Sketch>, DecideError> {
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
