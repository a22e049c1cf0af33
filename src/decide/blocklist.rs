//! What removals by the user keep out: equal texts, keys, texts equal but for case and punctuation, similar ones.

use super::error::DecideError;
use super::fingerprints::stored_sketch;
use crate::dedup::{Fingerprinter, Overlap, Sketch, block_keys};
use crate::model::{DocId, MatchKind, Policy, Standing, key_identity, text_hash};
use crate::store::{BlockKind, CommitBatch, DocumentRecord, View};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Texts of removed documents whose shingles are remembered.
const REMEMBERED: usize = 256;

/// How far a removal reaches beyond the removed documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockReach {
    /// Not at all: the same may come in again.
    Nothing,
    /// To equal texts, and to new content under the same keys.
    #[default]
    Exact,
    /// Also to texts that are equal when case, spacing and punctuation do not count.
    Normalised,
    /// Also to texts whose similarity reaches the policy's threshold.
    Similar,
}

impl From<bool> for BlockReach {
    fn from(blocks: bool) -> Self {
        if blocks { Self::Exact } else { Self::Nothing }
    }
}

/// What of a document can be blocked.
#[derive(Clone, Debug)]
pub struct BlockKeys {
    /// Its raw text, unless it is empty: all empty texts are alike, and say nothing.
    pub raw: Option<[u8; 16]>,
    /// Its identity, if a key was given.
    pub identity: Option<[u8; 16]>,
    /// Its normalised text, unless there is nothing left of it.
    pub normalised: Option<[u8; 16]>,
    /// Its sketch, when asked for and long enough for one.
    pub sketch: Option<Sketch>,
    /// Rows that it has by the other version of the normaliser, if it is a removed document.
    pub of_other_version: Vec<(BlockKind, [u8; 16])>,
}

impl BlockKeys {
    /// Of a stored document; `with_sketch` when similarity matters.
    ///
    /// # Errors
    /// [`DecideError`] when the sketch cannot be read.
    pub fn of(
        view: &View,
        document: DocId,
        header: &DocumentRecord,
        with_sketch: bool,
    ) -> Result<Self, DecideError> {
        let key = header.key.as_ref();
        let has_words = header.words > 0;
        Ok(Self {
            raw: (header.bytes > 0).then_some(header.raw),
            identity: key.map(|key| key_identity(view.source_name(header.source), key)),
            normalised: has_words.then_some(header.normalised),
            sketch: if with_sketch { stored_sketch(view, document)? } else { None },
            of_other_version: Vec::new(),
        })
    }

    /// Of a stored document that blocks as far as `reach`, or did: with what it is by the other version of the
    /// normaliser, so that what is blocked stays so when the corpus goes over to that. Of a purged document only the
    /// version is known that its corpus had.
    ///
    /// # Errors
    /// [`DecideError`] when its text or sketch cannot be read.
    pub fn of_removed(
        view: &View,
        document: DocId,
        header: &DocumentRecord,
        reach: BlockReach,
    ) -> Result<Self, DecideError> {
        let with_sketch = reach >= BlockReach::Similar;
        let mut keys = Self::of(view, document, header, with_sketch)?;
        let policy = view.policy();
        let Some(normaliser) = policy.normaliser.other_version() else { return Ok(keys) };
        if reach < BlockReach::Normalised || header.bytes == 0 {
            return Ok(keys);
        }
        let mut craft = Fingerprinter::new(&Policy { normaliser, ..policy.clone() });
        let other = craft.fingerprint(&view.compared_text(document)?);
        let normalised = (other.tokens > 0).then_some((BlockKind::Normalised, other.normalised));
        let similar = similar_rows(other.sketch.as_ref().filter(|_| with_sketch));
        keys.of_other_version = normalised.into_iter().chain(similar).collect();
        Ok(keys)
    }

    /// The rows of `blocks` that it can have or meet.
    pub fn keys(&self) -> impl Iterator<Item = (BlockKind, [u8; 16])> {
        let identity = self.identity.map(|hash| (BlockKind::Identity, hash));
        let raw = self.raw.map(|hash| (BlockKind::Text, hash));
        let normalised = self.normalised.map(|hash| (BlockKind::Normalised, hash));
        let texts = identity.into_iter().chain(raw).chain(normalised);
        let similar = similar_rows(self.sketch.as_ref());
        texts.chain(similar).chain(self.of_other_version.iter().copied())
    }
}

