//! Files made on disk beside their output, in `NAME.tmp-HASH`, until all are finished.
//!
//! `data` in it becomes the output, or has the file that does; `manifest.json` gets its place beside that. `lock` is held
//! as long as somebody is at work, and `finished.jsonl` is the record: both stand outside of what gets the name, so that
//! they last until it has it. What is replaced waits there too, and is put back where it is not replaced after all.

use super::bucket::BucketDestination;
use super::destination::{
    FileRename, LocalDestination, Occupant, OutputRequest, REPLACED_MANIFEST, STAGED_MANIFEST,
    ShardRecord, Staging, StagingLock, known_files, refuse_occupied, stranger_in,
};
use super::error::OutputError;
use super::files::{HashedFile, ManifestFile};
use super::naming::{exchange, is_plain, rename_new, short_identity};
use super::record::{Position, RecordLine, to_json};
use model::{Context, IoError, sync_directory};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

const FINISHED: &str = "finished.jsonl";
const DATA: &str = "data";
/// What is replaced, where the file system cannot exchange two names.
const REPLACED: &str = "replaced";
/// The record of builds of an older release.
const OLD_RECORD: &str = "progress.json";

/// What an output is to become, before anything is written.
pub enum Destination {
    /// On a disk.
    Local(LocalDestination),
    /// In a store.
    Bucket(Box<BucketDestination>),
}

/// An output under way, with the finished shards that an earlier run left.
type Begun<P> = (Box<dyn Staging<P>>, Vec<ShardRecord<P>>);

impl Destination {
    /// Refuses what may not be replaced; the memory decides how large the parts are in which a store gets files.
    pub fn of(request: &OutputRequest<'_>, context: &Context<'_>) -> Result<Self, OutputError> {
        if let Some(bucket) = BucketDestination::of(request, context)? {
            return Ok(Self::Bucket(Box::new(bucket)));
        }
        Ok(Self::Local(refuse_occupied(request)?))
    }

    /// Whether it is on a disk.
    pub const fn is_local(&self) -> bool {
        matches!(self, Self::Local(_))
    }

    /// Begins the output with that identity, or goes on with it.
    pub fn begin_or_resume<P: Position>(self, identity: &str) -> Result<Begun<P>, OutputError> {
        Ok(match self {
            Self::Local(destination) => {
                let (staging, finished) = LocalStaging::begin_or_resume(destination, identity)?;
                (Box::new(staging), finished)
            }
            Self::Bucket(destination) => {
                let (staging, finished) = destination.begin_or_resume(identity)?;
                (Box::new(staging), finished)
            }
        })
    }
}

/// The directory of an output under way, which nobody else enters.
pub struct LocalStaging {
    destination: LocalDestination,
    path: PathBuf,
    data: PathBuf,
    _lock: StagingLock,
}

