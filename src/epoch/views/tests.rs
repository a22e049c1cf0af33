//! Tests of views: golden vectors and laws.
//!
//! The vectors are made by torch and transformers: `benches/peers/views.py --write`.

use super::*;
use proptest::prelude::*;
use serde::Deserialize;

const VECTORS: &str = include_str!("../../../tests/it/views.json");

#[derive(Deserialize)]
struct Vectors {
    packed: Vec<PackedVector>,
    unpad: Vec<UnpadVector>,
    rows: Vec<RowVector>,
    flattened: Vec<FlattenedVector>,
}

#[derive(Deserialize)]
struct PackedVector {
    ids: Vec<Vec<i32>>,
    lengths: Vec<Vec<u32>>,
    mask: Vec<Vec<String>>,
    position_ids: Vec<Vec<i32>>,
}

#[derive(Deserialize)]
struct UnpadVector {
    mask: Vec<Vec<u8>>,
    indices: Vec<i64>,
    cu_seqlens: Vec<i32>,
    max_seqlen: i32,
    seqused: Vec<i32>,
    position_ids: Vec<Vec<i64>>,
    values: Vec<i32>,
    kept: Vec<i32>,
    repadded: Vec<i32>,
}

#[derive(Deserialize)]
struct RowVector {
    width: u32,
    spans: Vec<(u32, u32)>,
    pads: String,
    trained: Option<Vec<(u32, u32, f32)>>,
    ids: Vec<i32>,
    cu_seqlens: Vec<i32>,
    cu_seqlens_padded: Vec<i32>,
    max_seqlen: u32,
    doc_lens: Vec<i32>,
    seq_start_id: Vec<i32>,
    position_ids: Vec<i32>,
    segment_ids: Vec<i32>,
    seq_idx: Vec<i32>,
    mask: Vec<String>,
    labels: Vec<i32>,
    shifted_labels: Vec<i32>,
    loss_mask: Vec<i8>,
    loss_weights: Vec<f32>,
    loss_weights_by_sequence: Vec<f32>,
}

#[derive(Deserialize)]
struct FlattenedVector {
    rows: Vec<usize>,
    input_ids: Vec<i64>,
    labels: Vec<i64>,
    position_ids: Vec<i64>,
    seq_idx: Vec<i32>,
    cu_seq_lens_q: Vec<i32>,
    cu_seq_lens_k: Vec<i32>,
    max_length_q: u32,
    max_length_k: u32,
}

impl RowVector {
    fn shape(&self) -> RowShape {
        let spans = self.spans.iter().map(|&(start, length)| Span { start, length }).collect();
        let pads = if self.pads == "each" { PadView::Each } else { PadView::Suffix };
        let shape = RowShape { width: self.width, spans, pads };
        shape.check().unwrap();
        shape
    }

    fn trained(&self) -> Option<Vec<LossSpan>> {
        let span = |&(start, end, weight)| LossSpan { start, end, weight };
        self.trained.as_ref().map(|spans| spans.iter().map(span).collect())
    }
}

fn vectors() -> Vectors {
    serde_json::from_str(VECTORS).unwrap()
}

fn bits(mask: &[bool], width: usize) -> Vec<String> {
    let row = |row: &[bool]| row.iter().map(|seen| if *seen { '1' } else { '0' }).collect();
    mask.chunks(width).map(row).collect()
}

#[test]
fn masks_and_positions_of_packed_sentences() {
    for vector in vectors().packed {
        let width = vector.ids[0].len();
        let shape = |pads| {
            let row = |lengths: &Vec<u32>| {
                RowShape::packed(lengths.iter().copied(), u32::try_from(width).unwrap())
                    .with_pads(pads)
            };
            vector.lengths.iter().map(row).collect::<Vec<_>>()
        };
        // Pads are EOS there, so each is a segment: the same everywhere.
        let rows = shape(PadView::Each);
        let masks = batch_block_causal_mask(&rows).unwrap();
        let wanted: Vec<_> = vector.mask.concat();
        assert_eq!(bits(&masks, width), wanted);
        let positions: Vec<_> = rows.iter().map(position_ids).collect();
        assert_eq!(positions, vector.position_ids);
        // Where pads are not segments, views agree on real tokens.
        for (number, row) in shape(PadView::Suffix).iter().enumerate() {
            let real = vector.lengths[number].iter().sum::<u32>() as usize;
            let mask = bits(&block_causal_mask(row), width);
            for (query, wanted) in vector.mask[number].iter().enumerate() {
                let nothing = "0".repeat(width);
                assert_eq!(mask[query], *if query < real { wanted } else { &nothing });
            }
            assert_eq!(position_ids(row)[..real], vector.position_ids[number][..real]);
            // Every segment ends with EOS.
            for end in &cu_seqlens(row)[1..] {
                assert_eq!(vector.ids[number][usize::try_from(end - 1).unwrap()], 50256);
            }
        }
    }
}

