//! The blocklist: removals by users keep out equal texts, keys, texts equal but for case and punctuation, similar ones.
//!
//! Removals and purges only add blocks (`Blocklist::block`). Only `restore`, and a purge without a block, lift them
//! (`Blocklist::lift`), and the result is written after the documents that the blocks had kept out are decided. A
//! removal blocks by the rows of both versions of a normaliser: looking up new documents by both would fingerprint each
//! one twice while any block exists.
//!
//! Removals and purges only add blocks (`Blocklist::block`); only `restore`, and a purge without a block, lift them
//! (`Blocklist::lift`), and the result is written after the documents that they had kept out are decided. A removal
//! blocks by the rows of both versions of a normaliser: looking up new documents by both would fingerprint each one
//! twice while any block exists.

use super::fingerprints::stored_sketch;
use super::session::DecisionSession;
use model::named;
use model::{DocId, Error, Policy, Standing, text_hash};
use roaring::RoaringTreemap;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use store::{BlockKind, CommitBatch, View, block_hashes};
use text::dedup::{Fingerprinter, RemovedText, Sketch, block_keys};

/// Texts of removed documents whose shingles are remembered.
const REMEMBERED: usize = 256;

/// How far a removal reaches beyond the removed documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum BlockReach {
    /// Nothing: the same texts and keys may be ingested again
    #[cfg_attr(feature = "cli", value(skip))]
    Nothing,
    /// Equal texts, and new content under the same keys
    #[default]
    Exact,
    /// Also texts that differ only in case, spacing and punctuation
    Normalised,
    /// Also texts whose similarity reaches the threshold of the policy: takedowns
    Similar,
}

named!(BlockReach {
    Nothing = "nothing", Exact = "exact", Normalised = "normalised", Similar = "similar",
});

/// What the removal of one document keeps out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockExtent {
    /// How far it reaches.
    pub reach: BlockReach,
    /// Whether its key is blocked; `None`: as the removal of it now has it. Newer content under the key of a removed
    /// document makes a difference between then and now.
    pub key: Option<bool>,
}

impl BlockExtent {
    /// What it is called: `exact`, `exact+key`, `exact-key`.
    #[must_use]
    pub fn name(self) -> String {
        let key = match self.key {
            None => "",
            Some(true) => "+key",
            Some(false) => "-key",
        };
        format!("{}{key}", self.reach.name())
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let keys = [None, Some(true), Some(false)];
        let all = BlockReach::ALL.into_iter().flat_map(|reach| keys.map(|key| Self { reach, key }));
        all.into_iter().find(|extent| extent.name() == name)
    }
}

impl From<BlockReach> for BlockExtent {
    fn from(reach: BlockReach) -> Self {
        Self { reach, key: None }
    }
}

impl From<bool> for BlockReach {
    fn from(blocks: bool) -> Self {
        if blocks { Self::Exact } else { Self::Nothing }
    }
}

/// What of a document can be blocked.
#[derive(Clone, Debug)]
pub struct BlockKeys {
    /// Its text, identity and normalised text, the strictest first.
    hashes: [(BlockKind, Option<[u8; 16]>); 3],
    /// Its sketch, when asked for and long enough for one.
    pub sketch: Option<Sketch>,
    /// Rows that it has by the other version of the normaliser, if it is a removed document.
    of_other_version: Vec<(BlockKind, [u8; 16])>,
}

impl BlockKeys {
    /// The candidate with these hashes, as [`block_hashes`](crate::store::block_hashes) gives them, and this sketch,
    /// when similarity matters.
    #[must_use]
    pub const fn new(hashes: [(BlockKind, Option<[u8; 16]>); 3], sketch: Option<Sketch>) -> Self {
        Self { hashes, sketch, of_other_version: Vec::new() }
    }

    /// The candidate of a stored document; `with_key` when its identity matters, `with_sketch` when similarity does.
    ///
    /// # Errors
    /// [`Error`] when a part of it cannot be read.
    pub fn of(
        view: &View,
        document: DocId,
        (with_key, with_sketch): (bool, bool),
    ) -> Result<Self, Error> {
        let print = view.print(document)?;
        let identity = if with_key { view.block_identity(document)? } else { None };
        let sketch = if with_sketch { stored_sketch(view, document)? } else { None };
        let hashes = block_hashes(print.raw, identity, (print.words, print.normalised));
        Ok(Self::new(hashes, sketch))
    }

