//! What a draw of a tokenizer is: its reference, the tokenizer that it loads as, the draws that there are.

use crate::decide::LoadedTokenizer;
use model::{Error, TokenizerId};
use std::sync::Arc;
use store::{StoreError, TokenizerRecord, View};
use tokenizer::{Segmentation, Tokenizer};

/// Before the reference of a draw: a release that knows no draws takes its ids for those of an unknown library, and
/// adds none.
pub(super) const DRAWS_BY: &str = "draws by ";

/// The reference library of a tokenizer, whether it draws or not.
pub(super) fn reference_of(record: &TokenizerRecord) -> &str {
    record.reference.strip_prefix(DRAWS_BY).unwrap_or(&record.reference)
}

/// What the record of a tokenizer has for its reference.
pub(super) fn stored_reference(record: &TokenizerRecord, tokenizer: &Tokenizer) -> String {
    let before = record.drawn().map_or("", |_| DRAWS_BY);
    format!("{before}{}", tokenizer.reference())
}

/// The draw of a record and word, of a tokenizer that is loaded.
pub(super) fn drawing(
    (id, record, word): (TokenizerId, &TokenizerRecord, &str),
    base: &LoadedTokenizer,
) -> Result<LoadedTokenizer, Error> {
    let segmentation = Segmentation::of_pass_named(word).ok_or_else(|| {
        StoreError::Name(format!(
            "tokenizer `{}` draws what this release does not know",
            record.name
        ))
    })?;
    let tokenizer = Arc::new(base.tokenizer.with_segmentation(segmentation));
    Ok(LoadedTokenizer { id, name: record.name.clone(), tokenizer, ..base.clone() })
}

/// The names of the draws of a tokenizer.
pub(super) fn draws_of(view: &View, name: &str) -> Vec<String> {
    let draws = view.tokenizers().map(|(_, record)| record);
    let draws = draws.filter(|record| record.drawn().is_some_and(|(of, _)| of == name));
    draws.map(|record| record.name.clone()).collect()
}
