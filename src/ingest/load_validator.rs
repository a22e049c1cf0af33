//! Holds the rows of a load against the documents that they are about, and takes their decisions over.

use super::error::load_row;
use super::fingerprinter::{FingerprintedChunk, FingerprintedItem, FingerprintedRecord};
use super::identify::ChunkSources;
use super::identify::{PendingDocument, RecordOutcome};
use super::imported_row::{ImportedMatch, ImportedRow, TokenIdsColumn};
use crate::decide::{
    CommitDecisions, Decision, DecisionSession, ImportContext, ImportedDecision, InvalidDecision,
};
use model::{DocId, Error, Match, MatchKind, RecordKey, Standing, key_identity};
use roaring::RoaringTreemap;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use store::View;

/// One in so many removed documents is compared with its witness, and one in so many lists of token ids is made again,
/// unless all are.
const SAMPLE: u8 = 64;

/// What is known of the rows so far.
pub struct LoadValidator {
    /// All removed documents are compared with their witnesses.
    pub(super) checks_all: bool,
    /// The source of documents that name none.
    pub(super) source: String,
    /// Documents that the corpus had before the load: those that it was decided against.
    pub(super) before: u64,
    /// Whether some of these documents have another standing in the end.
    pub(super) changes: bool,
    /// Documents that the corpus had before and that documents of the load supersede.
    pub(super) superseded: Arc<RoaringTreemap>,
    /// The columns that have token ids.
    pub(super) ids: Vec<TokenIdsColumn>,
    /// The place of the last row.
    last: Option<u64>,
    /// Documents that were compared with their witnesses.
    pub(super) compared: u64,
    /// Documents whose witnesses were not there, or not kept yet, when they came.
    pub(super) later: u64,
    /// Texts whose token ids came with them, each tokenizer counted.
    pub(super) brought: u64,
}

impl LoadValidator {
    /// A validator of documents that were decided alone.
    pub(super) fn new(source: String, ids: Vec<TokenIdsColumn>, checks_all: bool) -> Self {
        Self {
            checks_all,
            source,
            before: 0,
            changes: false,
            superseded: Arc::default(),
            ids,
            last: None,
            compared: 0,
            later: 0,
            brought: 0,
        }
    }

    /// A validator of documents that were decided against `before` stored ones. `superseded` of the stored ones go, and
    /// with `changes` some stand otherwise in the end.
    pub(super) fn against(self, before: u64, changes: bool, superseded: RoaringTreemap) -> Self {
        Self { before, changes, superseded: Arc::new(superseded), ..self }
    }

    /// What a session takes over.
    pub(super) fn takeover(&self) -> ImportContext {
        let leaving = Arc::clone(&self.superseded);
        ImportContext { first: DocId(self.before), changes: self.changes, leaving }
    }

