//! Parses one JSON object into the parts of a record, in one pass over it.

use super::error::field_names_for_message;
use super::item::byte_len;
use super::keys;
use super::text_field::guess_text_field;
use memchr::memmem;
use model::text_file::without_byte_order_mark;
use model::{
    JsonMembers, JsonName, JsonObject, NotFinite, RecordKey, RejectReason, canonical, json_string,
    without_not_finite,
};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// JSON without the space between its values, its texts and numbers as they are spelled.
pub(super) fn on_one_line(json: &str) -> String {
    let mut line = String::with_capacity(json.len());
    let (mut in_string, mut is_escaped) = (false, false);
    for character in json.chars() {
        if in_string {
            match character {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => in_string = false,
                _ => {}
            }
        } else if character == '"' {
            in_string = true;
        } else if matches!(character, ' ' | '\n' | '\r' | '\t') {
            continue;
        }
        line.push(character);
    }
    line
}

/// What an object holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ParsedRecord {
    pub(super) key: RecordKey,
    pub(super) text: String,
    /// The other fields, as the object spells them.
    pub(super) metadata: String,
    /// Numbers that JSON does not know, which are null in it.
    pub(super) not_finite: NotFinite,
}

/// Which fields are text and id, and how long a text may be.
pub(super) struct JsonRecordSeed<'a> {
    /// None: the record has no text of its own, all its fields are kept.
    pub(super) text: Option<&'a str>,
    pub(super) id: Option<&'a str>,
    /// The id is kept among the fields too.
    pub(super) verbatim: bool,
    pub(super) max_doc_bytes: u64,
}

/// Parses one object. All fields but the text, and the id unless records are verbatim, are kept as they are spelled, in
/// their order.
pub(super) fn parse(
    object: &[u8],
    fields: &JsonRecordSeed<'_>,
) -> Result<ParsedRecord, RejectReason> {
    let json = utf8(object)?;
    let read = |json: &str| {
        let mut values = serde_json::Deserializer::from_str(json);
        let parts = fields.deserialize(&mut values);
        parts
            .and_then(|parts| values.end().map(|()| parts))
            .map_err(|error| not_json(json, &error))
            .and_then(|parts| parts.record(fields))
    };
    match read(json) {
        Err(RejectReason::NotJson(why)) => match without_not_finite(json) {
            Some((json, not_finite)) => Ok(ParsedRecord { not_finite, ..read(&json)? }),
            None => Err(RejectReason::NotJson(why)),
        },
        read => read,
    }
}

/// The text field of an object: one of the usual names, with a text if any has; `Ok(Err(fields it has))` when it has
/// none of them, an error when it is not an object.
pub(super) fn guess_field(object: &[u8]) -> Result<Result<&'static str, String>, RejectReason> {
    let json = utf8(object)?;
    let vote = |json: &str| {
        let members = serde_json::from_str::<JsonMembers<'_>>(json);
        members.map_err(|error| not_json(json, &error)).map(|JsonMembers(members)| {
            let names = members.iter().map(|(name, _)| name.as_ref());
            let fields = members.iter().map(|(name, value)| (name.as_ref(), has_text(value)));
            guess_text_field(fields).ok_or_else(|| field_names_for_message(names))
        })
    };
    vote(json).or_else(|reason| match without_not_finite(json) {
        Some((json, _)) => vote(&json),
        None => Err(reason),
    })
}

/// Whether a value is a text that is not blank.
fn has_text(value: &RawValue) -> bool {
    let quoted = value.get().strip_prefix('"');
    quoted.is_some_and(|text| !text.trim_end_matches('"').trim_ascii().is_empty())
}

/// The text of an object, without the mark of byte order that files put together have before one.
fn utf8(object: &[u8]) -> Result<&str, RejectReason> {
    let text = std::str::from_utf8(object)
        .map_err(|error| RejectReason::NotUtf8(byte_len(error.valid_up_to())))?;
    Ok(without_byte_order_mark(text))
}

fn not_json(json: &str, error: &serde_json::Error) -> RejectReason {
    if let Some(why) = half_pair(json) {
        return RejectReason::NotJson(why);
    }
    // Lines have no line numbers here; the record's own position is reported elsewhere.
    let words = error.to_string();
    RejectReason::NotJson(
        match words.strip_suffix(&format!(" at line 1 column {}", error.column())) {
            Some(words) => format!("{} at byte {} of the line", plain(words), error.column()),
            None => words,
        },
    )
}

