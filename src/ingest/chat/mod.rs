//! Renders conversations, the records of fine-tuning, to text by a model's chat template, and marks what is trained on.
//!
//! * `options` of the caller, and the refusal of special tokens that a record spells
//! * `conversation` the fields of a record as turns: messages, ShareGPT, Alpaca, prompt and completion
//! * `template` a chat template, the values it may name, as transformers renders it, and its markers between turns
//! * `files` a tokenizer's files with templates and special tokens; `tags` of a template's source
//! * `values` values as Python has them, read from JSON and written; `functions` what templates call
//! * `forged` special tokens that a record puts together and the template did not write
//! * `renderer` the text of a conversation, and which bytes of it are trained on
//! * `left_out` what messages hold and the text does not
//! * `trace` where the texts of messages stand in a text, for templates that write a turn otherwise when others follow
//! * `sandbox` values in bounds, whatever a template makes of them; `rewrite` the syntax tree that calls it
//! * `budget` what one record may cost a template

mod budget;
mod conversation;
mod files;
mod forged;
mod functions;
mod left_out;
mod options;
mod renderer;
mod rewrite;
mod sandbox;
#[cfg(test)]
mod sandbox_tests;
mod tags;
mod template;
#[cfg(test)]
mod tests;
mod trace;
mod values;

pub use options::{ChatOptions, ChatShape, SpecialInContent, TemplateMarkers};
pub(super) use renderer::{ChatRenderer, RenderedChat};
pub use template::ChatTemplate;
