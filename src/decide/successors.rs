//! Passes the lineage of documents that leave in a commit to similar documents that come in it.
//!
//! Had the newcomer come in a commit before, it would have met the one that leaves, which would have been its
//! witness. So the side of a holdout that a text is on does not depend on how much goes into one commit. What
//! left in an earlier commit is met by nobody.

use super::candidates::Verifier;
use super::crowd::{gather, share_a_bucket};
use super::crowd_search::closest;
use super::error::DecideError;
use super::lineage::{Lineages, in_cluster};
use super::session::CommitDecisions;
use model::{BucketMap, DedupMode, DocId, Standing, bucket_keys};
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap};
use store::{LineageRoots, TextKind};
use text::dedup::{FamilyIndex, FamilyQuery, Fingerprinter, estimate_floor};

/// Documents whose candidates are held at once.
const PART: usize = 512;
/// Members of a bucket from which they are found by a join: fewer are compared one by one.
const FEW: usize = 16;
/// Documents read at once to be put in; the first of them give the family its order.
const READ: usize = 1024;

/// Documents that were kept before this commit and are not any more, by what others meet them under.
#[derive(Default)]
pub(super) struct Departures {
    texts: HashMap<(TextKind, [u8; 16]), DocId>,
    buckets: BucketMap<Vec<DocId>>,
    /// Those of full buckets, joined by what is rare among them.
    family: Option<FamilyIndex>,
    /// The buckets of each that has any.
    bands: HashMap<DocId, Vec<u64>>,
    roots: HashMap<DocId, LineageRoots>,
    /// Documents that may be like them: kept ones, and duplicates.
    kept: Vec<DocId>,
    duplicates: Vec<DocId>,
    /// Texts compared.
    pub(super) verified: u64,
}

/// A document with those that it may be like.
type SuccessorCandidates = (DocId, Vec<DocId>);

impl CommitDecisions {
    /// The documents that are not kept any more, when there are others that may continue with their lineages.
    pub(super) fn leavers(
        &self,
        gone: &[DocId],
        budget: usize,
    ) -> Result<Option<Departures>, DecideError> {
        // Of a load, what is kept until its witness is there was not kept.
        let gone = gone.iter().copied().filter(|document| !self.0.imports.is_imported(*document));
        let gone: Vec<DocId> = gone.collect();
        if gone.is_empty() || self.0.overlay.mode() == DedupMode::None {
            return Ok(None);
        }
        let mut leavers = Departures::default();
        for (id, change) in self.0.overlay.standing_changes() {
            let was_kept = change.before == Some(Standing::Kept);
            if was_kept
                || !change.now.is_some_and(Standing::is_eligible)
                || self.is_like_before(id)?
            {
                continue;
            }
            let is_kept = change.now == Some(Standing::Kept);
            if is_kept { &mut leavers.kept } else { &mut leavers.duplicates }.push(id);
        }
        leavers.kept.extend(self.came_before(&gone)?);
        if leavers.kept.is_empty() && leavers.duplicates.is_empty() {
            return Ok(None);
        }
        for document in &gone {
            let header = self.0.overlay.header(*document)?;
            for form in self.0.overlay.forms() {
                leavers.texts.insert((*form, self.0.overlay.text_hash(*form, &header)), *document);
            }
        }
        if self.0.overlay.mode().is_near() {
            let bands = gone.par_iter().with_min_len(64).map(|id| self.buckets_of(*id));
            let bands = bands.collect::<Result<Vec<_>, DecideError>>()?;
            for (document, bands) in gone.iter().copied().zip(bands) {
                for key in bucket_keys(&bands) {
                    leavers.buckets.entry(key).or_default().push(document);
                }
                leavers.bands.insert(document, bands);
            }
            self.join_full(&mut leavers, budget)?;
        }
        Ok(Some(leavers))
    }

    /// Documents that came decided in an earlier commit and share a text or a bucket with one that leaves now. Decided
    /// here, they would have been removed for its sake, and would come back with this commit.
    fn came_before(&self, gone: &[DocId]) -> Result<BTreeSet<DocId>, DecideError> {
        let overlay = &self.0.overlay;
        let is_one = |document: DocId| {
            let stays = !overlay.is_new(document) && overlay.standing_change(document).is_none();
            stays && self.0.imports.is_imported(document) && overlay.is_kept(document)
        };
        let mut found = BTreeSet::new();
        if self.0.imports.context.is_none() {
            return Ok(found);
        }
        for document in gone {
            let header = overlay.header(*document)?;
            for form in self.0.overlay.forms() {
                let leader = overlay.exact(*form, overlay.text_hash(*form, &header))?;
                found.extend(leader.filter(|leader| is_one(*leader)));
            }
        }
        if self.0.overlay.mode().is_near() {
            let mut keys = Vec::new();
            for document in gone {
                keys.extend(bucket_keys(&self.buckets_of(*document)?));
            }
            keys.par_sort_unstable();
            keys.dedup();
            let buckets = overlay.view.buckets_bulk(&keys, self.0.finder.limits.read, &is_one)?;
            found.extend(buckets.into_iter().flatten().flat_map(|bucket| bucket.members));
        }
        Ok(found)
    }

