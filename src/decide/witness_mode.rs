//! Modes `witness` and `exact`: the lexicographically first maximal independent set, kept up to date.
//!
//! Standing: a document is removed if and only if a kept document that outranks it is similar. So a
//! decision depends on documents of better rank only. What is to be decided waits in rank order; a
//! document whose being kept changes puts those it may matter to behind itself: each is decided once.
//!
//! Removed documents that a document kept from now on explains better than their witness does are decided again, so
//! that the witness named is the best-ranked similar kept document, whatever came first. Only a document that is in the
//! buckets is found: in keep orders other than `first` every one that was decided is, under `first` those that were
//! kept once, or lost a witness.

use super::candidates::{SimilarityVerdict, Verifier, prefetch};
use super::crowd::WHOLE;
use super::crowd_search::{SketchedDocument, SkippedCandidates};
use super::decision::Decision;
use super::error::DecideError;
use super::session::DecisionSession;
use super::writer_cache::text_of;
use crate::dedup::{Overlap, Rank, Sketch};
use crate::model::{DedupMode, DocId, Match, MatchKind, Standing};
use crate::store::DocumentRecord;
use std::collections::{BTreeSet, HashMap};

/// Documents looked up at once when one turns out not to be.
const AHEAD: usize = 512;

impl DecisionSession {
    pub(super) fn settle_independent(&mut self) -> Result<(), DecideError> {
        self.queue_orphans()?;
        let is_near = self.mode() == DedupMode::Witness;
        if is_near {
            self.look_up(usize::MAX)?;
            self.scene.reserve_buckets(self.queue.len());
        }
        while let Some(rank) = self.queue.first().copied() {
            self.check_interrupt()?;
            let id = rank.document;
            let was_kept = self.scene.is_kept(id);
            let decision = match self.given.remove(&id) {
                Some(given) => self.take(rank, given)?,
                None => self.decide(rank)?,
            };
            self.queue.remove(&rank);
            let is_kept = decision.standing == Standing::Kept;
            if was_kept && !is_kept {
                self.queue_members(id)?;
            }
            self.conclude(id, decision)?;
            if is_near
                && (is_kept || !self.scene.is_new(id) || !self.scene.ranker.is_first())
                && let Some(sketch) = self.scene.sketch(id)?
            {
                if is_kept && (!was_kept || self.reconsidered.contains(&id)) {
                    self.queue_outranked(rank, &sketch)?;
                }
                self.join_buckets(id, &sketch, is_kept)?;
            }
        }
        Ok(())
    }

    /// Those whose witness left are decided again.
    fn queue_orphans(&mut self) -> Result<(), DecideError> {
        let gone: Vec<DocId> =
            self.left.iter().filter(|(id, kept)| id == kept).map(|(id, _)| *id).collect();
        gone.into_iter().try_for_each(|witness| self.queue_members(witness))
    }

    /// Those that a document was the witness of are decided again.
    pub(super) fn queue_members(&mut self, witness: DocId) -> Result<(), DecideError> {
        for member in self.scene.members(witness)? {
            let rank = self.scene.rank(member)?;
            self.queue.insert(rank);
        }
        Ok(())
    }

    /// Looks up, in parallel, those of the next `most` to be decided that were not looked up, or whose answer
    /// no longer holds, unless they follow a text that is stored already.
    fn look_up(&mut self, most: usize) -> Result<(), DecideError> {
        let mut wanted = Vec::new();
        for rank in self.queue.iter().take(most) {
            let document = rank.document;
            if self.given.contains_key(&document) || self.is_looked_up(document) {
                continue;
            }
            let Some(sketch) = self.scene.sketch(document)? else { continue };
            if self.twin(*rank, &self.scene.header(document)?)?.is_some() {
                continue;
            }
            let bands = self.scene.band_keys(document, &sketch)?;
            wanted.push(SketchedDocument { document, sketch, bands });
        }
        self.take_in(wanted)
    }

