//! The log as people think of it: one entry a verb, newest first, and whether and how each can be undone.

use super::erase::identity_of;
use super::error::CurateError;
use super::fields::{ComputedField, FieldBefore, NewField};
use super::remove::blocked_before;
use super::undo::INGEST;
use crate::decide::BlockReach;
use crate::model::{CommitSeq, DocId, MatchKind, Policy, Standing};
use crate::store::{CommitRecord, VerbRecord, View};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Documents whose identities are looked up at once.
const LOOKED_UP: usize = 1 << 14;

/// What one verb did, and whether it can be undone.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LogEntry {
    /// Its first commit, by which `undo` names it.
    pub commit: u64,
    /// Its last commit.
    pub last: u64,
    /// The verb: `ingest`, `remove`, `restore`, `undo`, `purge`, `redo`, `field`, `snapshot`, `epoch`, `tokenizer`, ..
    pub verb: String,
    /// The source, field, snapshot, plan, tokenizer or policy concerned.
    pub subject: String,
    /// Documents that it added.
    pub added: u64,
    /// Of these, kept ones when they came.
    pub kept: u64,
    /// Stored documents that it changed.
    pub changed: u64,
    /// Records that it rejected.
    pub rejected: u64,
    /// The reason on record.
    pub reason: Option<String>,
    /// The SQL condition on record.
    pub condition: Option<String>,
    /// When, in microseconds since 1970 in UTC, where that is on record.
    pub time: Option<i64>,
    /// The first commit of the verb that it undid.
    pub undoes: Option<u64>,
    /// The first commit of the verb that undid it.
    pub undone_by: Option<u64>,
    /// The command that undoes it.
    pub undo: Option<String>,
    /// Why no command undoes it.
    pub refusal: Option<String>,
}

/// Removed documents by how far they blocked before a verb.
pub(crate) type BlocksBefore = BTreeMap<BlockReach, RoaringTreemap>;

/// How a verb is undone. A removal and a restoration come with the removed documents beside theirs that they had block
/// otherwise.
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
}

/// A verb that can be undone.
pub(crate) struct Undoable {
    pub(crate) entry: LogEntry,
    pub(crate) way: UndoWay,
}

