//! One JSON object a line to a record, in one pass over the line.

use super::guess;
use crate::model::{RecordKey, RejectReason};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// What a line holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parsed {
    pub(super) key: RecordKey,
    pub(super) text: String,
    pub(super) metadata: String,
}

/// Which fields are text and id, and how long a text may be.
pub(super) struct JsonRecordSeed<'a> {
    /// None: the record has no text of its own, all its fields are kept.
    pub(super) text: Option<&'a str>,
    pub(super) id: Option<&'a str>,
    pub(super) max_doc_bytes: u64,
}

/// Parses one line. All fields but text and id are kept as they are spelled, in their order.
pub(super) fn parse(line: &[u8], fields: &JsonRecordSeed<'_>) -> Result<Parsed, RejectReason> {
    let line = utf8(line)?;
    let mut json = serde_json::Deserializer::from_str(line);
    let object = fields
        .deserialize(&mut json)
        .and_then(|object| json.end().map(|()| object))
        .map_err(not_json)?;
    let text = match (object.text, fields.text) {
        (_, None) => Cow::Borrowed(""),
        (Some(JsonText::String(text)), _) => text,
        (Some(JsonText::Other), Some(field)) => {
            return Err(RejectReason::TextNotString(field.to_owned()));
        }
        (Some(JsonText::Null) | None, Some(field)) => {
            return Err(RejectReason::NoText(field.to_owned()));
        }
    };
    let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    if bytes > fields.max_doc_bytes {
        return Err(RejectReason::TooLong { bytes, limit: fields.max_doc_bytes });
    }
    let key = match fields.id {
        Some(field) => RecordKey::Given(
            object.id.and_then(key).ok_or_else(|| RejectReason::BadId(field.to_owned()))?,
        ),
        None => RecordKey::Position,
    };
    Ok(Parsed { key, text: text.into_owned(), metadata: object.metadata })
}

/// The text field of the object on `line`: `Ok(Err(fields it has))` when it has none of the usual
/// names, an error when the line is no object.
pub(super) fn guess_field(line: &[u8]) -> Result<Result<&'static str, String>, RejectReason> {
    let names =
        utf8(line).and_then(|line| serde_json::from_str::<Names<'_>>(line).map_err(not_json))?;
    let names = names.0.iter().map(|name| name.0.as_ref());
    Ok(guess::vote_text_field(names.clone()).ok_or_else(|| guess::field_names_for_message(names)))
}

fn utf8(line: &[u8]) -> Result<&str, RejectReason> {
    std::str::from_utf8(line).map_err(|error| {
        RejectReason::NotUtf8(u64::try_from(error.valid_up_to()).unwrap_or(u64::MAX))
    })
}

fn not_json(error: serde_json::Error) -> RejectReason {
    // The line number is always 1 here; the record's own position is told elsewhere.
    let words = error.to_string();
    RejectReason::NotJson(
        match words.strip_suffix(&format!(" at line 1 column {}", error.column())) {
            Some(words) => format!("{words} at byte {} of the line", error.column()),
            None => words,
        },
    )
}

/// A string's content, a number's literal spelling; nothing else identifies a record.
fn key(raw: &RawValue) -> Option<String> {
    let raw = raw.get();
    match raw.as_bytes().first()? {
        b'"' => serde_json::from_str(raw).ok(),
        b'-' | b'0'..=b'9' => Some(raw.to_owned()),
        _ => None,
    }
}

pub(super) struct JsonRecordParts<'l> {
    text: Option<JsonText<'l>>,
    id: Option<&'l RawValue>,
    metadata: String,
}

impl<'l> DeserializeSeed<'l> for &JsonRecordSeed<'_> {
    type Value = JsonRecordParts<'l>;

    fn deserialize<D: Deserializer<'l>>(
        self,
        deserializer: D,
    ) -> Result<JsonRecordParts<'l>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'l> Visitor<'l> for &JsonRecordSeed<'_> {
    type Value = JsonRecordParts<'l>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'l>>(self, mut map: A) -> Result<JsonRecordParts<'l>, A::Error> {
        let mut object = JsonRecordParts { text: None, id: None, metadata: String::from("{") };
        while let Some(JsonName(name)) = map.next_key()? {
            let is_text = Some(name.as_ref()) == self.text;
            let is_id = Some(name.as_ref()) == self.id;
            if (is_text && object.text.is_some()) || (is_id && object.id.is_some()) {
                return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
            }
            if is_text {
                object.text = Some(map.next_value()?);
            } else if is_id {
                object.id = Some(map.next_value()?);
            } else {
                let raw: &RawValue = map.next_value()?;
                push_field(&mut object.metadata, &name, raw.get()).map_err(A::Error::custom)?;
            }
        }
        object.metadata.push('}');
        Ok(object)
    }
}

fn push_field(metadata: &mut String, name: &str, raw: &str) -> Result<(), serde_json::Error> {
    // A skipped value is checked for shape, not for halves of surrogate pairs; whoever parses the
    // metadata later must be able to.
    if raw.contains("\\u") {
        serde_json::from_str::<serde_json::Value>(raw)?;
    }
    if metadata.len() > 1 {
        metadata.push(',');
    }
    metadata.push_str(&serde_json::to_string(name)?);
    metadata.push(':');
    metadata.push_str(raw);
    Ok(())
}

/// A field name, borrowed unless it has escapes.
#[derive(serde::Deserialize)]
struct JsonName<'l>(#[serde(borrow)] Cow<'l, str>);

/// The value of the text field.
enum JsonText<'l> {
    String(Cow<'l, str>),
    Null,
    Other,
}

impl<'l> serde::Deserialize<'l> for JsonText<'l> {
    fn deserialize<D: Deserializer<'l>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonTextVisitor)
    }
}

struct JsonTextVisitor;

impl<'l> Visitor<'l> for JsonTextVisitor {
    type Value = JsonText<'l>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_borrowed_str<E>(self, text: &'l str) -> Result<JsonText<'l>, E> {
        Ok(JsonText::String(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<JsonText<'l>, E> {
        Ok(JsonText::String(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<JsonText<'l>, E> {
        Ok(JsonText::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<JsonText<'l>, E> {
        Ok(JsonText::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<JsonText<'l>, E> {
        Ok(JsonText::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<JsonText<'l>, E> {
        Ok(JsonText::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<JsonText<'l>, E> {
        Ok(JsonText::Other)
    }

    fn visit_seq<A: SeqAccess<'l>>(self, mut seq: A) -> Result<JsonText<'l>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(JsonText::Other)
    }

    fn visit_map<A: MapAccess<'l>>(self, mut map: A) -> Result<JsonText<'l>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(JsonText::Other)
    }
}

/// The field names of an object.
struct Names<'l>(Vec<JsonName<'l>>);

impl<'l> serde::Deserialize<'l> for Names<'l> {
    fn deserialize<D: Deserializer<'l>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NamesVisitor)
    }
}

struct NamesVisitor;

impl<'l> Visitor<'l> for NamesVisitor {
    type Value = Names<'l>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'l>>(self, mut map: A) -> Result<Names<'l>, A::Error> {
        let mut names = Vec::new();
        while let Some((name, IgnoredAny)) = map.next_entry()? {
            names.push(name);
        }
        Ok(Names(names))
    }
}
