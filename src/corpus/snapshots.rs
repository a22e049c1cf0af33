//! The snapshots of a corpus: made, shown, compared, selected from, renamed and dropped.

use super::{Corpus, CorpusWriter};
use crate::model::{DocId, Error};
use crate::query::{self, ChangedDocuments, SnapshotDetails, SnapshotDiff};
use crate::store::SnapshotRecord;
use roaring::RoaringTreemap;

impl Corpus {
    /// What the snapshot of that name holds, by source, and the stored plans that draw from it.
    ///
    /// # Errors
    /// [`Error::Query`] for a snapshot that there is not.
    pub fn show_snapshot(&self, name: &str) -> Result<SnapshotDetails, Error> {
        Ok(query::show_snapshot(&self.view, name)?)
    }

    /// What changed from the snapshot `from` to the snapshot `to`, in all and by group: by `source` (the default),
    /// `language`, or a declared field that is no float. Without `to`, or where it is `now` and no snapshot is called
    /// so, it is the present moment. Only documents that differ are read.
    ///
    /// # Errors
    /// [`Error::Query`] for a snapshot or field that there is not, a field with more than 1,000 values, or a `to`
    /// that is the earlier moment.
    pub fn snapshot_diff(
        &self,
        from: &str,
        to: Option<&str>,
        by: Option<&str>,
    ) -> Result<SnapshotDiff, Error> {
        Ok(query::snapshot_diff(&self.view, from, to, by)?)
    }

    /// Each document that [`Corpus::snapshot_diff`] counts, ascending by id.
    ///
    /// # Errors
    /// [`Error::Query`] for a snapshot that there is not, or a `to` that is the earlier moment.
    pub fn snapshot_changes(
        &self,
        from: &str,
        to: Option<&str>,
    ) -> Result<ChangedDocuments<'_>, Error> {
        Ok(query::snapshot_changes(&self.view, from, to)?)
    }

    /// The ids of the documents that a snapshot keeps and that satisfy a SQL boolean expression over `documents`; of
    /// all that it keeps without. Columns are as they are today, `kept` and `standing` too.
    ///
    /// # Errors
    /// [`Error::Store`] for a snapshot that there is not, [`Error::Query`] when the expression is wrong.
    pub fn select_in(
        &self,
        snapshot: &str,
        condition: Option<&str>,
    ) -> Result<RoaringTreemap, Error> {
        let kept = query::kept_in(&self.view, snapshot)?;
        Ok(match condition {
            None => kept,
            Some(_) => kept & query::select(&self.view, condition)?,
        })
    }

    /// `n` documents of [`Corpus::select_in`], uniform without replacement; a function of selection, n and seed.
    ///
    /// # Errors
    /// As [`Corpus::select_in`].
    pub fn sample_in(
        &self,
        snapshot: &str,
        condition: Option<&str>,
        n: u64,
        seed: u64,
    ) -> Result<Vec<DocId>, Error> {
        Ok(query::draw(&self.select_in(snapshot, condition)?, n, seed))
    }
}

impl CorpusWriter {
    /// Names this moment, durably.
    ///
    /// # Errors
    /// [`Error::Store`] when the name is taken or malformed.
    pub fn create_snapshot(&mut self, name: &str) -> Result<SnapshotRecord, Error> {
        Ok(self.writer.create_snapshot(name)?)
    }

    /// Gives a snapshot another name.
    ///
    /// # Errors
    /// [`Error::Store`] when there is no such snapshot, a stored plan draws from it, or the new name is taken or
    /// malformed.
    pub fn rename_snapshot(&mut self, old: &str, new: &str) -> Result<SnapshotRecord, Error> {
        Ok(self.writer.rename_snapshot(old, new)?)
    }

    /// Forgets a snapshot. No document is forgotten with it, and no token. Refused while stored plans draw from it,
    /// unless `force`: these pin their documents and give the same rows as before; a recipe that names the snapshot
    /// cannot be planned any more. Answers what it was, and the numbers of those plans; its name is not given again
    /// while there are any.
    ///
    /// # Errors
    /// [`Error::Store`] when there is no such snapshot, or plans draw from it.
    pub fn drop_snapshot(
        &mut self,
        name: &str,
        force: bool,
    ) -> Result<(SnapshotRecord, Vec<u32>), Error> {
        Ok(self.writer.drop_snapshot(name, force)?)
    }
}
