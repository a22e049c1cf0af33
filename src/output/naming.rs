//! Names of what is under way, made from the name of the output, and renames that replace nothing.

use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Bytes of the longest name that file systems take.
const NAME_BYTES: usize = 255;

/// A name with something before and behind it. Where that would be longer than names may be, the name is cut, and a
/// part of its hash tells it from others that begin so.
pub(super) fn derived_name(before: &str, name: &OsStr, behind: &str) -> OsString {
    let bytes = name.as_bytes();
    let room = NAME_BYTES.saturating_sub(before.len() + behind.len());
    let mut derived = before.as_bytes().to_vec();
    if bytes.len() <= room {
        derived.extend(bytes);
    } else {
        let mark = format!("~{:.8}", blake3::hash(bytes).to_hex());
        let most = room.saturating_sub(mark.len());
        // Between characters, where there are some: none has more than four bytes.
        let is_within = |end: &usize| bytes.get(*end).is_some_and(|byte| byte & 0xc0 == 0x80);
        let end = (most.saturating_sub(3)..=most).rev().find(|end| !is_within(end));
        let end = end.unwrap_or(most);
        derived.extend(bytes.get(..end).unwrap_or_default());
        derived.extend(mark.as_bytes());
    }
    derived.extend(behind.as_bytes());
    OsString::from_vec(derived)
}

/// Renames a file; an error of the kind [`ErrorKind::AlreadyExists`] where something has the name.
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(error) if is_unknown(error.into()) => rename_new_by_link(from, to),
        renamed => Ok(renamed?),
    }
}

/// The same where the file system has no such rename (NFS, some of FUSE): a second name is made, which replaces nothing.
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
