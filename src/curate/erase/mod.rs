//! Erases documents: a purge removes them, then erases every row and file of theirs but their numbers and hashes.
//!
//! A commit that names the documents and the reason begins a purge, and another commit ends it; the next purge finishes
//! one that was stopped between. In between stand these steps, each in commits of bounded size that may be repeated:
//!
//! * the documents are removed, as `remove` does it
//! * `rows`: texts that they lent to others move on
//! * `rows`: hashes of them are kept (`traces`), their rows are erased
//! * `quotes`: snapshots, `values` of fields, verdicts and rejected records that quote them, in any of the
//!   `spellings`; `words` of users that do; `names` that hold one are listed
//! * the files of the families are rewritten, and checkpoints of earlier formats removed
//!
//! `certificate` searches every row and every file for what was erased, and reports what it found.
//!
//! A purged document stays as an empty one, with a text of no bytes: a new mark would need support in every reader, while
//! standings and empty texts are known to all. When a blocked text comes again it is not stored at
//! all, since storing it as `blocked` would bring it back to the disk.
//!
//! RocksDB writes its list of files, which has the first and last key of every table, from scratch only when it opens:
//! so after a purge the writer closes the database and opens it again under its lock. Tables cannot be read as tables
//! without RocksDB's own reader, which its C interface lacks: the proof rewrites families that may hide rows, counts
//! entries against rows, and names tables that are not live. Runs that also occur in a document that was not purged are
//! ignored, except in the purged document's own rows.

mod certificate;
mod copies;
mod names;
mod quotes;
mod rows;
mod spellings;
mod traces;
mod values;
mod words;

pub use certificate::{
    Certificate, CertifiedOutput, Finding, SearchedFamily, SearchedFile, SharedTrace,
};
pub(crate) use certificate::{SearchPlace, certify, write_certificate};
pub use copies::TextCopies;
pub(crate) use copies::copies;
pub use names::ErasedName;
pub(crate) use names::naming;
pub(super) use rows::{identity_of, identity_under};
pub(crate) use words::quoting;

use super::commits::CommitLoop;
use super::remove::{RemovalRequest, lift, remove};
use crate::corpus::Corpus;
use crate::decide::{BlockReach, LoadedTokenizer};
use crate::sql::SqlError;
use model::{Context, DocId, Error, Standing, key_identity};
use roaring::RoaringTreemap;
use serde::Serialize;
use store::{BlockKind, CommitRecord, PendingPurge, StoreError, StoreWriter};
use traces::TraceSearch;

/// The families that have something of a document, or of what quotes it.
pub(crate) const TOUCHED: [&str; 23] = [
    "meta",
    "commits",
    "sources",
    "files",
    "tokenizers",
    "epochs",
    "removals",
    "snapshots",
    "rejects",
    "place_pages",
    "print_pages",
    "key_pages",
    "metadata_pages",
    "text_pages",
    "tokens",
    "loss",
    "columns",
    "terms",
    "postings",
    "sketch_pages",
    "keys",
    "contamination",
    "verdicts",
];
/// Families of numbers and hashes, from which nobody can read a document: their deleted rows go with the next
/// compaction.
pub(crate) const NUMBERS: [&str; 8] =
    ["bands", "bands_more", "band_runs", "blocks", "exact", "lineage", "matches", "members"];
/// What a purge did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PurgeReport {
    /// Documents selected.
    pub selected: u64,
    /// Documents erased now, with those of an interrupted purge.
    pub purged: u64,
    /// Of these, documents of an interrupted purge.
    pub resumed: u64,
    /// Of the selected ones, purged before.
    pub unchanged: u64,
    /// Documents that this purge removed first.
    pub removed: u64,
    /// Documents that are newly kept because their witness was purged.
    pub kept_again: u64,
    /// Other documents of the same text or key that are blocked now.
    pub blocked: u64,
    /// Texts that other documents share, moved to these.
    pub moved_texts: u64,
    /// Snapshots that had shown some of them as kept.
    pub snapshots: u64,
    /// Rejected records that quoted them.
    pub rejects: u64,
    /// Expressions of fields, recipes of plans and records of how tokenizers were made that quoted them.
    pub redacted: u64,
    /// Values of fields that no document has now.
    pub values: u64,
    /// Verdicts about texts that no document has now.
    pub verdicts: u64,
    /// Checkpoints of earlier formats, which had them, that were removed.
    pub checkpoints: Vec<String>,
    /// How many commits were made.
    pub commits: u64,
    /// Other documents that hold the text of one of the selected ones, which stays with them.
    pub copies_left: TextCopies,
    /// Outputs on record that had some of them, or may have had: exports, epochs, streams and backups.
    pub outputs: u64,
    /// Names that hold a key or a value of the selected documents and of no other, which a purge does not edit.
    pub names_left: Vec<ErasedName>,
    /// Files were not rewritten because this process still holds an earlier view. Drop it and call `purge` again
    /// with an empty selection.
    pub held: bool,
}