    /// The candidate of a stored document that blocks as far as `reach`, or did; `with_key` when its identity matters.
    /// It includes the hashes of the normaliser's other version, so that blocks hold when the corpus goes over to that
    /// version; of a purged document only the version is known that its corpus had.
    ///
    /// # Errors
    /// [`Error`] when its text or sketch cannot be read.
    pub fn of_removed(
        view: &View,
        document: DocId,
        (reach, with_key): (BlockReach, bool),
    ) -> Result<Self, Error> {
        let with_sketch = reach >= BlockReach::Similar;
        let mut keys = Self::of(view, document, (with_key, with_sketch))?;
        let policy = view.policy();
        let Some(normaliser) = policy.normaliser.other_version() else { return Ok(keys) };
        if reach < BlockReach::Normalised || !keys.has_text() {
            return Ok(keys);
        }
        let mut craft = Fingerprinter::new(&Policy { normaliser, ..policy.clone() });
        let other = craft.fingerprint(&view.compared_text(document)?);
        let normalised = (other.tokens > 0).then_some((BlockKind::Normalised, other.normalised));
        let similar = similar_rows(other.sketch.as_ref().filter(|_| with_sketch));
        keys.of_other_version = normalised.into_iter().chain(similar).collect();
        Ok(keys)
    }

    /// Whether its text is not empty.
    fn has_text(&self) -> bool {
        self.hashes.iter().any(|(what, hash)| *what == BlockKind::Text && hash.is_some())
    }

    /// The rows of `blocks` that it can have or meet.
    pub fn keys(&self) -> impl Iterator<Item = (BlockKind, [u8; 16])> {
        let hashes = self.hashes.iter().filter_map(|(what, hash)| Some((*what, (*hash)?)));
        let similar = similar_rows(self.sketch.as_ref());
        hashes.chain(similar).chain(self.of_other_version.iter().copied())
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
    /// The blocklist as stored.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn new(view: &'v View) -> Result<Self, Error> {
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

    /// A removed document blocks as far as `extent` says. What it blocks already stays blocked.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn block(
        &mut self,
        document: DocId,
        of: &BlockKeys,
        extent: BlockExtent,
    ) -> Result<(), Error> {
        for (what, hash) in self.meant(document, of, extent)? {
            self.change(what, hash, |by| {
                by.insert(document);
            })?;
        }
        Ok(())
    }

