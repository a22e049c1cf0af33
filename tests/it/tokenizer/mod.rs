//! Tokenizers and the ids that they make.

mod ids;
mod register;
