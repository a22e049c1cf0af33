//! What a commit leaves in memory for the next one of the same writer: the crowd, and equal texts in large clusters.
//!
//! It caches what the store says and is never stored: a cluster that is not in it is read.

use super::crowd::CrowdIndex;
use model::{DocId, Generation, hash64};
use std::collections::{BTreeSet, HashMap};
use store::{CommitBatch, TextKind};

/// What a commit leaves in memory for the next one of the same writer. None of it is stored: a commit that finds
/// nothing reads it again.
pub(super) struct WriterCache {
    crowd: Option<CrowdIndex>,
    twins: TextTwins,
}

impl WriterCache {
    /// Takes what the last commit left.
    pub(super) fn take(batch: &CommitBatch<'_>) -> (CrowdIndex, TextTwins) {
        let (crowd, twins) = match batch.take_carry_over::<Self>() {
            Some(Self { crowd, twins }) => (crowd, Some(twins)),
            None => (None, None),
        };
        let (generation, room) = (batch.view().generation(), batch.carry_over_budget());
        (CrowdIndex::of(crowd, batch), TextTwins::of(twins, generation, room))
    }

    /// Leaves it to the next. `gone` are documents that are not kept any more.
    pub(super) fn put_back(
        batch: &mut CommitBatch<'_>,
        mut crowd: CrowdIndex,
        twins: TextTwins,
        gone: &[DocId],
    ) {
        crowd.forget_gone(gone);
        let is_changed = crowd.is_changed() || twins.is_changed();
        let cache = Self { crowd: crowd.leave(), twins };
        if is_changed {
            batch.carry_over(cache);
        } else {
            batch.return_carry_over(cache);
        }
    }
}

/// Members of a cluster from which it is remembered.
const LARGE: usize = 64;
/// Bytes, about, of a text that several documents have, and of each such document.
const TEXT: usize = 96;
const DOCUMENT: usize = 16;

/// A text, by the beginning of its hash: callers compare the whole hash.
type TwinText = (TextKind, u64);

/// The documents of equal texts in the clusters that were looked up.
pub(super) struct TextTwins {
    generation: Generation,
    budget: usize,
    /// By kept document.
    clusters: BTreeSet<DocId>,
    /// Documents with a text that another one has or had; those that left are still among them.
    texts: HashMap<TwinText, Vec<DocId>>,
    documents: usize,
    is_changed: bool,
}

/// The key of a text, by which clusters are looked up.
pub(super) fn text_of(form: TextKind, hash: [u8; 16]) -> TwinText {
    (form, hash64(&hash))
}

impl TextTwins {
    /// Nothing, with an eighth of `room` for what comes.
    pub(super) fn new(generation: Generation, room: usize) -> Self {
        Self {
            generation,
            budget: room / 8,
            clusters: BTreeSet::new(),
            texts: HashMap::new(),
            documents: 0,
            is_changed: false,
        }
    }

    /// What the last commit left, if it is of this generation.
    pub(super) fn of(left: Option<Self>, generation: Generation, room: usize) -> Self {
        match left.filter(|left| left.generation == generation) {
            Some(left) => Self { budget: room / 8, is_changed: false, ..left },
            None => Self::new(generation, room),
        }
    }

    /// Whether anything came since the last commit.
    pub(super) const fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// Whether any cluster is remembered: a document that joins a remembered one must be noted.
    pub(super) fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// The documents that have or had a text, beside one that has it alone; none when the cluster of this kept
    /// document is not remembered.
    pub(super) fn of_text(&self, cluster: DocId, text: TwinText) -> Option<&[DocId]> {
        let known = self.clusters.contains(&cluster);
        known.then(|| self.texts.get(&text).map_or(&[][..], Vec::as_slice))
    }

    /// Whether a cluster of `members` members is worth remembering, and fits.
    pub(super) const fn admits(&self, members: usize) -> bool {
        // Both texts of each member count while they are gathered.
        members >= LARGE && members.saturating_mul(2 * 32) < self.budget
    }

    /// Remembers a cluster by the texts of all its documents.
    pub(super) fn remember(&mut self, cluster: DocId, mut texts: Vec<(TwinText, DocId)>) {
        texts.sort_unstable();
        texts.dedup();
        self.clusters.insert(cluster);
        self.is_changed = true;
        for same in texts.chunk_by(|(text, _), (other, _)| text == other) {
            if let [(text, first), rest @ ..] = same {
                rest.iter().for_each(|(_, other)| self.pair(*text, *first, *other));
            }
        }
    }

    /// Two documents have one text.
    pub(super) fn pair(&mut self, text: TwinText, one: DocId, other: DocId) {
        if self.is_empty() {
            return;
        }
        let known = self.texts.entry(text).or_default();
        for document in [one, other] {
            // Few, but for a text that very many share: these come in ascending order, mostly.
            if let Err(at) = known.binary_search(&document) {
                known.insert(at, document);
                self.documents += 1;
                self.is_changed = true;
            }
        }
        if self.texts.len() * TEXT + self.documents * DOCUMENT > self.budget {
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.clusters.clear();
        self.texts = HashMap::new();
        self.documents = 0;
        self.is_changed = true;
    }
}
