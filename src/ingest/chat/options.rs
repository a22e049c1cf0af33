//! The options of conversations, and the refusal of special tokens that a record spells.
//!
//! A special token that is spelled in a record would be encoded as that token, and end a turn or forge one.

use super::template::ChatTemplate;
use super::values::Members;
use minijinja::value::{Value, ValueKind};
use model::invariant::part;
use model::named;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Which fields of a record hold the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum ChatShape {
    /// By the fields of each record
    #[default]
    Auto,
    /// `messages`: role and content
    Messages,
    /// `conversations`: from and value
    #[cfg_attr(feature = "cli", value(name = "sharegpt"))]
    ShareGpt,
    /// `instruction`, `input`, `output`
    Alpaca,
    /// `prompt` and `completion`: two strings, or two lists of messages
    PromptCompletion,
}

named!(ChatShape {
    Auto = "auto", Messages = "messages", ShareGpt = "sharegpt", Alpaca = "alpaca",
    PromptCompletion = "prompt-completion",
});

impl ChatShape {
    /// Whether no record of this shape is a text without a chat template.
    #[must_use]
    pub const fn needs_template(self) -> bool {
        matches!(self, Self::Messages | Self::ShareGpt)
    }
}

/// What happens with a message that spells a special token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum SpecialInContent {
    /// Reject the record
    #[default]
    Reject,
    /// Let it become the special token
    Allow,
    /// Keep it as text, which becomes no special token of any tokenizer
    Text,
}

/// What a template sets turns apart with, where a tokenizer does not know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum TemplateMarkers {
    /// Ingest nothing: turn markers could not be distinguished from content
    #[default]
    Special,
    /// Encode the markers as plain text, and note it in the report
    Text,
}

/// How conversations are read.
#[derive(Clone, Debug, Default)]
pub struct ChatOptions {
    /// Which fields hold them.
    pub shape: ChatShape,
    /// What writes them as text. Without one, Alpaca records are written with the prompt they were published
    /// with, prompt and completion one behind the other, and others are rejected.
    pub template: Option<Arc<ChatTemplate>>,
    /// What happens with a message that spells a special token.
    pub special_in_content: SpecialInContent,
    /// What happens when a tokenizer does not know what the template sets turns apart with.
    pub markers: TemplateMarkers,
}

/// What releases make of the same record and template. It goes up when a text or a span may change, so that files are read
/// again: the first gave templates undefined names in the place of none, and knew fewer names of weights and reasoning.
const RENDERING: u32 = 2;

impl ChatOptions {
    /// The options that decide what a record becomes, in one line.
    pub(in super::super) fn reading_key(&self) -> String {
        let special = match self.special_in_content {
            SpecialInContent::Reject => "reject",
            SpecialInContent::Allow => "allow",
            SpecialInContent::Text => "text",
        };
        let template = self.template.as_ref().map_or_else(String::new, |template| {
            format!(";template={};variables={}", template.hash_words(), template.variables_words())
        });
        format!("chat={};rendering={RENDERING};special={special}{template}", self.shape.name())
    }
}

/// Spellings of special tokens, by their first byte.
#[derive(Default)]
pub(super) struct ForbiddenSpellings(BTreeMap<u8, Vec<String>>);

impl ForbiddenSpellings {
    pub(super) fn new(spellings: impl IntoIterator<Item = String>) -> Self {
        let mut by_first: BTreeMap<u8, Vec<String>> = BTreeMap::new();
        for spelling in spellings {
            if let Some(first) = spelling.as_bytes().first() {
                by_first.entry(*first).or_default().push(spelling);
            }
        }
        Self(by_first)
    }

    /// All spellings.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.values().flatten().map(String::as_str)
    }

    /// The spellings in a text, in their order, each with its first byte; the longest where several begin.
    pub(super) fn all_in(&self, text: &str) -> Vec<(&str, usize)> {
        let (mut found, mut rest) = (Vec::new(), text.as_bytes());
        while let Some((_, behind)) = rest.split_first() {
            let special = self.at_start(rest);
            found.extend(special.map(|special| (special, text.len() - rest.len())));
            rest = special.map_or(behind, |special| part(rest, special.len()..));
        }
        found
    }

    /// Bytes of the one that a text begins with.
    pub(super) fn length_at_start(&self, text: &str) -> Option<usize> {
        self.at_start(text.as_bytes()).map(str::len)
    }

    fn at_start(&self, text: &[u8]) -> Option<&str> {
        let here = self.0.get(text.first()?)?.iter();
        let here = here.filter(|special| text.starts_with(special.as_bytes()));
        here.max_by_key(|special| special.len()).map(String::as_str)
    }

    /// The first special token that a string or a name in `message` spells.
    pub(super) fn find_in(&self, message: &Members) -> Option<&str> {
        message.iter().find_map(|(name, value)| self.find(name).or_else(|| self.find_value(value)))
    }

    pub(super) fn find_value(&self, value: &Value) -> Option<&str> {
        if let Some(text) = value.as_str() {
            return self.find(text);
        }
        match value.kind() {
            ValueKind::Seq => value.try_iter().ok()?.find_map(|item| self.find_value(&item)),
            ValueKind::Map => self.find_in(&Members::of(value)?),
            _ => None,
        }
    }

    fn find(&self, text: &str) -> Option<&str> {
        let bytes = text.as_bytes();
        bytes
            .iter()
            .enumerate()
            .find_map(|(at, first)| {
                let rest = bytes.get(at..)?;
                let spellings = self.0.get(first)?;
                spellings.iter().find(|special| rest.starts_with(special.as_bytes()))
            })
            .map(String::as_str)
    }
}
