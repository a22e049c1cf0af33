//! One commit, the only way to write: rows, bitmaps, columns, counters, resume points become durable together or not.
//!
//! At its end everything is written and synced, then the writer moves on. Rows of hashed families are held back and put
//! in key order: the memtable takes sorted rows three times as fast, because each goes in beside the one before.

use crate::bytes::bitmap_block::BitmapDelta;
use crate::bytes::key::StoreKey;
use crate::bytes::number_block::{NumberBlock, NumberPatch};
use crate::bytes::page_changes::PageChanges;
use crate::bytes::record::{self, CommitRecord, SourceRecord, StoreState};
use crate::database::family::{StoreFamily, damaged_table, family_handle};
use crate::error::StoreError;
use crate::files::journal::JournalEntry;
use crate::index::BandBatch;
use crate::meta::{Meta, MetaKey};
use crate::view::View;
use crate::writer::{CommitCarryOver, StoreWriter, synced};
use model::invariant::part;
use model::{
    ColumnId, CommitSeq, DocId, Error, ErrorKind, FieldId, FileId, Hint, SourceId, Standing,
    TermId, TokenizerId,
};
use roaring::RoaringTreemap;
use rocksdb::{AsColumnFamilyRef, WriteBatch};
use std::any::Any;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// One commit in the making. Dropped without [`CommitBatch::commit`], it changes nothing.
pub struct CommitBatch<'w> {
    pub(crate) writer: &'w mut StoreWriter,
    pub(crate) view: View,
    pub(crate) rows: WriteBatch,
    pub(crate) bands: BandBatch,
    /// Generations whose band entries are all deleted.
    pub(crate) forgotten: Vec<Range<u32>>,
    pub(crate) identities: SortedRows,
    pub(crate) pages: PageChanges,
    pub(crate) state: StoreState,
    pub(crate) sources: BTreeMap<SourceId, SourceRecord>,
    pub(crate) names: HashMap<String, SourceId>,
    pub(crate) files: HashMap<(SourceId, Vec<u8>), FileId>,
    pub(crate) postings: BTreeMap<(TermId, u64), BitmapDelta>,
    pub(crate) patches: BTreeMap<(ColumnId, u64), NumberPatch>,
    pub(crate) new_terms: HashMap<(FieldId, Vec<u8>), TermId>,
    pub(crate) rejects: HashSet<[u8; 16]>,
    pub(crate) kept: HashMap<DocId, bool>,
    /// Kept documents before this batch, in the generation that it writes to.
    pub(crate) kept_before: Arc<RoaringTreemap>,
    /// The first document that the generation has not decided.
    pub(crate) undecided_from: DocId,
    /// Kept documents afterwards, when this batch makes another generation current.
    pub(crate) switched: Option<Arc<RoaringTreemap>>,
    /// What the layers above keep between commits, and what they leave with this one.
    pub(crate) carry_over: CommitCarryOver,
    pub(crate) left: Option<Box<dyn Any + Send>>,
    pub(crate) carry_over_budget: usize,
    /// Stored documents whose number in the field that ranks documents is another one now, with that.
    pub(crate) reranked: BTreeMap<DocId, Option<i64>>,
    /// Purged documents before this batch, once they are asked for.
    pub(crate) purged: OnceCell<RoaringTreemap>,
    /// The block of token counts read last, as stored before this batch.
    pub(crate) counts: RefCell<Option<((TokenizerId, u64), NumberBlock)>>,
    /// Whether rows of tokenizers change: the next moment reads their records then.
    is_of_tokenizers: bool,
    /// What was before and is in no row afterwards.
    pub(crate) before: Option<String>,
}