/// The newest `limit` verbs, newest first.
///
/// # Errors
/// [`CurateError`] when rows cannot be read.
pub(crate) fn log(view: &View, limit: usize) -> Result<Vec<LogEntry>, CurateError> {
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
/// [`CurateError::NoUndo`] when it cannot be undone, or there is none.
pub(crate) fn undoable(view: &View, commit: Option<CommitSeq>) -> Result<Undoable, CurateError> {
    let mut history = History::new(view)?;
    while let Some(verb) = history.step_back()? {
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
                Ok(way) => Ok(Undoable { entry, way }),
                Err(Refusal { why, command }) => {
                    Err(CurateError::NoUndo { what: verb.words(), why, command })
                }
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
    Err(CurateError::NoUndo { what, why, command: None })
}

/// Why a verb is not undone, and the command of another verb that does it.
struct Refusal {
    why: String,
    command: Option<String>,
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self { why, command: None }
    }
}

/// The commits of one verb.
#[derive(Default)]
struct LoggedVerb {
    first: CommitSeq,
    last: CommitSeq,
    record: CommitRecord,
    /// The documents that it added.
    documents: Range<u64>,
    begins: bool,
    undoes: Option<u64>,
    /// What its commits noted of what was before.
    before: Vec<(CommitSeq, String)>,
}

impl LoggedVerb {
    fn of(commit: CommitSeq, record: CommitRecord, mark: Option<&VerbRecord>) -> Self {
        let documents = record.first..record.first + record.added;
        let mut verb = Self { first: commit, last: commit, record, documents, ..Self::default() };
        verb.mark(commit, mark);
        verb
    }

    fn mark(&mut self, commit: CommitSeq, mark: Option<&VerbRecord>) {
        let Some(mark) = mark else { return };
        self.begins = mark.begins;
        self.undoes = mark.undoes.or(self.undoes);
        self.before.extend(mark.before.clone().map(|before| (commit, before)));
    }

    /// Whether the commit before its first one is of the same verb.
    fn continues(&self, earlier: &CommitRecord, is_marked: bool) -> bool {
        let own = &self.record;
        match (earlier.kind.as_str(), own.kind.as_str()) {
            // Deciding again and making that current are two calls.
            ("redo", "redo") => is_part(&earlier.subject) || is_fingerprints(&own.subject),
            _ if self.begins => own.kind == "load" && earlier.kind == "ingest",
            _ if is_marked => true,
            ("ingest", "load") | ("purge" | "remove", "purge") | ("purge", "remove") => true,
            (before, now) if before != now => false,
            ("purge", _) => earlier.subject != "ended",
            // Earlier releases noted no beginnings.
            _ => {
                (&earlier.subject, &earlier.reason, &earlier.condition, earlier.time)
                    == (&own.subject, &own.reason, &own.condition, own.time)
            }
        }
    }

    /// Takes in the commit before its first one.
    fn prepend(&mut self, record: CommitRecord, mark: Option<&VerbRecord>) {
        self.first = CommitSeq(self.first.0 - 1);
        if record.added > 0 {
            let end = if self.documents.is_empty() {
                record.first + record.added
            } else {
                self.documents.end
            };
            self.documents = record.first..end;
        }
        let later = std::mem::replace(&mut self.record, record);
        let whole = &mut self.record;
        whole.added += later.added;
        whole.kept += later.kept;
        whole.changed += later.changed;
        whole.rejected += later.rejected;
        if whole.kind == "redo" && !is_fingerprints(&later.subject) {
            whole.subject = later.subject;
        }
        // A purge of an earlier release removes first.
        if later.kind == "purge" {
            whole.kind = later.kind;
        }
        self.mark(self.first, mark);
    }

    fn commits(&self) -> impl Iterator<Item = CommitSeq> + use<> {
        (self.first.0..=self.last.0).map(CommitSeq)
    }

    /// Whether it is of the verbs that `undo` undoes unasked.
    fn changes_minds(&self) -> bool {
        match self.record.kind.as_str() {
            "ingest" | "remove" | "restore" | "field" => true,
            "redo" => !is_part(&self.record.subject),
            _ => false,
        }
    }

    fn words(&self) -> String {
        let (kind, subject) = (&self.record.kind, &self.record.subject);
        let space = if subject.is_empty() { "" } else { " " };
        format!("commit {} ({kind}{space}{subject})", self.first.0)
    }

    /// How far documents blocked before it that were removed then: the first note of each counts.
    fn blocks_before(&self) -> BlocksBefore {
        let (mut blocks, mut known) = (BlocksBefore::new(), RoaringTreemap::new());
        let mut notes: Vec<_> = self.before.iter().collect();
        notes.sort_unstable();
        for (reach, documents) in
            notes.iter().filter_map(|(_, note)| blocked_before(note)).flatten()
        {
            *blocks.entry(reach).or_default() |= &documents - &known;
            known |= documents;
        }
        blocks
    }

    /// The name of the field that it changed.
    fn field(&self) -> &str {
        let subject = &self.record.subject;
        subject.strip_suffix(" dropped").unwrap_or(subject)
    }
}

/// Whether a commit of a redo wrote a part of what another one makes current, which has the policy for its subject.
fn is_part(subject: &str) -> bool {
    !subject.starts_with("profile ")
}

fn is_fingerprints(subject: &str) -> bool {
    subject.starts_with("fingerprints below ")
}

/// The verbs of a corpus from the newest to the oldest, and what of those that were passed stands.
struct History<'v> {
    view: &'v View,
    marks: BTreeMap<CommitSeq, VerbRecord>,
    /// From here on the first commit of each verb is marked.
    first_mark: Option<CommitSeq>,
    next: Option<CommitSeq>,
    /// First commits of verbs that were undone, each with that of the verb that undid it.
    undone: BTreeMap<u64, u64>,
    /// Verbs that stand, newest first.
    later: Vec<LoggedVerb>,
}

impl<'v> History<'v> {
    fn new(view: &'v View) -> Result<Self, CurateError> {
        let (marks, next) = (view.verbs()?, Some(view.commit()));
        let first_mark = marks.iter().find(|(_, mark)| mark.begins).map(|(first, _)| *first);
        Ok(Self { view, marks, first_mark, next, undone: BTreeMap::new(), later: Vec::new() })
    }

