//! Where string pages end: a function of the lengths of values in the order of their documents.
//!
//! It does not ask who brought a document, nor with how many others: a last page that is not full is taken in by the next
//! commit, which begins with its values, so that pages are those of one commit of all.

use crate::bytes::page::SHORT;
use std::ops::Range;

/// Raw bytes of a page of many short values, and of one of few long ones: 16 KiB of lz4 are decoded about as fast as 8 KiB
/// of zstd, and take 6 to 8 % fewer bytes than 8 KiB of lz4 (docs/BENCHMARKS.md).
const MANY: usize = 16 << 10;
const FEW: usize = 8 << 10;
/// Documents of a page at most.
const DOCUMENTS: u64 = 4096;
/// Documents of a block: no page is of two.
const BLOCK: u64 = 65_536;

/// Cuts the documents of a column into pages.
#[derive(Clone, Debug)]
pub struct PageCutter {
    /// Documents of the page that is being filled.
    page: Range<u64>,
    /// Those of them that have a value.
    values: usize,
    /// Bytes of these.
    raw: usize,
}

impl PageCutter {
    /// A cutter whose first page begins with the document `first`: the next one of the column, or the first of its last
    /// page where that is not full.
    #[must_use]
    pub const fn new(first: u64) -> Self {
        Self { page: first..first, values: 0, raw: 0 }
    }

    /// Takes the next document, with the bytes of its value if it has one, and says which page ended before it.
    pub fn push(&mut self, length: Option<usize>) -> Option<Range<u64>> {
        let ended = match self.is_full() || length.is_some_and(|length| !self.has_room(length)) {
            true => self.finish(),
            false => None,
        };
        self.page.end += 1;
        self.values += usize::from(length.is_some());
        self.raw = self.raw.saturating_add(length.unwrap_or(0));
        ended
    }

    /// Ends the page that is being filled; none where it has no document.
    pub fn finish(&mut self) -> Option<Range<u64>> {
        let next = Self::new(self.page.end);
        let ended = std::mem::replace(self, next).page;
        (!ended.is_empty()).then_some(ended)
    }

    /// Whether no document can come to the page that is being filled. One that is not full is taken in by the next
    /// commit.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let at_border = !self.page.is_empty() && self.page.end.is_multiple_of(BLOCK);
        at_border
            || self.page.end - self.page.start >= DOCUMENTS
            || self.raw >= MANY
            || self.raw >= FEW && self.values <= SHORT
    }

    /// Whether a value of `length` bytes can come to the page. The first always can; one of the size of a page of few
    /// stands alone; others may take the page to half as much again as it should have, which a page of many never passes.
    const fn has_room(&self, length: usize) -> bool {
        let is_within = self.values >= SHORT || self.raw + length <= FEW + FEW / 2;
        self.values == 0 || length < FEW && is_within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pages of documents from `first` on.
    fn pages(first: u64, lengths: &[Option<usize>]) -> Vec<Range<u64>> {
        let mut cutter = PageCutter::new(first);
        let mut pages: Vec<_> = lengths.iter().filter_map(|length| cutter.push(*length)).collect();
        pages.extend(cutter.finish());
        pages
    }

    fn lengths() -> impl Strategy<Value = Vec<Option<usize>>> {
        let length = prop_oneof![
            1 => Just(None),
            4 => (0_usize..40).prop_map(Some),
            4 => (300_usize..700).prop_map(Some),
            2 => (0_usize..30_000).prop_map(Some),
        ];
        proptest::collection::vec(length, 0..300)
    }

    #[test]
    fn pages_end_where_the_rule_says() {
        let sizes = |lengths: &[usize]| -> Vec<u64> {
            let lengths: Vec<_> = lengths.iter().copied().map(Some).collect();
            pages(0, &lengths).iter().map(|page| page.end - page.start).collect()
        };
        // 8 KiB of few, and 16 KiB of many.
        assert_eq!(sizes(&[1024; 20]), [8, 8, 4]);
        assert_eq!(sizes(&[1023; 20]), [17, 3]);
        assert_eq!(sizes(&[477; 100]), [35, 35, 30]);
        // Before what would be over 12 KiB; of many, what comes to less than 16 KiB is never over 24.
        assert_eq!(sizes(&[7000, 5288, 9]), [2, 1]);
        assert_eq!(sizes(&[7000, 5289, 9]), [1, 2]);
        let mut many = vec![1023; 16];
        many.extend([8191, 5]);
        assert_eq!(sizes(&many), [17, 1]);
        // Alone from 8 KiB on.
        assert_eq!(sizes(&[10, 8192, 10]), [1, 1, 1]);
        assert_eq!(sizes(&[10, 8191, 10]), [2, 1]);
        assert_eq!(sizes(&[1 << 30, 1 << 30]), [1, 1]);
        // Documents without a value have no bytes, and do not part a value from its page.
        assert_eq!(pages(0, &[None, Some(9000), None, None]), [0..2, 2..4]);
        // At 4,096 documents, and at the end of a block.
        assert_eq!(sizes(&[0; 5000]), [4096, 904]);
        assert_eq!(pages(65_530, &[Some(3); 10]), [65_530..65_536, 65_536..65_540]);
        assert_eq!(pages(65_536, &[Some(3); 10]), [65_536..65_546]);
    }

    proptest! {
        #[test]
        fn pages_are_whole_and_of_their_size(first in 65_000_u64..66_000, lengths in lengths()) {
            let mut next = first;
            for page in pages(first, &lengths) {
                prop_assert_eq!(page.start, next);
                next = page.end;
                let of = &lengths[(page.start - first) as usize..(page.end - first) as usize];
                let (values, raw) = (of.iter().flatten().count(), of.iter().flatten().sum::<usize>());
                prop_assert!(values <= 1 || raw <= 24 << 10);
                prop_assert!(values <= 1 || values > 8 || raw <= 12 << 10);
                prop_assert!(values <= 1 || of.iter().flatten().all(|length| *length < 8 << 10));
                prop_assert!(page.start / 65_536 == (page.end - 1) / 65_536);
            }
            prop_assert_eq!(next, first + lengths.len() as u64);
        }

        #[test]
        fn commits_change_no_page(lengths in lengths(), commits in proptest::collection::vec(1_usize..60, 1..20)) {
            let (mut stored, mut next) = (Vec::<Range<u64>>::new(), 0);
            for commit in commits.iter().cycle() {
                let end = lengths.len().min(next + commit);
                // What a commit does: it takes the last page in, if that is not full.
                let last = stored.last().map_or(0..0, Range::clone);
                let mut cutter = PageCutter::new(last.start);
                for document in last.clone() {
                    prop_assert_eq!(cutter.push(lengths[document as usize]), None);
                }
                if cutter.is_full() {
                    cutter = PageCutter::new(last.end);
                } else {
                    stored.pop();
                }
                stored.extend(lengths[next..end].iter().filter_map(|length| cutter.push(*length)));
                stored.extend(cutter.finish());
                next = end;
                if next == lengths.len() { break; }
            }
            prop_assert_eq!(stored, pages(0, &lengths));
        }
    }
}
