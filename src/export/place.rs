//! Where an export makes its files: in a directory on disk, or in a folder of a store.

use super::error::ExportError;
use super::manifest::ExportManifest;
use super::options::ExportJob;
use super::remote::{RemoteStaging, RemoteTarget};
use super::staging::{FinishedFile, Staging, refuse_taken};
use crate::model::{Context, IoError};
use crate::output::HashedFile;
use std::fs;
use std::path::PathBuf;

/// What an export is to become, before anything is written.
pub(super) enum Destination {
    Local { to: PathBuf, is_directory: bool },
    Remote(Box<RemoteTarget>),
}

impl Destination {
    /// The destination of a job, unless it is taken; the memory decides how large the parts are in which a store gets
    /// files.
    pub fn of(
        job: &ExportJob<'_>,
        is_directory: bool,
        context: &Context<'_>,
    ) -> Result<Self, ExportError> {
        if let Some(target) = RemoteTarget::of(job, is_directory, context)? {
            return Ok(Self::Remote(Box::new(target)));
        }
        refuse_taken(job.to, is_directory, job.force)?;
        Ok(Self::Local { to: job.to.to_path_buf(), is_directory })
    }

    /// Begins the export with that hash, or continues with it.
    pub fn enter(self, hash: &str) -> Result<Place, ExportError> {
        Ok(match self {
            Self::Local { to, is_directory } => {
                Place::Local(Staging::enter(&to, is_directory, hash)?)
            }
            Self::Remote(target) => Place::Remote(Box::new(target.enter(hash)?)),
        })
    }
}

/// One of the two.
pub(super) enum Place {
    Local(Staging),
    Remote(Box<RemoteStaging>),
}

impl Place {
    /// The finished files that an earlier run left.
    pub fn resume(&self) -> Result<Vec<FinishedFile>, ExportError> {
        match self {
            Self::Local(staging) => staging.resume(),
            Self::Remote(staging) => staging.resume(),
        }
    }

    /// Makes room for the files of a directory.
    pub fn prepare(&self, directory: &str) -> Result<(), ExportError> {
        let Self::Local(staging) = self else { return Ok(()) };
        let dir = staging.data().join(directory);
        Ok(fs::create_dir_all(&dir).map_err(IoError::of("creating", &dir))?)
    }

    /// Begins a file.
    pub fn begin(&self, name: &str) -> Result<HashedFile, ExportError> {
        match self {
            Self::Local(staging) => Ok(HashedFile::create(staging.data(), name)?),
            Self::Remote(staging) => staging.begin(name),
        }
    }

    /// Records a finished file.
    pub fn record(&self, finished: &FinishedFile) -> Result<(), ExportError> {
        match self {
            Self::Local(staging) => staging.record(finished),
            Self::Remote(staging) => staging.record(finished),
        }
    }

    /// All files are finished: they become the output.
    pub fn publish(self, manifest: &ExportManifest) -> Result<(), ExportError> {
        match self {
            Self::Local(staging) => staging.publish(manifest),
            Self::Remote(staging) => staging.publish(manifest),
        }
    }

    /// The only file is finished: it becomes the output, without a manifest.
    pub fn publish_alone(self) -> Result<(), ExportError> {
        match self {
            Self::Local(staging) => staging.publish_alone(),
            // It appeared when it was finished.
            Self::Remote(_) => Ok(()),
        }
    }

    /// After a failure: keeps what the next run can use, and nothing else.
    pub fn leave(self, error: &ExportError) {
        match self {
            Self::Local(staging) => staging.leave(error),
            Self::Remote(staging) => staging.leave(error),
        }
    }
}
