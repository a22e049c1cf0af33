//! Laws of changes of mind: random sequences against the model, and back to where it began.

use crate::support::world::{SOURCES, World, kin, page_of, policies, policy};
use crate::support::{Page, Random, crawl, part, seeds};
use corpusdb::curate::BlockReach;
use corpusdb::dedup::{KeepOrder, Standing};
use corpusdb::{DedupMode, Policy};

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
