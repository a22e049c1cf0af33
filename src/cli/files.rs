//! Files that a verb takes beside the corpus, or writes beside its answer.

use anyhow::Context as _;
use corpusdb::export::OutputFile;
use corpusdb::text_file::decode_text;
use std::path::Path;

/// The bytes of a file.
pub(super) fn read_bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("reading {}", path.display()))
}

/// The text of a file that people write: a recipe, a list of words, weights.
pub(super) fn read_text(path: &Path) -> anyhow::Result<String> {
    decode_text(&path.display().to_string(), read_bytes(path)?)
        .map_err(|error| anyhow::anyhow!("{error}"))
}

/// Writes a file that may take the place of any other: whole, or what was there stays.
pub(super) fn write_file(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    Ok(OutputFile::judge(file)?.write(bytes)?)
}
