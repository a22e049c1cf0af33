//! What an export is asked for.

use super::manifest::BUILDS;
use crate::epoch::error::EpochError;
use crate::output::{LocalDestination, OutputRequest, refuse_occupied};
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
    /// [`EpochError::Destination`]; [`EpochError::Io`].
    pub fn refuse_taken(&self) -> Result<(), EpochError> {
        self.destination().map(drop)
    }

    /// The directory, which is not there, or empty.
    pub(super) fn destination(&self) -> Result<LocalDestination, EpochError> {
        let request = OutputRequest {
            to: self.out,
            stores: None,
            is_directory: true,
            force: false,
            maker: &BUILDS,
        };
        Ok(refuse_occupied(&request)?)
    }
}
