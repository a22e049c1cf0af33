//! How far a removal reaches: equal texts, other spellings, similar texts; until it is taken back.

use crate::support::world::{World, corpus_writer, policy};
use crate::support::{Page, Ran, TestDir, corpusdb, init, lines, sound};
use corpusdb::curate::BlockReach;
use corpusdb::dedup::Standing;
use corpusdb::{Context, DedupMode, DocId, Interrupt};

/// Fifty words, of which the last `changed` are their own.
fn text(name: &str, changed: usize) -> String {
    let common = (0..50 - changed).map(|at| format!("Word{at}"));
    common.chain((0..changed).map(|at| format!("{name}{at}"))).collect::<Vec<_>>().join(" ")
}

/// The text in capitals and with a mark at its end; the text with a sentence more; another text.
fn comebacks(original: &str) -> [Page; 4] {
    [
        Page::new(original),
        Page::new(format!("{}!", original.to_uppercase())),
        Page::new(format!("{original} and more")),
        Page::new(text("other", 40)),
    ]
}

#[test]
fn variants_are_blocked_as_far_as_the_removal_reaches() {
    use Standing::{Blocked, Kept};
    for mode in [DedupMode::Exact, DedupMode::Witness] {
        for (reach, expected) in [
            (BlockReach::Nothing, [Kept, Kept, Kept, Kept]),
            (BlockReach::Exact, [Blocked, Kept, Kept, Kept]),
            (BlockReach::Normalised, [Blocked, Blocked, Kept, Kept]),
            (BlockReach::Similar, [Blocked, Blocked, Blocked, Kept]),
        ] {
            let mut world = World::new(&policy(mode, 0.8));
            let original = text("a", 3);
            world.pour("web", &[Page::new(original.clone())], 1 << 20);
            let ids = [0].into_iter().collect();
            world.writer.remove(&ids, reach, &Context::new()).unwrap();
            // It survives the opening of the corpus.
            drop(world.writer);
            world.writer = corpus_writer(&world.path, 1);
            for (at, page) in comebacks(&original).into_iter().enumerate() {
                let id = world.writer.view().documents();
                world.pour("mirror", &[page], 1 << 20);
                let standing = world.writer.view().standing(DocId(id)).unwrap();
                assert_eq!(
                    standing == Blocked,
                    expected[at] == Blocked,
                    "{mode:?}, {reach:?}, {at}"
                );
            }
            let corpus = crate::support::reader(&world.path);
            for (id, expected) in (1..).zip(expected) {
                let shown = corpus.show(DocId(id)).unwrap();
                let is_blocked = expected == Blocked;
                assert_eq!(
                    shown.blocked_by.len(),
                    usize::from(is_blocked),
                    "{mode:?}, {reach:?}, {id}"
                );
            }
            if reach != BlockReach::Similar {
                continue;
            }
            // Another threshold changes nothing about what is blocked.
            let before = world.told();
            let other = policy(DedupMode::Witness, 0.9);
            world.writer.redo(&other, &Context::new()).unwrap();
            world.writer.switch(&other, &Context::new()).unwrap();
            let blocked = |told: &[(Standing, Option<u64>)]| {
                told.iter().map(|(standing, _)| *standing == Blocked).collect::<Vec<_>>()
            };
            assert_eq!(blocked(&world.told()), blocked(&before));
            // Taken back, nothing is blocked any more, nor comes in blocked.
            world.writer.restore(&ids, &Context::new()).unwrap();
            assert!(blocked(&world.told()).iter().all(|is_blocked| !is_blocked));
            world.pour("again", &comebacks(&original), 1 << 20);
            assert!(blocked(&world.told()).iter().all(|is_blocked| !is_blocked));
            world.digest();
        }
    }
}

