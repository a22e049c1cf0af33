//! The destination of an output: what is to be made, what stands under its name, and the interface of its staging.
//!
//! Only what stood there at the start may be replaced.
//!
//! A directory is given its name by a plain rename, which never replaces a filled one; a file by one that replaces
//! nothing. What is replaced on purpose changes places with what was made, and is looked at before it goes.

use super::error::OutputError;
use super::files::{HashedFile, ManifestFile};
use super::naming::{is_plain, is_short_identity};
use super::output_file::followed_outside_corpora;
use crate::remote::ObjectStores;
use model::invariant::part;
use model::{Context, IoError, derived_name, manifest_beside};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, TryLockError};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The manifest in a staging, until it has its name.
pub(super) const STAGED_MANIFEST: &str = "manifest.json";
/// The manifest of what is replaced, in the staging of what replaces it.
pub(super) const REPLACED_MANIFEST: &str = "replaced.manifest.json";

/// What makes outputs of a kind.
pub struct OutputMaker {
    /// A word for it, such as `export`.
    pub name: &'static str,
    /// The option that names the output.
    pub option: &'static str,
    /// Name of the manifest in a directory that has it inside.
    pub manifest_inside: &'static str,
    /// The way out where an output exists and is not to be replaced.
    pub instead: &'static str,
    /// The files that a manifest lists; `None`: the bytes are not a manifest.
    pub listed: fn(&[u8]) -> Option<Vec<ManifestFile>>,
}

/// Where an output is asked for.
#[derive(Clone, Copy)]
pub struct OutputRequest<'a> {
    /// The path or address.
    pub to: &'a Path,
    /// How objects of stores are reached.
    pub stores: Option<&'a ObjectStores>,
    /// Whether a directory is made, or one file.
    pub is_directory: bool,
    /// Whether it may replace what an earlier one left.
    pub force: bool,
    /// Who makes it.
    pub maker: &'static OutputMaker,
}

/// A shard that is finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardRecord<P> {
    /// Its files.
    pub files: Vec<ManifestFile>,
    /// Where the work goes on behind it.
    pub position: P,
}

/// A file that gets another name when all are there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileRename {
    /// The name that it had.
    pub from: String,
    /// The name that it has.
    pub to: String,
}

/// Where the files of an output are made, one output at a time, and what becomes of them.
pub trait Staging<P>: Send + Sync {
    /// Makes room for the files of a directory of the output.
    fn prepare(&self, directory: &str) -> Result<(), OutputError>;
    /// Begins a file.
    fn create(&self, name: &str) -> Result<HashedFile, OutputError>;
    /// Puts a finished shard on record: the next run goes on behind it.
    fn record(&self, shard: &ShardRecord<P>) -> Result<(), OutputError>;
    /// All shards are finished: they become the output, with a manifest where there is one. After an error they are
    /// kept, so that the next run has this left to do.
    fn publish(
        self: Box<Self>,
        renames: &[FileRename],
        manifest: Option<&str>,
        context: &Context<'_>,
    ) -> Result<(), OutputError>;
    /// After a failure: keeps what the next run can use, and nothing else.
    fn abandon(self: Box<Self>, can_resume: bool);
}

/// What tells a file from others that had or will have its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl FileIdentity {
    fn of(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        }
    }

    /// The state of the file at a path; none when something else than a file is there.
    pub fn at(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        found.is_file().then(|| Self::of(&found))
    }
}

/// What stands under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Occupant {
    /// Nothing, or an empty directory where a directory is made.
    Nothing,
    /// A file that may be replaced.
    File(FileIdentity),
    /// A directory that may be replaced: its files, by their paths in it, with their sizes.
    Directory(BTreeMap<PathBuf, u64>),
}

impl Occupant {
    /// What of an occupant that was moved to `path` is not as it was when the name was judged.
    pub(crate) fn changed_at(&self, path: &Path) -> Result<Option<PathBuf>, IoError> {
        match self {
            Self::File(identity) => {
                Ok((FileIdentity::at(path) != Some(*identity)).then(PathBuf::new))
            }
            Self::Directory(known) => stranger_in(path, known),
            Self::Nothing => Ok(Some(PathBuf::new())),
        }
    }
}

