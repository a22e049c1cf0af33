//! Reads the records of text in web archives (WARC, WET), also the bodies of web servers' answers.
//!
//! An archive keeps an answer as it was sent: its body is put together from its chunks and decompressed. HTML is
//! counted and left to whoever extracts its text.

use super::block::{FormatReader, RawRecord, RecordPlace};
use super::error::ReadError;
use super::foreign::{describe_foreign, is_marked};
use super::item::{ReadItem, ReadOptions, SkippedContent, byte_len, line_limit, reject, to_usize};
use super::keys;
use super::stream::{BoundedBytes, ByteStream, StreamPiece};
use model::{
    Capture, JsonObject, ReadRecord, RecordKey, RecordOrigin, Reject, RejectReason,
    timestamp_of_text,
};
use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

/// What every record begins with.
pub(super) const MARK: &[u8] = b"WARC/";
/// What every record ends with.
const END: &[u8] = b"\r\n\r\n";
/// The header of a record is no longer than this.
const MOST_HEADER: usize = 1 << 20;
/// A payload whose kind is of no use is skipped, of any length.
const NOTHING: usize = 0;
/// Why a text is rejected of which a record has the beginning alone.
const SEGMENT: &str = "the first segment of a record that goes on in others (WARC-Segment-Number), which are not joined: write it as one record";
/// When a page was fetched.
pub const CAPTURE_DATE: &str = "date";
/// Fields that tell when and as what a page was fetched, and nothing of its content: they differ at each crawl.
pub const CAPTURE_FIELDS: [&str; 2] = [CAPTURE_DATE, "record_id"];

/// The records of a web archive.
pub(super) struct WarcReader {
    options: ReadOptions,
    passed: SkippedContent,
    /// All records, and the pages among them, and descriptions of pages in JSON, as WAT files have them.
    records: u64,
    pages: u64,
    descriptions: u64,
    is_done: bool,
}

/// What the header of a record says.
#[derive(Debug, Default, PartialEq, Eq)]
struct WarcHeader {
    kind: String,
    bytes: u64,
    url: Option<String>,
    date: Option<String>,
    id: Option<String>,
    content_type: String,
    /// Codes with commas, the likeliest first.
    languages: Option<String>,
    /// Why the payload stops short of its end.
    truncated: Option<String>,
    /// The payload goes on in later records.
    is_segment: bool,
}

impl WarcReader {
    pub(super) fn new(options: &ReadOptions) -> Self {
        Self {
            options: options.clone(),
            passed: SkippedContent::default(),
            records: 0,
            pages: 0,
            descriptions: 0,
            is_done: false,
        }
    }

    /// What stands in the next record; an item if that is a text.
    fn record(
        &mut self,
        stream: &mut ByteStream,
        place: &RecordPlace,
    ) -> Result<(PayloadKind, Option<ReadItem>), ReadError> {
        let at = stream.offset();
        let header = header(stream, place.path())?;
        let fault = |what: String| damaged(place.path(), at, what);
        let limit = match expected(&header) {
            PayloadKind::Text => line_limit(&self.options),
            _ => NOTHING,
        };
        let Some(payload) = payload(stream, header.bytes, limit)? else {
            let what = format!(
                "the record has Content-Length: {}, but the file ends before",
                header.bytes
            );
            return Err(fault(what));
        };
        let origin = place.clone().at(at);
        let (content, item) = match limit {
            NOTHING => (expected(&header), None),
            _ => self.item(&header, &payload.bytes, origin),
        };
        // Two line ends, one at the end of the file, or that: a length that is one too long takes a part of them.
        let behind = stream.peek(END.len())?;
        let is_last = behind == b"\r\n" || behind == b"\n";
        let is_end = is_last || behind == END || behind.starts_with(b"\n\n");
        stream.skip_while(|byte| matches!(byte, b'\r' | b'\n'))?;
        let next = stream.peek(MARK.len())?;
        if !is_end || (!next.is_empty() && next != MARK) {
            let what = format!(
                "the record has Content-Length: {}, but no record follows there",
                header.bytes
            );
            return Err(fault(what));
        }
        Ok((content, item))
    }

