//! Recipes drawn by chance hold every law: rows, marks, budgets, and the batches of every world.

use crate::support::checker::corpus::{
    CheckedCorpus, CheckedDocument, THREE, built, content, drawn, feasible, has_no_rows, open,
    part, plan, recipe, rows, stored,
};
use crate::support::checker::run::{Run, check_worlds};
use crate::support::outputs::files;
use crate::support::{Random, corpusdb_test, seeds};
use corpusdb::epoch::{EpochRow, Plan, StreamOptions};
use corpusdb::store::CheckDepth;
use corpusdb::{Context, Corpus, Error, Interrupt};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

// ----
// Recipes drawn by chance, each built, verified and checked: conservation, integrity, capacity, boundaries,
// masks, positions, labels, BOS and EOS, the mix, provenance.

/// Documents of each source with their fewest and most copies, by the recipe's own words.
fn selected(
    corpus: &Corpus,
    planned: &Plan,
    all: &[CheckedDocument],
) -> BTreeMap<String, BTreeMap<u64, (u32, u32)>> {
    let select = &planned.plan.recipe.select;
    let mut selected = Run::all_of(planned, all);
    let found = corpus.select(select.condition.as_deref()).unwrap();
    let year = |id: u64| {
        2000 + (0..5)
            .find(|year| {
                corpus.select(format!("id = {id} and year = {}", 2000 + year)).unwrap().len() == 1
            })
            .unwrap()
    };
    for documents in selected.values_mut() {
        documents.retain(|id, _| {
            let tokens = all[*id as usize].ids.as_ref().unwrap().len() as u64;
            found.contains(*id) && tokens >= select.min_tokens
        });
        for (id, copies) in documents.iter_mut() {
            *copies = match select.repeat.as_deref() {
                None => (1, 1),
                Some("2") => (2, 2),
                Some("1.5") => (1, 2),
                Some("1 + year % 2") => {
                    let times = 1 + year(*id) % 2;
                    (times, times)
                }
                Some(_) => (0, 2),
            };
        }
    }
    selected
}

/// Draws recipes, plans, builds, verifies and checks each.
fn check(seed: u64, recipes: usize) {
    let place = CheckedCorpus::of(seed, &THREE);
    let corpus = place.reader();
    let all = stored(&corpus);
    let mut random = Random::new(seed * 77);
    let (mut met, mut tried) = (0, 0);
    while met < recipes {
        tried += 1;
        assert!(tried < 5 * recipes, "{met} of {tried} recipes could be met");
        let text = drawn(&mut random);
        let Some(planned) = feasible(&corpus, &text) else { continue };
        // A batch may be larger than an epoch, which is said.
        let told = match corpus.explain(&planned, &Context::new()) {
            Err(error) if has_no_rows(&error) => continue,
            told => told.unwrap_or_else(|error| panic!("{error}\n{text}")),
        };
        let epochs = told.epochs.min(3);
        let no_rows = |epoch| match corpus.epoch(&planned, epoch, &Context::new()) {
            Err(error) if has_no_rows(&error) => true,
            opened => opened.map(|_| false).unwrap_or_else(|error| panic!("{error}\n{text}")),
        };
        if (0..epochs).any(no_rows) {
            continue;
        }
        met += 1;
        eprintln!("--- {met}\n{text}");
        let fluid =
            !planned.plan.recipe.select.repeat.as_deref().is_some_and(|by| by.contains("0.7"));
        let mut wanted = selected(&corpus, &planned, &all);
        if !fluid {
            // Documents whose coin says no copy are not pinned; how many is not told here.
            for (name, documents) in &mut wanted {
                let of = planned.pinned.iter().find(|of| of.name == *name).unwrap().documents();
                documents.retain(|id, _| of.contains(*id));
                documents.values_mut().for_each(|copies| *copies = (1, 2));
            }
        }
        let run = Run::read(&corpus, &planned, &all, wanted, epochs);
        run.check_conservation(&corpus);
        run.check_mix();
        run.check_epochs();
        run.check_batches();
        run.check_full();
        check_worlds(&corpus, &run, &mut random);
        built(
            &place,
            &corpus,
            &planned,
            random.below(epochs as usize) as u64,
            &format!("out-{met}"),
            2,
        );
    }
    println!("{met} of {tried} recipes could be met");
}

