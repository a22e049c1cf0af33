//! What is found in a row, and what should stand at its positions.

use super::checks::Property;
use crate::epoch::pack::Segment;

/// What stands at each position of a row: (segment, token of it), or a pad.
pub(super) type RowPlaces = Vec<Option<(usize, usize)>>;

/// What was found in a row.
#[derive(Debug, Default)]
pub(super) struct RowFindings {
    /// Tokens that its segments hold.
    pub real: usize,
    /// Its segments, where they could be made sense of.
    pub segments: Vec<Segment>,
    /// Where in the row each of them begins.
    pub starts: Vec<usize>,
    pub failures: Vec<(Property, String)>,
}

impl RowFindings {
    pub fn fail(&mut self, property: Property, why: String) {
        self.failures.push((property, why));
    }
}
