//! Cuts rows from documents in their order: greedy (next-fit), concat, and one document a row.

use super::{PackPolicy, Segment};
use crate::epoch::recipe::PackKind;

/// Cuts the rows of one pass. Rows keep the order of the documents and fragments that they are cut from; a whole
/// document is a fragment from 0 to its packed length.
#[derive(Clone, Debug)]
pub struct RowCutter {
    policy: PackPolicy,
    /// The fragment under way, with the tokens of it that are placed already.
    current: Option<(Segment, u32)>,
    row: Vec<Segment>,
    used: u32,
}

impl RowCutter {
    /// Starts a pass.
    #[must_use]
    pub const fn new(policy: PackPolicy) -> Self {
        Self { policy, current: None, row: Vec::new(), used: 0 }
    }

    /// Goes on between two rows, with `placed` tokens of `fragment` placed before.
    #[must_use]
    pub const fn resumed(policy: PackPolicy, fragment: Segment, placed: u32) -> Self {
        Self { policy, current: Some((fragment, placed)), row: Vec::new(), used: 0 }
    }

    /// Placed tokens of the last fragment taken, between two rows; all its tokens where none is under way.
    #[must_use]
    pub fn placed(&self) -> Option<u32> {
        self.current
            .filter(|(fragment, placed)| *placed < fragment.length)
            .map(|(_, placed)| placed)
    }

    /// The next row, taking fragments from `next` as needed; none when the pass is over.
    ///
    /// # Errors
    /// What `next` returns.
    pub fn next_row<E>(
        &mut self,
        mut next: impl FnMut() -> Result<Option<Segment>, E>,
    ) -> Result<Option<Vec<Segment>>, E> {
        let capacity = self.policy.capacity;
        if !self.repeat(&mut next)? {
            return Ok(None);
        }
        loop {
            let (fragment, placed) = match self.current.take() {
                Some(current) => current,
                None => match next()? {
                    Some(fragment) => (fragment, 0),
                    None => return Ok(self.end()),
                },
            };
            let rest = fragment.length - placed;
            if rest == 0 {
                continue;
            }
            let free = capacity - self.used;
            let most = match self.policy.kind {
                PackKind::Concat => free,
                PackKind::Greedy | PackKind::None | PackKind::BestFit => capacity,
            };
            let rest = Segment { offset: fragment.offset + placed, length: rest, ..fragment };
            let piece =
                self.piece(rest, most).filter(|(piece, _)| self.policy.slot(piece.length) <= free);
            let Some((piece, taken)) = piece else {
                self.current = Some((fragment, placed));
                return Ok(self.close());
            };
            self.row.push(piece);
            self.used += self.policy.slot(piece.length);
            self.current = Some((fragment, placed + taken));
            let is_full = self.used == capacity || self.policy.is_full(self.row.len());
            if is_full || self.policy.kind == PackKind::None {
                return Ok(self.close());
            }
        }
    }

    /// What a row with `most` places left has of a part, and the tokens of the part in it; none where an EOS would stand
    /// behind nothing that is stored.
    fn piece(&self, part: Segment, most: u32) -> Option<(Segment, u32)> {
        let whole = self.policy.in_row(part);
        if whole.length <= most {
            return Some((whole, part.length));
        }
        let taken = most - u32::from(self.policy.cut_eos);
        let bos = u32::from(self.policy.bos && part.offset == 0);
        // A row that is empty takes something in any case.
        if self.policy.cut_eos && taken <= bos && !self.row.is_empty() {
            return None;
        }
        Some((Segment { length: most, ..part }, taken.max(1)))
    }

    /// Begins a row with the last token of the row before, where rows overlap; false when nothing would follow it. That
    /// token is a segment, beside which a row has another one.
    fn repeat<E>(
        &mut self,
        next: &mut impl FnMut() -> Result<Option<Segment>, E>,
    ) -> Result<bool, E> {
        let Some((fragment, placed)) = self.current.filter(|(_, placed)| *placed > 0) else {
            return Ok(true);
        };
        if !self.policy.overlap {
            return Ok(true);
        }
        let last = placed - 1;
        if placed < fragment.length {
            self.current = Some((fragment, last));
            return Ok(true);
        }
        let Some(following) = next()? else { return Ok(false) };
        let repeated = Segment { offset: fragment.offset + last, length: 1, ..fragment };
        self.row.push(repeated);
        self.used = 1;
        self.current = Some((following, 0));
        Ok(true)
    }

    /// The row under way, at the end of a pass.
    fn end(&mut self) -> Option<Vec<Segment>> {
        if self.policy.whole_rows {
            self.row.clear();
        }
        self.close()
    }

