//! Families of templates: buckets with more members than any look-up reads one by one.

use crate::support::Random;
use crate::support::templates::Template;
use crate::support::world::{World, orders, policy};
use corpusdb::dedup::{DedupScope, KeepOrder, Standing};
use corpusdb::{DedupMode, Policy};
use std::collections::BTreeSet;

fn removed(world: &World) -> usize {
    world.told().iter().filter(|(standing, _)| *standing == Standing::Near).count()
}

#[test]
fn a_twin_is_found_in_a_family_larger_than_a_bucket() {
    let mut world = World::new(&policy(DedupMode::Witness, 0.8));
    let pages = Template::new(1).pages(500);
    world.pour("web", &pages, 1 << 30);
    world.agrees("one commit");
    assert_eq!(removed(&world), 50);
    world.digest();
}

#[test]
fn crowded_buckets_decide_the_same_under_any_policy_and_split() {
    for (seed, keep) in (0..).zip(orders()) {
        let scope = if seed % 2 == 0 { DedupScope::Global } else { DedupScope::PerSource };
        let policy = Policy { keep, scope, ..policy(DedupMode::Witness, 0.8) };
        let mut pages = Template::new(seed).pages(260);
        let mut random = Random::new(seed);
        for at in (1..pages.len()).rev() {
            pages.swap(at, random.below(at + 1));
        }
        let mut told = BTreeSet::new();
        for batch in [1 << 30, 200 << 10, 20 << 10] {
            let mut world = World::new(&policy);
            world.pour("web", &pages[..180], batch);
            world.pour("web", &pages[180..], batch);
            world.agrees(&format!("batches of {batch} B"));
            assert_eq!(removed(&world), 26, "{policy}");
            world.digest();
            told.insert(world.told());
        }
        assert_eq!(told.len(), 1, "{policy}");
    }
}

#[test]
fn a_family_is_found_again_by_the_next_process() {
    let mut world = World::new(&policy(DedupMode::Witness, 0.8));
    let template = Template::new(5);
    let pages = template.pages(300);
    world.pour("web", &pages[..300], 100 << 10);
    for part in pages[300..].chunks(11) {
        world.reopen();
        world.pour("web", part, 1 << 30);
    }
    world.agrees("after reopening");
    assert_eq!(removed(&world), 30);
}

#[test]
fn a_family_crawled_again_costs_and_keeps_the_same() {
    let compared = |count: usize| -> (u64, u64) {
        let mut world = World::new(&policy(DedupMode::Witness, 0.8));
        let mut pages = Template::new(7).pages(count);
        for (at, page) in pages.iter_mut().enumerate() {
            page.id = Some(format!("k{at}"));
        }
        let first = world.pour("web", &pages, 1 << 30);
        for page in &mut pages {
            page.text.push_str(" and a footer");
        }
        world.reopen();
        let again = world.pour("web", &pages, 1 << 30);
        assert_eq!(again.near_duplicates, first.near_duplicates);
        world.agrees("after the second crawl");
        (first.dedup.compared, again.dedup.compared)
    };
    // The buckets of the first crawl hold more than a look-up reads, and nobody of them is kept any more.
    for count in [300, 600] {
        let (first, again) = compared(count);
        assert!(again <= 2 * first, "{count}: {first} comparisons, then {again}");
    }
}

#[test]
fn members_of_a_family_come_and_go() {
    for keep in [KeepOrder::First, KeepOrder::Longest] {
        let mut world = World::new(&Policy { keep, ..policy(DedupMode::Witness, 0.8) });
        let template = Template::new(6);
        let pages = template.pages(240);
        world.pour("web", &pages[..200], 60 << 10);
        world.remove(&[0, 10, 50, 199], true);
        world.agrees("after a removal");
        world.pour("web", &pages[200..], 60 << 10);
        world.agrees("after the twins");
        world.remove(&[20, 30, 40, 241, 244], false);
        world.agrees("after a second removal");
        world.restore(&[0, 20, 30]);
        world.agrees("after restoring");
        let other = Policy::new(DedupMode::Witness, 0.85).unwrap();
        world.redo(&other);
        world.agrees("under another policy");
        world.redo(&policy(DedupMode::Witness, 0.8));
        world.agrees("and back");
    }
}
