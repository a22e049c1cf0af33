//! Documents join their band buckets and leave them, as part of a commit.

use crate::model::DocId;
use crate::store::bands::BucketJoin;
use crate::store::batch::Batch;
use crate::store::error::StoreError;

/// Members read of a bucket that others leave: one takes the first place, a second says that there are more.
const STAYING: usize = 2;

impl Batch<'_> {
    /// Takes documents that are not eligible any more out of their buckets: (band, hash, document), each
    /// once, ascending. Before any joins ([`Batch::index`]).
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn unindex(&mut self, leaving: &[(u8, u64, DocId)]) -> Result<(), StoreError> {
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
    /// What the store holds of each bucket is known by [`crate::store::View::bucket_firsts`].
    pub fn index(&mut self, members: &[BucketJoin<'_>]) {
        self.bands.join(members);
    }
}
