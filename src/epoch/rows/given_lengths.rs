//! Packs documents of which only lengths are known, as a recipe packs those of a corpus.

use crate::epoch::error::EpochError;
use crate::epoch::pack::{LengthHistogram, PackItem, PackItems, PackPolicy, RowCutter, Segment};
use crate::epoch::plan::policy;
use crate::epoch::recipe::{LongDocuments, PackKind, PackRecipe, Recipe, SpecialIds};
use model::DocId;
use model::invariant::at;

/// Rows as lists of segments, end to end: row `r` has the segments from `row_offsets[r]` to before `row_offsets[r + 1]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentArrays {
    /// Where each row begins among the segments, leading 0; one more than there are rows.
    pub row_offsets: Vec<i64>,
    /// The document of each segment, as its index in the list of lengths.
    pub documents: Vec<i64>,
    /// First token of each segment within its document.
    pub starts: Vec<i64>,
    /// The token behind its last one.
    pub stops: Vec<i64>,
}

/// Packs documents of these lengths: their tokens with BOS and EOS, where they have them, which no rule here knows.
///
/// Rows of `best-fit` hold documents of equal length in the order in which they are given, and come as they were filled:
/// an order to shuffle, as epochs do. Rows of the other kinds take documents in order, as those of a recipe with
/// `order.kind = "sequential"`. A document without tokens is in no row. Takes some 40 bytes a document.
///
/// ```
/// use corpusdb::epoch::pack_lengths;
/// use corpusdb::epoch::recipe::PackRecipe;
///
/// let rows = pack_lengths(&[3, 9, 5, 2], &PackRecipe { length: 8, ..PackRecipe::default() })?;
/// // Eight tokens of document 1, documents 2 and 0, then document 3 with the last token of document 1.
/// assert_eq!(rows.row_offsets, [0, 1, 3, 5]);
/// assert_eq!(rows.documents, [1, 2, 0, 3, 1]);
/// assert_eq!((rows.starts, rows.stops), (vec![0, 0, 0, 0, 8], vec![8, 5, 3, 2, 9]));
/// # Ok::<(), corpusdb::epoch::EpochError>(())
/// ```
///
/// # Errors
/// [`EpochError::Recipe`] for settings that contradict each other, or that need texts or special tokens.
pub fn pack_lengths(lengths: &[u32], pack: &PackRecipe) -> Result<SegmentArrays, EpochError> {
    let mut recipe = Recipe::parse("version = 1")?;
    recipe.pack = pack.clone();
    recipe.check()?;
    if recipe.pack.options.long == LongDocuments::Paragraph {
        return Err(EpochError::Recipe(
            "long = \"paragraph\" cuts documents where paragraphs of their texts end, and there are no texts beside the \
             lengths; use \"split\""
                .to_owned(),
        ));
    }
    let policy = policy(&recipe, None, &SpecialIds::default());
    if policy.kind == PackKind::BestFit {
        best_fit(lengths, &policy)
    } else {
        in_order(lengths, policy)
    }
}

fn in_order(lengths: &[u32], policy: PackPolicy) -> Result<SegmentArrays, EpochError> {
    let documents = lengths.iter().zip(0..).map(|(length, document)| Segment {
        document: DocId(document),
        offset: 0,
        length: policy.packed(*length),
        document_length: *length,
    });
    let mut documents = documents.filter(|document| document.length > 0);
    let (mut cutter, mut rows) = (RowCutter::new(policy), SegmentArrays::new());
    while let Some(row) = cutter.next_row(|| Ok::<_, EpochError>(documents.next()))? {
        row.iter().for_each(|segment| rows.add(segment.document.0, segment.offset, segment.length));
        rows.close();
    }
    Ok(rows)
}

fn best_fit(lengths: &[u32], policy: &PackPolicy) -> Result<SegmentArrays, EpochError> {
    let mut documents: Vec<(u32, u64)> = lengths.iter().copied().zip(0..).collect();
    documents.sort_unstable();
    let mut histogram = LengthHistogram::new();
    for (length, _) in &documents {
        *histogram.entry(*length).or_default() += 1;
    }
    let mut next = 0;
    // Where the documents of each length begin.
    let begins: LengthHistogram = histogram
        .iter()
        .map(|(length, count)| {
            let begin = next;
            next += count;
            (*length, begin)
        })
        .collect();
    let items = PackItems::of(&histogram, &[], policy);
    let mut rows = SegmentArrays::new();
    for pattern in items.patterns(policy).patterns() {
        for row in 0..pattern.rows {
            for item in &pattern.items {
                for ordinal in item.ordinals(row) {
                    let Some(PackItem::Ranked { length, rank, offset, tokens }) =
                        items.locate(item.size, ordinal)
                    else {
                        return Err(EpochError::bug("an item that is nowhere"));
                    };
                    let begin = begins
                        .get(&length)
                        .ok_or_else(|| EpochError::bug("an item of no length"))?;
                    let (_, document) = at(&documents, (begin + rank) as usize);
                    rows.add(*document, offset, tokens);
                }
            }
            rows.close();
        }
    }
    Ok(rows)
}

