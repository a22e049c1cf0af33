//! The decision session of one commit: registers what comes and goes, decides all that follows, gives the outcome.

use super::buckets::CandidateLimits;
use super::candidates::CandidateFinder;
use super::decision::{Decision, DecisionCounts, ImportState, Newcomer};
use super::marks::OpenMarks;
use super::overlay::Overlay;
use super::text_leaders::{TextLeaders, remember_texts};
use super::writer_cache::WriterCache;
use model::{
    ComparedPart, DedupMode, DocId, Error, FieldId, Interrupt, Match, MatchKind, SourceId, Standing,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use store::{CommitBatch, DocumentPlace, DocumentPrint, TextKind};
use text::dedup::Rank;

/// What is to be decided in a commit, and why.
#[derive(Default)]
pub(super) struct Agenda {
    /// Eligible documents that are to be decided, in rank order.
    pub(super) queue: BTreeSet<Rank>,
    /// Decided documents that stopped being eligible, with the kept document of their cluster.
    pub(super) departed: BTreeMap<DocId, DocId>,
    /// Decided documents that are decided again though nothing changed about them.
    pub(super) reconsidered: BTreeSet<DocId>,
    /// What newcomers supersede.
    pub(super) superseded: BTreeMap<DocId, DocId>,
}

/// The decisions of one commit: first everything that comes ([`DecisionSession::arrive`], [`DecisionSession::admit`],
/// [`DecisionSession::readmit`]) and goes ([`DecisionSession::exclude`]), then [`DecisionSession::settle`], then
/// [`CommitDecisions::apply`].
pub struct DecisionSession {
    pub(super) overlay: Overlay,
    pub(super) agenda: Agenda,
    pub(super) finder: CandidateFinder,
    pub(super) leaders: TextLeaders,
    pub(super) marks: OpenMarks,
    /// What the writer has in memory beside the store is forgotten where decisions are taken over.
    pub(super) imports: ImportState,
    pub(super) counts: DecisionCounts,
    pub(super) interrupt: Interrupt,
    /// Members of buckets that were read through the view before.
    pub(super) members_before: u64,
}

impl DecisionSession {
    /// A session on top of the moment before `batch`. An interrupt ends the decisions: [`DecisionSession::settle`] then
    /// says so by an interrupt.
    #[must_use]
    pub fn begin(batch: &CommitBatch<'_>, interrupt: &Interrupt) -> Self {
        let view = batch.view().clone();
        let members_before = view.bucket_members_read();
        let (crowd, twins) = WriterCache::take(batch);
        Self {
            finder: CandidateFinder::new(view.policy(), crowd),
            overlay: Overlay::new(view, batch.kept_before(), batch.undecided_from()),
            agenda: Agenda::default(),
            leaders: TextLeaders::new(twins),
            marks: OpenMarks::default(),
            imports: ImportState::default(),
            counts: DecisionCounts::default(),
            interrupt: interrupt.clone(),
            members_before,
        }
    }

    pub(super) fn check_interrupt(&self) -> Result<(), Error> {
        Ok(self.interrupt.check()?)
    }

    /// What of a document is compared.
    #[must_use]
    pub fn compared(&self) -> ComparedPart {
        self.overlay.view.policy().compared
    }

    /// The field whose number ranks documents, if one does.
    #[must_use]
    pub fn order_field(&self) -> Option<FieldId> {
        self.overlay.order_field()
    }

    /// Tells the session the name that a new source will have, before its first document: the keep order
    /// `source-priority` ranks documents by it.
    pub fn name_source(&mut self, source: SourceId, name: &str) {
        self.overlay.name_source(source, name);
    }

    /// The documents that store the texts of a source with these hashes, raw and normalised, when eligible ones have them
    /// that are found by what is compared.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn text_twins(
        &mut self,
        source: SourceId,
        texts: &[([u8; 16], [u8; 16])],
    ) -> Result<Vec<Option<DocId>>, Error> {
        let Some(form) = self.overlay.forms().first().copied() else {
            return Ok(vec![None; texts.len()]);
        };
        let hash = |(raw, normalised): &([u8; 16], [u8; 16])| match form {
            TextKind::Raw => self.overlay.scoped(source, *raw),
            TextKind::Normalised => self.overlay.scoped(source, *normalised),
        };
        let hashes: Vec<_> = texts.iter().map(hash).collect();
        self.overlay.remember_exact(form, hashes.iter().copied())?;
        let owner = |(hash, (raw, _)): ([u8; 16], &([u8; 16], [u8; 16]))| {
            let Some(twin) = self.overlay.exact(form, hash)? else { return Ok(None) };
            match self.overlay.print(twin)?.raw == *raw {
                true => Ok(Some(self.overlay.place(twin)?.text_owner(twin))),
                false => Ok(None),
            }
        };
        hashes.into_iter().zip(texts).map(owner).collect()
    }

    /// The hash of a text in the scope, by which documents share it; none in the mode that looks for no equal texts.
    #[must_use]
    pub fn shared_text(&self, source: SourceId, raw: [u8; 16]) -> Option<[u8; 16]> {
        (self.overlay.mode() != DedupMode::None).then(|| self.overlay.scoped(source, raw))
    }

    /// Where a document of the store or of this commit was read.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn place(&self, document: DocId) -> Result<DocumentPlace, Error> {
        Ok(self.overlay.place(document)?)
    }

    /// The hashes and sizes of a document of the store or of this commit.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn print(&self, document: DocId) -> Result<DocumentPrint, Error> {
        Ok(self.overlay.print(document)?)
    }

    // ---- what comes and goes ----

    /// A document comes in, with the batch's next id; the one that held its key, which it `supersedes`, goes. It
    /// `is_blocked` when a document that the user removed has its key or its text.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn arrive(
        &mut self,
        id: DocId,
        newcomer: Newcomer,
        supersedes: Option<DocId>,
        is_blocked: bool,
    ) -> Result<(), Error> {
        self.overlay.admit(id, newcomer);
        if let Some(old) = supersedes {
            self.supersede(old, id)?;
        }
        if is_blocked {
            return self.overlay.set_standing(id, Some(Standing::Blocked));
        }
        self.enter(id)
    }

    /// A document takes the place of an older one under its key.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn supersede(&mut self, old: DocId, successor: DocId) -> Result<(), Error> {
        self.agenda.superseded.insert(successor, old);
        self.exclude(old, Standing::Superseded)?;
        let successor = Match {
            kind: MatchKind::Superseded,
            witness: successor,
            shared: 0,
            removed_shingles: 0,
            witness_shingles: 0,
        };
        self.overlay.set_match(old, Some(successor))
    }

    /// Nothing has the place of a document under its key any more; it comes back with [`DecisionSession::readmit`].
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn forget_successor(&mut self, document: DocId) -> Result<(), Error> {
        self.overlay.set_match(document, None)
    }

    /// A stored document comes before a new generation; `carried` is what was decided about it that does not depend on
    /// the policy.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn admit(
        &mut self,
        id: DocId,
        newcomer: Newcomer,
        carried: Option<Decision>,
    ) -> Result<(), Error> {
        self.overlay.admit(id, newcomer);
        match carried {
            Some(Decision { standing, matched }) => {
                self.overlay.set_standing(id, Some(standing))?;
                self.overlay.set_match(id, matched)
            }
            None => self.enter(id),
        }
    }

    /// A stored document stops being eligible: `standing` says why. One that the user removed or purged stays so.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn exclude(&mut self, document: DocId, standing: Standing) -> Result<(), Error> {
        let before = self.overlay.standing(document)?;
        let matched = self.overlay.match_of(document)?;
        if before.is_none_or(Standing::is_eligible) {
            let rank = self.overlay.rank(document)?;
            self.agenda.queue.remove(&rank);
            if before.is_some() {
                let kept = matched.map_or(document, |found| found.witness);
                self.agenda.departed.insert(document, kept);
            }
        }
        if !matches!(before, Some(Standing::Removed | Standing::Purged)) {
            self.overlay.set_standing(document, Some(standing))?;
        }
        let successor = matched.filter(|found| !found.is_duplicate());
        self.overlay.set_match(document, successor)
    }

    /// A removed or blocked document comes back, as far as nothing else excludes it: a successor, or,
    /// with `is_blocked`, another removed document.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn readmit(&mut self, document: DocId, is_blocked: bool) -> Result<(), Error> {
        if self.overlay.match_of(document)?.is_some_and(|found| !found.is_duplicate()) {
            return self.overlay.set_standing(document, Some(Standing::Superseded));
        }
        if is_blocked {
            return self.overlay.set_standing(document, Some(Standing::Blocked));
        }
        self.enter(document)
    }

    /// Puts a document that nothing excludes before the decision.
    fn enter(&mut self, document: DocId) -> Result<(), Error> {
        if self.overlay.view.policy().compares_words() && self.overlay.print(document)?.words == 0 {
            return self.overlay.set_standing(document, Some(Standing::Empty));
        }
        self.overlay.set_standing(document, None)?;
        let rank = self.overlay.rank(document)?;
        self.agenda.queue.insert(rank);
        Ok(())
    }

    /// A stored document has another number in the field of [`DecisionSession::order_field`]: it is decided again, and
    /// so are those that it stood before and those that it stands before now.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn rerank(&mut self, document: DocId, number: Option<i64>) -> Result<(), Error> {
        if !self.overlay.is_eligible(document)? {
            self.overlay.set_number(document, number);
            return Ok(());
        }
        self.exclude(document, Standing::Removed)?;
        self.overlay.set_number(document, number);
        self.readmit(document, false)
    }

    /// Compares with all candidates, however many they are.
    pub fn compare_with_all(&mut self) {
        self.finder.limits = CandidateLimits::ALL;
        self.finder.crowd.widen();
    }

    /// Has a decided document decided again.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn reconsider(&mut self, document: DocId) -> Result<(), Error> {
        self.agenda.reconsidered.insert(document);
        if !self.overlay.is_eligible(document)? {
            return Ok(());
        }
        if self.overlay.mode().is_transitive() {
            let kept = self.overlay.match_of(document)?.map_or(document, |found| found.witness);
            self.agenda.departed.insert(document, kept);
        } else {
            let rank = self.overlay.rank(document)?;
            self.agenda.queue.insert(rank);
        }
        Ok(())
    }

    // ---- decisions ----

    /// Decides everything that is to be decided, and what follows from it.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn settle(mut self) -> Result<CommitDecisions, Error> {
        self.prepare()?;
        match self.overlay.mode() {
            DedupMode::None => {
                while let Some(rank) = self.agenda.queue.pop_first() {
                    self.overlay.set_standing(rank.document, Some(Standing::Kept))?;
                }
            }
            DedupMode::Exact | DedupMode::Witness => self.settle_independent()?,
            DedupMode::Components | DedupMode::Lsh => self.settle_components()?,
        }
        Ok(CommitDecisions(self))
    }

    /// Prepares the first decision: memory is that of one commit, and texts get leaders that stay.
    pub(super) fn prepare(&mut self) -> Result<(), Error> {
        if !self.finder.limits.is_all() {
            self.finder.crowd.shrink();
        }
        let Agenda { queue, departed, .. } = &self.agenda;
        self.leaders.reassign(&mut self.overlay, departed, &self.imports)?;
        remember_texts(&mut self.overlay, queue)
    }

    /// The kind of a match: equal raw bytes are a kind of their own.
    pub(super) fn removal_decision(
        &self,
        document: DocId,
        matched: Match,
    ) -> Result<Decision, Error> {
        let witness = self.overlay.print(matched.witness)?;
        let is_equal = witness.raw == self.overlay.print(document)?.raw;
        let (standing, kind) = Standing::of_duplicate(is_equal);
        Ok(Decision { standing, matched: Some(Match { kind, ..matched }) })
    }

    /// Notes that the decision about a document, which is being made, left candidates out.
    pub(super) fn mark_open(&mut self, document: DocId) {
        self.marks.note(document, self.finder.skipped.example);
    }

    /// Makes a decision part of the overlay.
    pub(super) fn conclude(&mut self, id: DocId, decision: Decision) -> Result<(), Error> {
        self.counts.reconsidered += u64::from(!self.overlay.is_new(id));
        self.overlay.set_standing(id, Some(decision.standing))?;
        self.overlay.set_match(id, decision.matched)
    }
}

