//! Deciding within one commit: newcomers in rank order, then the outcome into the batch.

use super::error::DecideError;
use super::neighbours::{BUCKET_CAP, Prefetched, prefetch};
use super::scene::{Newcomer, Scene, TextForm};
use crate::dedup::{Fingerprint, Fingerprinter};
use crate::model::{DedupMode, DocId, Match, MatchKind, Standing};
use crate::store::{Batch, Header};
use std::collections::{BTreeSet, HashMap};

/// A document on its way in.
pub struct Arrival {
    /// The id it will have: the batch's next.
    pub id: DocId,
    /// Its header, `text_of` included.
    pub header: Header,
    /// Its fingerprint; not looked at in modes that do not sketch.
    pub fingerprint: Fingerprint,
    /// The document that held its key.
    pub supersedes: Option<DocId>,
}

/// What was decided about a newcomer when it arrived; a later one of the same commit may change it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Its standing.
    pub standing: Standing,
    /// The match that explains it.
    pub matched: Option<Match>,
}

/// Work done and limits met, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Candidates whose sketches were compared.
    pub compared: u64,
    /// Candidates whose texts were compared.
    pub verified: u64,
    /// Buckets read only in part: the one place where a near duplicate may be missed unseen.
    pub capped: u64,
    /// Stored documents decided again because a witness went.
    pub reconsidered: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.compared += other.compared;
        self.verified += other.verified;
        self.capped += other.capped;
        self.reconsidered += other.reconsidered;
    }
}

/// The decisions of one commit.
pub struct Session {
    pub(super) scene: Scene,
    pub(super) craft: Fingerprinter,
    prefetched: HashMap<DocId, Prefetched>,
    pub(super) counts: Counts,
}

impl Session {
    /// A session on top of the moment before `batch`.
    #[must_use]
    pub fn new(batch: &Batch<'_>) -> Self {
        let view = batch.view().clone();
        let craft = Fingerprinter::new(view.policy());
        let scene = Scene::new(view, batch.kept_before());
        Self { scene, craft, prefetched: HashMap::new(), counts: Counts::default() }
    }

    /// Looks newcomers up in the store, in parallel, before they arrive one by one.
    ///
    /// # Errors
    /// [`DecideError`] when the store cannot be read.
    pub fn prefetch(&mut self, newcomers: &[(DocId, &Fingerprint)]) -> Result<(), DecideError> {
        if self.scene.view.policy().mode != DedupMode::Witness {
            return Ok(());
        }
        let sketched: Vec<_> =
            newcomers.iter().filter(|(_, fingerprint)| fingerprint.sketch.is_some()).collect();
        let fingerprints: Vec<&Fingerprint> =
            sketched.iter().map(|(_, fingerprint)| *fingerprint).collect();
        let scene = &self.scene;
        let found = prefetch(&scene.view, &|document| scene.is_kept(document), &fingerprints)?;
        for ((id, _), answer) in sketched.into_iter().zip(found) {
            self.counts.compared += answer.compared;
            self.counts.verified += answer.verified;
            self.prefetched.insert(*id, answer);
        }
        Ok(())
    }

    /// The document that stores the text with this hash, when an eligible one has it.
    ///
    /// # Errors
    /// [`DecideError`] when the store cannot be read.
    pub fn text_owner(&self, raw: [u8; 16]) -> Result<Option<DocId>, DecideError> {
        match self.scene.exact(TextForm::Raw, raw)? {
            Some(twin) => Ok(Some(self.scene.header(twin)?.text_owner(twin))),
            None => Ok(None),
        }
    }

    /// The header of a document of the store or of this commit.
    ///
    /// # Errors
    /// [`DecideError`] when the store cannot be read.
    pub fn header(&self, document: DocId) -> Result<Header, DecideError> {
        Ok(self.scene.header(document)?)
    }

    /// Decides about a newcomer; what it supersedes goes first, with all that follows from it.
    ///
    /// # Errors
    /// [`DecideError`] when the store cannot be read.
    pub fn arrive(&mut self, arrival: Arrival) -> Result<Decision, DecideError> {
        let Arrival { id, header, fingerprint, supersedes } = arrival;
        let tokens = fingerprint.tokens;
        let newcomer =
            Newcomer { header, sketch: fingerprint.sketch, shingles: fingerprint.shingles.into() };
        self.scene.newcomers.insert(id, newcomer);
        if let Some(old) = supersedes {
            self.supersede(old, id)?;
        }
        let mode = self.scene.view.policy().mode;
        let is_empty = mode == DedupMode::Witness && tokens == 0;
        let decision = if is_empty {
            Decision { standing: Standing::Empty, matched: None }
        } else {
            self.decide(id)?
        };
        self.settle(id, decision)?;
        Ok(decision)
    }

    /// The standing of an eligible document, given that everything of lower rank is decided.
    pub(super) fn decide(&mut self, id: DocId) -> Result<Decision, DecideError> {
        let mode = self.scene.view.policy().mode;
        let kept = Decision { standing: Standing::Kept, matched: None };
        if mode == DedupMode::None {
            return Ok(kept);
        }
        let header = self.scene.header(id)?;
        let forms: &[TextForm] = if mode == DedupMode::Exact {
            &[TextForm::Raw]
        } else {
            &[TextForm::Raw, TextForm::Normalised]
        };
        for form in forms {
            match self.scene.exact(*form, form.hash(&header))? {
                Some(twin) if twin < id => {
                    if let Some(decision) = self.follow(&header, twin)? {
                        return Ok(decision);
                    }
                }
                // It ranks before every other document of its text.
                _ => self.scene.exact.extend([((*form, form.hash(&header)), Some(id))]),
            }
        }
        if mode == DedupMode::Exact {
            return Ok(kept);
        }
        Ok(self
            .nearest(id)?
            .map_or(kept, |matched| Decision { standing: Standing::Near, matched: Some(matched) }))
    }

