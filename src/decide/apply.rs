//! The outcome of a commit's decisions, written into its batch, with the marks of those that left candidates out.

use super::decision::DecisionCounts;
use super::encode::{LoadedTokenizer, encode_kept_again};
use super::error::DecideError;
use super::session::{CommitDecisions, DecisionSession};
use super::writer_cache::WriterCache;
use crate::model::{BucketMap, DocId, Interrupt, Standing};
use crate::store::{BucketJoin, CommitBatch};
use rayon::prelude::*;
use roaring::RoaringTreemap;
use std::borrow::Cow;

/// A document and the keys of its buckets, by band.
type DocumentBuckets = (DocId, Vec<u64>);

/// What the decisions of a commit came to.
pub struct AppliedDecisions {
    /// Work done and limits met.
    pub counts: DecisionCounts,
    /// Documents that were kept and are not any more, ascending.
    pub no_longer_kept: Vec<DocId>,
}

/// Settles a session, puts the decisions into the batch, and has every tokenizer encode what is kept again. Answers what
/// is kept now and was not, ascending; with `stored_only` without documents that the session saw come in.
///
/// # Errors
/// [`DecideError`] when the store cannot be read, or a stop was asked for.
pub fn decide(
    batch: &mut CommitBatch<'_>,
    session: DecisionSession,
    tokenizers: &[LoadedTokenizer],
    stored_only: bool,
) -> Result<(Vec<DocId>, AppliedDecisions), DecideError> {
    let decisions = session.settle()?;
    let newly_kept = decisions.newly_kept(stored_only);
    let applied = decisions.apply(batch)?;
    for tokenizer in tokenizers {
        encode_kept_again(batch, tokenizer, &newly_kept)?;
    }
    Ok((newly_kept, applied))
}

/// Documents that stand otherwise because their values rank them otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RerankCounts {
    /// Documents that are kept now and were not.
    pub kept_again: u64,
    /// Documents that were kept and are not any more.
    pub no_longer_kept: u64,
}

/// Decides about the documents that the batch ranks otherwise, so that decisions are by the values of their moment.
///
/// # Errors
/// As [`decide`].
pub fn decide_reranked(
    batch: &mut CommitBatch<'_>,
    tokenizers: &[LoadedTokenizer],
    interrupt: &Interrupt,
) -> Result<RerankCounts, DecideError> {
    let reranked = batch.reranked().clone();
    if reranked.is_empty() {
        return Ok(RerankCounts::default());
    }
    let mut session = DecisionSession::begin(batch, interrupt);
    for (document, number) in reranked {
        session.rerank(document, number)?;
    }
    let (kept_again, applied) = decide(batch, session, tokenizers, true)?;
    let no_longer_kept = applied.no_longer_kept.len() as u64;
    Ok(RerankCounts { kept_again: kept_again.len() as u64, no_longer_kept })
}

impl CommitDecisions {
    /// Lets the shingles of newcomers go, unless some of the documents that leave now may be compared with them.
    pub fn release_shingles(&mut self) {
        if self.0.no_longer_kept().is_empty() {
            self.0.scene.release_shingles();
        }
    }

    /// Writes every change into the batch, each document once, and says what it came to. Newcomers must have
    /// been added.
    ///
    /// # Errors
    /// [`DecideError`] when the store cannot be read.
    pub fn apply(self, batch: &mut CommitBatch<'_>) -> Result<AppliedDecisions, DecideError> {
        let mut session = self.0;
        let no_longer_kept = session.no_longer_kept();
        for (id, change) in session.scene.standing_changes() {
            if let Some(now) = change.now
                && change.before != Some(now)
            {
                batch.set_standing(id, &session.scene.header(id)?, change.before, now)?;
            }
        }
        for (id, change) in session.scene.match_changes() {
            batch.record_match(id, change.before.as_ref(), change.now.as_ref())?;
        }
        // What a generation that is being filled changes is known when it becomes current.
        if batch.is_current() {
            session.counts.heirs = session.write_lineage(batch, &no_longer_kept)?;
        }
        for (kind, hash, document) in session.scene.exact_changes() {
            batch.set_exact(kind, hash, document)?;
        }
        session.leave_buckets(batch)?;
        session.write_joined(batch)?;
        session.mark_open(batch)?;
        // A crowd of a transitive mode holds all that are eligible.
        let no_longer_eligible =
            session.mode().is_transitive().then(|| session.no_longer_eligible());
        let gone = no_longer_eligible.as_ref().unwrap_or(&no_longer_kept);
        if session.takeover.is_none() {
            WriterCache::put_back(batch, session.crowd, session.twins, gone);
        }
        session.counts.members = batch.view().bucket_members_read() - session.members_before;
        session.counts.standings = session.scene.standings_read();
        Ok(AppliedDecisions { counts: session.counts, no_longer_kept })
    }

    /// How many decisions left candidates out, and a pair that was not compared, if one is known.
    #[must_use]
    pub fn unsettled(&self) -> (u64, Option<(DocId, DocId)>) {
        let example = self.0.open.iter().find_map(|(id, other)| Some((*id, (*other)?)));
        (self.0.open.len() as u64, example)
    }
}

