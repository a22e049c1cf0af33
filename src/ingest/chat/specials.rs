//! Special tokens spelled inside a record: encoded as what they spell, they would end a turn or forge one.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

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

    /// The first special token that a string or a name in `message` spells.
    pub(super) fn find_in(&self, message: &Map<String, Value>) -> Option<&str> {
        message.iter().find_map(|(name, value)| self.find(name).or_else(|| self.find_value(value)))
    }

    pub(super) fn find_value(&self, value: &Value) -> Option<&str> {
        match value {
            Value::String(text) => self.find(text),
            Value::Array(items) => items.iter().find_map(|item| self.find_value(item)),
            Value::Object(fields) => self.find_in(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
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
