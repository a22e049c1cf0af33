//! Files that a verb writes beside its answer.

use corpusdb::export::OutputFile;
use std::path::Path;

/// Writes a file that may take the place of any other: whole, or what was there stays.
pub(super) fn write_file(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    Ok(OutputFile::judge(file)?.write(bytes)?)
}