/// The rows of what is similar to a text of that sketch.
fn similar_rows(sketch: Option<&Sketch>) -> impl Iterator<Item = (BlockKind, [u8; 16])> + use<> {
    let keys = sketch.map(block_keys).unwrap_or_default();
    keys.into_iter().map(|hash| (BlockKind::Similar, hash))
}

/// The blocks of a moment, as a commit may change them.
pub struct Blocklist<'v> {
    view: &'v View,
    /// Ways in which something is blocked, or is by this commit.
    ways: BTreeSet<BlockKind>,
    changed: BTreeMap<(BlockKind, [u8; 16]), Vec<DocId>>,
    craft: Fingerprinter,
    shingles: HashMap<DocId, Arc<[u64]>>,
}

impl<'v> Blocklist<'v> {
    /// As stored.
    ///
    /// # Errors
    /// [`DecideError`] when the store cannot be read.
    pub fn new(view: &'v View) -> Result<Self, DecideError> {
        let mut ways = BTreeSet::new();
        for what in BlockKind::ALL {
            if view.has_blocks(what)? {
                ways.insert(what);
            }
        }
        let craft = Fingerprinter::new(view.policy());
        Ok(Self { view, ways, changed: BTreeMap::new(), craft, shingles: HashMap::new() })
    }

    /// Whether anything is blocked in this way.
    #[must_use]
    pub fn has(&self, what: BlockKind) -> bool {
        self.ways.contains(&(what))
    }

    /// The furthest reach of any removal.
    #[must_use]
    pub fn reach(&self) -> BlockReach {
        match () {
            () if self.has(BlockKind::Similar) => BlockReach::Similar,
            () if self.has(BlockKind::Normalised) => BlockReach::Normalised,
            () => BlockReach::Exact,
        }
    }

    /// A removed document blocks as far as `reach` says. What it blocks already stays blocked.
    ///
    /// # Errors
    /// [`DecideError`] when the store cannot be read.
    pub fn block(
        &mut self,
        document: DocId,
        of: &BlockKeys,
        reach: BlockReach,
    ) -> Result<(), DecideError> {
        for (what, hash) in self.meant(document, of, reach)? {
            self.change(what, hash, |by| {
                by.insert(document);
            })?;
        }
        Ok(())
    }

