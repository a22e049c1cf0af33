//! The bounds of rendering one record: steps, bytes that a template makes and writes, and lengths known beforehand.
//!
//! Chat templates come from strangers' files and are programs. An allowance of the thread pays for what a template
//! makes before it is made; so the length of a value as text is computed without making the text.

use super::values::write_str;
use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};
use model::Interrupt;
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::fmt::Write;

/// Steps of one rendering: some 500 for each of ten thousand messages.
pub(super) const STEPS: u64 = 5_000_000;
/// Steps of all renderings of one record: those of a template without generation marks render a
/// conversation again for every turn that is trained on.
const RECORD_STEPS: u64 = 200_000_000;

/// Bounds for every record.
#[derive(Clone, Debug)]
pub(super) struct RenderLimits {
    /// Bytes of a text.
    pub(super) bytes: u64,
    /// Steps of all renderings of a record.
    pub(super) steps: u64,
    pub(super) interrupt: Interrupt,
}

impl Default for RenderLimits {
    fn default() -> Self {
        Self { bytes: 64 << 20, steps: RECORD_STEPS, interrupt: Interrupt::default() }
    }
}

/// The budget that is left for one record.
pub(super) struct RenderBudget<'a> {
    limits: &'a RenderLimits,
    left: u64,
}

impl<'a> RenderBudget<'a> {
    pub(super) const fn new(limits: &'a RenderLimits) -> Self {
        Self { limits, left: limits.steps }
    }

    /// The bounds of every rendering.
    pub(super) const fn limits(&self) -> &'a RenderLimits {
        self.limits
    }

    /// Fails for a text that is too long. Generation marks are written too, and taken out again.
    pub(super) fn check_length(&self, text: &str) -> Result<(), String> {
        if text.len() as u64 > self.limits.bytes.saturating_add(4096) {
            return Err("the template writes more than is allowed by --max-doc-bytes".to_owned());
        }
        Ok(())
    }

    /// Takes the steps of a rendering off.
    pub(super) fn spend(&mut self, steps: u64) -> Result<(), String> {
        self.left = self.left.checked_sub(steps).ok_or_else(|| {
            format!(
                "too many turns are trained on for a template without generation marks, which renders the conversation again for each (over {} steps); mark the trained parts with {{% generation %}}, or split the conversation",
                self.limits.steps
            )
        })?;
        self.check_interrupt_of_render()
    }

    /// Fails when a stop was requested: what the record becomes does not matter any more.
    pub(super) fn check_interrupt_of_render(&self) -> Result<(), String> {
        if self.limits.interrupt.is_raised() { Err("interrupted".to_owned()) } else { Ok(()) }
    }
}

/// Values made for one text, in longest texts: a template may well put a text together in several
/// values, or piece by piece, but not without end.
const MADE: u64 = 8;
/// The least allowance, so that a small `--max-doc-bytes` is not a small allowance.
const LEAST: u64 = 16 << 20;
/// Bytes written for one text, in longest texts: what macros and captured blocks write is written again.
const WRITTEN: u64 = 4;
/// A request to stop is looked for when a value of this size is made; smaller values number no more than steps.
const POLLED: u64 = 4096;

struct AllowanceState {
    made: u64,
    made_of: u64,
    written: u64,
    interrupt: Interrupt,
}

thread_local! {
    // Filters and operators are functions of the compiled template, which all threads share; they are
    // called by the thread that renders, and a rendering neither yields nor starts another.
    static RUNNING: RefCell<Option<AllowanceState>> = const { RefCell::new(None) };
}

/// The allowance of one rendering, for as long as it lives.
pub(super) struct RenderAllowance(Option<AllowanceState>);

impl RenderAllowance {
    /// Begins a rendering on this thread.
    pub(super) fn begin(limits: &RenderLimits) -> Self {
        let made = limits.bytes.saturating_mul(MADE).max(LEAST);
        let written = limits.bytes.saturating_mul(WRITTEN).saturating_add(4096);
        let interrupt = limits.interrupt.clone();
        let running = AllowanceState { made, made_of: made, written, interrupt };
        Self(RUNNING.replace(Some(running)))
    }
}

impl Drop for RenderAllowance {
    fn drop(&mut self) {
        RUNNING.replace(self.0.take());
    }
}

