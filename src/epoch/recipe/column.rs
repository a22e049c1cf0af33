//! What a row may say of itself beside its ids and its segments.

use serde::{Deserialize, Serialize};

/// A column that follows from a row's ids, its segments and what documents say is trained on. In the
/// order of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(
    feature = "cli",
    derive(schemars::JsonSchema, clap::ValueEnum),
    value(rename_all = "snake_case")
)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// 1 on tokens, 0 on pads.
    AttentionMask,
    /// Cumulative lengths of segments, leading 0.
    CuSeqlens,
    /// The ids, unshifted, and -100 on tokens that are not targets.
    Labels,
    /// 1 where the next token is a target.
    LossMask,
    /// The weight of each target, unshifted; 0 elsewhere.
    LossWeights,
    /// Tokens of the longest segment: one number.
    MaxSeqlen,
    /// Positions from 0 in every segment.
    PositionIds,
    /// Numbers of segments from 1, 0 on pads.
    SegmentIds,
    /// Numbers of segments from 0, -1 on pads.
    SeqIdx,
    /// First position of each segment.
    SeqStartId,
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// One byte, signed.
    I8,
    /// Four bytes, signed.
    I32,
    /// Four bytes, floating.
    F32,
}

impl Column {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::AttentionMask,
        Self::CuSeqlens,
        Self::Labels,
        Self::LossMask,
        Self::LossWeights,
        Self::MaxSeqlen,
        Self::PositionIds,
        Self::SegmentIds,
        Self::SeqIdx,
        Self::SeqStartId,
    ];

    /// The name of the column.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AttentionMask => "attention_mask",
            Self::CuSeqlens => "cu_seqlens",
            Self::Labels => "labels",
            Self::LossMask => "loss_mask",
            Self::LossWeights => "loss_weights",
            Self::MaxSeqlen => "max_seqlen",
            Self::PositionIds => "position_ids",
            Self::SegmentIds => "segment_ids",
            Self::SeqIdx => "seq_idx",
            Self::SeqStartId => "seq_start_id",
        }
    }

    /// The type of its values.
    #[must_use]
    pub const fn kind(self) -> ColumnKind {
        match self {
            Self::AttentionMask | Self::LossMask => ColumnKind::I8,
            Self::LossWeights => ColumnKind::F32,
            _ => ColumnKind::I32,
        }
    }

    /// Whether a row has one value of it, not a list.
    #[must_use]
    pub const fn is_one(self) -> bool {
        matches!(self, Self::MaxSeqlen)
    }

    /// Whether it has a value for each position of a row.
    #[must_use]
    pub const fn is_aligned(self) -> bool {
        !matches!(self, Self::CuSeqlens | Self::MaxSeqlen | Self::SeqStartId)
    }
}
