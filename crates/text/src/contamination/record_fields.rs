//! The fields of a suite's record, looked up by normalised name, and the texts of their values.

use super::literal::parse_list;
use model::near_names::UnknownName;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Fields that a table has as the text of a list.
const LISTS: [&str; 12] = [
    "prompt",
    "turns",
    "messages",
    "conversations",
    "answer",
    "answers",
    "correctanswers",
    "targets",
    "reference",
    "references",
    "mc1targets",
    "mc2targets",
];

/// A field by its name as it is compared.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The fields of a record by their plain names.
pub(super) struct RecordFields<'r> {
    pub(super) record: &'r Map<String, Value>,
    by_name: BTreeMap<String, (&'r str, &'r Value)>,
    /// Names of those that were asked for.
    pub(super) used: BTreeSet<&'r str>,
}

impl<'r> RecordFields<'r> {
    pub(super) fn of(record: &'r Map<String, Value>) -> Self {
        let mut by_name: BTreeMap<String, (&str, &Value)> = BTreeMap::new();
        for (name, value) in record {
            let plain = plain(name);
            // Of two fields that differ by case alone, the one that is spelt as layouts spell it wins.
            let is_better =
                by_name.get(&plain).is_none_or(|_| !name.chars().any(char::is_uppercase));
            if is_better {
                by_name.insert(plain, (name, value));
            }
        }
        Self { record, by_name, used: BTreeSet::new() }
    }

    /// A field, blank or not.
    pub(super) fn any(&mut self, plain: &str) -> Option<(&'r str, &'r Value)> {
        let found = self.by_name.get(plain).copied();
        self.used.extend(found.map(|(name, _)| name));
        found
    }

    /// A field of that very name, blank or not.
    pub(super) fn exactly(&mut self, name: &str) -> Option<(&'r str, &'r Value)> {
        let (name, value) = self.record.get_key_value(name)?;
        self.used.insert(name);
        Some((name, value))
    }

    /// A field that says something.
    pub(super) fn has(&self, plain: &str) -> bool {
        self.by_name.get(plain).is_some_and(|(_, value)| has_text(value))
    }

    pub(super) fn take(&mut self, plain: &str) -> Option<(&'r str, &'r Value)> {
        if self.has(plain) { self.any(plain) } else { None }
    }

    /// The texts of a field: one that has none in a known layout is not searched for.
    pub(super) fn searched(&mut self, name: &str, value: &Value) -> Vec<String> {
        let texts = texts_of(name, value);
        if texts.is_empty() {
            self.used.remove(name);
        }
        texts
    }

    /// The field that is named, which must be there.
    pub(super) fn named(&mut self, named: &str) -> Result<&'r Value, String> {
        if let Some((_, value)) = self.exactly(named) {
            return Ok(value);
        }
        let mut members = named.split('.');
        let first = members.next().and_then(|member| self.exactly(member)).map(|(_, value)| value);
        let value = members.try_fold(first, |value, member| Some(value?.get(member))).flatten();
        let missing = || {
            let unknown = UnknownName::new("field", named, self.record.keys().map(String::as_str));
            format!("{unknown}; {}", unknown.hint())
        };
        value.ok_or_else(missing)
    }
}

/// Whether there is anything but blanks in a value.
pub(super) fn has_text(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Number(_) | Value::Bool(_) => true,
        Value::Array(values) => values.iter().any(has_text),
        Value::Object(members) => members.values().any(has_text),
    }
}

/// The texts of a value: of a list all, of an object those of the members that have texts in known layouts.
pub(super) fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Number(number) => vec![number.to_string()],
        Value::Bool(truth) => vec![truth.to_string()],
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::Object(members) => {
            let known = ["text", "content", "value", "aliases", "spans"];
            known.iter().filter_map(|name| members.get(*name)).flat_map(texts).collect()
        }
        Value::Null => Vec::new(),
    }
}

/// The list that the field of that name has as a text.
pub(super) fn listed(name: &str, value: &Value) -> Option<Value> {
    let text = value.as_str().filter(|_| LISTS.contains(&plain(name).as_str()))?;
    let list = parse_list(text)?;
    let is_listed = match &list {
        Value::Array(values) => values.iter().all(|value| value.is_string() || value.is_object()),
        list => marked_true(list).is_some(),
    };
    is_listed.then_some(list)
}

/// The texts of the field of that name.
pub(super) fn texts_of(name: &str, value: &Value) -> Vec<String> {
    let list = listed(name, value);
    let value = list.as_ref().unwrap_or(value);
    match value {
        // Tables of TruthfulQA have correct answers so.
        Value::String(text) if plain(name) == "correctanswers" => {
            text.split(';').map(|one| one.trim().to_owned()).collect()
        }
        value => marked_true(value).unwrap_or_else(|| texts(value)),
    }
}

/// The choices with a 1, of a list of choices beside a list of 0 and 1.
fn marked_true(value: &Value) -> Option<Vec<String>> {
    let (choices, labels) = (value.get("choices")?.as_array()?, value.get("labels")?.as_array()?);
    let is_true = |label: &Value| label.as_f64() == Some(1.0) || label.as_bool() == Some(true);
    let chosen = choices.iter().zip(labels).filter(|(_, label)| is_true(label));
    Some(chosen.flat_map(|(choice, _)| texts(choice)).collect())
}

/// Leaves texts that say something, each once, in their order.
pub(super) fn leave_one_of_each(texts: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    texts.retain(|text| !text.trim().is_empty() && seen.insert(text.trim().to_owned()));
}
