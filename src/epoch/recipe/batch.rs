//! `[batch]`: how rows become global batches.

use serde::{Deserialize, Serialize};

/// How rows become global batches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct BatchRecipe {
    /// Rows a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Tokens a batch, at most; a row longer than that is a batch by itself. Instead of `rows`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Which positions `max_tokens` counts.
    pub count: BudgetCount,
    /// The weight of tokens in the cost of a row, which is `balance` * tokens + the sum of the squares of its segment
    /// lengths. Rows are dealt to ranks by falling cost, so that ranks have about equal work. Absent: the rows of a
    /// batch are put in a random order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<u64>,
    /// What happens to the rows that fill no batch at an epoch's end.
    pub tail: BatchTail,
    /// To what length rows are padded; absent: they stay as long as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pad: Option<PadTo>,
}

/// To what length the rows of a batch are padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PadTo {
    /// That of the longest of the batch, or the next multiple of `pack.options.doc_multiple`.
    Longest,
}

/// Which positions of a batch `max_tokens` counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum BudgetCount {
    /// Tokens are counted without pads.
    #[default]
    Real,
    /// Rows times the longest of them.
    Padded,
}

/// What happens to the rows that fill no batch at an epoch's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum BatchTail {
    /// They are left out and counted.
    #[default]
    Drop,
    /// The last batch is filled with rows of pads.
    Pad,
    /// They open the next epoch.
    Carry,
}
