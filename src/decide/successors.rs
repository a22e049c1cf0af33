//! Lineage within one commit: a document that departs hands its lineage to similar ones that come in that commit.
//!
//! Without this rule the outcome would depend on how inputs are cut into commits: a newcomer of a later commit would
//! have met the old document as its witness, and a holdout that follows lineage would have put both on one side. What
//! departed in an earlier commit is met by nobody.

use super::candidates::Verifier;
use super::crowd::{gather, share_a_bucket};
use super::crowd_search::closest;
use super::lineage::{Lineages, in_cluster};
use super::session::CommitDecisions;
use model::{BucketMap, DedupMode, DocId, Error, Standing, bucket_keys};
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap};
use store::{LineageRoots, TextKind};
use text::dedup::{FamilyIndex, FamilyQuery, Fingerprinter, estimate_floor};

/// Heirs whose predecessors are held at once.
const HEIRS_AT_ONCE: usize = 512;
/// The most members of a bucket that are compared one by one; of more a family is made and searched.
const COMPARED_ONE_BY_ONE: usize = 16;
/// Documents that are read at once into the family; the first ones give it its order.
const READ_AT_ONCE: usize = 1024;

/// Documents that were kept before this commit and are not after it, by what similar documents share with them; and
/// their possible heirs.
#[derive(Default)]
pub(super) struct Departures {
    by_text: HashMap<(TextKind, [u8; 16]), DocId>,
    by_bucket: BucketMap<Vec<DocId>>,
    /// Members of buckets with more than [`COMPARED_ONE_BY_ONE`], as far as memory allows.
    crowded: Option<FamilyIndex>,
    /// Bucket keys by band, of each departing document that has any.
    bands: HashMap<DocId, Vec<u64>>,
    roots: HashMap<DocId, LineageRoots>,
    /// Possible heirs: kept documents, and duplicates.
    kept: Vec<DocId>,
    duplicates: Vec<DocId>,
    /// Texts compared.
    pub(super) verified: u64,
}

/// A possible heir, and the departing documents that it may be similar to.
type Predecessors = (DocId, Vec<DocId>);

impl CommitDecisions {
    /// The departing documents, when there are others that may take over their lineages.
    pub(super) fn departures(
        &self,
        departing: &[DocId],
        budget: usize,
    ) -> Result<Option<Departures>, Error> {
        // What a load keeps only until its witness is there was never kept.
        let is_imported = |document: &DocId| self.0.imports.is_imported(*document);
        let departing: Vec<DocId> =
            departing.iter().copied().filter(|document| !is_imported(document)).collect();
        if departing.is_empty() || self.0.overlay.mode() == DedupMode::None {
            return Ok(None);
        }
        let mut departures = Departures::default();
        for (id, change) in self.0.overlay.standing_changes() {
            let was_kept = change.before == Some(Standing::Kept);
            if was_kept
                || !change.now.is_some_and(Standing::is_eligible)
                || self.has_the_text_it_supersedes(id)?
            {
                continue;
            }
            let is_kept = change.now == Some(Standing::Kept);
            if is_kept { &mut departures.kept } else { &mut departures.duplicates }.push(id);
        }
        departures.kept.extend(self.imported_that_would_return(&departing)?);
        if departures.kept.is_empty() && departures.duplicates.is_empty() {
            return Ok(None);
        }
        for document in &departing {
            for form in self.0.overlay.forms() {
                let hash = self.0.overlay.text_hash(*form, *document)?;
                departures.by_text.insert((*form, hash), *document);
            }
        }
        if self.0.overlay.mode().is_near() {
            let bands = departing.par_iter().with_min_len(64).map(|id| self.buckets_of(*id));
            let bands = bands.collect::<Result<Vec<_>, Error>>()?;
            for (document, bands) in departing.iter().copied().zip(bands) {
                for key in bucket_keys(&bands) {
                    departures.by_bucket.entry(key).or_default().push(document);
                }
                departures.bands.insert(document, bands);
            }
            self.index_crowded(&mut departures, budget)?;
        }
        Ok(Some(departures))
    }

