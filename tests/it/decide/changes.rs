//! Changes of mind: random sequences against the model, other policies and back, and what they cost.

use crate::support::world::{SOURCES, World, kin, options, orders, page_of, policies, policy};
use crate::support::{Page, Random, StopAt, StopWhen, crawl, part, pour, prose, seeds};
use corpusdb::curate::BlockReach;
use corpusdb::dedup::{DedupScope, KeepOrder, Profile, Standing};
use corpusdb::{Context, DedupMode, Policy};

// ----
// Laws of changes of mind: random sequences against the model, and back to where it began.

/// Some ids below `end`.
fn some(random: &mut Random, end: usize, most: usize) -> Vec<u64> {
    let count = random.between(1, most + 1);
    let mut ids: Vec<u64> = (0..count).map(|_| random.below(end) as u64).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Of each two removals one blocks equal texts and keys, the others nothing or more.
const REACHES: [BlockReach; 4] =
    [BlockReach::Nothing, BlockReach::Exact, BlockReach::Exact, BlockReach::Normalised];

/// Ingests, supersedes, reverts, ingests old files again, removes, restores and purges at random; after each the corpus
/// must stand as the model says. Answers removals looked at and those with another witness than the model's.
fn wander(policy: &Policy, seed: u64, steps: usize) -> (usize, usize) {
    let mut random = Random::new(seed);
    let texts = kin(&mut random, 14);
    let mut world = World::new(policy);
    let mut log = Vec::new();
    for step in 0..steps {
        let stored = world.model.documents.len();
        let choice = random.below(100);
        if stored > 0 && choice < 15 {
            let file = random.below(world.files.len());
            let (batch, reread) = (*random.pick(&[600, 1 << 20]), random.chance(40));
            log.push(format!("ingest file {file} again, {batch} B, reread {reread}"));
            world.pour_again(file, batch, reread);
            // Again, and nothing is left to do.
            let stands = world.told();
            assert_eq!(world.pour_again(file, batch, reread).added, 0, "seed {seed}, {log:#?}");
            assert_eq!(world.told(), stands, "seed {seed}, {log:#?}");
        } else if stored == 0 || choice < 45 {
            let keys = random.chance(70).then_some(9);
            let pages: Vec<Page> =
                (0..random.between(1, 12)).map(|_| page_of(&mut random, &texts, keys)).collect();
            let source = *random.pick(&SOURCES[..2]);
            let batch = *random.pick(&[600, 1 << 20]);
            log.push(format!("ingest {} into {source}, {batch} B", pages.len()));
            world.pour(source, &pages, batch);
        } else if choice < 55
            && let KeepOrder::Field(name) = &policy.keep
        {
            let values = some(&mut random, stored, 6).into_iter().map(|id| {
                let value = match (name.as_str(), random.chance(80)) {
                    (_, false) => serde_json::Value::Null,
                    ("year", _) => (1998 + random.below(4)).into(),
                    _ => (random.below(5) as f64 / 10.0).into(),
                };
                (id, value)
            });
            let values: Vec<_> = values.collect();
            let batch = random.between(1, 8);
            log.push(format!("set {values:?}, {batch} a commit"));
            world.set_field(name, &values, batch);
        } else if choice < 72 {
            let ids = some(&mut random, stored, 4);
            let reach = *random.pick(&REACHES);
            log.push(format!("remove {ids:?}, block {reach:?}"));
            world.remove(&ids, reach);
        } else if choice < 80 {
            let ids = some(&mut random, stored, 3);
            let (reach, at) = (*random.pick(&REACHES), random.below(5) as u64);
            log.push(format!("purge {ids:?}, block {reach:?}, stopped at {at}"));
            world.purge(&ids, reach, at, &mut random);
        } else {
            let removed: Vec<u64> = (0..stored as u64)
                .filter(|id| {
                    let document = &world.model.documents[*id as usize];
                    document.removal.is_some() && !document.is_purged
                })
                .filter(|_| random.chance(60))
                .collect();
            log.push(format!("restore {removed:?}"));
            world.restore(&removed);
        }
        world.agrees(&format!("seed {seed}, step {step}, {log:#?}"));
    }
    let digest = world.digest();
    if world.names_the_best() {
        // And as a decision of everything at once would name it.
        world.redo(policy);
        assert_eq!(world.digest(), digest, "seed {seed}, {policy}, {log:#?}");
    }
    (world.witnesses, world.others)
}

#[test]
fn any_changes_keep_the_same_as_a_decision_from_scratch() {
    let (mut witnesses, mut others) = (0, 0);
    for (at, policy) in part((0..).zip(policies(0.7)), 3) {
        // The mode that removes nothing has no orders worth many tries.
        if policy.mode == DedupMode::None && at % 5 != 0 {
            continue;
        }
        for seed in 0..seeds(1 + u64::from(policy.keep == KeepOrder::First)) {
            let found = wander(&policy, 1000 + at * 16 + seed % 2 + seed / 2 * 100_000, 14);
            witnesses += found.0;
            others += found.1;
        }
    }
    // Under `first` alone, and seldom: who came back explains better, and nobody looked.
    assert!(20 * others <= witnesses, "{others} of {witnesses} witnesses are not the best-ranked");
    assert!(
        witnesses > 500 * seeds(1).min(3) as usize,
        "{witnesses} removals are too few to mean anything"
    );
}

#[test]
fn removing_and_restoring_gives_the_original_digest() {
    for (seed, policy) in part((0..).zip(policies(0.7)), 3) {
        let mut random = Random::new(seed);
        let mut world = World::new(&policy);
        let pages = crawl(seed + 50, 150, false);
        world.pour("web", &pages[..100], 4 << 10);
        world.pour("mirror", &pages[100..], 1 << 20);
        let (original, told) = (world.digest(), world.told());
        let what = format!("seed {seed}, {policy}");
        let kept: Vec<u64> =
            (0..told.len() as u64).filter(|id| told[*id as usize].0 == Standing::Kept).collect();
        let ids: Vec<u64> = (0..20).map(|_| *random.pick(&kept)).collect();
        for block in [false, true] {
            let mut unique = ids.clone();
            unique.sort_unstable();
            unique.dedup();
            let report = world.remove(&unique, block);
            assert_eq!((report.changed, report.unchanged), (unique.len() as u64, 0), "{what}");
            world.agrees(&format!("{what}, removed"));
            assert_ne!(world.digest(), original, "{what}");
            assert_eq!(world.remove(&unique, block).unchanged, unique.len() as u64, "{what}");
            assert_eq!(world.restore(&unique).changed, unique.len() as u64, "{what}");
            world.agrees(&format!("{what}, restored"));
            assert_eq!(world.told(), told, "{what}");
            assert_eq!(world.digest(), original, "{what}");
        }
    }
}

#[test]
fn removed_documents_do_not_come_back_with_the_next_ingest() {
    for mode in DedupMode::ALL {
        let mut world = World::new(&policy(mode, 0.8));
        let text =
            |name: &str| (0..30).map(|at| format!("{name}{at}")).collect::<Vec<_>>().join(" ");
        let first =
            [Page::keyed("a", text("a")), Page::keyed("b", text("b")), Page::keyed("c", text("c"))];
        world.pour("web", &first, 1 << 20);
        world.remove(&[0, 1], true);
        // The same records, the same text under another key and in another source, new text under
        // a key; only `c`, and new text under a free key, are welcome.
        assert_eq!(world.pour("web", &first, 1 << 20).added, 0);
        let second = [
            Page::keyed("other", text("a")),
            Page::keyed("b", text("new")),
            Page::keyed("d", text("d")),
        ];
        world.pour("web", &second, 1 << 20);
        world.pour("mirror", &[Page::new(text("b"))], 1);
        world.pour("mirror", &[Page::keyed("b", text("free"))], 1);
        world.agrees(mode.name());
        use Standing::{Blocked, Kept, Removed, Superseded};
        let standings = |world: &World| {
            world.told().into_iter().map(|(standing, _)| standing).collect::<Vec<_>>()
        };
        assert_eq!(
            standings(&world),
            [Removed, Removed, Kept, Blocked, Blocked, Kept, Blocked, Kept],
            "{mode:?}"
        );
        // What blocked goes: the new generation of `b` has superseded it meanwhile.
        let report = world.restore(&[0, 1]);
        world.agrees(mode.name());
        assert_eq!((report.changed, report.unchanged), (2, 0));
        let told = standings(&world);
        assert_eq!((told[1], told[4], told[6]), (Superseded, Kept, Kept), "{mode:?}");
        world.digest();
    }
}

// ----
// Laws of deciding again: every other policy, back to the first, interrupted, and with an ingest between.

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
    let pages: Vec<Page> = (0..260).map(|_| Page::new(prose(&mut random, 0, 40))).collect();
    let mut world = World::witness();
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

// ----
// What it costs when minds change about many: counted, for twice as many.

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