#[test]
fn unpadding_of_masks() {
    for vector in vectors().unpad {
        let (rows, width) = (vector.mask.len(), vector.mask[0].len());
        let unpadded = unpad(&vector.mask.concat(), rows, width).unwrap();
        let position_ids = vector.position_ids.concat();
        let (indices, cu_seqlens) = (vector.indices, vector.cu_seqlens);
        let (seqused, max_seqlen) = (vector.seqused, vector.max_seqlen);
        let wanted =
            UnpadIndex { rows, width, indices, cu_seqlens, seqused, max_seqlen, position_ids };
        assert_eq!(unpadded, wanted);
        assert_eq!(unpadded.gather(&vector.values, 2).unwrap(), vector.kept);
        assert_eq!(unpadded.repad(&vector.kept, 2, 0).unwrap(), vector.repadded);
    }
}

#[test]
fn views_of_rows() {
    for vector in vectors().rows {
        let shape = vector.shape();
        let trained = vector.trained();
        let (ids, trained) = (&vector.ids, trained.as_deref());
        assert_eq!(cu_seqlens(&shape), vector.cu_seqlens);
        assert_eq!(cu_seqlens_padded(&shape), vector.cu_seqlens_padded);
        assert_eq!(max_seqlen(&shape), vector.max_seqlen);
        assert_eq!(doc_lens(&shape), vector.doc_lens);
        assert_eq!(seq_start_id(&shape), vector.seq_start_id);
        assert_eq!(position_ids(&shape), vector.position_ids);
        assert_eq!(segment_ids(&shape), vector.segment_ids);
        assert_eq!(seq_idx(&shape), vector.seq_idx);
        assert_eq!(document_id(&shape), vector.seq_idx);
        assert_eq!(bits(&block_causal_mask(&shape), ids.len()), vector.mask);
        assert_eq!(labels(&shape, ids, trained), vector.labels);
        assert_eq!(shifted_labels(&shape, ids, trained), vector.shifted_labels);
        assert_eq!(loss_mask(&shape, trained), vector.loss_mask);
        let weights = |normalise| loss_weights(&shape, trained, normalise);
        assert_eq!(weights(LossWeighting::Tokens), vector.loss_weights);
        assert_eq!(weights(LossWeighting::Sequences), vector.loss_weights_by_sequence);
        let shifted = shifted_loss_weights(&shape, trained, LossWeighting::Tokens);
        assert_eq!(shifted[..shifted.len() - 1], vector.loss_weights[1..]);
        assert_eq!(shifted.last(), Some(&0.0));
    }
}

#[test]
fn trained_positions_may_stand_in_any_order() {
    let shape = RowShape::packed([4, 3], 8);
    let ids: Vec<i32> = (1..=8).collect();
    let span = |start, end, weight| LossSpan { start, end, weight };
    let ordered = [span(0, 2, 0.5), span(3, 5, 1.0), span(6, 7, 2.0)];
    let views = |trained: &[LossSpan]| {
        let weights = loss_weights(&shape, Some(trained), LossWeighting::Tokens);
        (labels(&shape, &ids, Some(trained)), loss_mask(&shape, Some(trained)), weights)
    };
    let wanted = views(&ordered);
    assert_eq!(wanted.0, [-100, 2, -100, 4, -100, -100, 7, -100]);
    assert_eq!(views(&[ordered[2], ordered[0], ordered[1]]), wanted);
    assert_eq!(views(&[ordered[1], ordered[2], ordered[0]]), wanted);
}

