//! Which documents a commit removed, restored or purged; what is left to know of purged ones; a purge under way.

use crate::model::{CommitSeq, DocId};
use crate::store::batch::Batch;
use crate::store::columns::Removals;
use crate::store::error::{Malformed, StoreError};
use crate::store::rows::keys::RemovalKey;
use crate::store::rows::kinds::RemovalPart;
use crate::store::rows::removals::{RemovalRow, Trace, encode_traces};
use crate::store::view::View;
use roaring::RoaringTreemap;

/// A purge that was begun and has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct UnendedPurge {
    /// The commit that began it, whose record says why and when.
    pub commit: CommitSeq,
    /// What of it is kept from coming in again: 0 nothing, 1 equal texts and keys, 2 also what is equal when
    /// normalised, 3 also what is similar.
    pub reach: u8,
    /// All its documents.
    pub documents: RoaringTreemap,
}

impl View {
    /// The commits that removed, restored or purged documents, oldest first, each with these. Removals before format 6
    /// are not among them.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    pub fn removals(
        &self,
    ) -> Result<
        impl Iterator<Item = Result<(CommitSeq, RoaringTreemap), StoreError>> + use<'_>,
        StoreError,
    > {
        let rows = self.pinned().scan::<Removals>(&[], None)?;
        Ok(rows.taken("removal", |key, row| match row {
            RemovalRow::Documents(documents) => Ok(Some((key.commit, documents))),
            _ => Ok(None),
        }))
    }

    /// The traces of purged documents, one commit after the other.
    ///
    /// # Errors
    /// As [`View::removals`].
    pub(crate) fn traces(
        &self,
    ) -> Result<
        impl Iterator<Item = Result<(CommitSeq, Vec<Trace>), StoreError>> + use<'_>,
        StoreError,
    > {
        let rows = self.pinned().scan::<Removals>(&[], None)?;
        Ok(rows.taken("trace", |key, row| match row {
            RemovalRow::Traces(traces) => Ok(Some((key.commit, traces))),
            _ => Ok(None),
        }))
    }

    /// A purge that was begun and has not ended: the oldest one.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn unended_purge(&self) -> Result<Option<UnendedPurge>, StoreError> {
        let rows = self.pinned().scan::<Removals>(&[], None)?;
        let mut unended = rows.taken("purge", |key, row| match row {
            RemovalRow::Unended(reach, documents) => {
                Ok(Some(UnendedPurge { commit: key.commit, reach, documents }))
            }
            _ => Ok(None),
        });
        unended.next().transpose()
    }

    /// The documents that a commit removed, restored or purged.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn removed_by(&self, commit: CommitSeq) -> Result<Option<RoaringTreemap>, StoreError> {
        let key = RemovalKey { commit, part: RemovalPart::Documents };
        self.pinned().read_with::<Removals, _>("removal", &key, |row| match row {
            RemovalRow::Documents(documents) => Ok(documents),
            _ => Err(Malformed::at(0, "the row of another part")),
        })
    }
}

impl Batch<'_> {
    /// Stores which documents this commit removes, restores or purges.
    ///
    /// # Errors
    /// [`StoreError`] when the bitmap cannot be written.
    pub fn put_removal(
        &mut self,
        documents: impl IntoIterator<Item = DocId>,
    ) -> Result<(), StoreError> {
        let documents: RoaringTreemap = documents.into_iter().map(|document| document.0).collect();
        let bytes = bytes_of(&documents, Vec::new())?;
        self.put::<Removals>(&self.removal(RemovalPart::Documents), &bytes)
    }

    /// Stores what is left to know of the documents that this commit purges.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn put_traces(&mut self, traces: &[Trace]) -> Result<(), StoreError> {
        self.put::<Removals>(&self.removal(RemovalPart::Traces), &encode_traces(traces))
    }

    /// Stores that this commit begins a purge of these documents.
    ///
    /// # Errors
    /// [`StoreError`] when the bitmap cannot be written.
    pub fn begin_purge(&mut self, documents: &RoaringTreemap, reach: u8) -> Result<(), StoreError> {
        let bytes = bytes_of(documents, vec![reach])?;
        self.put::<Removals>(&self.removal(RemovalPart::Unended), &bytes)
    }

    /// The purge that `commit` began has ended.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn end_purge(&mut self, commit: CommitSeq) -> Result<(), StoreError> {
        self.delete::<Removals>(&RemovalKey { commit, part: RemovalPart::Unended })
    }

    /// A purge that has not ended goes on with these documents of its own alone.
    ///
    /// # Errors
    /// [`StoreError`] when the bitmap cannot be written.
    pub fn go_on_with(&mut self, purge: &UnendedPurge) -> Result<(), StoreError> {
        let key = RemovalKey { commit: purge.commit, part: RemovalPart::Unended };
        let bytes = bytes_of(&purge.documents, vec![purge.reach])?;
        self.put::<Removals>(&key, &bytes)
    }

    fn removal(&self, part: RemovalPart) -> RemovalKey {
        RemovalKey { commit: self.commit_seq(), part }
    }
}

fn bytes_of(map: &RoaringTreemap, mut out: Vec<u8>) -> Result<Vec<u8>, StoreError> {
    map.serialize_into(&mut out)
        .map_err(|error| StoreError::Encode { what: "bitmap", why: error.to_string() })?;
    Ok(out)
}
