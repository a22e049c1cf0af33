//! Resolves a user's options for records that are not text: conversations with a template on disk, and token ids.

use super::chat::{ChatOptions, ChatShape, ChatTemplate, SpecialInContent, TemplateMarkers};
use super::options::RecordForm;
use model::Error;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// What kind of records come in, as options; [`RecordFormOptions::form`] reads the template that they name.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "cli",
    derive(clap::Args),
    command(next_help_heading = "Conversations and token ids")
)]
pub struct RecordFormOptions {
    /// Records are conversations; the chat template writes their text.
    ///
    /// Only the assistant's turns are trained on.
    #[cfg_attr(
        feature = "cli",
        arg(long, value_enum, value_name = "SHAPE", conflicts_with_all = ["pretokenized", "meta_field"])
    )]
    pub chat: Option<ChatShape>,
    /// The chat template: a .jinja file, a tokenizer_config.json, or the directory of a tokenizer.
    #[cfg_attr(feature = "cli", arg(long, value_name = "PATH", requires = "chat"))]
    pub chat_template: Option<PathBuf>,
    /// The template to use of a tokenizer_config.json with several. By default the one named default.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME", requires = "chat_template"))]
    pub chat_template_name: Option<String>,
    /// A value that the template may name, as JSON or as text: bos_token=, enable_thinking=false.
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "NAME=VALUE", requires = "chat_template", value_parser = parse_variable)
    )]
    pub chat_set: Vec<(String, Value)>,
    /// The day that strftime_now of the template returns, such as 2024-07-26.
    #[cfg_attr(feature = "cli", arg(long, value_name = "DAY", requires = "chat_template"))]
    pub chat_date: Option<String>,
    /// What to do with a message that spells a special token.
    #[cfg_attr(
        feature = "cli",
        arg(long, value_enum, value_name = "WHAT", default_value_t, requires = "chat")
    )]
    pub special_in_content: SpecialInContent,
    /// What to do when a registered tokenizer has no single token for a turn marker of the template (<|im_start|>).
    #[cfg_attr(
        feature = "cli",
        arg(long, value_enum, value_name = "WHAT", default_value_t, requires = "chat_template")
    )]
    pub template_markers: TemplateMarkers,
    /// Records hold token ids of this registered tokenizer, which are stored unchanged.
    ///
    /// The ids are in the field input_ids; tokens whose labels are -100 are not trained on.
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "TOKENIZER", conflicts_with = "meta_field")
    )]
    pub pretokenized: Option<String>,
}

/// Reads `NAME=VALUE`; the value is JSON, or else text.
#[cfg(feature = "cli")]
fn parse_variable(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let parsed = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    Ok((name.to_owned(), parsed))
}

impl RecordFormOptions {
    /// What kind of records come in, with the template read.
    ///
    /// # Errors
    /// [`Error`] for a template that cannot be used, or a shape that needs one.
    pub fn form(self) -> Result<RecordForm, Error> {
        if let Some(name) = self.pretokenized {
            return Ok(RecordForm::Pretokenized(name));
        }
        let Some(shape) = self.chat else { return Ok(RecordForm::Text) };
        let template = match &self.chat_template {
            None => None,
            Some(path) => {
                let mut template = ChatTemplate::load(path, self.chat_template_name.as_deref())?;
                for (name, value) in self.chat_set {
                    template.set(&name, value);
                }
                if let Some(date) = &self.chat_date {
                    template.set_date(date)?;
                }
                Some(Arc::new(template))
            }
        };
        if template.is_none() && shape.needs_template() {
            let why = format!("records of shape {} need `chat_template=`", shape.name());
            return Err(Error::bad_input(why));
        }
        let (special_in_content, markers) = (self.special_in_content, self.template_markers);
        Ok(RecordForm::Chat(ChatOptions { shape, template, special_in_content, markers }))
    }
}
