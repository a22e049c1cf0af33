//! Rows without a stream: steps without a thread, rows by number, and ids from the files of a build.

use crate::support::checker::corpus::{CheckedCorpus, THREE, open, part, plan, pour_chats, rows};
use crate::support::checker::run::same;
use crate::support::exports::manifest_path;
use crate::support::{Random, corpusdb_test};
use corpusdb::epoch::{
    BatchForm, BuildJob, Epoch, EpochBatch, EpochError, EpochRow, EpochSteps, Manifest, Plan,
    StreamOptions, TensorIds,
};
use corpusdb::{Context, Corpus, ErrorKind, IoError};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

// ----
// Steps that are read without a thread, and rows by their numbers: the same as the streams and the rows of an epoch.

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
        let epoch = open(corpus, &plan(corpus, &text).unwrap(), 1);
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

corpusdb_test!(steps_are_the_batches_of_streams, CheckedCorpus::of(41, &THREE), |place| {
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
                    assert_eq!(count, epoch.steps_left(&part(from, 0, world)), "{text}");
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
});

corpusdb_test!(tokens_of_ranks_are_those_of_their_steps, CheckedCorpus::of(42, &THREE), |place| {
    each(&place.reader(), |text, epoch| {
        for world in WORLDS {
            for (from, most) in [(0, 1), (0, 3), (1, 2), (0, 1000), (epoch.batches(), 4)] {
                let of_rank = |rank| -> u64 {
                    let steps = epoch.steps(&part(from, rank, world)).unwrap();
                    let rows = steps.take(most).flat_map(|step| step.unwrap().rows);
                    let tokens = |row: EpochRow| -> u64 {
                        row.segments().iter().map(|segment| u64::from(segment.length)).sum()
                    };
                    rows.map(tokens).sum()
                };
                let wanted: Vec<u64> = (0..world).map(of_rank).collect();
                let found = epoch.rank_tokens(&part(from, 0, world), most as u64).unwrap();
                assert_eq!(found, wanted, "{world} ranks, {most} steps from {from}: {text}");
            }
        }
    });
});

corpusdb_test!(skipped_steps_equal_steps_that_are_read, CheckedCorpus::of(42, &THREE), |place| {
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
                passed.skip_steps(epoch.steps_left(&part(0, 0, world)) + more).unwrap();
                assert_eq!(passed.state(), (1, epoch.batches()), "{text}");
                assert!(passed.next().is_none());
                passed.skip_steps(1).unwrap();
                assert_eq!(passed.state(), (1, epoch.batches()), "{text}");
            }
            let mut last = steps(epoch, 0, rank, world);
            last.skip_steps(epoch.steps_left(&part(0, 0, world)) - 1).unwrap();
            assert!(last.next().is_some() && last.next().is_none(), "{text}");
        }
    });
});

fn steps(epoch: &Epoch, from: u64, rank: u64, world: u64) -> EpochSteps {
    epoch.steps(&part(from, rank, world)).unwrap()
}

corpusdb_test!(steps_that_there_cannot_be_are_refused, CheckedCorpus::of(43, &THREE), |place| {
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
        assert_eq!(epoch.steps_left(&part(batches, 0, 1)), 0);
        assert_eq!(epoch.steps_left(&part(u64::MAX, 0, 3)), 0, "behind the end there are none");
    });
    let corpus = place.reader();
    for (text, even) in recipes().into_iter().filter(|(_, even)| !even) {
        let epoch = open(&corpus, &plan(&corpus, &text).unwrap(), 0);
        let error =
            corpusdb::Error::from(epoch.steps(&StreamOptions::of_rank(0, 3)).err().unwrap());
        let is_uneven = error.to_string().contains("rows do not divide evenly among 3 ranks");
        assert!(!even && is_uneven && error.kind() == ErrorKind::BadRecipe, "{text}: {error}");
        // Each of them has its part all the same when that is allowed, and as many steps.
        let counts = (0..3).map(|rank| epoch.steps(&part(0, rank, 3)).unwrap().count() as u64);
        assert!(
            counts.into_iter().all(|count| count == epoch.steps_left(&part(0, 0, 3))),
            "{text}"
        );
    }
});

