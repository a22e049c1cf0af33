//! The rows of an epoch as files have them: number, ids and segments, and the columns that follow from these.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, ListArray, PrimitiveArray};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, Int32Type, Schema, SchemaRef, UInt32Type};
use model::named;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A column that follows from a row's ids, its segments and what documents say is trained on. In the
/// order of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(
    feature = "cli",
    derive(schemars::JsonSchema, clap::ValueEnum),
    value(rename_all = "snake_case")
)]
#[serde(rename_all = "snake_case")]
pub enum RowColumn {
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

named!(RowColumn {
    AttentionMask = "attention_mask", CuSeqlens = "cu_seqlens", Labels = "labels",
    LossMask = "loss_mask", LossWeights = "loss_weights", MaxSeqlen = "max_seqlen",
    PositionIds = "position_ids", SegmentIds = "segment_ids", SeqIdx = "seq_idx",
    SeqStartId = "seq_start_id",
});

impl RowColumn {
    /// The Arrow type of its values: i8, i32 or f32.
    #[must_use]
    pub const fn value_type(self) -> DataType {
        match self {
            Self::AttentionMask | Self::LossMask => DataType::Int8,
            Self::LossWeights => DataType::Float32,
            _ => DataType::Int32,
        }
    }

    /// Whether a row has one value of it, not a list.
    #[must_use]
    pub const fn is_scalar(self) -> bool {
        matches!(self, Self::MaxSeqlen)
    }

    /// Whether it has a value for each position of a row.
    #[must_use]
    pub const fn is_aligned(self) -> bool {
        !matches!(self, Self::CuSeqlens | Self::MaxSeqlen | Self::SeqStartId)
    }
}

/// The type of token ids in a file, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum IdType {
    /// Two bytes: vocabularies up to 65,536.
    U16,
    /// Four bytes, signed.
    I32,
    /// Four bytes. No recipe asks for it.
    #[serde(skip)]
    U32,
}

named!(IdType { U16 = "u16", I32 = "i32", U32 = "u32" });

impl IdType {
    /// Bytes of an id.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::U16 => 2,
            Self::I32 | Self::U32 => 4,
        }
    }

    /// The largest id that it holds.
    #[must_use]
    pub const fn max(self) -> u32 {
        match self {
            Self::U16 => u16::MAX as u32,
            Self::I32 => i32::MAX as u32,
            Self::U32 => u32::MAX,
        }
    }

    /// u16 for vocabularies of up to `largest`, `wide` for others.
    pub(crate) const fn narrow_up_to(vocab: u32, largest: u32, wide: Self) -> Self {
        if vocab <= largest { Self::U16 } else { wide }
    }
}

/// How much of what documents say is trained on can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossLevel {
    /// Every token is trained on.
    Plain,
    /// Some are not.
    Masked,
    /// Some count more than others.
    Weighted,
}

/// A column of a batch of rows. Lists have no nulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchColumn {
    /// Number of the row in the epoch, u64.
    Number,
    /// Its token ids with its pads, a list of u32; files have them in their [`IdType`].
    Ids,
    /// Tokens of each segment, a list of i32.
    SeqLengths,
    /// Name of its source; empty for a row of pads.
    Source,
    /// Document of each segment, a list of i64.
    DocIds,
    /// Where in its document each segment begins, a list of i64.
    DocOffsets,
    /// What recipes name.
    View(RowColumn),
    /// First positions of spans that documents say are trained, a list of i32.
    TrainedStarts,
    /// The positions after their last, a list of i32.
    TrainedEnds,
    /// Their weights, a list of f32.
    TrainedWeights,
    /// The positions after the last of each run, of a segment or of pads, that cover the row; a list of i32.
    RunEnds,
    /// 1 on trained tokens, a list of u8 for each position.
    TrainedTokens,
    /// 1 on targets, a list of u8 for each position.
    LabelMask,
}

/// What says which segments a row has.
pub(crate) const SEGMENTS: [BatchColumn; 4] =
    [BatchColumn::SeqLengths, BatchColumn::Source, BatchColumn::DocIds, BatchColumn::DocOffsets];

/// What documents say is trained on.
pub(crate) const TRAINED_SPANS: [BatchColumn; 3] =
    [BatchColumn::TrainedStarts, BatchColumn::TrainedEnds, BatchColumn::TrainedWeights];

