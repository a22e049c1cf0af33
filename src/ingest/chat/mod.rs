//! Conversations to text: the records people fine-tune on, a model's chat template, and what is trained.
//!
//! * `options` what a caller says, and special tokens that a record would smuggle in
//! * `conversation` the fields of a record as turns: messages, ShareGPT, Alpaca, prompt and completion
//! * `template` a chat template, the values it may name, as transformers renders it, and what it sets turns apart with
//! * `files` a tokenizer's files with templates and special tokens; `tags` what the words of a template say
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