impl LocalStaging {
    /// Makes the directory, or enters the one that an earlier run left: gives the shards whose files have the recorded
    /// hashes, up to the first that has not, and removes everything else.
    ///
    /// # Errors
    /// [`OutputError::UnderWay`]; [`OutputError::Exists`] where something else has its name; [`OutputError::Io`].
    pub fn begin_or_resume<P: Position>(
        destination: LocalDestination,
        identity: &str,
    ) -> Result<(Self, Vec<ShardRecord<P>>), OutputError> {
        let path = destination.staging(short_identity(identity));
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_dir()) {
            let instead = "the files are made in a directory of that name: move it away";
            return Err(OutputError::Exists { path, instead });
        }
        make_parents(destination.parent())?;
        let lock = StagingLock::take(&path)?;
        let lock = lock.ok_or_else(|| OutputError::UnderWay {
            path: destination.given.clone(),
            by: destination.maker.name,
        })?;
        let data = path.join(DATA);
        let staging = Self { destination, path, data, _lock: lock };
        let finished = staging.resume(identity)?;
        Ok((staging, finished))
    }

    /// Where files are made.
    pub fn data(&self) -> &Path {
        &self.data
    }

    fn resume<P: Position>(&self, identity: &str) -> Result<Vec<ShardRecord<P>>, OutputError> {
        self.put_manifest_beside(&self.path);
        let kept = [StagingLock::FILE, FINISHED, DATA, REPLACED, REPLACED_MANIFEST];
        clear(&self.path, &|name| kept.iter().any(|kept| OsStr::new(kept) == name))?;
        if fs::symlink_metadata(&self.data).is_ok_and(|found| !found.is_dir()) {
            fs::remove_file(&self.data).map_err(IoError::of("removing", &self.data))?;
        }
        fs::create_dir_all(&self.data).map_err(IoError::of("creating", &self.data))?;
        let record = self.path.join(FINISHED);
        let recorded = RecordLine::<P>::parse(&fs::read(&record).unwrap_or_default());
        let lines =
            recorded.filter(|(of, _)| of == identity).map_or_else(Vec::new, |found| found.1);
        self.take_names_back(&lines)?;
        let mut finished = Vec::new();
        for line in lines {
            let RecordLine::Finished { shard, .. } = line else { continue };
            let is_whole = !shard.files.is_empty() && shard.files.iter().all(|file| self.has(file));
            if !is_whole {
                break;
            }
            finished.push(shard);
        }
        let files = finished.iter().flat_map(|shard| &shard.files);
        let kept: BTreeSet<PathBuf> = files.map(|file| PathBuf::from(&file.name)).collect();
        clear_below(&self.data, Path::new(""), &kept)?;
        let mut lines = vec![RecordLine::first(identity)];
        let line = |shard: &ShardRecord<P>| RecordLine::Finished {
            shard: shard.clone(),
            tags: Vec::new(),
        };
        lines.extend(finished.iter().map(line));
        let new = self.path.join("finished.jsonl.new");
        fs::write(&new, to_json(&lines)).map_err(IoError::of("writing", &new))?;
        fs::rename(&new, &record).map_err(IoError::of("renaming to", &record))?;
        Ok(finished)
    }

    /// Files that have their last names already, by the record, get back those under which they were finished.
    fn take_names_back<P>(&self, lines: &[RecordLine<P>]) -> Result<(), OutputError> {
        for line in lines {
            let RecordLine::Renames(renames) = line else { continue };
            for FileRename { from, to } in renames {
                if is_plain(from) && is_plain(to) {
                    self.rename_in_data(to, from)?;
                }
            }
        }
        Ok(())
    }

    fn rename_in_data(&self, from: &str, to: &str) -> Result<(), IoError> {
        let (from, to) = (self.data.join(from), self.data.join(to));
        match rename_new(&from, &to) {
            // The output has its name already.
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists) =>
            {
                Ok(())
            }
            renamed => renamed.map_err(IoError::of("renaming to", &to)),
        }
    }

    /// Whether a file on record is there, with the bytes that it was finished with.
    fn has(&self, file: &ManifestFile) -> bool {
        is_plain(&file.name) && has_recorded_bytes(&self.data.join(&file.name), file)
    }

    fn append<P: Position>(&self, line: &RecordLine<P>) -> Result<(), IoError> {
        let path = self.path.join(FINISHED);
        File::options()
            .append(true)
            .create(true)
            .open(&path)
            .and_then(|mut file| file.write_all(&line.to_json()))
            .map_err(IoError::of("writing", &path))
    }

    /// Waits until all files are on disk, then the names in their directories.
    fn sync(&self, context: &Context<'_>) -> Result<(), OutputError> {
        let (mut files, mut directories) = (Vec::new(), Vec::new());
        let mut waiting = vec![self.data.clone()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(&directory).map_err(IoError::of("reading", &directory))? {
                let path = entry.map_err(IoError::of("reading", &directory))?.path();
                let list = if path.is_dir() { &mut waiting } else { &mut files };
                list.push(path);
            }
            directories.push(directory);
        }
        let manifest = self.path.join(STAGED_MANIFEST);
        files.extend(manifest.exists().then_some(manifest));
        context.progress.begin("files", Some(files.len() as u64));
        for (done, path) in files.iter().enumerate() {
            context.check_interrupt()?;
            let synced = File::open(path).and_then(|file| file.sync_all());
            synced.map_err(IoError::of("syncing", path))?;
            context.progress.advance(done as u64 + 1);
        }
        // A directory below another one was found behind it.
        for directory in directories.iter().rev() {
            sync_directory(directory)?;
        }
        Ok(())
    }

    /// What becomes the output: the directory of its files, or the only one.
    fn made(&self) -> PathBuf {
        match self.destination.is_directory {
            true => self.data.clone(),
            false => self.data.join(self.destination.name().to_string_lossy().as_ref()),
        }
    }

    fn appeared(&self, path: &Path) -> OutputError {
        OutputError::Appeared { path: path.to_path_buf(), kept: self.path.clone() }
    }

    /// What a refused rename means: somebody has the name by now.
    fn refused(&self, to: &Path, shown: &Path) -> impl FnOnce(std::io::Error) -> OutputError {
        let (appeared, failed) = (self.appeared(shown), IoError::of("renaming to", to));
        move |error| match error.kind() {
            ErrorKind::AlreadyExists
            | ErrorKind::DirectoryNotEmpty
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory => appeared,
            _ => failed(error).into(),
        }
    }

    /// Gives what was made, a file or a directory, the name of the output.
    fn name_output(&self, made: &Path) -> Result<(), OutputError> {
        let LocalDestination { path, given, occupant, is_directory, .. } = &self.destination;
        if *occupant == Occupant::Nothing {
            // A plain rename of a directory replaces an empty one, and no other.
            let renamed =
                if *is_directory { fs::rename(made, path) } else { rename_new(made, path) };
            return renamed.map_err(self.refused(path, given));
        }
        let failed = || IoError::of("renaming to", path);
        let shown = |strange: PathBuf| match strange.as_os_str().is_empty() {
            true => given.clone(),
            false => given.join(strange),
        };
        match exchange(made, path) {
            Ok(true) => {
                let changed = occupant.changed_at(made);
                if matches!(changed, Ok(None)) {
                    return Ok(());
                }
                exchange(made, path).map_err(failed())?;
                Err(self.appeared(&shown(changed?.unwrap_or_default())))
            }
            Ok(false) => self.name_by_moving(made, shown),
            // Nobody has the name any more.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                rename_new(made, path).map_err(self.refused(path, given))
            }
            Err(error) => Err(failed()(error).into()),
        }
    }

    /// Gives the output its name where two names cannot be exchanged: what is replaced is moved into the staging first.
    fn name_by_moving(
        &self,
        made: &Path,
        shown: impl Fn(PathBuf) -> PathBuf,
    ) -> Result<(), OutputError> {
        let LocalDestination { path, given, occupant, is_directory, .. } = &self.destination;
        let replaced = self.path.join(REPLACED);
        fs::rename(path, &replaced).map_err(IoError::of("renaming to", &replaced))?;
        let renamed = match occupant.changed_at(&replaced) {
            Err(error) => Err(error.into()),
            Ok(Some(strange)) => Err(self.appeared(&shown(strange))),
            Ok(None) if *is_directory => fs::rename(made, path).map_err(self.refused(path, given)),
            Ok(None) => rename_new(made, path).map_err(self.refused(path, given)),
        };
        if renamed.is_err() {
            // Where this fails, too, it waits in the staging.
            let _ = rename_new(&replaced, path);
        }
        renamed
    }

    /// Takes the name of the output from what was made again, for that which it replaced.
    fn take_name_back(&self, made: &Path) {
        let path = &self.destination.path;
        if !exchange(made, path).is_ok_and(|exchanged| exchanged) && rename_new(path, made).is_ok()
        {
            let _ = rename_new(&self.path.join(REPLACED), path);
        }
    }

    /// Gives the output its name, and its manifest that beside it. An old manifest goes first, so that none is ever
    /// beside the output of another; it comes back with the one that it describes.
    fn name(&self) -> Result<(), OutputError> {
        let (beside, aside) =
            (self.destination.manifest_beside(), self.path.join(REPLACED_MANIFEST));
        self.set_manifest_aside(&beside, &aside)?;
        let named = match (&self.destination.occupant, self.path.join(STAGED_MANIFEST)) {
            (_, manifest) if !manifest.exists() => self.name_output(&self.made()),
            (Occupant::Nothing, manifest) => self.name_manifest_and_output(&manifest, &beside),
            (_, manifest) => self.name_output_and_manifest(&manifest, &beside),
        };
        if named.is_err() {
            let _ = rename_new(&aside, &beside);
        }
        named?;
        Ok(sync_directory(self.destination.parent())?)
    }

    fn set_manifest_aside(&self, beside: &Path, aside: &Path) -> Result<(), OutputError> {
        match fs::rename(beside, aside) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            moved => moved.map_err(IoError::of("renaming to", aside))?,
        }
        let text = fs::read(aside).unwrap_or_default();
        if (self.destination.maker.listed)(&text).is_none() {
            rename_new(aside, beside).map_err(IoError::of("renaming to", beside))?;
            return Err(self.appeared(beside));
        }
        Ok(())
    }

    /// The output comes last: killed before, the same command finds its name free, and ends the work.
    fn name_manifest_and_output(&self, manifest: &Path, beside: &Path) -> Result<(), OutputError> {
        rename_new(manifest, beside).map_err(self.refused(beside, beside))?;
        let named = self.name_output(&self.made());
        if named.is_err() {
            let _ = rename_new(beside, manifest);
        }
        named
    }

    /// The output comes first: killed behind it, the next run puts the manifest beside it.
    fn name_output_and_manifest(&self, manifest: &Path, beside: &Path) -> Result<(), OutputError> {
        let made = self.made();
        self.name_output(&made)?;
        let named = rename_new(manifest, beside).map_err(self.refused(beside, beside));
        if named.is_err() {
            self.take_name_back(&made);
        }
        named
    }

    /// Removes the stagings of this output that were stopped and not run again, such as of an earlier commit or release.
    /// What cannot be removed stays: the output is whole.
    fn clear_others(&self) {
        for path in self.destination.stagings() {
            let is_ours = path.join(StagingLock::FILE).is_file()
                && [FINISHED, OLD_RECORD, DATA].iter().any(|name| path.join(name).exists());
            if is_ours && let Ok(Some(_held)) = StagingLock::take(&path) {
                self.discard(&path);
            }
        }
    }

    /// Removes a staging. What it was to replace is put back first, where its name is free.
    fn discard(&self, staging: &Path) {
        let _ = rename_new(&staging.join(REPLACED), &self.destination.path);
        self.put_manifest_beside(staging);
        let _ = fs::remove_dir_all(staging);
    }

    /// Gives the manifest of what stands under the name of the output its place, where a run was killed before that.
    fn put_manifest_beside(&self, staging: &Path) {
        let beside = self.destination.manifest_beside();
        for name in [STAGED_MANIFEST, REPLACED_MANIFEST] {
            let manifest = staging.join(name);
            if !beside.exists() && self.describes_output(&manifest) {
                let _ = rename_new(&manifest, &beside);
            }
        }
    }

    /// Whether a manifest lists what stands under the name of the output, byte for byte.
    fn describes_output(&self, manifest: &Path) -> bool {
        let LocalDestination { path, maker, is_directory, .. } = &self.destination;
        let listed = fs::read(manifest).ok().and_then(|text| (maker.listed)(&text));
        match listed.as_deref() {
            Some([file]) if !is_directory => has_recorded_bytes(path, file),
            Some(files) if *is_directory => {
                let has = |file: &ManifestFile| has_recorded_bytes(&path.join(&file.name), file);
                matches!(stranger_in(path, &known_files(files)), Ok(None)) && files.iter().all(has)
            }
            _ => false,
        }
    }
}

