//! Finds the tokenizers whose ids the passes of a plan have, where each pass draws its own segmentations.

use super::PinnedTokenizer;
use crate::corpus::Corpora;
use crate::epoch::lengths::PassTokenizer;
use std::sync::Arc;

/// The tokenizer of each pass; none where all passes have the ids of the plan's. The error says which is gone.
pub(in crate::epoch) fn pass_tokenizers(
    corpora: &Corpora,
    pinned: &PinnedTokenizer,
) -> Result<Arc<[PassTokenizer]>, String> {
    let found = pinned.draws.iter().map(|name| {
        let gone =
            || format!("tokenizer `{name}`, which draws the segmentations of a pass, is gone");
        let (id, record) = corpora.tokenizer_named(name)?.ok_or_else(gone)?;
        if blake3::Hash::from_bytes(record.hash).to_hex().as_str() != pinned.hash {
            return Err(format!("tokenizer `{name}` has another file"));
        }
        Ok(PassTokenizer { id, name: name.as_str().into() })
    });
    found.collect()
}
