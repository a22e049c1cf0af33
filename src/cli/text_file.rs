//! Files of text that people write for a verb: scripts, recipes, lists of words.

use anyhow::Context as _;
use corpusdb::text_file::decode_text;
use std::path::Path;

/// The text of a file.
pub(super) fn read_text(path: &Path) -> anyhow::Result<String> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| format!("reading {name}"))?;
    Ok(decode_text(&name, bytes)?)
}