    fn close(&mut self) -> Option<Vec<Segment>> {
        self.used = 0;
        let row = std::mem::take(&mut self.row);
        (!row.is_empty()).then_some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::pack::without_repeated;
    use crate::epoch::recipe::LongDocuments;
    use model::DocId;
    use proptest::prelude::*;
    use std::convert::Infallible;

    /// Documents in rows of `capacity`, long ones split.
    fn split(capacity: u32) -> PackPolicy {
        PackPolicy {
            kind: PackKind::Greedy,
            capacity,
            long: LongDocuments::Split,
            bos: false,
            eos: true,
            multiple: 1,
            overlap: false,
            whole_rows: false,
            cut_eos: false,
            most_segments: None,
        }
    }

    fn cut(
        kind: PackKind,
        capacity: u32,
        long: LongDocuments,
        lengths: &[u32],
    ) -> Vec<Vec<Segment>> {
        cut_by(PackPolicy { kind, long, ..split(capacity) }, lengths)
    }

    fn cut_by(policy: PackPolicy, lengths: &[u32]) -> Vec<Vec<Segment>> {
        let mut documents = lengths.iter().zip(0..).map(|(length, id)| Segment {
            document: DocId(id),
            offset: 0,
            length: policy.packed(*length),
            document_length: *length,
        });
        let mut cutter = RowCutter::new(policy);
        let mut rows = Vec::new();
        while let Ok(Some(row)) = cutter.next_row(|| Ok::<_, Infallible>(documents.next())) {
            rows.push(row);
        }
        rows
    }

    fn shapes(rows: &[Vec<Segment>]) -> Vec<Vec<(u64, u32, u32)>> {
        rows.iter()
            .map(|row| row.iter().map(|s| (s.document.0, s.offset, s.length)).collect())
            .collect()
    }

    #[test]
    fn greedy_opens_a_row_when_the_next_document_does_not_fit() {
        let rows = cut(PackKind::Greedy, 10, LongDocuments::Split, &[4, 5, 3, 23, 2]);
        assert_eq!(
            shapes(&rows),
            [
                vec![(0, 0, 4), (1, 0, 5)],
                vec![(2, 0, 3)],
                vec![(3, 0, 10)],
                vec![(3, 10, 10)],
                vec![(3, 20, 3), (4, 0, 2)]
            ]
        );
    }

    #[test]
    fn concat_fills_every_row_but_the_last() {
        let rows = cut(PackKind::Concat, 10, LongDocuments::Split, &[4, 5, 3, 11]);
        assert_eq!(
            shapes(&rows),
            [vec![(0, 0, 4), (1, 0, 5), (2, 0, 1)], vec![(2, 1, 2), (3, 0, 8)], vec![(3, 8, 3)]]
        );
    }

    #[test]
    fn none_gives_each_document_its_row() {
        let rows = cut(PackKind::None, 10, LongDocuments::Split, &[4, 21, 3]);
        // 21 = two full rows and a lone EOS, which is left out.
        assert_eq!(
            shapes(&rows),
            [vec![(0, 0, 4)], vec![(1, 0, 10)], vec![(1, 10, 10)], vec![(2, 0, 3)]]
        );
        assert_eq!(
            shapes(&cut(PackKind::None, 10, LongDocuments::Drop, &[4, 21, 3])),
            [vec![(0, 0, 4)], vec![(2, 0, 3)]]
        );
    }

    #[test]
    fn rows_end_where_they_have_their_segments() {
        let segments = |kind, most| {
            let policy = PackPolicy { kind, most_segments: Some(most), ..split(10) };
            shapes(&cut_by(policy, &[4, 2, 3, 11]))
        };
        let greedy = [vec![(0, 0, 4), (1, 0, 2)], vec![(2, 0, 3)], vec![(3, 0, 10)]];
        assert_eq!(segments(PackKind::Greedy, 2), greedy);
        let concat = [vec![(0, 0, 4), (1, 0, 2)], vec![(2, 0, 3), (3, 0, 7)], vec![(3, 7, 4)]];
        assert_eq!(segments(PackKind::Concat, 2), concat);
        let one = [vec![(0, 0, 4)], vec![(1, 0, 2)], vec![(2, 0, 3)], vec![(3, 0, 10)]];
        assert_eq!(segments(PackKind::Greedy, 1), one);
        assert_eq!(segments(PackKind::Concat, 1)[3..], [vec![(3, 0, 10)], vec![(3, 10, 1)]]);
    }

    proptest! {
        /// The last token of a row was predicted by none: rows that overlap predict each token but the first once.
        #[test]
        fn rows_that_overlap_lose_no_prediction(
            lengths in proptest::collection::vec(1_u32..30, 0..30),
            capacity in 3_u32..12,
            whole_rows: bool,
            most in proptest::option::of(2_u32..6),
        ) {
            // Tokens that fill no row are left out by their number, which a limit of segments changes.
            let most_segments = most.filter(|_| !whole_rows);
            let policy = PackPolicy {
                kind: PackKind::Concat, capacity, long: LongDocuments::Split, bos: false, eos: true, multiple: 1,
                overlap: true, whole_rows, cut_eos: false, most_segments,
            };
            let rows = cut_by(policy, &lengths);
            let tokens = |segments: &[Segment]| -> Vec<(u64, u32)> {
                let of = |s: &Segment| (s.offset..s.offset + s.length).map(|at| (s.document.0, at)).collect::<Vec<_>>();
                segments.iter().flat_map(of).collect()
            };
            let all: Vec<(u64, u32)> = (0..).zip(&lengths).flat_map(|(id, n)| (0..*n).map(move |at| (id, at))).collect();
            let kept = all.len() - policy.partial(all.len() as u64) as usize;
            let mut predicted = Vec::new();
            let mut own_tokens = Vec::new();
            for (at, row) in rows.iter().enumerate() {
                let found = tokens(row);
                let is_full = found.len() == capacity as usize || policy.is_full(row.len());
                prop_assert!(is_full || (!whole_rows && at + 1 == rows.len()));
                prop_assert!(most_segments.is_none_or(|most| row.len() <= most as usize));
                prop_assert!(found.len() > 1 || rows.len() == 1, "a row that predicts nothing");
                predicted.extend(found.windows(2).map(|pair| (pair[0], pair[1])));
                let own: Vec<Segment> = without_repeated(row, u32::from(at > 0)).collect();
                own_tokens.extend(tokens(&own));
            }
            prop_assert_eq!(&own_tokens[..], &all[..kept]);
            prop_assert!(predicted.into_iter().eq(all[..kept].windows(2).map(|pair| (pair[0], pair[1]))));
        }

        /// Each part of a document that is cut ends with an EOS, whatever way the rows are cut, and the parts go on
        /// where the one before stopped.
        #[test]
        fn every_cut_has_an_eos_and_loses_no_token(
            lengths in proptest::collection::vec(2_u32..40, 0..30),
            capacity in 3_u32..14,
            bos: bool,
            multiple in 1_u32..4,
            kind in prop_oneof![Just(PackKind::Greedy), Just(PackKind::Concat), Just(PackKind::None)],
            long in prop_oneof![Just(LongDocuments::Split), Just(LongDocuments::Truncate), Just(LongDocuments::Drop)],
            most_segments in proptest::option::of(1_u32..6),
        ) {
            let (capacity, multiple) = (capacity * multiple, multiple);
            let policy = PackPolicy { kind, capacity, long, bos, eos: true, multiple, overlap: false, whole_rows: false, cut_eos: true, most_segments };
            let mut given = vec![0; lengths.len()];
            let rows = cut_by(policy, &lengths);
            for (at, row) in rows.iter().enumerate() {
                let places: u32 = row.iter().map(|segment| policy.slot(segment.length)).sum();
                prop_assert!(places <= capacity);
                for segment in row {
                    let (document, part) = (segment.document.0 as usize, policy.of_document(*segment));
                    prop_assert_eq!(part.offset, given[document]);
                    given[document] = part.end();
                    let own = part.length - u32::from(bos && part.offset == 0);
                    prop_assert!(own > 0 || part.end() == part.document_length, "an EOS behind nothing");
                    prop_assert_eq!(policy.in_row(part), *segment);
                }
                prop_assert!(most_segments.is_none_or(|most| row.len() <= most as usize));
                let is_short = at + 1 == rows.len() || policy.is_full(row.len());
                if kind == PackKind::Concat && !is_short && long == LongDocuments::Split {
                    prop_assert!(places + 2 * multiple >= capacity, "a row that is not full");
                }
            }
            for (length, given) in lengths.iter().zip(given) {
                prop_assert_eq!(policy.packed(*length), given);
            }
        }

        #[test]
        fn no_packed_token_is_lost_or_moved(
            lengths in proptest::collection::vec(1_u32..50, 0..40),
            capacity in 2_u32..20,
            kind in prop_oneof![Just(PackKind::Greedy), Just(PackKind::Concat), Just(PackKind::None)],
            long in prop_oneof![Just(LongDocuments::Split), Just(LongDocuments::Truncate), Just(LongDocuments::Drop)],
            most_segments in proptest::option::of(1_u32..6),
        ) {
            let policy = PackPolicy { kind, capacity, long, bos: false, eos: true, multiple: 1, overlap: false, whole_rows: false, cut_eos: false, most_segments };
            let rows = cut_by(policy, &lengths);
            let mut placed = vec![0; lengths.len()];
            let mut last = 0;
            for row in &rows {
                let tokens: u32 = row.iter().map(|s| s.length).sum();
                prop_assert!(tokens > 0 && tokens <= capacity);
                prop_assert!(most_segments.is_none_or(|most| row.len() <= most as usize));
                for segment in row {
                    let document = segment.document.0 as usize;
                    prop_assert!(document >= last, "rows keep the order");
                    last = document;
                    prop_assert_eq!(segment.offset, placed[document], "fragments are contiguous");
                    placed[document] += segment.length;
                    if kind != PackKind::Concat {
                        prop_assert_eq!(segment.offset % capacity, 0);
                    }
                }
            }
            for (length, placed) in lengths.iter().zip(placed) {
                prop_assert_eq!(policy.packed(*length), placed);
            }
            if kind == PackKind::Concat {
                let is_short = |row: &&Vec<Segment>| {
                    row.iter().map(|s| s.length).sum::<u32>() < capacity && !policy.is_full(row.len())
                };
                let short = rows.iter().rev().skip(1).find(is_short);
                prop_assert!(short.is_none());
            }
        }
    }
}
