//! What people decided about items of suites and texts. A verdict is of a text, whichever documents have it.

use super::suites::prefix;
use crate::model::{SuiteId, SuiteVerdict};
use crate::store::batch::Batch;
use crate::store::columns::Verdicts;
use crate::store::error::StoreError;
use crate::store::rows::keys::VerdictKey;
use crate::store::rows::verdicts::encode;
use crate::store::view::View;
use std::collections::BTreeSet;

/// A text by its hash, and the number of an item.
pub type TextAndItem = ([u8; 16], u32);

impl View {
    /// The verdicts of a suite, ascending by text and item.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    pub(crate) fn verdicts(
        &self,
        suite: SuiteId,
    ) -> Result<impl Iterator<Item = Result<(TextAndItem, SuiteVerdict), StoreError>>, StoreError>
    {
        let rows = self.pinned().scan_prefix::<Verdicts>(&prefix(suite))?;
        Ok(rows.taken("verdict", |key, verdict| Ok(Some(((key.text, key.item), verdict)))))
    }

    /// The verdicts of a suite of whose text nothing is known any more: no document has it that has anything of the
    /// suite.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read.
    pub(crate) fn orphaned_verdicts(&self, suite: SuiteId) -> Result<Vec<TextAndItem>, StoreError> {
        let all: Vec<TextAndItem> = self
            .verdicts(suite)?
            .map(|row| row.map(|(of, _)| of))
            .collect::<Result<_, StoreError>>()?;
        let mut missing: BTreeSet<[u8; 16]> = all.iter().map(|(text, _)| *text).collect();
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        for row in self.all_sightings(suite)? {
            let (document, _) = row?;
            missing.remove(&self.expect_header(document)?.raw);
        }
        Ok(all.into_iter().filter(|(text, _)| missing.contains(text)).collect())
    }

    /// The first verdict of a suite or an item that there is not: neither is written.
    ///
    /// # Errors
    /// [`StoreError`] when the families cannot be read.
    pub(in crate::store) fn stray_verdict(&self) -> Result<Option<(SuiteId, u32)>, StoreError> {
        let mut rows = self.pinned().scan::<Verdicts>(&[], None)?;
        while let Some((key, _)) = rows.next("verdict")? {
            let mut suites = self.suites()?.iter();
            if !suites.any(|(suite, record)| *suite == key.suite && key.item < record.items) {
                return Ok(Some((key.suite, key.item)));
            }
        }
        Ok(None)
    }
}

impl Batch<'_> {
    /// Stores a verdict in the place of an earlier one; takes that back where there is none.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn judge(
        &mut self,
        suite: SuiteId,
        (text, item): TextAndItem,
        verdict: Option<SuiteVerdict>,
    ) -> Result<(), StoreError> {
        let key = VerdictKey { suite, text, item };
        match verdict {
            Some(verdict) => self.put::<Verdicts>(&key, &encode(verdict)),
            None => self.delete::<Verdicts>(&key),
        }
    }
}
