//! Conversations to text: the records people fine-tune on, a model's chat template, and what is trained.
//!
//! * `options` what a caller says, and special tokens that a record would smuggle in
//! * `conversation` the fields of a record as turns: messages, ShareGPT, Alpaca, prompt and completion
//! * `template` a chat template, the values it may name, as transformers renders it, and what it sets turns apart with
//! * `values` values as Python has them, read from JSON and written; `functions` what templates call
//! * `renderer` the text of a conversation, and which bytes of it are trained on
//! * `sandbox` values in bounds, whatever a template makes of them; `rewrite` the syntax tree that calls it
//! * `budget` what one record may cost a template

mod budget;
mod conversation;
mod functions;
mod options;
mod renderer;
mod rewrite;
mod sandbox;
#[cfg(test)]
mod sandbox_tests;
mod template;
#[cfg(test)]
mod tests;
mod values;

pub use options::{ChatOptions, ChatShape, SpecialInContent, TemplateMarkers};
pub(super) use renderer::{ChatRenderer, RenderedChat};
pub use template::{ChatTemplate, TemplateError};