#[test]
fn recipes_drawn_by_chance_hold_every_property() {
    check(1, 24);
}

#[test]
fn more_recipes_drawn_by_chance_hold_every_property() {
    check(2, 24);
}

// ----
// Marks that are stored with plans: an epoch opened by them is the epoch that is walked, whatever the recipe.

corpusdb_test!(epochs_with_marks_are_the_walked_ones, CheckedCorpus::of(5, &THREE), |place| {
    let mut writer = place.writer();
    writer.create_snapshot("then").unwrap();
    let (mut random, interrupt) = (Random::new(1234), Interrupt::default());
    let (mut met, mut tried) = (0, 0);
    while met < 14 && tried < 80 {
        tried += 1;
        let text = format!("snapshot = \"then\"\n{}", drawn(&mut random));
        let corpus = writer.corpus();
        let Some(walked) = feasible(&corpus, &text) else { continue };
        let Ok(told) = corpus.explain(&walked, &Context::new()) else { continue };
        let epochs = told.epochs.min(3);
        drop(corpus);
        // The one that `feasible` lowered, where it did.
        let planned = recipe(&text);
        let Ok((record, stored)) =
            writer.plan_epochs(&planned, epochs, &Context::new().with_interrupt(&interrupt))
        else {
            continue;
        };
        assert_eq!(stored.number(), Some(record.number));
        met += 1;
        let corpus = writer.corpus();
        let stored = corpus.stored_plan(record.number).unwrap();
        assert_eq!(stored.number(), Some(record.number));
        let walked = corpus.plan(&planned, &Context::new()).unwrap();
        assert_eq!((walked.number(), walked.plan.hash()), (None, record.hash));
        for number in 0..epochs {
            let (Ok(by), Ok(anew)) = (
                corpus.epoch(&stored, number, &Context::new()),
                corpus.epoch(&walked, number, &Context::new()),
            ) else {
                // Too few rows for a batch, which marks do not change.
                assert!(corpus.epoch(&stored, number, &Context::new()).is_err(), "{text}");
                assert!(corpus.epoch(&walked, number, &Context::new()).is_err(), "{text}");
                continue;
            };
            let facts = |epoch: &corpusdb::epoch::Epoch| {
                (epoch.rows(), epoch.batches(), epoch.first_run_row())
            };
            assert_eq!(facts(&by), facts(&anew), "epoch {number} of {text}");
            let (found, expected) = (rows(&by), rows(&anew));
            assert!(found.iter().map(content).eq(expected.iter().map(content)), "{text}");
            assert!(found.iter().zip(&expected).all(|(a, b)| a.ids() == b.ids()), "{text}");
            let from = random.below(by.batches() as usize) as u64;
            let step = |epoch: &corpusdb::epoch::Epoch| {
                let mut stream =
                    epoch.stream(&StreamOptions { prefetch: 1, ..part(from, 0, 1) }).unwrap();
                let first = stream.next().unwrap().unwrap();
                (first.number, first.rows.iter().map(content).collect::<Vec<_>>(), stream.state())
            };
            assert_eq!(step(&by), step(&anew), "batch {from} of {text}");
            let after = by.rows() + 1;
            let row = |epoch: &corpusdb::epoch::Epoch| {
                epoch.run_row_after(after, &Context::new()).map_err(|error| error.to_string())
            };
            assert_eq!(row(&by), row(&anew));
        }
    }
    assert_eq!(met, 14, "recipes of {tried} that could be met");
    // Marks are compared with a walk there.
    let corpus = writer.corpus();
    assert_eq!(corpus.check(CheckDepth::Deep, &Context::new()).unwrap(), []);
    let last = corpus.epochs().unwrap().last().unwrap().number;
    drop(corpus);
    let shown = writer.mark_epochs(last, 1, &Context::new().with_interrupt(&interrupt)).unwrap();
    assert_eq!(shown, 0, "they are there");
    writer.drop_plan(last).unwrap();
    assert!(writer.mark_epochs(last, 1, &Context::new().with_interrupt(&interrupt)).is_err());
});

