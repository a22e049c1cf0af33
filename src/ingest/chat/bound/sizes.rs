//! How long values are as text, without making the text.

use super::allowance::{bytes_left, refusal};
use minijinja::Error;
use minijinja::value::{Value, ValueKind};
use std::fmt::{self, Write};
use std::io;

/// Bytes of a value in a list, with what the list needs beside.
pub(super) const ITEM: usize = 32;
/// Longest a number, a truth value or nothing is as text: the largest float with its point and zeros.
const SCALAR: usize = 400;
/// Stack that writing one value may take: lists within lists go down it, and one that holds itself
/// has no end.
const STACK: usize = 256 << 10;

/// How long a value is as text.
pub(super) fn text_len(value: &Value) -> Result<usize, Error> {
    match value.as_str() {
        Some(text) => Ok(text.len()),
        None if is_nested(value) || value.kind() == ValueKind::Plain => {
            measure(format_args!("{value}"))
        }
        None => Ok(SCALAR),
    }
}

/// How long a value is as the engine's own notation, over several lines.
pub(super) fn shown_in_lines(value: &Value) -> Result<usize, Error> {
    measure(format_args!("{value:#?}"))
}

fn measure(arguments: fmt::Arguments<'_>) -> Result<usize, Error> {
    let mut sink = BoundedSink::new(Vec::new());
    sink.is_kept = false;
    match sink.write_fmt(arguments) {
        Ok(()) => Ok(sink.length),
        Err(_) => Err(sink.why()),
    }
}

/// Whether a value holds others.
pub(super) fn is_nested(value: &Value) -> bool {
    is_list(value) || value.kind() == ValueKind::Map
}

/// Whether a value is a list, or goes through one.
pub(super) fn is_list(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
}

/// How many items there are to go through; letters at most.
pub(super) fn count(value: &Value) -> Result<usize, Error> {
    if let Some(text) = value.as_str() {
        return Ok(text.len());
    }
    if !is_nested(value) {
        return Ok(0);
    }
    if let Some(length) = value.len() {
        return Ok(length);
    }
    let most = bytes_left() / ITEM + 1;
    Ok(value.try_iter()?.take(most).count())
}

/// Where text goes that must end: with too many bytes, or too deep.
pub(in super::super) struct BoundedSink {
    bytes: Vec<u8>,
    length: usize,
    limit: usize,
    stack: usize,
    is_kept: bool,
    is_deep: bool,
}

impl BoundedSink {
    /// With as many bytes as can still be made.
    pub(in super::super) fn new(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            length: 0,
            limit: bytes_left(),
            stack: stack(),
            is_kept: true,
            is_deep: false,
        }
    }

    /// What was written.
    pub(in super::super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Why it ended early.
    pub(in super::super) fn why(&self) -> Error {
        if self.is_deep {
            let why = "the template writes a value that is nested without end, or too deep";
            return refusal(why.to_owned());
        }
        let why = "the template writes a list or an object as text of more bytes than it may make; a higher --max-doc-bytes allows more";
        refusal(why.to_owned())
    }

    fn take(&mut self, bytes: &[u8]) -> bool {
        self.is_deep |= self.stack.abs_diff(stack()) > STACK;
        if self.is_deep || bytes.len() > self.limit - self.length {
            return false;
        }
        self.length += bytes.len();
        if self.is_kept {
            self.bytes.extend_from_slice(bytes);
        }
        true
    }
}

/// Where the stack stands.
#[inline(never)]
fn stack() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(&here).addr()
}

impl Write for BoundedSink {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.take(text.as_bytes()) { Ok(()) } else { Err(fmt::Error) }
    }
}

impl io::Write for BoundedSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.take(bytes) { Ok(bytes.len()) } else { Err(io::ErrorKind::FileTooLarge.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What replacing makes at most.
pub(super) fn replaced(text: &str, from: &str, to: &str) -> usize {
    let times = text.matches(from).count();
    (text.len() - times * from.len()).saturating_add(times.saturating_mul(to.len()))
}

/// What joining makes.
pub(super) fn joined(items: &Value, joiner: &str) -> Result<usize, Error> {
    let (limit, mut length) = (bytes_left(), 0_usize);
    if !is_nested(items) && items.as_str().is_none() {
        return Ok(0);
    }
    for item in items.try_iter()? {
        length = length.saturating_add(text_len(&item)?).saturating_add(joiner.len());
        if length > limit {
            break;
        }
    }
    Ok(length)
}

/// What a format makes at most: every field has the longest argument, and every number widens one.
pub(super) fn formatted(format: &str, values: &[Value]) -> Result<usize, Error> {
    let (mut longest, mut widths) = (SCALAR, 0_usize);
    for value in values {
        longest = longest.max(text_len(value)?);
        widths = widths.saturating_add(value.as_usize().unwrap_or(0));
    }
    if !format.contains('*') {
        widths = 0;
    }
    let numbers = format.split(|letter: char| !letter.is_ascii_digit());
    for number in numbers.filter(|number| !number.is_empty()) {
        widths = widths.saturating_add(number.parse().unwrap_or(usize::MAX));
    }
    let fields = format.matches(['%', '{']).count();
    // A filling character takes up to four bytes.
    let widths = widths.saturating_mul(4);
    Ok(fields.saturating_mul(longest).saturating_add(widths).saturating_add(format.len()))
}
