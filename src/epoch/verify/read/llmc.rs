//! Checks the header of llm.c token files.

use super::{ShardReadError, malformed, number};
use crate::model::IoError;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Bytes of the header.
pub(super) const HEADER: u64 = 1024;

/// The header holds magic, version and the number of tokens that follow, and nothing else.
pub(super) fn check_header(path: &Path) -> Result<(), ShardReadError> {
    let failed = || IoError::of("reading", path);
    let mut file = File::open(path).map_err(failed())?;
    let size = file.metadata().map_err(failed())?.len();
    let mut header = Vec::new();
    (&mut file).take(HEADER).read_to_end(&mut header).map_err(failed())?;
    let mut numbers = header.chunks_exact(4).map(number);
    let tokens = size.saturating_sub(HEADER) / 2;
    if numbers.by_ref().take(3).ne([20_240_520, 1, tokens]) {
        return malformed(path, format!("does not begin as an llm.c file of {tokens} tokens"));
    }
    if header.len() as u64 != HEADER || numbers.any(|number| number != 0) {
        return malformed(path, "has other things in its header");
    }
    Ok(())
}
