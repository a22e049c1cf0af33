//! Undoes a verb by the verbs that lead back from it, and lists which verbs can be undone.

use crate::corpus::{Corpus, CorpusWriter};
use crate::curate::{
    self, BlockReach, BlocksBefore, FieldReport, LogEntry, RemovalReport, RemovalRequest, UndoWay,
    Undoable, load_to_write,
};
use crate::decide::BlockExtent;
use model::show::{count, number};
use model::{CommitSeq, Context, DocId, Error};
use roaring::RoaringTreemap;
use serde::Serialize;
use store::CommitRecord;

/// Ids of documents that are shown with a verb, at most.
const SHOWN: usize = 5;

/// What was undone, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct UndoReport {
    /// The verb that was undone.
    pub undone: LogEntry,
    /// The verbs that this took, as commands.
    pub verbs: Vec<String>,
    /// What is not as it was before.
    pub stays: Vec<String>,
    /// Documents that changed by it themselves.
    pub documents: u64,
    /// Newly kept documents.
    pub kept_again: u64,
    /// Documents that are no longer kept.
    pub no_longer_kept: u64,
    /// Files that count as unread.
    pub files: u64,
    /// How many commits were made.
    pub commits: u64,
}

impl UndoReport {
    fn take(&mut self, report: &RemovalReport) {
        self.documents += report.changed;
        self.kept_again += report.kept_again;
        self.no_longer_kept += report.no_longer_kept;
    }

    const fn take_field(&mut self, report: &FieldReport) {
        self.documents = report.changed;
        self.kept_again = report.kept_again;
        self.no_longer_kept = report.no_longer_kept;
    }
}

impl Corpus {
    /// The newest verbs that were run on the corpus, newest first, at most `limit`, and how each is undone.
    ///
    /// # Errors
    /// [`Error`] when rows cannot be read.
    pub fn log(&self, limit: usize) -> Result<Vec<LogEntry>, Error> {
        curate::log(self.view(), limit)
    }
}

impl CorpusWriter {
    /// Undoes a verb: the one that has this commit, or the last ingest, removal, restoration, redo or change of a field
    /// that stands. Done by verbs that can be undone themselves, by their own commit. An ingest is undone as if it had
    /// not been: its documents are removed and block nothing, what they superseded is back, its files count as unread.
    /// After an interrupt the same call continues. `time` (microseconds since 1970) goes on record.
    ///
    /// # Errors
    /// [`Error`] when a later verb stands on it, or nothing leads back. Earlier commits stay.
    pub fn undo(
        &mut self,
        commit: Option<u64>,
        time: Option<i64>,
        context: &Context<'_>,
    ) -> Result<UndoReport, Error> {
        let before = self.view().commit().0;
        let Undoable { entry, way, goes_on } =
            curate::undoable(self.view(), commit.map(CommitSeq))?;
        let undone = CommitSeq(entry.commit);
        let mut report = UndoReport { undone: entry, ..UndoReport::default() };
        report.stays = stays(&report.undone, &way);
        for stays in &report.stays {
            context.progress.note(stays);
        }
        self.store().undo_verb(Some(undone), goes_on);
        let done = self.lead_back(way, time, &mut report, context);
        self.store().undo_verb(None, false);
        done?;
        report.commits = self.view().commit().0 - before;
        Ok(report)
    }