/// A purge under way: its steps make their commits by it, and count what they did.
struct PurgeProcedure<'a, 'c> {
    writer: &'a mut StoreWriter,
    /// The record of the purge's commits: its words that quote purged texts are redacted.
    record: CommitRecord,
    commits: CommitLoop<'c>,
    report: &'a mut PurgeReport,
}
/// What a purge takes: documents, and what was asked for and is gone already.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PurgeSelection {
    /// The documents.
    pub documents: RoaringTreemap,
    /// Documents that had one of the keys asked for and were purged before: their keys are not stored any more.
    pub purged_before: u64,
}

impl From<RoaringTreemap> for PurgeSelection {
    fn from(documents: RoaringTreemap) -> Self {
        Self { documents, purged_before: 0 }
    }
}

impl From<&RoaringTreemap> for PurgeSelection {
    fn from(documents: &RoaringTreemap) -> Self {
        documents.clone().into()
    }
}

impl Corpus {
    /// Other documents that hold the texts of these: a purge of all of them erases the text, not only some documents.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when rows cannot be read; after an interrupt.
    pub fn copies_of(
        &self,
        documents: &RoaringTreemap,
        context: &Context<'_>,
    ) -> Result<TextCopies, Error> {
        copies(self.view(), documents, context)
    }

    /// The documents that are still to be erased by a purge that was stopped. The next purge erases them, whatever is
    /// asked for, unless they are restored.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when rows cannot be read.
    pub fn unended_purge(&self) -> Result<RoaringTreemap, Error> {
        let view = self.view();
        let Some(unended) = view.unended_purge()? else { return Ok(RoaringTreemap::new()) };
        Ok(unended.documents - view.documents_standing(Standing::Purged)?)
    }

    /// The documents that a purge of these keys takes: every version of each key. A key that was purged before has
    /// none left and is not an error.
    ///
    /// # Errors
    /// [`SqlError`](crate::sql::SqlError) for a key that no document has or had;
    /// [`StoreError`](crate::store::StoreError) when rows cannot be read.
    pub fn keys_to_purge<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k str>,
    ) -> Result<PurgeSelection, Error> {
        let mut found = PurgeSelection::default();
        for key in keys {
            let documents = self.find_key(key)?;
            let purged = self.purged_under(key)?;
            if documents.is_empty() && purged.is_empty() {
                return Err(SqlError::NoKey { key: key.to_owned() }.into());
            }
            found.documents.extend(documents.iter().map(|DocId(document)| *document));
            found.purged_before += purged.len();
        }
        Ok(found)
    }

    /// The purged documents that keep records of this key from coming in, in any source: the key itself is not stored.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when rows cannot be read.
    pub fn purged_under(&self, key: &str) -> Result<RoaringTreemap, Error> {
        let view = self.view();
        let mut purged = RoaringTreemap::new();
        for (_, source) in view.sources() {
            let by = view.blockers(BlockKind::Identity, key_identity(&source.name, key))?;
            purged.extend(by.iter().map(|DocId(document)| *document));
        }
        Ok(purged & view.documents_standing(Standing::Purged)?)
    }
}

/// Erases documents, and finishes a purge that was stopped before.
///
/// # Errors
/// [`Error`]; earlier commits stay, and the next purge continues from there.
pub fn purge(
    writer: &mut StoreWriter,
    tokenizers: &[LoadedTokenizer],
    selection: &RoaringTreemap,
    removal: &RemovalRequest,
    context: &Context<'_>,
) -> Result<PurgeReport, Error> {
    let record = removal.record("purge")?;
    let mut report = PurgeReport { selected: selection.len(), ..PurgeReport::default() };
    finish_all(writer, tokenizers, context, &mut report)?;
    report.resumed = report.purged;
    let purged = writer.view().documents_standing(Standing::Purged)?;
    let documents = selection - &purged;
    report.unchanged = selection.len() - documents.len();
    if documents.is_empty() || report.held {
        return Ok(report);
    }
    writer.find_outputs()?;
    let mut commits = CommitLoop::begin("purging", None, context);
    let mut batch = commits.batch(writer)?;
    batch.begin_purge(&documents, removal.reach as u8)?;
    let begun = CommitRecord { subject: "begun".to_owned(), ..record };
    commits.commit(batch, &begun, 1)?;
    // Outputs on record beside the store could quote the documents too; one commit takes in some of them.
    while writer.has_outputs() {
        let batch = commits.batch(writer)?;
        commits.commit(batch, &begun, 1)?;
    }
    report.commits += commits.end();
    finish_all(writer, tokenizers, context, &mut report)?;
    Ok(report)
}

