//! Steps that are read without a thread, and rows by their numbers: the same as the streams and the rows of an epoch.

use crate::support::Random;
use crate::support::checker::corpus::{CheckedCorpus, THREE, open, part, plan, rows};
use crate::support::checker::worlds::same;
use corpusdb::Corpus;
use corpusdb::epoch::{Epoch, EpochBatch, EpochError, EpochRow, EpochSteps, StreamOptions};

const SPECIALS: &str = "[tokenizer]\nspecials = { eos = \"<|eos|>\", pad = \"<|pad|>\" }\n";
/// Enough passes for a second epoch.
const TWICE: &str = "[[source]]\nname = \"web\"\nmax_repeats = 3\n[[source]]\nname = \"books\"\nmax_repeats = 3\n[[source]]\nname = \"code\"\nmax_repeats = 3\n";
const WORLDS: [u64; 3] = [1, 2, 3];

/// Recipes with every way to share batches among ranks, and whether every one of [`WORLDS`] divides them evenly: a step
/// is a part of one batch, or a batch (a row, where there are none) for each rank.
fn recipes() -> [(String, bool); 6] {
    let none = "[pack]\nkind = \"none\"\nlength = 96\n";
    let packed = "[pack]\nlength = 64\n";
    [
        (format!("{packed}[batch]\nrows = 12\ntail = \"drop\"\n"), true),
        (format!("{packed}[batch]\nrows = 12\ntail = \"pad\"\nbalance = 100\n"), true),
        (format!("{packed}[batch]\nrows = 5\ntail = \"carry\"\n"), false),
        (format!("{none}[batch]\nrows = 2\n"), false),
        (format!("{none}[batch]\nmax_tokens = 300\n"), true),
        (packed.to_owned(), true),
    ]
    .map(|(text, even)| (format!("{SPECIALS}{text}{TWICE}"), even))
}

/// Every recipe with its second epoch, which is as long as it says and divided unevenly where it must be.
fn each(corpus: &Corpus, check: impl Fn(&str, &Epoch)) {
    for (text, _) in recipes() {
        let planned = plan(corpus, &text).unwrap();
        let epoch = open(corpus, &planned, 1);
        assert!(epoch.batches() >= 7, "{text}");
        check(&text, &epoch);
    }
}

/// Where a run may stand: at the beginning, in the midst, before the last batch, behind it.
fn starts(epoch: &Epoch) -> [u64; 5] {
    let batches = epoch.batches();
    [0, 1, batches / 2, batches - 1, batches]
}

fn same_batch(a: &EpochBatch, b: &EpochBatch) -> bool {
    a.number == b.number && a.rows.len() == b.rows.len() && equal(&a.rows, &b.rows)
}

fn equal(a: &[EpochRow], b: &[EpochRow]) -> bool {
    a.iter().zip(b).all(|(a, b)| same(a, b))
}

#[test]
fn steps_are_the_batches_of_streams() {
    let place = CheckedCorpus::of(41, &THREE);
    each(&place.reader(), |text, epoch| {
        for world in WORLDS {
            for from in starts(epoch) {
                let mut given = Vec::new();
                for rank in 0..world {
                    let mut steps = epoch.steps(&part(from, rank, world)).unwrap();
                    let mut stream = epoch.stream(&part(from, rank, world)).unwrap();
                    assert_eq!(steps.state(), (1, from), "{text}");
                    let mut count = 0;
                    while let Some(step) = steps.next() {
                        let (step, at) = (step.unwrap(), stream.state().1);
                        let streamed = stream.next().unwrap().unwrap();
                        let place = format!("rank {rank} of {world} from {from}: {text}");
                        assert!(same_batch(&step, &streamed), "{place}");
                        assert!(
                            same_batch(&step, &epoch.batch(&part(at, rank, world)).unwrap()),
                            "{place}"
                        );
                        assert_eq!(steps.state(), stream.state(), "{place}");
                        given.extend(step.rows);
                        count += 1;
                    }
                    assert!(stream.next().is_none() && steps.next().is_none());
                    assert_eq!(count, epoch.steps_from(from, world), "{text}");
                    assert_eq!(steps.state(), (1, epoch.batches()), "{text}");
                }
                // All ranks together have what is left of the epoch, once.
                given.sort_by_key(EpochRow::number);
                let all = rows(epoch);
                let left = all.get(all.len() - given.len()..).unwrap();
                assert!(equal(&given, left), "{text}");
                assert_eq!(left.is_empty(), from == epoch.batches(), "{text}");
                assert!(from > 0 || given.len() as u64 == epoch.rows(), "{text}");
            }
        }
    });
}

