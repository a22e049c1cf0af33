//! Tests of coverage against lists of single tokens.

use super::*;
use crate::epoch::recipe::LongDocuments;
use model::DocId;
use proptest::prelude::*;
use std::collections::BTreeMap;

const CAPACITY: u32 = 8;

fn policy(kind: PackKind, long: LongDocuments) -> PackPolicy {
    PackPolicy {
        kind,
        capacity: CAPACITY,
        long,
        bos: false,
        eos: false,
        multiple: 1,
        overlap: false,
        whole_rows: false,
        cut_eos: false,
        most_segments: None,
    }
}

/// Effective tokens of a document: one length for each, some longer than a row.
fn length(document: u64) -> u32 {
    [3, 8, 20, 9, 1, 33][document as usize % 6]
}

/// How often each (document, token) is covered.
type Tokens = BTreeMap<(u64, u32), usize>;

fn tokens(coverage: &Coverage) -> Tokens {
    let mut tokens = Tokens::new();
    for layer in coverage.whole.layers() {
        for document in layer {
            (0..length(document)).for_each(|at| *tokens.entry((document, at)).or_default() += 1);
        }
    }
    for part in coverage.parts.segments() {
        let covered = part.offset..part.offset + part.length;
        covered.for_each(|at| *tokens.entry((part.document.0, at)).or_default() += 1);
    }
    tokens
}

fn segment(document: u64, offset: u32, tokens: u32) -> Segment {
    let document_length = length(document);
    Segment { document: DocId(document), offset, length: tokens, document_length }
}

/// What a pass holds: whole copies, and parts of some.
fn due() -> impl Strategy<Value = Coverage> {
    let copies = proptest::collection::vec((0_u64..9, 1_usize..4), 0..9);
    let parts = proptest::collection::vec((0_u64..9, 0_u32..33, 1_u32..33), 0..5);
    (copies, parts).prop_map(|(copies, parts)| {
        let mut whole = CopyLayers::default();
        for (document, copies) in copies {
            (0..copies).for_each(|_| whole.insert(document));
        }
        let parts = parts.into_iter().map(|(document, offset, tokens)| {
            let offset = offset % length(document);
            segment(document, offset, tokens.min(length(document) - offset))
        });
        Coverage { whole, parts: TokenSpans::new(parts.collect()) }
    })
}

/// Rows of a pass: each document whole, or cut as a row would cut it.
fn rows(due: &Coverage, cut: u32, policy: &PackPolicy) -> Vec<Segment> {
    let policy = PackPolicy { capacity: cut + u32::from(policy.cut_eos), ..*policy };
    let rows_of = |part: Segment| policy.pieces(part).map(|part| policy.in_row(part));
    let mut rows = Vec::new();
    for layer in due.whole.layers() {
        let whole = layer.iter().map(|document| segment(document, 0, length(document)));
        rows.extend(whole.flat_map(rows_of));
    }
    rows.extend(due.parts.segments().iter().flat_map(|part| rows_of(*part)));
    rows
}

fn collect(rows: &[Segment], policy: &PackPolicy) -> Coverage {
    let mut given = CoverageCollector::default();
    rows.iter().for_each(|row| given.add(row, policy));
    given.coverage()
}

