//! Adds reads of the documents that share a band bucket to views, and joining and leaving buckets to commits.

use crate::batch::CommitBatch;
use crate::error::StoreError;
use crate::index::{BandBucket, BucketJoin};
use crate::view::View;
use model::DocId;

impl View {
    /// Members of band buckets: for every key of `sorted` (ascending), whether the bucket exists and at most `cap`
    /// documents in rank order that `keep` admits, with whether more were skipped.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn buckets(
        &self,
        sorted: &[(u8, u64)],
        cap: usize,
        keep: impl Fn(DocId) -> bool,
    ) -> Result<Vec<Option<BandBucket>>, StoreError> {
        self.moment.bands.buckets(self.pinned(), self.generation(), sorted, cap, keep)
    }

    /// Looks up all keys of a batch at once, in parallel, as [`View::buckets`] does: what is known of the whole batch
    /// decides whether the filter is worth having.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn buckets_bulk(
        &self,
        sorted: &[(u8, u64)],
        cap: usize,
        keep: &(dyn Fn(DocId) -> bool + Sync),
    ) -> Result<Vec<Option<BandBucket>>, StoreError> {
        self.moment.bands.buckets_bulk(self.pinned(), self.generation(), sorted, cap, keep)
    }

    /// For every key of `sorted` (ascending) the first member of its bucket and whether it has more; none when the
    /// bucket is empty. However crowded a bucket is, one entry of it is read.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn bucket_firsts(
        &self,
        sorted: &[(u8, u64)],
    ) -> Result<Vec<Option<(DocId, bool)>>, StoreError> {
        self.moment.bands.firsts(self.pinned(), self.generation(), sorted)
    }

    /// Members of buckets that were examined through this view so far, admitted or not.
    #[must_use]
    pub fn bucket_members_read(&self) -> u64 {
        self.moment.bands.members_read()
    }

    pub(crate) fn misses_folded_bands(&self) -> Result<bool, StoreError> {
        self.moment.bands.misses_folded(self.pinned())
    }
}

/// Members read of a bucket that others leave: one takes the first place, a second says that there are more.
const STAYING: usize = 2;

impl CommitBatch<'_> {
    /// Takes documents that are not eligible any more out of their buckets: (band, hash, document), each
    /// once, ascending. Before any joins ([`CommitBatch::join_buckets`]).
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn leave_buckets(&mut self, leaving: &[(u8, u64, DocId)]) -> Result<(), StoreError> {
        let mut documents: Vec<DocId> = leaving.iter().map(|(_, _, document)| *document).collect();
        documents.sort_unstable();
        documents.dedup();
        let same = |a: &(u8, u64, DocId), b: &(u8, u64, DocId)| (a.0, a.1) == (b.0, b.1);
        let buckets: Vec<(u8, u64)> = leaving
            .chunk_by(same)
            .filter_map(|of| of.first().map(|(band, hash, _)| (*band, *hash)))
            .collect();
        let stays = |document| documents.binary_search(&document).is_err();
        let found = self.view().buckets_bulk(&buckets, STAYING, &stays)?;
        for (((band, hash), found), leaving) in
            buckets.into_iter().zip(found).zip(leaving.chunk_by(same))
        {
            if let Some(found) = found {
                let leaving = leaving.iter().map(|(_, _, document)| *document);
                self.bands.leave(band, hash, &found, leaving);
            }
        }
        Ok(())
    }

    /// Puts documents into their band buckets, in this order: of two that come new to a bucket the first leads it.
    /// What the store holds of each bucket is known by [`crate::View::bucket_firsts`].
    pub fn join_buckets(&mut self, members: &[BucketJoin<'_>]) {
        self.bands.join(members);
    }
}
