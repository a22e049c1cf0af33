//! The join held against brute force: on made-up sets at several similarities, and on real ones.

use crate::join::{Pair, brute_force, join};
use crate::random::Random;

/// Documents of which every pair is compared.
const REAL: usize = 5_000;
/// Neighbours in the file are more often similar, so the sample is of runs of so many.
const RUN: usize = 50;

/// Whether join and brute force give the same pairs of made-up sets: families of sets that differ in some
/// members, members of very different rarity, sizes from 0 to 200.
pub fn holds_on_made_up_sets() -> bool {
    (0..8_u64).all(|seed| {
        let mut random = Random::of(&[3, seed]);
        let mut sets: Vec<Vec<u64>> = Vec::new();
        for _ in 0..60 {
            let length = random.below([4, 12, 50, 200][seed as usize % 4]);
            let parent: Vec<u64> = (0..length).map(|_| member(&mut random)).collect();
            for _ in 0..=random.below(10) {
                let change = random.below(60);
                let changed = |x: &u64, random: &mut Random| match random.below(100) < change {
                    true => member(random),
                    false => *x,
                };
                let mut set: Vec<u64> = parent.iter().map(|x| changed(x, &mut random)).collect();
                set.truncate(length - random.below(1 + length / 3));
                set.sort_unstable();
                set.dedup();
                sets.push(set);
            }
        }
        let all: Vec<usize> = (0..sets.len()).collect();
        [0.3, 0.5, 0.7, 0.8, 1.0]
            .into_iter()
            .all(|least| join(&sets, least) == brute_force(&sets, &all, least))
    })
}

/// A member: low ones are common.
fn member(random: &mut Random) -> u64 {
    let below = 1 + random.below(4_000);
    random.below(below) as u64
}

/// Documents spread over all, in runs, ascending; all of them when they are few.
pub fn sample(documents: usize) -> Vec<usize> {
    if documents <= REAL {
        return (0..documents).collect();
    }
    let runs = REAL / RUN;
    (0..runs)
        .flat_map(|run| {
            let start = run * (documents - RUN) / (runs - 1);
            start..start + RUN
        })
        .collect()
}

/// Of `pairs`, those between documents of an ascending sample.
pub fn among(pairs: &[Pair], sample: &[usize]) -> Vec<Pair> {
    let has = |document: u32| sample.binary_search(&(document as usize)).is_ok();
    pairs.iter().filter(|pair| has(pair.a) && has(pair.b)).copied().collect()
}
