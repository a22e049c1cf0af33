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

/// A file of the repository, such as `tests/corpora/inputs`, whichever package asks.
///
/// # Panics
///
/// Where this package was moved out of the repository.
#[must_use]
#[expect(clippy::unwrap_used, reason = "the folder of this package lies two below the root")]
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join(path)
}