proptest! {
    #[test]
    fn given_and_rest_are_what_is_due_in_any_order(
        due in due(),
        cut in 1_u32..40,
        concat: bool,
        cut_eos: bool,
        taken in any::<proptest::sample::Index>(),
        order in any::<u64>(),
    ) {
        let kind = if concat { PackKind::Concat } else { PackKind::BestFit };
        let policy = PackPolicy { cut_eos, ..policy(kind, LongDocuments::Split) };
        // Planning cuts what passes hold.
        let due = if cut_eos { due.cut(&policy) } else { due };
        let mut rows = rows(&due, cut, &policy);
        rows.sort_by_key(|row| blake3::hash(&[order.to_le_bytes(), row.document.0.to_le_bytes(), u64::from(row.offset).to_le_bytes()].concat()).as_bytes()[0]);
        rows.truncate(taken.index(rows.len() + 1));
        let given = collect(&rows, &policy);
        let left = due.minus(&given, &policy).unwrap();
        let mut sum = left.clone();
        sum.add(&given);
        prop_assert_eq!(tokens(&sum), tokens(&due));
        rows.reverse();
        prop_assert_eq!(&due.minus(&collect(&rows, &policy), &policy).unwrap(), &left);
        // Rows take the same tokens of it, and it is the same whether it is cut before or after.
        let of_rows = left.clone().cut(&policy);
        prop_assert_eq!(tokens(&of_rows), tokens(&left));
        prop_assert_eq!(of_rows.clone().cut(&policy), of_rows);
        // A document given in part has all that is left of it in segments, any other its whole copies.
        for document in given.parts.documents() {
            prop_assert_eq!(left.whole.copies(document), 0);
        }
        let untouched = due.without(&given.documents());
        prop_assert_eq!(untouched.clone(), left.only(&untouched.documents()));
    }

    #[test]
    fn more_than_is_due_names_its_document(due in due(), cut in 1_u32..40, more in 0_u64..12) {
        let policy = policy(PackKind::BestFit, LongDocuments::Split);
        let mut rows = rows(&due, cut, &policy);
        rows.push(segment(more, 0, 1));
        let given = collect(&rows, &policy);
        prop_assert_eq!(due.minus(&given, &policy), Err(CoverageExcess { document: more }));
    }

    #[test]
    fn other_special_tokens_keep_the_stored_ones(
        stored in 1_u32..12,
        from: (bool, bool),
        to: (bool, bool),
        at in any::<proptest::sample::Index>(),
    ) {
        let [from, to] = [from, to].map(|(bos, eos)| EffectiveSequence { bos, eos });
        let length = stored + from.overhead();
        let offset = at.index(length as usize) as u32;
        let rest = Segment { document: DocId(0), offset, length: length - offset, document_length: length };
        let stored_of = |sequence: EffectiveSequence, segment: &Segment| {
            let bos = u32::from(sequence.bos);
            let stored = bos..segment.document_length - u32::from(sequence.eos);
            (segment.offset..segment.offset + segment.length)
                .filter(|at| stored.contains(at))
                .map(|at| at - bos)
                .collect::<Vec<u32>>()
        };
        match from.convert(to, &rest) {
            None => prop_assert!(stored_of(from, &rest).is_empty()),
            Some(new) => {
                prop_assert_eq!(new.document_length, stored + to.overhead());
                prop_assert_eq!(stored_of(to, &new), stored_of(from, &rest));
                // A rest reaches its document's end, so it ends as the document does.
                prop_assert_eq!(new.offset + new.length, new.document_length);
                prop_assert_eq!(new.offset == 0, offset == 0 || (!to.bos && stored_of(from, &rest).len() as u32 == stored));
            }
        }
    }
}

#[test]
fn a_rest_beside_a_whole_copy_is_lost_by_nobody() {
    let policy = policy(PackKind::Concat, LongDocuments::Split);
    let due = Coverage {
        whole: CopyLayers::single([2].into_iter().collect()),
        parts: TokenSpans::new(vec![segment(2, 12, 8)]),
    };
    assert_eq!(due.minus(&Coverage::default(), &policy), Ok(due.clone()));
    let whole = collect(&[segment(2, 0, 20)], &policy);
    let rest = Coverage { whole: CopyLayers::default(), parts: due.parts.clone() };
    assert_eq!(due.minus(&whole, &policy), Ok(rest.clone()));
    // A whole copy beyond the last one stands for parts.
    let parts = Coverage {
        whole: CopyLayers::default(),
        parts: TokenSpans::new(vec![segment(2, 0, 12), segment(2, 12, 8)]),
    };
    assert_eq!(parts.minus(&whole, &policy), Ok(Coverage::default()));
    assert_eq!(rest.minus(&whole, &policy), Err(CoverageExcess { document: 2 }));
}

/// A document that was cut took about 110 bytes for as long as its pass.
#[test]
fn segments_that_touch_are_kept_as_one() {
    let mut collector = SpanCollector::default();
    let documents = 100_000;
    for (offset, tokens) in [(0, 4), (8, 2), (4, 4)] {
        for document in 0..documents {
            let segment =
                Segment { document: DocId(document), offset, length: tokens, document_length: 12 };
            collector.push(segment);
        }
    }
    let spans = collector.spans();
    assert_eq!(spans.segments().len() as u64, documents);
    assert!(spans.segments().iter().all(|span| (span.offset, span.length) == (0, 10)));
}

#[test]
fn paragraphs_stay_and_other_parts_are_cut_by_rows() {
    let cut = |long, parts: &[(u32, u32)]| {
        let parts = parts.iter().map(|(offset, tokens)| segment(5, *offset, *tokens));
        let parts = TokenSpans::new(parts.collect());
        let coverage = Coverage { whole: CopyLayers::default(), parts };
        let cut = coverage.cut(&policy(PackKind::BestFit, long));
        cut.parts.segments().iter().map(|part| (part.offset, part.length)).collect::<Vec<_>>()
    };
    let pieces = [(4, 7), (11, 3), (14, 8), (22, 2)];
    assert_eq!(cut(LongDocuments::Paragraph, &pieces), pieces);
    assert_eq!(cut(LongDocuments::Split, &pieces), [(4, 8), (12, 8), (20, 4)]);
}
