//! Checks names that a record or a listing may have, and renames without replacing, or exchanges two names.

use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path};

/// Whether a name on record is one of a file inside the directory.
pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

/// The 12 digits by which stagings of one output are told apart.
pub(super) fn short_identity(identity: &str) -> &str {
    identity.get(..12).unwrap_or(identity)
}

/// Whether a text is such digits.
pub(super) fn is_short_identity(text: &[u8]) -> bool {
    text.len() == 12 && text.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Renames a file; an error of the kind [`ErrorKind::AlreadyExists`] where something has the name.
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(error) if is_unknown(error.into()) => rename_new_by_link(from, to),
        renamed => Ok(renamed?),
    }
}

/// Renames like [`rename_new`] where the file system has no such rename (NFS, some of FUSE): a second name is made,
/// which replaces nothing.
pub(super) fn rename_new_by_link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // Nor has it second names: what appears between these two is replaced.
        Err(_) if fs::symlink_metadata(to).is_err() => fs::rename(from, to),
        Err(_) => Err(ErrorKind::AlreadyExists.into()),
    }
}

/// Lets two files or directories change their places; `false` where the file system cannot.
pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<bool> {
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Err(error) if is_unknown(error.into()) => Ok(false),
        exchanged => Ok(exchanged.map(|()| true)?),
    }
}

/// Whether a file system says that it does not know such a request.
fn is_unknown(error: io::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported)
}
