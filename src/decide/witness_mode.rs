//! Modes `witness` and `exact`: the lexicographically first maximal independent set, kept up to date.
//!
//! A document is removed if and only if a kept document that outranks it is similar. So a decision depends on documents
//! of better rank only. What is to be decided waits in rank order; a document that becomes kept, or stops being kept,
//! queues the documents behind it that it may matter to: each is decided once.
//!
//! Removed documents that a newly kept document explains better than their witness does are decided again, so that the
//! witness named is the best-ranked similar kept document, whatever came first. Only a document that is in the buckets
//! is found: in keep orders other than `first` every one that was decided is, under `first` those that were kept once,
//! or lost a witness.

use super::buckets::FollowerCache;
use super::crowd::WHOLE;
use super::crowd_search::{SketchedDocument, SkippedCandidates};
use super::decision::Decision;
use super::session::DecisionSession;
use super::text_leaders::twin_before;
use model::{BucketKey, DedupMode, DocId, Error, Match, Standing, bucket_keys};
use std::collections::{BTreeSet, HashMap};
use text::dedup::{Overlap, Rank, Sketch};

/// Documents looked up at once when one turns out not to be.
const AHEAD: usize = 512;

impl DecisionSession {
    pub(super) fn settle_independent(&mut self) -> Result<(), Error> {
        self.queue_orphans()?;
        let is_near = self.overlay.mode() == DedupMode::Witness;
        if is_near {
            self.look_up(usize::MAX)?;
            self.overlay.reserve_buckets(self.agenda.queue.len());
        }
        while let Some(rank) = self.agenda.queue.first().copied() {
            self.check_interrupt()?;
            let id = rank.document;
            let was_kept = self.overlay.is_kept(id);
            let decision = match self.imports.given.remove(&id) {
                Some(given) => self.take(rank, given)?,
                None => self.decide(rank)?,
            };
            self.agenda.queue.remove(&rank);
            let is_kept = decision.standing == Standing::Kept;
            if was_kept && !is_kept {
                self.queue_members(id)?;
            }
            self.conclude(id, decision)?;
            if is_near
                && (is_kept || !self.overlay.is_new(id) || !self.overlay.ranker.is_first())
                && let Some(sketch) = self.overlay.sketch(id)?
            {
                if is_kept && (!was_kept || self.agenda.reconsidered.contains(&id)) {
                    self.queue_outranked(rank, &sketch)?;
                }
                self.join_buckets(id, &sketch, is_kept)?;
            }
        }
        Ok(())
    }

    /// Queues the documents whose witness departed, to be decided again.
    fn queue_orphans(&mut self) -> Result<(), Error> {
        let gone: Vec<DocId> = self
            .agenda
            .departed
            .iter()
            .filter(|(id, kept)| id == kept)
            .map(|(id, _)| *id)
            .collect();
        gone.into_iter().try_for_each(|witness| self.queue_members(witness))
    }

    /// Queues the documents that one was the witness of, to be decided again.
    pub(super) fn queue_members(&mut self, witness: DocId) -> Result<(), Error> {
        for member in self.overlay.members(witness)? {
            let rank = self.overlay.rank(member)?;
            self.agenda.queue.insert(rank);
        }
        Ok(())
    }

    /// Looks up, in parallel, the next `most` documents to be decided, except those whose answer still holds and those
    /// that follow a text that is stored already.
    fn look_up(&mut self, most: usize) -> Result<(), Error> {
        let mut wanted = Vec::new();
        for rank in self.agenda.queue.iter().take(most) {
            let document = rank.document;
            if self.imports.given.contains_key(&document)
                || self.finder.is_looked_up(&self.overlay, document)
            {
                continue;
            }
            let Some(sketch) = self.overlay.sketch(document)? else { continue };
            if twin_before(&self.overlay, *rank)?.is_some() {
                continue;
            }
            let bands = self.overlay.band_keys(document, &sketch)?;
            wanted.push(SketchedDocument { document, sketch, bands });
        }
        self.take_in(wanted)
    }

    fn take_in(&mut self, wanted: Vec<SketchedDocument>) -> Result<(), Error> {
        self.counts += self.finder.look_up(&self.overlay, wanted, &self.interrupt)?;
        Ok(())
    }

    /// The standing of an eligible document, given that everything of better rank is decided.
    fn decide(&mut self, rank: Rank) -> Result<Decision, Error> {
        let followed = match twin_before(&self.overlay, rank)? {
            Some(twin) => self.follow(rank.document, twin)?,
            None => None,
        };
        let outranked = self.leaders.lead(&mut self.overlay, &self.imports, rank)?;
        self.agenda.queue.extend(outranked);
        if let Some(decision) = followed {
            return Ok(decision);
        }
        if self.overlay.mode() == DedupMode::Exact {
            return Ok(Decision::KEPT);
        }
        match self.nearest(rank)? {
            Some(matched) => self.removal_decision(rank.document, matched),
            None => Ok(Decision::KEPT),
        }
    }

