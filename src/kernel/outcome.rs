//! What was decided about a document.

use super::overlap::Overlap;
use crate::dedup::Rank;
use crate::model::{MatchKind, Standing};

/// What became of one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The document.
    pub rank: Rank,
    /// Its standing; none while candidates that it was not compared with may decide it.
    pub standing: Option<Standing>,
    /// What explains its removal.
    pub witness: Option<Witness>,
}

/// The kept document that explains a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The kept document.
    pub rank: Rank,
    /// How the two relate.
    pub kind: MatchKind,
    /// Their overlap, the removed document's shingles first; none where no edge tells it, which the transitive modes
    /// lead to.
    pub overlap: Option<Overlap>,
}

impl Witness {
    /// The similarity that is shown.
    #[must_use]
    pub fn jaccard(&self) -> Option<f64> {
        if self.kind == MatchKind::Exact {
            return Some(1.0);
        }
        self.overlap.map(Overlap::jaccard)
    }
}

impl Outcome {
    /// The document that names its cluster: itself when it is kept, else its witness.
    #[must_use]
    pub fn cluster(&self) -> Option<Rank> {
        match self.standing {
            Some(Standing::Kept) => Some(self.rank),
            _ => self.witness.map(|witness| witness.rank),
        }
    }
}