// What was planned without marks gets them later, and an extension of it goes on at the same row.
corpusdb_test!(plans_without_marks_work_and_get_them_late, CheckedCorpus::of(6, &THREE), |place| {
    let mut writer = place.writer();
    let interrupt = Interrupt::default();
    let text = "seed = 5\n[mix]\ntokens = 900\n[pack]\nlength = 24\nkind = \"concat\"\n[batch]\nrows = 5\ntail = \"carry\"\n[tokenizer]\nspecials = { pad = \"<|pad|>\" }\n";
    let (record, _) =
        writer.plan_epochs(&recipe(text), 0, &Context::new().with_interrupt(&interrupt)).unwrap();
    let numbers = |writer: &corpusdb::CorpusWriter| {
        let corpus = writer.corpus();
        let planned = corpus.stored_plan(record.number).unwrap();
        let epochs: Vec<Vec<_>> = (0..3)
            .map(|number| rows(&open(&corpus, &planned, number)).iter().map(content).collect())
            .collect();
        (epochs, open(&corpus, &planned, 1).run_row_after(50, &Context::new()).unwrap())
    };
    let before = numbers(&writer);
    let extend = |writer: &mut corpusdb::CorpusWriter| {
        writer
            .extend(record.number, before.1, None, &Context::new().with_interrupt(&interrupt))
            .unwrap()
    };
    let commits = |writer: &corpusdb::CorpusWriter| writer.view().commit().0;
    let (child, _) = extend(&mut writer);
    writer.drop_plan(child.number).unwrap();
    let at = commits(&writer);
    assert_eq!(
        writer.mark_epochs(record.number, 2, &Context::new().with_interrupt(&interrupt)).unwrap(),
        2
    );
    assert_eq!(commits(&writer), at + 1);
    assert_eq!(numbers(&writer), before, "the third epoch begins at the end of the second");
    assert_eq!(
        writer.mark_epochs(record.number, 3, &Context::new().with_interrupt(&interrupt)).unwrap(),
        1
    );
    assert_eq!(
        writer.mark_epochs(record.number, 3, &Context::new().with_interrupt(&interrupt)).unwrap(),
        0
    );
    assert_eq!(commits(&writer), at + 2, "what is there is not written again");
    assert_eq!(numbers(&writer), before);
    let (again, _) = extend(&mut writer);
    assert_eq!(again.hash, child.hash);
    let error = writer
        .mark_epochs(record.number, 1000, &Context::new().with_interrupt(&interrupt))
        .unwrap_err();
    assert!(error.to_string().contains("epoch 999"), "{error}");
    assert_eq!(writer.corpus().check(CheckDepth::Deep, &Context::new()).unwrap(), []);
});

/// Every file of a directory, with its length and when it was written to last.
fn files_with_times(directory: &Path) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let entries = walkdir::WalkDir::new(directory).into_iter().map(|entry| entry.unwrap());
    let about = |entry: walkdir::DirEntry| {
        let about = entry.metadata().unwrap();
        (entry.into_path(), (about.len(), about.modified().unwrap()))
    };
    entries.map(about).collect()
}

// A corpus may lie on a file system that takes no writes: readers make no lock, no log and no directory.
corpusdb_test!(readers_of_epochs_write_nothing_anywhere, CheckedCorpus::of(7, &THREE), |place| {
    let mut writer = place.writer();
    let text = "[mix]\ntokens = 900\n[pack]\nlength = 24\n[batch]\nrows = 5\n";
    let (record, _) = writer.plan(&recipe(text), &Context::new()).unwrap();
    drop(writer);
    let before = files_with_times(&place.path);
    let corpus = Corpus::options().memory(32 << 20).open(&place.path).unwrap();
    let planned = corpus.stored_plan(record.number).unwrap();
    for number in [0, 1] {
        assert!(!rows(&open(&corpus, &planned, number)).is_empty());
    }
    corpus.explain(&planned, &Context::new()).unwrap();
    assert!(corpus.count("kept").unwrap() > 0);
    assert_eq!(corpus.check(CheckDepth::Deep, &Context::new()).unwrap(), []);
    assert_eq!(files_with_times(&place.path), before);
    drop(corpus);
    assert_eq!(files_with_times(&place.path), before);
});

