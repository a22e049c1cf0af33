//! `[mix]`: how sources share an epoch.

use crate::epoch::mix::Ramp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How sources share the epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct MixRecipe {
    /// Absent: `weights` when a source has a weight, else `natural`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<MixMethod>,
    /// The unit in which shares and the size of an epoch are counted.
    pub unit: MixUnit,
    /// Size of one epoch in `unit`; absent: the largest that `max_repeats` allows, and with
    /// `natural` one pass over everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// T of `temperature`: a source of size n has a share in proportion to n^(1/T).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Weights that change during the run, ascending by time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<SchedulePoint>,
}

/// Weights from a moment of the run on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SchedulePoint {
    /// The moment, in `mix.unit` given since the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_tokens: Option<u64>,
    /// The moment, in global batches of full rows; needs `batch.rows`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_step: Option<u64>,
    /// Weight by source; a source left out has none.
    pub weights: BTreeMap<String, f64>,
    /// How weights go from this point to the next.
    #[serde(default)]
    pub ramp: Ramp,
}

/// How shares are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum MixMethod {
    /// Shares are the `weight` of each source.
    Weights,
    /// In proportion to what the sources hold.
    Natural,
    /// In proportion to a root of what the sources hold (mT5).
    Temperature,
    /// As even as `max_repeats` allows (UniMax, arXiv 2304.09151).
    Unimax,
}

/// The unit in which shares and the size of an epoch are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MixUnit {
    /// Real tokens: BOS and EOS in, pads out.
    #[default]
    Tokens,
    /// Tokens that are trained on: those of the loss spans of a document, or all of it.
    LossTokens,
    /// Documents, counted where they begin.
    Documents,
    /// Rows, whatever their length.
    Rows,
}

impl MixUnit {
    /// Whether a row may count nothing.
    pub(in crate::epoch) const fn counts_parts(self) -> bool {
        matches!(self, Self::LossTokens | Self::Documents)
    }

    /// The word of the unit in sentences.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::LossTokens => "loss tokens",
            Self::Documents => "documents",
            Self::Rows => "rows",
        }
    }
}
