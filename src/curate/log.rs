//! The log by verbs: the commits that one verb made are one entry, newest first.

use super::remove::{BlocksBefore, blocked_before};
use model::{CommitSeq, Error};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use store::{CommitRecord, VerbRecord, View};

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

/// The commits of one verb.
#[derive(Default)]
pub(super) struct LoggedVerb {
    pub(super) first: CommitSeq,
    pub(super) last: CommitSeq,
    pub(super) record: CommitRecord,
    /// The documents that it added.
    pub(super) documents: Range<u64>,
    begins: bool,
    pub(super) undoes: Option<u64>,
    /// The notes of its commits about the state before them.
    pub(super) before: Vec<(CommitSeq, String)>,
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

    pub(super) fn commits(&self) -> impl Iterator<Item = CommitSeq> + use<> {
        (self.first.0..=self.last.0).map(CommitSeq)
    }

    /// Whether it is of the verbs that `undo` undoes unasked.
    pub(super) fn changes_minds(&self) -> bool {
        match self.record.kind.as_str() {
            "ingest" | "remove" | "restore" | "field" => true,
            "redo" => !is_part(&self.record.subject),
            _ => false,
        }
    }

    pub(super) fn words(&self) -> String {
        let (kind, subject) = (&self.record.kind, &self.record.subject);
        let space = if subject.is_empty() { "" } else { " " };
        format!("commit {} ({kind}{space}{subject})", self.first.0)
    }

    /// How far removed documents blocked before this verb: the first note of each document counts.
    pub(super) fn blocks_before(&self) -> BlocksBefore {
        let (mut blocks, mut known) = (BlocksBefore::new(), RoaringTreemap::new());
        let mut notes: Vec<_> = self.before.iter().collect();
        notes.sort_unstable();
        for (extent, documents) in
            notes.iter().filter_map(|(_, note)| blocked_before(note)).flatten()
        {
            *blocks.entry(extent).or_default() |= &documents - &known;
            known |= documents;
        }
        blocks.retain(|_, documents| !documents.is_empty());
        blocks
    }

    /// The name of the field that it changed.
    pub(super) fn field(&self) -> &str {
        let subject = &self.record.subject;
        subject.strip_suffix(" dropped").unwrap_or(subject)
    }
}

/// Whether a commit of a redo wrote a part of what another one makes current, which has the policy for its subject.
pub(super) fn is_part(subject: &str) -> bool {
    !subject.starts_with("profile ")
}

fn is_fingerprints(subject: &str) -> bool {
    subject.starts_with("fingerprints below ")
}

/// The verbs of a corpus from the newest to the oldest, and which of the newer ones stand.
pub(super) struct History<'v> {
    pub(super) view: &'v View,
    marks: BTreeMap<CommitSeq, VerbRecord>,
    /// From here on the first commit of each verb is marked.
    first_mark: Option<CommitSeq>,
    next: Option<CommitSeq>,
    /// First commits of verbs that were undone, each with that of the verb that undid it.
    pub(super) undone: BTreeMap<u64, u64>,
    /// Verbs that stand, newest first.
    pub(super) later: Vec<LoggedVerb>,
}

impl<'v> History<'v> {
    pub(super) fn new(view: &'v View) -> Result<Self, Error> {
        let (marks, next) = (view.verbs()?, Some(view.commit()));
        let first_mark = marks.iter().find(|(_, mark)| mark.begins).map(|(first, _)| *first);
        Ok(Self { view, marks, first_mark, next, undone: BTreeMap::new(), later: Vec::new() })
    }

    /// The next older verb.
    pub(super) fn step_back(&mut self) -> Result<Option<LoggedVerb>, Error> {
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
    pub(super) fn pass(&mut self, verb: LoggedVerb) {
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
    pub(super) fn stands(&self, verb: &LoggedVerb) -> bool {
        verb.undoes.is_none() && !self.is_undone(verb)
    }

    pub(super) fn is_undone(&self, verb: &LoggedVerb) -> bool {
        self.undone.contains_key(&verb.first.0)
    }

    pub(super) fn entry(&self, verb: &LoggedVerb) -> LogEntry {
        let record = verb.record.clone();
        LogEntry {
            commit: verb.first.0,
            last: verb.last.0,
            // The subjects of a purge's commits say how far it was.
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
}
