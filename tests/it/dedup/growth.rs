//! What it costs when minds change about many: counted, for twice as many.

use super::{World, policy};
use crate::support::{Page, Random, prose};
use corpusdb::{DedupMode, KeepOrder, Policy};

/// A page of 100 words and its variants, each with another word and another length.
fn variants(count: usize) -> Vec<Page> {
    let mut random = Random::new(3);
    let page = prose(&mut random, 0, 100);
    let words: Vec<&str> = page.split(' ').collect();
    (0..count)
        .map(|number| {
            let mut words = words.clone();
            let word = format!("variant{number}{}", "x".repeat(number % 50));
            words[50] = &word;
            Page::new(words.join(" "))
        })
        .collect()
}

#[test]
fn a_large_cluster_that_loses_its_witness_twice_costs_a_comparison_a_member() {
    for keep in [KeepOrder::First, KeepOrder::Longest] {
        let policy = Policy { keep, ..policy(DedupMode::Witness, 0.8) };
        let compared = |count: usize| -> Vec<u64> {
            let mut world = World::new(&policy);
            world.pour("web", &variants(count), 40 << 10);
            let mut costs = Vec::new();
            for _ in 0..2 {
                let kept: Vec<u64> = world.writer.view().kept().unwrap().iter().collect();
                assert_eq!(kept.len(), 1, "{policy}");
                let report = world.remove(&kept, false);
                assert_eq!(report.kept_again, 1, "{policy}");
                costs.push(report.dedup.compared + report.dedup.verified);
            }
            world.agrees("after two removals");
            costs
        };
        let (few, many) = (compared(200), compared(400));
        for (few, many) in few.iter().zip(&many) {
            assert!(*many <= 2 * few + 40, "{policy}: {few} of 200, {many} of 400");
            assert!(*few <= 3 * 200, "{policy}: {few} of 200");
        }
    }
}