    fn take_in(&mut self, wanted: Vec<SketchedDocument>) -> Result<(), DecideError> {
        let (scene, crowd, passes) = (&self.scene, &mut self.crowd, &mut self.passes);
        let found = prefetch(scene, crowd, self.reach, wanted, passes, &self.interrupt)?;
        for (document, answer) in found {
            self.counts.compared += answer.compared;
            self.counts.verified += answer.verified;
            self.prefetched.insert(document, answer);
        }
        Ok(())
    }

    /// Whether what the store says about the document is known. It holds as long as the one found stays: others
    /// can only have gone, and those that came are among the buckets of this commit.
    fn is_looked_up(&self, document: DocId) -> bool {
        self.prefetched
            .get(&document)
            .is_some_and(|found| found.nearest.is_none_or(|one| self.scene.is_kept(one.witness)))
    }

    /// The best-ranked eligible document of equal text, when it outranks this one.
    fn twin(&self, rank: Rank, header: &DocumentRecord) -> Result<Option<DocId>, DecideError> {
        for form in self.forms() {
            if let Some(twin) = self.scene.exact(*form, self.scene.text_hash(*form, header))?
                && twin != rank.document
                && self.scene.rank(twin)? < rank
                && self.scene.is_eligible(twin)?
            {
                return Ok(Some(twin));
            }
        }
        Ok(None)
    }

    /// The standing of an eligible document, given that everything of better rank is decided.
    fn decide(&mut self, rank: Rank) -> Result<Decision, DecideError> {
        let header = self.scene.header(rank.document)?;
        if let Some(twin) = self.twin(rank, &header)?
            && let Some(decision) = self.follow(&header, twin)?
        {
            // What the twin's decision left out, this one leaves out.
            if self.mode() == DedupMode::Witness && self.is_open(twin)? {
                self.passed = SkippedCandidates::default();
                self.mark_unsettled(rank.document);
            }
            self.lead_texts(rank, &header)?;
            return Ok(decision);
        }
        self.lead_texts(rank, &header)?;
        if self.mode() == DedupMode::Exact {
            return Ok(Decision::KEPT);
        }
        match self.nearest(rank)? {
            Some(matched) => self.removal_decision(&header, matched),
            None => Ok(Decision::KEPT),
        }
    }

    /// Takes the exact rows of its texts over from those it outranks, which are decided again.
    fn lead_texts(&mut self, rank: Rank, header: &DocumentRecord) -> Result<(), DecideError> {
        for form in self.forms() {
            let hash = self.scene.text_hash(*form, header);
            let leader = self.scene.exact(*form, hash)?;
            let mut leads = leader.is_none();
            if let Some(leader) = leader.filter(|leader| *leader != rank.document) {
                self.twins.pair(text_of(*form, hash), leader, rank.document);
                let other = self.scene.rank(leader)?;
                let is_eligible = self.scene.is_eligible(leader)?;
                let is_to_stay = self.is_imported(leader) && self.is_leaving(rank.document);
                leads = (other > rank && !is_to_stay) || !is_eligible;
                if leads && is_eligible && self.scene.is_kept(leader) {
                    self.queue.insert(other);
                }
            }
            if leads {
                self.scene.set_exact(*form, hash, Some(rank.document));
            }
        }
        Ok(())
    }

    /// The decision of a document whose text, raw or normalised, is that of `twin`: that of the twin.
    fn follow(
        &self,
        header: &DocumentRecord,
        twin: DocId,
    ) -> Result<Option<Decision>, DecideError> {
        let witness = if self.scene.is_kept(twin) {
            Overlap::whole(header.shingles).match_to(twin)
        } else {
            match self.scene.match_of(twin)? {
                Some(matched) if self.scene.is_kept(matched.witness) => matched,
                _ => return Ok(None),
            }
        };
        self.removal_decision(header, witness).map(Some)
    }

