//! Laws of deciding again: every other policy, back to the first, interrupted, and with an ingest between.

use crate::support::world::{SOURCES, World, kin, options, orders, page_of, policies, policy};
use crate::support::{Page, Random, StopAt, StopWhen, crawl, part, pour};
use corpusdb::dedup::{DedupScope, KeepOrder, Profile};
use corpusdb::{Context, DedupMode, Policy};

/// Three files of pages that have something for every order and scope.
fn files(seed: u64, keyed: bool) -> Vec<Vec<Page>> {
    let mut random = Random::new(seed);
    let texts = kin(&mut random, 30);
    let mut pages = crawl(seed, 70, keyed);
    let keys = keyed.then_some(20);
    pages.extend((0..50).map(|_| page_of(&mut random, &texts, keys)));
    pages.chunks(45).map(<[Page]>::to_vec).collect()
}

fn filled(policy: &Policy, files: &[Vec<Page>], batch: u64) -> World {
    let mut world = World::new(policy);
    for (at, pages) in files.iter().enumerate() {
        world.pour(SOURCES[at % 3], pages, batch);
    }
    world
}

#[test]
fn another_threshold_and_back_gives_the_original_digest() {
    for (seed, mode) in (0..).zip(DedupMode::ALL) {
        for scope in [DedupScope::Global, DedupScope::PerSource] {
            let first = Policy { scope, ..policy(mode, 0.8) };
            let mut world = filled(&first, &files(seed + 20, false), 3 << 10);
            let original = world.digest();
            for threshold in [0.5, 1.0] {
                world.redo(&policy(DedupMode::Witness, threshold));
                world.agrees(&format!("at {threshold}"));
                assert!(mode != DedupMode::Witness || world.digest() != original, "{threshold}");
            }
            world.redo(&first);
            world.agrees("back");
            assert_eq!(world.digest(), original, "{first}");
            assert_eq!(world.others, 0, "a decision of everything at once finds the best witness");
        }
    }
}

#[test]
fn a_later_policy_decides_as_if_it_had_been_the_first() {
    let mut policies = policies(0.6);
    // One corpus goes through all of them, in no particular order.
    let mut random = Random::new(5);
    for at in (1..policies.len()).rev() {
        policies.swap(at, random.below(at + 1));
    }
    for keyed in [false, true] {
        let files = files(7, keyed);
        let mut world = filled(&policy(DedupMode::Witness, 0.8), &files, 3 << 10);
        for (at, policy) in
            policies.iter().enumerate().filter(|(at, _)| at % 2 == usize::from(keyed))
        {
            world.redo(policy);
            world.agrees(&format!("redo {at}, keyed {keyed}"));
            let digest = world.digest();
            if !keyed && policy.keep == KeepOrder::First {
                // `filled` writes files of the same names elsewhere: ingest these very files.
                assert_eq!(digest, fresh(policy, &files, &world), "{policy}");
            }
        }
        let report = |policy: &Policy, world: &mut World| {
            world.writer.redo(policy, &Context::new()).unwrap()
        };
        let policy = policy(DedupMode::Witness, 0.5);
        let found = report(&policy, &mut world);
        let before = world.writer.view().kept().unwrap();
        world.redo(&policy);
        let after = world.writer.view().kept().unwrap();
        assert_eq!((found.kept_before, found.kept_after), (before.len(), after.len()));
        let sums = found.sources.iter().fold((0, 0), |(gone, new), source| {
            (gone + source.newly_removed, new + source.newly_kept)
        });
        assert_eq!(sums, ((&before - &after).len(), (&after - &before).len()));
    }
}

/// The digest of a new corpus under the policy of the files of `world`.
fn fresh(policy: &Policy, files: &[Vec<Page>], world: &World) -> String {
    let mut other = World::new(policy);
    for (at, pages) in files.iter().enumerate() {
        let file = world.scratch.arg(&format!("{at}.jsonl"));
        pour(&mut other.writer, &[file], &options(SOURCES[at % 3], 1 << 20, pages));
    }
    other.digest()
}

#[test]
fn after_deciding_again_changes_are_as_ever() {
    let (mut witnesses, mut others) = (0, 0);
    for (seed, second) in part((0..).zip(policies(0.7)), 3) {
        let mut random = Random::new(seed + 900);
        let files = files(seed + 900, seed % 2 == 0);
        let mut world = filled(&policy(DedupMode::Witness, 0.8), &files[..2], 3 << 10);
        let ids: Vec<u64> = (0..6).map(|_| random.below(60) as u64).collect();
        world.remove(&ids, true);
        world.redo(&second);
        world.agrees("redo after removal");
        world.pour("archive", &files[2], 2 << 10);
        world.agrees("ingest after redo");
        let more: Vec<u64> = (0..6).map(|_| random.below(80) as u64).collect();
        world.remove(&more, false);
        world.agrees("removal after redo");
        world.restore(&ids);
        world.agrees("restored what was removed before");
        world.digest();
        witnesses += world.witnesses;
        others += world.others;
    }
    // Under `first` alone, and seldom: who came back explains better, and nobody looked.
    assert!(20 * others <= witnesses, "{others} of {witnesses} witnesses are not the best-ranked");
}

