//! The types of decisions: newcomers, decisions made here or imported, and the counts of a commit.

use model::{DedupMode, DedupScope, DocId, Match, Policy, SourceId, Standing};
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{DocumentPrint, DocumentRecord, TextKind};
use text::dedup::{Overlap, Rank, Sketch};

/// What was decided about a document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ImportedDecision {
    /// The document is kept.
    Kept,
    /// The document is removed for the sake of its witness.
    Removed(Match),
    /// The document is removed for the sake of one that comes later: it is kept until that is there.
    Later,
}

/// Whose decisions are taken over, and what they do to stored documents.
#[derive(Clone, Debug, Default)]
pub struct ImportContext {
    /// The first document that came with its decision, in this commit or an earlier one.
    pub first: DocId,
    /// Whether documents before the first stand otherwise in the end, so that a witness may not be kept yet.
    pub changes: bool,
    /// Documents before the first that are superseded in the end.
    pub leaving: Arc<RoaringTreemap>,
}

/// The decisions that a commit takes over; nothing, where all is decided here.
#[derive(Default)]
pub(super) struct ImportState {
    /// Whose decisions they are.
    pub(super) context: Option<ImportContext>,
    /// Decisions that are not taken over yet.
    pub(super) given: BTreeMap<DocId, ImportedDecision>,
}

impl ImportState {
    /// Whether a document came with its decision.
    pub(super) fn is_imported(&self, document: DocId) -> bool {
        self.context.as_ref().is_some_and(|context| document >= context.first)
    }

    /// Whether a stored document is superseded before the load ends. Its texts get other leaders as soon as possible:
    /// at the end of the load these might not be found.
    pub(super) fn is_leaving(&self, document: DocId) -> bool {
        self.context.as_ref().is_some_and(|context| context.leaving.contains(document.0))
    }

    /// Whether a witness may not be kept yet.
    pub(super) fn may_wait(&self) -> bool {
        self.context.as_ref().is_some_and(|context| context.changes)
    }
}

/// A document that a commit decides for the first time: on its way in, or stored and before a new generation.
pub struct Newcomer {
    /// Its header, `text_of` included.
    pub header: DocumentRecord,
    /// Its sketch; none when too short for one.
    pub sketch: Option<Sketch>,
    /// Its shingles. None when the text is stored already: then they are made of it when asked for.
    pub shingles: Option<Arc<[u64]>>,
    /// Its number in the field of [`DecisionSession::order_field`](super::DecisionSession::order_field).
    pub number: Option<i64>,
}

/// What was decided about a document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Its standing.
    pub standing: Standing,
    /// The match that explains it.
    pub matched: Option<Match>,
}

impl Decision {
    /// The decision that a document is kept.
    pub(super) const KEPT: Self = Self { standing: Standing::Kept, matched: None };
}

/// Checks a removal, whoever decided it, against the stored removed document and its witness: the witness ranks first
/// and is in the scope, both have as many shingles as the match says, and the overlap is enough in the mode. Each comes
/// with its source, where documents of one source meet, or else with any that both have.
///
/// # Errors
/// Why it cannot be true.
pub fn check_removal(
    policy: &Policy,
    (rank, source, removed): (Rank, SourceId, DocumentPrint),
    (better, witness_source, witness): (Rank, SourceId, DocumentPrint),
    matched: &Match,
) -> Result<(), String> {
    if better >= rank {
        return Err(format!("its witness does not outrank it (keep order {})", policy.keep));
    }
    if policy.scope == DedupScope::PerSource && witness_source != source {
        return Err("its witness is of another source".to_owned());
    }
    let (own, other) = (removed.shingles, witness.shingles);
    for (whose, said, has) in
        [("it", matched.removed_shingles, own), ("its witness", matched.witness_shingles, other)]
    {
        if said != has {
            return Err(format!("{whose} should have {said} shingles and has {has}"));
        }
    }
    let overlap = Overlap { shared: matched.shared, left: own, right: other };
    let is_equal = witness.raw == removed.raw;
    let is_far = match policy.mode {
        DedupMode::None => return Err("in mode `none` nothing is removed".to_owned()),
        DedupMode::Exact => {
            let mut forms = TextKind::of_policy(policy).iter();
            !forms.any(|form| form.hash_of(&witness) == form.hash_of(&removed))
        }
        DedupMode::Witness => !is_equal && !overlap.reaches(policy.threshold),
        DedupMode::Components | DedupMode::Lsh => false,
    };
    if is_far {
        return Err(format!(
            "it shares {} shingles with its witness, of {own} and {other}: not enough in mode `{}`",
            matched.shared,
            policy.mode.name()
        ));
    }
    Ok(())
}

/// Work done and limits met, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct DecisionCounts {
    /// Candidates whose sketches were compared.
    pub compared: u64,
    /// Candidates whose texts were compared.
    pub verified: u64,
    /// Crowded buckets that were read only in part, because their members do not fit into memory.
    pub capped: u64,
    /// Documents whose decision left candidates out: they are marked until they are settled.
    pub crowded: u64,
    /// Stored documents decided again because their neighbourhood changed.
    pub reconsidered: u64,
    /// Members of buckets that were read, with skipped ones.
    pub members: u64,
    /// Blocks of standings that were read: of one block once a commit.
    pub standings: u64,
    /// Texts compared with documents that left in the same commit, to find whose place new ones took.
    pub heirs: u64,
}

impl std::ops::AddAssign for DecisionCounts {
    fn add_assign(&mut self, other: Self) {
        self.compared += other.compared;
        self.verified += other.verified;
        self.capped += other.capped;
        self.crowded += other.crowded;
        self.reconsidered += other.reconsidered;
        self.members += other.members;
        self.standings += other.standings;
        self.heirs += other.heirs;
    }
}
