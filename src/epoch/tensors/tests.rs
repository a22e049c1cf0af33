//! Tests of the tensors of made-up batches against the views that make batches one by one.

use super::*;
use crate::epoch::recipe::PadView;
use crate::epoch::stream::EpochRow;
use crate::epoch::views::{
    LossSpan, LossWeighting, PackedRow, RowShape, batch_cu_seqlens, collate, flatten, loss_weights,
    shifted_labels, unpad_batch,
};
use proptest::prelude::*;

const SPECIALS: SpecialIds = SpecialIds { bos: None, eos: None, pad: Some(9) };

fn maker(views: &[BatchField], flat: bool, ids: TensorIds, side: PadSide) -> TensorMaker {
    TensorMaker {
        ids,
        keys: views.iter().copied().map(BatchKey::of).collect(),
        flat,
        width: 4,
        ..TensorMaker::of_ids(&SPECIALS, side)
    }
}

/// A row: its shape, its ids, and the spans that are trained on.
type TestRow = (RowShape, Vec<i32>, Option<Vec<LossSpan>>);

fn batch(rows: &[TestRow]) -> EpochBatch {
    let rows = rows.iter().map(|(shape, ids, trained)| {
        let ids = ids.iter().map(|id| id.cast_unsigned()).collect();
        EpochRow { ids, shape: shape.clone(), trained: trained.clone(), ..EpochRow::none() }
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
        TensorValues::U16(values) => values.iter().copied().map(i64::from).collect(),
        TensorValues::Bool(values) => values.iter().copied().map(i64::from).collect(),
        TensorValues::List(values) => values.iter().copied().map(i64::from).collect(),
        other => panic!("{other:?}"),
    }
}

fn widened(values: &[i32]) -> Vec<i64> {
    values.iter().copied().map(i64::from).collect()
}

proptest! {
    /// Padded batches are those of `collate`, flat ones those of `flatten` and `unpad_batch`, in every type of ids.
    #[test]
    fn tensors_are_the_batches_of_the_views(
        lengths in proptest::collection::vec(proptest::collection::vec(1_u32..6, 0..4), 1..5),
        pads in proptest::collection::vec(0_u32..4, 5),
        masked in proptest::collection::vec(any::<bool>(), 5),
        left: bool,
        ids in proptest::sample::select(vec![TensorIds::I64, TensorIds::I32, TensorIds::U16]),
    ) {
        prop_assume!(lengths.iter().any(|row| !row.is_empty()), "a batch of pads alone has one pad");
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
        let tensors = maker(&all, false, ids, side).tensors(&batch).unwrap();
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
        let tensors = maker(&all, true, ids, side).tensors(&batch).unwrap();
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
    let tensors = maker(&views, false, TensorIds::I64, PadSide::Right).tensors(&made).unwrap();
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
        let made = maker(&[BatchField::Labels], flat, TensorIds::I64, PadSide::Right);
        let tensors = made.tensors(&batch(&[])).unwrap();
        assert_eq!((&tensors[0].dims, &tensors[1].dims), (&dims, &dims));
    }
}

/// Keys of every trainer, two rows of two and one documents, the second with a pad: by hand, as their own code has them.
#[test]
fn every_contract_has_the_keys_of_its_trainer() {
    let rows: [TestRow; 2] = [
        (RowShape::packed([3, 2], 5), vec![11, 12, 13, 21, 22], None),
        (
            RowShape::packed([4], 5),
            vec![31, 32, 33, 34, 9],
            Some(vec![LossSpan { start: 2, end: 4, weight: 1.0 }]),
        ),
    ];
    let tensors = |contract| {
        TensorMaker::of_contract(contract, &SPECIALS, PadSide::Right)
            .tensors(&batch(&rows))
            .unwrap()
    };
    let names = |tensors: &[Tensor]| tensors.iter().map(|one| one.name).collect::<Vec<_>>();

    let flat = tensors(Contract::Trl);
    assert_eq!(wide(&flat, "input_ids"), [11, 12, 13, 21, 22, 31, 32, 33, 34]);
    assert_eq!(wide(&flat, "labels"), [-100, 12, 13, -100, 22, -100, -100, 33, 34]);
    assert_eq!(wide(&flat, "position_ids"), [0, 1, 2, 0, 1, 0, 1, 2, 3]);
    assert_eq!(wide(&flat, "seq_idx"), [0, 0, 0, 1, 1, 2, 2, 2, 2]);
    for key in ["cu_seq_lens_q", "cu_seq_lens_k"] {
        assert_eq!(of(&flat, key).values, TensorValues::I32(vec![0, 3, 5, 9]));
    }
    for key in ["max_length_q", "max_length_k"] {
        assert!(of(&flat, key).dims.is_empty() && wide(&flat, key) == [4]);
    }
    let transformers = tensors(Contract::Transformers);
    assert_eq!(of(&transformers, "use_cache").values, TensorValues::Flag(false));
    assert_eq!(transformers[..flat.len()], flat[..]);

    let megatron = tensors(Contract::Megatron);
    assert_eq!(
        names(&megatron),
        ["tokens", "cu_seqlens", "labels", "loss_mask", "max_seqlen", "position_ids"]
    );
    assert_eq!(wide(&megatron, "tokens"), [11, 12, 13, 21, 22, 31, 32, 33, 34, 0]);
    assert_eq!(wide(&megatron, "labels"), [12, 13, 21, 22, 0, 32, 33, 34, 0, 0]);
    let mask = vec![1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0];
    assert_eq!(of(&megatron, "loss_mask").values, TensorValues::F32(mask));
    assert_eq!(of(&megatron, "cu_seqlens").dims, [2, 6]);
    assert_eq!(wide(&megatron, "cu_seqlens"), [0, 3, 5, 5, 5, 5, 0, 5, 5, 5, 5, 5]);
    assert_eq!(wide(&megatron, "position_ids"), [0, 1, 2, 0, 1, 0, 1, 2, 3, 4]);
    assert_eq!(of(&megatron, "max_seqlen").values, TensorValues::I32(vec![3, 5]));

    let titan = tensors(Contract::Torchtitan);
    assert_eq!(names(&titan), ["input", "labels", "positions"]);
    assert_eq!(wide(&titan, "labels"), [12, 13, -100, 22, -100, -100, 33, 34, -100, -100]);
    assert_eq!(wide(&titan, "positions"), [0, 1, 2, 0, 1, 0, 1, 2, 3, 0]);

    let olmo = tensors(Contract::OlmoCore);
    assert_eq!(names(&olmo), ["input_ids", "doc_lens", "label_mask", "max_doc_lens"]);
    assert_eq!(of(&olmo, "doc_lens").dims, [2, 2]);
    assert_eq!(wide(&olmo, "doc_lens"), [3, 2, 4, 1]);
    assert_eq!(wide(&olmo, "label_mask"), [0, 1, 1, 0, 1, 0, 0, 1, 1, 0]);
    assert_eq!(of(&olmo, "max_doc_lens").values, TensorValues::List(vec![3, 4]));
}

/// Boundaries of rows with pads cover the batch seen as one row, pads by themselves on either side.
#[test]
fn boundaries_of_rows_cover_their_pads() {
    for (side, wanted) in
        [(PadSide::Right, [0, 2, 4, 6, 8, 12]), (PadSide::Left, [0, 2, 4, 6, 8, 12])]
    {
        let rows: [TestRow; 3] = [
            (RowShape::packed([2], 2), vec![11, 12], None),
            (RowShape::packed([2], 2), vec![21, 22], None),
            (RowShape::packed([4], 4), vec![31, 32, 33, 34], None),
        ];
        let views = [BatchField::CuSeqLensQ, BatchField::MaxLengthQ];
        let made = maker(&views, false, TensorIds::I64, side).tensors(&batch(&rows)).unwrap();
        assert_eq!(wide(&made, "cu_seq_lens_q"), wanted);
        assert_eq!(wide(&made, "max_length_q"), [4]);
    }
}
