//! Documents that share a bucket of the sketch.

use super::View;
use crate::model::DocId;
use crate::store::bands::Bucket;
use crate::store::error::StoreError;

impl View {
    /// Members of band buckets: for every key of `sorted` (ascending), whether the bucket exists and
    /// at most `cap` documents in rank order that `keep` admits, with whether more were passed over.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn buckets(
        &self,
        sorted: &[(u8, u64)],
        cap: usize,
        keep: impl Fn(DocId) -> bool,
    ) -> Result<Vec<Option<Bucket>>, StoreError> {
        self.moment.bands.buckets(self.pinned(), self.generation(), sorted, cap, keep)
    }

    /// As [`View::buckets`] for all keys of a batch at once, in parallel: what is known of the whole
    /// batch decides whether the filter is worth having.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn buckets_bulk(
        &self,
        sorted: &[(u8, u64)],
        cap: usize,
        keep: &(dyn Fn(DocId) -> bool + Sync),
    ) -> Result<Vec<Option<Bucket>>, StoreError> {
        self.moment.bands.buckets_bulk(self.pinned(), self.generation(), sorted, cap, keep)
    }

    /// For every key of `sorted` (ascending) the first member of its bucket and whether it has more; none
    /// when nobody is in it. However crowded a bucket is, one entry of it is read.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn bucket_firsts(
        &self,
        sorted: &[(u8, u64)],
    ) -> Result<Vec<Option<(DocId, bool)>>, StoreError> {
        self.moment.bands.firsts(self.pinned(), self.generation(), sorted)
    }

    /// Members of buckets that were looked at through this view so far, admitted or not.
    #[must_use]
    pub fn bucket_members_read(&self) -> u64 {
        self.moment.bands.members_read()
    }

    pub(in crate::store) fn misses_folded_bands(&self) -> Result<bool, StoreError> {
        self.moment.bands.misses_folded(self.pinned())
    }
}
