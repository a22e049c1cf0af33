//! The encoders: the reference, whose ids are right by definition, and the fast engine, which is used where a proof finds
//! no difference.

pub(in crate::tokenizer) mod cuts;
pub(in crate::tokenizer) mod hostile_texts;
pub(in crate::tokenizer) mod pipeline;
pub(in crate::tokenizer) mod proof;
pub(in crate::tokenizer) mod reference;
pub(in crate::tokenizer) mod splitter;
pub(in crate::tokenizer) mod unicode;
