//! The directory in which a build makes its files, and the record of those that are finished.
//!
//! It stands beside the output, holds a lock file as long as a build is at work, and `progress.json`
//! once a shard is finished. What the record says is believed as far as the files have its hashes.

use super::manifest::ExportCounts;
use super::write::FinishedShard;
use crate::epoch::error::EpochError;
use crate::epoch::plan::Plan;
use crate::model::IoError;
use crate::output::{LOCK_FILE, Lock, ManifestFile, holds, is_taken, sync};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const PROGRESS_FILE: &str = "progress.json";
/// Version of the record's form.
const VERSION: u32 = 2;

/// What is finished of a build.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShardRecord {
    version: u32,
    /// blake3 of the plan, in hexadecimal.
    plan: String,
    epoch: u64,
    shards: Vec<RecordedShard>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedShard {
    /// Rows of the epoch up to its end.
    rows: u64,
    counts: ExportCounts,
    files: Vec<ManifestFile>,
}

/// The directory of a build under way, which no other build enters.
pub(super) struct Staging {
    path: PathBuf,
    plan: String,
    epoch: u64,
    lock: Lock,
}

/// Refuses an output that could not be made by a rename.
///
/// # Errors
/// [`EpochError::OutputExists`], [`EpochError::OutputUnnamed`], [`EpochError::Io`].
pub fn refuse_taken(out: &Path) -> Result<(), EpochError> {
    if out.file_name().is_none() {
        return Err(EpochError::OutputUnnamed { path: out.to_path_buf() });
    }
    if is_taken(out)? {
        return Err(EpochError::OutputExists { path: out.to_path_buf() });
    }
    Ok(())
}

impl Staging {
    /// Makes the directory, or enters the one that an earlier build left.
    pub fn enter(out: &Path, plan: &Plan, epoch: u64) -> Result<Self, EpochError> {
        let hash = plan.hash_hex();
        let mut name = out.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".tmp-{}", hash.get(..12).unwrap_or_default()));
        let path = out.with_file_name(name);
        fs::create_dir_all(&path).map_err(IoError::of("creating", &path))?;
        let lock = Lock::take(&path)?;
        let lock = lock.ok_or_else(|| EpochError::BuildUnderWay { path: out.to_path_buf() })?;
        Ok(Self { path, plan: hash, epoch, lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The finished shards that an earlier build of this plan and epoch left; removes everything else.
    pub fn resume(&self, sources: usize) -> Result<Vec<FinishedShard>, EpochError> {
        let mut finished = Vec::new();
        for shard in self.recorded() {
            let sound = shard.counts.sources() == sources
                && !shard.files.is_empty()
                && shard.files.par_iter().all(|file| self.holds(file));
            if !sound {
                break;
            }
            let RecordedShard { rows, counts, files } = shard;
            finished.push(FinishedShard { rows, counts, files });
        }
        let mut kept: BTreeSet<&str> =
            finished.iter().flat_map(|shard| &shard.files).map(|file| file.name.as_str()).collect();
        kept.insert(LOCK_FILE);
        for entry in fs::read_dir(&self.path).map_err(IoError::of("reading", &self.path))? {
            let entry = entry.map_err(IoError::of("reading", &self.path))?;
            if !entry.file_name().to_str().is_some_and(|name| kept.contains(name)) {
                let path = entry.path();
                fs::remove_file(&path).map_err(IoError::of("removing", &path))?;
            }
        }
        if !finished.is_empty() {
            self.record(&finished)?;
        }
        Ok(finished)
    }

    /// What the record says; nothing when there is none of this plan and epoch.
    fn recorded(&self) -> Vec<RecordedShard> {
        let read = fs::read(self.path.join(PROGRESS_FILE)).ok();
        let record = read.and_then(|bytes| serde_json::from_slice::<ShardRecord>(&bytes).ok());
        record
            .filter(|record| record.version == VERSION)
            .filter(|record| record.plan == self.plan && record.epoch == self.epoch)
            .map_or_else(Vec::new, |record| record.shards)
    }

    /// Whether a file is there and has the bytes it was finished with.
    fn holds(&self, file: &ManifestFile) -> bool {
        // The record is only believed for files inside the directory.
        if Path::new(&file.name).file_name().and_then(|name| name.to_str()) != Some(&file.name) {
            return false;
        }
        holds(&self.path, file)
    }

    /// Records the finished shards.
    pub fn record(&self, finished: &[FinishedShard]) -> Result<(), EpochError> {
        let shard = |shard: &FinishedShard| RecordedShard {
            rows: shard.rows,
            counts: shard.counts.clone(),
            files: shard.files.clone(),
        };
        let record = ShardRecord {
            version: VERSION,
            plan: self.plan.clone(),
            epoch: self.epoch,
            shards: finished.iter().map(shard).collect(),
        };
        let text = serde_json::to_vec(&record).unwrap_or_default();
        let (path, new) = (self.path.join(PROGRESS_FILE), self.path.join("progress.json.new"));
        fs::write(&new, text).map_err(IoError::of("writing", &new))?;
        Ok(fs::rename(&new, &path).map_err(IoError::of("renaming to", &path))?)
    }

    /// Gives the directory the name of the output.
    pub fn publish(&self, out: &Path) -> Result<(), EpochError> {
        for name in [PROGRESS_FILE, LOCK_FILE] {
            let path = self.path.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(IoError::of("removing", &path)(error).into());
                }
                _ => {}
            }
        }
        if out.exists() {
            // Empty, as checked at the start; if it has been filled since, this fails and nothing is lost.
            fs::remove_dir(out).map_err(IoError::of("replacing", out))?;
        }
        // The name appears only when every byte under it is on disk.
        for entry in fs::read_dir(&self.path).map_err(IoError::of("reading", &self.path))? {
            sync(&entry.map_err(IoError::of("reading", &self.path))?.path())?;
        }
        sync(&self.path)?;
        fs::rename(&self.path, out).map_err(IoError::of("renaming to", out))?;
        Ok(sync(out.parent().unwrap_or(Path::new(".")))?)
    }

    /// After a failure: keeps what the next build can use, and nothing else.
    pub fn leave(self, error: &EpochError) {
        let can_pass = matches!(
            error,
            EpochError::Interrupted(_)
                | EpochError::Io(_)
                | EpochError::Parquet { .. }
                | EpochError::Store(_)
        );
        if !can_pass || !self.path.join(PROGRESS_FILE).exists() {
            // The first error is the one to tell.
            let _ = fs::remove_dir_all(&self.path);
        }
        drop(self.lock);
    }
}