    /// Whether a document has the text of what it supersedes: then it is like nothing that this was not like.
    fn is_like_before(&self, document: DocId) -> Result<bool, DecideError> {
        let Some(old) = self.0.agenda.superseded.get(&document) else { return Ok(false) };
        let was = self.0.overlay.standing_change(*old).and_then(|change| change.before);
        if !was.is_some_and(Standing::is_eligible) {
            return Ok(false);
        }
        let (own, other) = (self.0.overlay.header(document)?, self.0.overlay.header(*old)?);
        Ok(own.source == other.source && own.normalised == other.normalised)
    }

    /// Members of buckets that are too full to compare with all of them are found by a join instead: of
    /// those that somebody meets, as many as `budget` bytes hold.
    fn join_full(&self, leavers: &mut Departures, budget: usize) -> Result<(), DecideError> {
        if self.0.overlay.mode() == DedupMode::Lsh {
            return Ok(());
        }
        let mut members = BTreeSet::new();
        let mut met: BucketMap<()> = BucketMap::default();
        for document in leavers.kept.iter().chain(&leavers.duplicates) {
            for key in bucket_keys(&self.bands_of(*document)?) {
                if let Some(full) = leavers.buckets.get(&key).filter(|full| full.len() > FEW)
                    && met.insert(key, ()).is_none()
                {
                    members.extend(full.iter().copied());
                }
            }
        }
        let members: Vec<DocId> = members.into_iter().collect();
        let mut parts = members.chunks(READ);
        let threshold = self.0.overlay.view.policy().threshold;
        let mut family = gather(threshold, budget, || {
            parts.next().map(|part| self.0.overlay.entrants(part)).transpose()
        })?;
        if let Some(family) = &mut family {
            family.settle();
        }
        leavers.family = family;
        Ok(())
    }

    /// Gives the lineages of those that leave to what is like them: to kept documents, or to duplicates. Nothing is
    /// compared whose roots a document has already.
    pub(super) fn pass_lineages_on(
        &self,
        leavers: &mut Departures,
        lineages: &mut Lineages<'_>,
        to_kept: bool,
    ) -> Result<(), DecideError> {
        let heirs = if to_kept { &mut leavers.kept } else { &mut leavers.duplicates };
        let heirs = std::mem::take(heirs);
        let mut craft = Fingerprinter::new(self.0.overlay.view.policy());
        for part in heirs.chunks(PART) {
            let mut open = Vec::new();
            for document in part {
                let (equal, met) = self.met(leavers, *document, &mut craft)?;
                if equal.is_empty() && met.is_empty() {
                    continue;
                }
                let own = self.own_roots(lineages, *document)?;
                let mut held = own.clone();
                held.join(&self.roots_of_witness(lineages, *document)?);
                for leaver in equal {
                    let roots = self.roots_of_leaver(leavers, lineages, leaver)?;
                    if !held.holds(&roots) {
                        lineages.join(*document, own.clone(), &roots);
                        held.join(&roots);
                    }
                }
                let mut candidates = Vec::new();
                for leaver in met {
                    if !held.holds(&self.roots_of_leaver(leavers, lineages, leaver)?) {
                        candidates.push(leaver);
                    }
                }
                if !candidates.is_empty() {
                    open.push((*document, candidates));
                }
            }
            for (document, similar, verified) in self.compared_with(open)? {
                leavers.verified += verified;
                let own = self.own_roots(lineages, document)?;
                for leaver in similar {
                    let roots = self.roots_of_leaver(leavers, lineages, leaver)?;
                    lineages.join(document, own.clone(), &roots);
                }
            }
        }
        Ok(())
    }

