//! Walks over the documents whose state differs at a later moment, with the reasons as they were then.

use super::moment::{SnapshotInfo, SnapshotState};
use crate::inspect::InspectError;
use model::{CommitSeq, DocId, Generation, Match, Standing};
use roaring::RoaringTreemap;
use store::{BlockStandings, MatchIter, View};

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

/// The standing for which a document was not kept; none: what said it is gone, or was taken back since.
pub(in crate::inspect) type LossKind = Option<Standing>;

/// The word for a reason in reports and JSON.
pub(super) fn reason_name(reason: LossKind) -> &'static str {
    reason.map_or("unknown", Standing::name)
}

/// Why a document was not kept, with the witness or successor that is the reason, where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::inspect) struct LossReason {
    pub(in crate::inspect) reason: LossKind,
    pub(in crate::inspect) other: Option<DocId>,
}

/// Gives the reason why a document was not kept, for documents in ascending order.
///
/// A witness or successor is the one at the snapshot: the newest row until then counts. Removal, blocks and emptiness
/// leave no row: their state is taken from the last moment of the same policy, which is now, or when another policy
/// took over.
pub(in crate::inspect) struct LossReasonReader<'a> {
    view: &'a View,
    at: (Generation, CommitSeq),
    /// From this document on, matches are read one after another: those of newcomers.
    newcomers: DocId,
    matches: MatchIter<'a>,
    next: Option<(DocId, Match)>,
    /// The view under the policy of the moment.
    under: View,
    standings: Option<(u64, BlockStandings)>,
}

impl<'a> LossReasonReader<'a> {
    /// The reasons at `moment`. Documents stored before `newcomers` are looked up one by one, since few of them are
    /// asked about.
    pub(in crate::inspect) fn new(
        view: &'a View,
        moment: &SnapshotState,
        newcomers: DocId,
    ) -> Result<Self, InspectError> {
        let matches = view.matched_at(moment.at(), newcomers.0..moment.info.documents)?;
        let under = view.with_policy(view.policy().clone(), moment.generation);
        let at = moment.at();
        Ok(Self { view, at, newcomers, matches, next: None, under, standings: None })
    }

    pub(in crate::inspect) fn of(&mut self, document: DocId) -> Result<LossReason, InspectError> {
        let matched = match document < self.newcomers {
            true => self.view.match_at(self.at, document)?,
            false => self.of_newcomer(document)?,
        };
        if let Some(found) = matched {
            return Ok(LossReason {
                reason: Some(found.kind.standing()),
                other: Some(found.witness),
            });
        }
        let is_without_match = |standing: &Standing| {
            use Standing::{Blocked, Empty, Purged, Removed};
            matches!(standing, Blocked | Empty | Purged | Removed)
        };
        Ok(LossReason { reason: self.standing(document)?.filter(is_without_match), other: None })
    }

    fn of_newcomer(&mut self, document: DocId) -> Result<Option<Match>, InspectError> {
        while self.next.is_none_or(|(at, _)| at < document) {
            let Some(row) = self.matches.next().transpose()? else {
                self.next = None;
                return Ok(None);
            };
            self.next = Some((row.0, row.2));
        }
        Ok(self.next.filter(|(at, _)| *at == document).map(|(_, found)| found))
    }

    fn standing(&mut self, document: DocId) -> Result<Option<Standing>, InspectError> {
        let block = document.block();
        let standings = match &mut self.standings {
            Some((known, standings)) if *known == block => standings,
            place => &mut place.insert((block, self.under.block_standings(block)?)).1,
        };
        Ok(standings.of(document.slot()))
    }
}
