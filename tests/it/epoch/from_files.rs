//! Rows that have their ids from the files of a build are those of the store, in every format of bare ids.

use crate::support::Random;
use crate::support::checker::chats::pour_chats;
use crate::support::checker::corpus::{CheckedCorpus, THREE, open, part, plan, rows};
use crate::support::checker::worlds::same;
use corpusdb::epoch::{
    BuildJob, Epoch, EpochError, EpochRow, Manifest, Planned, StreamOptions, TensorForm,
};
use corpusdb::{Context, Corpus, IoError};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

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

fn build(corpus: &Corpus, planned: &Planned, epoch: u64, out: &Path) {
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
    let form = |narrow| TensorForm { views: Some(Vec::new()), narrow, flat: false };
    let makers = [false, true].map(|narrow| given.tensors(&form(narrow)).unwrap());
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
            let unread = told.next_unread().unwrap().unwrap();
            assert_eq!((unread.number, told.state()), (wanted.number, rows.state()), "{text}");
            for (row, wanted) in unread.rows.iter().zip(&wanted.rows) {
                assert!(row.ids().is_empty(), "{text}");
                assert_eq!(row.number(), wanted.number(), "{text}");
                assert_eq!(
                    (row.source(), row.batch()),
                    (wanted.source(), wanted.batch()),
                    "{text}"
                );
                assert_eq!((row.segments(), row.shape()), (wanted.segments(), wanted.shape()));
            }
            assert_eq!(unread.rows.len(), wanted.rows.len(), "{text}");
        }
        if batches.is_empty() {
            break;
        }
    }
    assert!(rows.next().is_none() && told.next_unread().unwrap().is_none(), "{text}");
}

#[test]
fn rows_of_files_are_those_of_the_store() {
    let place = CheckedCorpus::of(61, &THREE);
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
}

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
        let given = stored.clone().from_files(&out).unwrap();
        check(&stored, &given, &mut Random::new(62), &text);
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

#[test]
fn other_files_and_damaged_files_are_refused() {
    let place = CheckedCorpus::of(63, &THREE);
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
    std::fs::write(out.join("manifest.json"), "{}").unwrap();
    assert!(matches!(epoch.from_files(&out).err(), Some(EpochError::Plan(_))));
}