impl<P: Position> Staging<P> for LocalStaging {
    fn prepare(&self, directory: &str) -> Result<(), OutputError> {
        let directory = self.data.join(directory);
        Ok(fs::create_dir_all(&directory).map_err(IoError::of("creating", &directory))?)
    }

    fn create(&self, name: &str) -> Result<HashedFile, OutputError> {
        Ok(HashedFile::create(&self.data, name)?)
    }

    fn record(&self, shard: &ShardRecord<P>) -> Result<(), OutputError> {
        Ok(self.append(&RecordLine::Finished { shard: shard.clone(), tags: Vec::new() })?)
    }

    fn publish(
        self: Box<Self>,
        renames: &[FileRename],
        manifest: Option<&str>,
        context: &Context<'_>,
    ) -> Result<(), OutputError> {
        if !renames.is_empty() {
            // On record before the first one.
            self.append(&RecordLine::<P>::Renames(renames.to_vec()))?;
            for FileRename { from, to } in renames {
                self.rename_in_data(from, to)?;
            }
        }
        if let Some(text) = manifest {
            let path = match self.destination.keeps_manifest {
                true => self.data.join(self.destination.maker.manifest_inside),
                false => self.path.join(STAGED_MANIFEST),
            };
            fs::write(&path, text).map_err(IoError::of("writing", &path))?;
        }
        self.sync(context)?;
        self.name()?;
        // What cannot be removed is removed by the next one: the output is whole.
        self.discard(&self.path);
        self.clear_others();
        Ok(())
    }