    /// The decision of a document whose text, raw or normalised, is that of `twin`: that of the twin.
    fn follow(&self, header: &Header, twin: DocId) -> Result<Option<Decision>, DecideError> {
        let witness = match self.scene.standing(twin)? {
            Standing::Kept => {
                let shingles = header.shingles;
                Match {
                    kind: MatchKind::Near,
                    witness: twin,
                    shared: shingles,
                    removed_shingles: shingles,
                    witness_shingles: shingles,
                }
            }
            _ => match self.scene.match_of(twin)? {
                Some(matched) if self.scene.is_kept(matched.witness) => matched,
                _ => return Ok(None),
            },
        };
        let is_equal = self.scene.header(witness.witness)?.raw == header.raw;
        let (standing, kind) = if is_equal {
            (Standing::Exact, MatchKind::Exact)
        } else {
            (Standing::Near, MatchKind::Near)
        };
        Ok(Some(Decision { standing, matched: Some(Match { kind, ..witness }) }))
    }

    /// The kept document of lowest rank below `id` that is similar.
    fn nearest(&mut self, id: DocId) -> Result<Option<Match>, DecideError> {
        let Some(sketch) = self.scene.sketch(id)? else {
            return Ok(None);
        };
        let prefetched = self.prefetched.get(&id).filter(|_| !self.scene.unsettled);
        let Some(found) = prefetched else {
            let (matched, capped) = self.scene.lower_neighbour(id, &sketch, &mut self.craft)?;
            self.counts.capped += capped;
            return Ok(matched);
        };
        self.counts.capped += found.capped;
        if found.nearest.is_some() {
            return Ok(found.nearest);
        }
        let mut candidates = BTreeSet::new();
        for (band, (hash, taken)) in (0..=u8::MAX).zip(found.bands.iter().zip(&found.taken)) {
            let room = BUCKET_CAP.saturating_sub(*taken);
            let mut admitted = self
                .scene
                .local(band, *hash)
                .iter()
                .filter(|other| **other < id && self.scene.is_kept(**other));
            candidates.extend(admitted.by_ref().take(room));
            self.counts.capped += u64::from(admitted.next().is_some());
        }
        self.counts.compared += candidates.len() as u64;
        self.scene.first_similar(id, &sketch, candidates, &mut self.craft)
    }

    /// Makes a decision part of the scene.
    pub(super) fn settle(&mut self, id: DocId, decision: Decision) -> Result<(), DecideError> {
        self.scene.set_standing(id, decision.standing)?;
        self.scene.set_match(id, decision.matched)?;
        if decision.standing == Standing::Kept
            && self.scene.view.policy().mode == DedupMode::Witness
            && let Some(sketch) = self.scene.sketch(id)?
        {
            self.scene.index(id, crate::dedup::bands(&sketch, self.scene.view.policy()));
        }
        Ok(())
    }

    /// Documents stored before this commit that are kept now and were not.
    #[must_use]
    pub fn kept_again(&self) -> Vec<DocId> {
        let again = |id: &DocId| !self.scene.is_new(*id) && self.scene.is_kept(*id);
        let changed =
            self.scene.standings.iter().filter(|(_, change)| change.before != Some(Standing::Kept));
        changed.map(|(id, _)| *id).filter(again).collect()
    }

    /// A document's standing and match as decided so far.
    ///
    /// # Errors
    /// [`DecideError`] when the store cannot be read.
    pub fn outcome(&self, id: DocId) -> Result<Decision, DecideError> {
        Ok(Decision { standing: self.scene.standing(id)?, matched: self.scene.match_of(id)? })
    }

    /// Writes every change into the batch, each document once. The newcomers must have been added.
    ///
    /// # Errors
    /// [`DecideError`] when the store cannot be read.
    pub fn apply(self, batch: &mut Batch<'_>) -> Result<Counts, DecideError> {
        for (id, change) in &self.scene.standings {
            if let Some(now) = change.now
                && change.before != Some(now)
            {
                batch.stand(*id, &self.scene.header(*id)?, change.before, now)?;
            }
        }
        for (id, change) in &self.scene.matches {
            batch.explain(*id, change.before.as_ref(), change.now.as_ref())?;
        }
        for ((form, hash), document) in &self.scene.exact {
            batch.exact(*form as u8, *hash, *document)?;
        }
        for (id, bands) in &self.scene.indexed {
            let stored = match self.prefetched.get(id) {
                Some(found) => found.buckets.clone(),
                None => {
                    let keys: Vec<(u8, u64)> = (0..=u8::MAX).zip(bands.iter().copied()).collect();
                    let buckets = self.scene.view.buckets(&keys, 0, |_| false)?;
                    buckets
                        .into_iter()
                        .map(|bucket| bucket.map(|bucket| (bucket.first, bucket.more)))
                        .collect()
                }
            };
            batch.index(*id, bands, &stored);
        }
        Ok(self.counts)
    }
}
