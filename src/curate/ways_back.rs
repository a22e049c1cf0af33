//! Finds how a verb can be undone, or why it cannot, given the later verbs that still stand.

use super::erase::identity_of;
use super::fields::{ComputedField, FieldBefore, NewField};
use super::log::{History, LogEntry, LoggedVerb, is_part};
use super::perplexity::PerplexityField;
use super::remove::{BlocksBefore, by_extent};
use super::undo::INGEST;
use crate::decide::BlockExtent;
use model::{CommitSeq, DocId, Error, Hint, MatchKind, Policy, Standing};
use roaring::RoaringTreemap;
use std::collections::BTreeSet;
use store::View;

/// Documents whose identities are looked up at once.
const LOOKED_UP: usize = 1 << 14;

/// How a verb is undone. A removal or a restoration has, beside its documents, the other removed ones that it made
/// block otherwise.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum UndoWay {
    /// An ingest: its documents go, and what they superseded comes back.
    Ingest(RoaringTreemap),
    /// An ingest that was undone: its documents come back.
    UndoneIngest(RoaringTreemap),
    /// A removal: a restoration.
    Removal(RoaringTreemap, BlocksBefore),
    /// A restoration: removals, by how far the documents blocked before it.
    Restoration(BlocksBefore, BlocksBefore),
    /// A redo: another one under the policy before it.
    Redo(Box<Policy>),
    /// A field that was declared.
    NewField(String),
    /// A field that was given up.
    DroppedField(NewField),
    /// A field that had values of an expression.
    ComputedField(ComputedField),
    /// A field that had perplexities.
    PerplexityField(PerplexityField),
}

/// A verb that can be undone.
pub(crate) struct Undoable {
    pub(crate) entry: LogEntry,
    pub(crate) way: UndoWay,
    /// Whether the last verb is an undo of it that was stopped.
    pub(crate) goes_on: bool,
}

/// The newest `limit` verbs, newest first.
pub(crate) fn log(view: &View, limit: usize) -> Result<Vec<LogEntry>, Error> {
    let (mut history, mut found) = (History::new(view)?, Vec::new());
    while found.len() < limit
        && let Some(verb) = history.step_back()?
    {
        let mut entry = history.entry(&verb);
        match history.way(&verb)? {
            Ok(_) => entry.undo = Some(format!("corpusdb undo CORPUS {}", verb.first.0)),
            Err(Refusal { command, .. }) if command.is_some() => entry.undo = command,
            Err(Refusal { why, .. }) => entry.refusal = Some(why),
        }
        history.pass(verb);
        found.push(entry);
    }
    Ok(found)
}

/// The verb that has this commit, or the newest one that changed documents, a policy or fields and stands.
///
/// # Errors
/// [`Error`] when it cannot be undone, or there is none.
pub(crate) fn undoable(view: &View, commit: Option<CommitSeq>) -> Result<Undoable, Error> {
    let (mut history, mut newest) = (History::new(view)?, None);
    while let Some(verb) = history.step_back()? {
        let last_undoes = *newest.get_or_insert(verb.undoes);
        let is_asked = match commit {
            Some(commit) => verb.first <= commit && commit <= verb.last,
            // An undo that was stopped goes on.
            None => {
                verb.changes_minds()
                    && (history.stands(&verb)
                        || history.is_undone(&verb) && history.way(&verb)?.is_ok())
            }
        };
        if is_asked {
            let entry = history.entry(&verb);
            return match history.way(&verb)? {
                Ok(way) => {
                    let goes_on = last_undoes == Some(verb.first.0);
                    Ok(Undoable { entry, way, goes_on })
                }
                Err(Refusal { why, command }) => Err(no_undo(&verb.words(), &why, command)),
            };
        }
        history.pass(verb);
    }
    let (what, why) = match commit {
        Some(commit) => {
            (format!("commit {}", commit.0), format!("the last commit is {}", view.commit().0))
        }
        None => (
            "the last verb".to_owned(),
            "no verb left changes documents, policy or fields".to_owned(),
        ),
    };
    Err(no_undo(&what, &why, None))
}

/// The error that a verb cannot be undone, with the command that has the same effect, where there is one.
fn no_undo(what: &str, why: &str, command: Option<String>) -> Error {
    let hint = match command {
        Some(command) => Hint::text("run it").with_command(command),
        None => Hint::text("the verbs that can be undone are listed").with_command("corpusdb log"),
    };
    Error::bad_input(format!("{what} cannot be undone: {why}")).with_hint(hint)
}

