//! A policy generation that is filled beside the current one, and the commit that makes it current.

use crate::batch::CommitBatch;
use crate::bytes::key::{BlockNumber, PostingKey, StoreKey, generation_prefix};
use crate::bytes::record::{self, CharterRecord, RedoRecord, SourceRecord};
use crate::database::family::StoreFamily;
use crate::decisions::hashes::Exact;
use crate::decisions::matches::{Matches, Members};
use crate::documents::postings::Postings;
use crate::error::StoreError;
use crate::index::{Bands, BandsMore};
use crate::meta::{Meta, MetaKey, MetaRedo};
use crate::system_fields;
use crate::view::View;
use crate::writer::StoreWriter;
use model::{CommitSeq, DocId, Generation, Policy, SourceId, Standing, TermId, TokenizerId};
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// What the kept documents of one source come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceTotals {
    /// Kept documents.
    pub kept: u64,
    /// UTF-8 bytes of their texts.
    pub bytes: u64,
    /// The tokens of the kept documents, by tokenizer.
    pub tokens: BTreeMap<TokenizerId, u64>,
}

impl SourceTotals {
    /// Makes these totals what is kept of the source of a record.
    pub(crate) fn count_kept(&self, record: &mut SourceRecord) {
        record.kept = self.kept;
        record.kept_bytes = self.bytes;
        record.tokens = self.tokens.iter().map(|(id, tokens)| (id.0, *tokens)).collect();
    }
}

impl View {
    /// The re-decision that was begun and not ended, if any.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be read.
    pub fn redo(&self) -> Result<Option<RedoRecord>, StoreError> {
        Ok(self.redo_record()?.filter(|record| record.policy != RedoRecord::FINGERPRINTS))
    }

    /// The first document whose fingerprint is of another part, or by another version of the normaliser, than the policy's,
    /// after a re-decision that was stopped as it was becoming current; none where there is no such document.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be read.
    pub fn refingerprinted(&self) -> Result<Option<u64>, StoreError> {
        let record = self.redo_record()?;
        let record = record.filter(|record| record.policy == RedoRecord::FINGERPRINTS);
        Ok(record.map(|record| record.next))
    }

    fn redo_record(&self) -> Result<Option<RedoRecord>, StoreError> {
        self.pinned().read::<MetaRedo, _>(&())
    }
}

impl StoreWriter {
    /// Begins a commit to a generation that is not current: standing, matches, exact rows and buckets
    /// go there, counters stay. `kept` are the documents it keeps so far, `next` the first that it
    /// has not decided.
    ///
    /// # Errors
    /// [`StoreError`] when the state cannot be read.
    pub fn begin_under(
        &mut self,
        policy: &Policy,
        generation: Generation,
        kept: Arc<RoaringTreemap>,
        next: DocId,
    ) -> Result<CommitBatch<'_>, StoreError> {
        let mut batch = self.begin()?;
        batch.begin_generation(policy, generation, kept, next);
        Ok(batch)
    }
}