    /// Those that leave and have the document's text, and those that share a bucket with it.
    fn met(
        &self,
        leavers: &mut Departures,
        document: DocId,
        craft: &mut Fingerprinter,
    ) -> Result<(Vec<DocId>, Vec<DocId>), DecideError> {
        let header = self.0.overlay.header(document)?;
        let texts = self
            .0
            .overlay
            .forms()
            .iter()
            .map(|form| (*form, self.0.overlay.text_hash(*form, &header)));
        let equal: Vec<DocId> =
            texts.filter_map(|text| leavers.texts.get(&text).copied()).collect();
        if leavers.buckets.is_empty() {
            return Ok((equal, Vec::new()));
        }
        let bands = self.bands_of(document)?;
        let keys = bucket_keys(&bands);
        let met: Vec<&Vec<DocId>> = keys.filter_map(|key| leavers.buckets.get(&key)).collect();
        let is_full = met.iter().any(|members| members.len() > FEW);
        let family = leavers.family.as_mut().filter(|_| is_full);
        let is_told = |other: DocId| family.as_ref().is_some_and(|family| family.contains(other));
        let mut candidates: BTreeSet<DocId> = BTreeSet::new();
        for members in met {
            candidates.extend(
                members.iter().filter(|one| !is_told(**one)).take(self.0.finder.limits.read),
            );
        }
        if is_full && let Some(sketch) = self.0.overlay.sketch(document)? {
            if candidates.len() > self.0.finder.limits.verified
                && self.0.overlay.mode() != DedupMode::Lsh
            {
                let ranks = candidates.iter().map(|other| self.0.overlay.rank(*other));
                let ranks = ranks.collect::<Result<_, DecideError>>()?;
                let (close, _) =
                    closest(&self.0.overlay, &sketch, ranks, self.0.finder.limits.verified)?;
                candidates = close.into_iter().map(|rank| rank.document).collect();
            }
            if let Some(family) = family {
                let shingles = self.0.overlay.shingles(document, craft)?;
                let floor = estimate_floor(self.0.overlay.view.policy());
                let sought = FamilyQuery { shingles: &shingles, sketch: &sketch, floor };
                let shares = |other: &DocId| {
                    leavers.bands.get(other).is_some_and(|theirs| share_a_bucket(&bands, theirs))
                };
                candidates.extend(family.find(sought, |_| true).into_iter().filter(shares));
            }
        }
        candidates.retain(|other| !equal.contains(other));
        Ok((equal, candidates.into_iter().collect()))
    }

    /// Of each its candidates that are similar, and how many texts that took.
    fn compared_with(
        &self,
        heirs: Vec<SuccessorCandidates>,
    ) -> Result<Vec<(DocId, Vec<DocId>, u64)>, DecideError> {
        let overlay = &self.0.overlay;
        if self.0.overlay.mode() == DedupMode::Lsh {
            return Ok(heirs.into_iter().map(|(heir, met)| (heir, met, 0)).collect());
        }
        heirs
            .into_par_iter()
            .with_min_len(8)
            .map_init(
                || Fingerprinter::new(overlay.view.policy()),
                |craft, (document, candidates)| {
                    let mut similar = Vec::new();
                    let Some(sketch) = overlay.sketch(document)? else {
                        return Ok((document, similar, 0));
                    };
                    let mut verifier = Verifier::new(overlay, document, &sketch);
                    for candidate in candidates {
                        if verifier.verify(candidate, craft)?.is_some() {
                            similar.push(candidate);
                        }
                    }
                    Ok((document, similar, verifier.counts.verified))
                },
            )
            .collect()
    }

    fn bands_of(&self, document: DocId) -> Result<Vec<u64>, DecideError> {
        if let Some(found) = self.0.finder.prefetched.get(&document) {
            return Ok(found.bands.clone());
        }
        match self.0.overlay.joined_buckets(document) {
            Some(bands) => Ok(bands.to_vec()),
            None => self.buckets_of(document),
        }
    }

    fn roots_of_witness(
        &self,
        lineages: &Lineages<'_>,
        document: DocId,
    ) -> Result<LineageRoots, DecideError> {
        match self.0.overlay.match_of(document)?.and_then(in_cluster) {
            None => Ok(LineageRoots::default()),
            Some(witness) => self.roots_or_itself(lineages, witness),
        }
    }

    fn roots_of_leaver(
        &self,
        leavers: &mut Departures,
        lineages: &Lineages<'_>,
        leaver: DocId,
    ) -> Result<LineageRoots, DecideError> {
        if let Some(roots) = leavers.roots.get(&leaver) {
            return Ok(roots.clone());
        }
        let roots = self.roots_before(lineages, leaver)?;
        leavers.roots.insert(leaver, roots.clone());
        Ok(roots)
    }
}
