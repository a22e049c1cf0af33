//! Tests of the family index against brute force: it misses no similar set, and walks little in one template.

use crate::dedup::family::{FamilyIndex, FamilyQuery};
use crate::dedup::similarity::reaches;
use crate::dedup::sketch::Sketch;
use crate::dedup::{shared, shared_at_least};
use model::DocId;
use proptest::prelude::*;

/// A hash of a number.
fn hash(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^= mixed >> 29;
    mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn set(numbers: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut set: Vec<u64> = numbers.into_iter().map(hash).collect();
    set.sort_unstable();
    set.dedup();
    set
}

/// A page of 296 shingles: 261 of the template, 35 of its own; `edits` of these replaced.
fn page(number: u64, edits: u64) -> Vec<u64> {
    let own = (0..35).map(|at| 1_000_000 * (number + 1) + at + if at < edits { 500 } else { 0 });
    set((0..261).chain(own))
}

fn family(threshold: f64, sets: &[Vec<u64>], sample: usize) -> FamilyIndex {
    let mut family = FamilyIndex::new(threshold, &sets[..sample.min(sets.len())]);
    for (at, set) in (0..).zip(sets) {
        family.insert(DocId(at), Sketch::of(set), set);
    }
    family.settle();
    family
}

fn find(family: &mut FamilyIndex, set: &[u64]) -> Vec<DocId> {
    let sketch = Sketch::of(set);
    let mut found =
        family.find(FamilyQuery { shingles: set, sketch: &sketch, floor: 0.0 }, |_| true);
    found.sort_unstable();
    found
}

#[test]
fn candidates_hold_every_similar_set() {
    proptest!(ProptestConfig::with_cases(testing::cases(200)), |(
        sets in prop::collection::vec((0..6_u64, prop::collection::btree_set(0..40_u64, 0..30)), 1..60),
        threshold in prop::sample::select(vec![0.3, 0.5, 0.7, 0.75, 0.8, 0.9, 1.0]),
        sample in 0..60_usize,
    )| {
        // Sets of a few templates, so that many are similar and of different sizes.
        let sets: Vec<Vec<u64>> = sets
            .into_iter()
            .map(|(kind, own)| set((0..25).map(|at| 1_000 * kind + at).chain(own)))
            .collect();
        let mut family = family(threshold, &sets, sample);
        for one in &sets {
            let found = find(&mut family, one);
            for (at, other) in (0..).zip(&sets) {
                if shared_at_least(one, other, threshold).is_some() {
                    prop_assert!(found.contains(&DocId(at)), "{at} of {found:?}");
                }
            }
        }
    });
}

#[test]
fn common_ngrams_of_a_template_miss_no_similar_set() {
    proptest!(ProptestConfig::with_cases(testing::cases(24)), |(
        sets in prop::collection::vec((0..2_u64, prop::collection::btree_set(0..50_u64, 0..12)), 60..160),
        threshold in prop::sample::select(vec![0.3, 0.6, 0.7, 0.8, 0.9, 1.0]),
        sample in 2..160_usize,
    )| {
        // Some lack parts of the template, and share what they have instead with few.
        let sets: Vec<Vec<u64>> = sets
            .into_iter()
            .map(|(kind, own)| {
                let has = (0..50).filter(|at| !own.contains(at)).map(move |at| 1_000 * kind + at);
                set(has.chain(own.iter().map(|at| 10_000 + at % 5 * 100 + at)))
            })
            .collect();
        let mut family = family(threshold, &sets, sample);
        for one in sets.iter().step_by(11) {
            let found = find(&mut family, one);
            for (at, other) in (0..).zip(&sets) {
                if shared_at_least(one, other, threshold).is_some() {
                    prop_assert!(found.contains(&DocId(at)), "{at} of {found:?}");
                }
            }
        }
    });
}

/// Each lacks another part of what all are made from, J = 0.82 with it: any two are at about 0.67. They share the
/// rarest of what most of them have, and were all compared by text.
#[test]
fn spokes_of_a_hub_are_separated_without_their_texts() {
    let spoke = |number: u64| -> Vec<u64> {
        let mut places: Vec<u64> = (0..296).collect();
        places.sort_unstable_by_key(|at| hash(number * 1_000 + at));
        let own = (0..30).map(|at| 1_000_000 * (number + 1) + at);
        set(places.into_iter().skip(30).chain(own))
    };
    for count in [300, 600] {
        let spokes: Vec<Vec<u64>> = (0..count).map(spoke).collect();
        let mut family = family(0.8, &spokes, 300);
        for number in (0..count).step_by(29) {
            assert_eq!(find(&mut family, &spoke(number)), [DocId(number)]);
        }
        let asked = count.div_ceil(29);
        assert!(family.steps() <= asked * (count + 200), "{} of {count}", family.steps());
    }
}

#[test]
fn members_of_a_large_template_are_separated_without_a_walk() {
    let pages = |count: u64| -> Vec<Vec<u64>> { (0..count).map(|at| page(at, 0)).collect() };
    let steps = |count: u64| {
        let mut family = family(0.8, &pages(count), 129);
        for (edits, similar) in [(0, true), (5, true), (20, true), (30, true)] {
            for number in [0, 1, count / 2, count - 1] {
                let twin = page(number, edits);
                let of = page(number, 0);
                let both = shared(&twin, &of) as usize;
                assert_eq!(reaches(both, twin.len(), of.len(), 0.8), similar, "{edits}");
                assert_eq!(find(&mut family, &twin), [DocId(number)], "{edits} of {number}");
            }
        }
        assert_eq!(find(&mut family, &page(count, 0)), []);
        family.steps()
    };
    let (few, many) = (steps(1_000), steps(4_000));
    assert!(many <= few + few / 8, "{few} steps among 1,000, {many} among 4,000");
}

#[test]
fn an_outdated_order_is_detected() {
    let other = |number: u64| -> Vec<u64> {
        set((0..261)
            .map(|at| 7_000_000_000 + at)
            .chain((0..35).map(|at| 8_000_000_000 + 100 * number + at)))
    };
    let sets: Vec<Vec<u64>> = (0..1_500).map(other).collect();
    // Made for another template: this one's shingles count as rare.
    let mut family = FamilyIndex::new(0.8, &[page(0, 0), page(1, 0)]);
    family.insert(DocId(9_000), Sketch::of(&page(0, 0)), &page(0, 0));
    family.settle();
    for (at, set) in (0..).zip(&sets) {
        find(&mut family, set);
        family.insert(DocId(at), Sketch::of(set), set);
    }
    let found = find(&mut family, &sets[7]);
    assert!(found.contains(&DocId(7)) && found.len() > 1, "{} candidates", found.len());
    assert!(family.is_stale(), "{} steps", family.steps());
    assert!(!self::family(0.8, &sets, 129).is_stale());
}

#[test]
fn an_outdated_order_is_detected_before_the_family_doubles() {
    let footer = |number: u64| -> Vec<u64> {
        set(page(number, 0).into_iter().chain((0..20).map(|at| 9_000_000_000 + at)))
    };
    // What all with a footer share is rare by the order made of those without.
    let old: Vec<Vec<u64>> = (0..1_500).map(|number| page(number, 0)).collect();
    let mut family = family(0.8, &old, 129);
    family.settle();
    for number in 0..1_000 {
        let set = footer(number);
        find(&mut family, &set);
        family.insert(DocId(10_000 + number), Sketch::of(&set), &set);
    }
    assert!(family.is_stale(), "{} steps", family.steps());
    // One that was rebuilt without success waits for more.
    assert_eq!(family.patience_after(), 1);
    family.settle_with(1);
    find(&mut family, &footer(0));
    assert!(!family.is_stale());
}

#[test]
fn bytes_grow_with_what_is_held() {
    let pages: Vec<Vec<u64>> = (0..2_000).map(|at| page(at, 0)).collect();
    let few = family(0.8, &pages[..500], 129).bytes();
    let many = family(0.8, &pages, 129).bytes();
    assert!(many > 3 * few && many < 2_000 * 4_000, "{few} and {many}");
}
