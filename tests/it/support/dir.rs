//! The directory of a test, files of the repository, and copies of directories.

use std::path::{Path, PathBuf};

/// A directory of the test's own, removed with it. Its path has no links in it.
pub struct TestDir {
    pub _directory: tempfile::TempDir,
    pub root: PathBuf,
}

impl TestDir {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        Self { _directory: directory, root }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The path as an argument.
    pub fn arg(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Writes a file, its directories included; answers its path as an argument.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        self.arg(name)
    }
}

/// A file or directory of the repository in which the tests run. The place is asked for at run time: clones
/// share a target directory, so these tests may have been compiled in a clone that is gone.
pub fn repository(path: impl AsRef<Path>) -> PathBuf {
    let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| ".".into());
    std::path::absolute(root).unwrap().join(path)
}

/// Copies a directory with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
