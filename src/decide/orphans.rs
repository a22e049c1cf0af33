//! Documents that lose their witness with a commit, counted before anything is decided.
//!
//! Each of them is decided again in that commit. A cluster whose documents come again in many small commits, each of
//! which takes the witness of all others away, would be decided as often as there are commits. So a commit that takes
//! away more than it brings had better bring more.

use super::error::DecideError;
use super::session::Session;
use crate::model::DocId;
use crate::store::Batch;
use std::collections::{BTreeSet, HashMap};

/// The members of the clusters whose kept documents go.
#[derive(Debug, Default)]
pub struct Orphans {
    clusters: HashMap<DocId, Vec<DocId>>,
    /// Of these, the members that stay.
    count: usize,
}

impl Orphans {
    /// Orphans that no commit waits for, however little it brings: they cost about what the commit itself does.
    const FEW: usize = 128;

    /// Those that the commit makes that supersedes these documents, newcomers of its own among them.
    ///
    /// # Errors
    /// [`DecideError`] when the store cannot be read.
    pub fn of(
        batch: &Batch<'_>,
        superseded: impl Iterator<Item = DocId>,
    ) -> Result<Self, DecideError> {
        let kept = batch.kept_before();
        let gone: BTreeSet<DocId> = superseded.collect();
        let mut orphans = Self::default();
        for witness in gone.iter().filter(|document| kept.contains(document.0)) {
            let members = batch.view().members(*witness)?;
            let stays = members.iter().filter(|member| !gone.contains(member));
            orphans.count += stays.count();
            orphans.clusters.insert(*witness, members);
        }
        Ok(orphans)
    }

    /// With how many documents a commit had better be made, that brings so many now; none when it is fine as it is.
    /// Each further one may be one of the orphans, so that then there are as many documents as orphans; looking
    /// again then halves what is missing at least.
    #[must_use]
    pub const fn want(&self, documents: usize) -> Option<usize> {
        if self.count <= Self::FEW || self.count <= documents {
            return None;
        }
        Some(documents + (self.count - documents).div_ceil(2))
    }
}

impl Session {
    /// Has clusters that were read already not read again.
    pub fn know(&mut self, orphans: Orphans) {
        self.scene.clusters = orphans.clusters;
    }
}
