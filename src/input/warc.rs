//! Web archives (WARC, WET): their records of text. HTML is counted and left to whoever extracts its text.

use super::error::ReadError;
use super::http::{self, PayloadKind};
use super::item::{ReadItem, ReadOptions, SkippedContent, byte_len, line_limit, reject, to_usize};
use super::metadata::RecordBuilder;
use super::sequence::{FormatReader, RecordPlace};
use super::stream::{BoundedBytes, ByteStream, StreamPiece};
use crate::model::{Origin, ReadRecord, RecordKey, Reject, RejectReason};
use std::path::Path;

/// What every record begins with.
pub(super) const MARK: &[u8] = b"WARC/";
/// What every record ends with.
const END: &[u8] = b"\r\n\r\n";
/// The header of a record is no longer than this.
const MOST_HEADER: usize = 1 << 20;
/// A payload whose kind is of no use is passed over, of any length.
const NOTHING: usize = 0;

/// The records of a web archive.
pub(super) struct WarcReader {
    options: ReadOptions,
    passed: SkippedContent,
    /// All records, and the pages among them.
    records: u64,
    pages: u64,
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
}

impl WarcReader {
    pub(super) fn new(options: &ReadOptions) -> Self {
        Self {
            options: options.clone(),
            passed: SkippedContent::default(),
            records: 0,
            pages: 0,
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
            PayloadKind::Html | PayloadKind::Other | PayloadKind::Nothing => NOTHING,
        };
        let Some(payload) = payload(stream, header.bytes, limit)? else {
            let what =
                format!("the record says Content-Length: {}, and the file ends", header.bytes);
            return Err(fault(what));
        };
        let origin = place.clone().at(at);
        let (content, item) = match limit {
            NOTHING => (expected(&header), None),
            _ => self.item(&header, &payload.bytes, origin),
        };
        // Two line ends, or that of the file: a length that is one too long takes a part of them.
        let behind = stream.peek(END.len())?;
        let is_end = behind.is_empty() || behind == END || behind.starts_with(b"\n\n");
        stream.skip_while(|byte| matches!(byte, b'\r' | b'\n'))?;
        let next = stream.peek(MARK.len())?;
        if !is_end || (!next.is_empty() && next != MARK) {
            let what = format!(
                "the record says Content-Length: {}, and no record stands behind it",
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
        origin: Origin,
    ) -> (PayloadKind, Option<ReadItem>) {
        let max_doc_bytes = self.options.max_doc_bytes;
        let raw = match payload {
            BoundedBytes::Whole(raw) => *raw,
            BoundedBytes::TooLong { head, bytes } => {
                // Of an answer the beginning tells what it is.
                let content = match header.kind.as_str() {
                    "response" => http::HttpResponse::of(head)
                        .map_or(PayloadKind::Other, |answer| answer.content()),
                    _ => PayloadKind::Text,
                };
                let reason = RejectReason::TooLong { bytes: *bytes, limit: max_doc_bytes };
                let item =
                    (content == PayloadKind::Text).then(|| reject(reason, origin, head, *bytes));
                return (content, item);
            }
        };
        let (text, content_type) = if header.kind == "response" {
            let Some(answer) = http::HttpResponse::of(raw) else {
                return (PayloadKind::Other, None);
            };
            if answer.content() != PayloadKind::Text {
                return (answer.content(), None);
            }
            match answer.text(max_doc_bytes) {
                Ok(text) => (text, answer.content_type),
                Err(reason) => {
                    let item = reject(reason, origin, raw, byte_len(raw.len()));
                    return (PayloadKind::Text, Some(item));
                }
            }
        } else {
            (raw.into(), header.content_type.clone())
        };
        let item = match self.made(header, &text, &content_type, origin.clone()) {
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
        origin: Origin,
    ) -> Result<ReadRecord, RejectReason> {
        let text = std::str::from_utf8(text)
            .map_err(|error| RejectReason::NotUtf8(byte_len(error.valid_up_to())))?;
        let bytes = byte_len(text.len());
        if bytes > self.options.max_doc_bytes {
            return Err(RejectReason::TooLong { bytes, limit: self.options.max_doc_bytes });
        }
        let languages = header.languages.as_deref();
        let language = languages.and_then(|codes| codes.split(',').next()).map(str::trim);
        let fields = [
            ("url", header.url.as_deref()),
            ("date", header.date.as_deref()),
            ("record_id", header.id.as_deref()),
            ("record_type", Some(header.kind.as_str())),
            ("content_type", Some(content_type)),
            ("language", language),
            ("languages", languages.filter(|codes| codes.contains(','))),
        ];
        let mut key = RecordKey::Position;
        let mut metadata = RecordBuilder::new();
        for (name, value) in fields {
            let Some(value) = value.filter(|value| !value.is_empty()) else { continue };
            if self.options.id_field.as_deref() == Some(name) {
                key = RecordKey::Given(value.to_owned());
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
        Ok(ReadRecord { key, source: None, text, metadata: metadata.finish(), origin })
    }
}

impl FormatReader for WarcReader {
    fn next(
        &mut self,
        stream: &mut ByteStream,
        place: RecordPlace,
    ) -> Result<Option<ReadItem>, ReadError> {
        stream.mark_record();
        while !self.is_done {
            stream.skip_while(|byte| matches!(byte, b'\r' | b'\n'))?;
            if stream.peek(1)?.is_empty() {
                self.is_done = true;
                break;
            }
            let (content, item) = self.record(stream, &place)?;
            self.records += 1;
            match (content, item) {
                (_, Some(item)) => return Ok(Some(item)),
                (PayloadKind::Html, None) => {
                    self.pages += 1;
                    self.passed.html += 1;
                }
                (PayloadKind::Other, None) => self.passed.other += 1,
                (PayloadKind::Text | PayloadKind::Nothing, None) => {}
            }
        }
        let (records, pages) = (std::mem::take(&mut self.records), self.pages);
        if records == 0 || place.number > 0 {
            return Ok(None);
        }
        let why = match pages {
            0 => format!(
                "a web archive of {records} records, none of them a text: give the WET files of the crawl"
            ),
            _ => format!(
                "a web archive of {pages} HTML pages and no text: extract their text to JSON lines first (trafilatura and resiliparse do), or give the WET files of the crawl"
            ),
        };
        let offset = stream.offset();
        Ok(Some(reject(RejectReason::NotText(why), place.at(offset), b"", 0)))
    }

    fn take_passed(&mut self) -> SkippedContent {
        std::mem::take(&mut self.passed)
    }
}

/// What a record has in it, by its header; of an answer, that it may be a text.
fn expected(header: &WarcHeader) -> PayloadKind {
    match header.kind.as_str() {
        "response" if header.content_type.starts_with("application/http") => PayloadKind::Text,
        "response" => http::content(&header.content_type),
        "conversion" | "resource" if header.content_type.is_empty() => PayloadKind::Text,
        "conversion" | "resource" => http::content(&header.content_type),
        _ => PayloadKind::Nothing,
    }
}

/// The header of the record that begins here, whose payload comes next.
fn header(stream: &mut ByteStream, path: &Path) -> Result<WarcHeader, ReadError> {
    let at = stream.offset();
    let fault = |what: &str| damaged(path, at, what.to_owned());
    let mut end = http::HttpHeaderEnd::default();
    let piece = stream.next_piece(MOST_HEADER, 0, |bytes| end.find(bytes))?;
    let Some(StreamPiece { bytes: BoundedBytes::Whole(bytes), is_closed: true, .. }) = piece else {
        return Err(fault("the header of a record does not end"));
    };
    if !bytes.starts_with(MARK) {
        return Err(fault("no record of a web archive begins here"));
    }
    let mut header = WarcHeader::default();
    let mut bytes_said = None;
    for (name, value) in http::fields(&String::from_utf8_lossy(bytes)) {
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
            _ => {}
        }
    }
    header.bytes = bytes_said.ok_or_else(|| fault("a record without a Content-Length"))?;
    Ok(header)
}

/// So many bytes, of which no more than `limit` are held; none when the input ends before.
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