// With full steps every rank has a row in every step, and what is left out is told. A last step with fewer rows of
// documents than ranks was left out though pads fill it: `tail = "pad"`, "to lose none", lost them every epoch.
corpusdb_test!(every_rank_has_a_row_in_every_full_step, CheckedCorpus::of(44, &THREE), |place| {
    let corpus = place.reader();
    let pads = ["[batch]\nrows = 6\ntail = \"pad\"\n", "[batch]\nrows = 12\ntail = \"pad\"\n", ""];
    let all = pads.map(|batch| recipe("best-fit", batch, "format = \"arrow\""));
    let is_real = |row: &EpochRow| row.source().is_some();
    let mut left_out = 0;
    for (text, rows) in all.iter().flat_map(|text| [(text, 1), (text, 4)]) {
        let epoch = open(&corpus, &plan(&corpus, text).unwrap(), 0);
        let every: Vec<u64> =
            self::rows(&epoch).iter().filter(|row| is_real(row)).map(EpochRow::number).collect();
        for world in [1, 2, 3, 6] {
            for from in starts(&epoch) {
                let options = |rank| StreamOptions {
                    rows,
                    full_steps: true,
                    uneven: false,
                    ..part(from, rank, world)
                };
                let ranks: Vec<Vec<EpochBatch>> = (0..world)
                    .map(|rank| epoch.steps(&options(rank)).unwrap().map(Result::unwrap).collect())
                    .collect();
                let steps = epoch.steps_left(&options(0));
                let place = format!("{rows} rows, {world} ranks from {from}: {text}");
                assert!(ranks.iter().all(|rank| rank.len() as u64 == steps), "{place}");
                let mut given: Vec<u64> = Vec::new();
                for step in 0..steps as usize {
                    let counts: Vec<usize> = ranks
                        .iter()
                        .map(|rank| rank[step].rows.iter().filter(|row| is_real(row)).count())
                        .collect();
                    let (least, most) =
                        (counts.iter().min().unwrap(), counts.iter().max().unwrap());
                    assert!(most - least <= 1, "{counts:?}: {place}");
                    let has_row = ranks.iter().all(|rank| !rank[step].rows.is_empty());
                    assert!(has_row && (*least > 0 || text.contains("pad\"\n")), "{place}");
                    given.extend(
                        ranks
                            .iter()
                            .flat_map(|rank| &rank[step].rows)
                            .filter(|row| is_real(row))
                            .map(EpochRow::number),
                    );
                }
                given.sort_unstable();
                let wanted = &every
                    [every.partition_point(|row| given.first().is_some_and(|first| row < first))..];
                let out = epoch.rows_left_out(&options(0)).unwrap();
                assert!(out == 0 || !text.contains("tail = \"pad\""), "{place}");
                left_out += out;
                if steps > 0 {
                    assert_eq!(given.len() as u64 + out, wanted.len() as u64, "{place}");
                    assert_eq!(given, wanted[..given.len()], "{place}");
                }
                assert!(out < world, "{place}");
            }
        }
    }
    assert!(left_out > 0, "no step was short");
});

// Batches that are left out were counted as rows, where each has as many as a budget of tokens holds.
corpusdb_test!(rows_left_out_of_token_budgets_are_rows, CheckedCorpus::of(44, &THREE), |place| {
    let corpus = place.reader();
    let pack = "[pack]\nkind = \"none\"\nlength = 96\n";
    let grouped = "[order]\nkind = \"length-grouped\"\n";
    let mut beyond = 0;
    for order in ["", grouped] {
        let text = format!("{SPECIALS}{pack}[batch]\nmax_tokens = 300\n{order}");
        let epoch = open(&corpus, &plan(&corpus, &text).unwrap(), 0);
        let all = rows(&epoch).len() as u64;
        for world in 1..6 {
            let options = |rank| StreamOptions { full_steps: true, ..part(0, rank, world) };
            let of_rank = |rank| epoch.steps(&options(rank)).unwrap().map(Result::unwrap);
            let given = (0..world).flat_map(of_rank).map(|batch| batch.rows.len() as u64);
            let (given, out) = (given.sum::<u64>(), epoch.rows_left_out(&options(0)).unwrap());
            assert_eq!(given + out, all, "{world} ranks");
            beyond += u64::from(out > epoch.batches() % world);
            // A run that goes on leaves out what is left behind its own beginning: it was counted from the first batch.
            for from in 1..world.min(epoch.batches()) {
                let options = |rank| StreamOptions { full_steps: true, ..part(from, rank, world) };
                let of_rank = |rank| epoch.steps(&options(rank)).unwrap().map(Result::unwrap);
                let given: usize = (0..world).flat_map(of_rank).map(|batch| batch.rows.len()).sum();
                let before = epoch.steps(&part(0, 0, 1)).unwrap().take(from as usize);
                let before: usize = before.map(|batch| batch.unwrap().rows.len()).sum();
                let out = epoch.rows_left_out(&options(0)).unwrap();
                assert_eq!((given + before) as u64 + out, all, "{world} ranks from {from}");
            }
        }
    }
    assert!(beyond > 0, "no batch that is left out has several rows");
});

