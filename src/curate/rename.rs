//! Renames a source: its record, and all that is hashed with its name or spells it.
//!
//! Identities of records and of rejects are hashes over the name of their source, and a hash over a name and a key
//! cannot be told from a hash of the name. So those of the source's documents are computed again, and everything
//! changes in one commit. Blocks by key of purged documents cannot be computed again: their keys are gone.
//!
//! Identities of records and of rejects are hashes over the name of their source, and a hash over a name and a key cannot
//! be told from a hash of the name: so those of the source's documents are computed again, and everything changes in one
//! commit. Blocks by key of purged documents cannot be: their keys are gone.

use super::erase::identity_under;
use crate::sql::names_column;
use model::show::{count, sql_literal};
use model::{
    Context, DocId, Error, ErrorKind, FileId, Hint, KeepOrder, Policy, SourceId, reject_identity_at,
};
use serde::Serialize;
use std::collections::BTreeSet;
use store::{BlockKind, CommitBatch, CommitRecord, RejectRecord, StoreWriter, VerbRecord, View};

/// Identities looked up at a time.
const CHUNK: usize = 1 << 12;
/// Bytes of memory that the move of one identity takes until the commit, about.
const HELD: u64 = 160;
/// The prefix of names of sources in the words of a policy, and the end of the names.
const ORDER: &str = "source-priority:";
const BEHIND_ORDER: &str = ", scope ";

/// A source that was renamed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SourceRenameReport {
    /// Its name now.
    pub source: String,
    /// Its documents, kept or not.
    pub documents: u64,
    /// Its rejected records.
    pub rejects: u64,
    /// Commits on record that have its name: the new one now.
    pub commits: u64,
    /// Purged documents that blocked records by key, and block them no more.
    pub lifted: u64,
}

/// Gives a source another name. What plans say of it is the caller's.
///
/// # Errors
/// [`Error`]; nothing is changed then.
pub(crate) fn rename_source(
    writer: &mut StoreWriter,
    old: &str,
    new: &str,
    force: bool,
    context: &Context<'_>,
) -> Result<SourceRenameReport, Error> {
    let view = writer.view().clone();
    let (source, record) = view.expect_source(old)?;
    let mut report = SourceRenameReport {
        source: new.to_owned(),
        documents: record.documents,
        ..SourceRenameReport::default()
    };
    refuse_words(&view, old)?;
    let policy = renamed_policy(&view, old, new)?;
    let rejects = rejects_of(&view, old)?;
    report.rejects = rejects.len() as u64;
    refuse_memory(&report, &rejects, old, context.memory)?;
    let mut batch = writer.begin()?;
    // First, since it refuses a name that is taken.
    batch.rename_source(source, new)?;
    let mut renaming = SourceRenaming { view: &view, source, old, new, moved: BTreeSet::new() };
    renaming.identities(&mut batch, context)?;
    report.lifted = renaming.lost_blocks()?;
    if report.lifted > 0 && !force {
        let blocks = count(
            report.lifted,
            "purged document blocks records",
            "purged documents block records",
        );
        let message = format!(
            "{blocks} of source `{old}` by key, and their keys are not stored: under another name of the source these blocks hold no more; those by text do"
        );
        return Err(Error::of(ErrorKind::Failed, message).with_hint(Hint::text(
            "rename before a purge, and they hold under the new name; `force=` renames it anyway",
        )));
    }
    for (hash, reject) in rejects {
        renaming.reject(&mut batch, hash, reject)?;
    }
    if let Some(policy) = policy {
        batch.put_policy(&policy)?;
    }
    for (commit, record) in view.commits()? {
        if let Some(record) = renamed_commit(&record, old, new) {
            batch.rewrite_commit(commit, &record)?;
            report.commits += 1;
        }
    }
    for (commit, verb) in view.verbs()? {
        let before = verb.before.as_ref().and_then(|before| renamed_before(before, old, new));
        if before.is_some() {
            batch.rewrite_verb(commit, &VerbRecord { before, ..verb })?;
        }
    }
    batch.commit(&CommitRecord::about("source", new))?;
    context.progress.end();
    writer.flush_if_long()?;
    Ok(report)
}