/// The decisions of one commit, with all that follows from them: they can be read, and no longer be changed. What they
/// come to is written by [`CommitDecisions::apply`].
pub struct CommitDecisions(pub(super) DecisionSession);

impl CommitDecisions {
    /// A document's standing and match as decided.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn decision(&self, id: DocId) -> Result<Decision, Error> {
        let standing = self.0.overlay.standing(id)?.unwrap_or(Standing::Kept);
        Ok(Decision { standing, matched: self.0.overlay.match_of(id)? })
    }

    /// Documents that are kept now and were not, ascending; `stored_only` leaves newcomers out.
    #[must_use]
    pub fn newly_kept(&self, stored_only: bool) -> Vec<DocId> {
        let overlay = &self.0.overlay;
        let mut newly = overlay.documents_that(|change| {
            change.now == Some(Standing::Kept) && change.before != Some(Standing::Kept)
        });
        newly.retain(|document| !(stored_only && overlay.is_new(*document)));
        newly
    }

    /// A document that this commit decided for the first time.
    ///
    /// # Errors
    /// [`Error`] for any other.
    pub fn newcomer(&self, document: DocId) -> Result<&Newcomer, Error> {
        Ok(self.0.overlay.newcomer(document)?)
    }

    /// The key that the user gave a document of the store or of this commit, if any.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn key(&self, document: DocId) -> Result<Option<String>, Error> {
        Ok(self.0.overlay.key(document)?)
    }
}