/// What `rows_at` passes over rather than looks up anew: numbers around it are drawn on both sides.
const NEAR: u64 = 512;

corpusdb_test!(rows_by_their_numbers_are_rows_one_by_one, CheckedCorpus::of(44, &THREE), |place| {
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
});

// ----
// Rows that have their ids from the files of a build are those of the store, in every format of bare ids.

const OUTPUTS: [&str; 7] = [
    "format = \"raw\"",
    "format = \"raw\"\nlayout = \"nanogpt\"",
    "format = \"raw\"\nlayout = \"llm.c\"",
    "format = \"raw\"\nlayout = \"datatrove\"",
    "format = \"raw\"\nlayout = \"olmo\"",
    "format = \"litdata\"",
    "format = \"megatron\"",
];

/// Two passes of packed rows, in so many shards that their names are not in the order of their numbers.
fn recipe(pack: &str, batch: &str, output: &str) -> String {
    let sources: String = ["web", "books", "code"]
        .map(|name| format!("[[source]]\nname = \"{name}\"\nweight = 1\nmax_repeats = 400\n"))
        .concat();
    format!(
        "[tokenizer]\nspecials = {{ eos = \"<|eos|>\", pad = \"<|pad|>\" }}\n[mix]\ntokens = 60_000\n[pack]\nkind = \"{pack}\"\nlength = 64\n{batch}[output]\nshard_bytes = 4096\n{output}\n{sources}"
    )
}

fn build(corpus: &Corpus, planned: &Plan, epoch: u64, out: &Path) {
    let job = BuildJob { epoch, out };
    corpus.build(planned, &job, &Context::new().with_threads(2)).unwrap();
}

/// All there is to ask of an epoch gives the same of both.
fn check(stored: &Epoch, given: &Epoch, random: &mut Random, text: &str) {
    let (all, found) = (rows(stored), rows(given));
    assert_eq!((all.len(), all.len() as u64), (found.len(), given.rows()), "{text}");
    assert!(all.iter().zip(&found).all(|(all, found)| same(all, found)), "{text}");
    assert!(all.iter().all(|row| row.ids().len() == 64), "{text}");
    let numbers: Vec<u64> = (0..40).map(|_| random.below(all.len()) as u64).collect();
    for (number, row) in numbers.iter().zip(given.rows_at(&numbers).unwrap()) {
        assert!(same(&all[*number as usize], &row), "row {number} of {text}");
    }
    for world in [1, 2, 3] {
        let from = random.below(given.batches() as usize) as u64;
        let mut left = Vec::new();
        for rank in 0..world {
            let steps = given.steps(&part(from, rank, world)).unwrap();
            left.extend(steps.flat_map(|step| step.unwrap().rows));
        }
        left.sort_by_key(EpochRow::number);
        let wanted = &all[all.len() - left.len()..];
        assert!(wanted.iter().zip(&left).all(|(all, found)| same(all, found)), "{text}");
        assert!(!left.is_empty(), "{text}");
    }
}

