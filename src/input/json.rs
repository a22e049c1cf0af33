//! JSON objects in arrays, or one behind the other over any number of lines.

use super::error::ReadError;
use super::item::{ReadItem, ReadOptions, reject};
use super::objects::Objects;
use super::sequence::{FormatReader, RecordPlace};
use super::stream::{ByteStream, StreamPiece};
use crate::model::{Reject, RejectReason};

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