/// Why a verb is not undone, and the command of another verb that does it.
pub(super) struct Refusal {
    pub(super) why: String,
    pub(super) command: Option<String>,
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self { why, command: None }
    }
}

impl History<'_> {
    /// How a verb is undone, or why it is not.
    pub(super) fn way(&self, verb: &LoggedVerb) -> Result<Result<UndoWay, Refusal>, Error> {
        let undone_by = self.undone.get(&verb.first.0);
        let way = match verb.record.kind.as_str() {
            "ingest" => {
                let mut own = RoaringTreemap::new();
                own.insert_range(verb.documents.clone());
                self.of_ingest(verb, own)
            }
            "undo" => self.of_undo(verb),
            "remove" => self.of_removal(verb),
            "restore" => self.of_restoration(verb),
            "redo" => Ok(self.of_redo(verb)),
            "field" => Ok(self.of_field(verb)),
            other => return Ok(Err(no_way(self.view, other, verb)?)),
        }?;
        // One that was stopped goes on: what it has undone is left out of its way.
        if let (Some(by), Ok(way)) = (undone_by, &way)
            && !self.is_begun(way)?
        {
            return Ok(Err(format!("it was undone by commit {by}").into()));
        }
        Ok(way)
    }

    /// Whether something is left of a verb that a stopped undo has begun with.
    fn is_begun(&self, way: &UndoWay) -> Result<bool, Error> {
        let removed = self.view.documents_standing(Standing::Removed)?;
        Ok(match way {
            UndoWay::Ingest(documents) => !documents.is_subset(&removed),
            UndoWay::UndoneIngest(documents) => !documents.is_disjoint(&removed),
            UndoWay::Removal(documents, blocks) => {
                !documents.is_disjoint(&removed) || self.blocks_otherwise(blocks)?
            }
            UndoWay::Restoration(parts, blocks) => {
                parts.values().any(|part| !part.is_subset(&removed))
                    || self.blocks_otherwise(blocks)?
            }
            UndoWay::Redo(_)
            | UndoWay::NewField(_)
            | UndoWay::DroppedField(_)
            | UndoWay::ComputedField(_)
            | UndoWay::PerplexityField(_) => false,
        })
    }

    /// Whether documents block otherwise than before a verb.
    fn blocks_otherwise(&self, before: &BlocksBefore) -> Result<bool, Error> {
        let documents = with_blocking(&RoaringTreemap::new(), before);
        Ok(by_extent(self.view, &documents)? != *before)
    }

    fn of_ingest(
        &self,
        verb: &LoggedVerb,
        own: RoaringTreemap,
    ) -> Result<Result<UndoWay, Refusal>, Error> {
        if own.is_empty() {
            return Ok(Err("it stored no document".to_owned().into()));
        }
        if let Some(refusal) = self.purged(&own)? {
            return Ok(Err(refusal));
        }
        if let Some(refusal) = self.superseded(&own, verb.last)? {
            return Ok(Err(refusal));
        }
        let was_superseded = |document: DocId| -> Result<bool, Error> {
            let found = self.view.match_of(document)?;
            Ok(found.is_some_and(|found| {
                found.kind == MatchKind::Superseded && own.contains(found.witness.0)
            }))
        };
        let refusal = self.touched(&own, verb.last, was_superseded)?;
        Ok(refusal.map_or(Ok(UndoWay::Ingest(own)), Err))
    }

    fn of_undo(&self, verb: &LoggedVerb) -> Result<Result<UndoWay, Refusal>, Error> {
        let own = self.removals(verb)?;
        if let Some(refusal) = self.purged(&own)? {
            return Ok(Err(refusal));
        }
        let mut identities = BTreeSet::new();
        let mut ids = own.iter().map(DocId);
        loop {
            let part: Vec<DocId> = ids.by_ref().take(LOOKED_UP).collect();
            if part.is_empty() {
                break;
            }
            let mut hashes = Vec::with_capacity(part.len());
            for document in part {
                hashes.push(identity_of(self.view, document)?);
            }
            for holder in self.view.identities(&hashes)?.into_iter().flatten() {
                let commit = self.view.commit_of(holder)?;
                if commit > verb.last && !own.contains(holder.0) {
                    return Ok(Err(stands_on(commit, "stored records of its files again")));
                }
            }
            identities.extend(hashes);
        }
        let has_key = |document: DocId| -> Result<bool, Error> {
            let identity = identity_of(self.view, document)?;
            Ok(identities.contains(&identity))
        };
        let refusal = self.touched(&own, verb.last, has_key)?;
        Ok(refusal.map_or(Ok(UndoWay::UndoneIngest(own)), Err))
    }

    fn of_removal(&self, verb: &LoggedVerb) -> Result<Result<UndoWay, Refusal>, Error> {
        let (documents, blocks) = (self.removals(verb)?, verb.blocks_before());
        let own = with_blocking(&documents, &blocks);
        if own.is_empty() {
            return Ok(Err("it changed nothing, or an earlier release did".to_owned().into()));
        }
        if let Some(refusal) = self.purged(&own)? {
            return Ok(Err(refusal));
        }
        let refusal = self.touched(&own, verb.last, |_| Ok(false))?;
        Ok(refusal.map_or(Ok(UndoWay::Removal(documents, blocks)), Err))
    }

    fn of_restoration(&self, verb: &LoggedVerb) -> Result<Result<UndoWay, Refusal>, Error> {
        if verb.before.iter().any(|(_, before)| before == INGEST) {
            return self.of_ingest(verb, self.removals(verb)?);
        }
        let mut parts = BlocksBefore::new();
        for commit in verb.commits() {
            let documents = self.view.removed_by(commit)?.unwrap_or_default();
            if documents.is_empty() {
                continue;
            }
            let noted = verb.before.iter().find(|(at, _)| *at == commit);
            let Some(extent) = noted.and_then(|(_, name)| BlockExtent::named(name)) else {
                let why = "an earlier release did not note what these documents blocked";
                return Ok(Err(why.to_owned().into()));
            };
            *parts.entry(extent).or_default() |= documents;
        }
        let mut own = RoaringTreemap::new();
        parts.values().for_each(|part| own |= part);
        let blocks = verb.blocks_before();
        let all = with_blocking(&own, &blocks);
        if all.is_empty() {
            return Ok(Err("it restored no document".to_owned().into()));
        }
        let refusals = [
            self.purged(&all)?,
            self.superseded(&own, verb.last)?,
            self.touched(&all, verb.last, |_| Ok(false))?,
        ];
        if let Some(refusal) = refusals.into_iter().flatten().next() {
            return Ok(Err(refusal));
        }
        Ok(Ok(UndoWay::Restoration(parts, blocks)))
    }

    fn of_redo(&self, verb: &LoggedVerb) -> Result<UndoWay, Refusal> {
        if is_part(&verb.record.subject) {
            return Err("it was not made current".to_owned().into());
        }
        let Some((_, before)) = verb.before.first() else {
            let why = "an earlier release did not note the policy before it";
            return Err(why.to_owned().into());
        };
        let is_switch =
            |later: &&LoggedVerb| later.record.kind == "redo" && !is_part(&later.record.subject);
        if let Some(later) = self.later.iter().find(is_switch) {
            return Err(stands_on(later.first, "changed the policy again"));
        }
        match serde_json::from_str(before) {
            Ok(policy) => Ok(UndoWay::Redo(Box::new(policy))),
            Err(error) => Err(format!("the policy before it cannot be read: {error}").into()),
        }
    }

    fn of_field(&self, verb: &LoggedVerb) -> Result<UndoWay, Refusal> {
        let name = verb.field();
        let is_same = |later: &&LoggedVerb| {
            later.record.kind == "field" && later.field().split(", ").any(|one| one == name)
        };
        if let Some(later) = self.later.iter().find(is_same) {
            return Err(stands_on(later.first, "changed the field again"));
        }
        if self.view.fed_by(name).is_some() {
            return Err(by_another(format!("corpusdb signals drop CORPUS {name}")));
        }
        let before = verb.before.first().and_then(|(_, before)| serde_json::from_str(before).ok());
        let (kind, path, expression) = match before {
            None => return Err("the values before it are not stored".to_owned().into()),
            Some(FieldBefore::Absent) => return Ok(UndoWay::NewField(name.to_owned())),
            Some(FieldBefore::Declared { kind, path, expression }) => (kind, path, expression),
        };
        let kind = kind.parse().map_err(|_| format!("the field had the unknown type `{kind}`"))?;
        let (name, batch) = (name.to_owned(), NewField::BATCH);
        Ok(match expression {
            Some(expression) => match PerplexityField::of_expression(&name, &expression, batch) {
                Some(field) => UndoWay::PerplexityField(field),
                None => {
                    let kind = Some(kind);
                    UndoWay::ComputedField(ComputedField { name, expression, kind, batch })
                }
            },
            None => UndoWay::DroppedField(NewField { name, kind, path, batch }),
        })
    }

    /// The documents that a verb removed or restored.
    fn removals(&self, verb: &LoggedVerb) -> Result<RoaringTreemap, Error> {
        let mut documents = RoaringTreemap::new();
        for commit in verb.commits() {
            documents |= self.view.removed_by(commit)?.unwrap_or_default();
        }
        Ok(documents)
    }

    /// Nothing is left of purged documents that could come back.
    fn purged(&self, own: &RoaringTreemap) -> Result<Option<Refusal>, Error> {
        let purged = self.view.documents_standing(Standing::Purged)?.intersection_len(own);
        let why = || format!("{purged} of its documents were purged, and what is purged is gone");
        Ok((purged > 0).then(|| why().into()))
    }

    /// An ingest behind `last` that stored newer content under the keys of these documents.
    fn superseded(&self, own: &RoaringTreemap, last: CommitSeq) -> Result<Option<Refusal>, Error> {
        let superseded = self.view.documents_standing(Standing::Superseded)? & own;
        for document in superseded.iter().map(DocId) {
            let Some(found) = self.view.match_of(document)? else { continue };
            if own.contains(found.witness.0) {
                continue;
            }
            let commit = self.view.commit_of(found.witness)?;
            if commit > last {
                return Ok(Some(stands_on(commit, "stored newer content under its keys")));
            }
        }
        Ok(None)
    }

    /// A verb behind `last` that stands and removed or restored some of these documents, or others that `depend` on
    /// them.
    fn touched(
        &self,
        own: &RoaringTreemap,
        last: CommitSeq,
        depend: impl Fn(DocId) -> Result<bool, Error>,
    ) -> Result<Option<Refusal>, Error> {
        for later in self.later.iter().rev().filter(|later| later.first > last) {
            if !["remove", "restore", "purge"].contains(&later.record.kind.as_str()) {
                continue;
            }
            let documents = self.removals(later)?;
            let mut touches = !documents.is_disjoint(own);
            for document in (&documents - own).iter().map(DocId) {
                touches = touches || depend(document)?;
            }
            if touches {
                let what = format!("{}d documents of it", later.record.kind);
                return Ok(Some(stands_on(later.first, &what)));
            }
        }
        Ok(None)
    }
}