// ----
// Runs of recipes drawn by chance, walked to their ends: whatever rows are counted in, no source runs out
// before the epochs that a plan says are feasible are over, and none of its rows is left.

/// A recipe of one source or several, of several passes, counted in any unit.
fn recipe_of_any_unit(random: &mut Random) -> String {
    let kind = *random.pick(&["concat", "concat", "best-fit", "none", "greedy"]);
    let orders: &[&str] = match kind {
        "best-fit" => &["shuffle", "curriculum"],
        _ => &["shuffle", "sequential", "curriculum"],
    };
    let order = *random.pick(orders);
    let unit = *random.pick(&["documents", "documents", "rows", "loss-tokens", "tokens"]);
    let mut text = format!("seed = {}\n", random.below(1000));
    let specials =
        *random.pick(&["", "eos = \"<|eos|>\", ", "bos = \"<|bos|>\", eos = \"<|eos|>\", "]);
    writeln!(text, "[tokenizer]\nspecials = {{ {specials}pad = \"<|pad|>\" }}").unwrap();
    if random.chance(20) {
        writeln!(text, "[select]\nrepeat = \"{}\"", random.pick(&["2", "1.5", "0.6"])).unwrap();
    }
    writeln!(text, "[order]\nkind = \"{order}\"").unwrap();
    if order == "curriculum" {
        let strata = random.between(1, 6);
        writeln!(text, "curriculum = {{ by = \"chars\", strata = {strata}, c0 = 0.5 }}").unwrap();
    }
    let length = *random.pick(&[8, 16, 24, 64, 96]);
    let multiple = if kind == "none" { 1 } else { *random.pick(&[1, 1, 4, 8]) };
    let long = *random.pick(&["split", "truncate", "drop"]);
    writeln!(
        text,
        "[pack]\nkind = \"{kind}\"\nlength = {length}\noptions = {{ long = \"{long}\", doc_multiple = {multiple} }}"
    )
    .unwrap();
    if random.chance(40) {
        let tail = random.pick(&["drop", "carry", "pad"]);
        let tail = if kind == "none" { "carry" } else { tail };
        writeln!(text, "[batch]\nrows = {}\ntail = \"{tail}\"", random.pick(&[1, 3, 8])).unwrap();
    }
    let sources = random.between(1, 4);
    let methods = ["weights", "natural", "unimax", "temperature", "schedule"];
    let method = *random.pick(&methods[..if sources == 3 { 5 } else { 4 }]);
    let some = match unit {
        "rows" => random.between(3, 60),
        "documents" => random.between(3, 150),
        _ => random.between(100, 4000),
    };
    writeln!(text, "[mix]\nunit = \"{unit}\"").unwrap();
    match method {
        "schedule" => {
            let (ramp, at) = (random.pick(&["step", "linear"]), random.between(1, 3 * some));
            let (first, last) =
                (random.pick(&["", ", books = 0.3"]), random.pick(&["", ", web = 0.2"]));
            writeln!(
                text,
                "tokens = {some}\nschedule = [ {{ at_tokens = 0, weights = {{ web = 0.7{first} }}, ramp = \"{ramp}\" }}, \
                 {{ at_tokens = {at}, weights = {{ books = 0.2, code = 0.5{last} }} }} ]"
            )
            .unwrap();
        }
        _ if random.chance(60) => writeln!(text, "tokens = {some}\nmethod = \"{method}\"").unwrap(),
        _ => writeln!(text, "method = \"{method}\"").unwrap(),
    }
    if method == "temperature" {
        text.push_str("temperature = 2.0\n");
    }
    for (name, ..) in THREE.into_iter().take(sources) {
        let repeats = random.between(1, 7);
        writeln!(text, "[[source]]\nname = \"{name}\"\nmax_repeats = {repeats}").unwrap();
        if method == "schedule" {
            continue;
        }
        if method == "weights" && random.chance(30) && !text.contains("\ntokens = ") {
            writeln!(text, "tokens = {}", random.between(5, 60)).unwrap();
        } else if method == "weights" {
            writeln!(text, "weight = {:?}", random.pick(&[0.1, 0.25, 1.0, 3.0])).unwrap();
        }
    }
    text
}