/// Refuses while documents that come are computed something by the name.
fn refuse_words(view: &View, old: &str) -> Result<(), Error> {
    for (_, field) in view.added_fields() {
        let expression = field.expression.as_deref().unwrap_or_default();
        if expression.contains(&sql_literal(old)) && names_column(expression, "source") {
            return Err(Error::bad_input(format!(
                "the expression of field `{}` names source `{old}`: drop the field first (`corpusdb field drop`), and compute it again",
                field.name
            )));
        }
    }
    Ok(())
}

/// The policy with the new name, where it ranks by names of sources.
fn renamed_policy(view: &View, old: &str, new: &str) -> Result<Option<Policy>, Error> {
    if view.redo()?.is_some() {
        return Err(Error::bad_input(
            "a redo of decisions has not ended, and may rank by names of sources: finish it first",
        ));
    }
    let KeepOrder::SourcePriority(names) = &view.policy().keep else { return Ok(None) };
    if names.iter().any(|name| name == new) {
        return Err(Error::bad_input(format!(
            "the keep order ranks a source `{new}`, and the documents of `{old}` would have another rank; choose another name"
        )));
    }
    if !names.iter().any(|name| name == old) {
        return Ok(None);
    }
    let names = names.iter().map(|name| if name == old { new } else { name }.to_owned());
    let keep = KeepOrder::SourcePriority(names.collect());
    if keep.to_string().parse::<KeepOrder>().ok().as_ref() != Some(&keep) {
        return Err(Error::bad_input(format!(
            "the keep order ranks source `{old}`, and cannot spell `{new}`; choose a name without a comma"
        )));
    }
    Ok(Some(Policy { keep, ..view.policy().clone() }))
}

fn rejects_of(view: &View, old: &str) -> Result<Vec<([u8; 16], RejectRecord)>, Error> {
    let mut found = Vec::new();
    for stored in view.keyed_rejects()? {
        let (hash, reject) = stored?;
        if reject.source == old {
            found.push((hash, reject));
        }
    }
    Ok(found)
}

/// Readers see all of it or nothing, so it is one commit, which is held in memory.
fn refuse_memory(
    report: &SourceRenameReport,
    rejects: &[([u8; 16], RejectRecord)],
    old: &str,
    most: u64,
) -> Result<(), Error> {
    let of_rejects = rejects.iter().map(|(_, reject)| 2 * (HELD + reject.raw.len() as u64));
    let bytes = report.documents.saturating_mul(HELD).saturating_add(of_rejects.sum());
    if bytes <= most {
        return Ok(());
    }
    Err(Error::bad_input(format!(
        "the identities of the {} documents of source `{old}` take {bytes} bytes of memory, and {most} are available; give `memory={bytes}` or more",
        report.documents
    )))
}

/// A source that is being renamed.
struct SourceRenaming<'a> {
    view: &'a View,
    source: SourceId,
    old: &'a str,
    new: &'a str,
    /// Identities whose blocks moved.
    moved: BTreeSet<[u8; 16]>,
}

