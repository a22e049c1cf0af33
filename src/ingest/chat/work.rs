//! What one record may cost a template: templates come from strangers' files and are programs.

use crate::model::Interrupt;

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

/// What is left of them for one record.
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
            return Err("the template writes more than --max-doc-bytes allows".to_owned());
        }
        Ok(())
    }

    /// Takes the steps of a rendering off.
    pub(super) fn spend(&mut self, steps: u64) -> Result<(), String> {
        self.left = self.left.checked_sub(steps).ok_or_else(|| {
            format!(
                "too many turns are trained on for a template without generation marks, which renders the conversation anew for each (over {} steps); mark what is trained on with {{% generation %}}, or split the conversation",
                self.limits.steps
            )
        })?;
        self.check_interrupt_of_render()
    }

    /// Fails when a stop was asked for: what the record becomes does not matter any more.
    pub(super) fn check_interrupt_of_render(&self) -> Result<(), String> {
        if self.limits.interrupt.is_raised() { Err("interrupted".to_owned()) } else { Ok(()) }
    }
}