    /// The next older verb.
    fn step_back(&mut self) -> Result<Option<LoggedVerb>, CurateError> {
        let Some(last) = self.next.take() else { return Ok(None) };
        let Some(record) = self.view.commit_record(last)? else { return Ok(None) };
        let mut verb = LoggedVerb::of(last, record, self.marks.get(&last));
        while let Some(earlier) = verb.first.0.checked_sub(1).map(CommitSeq) {
            let Some(record) = self.view.commit_record(earlier)? else { break };
            let is_marked = self.first_mark.is_some_and(|first| first <= earlier);
            if !verb.continues(&record, is_marked) {
                break;
            }
            verb.prepend(record, self.marks.get(&earlier));
        }
        self.next = verb.first.0.checked_sub(1).map(CommitSeq);
        Ok(Some(verb))
    }

    /// Goes past a verb: older ones are looked at in its light.
    fn pass(&mut self, verb: LoggedVerb) {
        let stands = !self.is_undone(&verb);
        match verb.undoes {
            // A redo that did not come to its end has undone nothing.
            Some(_) if verb.record.kind == "redo" && is_part(&verb.record.subject) => {}
            Some(undoes) if stands => drop(self.undone.insert(undoes, verb.first.0)),
            None if stands => self.later.push(verb),
            _ => {}
        }
    }

    /// Whether it undoes nothing and nothing has undone it.
    fn stands(&self, verb: &LoggedVerb) -> bool {
        verb.undoes.is_none() && !self.is_undone(verb)
    }

    fn is_undone(&self, verb: &LoggedVerb) -> bool {
        self.undone.contains_key(&verb.first.0)
    }

    fn entry(&self, verb: &LoggedVerb) -> LogEntry {
        let record = verb.record.clone();
        LogEntry {
            commit: verb.first.0,
            last: verb.last.0,
            // Its commits say how far it was.
            subject: if record.kind == "purge" { String::new() } else { record.subject },
            verb: record.kind,
            added: record.added,
            kept: record.kept,
            changed: record.changed,
            rejected: record.rejected,
            reason: record.reason,
            condition: record.condition,
            time: record.time,
            undoes: verb.undoes,
            undone_by: self.undone.get(&verb.first.0).copied(),
            ..LogEntry::default()
        }
    }

