//! JSON objects in arrays, or one behind the other over any number of lines.
//!
//! One JSON object a line to a record, in one pass over the line.
//!
//! Lines of JSON, a record each.
//!
//! JSON objects as records, wherever they stand: the text field is guessed from the first good one.

use super::block::{FormatReader, RecordPlace};
use super::error::ReadError;
use super::item::{ReadItem, ReadOptions, byte_len, line_limit, reject};
use super::stream::{BoundedBytes, ByteStream, StreamPiece};
use super::{keys, roles};
use crate::model::{Origin, ReadRecord, RecordKey, Reject, RejectReason};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The objects of a JSON file.
pub(super) struct JsonValuesReader {
    objects: Objects,
    /// Nobody said that it is JSON: without a text it is refused as what it is.
    is_guess: bool,
    /// Within an array.
    in_array: bool,
    /// A value came, and neither a comma nor the end of the array behind it.
    is_behind_value: bool,
    is_done: bool,
}

/// What stands before the next value.
enum JsonGap {
    Value,
    End,
}

impl JsonValuesReader {
    pub(super) fn new(options: &ReadOptions, is_guess: bool) -> Self {
        let objects = Objects::new(options);
        Self { objects, is_guess, in_array: false, is_behind_value: false, is_done: false }
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

    fn item(&mut self, piece: &StreamPiece<'_>, place: RecordPlace) -> Result<ReadItem, ReadError> {
        let mut item = self.objects.item(&piece.bytes, place.at(piece.at))?;
        if let ReadItem::Record(record) = &mut item
            && record.metadata.contains(['\n', '\r'])
        {
            // Whoever reads the fields later has them on one line.
            record.metadata = compact(&record.metadata);
        }
        Ok(item)
    }
}

impl FormatReader for JsonValuesReader {
    fn next(
        &mut self,
        stream: &mut ByteStream,
        place: RecordPlace,
    ) -> Result<Option<ReadItem>, ReadError> {
        stream.mark_record();
        if self.is_done {
            return Ok(None);
        }
        if let JsonGap::End = self.advance(stream, &place)? {
            return Ok(None);
        }
        let mut end = JsonValueEnd::default();
        let limit = self.objects.limit();
        let piece = stream.next_piece(limit, Reject::MAX_RAW, |bytes| end.find(bytes))?;
        let Some(piece) = piece else { return Ok(None) };
        self.is_behind_value = self.in_array;
        let is_guess = self.is_guess && place.number == 0;
        let origin = place.clone().at(piece.at);
        match self.item(&piece, place) {
            Err(ReadError::NoTextField { found, .. }) if is_guess => {
                self.is_done = true;
                let why = format!(
                    "JSON objects without a text among {found}: name its field with --text-field, or take the file as one document with --format text"
                );
                Ok(Some(reject(RejectReason::NotText(why), origin, b"", 0)))
            }
            item => item.map(Some),
        }
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

/// JSON without the space between its values.
fn compact(json: &str) -> String {
    let mut compact = String::with_capacity(json.len());
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
        compact.push(character);
    }
    compact
}

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
        Some(field) => {
            object.id.and_then(key).ok_or_else(|| RejectReason::BadId(field.to_owned()))?
        }
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
    Ok(roles::vote_text_field(names.clone()).ok_or_else(|| roles::field_names_for_message(names)))
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

/// Lines with one object each.
pub(super) struct JsonLinesReader {
    objects: Objects,
}

impl JsonLinesReader {
    pub(super) fn new(options: &ReadOptions) -> Self {
        Self { objects: Objects::new(options) }
    }
}

impl FormatReader for JsonLinesReader {
    fn next(
        &mut self,
        stream: &mut ByteStream,
        place: RecordPlace,
    ) -> Result<Option<ReadItem>, ReadError> {
        match stream.next_line(self.objects.limit(), Reject::MAX_RAW)? {
            Some((offset, line)) => self.objects.item(&line, place.at(offset)).map(Some),
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

/// Makes records of objects that come one after the other.
pub(super) struct Objects {
    text_field: Option<String>,
    id_field: Option<String>,
    whole: bool,
    max_doc_bytes: u64,
    limit: usize,
}

impl Objects {
    pub(super) fn new(options: &ReadOptions) -> Self {
        Self {
            text_field: options.text_field.clone(),
            id_field: options.id_field.clone(),
            whole: options.whole,
            max_doc_bytes: options.max_doc_bytes,
            limit: line_limit(options),
        }
    }

    /// How long an object may be.
    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    /// Guesses the text field from an object that is passed over.
    pub(super) fn learn(&mut self, object: &[u8]) {
        if self.text_field.is_none()
            && let Ok(guess) = guess_field(object)
        {
            self.text_field = guess.ok().map(str::to_owned);
        }
    }

    /// The record of an object, or why it is none.
    ///
    /// # Errors
    /// [`ReadError::NoTextField`] when no field is named and none has a usual name.
    pub(super) fn item(
        &mut self,
        object: &BoundedBytes<'_>,
        origin: Origin,
    ) -> Result<ReadItem, ReadError> {
        let object = match object {
            BoundedBytes::Whole(object) => *object,
            BoundedBytes::TooLong { head, bytes } => {
                let reason = RejectReason::TooLong { bytes: *bytes, limit: byte_len(self.limit) };
                return Ok(reject(reason, origin, head, *bytes));
            }
        };
        if !self.whole && self.text_field.is_none() {
            match guess_field(object) {
                Ok(Ok(field)) => self.text_field = Some(field.to_owned()),
                Ok(Err(found)) => {
                    return Err(ReadError::NoTextField { path: origin.path.to_path_buf(), found });
                }
                Err(reason) => return Ok(reject(reason, origin, object, byte_len(object.len()))),
            }
        }
        let fields = JsonRecordSeed {
            text: self.text_field.as_deref().filter(|_| !self.whole),
            id: self.id_field.as_deref(),
            max_doc_bytes: self.max_doc_bytes,
        };
        Ok(match parse(object, &fields) {
            Ok(Parsed { key, text, metadata }) => {
                ReadItem::Record(ReadRecord { key, source: None, text, metadata, origin })
            }
            Err(reason) => reject(reason, origin, object, byte_len(object.len())),
        })
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
            compact("{\"a b\": [1,\n\t2],\r\n\"\\\" c\": \" \"}"),
            "{\"a b\":[1,2],\"\\\" c\":\" \"}"
        );
    }
}
