//! Why a document is not kept, and the document that a text leads to.

use super::Batch;
use crate::model::{DocId, Match, MatchKind};
use crate::store::columns::{Exact, Matches, Members};
use crate::store::error::StoreError;
use crate::store::rows::ids;
use crate::store::rows::keys::{ExactKey, MatchKey, MemberKey};
use crate::store::rows::kinds::TextKind;
use crate::store::rows::matches::{encode_match, encode_member};

impl Batch<'_> {
    /// Records why a document is not kept (`now`; none when it is kept or alone), replacing `before`.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn explain(
        &mut self,
        removed: DocId,
        before: Option<&Match>,
        now: Option<&Match>,
    ) -> Result<(), StoreError> {
        if before == now {
            return Ok(());
        }
        let (generation, commit) = (self.view.generation(), self.commit_seq());
        self.put::<Matches>(&MatchKey { generation, removed, commit }, &encode_match(now))?;
        let in_cluster = |found: &&Match| found.kind != MatchKind::Superseded;
        let (left, joined) = (before.filter(in_cluster), now.filter(in_cluster));
        if left.map(|found| found.witness) != joined.map(|found| found.witness) {
            for (found, state) in [(left, false), (joined, true)] {
                if let Some(found) = found {
                    let key = MemberKey { generation, witness: found.witness, removed, commit };
                    self.put::<Members>(&key, &encode_member(state))?;
                }
            }
        }
        Ok(())
    }

    /// Names the best-ranked eligible document of a text; none forgets the text.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn exact(
        &mut self,
        kind: TextKind,
        hash: [u8; 16],
        document: Option<DocId>,
    ) -> Result<(), StoreError> {
        let key = ExactKey { generation: self.view.generation(), kind, hash };
        match document {
            Some(document) => self.put::<Exact>(&key, &ids::encode_document(document)),
            None => self.delete::<Exact>(&key),
        }
    }
}
