//! Writes the outcome of a commit's decisions into its batch, with the marks of decisions that left candidates out.

use super::decision::DecisionCounts;
use super::encode::{LoadedTokenizer, encode_kept_again};
use super::session::{CommitDecisions, DecisionSession};
use super::writer_cache::WriterCache;
use model::{BucketKey, BucketMap, DocId, Error, Interrupt, Standing, bucket_keys};
use rayon::prelude::*;
use std::borrow::Cow;
use store::{BucketJoin, CommitBatch};

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
/// [`Error`] when the store cannot be read, or a stop was requested.
pub fn decide(
    batch: &mut CommitBatch<'_>,
    session: DecisionSession,
    tokenizers: &[LoadedTokenizer],
    stored_only: bool,
) -> Result<(Vec<DocId>, AppliedDecisions), Error> {
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
) -> Result<RerankCounts, Error> {
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
        if self.no_longer_kept().is_empty() {
            self.0.overlay.release_shingles();
        }
    }

    /// Writes every change into the batch, each document once, and says what it came to. Newcomers must have
    /// been added.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn apply(mut self, batch: &mut CommitBatch<'_>) -> Result<AppliedDecisions, Error> {
        let no_longer_kept = self.no_longer_kept();
        let overlay = &self.0.overlay;
        for (id, change) in overlay.standing_changes() {
            if let Some(now) = change.now
                && change.before != Some(now)
            {
                batch.set_standing(id, change.before, now)?;
            }
        }
        for (id, change) in overlay.match_changes() {
            batch.record_match(id, change.before.as_ref(), change.now.as_ref())?;
        }
        // The changes of a generation that is being filled are known when it becomes current.
        if batch.is_current() {
            self.0.counts.heirs = self.write_lineage(batch, &no_longer_kept)?;
        }
        for (kind, hash, document) in self.0.overlay.exact_changes() {
            batch.set_exact(kind, hash, document)?;
        }
        let no_longer_eligible = self.no_longer_eligible();
        self.leave_buckets(batch, &no_longer_eligible)?;
        self.write_joined(batch)?;
        let DecisionSession { overlay, agenda, marks, imports, finder, leaders, .. } = self.0;
        let (mut counts, members_before) = (self.0.counts, self.0.members_before);
        counts.crowded += marks.summary().0;
        marks.write(&overlay, &agenda.reconsidered, batch)?;
        if imports.context.is_none() {
            // A crowd of a transitive mode holds all that are eligible.
            let is_transitive = overlay.mode().is_transitive();
            let gone = if is_transitive { &no_longer_eligible } else { &no_longer_kept };
            WriterCache::put_back(batch, finder.crowd, leaders.into_twins(), gone);
        }
        counts.members = batch.view().bucket_members_read() - members_before;
        counts.standings = overlay.standings_read();
        Ok(AppliedDecisions { counts, no_longer_kept })
    }

    /// How many decisions left candidates out, and a pair that was not compared, if one is known.
    #[must_use]
    pub fn unsettled(&self) -> (u64, Option<(DocId, DocId)>) {
        self.0.marks.summary()
    }
}

impl CommitDecisions {
    /// Documents that were kept and are not any more, ascending.
    fn no_longer_kept(&self) -> Vec<DocId> {
        self.0.overlay.documents_that(|change| {
            change.before == Some(Standing::Kept) && change.now != Some(Standing::Kept)
        })
    }

    /// Documents that were eligible and are not any more, ascending.
    fn no_longer_eligible(&self) -> Vec<DocId> {
        self.0.overlay.documents_that(|change| {
            change.before.is_some_and(Standing::is_eligible)
                && change.now.is_some_and(|now| !now.is_eligible())
        })
    }

    /// Documents that stopped being eligible leave their buckets: nothing looks for them there.
    fn leave_buckets(&self, batch: &mut CommitBatch<'_>, gone: &[DocId]) -> Result<(), Error> {
        if !self.0.overlay.mode().is_near() || gone.is_empty() {
            return Ok(());
        }
        let placed: Vec<DocumentBuckets> = gone
            .par_iter()
            .with_min_len(64)
            .map(|id| Ok((*id, self.buckets_of(*id)?)))
            .collect::<Result<_, Error>>()?;
        let mut leaving: Vec<(u8, u64, DocId)> = placed
            .iter()
            .flat_map(|(id, bands)| bucket_keys(bands).map(move |(band, hash)| (band, hash, *id)))
            .collect();
        leaving.par_sort_unstable();
        Ok(batch.leave_buckets(&leaving)?)
    }

    /// The keys of a stored document's buckets; none without a sketch.
    pub(super) fn buckets_of(&self, document: DocId) -> Result<Vec<u64>, Error> {
        // Most successors differ in other fields only: what they joined need not be computed again.
        if let Some(found) = self.0.overlay.match_of(document)?
            && let Some(bands) = self.0.overlay.joined_buckets(found.witness)
            // Equal tokens make equal sketches; equal texts alone need not, where fields are compared too.
            && self.0.overlay.have_equal_tokens(document, found.witness)?
        {
            return Ok(bands.to_vec());
        }
        match self.0.overlay.sketch(document)? {
            Some(sketch) => self.0.overlay.band_keys(document, &sketch),
            None => Ok(Vec::new()),
        }
    }

    /// Puts documents that joined into their buckets. The stored members are known for documents that were looked up
    /// before, and read in one go for all others.
    fn write_joined(&self, batch: &mut CommitBatch<'_>) -> Result<(), Error> {
        let is_known = |id: &DocId| self.0.finder.prefetched.contains_key(id);
        let unknown = self.0.overlay.joined().filter(|(id, _)| !is_known(id));
        let mut keys: Vec<BucketKey> = unknown.flat_map(|(_, bands)| bucket_keys(bands)).collect();
        keys.par_sort_unstable();
        keys.dedup();
        let firsts = self.0.overlay.view.bucket_firsts(&keys)?;
        let found: BucketMap<_> = keys.into_iter().zip(firsts).collect();
        let stored = |id, bands: &[u64]| match self.0.finder.prefetched.get(&id) {
            Some(known) => Cow::Borrowed(known.buckets.as_slice()),
            None => bucket_keys(bands).map(|key| found.get(&key).copied().flatten()).collect(),
        };
        let joined = self.0.overlay.joined().map(|(document, hashes)| {
            let stored = stored(document, hashes);
            BucketJoin { document, hashes, stored }
        });
        batch.join_buckets(&joined.collect::<Vec<_>>());
        Ok(())
    }
}
