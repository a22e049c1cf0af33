//! Flags of `ingest` for records that are no text in themselves: conversations and token ids.

use clap::ValueEnum;
use corpusdb::ingest::{
    ChatOptions, ChatShape, ChatTemplate, RecordForm, SpecialInContent, TemplateMarkers,
};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(clap::Args)]
pub(super) struct ChatArgs {
    /// Records are conversations: their text is what the chat template writes of them, and only the
    /// assistant's turns are trained on
    #[arg(long, value_enum, value_name = "SHAPE", conflicts_with = "pretokenized")]
    chat: Option<Shape>,
    /// The chat template: a .jinja file, a tokenizer_config.json, or the directory of a tokenizer
    #[arg(long, value_name = "PATH", requires = "chat")]
    chat_template: Option<PathBuf>,
    /// Which of several templates of a tokenizer_config.json [default: the one named default]
    #[arg(long, value_name = "NAME", requires = "chat_template")]
    chat_template_name: Option<String>,
    /// A value that the template may name, as JSON or as text: `bos_token=`, `enable_thinking=false`
    #[arg(long = "chat-set", value_name = "NAME=VALUE", requires = "chat_template", value_parser = setting)]
    chat_set: Vec<(String, Value)>,
    /// The day that a template is told which asks for today's, as 2024-07-26
    #[arg(long, value_name = "DAY", requires = "chat_template")]
    chat_date: Option<String>,
    /// What to do with a message that spells a special token
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Special::Reject, requires = "chat")]
    special_in_content: Special,
    /// What to do when a registered tokenizer has what the template sets turns apart with (`<|im_start|>`) not
    /// as one token
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Markers::Special, requires = "chat_template")]
    template_markers: Markers,
    /// Records hold token ids (`input_ids`, perhaps `labels`: -100 is not trained on) of this registered
    /// tokenizer; they are stored as they are
    #[arg(long, value_name = "TOKENIZER")]
    pretokenized: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Shape {
    /// By the fields of each record
    Auto,
    /// `messages`: role and content
    Messages,
    /// `conversations`: from and value
    #[value(name = "sharegpt")]
    ShareGpt,
    /// `instruction`, `input`, `output`
    Alpaca,
    /// `prompt` and `completion`
    PromptCompletion,
}

#[derive(Clone, Copy, ValueEnum)]
enum Special {
    /// Reject the record
    Reject,
    /// Let it become the special token
    Allow,
}

#[derive(Clone, Copy, ValueEnum)]
enum Markers {
    /// Ingest nothing
    Special,
    /// Encode it as the text that it is, and say so
    Text,
}

fn setting(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let parsed = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    Ok((name.to_owned(), parsed))
}

impl ChatArgs {
    /// What kind of records come in.
    pub(super) fn form(self) -> anyhow::Result<RecordForm> {
        if let Some(name) = self.pretokenized {
            return Ok(RecordForm::Pretokenized(name));
        }
        let Some(shape) = self.chat else { return Ok(RecordForm::Text) };
        let shape = match shape {
            Shape::Auto => ChatShape::Auto,
            Shape::Messages => ChatShape::Messages,
            Shape::ShareGpt => ChatShape::ShareGpt,
            Shape::Alpaca => ChatShape::Alpaca,
            Shape::PromptCompletion => ChatShape::PromptCompletion,
        };
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
            anyhow::bail!("records of shape {} need --chat-template", shape.name());
        }
        let special_in_content = match self.special_in_content {
            Special::Reject => SpecialInContent::Reject,
            Special::Allow => SpecialInContent::Allow,
        };
        let markers = match self.template_markers {
            Markers::Special => TemplateMarkers::Special,
            Markers::Text => TemplateMarkers::Text,
        };
        Ok(RecordForm::Chat(ChatOptions { shape, template, special_in_content, markers }))
    }
}