    /// The text of a payload, if it is one.
    fn item(
        &self,
        header: &WarcHeader,
        payload: &BoundedBytes<'_>,
        origin: RecordOrigin,
    ) -> (PayloadKind, Option<ReadItem>) {
        let max_doc_bytes = self.options.max_doc_bytes;
        let raw = match payload {
            BoundedBytes::Whole(raw) => *raw,
            BoundedBytes::TooLong { head, bytes } => {
                // The beginning of an answer tells what it is.
                let content = match header.kind.as_str() {
                    "response" => {
                        HttpResponse::of(head).map_or(PayloadKind::Other, |answer| answer.content())
                    }
                    _ => PayloadKind::Text,
                };
                let reason = RejectReason::TooLong { bytes: *bytes, limit: max_doc_bytes };
                let item =
                    (content == PayloadKind::Text).then(|| reject(reason, origin, head, *bytes));
                return (content, item);
            }
        };
        let answer = match header.kind.as_str() {
            "response" => match HttpResponse::of(raw) {
                Some(answer) if answer.content() == PayloadKind::Text => Some(answer),
                other => return (other.map_or(PayloadKind::Other, |one| one.content()), None),
            },
            _ => None,
        };
        let made = match answer {
            _ if header.is_segment => Err(RejectReason::Form(SEGMENT.to_owned())),
            Some(answer) => answer
                .text(max_doc_bytes)
                .and_then(|text| self.made(header, &text, &answer.content_type, origin.clone())),
            None => self.made(header, raw, &header.content_type, origin.clone()),
        };
        let item = match made {
            Ok(record) => ReadItem::Record(record),
            Err(reason) => reject(reason, origin, raw, byte_len(raw.len())),
        };
        (PayloadKind::Text, Some(item))
    }

    /// The record of a text.
    fn made(
        &self,
        header: &WarcHeader,
        text: &[u8],
        content_type: &str,
        origin: RecordOrigin,
    ) -> Result<ReadRecord, RejectReason> {
        let text = std::str::from_utf8(text)
            .map_err(|error| RejectReason::NotUtf8(byte_len(error.valid_up_to())))?;
        let bytes = byte_len(text.len());
        if bytes > self.options.max_doc_bytes {
            return Err(RejectReason::TooLong { bytes, limit: self.options.max_doc_bytes });
        }
        let languages = header.languages.as_deref();
        let language = languages.and_then(|codes| codes.split(',').next()).map(str::trim);
        let [date, record_id] = CAPTURE_FIELDS;
        let fields = [
            ("url", header.url.as_deref()),
            (date, header.date.as_deref()),
            (record_id, header.id.as_deref()),
            ("record_type", Some(header.kind.as_str())),
            ("content_type", Some(content_type)),
            ("language", language),
            ("languages", languages.filter(|codes| codes.contains(','))),
            ("truncated", header.truncated.as_deref()),
        ];
        let mut key = RecordKey::Position;
        let mut metadata = JsonObject::default();
        for (name, value) in fields {
            let Some(value) = value.filter(|value| !value.is_empty()) else { continue };
            if self.options.id_field.as_deref() == Some(name) {
                key = keys::of_text(value).unwrap_or(key);
            } else {
                metadata.push(name, value);
            }
        }
        if let (Some(field), RecordKey::Position) = (&self.options.id_field, &key) {
            return Err(RejectReason::BadId(field.clone()));
        }
        let text = match self.options.whole {
            true => {
                metadata.push("text", text);
                String::new()
            }
            false => text.to_owned(),
        };
        let moment = header.date.as_deref().and_then(timestamp_of_text);
        let capture = Some(Capture { moment });
        Ok(ReadRecord { capture, ..ReadRecord::new(key, text, metadata.finish(), origin) })
    }
}

impl FormatReader for WarcReader {
    fn next<'s>(
        &mut self,
        stream: &'s mut ByteStream,
        place: RecordPlace,
    ) -> Result<Option<RawRecord<'s>>, ReadError> {
        while !self.is_done {
            stream.skip_while(|byte| matches!(byte, b'\r' | b'\n'))?;
            if stream.peek(1)?.is_empty() {
                self.is_done = true;
                break;
            }
            let (content, item) = self.record(stream, &place)?;
            self.records += 1;
            match (content, item) {
                (_, Some(item)) => return Ok(Some(item.into())),
                (PayloadKind::Html, None) => {
                    self.pages += 1;
                    self.passed.html += 1;
                }
                (PayloadKind::Gone, None) => self.passed.gone += 1,
                (PayloadKind::Part, None) => self.passed.partial += 1,
                (PayloadKind::Description, None) => self.descriptions += 1,
                (PayloadKind::Other, None) => self.passed.other += 1,
                (PayloadKind::Text | PayloadKind::Nothing, None) => {}
            }
        }
        let (records, pages) = (std::mem::take(&mut self.records), self.pages);
        if records == 0 || place.number > 0 {
            return Ok(None);
        }
        let why = match pages {
            0 if self.descriptions > 0 => format!(
                "{} descriptions of pages in JSON and no text, as WAT files have them: give the WET files of the crawl",
                self.descriptions
            ),
            0 => format!(
                "a web archive of {records} records without any text: give the WET files of the crawl"
            ),
            _ => format!(
                "a web archive of {pages} HTML pages and no text: extract their text to JSON lines first (trafilatura and resiliparse do), or give the WET files of the crawl"
            ),
        };
        let offset = stream.offset();
        Ok(Some(reject(RejectReason::NotText(why), place.at(offset), b"", 0).into()))
    }

    fn take_passed(&mut self) -> SkippedContent {
        std::mem::take(&mut self.passed)
    }
}

