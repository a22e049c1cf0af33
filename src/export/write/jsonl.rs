//! Rows as JSON, an object a line. The fields of a record stand as it spelled them, at top level or as one object.

use super::value::{Value, value};
use crate::export::error::ExportError;
use crate::model::{DocId, IoError};
use arrow::array::{Array, AsArray, RecordBatch};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::Path;

/// Which columns are JSON already.
pub(super) struct Columns<'a> {
    /// The one whose fields stand at top level.
    pub spread: Option<usize>,
    /// The one that is an object under its name.
    pub object: Option<usize>,
    /// What to ask for instead, where fields at top level collide with columns.
    pub instead: &'a str,
}

impl Columns<'_> {
    /// Appends the lines of the rows of `documents`.
    pub(super) fn rows(
        &self,
        batch: &RecordBatch,
        documents: &[DocId],
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let schema = batch.schema();
        let fields = schema.fields().iter().enumerate();
        let others = fields.filter(|(at, _)| Some(*at) != self.spread);
        let taken = Taken::new(others.map(|(_, field)| field.name().as_str()).collect());
        let mut keys = Vec::with_capacity(schema.fields().len());
        for field in schema.fields() {
            let mut key = Vec::new();
            quoted(field.name(), &mut key)?;
            key.push(b':');
            keys.push(key);
        }
        for row in 0..batch.num_rows() {
            let begin = out.len();
            out.push(b'{');
            let mut first = true;
            for (at, (column, key)) in batch.columns().iter().zip(&keys).enumerate() {
                if Some(at) == self.spread {
                    let object = column.as_string::<i64>().value(row);
                    if let Some(name) = taken.found_in(object) {
                        return Err(ExportError::Collision {
                            document: documents.get(row).map_or(0, |document| document.0),
                            name,
                            instead: self.instead.to_owned(),
                        });
                    }
                    spread(object, &mut first, out);
                    continue;
                }
                comma(&mut first, out);
                out.extend_from_slice(key);
                if Some(at) == self.object {
                    on_one_line(column.as_string::<i64>().value(row), out);
                    continue;
                }
                match value(column as &dyn Array, row)? {
                    Value::Null => out.extend_from_slice(b"null"),
                    Value::Plain(digits) => out.extend_from_slice(digits.as_bytes()),
                    Value::Text(text) => quoted(&text, out)?,
                }
            }
            escape_line_ends(out, begin);
            out.extend_from_slice(b"}\n");
        }
        Ok(())
    }
}

/// Escapes what other readers take for the end of a line, but JSON lines does not: U+0085, U+2028, U+2029. They stand
/// within texts only.
fn escape_line_ends(out: &mut Vec<u8>, begin: usize) {
    let line = out.get(begin..).unwrap_or_default();
    let is_end = |(at, byte): (usize, &u8)| match byte {
        0xc2 => line.get(at + 1) == Some(&0x85),
        0xe2 => matches!(line.get(at + 1..at + 3), Some([0x80, 0xa8 | 0xa9])),
        _ => false,
    };
    if !line.iter().enumerate().any(is_end) {
        return;
    }
    let text = String::from_utf8_lossy(line);
    let text = text.replace('\u{85}', "\\u0085").replace('\u{2028}', "\\u2028");
    let text = text.replace('\u{2029}', "\\u2029");
    out.truncate(begin);
    out.extend_from_slice(text.as_bytes());
}

/// Appends the fields of an object without its braces.
fn spread(object: &str, first: &mut bool, out: &mut Vec<u8>) {
    let inside = object.trim().strip_prefix('{').and_then(|object| object.strip_suffix('}'));
    let inside = inside.unwrap_or_default().trim();
    if !inside.is_empty() {
        comma(first, out);
        on_one_line(inside, out);
    }
}

fn comma(first: &mut bool, out: &mut Vec<u8>) {
    if !std::mem::take(first) {
        out.push(b',');
    }
}

fn quoted(text: &str, out: &mut Vec<u8>) -> Result<(), IoError> {
    serde_json::to_writer(out, text)
        .map_err(io::Error::from)
        .map_err(IoError::of("encoding for", Path::new("JSON lines")))
}

/// JSON as it is spelled: a line break in it is space between values, since texts have theirs escaped.
fn on_one_line(json: &str, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(json.as_bytes());
    for byte in out.iter_mut().skip(start) {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

/// Names that no field at top level may have.
struct Taken<'a> {
    names: Vec<&'a str>,
    /// The same in quotes, as an object spells them.
    quoted: Vec<String>,
}

impl<'a> Taken<'a> {
    fn new(names: Vec<&'a str>) -> Self {
        let quoted = names.iter().map(|name| format!("\"{name}\"")).collect();
        Self { names, quoted }
    }

    /// The first of them that an object has at top level.
    fn found_in(&self, object: &str) -> Option<String> {
        // Most objects do not contain such a name, which is found without parsing them.
        if !object.contains('\\') && !self.quoted.iter().any(|name| object.contains(name)) {
            return None;
        }
        let found = serde_json::Deserializer::from_str(object).deserialize_map(Names(&self.names));
        found.ok().flatten()
    }
}

/// Looks for one of some names.
struct Names<'a>(&'a [&'a str]);

impl<'l> Visitor<'l> for Names<'_> {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'l>>(self, mut map: A) -> Result<Option<String>, A::Error> {
        let mut found = None;
        while let Some((Name(name), IgnoredAny)) = map.next_entry()? {
            if found.is_none() && self.0.contains(&name.as_ref()) {
                found = Some(name.into_owned());
            }
        }
        Ok(found)
    }
}

/// A name, borrowed unless it has escapes.
#[derive(serde::Deserialize)]
struct Name<'l>(#[serde(borrow)] Cow<'l, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_at_top_level_collide() {
        let taken = Taken::new(vec!["key", "text"]);
        for (object, found) in [
            ("{}", None),
            ("{\"a\":\"key\"}", None),
            ("{\"a\":{\"text\":1}}", None),
            ("{\"a\":1,\"text\":{}}", Some("text")),
            ("{\"k\\u0065y\":1}", Some("key")),
        ] {
            assert_eq!(taken.found_in(object).as_deref(), found, "{object}");
        }
    }

    #[test]
    fn line_separators_of_unicode_are_escaped() {
        let mut out =
            "{\"before\":\"\u{2028}\"}\n{\"a\":\"\u{85}é\u{2028}\u{2029}…\"".as_bytes().to_vec();
        let begin = out.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        escape_line_ends(&mut out, begin);
        let line = String::from_utf8(out.split_off(begin)).unwrap();
        assert_eq!(line, r#"{"a":"\u0085é\u2028\u2029…""#);
        assert!(String::from_utf8(out).unwrap().contains('\u{2028}'), "lines before stay");
    }

    #[test]
    fn an_object_of_several_lines_becomes_one() {
        let mut line = Vec::new();
        on_one_line("\"a\": 1,\r\n \"b\": \"x\\ny\"", &mut line);
        assert_eq!(line, b"\"a\": 1,   \"b\": \"x\\ny\"");
    }
}