/// Walks every epoch of a number of recipes.
fn walk(seed: u64, recipes: usize) {
    let place = CheckedCorpus::of(seed, &THREE);
    let corpus = place.reader();
    let mut random = Random::new(seed * 31);
    let mut walked = 0;
    for _ in 0..recipes {
        let text = recipe_of_any_unit(&mut random);
        let Some(planned) = feasible(&corpus, &text) else { continue };
        let told = match corpus.explain(&planned, &Context::new()) {
            // A batch may be larger than an epoch, which is said.
            Err(error) if has_no_rows(&error) => continue,
            told => told.unwrap_or_else(|error| panic!("{error}\n{text}")),
        };
        for epoch in 0..told.epochs.min(12) {
            match corpus.epoch(&planned, epoch, &Context::new()) {
                Ok(_) => {}
                Err(error) if has_no_rows(&error) => {}
                Err(error) => panic!("epoch {epoch} of {}: {error}\n{text}", told.epochs),
            }
        }
        walked += 1;
    }
    assert!(walked > recipes / 2, "{walked} of {recipes} recipes could be met");
}

#[test]
fn recipes_drawn_by_chance_are_walked_to_their_ends() {
    walk(5, 12);
}

/// Rows were counted in the first pass and taken to be as many in every other; where rows are cut from
/// documents in the order of a pass, later ones may have fewer, and the last epoch asked for rows that no
/// source had: "a source ran out within its budget".
#[test]
fn a_source_whose_later_passes_have_fewer_rows_does_not_run_out() {
    let place = CheckedCorpus::of(6, &THREE[..2]);
    let corpus = place.reader();
    let mut differ = 0;
    for seed in 0..seeds(8) {
        for (kind, multiple) in [("greedy", 1), ("concat", 8)] {
            let text = format!(
                "seed = {seed}\n[tokenizer]\nspecials = {{ pad = \"<|pad|>\" }}\n[mix]\nunit = \"rows\"\nmethod = \"unimax\"\n\
                 [pack]\nkind = \"{kind}\"\nlength = 24\noptions = {{ doc_multiple = {multiple} }}\n\
                 [[source]]\nname = \"web\"\nmax_repeats = 3\n[[source]]\nname = \"books\"\nmax_repeats = 2\n"
            );
            let planned = plan(&corpus, &text).unwrap();
            let budget = planned.plan.budget;
            // As many rows as all passes have, or less than a pass fewer: a mean is rounded down.
            let epoch = corpus.epoch(&planned, 0, &Context::new()).unwrap();
            assert_eq!(epoch.rows(), budget);
            let sources = &planned.plan.sources;
            differ += sources.iter().filter(|of| of.later_amount != of.amount).count();
        }
    }
    assert!(differ > 0, "every pass has as many rows");
}

// Rows as trainers count them, over epochs and rows of pads, against what each epoch gives.
corpusdb_test!(rows_that_were_given_stand_in_the_run, CheckedCorpus::of(8, &THREE[..2]), |place| {
    let corpus = place.reader();
    for tail in ["pad", "drop", "carry"] {
        let text = format!(
            "seed = 2\n[tokenizer]\nspecials = {{ pad = \"<|pad|>\" }}\n[pack]\nlength = 64\n[batch]\nrows = 7\ntail = \"{tail}\"\n\
             [[source]]\nname = \"web\"\nmax_repeats = 3\n[[source]]\nname = \"books\"\nmax_repeats = 3\n"
        );
        let planned = plan(&corpus, &text).unwrap();
        let run_row = |epoch, rows| {
            let context = Context::new();
            Ok::<_, Error>(corpus.epoch(&planned, epoch, &context)?.run_row_after(rows, &context)?)
        };
        let opened: Vec<_> = (0..3).map(|epoch| open(&corpus, &planned, epoch)).collect();
        for from in 0..3_usize {
            let mut given = 0;
            for (at, epoch) in opened.iter().enumerate().skip(from) {
                let real = rows(epoch).iter().filter(|row| row.source().is_some()).count() as u64;
                for row in [1, real / 2, real - 1, real, epoch.rows()] {
                    let found = run_row(from as u64, given + row).unwrap();
                    // Rows of pads end an epoch and are none of the run.
                    let expected = epoch.first_run_row() + row.min(real);
                    assert_eq!(found, expected, "{tail}: {row} rows of epoch {at}, from {from}");
                }
                given += epoch.rows();
            }
            let error = run_row(from as u64, given + 1).unwrap_err().to_string();
            assert!(
                error.contains("consumed rows are 1 more than the run of the plan has"),
                "{error}"
            );
        }
        assert_eq!(run_row(0, 0).unwrap(), 0);
        assert!(run_row(3, 0).is_err(), "an epoch that is none");
    }
});