impl DecisionSession {
    /// Documents that were eligible and are not any more, ascending.
    fn no_longer_eligible(&self) -> Vec<DocId> {
        let changes = self.scene.standing_changes();
        changes
            .filter(|(_, change)| {
                change.before.is_some_and(Standing::is_eligible)
                    && change.now.is_some_and(|now| !now.is_eligible())
            })
            .map(|(id, _)| id)
            .collect()
    }

    /// Documents that stopped being eligible leave their buckets: nothing looks for them there.
    fn leave_buckets(&self, batch: &mut CommitBatch<'_>) -> Result<(), DecideError> {
        if !self.mode().is_near() {
            return Ok(());
        }
        let gone = self.no_longer_eligible();
        if gone.is_empty() {
            return Ok(());
        }
        let placed: Vec<DocumentBuckets> = gone
            .into_par_iter()
            .with_min_len(64)
            .map(|id| Ok((id, self.buckets_of(id)?)))
            .collect::<Result<_, DecideError>>()?;
        let mut leaving: Vec<(u8, u64, DocId)> = placed
            .iter()
            .flat_map(|(id, bands)| {
                (0..=u8::MAX).zip(bands).map(move |(band, hash)| (band, *hash, *id))
            })
            .collect();
        leaving.par_sort_unstable();
        Ok(batch.leave_buckets(&leaving)?)
    }

    /// The keys of a stored document's buckets; none without a sketch.
    pub(super) fn buckets_of(&self, document: DocId) -> Result<Vec<u64>, DecideError> {
        // Most successors differ in other fields only: what they joined need not be computed again.
        if let Some(found) = self.scene.match_of(document)?
            && let Some(bands) = self.scene.joined_buckets(found.witness)
        {
            let (own, other) = (self.scene.header(document)?, self.scene.header(found.witness)?);
            // Equal tokens make equal sketches; equal texts alone need not, where fields are compared too.
            if own.source == other.source && own.normalised == other.normalised {
                return Ok(bands.to_vec());
            }
        }
        match self.scene.sketch(document)? {
            Some(sketch) => self.scene.band_keys(document, &sketch),
            None => Ok(Vec::new()),
        }
    }

    /// Puts those that joined into their buckets. What the store holds of these is known of who was looked
    /// up before; of all others it is asked at once.
    fn write_joined(&self, batch: &mut CommitBatch<'_>) -> Result<(), DecideError> {
        let is_known = |id: &DocId| self.prefetched.contains_key(id);
        let unknown = self.scene.joined().filter(|(id, _)| !is_known(id));
        let mut keys: Vec<(u8, u64)> =
            unknown.flat_map(|(_, bands)| (0..=u8::MAX).zip(bands.iter().copied())).collect();
        keys.par_sort_unstable();
        keys.dedup();
        let firsts = self.scene.view.bucket_firsts(&keys)?;
        let found: BucketMap<_> = keys.into_iter().zip(firsts).collect();
        let stored = |id, bands: &[u64]| match self.prefetched.get(&id) {
            Some(known) => Cow::Borrowed(known.buckets.as_slice()),
            None => (0..=u8::MAX)
                .zip(bands)
                .map(|(band, hash)| found.get(&(band, *hash)).copied().flatten())
                .collect(),
        };
        let joined = self.scene.joined().map(|(document, hashes)| {
            let stored = stored(document, hashes);
            BucketJoin { document, hashes, stored }
        });
        batch.join_buckets(&joined.collect::<Vec<_>>());
        Ok(())
    }
}

impl DecisionSession {
    /// The marked documents of the store.
    fn marked(&mut self) -> Result<&RoaringTreemap, DecideError> {
        let found = match self.marked.take() {
            Some(found) => found,
            None => self.scene.view.crowded()?,
        };
        Ok(self.marked.insert(found))
    }

    /// Whether the decision in force about a document left candidates out.
    pub(super) fn is_open(&mut self, document: DocId) -> Result<bool, DecideError> {
        let is_decided =
            self.scene.standing_change(document).is_some() || self.reconsidered.contains(&document);
        Ok(match is_decided {
            true => self.open.contains_key(&document),
            false => self.marked()?.contains(document.0),
        })
    }

    /// Notes that the decision about a document left candidates out.
    pub(super) fn mark_unsettled(&mut self, document: DocId) {
        self.open.insert(document, self.passed.example);
    }

    /// Marks those whose decision left candidates out, and takes the marks of all others that were decided.
    pub(super) fn mark_open(&mut self, batch: &mut CommitBatch<'_>) -> Result<(), DecideError> {
        self.marked()?;
        let Some(marked) = self.marked.take() else { return Ok(()) };
        let changed = self.scene.standing_changes().map(|(document, _)| document);
        let decided = changed.chain(self.reconsidered.iter().copied());
        for document in decided.filter(|document| marked.contains(document.0)) {
            if !self.open.contains_key(&document) {
                batch.mark_crowded(document, false)?;
            }
        }
        for document in self.open.keys() {
            if !marked.contains(document.0) {
                batch.mark_crowded(*document, true)?;
            }
        }
        self.counts.crowded += self.open.len() as u64;
        Ok(())
    }
}
