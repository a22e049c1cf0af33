//! What an export is asked for.

use super::staging::refuse_taken;
use crate::epoch::error::EpochError;
use std::path::Path;

/// What to build, and where.
#[derive(Clone, Copy)]
pub struct BuildJob<'a> {
    /// The epoch of the plan, counted from 0.
    pub epoch: u64,
    /// The directory to create.
    pub out: &'a Path,
}

impl BuildJob<'_> {
    /// Refuses a directory that cannot be made: before a plan is stored for it, say.
    ///
    /// # Errors
    /// [`EpochError::OutputExists`]; [`EpochError::OutputUnnamed`].
    pub fn refuse_taken(&self) -> Result<(), EpochError> {
        refuse_taken(self.out)
    }
}