// ----
// Ranks, resuming and determinism: the same batches for every world, from anywhere, every time.

const RECIPE: &str = r#"
seed = 9
[tokenizer]
specials = { bos = "<|bos|>", eos = "<|eos|>", pad = "<|pad|>" }
[select]
repeat = "1.5"
[mix]
tokens = 12_000
[pack]
length = 96
[batch]
rows = 12
tail = "carry"
balance = 100
[output]
shard_bytes = 4_096
[[source]]
name = "web"
weight = 0.5
max_repeats = 40
[[source]]
name = "books"
weight = 0.4
max_repeats = 40
[[source]]
name = "code"
weight = 0.1
max_repeats = 40
"#;

#[test]
fn bytes_depend_on_neither_threads_nor_compaction_nor_reopening() {
    let place = CheckedCorpus::of(3, &THREE);
    place.writer().create_snapshot("then").unwrap();
    for pack in ["best-fit", "greedy", "concat", "none"] {
        let text = RECIPE.replace("length = 96", &format!("length = 96\nkind = \"{pack}\""));
        let text = format!("snapshot = \"then\"\n{text}");
        let corpus = place.reader();
        let planned = plan(&corpus, &text).unwrap();
        let one = built(&place, &corpus, &planned, 1, &format!("{pack}-one"), 1);
        let two = built(&place, &corpus, &planned, 1, &format!("{pack}-two"), 2);
        assert_eq!(files(&one), files(&two));
        assert!(files(&one).len() > 1, "shards and a manifest");
        drop(corpus);
        place.writer().compact(&Context::new()).unwrap();
        let corpus = place.reader();
        let again = plan(&corpus, &text).unwrap();
        assert_eq!(again.plan.hash(), planned.plan.hash());
        let three = built(&place, &corpus, &again, 1, &format!("{pack}-three"), 2);
        assert_eq!(files(&one), files(&three));
    }
}

// The bound by which ranks are balanced: the cost of one row.
corpusdb_test!(ranks_are_balanced_to_within_a_row, CheckedCorpus::of(4, &THREE), |place| {
    let corpus = place.reader();
    let all = stored(&corpus);
    for (pack, linear) in [("best-fit", 0), ("best-fit", 100), ("none", 7), ("greedy", 24_576)] {
        let text = RECIPE
            .replace("length = 96", &format!("length = 96\nkind = \"{pack}\""))
            .replace("rows = 12", "rows = 24")
            .replace("balance = 100", &format!("balance = {linear}"));
        let epoch = open(&corpus, &plan(&corpus, &text).unwrap(), 0);
        let cost = |row: &EpochRow| {
            let lengths = row.segments().iter().map(|segment| u128::from(segment.length));
            lengths.clone().map(|length| length * length).sum::<u128>()
                + linear as u128 * lengths.sum::<u128>()
        };
        assert!(epoch.batches() > 3 && !all.is_empty());
        for batch in 0..epoch.batches() {
            for world in [1, 2, 3, 4, 6, 8, 12, 24] {
                let ranks = (0..world).map(|rank| {
                    epoch
                        .batch(&StreamOptions { uneven: false, ..part(batch, rank, world) })
                        .unwrap()
                        .rows
                });
                let ranks: Vec<Vec<EpochRow>> = ranks.collect();
                assert!(ranks.iter().all(|rows| rows.len() as u64 == 24 / world));
                let sums: Vec<u128> =
                    ranks.iter().map(|rows| rows.iter().map(cost).sum()).collect();
                let largest = ranks.iter().flatten().map(cost).max().unwrap();
                let spread = sums.iter().max().unwrap() - sums.iter().min().unwrap();
                assert!(
                    spread <= largest,
                    "{pack} batch {batch}, {world} ranks: {sums:?}, {largest}"
                );
            }
        }
    }
});
