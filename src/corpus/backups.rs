//! Backups of corpora: creates, lists, verifies, restores and drops them, also while a writer is open.

use super::machine;
use super::remote_backups::RemoteBackups;
use files::remote::{ObjectStores, RemoteError, is_remote, without_secrets};
use model::{Context, Error, ErrorKind, Hint};
use std::path::{Path, PathBuf};
use store::{
    BackupFolder, BackupPlace, BackupRecord, BackupReport, DropBackupReport, StoreError,
    VerifyBackupsReport, backup,
};

/// Backups of one corpus: a directory of them, or what is below an address in a store of objects (`s3://`, `gs://`,
/// `az://`). A backup is one commit; files that several have are there once.
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
    place: PathBuf,
    stores: ObjectStores,
}

impl Backups {
    /// The backups in a directory or below an address, which [`Backups::create`] makes.
    #[must_use]
    pub fn at(place: impl Into<PathBuf>) -> Self {
        Self { place: place.into(), stores: ObjectStores::default() }
    }

    /// This place, with settings for access to object stores.
    #[must_use]
    pub fn with_stores(self, stores: ObjectStores) -> Self {
        Self { stores, ..self }
    }

    /// Opens the place and calls with it.
    fn with<T>(
        &self,
        context: &Context<'_>,
        work: impl FnOnce(&dyn BackupPlace) -> Result<T, StoreError>,
    ) -> Result<T, Error> {
        let address = self.place.to_string_lossy();
        machine::raise_open_files();
        let done = match is_remote(&address) {
            true => work(&RemoteBackups::open(&self.stores, &address, context)?),
            false => work(&BackupFolder::at(&self.place)),
        };
        done.map_err(|error| match &error {
            StoreError::Io(found) => match RemoteError::within(&found.source) {
                Some(remote) => remote.clone().into(),
                None => error.into(),
            },
            _ => error.into(),
        })
    }

    /// Takes a backup of a corpus's last commit, also while another process writes to it. What is there of earlier
    /// backups is not written again; after an error or an interrupt these are whole.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError): no corpus, lost commits, a place that holds other things, somebody
    /// who drops backups there, what
    /// the disk refuses; [`RemoteError`](crate::remote::RemoteError); [`Interrupted`](crate::Interrupted).
    pub fn create(
        &self,
        corpus: impl AsRef<Path>,
        context: &Context<'_>,
    ) -> Result<BackupReport, Error> {
        self.with(context, |place| backup::create_backup(corpus.as_ref(), place, context))
    }

    /// The backups, in order of their commits.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when there are none, or a manifest is damaged;
    /// [`RemoteError`](crate::remote::RemoteError); [`Interrupted`](crate::Interrupted).
    pub fn list(&self, context: &Context<'_>) -> Result<Vec<BackupRecord>, Error> {
        self.with(context, backup::list_backups)
    }

    /// Reads every byte of every backup; what is wrong is in the answer, by backup and file.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when there are none, or the directory cannot be read;
    /// [`RemoteError`](crate::remote::RemoteError);
    /// [`Interrupted`](crate::Interrupted).
    pub fn verify(&self, context: &Context<'_>) -> Result<VerifyBackupsReport, Error> {
        self.with(context, |place| backup::verify_backups(place, context))
    }

    /// Makes a corpus at `target`, a path on disk, of the backup of `commit`, or of the newest: whole or not at all,
    /// with every byte compared on the way. It has the same digest, and an identity of its own.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError): something stands at `target`, no such backup, a file that is
    /// damaged, which is named;
    /// [`RemoteError`](crate::remote::RemoteError); [`Interrupted`](crate::Interrupted).
    pub fn restore(
        &self,
        target: impl AsRef<Path>,
        commit: Option<u64>,
        context: &Context<'_>,
    ) -> Result<BackupRecord, Error> {
        let target = target.as_ref();
        let given = target.to_string_lossy();
        if is_remote(&given) {
            // Else the corpus would be in a directory named `s3:`.
            let why = "a corpus is written to disk: give a path".to_owned();
            return Err(RemoteError::Address { address: without_secrets(&given), why }.into());
        }
        let restored =
            self.with(context, |place| backup::restore_backup(place, target, commit, context));
        restored.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                error.with_hint(Some(Hint::text("restore beside it, then exchange the two")))
            }
            _ => error,
        })
    }

    /// Drops the backup of a commit, and the files that no other one has.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when there is none, somebody adds or drops others, or the disk
    /// refuses; [`RemoteError`](crate::remote::RemoteError);
    /// [`Interrupted`](crate::Interrupted): then the backup is gone, and what is left of its files goes with the next
    /// one.
    pub fn drop_backup(
        &self,
        commit: u64,
        context: &Context<'_>,
    ) -> Result<DropBackupReport, Error> {
        self.with(context, |place| backup::drop_backup(place, commit, context))
    }
}
