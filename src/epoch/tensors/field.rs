//! The fields that a batch may have beside its ids, by name.

/// A tensor of a batch beside `input_ids`. In the order of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BatchField {
    /// 1 on tokens, 0 on pads.
    AttentionMask,
    /// True where query i of a row may see key j: rows x width x width.
    BlockCausalMask,
    /// Boundaries of keys as transformers reads them, leading 0: cumulative lengths of the segments of a flat batch; of
    /// rows those of segments and of runs of pads, the batch seen as one row.
    CuSeqLensK,
    /// Boundaries of queries, equal to those of keys.
    CuSeqLensQ,
    /// Cumulative lengths of the segments of all rows, leading 0, pads taken out.
    CuSeqlens,
    /// Where segments begin in the batch seen as one row, pads and all, and its end.
    CuSeqlensPadded,
    /// Boundaries of the segments of each row, rows x (width + 1), filled with the width. Pads belong to the segment
    /// before them.
    CuSeqlensRows,
    /// Tokens of each segment; of rows as many columns as the fullest row has segments, 0 where a row has fewer.
    DocLens,
    /// Lengths as in `doc_lens`, with runs of pads among the segments.
    DocLensPadded,
    /// Numbers of segments from 0 in each row, -1 on pads: `seq_idx` as mask functions of FlexAttention call it.
    DocumentId,
    /// Places of the tokens in the batch padded to rows x width and flattened.
    Indices,
    /// Whether a token is a target, unshifted.
    LabelMask,
    /// The ids, unshifted, and -100 on tokens that are not targets.
    Labels,
    /// Tokens of each row that are not pads.
    Lengths,
    /// 1 where the next token is a target.
    LossMask,
    /// The weight of each target, unshifted; 0 elsewhere.
    LossWeights,
    /// The largest of `doc_lens_padded` of each row: a list of numbers.
    MaxDocLens,
    /// Tokens between the boundaries of keys that are farthest apart.
    MaxLengthK,
    /// Tokens between the boundaries of queries that are farthest apart.
    MaxLengthQ,
    /// Tokens of the longest segment: one number.
    MaxSeqlen,
    /// Tokens between those boundaries of each row that are farthest apart.
    MaxSeqlenRows,
    /// The id after each token of its row, of another segment too; 0 at the end and before a pad.
    NextIds,
    /// Positions from 0 in every segment.
    PositionIds,
    /// Positions from 0 within the boundaries of each row, pads behind a segment counted on.
    PositionIdsRows,
    /// Numbers of segments from 1, 0 on pads.
    SegmentIds,
    /// Numbers of segments from 0, -1 on pads.
    SeqIdx,
    /// Labels at the positions that predict them.
    ShiftedLabels,
    /// The weights of targets at the positions that predict them.
    ShiftedLossWeights,
}

impl BatchField {
    /// All of them.
    pub const ALL: [Self; 28] = [
        Self::AttentionMask,
        Self::BlockCausalMask,
        Self::CuSeqLensK,
        Self::CuSeqLensQ,
        Self::CuSeqlens,
        Self::CuSeqlensPadded,
        Self::CuSeqlensRows,
        Self::DocLens,
        Self::DocLensPadded,
        Self::DocumentId,
        Self::Indices,
        Self::LabelMask,
        Self::Labels,
        Self::Lengths,
        Self::LossMask,
        Self::LossWeights,
        Self::MaxDocLens,
        Self::MaxLengthK,
        Self::MaxLengthQ,
        Self::MaxSeqlen,
        Self::MaxSeqlenRows,
        Self::NextIds,
        Self::PositionIds,
        Self::PositionIdsRows,
        Self::SegmentIds,
        Self::SeqIdx,
        Self::ShiftedLabels,
        Self::ShiftedLossWeights,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.view().name
    }

    /// The view of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.name() == name)
    }

    /// Whether batches have it that are flat, or else those of rows.
    #[must_use]
    pub const fn is_of(self, flat: bool) -> bool {
        let view = self.view();
        if flat { view.in_flat } else { view.in_rows }
    }
}
