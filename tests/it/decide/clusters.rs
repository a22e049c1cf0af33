//! Crowded buckets in the modes where a chain of similar documents is one cluster.

use crate::support::templates::Template;
use crate::support::world::{World, orders, policy};
use crate::support::{Page, Random};
use corpusdb::dedup::{DedupScope, KeepOrder, Standing};
use corpusdb::{DedupMode, Policy};
use std::collections::BTreeSet;

fn page(random: &mut Random, text: String) -> Page {
    let mut page = Page::new(text);
    page.fields["quality"] = (random.below(4) as f64 / 10.0).into();
    page.fields["year"] = (1998 + random.below(4)).into();
    page
}

fn shuffle(random: &mut Random, pages: &mut [Page]) {
    for at in (1..pages.len()).rev() {
        pages.swap(at, random.below(at + 1));
    }
}

/// Pages of one template that is filled at random. Many share the word of one slot, others a word with few,
/// most none with anybody.
fn mixed(template: &Template, random: &mut Random, count: usize) -> Vec<Page> {
    let all = (0..count).map(|number| {
        let own = |slot: usize| format!("own{number}s{slot}");
        let words = match random.below(10) {
            0..4 => [format!("a{}", random.below(count)), "hot".to_owned(), own(2)],
            4 => [own(0), format!("warm{}", random.below(3)), own(2)],
            5..7 => [format!("a{}", random.below(count)), own(1), own(2)],
            7 => [format!("a{}", random.below(count)), own(1), format!("c{}", random.below(count))],
            _ => [own(0), own(1), own(2)],
        };
        let text = template.with(words);
        page(random, if number % 31 == 0 { text.to_uppercase() } else { text })
    });
    all.collect()
}

#[test]
fn components_find_a_twin_in_a_family_larger_than_a_bucket() {
    let mut world = World::new(&policy(DedupMode::Components, 0.8));
    let report = world.pour("web", &Template::new(1).pages(400), 1 << 30);
    world.agrees("one commit");
    let near = |(standing, _): &(Standing, _)| *standing == Standing::Near;
    assert_eq!(world.told().iter().filter(|one| near(one)).count(), 40);
    assert_eq!((report.dedup.crowded, report.dedup.capped), (0, 0));
    // Of 97,000 pairs, those before their buckets are crowded. A twin is then compared with its fill alone.
    assert!(report.dedup.verified < 30_000, "{:?}", report.dedup);
    world.digest();
}

#[test]
fn clusters_in_crowded_buckets_are_whole_under_any_policy() {
    for (seed, keep) in (0..).zip(orders()) {
        let mode = if seed == 4 { DedupMode::Lsh } else { DedupMode::Components };
        let scope = if seed % 2 == 0 { DedupScope::Global } else { DedupScope::PerSource };
        let policy = Policy { keep, scope, ..policy(mode, 0.8) };
        let mut random = Random::new(seed);
        let mut pages = mixed(&Template::new(seed), &mut random, 250);
        shuffle(&mut random, &mut pages);
        let mut told = BTreeSet::new();
        for batch in [1 << 30, 15 << 10] {
            let mut world = World::new(&policy);
            let mut crowded = 0;
            for pages in [&pages[..180], &pages[180..]] {
                crowded += world.pour("web", pages, batch).dedup.crowded;
            }
            world.agrees(&format!("batches of {batch} B"));
            assert_eq!(crowded, 0, "{policy}");
            world.digest();
            told.insert(world.told());
        }
        assert_eq!(told.len(), 1, "{policy}");
    }
}

#[test]
fn a_document_joins_a_large_cluster_by_its_last_member() {
    let template = Template::new(3);
    let member = |number: usize| [format!("a{number}"), "hot".to_owned(), format!("c{number}")];
    let pages: Vec<Page> = (0..220).map(|at| Page::new(template.with(member(at)))).collect();
    let of = |number: usize| [format!("a{number}"), format!("x{number}"), format!("y{number}")];
    let late: Vec<Page> = (210..230).map(|number| Page::new(template.with(of(number)))).collect();
    for batch in [1 << 30, 20 << 10] {
        let mut world = World::new(&policy(DedupMode::Components, 0.8));
        world.pour("web", &pages, batch);
        assert_eq!(world.writer.view().kept().unwrap().len(), 1);
        world.reopen();
        let report = world.pour("web", &late, batch);
        world.agrees("after those that are like the last members");
        assert_eq!(world.writer.view().kept().unwrap().len(), 11);
        assert_eq!(report.dedup.crowded, 0);
        // All of the cluster once more, when it is in the crowd already.
        let again: Vec<Page> =
            (150..165).map(|number| Page::new(template.with(of(number)))).collect();
        world.pour("web", &again, batch);
        world.agrees("after those that are like others");
        world.digest();
    }
}

#[test]
fn a_near_copy_costs_one_link_however_many_there_are() {
    let cost = |count: usize| -> (u64, u64) {
        let mut world = World::new(&policy(DedupMode::Components, 0.8));
        let template = Template::new(4);
        let text =
            |number: usize| template.with(["one", "two", &format!("c{number}")].map(String::from));
        let pages: Vec<Page> = (0..count).map(|at| Page::new(text(at))).collect();
        let report = world.pour("web", &pages, 30 << 10);
        assert_eq!(report.dedup.crowded, 0);
        world.reopen();
        let more: Vec<Page> = (0..20).map(|at| Page::new(text(count + at))).collect();
        let later = world.pour("web", &more, 30 << 10);
        assert_eq!(later.dedup.crowded, 0);
        world.agrees("after the second process");
        let of = |report: &corpusdb::IngestReport| report.dedup.compared + report.dedup.verified;
        (of(&report), of(&later))
    };
    let (few, many) = (cost(200), cost(400));
    assert!(few.0 <= 2 * 200 && many.0 <= 2 * 400, "{few:?}, {many:?}");
    assert!(few.1 <= 2 * 20 && many.1 <= 2 * 20, "{few:?}, {many:?}");
}

#[test]
fn members_of_clusters_in_crowded_buckets_come_and_go() {
    for (seed, keep) in [(11, KeepOrder::First), (12, KeepOrder::Longest)] {
        let mut random = Random::new(seed);
        let policy = Policy { keep, ..policy(DedupMode::Components, 0.8) };
        let mut pages = mixed(&Template::new(seed), &mut random, 400);
        for (at, page) in pages.iter_mut().enumerate() {
            page.id = Some(format!("k{}", at % 380));
        }
        let mut world = World::new(&policy);
        world.pour("web", &pages[..200], 60 << 10);
        world.agrees("at first");
        for round in 0..3 {
            let gone: Vec<u64> = (0..8).map(|_| random.below(200 + 60 * round) as u64).collect();
            world.remove(&gone, round == 1);
            world.agrees(&format!("round {round}, after a removal"));
            world.pour("web", &pages[200 + 60 * round..260 + 60 * round], 15 << 10);
            world.agrees(&format!("round {round}, after more"));
            if round == 1 {
                world.reopen();
            }
            world.restore(&gone[..4]);
            world.agrees(&format!("round {round}, after restoring"));
        }
        // Their keys come again with other content.
        world.pour("web", &pages[380..], 15 << 10);
        world.agrees("after supersessions");
        world.digest();
    }
}