impl BatchColumn {
    /// Its name in files that name their columns.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Number => "row",
            Self::Ids => "input_ids",
            Self::SeqLengths => "seq_lengths",
            Self::Source => "source",
            Self::DocIds => "doc_ids",
            Self::DocOffsets => "doc_offsets",
            Self::View(column) => column.name(),
            Self::TrainedStarts => "trained_starts",
            Self::TrainedEnds => "trained_ends",
            Self::TrainedWeights => "trained_weights",
            Self::RunEnds => "run_ends",
            Self::TrainedTokens => "trained_tokens",
            Self::LabelMask => "label_mask",
        }
    }

    /// The type of its values: of each number of a list, or of the one value of a row.
    pub const fn value_type(self) -> DataType {
        match self {
            Self::Number => DataType::UInt64,
            Self::Ids => DataType::UInt32,
            Self::Source => DataType::Utf8,
            Self::SeqLengths | Self::TrainedStarts | Self::TrainedEnds | Self::RunEnds => {
                DataType::Int32
            }
            Self::DocIds | Self::DocOffsets => DataType::Int64,
            Self::View(column) => column.value_type(),
            Self::TrainedWeights => DataType::Float32,
            Self::TrainedTokens | Self::LabelMask => DataType::UInt8,
        }
    }

    /// Whether a row has one value of it, not a list.
    pub const fn is_scalar(self) -> bool {
        match self {
            Self::Number | Self::Source => true,
            Self::View(column) => column.is_scalar(),
            _ => false,
        }
    }

    /// Its field in a batch.
    pub fn field(self) -> Field {
        match self.is_scalar() {
            true => Field::new(self.name(), self.value_type(), false),
            false => list_field(self.name(), self.value_type()),
        }
    }

    /// Its field in files that have ids as i32.
    pub(crate) fn signed_field(self) -> Field {
        match self {
            Self::Ids => list_field(self.name(), DataType::Int32),
            other => other.field(),
        }
    }
}

/// The schema of batches of these columns.
pub(crate) fn row_schema(columns: &[BatchColumn]) -> SchemaRef {
    Arc::new(Schema::new(columns.iter().map(|column| column.field()).collect::<Vec<_>>()))
}

/// Name of the values of a list, as the Parquet standard has it.
pub(crate) const ELEMENT: &str = "element";

/// The field of a list column without nulls.
pub fn list_field(name: &str, values: DataType) -> Field {
    Field::new(name, DataType::List(Arc::new(Field::new(ELEMENT, values, false))), false)
}

/// A list column: `values` of all rows in order, cut by the `lengths` of the rows.
pub fn list_column<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    lengths: impl IntoIterator<Item = usize>,
) -> ArrayRef {
    list_of::<T>(ScalarBuffer::from(values), OffsetBuffer::from_lengths(lengths))
}

pub(crate) fn list_of<T: ArrowPrimitiveType>(
    values: ScalarBuffer<T::Native>,
    offsets: OffsetBuffer<i32>,
) -> ArrayRef {
    let field = Arc::new(Field::new(ELEMENT, T::DATA_TYPE, false));
    let values = PrimitiveArray::<T>::new(values, None);
    Arc::new(ListArray::new(field, offsets, Arc::new(values), None))
}

/// Ids as i32 on the same memory. None is above the largest i32: whoever makes batches for such files saw to that.
pub(crate) fn signed_ids(ids: &ArrayRef) -> ArrayRef {
    let Some(lists) = ids.as_list_opt::<i32>() else { return Arc::clone(ids) };
    let Some(values) = lists.values().as_primitive_opt::<UInt32Type>() else {
        return Arc::clone(ids);
    };
    let values = ScalarBuffer::<i32>::from(values.values().inner().clone());
    list_of::<Int32Type>(values, lists.offsets().clone())
}

/// Ids of a file as u32 on the same memory; the first that is negative as an error.
pub(crate) fn unsigned_ids(ids: &ArrayRef) -> Result<ArrayRef, String> {
    let other = || "column input_ids is not a list of Int32 without nulls".to_owned();
    let lists = ids.as_list_opt::<i32>().ok_or_else(other)?;
    let values = lists.values().as_primitive_opt::<Int32Type>().ok_or_else(other)?;
    if let Some(id) = values.values().iter().find(|id| **id < 0) {
        return Err(format!("token id {id} is negative"));
    }
    if lists.null_count() > 0 || values.null_count() > 0 {
        return Err(other());
    }
    let values = ScalarBuffer::<u32>::from(values.values().inner().clone());
    Ok(list_of::<UInt32Type>(values, lists.offsets().clone()))
}
