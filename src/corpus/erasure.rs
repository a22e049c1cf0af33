//! Erasing documents of a corpus: what shows them, the purge itself, and its proof.

use super::{Corpus, CorpusWriter};
use crate::curate::{self, Certificate, CurateError, PurgeReport, RemovalRequest};
use crate::epoch;
use crate::error::Error;
use crate::model::{Context, DocId, Standing, key_identity};
use crate::query::QueryError;
use crate::store::{BlockKind, View};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::path::Path;

/// Snapshots and plans that show documents, and words that quote them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ShownBy {
    /// Names of snapshots, and how many of the documents each one shows as kept.
    pub snapshots: Vec<(String, u64)>,
    /// Numbers of stored plans, and how many of the documents each one draws.
    pub plans: Vec<(u32, u64)>,
    /// What quotes a text or a key of one: expressions of fields, recipes of plans, records of how tokenizers were made.
    pub quoted_by: Vec<String>,
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
    /// The snapshots and stored plans that show any of these documents: what a purge of them takes something from.
    ///
    /// # Errors
    /// [`Error::Store`] or [`Error::Epoch`] when they cannot be read.
    pub fn shown_by(&self, documents: &RoaringTreemap) -> Result<ShownBy, Error> {
        let quoted_by = curate::quoting(self.view(), documents, self.memory)?;
        Ok(ShownBy { quoted_by, ..shown_by(self.view(), documents)? })
    }

    /// The documents that are still to be erased by a purge that was stopped. The next purge erases them, whatever is
    /// asked for, unless they are restored.
    ///
    /// # Errors
    /// [`Error::Store`] when rows cannot be read.
    pub fn unended_purge(&self) -> Result<RoaringTreemap, Error> {
        let view = self.view();
        let Some(unended) = view.unended_purge()? else { return Ok(RoaringTreemap::new()) };
        Ok(unended.documents - view.documents_standing(Standing::Purged)?)
    }

    /// What a purge of these keys takes: every version of each. A key that was purged before has none left and is no
    /// error.
    ///
    /// # Errors
    /// [`Error::Query`] for a key that no document has or had; [`Error::Store`] when rows cannot be read.
    pub fn keys_to_purge<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k str>,
    ) -> Result<PurgeSelection, Error> {
        let mut found = PurgeSelection::default();
        for key in keys {
            let documents = self.find_key(key)?;
            let purged = self.purged_under(key)?;
            if documents.is_empty() && purged == 0 {
                return Err(QueryError::NoKey { key: key.to_owned() }.into());
            }
            found.documents.extend(documents.iter().map(|DocId(document)| *document));
            found.purged_before += purged;
        }
        Ok(found)
    }

    /// How many purged documents keep records of this key from coming in, in any source: the key itself is not stored.
    fn purged_under(&self, key: &str) -> Result<u64, Error> {
        let view = self.view();
        let mut purged = RoaringTreemap::new();
        for (_, source) in view.sources() {
            let by = view.blockers(BlockKind::Identity, key_identity(&source.name, key))?;
            purged.extend(by.iter().map(|DocId(document)| *document));
        }
        Ok(purged.intersection_len(&view.documents_standing(Standing::Purged)?))
    }
}

impl CorpusWriter {
    /// Erases documents: removed first, they are then gone from every row and, since the files are rewritten, from the
    /// disk; their numbers stay. Equal texts, and what comes under their keys, are not stored again, unless the removal
    /// reaches nothing. A purge that was stopped is finished first, whatever is selected: nothing needs to be.
    ///
    /// Snapshots lose the documents, plans that draw them cannot be opened any more, and words in use that quote them are
    /// redacted ([`ShownBy`]): refused while there are any, unless `force`. Call [`CorpusWriter::reopen`] afterwards:
    /// until then RocksDB's list of files may have single values of fields.
    ///
    /// # Errors
    /// [`Error::Curate`]: among them [`CurateError::Shown`]. What was committed before it stays, and the same call goes
    /// on from there.
    pub fn purge(
        &mut self,
        selection: impl Into<PurgeSelection>,
        removal: impl Into<RemovalRequest>,
        force: bool,
        context: &Context<'_>,
    ) -> Result<PurgeReport, Error> {
        let PurgeSelection { documents, purged_before } = selection.into();
        let selection = &documents;
        let purged = self.view().documents_standing(Standing::Purged)?;
        let ShownBy { snapshots, plans, .. } = shown_by(self.view(), &(selection - purged))?;
        if !force {
            let quoted_by = curate::quoting(self.view(), selection, self.memory)?;
            if !(snapshots.is_empty() && plans.is_empty() && quoted_by.is_empty()) {
                return Err(CurateError::Shown { snapshots, plans, quoted_by }.into());
            }
        }
        let loaded = curate::load_to_write(&mut self.writer)?;
        let context = self.within(context);
        let mut report =
            curate::purge(&mut self.writer, &loaded, selection, &removal.into(), &context)?;
        report.selected += purged_before;
        report.unchanged += purged_before;
        Ok(report)
    }
}

impl CorpusWriter {
    /// Proves what was purged of the corpus, ever: every row is read through the database, unpacked, and every file of
    /// the directory as it lies there, and searched for runs of the texts, keys, fields and token ids. Who writes is
    /// alone, so no file changes meanwhile. Writes the certificate to `file`, with every purged document; `time`
    /// (microseconds since 1970) goes into it. A purge must have been followed by [`CorpusWriter::reopen`], or by another
    /// opening.
    ///
    /// # Errors
    /// [`Error`] when rows or files cannot be read; what is found is in the answer.
    pub fn prove_purge(
        &mut self,
        file: Option<&Path>,
        time: Option<i64>,
        context: &Context<'_>,
    ) -> Result<Certificate, Error> {
        self.writer.flush()?;
        self.writer.remove_old_reports();
        let context = self.within(context);
        let twins = self.writer.living_copies()?;
        let certificate = curate::certify(self.view(), &self.path, twins, time, &context)?;
        if let Some(file) = file {
            curate::write_certificate(self.view(), &certificate, file)?;
        }
        Ok(certificate)
    }
}

/// Snapshots and plans alone.
fn shown_by(view: &View, documents: &RoaringTreemap) -> Result<ShownBy, Error> {
    let mut shown = ShownBy { plans: epoch::plans_drawing(view, documents)?, ..ShownBy::default() };
    for snapshot in view.snapshots()? {
        let kept = view.snapshot_kept(&snapshot.name)?.intersection_len(documents);
        if kept > 0 {
            shown.snapshots.push((snapshot.name, kept));
        }
    }
    Ok(shown)
}
