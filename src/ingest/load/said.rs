//! How a document is said to stand, of the load or stored before, and what is wrong with the row that says so.

use crate::decide::DecideError;
use crate::ingest::decided::{ImportedMatch, split_imported_row};
use crate::ingest::error::IngestError;
use crate::ingest::judge::{
    LoadValidator, check_consistency, load_row, load_row_error, stored_match,
};
use crate::input::ReadItem;
use crate::model::{DocId, Match, ReadRecord, RecordKey, Standing, key_identity};
use crate::store::{StoreError, View};
use std::path::PathBuf;

/// A document, and how it is said to stand.
pub(super) struct ExpectedStatus {
    pub(super) document: DocId,
    pub(super) identity: [u8; 16],
    pub(super) standing: Standing,
    pub(super) removal: Option<ImportedMatch>,
    pub(super) source: String,
    pub(super) path: PathBuf,
    pub(super) row: u64,
}

impl ExpectedStatus {
    /// What the row of a document of the load says.
    ///
    /// # Errors
    /// [`IngestError::LoadRow`] for a row that cannot be read.
    pub(super) fn of(
        item: ReadItem,
        document: DocId,
        judge: &LoadValidator,
    ) -> Result<Self, IngestError> {
        let record = match item {
            ReadItem::Record(record) => record,
            ReadItem::Reject(reject) => {
                let (path, row) = (&reject.origin.path, reject.origin.number);
                return Err(load_row(path, row, reject.reason.to_string()));
            }
        };
        let ReadRecord { key, source, metadata, origin, .. } = record;
        let (path, row) = (origin.path.as_ref().clone(), origin.number);
        let (_, decided) =
            split_imported_row(&metadata, &judge.ids).map_err(|why| load_row(&path, row, why))?;
        let key = match key {
            RecordKey::Given(key) => key,
            RecordKey::Position => String::new(),
        };
        check_consistency(&decided, &key).map_err(|why| load_row(&path, row, why))?;
        let source = source.as_deref().unwrap_or(&judge.source).to_owned();
        let identity = key_identity(&source, &key);
        let (standing, removal) = (decided.standing, decided.removal);
        Ok(Self { document, identity, standing, removal, source, path, row })
    }

    /// Whether nothing but its standing is to be looked at, which is this one.
    pub(super) fn is_settled_by_standing(&self, is_kept: bool) -> bool {
        match self.standing {
            Standing::Kept => is_kept,
            standing => standing == Standing::Empty,
        }
    }

    /// The removal as it is stored, by the document that has the key of its witness.
    ///
    /// # Errors
    /// [`IngestError::LoadRow`] when there is none, or it is not the one that the row means.
    pub(super) fn matched(
        &self,
        view: &View,
        judge: &LoadValidator,
        found: Option<DocId>,
    ) -> Result<Option<Match>, IngestError> {
        let Some(removal) = &self.removal else { return Ok(None) };
        let witness = match removal.id {
            Some(id) => {
                judge.stored_witness(view, &self.source, removal, id, &|why| self.wrong(why))?
            }
            None => found.ok_or_else(|| {
                self.wrong(format!("no document has the key of its witness, {:?}", removal.witness))
            })?,
        };
        Ok(Some(stored_match(self.standing, removal, witness)))
    }

    /// Whether the document stands as said.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read.
    pub(super) fn is_current(
        &self,
        view: &View,
        standing: Standing,
        matched: Option<&Match>,
    ) -> Result<bool, StoreError> {
        if self.standing != standing {
            return Ok(false);
        }
        // Whoever supersedes it has its key.
        let is_told = standing == Standing::Superseded;
        Ok(is_told || view.match_of(self.document)?.as_ref() == matched)
    }

    pub(super) fn wrong(&self, why: impl Into<String>) -> IngestError {
        load_row(&self.path, self.row, why)
    }
}

/// An error of decisions as that of the row it is about.
pub(super) fn row_error(error: DecideError, said: &[ExpectedStatus]) -> IngestError {
    match error {
        // What was committed stays: the same command goes on.
        DecideError::Interrupted => IngestError::Interrupted { report: Box::default() },
        error => load_row_error(error, |document, why| {
            said.iter().find(|one| one.document == document).map(|one| one.wrong(why))
        }),
    }
}
