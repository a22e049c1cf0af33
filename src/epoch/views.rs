//! The columns a trainer reads beside the ids: all derived from segment lengths, never from an EOS.
//!
//! Pads stand at the end of a row, outside every segment: label -100, loss mask 0, and position ids
//! that start at 0 and count on, so that a reader which takes boundaries from position ids sees the
//! pads as one run of its own.

use super::pack::Segment;

/// The label that losses ignore.
pub(super) const IGNORED: i32 = -100;

/// Appends the labels of a row, unshifted: the ids, but ignored at the first token of each segment
/// (nothing in the segment predicts it) and on pads.
pub(super) fn labels(ids: &[i32], segments: &[Segment], out: &mut Vec<i32>) {
    let mut start = 0;
    for segment in segments {
        let end = start + segment.length as usize;
        out.push(IGNORED);
        out.extend_from_slice(ids.get(start + 1..end).unwrap_or_default());
        start = end;
    }
    out.resize(out.len() + ids.len().saturating_sub(start), IGNORED);
}

/// Appends the loss mask of a row of `width` tokens, rolled left: 1 where the next token is of the
/// same segment.
pub(super) fn loss_mask(width: usize, segments: &[Segment], out: &mut Vec<i8>) {
    let mut start = 0;
    for segment in segments {
        let end = start + segment.length as usize;
        out.resize(out.len() + end - start - 1, 1);
        out.push(0);
        start = end;
    }
    out.resize(out.len() + width.saturating_sub(start), 0);
}

/// Appends the position ids of a row of `width` tokens: from 0 in every segment, and in the pads.
pub(super) fn position_ids(width: usize, segments: &[Segment], out: &mut Vec<i32>) {
    let mut start = 0;
    for segment in segments {
        out.extend((0..).take(segment.length as usize));
        start += segment.length as usize;
    }
    out.extend((0..).take(width.saturating_sub(start)));
}

/// Appends the first position of each segment of a row.
pub(super) fn starts(segments: &[Segment], out: &mut Vec<i32>) {
    let mut start = 0;
    for segment in segments {
        out.push(start);
        start += segment.length.cast_signed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DocId;

    #[test]
    fn columns_of_a_padded_row() {
        let segment =
            |length| Segment { document: DocId(0), offset: 0, length, document_length: length };
        let segments = [segment(3), segment(1), segment(2)];
        let ids = [11, 12, 13, 21, 31, 32, 9, 9];
        let (mut label, mut mask, mut position, mut start) = (vec![], vec![], vec![], vec![]);
        labels(&ids, &segments, &mut label);
        loss_mask(ids.len(), &segments, &mut mask);
        position_ids(ids.len(), &segments, &mut position);
        starts(&segments, &mut start);
        assert_eq!(label, [-100, 12, 13, -100, -100, 32, -100, -100]);
        assert_eq!(mask, [1, 1, 0, 0, 1, 0, 0, 0]);
        assert_eq!(position, [0, 1, 2, 0, 0, 1, 0, 1]);
        assert_eq!(start, [0, 3, 4]);
    }
}