    /// Documents that an earlier commit imported as kept, and that share a text or a bucket with one that departs now.
    /// Decided here, they would have been duplicates of it, and would return in this commit.
    fn imported_that_would_return(&self, departing: &[DocId]) -> Result<BTreeSet<DocId>, Error> {
        let overlay = &self.0.overlay;
        let returns = |document: DocId| {
            let stays = !overlay.is_new(document) && overlay.standing_change(document).is_none();
            stays && self.0.imports.is_imported(document) && overlay.is_kept(document)
        };
        let mut imported = BTreeSet::new();
        if self.0.imports.context.is_none() {
            return Ok(imported);
        }
        for document in departing {
            for form in self.0.overlay.forms() {
                let leader = overlay.exact(*form, overlay.text_hash(*form, *document)?)?;
                imported.extend(leader.filter(|leader| returns(*leader)));
            }
        }
        if self.0.overlay.mode().is_near() {
            let mut keys = Vec::new();
            for document in departing {
                keys.extend(bucket_keys(&self.buckets_of(*document)?));
            }
            keys.par_sort_unstable();
            keys.dedup();
            let buckets = overlay.view.buckets_bulk(&keys, self.0.finder.limits.read, &returns)?;
            imported.extend(buckets.into_iter().flatten().flat_map(|bucket| bucket.members));
        }
        Ok(imported)
    }

    /// Whether a document has the text of the one that it supersedes: then it is like nothing that the old one was not.
    fn has_the_text_it_supersedes(&self, document: DocId) -> Result<bool, Error> {
        let Some(old) = self.0.agenda.superseded.get(&document) else { return Ok(false) };
        let was = self.0.overlay.standing_change(*old).and_then(|change| change.before);
        if !was.is_some_and(Standing::is_eligible) {
            return Ok(false);
        }
        Ok(self.0.overlay.have_equal_tokens(document, *old)?)
    }

    /// Makes a family of the members of buckets that are too large to compare one by one: of the buckets that an heir
    /// shares, as many members as `budget` bytes hold.
    fn index_crowded(&self, departures: &mut Departures, budget: usize) -> Result<(), Error> {
        if self.0.overlay.mode() == DedupMode::Lsh {
            return Ok(());
        }
        let mut members = BTreeSet::new();
        let mut shared: BucketMap<()> = BucketMap::default();
        for document in departures.kept.iter().chain(&departures.duplicates) {
            for key in bucket_keys(&self.bands_of(*document)?) {
                if let Some(bucket) = departures.by_bucket.get(&key)
                    && bucket.len() > COMPARED_ONE_BY_ONE
                    && shared.insert(key, ()).is_none()
                {
                    members.extend(bucket.iter().copied());
                }
            }
        }
        let members: Vec<DocId> = members.into_iter().collect();
        let mut parts = members.chunks(READ_AT_ONCE);
        let threshold = self.0.overlay.view.policy().threshold;
        let mut family = gather(threshold, budget, || {
            parts.next().map(|part| self.0.overlay.entrants(part)).transpose()
        })?;
        if let Some(family) = &mut family {
            family.settle();
        }
        departures.crowded = family;
        Ok(())
    }

    /// Gives the lineages of departing documents to the heirs that are similar: to kept ones, or to duplicates. An
    /// heir is not compared with predecessors whose roots it has already.
    pub(super) fn pass_lineages_on(
        &self,
        departures: &mut Departures,
        lineages: &mut Lineages<'_>,
        to_kept: bool,
    ) -> Result<(), Error> {
        let heirs = if to_kept { &mut departures.kept } else { &mut departures.duplicates };
        let heirs = std::mem::take(heirs);
        let mut craft = Fingerprinter::new(self.0.overlay.view.policy());
        for part in heirs.chunks(HEIRS_AT_ONCE) {
            let mut open: Vec<Predecessors> = Vec::new();
            for heir in part {
                let (equal, maybe_similar) = self.predecessors(departures, *heir, &mut craft)?;
                if equal.is_empty() && maybe_similar.is_empty() {
                    continue;
                }
                let own = self.own_roots(lineages, *heir)?;
                let mut held = own.clone();
                held.join(&self.roots_of_witness(lineages, *heir)?);
                for departed in equal {
                    let roots = self.roots_of_departed(departures, lineages, departed)?;
                    if !held.holds(&roots) {
                        lineages.join(*heir, own.clone(), &roots);
                        held.join(&roots);
                    }
                }
                let mut unrelated = Vec::new();
                for departed in maybe_similar {
                    if !held.holds(&self.roots_of_departed(departures, lineages, departed)?) {
                        unrelated.push(departed);
                    }
                }
                if !unrelated.is_empty() {
                    open.push((*heir, unrelated));
                }
            }
            for (heir, similar, verified) in self.similar_predecessors(open)? {
                departures.verified += verified;
                let own = self.own_roots(lineages, heir)?;
                for departed in similar {
                    let roots = self.roots_of_departed(departures, lineages, departed)?;
                    lineages.join(heir, own.clone(), &roots);
                }
            }
        }
        Ok(())
    }