    /// The decision of a document whose text, raw or normalised, is that of `twin`: that of the twin.
    fn follow(&mut self, document: DocId, twin: DocId) -> Result<Option<Decision>, Error> {
        let witness = if self.overlay.is_kept(twin) {
            Overlap::whole(self.overlay.print(document)?.shingles).match_to(twin)
        } else {
            match self.overlay.match_of(twin)? {
                Some(matched) if self.overlay.is_kept(matched.witness) => matched,
                _ => return Ok(None),
            }
        };
        // What the twin's decision left out, this one leaves out.
        if self.overlay.mode() == DedupMode::Witness
            && self.marks.is_open(&self.overlay, &self.agenda.reconsidered, twin)?
        {
            self.finder.skipped = SkippedCandidates::default();
            self.mark_open(document);
        }
        self.removal_decision(document, witness).map(Some)
    }

    /// The best-ranked kept document that is similar and outranks this one.
    fn nearest(&mut self, rank: Rank) -> Result<Option<Match>, Error> {
        let id = rank.document;
        let Some(sketch) = self.overlay.sketch(id)? else {
            return Ok(None);
        };
        if !self.finder.is_looked_up(&self.overlay, id) {
            // What comes next is likely in the same place: orphans of one witness.
            self.look_up(AHEAD)?;
        }
        if !self.finder.is_looked_up(&self.overlay, id) {
            let bands = self.overlay.band_keys(id, &sketch)?;
            self.take_in(vec![SketchedDocument { document: id, sketch: sketch.clone(), bands }])?;
        }
        let Some(found) = self.finder.prefetched.remove(&id) else { return Ok(None) };
        self.finder.skipped = found.skipped;
        self.counts.capped += found.capped;
        let capped = self.counts.capped;
        let nearest = found.nearest;
        let best =
            nearest.map(|found| self.overlay.rank(found.witness)).transpose()?.unwrap_or(rank);
        let keys: Vec<BucketKey> = bucket_keys(&found.bands).collect();
        let mut candidates = BTreeSet::new();
        let joined = self
            .finder
            .crowd_search(&self.overlay, &mut self.counts.capped)
            .joined_before(&keys, &found.stored_counts)?;
        let asked = self.finder.crowd.families_of(keys.iter().copied());
        let asks_crowd = keys.iter().any(|key| self.finder.crowd.held(*key).is_some());
        for other in joined {
            let is_told = self.finder.crowd.tells_of(&asked, other)
                || asks_crowd && self.finder.crowd.tells_of_late(other);
            if other != id && self.overlay.is_kept(other) && !is_told {
                let other = self.overlay.rank(other)?;
                candidates.extend((other < best).then_some(other));
            }
        }
        candidates.extend(self.finder.crowd_search(&self.overlay, &mut self.counts.capped).ask(
            id,
            &sketch,
            &keys,
            |other| other < best,
        )?);
        let is_partial =
            self.finder.skipped.count > 0 || found.capped > 0 || self.counts.capped > capped;
        self.finder.prefetched.insert(id, found);
        let similar = self
            .finder
            .first_similar(&self.overlay, (id, &sketch), candidates, &mut self.counts)?
            .or(nearest);
        if is_partial {
            self.mark_open(id);
        }
        Ok(similar)
    }

    /// A document that is kept now and was not matters to similar ones that it outranks: kept ones, and removed
    /// ones whose witness it outranks. They are decided again.
    fn queue_outranked(&mut self, rank: Rank, sketch: &Sketch) -> Result<(), Error> {
        let id = rank.document;
        if self.overlay.is_new(id) && self.overlay.ranker.is_first() {
            return Ok(());
        }
        let Some(found) = self.finder.prefetched.get(&id) else { return Ok(()) };
        let keys: Vec<BucketKey> = bucket_keys(&found.bands).collect();
        for other in found.outranked.clone() {
            if self.overlay.is_kept(other) {
                let other = self.overlay.rank(other)?;
                self.agenda.queue.insert(other);
            }
        }
        let stored = found.buckets.clone();
        let before = (self.counts.capped, self.finder.skipped.count);
        let candidates = self.finder.crowd_search(&self.overlay, &mut self.counts.capped).ask(
            id,
            sketch,
            &keys,
            |other| other > rank,
        )?;
        if before != (self.counts.capped, self.finder.skipped.count) {
            self.mark_open(id);
        }
        for candidate in candidates {
            if self
                .finder
                .first_similar(&self.overlay, (id, sketch), [candidate], &mut self.counts)?
                .is_some()
            {
                self.agenda.queue.insert(candidate);
            }
        }
        self.queue_followers(rank, sketch, &keys, &stored)
    }