/// Batches of ids are those of rows, from any batch on and for any part of the readers of a rank.
fn check_ids(given: &Epoch, (rank, world): (u64, u64), random: &mut Random, text: &str) {
    let from = random.below(given.batches() as usize) as u64;
    let options = part(from, rank, world);
    let (skip, stride) = (random.below(3) as u64, 1 + random.below(3) as u64);
    let Some(mut steps) = given.id_steps_every(&options, skip, stride).unwrap() else {
        assert!(!text.contains("[batch]"), "{text}");
        return;
    };
    let form = |ids| BatchForm { views: Some(Vec::new()), ids, ..BatchForm::default() };
    let makers = [TensorIds::I64, TensorIds::I32, TensorIds::U16]
        .map(|ids| given.tensors(&form(ids)).unwrap());
    let mut told = given.steps_every(&options, skip, stride).unwrap();
    let mut rows = given.steps_every(&options, skip, stride).unwrap();
    loop {
        let batches = steps.read_together().unwrap();
        for batch in &batches {
            let wanted = rows.next().unwrap().unwrap();
            let numbers: Vec<u64> = wanted.rows.iter().map(EpochRow::number).collect();
            assert_eq!((batch.number(), batch.rows()), (wanted.number, &numbers[..]), "{text}");
            assert_eq!(batch.next(), rows.state().1, "{text}");
            for maker in &makers {
                assert!(maker.only_ids());
                assert_eq!(vec![maker.ids(batch)], maker.tensors(&wanted).unwrap(), "{text}");
            }
            let unread = told.next_without_ids().unwrap().unwrap();
            assert_eq!((unread.number, told.state()), (wanted.number, rows.state()), "{text}");
            for (row, wanted) in unread.rows.iter().zip(&wanted.rows) {
                assert!(row.ids().is_empty(), "{text}");
                assert_eq!(row.number(), wanted.number(), "{text}");
                let found = (row.source(), row.batch());
                assert_eq!(found, (wanted.source(), wanted.batch()), "{text}");
                assert_eq!((row.segments(), row.shape()), (wanted.segments(), wanted.shape()));
            }
            assert_eq!(unread.rows.len(), wanted.rows.len(), "{text}");
        }
        if batches.is_empty() {
            break;
        }
    }
    assert!(rows.next().is_none() && told.next_without_ids().unwrap().is_none(), "{text}");
}

corpusdb_test!(rows_of_files_are_those_of_the_store, CheckedCorpus::of(61, &THREE), |place| {
    let corpus = place.reader();
    let mut random = Random::new(61);
    for (at, output) in OUTPUTS.iter().enumerate() {
        let batches = [
            "[batch]\nrows = 12\ntail = \"pad\"\n",
            "",
            "[batch]\nrows = 6\nbalance = 9\n",
            "[batch]\nrows = 5\ntail = \"carry\"\n",
        ];
        for (pack, batch) in ["best-fit", "concat", "greedy", "best-fit"].iter().zip(batches) {
            let text = recipe(pack, batch, output);
            let planned = plan(&corpus, &text).unwrap();
            let out = place.scratch.path(&format!("{at}-{pack}-{}", batch.len()));
            build(&corpus, &planned, 1, &out);
            let manifest = Manifest::read(&out).unwrap();
            assert!(manifest.files.len() > 20, "{} files", manifest.files.len());
            let stored = open(&corpus, &planned, 1);
            let given = stored.clone().from_files(&out).unwrap();
            check(&stored, &given, &mut random, &text);
            for place in [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)] {
                check_ids(&given, place, &mut random, &text);
            }
        }
    }
});

#[test]
fn trained_spans_of_conversations_survive_ids_from_files() {
    let place = CheckedCorpus::of(62, &[("web", 60, 3, 40)]);
    pour_chats(&place, false);
    let corpus = place.reader();
    let text = "[tokenizer]\nspecials = { eos = \"<|eos|>\", pad = \"<|pad|>\" }\n[pack]\nlength = 64\n[batch]\nrows = 4\n[output]\nformat = \"raw\"\n";
    // Bare ids without masks are refused by the build.
    for layout in ["datatrove", "olmo"] {
        let text = format!("{text}layout = \"{layout}\"\n");
        let planned = plan(&corpus, &text).unwrap();
        let out = place.scratch.path(layout);
        build(&corpus, &planned, 0, &out);
        let stored = open(&corpus, &planned, 0);
        let said = |row: &EpochRow| row.trained().is_some_and(|of| !of.is_empty());
        assert!(rows(&stored).iter().any(said));
        check(&stored, &stored.clone().from_files(&out).unwrap(), &mut Random::new(62), &text);
    }
}

