//! Answers of web servers as archives keep them: header, kind, and the body as it was before it was sent.

use super::item::byte_len;
use crate::model::RejectReason;
use std::borrow::Cow;
use std::io::Read;

/// What a record has in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PayloadKind {
    Text,
    Html,
    /// Anything else that somebody asked for and got.
    Other,
    /// What only describes other records.
    Nothing,
}

/// An answer.
pub(super) struct HttpResponse<'r> {
    is_good: bool,
    /// In lower case.
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
                _ => {}
            }
        }
        Some(answer)
    }

    pub(super) fn content(&self) -> PayloadKind {
        if self.is_good { content(&self.content_type) } else { PayloadKind::Other }
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
            other => Err(RejectReason::Form(format!(
                "its body is compressed in a way that is not read: {other}"
            ))),
        }
    }
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
        // A line that begins with space goes on with the one before it.
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
pub(super) struct HttpHeaderEnd {
    /// Something stands on the line that is looked at.
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

/// A body put together from its chunks; none when it is not in chunks.
fn dechunked(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let end = body.iter().position(|byte| *byte == b'\n')?;
        let (line, rest) = body.split_at_checked(end + 1)?;
        let size = std::str::from_utf8(line).ok()?.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            return Some(whole);
        }
        let (chunk, rest) = rest.split_at_checked(size)?;
        whole.extend_from_slice(chunk);
        body = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n"))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_put_together_and_what_is_not_in_chunks_is_left() {
        let chunks = b"5\r\nChunk\r\n4;x=y\r\ned, \r\n7\r\nin part\r\n0\r\n\r\n";
        assert_eq!(dechunked(chunks).as_deref(), Some(&b"Chunked, in part"[..]));
        for body in [&b"plain text\n"[..], b"5\r\nshort", b"ffffffffffffffff\r\nx", b""] {
            assert_eq!(dechunked(body), None);
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
        assert!(why.to_string().ends_with("not read: br"), "{why}");
        assert!(HttpResponse::of(b"no answer\n\nbody").is_none());
        assert!(HttpResponse::of(b"HTTP/1.1 200 OK\r\n").is_none());
    }
}