/// What a record has in it, by its header; of an answer, that it may be a text.
fn expected(header: &WarcHeader) -> PayloadKind {
    match header.kind.as_str() {
        "response" if header.content_type.starts_with("application/http") => PayloadKind::Text,
        "response" => content(&header.content_type),
        "conversion" | "resource" if header.content_type.is_empty() => PayloadKind::Text,
        "conversion" | "resource" => content(&header.content_type),
        "continuation" => PayloadKind::Part,
        "metadata" if header.content_type.starts_with("application/json") => {
            PayloadKind::Description
        }
        _ => PayloadKind::Nothing,
    }
}

/// The header of the record that begins here, whose payload comes next.
fn header(stream: &mut ByteStream, path: &Path) -> Result<WarcHeader, ReadError> {
    let at = stream.offset();
    let fault = |what: &str| damaged(path, at, what.to_owned());
    let mut end = HttpHeaderEnd::default();
    let piece = stream.next_piece(MOST_HEADER, 0, |bytes| end.find(bytes))?;
    let Some(StreamPiece { bytes: BoundedBytes::Whole(bytes), is_closed: true, .. }) = piece else {
        return Err(fault("the header of a record does not end"));
    };
    if !bytes.starts_with(MARK) {
        let other = describe_foreign(bytes, "").filter(|_| is_marked(bytes));
        return Err(fault(other.as_deref().unwrap_or("no record of a web archive begins here")));
    }
    let mut header = WarcHeader::default();
    let mut bytes_said = None;
    for (name, value) in fields(&String::from_utf8_lossy(bytes)) {
        match name.as_str() {
            "warc-type" => header.kind = value.to_ascii_lowercase(),
            "content-length" => bytes_said = value.parse::<u64>().ok(),
            "content-type" => header.content_type = value.to_ascii_lowercase(),
            "warc-target-uri" => {
                // Some writers put it between angle brackets.
                let url = value.trim_start_matches('<').trim_end_matches('>');
                header.url = Some(url.to_owned());
            }
            "warc-date" => header.date = Some(value),
            "warc-record-id" => header.id = Some(value),
            "warc-identified-content-language" => header.languages = Some(value),
            "warc-truncated" => header.truncated = Some(value.to_ascii_lowercase()),
            "warc-segment-number" => header.is_segment = true,
            _ => {}
        }
    }
    header.bytes = bytes_said.ok_or_else(|| fault("a record without a Content-Length"))?;
    Ok(header)
}

/// Reads the bytes of a record, and keeps at most `limit` of them; none when the input ends before.
fn payload(
    stream: &mut ByteStream,
    bytes: u64,
    limit: usize,
) -> Result<Option<StreamPiece<'_>>, ReadError> {
    let mut left = to_usize(bytes);
    let keep = if limit == NOTHING { 0 } else { Reject::MAX_RAW };
    let at = stream.offset();
    let piece = stream.next_piece(limit, keep, |ahead| match ahead.len() >= left {
        true => Some(left),
        false => {
            left -= ahead.len();
            None
        }
    })?;
    let empty = || StreamPiece { at, bytes: BoundedBytes::Whole(b""), is_closed: bytes == 0 };
    Ok(Some(piece.unwrap_or_else(empty)).filter(|piece| piece.is_closed))
}

fn damaged(path: &Path, offset: u64, what: String) -> ReadError {
    ReadError::Damaged { path: path.to_path_buf(), offset, what }
}

/// What a record has in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PayloadKind {
    Text,
    Html,
    /// The answer that a page is not there, or not any more.
    Gone,
    /// A part of something, without the rest.
    Part,
    /// What is known of a page, as JSON.
    Description,
    /// Anything else that somebody asked for and got.
    Other,
    /// What only describes other records.
    Nothing,
}

