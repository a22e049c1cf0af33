//! Reads JSON objects: a line each, in arrays, or one behind the other over any number of lines.
//!
//! The first objects vote on the text field.

use super::block::{FormatReader, RawRecord, RecordPlace};
use super::error::{ReadError, way_to_text};
use super::foreign::SEPARATOR;
use super::item::{ReadOptions, byte_len, line_limit, reject};
use super::json_record::guess_field;
use super::stream::{BoundedBytes, ByteStream, line_end};
use super::text_field::vote_text_field;
use memchr::{memchr, memchr2};
use model::{RecordOrigin, Reject, RejectReason};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The objects of a JSON file.
pub(super) struct JsonValuesReader {
    objects: JsonObjects,
    /// Whether the user did not name the format: without a text field the file is refused as what it is.
    is_guess: bool,
    /// Each value has a separator in front (RFC 7464), which ends one that was cut off.
    is_sequence: bool,
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
            is_sequence: false,
            in_array: false,
            is_behind_value: false,
            is_done: false,
            is_over: false,
        }
    }

    /// This reader, of values that have a separator in front.
    pub(super) fn of_sequence(self) -> Self {
        Self { is_sequence: true, ..self }
    }

    /// Skips what stands between values.
    fn advance(
        &mut self,
        stream: &mut ByteStream,
        place: &RecordPlace,
    ) -> Result<JsonGap, ReadError> {
        loop {
            let is_sequence = self.is_sequence;
            stream.skip_while(|byte| {
                byte.is_ascii_whitespace() || is_sequence && byte == SEPARATOR
            })?;
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
                    return Err(fault("neither a comma nor the end of the array after a value"));
                }
                _ => return Ok(JsonGap::Value),
            }
            stream.next_piece(1, 0, |bytes| (!bytes.is_empty()).then_some(1))?;
        }
    }
}

impl FormatReader for JsonValuesReader {
    fn next<'s>(
        &mut self,
        stream: &'s mut ByteStream,
        place: RecordPlace,
    ) -> Result<Option<RawRecord<'s>>, ReadError> {
        if self.is_done {
            return Ok(None);
        }
        self.objects.vote(stream, value_in)?;
        if place.number > 0 {
            stream.mark();
        }
        if let JsonGap::End = self.advance(stream, &place)? {
            self.is_over = true;
            return Ok(None);
        }
        let mut end = JsonValueEnd::default();
        let limit = self.objects.limit();
        let is_sequence = self.is_sequence;
        let piece = stream.next_piece(limit, Reject::MAX_RAW, |bytes| {
            let next = is_sequence.then(|| memchr(SEPARATOR, bytes)).flatten();
            end.find(next.and_then(|next| bytes.get(..next)).unwrap_or(bytes)).or(next)
        })?;
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

    /// Behind the last value: where a list that has grown since continues.
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
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            if std::mem::take(&mut self.is_escaped) {
                at += 1;
                continue;
            }
            if self.in_string {
                at += string_mark(bytes.get(at..)?)?;
                self.is_escaped = bytes.get(at) == Some(&b'\\');
                self.in_string = self.is_escaped;
                at += 1;
                if !self.in_string && self.depth == 0 {
                    return Some(at);
                }
                continue;
            }
            if self.depth > 0 {
                // Numbers, words, colons and commas of a list or an object.
                let is_mark = |byte: &u8| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']');
                match bytes.get(at..)?.iter().position(is_mark)? {
                    0 => {}
                    skipped => {
                        at += skipped;
                        continue;
                    }
                }
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
            at += 1;
        }
        None
    }
}

/// Where in a JSON string its end or an escape stands.
fn string_mark(bytes: &[u8]) -> Option<usize> {
    /// Most names are found sooner than a search for longer ones begins.
    const SHORT: usize = 12;
    let short = bytes.iter().take(SHORT).position(|byte| matches!(byte, b'"' | b'\\'));
    short.or_else(|| Some(SHORT + memchr2(b'"', b'\\', bytes.get(SHORT..)?)?))
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
    fn next<'s>(
        &mut self,
        stream: &'s mut ByteStream,
        place: RecordPlace,
    ) -> Result<Option<RawRecord<'s>>, ReadError> {
        self.objects.vote(stream, line_in)?;
        match stream.next_line(self.objects.limit(), Reject::MAX_RAW)? {
            Some((offset, line)) => self.objects.raw(&line, place.at(offset), false).map(Some),
            None => Ok(None),
        }
    }

    /// Line by line, so that the text field is the same as the first time, and a last line that has grown since is
    /// noticed.
    fn skip(&mut self, stream: &mut ByteStream, _: RecordPlace) -> Result<bool, ReadError> {
        self.objects.vote(stream, line_in)?;
        match stream.next_line(self.objects.limit(), 0)? {
            Some((_, BoundedBytes::Whole(line))) => self.objects.learn(line),
            Some(_) => {}
            None => return Ok(false),
        }
        Ok(true)
    }
}

/// The place of the next line that is not blank.
fn line_in(ahead: &[u8], is_all: bool) -> Option<Range<usize>> {
    let from = ahead.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let line = ahead.get(from..)?;
    let end = line_end(line).or(is_all.then_some(line.len()))?;
    Some(from..from + end)
}

/// The place of the next value, in a list or behind another one.
fn value_in(ahead: &[u8], _: bool) -> Option<Range<usize>> {
    let is_between = |byte: &u8| byte.is_ascii_whitespace() || b"[,]\x1e".contains(byte);
    let from = ahead.iter().position(|byte| !is_between(byte))?;
    let end = JsonValueEnd::default().find(ahead.get(from..)?)?;
    Some(from..from + end)
}

/// Objects that come one after the other, and which of their fields is the text.
pub(super) struct JsonObjects {
    text_field: Option<Arc<str>>,
    whole: bool,
    limit: usize,
    has_voted: bool,
}

impl JsonObjects {
    pub(super) fn new(options: &ReadOptions) -> Self {
        let text_field = options.text_field.as_deref().map(Arc::from);
        Self { text_field, whole: options.whole, limit: line_limit(options), has_voted: false }
    }

    /// Has the first objects of a stream that stands at its beginning vote on the text field, where none is named.
    fn vote(
        &mut self,
        stream: &mut ByteStream,
        object_in: impl Fn(&[u8], bool) -> Option<Range<usize>>,
    ) -> Result<(), ReadError> {
        if self.has_voted || self.whole || self.text_field.is_some() {
            return Ok(());
        }
        self.has_voted = true;
        let guess = |object: &[u8]| guess_field(object).ok().and_then(Result::ok);
        self.text_field = vote_text_field(stream, object_in, guess)?.map(Arc::from);
        Ok(())
    }

    /// How long an object may be.
    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    /// Guesses the text field from an object that is skipped, where none of those that voted had one.
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
    pub(super) fn raw<'s>(
        &mut self,
        object: &BoundedBytes<'s>,
        origin: RecordOrigin,
        is_spread: bool,
    ) -> Result<RawRecord<'s>, ReadError> {
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
                    let (path, record) = (origin.path.to_path_buf(), Some(origin.number));
                    return Err(ReadError::NoTextField { path, record, found });
                }
                Err(reason) => {
                    return Ok(reject(reason, origin, object, byte_len(object.len())).into());
                }
            }
        }
        let text = self.text_field.clone().filter(|_| !self.whole);
        Ok(RawRecord::Json { object: Cow::Borrowed(object), text, is_spread, origin })
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
}
