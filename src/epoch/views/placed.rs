//! Places rows in a batch: padded to one width, or the segments of all end to end as one row.

use super::shape::{RowShape, Span, ViewError, size, wide};
use super::{PadSide, PadView};
use model::LossSpan;

/// A row made of others, or with pads added: its shape, its ids, and the spans that are trained on.
pub(in crate::epoch) struct PlacedRow<I> {
    pub shape: RowShape,
    pub ids: Vec<I>,
    pub trained: Option<Vec<LossSpan>>,
}

/// Shape, ids and trained spans of a row as it is.
type RowParts<'a, I> = (&'a RowShape, &'a [I], Option<&'a [LossSpan]>);

/// The segments of rows as one row without pads.
///
/// # Errors
/// More tokens than an i32 can name.
pub(in crate::epoch) fn end_to_end<'a, I: Copy + 'a>(
    rows: impl Iterator<Item = RowParts<'a, I>> + Clone,
) -> Result<PlacedRow<I>, ViewError> {
    let is_masked = rows.clone().any(|(.., trained)| trained.is_some());
    let mut ids = Vec::with_capacity(rows.clone().map(|(_, own, _)| own.len()).sum());
    let (mut spans, mut trained, mut end) = (Vec::new(), Vec::new(), 0);
    for (shape, own, said) in rows {
        let (first, start) = (spans.len(), end);
        for span in &shape.spans {
            let place = size(span.start)..size(span.end());
            ids.extend_from_slice(own.get(place).unwrap_or_default());
            spans.push(Span { start: end, length: span.length });
            end = ids.len() as u32;
            if i32::try_from(ids.len()).is_err() {
                return Err(ViewError::TooLong { tokens: ids.len() as u64 });
            }
        }
        // Pads within trained spans go too, so that a span stays in one piece.
        let is_without_gaps = shape.spans.last().is_none_or(|last| last.end() == end - start);
        let moved = |at: u32| {
            if is_without_gaps {
                return start + at.min(end - start);
            }
            let next = shape.spans.partition_point(|span| span.end() <= at);
            let place = shape.spans.get(next).zip(spans.get(first + next));
            place.map_or(end, |(old, new)| new.start + at.saturating_sub(old.start))
        };
        match said {
            Some(said) => trained.extend(said.iter().map(|said| LossSpan {
                start: moved(said.start),
                end: moved(said.end),
                ..*said
            })),
            None if is_masked => trained.push(LossSpan { start, end, weight: 1.0 }),
            None => {}
        }
    }
    let shape = RowShape { width: end, spans, pads: PadView::Suffix };
    Ok(PlacedRow { shape, ids, trained: is_masked.then_some(trained) })
}

/// A row with pads added at a side.
pub(in crate::epoch) fn widened<I: Copy>(
    (shape, own, trained): RowParts<'_, I>,
    width: u32,
    side: PadSide,
    pad: I,
) -> PlacedRow<I> {
    let added = width.saturating_sub(shape.width);
    let before = if side == PadSide::Left { added } else { 0 };
    let mut shape = RowShape { width, ..shape.clone() };
    shape.spans.iter_mut().for_each(|span| span.start = span.start.saturating_add(before));
    let mut ids = Vec::with_capacity(size(width));
    ids.resize(size(before), pad);
    ids.extend_from_slice(own);
    ids.resize(size(width), pad);
    let moved = |span: &LossSpan| LossSpan {
        start: span.start.saturating_add(before),
        end: span.end.saturating_add(before),
        ..*span
    };
    PlacedRow { shape, ids, trained: trained.map(|spans| spans.iter().map(moved).collect()) }
}

/// Where the tokens of segments stand in a batch whose rows are padded to one width at a side, seen as one row.
pub(in crate::epoch) fn indices<'a>(
    shapes: impl Iterator<Item = &'a RowShape> + Clone,
    side: PadSide,
) -> Vec<i64> {
    let width = shapes.clone().map(|shape| shape.width).max().unwrap_or(0);
    let tokens = shapes.clone().flat_map(|shape| &shape.spans).map(|span| size(span.length)).sum();
    let mut indices = Vec::with_capacity(tokens);
    for (number, shape) in shapes.enumerate() {
        let added = if side == PadSide::Left { size(width - shape.width) } else { 0 };
        let before = wide(number * size(width) + added);
        for span in &shape.spans {
            indices.extend((span.start..span.end()).map(|at| before + i64::from(at)));
        }
    }
    indices
}