/// Documents that lose their witness with a commit, counted before anything is decided: the members of the clusters
/// whose kept documents go.
///
/// Each of them is decided again in that commit. A cluster whose documents come again in many small commits, each of
/// which takes the witness of all others away, would be decided as often as there are commits. So a commit that takes
/// away more than it brings should wait for more.
#[derive(Debug, Default)]
pub struct Orphans {
    clusters: HashMap<DocId, Vec<DocId>>,
    /// The members of these clusters that stay.
    count: usize,
}

impl Orphans {
    /// Orphans that no commit waits for, however little it brings: they cost about what the commit itself does.
    const FEW: usize = 128;

    /// The orphans of a commit that supersedes these documents, which may be newcomers of its own.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub fn of(
        batch: &CommitBatch<'_>,
        superseded: impl Iterator<Item = DocId>,
    ) -> Result<Self, Error> {
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

    /// How many documents a commit of `documents` should wait for; `None` when it can be made now. Each further
    /// document may be one of the orphans, so that there are then as many documents as orphans; each new look at least
    /// halves the gap.
    #[must_use]
    pub const fn want(&self, documents: usize) -> Option<usize> {
        if self.count <= Self::FEW || self.count <= documents {
            return None;
        }
        Some(documents + (self.count - documents).div_ceil(2))
    }
}

impl DecisionSession {
    /// Has clusters that were read already not read again.
    pub fn cache_clusters(&mut self, orphans: Orphans) {
        self.overlay.cache_clusters(orphans.clusters);
    }
}
