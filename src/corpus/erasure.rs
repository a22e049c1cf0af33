//! Erasing documents of a corpus: what shows them, the purge itself, and its proof.

use super::{Corpus, CorpusOptions, CorpusWriter};
use crate::curate::{self, Certificate, CurateError, PurgeReport, RemovalRequest};
use crate::epoch;
use crate::model::{Context, DocId, Error, Standing, key_identity};
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

    /// How many purged documents keep records of this key from coming in, in any source: the key itself is not stored.
    ///
    /// # Errors
    /// [`Error::Store`] when rows cannot be read.
    pub fn purged_under(&self, key: &str) -> Result<u64, Error> {
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
    /// redacted ([`ShownBy`]): refused while there are any, unless `force`. RocksDB's list of files is written anew when the corpus is next opened for writing; until then
    /// it may have single values of fields.
    ///
    /// # Errors
    /// [`Error::Curate`]: among them [`CurateError::Shown`]; What was committed before it stays, and the same call goes
    /// on from there.
    pub fn purge(
        &mut self,
        selection: &RoaringTreemap,
        removal: impl Into<RemovalRequest>,
        force: bool,
        context: &Context<'_>,
    ) -> Result<PurgeReport, Error> {
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
        Ok(curate::purge(&mut self.writer, &loaded, selection, &removal.into(), &context)?)
    }
}

impl CorpusOptions {
    /// Proves what was purged of the corpus at `path`, ever: every row is read through the database, unpacked, and
    /// every file of the directory as it lies there, and searched for runs of the texts, keys, fields and token ids.
    /// Opens the corpus for writing, so that no file changes meanwhile. Writes the certificate to `file`, with every
    /// purged document; `time` (microseconds since 1970) goes into it.
    ///
    /// # Errors
    /// [`Error`] when the corpus cannot be opened, or rows or files cannot be read; what is found is in the answer.
    pub fn prove_purge(
        self,
        path: impl AsRef<Path>,
        file: Option<&Path>,
        time: Option<i64>,
        context: &Context<'_>,
    ) -> Result<Certificate, Error> {
        let path = path.as_ref();
        let mut opened = self.open_writer(path)?;
        opened.writer.flush()?;
        opened.writer.remove_old_reports();
        let context = opened.within(context);
        let twins = opened.writer.living_copies()?;
        let certificate = curate::certify(opened.view(), path, twins, time, &context)?;
        if let Some(file) = file {
            curate::write_certificate(opened.view(), &certificate, file)?;
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
