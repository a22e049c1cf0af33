//! Conversations to text: the records people fine-tune on, a model's chat template, and what is trained.
//!
//! * `options` what a caller says
//! * `record` the fields of a record as turns: messages, ShareGPT, Alpaca, prompt and completion
//! * `template` a chat template and the values it may name, as transformers renders it
//! * `values` the functions and filters that templates call
//! * `markers` what a template sets turns apart with
//! * `specials` special tokens that a record would smuggle in
//! * `bound/` values in bounds, whatever a template makes of them
//! * `work` what one record may cost a template
//! * `spans` the text of a conversation, and which bytes of it are trained on

mod bound;
mod markers;
mod options;
mod record;
mod spans;
mod specials;
mod template;
#[cfg(test)]
mod tests;
mod values;
mod work;

pub use options::{ChatOptions, ChatShape, SpecialInContent, TemplateMarkers};
pub(super) use spans::ChatRenderer;
pub use template::{ChatTemplate, TemplateError};
