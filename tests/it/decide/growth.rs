//! What it costs when minds change about many: counted, for twice as many.

use crate::support::world::{World, orders, policy};
use crate::support::{Page, Random, prose};
use corpusdb::dedup::KeepOrder;
use corpusdb::{DedupMode, Policy};

/// A page of 80 words and its variants, each with another word and another length.
fn variants(count: usize) -> Vec<Page> {
    let mut random = Random::new(3);
    let page = prose(&mut random, 0, 80);
    let words: Vec<&str> = page.split(' ').collect();
    (0..count)
        .map(|number| {
            let mut words = words.clone();
            let word = format!("variant{number}{}", "x".repeat(number % 50));
            words[50] = &word;
            let mut page = Page::new(words.join(" "));
            page.fields["quality"] = ((number * 7 % 31) as f64 / 10.0).into();
            page.fields["year"] = (1990 + number * 5 % 23).into();
            page
        })
        .collect()
}

/// Every keep order in mode `witness`, and mode `components` in two.
fn ordered() -> Vec<Policy> {
    let witness = orders().map(|keep| Policy { keep, ..policy(DedupMode::Witness, 0.8) });
    let components = [KeepOrder::First, KeepOrder::Longest]
        .map(|keep| Policy { keep, ..policy(DedupMode::Components, 0.8) });
    witness.into_iter().chain(components).collect()
}

/// Of twice as many, at most twice as much, and little of the few.
#[track_caller]
fn at_most_doubles(what: &str, few: &[u64], many: &[u64], most: u64) {
    for (few, many) in few.iter().zip(many) {
        assert!(*many <= 2 * few + 40, "{what}: {few}, and {many} of twice as many");
        assert!(*few <= most, "{what}: {few}, expected at most {most}");
    }
}

/// Under `first` nothing that grows with the cluster. In other orders removed members are in the buckets as well, and
/// a look-up reads up to 256 of each; a component is put together again, at the cost of its size.
#[track_caller]
fn settled(policy: &Policy, few: &[u64], many: &[u64]) {
    if policy.mode == DedupMode::Components {
        return at_most_doubles(&policy.to_string(), few, many, u64::MAX);
    }
    if policy.keep != KeepOrder::First {
        return at_most_doubles(&policy.to_string(), few, many, 32 * 256);
    }
    for (few, many) in few.iter().zip(many) {
        assert!(*many <= few + 40, "{policy}: {few}, and {many} in twice as many");
    }
}

#[test]
fn losing_the_witness_costs_one_comparison_a_member() {
    for policy in ordered() {
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
        let (few, many) = (compared(150), compared(300));
        at_most_doubles(&format!("{policy}: comparisons"), &few, &many, 3 * 150);
    }
}

#[test]
fn changing_a_member_reads_only_its_buckets() {
    for policy in ordered() {
        let cost = |count: usize| -> Vec<u64> {
            let mut world = World::new(&policy);
            let mut pages = variants(count);
            for (at, page) in pages.iter_mut().enumerate() {
                page.id = Some(format!("k{at}"));
            }
            world.pour("web", &pages, 40 << 10);
            // Not of best rank in any order, and different again each day.
            let mut costs = Vec::new();
            for day in 0..2 {
                let mut page = pages[3].clone();
                page.text = format!("{} day{day}", page.text);
                let report = world.pour("web", &[page], 1 << 20);
                assert_eq!(report.updated, 1, "{policy}");
                costs.push(report.dedup.compared + report.dedup.verified + report.dedup.members);
            }
            world.agrees("after two days");
            costs
        };
        let (few, many) = (cost(150), cost(300));
        settled(&policy, &few, &many);
    }
}

#[test]
fn changing_one_of_many_equal_texts_reads_no_other_bucket() {
    for policy in ordered() {
        let cost = |count: usize| -> Vec<u64> {
            let mut random = Random::new(8);
            let (text, other) = (prose(&mut random, 0, 60), prose(&mut random, 0, 60));
            let mut world = World::new(&policy);
            let keyed = |at: usize| Page::keyed(format!("k{at}"), text.clone());
            world.pour("web", &(0..count).map(keyed).collect::<Vec<_>>(), 40 << 10);
            let mut costs = Vec::new();
            for day in 0..2 {
                let page = Page::keyed("k5", format!("{other} day{day}"));
                let report = world.pour("web", &[page], 1 << 20);
                costs.push(report.dedup.members + report.dedup.compared + report.dedup.standings);
            }
            world.agrees("after two days");
            costs
        };
        let (few, many) = (cost(100), cost(200));
        settled(&policy, &few, &many);
    }
}
