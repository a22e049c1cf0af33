//! Asking the crowd for one document, and telling it of those that join.

use super::crowd::{CROWDED, CrowdMember, WHOLE, share_a_bucket};
use super::crowd_search::closest;
use super::error::DecideError;
use super::session::DecisionSession;
use crate::dedup::{FamilyQuery, Rank, Sketch, estimate_floor};
use crate::model::DocId;
use std::collections::BTreeSet;

impl DecisionSession {
    /// Kept documents that joined buckets of these in this commit, where all of them are looked at. `taken` tells
    /// how many members the store has in each; with these too many, the bucket comes into the crowd.
    pub(super) fn joined_before(
        &mut self,
        keys: &[(u8, u64)],
        taken: &[usize],
    ) -> Result<BTreeSet<DocId>, DecideError> {
        let mut found = BTreeSet::new();
        let mut filled = Vec::new();
        for (key, taken) in keys.iter().zip(taken) {
            let joined = self.scene.local(key.0, key.1);
            if joined.is_empty() || self.crowd.held(key.0, key.1).is_some() {
                continue;
            }
            if taken + joined.len() > CROWDED {
                filled.push(*key);
            } else {
                found.extend(joined.iter().copied());
            }
        }
        if !filled.is_empty() {
            self.absorb(&filled)?;
        }
        Ok(found)
    }

    /// Takes these buckets into the crowd, with those that joined them in this commit.
    fn absorb(&mut self, filled: &[(u8, u64)]) -> Result<(), DecideError> {
        for part in filled.chunks(WHOLE) {
            let scene = &self.scene;
            let stored = scene.view.buckets(part, usize::MAX, |other| scene.is_kept(other))?;
            for (key, bucket) in part.iter().zip(stored) {
                let mut members: BTreeSet<DocId> =
                    bucket.map(|bucket| bucket.members).unwrap_or_default().into_iter().collect();
                members.extend(scene.local(key.0, key.1));
                let members: Vec<DocId> = members.into_iter().collect();
                self.crowd.absorb(*key, &members, &|part| scene.entrants(part))?;
            }
        }
        Ok(())
    }

    /// Members of the crowd that share one of these buckets and may be similar, of those that `admit` lets
    /// pass; and of buckets that it has no room for, the closest that joined in this commit.
    pub(super) fn crowded(
        &mut self,
        document: DocId,
        sketch: &Sketch,
        keys: &[(u8, u64)],
        admit: impl Fn(Rank) -> bool,
    ) -> Result<BTreeSet<Rank>, DecideError> {
        if self.crowd.is_empty() {
            return Ok(BTreeSet::new());
        }
        let held: Vec<(u8, u64)> = keys
            .iter()
            .copied()
            .filter(|(band, hash)| self.crowd.held(*band, *hash).is_some())
            .collect();
        if held.is_empty() {
            return Ok(BTreeSet::new());
        }
        let shingles = self.scene.shingles(document, &mut self.craft)?;
        let floor = estimate_floor(self.scene.view.policy());
        let sought = FamilyQuery { shingles: &shingles, sketch, floor };
        let scene = &self.scene;
        let admitted = |other: DocId| {
            other != document
                && scene.is_kept(other)
                // An error counts as yes: it shows when the candidate is looked at.
                && scene.rank(other).map_or(true, &admit)
        };
        let own: Vec<u64> = keys.iter().map(|(_, hash)| *hash).collect();
        let mut found = self.crowd.find(&held, sought, admitted);
        found.extend(self.crowd.find_late(sought, admitted));
        let mut candidates = BTreeSet::new();
        for other in found {
            let Some(theirs) = self.scene.sketch(other)? else { continue };
            let theirs = self.scene.band_keys(other, &theirs)?;
            if share_a_bucket(&theirs, &own) {
                candidates.insert(self.scene.rank(other)?);
            }
        }
        candidates.extend(self.joined_beyond(document, sketch, &held, &admit)?);
        let scene = &self.scene;
        let is_kept = |other| scene.is_kept(other);
        self.crowd.freshen(&held, is_kept, |_| None, &|part| scene.entrants(part))?;
        Ok(candidates)
    }

    /// The closest of those that joined, in this commit, buckets that the crowd has no room for.
    fn joined_beyond(
        &mut self,
        document: DocId,
        sketch: &Sketch,
        held: &[(u8, u64)],
        admit: impl Fn(Rank) -> bool,
    ) -> Result<Vec<Rank>, DecideError> {
        let mut joined = BTreeSet::new();
        for (band, hash) in held {
            let is_whole = self.crowd.held(*band, *hash).is_some_and(|held| held.is_whole);
            let members = self.scene.local(*band, *hash);
            if is_whole {
                continue;
            }
            self.counts.capped += u64::from(members.len() > self.reach.read);
            for other in members.iter().take(self.reach.read) {
                let rank = self.scene.rank(*other)?;
                if *other != document && self.scene.is_kept(*other) && admit(rank) {
                    joined.insert(rank);
                }
            }
        }
        if joined.is_empty() {
            return Ok(Vec::new());
        }
        let (close, passed) = closest(&self.scene, sketch, joined, self.reach.verified)?;
        self.passed.count += passed.count;
        self.passed.example = self.passed.example.or(passed.example);
        Ok(close)
    }

    /// The document is kept and in its buckets from now on.
    pub(super) fn join_crowd(
        &mut self,
        document: DocId,
        sketch: &Sketch,
        keys: &[(u8, u64)],
    ) -> Result<(), DecideError> {
        if self.crowd.is_empty() {
            return Ok(());
        }
        let (scene, craft) = (&self.scene, std::cell::RefCell::new(&mut self.craft));
        self.crowd.join(keys, || {
            let shingles = scene.shingles(document, *craft.borrow_mut())?;
            Ok(CrowdMember { document, sketch: sketch.clone(), shingles })
        })
    }
}