impl SourceRenaming<'_> {
    /// Moves the identities of the documents, and the blocks by key.
    fn identities(
        &mut self,
        batch: &mut CommitBatch<'_>,
        context: &Context<'_>,
    ) -> Result<(), Error> {
        let documents = self.view.documents();
        let has_blocks = self.view.has_blocks(BlockKind::Identity)?;
        context.progress.begin("renaming", Some(documents));
        let (mut moves, mut file) = (Vec::new(), (FileId(0), Vec::new()));
        for (place, key) in self.view.places(0..documents)?.zip(self.view.keys(0..documents)?) {
            let ((DocId(document), place), (_, key)) = (place?, key?);
            if place.source != self.source {
                continue;
            }
            if key.is_none() && place.file != file.0 {
                let path = self.view.file_bytes(self.source, place.file)?;
                file = (place.file, path.unwrap_or_default());
            }
            let [old, new] = [self.old, self.new]
                .map(|name| identity_under(name, key.as_deref(), &place, &file.1));
            moves.push((old, new));
            if has_blocks && key.is_some() {
                self.block(batch, old, new)?;
            }
            if moves.len() == CHUNK {
                context.check_interrupt()?;
                batch.move_identities(&std::mem::take(&mut moves))?;
                context.progress.advance(document);
            }
        }
        Ok(batch.move_identities(&moves)?)
    }

    fn block(
        &mut self,
        batch: &mut CommitBatch<'_>,
        old: [u8; 16],
        new: [u8; 16],
    ) -> Result<(), Error> {
        let by = self.view.blockers(BlockKind::Identity, old)?;
        if !by.is_empty() && self.moved.insert(old) {
            batch.block(BlockKind::Identity, new, &by)?;
            batch.block(BlockKind::Identity, old, &[])?;
        }
        Ok(())
    }

    /// Purged documents whose blocks by key did not move: nobody knows their keys.
    fn lost_blocks(&self) -> Result<u64, Error> {
        let mut lost = 0;
        for traces in self.view.traces()? {
            for trace in traces?.1 {
                let Some(identity) = trace.identity.filter(|one| !self.moved.contains(one)) else {
                    continue;
                };
                let is_own = self.view.place(trace.document)?.source == self.source;
                let by = || self.view.blockers(BlockKind::Identity, identity);
                lost += u64::from(is_own && by()?.contains(&trace.document));
            }
        }
        Ok(lost)
    }

    fn reject(
        &self,
        batch: &mut CommitBatch<'_>,
        hash: [u8; 16],
        reject: RejectRecord,
    ) -> Result<(), Error> {
        let shown = reject.path.as_bytes().to_vec();
        let mut paths = vec![shown.clone()];
        if reject.path.contains(char::REPLACEMENT_CHARACTER) {
            for file in self.view.files_shown_as(self.source, &reject.path)? {
                paths.extend(self.view.file_bytes(self.source, FileId(file.file))?);
            }
        }
        let under =
            |name: &str, path: &[u8]| reject_identity_at(name, path, reject.number, &reject.raw);
        let path = paths.into_iter().find(|path| under(self.old, path) == hash).unwrap_or(shown);
        let identity = under(self.new, &path);
        batch.forget_reject(hash)?;
        batch.reject(identity, &RejectRecord { source: self.new.to_owned(), ..reject })?;
        Ok(())
    }
}

/// The record of a commit with the new name, where it has the old one.
fn renamed_commit(record: &CommitRecord, old: &str, new: &str) -> Option<CommitRecord> {
    let subject = match record.kind.as_str() {
        "ingest" | "load" | "undo" | "restore" | "rejects" | "source" if record.subject == old => {
            new.to_owned()
        }
        "init" | "redo" => renamed_order(&record.subject, old, new),
        _ => record.subject.clone(),
    };
    let (from, to) = (sql_literal(old), sql_literal(new));
    let condition = record.condition.as_ref().map(|condition| condition.replace(&from, &to));
    let renamed = CommitRecord { subject, condition, ..record.clone() };
    (renamed != *record).then_some(renamed)
}

/// The policy before a redo with the new name, where it ranks by the old one.
fn renamed_before(before: &str, old: &str, new: &str) -> Option<String> {
    let mut policy: Policy = serde_json::from_str(before).ok()?;
    let KeepOrder::SourcePriority(names) = &mut policy.keep else { return None };
    let own = names.iter_mut().find(|name| *name == old)?;
    new.clone_into(own);
    serde_json::to_string(&policy).ok()
}

/// The words of a policy with the new name.
fn renamed_order(policy: &str, old: &str, new: &str) -> String {
    let Some((before, rest)) = policy.split_once(ORDER) else { return policy.to_owned() };
    let (names, behind) = match rest.rsplit_once(BEHIND_ORDER) {
        Some((names, behind)) => (names, format!("{BEHIND_ORDER}{behind}")),
        None => (rest, String::new()),
    };
    let names: Vec<&str> =
        names.split(',').map(|name| if name == old { new } else { name }).collect();
    format!("{before}{ORDER}{}{behind}", names.join(","))
}
