//! Goes on training a BPE model on counts of pre-tokens.

use super::base::ExtensionBase;
use super::bpe::ExtendableBpe;
use super::embedding_map::TokenOrigin;
use super::terms::{TokenizerExtension, finish_extension};
use crate::error::{ExtendError, TokenizerError};
use crate::file::ModelType;
use crate::models::{CountedWords, GrowthOptions, PairOutcome, grow};
use std::collections::BTreeMap;

/// Extends the bytes of a BPE `tokenizer.json` by going on with its training on `counts` of pre-tokens:
/// they are encoded with the old merges, and then the most frequent pair is merged until `new_tokens`
/// ids were given. `spell` turns a pre-token into the symbols that the model sees, replacing what its
/// argument held. Old ids stay, new ones follow the largest; the result is proven as by
/// [`extend_by_terms`](super::extend_by_terms).
///
/// Where a tokenizer has no pre-tokenizer, a pre-token is a whole text: the caller cuts it into words, such
/// as before each run of `▁`, for merges that reach over words are not wanted and long words are slow.
///
/// # Errors
/// [`ExtendError::NotBpe`]; [`TokenizerError::NoText`] without counts; [`TokenizerError::Load`];
/// [`ExtendError`] when a proof fails.
pub fn extend_by_growth(
    base: &[u8],
    counts: &BTreeMap<Box<str>, u64>,
    options: GrowthOptions,
    mut spell: impl FnMut(&str, &mut String),
) -> Result<TokenizerExtension, TokenizerError> {
    let loaded = ExtensionBase::load(base)?;
    if loaded.kind != ModelType::Bpe {
        let is = loaded.kind.name();
        return Err(ExtendError::NotBpe { asked: "growth", is }.into());
    }
    if counts.is_empty() {
        return Err(TokenizerError::NoText);
    }
    let mut bpe = ExtendableBpe::of(&loaded)?;
    let skips_merges = loaded.model().get("ignore_merges").is_some_and(|flag| flag == true);
    let (mut words, mut symbols, mut word) = (CountedWords::new(1), Vec::new(), String::new());
    for (pretoken, count) in counts {
        spell(pretoken, &mut word);
        // A word in the vocabulary is one token already, by its spelling.
        if skips_merges && loaded.vocabulary.contains_key(&word) {
            continue;
        }
        bpe.symbols(&word, &mut symbols);
        words.push(&symbols, &[*count]);
    }
    let most = options.max_token_length.unwrap_or(usize::MAX);
    let next_id = bpe.next_id()?;
    let mut failed = None;
    let mut table = std::mem::take(&mut bpe.table);
    let merges = grow(&words, &mut table, next_id, options, |left, right| {
        let standing = bpe.pair_outcome(left, right);
        let length = bpe.token(left).chars().count() + bpe.token(right).chars().count();
        if length > most || failed.is_some() {
            return PairOutcome::Never;
        }
        if standing == PairOutcome::New
            && let Err(error) = bpe.add_token(left, right, TokenOrigin::Grown)
        {
            failed = Some(error);
            return PairOutcome::Never;
        }
        standing
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    let mut proven = Vec::new();
    for merge in &merges {
        bpe.merges.push((merge.left, merge.right, merge.id));
        if merge.is_new {
            bpe.set_count(merge.id, merge.count);
            if bpe.spells_plainly() {
                proven.push((bpe.token(merge.id).to_owned(), merge.id));
            }
        }
    }
    let (additions, made) = bpe.additions();
    finish_extension(&loaded, base, &additions, &made, &proven, Vec::new())
}
