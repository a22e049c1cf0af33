//! Tokenizers and the ids that they make.

mod ids;
mod refused;
mod register;
mod sentencepiece;
