//! JSON objects in arrays, or one behind the other over any number of lines.
//!
//! One JSON object a line to a record, in one pass over the line.
//!
//! Lines of JSON, a record each.
//!
//! The text field is guessed from the first good object, wherever it stands.

use super::block::{FormatReader, RecordPlace};
use super::builder::RawRecord;
use super::error::{ReadError, way_to_text};
use super::item::{ReadOptions, byte_len, line_limit, reject};
use super::stream::{BoundedBytes, ByteStream};
use super::{keys, roles};
use crate::model::{
    JsonMembers, JsonName, NotFinite, Origin, RecordKey, Reject, RejectReason, canonical,
    json_string, without_not_finite,
};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The objects of a JSON file.
pub(super) struct JsonValuesReader {
    objects: JsonObjects,
    /// Nobody said that it is JSON: without a text it is refused as what it is.
    is_guess: bool,
    /// Within an array.
    in_array: bool,
    /// A value came, and neither a comma nor the end of the array behind it.
    is_behind_value: bool,
    is_done: bool,
    /// The end was reached.
    is_over: bool,
}

/// What stands before the next value.
enum JsonGap {
    Value,
    End,
}

impl JsonValuesReader {
    pub(super) fn new(options: &ReadOptions, is_guess: bool) -> Self {
        let objects = JsonObjects::new(options);
        Self {
            objects,
            is_guess,
            in_array: false,
            is_behind_value: false,
            is_done: false,
            is_over: false,
        }
    }

    /// Passes over what stands between values.
    fn advance(
        &mut self,
        stream: &mut ByteStream,
        place: &RecordPlace,
    ) -> Result<JsonGap, ReadError> {
        loop {
            stream.skip_while(|byte| byte.is_ascii_whitespace())?;
            let at = stream.offset();
            let fault = |what: &str| ReadError::Damaged {
                path: place.path().to_path_buf(),
                offset: at,
                what: what.to_owned(),
            };
            let Some(first) = stream.peek(1)?.first().copied() else {
                return match self.in_array {
                    true => Err(fault("the array does not end: it is cut off")),
                    false => Ok(JsonGap::End),
                };
            };
            match first {
                b'[' if !self.in_array => self.in_array = true,
                b']' if self.in_array => (self.in_array, self.is_behind_value) = (false, false),
                b',' if self.in_array && self.is_behind_value => self.is_behind_value = false,
                b',' | b']' => return Err(fault("a value is missing")),
                _ if self.in_array && self.is_behind_value => {
                    return Err(fault("neither a comma nor the end of the array behind a value"));
                }
                _ => return Ok(JsonGap::Value),
            }
            stream.next_piece(1, 0, |bytes| (!bytes.is_empty()).then_some(1))?;
        }
    }
}

impl FormatReader for JsonValuesReader {
    fn next(
        &mut self,
        stream: &mut ByteStream,
        place: RecordPlace,
    ) -> Result<Option<RawRecord>, ReadError> {
        if self.is_done {
            return Ok(None);
        }
        if place.number > 0 {
            stream.mark();
        }
        if let JsonGap::End = self.advance(stream, &place)? {
            self.is_over = true;
            return Ok(None);
        }
        let mut end = JsonValueEnd::default();
        let limit = self.objects.limit();
        let piece = stream.next_piece(limit, Reject::MAX_RAW, |bytes| end.find(bytes))?;
        let Some(piece) = piece else { return Ok(None) };
        self.is_behind_value = self.in_array;
        let is_guess = self.is_guess && place.number == 0;
        let origin = place.at(piece.at);
        match self.objects.raw(&piece.bytes, origin.clone(), true) {
            Err(ReadError::NoTextField { found, .. }) if is_guess => {
                self.is_done = true;
                let why = format!(
                    "JSON objects without a text among {found}: {}, or take the file as one document with --format text",
                    way_to_text(&found)
                );
                Ok(Some(reject(RejectReason::NotText(why), origin, b"", 0).into()))
            }
            item => item.map(Some),
        }
    }