/// Documents that a verb removed or restored, and those that it had block otherwise.
fn with_blocking(documents: &RoaringTreemap, blocks: &BlocksBefore) -> RoaringTreemap {
    blocks.values().fold(documents.clone(), |all, part| all | part)
}

fn stands_on(commit: CommitSeq, what: &str) -> Refusal {
    format!("commit {} {what}: undo that first", commit.0).into()
}

/// Why a verb of another kind is not undone, or what undoes it.
fn no_way(view: &View, kind: &str, verb: &LoggedVerb) -> Result<Refusal, Error> {
    let subject = &verb.record.subject;
    let is_there = match kind {
        "tokenizer" => view.tokenizer_named(subject).is_some(),
        "snapshot" => view.snapshots()?.iter().any(|snapshot| snapshot.name == *subject),
        "contamination" => view.suites()?.iter().any(|(_, suite)| suite.name == *subject),
        "epoch" => view.epochs()?.iter().any(|plan| plan.number.to_string() == *subject),
        _ => false,
    };
    if is_there {
        return Ok(by_another(format!("corpusdb {kind} drop CORPUS {subject}")));
    }
    let why = match kind {
        "purge" => "what is purged is gone",
        "source" => "the name before it is not stored",
        "compact" => "it changed no row",
        "init" => "it made the corpus",
        "rejects" => "rejects come back when their files are read again",
        "settle" => "decisions with all their candidates replaced others",
        _ => "nothing leads back from it",
    };
    Ok(why.to_owned().into())
}

fn by_another(command: String) -> Refusal {
    Refusal { why: "another verb leads back".to_owned(), command: Some(command) }
}
