//! The directory in which an export makes its files, beside its output, and the record of those that are finished.
//!
//! `data` in it becomes the output, or holds the file that does. `lock` is held while an export is at work, and
//! `finished.jsonl` has a line for each finished file, which is believed as far as the file has its hash.

use super::error::ExportError;
use super::manifest::{ExportManifest, MANIFEST_FILE};
use crate::model::IoError;
use crate::output::{Lock, ManifestFile, ShardOutcome, holds, is_taken, sync};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Component, Path, PathBuf};

const FINISHED: &str = "finished.jsonl";
const DATA: &str = "data";
const REPLACED: &str = "replaced";

/// A file that is finished, and where the export continues behind it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FinishedFile {
    pub file: ManifestFile,
    /// The number of its partition.
    pub partition: usize,
    /// Its number in the partition.
    pub number: u32,
    /// The id behind its last document.
    pub next: u64,
    /// How many values of each column the format cannot hold.
    #[serde(default)]
    pub lost: Vec<u64>,
}

impl FinishedFile {
    /// The file of a shard, which has one.
    pub fn of(finished: ShardOutcome, partition: usize, number: u32) -> Option<Self> {
        let ShardOutcome { files, next, lost } = finished;
        let file = files.into_iter().next()?;
        Some(Self { file, partition, number, next, lost })
    }
}

/// The directory of an export under way, which no other export enters.
pub(super) struct Staging {
    path: PathBuf,
    data: PathBuf,
    to: PathBuf,
    is_directory: bool,
    _lock: Lock,
}

/// Refuses an output that could not be made by a rename, or would cover what no export wrote.
pub(super) fn refuse_taken(to: &Path, is_directory: bool, force: bool) -> Result<(), ExportError> {
    if to.file_name().is_none() {
        return Err(ExportError::Unnamed { path: to.to_path_buf() });
    }
    let taken = |instead| Err(ExportError::Exists { path: to.to_path_buf(), instead });
    if !is_taken(to)? {
        return Ok(());
    }
    if !force {
        return taken("replace it with `force=`, or give another path");
    }
    if to.is_dir() != is_directory {
        return taken(
            "a file cannot replace a directory, nor a directory a file: give another path",
        );
    }
    let text = || fs::read(to.join(MANIFEST_FILE)).unwrap_or_default();
    if is_directory && serde_json::from_slice::<ExportManifest>(&text()).is_err() {
        return taken(
            "it is not an export (it has no manifest), and `force=` replaces exports only: remove it, or give another path",
        );
    }
    Ok(())
}