/// Takes the bytes of a value off the allowance, before it is made where the size is known.
pub(super) fn charge_made(bytes: usize) -> Result<(), Error> {
    with(|running| {
        if bytes as u64 >= POLLED && running.interrupt.is_raised() {
            return Err(refusal("interrupted".to_owned()));
        }
        match running.made.checked_sub(bytes as u64) {
            Some(left) => {
                running.made = left;
                Ok(())
            }
            None => Err(too_much(running)),
        }
    })
}

/// Fails when `bytes` bytes could not be made; takes nothing off.
pub(super) fn check_room(bytes: usize) -> Result<(), Error> {
    with(|running| if bytes as u64 > running.made { Err(too_much(running)) } else { Ok(()) })
}

/// How many bytes can be made.
pub(super) fn bytes_left() -> usize {
    RUNNING.with_borrow(|running| {
        running.as_ref().map_or(0, |running| usize::try_from(running.made).unwrap_or(usize::MAX))
    })
}

/// Takes bytes that are written off: to the text, to a captured block or by a macro.
pub(super) fn charge_written(bytes: usize) -> Result<(), Error> {
    with(|running| match running.written.checked_sub(bytes as u64) {
        Some(left) => {
            running.written = left;
            Ok(())
        }
        None => {
            Err(refusal("the template writes more than is allowed by --max-doc-bytes".to_owned()))
        }
    })
}

fn with(act: impl FnOnce(&mut AllowanceState) -> Result<(), Error>) -> Result<(), Error> {
    RUNNING.with_borrow_mut(|running| match running {
        Some(running) => act(running),
        None => Err(refusal("a template's function is called outside a rendering".to_owned())),
    })
}

fn too_much(running: &AllowanceState) -> Error {
    refusal(format!(
        "the template makes values of more than {} bytes for one text: it multiplies its input, or the record is too long for it; the limit is {MADE} times --max-doc-bytes",
        running.made_of
    ))
}

/// An error of a template, with the reason.
pub(super) fn refusal(why: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, why)
}

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
            let mut sink = BoundedSink::new(false);
            write_str(&mut sink, value).map_err(|_| sink.why())?;
            Ok(sink.length)
        }
        None => Ok(SCALAR),
    }
}

/// How long a value is as the engine's own notation, over several lines.
pub(super) fn shown_in_lines(value: &Value) -> Result<usize, Error> {
    let mut sink = BoundedSink::new(false);
    write!(sink, "{value:#?}").map_err(|_| sink.why())?;
    Ok(sink.length)
}

/// Python's text of a value; what is made again is taken off.
pub(super) fn python_text(value: &Value) -> Result<Cow<'_, str>, Error> {
    match value.as_str() {
        Some(text) => Ok(Cow::Borrowed(text)),
        None => BoundedSink::text(|out| write_str(out, value)).map(Cow::Owned),
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
pub(super) struct BoundedSink {
    text: String,
    length: usize,
    limit: usize,
    stack: usize,
    is_kept: bool,
    is_deep: bool,
}

impl BoundedSink {
    /// With as many bytes as can still be made.
    fn new(is_kept: bool) -> Self {
        let (limit, stack) = (bytes_left(), stack());
        Self { text: String::new(), length: 0, limit, stack, is_kept, is_deep: false }
    }

    /// The text that `write` writes; it is taken off.
    pub(super) fn text(write: impl FnOnce(&mut dyn Write) -> fmt::Result) -> Result<String, Error> {
        let mut sink = Self::new(true);
        write(&mut sink).map_err(|_| sink.why())?;
        charge_made(sink.length)?;
        Ok(sink.text)
    }

    /// Why it ended early.
    fn why(&self) -> Error {
        if self.is_deep {
            let why = "the template writes a value that is nested endlessly or too deeply";
            return refusal(why.to_owned());
        }
        let why = "the template writes a list or an object as text of more bytes than it may make; raise --max-doc-bytes";
        refusal(why.to_owned())
    }

    fn take(&mut self, text: &str) -> bool {
        self.is_deep |= self.stack.abs_diff(stack()) > STACK;
        if self.is_deep || text.len() > self.limit - self.length {
            return false;
        }
        self.length += text.len();
        if self.is_kept {
            self.text.push_str(text);
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
        if self.take(text) { Ok(()) } else { Err(fmt::Error) }
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