#[test]
fn flattened_batches() {
    let Vectors { rows, flattened, .. } = vectors();
    let rows: Vec<_> = rows.iter().map(|row| (row.shape(), row.trained(), &row.ids)).collect();
    for vector in flattened {
        let packed = |row: &usize| {
            let (shape, trained, ids) = &rows[*row];
            PackedRow { shape, ids, trained: trained.as_deref() }
        };
        let batch = flatten(&vector.rows.iter().map(packed).collect::<Vec<_>>()).unwrap();
        let wanted = FlatBatch {
            input_ids: vector.input_ids,
            labels: vector.labels,
            position_ids: vector.position_ids,
            seq_idx: vector.seq_idx,
            cu_seq_lens_q: vector.cu_seq_lens_q,
            cu_seq_lens_k: vector.cu_seq_lens_k,
            max_length_q: vector.max_length_q,
            max_length_k: vector.max_length_k,
        };
        assert_eq!(batch, wanted);
    }
    assert_eq!(flatten(&[]).unwrap().cu_seq_lens_q, [0]);
    let shape = RowShape::packed([3], 4);
    let short = flatten(&[PackedRow { shape: &shape, ids: &[1, 2, 3], trained: None }]);
    assert_eq!(short, Err(ViewError::Size { what: "a row of ids", found: 3, wanted: 4 }));
}

#[test]
fn shapes_out_of_order_are_refused_and_harm_nothing() {
    let shape = |spans: &[(u32, u32)], width| {
        let spans = spans.iter().map(|&(start, length)| Span { start, length }).collect();
        RowShape { width, spans, pads: PadView::Suffix }
    };
    let bad = [
        shape(&[(0, 0)], 4),
        shape(&[(0, 5)], 4),
        shape(&[(2, 2), (0, 2)], 4),
        shape(&[(0, 3), (2, 2)], 4),
        shape(&[(u32::MAX, u32::MAX)], 4),
        RowShape::packed([u32::MAX, 7], 9),
    ];
    for shape in bad {
        assert!(matches!(shape.check(), Err(ViewError::BadSpan { .. })), "{shape:?}");
        let width = shape.width as usize;
        assert_eq!(position_ids(&shape).len(), width);
        assert_eq!(labels(&shape, &[], None).len(), width);
        assert_eq!(block_causal_mask(&shape).len(), width * width);
        assert_eq!(loss_weights(&shape, None, LossWeighting::Sequences).len(), width);
    }
    let wide = RowShape::packed([], 1 << 31);
    assert_eq!(wide.check(), Err(ViewError::TooLong { tokens: 1 << 31 }));
    let error = RowShape::packed([3, 2], 4).check().unwrap_err();
    let message = "segment 1 lies at 3 with 2 tokens; segments are not empty, follow each other and end within \
                   the row of 4";
    assert_eq!(error.to_string(), message);
    let rows = [RowShape::packed([3], 4), RowShape::packed([3], 3)];
    let ragged = batch_block_causal_mask(&rows);
    assert_eq!(ragged, Err(ViewError::Ragged { row: 1, width: 3, first: 4 }));
    let long = RowShape::packed([1 << 30], 1 << 30);
    let long = [long.clone(), long];
    assert_eq!(batch_cu_seqlens(&long), Err(ViewError::TooLong { tokens: 1 << 31 }));
    assert_eq!(batch_cu_seqlens_padded(&long), Err(ViewError::TooLong { tokens: 1 << 31 }));
    let wrong =
        |row, column, value: &str| Err(ViewError::BadMask { row, column, value: value.to_owned() });
    assert_eq!(unpad(&[0_u8, 1, 2], 1, 3), wrong(0, 2, "2"));
    // Neither is 1 once its bits are cut to those of a byte.
    assert_eq!(unpad(&[0, 1, 1, 257, -1, 0_i64], 2, 3), wrong(1, 0, "257"));
    assert_eq!(unpad(&[1.0, -0.0, 0.5, f64::NAN], 2, 2), wrong(1, 0, "0.5"));
    assert!(matches!(unpad(&[0_u8, 1], 1, 3), Err(ViewError::Size { found: 2, wanted: 3, .. })));
    let unpadded = unpad(&[0_u8, 1, 1], 1, 3).unwrap();
    assert!(unpadded.gather(&[1, 2], 1).is_err() && unpadded.repad(&[1], 1, 0).is_err());
    assert_eq!(unpad::<u8>(&[], 0, 3).unwrap().cu_seqlens, [0]);
}

/// Rows with pads anywhere: gaps and lengths in turn.
fn shapes() -> impl Strategy<Value = RowShape> {
    let parts = proptest::collection::vec((0_u32..4, 1_u32..6), 0..6);
    let pads = prop_oneof![Just(PadView::Suffix), Just(PadView::Each)];
    (parts, 0_u32..4, pads).prop_map(|(parts, rest, pads)| {
        let mut free = 0;
        let span = |(gap, length)| {
            let start = free + gap;
            free = start + length;
            Span { start, length }
        };
        let spans = parts.into_iter().map(span).collect();
        RowShape { width: free + rest, spans, pads }
    })
}

