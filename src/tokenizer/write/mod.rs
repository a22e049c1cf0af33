//! A tokenizer in another library's form.
//!
//! `sentencepiece` writes a `.model`: its vocabulary by `to_pieces`, what it does to a text by `steps`. Each refuses
//! what a `.model` cannot say.

mod sentencepiece;
mod steps;
mod to_pieces;

#[cfg(test)]
mod tests;

use super::error::TokenizerError;

pub use sentencepiece::to_sentencepiece;

fn fail(what: &str) -> TokenizerError {
    TokenizerError::Inexpressible(what.to_owned())
}
