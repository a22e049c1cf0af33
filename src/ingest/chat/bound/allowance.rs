//! Bytes that the rendering of this thread may still make and write.

use super::super::work::RenderLimits;
use crate::model::Interrupt;
use minijinja::{Error, ErrorKind};
use std::cell::RefCell;

/// Values made for one text, in longest texts: a template may well put a text together in several
/// values, or piece by piece, but not without end.
const MADE: u64 = 8;
/// At least so much, so that a small `--max-doc-bytes` is no small allowance.
const LEAST: u64 = 16 << 20;
/// Bytes written for one text, in longest texts: what macros and captured blocks write is written again.
const WRITTEN: u64 = 4;
/// A stop is looked for when a value of this size is made; smaller ones are as many as there are steps.
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
pub(in super::super) struct RenderAllowance(Option<AllowanceState>);

impl RenderAllowance {
    /// Begins a rendering on this thread.
    pub(in super::super) fn begin(limits: &RenderLimits) -> Self {
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

/// Takes the bytes of a value off, before it is made where they can be told.
pub(in super::super) fn charge_made(bytes: usize) -> Result<(), Error> {
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

/// Fails when so many bytes could not be made; takes nothing off.
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
pub(in super::super) fn charge_written(bytes: usize) -> Result<(), Error> {
    with(|running| match running.written.checked_sub(bytes as u64) {
        Some(left) => {
            running.written = left;
            Ok(())
        }
        None => Err(refusal("the template writes more than --max-doc-bytes allows".to_owned())),
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
        "the template makes values of more than {} bytes for one text: it multiplies what it is given, or the record is too long for it; a higher --max-doc-bytes allows more ({MADE} times as much)",
        running.made_of
    ))
}

/// An error of a template, with the reason.
pub(super) fn refusal(why: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, why)
}