    /// Runs the verbs of one way back.
    fn lead_back(
        &mut self,
        way: UndoWay,
        time: Option<i64>,
        report: &mut UndoReport,
        context: &Context<'_>,
    ) -> Result<(), Error> {
        let undone = CommitSeq(report.undone.commit);
        let inner = self.within(context);
        match way {
            UndoWay::Ingest(documents) => {
                let ends = documents.min().zip(documents.max()).unwrap_or_default();
                let condition = format!("id BETWEEN {} AND {}", ends.0, ends.1);
                report
                    .verbs
                    .push(format!("corpusdb remove CORPUS --no-block --where '{condition}'"));
                let loaded = load_to_write(self.store())?;
                let record = curate::undo_record(&report.undone.subject, undone, time);
                let (removed, files) =
                    curate::undo_ingest(self.store(), &loaded, &documents, &record, &inner)?;
                report.take(&removed);
                report.files = files;
            }
            UndoWay::UndoneIngest(documents) => {
                report.verbs.push(format!("corpusdb restore CORPUS {}", ids(&documents)));
                let loaded = load_to_write(self.store())?;
                let record = restored(report, undone, time);
                let back = curate::redo_ingest(self.store(), &loaded, &documents, &record, &inner)?;
                report.take(&back);
            }
            UndoWay::Removal(documents, blocks) => {
                if !documents.is_empty() {
                    report.verbs.push(format!("corpusdb restore CORPUS {}", ids(&documents)));
                }
                let loaded = load_to_write(self.store())?;
                let store = self.store();
                report.take(&curate::restore(store, &loaded, &documents, &inner)?);
                let record = restored(report, undone, time);
                self.block_as_before(&blocks, &record, report, &inner)?;
            }
            UndoWay::Restoration(parts, blocks) => {
                let loaded = load_to_write(self.store())?;
                let store = self.store();
                for (extent, documents) in parts {
                    report.verbs.push(remove_verb(extent, &documents));
                    let mut removal =
                        RemovalRequest::from(extent).because(curate::undo_reason(undone));
                    removal.time = time;
                    let removed = curate::remove(store, &loaded, &documents, &removal, &inner)?;
                    report.take(&removed);
                }
                let record = restored(report, undone, time);
                self.block_as_before(&blocks, &record, report, &inner)?;
            }
            UndoWay::Redo(policy) => {
                report.verbs.push(format!("corpusdb dedup redo CORPUS (to {policy})"));
                let redone = self.redo(&policy, context)?;
                self.switch(&policy, context)?;
                for source in &redone.sources {
                    report.kept_again += source.newly_kept;
                    report.no_longer_kept += source.newly_removed;
                }
            }
            UndoWay::NewField(name) => {
                report.verbs.push(format!("corpusdb field drop CORPUS {name}"));
                self.drop_field(&name, false, context)?;
            }
            UndoWay::DroppedField(field) => {
                let declared = format!("{}:{}", field.name, field.kind.name());
                report.verbs.push(match &field.path {
                    Some(path) => {
                        format!("corpusdb field add CORPUS {declared} --from-meta {path}")
                    }
                    None => format!("corpusdb field add CORPUS {declared}"),
                });
                report.documents = self.add_field(&field, context)?.values;
            }
            UndoWay::ComputedField(field) => {
                report.verbs.push(field.verb());
                report.take_field(&self.compute_field(&field, context)?);
            }
            UndoWay::PerplexityField(field) => {
                report.verbs.push(field.verb());
                report.take_field(&self.compute_perplexity(&field, context)?);
            }
        }
        Ok(())
    }
}

impl CorpusWriter {
    /// Makes documents that stay removed block others as they did before the undone verb.
    fn block_as_before(
        &mut self,
        blocks: &BlocksBefore,
        record: &CommitRecord,
        report: &mut UndoReport,
        context: &Context<'_>,
    ) -> Result<(), Error> {
        if blocks.is_empty() {
            return Ok(());
        }
        report
            .verbs
            .extend(blocks.iter().map(|(extent, documents)| remove_verb(*extent, documents)));
        // The verb has begun, so nothing unfinished needs to be looked for.
        let store = self.continuing();
        let loaded = load_to_write(store)?;
        curate::block_as_before(store, &loaded, blocks, record, context)
    }
}

/// The record of commits that bring documents back.
fn restored(report: &UndoReport, undone: CommitSeq, time: Option<i64>) -> CommitRecord {
    let reason = Some(curate::undo_reason(undone));
    CommitRecord { reason, time, ..CommitRecord::about("restore", &report.undone.subject) }
}

fn remove_verb(extent: BlockExtent, documents: &RoaringTreemap) -> String {
    let ids = ids(documents);
    let keys = if extent.key == Some(false) { ", without their keys" } else { "" };
    match extent.reach {
        BlockReach::Nothing => format!("corpusdb remove CORPUS {ids} --no-block"),
        reach => format!("corpusdb remove CORPUS {ids} --block {}{keys}", reach.name()),
    }
}

/// What stays different after the undo.
fn stays(undone: &LogEntry, way: &UndoWay) -> Vec<String> {
    let mut stays = Vec::new();
    match way {
        UndoWay::Ingest(_) if undone.rejected > 0 => stays.push(format!(
            "{} of its files stay listed until these are read again",
            count(undone.rejected, "rejected record", "rejected records")
        )),
        UndoWay::UndoneIngest(_) => {
            stays.push(
                "its files count as unread: the next ingest of them knows their records".to_owned(),
            );
        }
        UndoWay::NewField(name) => {
            stays.push(format!("metadata keep the values that were stored of field `{name}`"));
        }
        _ => {}
    }
    stays
}

/// Ids as arguments of a verb; of many only the first.
fn ids(documents: &RoaringTreemap) -> String {
    let first: Vec<String> = documents.iter().take(SHOWN).map(|id| DocId(id).to_string()).collect();
    let more = documents.len().saturating_sub(SHOWN as u64);
    let more = if more == 0 { String::new() } else { format!(" .. ({} more)", number(more)) };
    format!("{}{more}", first.join(" "))
}