/// More documents than one commit of a re-decision takes, of few texts each.
fn many(seed: u64, count: usize) -> Vec<Page> {
    let mut random = Random::new(seed);
    let words = |random: &mut Random| {
        (0..12).map(|_| format!("w{}", random.below(3000))).collect::<Vec<_>>().join(" ")
    };
    let mut texts: Vec<String> = Vec::new();
    for _ in 0..count {
        let text = match random.below(10) {
            0..3 if !texts.is_empty() => {
                let from = texts[random.below(texts.len())].clone();
                format!("{from} x{}", random.below(9))
            }
            3 if !texts.is_empty() => texts[random.below(texts.len())].clone(),
            _ => words(&mut random),
        };
        texts.push(text);
    }
    let page = |text: String| {
        let mut page = Page::new(text);
        page.fields["quality"] = (random.below(500) as f64 / 1000.0).into();
        page
    };
    texts.into_iter().map(page).collect()
}

#[test]
fn a_redo_resumes_unless_an_ingest_came_between() {
    let first = policy(DedupMode::Witness, 0.8);
    let mut world = World::new(&first);
    world.pour("web", &many(3, 9_000), 1 << 20);
    world.agrees("ingested");
    let original = world.digest();
    let policies = [
        (DedupMode::Witness, KeepOrder::First),
        (DedupMode::Witness, orders()[3].clone()),
        (DedupMode::Components, KeepOrder::Longest),
        (DedupMode::Lsh, KeepOrder::First),
        (DedupMode::Exact, orders()[3].clone()),
    ];
    for (mode, keep) in part(policies, 2) {
        let second = Policy { keep, ..policy(mode, 0.6) };
        let raise = StopAt::new(StopWhen::Done(1));
        let stopped = world.writer.redo(&second, &raise.context()).unwrap_err().to_string();
        assert!(stopped.contains("interrupted"), "{stopped}");
        assert!(world.writer.switch(&second, &Context::new()).is_err(), "half of it is no outcome");
        // What is in force is untouched.
        assert_eq!(world.digest(), original);
        // To its end, and back in one go.
        world.redo(&second);
        world.agrees("interrupted, then to its end");
        world.digest();
        world.redo(&first);
        assert_eq!(world.digest(), original, "and back from {second}");
    }
    // An ingest between: what was decided before it is forgotten.
    let second = policy(DedupMode::Witness, 0.5);
    let raise = StopAt::new(StopWhen::Done(1));
    world.writer.redo(&second, &raise.context()).unwrap_err();
    world.pour("mirror", &many(4, 300), 1 << 20);
    world.agrees("ingested between");
    world.redo(&second);
    world.agrees("begun anew");
    world.writer.redo(&first, &Context::new()).unwrap();
    world.pour("mirror", &many(5, 30), 1 << 20);
    let stale = world.writer.switch(&first, &Context::new()).unwrap_err();
    let command = stale.hint().and_then(|hint| hint.command.as_deref());
    assert_eq!(command, Some("corpusdb dedup redo"), "{stale}");
    world.agrees("the switch was refused");
    world.digest();
}

#[test]
fn a_policy_of_other_sketches_is_refused() {
    let mut world = filled(&policy(DedupMode::Witness, 0.8), &files(1, false), 1 << 20);
    let told = world.told();
    for profile in [Profile::Code, Profile::Bigcode, Profile::Fineweb, Profile::Slimpajama] {
        let error = world.writer.redo(&Policy::of(profile), &Context::new()).unwrap_err();
        let hint = error.hint().unwrap();
        assert!(hint.text.contains("fixed when a corpus is created"), "{profile:?}: {hint}");
    }
    assert_eq!(world.told(), told);
}

#[test]
fn earlier_decisions_take_no_room_after_the_switch() {
    let mut random = Random::new(3);
    let pages: Vec<Page> =
        (0..260).map(|_| Page::new(crate::support::prose(&mut random, 0, 40))).collect();
    let mut world = World::new(&policy(DedupMode::Witness, 0.8));
    world.pour("web", &pages, 4 << 20);
    let mut sizes = Vec::new();
    for round in 0..7 {
        // Enough entries for a run a re-decision, which a later folding would make rows of.
        world.redo(&policy(DedupMode::Witness, if round % 2 == 0 { 0.7 } else { 0.8 }));
        if round % 2 == 0 {
            world.writer.compact(&Context::new()).unwrap();
            let found = world.writer.view().disk_usage().unwrap();
            let of_bands = found.iter().filter(|(name, _)| name.starts_with("band"));
            sizes.push(of_bands.map(|(_, bytes)| bytes).sum::<u64>());
        }
    }
    let (first, last) = (sizes[0], sizes[3]);
    assert!(first > 50_000, "{sizes:?}");
    assert!(last < first * 5 / 4, "{sizes:?}");
    world.digest();
}