    /// Whether a removed document does not block yet as far as `extent` says.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn lacks(
        &self,
        document: DocId,
        of: &BlockKeys,
        extent: BlockExtent,
    ) -> Result<bool, Error> {
        for (what, hash) in self.meant(document, of, extent)? {
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
        BlockExtent { reach, key }: BlockExtent,
    ) -> Result<Vec<(BlockKind, [u8; 16])>, Error> {
        if reach == BlockReach::Nothing {
            return Ok(Vec::new());
        }
        let with_key = match key {
            Some(with_key) => with_key,
            // A superseded document gave its key away.
            None => self.view.match_of(document)?.is_none_or(|found| found.is_duplicate()),
        };
        let is_meant = |what: &BlockKind| match what {
            BlockKind::Text => true,
            BlockKind::Identity => with_key,
            BlockKind::Normalised => reach >= BlockReach::Normalised,
            BlockKind::Similar => reach >= BlockReach::Similar,
        };
        Ok(of.keys().filter(|(what, _)| is_meant(what)).collect())
    }

    /// Removed documents block nothing any more.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn lift(mut self, removed: &[DocId]) -> Result<LiftedBlocks<'v>, Error> {
        let reach = self.reach();
        for document in removed {
            let with_key = self.has(BlockKind::Identity);
            let keys = BlockKeys::of_removed(self.view, *document, (reach, with_key))?;
            // Earlier releases had empty texts block one another.
            let empty = (!keys.has_text()).then(|| (BlockKind::Text, text_hash("")));
            for (what, hash) in keys.keys().chain(empty) {
                self.change(what, hash, |by| {
                    by.remove(document);
                })?;
            }
        }
        Ok(LiftedBlocks { with_sketch: reach == BlockReach::Similar, blocklist: self })
    }

    /// What the removal of a document that has these keys blocks.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn extent_of(&self, document: DocId, of: &BlockKeys) -> Result<BlockExtent, Error> {
        let blocks = |way| self.is_blocking(document, of.keys().filter(|(what, _)| *what == way));
        let blocks_key = blocks(BlockKind::Identity)?;
        let reach = match () {
            () if blocks(BlockKind::Similar)? => BlockReach::Similar,
            () if blocks(BlockKind::Normalised)? => BlockReach::Normalised,
            () if blocks_key || blocks(BlockKind::Text)? => BlockReach::Exact,
            () => return Ok(BlockReach::Nothing.into()),
        };
        let has_key = of.keys().any(|(what, _)| what == BlockKind::Identity);
        Ok(BlockExtent { reach, key: has_key.then_some(blocks_key) })
    }

    /// Whether a removed document blocks anything of this.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn is_blocking(
        &self,
        document: DocId,
        keys: impl IntoIterator<Item = (BlockKind, [u8; 16])>,
    ) -> Result<bool, Error> {
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
    ) -> Result<(), Error> {
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
    /// [`Error`] when the store cannot be read.
    pub fn by(&self, what: BlockKind, hash: [u8; 16]) -> Result<Vec<DocId>, Error> {
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
    /// [`Error`] when the store cannot be read.
    pub fn keeps_out(
        &mut self,
        of: &BlockKeys,
        own: Option<DocId>,
        shingles: impl FnOnce(&mut Fingerprinter) -> Result<Arc<[u64]>, Error>,
    ) -> Result<bool, Error> {
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

    /// Whether the text with this sketch and these shingles is similar to a removed document under the policy; see
    /// [`RemovedText::keeps_out`].
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn is_similar(&mut self, text: (&Sketch, &[u64]), other: DocId) -> Result<bool, Error> {
        let removed = if self.view.standing(other)? == Standing::Purged {
            RemovedText::Sketch(stored_sketch(self.view, other)?)
        } else {
            RemovedText::Shingles(self.shingles_of(other)?)
        };
        Ok(removed.keeps_out(text, self.view.policy().threshold).is_some())
    }

    /// The shingles of a removed document.
    fn shingles_of(&mut self, document: DocId) -> Result<Arc<[u64]>, Error> {
        if let Some(found) = self.shingles.get(&document) {
            return Ok(Arc::clone(found));
        }
        let found: Arc<[u64]> = self.craft.shingles(&self.view.compared_text(document)?).into();
        if self.shingles.len() >= REMEMBERED {
            self.shingles.clear();
        }
        self.shingles.insert(document, Arc::clone(&found));
        Ok(found)
    }

    /// Writes what changed.
    ///
    /// # Errors
    /// [`Error`] when the family is absent.
    pub fn write(self, batch: &mut CommitBatch<'_>) -> Result<(), Error> {
        for ((what, hash), by) in self.changed {
            batch.block(what, hash, &by)?;
        }
        Ok(())
    }
}

/// A list from which blocks were lifted: it is written once those that they kept out are decided again.
#[must_use]
pub struct LiftedBlocks<'v> {
    /// Whether anything similar was blocked.
    with_sketch: bool,
    blocklist: Blocklist<'v>,
}

impl<'v> LiftedBlocks<'v> {
    /// Has documents decided again that the blocks may have kept out, or that come back. Answers what is left of the
    /// list, and those that it still keeps out.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn readmit(
        self,
        session: &mut DecisionSession,
        documents: impl IntoIterator<Item = DocId>,
    ) -> Result<(Blocklist<'v>, RoaringTreemap), Error> {
        let Self { with_sketch, mut blocklist } = self;
        let view = blocklist.view;
        let mut still = RoaringTreemap::new();
        for document in documents {
            let with_key = blocklist.has(BlockKind::Identity);
            let keys = BlockKeys::of(view, document, (with_key, with_sketch))?;
            let is_blocked = blocklist.keeps_out(&keys, Some(document), |craft| {
                Ok(craft.shingles(&view.compared_text(document)?).into())
            })?;
            if is_blocked {
                still.insert(document.0);
            }
            session.readmit(document, is_blocked)?;
        }
        Ok((blocklist, still))
    }
}