    /// Behind the last value: where a list that has grown since goes on.
    fn end(&self, stream: &ByteStream) -> Option<(u64, [u8; 32])> {
        stream.marked().filter(|_| self.is_over)
    }
}

/// Finds the end of a JSON value in bytes that come stretch by stretch. What is inside is not looked at but for
/// brackets and quotes.
#[derive(Default)]
struct JsonValueEnd {
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    has_begun: bool,
}

impl JsonValueEnd {
    fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => {
                        self.in_string = false;
                        if self.depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' if self.depth == 0 && self.has_begun => return Some(at),
                b'"' => self.in_string = true,
                b'{' | b'[' if self.depth == 0 && self.has_begun => return Some(at),
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                b',' | b']' if self.depth == 0 && self.has_begun => return Some(at),
                byte if self.depth == 0 && self.has_begun && byte.is_ascii_whitespace() => {
                    return Some(at);
                }
                _ => {}
            }
            self.has_begun = true;
        }
        None
    }
}

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
    /// As it is spelled.
    pub(super) metadata: String,
    /// Numbers that JSON does not know, which are null in it.
    pub(super) not_finite: NotFinite,
}

/// Which fields are text and id, and how long a text may be.
pub(super) struct JsonRecordSeed<'a> {
    /// None: the record has no text of its own, all its fields are kept.
    pub(super) text: Option<&'a str>,
    pub(super) id: Option<&'a str>,
    pub(super) max_doc_bytes: u64,
}

/// Parses one object. All fields but text and id are kept as they are spelled, in their order.
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

/// The text field of an object: `Ok(Err(fields it has))` when it has none of the usual names, an error when it is none.
pub(super) fn guess_field(object: &[u8]) -> Result<Result<&'static str, String>, RejectReason> {
    let json = utf8(object)?;
    let vote = |json: &str| {
        let members = serde_json::from_str::<JsonMembers<'_>>(json);
        members.map_err(|error| not_json(json, &error)).map(|JsonMembers(members)| {
            let names = members.iter().map(|(name, _)| name.as_ref());
            let field = roles::vote_text_field(names.clone());
            field.ok_or_else(|| roles::field_names_for_message(names))
        })
    };
    vote(json).or_else(|reason| match without_not_finite(json) {
        Some((json, _)) => vote(&json),
        None => Err(reason),
    })
}

/// The text of an object, without the mark of byte order that files put together have before one.
fn utf8(object: &[u8]) -> Result<&str, RejectReason> {
    let text = std::str::from_utf8(object)
        .map_err(|error| RejectReason::NotUtf8(byte_len(error.valid_up_to())))?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

fn not_json(json: &str, error: &serde_json::Error) -> RejectReason {
    if let Some(why) = half_pair(json) {
        return RejectReason::NotJson(why);
    }
    // Lines have no line numbers here; the record's own position is told elsewhere.
    let words = error.to_string();
    RejectReason::NotJson(
        match words.strip_suffix(&format!(" at line 1 column {}", error.column())) {
            Some(words) => format!("{words} at byte {} of the line", error.column()),
            None => words,
        },
    )
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
    metadata: String,
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
            Some(field) => {
                self.id.and_then(key).ok_or_else(|| RejectReason::BadId(field.to_owned()))?
            }
            None => RecordKey::Position,
        };
        Ok(ParsedRecord {
            key,
            text: text.into_owned(),
            metadata: self.metadata,
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
                push_field(&mut object.metadata, &name, raw.get());
            }
        }
        object.metadata.push('}');
        Ok(object)
    }
}

