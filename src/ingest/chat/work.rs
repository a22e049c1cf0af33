//! What one record may cost a template: templates come from strangers' files and are programs.

use crate::model::Interrupt;
use std::io;

/// Steps of one rendering: some 500 for each of ten thousand messages.
pub(super) const STEPS: u64 = 5_000_000;
/// Steps of all renderings of one record: those of a template without generation marks render a
/// conversation again for every turn that is trained on.
const RECORD_STEPS: u64 = 200_000_000;

/// Bounds for every record.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// Bytes that a rendering may write.
    pub(super) bytes: u64,
    /// Steps of all renderings of a record.
    pub(super) steps: u64,
    pub(super) interrupt: Interrupt,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 64 << 20, steps: RECORD_STEPS, interrupt: Interrupt::default() }
    }
}

/// What is left of them for one record.
pub(super) struct Work<'a> {
    limits: &'a Limits,
    left: u64,
}

impl<'a> Work<'a> {
    pub(super) const fn new(limits: &'a Limits) -> Self {
        Self { limits, left: limits.steps }
    }

    /// What a rendering writes to.
    pub(super) fn output(&self) -> Output {
        // Generation marks are written too, and taken out again.
        let limit = self.limits.bytes.saturating_add(4096);
        Output {
            bytes: Vec::new(),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            is_full: false,
        }
    }

    /// Takes the steps of a rendering off.
    pub(super) fn spend(&mut self, steps: u64) -> Result<(), String> {
        self.left = self.left.checked_sub(steps).ok_or_else(|| {
            format!(
                "too many turns are trained on for a template without generation marks, which renders the conversation anew for each (over {} steps); mark what is trained on with {{% generation %}}, or split the conversation",
                self.limits.steps
            )
        })?;
        self.go_on()
    }

    /// Fails when a stop was asked for: what the record becomes does not matter any more.
    pub(super) fn go_on(&self) -> Result<(), String> {
        if self.limits.interrupt.is_raised() { Err("interrupted".to_owned()) } else { Ok(()) }
    }
}

/// A text in the making, that ends when it is too long.
pub(super) struct Output {
    bytes: Vec<u8>,
    limit: usize,
    is_full: bool,
}

impl Output {
    /// Whether more was written than it takes.
    pub(super) const fn is_full(&self) -> bool {
        self.is_full
    }

    pub(super) fn into_text(self) -> Result<String, String> {
        String::from_utf8(self.bytes).map_err(|error| error.to_string())
    }
}

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.limit {
            self.is_full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
