//! The fields of a record as one JSON object: put together, and taken apart with every value as it is spelled.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A JSON object that grows by a field at a time.
pub(super) struct RecordBuilder(String);

impl RecordBuilder {
    pub(super) fn new() -> Self {
        Self("{".to_owned())
    }

    /// One more field: its name as JSON has it, and its value as JSON.
    pub(super) fn push_raw(&mut self, name: &str, value: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(name);
        self.0.push(':');
        self.0.push_str(value);
    }

    /// One more field of text.
    pub(super) fn push(&mut self, name: &str, value: &str) {
        self.push_raw(&json_string(name), &json_string(value));
    }

    pub(super) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// The fields of an object as they are spelled, in their order.
pub(super) struct JsonMembers<'l>(pub(super) Vec<(Cow<'l, str>, &'l RawValue)>);

impl<'l> Deserialize<'l> for JsonMembers<'l> {
    fn deserialize<D: Deserializer<'l>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(JsonMembersVisitor)
    }
}

struct JsonMembersVisitor;

/// A field name, borrowed unless it has escapes.
#[derive(Deserialize)]
struct Name<'l>(#[serde(borrow)] Cow<'l, str>);

impl<'l> Visitor<'l> for JsonMembersVisitor {
    type Value = JsonMembers<'l>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'l>>(self, mut map: A) -> Result<JsonMembers<'l>, A::Error> {
        let mut fields = Vec::new();
        while let Some((Name(name), value)) = map.next_entry()? {
            fields.push((name, value));
        }
        Ok(JsonMembers(fields))
    }
}

/// A text as JSON has it.
pub(super) fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether a value is spelled as JSON spells a number that a program can hold: no zeros before it, no sign but a
/// minus, a whole number of at most 64 bits or a finite fraction.
pub(super) fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let is_number = digits.starts_with(|first: char| first.is_ascii_digit())
        && digits.ends_with(|last: char| last.is_ascii_digit())
        && serde_json::from_str::<serde_json::Number>(value).is_ok();
    let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number && (!is_whole || value.parse::<i64>().is_ok() || value.parse::<u64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_what_json_spells_as_one_and_a_program_can_hold() {
        for value in ["0", "-1", "1.50", "1e5", "18446744073709551615", "-9223372036854775808"] {
            assert!(is_number(value), "{value}");
        }
        for value in ["", "-", "007", "+1", "1.", ".5", "NaN", "1 ", " 1", "1e999", "true"] {
            assert!(!is_number(value), "{value}");
        }
        assert!(!is_number("18446744073709551616"), "longer than 64 bits");
    }

    #[test]
    fn fields_are_one_object_in_their_order() {
        let mut fields = RecordBuilder::new();
        assert_eq!(RecordBuilder::new().finish(), "{}");
        fields.push("b\"", "x\ny");
        fields.push_raw("\"a\"", "1.50");
        assert_eq!(fields.finish(), "{\"b\\\"\":\"x\\ny\",\"a\":1.50}");
    }
}
