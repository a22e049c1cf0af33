//! Room on disk: what a call is known to need is compared with what is free before it begins.

use super::{Context, IoError, show};
use std::fmt;
use std::io;
use std::path::Path;

/// Why a call that needs more than is free does not begin.
#[derive(Debug)]
struct NoRoom {
    needed: u64,
    free: u64,
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (needed, free) = (show::size(self.needed), show::size(self.free));
        write!(f, "it needs at least {needed}, and the disk has {free} free")
    }
}

impl std::error::Error for NoRoom {}

/// Bytes that are free on the disk of a path, which need not exist yet; none where the system does not say. Room kept
/// for the superuser counts as free, so that no process is refused that could have written.
pub(crate) fn free_bytes(path: &Path) -> Option<u64> {
    let path = std::path::absolute(path).ok()?;
    let there = path.ancestors().find(|path| path.exists())?;
    let disk = rustix::fs::statvfs(there).ok()?;
    // Some file systems of networks and programs do not count.
    (disk.f_blocks > 0).then(|| disk.f_bfree.saturating_mul(disk.f_frsize))
}

/// Refuses what is to write `needed` bytes or more to a path whose disk has less than that free.
///
/// # Errors
/// [`IoError`] of the kind [`io::ErrorKind::StorageFull`], which is `doing` so to the path.
pub fn refuse_without_room(doing: &'static str, path: &Path, needed: u64) -> Result<(), IoError> {
    refuse(doing, path, needed, free_bytes(path))
}

fn refuse(doing: &'static str, path: &Path, needed: u64, free: Option<u64>) -> Result<(), IoError> {
    match free {
        Some(free) if needed > free => {
            let why = io::Error::new(io::ErrorKind::StorageFull, NoRoom { needed, free });
            Err(IoError::of(doing, path)(why))
        }
        _ => Ok(()),
    }
}

/// Notes that there may be too little room on the disk of a path for files that may take up to `most` bytes there for
/// a while, where the true size is unknown.
pub fn note_little_room(what: &str, path: &Path, most: u64, context: &Context<'_>) {
    if let Some(words) = little_room(what, path, most, free_bytes(path)) {
        context.progress.note(&words);
    }
}

fn little_room(what: &str, path: &Path, most: u64, free: Option<u64>) -> Option<String> {
    let free = free.filter(|free| most > *free)?;
    Some(format!(
        "{what} may need up to {} more on the disk of {}, which has {} free; if it becomes full, commits are not lost",
        show::size(most),
        path.display(),
        show::size(free),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lack_of_room_is_refused_with_both_numbers() {
        let path = Path::new("a/b");
        assert!(refuse("restoring to", path, 10, Some(10)).is_ok());
        assert!(refuse("restoring to", path, 10, None).is_ok(), "nobody says");
        let error = refuse("restoring to", path, 5_000_000_000, Some(2_000_000)).unwrap_err();
        assert_eq!(error.to_string(), "restoring to a/b");
        assert_eq!(
            error.source.to_string(),
            "it needs at least 5.0 GB, and the disk has 2.0 MB free"
        );
        assert!(error.hint().unwrap().text.contains("free space"));
    }

    #[test]
    fn a_possible_lack_of_room_is_noted() {
        let path = Path::new("a");
        assert_eq!(little_room("compacting", path, 10, Some(10)), None);
        assert_eq!(little_room("compacting", path, 10, None), None);
        let words = little_room("compacting", path, 3_000_000, Some(1_000_000)).unwrap();
        assert!(words.starts_with("compacting may need up to 3.0 MB more"), "{words}");
        assert!(words.contains("1.0 MB free"), "{words}");
    }

    #[test]
    fn an_absent_path_has_the_disk_of_its_nearest_directory() {
        let place = tempfile::tempdir().unwrap();
        assert!(free_bytes(&place.path().join("not/there/yet")).is_some_and(|free| free > 0));
        assert!(free_bytes(Path::new("nowhere-at-all")).is_some());
        assert!(refuse_without_room("writing", place.path(), u64::MAX).is_err());
        assert!(refuse_without_room("writing", place.path(), 1).is_ok());
    }
}
