//! An export into a store. Nothing there can be renamed, so files appear one after the other, each whole, and the
//! manifest last: who finds it finds all.
//!
//! `.export-HASH.jsonl` has a line for each finished file, with the version that the store gave it, so that the same
//! export continues behind them. It goes when the manifest comes.

use super::error::ExportError;
use super::manifest::{ExportManifest, MANIFEST_FILE};
use super::options::ExportJob;
use super::staging::FinishedFile;
use crate::model::Context;
use crate::output::{HashedFile, Target};
use crate::remote::{
    ObjectStores, RemoteEntry, RemoteFolder, RemoteWriter, check_address, is_remote,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A file that is finished, in the version that it had then.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Finished {
    #[serde(flatten)]
    file: FinishedFile,
    tag: Option<String>,
}

/// A target in a store, before anything is written.
pub(super) struct RemoteTarget {
    folder: RemoteFolder,
    to: PathBuf,
    /// The name of the only file, where there is but one.
    name: Option<String>,
    force: bool,
    memory: u64,
}

/// An export into a store that is under way.
pub(super) struct RemoteStaging {
    target: RemoteTarget,
    /// The name of the record.
    record: String,
    finished: Mutex<Vec<Finished>>,
    /// Objects of exports that this one takes the place of.
    stale: BTreeSet<String>,
}

impl RemoteTarget {
    /// The target of a job, where it is in a store.
    pub fn of(
        job: &ExportJob<'_>,
        is_directory: bool,
        context: &Context<'_>,
    ) -> Result<Option<Self>, ExportError> {
        let to = job.to.to_string_lossy();
        if !is_remote(&to) {
            return Ok(None);
        }
        check_address(&to)?;
        let (folder, name) = match to.rsplit_once('/').filter(|_| !is_directory) {
            Some((folder, name)) => (format!("{folder}/"), Some(name.to_owned())),
            None => (to.to_string(), None),
        };
        if name.as_ref().is_some_and(String::is_empty) {
            return Err(ExportError::Unnamed { path: job.to.to_path_buf() });
        }
        let none = ObjectStores::default();
        let folder = RemoteFolder::open(job.stores.unwrap_or(&none), &folder, context.interrupt)?;
        let (to, force) = (job.to.to_path_buf(), job.force);
        Ok(Some(Self { folder, to, name, force, memory: context.memory }))
    }

    /// Begins the export with that hash, or continues with it.
    pub fn enter(self, hash: &str) -> Result<RemoteStaging, ExportError> {
        let record = record_of(hash.get(..12).unwrap_or_default());
        let stale = match &self.name {
            Some(name) => {
                if self.folder.entry(name)?.is_some() && !self.force {
                    return Err(self.taken("replace it with `force=`, or give another name"));
                }
                BTreeSet::new()
            }
            None => self.replaced(&record)?,
        };
        Ok(RemoteStaging { target: self, record, finished: Mutex::default(), stale })
    }

    fn taken(&self, instead: &'static str) -> ExportError {
        ExportError::Exists { path: self.to.clone(), instead }
    }

    /// What the folder has of other exports, which this one may replace; anything else is refused.
    fn replaced(&self, record: &str) -> Result<BTreeSet<String>, ExportError> {
        let entries = self.folder.entries()?;
        let mut stale = BTreeSet::new();
        let mut own = BTreeSet::from([record.to_owned()]);
        for RemoteEntry { name, .. } in &entries {
            if name == record {
                own.extend(self.lines(name)?.into_iter().map(|line| line.file.file.name));
            } else if is_record(name) {
                stale.insert(name.clone());
                stale.extend(self.lines(name)?.into_iter().map(|line| line.file.file.name));
            } else if name == MANIFEST_FILE {
                let text = self.folder.get(name)?.unwrap_or_default();
                let Ok(manifest) = serde_json::from_slice::<ExportManifest>(&text) else {
                    continue;
                };
                stale.insert(name.clone());
                stale.extend(manifest.files.into_iter().map(|file| file.name));
            }
        }
        let begun = entries.iter().any(|entry| entry.name == record);
        let others = entries.iter().filter(|entry| !own.contains(&entry.name));
        // The file that was under way when an export was stopped is in no record.
        let is_part = |name: &str| {
            let name = name.rsplit('/').next().unwrap_or_default();
            name.starts_with("part-") && (begun || !stale.is_empty())
        };
        let (mut has_others, mut has_strange) = (false, false);
        let mut parts = Vec::new();
        for RemoteEntry { name, .. } in others {
            match stale.contains(name) {
                true => has_others = true,
                false if is_part(name) => parts.push(name.clone()),
                false => has_strange = true,
            }
        }
        if has_strange {
            return Err(self.taken(
                "it has objects that are not from an export: give another folder, or remove them",
            ));
        }
        if has_others && !self.force {
            return Err(self.taken("replace it with `force=`, or give another folder"));
        }
        stale.extend(parts);
        if self.force && has_others {
            // What this export has begun is on record before anything goes; whole is what has a manifest.
            if !begun {
                self.folder.put(record, Vec::new())?;
            }
            self.folder.delete(MANIFEST_FILE)?;
            stale.remove(MANIFEST_FILE);
        }
        Ok(stale)
    }

    /// The lines of a record, up to the first invalid one.
    fn lines(&self, record: &str) -> Result<Vec<Finished>, ExportError> {
        let text = self.folder.get(record)?.unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n');
        Ok(lines.map_while(|line| serde_json::from_slice(line).ok()).collect())
    }
}

fn record_of(hash: &str) -> String {
    format!(".export-{hash}.jsonl")
}

fn is_record(name: &str) -> bool {
    let hash = name.strip_prefix(".export-").and_then(|name| name.strip_suffix(".jsonl"));
    hash.is_some_and(|hash| hash.len() == 12 && hash.bytes().all(|b| b.is_ascii_hexdigit()))
}

impl RemoteStaging {
    /// The finished files that an earlier run left, as long as each is there in the version that it had.
    pub fn resume(&self) -> Result<Vec<FinishedFile>, ExportError> {
        if self.target.name.is_some() {
            return Ok(Vec::new());
        }
        let mut kept = Vec::new();
        for line in self.target.lines(&self.record)? {
            let found = self.target.folder.entry(&line.file.file.name)?;
            let is_same = found
                .is_some_and(|entry| entry.bytes == line.file.file.bytes && entry.tag == line.tag);
            if !is_same {
                break;
            }
            kept.push(line);
        }
        let files = kept.iter().map(|line| line.file.clone()).collect();
        *self.finished.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        Ok(files)
    }

    /// Begins a file, which appears when it is finished.
    pub fn begin(&self, name: &str) -> Result<HashedFile, ExportError> {
        let folder = &self.target.folder;
        let target = folder.create(name, self.target.memory)?;
        let path = PathBuf::from(folder.address_of(name));
        Ok(HashedFile::to(path, name, Box::new(target))?)
    }

    /// Records a finished file.
    pub fn record(&self, file: &FinishedFile) -> Result<(), ExportError> {
        if self.target.name.is_some() {
            return Ok(());
        }
        let tag = self.target.folder.entry(&file.file.name)?.and_then(|entry| entry.tag);
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        finished.push(Finished { file: file.clone(), tag });
        let mut lines = Vec::new();
        for line in finished.iter() {
            lines.extend(serde_json::to_vec(line).unwrap_or_default());
            lines.push(b'\n');
        }
        Ok(self.target.folder.put(&self.record, lines)?)
    }

    /// Takes away what the export replaces, and puts the manifest there.
    pub fn publish(self, manifest: &ExportManifest) -> Result<(), ExportError> {
        let folder = &self.target.folder;
        let own: BTreeSet<&str> = manifest.files.iter().map(|file| file.name.as_str()).collect();
        for name in self.stale.iter().filter(|name| !own.contains(name.as_str())) {
            folder.delete(name)?;
        }
        let text = manifest.to_json().into_bytes();
        match &self.target.name {
            Some(name) => folder.put(&format!(".{name}{MANIFEST_FILE}"), text)?,
            None => {
                folder.put(MANIFEST_FILE, text)?;
                folder.delete(&self.record)?;
            }
        }
        Ok(())
    }

    /// After a failure: what the next run cannot use goes.
    pub fn leave(self, error: &ExportError) {
        let can_pass = matches!(
            error,
            ExportError::Interrupted(_) | ExportError::Remote(_) | ExportError::Store(_)
        );
        if can_pass || self.target.name.is_some() {
            return;
        }
        let finished = self.finished.into_inner().unwrap_or_else(PoisonError::into_inner);
        for line in &finished {
            // The first error is the one to tell.
            let _ = self.target.folder.delete(&line.file.file.name);
        }
        let _ = self.target.folder.delete(&self.record);
    }
}

impl Target for RemoteWriter {
    fn finish(self: Box<Self>) -> io::Result<()> {
        Ok(RemoteWriter::finish(*self)?)
    }
}