impl CommitBatch<'_> {
    fn new(writer: &mut StoreWriter) -> Result<CommitBatch<'_>, StoreError> {
        if writer.is_torn {
            let hint = Hint::text("open the corpus again before writing to it");
            let message = "an earlier commit of this writer failed";
            return Err(Error::of(ErrorKind::Failed, message).with_hint(hint).into());
        }
        let view = writer.view().clone();
        let mut state = view.state().clone();
        state.commit += 1;
        let kept_before = writer.kept()?;
        let undecided_from = DocId(view.documents());
        let names = view.sources().map(|(id, record)| (record.name.clone(), id)).collect();
        let (carry_over, carry_over_budget) = (writer.carry_over.clone(), writer.carry_over_budget);
        Ok(CommitBatch {
            writer,
            view,
            rows: WriteBatch::default(),
            bands: BandBatch::default(),
            forgotten: Vec::new(),
            reranked: BTreeMap::new(),
            identities: SortedRows::default(),
            pages: PageChanges::default(),
            state,
            sources: BTreeMap::new(),
            names,
            files: HashMap::new(),
            postings: BTreeMap::new(),
            patches: BTreeMap::new(),
            new_terms: HashMap::new(),
            rejects: HashSet::new(),
            kept: HashMap::new(),
            kept_before,
            undecided_from,
            switched: None,
            carry_over,
            left: None,
            carry_over_budget,
            purged: OnceCell::new(),
            counts: RefCell::new(None),
            is_of_tokenizers: false,
            before: None,
        })
    }

    /// The moment before this batch.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The number this batch will have once committed.
    #[must_use]
    pub fn commit_seq(&self) -> CommitSeq {
        CommitSeq(self.state.commit)
    }

    /// The id the next added document will get.
    #[must_use]
    pub fn next_document(&self) -> DocId {
        DocId(self.state.documents)
    }

    /// Whether a document is kept, this batch's changes included.
    #[must_use]
    pub fn is_kept(&self, document: DocId) -> bool {
        let before = || self.kept_before.contains(document.0);
        self.kept.get(&document).copied().unwrap_or_else(before)
    }

    /// Whether a document was purged before this batch.
    ///
    /// # Errors
    /// [`StoreError`] when a bitmap cannot be read.
    pub fn is_purged(&self, document: DocId) -> Result<bool, StoreError> {
        if self.purged.get().is_none() {
            let _ = self.purged.set(self.view.documents_standing(Standing::Purged)?);
        }
        Ok(self.purged.get().is_some_and(|purged| purged.contains(document.0)))
    }

    /// Documents kept before this batch.
    #[must_use]
    pub fn kept_before(&self) -> Arc<RoaringTreemap> {
        Arc::clone(&self.kept_before)
    }

    /// The first document that has no standing yet.
    #[must_use]
    pub fn undecided_from(&self) -> DocId {
        self.undecided_from
    }

    /// Whether the batch writes to the current generation, whose counters it keeps.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.view.generation().0 == self.state.generation
    }

    pub(crate) fn put<C: StoreFamily>(
        &mut self,
        key: &C::Key,
        value: &[u8],
    ) -> Result<(), StoreError> {
        self.is_of_tokenizers |= C::IS_TOKENIZERS;
        self.rows.put_cf(&family_handle::<C>(&self.writer.db)?, key.to_bytes(), value);
        Ok(())
    }

    pub(crate) fn delete<C: StoreFamily>(&mut self, key: &C::Key) -> Result<(), StoreError> {
        self.is_of_tokenizers |= C::IS_TOKENIZERS;
        self.rows.delete_cf(&family_handle::<C>(&self.writer.db)?, key.to_bytes());
        Ok(())
    }

    pub(crate) fn delete_range<C: StoreFamily>(
        &mut self,
        from: Vec<u8>,
        to: Vec<u8>,
    ) -> Result<(), StoreError> {
        self.rows.delete_range_cf(&family_handle::<C>(&self.writer.db)?, from, to);
        Ok(())
    }

    /// Writes everything, synced; then the journal; then the writer's view moves on.
    ///
    /// # Errors
    /// [`StoreError::Exchanged`] when another folder stands at the path, or none: nothing is stored.
    /// [`StoreError`] when the disk refuses. The batch is then stored whole or not at all, and the
    /// writer refuses further ones: open the corpus again.
    pub fn commit(self, record: &CommitRecord) -> Result<CommitSeq, StoreError> {
        let (place, lock) = (self.writer.place.clone(), self.writer.lock());
        let committed = self.write(record);
        committed.map_err(|error| place.refuse_exchanged(&lock).err().unwrap_or(error))
    }

    fn write(mut self, record: &CommitRecord) -> Result<CommitSeq, StoreError> {
        let commit = self.commit_seq();
        let (bands, generation) = (std::mem::take(&mut self.bands), self.view.generation());
        let bands = self.writer.bands.stage(bands, generation, commit, &mut self.rows)?;
        let forgotten = std::mem::take(&mut self.forgotten);
        let bands = self.writer.bands.drop_generations(bands, forgotten, &mut self.rows)?;
        self.write_identities()?;
        self.write_pages()?;
        self.merge_postings()?;
        self.merge_numbers()?;
        let changed = self.write_sources()?;
        let outputs = self.take_in_outputs()?;
        self.write_record(record)?;
        self.write_verb()?;
        let state = record::encode("state", &self.state)?;
        self.put::<Meta>(&MetaKey::State, &state)?;

        self.writer.refuse_exchanged()?;
        // From here until the end the writer's memory and the disk may differ.
        self.writer.is_torn = true;
        let (rows, writer) = (std::mem::take(&mut self.rows), &*self.writer);
        let write = || writer.db.write_opt(rows, &synced());
        let written = rayon::join(write, || writer.bands.announce(bands.as_ref())).0;
        written.map_err(|error| damaged_table(&writer.db, writer.families, error))?;
        self.writer
            .acknowledge(JournalEntry { commit: commit.0, documents: self.state.documents })?;
        // Let go of, so that the writer's bitmap is changed in its place.
        self.kept_before = Arc::default();
        if let Some(kept) = self.switched.take() {
            self.writer.kept = Some(kept);
        }
        let changes =
            if self.is_current() { std::mem::take(&mut self.kept) } else { HashMap::new() };
        if let Some(kept) = &mut self.writer.kept {
            let kept = Arc::make_mut(kept);
            for (document, is_kept) in &changes {
                if *is_kept {
                    kept.insert(document.0)
                } else {
                    kept.remove(document.0)
                };
            }
        }
        self.writer.terms.extend(self.new_terms.drain());
        if self.writer.terms.len() > TERM_CACHE {
            self.writer.terms.clear();
        }
        self.writer.bands.committed(bands)?;
        let known =
            if self.is_of_tokenizers { None } else { Some(self.view.records_with(changed)) };
        self.writer.refresh_view_with(known)?;
        self.writer.keep_carry_over(self.left.take());
        self.writer.goes_on &= !self.writer.begins_verb;
        self.writer.begins_verb = false;
        self.writer.is_torn = false;
        self.writer.forget_outputs(&outputs);
        Ok(commit)
    }

    /// Takes what the last commit left, if it is of that kind. It is gone unless it is left or returned.
    #[must_use]
    pub fn take_carry_over<T: Any + Send>(&self) -> Option<T> {
        let found = self.carry_over.replace(None)?;
        found.downcast().ok().map(|found| *found)
    }

    /// Leaves something for the next commit, if this one comes to stand.
    pub fn carry_over<T: Any + Send>(&mut self, kept: T) {
        self.left = Some(Box::new(kept));
    }

    /// Returns what was taken and not changed: it holds whatever becomes of this commit.
    pub fn return_carry_over<T: Any + Send>(&self, taken: T) {
        self.carry_over.replace(Some(Box::new(taken)));
    }

    /// Bytes that what is kept between commits may take.
    #[must_use]
    pub const fn carry_over_budget(&self) -> usize {
        self.carry_over_budget
    }
}

