//! Families of templates: buckets with more members than any look-up reads one by one.

use super::{World, orders, policy};
use crate::support::{Page, Random};
use corpusdb::dedup::{DedupScope, KeepOrder, Standing};
use corpusdb::{DedupMode, Policy};
use std::collections::BTreeSet;

/// A template of 128 words with three slots. Any two fills share 109 of 139 shingles, which is 0.784.
pub struct Template(Vec<String>);

impl Template {
    const SLOTS: usize = 3;

    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        Self((0..128).map(|at| format!("w{at}x{}", random.below(1 << 20))).collect())
    }

    /// A fill; of `changed` slots the words are a twin's.
    fn fill(&self, number: usize, changed: usize) -> String {
        let mut words = self.0.clone();
        for slot in 0..Self::SLOTS {
            let twin = if slot < changed { "twin" } else { "" };
            words[20 + slot * 40] = format!("{twin}fill{number}s{slot}");
        }
        words.join(" ")
    }

    /// With these words in the slots: two that share one are similar at 0.8, two that share none are not.
    pub fn with(&self, words: [String; Self::SLOTS]) -> String {
        let mut all = self.0.clone();
        for (slot, word) in words.into_iter().enumerate() {
            all[20 + slot * 40] = word;
        }
        all.join(" ")
    }

    /// Between two fills: of `count` slots the words are the one's, of the others the other's.
    pub fn between(&self, one: usize, other: usize, count: usize) -> String {
        let mut words = self.0.clone();
        for slot in 0..Self::SLOTS {
            let of = if slot < count { one } else { other };
            words[20 + slot * 40] = format!("fill{of}s{slot}");
        }
        words.join(" ")
    }

    /// `count` fills, and after them twins of every tenth: of one or two slots.
    pub fn pages(&self, count: usize) -> Vec<Page> {
        let mut random = Random::new(count as u64);
        let fills = (0..count).map(|number| self.fill(number, 0));
        let twins = (0..count / 10).map(|at| self.fill(at * 10, [1, 2, 2][at % 3]));
        fills
            .chain(twins)
            .map(|text| {
                let mut page = Page::new(text);
                // Orders have something to go by.
                page.fields["quality"] = (random.below(4) as f64 / 10.0).into();
                page.fields["year"] = (1998 + random.below(4)).into();
                page
            })
            .collect()
    }
}

fn removed(world: &World) -> usize {
    world.told().iter().filter(|(standing, _)| *standing == Standing::Near).count()
}

#[test]
fn a_twin_in_a_family_of_more_than_a_bucket_shows_is_found() {
    let mut world = World::new(&policy(DedupMode::Witness, 0.8));
    let pages = Template::new(1).pages(500);
    world.pour("web", &pages, 1 << 30);
    world.agrees("one commit");
    assert_eq!(removed(&world), 50);
    world.digest();
}

#[test]
fn a_crowded_bucket_gives_the_same_in_every_split_keep_order_and_scope() {
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
fn a_family_that_is_crawled_again_at_once_costs_and_keeps_what_it_did_first() {
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
