//! Reads files that a verb is given, and writes those that it makes.

use anyhow::Context as _;
use corpusdb::export::OutputFile;
use corpusdb::text_file::decode_text;
use std::path::Path;

pub(super) fn read_bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("reading {}", path.display()))
}

/// The text of a file that people write, such as a recipe, a list of words, weights.
pub(super) fn read_text(path: &Path) -> anyhow::Result<String> {
    decoded_text(&path.display().to_string(), read_bytes(path)?)
}

/// The text of bytes that people wrote, which an error calls by a name.
pub(super) fn decoded_text(name: &str, bytes: Vec<u8>) -> anyhow::Result<String> {
    decode_text(name, bytes).map_err(|error| anyhow::anyhow!("{error}"))
}

/// Writes a file, replacing any that is there: whole, or the old one stays.
pub(super) fn write_file(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    Ok(OutputFile::judge(file)?.write(bytes)?)
}