impl StoreWriter {
    /// Begins the next commit.
    ///
    /// # Errors
    /// [`StoreError`] when the state cannot be read; [`StoreError::Refingerprinting`] while fingerprints are of two
    /// versions.
    pub fn begin(&mut self) -> Result<CommitBatch<'_>, StoreError> {
        if self.view().refingerprinted()?.is_some() {
            return Err(StoreError::Refingerprinting);
        }
        CommitBatch::new(self)
    }

    /// Begins a commit that continues with the fingerprints.
    ///
    /// # Errors
    /// [`StoreError`] when the state cannot be read.
    pub fn begin_refingerprinting(&mut self) -> Result<CommitBatch<'_>, StoreError> {
        CommitBatch::new(self)
    }

    /// The commit stands, and what was left with it.
    pub(crate) fn keep_carry_over(&self, left: Option<Box<dyn Any + Send>>) {
        if left.is_some() {
            self.carry_over.replace(left);
        }
    }
}

/// Terms remembered between commits; more are read again.
const TERM_CACHE: usize = 1 << 18;

/// Rows of one family; a later row of the same key counts.
#[derive(Default)]
pub(crate) struct SortedRows {
    bytes: Vec<u8>,
    rows: Vec<HeldRow>,
}

#[derive(Clone, Copy)]
struct HeldRow {
    start: usize,
    key: usize,
    value: usize,
}

impl SortedRows {
    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) {
        self.rows.push(HeldRow { start: self.bytes.len(), key: key.len(), value: value.len() });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
    }

    pub(crate) fn write(mut self, family: &impl AsColumnFamilyRef, batch: &mut WriteBatch) {
        let Self { bytes, rows } = &mut self;
        let key = |row: &HeldRow| part(bytes, row.start..row.start + row.key);
        rows.sort_unstable_by(|a, b| key(a).cmp(key(b)).then(a.start.cmp(&b.start)));
        for row in rows.iter() {
            let value = row.start + row.key;
            batch.put_cf(family, key(row), part(bytes, value..value + row.value));
        }
    }
}