    fn join_buckets(&mut self, id: DocId, sketch: &Sketch, is_kept: bool) -> Result<(), Error> {
        let bands = match self.finder.prefetched.get(&id) {
            Some(found) => found.bands.clone(),
            None => self.overlay.band_keys(id, sketch)?,
        };
        if is_kept {
            let keys: Vec<BucketKey> = bucket_keys(&bands).collect();
            self.finder
                .crowd_search(&self.overlay, &mut self.counts.capped)
                .join(id, sketch, &keys)?;
        }
        // Members of crowded buckets are met in the crowd, if it has room for them.
        let (crowd, awaits) = (&self.finder.crowd, self.finder.crowd.awaits_late());
        let is_told = |key| crowd.held(key).is_some_and(|held| held.is_whole || awaits);
        self.overlay.index(id, bands, |key| is_kept && !is_told(key));
        Ok(())
    }
}

/// Ranks of the witnesses of removed documents, while one document is examined.
type WitnessRanks = HashMap<DocId, Option<Rank>>;

impl DecisionSession {
    /// Queues the removed documents that the newly kept document is similar to and a better-ranked witness for.
    pub(super) fn queue_followers(
        &mut self,
        rank: Rank,
        sketch: &Sketch,
        keys: &[BucketKey],
        stored: &[Option<(DocId, bool)>],
    ) -> Result<(), Error> {
        let mut followers = BTreeSet::new();
        let mut shared = Vec::new();
        for (key, found) in keys.iter().zip(stored) {
            match found {
                Some((_, true)) => shared.push(*key),
                Some((only, false)) if !self.overlay.is_kept(*only) => {
                    followers.insert(*only);
                }
                _ => {}
            }
        }
        let mut witnesses = WitnessRanks::new();
        for keys in shared.chunks(WHOLE) {
            let unread: Vec<BucketKey> = keys
                .iter()
                .filter(|key| self.finder.followers.of(**key).is_none())
                .copied()
                .collect();
            let is_removed = |document| !self.overlay.is_kept(document);
            let read = self.overlay.view.buckets(&unread, usize::MAX, is_removed)?;
            let of = |known: &[(Rank, DocId)]| -> Vec<DocId> {
                let outranked = known.iter().take_while(|(witness, _)| *witness > rank);
                outranked.map(|(_, document)| *document).collect()
            };
            let known = keys.iter().filter_map(|key| self.finder.followers.of(*key));
            known.for_each(|known| followers.extend(of(known)));
            for (key, bucket) in unread.into_iter().zip(read) {
                let members = bucket.map(|bucket| bucket.members).unwrap_or_default();
                let read = self.removed_members(members, &mut witnesses)?;
                followers.extend(of(&read));
                self.finder.followers.remember(key, read);
            }
        }
        for document in followers {
            let other = self.overlay.rank(document)?;
            if other <= rank || self.agenda.queue.contains(&other) || self.overlay.is_kept(document)
            {
                continue;
            }
            let Some(matched) = self.overlay.match_of(document)? else { continue };
            if self.overlay.is_eligible(document)?
                && self.overlay.rank(matched.witness)? > rank
                && self
                    .finder
                    .first_similar(
                        &self.overlay,
                        (rank.document, sketch),
                        [other],
                        &mut self.counts,
                    )?
                    .is_some()
            {
                self.agenda.queue.insert(other);
            }
        }
        Ok(())
    }

    /// The removed ones among the members of a bucket, each with the rank of its witness: the worst-ranked first.
    fn removed_members(
        &self,
        members: Vec<DocId>,
        witnesses: &mut WitnessRanks,
    ) -> Result<Vec<(Rank, DocId)>, Error> {
        let mut found = Vec::new();
        for document in members {
            // Most are in many of the buckets.
            let witness = match witnesses.get(&document) {
                Some(known) => *known,
                None => {
                    let matched = self.overlay.match_of(document)?;
                    let in_cluster = matched.filter(|one| one.is_duplicate());
                    let rank = in_cluster.map(|one| self.overlay.rank(one.witness)).transpose()?;
                    if witnesses.len() < FollowerCache::MOST {
                        witnesses.insert(document, rank);
                    }
                    rank
                }
            };
            found.extend(witness.map(|witness| (witness, document)));
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        Ok(found)
    }
}
