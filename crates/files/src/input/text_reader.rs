//! Reads plain text: a file, a line or a paragraph as a document.

use super::block::{FormatReader, RawRecord, RecordPlace};
use super::error::ReadError;
use super::foreign::is_html;
use super::item::{InputFormat, ReadItem, ReadOptions, TextUnit, byte_len, reject, to_usize};
use super::stream::{BoundedBytes, ByteStream};
use model::invariant::part;
use model::text_file::without_byte_order_mark;
use model::{ReadRecord, RecordKey, RecordOrigin, Reject, RejectReason};

/// How much of a file that is not text is kept.
const HEAD: usize = 4096;

/// The one document that a file is.
struct WholeTextReader {
    max_doc_bytes: u64,
    is_done: bool,
    /// The file begins as an HTML page, and nobody said that it is a text.
    is_page: bool,
    is_guess: bool,
}

/// Lines or paragraphs, blank ones left out.
struct TextPartsReader {
    by_line: bool,
    max_doc_bytes: u64,
}

/// A file that is not text: one reject with the beginning of the file.
struct ForeignFileReader {
    /// The reason; `None` after it was returned.
    why: Option<String>,
    file_bytes: u64,
}

/// A text as the options have it cut.
pub(super) fn sequence(options: &ReadOptions) -> Box<dyn FormatReader> {
    let max_doc_bytes = options.max_doc_bytes;
    match options.text_by {
        TextUnit::File => Box::new(WholeTextReader {
            max_doc_bytes,
            is_done: false,
            is_page: false,
            is_guess: options.format == InputFormat::Auto,
        }),
        TextUnit::Line => Box::new(TextPartsReader { by_line: true, max_doc_bytes }),
        TextUnit::Paragraph => Box::new(TextPartsReader { by_line: false, max_doc_bytes }),
    }
}

/// A file of so many bytes that is not read, and why.
pub(super) fn foreign_reader(why: String, file_bytes: u64) -> Box<dyn FormatReader> {
    Box::new(ForeignFileReader { why: Some(why), file_bytes })
}

impl FormatReader for WholeTextReader {
    fn next<'s>(
        &mut self,
        stream: &'s mut ByteStream,
        place: RecordPlace,
    ) -> Result<Option<RawRecord<'s>>, ReadError> {
        if self.is_done {
            return Ok(None);
        }
        self.is_done = true;
        let origin = place.at(stream.offset());
        let text = stream.rest(to_usize(self.max_doc_bytes), Reject::MAX_RAW)?;
        if text == BoundedBytes::Whole(b"") {
            return Ok(None);
        }
        let item = document(&text, self.max_doc_bytes, origin);
        self.is_page =
            self.is_guess && matches!(&item, ReadItem::Record(record) if is_html(&record.text));
        Ok(Some(item.into()))
    }

    fn is_single(&self) -> bool {
        true
    }

    fn is_page(&self) -> bool {
        self.is_page
    }
}

impl FormatReader for TextPartsReader {
    fn next<'s>(
        &mut self,
        stream: &'s mut ByteStream,
        place: RecordPlace,
    ) -> Result<Option<RawRecord<'s>>, ReadError> {
        let limit = to_usize(self.max_doc_bytes);
        if self.by_line {
            let Some((offset, line)) = stream.next_line(limit, Reject::MAX_RAW)? else {
                return Ok(None);
            };
            return Ok(Some(document(&line, self.max_doc_bytes, place.at(offset)).into()));
        }
        loop {
            let mut end = ParagraphEnd::default();
            let piece = stream.next_piece(limit, Reject::MAX_RAW, |bytes| end.find(bytes))?;
            let Some(piece) = piece else { return Ok(None) };
            let text = match piece.bytes {
                BoundedBytes::Whole(text) => BoundedBytes::Whole(without_line_ends(text)),
                long @ BoundedBytes::TooLong { .. } => long,
            };
            if text != BoundedBytes::Whole(b"") {
                return Ok(Some(document(&text, self.max_doc_bytes, place.at(piece.at)).into()));
            }
        }
    }
}

impl FormatReader for ForeignFileReader {
    fn next<'s>(
        &mut self,
        stream: &'s mut ByteStream,
        place: RecordPlace,
    ) -> Result<Option<RawRecord<'s>>, ReadError> {
        let Some(why) = self.why.take() else { return Ok(None) };
        let origin = place.at(stream.offset());
        let head = stream.peek(HEAD)?;
        let bytes = self.file_bytes.max(byte_len(head.len()));
        Ok(Some(reject(RejectReason::NotText(why), origin, head, bytes).into()))
    }

    fn is_single(&self) -> bool {
        true
    }
}

/// Finds the end of a paragraph: behind the first blank line. A blank line before one is a piece of its own.
#[derive(Default)]
struct ParagraphEnd {
    /// The line that is examined has something else than space in it.
    is_line: bool,
}

impl ParagraphEnd {
    fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' {
                if !std::mem::take(&mut self.is_line) {
                    return Some(at + 1);
                }
            } else if !byte.is_ascii_whitespace() {
                self.is_line = true;
            }
        }
        None
    }
}

/// Without the blank line that ends a paragraph and the line ends before it; nothing of a blank piece.
fn without_line_ends(text: &[u8]) -> &[u8] {
    let last = text.iter().rposition(|byte| !byte.is_ascii_whitespace());
    let Some(last) = last else { return b"" };
    // What space stands behind the last word of the last line belongs to it.
    let rest = part(text, last..);
    let line = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let text = text.get(..last + line).unwrap_or(text);
    text.strip_suffix(b"\r").unwrap_or(text)
}

/// The document of a stretch of text, or why it is rejected.
fn document(text: &BoundedBytes<'_>, max_doc_bytes: u64, origin: RecordOrigin) -> ReadItem {
    let raw = match text {
        BoundedBytes::Whole(raw) => *raw,
        BoundedBytes::TooLong { head, bytes } => {
            let reason = RejectReason::TooLong { bytes: *bytes, limit: max_doc_bytes };
            return reject(reason, origin, head, *bytes);
        }
    };
    match std::str::from_utf8(raw) {
        Ok(text) => {
            // Files that were put together have a mark of byte order within them.
            let text = without_byte_order_mark(text).to_owned();
            let metadata = "{}".to_owned();
            ReadItem::Record(ReadRecord::new(RecordKey::Position, text, metadata, origin))
        }
        Err(error) => {
            let reason = RejectReason::NotUtf8(byte_len(error.valid_up_to()));
            reject(reason, origin, raw, byte_len(raw.len()))
        }
    }
}
