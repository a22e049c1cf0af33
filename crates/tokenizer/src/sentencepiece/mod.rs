//! SentencePiece's own algorithm over a `.model`: the reference of every tokenizer that was given as one.
//!
//! Stages: `proto` reads the messages of the file; [`PieceTable`] has its pieces by kind; `normalizer` makes of a text
//! what the model sees; `segment` cuts that into pieces as SentencePiece's four kinds of model do; [`SentencePiece`]
//! makes ids of the pieces, with bytes for unknown characters, and places in the original text; `decoder` goes back.
//!
//! Written after the sources of SentencePiece 0.2 (`normalizer.cc`, `bpe_model.cc`, `unigram_model.cc`,
//! `model_interface.cc`, `sentencepiece_processor.cc`), and held against its Python package by
//! `python/tests/integrations/test_sentencepiece.py`.

mod decoder;
mod encoder;
mod normalizer;
mod pieces;
pub(super) mod proto;
mod segment;
#[cfg(test)]
mod tests;
mod word_cache;

pub(super) use encoder::{SentencePiece, SentencePieceScratch};
pub(super) use normalizer::{DummySpace, space_settings};
pub(super) use pieces::{PieceTable, SegmentAlgorithm};
pub(super) use segment::symbol_score;

use super::error::TokenizerError;

fn fail(what: &str) -> TokenizerError {
    TokenizerError::SentencePiece(what.to_owned())
}
