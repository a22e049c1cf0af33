//! A text cut into its tokens, to be shown.

use super::encode::Tokenizer;
use super::error::TokenizerError;
use super::spelling::TokenOffsets;
use serde::Serialize;

/// One token of a shown text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct TokenPiece {
    /// The id of the token.
    pub id: u32,
    /// The text that it stands for; of tokens that share a character, the first has it.
    pub text: String,
}

/// The tokens of `text`, with where they stand. With `specials`, special tokens spelled in it are special
/// tokens.
///
/// # Errors
/// As [`Tokenizer::encode_with_offsets`].
pub fn token_pieces(
    tokenizer: &Tokenizer,
    text: &str,
    specials: bool,
) -> Result<(Vec<TokenPiece>, TokenOffsets), TokenizerError> {
    let (ids, offsets) = tokenizer.encode_with_offsets(text, specials)?;
    let mut told = 0;
    let pieces = ids.into_iter().zip(&offsets).map(|(id, (start, end))| {
        let piece = text.get((*start).max(told) as usize..*end as usize).unwrap_or_default();
        told = told.max(*end);
        TokenPiece { id, text: piece.to_owned() }
    });
    Ok((pieces.collect(), offsets))
}
