//! Tests that counts and searches in stored blocks agree with the decoded lengths.

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::lengths::column::{LengthReader, blocks_of, with_tokens};
use crate::epoch::lengths::index::{IndexMemory, LengthIndex};
use crate::epoch::lengths::test_corpus::corpus_of_lengths;
use crate::epoch::pack::LengthHistogram;
use model::{BLOCK_SIZE, DocId, Interrupt, TokenizerId};
use proptest::prelude::*;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{View, system_fields};

/// A view of a corpus with these token counts, from the first document on.
fn corpus(counts: &[Option<i64>]) -> (tempfile::TempDir, View) {
    let mut blocks = counts.chunks(BLOCK_SIZE as usize);
    let (scratch, writer) = corpus_of_lengths(&["web"], &mut |_, values| {
        values.extend_from_slice(blocks.next().unwrap_or_default());
        0
    });
    let view = writer.view().clone();
    (scratch, view)
}

fn lengths(view: &View, overhead: u32) -> LengthReader {
    LengthReader {
        corpora: Corpora::alone(view),
        tokenizer: TokenizerId(0),
        tokenizer_name: "t".into(),
        draws: Arc::default(),
        overhead,
        known: None,
        sharing: 1,
        interrupt: Interrupt::default(),
    }
}

/// (document, effective length) as the decoded blocks say; none for one that has none.
fn plainly(view: &View, selection: &RoaringTreemap, overhead: u32) -> Vec<(u64, Option<u32>)> {
    let column = system_fields::tokens_of(TokenizerId(0));
    let mut blocks = BTreeMap::new();
    for id in selection {
        let block = DocId(id).block();
        blocks.entry(block).or_insert_with(|| view.column_block(column, block).unwrap());
    }
    let length = |id: u64| {
        let stored = blocks[&DocId(id).block()].get(DocId(id).slot())?;
        u32::try_from(stored).ok()?.checked_add(overhead)
    };
    selection.iter().map(|id| (id, length(id))).collect()
}

/// Counts of documents, with runs of equal, narrow or wide counts.
fn counts() -> impl Strategy<Value = Vec<Option<i64>>> {
    let value = prop_oneof![
        3 => (1_i64..20).prop_map(Some),
        2 => (250_i64..260).prop_map(Some),
        1 => (65_530_i64..65_540).prop_map(Some),
        1 => (8_000_i64..8_400).prop_map(Some),
    ];
    let odd = prop_oneof![
        Just(None),
        Just(Some(i64::from(u32::MAX))),
        Just(Some(-1)),
        Just(Some(1 << 40)),
        Just(Some(0)),
    ];
    let runs = proptest::collection::vec((value, 1_usize..20_000), 1..12);
    (runs, proptest::collection::vec((any::<usize>(), odd), 0..3), 0..4_u8).prop_map(
        |(runs, odd, few)| {
            let mut counts: Vec<Option<i64>> = Vec::new();
            for (value, times) in runs {
                let from = value.unwrap_or(1);
                counts.extend((0..times).map(|at| Some(from + (at % (1 << few)) as i64)));
            }
            // Most corpora have only proper counts.
            for (at, value) in odd.into_iter().filter(|_| few == 0) {
                let at = at % counts.len();
                counts[at] = value;
            }
            counts
        },
    )
}

