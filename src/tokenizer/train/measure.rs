//! Tokens that a tokenizer makes of a table: each distinct pre-token is encoded once.

use super::super::error::TokenizerError;
use super::super::oracle::guard;
use super::super::split::PretokenSplitter;
use super::count::PretokenTable;
use rayon::prelude::*;
use std::collections::BTreeMap;
use tokenizers::Model as _;

/// Pre-tokens encoded as one piece of parallel work.
const PIECE: usize = 4096;

/// Tokens of each group of a table which was counted with the splits of this `tokenizer.json`.
///
/// # Errors
/// [`TokenizerError::Load`] when the file is not a tokenizer, [`TokenizerError::Encode`] when its model refuses a
/// pre-token.
pub fn tokens_by_group(json: &[u8], table: &PretokenTable) -> Result<Vec<u64>, TokenizerError> {
    let tokenizer = guard("loading", || tokenizers::Tokenizer::from_bytes(json))?
        .map_err(TokenizerError::Load)?;
    let splitter = PretokenSplitter::of(json)?;
    let model = tokenizer.get_model();
    let tokens_of = |words: &[(&str, u64)]| {
        let (mut symbols, mut total) = (String::new(), 0_u64);
        for (word, count) in words {
            splitter.spell(word, &mut symbols);
            let tokens = guard("encoding", || model.tokenize(&symbols))?
                .map_err(|source| TokenizerError::Encode { bytes: word.len(), source })?;
            total = total.saturating_add(tokens.len() as u64 * count);
        }
        Ok::<u64, TokenizerError>(total)
    };
    let of_group = |group: &BTreeMap<Box<str>, u64>| {
        let words: Vec<(&str, u64)> = group.iter().map(|(word, count)| (&**word, *count)).collect();
        words.par_chunks(PIECE).map(tokens_of).try_reduce(|| 0, |a, b| Ok(a.saturating_add(b)))
    };
    table.groups.iter().map(of_group).collect()
}