fn spans_of(shape: &RowShape) -> impl Strategy<Value = Option<Vec<LossSpan>>> + use<> {
    let width = shape.width;
    let ends = proptest::collection::vec(
        (0..=width, prop_oneof![Just(1.0_f32), Just(0.0), Just(0.5)]),
        0..7,
    );
    proptest::option::of(ends.prop_map(|mut ends| {
        ends.sort_by_key(|(end, _)| *end);
        let pair = |pair: &[(u32, f32)]| match pair {
            [(start, weight), (end, _)] => {
                Some(LossSpan { start: *start, end: *end, weight: *weight })
            }
            _ => None,
        };
        ends.chunks(2).filter_map(pair).collect()
    }))
}

proptest! {
    #[test]
    fn the_mask_is_of_one_segment_and_causal(shape in shapes()) {
        prop_assert_eq!(shape.check(), Ok(()));
        let width = shape.width as usize;
        // Said by the spans alone.
        let owner = |at: usize| shape.spans.iter().position(|span| {
            (span.start as usize..span.end() as usize).contains(&at)
        });
        let mask = block_causal_mask(&shape);
        let id = document_id(&shape);
        for i in 0..width {
            for j in 0..width {
                let same = match (owner(i), owner(j)) {
                    (None, None) => i == j && shape.pads == PadView::Each,
                    (i, j) => i == j,
                };
                prop_assert_eq!(mask[i * width + j], same && j <= i);
                prop_assert_eq!(mask[i * width + j], id[i] == id[j] && id[i] >= 0 && j <= i);
            }
        }
    }

    #[test]
    fn boundaries_agree(shape in shapes()) {
        let (cu, starts, lengths) = (cu_seqlens(&shape), seq_start_id(&shape), doc_lens(&shape));
        prop_assert_eq!(cu.len(), lengths.len() + 1);
        prop_assert!(cu.windows(2).map(|pair| pair[1] - pair[0]).eq(lengths.iter().copied()));
        prop_assert_eq!(max_seqlen(&shape).cast_signed(), lengths.iter().copied().max().unwrap_or(0));
        let padded = cu_seqlens_padded(&shape);
        prop_assert_eq!(&padded[..starts.len()], &starts[..]);
        prop_assert_eq!(padded[starts.len()], shape.width.cast_signed());
        prop_assert!(padded.windows(2).zip(&lengths).all(|(pair, length)| pair[1] - pair[0] >= *length));
        let (ids, index, positions) = (segment_ids(&shape), seq_idx(&shape), position_ids(&shape));
        prop_assert!(ids.iter().eq(index.iter().map(|at| at + 1).collect::<Vec<_>>().iter()));
        for (number, (start, length)) in starts.iter().zip(&lengths).enumerate() {
            for at in *start..start + length {
                let place = usize::try_from(at).unwrap();
                prop_assert_eq!(index[place], i32::try_from(number).unwrap());
                prop_assert_eq!(positions[place], at - start);
            }
        }
        let inside = index.iter().filter(|at| **at >= 0).count();
        prop_assert_eq!(cu.last().copied(), i32::try_from(inside).ok());
        // What a reader finds that takes a position 0 for a boundary: all of the row.
        let found = positions.iter().enumerate().filter(|(_, position)| **position == 0);
        let mut found: Vec<_> = found.map(|(at, _)| i32::try_from(at).unwrap()).collect();
        found.push(shape.width.cast_signed());
        let whole = if shape.pads == PadView::Each { shape } else { shape.covering() };
        prop_assert_eq!(whole.check(), Ok(()));
        prop_assert_eq!(cu_seqlens(&whole), found);
    }

    #[test]
    fn losses_agree((shape, trained) in shapes().prop_flat_map(|shape| {
        let trained = spans_of(&shape);
        (Just(shape), trained)
    })) {
        let trained = trained.as_deref();
        let width = shape.width as usize;
        let ids: Vec<i32> = (1..=shape.width.cast_signed()).collect();
        let label = labels(&shape, &ids, trained);
        let mask = loss_mask(&shape, trained);
        let shifted = shifted_labels(&shape, &ids, trained);
        let weights = loss_weights(&shape, trained, LossWeighting::Tokens);
        let (index, positions) = (seq_idx(&shape), position_ids(&shape));
        let asked = |at: usize| trained.is_none_or(|spans| spans.iter().any(|span| {
            span.weight > 0.0 && (span.start as usize..span.end as usize).contains(&at)
        }));
        let real = |at: usize| shape.spans.iter().any(|span| {
            (span.start as usize..span.end() as usize).contains(&at)
        });
        for at in 0..width {
            let target = real(at) && positions[at] > 0 && asked(at);
            prop_assert_eq!(label[at], if target { ids[at] } else { IGNORED });
            prop_assert_eq!(weights[at] > 0.0, target);
        }
        for at in 0..width {
            let next = label.get(at + 1).copied().unwrap_or(IGNORED);
            prop_assert_eq!(shifted[at], next);
            prop_assert_eq!(mask[at] == 1, next != IGNORED);
            // Nothing predicts across a border.
            prop_assert!(mask[at] == 0 || index[at] == index[at + 1]);
        }
        let even = loss_weights(&shape, None, LossWeighting::Sequences);
        for number in 0..doc_lens(&shape).len() {
            let of = |at: &usize| index[*at] == i32::try_from(number).unwrap();
            let sum: f32 = (0..width).filter(of).map(|at| even[at]).sum();
            prop_assert!(sum == 0.0 || (sum - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn batches_are_rows_end_to_end(rows in proptest::collection::vec(shapes(), 0..5)) {
        // One row holds all the others.
        let mut spans = Vec::new();
        let mut width = 0;
        for row in &rows {
            spans.extend(row.segments().map(|run| Span { start: width + run.start, length: run.length }));
            width += row.width;
        }
        let whole = RowShape { width, spans, pads: PadView::Suffix };
        prop_assert_eq!(batch_cu_seqlens(&rows).unwrap(), cu_seqlens(&whole));
        prop_assert_eq!(batch_cu_seqlens_padded(&rows).unwrap(), cu_seqlens_padded(&whole));
        let (lengths, columns) = batch_doc_lens(&rows);
        prop_assert_eq!(lengths.len(), columns * rows.len());
        let kept: Vec<_> = lengths.into_iter().filter(|length| *length > 0).collect();
        prop_assert_eq!(kept, doc_lens(&whole));
        // FlatBatch, pads go whatever their view.
        let ids: Vec<Vec<i32>> = rows.iter().map(|row| (0..row.width.cast_signed()).collect()).collect();
        let packed = |(shape, ids)| PackedRow { shape, ids, trained: None };
        let packed: Vec<_> = rows.iter().zip(ids.iter().map(Vec::as_slice)).map(packed).collect();
        let plain: Vec<_> = rows.iter().map(|row| row.clone().with_pads(PadView::Suffix)).collect();
        let batch = flatten(&packed).unwrap();
        prop_assert_eq!(&batch.cu_seq_lens_q, &batch_cu_seqlens(&plain).unwrap());
        prop_assert_eq!(batch.max_length_k, plain.iter().map(max_seqlen).max().unwrap_or(0));
        let places = batch.position_ids.iter().zip(&batch.labels);
        prop_assert!(places.into_iter().all(|(position, label)| (*position == 0) == (*label == -100)));
    }

    #[test]
    fn unpadding_and_padding_again_changes_nothing(
        (rows, width, mask) in (0_usize..5, 0_usize..9).prop_flat_map(|(rows, width)| {
            (Just(rows), Just(width), proptest::collection::vec(0_u8..2, rows * width))
        }),
        inner in 0_usize..4,
    ) {
        let unpadded = unpad(&mask, rows, width).unwrap();
        let values: Vec<u32> = (1..).take(mask.len() * inner).collect();
        let kept = unpadded.gather(&values, inner).unwrap();
        let padded = unpadded.repad(&kept, inner, 0).unwrap();
        let masked = values.iter().enumerate().map(|(at, value)| value * u32::from(mask[at / inner]));
        prop_assert!(padded.iter().copied().eq(masked));
        prop_assert_eq!(unpadded.gather(&padded, inner).unwrap(), kept);
        // The mask itself is unpadded to ones, and padded to itself.
        let ones = unpadded.gather(&mask, 1).unwrap();
        prop_assert!(ones.iter().all(|one| *one == 1));
        prop_assert_eq!(unpadded.repad(&ones, 1, 0).unwrap(), mask);
        let lengths: Vec<_> = unpadded.cu_seqlens.windows(2).map(|pair| pair[1] - pair[0]).collect();
        prop_assert_eq!(&lengths, &unpadded.seqused);
        // Kept positions count from 0 in every row: the positions of these lengths packed.
        let positions = unpadded.gather(&unpadded.position_ids, 1).unwrap();
        let packed = lengths.iter().flat_map(|length| 0..i64::from(*length));
        prop_assert!(positions.into_iter().eq(packed));
    }
}
