//! Finds the tokenizers whose ids a plan has: its own, or where each pass draws its own segmentations, those of passes.

use super::PinnedTokenizer;
use crate::corpus::Corpora;
use crate::epoch::lengths::PassTokenizer;
use model::TokenizerId;
use std::sync::Arc;

/// The tokenizer of a plan. The error says why it is not there.
pub(in crate::epoch) fn pinned_tokenizer(
    corpora: &Corpora,
    pinned: &PinnedTokenizer,
) -> Result<TokenizerId, String> {
    of_file(corpora, &pinned.name, &pinned.hash, "")
}

/// The tokenizer of each pass; none where all passes have the ids of the plan's. The error says which is gone.
pub(in crate::epoch) fn pass_tokenizers(
    corpora: &Corpora,
    pinned: &PinnedTokenizer,
) -> Result<Arc<[PassTokenizer]>, String> {
    let does = ", which draws the segmentations of a pass,";
    let found = pinned.draws.iter().map(|name| {
        let id = of_file(corpora, name, &pinned.hash, does)?;
        Ok(PassTokenizer { id, name: name.as_str().into() })
    });
    found.collect()
}

/// The tokenizer of that name, which `does` something, and of the file with that hash.
fn of_file(corpora: &Corpora, name: &str, hash: &str, does: &str) -> Result<TokenizerId, String> {
    let found = corpora.tokenizer_named(name)?;
    let (id, record) = found.ok_or_else(|| format!("tokenizer `{name}`{does} is gone"))?;
    match blake3::Hash::from_bytes(record.hash).to_hex().as_str() == hash {
        true => Ok(id),
        false => Err(format!("tokenizer `{name}` has another file")),
    }
}
