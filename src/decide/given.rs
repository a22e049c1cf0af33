//! Decisions that were made elsewhere: taken over instead of made, as far as they can be true.
//!
//! What is stored of them is what would be stored had they been made here: standings, matches, exact rows, buckets and
//! lineage. What a decision says of a document alone, of its witness and of texts that are equal is held against what is
//! stored, of every document; how much two texts share is computed for those that the caller picks.

use super::error::DecideError;
use super::session::{Decision, Session};
use super::untrue::Untrue;
use crate::dedup::{Fingerprinter, reaches, shared};
use crate::model::{DedupMode, DocId, Match, Scope, Standing};
use crate::store::Header;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// What was decided about a document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Given {
    /// It is kept.
    Kept,
    /// It is removed for the sake of its witness.
    Removed(Match),
    /// It is removed for the sake of a document that comes later: it is kept until that is there.
    Later,
}

impl Session {
    /// Takes over what was decided about all that arrived, instead of [`Session::settle`].
    ///
    /// # Errors
    /// [`DecideError::Untrue`] for a decision that cannot be true; [`DecideError`] when the store cannot be read.
    pub fn settle_given(&mut self, given: &BTreeMap<DocId, Given>) -> Result<(), DecideError> {
        self.takes_over = true;
        self.remember_texts()?;
        let (is_near, is_transitive) = (self.mode().is_near(), self.mode().is_transitive());
        while let Some(rank) = self.queue.pop_first() {
            self.go_on()?;
            let id = rank.document;
            let header = self.scene.header(id)?;
            let equal = self.lead_given(id, &header)?;
            let decision = match given.get(&id) {
                Some(Given::Removed(matched)) => self.removed(id, &header, *matched)?,
                Some(Given::Kept) if equal.is_some() => {
                    let why =
                        "it is said to be kept, and a better-ranked document has the same text";
                    return Err(untrue(id, why));
                }
                Some(Given::Kept | Given::Later) => {
                    Decision { standing: Standing::Kept, matched: None }
                }
                None => return Err(untrue(id, "nothing was decided about it")),
            };
            self.conclude(id, decision)?;
            let is_kept = decision.standing == Standing::Kept;
            if is_near
                && (is_kept || is_transitive || !self.scene.ranker.is_first())
                && let Some(sketch) = self.scene.sketch(id)?
            {
                let bands = self.scene.band_keys(id, &sketch)?;
                self.scene.index(id, bands, |_, _| false);
            }
        }
        for (id, given) in given {
            if let Given::Removed(matched) = given
                && !self.scene.is_kept(matched.witness)
            {
                return Err(untrue(*id, "its witness is not kept"));
            }
        }
        Ok(())
    }

    /// Whether ids are ranks, so that a witness comes before those that it removes.
    #[must_use]
    pub const fn keeps_first(&self) -> bool {
        self.scene.ranker.is_first()
    }

    /// Takes over what was decided about stored documents that were kept until their witnesses came.
    ///
    /// # Errors
    /// As [`Session::settle_given`].
    pub fn remove_given(&mut self, given: &BTreeMap<DocId, Match>) -> Result<(), DecideError> {
        self.takes_over = true;
        for (id, matched) in given {
            self.go_on()?;
            let header = self.scene.header(*id)?;
            let decision = self.removed(*id, &header, *matched)?;
            self.conclude(*id, decision)?;
        }
        for (id, matched) in given {
            if !self.scene.is_kept(matched.witness) {
                return Err(untrue(*id, "its witness is not kept"));
            }
            if let Some(member) = self.scene.members(*id)?.first() {
                let key = self.scene.view.display_key(&self.scene.header(*member)?)?;
                let why = format!("it is removed, and the witness of a document, {key:?}");
                return Err(untrue(*id, why));
            }
        }
        Ok(())
    }

    /// Pairs, removed document and witness, whose texts do not share as many shingles as was given, the first of each.
    ///
    /// # Errors
    /// [`DecideError::Untrue`] for the first pair whose overlap is another one; [`DecideError`] when the store cannot be
    /// read.
    pub fn compare_given(&self, pairs: &[(DocId, Match)]) -> Result<(), DecideError> {
        let policy = self.scene.view.policy();
        let wrong = pairs.par_iter().with_min_len(8).map_init(
            || Fingerprinter::new(policy),
            |craft, (document, matched)| {
                let own = self.scene.shingles(*document, craft)?;
                let other = self.scene.shingles(matched.witness, craft)?;
                let found = shared(&own, &other);
                if found == matched.shared {
                    return Ok(());
                }
                let why = format!(
                    "it is said to share {} shingles with its witness, and shares {found}",
                    matched.shared
                );
                Err(untrue(*document, why))
            },
        );
        // The first of them in their order, whoever finds one first.
        wrong.collect::<Vec<Result<(), DecideError>>>().into_iter().collect()
    }

    /// The document leads its texts if it outranks those that do; answers whether one that outranks it has one of them.
    fn lead_given(&mut self, id: DocId, header: &Header) -> Result<Option<DocId>, DecideError> {
        let rank = self.scene.rank(id)?;
        let mut better = None;
        for form in self.forms() {
            let hash = self.scene.text_hash(*form, header);
            let leader = self.scene.exact(*form, hash)?;
            let leads = match leader {
                Some(leader) => rank < self.scene.rank(leader)?,
                None => true,
            };
            if leads {
                self.scene.exact.insert((*form, hash), Some(id));
            } else {
                better = leader;
            }
        }
        Ok(better)
    }

    /// The decision that a match makes, if it can be true.
    fn removed(&self, id: DocId, header: &Header, matched: Match) -> Result<Decision, DecideError> {
        let witness = self.scene.header(matched.witness)?;
        let policy = self.scene.view.policy();
        if self.scene.rank(matched.witness)? >= self.scene.rank(id)? {
            let why = format!("its witness does not outrank it (keep order {})", policy.keep);
            return Err(untrue(id, why));
        }
        if policy.scope == Scope::PerSource && witness.source != header.source {
            return Err(untrue(id, "its witness is of another source"));
        }
        for (whose, said, has) in [
            ("it", matched.removed_shingles, header.shingles),
            ("its witness", matched.witness_shingles, witness.shingles),
        ] {
            if said != has {
                let why = format!("{whose} is said to have {said} shingles, and has {has}");
                return Err(untrue(id, why));
            }
        }
        let (own, other) = (header.shingles as usize, witness.shingles as usize);
        let is_equal = witness.raw == header.raw;
        let is_far = match self.mode() {
            DedupMode::None => return Err(untrue(id, "in mode `none` nothing is removed")),
            DedupMode::Exact => !is_equal,
            DedupMode::Witness => {
                !is_equal && !reaches(matched.shared as usize, own, other, policy.threshold)
            }
            DedupMode::Components | DedupMode::Lsh => false,
        };
        if is_far {
            let why = format!(
                "it shares {} shingles with its witness, of {own} and {other}: not enough in mode `{}`",
                matched.shared,
                self.mode().name()
            );
            return Err(untrue(id, why));
        }
        self.standing_by(header, matched)
    }
}

fn untrue(document: DocId, why: impl Into<String>) -> DecideError {
    DecideError::Untrue(Untrue { document, why: why.into() })
}