    /// Whether a removed document does not block yet as far as `reach` says.
    ///
    /// # Errors
    /// [`DecideError`] when the store cannot be read.
    pub fn lacks(
        &self,
        document: DocId,
        of: &BlockKeys,
        reach: BlockReach,
    ) -> Result<bool, DecideError> {
        for (what, hash) in self.meant(document, of, reach)? {
            if !self.by(what, hash)?.contains(&document) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The rows in which a removed document is to stand.
    fn meant(
        &self,
        document: DocId,
        of: &BlockKeys,
        reach: BlockReach,
    ) -> Result<Vec<(BlockKind, [u8; 16])>, DecideError> {
        if reach == BlockReach::Nothing {
            return Ok(Vec::new());
        }
        // A superseded document gave its key away.
        let matched = self.view.match_of(document)?;
        let gave_key_away = matched.is_some_and(|found| found.kind == MatchKind::Superseded);
        let is_meant = |what: &BlockKind| match what {
            BlockKind::Text => true,
            BlockKind::Identity => !gave_key_away,
            BlockKind::Normalised => reach >= BlockReach::Normalised,
            BlockKind::Similar => reach >= BlockReach::Similar,
        };
        Ok(of.keys().filter(|(what, _)| is_meant(what)).collect())
    }

    /// A removed document blocks nothing any more. Whoever calls decides about those that it kept out.
    ///
    /// # Errors
    /// [`DecideError`] when the store cannot be read.
    pub fn lift(&mut self, document: DocId, of: &BlockKeys) -> Result<(), DecideError> {
        // Earlier releases had empty texts block one another.
        let empty = of.raw.is_none().then(|| (BlockKind::Text, text_hash("")));
        for (what, hash) in of.keys().chain(empty) {
            self.change(what, hash, |by| {
                by.remove(&document);
            })?;
        }
        Ok(())
    }

    /// Whether a removed document blocks anything of this.
    ///
    /// # Errors
    /// [`DecideError`] when the store cannot be read.
    pub fn is_blocking(
        &self,
        document: DocId,
        keys: impl IntoIterator<Item = (BlockKind, [u8; 16])>,
    ) -> Result<bool, DecideError> {
        for (what, hash) in keys {
            if self.by(what, hash)?.contains(&document) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Changes which removed documents block what has this hash.
    fn change(
        &mut self,
        what: BlockKind,
        hash: [u8; 16],
        change: impl FnOnce(&mut BTreeSet<DocId>),
    ) -> Result<(), DecideError> {
        let before = self.by(what, hash)?;
        let mut by: BTreeSet<DocId> = before.iter().copied().collect();
        change(&mut by);
        if by.iter().ne(&before) {
            self.ways.insert(what);
            self.changed.insert((what, hash), by.into_iter().collect());
        }
        Ok(())
    }

    /// The removed documents that block what has this hash, ascending.
    ///
    /// # Errors
    /// [`DecideError`] when the store cannot be read.
    pub fn by(&self, what: BlockKind, hash: [u8; 16]) -> Result<Vec<DocId>, DecideError> {
        if !self.has(what) {
            return Ok(Vec::new());
        }
        match self.changed.get(&(what, hash)) {
            Some(by) => Ok(by.clone()),
            None => Ok(self.view.blockers(what, hash)?),
        }
    }

    /// Whether a removed document other than `own` keeps this one out. `shingles` are those of its text, read when
    /// similarity comes into question.
    ///
    /// # Errors
    /// [`DecideError`] when the store cannot be read.
    pub fn keeps_out(
        &mut self,
        of: &BlockKeys,
        own: Option<DocId>,
        shingles: impl FnOnce(&mut Fingerprinter) -> Result<Arc<[u64]>, DecideError>,
    ) -> Result<bool, DecideError> {
        let mut similar = BTreeSet::new();
        for (what, hash) in of.keys() {
            let others = self.by(what, hash)?.into_iter().filter(|other| Some(*other) != own);
            if what == BlockKind::Similar {
                similar.extend(others);
            } else if others.count() > 0 {
                return Ok(true);
            }
        }
        let Some(sketch) = of.sketch.as_ref().filter(|_| !similar.is_empty()) else {
            return Ok(false);
        };
        let shingles = shingles(&mut self.craft)?;
        for other in similar {
            if self.is_similar((sketch, &shingles), other)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the text with this sketch and these shingles is similar to a removed document under the policy. Of a
    /// purged one there is nothing but its sketch: then the estimate decides.
    ///
    /// # Errors
    /// [`DecideError`] when the store cannot be read.
    pub fn is_similar(
        &mut self,
        (sketch, shingles): (&Sketch, &[u64]),
        other: DocId,
    ) -> Result<bool, DecideError> {
        let threshold = self.view.policy().threshold;
        if self.view.standing(other)? == Standing::Purged {
            let stays = stored_sketch(self.view, other)?;
            return Ok(stays.is_some_and(|stays| stays.estimate(sketch) >= threshold));
        }
        let others = match self.shingles.get(&other) {
            Some(found) => Arc::clone(found),
            None => {
                let found: Arc<[u64]> =
                    self.craft.shingles(&self.view.compared_text(other)?).into();
                if self.shingles.len() >= REMEMBERED {
                    self.shingles.clear();
                }
                self.shingles.insert(other, Arc::clone(&found));
                found
            }
        };
        Ok(Overlap::at_least(shingles, &others, threshold).is_some())
    }

    /// Writes what changed.
    ///
    /// # Errors
    /// [`DecideError`] when the family is absent.
    pub fn write(self, batch: &mut CommitBatch<'_>) -> Result<(), DecideError> {
        for ((what, hash), by) in self.changed {
            batch.block(what, hash, &by)?;
        }
        Ok(())
    }
}