impl CommitBatch<'_> {
    /// Stores how far a re-decision came; `None` when it has ended. `commit` is filled in.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be encoded.
    pub fn put_redo(&mut self, record: Option<&RedoRecord>) -> Result<(), StoreError> {
        match record {
            None => self.delete::<Meta>(&MetaKey::Redo),
            Some(record) => {
                let CommitSeq(commit) = self.commit_seq();
                let record = RedoRecord { commit, ..record.clone() };
                self.put::<Meta>(&MetaKey::Redo, &record::encode("redo", &record)?)
            }
        }
    }

    /// Fingerprints of documents below `next` are of the policy in force, those of others of the one before it; none: all
    /// are.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be encoded.
    pub fn put_refingerprinted(&mut self, next: Option<u64>) -> Result<(), StoreError> {
        let Some(next) = next else { return self.put_redo(None) };
        let generation = self.view().generation().0 + 2;
        let policy = RedoRecord::FINGERPRINTS.to_owned();
        self.put_redo(Some(&RedoRecord { policy, generation, next, commit: 0, capped: 0 }))
    }

    /// Stores the policy in force.
    pub fn put_policy(&mut self, policy: &Policy) -> Result<(), StoreError> {
        let charter = CharterRecord::new(policy, self.view().fields())?;
        self.put::<Meta>(&MetaKey::Charter, &record::encode("charter", &charter)?)
    }

    /// Makes a filled generation current: its policy, its kept documents, its totals by source.
    ///
    /// # Errors
    /// [`StoreError`] when a record cannot be encoded.
    pub fn switch(
        &mut self,
        policy: &Policy,
        generation: Generation,
        kept: Arc<RoaringTreemap>,
        totals: &BTreeMap<SourceId, SourceTotals>,
    ) -> Result<(), StoreError> {
        self.put_policy(policy)?;
        let sources: Vec<SourceId> = self.view().sources().map(|(id, _)| id).collect();
        for source in sources {
            let found = totals.get(&source).cloned().unwrap_or_default();
            let record = self.source_record(source)?;
            found.count_kept(record);
        }
        self.set_generation(generation, kept);
        // Numbers only rise, so this also clears what earlier releases left.
        self.forget_bands(0..generation.0)
    }

    /// Forgets a generation that is not current. Matches and standings that a snapshot shows stay.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read.
    pub fn drop_generation(&mut self, generation: Generation) -> Result<(), StoreError> {
        self.forget_bands(generation.0..generation.0 + 1)?;
        self.delete_generation::<Exact>(generation)?;
        let is_shown = |record: &crate::SnapshotRecord| record.generation == generation.0;
        if self.view().snapshots()?.iter().any(is_shown) {
            return Ok(());
        }
        self.forget_decisions(generation)
    }

    /// Forgets matches and standings of a generation that nothing shows any more.
    pub(crate) fn forget_decisions(&mut self, generation: Generation) -> Result<(), StoreError> {
        self.delete_generation::<Matches>(generation)?;
        self.delete_generation::<Members>(generation)?;
        let standings = Standing::ALL.map(|one| system_fields::standing_value(generation, one));
        let of = standings.into_iter().map(|value| (system_fields::STANDING, value));
        for (field, value) in
            of.chain([(system_fields::CROWDED, system_fields::crowded_value(generation))])
        {
            if let Some(term) = self.view().term(field, &value)? {
                let from = PostingKey { term, block: BlockNumber(0) }.to_bytes();
                let to = PostingKey { term: TermId(term.0 + 1), block: BlockNumber(0) }.to_bytes();
                self.delete_range::<Postings>(from, to)?;
            }
        }
        Ok(())
    }

    fn delete_generation<C: StoreFamily>(
        &mut self,
        generation: Generation,
    ) -> Result<(), StoreError> {
        let bound = |generation: u32| generation_prefix(Generation(generation));
        let (from, to) = (bound(generation.0), bound(generation.0 + 1));
        self.delete_range::<C>(from.to_vec(), to.to_vec())
    }

    pub(crate) fn begin_generation(
        &mut self,
        policy: &Policy,
        generation: Generation,
        kept: Arc<RoaringTreemap>,
        next: DocId,
    ) {
        self.view = self.view.with_policy(policy.clone(), generation);
        self.kept_before = kept;
        self.undecided_from = next;
    }

    /// No run, row or counter of the band index is left of these generations.
    pub(crate) fn forget_bands(&mut self, generations: Range<u32>) -> Result<(), StoreError> {
        let bound = |generation: u32| generation_prefix(Generation(generation));
        let (from, to) = (bound(generations.start).to_vec(), bound(generations.end).to_vec());
        self.delete_range::<Bands>(from.clone(), to.clone())?;
        self.delete_range::<BandsMore>(from, to)?;
        self.forgotten.push(generations);
        Ok(())
    }

    pub(crate) fn set_generation(&mut self, generation: Generation, kept: Arc<RoaringTreemap>) {
        self.state.generation = generation.0;
        self.state.kept = kept.len();
        self.switched = Some(kept);
    }
}
