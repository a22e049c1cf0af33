//! Why documents are not kept, and whom a witness stands for.

use super::View;
use crate::model::{CommitSeq, DocId, Match};
use crate::store::columns::{Matches, Members};
use crate::store::error::StoreError;
use crate::store::rows::keys::Key;
use crate::store::rows::keys::{MatchKey, MemberKey};
use crate::store::rows::matches::{decode_match, decode_member};

impl View {
    /// Why a document is not kept, when another document is the reason.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn match_of(&self, removed: DocId) -> Result<Option<Match>, StoreError> {
        let from =
            MatchKey { generation: self.generation(), removed, commit: CommitSeq(0) }.to_bytes();
        let prefix = from.get(..12).unwrap_or_default();
        let mut rows = self.pinned().scan_prefix::<Matches>(prefix)?;
        let mut newest = None;
        while let Some((_, found)) = rows.next_as("match", decode_match)? {
            newest = found;
        }
        Ok(newest)
    }

    /// Calls `each` with the newest match of every document that has one, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read, or what `each` returns.
    pub fn for_each_match<E: From<StoreError>>(
        &self,
        mut each: impl FnMut(DocId, CommitSeq, Match) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rows = self.pinned().scan_prefix::<Matches>(
            &crate::store::rows::matches::generation_prefix(self.generation()),
        )?;
        let mut newest: Option<(MatchKey, Option<Match>)> = None;
        while let Some((key, found)) = rows.next_as("match", decode_match)? {
            if let Some((before, Some(done))) = newest.take()
                && before.removed != key.removed
            {
                each(before.removed, before.commit, done)?;
            }
            newest = Some((key, found));
        }
        if let Some((key, Some(done))) = newest {
            each(key.removed, key.commit, done)?;
        }
        Ok(())
    }

    /// The documents whose witness this document is now, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn members(&self, witness: DocId) -> Result<Vec<DocId>, StoreError> {
        let key = MemberKey {
            generation: self.generation(),
            witness,
            removed: DocId(0),
            commit: CommitSeq(0),
        };
        let key = key.to_bytes();
        let mut rows = self.pinned().scan_prefix::<Members>(key.get(..12).unwrap_or_default())?;
        let mut found: Vec<DocId> = Vec::new();
        while let Some((key, joined)) = rows.next_as("member", decode_member)? {
            // Rows of a pair are in commit order: the last one counts.
            if found.last() == Some(&key.removed) {
                found.pop();
            }
            if joined {
                found.push(key.removed);
            }
        }
        Ok(found)
    }
}
