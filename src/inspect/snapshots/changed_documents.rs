//! Lists what changed from one moment to a later one, document by document.

use super::changes::ChangeReader;
use super::changes::reason_name;
use super::moment::SnapshotState;
use crate::inspect::InspectError;
use crate::sql::KeyFormatter;
use model::{DocId, Standing};
use serde::Serialize;
use store::View;

/// A document whose state changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ChangedDocument {
    /// The document.
    pub id: u64,
    /// Its key.
    pub key: String,
    /// Its source.
    pub source: String,
    /// `added`, `kept_again`, `removed` (it was kept) or `not_kept` (it came since).
    pub change: &'static str,
    /// Why it is not kept in the later state; absent if it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The kept document that it duplicates, where that is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<u64>,
    /// The key of the witness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness_key: Option<String>,
    /// The newer document of its key, where that is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successor: Option<u64>,
}

/// Documents that changed, ascending by id. Holds one, and bitmaps; ends behind an error.
pub struct ChangedDocuments<'a> {
    view: &'a View,
    keys: KeyFormatter,
    /// None behind an error.
    changes: Option<ChangeReader<'a>>,
}

/// Each document that changed from the snapshot `from` to the snapshot `to`, or to the present moment.
///
/// # Errors
/// [`InspectError::Backwards`] when `to` is the earlier one; [`InspectError`] for a snapshot that there is not, or
/// when rows cannot be read.
pub fn snapshot_changes<'a>(
    view: &'a View,
    from: &str,
    to: Option<&str>,
) -> Result<ChangedDocuments<'a>, InspectError> {
    let (from, to) = (SnapshotState::named(view, Some(from))?, SnapshotState::named(view, to)?);
    let changes = Some(ChangeReader::between(view, from, to)?);
    Ok(ChangedDocuments { view, keys: KeyFormatter::default(), changes })
}

impl ChangedDocuments<'_> {
    fn next_document(&mut self) -> Result<Option<ChangedDocument>, InspectError> {
        let Some(changes) = &mut self.changes else { return Ok(None) };
        let Some((document, change)) = changes.next_change()? else { return Ok(None) };
        let loss = change.loss();
        let (mut witness, mut successor) = (loss.and_then(|loss| loss.other), None);
        if loss.is_some_and(|loss| loss.reason == Some(Standing::Superseded)) {
            successor = witness.take();
        }
        let witness_key = witness.map(|witness| self.key(witness)).transpose()?;
        Ok(Some(ChangedDocument {
            id: document.0,
            key: self.key(document)?,
            source: self.view.source_name(self.view.source_of(document)?)?.to_owned(),
            change: change.name(),
            reason: loss.map(|loss| reason_name(loss.reason)),
            witness: witness.map(|witness| witness.0),
            witness_key,
            successor: successor.map(|successor| successor.0),
        }))
    }

    fn key(&mut self, document: DocId) -> Result<String, InspectError> {
        Ok(self.keys.shown(self.view, document)?)
    }
}

impl Iterator for ChangedDocuments<'_> {
    type Item = Result<ChangedDocument, InspectError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_document();
        if next.is_err() {
            self.changes = None;
        }
        next.transpose()
    }
}

impl std::fmt::Debug for ChangedDocuments<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangedDocuments").finish_non_exhaustive()
    }
}