impl Staging {
    /// Makes the directory of the export with that hash, or enters the one that an earlier run left.
    pub fn enter(to: &Path, is_directory: bool, hash: &str) -> Result<Self, ExportError> {
        let mut name = to.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".tmp-{}", hash.get(..12).unwrap_or_default()));
        let path = to.with_file_name(name);
        let data = path.join(DATA);
        fs::create_dir_all(&data).map_err(IoError::of("creating", &data))?;
        let lock = Lock::take(&path)?;
        let lock = lock.ok_or_else(|| ExportError::UnderWay { path: to.to_path_buf() })?;
        Ok(Self { path, data, to: to.to_path_buf(), is_directory, _lock: lock })
    }

    /// Where files are made.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The finished files that an earlier run left; removes everything else.
    pub fn resume(&self) -> Result<Vec<FinishedFile>, ExportError> {
        let path = self.path.join(FINISHED);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut finished: Vec<FinishedFile> = Vec::new();
        for line in text.lines() {
            let Ok(file) = serde_json::from_str::<FinishedFile>(line) else { break };
            // The record is only believed for files inside the directory.
            let is_inside = Path::new(&file.file.name)
                .components()
                .all(|part| matches!(part, Component::Normal(_)));
            if !is_inside || !holds(&self.data, &file.file) {
                break;
            }
            finished.push(file);
        }
        let kept = finished.iter().map(|file| self.data.join(&file.file.name)).collect();
        clear(&self.data, &kept)?;
        let new = self.path.join("finished.jsonl.new");
        let mut lines = Vec::new();
        finished.iter().for_each(|file| lines.extend(line(file)));
        fs::write(&new, lines).map_err(IoError::of("writing", &new))?;
        fs::rename(&new, &path).map_err(IoError::of("renaming to", &path))?;
        Ok(finished)
    }

    /// Records a finished file.
    pub fn record(&self, finished: &FinishedFile) -> Result<(), ExportError> {
        let path = self.path.join(FINISHED);
        Ok(File::options()
            .append(true)
            .create(true)
            .open(&path)
            .and_then(|mut file| file.write_all(&line(finished)))
            .map_err(IoError::of("writing", &path))?)
    }

    /// Gives what was made the name of the output, the manifest with it.
    pub fn publish(self, manifest: &ExportManifest) -> Result<(), ExportError> {
        let own = if self.is_directory {
            self.data.join(MANIFEST_FILE)
        } else {
            self.data.join(manifest_beside(&self.to))
        };
        fs::write(&own, manifest.to_json()).map_err(IoError::of("writing", &own))?;
        // A name appears only when every byte under it is on disk.
        sync_all(&self.data)?;
        let parent = self.to.parent().unwrap_or(Path::new("."));
        if self.is_directory {
            self.make_room()?;
            rename(&self.data, &self.to)?;
        } else {
            rename(&own, &parent.join(manifest_beside(&self.to)))?;
            let name = self.to.file_name().unwrap_or_default();
            rename(&self.data.join(name), &self.to)?;
        }
        sync(parent)?;
        fs::remove_dir_all(&self.path).map_err(IoError::of("removing", &self.path))?;
        self.clear_others();
        Ok(())
    }

    /// Gives the file that was made the name of the output, without a manifest.
    pub fn publish_alone(self) -> Result<(), ExportError> {
        sync_all(&self.data)?;
        rename(&self.data.join(self.to.file_name().unwrap_or_default()), &self.to)?;
        sync(self.to.parent().unwrap_or(Path::new(".")))?;
        Ok(fs::remove_dir_all(&self.path).map_err(IoError::of("removing", &self.path))?)
    }

    /// Removes what exports of the same name left that were stopped and not run again, such as of an earlier commit.
    /// What cannot be removed stays: the output is whole.
    fn clear_others(&self) {
        let mark = format!("{}.tmp-", self.to.file_name().unwrap_or_default().to_string_lossy());
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        for entry in fs::read_dir(parent.unwrap_or(Path::new("."))).into_iter().flatten().flatten()
        {
            let path = entry.path();
            let is_ours = entry.file_name().to_string_lossy().starts_with(&mark)
                && path.join(FINISHED).is_file();
            if is_ours && let Ok(Some(_held)) = Lock::take(&path) {
                let _ = fs::remove_dir_all(&path);
            }
        }
    }

    /// Moves a directory that is to be replaced out of the way; it goes with the staging directory.
    fn make_room(&self) -> Result<(), ExportError> {
        if is_taken(&self.to)? {
            let replaced = self.path.join(REPLACED);
            if replaced.exists() {
                fs::remove_dir_all(&replaced).map_err(IoError::of("removing", &replaced))?;
            }
            return rename(&self.to, &replaced);
        }
        match fs::remove_dir(&self.to) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(IoError::of("replacing", &self.to)(error).into())
            }
            _ => Ok(()),
        }
    }

    /// After a failure: keeps what the next run can use, and nothing else.
    pub fn leave(self, error: &ExportError) {
        let can_pass = matches!(
            error,
            ExportError::Interrupted(_)
                | ExportError::Io(_)
                | ExportError::Library { .. }
                | ExportError::Store(_)
        );
        let has_files = fs::metadata(self.path.join(FINISHED)).is_ok_and(|file| file.len() > 0);
        if !can_pass || !has_files {
            // The first error is the one to tell.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// The name of the manifest beside a file.
fn manifest_beside(to: &Path) -> String {
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    format!(".{name}{MANIFEST_FILE}")
}

fn line(finished: &FinishedFile) -> Vec<u8> {
    let mut line = serde_json::to_vec(finished).unwrap_or_default();
    line.push(b'\n');
    line
}

fn rename(from: &Path, to: &Path) -> Result<(), ExportError> {
    Ok(fs::rename(from, to).map_err(IoError::of("renaming to", to))?)
}

/// Removes every file below `dir` that is not among `kept`.
fn clear(dir: &Path, kept: &BTreeSet<PathBuf>) -> Result<(), ExportError> {
    for entry in fs::read_dir(dir).map_err(IoError::of("reading", dir))? {
        let path = entry.map_err(IoError::of("reading", dir))?.path();
        if path.is_dir() {
            clear(&path, kept)?;
        } else if !kept.contains(&path) {
            fs::remove_file(&path).map_err(IoError::of("removing", &path))?;
        }
    }
    Ok(())
}

fn sync_all(dir: &Path) -> Result<(), ExportError> {
    for entry in fs::read_dir(dir).map_err(IoError::of("reading", dir))? {
        let path = entry.map_err(IoError::of("reading", dir))?.path();
        if path.is_dir() {
            sync_all(&path)?;
        } else {
            sync(&path)?;
        }
    }
    Ok(sync(dir)?)
}