#[test]
fn stored_near_copies_are_blocked_with_a_removed_document() {
    for mode in [DedupMode::None, DedupMode::Components] {
        let mut world = World::new(&policy(mode, 0.8));
        let original = text("a", 3);
        world.pour("web", &comebacks(&original), 1 << 20);
        let (before, digest) = (world.told(), world.digest());
        let ids = [2].into_iter().collect();
        // First as usual, then further: the second call extends the first.
        world.writer.remove(&ids, BlockReach::Exact, &Context::new()).unwrap();
        let report = world.writer.remove(&ids, BlockReach::Similar, &Context::new()).unwrap();
        assert_eq!((report.changed, report.unchanged, report.blocked), (0, 1, 2), "{mode:?}");
        use Standing::{Blocked, Kept, Removed};
        let standings: Vec<_> = world.told().into_iter().map(|(standing, _)| standing).collect();
        assert_eq!(standings, [Blocked, Blocked, Removed, Kept], "{mode:?}");
        let report = world.writer.restore(&ids, &Context::new()).unwrap();
        assert_eq!((report.changed, report.blocked), (1, 0), "{mode:?}");
        assert_eq!((world.told(), world.digest()), (before, digest), "{mode:?}");
    }
}

#[test]
fn documents_restored_together_do_not_keep_each_other_out() {
    let mut world = World::new(&policy(DedupMode::Witness, 0.8));
    // More than one commit takes, all similar in pairs: the first of a pair comes back in an earlier commit.
    let pages: Vec<Page> = (0..2300)
        .map(|at| {
            let name = format!("n{}x", at % 1150);
            Page::new((0..8).map(|word| format!("{name}{word} ")).collect::<String>())
        })
        .collect();
    world.pour("web", &pages, 1 << 20);
    let before = world.told();
    let ids = (0..2300).collect();
    let report = world.writer.remove(&ids, BlockReach::Similar, &Context::new()).unwrap();
    assert_eq!((report.changed, report.commits), (2300, 2));
    let commits = world.writer.view().commits().unwrap();
    let changed = |kind: &str| -> u64 {
        let of_kind = commits.iter().filter(|(_, record)| record.kind == kind);
        of_kind.map(|(_, record)| record.changed).sum()
    };
    assert_eq!(changed("remove"), 2300, "each commit says what it changed itself");
    let report = world.writer.restore(&ids, &Context::new()).unwrap();
    assert_eq!(report.changed, 2300);
    assert_eq!(world.told(), before);
}

#[test]
fn the_command_blocks_near_copies_and_says_why() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let original = text("a", 3);
    let file = scratch.write("a.jsonl", lines(&[Page::keyed("first", original.clone())]));
    let ingest = |file: &str| -> Ran {
        corpusdb(&["ingest", &corpus, file, "--source", "web", "--id-field", "id", "--json"]).good()
    };
    ingest(&file);
    corpusdb(&["remove", &corpus, "first", "--block", "similar"]).good();
    corpusdb(&["remove", &corpus, "first", "--block", "all"]).fails(&["normalised", "similar"]);
    corpusdb(&["remove", &corpus, "first", "--block", "similar", "--no-block"])
        .fails(&["--no-block"]);
    let again = [
        Page::keyed("capitals", format!("{}!", original.to_uppercase())),
        Page::keyed("longer", format!("{original} and more")),
    ];
    let file = scratch.write("b.jsonl", lines(&again));
    assert_eq!(ingest(&file).json()["kept"], 0);
    let shown = corpusdb(&["show", &corpus, "1"]).good().stdout;
    assert!(shown.contains("standing: blocked"), "{shown}");
    assert!(shown.contains("removal of document 0 (first), by normalised text"), "{shown}");
    let shown = corpusdb(&["show", &corpus, "2"]).good().stdout;
    assert!(shown.contains("removal of document 0 (first), by similarity 0.9"), "{shown}");
    corpusdb(&["restore", &corpus, "first"]).good();
    let shown = corpusdb(&["show", &corpus, "1"]).good().stdout;
    assert!(!shown.contains("blocked"), "{shown}");
    sound(&corpus);
}

