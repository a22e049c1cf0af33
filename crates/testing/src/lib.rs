//! What tests of corpusdb's packages share, and no library needs.

use std::path::{Path, PathBuf};

/// How many cases a random search of the unit tests takes: `few`, as many times as `CORPUSDB_SEEDS` says
/// (`make soak SEEDS=25`).
///
/// # Panics
///
/// Where the variable is no number.
#[must_use]
#[expect(clippy::unwrap_used, reason = "a test that cannot read its own size must fail")]
pub fn cases(few: u32) -> u32 {
    let times: u32 = std::env::var("CORPUSDB_SEEDS").map_or(1, |text| text.parse().unwrap());
    few.saturating_mul(times)
}

/// A file or directory of the repository in which the tests run, whichever package asks. The place is asked for at run
/// time: clones share a target directory, so a test may have been compiled in a clone that is gone.
///
/// # Panics
///
/// Where no folder above the package is a workspace.
#[must_use]
#[expect(clippy::unwrap_used, reason = "a test that runs outside the repository must fail")]
pub fn repository(path: impl AsRef<Path>) -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| ".".into());
    let package = std::path::absolute(package).unwrap();
    let root = package.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
    root.unwrap().join(path)
}