fn push_field(metadata: &mut String, name: &str, raw: &str) {
    if metadata.len() > 1 {
        metadata.push(',');
    }
    metadata.push_str(&json_string(name));
    metadata.push(':');
    metadata.push_str(raw);
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

/// Lines with one object each.
pub(super) struct JsonLinesReader {
    objects: JsonObjects,
}

impl JsonLinesReader {
    pub(super) fn new(options: &ReadOptions) -> Self {
        Self { objects: JsonObjects::new(options) }
    }
}

impl FormatReader for JsonLinesReader {
    fn next(
        &mut self,
        stream: &mut ByteStream,
        place: RecordPlace,
    ) -> Result<Option<RawRecord>, ReadError> {
        match stream.next_line(self.objects.limit(), Reject::MAX_RAW)? {
            Some((offset, line)) => self.objects.raw(&line, place.at(offset), false).map(Some),
            None => Ok(None),
        }
    }

    /// Line by line, so that the text field is guessed from the same record as the first time, and a last line that
    /// has grown since is noticed.
    fn skip(&mut self, stream: &mut ByteStream, _: RecordPlace) -> Result<bool, ReadError> {
        match stream.next_line(self.objects.limit(), 0)? {
            Some((_, BoundedBytes::Whole(line))) => self.objects.learn(line),
            Some(_) => {}
            None => return Ok(false),
        }
        Ok(true)
    }
}

/// Objects that come one after the other, and which of their fields is the text.
pub(super) struct JsonObjects {
    text_field: Option<Arc<str>>,
    whole: bool,
    limit: usize,
}

impl JsonObjects {
    pub(super) fn new(options: &ReadOptions) -> Self {
        let text_field = options.text_field.as_deref().map(Arc::from);
        Self { text_field, whole: options.whole, limit: line_limit(options) }
    }

    /// How long an object may be.
    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    /// Guesses the text field from an object that is passed over.
    fn learn(&mut self, object: &[u8]) {
        if self.text_field.is_none()
            && let Ok(guess) = guess_field(object)
        {
            self.text_field = guess.ok().map(Arc::from);
        }
    }

    /// The record of an object, undecoded.
    ///
    /// # Errors
    /// [`ReadError::NoTextField`] when no field is named and none has a usual name.
    pub(super) fn raw(
        &mut self,
        object: &BoundedBytes<'_>,
        origin: Origin,
        is_spread: bool,
    ) -> Result<RawRecord, ReadError> {
        let object = match object {
            BoundedBytes::Whole(object) => *object,
            BoundedBytes::TooLong { head, bytes } => {
                let reason = RejectReason::TooLong { bytes: *bytes, limit: byte_len(self.limit) };
                return Ok(reject(reason, origin, head, *bytes).into());
            }
        };
        if !self.whole && self.text_field.is_none() {
            match guess_field(object) {
                Ok(Ok(field)) => self.text_field = Some(Arc::from(field)),
                Ok(Err(found)) => {
                    return Err(ReadError::NoTextField { path: origin.path.to_path_buf(), found });
                }
                Err(reason) => {
                    return Ok(reject(reason, origin, object, byte_len(object.len())).into());
                }
            }
        }
        let text = self.text_field.clone().filter(|_| !self.whole);
        Ok(RawRecord::Json { object: object.to_vec(), text, is_spread, origin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_where_its_brackets_do_however_its_bytes_come() {
        for (json, length) in [
            ("{\"a\":[1,{\"b\":\"}]\\\"\"}]} ,", 22),
            ("\"a\\\\\",1", 5),
            ("12.5 ,", 4),
            ("null]", 4),
            ("{]}", 2),
            ("}x,", 2),
        ] {
            for cut in 0..=json.len() {
                let mut end = JsonValueEnd::default();
                let (head, tail) = json.as_bytes().split_at(cut);
                let found = end.find(head).or_else(|| end.find(tail).map(|at| cut + at));
                assert_eq!(found, Some(length), "{json} {cut}");
            }
        }
        assert_eq!(JsonValueEnd::default().find(b"{\"a\":"), None);
    }

    #[test]
    fn space_goes_from_between_values_and_not_from_texts() {
        assert_eq!(
            on_one_line("{\"a b\": [1,\n\t2],\r\n\"\\\" c\": \" \"}"),
            "{\"a b\":[1,2],\"\\\" c\":\" \"}"
        );
    }
}