    /// The departing documents that have the text of this one, and others that share a bucket with it.
    fn predecessors(
        &self,
        departures: &mut Departures,
        document: DocId,
        craft: &mut Fingerprinter,
    ) -> Result<(Vec<DocId>, Vec<DocId>), Error> {
        let mut equal: Vec<DocId> = Vec::new();
        for form in self.0.overlay.forms() {
            let hash = self.0.overlay.text_hash(*form, document)?;
            equal.extend(departures.by_text.get(&(*form, hash)));
        }
        if departures.by_bucket.is_empty() {
            return Ok((equal, Vec::new()));
        }
        let bands = self.bands_of(document)?;
        let keys = bucket_keys(&bands);
        let shared: Vec<&Vec<DocId>> =
            keys.filter_map(|key| departures.by_bucket.get(&key)).collect();
        let is_crowded = shared.iter().any(|members| members.len() > COMPARED_ONE_BY_ONE);
        let family = departures.crowded.as_mut().filter(|_| is_crowded);
        let is_indexed = |one: DocId| family.as_ref().is_some_and(|family| family.contains(one));
        let mut candidates: BTreeSet<DocId> = BTreeSet::new();
        for members in shared {
            candidates.extend(
                members.iter().filter(|one| !is_indexed(**one)).take(self.0.finder.limits.read),
            );
        }
        if is_crowded && let Some(sketch) = self.0.overlay.sketch(document)? {
            if candidates.len() > self.0.finder.limits.verified
                && self.0.overlay.mode() != DedupMode::Lsh
            {
                let ranks = candidates.iter().map(|other| self.0.overlay.rank(*other));
                let ranks = ranks.collect::<Result<_, Error>>()?;
                let (close, _) =
                    closest(&self.0.overlay, &sketch, ranks, self.0.finder.limits.verified)?;
                candidates = close.into_iter().map(|rank| rank.document).collect();
            }
            if let Some(family) = family {
                let shingles = self.0.overlay.shingles(document, craft)?;
                let floor = estimate_floor(self.0.overlay.view.policy());
                let sought = FamilyQuery { shingles: &shingles, sketch: &sketch, floor };
                let shares_bucket = |other: &DocId| {
                    departures.bands.get(other).is_some_and(|theirs| share_a_bucket(&bands, theirs))
                };
                candidates.extend(family.find(sought, |_| true).into_iter().filter(shares_bucket));
            }
        }
        candidates.retain(|other| !equal.contains(other));
        Ok((equal, candidates.into_iter().collect()))
    }

    /// For each heir, the predecessors that are similar; and how many texts were compared.
    fn similar_predecessors(
        &self,
        heirs: Vec<Predecessors>,
    ) -> Result<Vec<(DocId, Vec<DocId>, u64)>, Error> {
        let overlay = &self.0.overlay;
        if self.0.overlay.mode() == DedupMode::Lsh {
            return Ok(heirs.into_iter().map(|(heir, old)| (heir, old, 0)).collect());
        }
        heirs
            .into_par_iter()
            .with_min_len(8)
            .map_init(
                || Fingerprinter::new(overlay.view.policy()),
                |craft, (heir, old)| {
                    let mut similar = Vec::new();
                    let Some(sketch) = overlay.sketch(heir)? else {
                        return Ok((heir, similar, 0));
                    };
                    let mut verifier = Verifier::new(overlay, heir, &sketch);
                    for predecessor in old {
                        if verifier.verify(predecessor, craft)?.is_some() {
                            similar.push(predecessor);
                        }
                    }
                    Ok((heir, similar, verifier.counts.verified))
                },
            )
            .collect()
    }

    fn bands_of(&self, document: DocId) -> Result<Vec<u64>, Error> {
        if let Some(lookup) = self.0.finder.prefetched.get(&document) {
            return Ok(lookup.bands.clone());
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
    ) -> Result<LineageRoots, Error> {
        match self.0.overlay.match_of(document)?.and_then(in_cluster) {
            None => Ok(LineageRoots::default()),
            Some(witness) => self.roots_or_itself(lineages, witness),
        }
    }

    fn roots_of_departed(
        &self,
        departures: &mut Departures,
        lineages: &Lineages<'_>,
        departed: DocId,
    ) -> Result<LineageRoots, Error> {
        if let Some(roots) = departures.roots.get(&departed) {
            return Ok(roots.clone());
        }
        let roots = self.roots_before(lineages, departed)?;
        departures.roots.insert(departed, roots.clone());
        Ok(roots)
    }
}