#[test]
fn near_copies_stay_blocked_when_the_original_is_purged() {
    for mode in [DedupMode::Witness, DedupMode::Components] {
        for reach in [BlockReach::Exact, BlockReach::Similar] {
            let mut world = World::new(&policy(mode, 0.8));
            let original = text("a", 3);
            world.pour("web", &[Page::new(original.clone())], 1 << 20);
            let (nothing, first) = (Interrupt::default(), [0].into_iter().collect());
            world
                .writer
                .remove(&first, BlockReach::Similar, &Context::new().with_interrupt(&nothing))
                .unwrap();
            let report = world
                .writer
                .purge(&first, reach, false, &Context::new().with_interrupt(&nothing))
                .unwrap();
            assert_eq!((report.purged, report.kept_again), (1, 0), "{mode:?}, {reach:?}");
            let mut standings = Vec::new();
            for page in comebacks(&original) {
                let id = world.writer.view().documents();
                world.pour("mirror", &[page], 1 << 20);
                let view = world.writer.view();
                // The very text, and what is it but for capitals, is not even stored.
                standings.push((view.documents() > id).then(|| view.standing(DocId(id)).unwrap()));
            }
            let (similar, other) = (Some(Standing::Blocked), Some(Standing::Kept));
            assert_eq!(standings, [None, None, similar, other], "{mode:?}, {reach:?}");
            world.digest();
            let blocked = world.writer.view().documents() - 2;
            let corpus = crate::support::reader(&world.path);
            let shown = corpus.show(DocId(blocked)).unwrap();
            assert_eq!((shown.blocked_by[0].id, shown.blocked_by[0].by), (0, "similarity"));
            drop((corpus, world.writer));
            world.writer = corpus_writer(&world.path, 1);
            let context = Context::new().with_interrupt(&nothing);
            let proof = world.writer.prove_purge(None, None, &context).unwrap();
            assert!(proof.is_clean() && proof.sketches == 1, "{proof:?}");
            // Nothing blocks any more when the user says so, and the sketch goes with it.
            let second = [blocked].into_iter().collect();
            world
                .writer
                .purge(
                    &second,
                    BlockReach::Nothing,
                    false,
                    &Context::new().with_interrupt(&nothing),
                )
                .unwrap();
            world.digest();
        }
    }
}

/// What the first commit kept again and the second one removed was counted as both.
#[test]
fn a_removal_of_several_commits_counts_its_final_result() {
    let mut world = World::new(&policy(DedupMode::Witness, 0.8));
    let half = 2_100;
    let pages: Vec<Page> =
        (0..2 * half).map(|at| Page::new(format!("page {} of many pages", at % half))).collect();
    world.pour("web", &pages, 1 << 20);
    let (all, nothing) = ((0..2 * half).collect(), Interrupt::default());
    let report = world
        .writer
        .remove(&all, BlockReach::Similar, &Context::new().with_interrupt(&nothing))
        .unwrap();
    assert!(report.commits > 1);
    let counts = (report.changed, report.kept_again, report.no_longer_kept, report.copies);
    assert_eq!(counts, (2 * half, 0, half, 0));
    let back = world.writer.restore(&all, &Context::new().with_interrupt(&nothing)).unwrap();
    let counts = (back.changed, back.kept_again, back.no_longer_kept, back.blocked);
    assert_eq!(counts, (2 * half, half, 0, 0));
}

/// One of two mirrors came back in place of what was removed, without a word.
#[test]
fn a_removal_says_how_many_copies_of_its_documents_stand() {
    let original = text("a", 3);
    let mirror = format!("{original} and more");
    let pages = [&original, &mirror, &mirror, &text("other", 40)].map(Page::new);
    for (reach, copies) in [(BlockReach::Exact, 2), (BlockReach::Similar, 0)] {
        let mut world = World::new(&policy(DedupMode::Witness, 0.8));
        world.pour("web", &pages, 1 << 20);
        let (first, nothing) = ([0].into_iter().collect(), Interrupt::default());
        let report =
            world.writer.remove(&first, reach, &Context::new().with_interrupt(&nothing)).unwrap();
        assert_eq!((report.copies, report.kept_again), (copies, copies.min(1)), "{reach:?}");
    }
}
