//! Walks over the documents whose state differs between two moments, each with what became of it.

use super::moment::{SnapshotInfo, SnapshotState};
use super::reasons::{LossReason, LossReasonReader};
use crate::inspect::InspectError;
use model::DocId;
use roaring::RoaringTreemap;
use store::View;

/// What became of a document between two moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentChange {
    /// The document came, and is kept.
    Added,
    /// The document was stored but not kept, and is kept.
    KeptAgain,
    /// The document was kept, and is not.
    Removed(LossReason),
    /// The document came, and is not kept.
    NotKept(LossReason),
}

impl DocumentChange {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::KeptAgain => "kept_again",
            Self::Removed(_) => "removed",
            Self::NotKept(_) => "not_kept",
        }
    }

    pub(super) const fn loss(self) -> Option<LossReason> {
        match self {
            Self::Added | Self::KeptAgain => None,
            Self::Removed(loss) | Self::NotKept(loss) => Some(loss),
        }
    }
}

/// Walks over the documents that changed, ascending. Holds a bit for each of them, and one for each kept document.
pub(super) struct ChangeReader<'a> {
    from: SnapshotInfo,
    to: SnapshotInfo,
    /// The documents that the later moment keeps.
    kept: RoaringTreemap,
    documents: roaring::treemap::IntoIter,
    reasons: LossReasonReader<'a>,
}

impl<'a> ChangeReader<'a> {
    /// The changes from one moment to a later one.
    pub(super) fn between(
        view: &'a View,
        from: SnapshotState,
        to: SnapshotState,
    ) -> Result<Self, InspectError> {
        if from.info.commit > to.info.commit {
            return Err(InspectError::Backwards {
                from: from.info.name,
                from_commit: from.info.commit,
                to: to.info.name,
                to_commit: to.info.commit,
            });
        }
        let mut documents = from.kept ^ &to.kept;
        let newcomers = from.info.documents..to.info.documents;
        if !newcomers.is_empty() {
            documents.insert_range(newcomers);
        }
        let reasons = LossReasonReader::new(view, &to, DocId(from.info.documents))?;
        let (from, to, kept) = (from.info, to.info, to.kept);
        Ok(Self { from, to, kept, documents: documents.into_iter(), reasons })
    }

    /// The two moments.
    pub(super) fn into_moments(self) -> (SnapshotInfo, SnapshotInfo) {
        (self.from, self.to)
    }

    /// The next document that changed; none behind the last one.
    pub(super) fn next_change(&mut self) -> Result<Option<(DocId, DocumentChange)>, InspectError> {
        let Some(document) = self.documents.next().map(DocId) else { return Ok(None) };
        let is_new = document.0 >= self.from.documents;
        let change = match (is_new, self.kept.contains(document.0)) {
            (true, true) => DocumentChange::Added,
            (false, true) => DocumentChange::KeptAgain,
            (true, false) => DocumentChange::NotKept(self.reasons.of(document)?),
            (false, false) => DocumentChange::Removed(self.reasons.of(document)?),
        };
        Ok(Some((document, change)))
    }
}
