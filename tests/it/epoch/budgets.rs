//! Runs of recipes drawn by chance, walked to their ends: whatever rows are counted in, no source runs out
//! before the epochs that a plan says are feasible are over, and none of its rows is left.

use crate::support::checker::corpus::{CheckedCorpus, THREE, open, plan, rows};
use crate::support::checker::recipes::{feasible, has_no_rows};
use crate::support::{Random, seeds};
use corpusdb::{Context, Error};
use std::fmt::Write;

/// A recipe of one source or several, of several passes, counted in any unit.
fn drawn(random: &mut Random) -> String {
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
fn check(seed: u64, recipes: usize) {
    let place = CheckedCorpus::of(seed, &THREE);
    let corpus = place.reader();
    let mut random = Random::new(seed * 31);
    let mut walked = 0;
    for _ in 0..recipes {
        let text = drawn(&mut random);
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
    check(5, 12);
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

/// Rows as trainers count them, over epochs and rows of pads, against what each epoch gives.
#[test]
fn rows_that_were_given_are_found_in_the_run() {
    let place = CheckedCorpus::of(8, &THREE[..2]);
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
                let all = rows(epoch);
                let real = all.iter().filter(|row| row.source().is_some()).count() as u64;
                for row in [1, real / 2, real - 1, real, epoch.rows()] {
                    let found = run_row(from as u64, given + row).unwrap();
                    // Rows of pads end an epoch and are none of the run.
                    let expected = epoch.first_run_row() + row.min(real);
                    assert_eq!(found, expected, "{tail}: {row} rows of epoch {at}, from {from}");
                }
                given += epoch.rows();
            }
            let error = run_row(from as u64, given + 1).unwrap_err().to_string();
            assert!(error.contains("ends 1 rows before"), "{error}");
        }
        assert_eq!(run_row(0, 0).unwrap(), 0);
        assert!(run_row(3, 0).is_err(), "an epoch that is none");
    }
}
