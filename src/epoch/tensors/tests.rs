//! Tensors of made-up batches beside the views that make batches one by one.

use super::*;
use crate::epoch::recipe::PadView;
use crate::epoch::stream::EpochRow;
use crate::epoch::stream::FilledRow;
use crate::epoch::views::{
    LossSpan, LossWeighting, PackedRow, RowShape, batch_cu_seqlens, collate, flatten, loss_weights,
    shifted_labels, unpad_batch,
};
use proptest::prelude::*;

fn maker(views: &[BatchField], flat: bool, narrow: bool, side: PadSide) -> TensorMaker {
    TensorMaker { views: views.to_vec(), flat, narrow, pad: 9, side, width: 4 }
}

/// A row: its shape, its ids, and what of it is trained on.
type TestRow = (RowShape, Vec<i32>, Option<Vec<LossSpan>>);

fn batch(rows: &[TestRow]) -> EpochBatch {
    let rows = rows.iter().map(|(shape, ids, trained)| {
        let ids = ids.iter().map(|id| id.cast_unsigned()).collect();
        let row =
            FilledRow { ids, shape: shape.clone(), trained: trained.clone(), ..FilledRow::none() };
        EpochRow::made(row)
    });
    EpochBatch { number: 0, rows: rows.collect() }
}

fn of<'a>(tensors: &'a [Tensor], name: &str) -> &'a Tensor {
    tensors.iter().find(|tensor| tensor.name == name).unwrap()
}

fn wide(tensors: &[Tensor], name: &str) -> Vec<i64> {
    match &of(tensors, name).values {
        TensorValues::I64(values) => values.clone(),
        TensorValues::I32(values) => values.iter().copied().map(i64::from).collect(),
        TensorValues::I8(values) => values.iter().copied().map(i64::from).collect(),
        other => panic!("{other:?}"),
    }
}

fn widened(values: &[i32]) -> Vec<i64> {
    values.iter().copied().map(i64::from).collect()
}

proptest! {
    /// Padded batches are those of `collate`, flat ones those of `flatten` and `unpad_batch`, in both types.
    #[test]
    fn tensors_are_the_batches_of_the_views(
        lengths in proptest::collection::vec(proptest::collection::vec(1_u32..6, 0..4), 1..5),
        pads in proptest::collection::vec(0_u32..4, 5),
        masked in proptest::collection::vec(any::<bool>(), 5),
        left: bool,
        narrow: bool,
    ) {
        let side = if left { PadSide::Left } else { PadSide::Right };
        let made: Vec<_> = lengths.iter().zip(pads).zip(masked).map(|((lengths, pads), masked)| {
            let width = lengths.iter().sum::<u32>() + pads;
            let shape = RowShape::packed(lengths.iter().copied(), width);
            let trained = masked.then(|| vec![
                LossSpan { start: 0, end: width / 3, weight: 1.0 },
                LossSpan { start: width / 2, end: width, weight: 0.5 },
            ]);
            (shape, (100..).take(width as usize).collect::<Vec<i32>>(), trained)
        }).collect();
        let rows: Vec<PackedRow<'_>> = made.iter().map(|(shape, ids, trained)| {
            PackedRow { shape, ids, trained: trained.as_deref() }
        }).collect();
        let batch = batch(&made);
        let all: Vec<_> = BatchField::ALL.into_iter().filter(|view| view.is_of(false)).collect();
        let tensors = maker(&all, false, narrow, side).tensors(&batch).unwrap();
        let wanted = collate(&rows, 9, side).unwrap();
        prop_assert_eq!(&of(&tensors, "labels").dims, &[wanted.rows, wanted.width]);
        prop_assert_eq!(wide(&tensors, "input_ids"), widened(&wanted.input_ids));
        prop_assert_eq!(wide(&tensors, "labels"), widened(&wanted.labels));
        prop_assert_eq!(wide(&tensors, "position_ids"), widened(&wanted.position_ids));
        prop_assert_eq!(wide(&tensors, "lengths"), widened(&wanted.lengths));
        let mask: Vec<i64> = wanted.attention_mask.iter().copied().map(i64::from).collect();
        prop_assert_eq!(wide(&tensors, "attention_mask"), mask);
        let shapes: Vec<RowShape> = made.iter().map(|(shape, ..)| shape.clone()).collect();
        prop_assert_eq!(wide(&tensors, "cu_seqlens"), widened(&batch_cu_seqlens(&shapes).unwrap()));

        let all: Vec<_> = BatchField::ALL.into_iter().filter(|view| view.is_of(true)).collect();
        let tensors = maker(&all, true, narrow, side).tensors(&batch).unwrap();
        let wanted = flatten(&rows).unwrap();
        prop_assert_eq!(wide(&tensors, "input_ids"), wanted.input_ids);
        prop_assert_eq!(wide(&tensors, "labels"), wanted.labels);
        prop_assert_eq!(wide(&tensors, "position_ids"), wanted.position_ids);
        prop_assert_eq!(wide(&tensors, "cu_seq_lens_q"), widened(&wanted.cu_seq_lens_q));
        prop_assert_eq!(wide(&tensors, "max_length_k"), vec![i64::from(wanted.max_length_k)]);
        let wanted = unpad_batch(&rows, side).unwrap();
        prop_assert_eq!(wide(&tensors, "indices"), wanted.indices);
        prop_assert_eq!(wide(&tensors, "segment_ids"), widened(&wanted.segment_ids));
        prop_assert_eq!(wide(&tensors, "seq_idx"), widened(&wanted.seq_idx));
        let mask: Vec<i64> = wanted.loss_mask.iter().copied().map(i64::from).collect();
        prop_assert_eq!(wide(&tensors, "loss_mask"), mask);
        prop_assert_eq!(&of(&tensors, "loss_weights").values, &TensorValues::F32(wanted.loss_weights));
    }
}