impl SegmentArrays {
    fn new() -> Self {
        Self { row_offsets: vec![0], documents: Vec::new(), starts: Vec::new(), stops: Vec::new() }
    }

    /// Adds a segment to the row under way.
    fn add(&mut self, document: u64, offset: u32, length: u32) {
        self.documents.push(document.cast_signed());
        self.starts.push(offset.into());
        self.stops.push(i64::from(offset) + i64::from(length));
    }

    /// Ends the row under way.
    fn close(&mut self) {
        self.row_offsets.push(self.documents.len() as i64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::recipe::PackOptions;
    use proptest::prelude::*;

    fn packed(
        lengths: &[u32],
        kind: PackKind,
        length: u32,
        long: LongDocuments,
    ) -> Vec<Vec<(i64, i64, i64)>> {
        let options = PackOptions { long, ..PackOptions::default() };
        let pack = PackRecipe { kind, length, options, ..PackRecipe::default() };
        let rows = pack_lengths(lengths, &pack).unwrap();
        let segments: Vec<(i64, i64, i64)> = rows
            .documents
            .iter()
            .zip(rows.starts.iter().zip(&rows.stops))
            .map(|(document, (start, stop))| (*document, *start, *stop))
            .collect();
        let ends = rows.row_offsets.windows(2);
        ends.map(|pair| segments[pair[0] as usize..pair[1] as usize].to_vec()).collect()
    }

    #[test]
    fn rows_of_every_kind() {
        let rows = |kind| packed(&[4, 0, 5, 3, 11], kind, 10, LongDocuments::Split);
        assert_eq!(
            rows(PackKind::Greedy),
            [vec![(0, 0, 4), (2, 0, 5)], vec![(3, 0, 3)], vec![(4, 0, 10)], vec![(4, 10, 11)]]
        );
        assert_eq!(
            rows(PackKind::Concat),
            [vec![(0, 0, 4), (2, 0, 5), (3, 0, 1)], vec![(3, 1, 3), (4, 0, 8)], vec![(4, 8, 11)]]
        );
        assert_eq!(
            rows(PackKind::None),
            [
                vec![(0, 0, 4)],
                vec![(2, 0, 5)],
                vec![(3, 0, 3)],
                vec![(4, 0, 10)],
                vec![(4, 10, 11)]
            ]
        );
        assert_eq!(
            rows(PackKind::BestFit),
            [vec![(4, 0, 10)], vec![(2, 0, 5), (0, 0, 4), (4, 10, 11)], vec![(3, 0, 3)]]
        );
        assert_eq!(
            packed(&[0, 0], PackKind::BestFit, 10, LongDocuments::Split),
            Vec::<Vec<_>>::new()
        );
        assert_eq!(packed(&[], PackKind::Concat, 10, LongDocuments::Split), Vec::<Vec<_>>::new());
    }

    #[test]
    fn settings_that_lengths_cannot_have() {
        let refused = |pack: PackRecipe| pack_lengths(&[1], &pack).unwrap_err().to_string();
        let short = refused(PackRecipe { length: 1, ..PackRecipe::default() });
        assert!(short.contains("pack.length is 1, not in 2 to"), "{short}");
        let options = PackOptions { long: LongDocuments::Paragraph, ..PackOptions::default() };
        let texts = refused(PackRecipe { options, ..PackRecipe::default() });
        assert!(texts.contains("no texts beside the lengths"), "{texts}");
        let eos = refused(PackRecipe { cut_eos: true, ..PackRecipe::default() });
        assert!(eos.contains("none is declared"), "{eos}");
        let options = PackOptions { doc_multiple: 2, ..PackOptions::default() };
        let pads = refused(PackRecipe { options, ..PackRecipe::default() });
        assert!(pads.contains("there is no pad token"), "{pads}");
    }

    proptest! {
        #[test]
        fn each_token_is_in_one_row_unless_long_says_so(
            lengths in proptest::collection::vec(0_u32..40, 0..60),
            capacity in 2_u32..24,
            kind in prop_oneof![Just(PackKind::BestFit), Just(PackKind::Greedy), Just(PackKind::Concat), Just(PackKind::None)],
            long in prop_oneof![Just(LongDocuments::Split), Just(LongDocuments::Truncate), Just(LongDocuments::Drop)],
        ) {
            let rows = packed(&lengths, kind, capacity, long);
            let mut found: Vec<Vec<i64>> = vec![Vec::new(); lengths.len()];
            for row in &rows {
                let tokens: i64 = row.iter().map(|(_, start, stop)| stop - start).sum();
                prop_assert!(tokens > 0 && tokens <= i64::from(capacity));
                prop_assert!(kind != PackKind::None || row.len() == 1);
                for (document, start, stop) in row {
                    prop_assert!(start < stop);
                    found[*document as usize].extend(*start..*stop);
                }
            }
            for (length, mut tokens) in lengths.into_iter().zip(found) {
                tokens.sort_unstable();
                let kept = match long {
                    LongDocuments::Truncate => length.min(capacity),
                    LongDocuments::Drop if length > capacity => 0,
                    _ => length,
                };
                prop_assert!(tokens.into_iter().eq(0..i64::from(kept)));
            }
        }
    }
}