    fn abandon(self: Box<Self>, can_resume: bool) {
        let record = fs::read(self.path.join(FINISHED)).unwrap_or_default();
        let has_shards =
            RecordLine::<P>::parse(&record).is_some_and(|(_, lines)| !lines.is_empty());
        if !(can_resume && has_shards) {
            self.discard(&self.path);
        }
    }
}

/// Makes the directories above an output; the name of each is on disk before anything is made in it.
fn make_parents(parent: &Path) -> Result<(), IoError> {
    let missing: Vec<&Path> = parent.ancestors().take_while(|path| !path.exists()).collect();
    fs::create_dir_all(parent).map_err(IoError::of("creating", parent))?;
    missing.iter().filter_map(|path| path.parent()).try_for_each(sync_directory)
}

/// Whether a file has the bytes that it was finished with.
fn has_recorded_bytes(path: &Path, file: &ManifestFile) -> bool {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == file.bytes) {
        return false;
    }
    let mut hasher = blake3::Hasher::new();
    File::open(path).and_then(|found| hasher.update_reader(found).map(drop)).is_ok()
        && hasher.finalize().to_hex().as_str() == file.blake3
}

/// Removes what is in a directory, but for some names. No link is followed.
fn clear(directory: &Path, is_kept: &dyn Fn(&OsStr) -> bool) -> Result<(), IoError> {
    for entry in fs::read_dir(directory).map_err(IoError::of("reading", directory))? {
        let entry = entry.map_err(IoError::of("reading", directory))?;
        if is_kept(&entry.file_name()) {
            continue;
        }
        let path = entry.path();
        let removed = match entry.file_type() {
            Ok(kind) if kind.is_dir() => fs::remove_dir_all(&path),
            _ => fs::remove_file(&path),
        };
        removed.map_err(IoError::of("removing", &path))?;
    }
    Ok(())
}

/// Removes every file below a directory that is not among `kept`, by their paths in it.
fn clear_below(data: &Path, inside: &Path, kept: &BTreeSet<PathBuf>) -> Result<(), IoError> {
    let is_kept = |name: &OsStr| {
        let name = inside.join(name);
        kept.range(name.clone()..).next().is_some_and(|kept| kept.starts_with(&name))
    };
    clear(&data.join(inside), &is_kept)?;
    let directory = data.join(inside);
    for entry in fs::read_dir(&directory).map_err(IoError::of("reading", &directory))? {
        let entry = entry.map_err(IoError::of("reading", &directory))?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            clear_below(data, &inside.join(entry.file_name()), kept)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "staging_tests.rs"]
mod tests;
