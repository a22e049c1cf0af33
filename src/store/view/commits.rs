//! Commits, newest or all.

use super::View;
use crate::model::CommitSeq;
use crate::store::columns::Commits;
use crate::store::error::StoreError;
use crate::store::rows::keys::{CommitKey, Key};
use crate::store::rows::records::CommitRecord;

impl View {
    /// Commits, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn commits(&self) -> Result<Vec<(CommitSeq, CommitRecord)>, StoreError> {
        let mut rows = self.pinned().scan::<Commits>(&[], None)?;
        let mut found = Vec::new();
        while let Some((key, record)) = rows.next("commit")? {
            found.push((key.commit, record));
        }
        Ok(found)
    }

    /// The newest `limit` commits, oldest first; the others are not read.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn last_commits(&self, limit: u64) -> Result<Vec<(CommitSeq, CommitRecord)>, StoreError> {
        // Commits are numbered without gaps.
        let first = CommitSeq((self.commit().0 + 1).saturating_sub(limit));
        let mut rows =
            self.pinned().scan::<Commits>(&CommitKey { commit: first }.to_bytes(), None)?;
        let mut found = Vec::new();
        while let Some((key, record)) = rows.next("commit")? {
            found.push((key.commit, record));
        }
        Ok(found)
    }

    /// The record of a commit: what made it, and what it changed.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn commit_record(&self, commit: CommitSeq) -> Result<Option<CommitRecord>, StoreError> {
        self.pinned().read::<Commits, _>("commit", &CommitKey { commit })
    }
}