/// An output on disk, and what stood under its name at the start.
#[derive(Clone)]
pub struct LocalDestination {
    /// The path as it was given, for messages.
    pub(super) given: PathBuf,
    /// Where it will stand: links are followed.
    pub(super) path: PathBuf,
    pub(super) is_directory: bool,
    pub(super) maker: &'static OutputMaker,
    /// Whether its manifest stands in the directory rather than beside it.
    pub(super) keeps_manifest: bool,
    pub(super) occupant: Occupant,
}

impl LocalDestination {
    /// This destination, with the manifest in the directory where `is_inside`: readers that go by an index or by names
    /// find it there, where it always was.
    #[must_use]
    pub fn with_manifest_inside(self, is_inside: bool) -> Self {
        Self { keeps_manifest: is_inside, ..self }
    }

    /// The name of the output.
    pub(super) fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    /// Where its manifest will stand.
    pub(super) fn manifest_beside(&self) -> PathBuf {
        manifest_beside(&self.path)
    }

    /// The directory in which it is made: `NAME.tmp-HASH`.
    pub(super) fn staging(&self, hash: &str) -> PathBuf {
        self.path.with_file_name(derived_name("", self.name(), &format!(".tmp-{hash}")))
    }

    /// The directories in which it was ever made, as far as they are there; in order of their names.
    pub(super) fn stagings(&self) -> Vec<PathBuf> {
        let any = self.staging("000000000000");
        let any = any.file_name().unwrap_or_default().as_bytes();
        let before = part(any, ..any.len() - 12);
        let entries = fs::read_dir(self.parent()).into_iter().flatten().flatten();
        let of_it = entries.filter(|entry| {
            let name = entry.file_name();
            name.as_bytes().strip_prefix(before).is_some_and(is_short_identity)
                && entry.file_type().is_ok_and(|kind| kind.is_dir())
        });
        let mut found: Vec<PathBuf> = of_it.map(|entry| entry.path()).collect();
        found.sort();
        found
    }

    /// The directory in which it will stand.
    pub(super) fn parent(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }
}

/// Refuses an output that could not be given its name, or would cover what is not to be replaced; looks at what stands
/// there otherwise.
///
/// # Errors
/// [`OutputError::Unnamed`]; [`OutputError::Exists`] with the file that stands in the way; [`OutputError::Io`].
pub fn refuse_occupied(request: &OutputRequest<'_>) -> Result<LocalDestination, OutputError> {
    let OutputRequest { to, is_directory, force, maker, .. } = *request;
    if to.file_name().is_none() {
        let option = maker.option;
        return Err(OutputError::Unnamed { option, path: to.to_path_buf() });
    }
    // Without a stroke behind it, which a link would be lost behind.
    let (path, is_descriptor) = followed_outside_corpora(&to.components().collect::<PathBuf>())?;
    let mut destination = LocalDestination {
        given: to.to_path_buf(),
        path,
        is_directory,
        maker,
        keeps_manifest: false,
        occupant: Occupant::Nothing,
    };
    let taken = |instead| Err(OutputError::Exists { path: destination.given.clone(), instead });
    match fs::symlink_metadata(&destination.path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(IoError::of("looking at", to)(error).into()),
        Ok(found) if is_descriptor || !(found.is_file() || found.is_dir()) => {
            return taken(
                "it is a pipe, a device or a socket, and outputs are made beside their name: give the path of a file or of a new directory",
            );
        }
        Ok(found) => {
            let is_empty = found.is_dir() && is_empty(&destination.path)?;
            let is_other = found.is_dir() != is_directory;
            if is_other {
                return taken(
                    "a file cannot replace a directory, nor a directory a file: give another path",
                );
            } else if !is_empty && !force {
                return taken(maker.instead);
            } else if !is_empty {
                destination.occupant = replaced(&destination, &found)?;
            }
        }
    }
    refuse_other_manifest(&destination)?;
    Ok(destination)
}

