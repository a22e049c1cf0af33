//! The table of views: what each is called, which batches have it, of which type, and what it is made of.

use super::TensorValues;
use super::batch::{PlacedBatch, TensorParts};
use super::field::BatchField;
use super::tokens::TokenView;
use crate::epoch::error::EpochError;
use crate::epoch::recipe::RowColumn;
use crate::epoch::views::{RowShape, doc_lens, segment_index, segment_number};

/// A row of the table.
#[derive(Clone, Copy)]
pub(super) struct BatchView {
    pub name: &'static str,
    pub in_rows: bool,
    pub in_flat: bool,
    pub values: BatchValues,
}

/// What a view is made of.
#[derive(Clone, Copy)]
pub(super) enum BatchValues {
    /// A value a token, row by row.
    Tokens(TokenType, TokenView),
    /// What is of whole rows.
    Rows(fn(&PlacedBatch<'_>) -> Result<TensorParts, EpochError>),
}

/// The type of values in batches; files have that of their column.
#[derive(Clone, Copy)]
pub(super) enum TokenType {
    Bool,
    F32,
    I8,
    I32,
    I64,
}

const fn both(name: &'static str, values: BatchValues) -> BatchView {
    BatchView { name, in_rows: true, in_flat: true, values }
}

const fn rows(name: &'static str, values: BatchValues) -> BatchView {
    BatchView { in_flat: false, ..both(name, values) }
}

const fn flat(name: &'static str, values: BatchValues) -> BatchView {
    BatchView { in_rows: false, ..both(name, values) }
}

impl BatchField {
    /// Its row.
    #[rustfmt::skip]
    pub(super) const fn view(self) -> BatchView {
        use BatchValues::{Rows, Tokens};
        use TokenType::{Bool, F32, I8, I32, I64};
        use TokenView::{Labels, Loss, NextIds, Positions, PositionsIn, Runs};
        match self {
            Self::AttentionMask => rows("attention_mask", Tokens(I64, Runs(|_, is_pad| i32::from(!is_pad)))),
            Self::BlockCausalMask => rows("block_causal_mask", Rows(|batch| batch.block_causal_mask())),
            Self::CuSeqLensK => both("cu_seq_lens_k", Rows(|batch| batch.cumulative(run_lengths))),
            Self::CuSeqLensQ => both("cu_seq_lens_q", Rows(|batch| batch.cumulative(run_lengths))),
            Self::CuSeqlens => both("cu_seqlens", Rows(|batch| batch.cumulative(doc_lens))),
            Self::CuSeqlensPadded => rows("cu_seqlens_padded", Rows(|batch| batch.cu_seqlens_padded())),
            Self::CuSeqlensRows => rows("cu_seqlens_rows", Rows(|batch| batch.cumulative_by_row(padded_lengths))),
            Self::DocLens => both("doc_lens", Rows(|batch| batch.lengths(doc_lens))),
            Self::DocLensPadded => rows("doc_lens_padded", Rows(|batch| batch.lengths(run_lengths))),
            Self::DocumentId => both("document_id", Tokens(I32, Runs(segment_index))),
            Self::Indices => flat("indices", Rows(|batch| batch.indices())),
            Self::LabelMask => both("label_mask", Tokens(Bool, Loss(0))),
            Self::Labels => both("labels", Tokens(I64, Labels(0))),
            Self::Lengths => both("lengths", Rows(|batch| batch.tokens_by_row())),
            Self::LossMask => both("loss_mask", Tokens(I8, Loss(1))),
            Self::LossWeights => both("loss_weights", Tokens(F32, Loss(0))),
            Self::MaxDocLens => rows("max_doc_lens", Rows(|batch| batch.longest_list(run_lengths))),
            Self::MaxLengthK => both("max_length_k", Rows(|batch| batch.longest(run_lengths))),
            Self::MaxLengthQ => both("max_length_q", Rows(|batch| batch.longest(run_lengths))),
            Self::MaxSeqlen => both("max_seqlen", Rows(|batch| batch.longest(doc_lens))),
            Self::MaxSeqlenRows => rows("max_seqlen_rows", Rows(|batch| batch.longest_by_row(padded_lengths))),
            Self::NextIds => rows("next_ids", Tokens(I64, NextIds)),
            Self::PositionIds => both("position_ids", Tokens(I64, Positions)),
            Self::PositionIdsRows => rows("position_ids_rows", Tokens(I64, PositionsIn(padded_lengths))),
            Self::SegmentIds => both("segment_ids", Tokens(I32, Runs(segment_number))),
            Self::SeqIdx => both("seq_idx", Tokens(I32, Runs(segment_index))),
            Self::ShiftedLabels => both("shifted_labels", Tokens(I64, Labels(1))),
            Self::ShiftedLossWeights => both("shifted_loss_weights", Tokens(F32, Loss(1))),
        }
    }
}

impl BatchView {
    /// Its dimensions and values in a batch.
    pub fn parts(self, batch: &PlacedBatch<'_>) -> Result<TensorParts, EpochError> {
        let (values, view) = match self.values {
            BatchValues::Rows(parts) => return parts(batch),
            BatchValues::Tokens(values, view) => (values, view),
        };
        let values = match values {
            TokenType::Bool => TensorValues::Bool(batch.tokens(view)),
            TokenType::F32 => TensorValues::F32(batch.tokens(view)),
            TokenType::I8 => TensorValues::I8(batch.tokens(view)),
            TokenType::I32 => TensorValues::I32(batch.tokens(view)),
            TokenType::I64 => TensorValues::I64(batch.tokens(view)),
        };
        Ok((batch.square(), values))
    }
}

impl TokenView {
    /// The view that has the name of a column of files; none for a column of whole rows.
    pub(in crate::epoch) fn of_column(column: RowColumn) -> Option<Self> {
        match BatchField::from_name(column.name())?.view().values {
            BatchValues::Tokens(_, view) => Some(view),
            BatchValues::Rows(_) => None,
        }
    }
}

/// Tokens of the segments of a row and of its runs of pads, in order.
fn run_lengths(shape: &RowShape) -> Vec<i32> {
    let mut lengths = Vec::new();
    shape.for_each_run(|run| lengths.extend((run.length > 0).then(|| run.length.cast_signed())));
    lengths
}

/// Tokens between the first positions of segments. Pads belong to the segment before them; those at the beginning stand
/// for themselves.
fn padded_lengths(shape: &RowShape) -> Vec<i32> {
    let starts = shape.spans.iter().map(|span| span.start.cast_signed()).filter(|start| *start > 0);
    let mut before = 0;
    let lengths = starts.chain([shape.width.cast_signed()]).map(|end| {
        let length = end - before;
        before = end;
        length
    });
    lengths.collect()
}