/// An answer.
struct HttpResponse<'r> {
    is_good: bool,
    /// The answer says that there is nothing (404) or nothing any more (410).
    is_gone: bool,
    /// The answer holds a part (206), and does not say that this is the whole.
    is_part: bool,
    /// The media type, in lower case.
    pub(super) content_type: String,
    transfer: String,
    encoding: String,
    body: &'r [u8],
}

impl<'r> HttpResponse<'r> {
    /// The answer that begins here; none if it does not.
    pub(super) fn of(raw: &'r [u8]) -> Option<Self> {
        let end = HttpHeaderEnd::default().find(raw)?;
        let (head, body) = raw.split_at_checked(end)?;
        let head = String::from_utf8_lossy(head);
        let status = head.strip_prefix("HTTP/")?.split_ascii_whitespace().nth(1)?;
        let mut answer = Self {
            is_good: status.len() == 3 && status.starts_with('2'),
            is_gone: matches!(status, "404" | "410"),
            is_part: status == "206",
            content_type: String::new(),
            transfer: String::new(),
            encoding: String::new(),
            body,
        };
        for (name, value) in fields(&head) {
            match name.as_str() {
                "content-type" => answer.content_type = value.to_ascii_lowercase(),
                "transfer-encoding" => answer.transfer = value.to_ascii_lowercase(),
                "content-encoding" => answer.encoding = value.to_ascii_lowercase(),
                "content-range" => answer.is_part &= !is_whole_range(&value),
                _ => {}
            }
        }
        Some(answer)
    }

    pub(super) fn content(&self) -> PayloadKind {
        match (self.is_good, self.is_gone) {
            (true, _) if self.is_part => PayloadKind::Part,
            (true, _) => content(&self.content_type),
            (false, true) => PayloadKind::Gone,
            (false, false) => PayloadKind::Other,
        }
    }

    /// The body as it was before it was sent: put together from its chunks, decompressed.
    pub(super) fn text(&self, most: u64) -> Result<Cow<'r, [u8]>, RejectReason> {
        // Some crawlers keep the header and not the chunks.
        let chunked = self.transfer.contains("chunked").then(|| dechunked(self.body)).flatten();
        let body: Cow<'r, [u8]> = chunked.map_or(Cow::Borrowed(self.body), Cow::Owned);
        let is_gzip = body.starts_with(&[0x1f, 0x8b]);
        match self.encoding.as_str() {
            "gzip" | "x-gzip" if is_gzip => {
                let mut text = Vec::new();
                let decoder = flate2::read::MultiGzDecoder::new(body.as_ref());
                let mut decoder = decoder.take(most.saturating_add(1));
                decoder.read_to_end(&mut text).map_err(|error| {
                    RejectReason::Form(format!("its body cannot be decompressed (gzip): {error}"))
                })?;
                match byte_len(text.len()) > most {
                    true => Err(RejectReason::TooLong { bytes: byte_len(text.len()), limit: most }),
                    false => Ok(Cow::Owned(text)),
                }
            }
            // Crawlers that decompress keep the header, too.
            _ if std::str::from_utf8(&body).is_ok() => Ok(body),
            "" | "identity" | "gzip" | "x-gzip" => Ok(body),
            other => {
                Err(RejectReason::Form(format!("its body has an unsupported compression: {other}")))
            }
        }
    }
}

/// Whether a `Content-Range` is all of a known length: `bytes 0-99/100`.
fn is_whole_range(value: &str) -> bool {
    let whole = || {
        let (unit, range) = value.split_once([' ', '='])?;
        let (range, length) = range.trim().split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let (last, length) = (last.parse::<u64>().ok()?, length.parse::<u64>().ok()?);
        let is_whole = first == "0" && last.checked_add(1) == Some(length);
        Some(is_whole && unit.eq_ignore_ascii_case("bytes"))
    };
    whole().unwrap_or(false)
}

/// What a media type stands for.
pub(super) fn content(content_type: &str) -> PayloadKind {
    let media = content_type.split(';').next().unwrap_or_default().trim();
    match media {
        "text/plain" => PayloadKind::Text,
        "text/html" | "application/xhtml+xml" => PayloadKind::Html,
        _ => PayloadKind::Other,
    }
}