/// The parser's words for what people meet most, as they would say it.
fn plain(words: &str) -> String {
    match words {
        "expected ident" => "a word that JSON does not have".to_owned(),
        "expected value" => "no value that JSON has".to_owned(),
        "trailing characters" => "something stands behind the object".to_owned(),
        words => words.replacen("EOF while parsing", "it ends inside of", 1),
    }
}

/// Whether an object spells halves of surrogate pairs, which may be unpaired.
pub fn may_have_half_pairs(object: &[u8]) -> bool {
    let mut escapes = memmem::find_iter(object, b"\\u");
    escapes.any(|at| matches!(object.get(at + 2), Some(b'd' | b'D')))
}

/// Where a text has half of a surrogate pair, which no reader of JSON but Python's takes.
fn half_pair(json: &str) -> Option<String> {
    let half = |json: &str| canonical(json).err().filter(|why| why.contains("surrogate"));
    let proved = serde_json::from_str::<&RawValue>(json).ok()?;
    let Ok(JsonMembers(members)) = serde_json::from_str(json) else { return half(proved.get()) };
    members.iter().find_map(|(name, value)| Some(format!("field `{name}`: {}", half(value.get())?)))
}

/// The key that a value is.
fn key(raw: &RawValue) -> Option<RecordKey> {
    let raw = raw.get();
    match raw.as_bytes().first()? {
        b'"' => {
            let text: String = serde_json::from_str(raw).ok()?;
            keys::of_text(&text)
        }
        b'-' | b'0'..=b'9' => keys::of_number(raw),
        _ => None,
    }
}

pub(super) struct JsonRecordParts<'l> {
    text: Option<JsonText<'l>>,
    id: Option<&'l RawValue>,
    metadata: JsonObject,
}

impl JsonRecordParts<'_> {
    fn record(self, fields: &JsonRecordSeed<'_>) -> Result<ParsedRecord, RejectReason> {
        let text = match (self.text, fields.text) {
            (_, None) => Cow::Borrowed(""),
            (Some(JsonText::String(text)), _) => text,
            (Some(JsonText::Other), Some(field)) => {
                return Err(RejectReason::TextNotString(field.to_owned()));
            }
            (Some(JsonText::Null) | None, Some(field)) => {
                return Err(RejectReason::NoText(field.to_owned()));
            }
        };
        let bytes = byte_len(text.len());
        if bytes > fields.max_doc_bytes {
            return Err(RejectReason::TooLong { bytes, limit: fields.max_doc_bytes });
        }
        let key = match fields.id {
            Some(field) => self.id.and_then(key).ok_or_else(|| {
                let half = self.id.and_then(|id| half_pair(id.get()));
                let half = half.map(|why| RejectReason::NotJson(format!("field `{field}`: {why}")));
                half.unwrap_or_else(|| RejectReason::BadId(field.to_owned()))
            })?,
            None => RecordKey::Position,
        };
        Ok(ParsedRecord {
            key,
            text: text.into_owned(),
            metadata: self.metadata.finish(),
            not_finite: NotFinite::default(),
        })
    }
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
        let mut object = JsonRecordParts { text: None, id: None, metadata: JsonObject::default() };
        while let Some(JsonName(name)) = map.next_key()? {
            let is_text = Some(name.as_ref()) == self.text;
            let is_id = Some(name.as_ref()) == self.id;
            if (is_text && object.text.is_some()) || (is_id && object.id.is_some()) {
                return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
            }
            if is_text {
                object.text = Some(map.next_value()?);
            } else if is_id {
                let raw: &RawValue = map.next_value()?;
                object.id = Some(raw);
                if self.verbatim {
                    object.metadata.push_raw(&json_string(&name), raw.get());
                }
            } else {
                let raw: &RawValue = map.next_value()?;
                object.metadata.push_raw(&json_string(&name), raw.get());
            }
        }
        Ok(object)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_goes_from_between_values_and_not_from_texts() {
        assert_eq!(
            on_one_line("{\"a b\": [1,\n\t2],\r\n\"\\\" c\": \" \"}"),
            "{\"a b\":[1,2],\"\\\" c\":\" \"}"
        );
    }
}
