//! Takes decisions over that were made elsewhere, as far as they can be true.
//!
//! What is stored of an imported decision is what would be stored had it been made here: standings, matches, exact
//! rows, buckets and lineage. What a decision says of a document alone, of its witness and of equal texts is held
//! against the store for every document; how much two texts share is computed for those that the caller picks.
//!
//! An import says nothing about stored documents whose witness goes: these are decided here, as ever. So while a load
//! comes in, a document may be kept that is to go, because a better one is not back yet; whoever loads looks at the
//! end.
//!
//! Only the store knows which documents were ever kept and can be a witness, so the code of an ingest decides that here
//! too.

use super::decision::{Decision, ImportContext, ImportedDecision, check_removal};
use super::session::{CommitDecisions, DecisionSession};
use super::text_leaders::lead_as_given;
use model::{DocId, Error, ErrorKind, Match};
use rayon::prelude::*;
use std::collections::BTreeMap;
use text::dedup::{Fingerprinter, Overlap, Rank};

impl DecisionSession {
    /// Takes over what was decided about all that arrived, instead of [`DecisionSession::settle`]. What follows for
    /// stored documents is decided.
    ///
    /// # Errors
    /// [`Error`], of an [`InvalidDecision`] for one that cannot be true; when the store cannot be read.
    pub fn import(
        mut self,
        given: BTreeMap<DocId, ImportedDecision>,
        takeover: ImportContext,
    ) -> Result<CommitDecisions, Error> {
        let may_wait = takeover.changes;
        let removed = given.iter().filter_map(|(id, given)| match given {
            ImportedDecision::Removed(matched) => Some((*id, matched.witness)),
            ImportedDecision::Kept | ImportedDecision::Later => None,
        });
        let removed: Vec<(DocId, DocId)> = removed.collect();
        self.imports.context = Some(takeover);
        self.imports.given = given;
        self.prepare()?;
        if self.overlay.mode().is_transitive() {
            self.import_clusters()?;
        } else {
            self.settle_independent()?;
        }
        for (id, witness) in removed {
            if !may_wait && !self.overlay.is_kept(witness) {
                return Err(untrue(id, NOT_KEPT));
            }
        }
        Ok(CommitDecisions(self))
    }

    fn import_clusters(&mut self) -> Result<(), Error> {
        while let Some(rank) = self.agenda.queue.pop_first() {
            self.check_interrupt()?;
            let id = rank.document;
            let given = self.imports.given.remove(&id);
            let given = given.ok_or_else(|| untrue(id, "it has no decision"))?;
            let decision = self.take(rank, given)?;
            self.conclude(id, decision)?;
            if let Some(sketch) = self.overlay.sketch(id)? {
                let bands = self.overlay.band_keys(id, &sketch)?;
                self.overlay.index(id, bands, |_| false);
            }
        }
        Ok(())
    }

    /// Whether ids are ranks, so that a witness comes before those that it removes.
    #[must_use]
    pub const fn keeps_first(&self) -> bool {
        self.overlay.ranker.is_first()
    }

    /// Takes over what was decided about stored documents that stand otherwise until their witnesses are there.
    ///
    /// # Errors
    /// As [`DecisionSession::import`].
    pub fn import_removals(
        mut self,
        given: &BTreeMap<DocId, Match>,
        takeover: ImportContext,
    ) -> Result<CommitDecisions, Error> {
        let follows = takeover.changes;
        self.imports.context = Some(takeover);
        self.prepare()?;
        let mut gone = Vec::new();
        for (id, matched) in given {
            self.check_interrupt()?;
            let decision = self.removed(*id, *matched)?;
            if self.overlay.is_kept(*id) {
                gone.push(*id);
            }
            self.conclude(*id, decision)?;
        }
        for (id, matched) in given {
            if !self.overlay.is_kept(matched.witness) {
                return Err(untrue(*id, NOT_KEPT));
            }
        }
        if follows {
            gone.into_iter().try_for_each(|witness| self.queue_members(witness))?;
            self.settle_independent()?;
            return Ok(CommitDecisions(self));
        }
        for id in gone {
            if let Some(member) = self.overlay.members(id)?.first() {
                let key = self.overlay.view.display_key(*member)?;
                let why = format!("it is removed, but the witness of document {key:?}");
                return Err(untrue(id, why));
            }
        }
        Ok(CommitDecisions(self))
    }

    /// The decision that was given about a document, if it can be true: of one whose witness is not kept yet, that it
    /// stays until then.
    pub(super) fn take(&mut self, rank: Rank, given: ImportedDecision) -> Result<Decision, Error> {
        let id = rank.document;
        let is_equal = !lead_as_given(&mut self.overlay, &self.imports, rank)?;
        match given {
            ImportedDecision::Removed(matched) => {
                let decision = self.removed(id, matched)?;
                let may_wait = self.imports.may_wait();
                let waits = may_wait && !self.overlay.is_kept(matched.witness);
                Ok(if waits { Decision::KEPT } else { decision })
            }
            ImportedDecision::Kept if is_equal => {
                let why = "it should be kept, but a better-ranked document has the same text";
                Err(untrue(id, why))
            }
            ImportedDecision::Kept | ImportedDecision::Later => Ok(Decision::KEPT),
        }
    }

    /// The decision that a match makes, if it can be true.
    fn removed(&self, id: DocId, matched: Match) -> Result<Decision, Error> {
        let overlay = &self.overlay;
        let side =
            |id| Ok::<_, Error>((overlay.rank(id)?, overlay.scope_of(id)?, overlay.print(id)?));
        check_removal(overlay.view.policy(), side(id)?, side(matched.witness)?, &matched)
            .map_err(|why| untrue(id, why))?;
        self.removal_decision(id, matched)
    }
}

impl CommitDecisions {
    /// Pairs, removed document and witness, whose texts do not share as many shingles as was given, the first of each.
    ///
    /// # Errors
    /// [`Error`], of an [`InvalidDecision`] for the first pair whose overlap is another one; when the store
    /// cannot be read.
    pub fn check_overlaps(&self, pairs: &[(DocId, Match)]) -> Result<(), Error> {
        let policy = self.0.overlay.view.policy();
        let wrong = pairs.par_iter().with_min_len(8).map_init(
            || Fingerprinter::new(policy),
            |craft, (document, matched)| {
                let own = self.0.overlay.shingles(*document, craft)?;
                let other = self.0.overlay.shingles(matched.witness, craft)?;
                let found = Overlap::of(&own, &other).shared;
                if found == matched.shared {
                    return Ok(());
                }
                let why = format!(
                    "it should share {} shingles with its witness and shares {found}",
                    matched.shared
                );
                Err(untrue(*document, why))
            },
        );
        // The first wrong decision in their order, whichever thread meets one first.
        wrong.collect::<Vec<Result<(), Error>>>().into_iter().collect()
    }
}

const NOT_KEPT: &str = "its witness is not kept";

/// A document whose imported decision cannot be true, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("document {document}: {why}")]
pub struct InvalidDecision {
    /// The document.
    pub document: DocId,
    /// What is wrong, in words.
    pub why: String,
}

fn untrue(document: DocId, why: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadInput, InvalidDecision { document, why: why.into() })
}