    /// How a verb is undone, or why it is not.
    fn way(&self, verb: &LoggedVerb) -> Result<Result<UndoWay, Refusal>, CurateError> {
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
    fn is_begun(&self, way: &UndoWay) -> Result<bool, CurateError> {
        let removed = self.view.documents_standing(Standing::Removed)?;
        Ok(match way {
            UndoWay::Ingest(documents) => !documents.is_subset(&removed),
            UndoWay::UndoneIngest(documents) | UndoWay::Removal(documents, _) => {
                !documents.is_disjoint(&removed)
            }
            UndoWay::Restoration(parts, _) => parts.values().any(|part| !part.is_subset(&removed)),
            UndoWay::Redo(_)
            | UndoWay::NewField(_)
            | UndoWay::DroppedField(_)
            | UndoWay::ComputedField(_) => false,
        })
    }

    fn of_ingest(
        &self,
        verb: &LoggedVerb,
        own: RoaringTreemap,
    ) -> Result<Result<UndoWay, Refusal>, CurateError> {
        if own.is_empty() {
            return Ok(Err("it stored no document".to_owned().into()));
        }
        if let Some(refusal) = self.purged(&own)? {
            return Ok(Err(refusal));
        }
        if let Some(refusal) = self.superseded(&own, verb.last)? {
            return Ok(Err(refusal));
        }
        let was_superseded = |document: DocId| -> Result<bool, CurateError> {
            let found = self.view.match_of(document)?;
            Ok(found.is_some_and(|found| {
                found.kind == MatchKind::Superseded && own.contains(found.witness.0)
            }))
        };
        let refusal = self.touched(&own, verb.last, was_superseded)?;
        Ok(refusal.map_or(Ok(UndoWay::Ingest(own)), Err))
    }

    fn of_undo(&self, verb: &LoggedVerb) -> Result<Result<UndoWay, Refusal>, CurateError> {
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
                hashes.push(identity_of(self.view, &self.view.expect_header(document)?)?);
            }
            for holder in self.view.identities(&hashes)?.into_iter().flatten() {
                let commit = self.view.expect_header(holder)?.commit;
                if commit > verb.last && !own.contains(holder.0) {
                    return Ok(Err(stands_on(commit, "stored records of its files again")));
                }
            }
            identities.extend(hashes);
        }
        let has_key = |document: DocId| -> Result<bool, CurateError> {
            let identity = identity_of(self.view, &self.view.expect_header(document)?)?;
            Ok(identities.contains(&identity))
        };
        let refusal = self.touched(&own, verb.last, has_key)?;
        Ok(refusal.map_or(Ok(UndoWay::UndoneIngest(own)), Err))
    }

    fn of_removal(&self, verb: &LoggedVerb) -> Result<Result<UndoWay, Refusal>, CurateError> {
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

    fn of_restoration(&self, verb: &LoggedVerb) -> Result<Result<UndoWay, Refusal>, CurateError> {
        if verb.before.iter().any(|(_, before)| before == INGEST) {
            return self.of_ingest(verb, self.removals(verb)?);
        }
        let mut parts: BTreeMap<BlockReach, RoaringTreemap> = BTreeMap::new();
        for commit in verb.commits() {
            let documents = self.view.removed_by(commit)?.unwrap_or_default();
            if documents.is_empty() {
                continue;
            }
            let noted = verb.before.iter().find(|(at, _)| *at == commit);
            let reach = BlockReach::ALL
                .into_iter()
                .find(|reach| noted.is_some_and(|(_, name)| name == reach.name()));
            let Some(reach) = reach else {
                let why = "an earlier release did not note what these documents blocked";
                return Ok(Err(why.to_owned().into()));
            };
            *parts.entry(reach).or_default() |= documents;
        }
        let mut own = RoaringTreemap::new();
        parts.values().for_each(|part| own |= part);
        let blocks = verb.blocks_before();
        let all = with_blocking(&own, &blocks);
        if all.is_empty() {
            return Ok(Err("it restored no document".to_owned().into()));
        }
        for refusal in [
            self.purged(&all)?,
            self.superseded(&own, verb.last)?,
            self.touched(&all, verb.last, |_| Ok(false))?,
        ] {
            if let Some(refusal) = refusal {
                return Ok(Err(refusal));
            }
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
            Some(expression) => {
                UndoWay::ComputedField(ComputedField { name, expression, kind: Some(kind), batch })
            }
            None => UndoWay::DroppedField(NewField { name, kind, path, batch }),
        })
    }

    /// The documents that a verb removed or restored.
    fn removals(&self, verb: &LoggedVerb) -> Result<RoaringTreemap, CurateError> {
        let mut documents = RoaringTreemap::new();
        for commit in verb.commits() {
            documents |= self.view.removed_by(commit)?.unwrap_or_default();
        }
        Ok(documents)
    }

    /// Nothing is left of purged documents that could come back.
    fn purged(&self, own: &RoaringTreemap) -> Result<Option<Refusal>, CurateError> {
        let purged = self.view.documents_standing(Standing::Purged)?.intersection_len(own);
        let why = || format!("{purged} of its documents were purged, and what is purged is gone");
        Ok((purged > 0).then(|| why().into()))
    }

    /// An ingest behind `last` that stored newer content under the keys of these documents.
    fn superseded(
        &self,
        own: &RoaringTreemap,
        last: CommitSeq,
    ) -> Result<Option<Refusal>, CurateError> {
        let superseded = self.view.documents_standing(Standing::Superseded)? & own;
        for document in superseded.iter().map(DocId) {
            let Some(found) = self.view.match_of(document)? else { continue };
            if own.contains(found.witness.0) {
                continue;
            }
            let commit = self.view.expect_header(found.witness)?.commit;
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
        depend: impl Fn(DocId) -> Result<bool, CurateError>,
    ) -> Result<Option<Refusal>, CurateError> {
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
fn no_way(view: &View, kind: &str, verb: &LoggedVerb) -> Result<Refusal, CurateError> {
    let subject = &verb.record.subject;
    let is_there = match kind {
        "tokenizer" => view.tokenizer_named(subject).is_some(),
        "snapshot" => view.snapshots()?.iter().any(|snapshot| snapshot.name == *subject),
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
