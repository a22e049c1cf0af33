//! What can be wrong with a mix; values, so that a caller can word them with the names of sources.

use thiserror::Error;

/// Why a mix is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum MixError {
    /// A schedule without points, or one that does not begin at 0.
    #[error("a schedule needs a point at 0")]
    NoStart,
    /// A point that does not come after the one before it, or is too late.
    #[error("point {point} of the schedule is at {at}; points must ascend and stay below 2^50")]
    Order {
        /// Index of the point.
        point: usize,
        /// Where it is.
        at: u64,
    },
    /// A point with other sources than the first, or where no source has a share.
    #[error("point {point} of the schedule needs {sources} shares, at least one of them above 0")]
    Shares {
        /// Index of the point.
        point: usize,
        /// Shares needed.
        sources: usize,
    },
    /// A row of a table of amounts that cannot be: it does not sum to its total, or takes something back.
    #[error("row {row} of the table of amounts must sum to its total and never fall")]
    Table {
        /// Index of the row.
        row: usize,
    },
    /// A source has both a weight and a fixed amount, or neither.
    #[error("source {source_index} needs either a weight above 0 or a fixed amount")]
    Either {
        /// Index of the source.
        source_index: usize,
    },
    /// The fixed amounts are more than the budget.
    #[error(
        "the fixed amounts come to {fixed}, the budget is {budget}; raise the budget or lower them"
    )]
    FixedExceed {
        /// Sum of the fixed amounts.
        fixed: u64,
        /// The budget.
        budget: u64,
    },
    /// Sources with a weight need a budget that is larger than the fixed amounts.
    #[error("sources with a weight need a budget above {fixed}, what the fixed amounts come to")]
    BudgetNeeded {
        /// Sum of the fixed amounts.
        fixed: u64,
    },
    /// All amounts are fixed and the budget is more than they come to.
    #[error(
        "the fixed amounts come to {fixed} of a budget of {budget}; give a source a weight, or leave the budget out"
    )]
    Unshared {
        /// Sum of the fixed amounts.
        fixed: u64,
        /// The budget.
        budget: u64,
    },
}
