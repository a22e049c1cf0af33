//! One input (a file, a pipe or an object of a store), and the version that tells one state of it from another.
//!
//! The version of a file on disk is 128 bits that were for its time alone: the time is in the low ones, 48 bits of
//! inode and change time above. Rows of older releases have the time only, and are compared by it.

use super::error::ReadError;
use crate::remote::RemoteObject;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One input after expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// Absolute path with the directory's links resolved and the file's own name kept; `-` for
    /// standard input.
    pub path: Arc<PathBuf>,
    /// Bytes of the file; 0 when not known (pipes).
    pub size: u64,
    /// The version of the file, which differs between states of the same size; 0 for pipes.
    pub version: i128,
    /// Whether it is standard input.
    pub is_stdin: bool,
    /// The object of a store that it is; its path is then the object's address.
    pub object: Option<RemoteObject>,
}

impl InputFile {
    pub(super) fn stdin() -> Self {
        let path = Arc::new(PathBuf::from("-"));
        Self { path, size: 0, version: 0, is_stdin: true, object: None }
    }

    pub(super) fn on_disk(path: PathBuf, metadata: &Metadata) -> Self {
        let (size, version) = match metadata.is_file() {
            true => (metadata.len(), version(metadata)),
            false => (0, 0),
        };
        Self { path: Arc::new(path), size, version, is_stdin: false, object: None }
    }

    /// Whether its size and version are those that were recorded of it. What older releases recorded of a file on disk
    /// is its time alone.
    pub fn is_unchanged(&self, size: u64, version: i128) -> bool {
        let has_time_alone = i64::try_from(version).is_ok() && self.object.is_none();
        let mask = if has_time_alone { TIME } else { !0 };
        size == self.size && (version ^ self.version) & mask == 0
    }

    /// Whether it can be read again, from any place on: it is neither a pipe nor standard input.
    pub fn is_file(&self) -> bool {
        self.object.is_some() || !self.is_stdin && self.path.is_file()
    }

    /// Its own name, in small letters.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_ascii_lowercase();
        match name.split_once('?') {
            Some((name, _)) if self.object.is_some() => name.to_owned(),
            _ => name,
        }
    }
}

impl From<RemoteObject> for InputFile {
    fn from(object: RemoteObject) -> Self {
        Self {
            path: Arc::new(PathBuf::from(object.name())),
            size: object.size(),
            version: object.version(),
            is_stdin: false,
            object: Some(object),
        }
    }
}

/// A path as it is on record. The directory alone is resolved: caches keep files under meaningless names and link to
/// them under their real ones, and the real name is what a user knows.
///
/// # Errors
/// [`ReadError::Io`] where nothing is there.
pub fn path_on_record(path: &Path) -> Result<PathBuf, ReadError> {
    let resolved = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            parent.canonicalize().map(|parent| parent.join(name))
        }
        _ => path.canonicalize(),
    };
    resolved.map_err(ReadError::io(path, "resolve it"))
}

/// The bits of a version that are the time at which the file was modified, in nanoseconds since 1970.
const TIME: i128 = 0xffff_ffff_ffff_ffff;

/// The time at which a file was modified and, above it, 48 bits of which file it is and when it was changed: tools set
/// the first at will.
fn version(metadata: &Metadata) -> i128 {
    let modified = metadata.mtime().wrapping_mul(1_000_000_000).wrapping_add(metadata.mtime_nsec());
    let mut hasher = blake3::Hasher::new();
    for part in [metadata.ino().cast_signed(), metadata.ctime(), metadata.ctime_nsec()] {
        hasher.update(&part.to_le_bytes());
    }
    let [a, b, c, d, e, f, ..] = *hasher.finalize().as_bytes();
    let state = i128::from(u64::from_le_bytes([a | 1, b, c, d, e, f, 0, 0]));
    (state << 64) | (i128::from(modified) & TIME)
}