    /// Checks that every row of a chunk is a document that the corpus does not have, ranked behind those before it; it
    /// may supersede stored documents that the load supersedes.
    ///
    /// # Errors
    /// [`Error`] for the first that is not.
    pub(super) fn validate_rows(
        &mut self,
        view: &View,
        chunk: &FingerprintedChunk,
        sources: &ChunkSources,
        (new, fates): (&[PendingDocument<'_>], &[RecordOutcome]),
    ) -> Result<(), Error> {
        let (mut new, mut fates) = (new.iter().peekable(), fates.iter());
        let mut last = self.last;
        for (at, items) in chunk.items.iter().enumerate() {
            for item in items {
                let prepared = match item {
                    FingerprintedItem::Document(prepared) => prepared.as_ref(),
                    FingerprintedItem::Reject(reject, _) => {
                        let (path, row) = (&reject.origin.path, reject.origin.number);
                        return Err(load_row(path, row, reject.reason.to_string()));
                    }
                };
                let order = decided(prepared)?.order;
                if let Some(before) = last.filter(|before| *before >= order) {
                    let why = format!("`_order` is {order} after {before}: rows must be in order");
                    return Err(prepared.load_row(why));
                }
                last = Some(order);
                let id = match fates.next() {
                    Some(RecordOutcome::Document(id)) => *id,
                    _ => return Err(prepared.load_row("its content was purged")),
                };
                let is_new = new.next_if(|new| new.id == id);
                let holder = match is_new {
                    Some(new) => match new.supersedes {
                        Some(holder) if self.may_supersede(view, holder)? => None,
                        holder => holder,
                    },
                    None if id.0 < view.documents() => {
                        let place = view.place(id)?;
                        let file = sources.file(at, sources.source(&prepared.record));
                        let is_it =
                            (place.file, place.number) == (file, prepared.record.origin.number);
                        (!is_it).then_some(id)
                    }
                    None => Some(id),
                };
                if let Some(holder) = holder {
                    let why = if holder.0 >= self.before {
                        "an earlier row of its source has the same key"
                    } else if self.superseded.contains(holder.0) {
                        "the corpus has this record unchanged: leave it out of the decisions, as an ingest skips it"
                    } else {
                        "the corpus has a document of its source with the same key, which the load does not supersede: decide against an export that has it, or ingest the record"
                    };
                    return Err(prepared.load_row(why));
                }
            }
        }
        self.last = last;
        Ok(())
    }

    /// Whether a row may have the key of a stored document: of one that the load supersedes, or of a removed one,
    /// which exports do not mention and which is nobody's witness.
    fn may_supersede(&self, view: &View, holder: DocId) -> Result<bool, Error> {
        Ok(self.superseded.contains(holder.0)
            || holder.0 < self.before && is_out(view.standing(holder)?))
    }

    /// Has a session take over what the rows say of its newcomers.
    ///
    /// # Errors
    /// [`Error`] for a row that cannot be true, and when the store cannot be read.
    pub(super) fn apply(
        &mut self,
        session: DecisionSession,
        view: &View,
        new: &[PendingDocument<'_>],
    ) -> Result<CommitDecisions, Error> {
        let witnesses = self.witnesses(view, new)?;
        let (mut given, mut sample, mut later) = (BTreeMap::new(), Vec::new(), 0);
        for PendingDocument { id, prepared, .. } in new {
            let decided = decided(prepared)?;
            let (key, source) = (key_of(prepared), self.source_of(prepared));
            let taken = match &decided.removal {
                None => ImportedDecision::Kept,
                Some(removal) => {
                    let witness = match removal.id {
                        Some(id) => {
                            let wrong = |why: String| prepared.load_row(why);
                            Some(self.stored_witness(view, source, removal, id, &wrong)?)
                        }
                        None => witnesses.get(&self.identity(removal, source)).copied(),
                    };
                    match witness {
                        Some(witness) => {
                            let matched = stored_match(decided.standing, removal, witness);
                            if self.is_compared(&prepared.identity) {
                                sample.push((*id, matched));
                            }
                            ImportedDecision::Removed(matched)
                        }
                        None if session.keeps_first() => {
                            let why = "its witness comes after it, but the keep order is `first`";
                            return Err(prepared.load_row(why));
                        }
                        None => ImportedDecision::Later,
                    }
                }
            };
            check_consistency(decided, key).map_err(|why| prepared.load_row(why))?;
            later += u64::from(taken == ImportedDecision::Later);
            given.insert(*id, taken);
        }
        let prepared_of = |id: DocId| new.iter().find(|new| new.id == id).map(|new| new.prepared);
        let named = |error| {
            load_row_error(error, |document, why| {
                prepared_of(document).map(|row| row.load_row(why))
            })
        };
        let decisions = session.import(given.clone(), self.takeover()).map_err(named)?;
        for PendingDocument { id, prepared, supersedes, .. } in new {
            let (said, found) = (decided(prepared)?.standing, decisions.decision(*id)?);
            let holder = supersedes.map(|holder| view.standing(holder)).transpose()?;
            if found.standing == Standing::Blocked && holder.is_some_and(is_out) {
                // An ingest would decide the same: the removal keeps the key out.
                continue;
            }
            match given.get(id) {
                Some(ImportedDecision::Later) => {}
                Some(given) if self.changes && awaits_changes(*given, &found) => later += 1,
                _ => check_standing(said, found.standing).map_err(|why| prepared.load_row(why))?,
            }
        }
        decisions.check_overlaps(&sample).map_err(named)?;
        self.compared += sample.len() as u64;
        self.later += later;
        Ok(decisions)
    }

    /// The stored documents that the rows name as witnesses.
    fn witnesses(
        &self,
        view: &View,
        new: &[PendingDocument<'_>],
    ) -> Result<HashMap<[u8; 16], DocId>, Error> {
        let mut known: HashMap<[u8; 16], DocId> =
            new.iter().map(|new| (new.prepared.identity, new.id)).collect();
        let mut asked = Vec::new();
        for PendingDocument { prepared, .. } in new {
            if let Some(removal) = &decided(prepared)?.removal
                && removal.id.is_none()
            {
                let witness = self.identity(removal, self.source_of(prepared));
                if !known.contains_key(&witness) {
                    asked.push(witness);
                }
            }
        }
        asked.sort_unstable();
        asked.dedup();
        let found = view.identities(&asked)?;
        // Who has the key of a witness that is yet to come is not the witness.
        let is_it = |found: &DocId| !self.superseded.contains(found.0);
        let found = found.into_iter().map(|found| found.filter(is_it));
        known.extend(asked.into_iter().zip(found).filter_map(|(key, found)| Some((key, found?))));
        Ok(known)
    }

    /// Under which key the store has the witness of a document of a source.
    pub(super) fn identity(&self, removal: &ImportedMatch, source: &str) -> [u8; 16] {
        key_identity(removal.source.as_deref().unwrap_or(source), &removal.witness)
    }

    /// The witness that the corpus had before the load under a number, of a document of that source.
    ///
    /// # Errors
    /// What `wrong` makes of it when it is another document than the row says; [`Error`] when the store cannot be
    /// read.
    pub(super) fn stored_witness(
        &self,
        view: &View,
        source: &str,
        removal: &ImportedMatch,
        id: u64,
        wrong: &dyn Fn(String) -> Error,
    ) -> Result<DocId, Error> {
        if id >= self.before {
            let why = format!("`_witness_id` is {id}, and it was decided against {}", self.before);
            return Err(wrong(why));
        }
        let place = view.place(DocId(id))?;
        let found = view.source_name(place.source)?;
        let said = removal.source.as_deref().unwrap_or(source);
        if said == found && view.is_shown_as(DocId(id), &removal.witness)? {
            return Ok(DocId(id));
        }
        let key = view.display_key(DocId(id))?;
        Err(wrong(format!(
            "its witness should be {:?} of `{said}`, and document {id} of the corpus is {key:?} of `{found}`",
            removal.witness
        )))
    }

    /// Whether of the document under that key what takes its text is checked: how similar it is to its witness, or its
    /// token ids.
    pub(super) fn is_compared(&self, identity: &[u8; 16]) -> bool {
        self.checks_all || identity.first().is_some_and(|first| first % SAMPLE == 0)
    }

    fn source_of<'a>(&'a self, prepared: &'a FingerprintedRecord) -> &'a str {
        prepared.record.source.as_deref().unwrap_or(&self.source)
    }
}

/// Whether stored documents that change later keep a document from its standing in the load: it is kept, or there is
/// another witness for it.
fn awaits_changes(given: ImportedDecision, found: &Decision) -> bool {
    let witness = |matched: &Match| matched.witness;
    let said = match given {
        ImportedDecision::Removed(matched) => Some(matched.witness),
        ImportedDecision::Kept | ImportedDecision::Later => None,
    };
    found.standing.is_eligible() && found.matched.as_ref().map(witness) != said
}

/// A removal as it is stored.
pub(super) fn stored_match(standing: Standing, removal: &ImportedMatch, witness: DocId) -> Match {
    let ImportedMatch { shared, removed_shingles, witness_shingles, .. } = *removal;
    let kind = if standing == Standing::Exact { MatchKind::Exact } else { MatchKind::Near };
    Match { kind, witness, shared, removed_shingles, witness_shingles }
}

/// Checks that a row does not contradict itself.
///
/// # Errors
/// What is not.
pub(super) fn check_consistency(decided: &ImportedRow, key: &str) -> Result<(), String> {
    let ImportedRow { standing, removal, cluster, .. } = decided;
    let kept = match removal {
        Some(removal) => Some(removal.witness.as_str()),
        None => Some(key).filter(|_| *standing == Standing::Kept),
    };
    if let Some(cluster) = cluster
        && kept != Some(cluster.as_str())
    {
        let kept = kept.map_or("none".to_owned(), |kept| format!("{kept:?}"));
        return Err(format!("`_cluster` is {cluster:?}, and the kept document is {kept}"));
    }
    if let Some(removal) = removal
        && let Some(said) = removal.jaccard
    {
        let computed = stored_match(*standing, removal, DocId(0)).jaccard();
        // Written as a text and read again, it is the same to the last digit.
        if (said - computed).abs() > 1e-12 || said.is_nan() {
            return Err(format!("`_jaccard` is {said}, and its counts give {computed}"));
        }
    }
    Ok(())
}

/// A decision that cannot be true, as an error of its row; `row` makes that of the document and the reason.
pub(super) fn load_row_error(error: Error, row: impl Fn(DocId, &str) -> Option<Error>) -> Error {
    if let Some(InvalidDecision { document, why }) = error.origin()
        && let Some(of_row) = row(*document, why)
    {
        return of_row;
    }
    error
}

/// Whether a document was removed by a person, or came in under the key of one that was.
const fn is_out(standing: Standing) -> bool {
    matches!(standing, Standing::Removed | Standing::Blocked)
}

/// Checks that a document has the standing that its row says.
///
/// # Errors
/// The message when it has not.
pub(super) fn check_standing(said: Standing, found: Standing) -> Result<(), String> {
    if said == found {
        return Ok(());
    }
    Err(format!("it should be `{said}` and is `{found}`"))
}

fn decided(prepared: &FingerprintedRecord) -> Result<&ImportedRow, Error> {
    prepared.decided.as_ref().ok_or_else(|| prepared.load_row("it has no decision"))
}

fn key_of(prepared: &FingerprintedRecord) -> &str {
    match &prepared.record.key {
        RecordKey::Given(key) => key,
        RecordKey::Position => "",
    }
}