fn refused(epoch: &Epoch, directory: &Path) -> (PathBuf, String) {
    match epoch.clone().from_files(directory) {
        Err(EpochError::Files { path, why }) => (path, why),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{} is taken", directory.display()),
    }
}

/// Batches of ids before one that cannot be read, and why it cannot.
fn ids_before_damage(given: &Epoch) -> (usize, EpochError) {
    let mut steps = given.id_steps_every(&StreamOptions::default(), 0, 1).unwrap().unwrap();
    let mut read = 0;
    loop {
        match steps.read_together() {
            Ok(batches) => {
                assert!(!batches.is_empty(), "the damage was not seen");
                read += batches.len();
            }
            Err(error) => {
                assert!(steps.read_together().unwrap().is_empty(), "an error is the end");
                return (read, error);
            }
        }
    }
}

corpusdb_test!(other_files_and_damaged_files_are_refused, CheckedCorpus::of(63, &THREE), |place| {
    let corpus = place.reader();
    let batch = "[batch]\nrows = 12\n";
    let planned = plan(&corpus, &recipe("concat", batch, OUTPUTS[0])).unwrap();
    let epoch = open(&corpus, &planned, 0);
    let out = place.scratch.path("out");
    build(&corpus, &planned, 0, &out);

    let (path, why) = refused(&open(&corpus, &planned, 1), &out);
    assert_eq!(path, out);
    assert!(why.contains("holds epoch 0, and these are rows of epoch 1"), "{why}");
    let other = plan(&corpus, &recipe("greedy", batch, OUTPUTS[0])).unwrap();
    let (_, why) = refused(&open(&corpus, &other, 0), &out);
    assert!(why.contains("was built from plan"), "{why}");
    let (_, why) = refused(&epoch, &place.scratch.path("nowhere"));
    assert!(why.contains("no epoch was built here"), "{why}");
    for (name, output) in [("parquet", "format = \"parquet\""), ("mds", "format = \"mds\"")] {
        let tables = plan(&corpus, &recipe("concat", batch, output)).unwrap();
        let directory = place.scratch.path(name);
        build(&corpus, &tables, 0, &directory);
        let (_, why) = refused(&open(&corpus, &tables, 0), &directory);
        assert!(why.contains(&format!("rows of format {name} cannot be read from files")), "{why}");
    }

    let given = epoch.clone().from_files(&out).unwrap();
    let shard = out.join("shard-00003.bin");
    let file = OpenOptions::new().write(true).open(&shard).unwrap();
    file.write_all_at(&[0xff, 0xff], 2).unwrap();
    let found: Vec<_> =
        given.steps(&StreamOptions::default()).unwrap().filter_map(Result::err).collect();
    assert_eq!(found.len(), 1);
    let message = found[0].to_string();
    assert!(message.contains("shard-00003.bin: row "), "{message}");
    assert!(message.contains("has id 65535, and the tokenizer has 420"), "{message}");
    // What stands before is given all the same.
    let before = given.steps(&StreamOptions::default()).unwrap().take_while(Result::is_ok).count();
    assert!(before >= 3);
    let (ids, error) = ids_before_damage(&given);
    assert_eq!((ids, error.to_string()), (before, message));

    file.set_len(1000).unwrap();
    let (path, why) = refused(&epoch, &out);
    assert_eq!(path, shard);
    assert!(why.contains("has 1000 bytes, but 32 rows take"), "{why}");
    // A file that shrinks while it is read is an error, too.
    assert!(matches!(given.row(given.rows() / 8), Ok(_) | Err(EpochError::Io { .. })));
    let found: Vec<_> =
        given.steps(&StreamOptions::default()).unwrap().filter_map(Result::err).collect();
    assert!(
        matches!(found.as_slice(), [EpochError::Io(IoError { doing: "reading", .. })]),
        "{found:?}"
    );
    let (_, error) = ids_before_damage(&given);
    assert!(matches!(error, EpochError::Io(IoError { doing: "reading", .. })), "{error:?}");
    std::fs::remove_file(&shard).unwrap();
    let gone = epoch.clone().from_files(&out).err();
    assert!(matches!(gone, Some(EpochError::Io(IoError { doing: "opening", .. }))));
    std::fs::write(manifest_path(&out), "{}").unwrap();
    assert!(matches!(epoch.from_files(&out).err(), Some(EpochError::Plan(_))));
});