#[test]
fn skipping_steps_equals_reading_and_dropping_them() {
    let place = CheckedCorpus::of(42, &THREE);
    let mut random = Random::new(42);
    let draws: Vec<u64> = (0..64).map(|_| random.below(4) as u64).collect();
    each(&place.reader(), |text, epoch| {
        for world in WORLDS {
            let rank = world - 1;
            let (mut passed, mut read) =
                (steps(epoch, 1, rank, world), steps(epoch, 1, rank, world));
            let mut met = 0;
            for count in draws.iter().copied() {
                passed.skip_steps(count).unwrap();
                for _ in 0..count {
                    drop(read.next().map(Result::unwrap));
                }
                assert_eq!(passed.state(), read.state(), "{text}");
                match (passed.next(), read.next()) {
                    (Some(passed), Some(read)) => {
                        assert!(same_batch(&passed.unwrap(), &read.unwrap()), "{text}");
                        met += 1;
                    }
                    (passed, read) => assert!(passed.is_none() && read.is_none(), "{text}"),
                }
            }
            assert!(met > 0, "{text}");
            // As many as there are lead to the end, and more lead no further.
            for more in [0, 1, 1000] {
                let mut passed = steps(epoch, 0, rank, world);
                passed.skip_steps(epoch.steps_from(0, world) + more).unwrap();
                assert_eq!(passed.state(), (1, epoch.batches()), "{text}");
                assert!(passed.next().is_none());
                passed.skip_steps(1).unwrap();
                assert_eq!(passed.state(), (1, epoch.batches()), "{text}");
            }
            let mut last = steps(epoch, 0, rank, world);
            last.skip_steps(epoch.steps_from(0, world) - 1).unwrap();
            assert!(last.next().is_some() && last.next().is_none(), "{text}");
        }
    });
}

fn steps(epoch: &Epoch, from: u64, rank: u64, world: u64) -> EpochSteps {
    epoch.steps(&part(from, rank, world)).unwrap()
}

#[test]
fn steps_that_there_cannot_be_are_refused() {
    let place = CheckedCorpus::of(43, &THREE);
    each(&place.reader(), |text, epoch| {
        let batches = epoch.batches();
        let refused = |from, rank, world| match epoch.steps(&part(from, rank, world)) {
            Err(EpochError::OutOfRange { what, asked, there_are }) => (what, asked, there_are),
            Err(error) => panic!("{error}: {text}"),
            Ok(_) => panic!("steps from {from} of rank {rank} of {world}: {text}"),
        };
        assert_eq!(refused(0, 3, 3), ("rank", 3, 3));
        assert_eq!(refused(0, 0, 0), ("rank", 0, 0));
        assert_eq!(refused(0, 9, 2), ("rank", 9, 2));
        assert_eq!(refused(batches + 1, 0, 1), ("batch", batches + 1, batches));
        assert_eq!(refused(u64::MAX, 0, 3), ("batch", u64::MAX, batches));
        assert_eq!(epoch.steps_from(batches, 1), 0);
        assert_eq!(epoch.steps_from(u64::MAX, 3), 0, "behind the end there are none");
    });
    let corpus = place.reader();
    for (text, even) in recipes().into_iter().filter(|(_, even)| !even) {
        let epoch = open(&corpus, &plan(&corpus, &text).unwrap(), 0);
        let error = epoch.steps(&StreamOptions::of_rank(0, 3)).err();
        assert!(!even && matches!(error, Some(EpochError::Uneven { world: 3, .. })), "{text}");
        // Each of them has its part all the same when that is allowed, and as many steps.
        let counts = (0..3).map(|rank| epoch.steps(&part(0, rank, 3)).unwrap().count() as u64);
        assert!(counts.into_iter().all(|count| count == epoch.steps_from(0, 3)), "{text}");
    }
}

/// What `rows_at` passes over rather than looks up anew: numbers around it are drawn on both sides.
const NEAR: u64 = 512;

#[test]
fn rows_by_their_numbers_are_rows_one_by_one() {
    let place = CheckedCorpus::of(44, &THREE);
    let corpus = place.reader();
    let sources: String = ["web", "books", "code"]
        .map(|name| format!("[[source]]\nname = \"{name}\"\nweight = 1\nmax_repeats = 400\n"))
        .concat();
    let mix = "[mix]\ntokens = 60_000\n";
    let batches = ["", "[batch]\nrows = 12\ntail = \"pad\"\nbalance = 100\n"];
    let mut random = Random::new(44);
    for batch in batches {
        let pack = "[pack]\nkind = \"greedy\"\nlength = 24\n";
        let text = format!("{SPECIALS}{mix}{pack}{batch}{sources}");
        let epoch = open(&corpus, &plan(&corpus, &text).unwrap(), 0);
        let (count, all) = (epoch.rows(), rows(&epoch));
        assert!(count > 3 * NEAR && all.len() as u64 == count, "{count} rows of {text}");
        let near: Vec<u64> = (700..730).rev().chain(695..705).collect();
        let far = vec![count - 1, 0, count / 2, 1, count - 1, count / 3];
        let edges = vec![NEAR + 2, 0, 2 * NEAR + 3, NEAR - 1, NEAR, NEAR + 1, 2 * NEAR + 2];
        let drawn = (0..40).map(|_| random.below(all.len()) as u64).collect();
        for numbers in [near, far, edges, drawn, vec![5, 5, 5], vec![count - 1], Vec::new()] {
            let found = epoch.rows_at(&numbers).unwrap();
            assert_eq!(found.len(), numbers.len());
            for (number, row) in numbers.iter().zip(&found) {
                assert_eq!(row.number(), *number);
                assert!(same(row, &epoch.row(*number).unwrap()), "row {number} of {text}");
                assert!(same(row, &all[*number as usize]), "row {number} of {text}");
                assert_eq!(row.source(), all[*number as usize].source());
            }
        }
        for beyond in [count, count + 1, u64::MAX] {
            match epoch.rows_at(&[0, beyond, 1]) {
                Err(EpochError::OutOfRange { what: "row", asked, there_are }) => {
                    assert_eq!((asked, there_are), (beyond, count));
                }
                other => panic!("{:?} of {text}", other.map(|rows| rows.len())),
            }
        }
    }
}