/// The names, in lower case, and values of a header, without its first line.
pub(super) fn fields(header: &str) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in header.lines().skip(1) {
        // A line that begins with space continues with the one before it.
        if let (true, Some((_, value))) = (line.starts_with([' ', '\t']), fields.last_mut()) {
            value.push(' ');
            value.push_str(line.trim());
        } else if let Some((name, value)) = line.split_once(':') {
            fields.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    fields
}

/// The end of a header: behind its first blank line.
#[derive(Default)]
struct HttpHeaderEnd {
    /// Something stands on the line that is examined.
    is_line: bool,
}

impl HttpHeaderEnd {
    /// How many of `bytes`, which follow those it has seen, belong to the header, if it ends among them.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'\n' if !std::mem::take(&mut self.is_line) => return Some(at + 1),
                b'\n' | b'\r' => {}
                _ => self.is_line = true,
            }
        }
        None
    }
}

/// A body put together from its chunks, as far as they came: it may be cut within one, within the size of one, or
/// before the last. None when it is not in chunks: no size begins it, or what stands behind the first chunk is not a
/// line end.
fn dechunked(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    let mut is_first = true;
    loop {
        let Some((size, rest)) = chunk_size(body) else {
            return (!is_first).then_some(whole);
        };
        if size == 0 {
            return Some(whole);
        }
        let Some((chunk, rest)) = rest.split_at_checked(size) else {
            whole.extend_from_slice(rest);
            return Some(whole);
        };
        let behind = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n"));
        let is_cut = rest.is_empty() || rest == b"\r";
        match behind {
            None if is_first && !is_cut => return None,
            _ => whole.extend_from_slice(chunk),
        }
        let Some(behind) = behind else { return Some(whole) };
        (body, is_first) = (behind, false);
    }
}

/// The size of the chunk that begins there, and what stands behind its line: up to eight hexadecimal digits, perhaps with
/// an extension.
fn chunk_size(body: &[u8]) -> Option<(usize, &[u8])> {
    let end = body.iter().position(|byte| *byte == b'\n')?;
    let (line, rest) = body.split_at_checked(end + 1)?;
    let size = std::str::from_utf8(line).ok()?.split(';').next()?.trim();
    let is_size = (1..=8).contains(&size.len()) && size.bytes().all(|b| b.is_ascii_hexdigit());
    Some((usize::from_str_radix(size, 16).ok().filter(|_| is_size)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunked_bodies_are_joined_and_others_left() {
        let chunks = b"5\r\nChunk\r\n4;x=y\r\ned, \r\n7\r\nin part\r\n0\r\n\r\n";
        assert_eq!(dechunked(chunks).as_deref(), Some(&b"Chunked, in part"[..]));
        for body in
            [&b"plain text\n"[..], b"5\r\nlonger", b"ffffffffffffffff\r\nx", b"", b"5\r", b"\r\nx"]
        {
            assert_eq!(dechunked(body), None);
        }
        // Cut anywhere: what came, and no size.
        for cut in 4..chunks.len() {
            let whole = dechunked(&chunks[..cut]).expect("is in chunks");
            assert!(b"Chunked, in part".starts_with(&whole), "{cut}");
        }
    }

    #[test]
    fn a_range_is_the_whole_only_where_it_says_so() {
        for whole in ["bytes 0-99/100", "Bytes 0-0/1", "bytes=0-99/100"] {
            assert!(is_whole_range(whole), "{whole}");
        }
        for part in [
            "bytes 0-98/100",
            "bytes 1-99/100",
            "bytes 0-99/*",
            "bytes */100",
            "bytes 0-18446744073709551615/0",
            "bytes 0-18446744073709551615/*",
            "items 0-99/100",
            "bytes",
            "",
        ] {
            assert!(!is_whole_range(part), "{part}");
        }
    }

    #[test]
    fn a_header_goes_up_to_its_first_blank_line() {
        let raw =
            b"HTTP/1.1 200 OK\r\nContent-Type: Text/Plain;\r\n charset=utf-8\r\n\r\nbody\r\n\r\n";
        let answer = HttpResponse::of(raw).expect("is one");
        assert_eq!(answer.content_type, "text/plain; charset=utf-8");
        assert_eq!(answer.content(), PayloadKind::Text);
        assert_eq!(answer.text(100).expect("is one").as_ref(), b"body\r\n\r\n");
        let packed = b"HTTP/1.0 200 OK\nContent-Encoding: br\n\n\xff\xfe";
        let why = HttpResponse::of(packed).expect("is one").text(100).expect_err("is not read");
        assert!(why.to_string().ends_with("unsupported compression: br"), "{why}");
        assert!(HttpResponse::of(b"no answer\n\nbody").is_none());
        assert!(HttpResponse::of(b"HTTP/1.1 200 OK\r\n").is_none());
    }
}