    /// The best-ranked kept document that is similar and outranks this one.
    fn nearest(&mut self, rank: Rank) -> Result<Option<Match>, DecideError> {
        let id = rank.document;
        let Some(sketch) = self.scene.sketch(id)? else {
            return Ok(None);
        };
        if !self.is_looked_up(id) {
            // What comes next is likely in the same place: orphans of one witness.
            self.look_up(AHEAD)?;
        }
        if !self.is_looked_up(id) {
            let bands = self.scene.band_keys(id, &sketch)?;
            self.take_in(vec![SketchedDocument { document: id, sketch: sketch.clone(), bands }])?;
        }
        let Some(found) = self.prefetched.remove(&id) else { return Ok(None) };
        self.passed = found.passed;
        self.counts.capped += found.capped;
        let capped = self.counts.capped;
        let nearest = found.nearest;
        let best = nearest.map(|found| self.scene.rank(found.witness)).transpose()?.unwrap_or(rank);
        let keys: Vec<(u8, u64)> = (0..=u8::MAX).zip(found.bands.iter().copied()).collect();
        let mut candidates = BTreeSet::new();
        let joined = self.crowd_search().joined_before(&keys, &found.taken)?;
        let asked = self.crowd.families_of(keys.iter().copied());
        let asks_crowd = keys.iter().any(|(band, hash)| self.crowd.held(*band, *hash).is_some());
        for other in joined {
            let is_told =
                self.crowd.tells_of(&asked, other) || asks_crowd && self.crowd.tells_of_late(other);
            if other != id && self.scene.is_kept(other) && !is_told {
                let other = self.scene.rank(other)?;
                candidates.extend((other < best).then_some(other));
            }
        }
        candidates.extend(self.crowd_search().ask(id, &sketch, &keys, |other| other < best)?);
        let is_partial = self.passed.count > 0 || found.capped > 0 || self.counts.capped > capped;
        self.prefetched.insert(id, found);
        let similar = self.first_similar(id, &sketch, candidates)?.or(nearest);
        if is_partial {
            self.mark_unsettled(id);
        }
        Ok(similar)
    }

    pub(super) fn first_similar(
        &mut self,
        document: DocId,
        sketch: &Sketch,
        candidates: BTreeSet<Rank>,
    ) -> Result<Option<Match>, DecideError> {
        let mut verifier = Verifier { scene: &self.scene, document, sketch, own: None };
        for candidate in candidates {
            self.counts.compared += 1;
            match verifier.verify(candidate.document, &mut self.craft)? {
                SimilarityVerdict::Far => {}
                SimilarityVerdict::Different => self.counts.verified += 1,
                SimilarityVerdict::Similar(matched) => {
                    self.counts.verified += 1;
                    return Ok(Some(matched));
                }
            }
        }
        Ok(None)
    }

    /// A document that is kept now and was not matters to similar ones that it outranks: kept ones, and removed
    /// ones whose witness it outranks. They are decided again.
    fn queue_outranked(&mut self, rank: Rank, sketch: &Sketch) -> Result<(), DecideError> {
        let id = rank.document;
        if self.scene.is_new(id) && self.scene.ranker.is_first() {
            return Ok(());
        }
        let Some(found) = self.prefetched.get(&id) else { return Ok(()) };
        let keys: Vec<(u8, u64)> = (0..=u8::MAX).zip(found.bands.iter().copied()).collect();
        for other in found.outranked.clone() {
            if self.scene.is_kept(other) {
                let other = self.scene.rank(other)?;
                self.queue.insert(other);
            }
        }
        let stored = found.buckets.clone();
        let before = (self.counts.capped, self.passed.count);
        let candidates = self.crowd_search().ask(id, sketch, &keys, |other| other > rank)?;
        if before != (self.counts.capped, self.passed.count) {
            self.mark_unsettled(id);
        }
        for candidate in candidates {
            if self.first_similar(id, sketch, BTreeSet::from([candidate]))?.is_some() {
                self.queue.insert(candidate);
            }
        }
        self.queue_followers(rank, sketch, &keys, &stored)
    }

    fn join_buckets(
        &mut self,
        id: DocId,
        sketch: &Sketch,
        is_kept: bool,
    ) -> Result<(), DecideError> {
        let bands = match self.prefetched.get(&id) {
            Some(found) => found.bands.clone(),
            None => self.scene.band_keys(id, sketch)?,
        };
        if is_kept {
            let keys: Vec<(u8, u64)> = (0..=u8::MAX).zip(bands.iter().copied()).collect();
            self.crowd_search().join(id, sketch, &keys)?;
        }
        // Those of crowded buckets are met in the crowd, if it has room for them.
        let (crowd, awaits) = (&self.crowd, self.crowd.awaits_late());
        let is_told =
            |band, hash| crowd.held(band, hash).is_some_and(|held| held.is_whole || awaits);
        self.scene.index(id, bands, |band, hash| is_kept && !is_told(band, hash));
        Ok(())
    }
}

