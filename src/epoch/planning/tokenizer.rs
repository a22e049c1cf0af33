//! The tokenizer of a recipe, found and pinned.

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::plan::PinnedTokenizer;
use crate::epoch::recipe::{Recipe, SpecialIds, SpecialTokens, special_ids};
use crate::model::TokenizerId;
use crate::model::near_names::UnknownName;
use crate::tokenizer::stored_vocabulary;

/// The tokenizer that a recipe names, or the only one there is; the recipe names it afterwards.
///
/// # Errors
/// [`EpochError::Recipe`] when it must be named or has not encoded everything; [`EpochError::Unknown`];
/// [`EpochError::Store`].
pub(super) fn resolve_tokenizer(
    corpora: &Corpora,
    recipe: &mut Recipe,
) -> Result<(TokenizerId, PinnedTokenizer), EpochError> {
    let first = corpora.first();
    let names: Vec<String> = first.tokenizers().map(|(_, record)| record.name.clone()).collect();
    let name = match (&recipe.tokenizer.name, names.as_slice()) {
        (Some(name), _) => name.clone(),
        (None, [only]) => only.clone(),
        (None, []) => {
            let message = "the corpus has no tokenizer; add one with `corpusdb tokenizer add` or `corpusdb tokenizer train`";
            return Err(EpochError::Recipe(message.to_owned()));
        }
        (None, _) => {
            return Err(EpochError::Recipe(format!(
                "tokenizer.name is needed: there is {}",
                listing(&names)
            )));
        }
    };
    let found = corpora.tokenizer_named(&name).map_err(EpochError::Recipe)?;
    let unknown = || EpochError::Unknown(UnknownName::new("tokenizer", &name, names.clone()));
    let (id, record) = found.ok_or_else(unknown)?;
    corpora.each(|_, view| {
        let encoded = view.tokenizer_named(&name).map_or(0, |(_, record)| record.encoded_to);
        if encoded < view.documents() {
            return Err(EpochError::Recipe(format!(
                "tokenizer `{name}` has not encoded all documents yet; run `corpusdb tokenizer backfill CORPUS {name}` first"
            )));
        }
        Ok(())
    })?;
    let specials = if recipe.tokenizer.specials == SpecialTokens::default() {
        SpecialIds::default()
    } else {
        let vocabulary = stored_vocabulary(&first.tokenizer_file(id)?, &record.backend)?;
        special_ids(&vocabulary, &recipe.tokenizer.specials)?
    };
    recipe.tokenizer.name = Some(name.clone());
    let hash = blake3::Hash::from_bytes(record.hash).to_hex().to_string();
    Ok((id, PinnedTokenizer { name, hash, vocab_size: record.vocab_size, specials }))
}

pub(super) fn listing(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    }
}
