//! Modes `witness` and `exact`: the lexicographically first maximal independent set, kept up to date.
//!
//! Standing: a document is removed if and only if a kept document that outranks it is similar. So a
//! decision depends on documents of better rank only. What is to be decided waits in rank order; a
//! document whose being kept changes puts those it may matter to behind itself: each is decided once.

use super::error::DecideError;
use super::neighbours::{BUCKET_CAP, Prefetched, Verdict, Verifier, Wanted, prefetch};
use super::rank::Rank;
use super::session::{Decision, Session};
use crate::dedup::Sketch;
use crate::model::{DedupMode, DocId, Match, MatchKind, Standing};
use crate::store::Header;
use std::collections::BTreeSet;

const KEPT: Decision = Decision { standing: Standing::Kept, matched: None };

impl Session {
    pub(super) fn settle_independent(&mut self) -> Result<(), DecideError> {
        self.queue_orphans()?;
        if self.mode() == DedupMode::Witness {
            self.prefetch()?;
        }
        while let Some(rank) = self.queue.pop_first() {
            let id = rank.document;
            let was_kept = self.scene.is_kept(id);
            let decision = self.decide(rank)?;
            let is_kept = decision.standing == Standing::Kept;
            if was_kept && !is_kept {
                self.queue_members(id)?;
            }
            self.conclude(id, decision)?;
            if self.mode() == DedupMode::Witness
                && (is_kept || !self.scene.is_new(id))
                && let Some(sketch) = self.scene.sketch(id)?
            {
                if is_kept && !was_kept {
                    self.queue_outranked(rank, &sketch)?;
                }
                self.join_buckets(id, &sketch)?;
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

    fn queue_members(&mut self, witness: DocId) -> Result<(), DecideError> {
        for member in self.scene.members(witness)? {
            let rank = self.scene.rank(member)?;
            self.queue.insert(rank);
        }
        Ok(())
    }

    /// Looks up, in parallel, what does not follow a text that is stored already.
    fn prefetch(&mut self) -> Result<(), DecideError> {
        let mut wanted = Vec::new();
        for rank in &self.queue {
            let document = rank.document;
            let Some(sketch) = self.scene.sketch(document)? else { continue };
            if self.twin(*rank, &self.scene.header(document)?)?.is_some() {
                continue;
            }
            let bands = self.scene.band_keys(document, &sketch)?;
            wanted.push(Wanted { document, sketch, bands });
        }
        for (document, answer) in prefetch(&self.scene, wanted)? {
            self.counts.compared += answer.compared;
            self.counts.verified += answer.verified;
            self.prefetched.insert(document, answer);
        }
        Ok(())
    }

    /// The best-ranked eligible document of equal text, when it outranks this one.
    fn twin(&self, rank: Rank, header: &Header) -> Result<Option<DocId>, DecideError> {
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
            self.lead_texts(rank, &header)?;
            return Ok(decision);
        }
        self.lead_texts(rank, &header)?;
        if self.mode() == DedupMode::Exact {
            return Ok(KEPT);
        }
        match self.nearest(rank)? {
            Some(matched) => self.standing_by(&header, matched),
            None => Ok(KEPT),
        }
    }

    /// Takes the exact rows of its texts over from those it outranks, which are decided again.
    fn lead_texts(&mut self, rank: Rank, header: &Header) -> Result<(), DecideError> {
        for form in self.forms() {
            let hash = self.scene.text_hash(*form, header);
            let leader = self.scene.exact(*form, hash)?;
            let mut leads = leader.is_none();
            if let Some(leader) = leader.filter(|leader| *leader != rank.document) {
                let other = self.scene.rank(leader)?;
                let is_eligible = self.scene.is_eligible(leader)?;
                leads = other > rank || !is_eligible;
                if leads && is_eligible && self.scene.is_kept(leader) {
                    self.queue.insert(other);
                }
            }
            if leads {
                self.scene.exact.insert((*form, hash), Some(rank.document));
            }
        }
        Ok(())
    }

    /// The decision of a document whose text, raw or normalised, is that of `twin`: that of the twin.
    fn follow(&self, header: &Header, twin: DocId) -> Result<Option<Decision>, DecideError> {
        let witness = if self.scene.is_kept(twin) {
            let shingles = header.shingles;
            Match {
                kind: MatchKind::Near,
                witness: twin,
                shared: shingles,
                removed_shingles: shingles,
                witness_shingles: shingles,
            }
        } else {
            match self.scene.match_of(twin)? {
                Some(matched) if self.scene.is_kept(matched.witness) => matched,
                _ => return Ok(None),
            }
        };
        self.standing_by(header, witness).map(Some)
    }

    /// The best-ranked kept document that is similar and outranks this one.
    fn nearest(&mut self, rank: Rank) -> Result<Option<Match>, DecideError> {
        let id = rank.document;
        let Some(sketch) = self.scene.sketch(id)? else {
            return Ok(None);
        };
        // What was found before the first decision holds as long as the one found stays: others can only
        // have gone, and those that came are among the buckets of this commit.
        let still = |found: &&Prefetched| {
            found.nearest.is_none_or(|found| self.scene.is_kept(found.witness))
        };
        let Some(found) = self.prefetched.get(&id).filter(still) else {
            let outranks = |other| self.scene.is_kept(other) && self.outranks(other, rank);
            let (candidates, capped) = self.scene.candidates(id, &sketch, outranks)?;
            self.counts.capped += capped;
            return self.first_similar(id, &sketch, candidates);
        };
        self.counts.capped += found.capped;
        let nearest = found.nearest;
        let best = nearest.map(|found| self.scene.rank(found.witness)).transpose()?.unwrap_or(rank);
        let mut candidates = BTreeSet::new();
        for (band, (hash, taken)) in (0..=u8::MAX).zip(found.bands.iter().zip(&found.taken)) {
            let mut room = BUCKET_CAP.saturating_sub(*taken);
            for other in self.scene.local(band, *hash) {
                // Documents join in rank order, so those after it are of worse rank too.
                let other = self.scene.rank(*other)?;
                if other >= best {
                    break;
                }
                if !self.scene.is_kept(other.document) {
                    continue;
                }
                if room == 0 {
                    self.counts.capped += 1;
                    break;
                }
                room -= 1;
                candidates.insert(other);
            }
        }
        Ok(self.first_similar(id, &sketch, candidates)?.or(nearest))
    }

    /// An error counts as yes: it shows when the candidate is looked at.
    fn outranks(&self, other: DocId, rank: Rank) -> bool {
        self.scene.rank(other).map_or(true, |other| other < rank)
    }

    fn first_similar(
        &mut self,
        document: DocId,
        sketch: &Sketch,
        candidates: BTreeSet<Rank>,
    ) -> Result<Option<Match>, DecideError> {
        let mut verifier = Verifier { scene: &self.scene, document, sketch, own: None };
        for candidate in candidates {
            self.counts.compared += 1;
            match verifier.verify(candidate.document, &mut self.craft)? {
                Verdict::Far => {}
                Verdict::Different => self.counts.verified += 1,
                Verdict::Similar(matched) => {
                    self.counts.verified += 1;
                    return Ok(Some(matched));
                }
            }
        }
        Ok(None)
    }

    /// A document that is kept now and was not matters to similar ones that it outranks: kept ones,
    /// and removed ones whose witness it outranks.
    fn queue_outranked(&mut self, rank: Rank, sketch: &Sketch) -> Result<(), DecideError> {
        let id = rank.document;
        if self.scene.is_new(id) {
            if self.scene.ranker.is_first() {
                return Ok(());
            }
            if let Some(found) = self.prefetched.get(&id)
                && found.nearest.is_none()
            {
                for other in &found.outranked {
                    let other = self.scene.rank(*other)?;
                    if self.scene.is_kept(other.document) {
                        self.queue.insert(other);
                    }
                }
                return Ok(());
            }
        }
        let is_outranked = |other| !self.outranks(other, rank);
        let (candidates, capped) = self.scene.candidates(id, sketch, is_outranked)?;
        self.counts.capped += capped;
        for candidate in candidates {
            if candidate <= rank || !self.scene.is_eligible(candidate.document)? {
                continue;
            }
            let is_content = match self.scene.match_of(candidate.document)? {
                Some(found) => self.scene.rank(found.witness)? < rank,
                None => !self.scene.is_kept(candidate.document),
            };
            if !is_content && self.first_similar(id, sketch, BTreeSet::from([candidate]))?.is_some()
            {
                self.queue.insert(candidate);
            }
        }
        Ok(())
    }

    pub(super) fn join_buckets(&mut self, id: DocId, sketch: &Sketch) -> Result<(), DecideError> {
        let bands = match self.prefetched.get(&id) {
            Some(found) => found.bands.clone(),
            None => self.scene.band_keys(id, sketch)?,
        };
        self.scene.index(id, bands);
        Ok(())
    }
}
