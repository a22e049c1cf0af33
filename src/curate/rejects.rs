//! Forgets rejected records that nobody wants to mend any more.

use super::commits::CommitLoop;
use crate::corpus::CorpusWriter;
use files::input::path_on_record;
use model::{Context, Error};
use serde::Serialize;
use std::path::Path;
use store::{CommitRecord, RejectRecord, StoreWriter};

/// Rejects forgotten in one commit.
const CHUNK: usize = 1 << 20;

/// Which rejected records are meant: all, unless it says more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RejectSelection {
    /// Only rejects of this source.
    pub source: Option<String>,
    /// Those of the file of this path, or of the files in this directory. What is not there any more is given as
    /// [`Corpus::rejects`](crate::Corpus::rejects) tells paths.
    pub path: Option<String>,
}

/// The result of deleting rejects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DropRejectsReport {
    /// Rejects that were deleted.
    pub dropped: u64,
    /// Their bytes, as many as were stored.
    pub bytes: u64,
    /// Rejects that remain.
    pub left: u64,
    /// How many commits were made.
    pub commits: u64,
}

impl RejectSelection {
    /// The selection with its path as an ingest has it on record, where something is at the path.
    fn on_record(&self) -> Self {
        let path = self.path.as_ref().map(|given| match path_on_record(Path::new(given)) {
            Ok(path) if path.exists() => path.to_string_lossy().into_owned(),
            _ => given.clone(),
        });
        Self { source: self.source.clone(), path }
    }

    fn has(&self, record: &RejectRecord) -> bool {
        let is_there = |path: &String| {
            let rest = record.path.strip_prefix(path.as_str());
            rest.is_some_and(|rest| rest.is_empty() || path.ends_with('/') || rest.starts_with('/'))
        };
        self.source.as_ref().is_none_or(|source| *source == record.source)
            && self.path.as_ref().is_none_or(is_there)
    }

    /// The selection as a condition over the table `rejects`.
    fn condition(&self) -> Option<String> {
        let path = self.path.as_ref()?.trim_end_matches('/').replace('\'', "''");
        Some(format!("path = '{path}' OR starts_with(path, '{path}/')"))
    }
}
impl CorpusWriter {
    /// Forgets records that could not be read: of a source, of a file or of all. What their files still give comes back
    /// when these are read again.
    ///
    /// # Errors
    /// [`Error`]: among them that of a source that there is not.
    pub fn drop_rejects(
        &mut self,
        selection: &RejectSelection,
        context: &Context<'_>,
    ) -> Result<DropRejectsReport, Error> {
        let context = self.within(context);
        drop_rejects(self.store(), selection, &context)
    }
}

/// Forgets the selected rejects. Their files are not read again for that: `--reread` of an ingest brings back what they
/// still give.
///
/// # Errors
/// [`Error`]; earlier commits stay, and the same call continues from there.
pub fn drop_rejects(
    writer: &mut StoreWriter,
    selection: &RejectSelection,
    context: &Context<'_>,
) -> Result<DropRejectsReport, Error> {
    let (selection, mut report) = (selection.on_record(), DropRejectsReport::default());
    if let Some(name) = &selection.source {
        writer.view().expect_source(name)?;
    }
    let record = CommitRecord::about("rejects", selection.source.clone().unwrap_or_default());
    let record = CommitRecord { condition: selection.condition(), ..record };
    let rejects = writer.view().state().rejects;
    let mut commits = CommitLoop::begin("forgetting rejects", Some(rejects), context);
    let mut is_more = true;
    while is_more {
        let (mut hashes, mut bytes) = (Vec::new(), 0);
        is_more = false;
        for stored in writer.view().keyed_rejects()? {
            let (hash, reject) = stored?;
            if !selection.has(&reject) {
                continue;
            }
            if hashes.len() == CHUNK {
                is_more = true;
                break;
            }
            hashes.push(hash);
            bytes += reject.raw.len() as u64;
        }
        if hashes.is_empty() {
            break;
        }
        let mut batch = commits.batch(writer)?;
        for hash in &hashes {
            batch.forget_reject(*hash)?;
        }
        report.dropped += hashes.len() as u64;
        report.bytes += bytes;
        commits.commit(batch, &record, report.dropped)?;
    }
    report.commits = commits.end();
    writer.flush_if_long()?;
    report.left = writer.view().state().rejects;
    Ok(report)
}