/// A row of the widest width is what the views of one row say, boundaries and shifted views too.
#[test]
fn rows_of_one_width_are_their_views() {
    let shape = RowShape::packed([3, 2], 6).with_pads(PadView::Each);
    let ids = vec![11, 12, 13, 21, 22, 9];
    let made = batch(&[(shape.clone(), ids.clone(), None)]);
    let views = [
        BatchField::BlockCausalMask,
        BatchField::DocLens,
        BatchField::DocumentId,
        BatchField::MaxSeqlen,
        BatchField::ShiftedLabels,
        BatchField::ShiftedLossWeights,
        BatchField::LossWeights,
    ];
    let tensors = maker(&views, false, false, PadSide::Right).tensors(&made).unwrap();
    assert_eq!(wide(&tensors, "shifted_labels"), widened(&shifted_labels(&shape, &ids, None)));
    assert_eq!(wide(&tensors, "document_id"), [0, 0, 0, 1, 1, 2]);
    assert_eq!(wide(&tensors, "doc_lens"), [3, 2, 1]);
    assert_eq!(of(&tensors, "block_causal_mask").dims, [1, 6, 6]);
    let longest = of(&tensors, "max_seqlen");
    assert_eq!((longest.dims.len(), wide(&tensors, "max_seqlen")), (0, vec![3]));
    let weights = loss_weights(&shape, None, LossWeighting::Tokens);
    assert_eq!(of(&tensors, "loss_weights").values, TensorValues::F32(weights));
}

/// What a rank has of a last step without a batch for it has no rows, and the width of the others.
#[test]
fn a_batch_without_rows_has_tensors_without_rows() {
    for (flat, dims) in [(false, vec![0, 4]), (true, vec![1, 0])] {
        let made = maker(&[BatchField::Labels], flat, false, PadSide::Right);
        let tensors = made.tensors(&batch(&[])).unwrap();
        assert_eq!((&tensors[0].dims, &tensors[1].dims), (&dims, &dims));
    }
}