fn finish_all(
    writer: &mut StoreWriter,
    tokenizers: &[LoadedTokenizer],
    context: &Context<'_>,
    report: &mut PurgeReport,
) -> Result<(), Error> {
    while !report.held
        && let Some(unended) = writer.view().unended_purge()?
    {
        finish(writer, tokenizers, &unended, context, report)?;
    }
    Ok(())
}

/// Does what is left of a purge.
fn finish(
    writer: &mut StoreWriter,
    tokenizers: &[LoadedTokenizer],
    unended: &PendingPurge,
    context: &Context<'_>,
    report: &mut PurgeReport,
) -> Result<(), Error> {
    let begun = writer.view().commit_record(unended.commit)?.unwrap_or_default();
    let reach = match unended.reach {
        0 => BlockReach::Nothing,
        1 => BlockReach::Exact,
        2 => BlockReach::Normalised,
        _ => BlockReach::Similar,
    };
    let CommitRecord { reason, condition, time, .. } = begun;
    let removal = RemovalRequest { reach, key: None, reason, condition, time };
    let record = removal.record("purge")?;
    let documents = &unended.documents - writer.view().documents_standing(Standing::Purged)?;
    let commits = CommitLoop::begin("purging", None, context);
    if !documents.is_empty() {
        let removed = remove(writer, tokenizers, &documents, &removal, context)?;
        report.removed += removed.changed;
        report.kept_again += removed.kept_again;
        report.blocked += removed.blocked;
        report.commits += removed.commits;
        if reach == BlockReach::Nothing {
            let lifted = lift(writer, tokenizers, &documents, &record, context)?;
            report.kept_again += lifted.kept_again;
            report.commits += lifted.commits;
        }
    }
    let mut procedure = PurgeProcedure { writer, record, commits, report };
    let purge = &mut procedure;
    if !documents.is_empty() {
        purge.commits.stage("moving shared texts and ids", None);
        rows::move_texts(purge, &documents, context.memory)?;
        words::redact_short_keys(purge, &documents)?;
        quotes::of_values(purge, &documents, context.memory)?;
        rows::erase(purge, &documents)?;
    }
    purge.commits.stage("erasing rows that quote them", None);
    quotes::snapshots(purge, &unended.documents)?;
    quotes::values(purge)?;
    quotes::verdicts(purge)?;
    quotes::quotes(purge, unended.commit, TraceSearch::capacity(context.memory))?;
    let PurgeProcedure { writer, commits, report, .. } = procedure;
    report.commits += commits.end();
    match writer.rewrite(&TOUCHED, &NUMBERS, context) {
        Err(StoreError::Held) => {
            report.held = true;
            return Ok(());
        }
        done => done?,
    }
    report.checkpoints.extend(writer.remove_checkpoints()?);
    let begun = writer.view().commit_record(unended.commit)?.unwrap_or_default();
    let mut batch = writer.begin()?;
    batch.end_purge(unended.commit)?;
    batch.commit(&CommitRecord { subject: "ended".to_owned(), ..begun })?;
    report.commits += 1;
    writer.flush()?;
    Ok(())
}

/// Rewrites the files that may have entries which newer ones hide: a search of the rows does not see these.
pub(crate) fn rewrite_hidden(writer: &mut StoreWriter, context: &Context<'_>) -> Result<(), Error> {
    writer.flush()?;
    if writer.view().documents_standing(Standing::Purged)?.is_empty() {
        return Ok(());
    }
    let tables = writer.live_tables()?;
    let may_hide = |family: &&&str| {
        let own = || tables.iter().filter(|table| table.family == ***family);
        let levels = own().map(|table| table.level);
        own().any(|table| table.deletions > 0 || table.level == 0)
            || levels.clone().min() != levels.max()
    };
    let families: Vec<&str> = TOUCHED.iter().filter(may_hide).copied().collect();
    if !families.is_empty() {
        writer.rewrite(&families, &NUMBERS, context)?;
    }
    Ok(())
}
