//! Text to token ids and back: loading, encoding, training. The only code that names the tokenizers crates.
//!
//! Stages of a tokenizer's life: a `tokenizer.json` is had as it is ([`Tokenizer::load`]), from
//! GPT-2's two files ([`from_vocab_and_merges`]) or by training ([`BpeTraining`]). Loading proves
//! the fast encoder against the reference implementation; [`Encoder`] then appends ids.
//!
//! Two encoders stand behind one type. `oracle` is the reference (tokenizers 0.23): its ids are
//! right by definition. `fast` (tokenizers 1.0 release candidate) is some forty times faster and is
//! used only after it gave the oracle's ids on hostile strings and on the caller's sample.

mod encode;
mod error;
mod fast;
mod file;
mod gpt2;
mod oracle;
mod pretokens;
mod self_test;
mod spelling;
mod train;

pub use encode::{Backend, Encoder, Tokenizer};
pub use error::TokenizerError;
pub use gpt2::from_vocab_and_merges;
pub use spelling::Offsets;
pub use train::{BpeTraining, TrainOptions};

#[cfg(test)]
mod tests;