/// Documents in runs of `step`, every other run.
fn selection(documents: usize, step: u64, all: bool) -> RoaringTreemap {
    (0..documents as u64).filter(|id| all || (id / step).is_multiple_of(2)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(24)))]

    #[test]
    fn counting_finding_and_selecting_agree_with_decoded_lengths(
        counts in counts(),
        step in prop_oneof![Just(1_u64), Just(3), Just(5000)],
        all: bool,
        overhead in 0_u32..3,
        few in 1_usize..40,
        min_tokens in prop_oneof![Just(1_u64), Just(2), Just(255), Just(9000)],
    ) {
        let (_scratch, view) = corpus(&counts);
        let selection = selection(counts.len(), step, all);
        let lengths = lengths(&view, overhead);
        let plain = plainly(&view, &selection, overhead);

        let column = system_fields::tokens_of(TokenizerId(0));
        let enough = |id: &u64| {
            let stored = view.column_block(column, DocId(*id).block()).unwrap().get(DocId(*id).slot());
            stored.is_none_or(|tokens| u64::try_from(tokens).is_ok_and(|n| n >= min_tokens))
        };
        if selection.len() < 2000 {
            let long: RoaringTreemap = selection.iter().filter(enough).collect();
            let (found, counted) =
                with_tokens(&Corpora::alone(&view), TokenizerId(0), &selection, min_tokens).unwrap();
            prop_assert_eq!(&found, &long);
            let stored = plainly(&view, &long, 2);
            let all: Option<Vec<u32>> = stored.iter().map(|(_, length)| *length).collect();
            match (counted, all) {
                (Some(counted), Some(all)) => {
                    let mut expected = LengthHistogram::new();
                    all.iter().for_each(|length| *expected.entry(length - 2).or_default() += 1);
                    prop_assert_eq!(counted, expected);
                }
                (counted, None) => prop_assert_eq!(counted, None),
                // Only where a document that is left out has no proper count.
                (None, Some(_)) => prop_assert!(long != selection),
            }
        }

        let mut histogram = LengthHistogram::new();
        let counted = lengths.count(&selection, &mut histogram);
        let layers = [selection.clone(), self::selection(counts.len(), 2, false)];
        // The room is for none, some, or all of the blocks sorted.
        let room = IndexMemory { counts: few << 8, blocks: few % 3 };
        let index = LengthIndex::within(&lengths, &layers[..1], room);
        if let Some((missing, _)) = plain.iter().find(|(_, length)| length.is_none()) {
            let named = |error: EpochError| match error {
                EpochError::NotEncoded { document, .. } => document,
                other => panic!("{other}"),
            };
            prop_assert_eq!(named(counted.unwrap_err()), *missing);
            prop_assert_eq!(named(index.map(|_| ()).unwrap_err()), *missing);
            return Ok(());
        }
        counted.unwrap();
        let mut classes: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for (id, length) in &plain {
            classes.entry(length.unwrap()).or_default().push(*id);
        }
        let expected: LengthHistogram =
            classes.iter().map(|(length, ids)| (*length, ids.len() as u64)).collect();
        prop_assert_eq!(&histogram, &expected);
        let (index, found) = index.unwrap();
        prop_assert_eq!(&found, &expected);
        for (length, ids) in &classes {
            for rank in [0, ids.len() / 2, ids.len() - 1] {
                let id = index.select(&lengths, &layers[..1], *length, rank as u64).unwrap();
                prop_assert_eq!(id.0, ids[rank]);
                // This search is used where there are too many blocks to keep them sorted.
                let mut within = rank as u64;
                for (block, _) in blocks_of(&selection) {
                    match lengths.find(&selection, block, *length, within).unwrap() {
                        Ok(slot) => {
                            prop_assert_eq!(DocId::at(block, slot).0, ids[rank]);
                            within = u64::MAX;
                            break;
                        }
                        Err(count) => within -= count,
                    }
                }
                prop_assert_eq!(within, u64::MAX);
            }
            prop_assert!(index.select(&lengths, &layers[..1], *length, ids.len() as u64).is_err());
        }
        // The second layer comes after the first, document by document.
        let second = plainly(&view, &layers[1], overhead);
        if second.iter().all(|(_, length)| length.is_some()) {
            let (index, _) = LengthIndex::within(&lengths, &layers, room).unwrap();
            for (length, ids) in &classes {
                let of_second: Vec<u64> =
                    second.iter().filter(|(_, of)| of == &Some(*length)).map(|(id, _)| *id).collect();
                for (at, id) in [of_second.first(), of_second.last()].into_iter().flatten().enumerate() {
                    let rank = ids.len() + if at == 0 { 0 } else { of_second.len() - 1 };
                    let found = index.select(&lengths, &layers, *length, rank as u64).unwrap();
                    prop_assert_eq!(found.0, *id);
                }
            }
        }
    }
}
