//! Lineage: whose place each document took, which keeps a document on its side of a holdout through re-crawls.
//!
//! A document takes the place of the one it supersedes, of those it displaces as witness, of its own witness when that
//! goes, and of similar documents that depart in the commit it comes in (`successors`). It then has their roots instead
//! of, or beside, itself. A duplicate that was never anything else has its witness's roots, without rows; a newcomer
//! that is similar to nothing has its own.

use super::session::CommitDecisions;
use model::{DocId, Error, Generation, Match, Standing};
use std::collections::BTreeMap;
use store::{CommitBatch, LineageRoots, View};

/// The roots of documents as a view has them, and as a commit will leave them.
pub struct Lineages<'v> {
    view: &'v View,
    generations: Vec<Generation>,
    changed: BTreeMap<DocId, LineageRoots>,
}

impl<'v> Lineages<'v> {
    /// The lineages of a view.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn new(view: &'v View) -> Result<Self, Error> {
        let generations = view.lineage_generations()?;
        Ok(Self { view, generations, changed: BTreeMap::new() })
    }

    fn stored(&self, document: DocId) -> Result<LineageRoots, Error> {
        if self.generations.is_empty() {
            return Ok(LineageRoots::default());
        }
        Ok(self.view.lineage(&self.generations, document)?)
    }

    /// The roots of a stored document that `matched` explains.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn before(&self, document: DocId, matched: Option<Match>) -> Result<LineageRoots, Error> {
        let mut roots = self.stored(document)?;
        if let Some(witness) = matched.and_then(in_cluster) {
            let of_witness = self.stored(witness)?;
            roots.join(&if of_witness.is_empty() { LineageRoots::of(witness) } else { of_witness });
        }
        Ok(if roots.is_empty() { LineageRoots::of(document) } else { roots })
    }

    /// Adds roots to a document; `own` are those it has without this commit.
    pub fn join(&mut self, document: DocId, own: LineageRoots, more: &LineageRoots) {
        self.changed.entry(document).or_insert(own).join(more);
    }

    /// What a document has by now; none when this commit did not change it.
    #[must_use]
    pub fn now(&self, document: DocId) -> Option<&LineageRoots> {
        self.changed.get(&document)
    }

    /// The rows that the store does not have yet: document and further roots.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn rows(self) -> Result<Vec<(DocId, Vec<DocId>)>, Error> {
        let mut rows = Vec::new();
        for (document, roots) in &self.changed {
            let stored = self.stored(*document)?;
            if stored.is_empty() && *roots == LineageRoots::of(*document) {
                continue;
            }
            let new = roots.iter().filter(|root| stored.iter().all(|known| known != *root));
            let new: Vec<DocId> = new.collect();
            if !new.is_empty() {
                rows.push((*document, new));
            }
        }
        Ok(rows)
    }
}

/// The witness of a duplicate.
pub(super) fn in_cluster(matched: Match) -> Option<DocId> {
    (matched.is_duplicate()).then_some(matched.witness)
}

impl CommitDecisions {
    /// A stored document's roots without this commit; none of a newcomer.
    pub(super) fn roots_before(
        &self,
        lineages: &Lineages<'_>,
        document: DocId,
    ) -> Result<LineageRoots, Error> {
        if self.0.overlay.is_new(document) {
            return Ok(LineageRoots::default());
        }
        if self.0.imports.is_imported(document) {
            return lineages.stored(document);
        }
        let matched = match self.0.overlay.match_change(document) {
            Some(change) => change.before,
            // Only documents that are kept and stay so come here, and no match explains them.
            None => None,
        };
        lineages.before(document, matched)
    }

    /// Whether a document comes with this commit, or with the load that this commit is part of: which of its commits
    /// that was does not matter.
    fn is_newcomer(&self, document: DocId) -> bool {
        self.0.overlay.is_new(document) || self.0.imports.is_imported(document)
    }

    /// The roots of a document as this commit has them so far, else as they were before it.
    pub(super) fn own_roots(
        &self,
        lineages: &Lineages<'_>,
        document: DocId,
    ) -> Result<LineageRoots, Error> {
        match lineages.now(document) {
            Some(roots) => Ok(roots.clone()),
            None => self.roots_before(lineages, document),
        }
    }

    /// The roots of a document so far; a newcomer that has none is its own root.
    pub(super) fn roots_or_itself(
        &self,
        lineages: &Lineages<'_>,
        document: DocId,
    ) -> Result<LineageRoots, Error> {
        let roots = self.own_roots(lineages, document)?;
        Ok(if roots.is_empty() { LineageRoots::of(document) } else { roots })
    }

    /// Writes whose place the documents of this commit took, and says how many texts were compared for it.
    /// Reads nothing for newcomers that supersede nothing and displace nothing.
    pub(super) fn write_lineage(
        &self,
        batch: &mut CommitBatch<'_>,
        departing: &[DocId],
    ) -> Result<u64, Error> {
        let overlay = &self.0.overlay;
        let view = overlay.view.clone();
        let mut lineages = Lineages::new(&view)?;
        let mut departures = self.departures(departing, batch.carry_over_budget())?;
        let before = |lineages: &Lineages<'_>, document| self.roots_before(lineages, document);
        // Successors go in the order of ids, so that a newcomer which another one supersedes has its own roots by
        // then.
        for (new, old) in &self.0.agenda.superseded {
            let of_old = self.roots_or_itself(&lineages, *old)?;
            lineages.join(*new, LineageRoots::default(), &of_old);
        }
        for (document, change) in overlay.match_changes() {
            let next = change.now.and_then(in_cluster);
            let moved = next.filter(|_| change.before.and_then(in_cluster) != next);
            let Some(next) = moved else { continue };
            let standing = overlay.standing_change(document);
            let was_kept = standing.is_some_and(|change| change.before == Some(Standing::Kept));
            let takes = if self.is_newcomer(document) {
                let own = self.own_roots(&lineages, document)?;
                // Had it come alone, it would have been kept until its witness came.
                let waited = self.is_newcomer(next) && document < next;
                match own.is_empty() {
                    false => own,
                    true if waited => LineageRoots::of(document),
                    true => continue,
                }
            } else if was_kept {
                self.own_roots(&lineages, document)?
            } else {
                continue;
            };
            let own = before(&lineages, next)?;
            lineages.join(next, own, &takes);
        }
        if let Some(departures) = &mut departures {
            self.pass_lineages_on(departures, &mut lineages, true)?;
        }
        for (document, change) in overlay.match_changes() {
            let Some(was) = change.before else { continue };
            let (witness, next) = (in_cluster(was), change.now.and_then(in_cluster));
            let is_superseded = overlay.standing(document)? == Some(Standing::Superseded);
            if self.is_newcomer(document) || witness == next || is_superseded {
                continue;
            }
            let own = before(&lineages, document)?;
            if witness.is_none() {
                // The document takes back the place of what superseded it.
                let of_successor = before(&lineages, was.witness)?;
                lineages.join(document, own, &of_successor);
            } else if !next.and_then(|next| lineages.now(next)).is_some_and(|now| now.holds(&own)) {
                // The document's witness went and nothing took its place: the document continues by itself.
                lineages.join(document, own, &LineageRoots::default());
            }
        }
        if let Some(departures) = &mut departures {
            self.pass_lineages_on(departures, &mut lineages, false)?;
        }
        for (document, roots) in lineages.rows()? {
            batch.add_roots(document, &roots)?;
        }
        Ok(departures.map_or(0, |departures| departures.verified))
    }
}
