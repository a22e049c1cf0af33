//! Backups of corpora: taken beside a writer, listed, verified, restored and dropped.

use crate::error::Error;
use crate::model::Context;
use crate::store::{BackupRecord, BackupReport, DropBackupReport, VerifyBackupsReport, backup};
use std::path::{Path, PathBuf};

/// A directory of backups of one corpus. A backup is one commit; files that several have are there once.
///
/// ```
/// use corpusdb::{Backups, Context, Corpus, DedupMode, Policy};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("corpus");
/// Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
/// let backups = Backups::at(directory.path().join("backups"));
/// let report = backups.create(&path, &Context::new())?;
/// assert!(backups.verify(&Context::new())?.faults.is_empty());
/// let again = directory.path().join("again");
/// backups.restore(&again, Some(report.commit), &Context::new())?;
/// let (first, second) = (Corpus::open(&path)?, Corpus::open(&again)?);
/// assert_eq!(first.digest(&Context::new())?, second.digest(&Context::new())?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backups {
    directory: PathBuf,
}

impl Backups {
    /// The backups in a directory, which [`Backups::create`] makes.
    #[must_use]
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Takes a backup of a corpus's last commit, also while another process writes to it. What the directory has of
    /// earlier backups is not written again; after an error or an interrupt these are whole.
    ///
    /// # Errors
    /// [`Error::Store`]: no corpus, lost commits, a directory that holds other things, what the disk refuses;
    /// [`Error::Interrupted`].
    pub fn create(
        &self,
        corpus: impl AsRef<Path>,
        context: &Context<'_>,
    ) -> Result<BackupReport, Error> {
        Ok(backup::create_backup(corpus.as_ref(), &self.directory, context)?)
    }

    /// The backups, in order of their commits.
    ///
    /// # Errors
    /// [`Error::Store`] when there are none, or a manifest is damaged.
    pub fn list(&self) -> Result<Vec<BackupRecord>, Error> {
        Ok(backup::list_backups(&self.directory)?)
    }

    /// Reads every byte of every backup; what is wrong is in the answer, by backup and file.
    ///
    /// # Errors
    /// [`Error::Store`] when there are none, or the directory cannot be read; [`Error::Interrupted`].
    pub fn verify(&self, context: &Context<'_>) -> Result<VerifyBackupsReport, Error> {
        Ok(backup::verify_backups(&self.directory, context)?)
    }

    /// Makes a corpus at `target` of the backup of `commit`, or of the newest: whole or not at all, with every byte
    /// compared on the way. It has the same digest, and an identity of its own.
    ///
    /// # Errors
    /// [`Error::Store`]: something stands at `target`, no such backup, a file that is damaged, which is named;
    /// [`Error::Interrupted`].
    pub fn restore(
        &self,
        target: impl AsRef<Path>,
        commit: Option<u64>,
        context: &Context<'_>,
    ) -> Result<BackupRecord, Error> {
        Ok(backup::restore_backup(&self.directory, target.as_ref(), commit, context)?)
    }

    /// Drops the backup of a commit, and the files that no other one has.
    ///
    /// # Errors
    /// [`Error::Store`] when there is none, or the disk refuses.
    pub fn drop_backup(&self, commit: u64) -> Result<DropBackupReport, Error> {
        Ok(backup::drop_backup(&self.directory, commit)?)
    }
}
