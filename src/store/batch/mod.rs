//! One commit: the only way to write. Rows, bitmaps, columns, counters and resume points become
//! durable together or not at all.

mod aside;
mod bucket_changes;
mod commit;
mod documents;
mod erase;
mod fields;
mod files;
#[cfg(any(test, feature = "generated"))]
mod generated;
mod generation;
mod matches;
mod records;
mod set_fields;
mod sorted_rows;
mod standing;
mod terms;
mod tokens;

pub use documents::NewDocument;
pub use erase::Erased;
pub use records::RejectNovelty;
pub(crate) use set_fields::with_fields;

use crate::model::{
    ColumnId, CommitSeq, DocId, FieldId, FileId, SourceId, Standing, TermId, TokenizerId,
};
use crate::store::bands::BandChanges;
use crate::store::columns::Column;
use crate::store::database::family;
use crate::store::error::StoreError;
use crate::store::opening::{Aside, Writer};
use crate::store::rows::bitmap::Delta;
use crate::store::rows::keys::Key;
use crate::store::rows::numbers::{ColumnBlock, Patch};
use crate::store::rows::records::{SourceRecord, State};
use crate::store::rows::texts::TextEncoder;
use crate::store::view::View;
use roaring::RoaringTreemap;
use rocksdb::WriteBatch;
use sorted_rows::SortedRows;
use std::any::Any;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// One commit in the making. Dropped without [`Batch::commit`], it changes nothing.
pub struct Batch<'w> {
    writer: &'w mut Writer,
    view: View,
    rows: WriteBatch,
    pub(in crate::store) bands: BandChanges,
    /// Generations of which no band entry is to be left.
    forgotten: Vec<Range<u32>>,
    identities: SortedRows,
    state: State,
    sources: BTreeMap<SourceId, SourceRecord>,
    names: HashMap<String, SourceId>,
    files: HashMap<(SourceId, Vec<u8>), FileId>,
    pub(in crate::store) postings: BTreeMap<(TermId, u64), Delta>,
    patches: BTreeMap<(ColumnId, u64), Patch>,
    new_terms: HashMap<(FieldId, Vec<u8>), TermId>,
    rejects: HashSet<[u8; 16]>,
    kept: HashMap<DocId, bool>,
    /// Kept documents before this batch, in the generation that it writes to.
    kept_before: Arc<RoaringTreemap>,
    /// The first document that the generation has not decided.
    undecided_from: DocId,
    /// Kept documents afterwards, when this batch makes another generation current.
    switched: Option<Arc<RoaringTreemap>>,
    encoder: Option<Arc<TextEncoder>>,
    /// What the layers above keep between commits, and what they leave with this one.
    pub(in crate::store) aside: Aside,
    pub(in crate::store) left: Option<Box<dyn Any + Send>>,
    pub(in crate::store) memory_aside: usize,
    /// Stored documents whose number in the field that ranks documents is another one now, with that.
    reranked: BTreeMap<DocId, Option<i64>>,
    /// Purged documents before this batch, once they are asked for.
    purged: OnceCell<RoaringTreemap>,
    /// The block of token counts read last, as stored before this batch.
    counts: RefCell<Option<((TokenizerId, u64), ColumnBlock)>>,
}

impl Batch<'_> {
    fn new(writer: &mut Writer) -> Result<Batch<'_>, StoreError> {
        if writer.is_torn {
            return Err(StoreError::Torn);
        }
        let view = writer.view().clone();
        let mut state = view.state().clone();
        state.commit += 1;
        let kept_before = Arc::clone(&writer.kept);
        let undecided_from = DocId(view.documents());
        let names = view.sources().map(|(id, record)| (record.name.clone(), id)).collect();
        let (aside, memory_aside) = (writer.aside.clone(), writer.memory_aside);
        Ok(Batch {
            writer,
            view,
            rows: WriteBatch::default(),
            bands: BandChanges::default(),
            forgotten: Vec::new(),
            reranked: BTreeMap::new(),
            identities: SortedRows::default(),
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
            encoder: None,
            aside,
            left: None,
            memory_aside,
            purged: OnceCell::new(),
            counts: RefCell::new(None),
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

    pub(in crate::store) fn put<C: Column>(
        &mut self,
        key: &C::Key,
        value: &[u8],
    ) -> Result<(), StoreError> {
        self.rows.put_cf(&family::<C>(&self.writer.db)?, key.to_bytes(), value);
        Ok(())
    }

    pub(in crate::store) fn delete<C: Column>(&mut self, key: &C::Key) -> Result<(), StoreError> {
        self.rows.delete_cf(&family::<C>(&self.writer.db)?, key.to_bytes());
        Ok(())
    }

    pub(in crate::store) fn delete_range<C: Column>(
        &mut self,
        from: Vec<u8>,
        to: Vec<u8>,
    ) -> Result<(), StoreError> {
        self.rows.delete_range_cf(&family::<C>(&self.writer.db)?, from, to);
        Ok(())
    }
}

impl Writer {
    /// Begins the next commit.
    ///
    /// # Errors
    /// [`StoreError`] when the state cannot be read; [`StoreError::Refingerprinting`] while fingerprints are of two
    /// versions.
    pub fn begin(&mut self) -> Result<Batch<'_>, StoreError> {
        if self.view().refingerprinted()?.is_some() {
            return Err(StoreError::Refingerprinting);
        }
        Batch::new(self)
    }

    /// Begins a commit that goes on with the fingerprints.
    ///
    /// # Errors
    /// [`StoreError`] when the state cannot be read.
    pub fn begin_refingerprinting(&mut self) -> Result<Batch<'_>, StoreError> {
        Batch::new(self)
    }
}
