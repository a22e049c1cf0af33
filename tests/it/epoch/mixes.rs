//! Mixes: schedules, fixed budgets, and what cannot be had.

use crate::support::Random;
use crate::support::checker::corpus::{CheckedCorpus, THREE, plan, stored};
use crate::support::checker::run::Run;
use corpusdb::Context;
use corpusdb::epoch::EpochError;
use std::collections::BTreeMap;

const SPECIALS: &str = "[tokenizer]\nspecials = { eos = \"<|eos|>\", pad = \"<|pad|>\" }\n";

fn listed(repeats: u32, of: impl Fn(usize) -> String) -> String {
    let sources = THREE.iter().enumerate().map(|(at, (name, ..))| {
        format!("[[source]]\nname = \"{name}\"\nmax_repeats = {repeats}\n{}\n", of(at))
    });
    sources.collect()
}

#[test]
fn a_schedule_changes_weights_and_loses_no_document() {
    let place = CheckedCorpus::of(31, &THREE);
    let corpus = place.reader();
    let all = stored(&corpus);
    for (pack, ramp) in
        [("best-fit", "step"), ("best-fit", "linear"), ("greedy", "linear"), ("concat", "step")]
    {
        let text = format!(
            "{SPECIALS}[pack]\nkind = \"{pack}\"\nlength = 64\n[mix]\ntokens = 6000\nschedule = [\n\
             {{ at_tokens = 0, weights = {{ web = 1.0 }}, ramp = \"{ramp}\" }},\n\
             {{ at_tokens = 2500, weights = {{ web = 0.2, books = 0.8 }}, ramp = \"{ramp}\" }},\n\
             {{ at_tokens = 9000, weights = {{ code = 0.3, books = 0.3, web = 0.4 }} }} ]\n{}",
            listed(6, |_| String::new())
        );
        let planned = plan(&corpus, &text).unwrap();
        let epochs = corpus.explain(&planned, &Context::new()).unwrap().epochs;
        assert!(epochs >= 3, "the changes are within the run");
        let run = Run::read(&corpus, &planned, &all, Run::all_of(&planned, &all), epochs);
        run.check_conservation(&corpus);
        run.check_mix();
        run.check_epochs();
        if ramp == "step" {
            // Before the first change there is one source only.
            let mut given = 0;
            for row in run.epochs.iter().flatten() {
                if given >= 2500 {
                    break;
                }
                assert_eq!(row.source(), Some("web"), "after {given} tokens");
                given += run.amount(row);
            }
        }
    }
}

/// Of what a budget cannot be had, the error says of which source and how much could be; that then can.
#[test]
fn an_unreachable_budget_names_its_source_and_the_largest() {
    let place = CheckedCorpus::of(32, &THREE);
    let corpus = place.reader();
    let mut random = Random::new(32);
    for number in 0..24 {
        let unit = ["tokens", "rows", "documents"][number % 3];
        let pack = ["best-fit", "greedy", "concat", "none"][number % 4];
        let weights: Vec<f64> = (0..3).map(|_| random.between(1, 100) as f64 / 10.0).collect();
        let repeats = random.between(1, 4) as u32;
        let text = |budget: u64, repeats: &dyn Fn(usize) -> u32| {
            let sources = listed(0, |at| format!("weight = {:?}", weights[at]));
            let mut at = 0;
            let sources: Vec<String> = sources
                .lines()
                .map(|line| {
                    if line != "max_repeats = 0" {
                        return line.to_owned();
                    }
                    at += 1;
                    format!("max_repeats = {}", repeats(at - 1))
                })
                .collect();
            format!(
                "{SPECIALS}[pack]\nkind = \"{pack}\"\nlength = 64\n[mix]\nunit = \"{unit}\"\ntokens = {budget}\n{}",
                sources.join("\n")
            )
        };
        let error = plan(&corpus, &text(1_000_000, &|_| repeats)).unwrap_err();
        let told = error.to_string();
        let Some(EpochError::Infeasible { sources, feasible, .. }) = error.origin() else {
            panic!("{told}");
        };
        let feasible = *feasible;
        assert!(told.contains(&feasible.to_string()), "{told}");
        for source in sources {
            assert_eq!(told.matches(&format!("`{}`", source.name)).count(), 2, "{told}");
        }
        let planned = plan(&corpus, &text(feasible, &|_| repeats)).unwrap();
        assert!(
            plan(&corpus, &text(feasible + 1, &|_| repeats)).is_err(),
            "{feasible} is not the largest"
        );
        // All of it can be read.
        let rows = crate::support::checker::corpus::rows(&crate::support::checker::corpus::open(
            &corpus, &planned, 0,
        ));
        assert!(!rows.is_empty());
        assert!(plan(&corpus, &text(2 * feasible, &|_| repeats)).is_err());
        // The repeats asked for do.
        let more = |at: usize| {
            let short = sources.iter().find(|source| source.name == THREE[at].0);
            short.map_or(repeats, |source| u32::try_from(source.needed).unwrap())
        };
        plan(&corpus, &text(1_000_000, &more)).unwrap_or_else(|error| panic!("{told}\n{error}"));
    }
}