/// What may be replaced; anything in it that its manifest does not list is refused.
fn replaced(destination: &LocalDestination, found: &Metadata) -> Result<Occupant, OutputError> {
    let LocalDestination { path, maker, .. } = destination;
    if found.is_file() {
        return Ok(Occupant::File(FileIdentity::of(found)));
    }
    // Where a run was killed between the names of a directory and of its manifest, this one is in the staging.
    let stagings = destination.stagings().into_iter();
    let in_staging = stagings
        .flat_map(|staging| [STAGED_MANIFEST, REPLACED_MANIFEST].map(|name| staging.join(name)));
    let inside = path.join(maker.manifest_inside);
    let manifests = [destination.manifest_beside(), inside.clone()].into_iter().chain(in_staging);
    let mut stranger = None;
    for manifest in manifests {
        let text = fs::read(&manifest).unwrap_or_default();
        let Some(listed) = (maker.listed)(&text) else { continue };
        let mut known = known_files(&listed);
        if manifest == inside {
            known.insert(PathBuf::from(maker.manifest_inside), text.len() as u64);
        }
        match stranger_in(path, &known)? {
            None => return Ok(Occupant::Directory(known)),
            Some(other) => stranger = stranger.or(Some(other)),
        }
    }
    Err(match stranger {
        None => OutputError::Exists {
            path: destination.given.clone(),
            instead: "it has no manifest, and `force=` replaces what has one: remove it, or give another path",
        },
        Some(stranger) => OutputError::Exists {
            path: destination.given.join(stranger),
            instead: "it is not as the manifest of the directory lists its files, and `force=` replaces nothing else: move it away, or give another path",
        },
    })
}

/// Refuses a file in the place of the manifest that no output left there.
fn refuse_other_manifest(destination: &LocalDestination) -> Result<(), OutputError> {
    let path = destination.manifest_beside();
    match fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(text) if (destination.maker.listed)(&text).is_some() => Ok(()),
        Ok(_) => Err(OutputError::Exists {
            path,
            instead: "the manifest of the output is to stand there: move it away, or give another path",
        }),
        Err(error) => Err(IoError::of("reading", &path)(error).into()),
    }
}

fn is_empty(directory: &Path) -> Result<bool, IoError> {
    let mut entries = fs::read_dir(directory).map_err(IoError::of("reading", directory))?;
    Ok(entries.next().is_none())
}

/// The files of a manifest by their paths in the directory, with their sizes.
pub(super) fn known_files(listed: &[ManifestFile]) -> BTreeMap<PathBuf, u64> {
    let listed = listed.iter().filter(|file| is_plain(&file.name));
    listed.map(|file| (PathBuf::from(&file.name), file.bytes)).collect()
}

/// Something below a directory that is not one of the known files, in the size that it had; in order of paths.
pub(super) fn stranger_in(
    directory: &Path,
    known: &BTreeMap<PathBuf, u64>,
) -> Result<Option<PathBuf>, IoError> {
    let mut strangers = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(inside) = waiting.pop() {
        let path = directory.join(&inside);
        for entry in fs::read_dir(&path).map_err(IoError::of("reading", &path))? {
            let entry = entry.map_err(IoError::of("reading", &path))?;
            let name = inside.join(entry.file_name());
            let found = entry.metadata().map_err(IoError::of("looking at", &entry.path()))?;
            if found.is_dir() {
                waiting.push(name);
            } else if !found.is_file() || known.get(&name) != Some(&found.len()) {
                strangers.push(name);
            }
        }
    }
    Ok(strangers.into_iter().min())
}

/// The lock of a staging, as long as it lives.
pub(super) struct StagingLock(File);

impl StagingLock {
    /// Name of its file.
    pub const FILE: &str = "lock";

    /// Makes and locks a directory; `None` when another process or thread holds it.
    pub fn take(directory: &Path) -> Result<Option<Self>, IoError> {
        let path = directory.join(Self::FILE);
        loop {
            fs::create_dir_all(directory).map_err(IoError::of("creating", directory))?;
            let file = File::options()
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
                .map_err(IoError::of("creating", &path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => {
                    return Err(IoError::of("locking", &path)(error));
                }
            }
            let lock = Self(file);
            // Whoever held it may have ended, and the file with it, before it was locked here.
            let identity = |found: Metadata| (found.dev(), found.ino());
            let own = lock.0.metadata().map(identity).map_err(IoError::of("locking", &path))?;
            if fs::metadata(&path).map(identity).is_ok_and(|found| found == own) {
                return Ok(Some(lock));
            }
        }
    }
}

impl Drop for StagingLock {
    /// Unlocked in words: a process that is being started holds its parent's open files for a moment.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}
