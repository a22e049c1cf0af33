//! Tests of blocks of numbers: their stored form, patches and their merging, and values read in place.

use super::*;
use proptest::prelude::*;

fn patch() -> impl Strategy<Value = NumberPatch> {
    let value = prop_oneof![
        any::<Option<i64>>(),
        (0_i64..200).prop_map(Some),
        (-70_000_i64..70_000).prop_map(Some)
    ];
    proptest::collection::btree_map(0_u16..500, value, 0..50)
}

fn block_of(patch: &NumberPatch) -> NumberBlock {
    let mut block = NumberBlock::default();
    for (slot, value) in patch {
        block.set(*slot, *value);
    }
    block
}

proptest! {
    #[test]
    fn blocks_and_patches_round_trip(patch in patch()) {
        prop_assert_eq!(read_patch(&encode_patch(&patch)).unwrap().collect::<NumberPatch>(), patch.clone());
        let block = block_of(&patch);
        let decoded = NumberBlock::decode(&block.encode()).unwrap();
        prop_assert_eq!(&decoded, &block);
        for (slot, value) in &patch { prop_assert_eq!(decoded.get(*slot), *value); }
        let values = (0..500).map(|slot| block.get(slot));
        prop_assert_eq!(NumberBlock::of(values), block);
    }

    #[test]
    fn folding_first_changes_nothing(patches in proptest::collection::vec(patch(), 1..5)) {
        let operands: Vec<Vec<u8>> = patches.iter().map(encode_patch).collect();
        let plain = merge_full(None, operands.iter().map(Vec::as_slice));
        let folded = merge_partial(operands.iter().map(Vec::as_slice)).unwrap();
        prop_assert_eq!(merge_full(None, std::iter::once(folded.as_slice())), plain);
    }

    #[test]
    fn any_bytes_are_an_error_or_a_block(bytes: Vec<u8>) {
        if let Ok(block) = NumberBlock::decode(&bytes) { prop_assert!(block.len() <= BLOCK); }
        prop_assert!(!merge_full(Some(&bytes), std::iter::once(bytes.as_slice())).is_empty());
    }
}

#[test]
fn golden_bytes() {
    let block = block_of(&NumberPatch::from([(0, Some(1000)), (2, Some(1007))]));
    let mut expected = vec![1, 1, 0, 3, 0, 0, 0];
    expected.extend(1000_i64.to_le_bytes());
    expected.extend(1007_i64.to_le_bytes());
    expected.extend(5_u64.to_le_bytes());
    expected.extend([0, 0, 7]);
    assert_eq!(block.encode(), expected);
}

proptest! {
    #[test]
    fn values_in_place_are_those_decoded(
        patch in proptest::collection::btree_map(
            0_u16..300,
            prop_oneof![
                any::<Option<i64>>(),
                (0_i64..200).prop_map(Some),
                (0_i64..70_000).prop_map(Some),
            ],
            0..60,
        ),
        wide: bool,
        low in prop_oneof![any::<i64>(), -10_i64..70_000],
        span in prop_oneof![0_i64..300, 0_i64..70_000, Just(i64::MAX)],
    ) {
        let patch: NumberPatch = if wide {
            patch
        } else {
            patch.into_iter().map(|(slot, value)| (slot, value.map(|v| v % 9000))).collect()
        };
        let operand = super::encode_patch(&patch);
        let bytes = merge_full(None, std::iter::once(operand.as_slice()));
        let decoded = NumberBlock::decode(&bytes).unwrap();
        let values = NumberBlockRef::read(&bytes).unwrap();
        prop_assert_eq!(values.len(), decoded.len());
        prop_assert_eq!(values.is_empty(), decoded.is_empty());
        for slot in 0..=u16::MAX {
            prop_assert_eq!(values.get(slot), decoded.get(slot));
        }
        if let Some(range) = decoded.range() {
            prop_assert_eq!(values.range(), range);
        }
        if values.has_no_nulls() {
            prop_assert_eq!(decoded.iter().count(), decoded.len());
        }
        let slots = |bits: Vec<u8>| -> Vec<u16> {
            (0..u16::MAX).filter(|slot| {
                bits.get(usize::from(slot / 8)).is_some_and(|byte| byte >> (slot % 8) & 1 == 1)
            }).collect()
        };
        let (least, most) = values.range();
        for (low, high) in [(least, most), (low, low.saturating_add(span)), (i64::MIN, low), (low, i64::MAX)] {
            let within = |(_, value): &(u16, i64)| low <= *value && *value <= high;
            let found: Vec<u16> = decoded.iter().filter(within).map(|(slot, _)| slot).collect();
            prop_assert_eq!(slots(values.bits_between(low, high)), found);
        }
        let mut all = Vec::new();
        values.for_each(|value| all.push(value));
        prop_assert_eq!(all, (0..values.len()).map(|slot| decoded.get(slot as u16)).collect::<Vec<_>>());
        let present: Vec<u16> = decoded.iter().map(|(slot, _)| slot).collect();
        prop_assert_eq!(slots(values.bits_present()), present);
        let asked: Vec<u16> = (0..310).rev().collect();
        let mut offsets = Vec::new();
        values.offsets_of(&asked, |offset| offsets.push(offset));
        let distance = |slot: &u16| decoded.get(*slot).map(|value| value.wrapping_sub(least).cast_unsigned());
        prop_assert_eq!(offsets, asked.iter().map(distance).collect::<Vec<_>>());
        let mut found = Vec::new();
        values.values_of(&asked, |value| found.push(value));
        prop_assert_eq!(found, asked.iter().map(|slot| decoded.get(*slot)).collect::<Vec<_>>());
    }

    #[test]
    fn any_bytes_are_an_error_or_values(bytes: Vec<u8>) {
        let decoded = NumberBlock::decode(&bytes);
        match NumberBlockRef::read(&bytes) {
            Ok(values) => {
                let decoded = decoded.unwrap();
                for slot in 0..=u16::MAX {
                    prop_assert_eq!(values.get(slot), decoded.get(slot));
                }
            }
            Err(_) => prop_assert!(decoded.is_err()),
        }
    }
}