#[test]
fn temperature_and_unimax_share_by_their_definitions() {
    let place = CheckedCorpus::of(33, &THREE);
    let corpus = place.reader();
    let all = stored(&corpus);
    let shares = |text: &str| -> BTreeMap<String, f64> {
        let planned = plan(&corpus, text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let run = Run::read(&corpus, &planned, &all, Run::all_of(&planned, &all), 1);
        run.check_mix();
        run.check_conservation(&corpus);
        let told = corpus.explain(&planned, &Context::new()).unwrap();
        told.sources.iter().map(|of| (of.name.clone(), of.asked_share)).collect()
    };
    let head = format!("{SPECIALS}[pack]\nlength = 64\n");
    let sizes: Vec<f64> = THREE
        .iter()
        .map(|(name, ..)| {
            let of = all.iter().filter(|of| of.kept && of.source == *name);
            of.map(|of| of.ids.as_ref().unwrap().len() + 1).sum::<usize>() as f64
        })
        .collect();
    // A lone EOS that is left out changes sizes by a token or two.
    let near = |found: f64, wanted: f64| {
        assert!((found - wanted).abs() < 0.003, "{found} is not {wanted}")
    };

    let found = shares(&format!(
        "{head}[mix]\nmethod = \"temperature\"\ntemperature = 2.0\ntokens = 2000\n{}",
        listed(9, |_| String::new())
    ));
    let roots: Vec<f64> = sizes.iter().map(|size| size.sqrt()).collect();
    for (at, (name, ..)) in THREE.iter().enumerate() {
        near(found[*name], roots[at] / roots.iter().sum::<f64>());
    }

    // UniMax: `code` has all it holds within two passes, the others share what is left evenly.
    let budget = (2.0 * sizes[2] * 4.0).round();
    let found = shares(&format!(
        "{head}[mix]\nmethod = \"unimax\"\ntokens = {budget}\n{}",
        listed(2, |_| String::new())
    ));
    near(found["code"], 2.0 * sizes[2] / budget);
    near(found["web"], found["books"]);

    let found = shares(&format!(
        "{head}[mix]\ntokens = 4000\n{}",
        listed(5, |at| ["tokens = 1000", "weight = 2.0", "weight = 1.0"][at].to_owned())
    ));
    near(found["web"], 0.25);
    near(found["books"], 0.5);
    near(found["code"], 0.25);

    let found = shares(&format!("{head}{}", listed(1, |_| String::new())));
    for (at, (name, ..)) in THREE.iter().enumerate() {
        near(found[*name], sizes[at] / sizes.iter().sum::<f64>());
    }
}