/// Removed members of buckets that a commit remembers: some 32 MB, and as much for their witnesses.
const REMEMBERED: usize = 1 << 20;

/// Ranks of the witnesses of removed documents, while one document is looked at.
type WitnessRanks = HashMap<DocId, Option<Rank>>;

impl DecisionSession {
    /// Has those decided again that the document, kept now, is similar to and outranks the witness of.
    pub(super) fn queue_followers(
        &mut self,
        rank: Rank,
        sketch: &Sketch,
        keys: &[(u8, u64)],
        stored: &[Option<(DocId, bool)>],
    ) -> Result<(), DecideError> {
        let mut followers = BTreeSet::new();
        let mut shared = Vec::new();
        for (key, found) in keys.iter().zip(stored) {
            match found {
                Some((_, true)) => shared.push(*key),
                Some((only, false)) if !self.scene.is_kept(*only) => {
                    followers.insert(*only);
                }
                _ => {}
            }
        }
        let mut witnesses = WitnessRanks::new();
        for keys in shared.chunks(WHOLE) {
            let unread: Vec<(u8, u64)> =
                keys.iter().filter(|key| !self.followers.contains_key(*key)).copied().collect();
            let is_removed = |document| !self.scene.is_kept(document);
            let read = self.scene.view.buckets(&unread, usize::MAX, is_removed)?;
            let of = |known: &[(Rank, DocId)]| -> Vec<DocId> {
                let outranked = known.iter().take_while(|(witness, _)| *witness > rank);
                outranked.map(|(_, document)| *document).collect()
            };
            let known = keys.iter().filter_map(|key| self.followers.get(key));
            known.for_each(|known| followers.extend(of(known)));
            for (key, bucket) in unread.into_iter().zip(read) {
                let members = bucket.map(|bucket| bucket.members).unwrap_or_default();
                let read = self.removed_members(members, &mut witnesses)?;
                followers.extend(of(&read));
                self.remember_followers(key, read);
            }
        }
        for document in followers {
            let other = self.scene.rank(document)?;
            if other <= rank || self.queue.contains(&other) || self.scene.is_kept(document) {
                continue;
            }
            let Some(matched) = self.scene.match_of(document)? else { continue };
            if self.scene.is_eligible(document)?
                && self.scene.rank(matched.witness)? > rank
                && self.first_similar(rank.document, sketch, BTreeSet::from([other]))?.is_some()
            {
                self.queue.insert(other);
            }
        }
        Ok(())
    }

    /// These removed members of a bucket, each with the rank of its witness: the worst-ranked first.
    fn removed_members(
        &self,
        members: Vec<DocId>,
        witnesses: &mut WitnessRanks,
    ) -> Result<Vec<(Rank, DocId)>, DecideError> {
        let mut found = Vec::new();
        for document in members {
            // Most are in many of the buckets.
            let witness = match witnesses.get(&document) {
                Some(known) => *known,
                None => {
                    let matched = self.scene.match_of(document)?;
                    let in_cluster = matched.filter(|one| one.kind != MatchKind::Superseded);
                    let rank = in_cluster.map(|one| self.scene.rank(one.witness)).transpose()?;
                    if witnesses.len() < REMEMBERED {
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

    /// Has the members of a bucket read once a commit, as far as memory allows.
    fn remember_followers(&mut self, key: (u8, u64), members: Vec<(Rank, DocId)>) {
        if members.len() > REMEMBERED {
            return;
        }
        if self.followers_held + members.len() > REMEMBERED {
            self.followers.clear();
            self.followers_held = 0;
        }
        self.followers_held += members.len() + 1;
        self.followers.insert(key, members.into());
    }
}
