//! Tokenizers and the ids that they make.

pub mod ids;
mod refused;
mod register;
