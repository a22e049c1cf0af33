//! The steps of grouping by length that `epoch explain` shows, what other multipliers and padding would cost.

use crate::support::checker::corpus::{open, plan};
use crate::support::epochs::WordCorpus;
use crate::support::{MEMORY, Random, corpusdb_test, seeds};
use corpusdb::epoch::{EpochBatch, GroupingSteps, Plan, StepRows, StreamOptions};
use corpusdb::{Context, Corpus};
use serde_json::{Value, json};
use std::cmp::Reverse;

/// The lengths of the article "LengthGroupedSampler", which groups them in threes with seed 42.
const TWELVE: [usize; 12] = [3, 2, 5, 1, 4, 6, 7, 8, 3, 4, 1, 5];

const THREES: &str = "seed = 42\n[tokenizer.specials]\npad = \"<pad>\"\n[pack]\nkind = \"none\"\nlength = 16\n[output]\nformat = \"jsonl\"\n[batch]\nrows = 3\n[order]\nkind = \"length-grouped\"\n";

/// Lengths drawn by chance.
fn lengths(seed: u64, count: usize) -> Vec<usize> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.between(1, 60)).collect()
}

fn read(place: &WordCorpus) -> Corpus {
    Corpus::options().memory(MEMORY).open(place.scratch.path("corpus")).unwrap()
}

fn steps(corpus: &Corpus, planned: &Plan, mega_batches: u64) -> GroupingSteps {
    corpus.grouping_steps(planned, mega_batches, &Context::new()).unwrap()
}

fn streamed(corpus: &Corpus, planned: &Plan, epoch: u64) -> Vec<EpochBatch> {
    let stream = open(corpus, planned, epoch).stream(&StreamOptions::default()).unwrap();
    stream.map(Result::unwrap).collect()
}

corpusdb_test!(an_article_on_grouping_is_printed, WordCorpus::of(&TWELVE), |t| {
    let exact = "length_grouped = { exact = \"torch\", mega_batch_mult = 2 }\n";
    t.recipe("r.toml", &format!("{THREES}{exact}"));
    let told = t.scratch.run("epoch explain corpus r.toml --steps 2 --json").json();
    let grouping = &told["grouping"];
    let list =
        |documents: &[u64], tokens: &[u64]| json!({"documents": documents, "tokens": tokens});
    let sorted = [
        list(&[7, 6, 2, 8, 0, 1], &[8, 7, 5, 3, 3, 2]),
        list(&[5, 11, 4, 9, 10, 3], &[6, 5, 4, 4, 1, 1]),
    ];
    let permuted = [
        list(&[6, 8, 1, 7, 0, 2], &[7, 3, 2, 8, 3, 5]),
        list(&[10, 11, 4, 3, 5, 9], &[1, 5, 4, 1, 6, 4]),
    ];
    let mega = |at: usize| json!({"rows": 6, "permuted": permuted[at], "sorted": sorted[at], "longest_first": sorted[at]});
    assert_eq!(grouping["mega_batches"], json!([mega(0), mega(1)]));
    assert_eq!(
        (&grouping["generator_seed"], &grouping["mega_batch_rows"]),
        (&json!(42), &json!(6))
    );
    assert_eq!(grouping["longest"], json!({"document": 7, "tokens": 8, "mega_batch": 0}));
    let batch = |number: u64, documents: &[u64], tokens: &[u64], places: u64, pads: u64| {
        let rows = list(documents, tokens);
        json!({"number": number, "rows": rows, "places": places, "pads": pads})
    };
    let batches = json!([
        batch(0, &[7, 6, 2], &[8, 7, 5], 24, 4),
        batch(1, &[8, 0, 1], &[3, 3, 2], 9, 1),
        batch(2, &[5, 11, 4], &[6, 5, 4], 18, 3),
        batch(3, &[9, 10, 3], &[4, 1, 1], 12, 6),
    ]);
    assert_eq!(grouping["batches"], batches);
    let text = t.scratch.run("epoch explain corpus r.toml --steps 2").stdout;
    let expected = "\
grouped by length as transformers does, generator seed 42
1 permuted (document:tokens)
  6:7 8:3 1:2 7:8 0:3 2:5 10:1 11:5 4:4 3:1 5:6 9:4
2 cut into mega-batches of 6 rows
  mega-batch 0  6:7 8:3 1:2 7:8 0:3 2:5
  mega-batch 1  10:1 11:5 4:4 3:1 5:6 9:4
3 sorted in each, longest first
  mega-batch 0  7:8 6:7 2:5 8:3 0:3 1:2
  mega-batch 1  5:6 11:5 4:4 9:4 10:1 3:1
4 the longest of all to the front: 7:8, it is there already
5 batches, padded to the longest row of each
  batch 0: 24 places, 4 pads  7:8 6:7 2:5
  batch 1: 9 places, 1 pad  8:3 0:3 1:2
  batch 2: 18 places, 3 pads  5:6 11:5 4:4
  batch 3: 12 places, 6 pads  9:4 10:1 3:1
";
    assert!(text.contains(expected), "{text}");
    // The page has them, and a row for each multiplier; without the options it has neither.
    let swept =
        t.scratch.run("epoch explain corpus r.toml --steps 2 --sweep --html epoch.html --json");
    let page = std::fs::read_to_string(t.scratch.path("epoch.html")).unwrap();
    let shown = "The first 2 mega-batches of 6 rows, grouped by length step by step.";
    assert!(
        page.contains(shown) && page.contains("batch 1: 9 places, 1 pad  8:3 0:3 1:2"),
        "{page}"
    );
    for of in swept.json()["sweep"]["multipliers"].as_array().unwrap() {
        let name = of["mega_batch_mult"].as_u64().map_or("all".to_owned(), |one| one.to_string());
        let mark = if of["is_of_recipe"] == true { " *" } else { "" };
        let row = format!(
            "<tr><th scope=\"row\">{name}{mark}</th><td>{:.2} %</td><td>{}</td>",
            of["padding_percent"].as_f64().unwrap(),
            of["largest_places"]
        );
        assert!(page.contains(&row), "{row}\n{page}");
    }
    t.scratch.run("epoch explain corpus r.toml --html plain.html");
    let page = std::fs::read_to_string(t.scratch.path("plain.html")).unwrap();
    assert!(!page.contains("mega-batch"), "{page}");

    // As its sampler runs, without a multiplier: mega-batches are batches, and the longest comes from the second.
    t.recipe("r.toml", &format!("{THREES}length_grouped = {{ exact = \"torch\" }}\n"));
    let told = t.scratch.run("epoch explain corpus r.toml --steps 64 --json").json();
    let batches = told["grouping"]["batches"].as_array().unwrap();
    let tokens: Vec<&Value> = batches.iter().map(|batch| &batch["rows"]["tokens"]).collect();
    assert_eq!(json!(tokens), json!([[8, 3, 2], [7, 5, 3], [5, 4, 1], [6, 4, 1]]));
    assert_eq!(told["grouping"]["longest"]["mega_batch"], 1);
    let text = t.scratch.run("epoch explain corpus r.toml --steps 2").stdout;
    let moved = "4 the longest of all to the front: 7:8, from mega-batch 1\n  mega-batch 0  7:8 8:3 1:2\n  mega-batch 1  6:7 2:5 0:3\n";
    assert!(text.contains(moved), "{text}");
});

/// A recipe of grouped rows drawn by chance.
fn drawn(random: &mut Random) -> String {
    let exact = random.chance(40);
    let mut grouped = Vec::new();
    if exact {
        grouped.push("exact = \"torch\"".to_owned());
    } else if random.chance(30) {
        grouped.push("buckets = \"power-of-two\"".to_owned());
    }
    match random.below(3) {
        0 if !exact => grouped.push("window = \"epoch\"".to_owned()),
        1 => {}
        _ => grouped.push(format!("mega_batch_mult = {}", random.between(1, 6))),
    }
    let batch = if exact || random.chance(60) {
        let tail = *random.pick(&["drop", "pad"]);
        format!("rows = {}\ntail = \"{tail}\"\n", random.between(1, 8))
    } else {
        let count = *random.pick(&["real", "padded"]);
        format!("max_tokens = {}\ncount = \"{count}\"\n", random.between(10, 90))
    };
    let others = if exact || random.chance(50) { "" } else { "[[source]]\nname = \"code\"\n" };
    let sources = format!("[[source]]\nname = \"web\"\n{others}");
    format!(
        "seed = {}\n[tokenizer.specials]\npad = \"<pad>\"\neos = \"<eos>\"\n[pack]\nkind = \"none\"\nlength = {}\n[output]\nformat = \"jsonl\"\n[order]\nkind = \"length-grouped\"\nlength_grouped = {{ {} }}\n[batch]\n{batch}{sources}",
        random.below(1000),
        random.between(4, 90),
        grouped.join(", ")
    )
}

/// The rows of steps as (document, first token, tokens).
fn rows(of: &StepRows) -> Vec<(u64, u32, u32)> {
    let offset = |at: usize| of.offsets.get(at).copied().unwrap_or(0);
    let rows = of.documents.iter().zip(&of.tokens).enumerate();
    rows.map(|(at, (document, tokens))| (*document, offset(at), *tokens)).collect()
}

/// The steps of a naive sampler, from the permutation on.
fn check_steps(steps: &GroupingSteps, is_classed: bool, text: &str) {
    for mega in &steps.mega_batches {
        let mut expected = rows(&mega.permuted);
        assert_eq!(expected.len() as u64, mega.rows, "{text}");
        expected
            .sort_by_key(|row| Reverse(if is_classed { row.2.next_power_of_two() } else { row.2 }));
        assert_eq!(rows(&mega.sorted), expected, "{text}");
    }
    if let Some(longest) = &steps.longest {
        let mut all: Vec<_> =
            steps.mega_batches.iter().flat_map(|mega| rows(&mega.sorted)).collect();
        let moved = steps.mega_batches.iter();
        let moved: Vec<_> =
            moved.flat_map(|mega| rows(mega.longest_first.as_ref().unwrap())).collect();
        assert_eq!((moved[0].0, moved[0].2), (longest.document, longest.tokens));
        let place = longest.mega_batch as usize * steps.mega_batch_rows as usize;
        if place < all.len() {
            all.swap(0, place);
            assert_eq!(moved, all, "{text}");
        } else {
            assert_eq!(moved[1..], all[1..], "{text}");
        }
    }
}

// The last step is what a stream gives, batch by batch.
corpusdb_test!(steps_end_in_the_batches_of_a_stream, WordCorpus::of(&lengths(61, 70)), |mut t| {
    t.add("code", &lengths(66, 70));
    let (corpus, mut random) = (read(&t), Random::new(67));
    let (mut met, mut moved) = (0, 0);
    while met < seeds(30) {
        let text = drawn(&mut random);
        let Ok(planned) = plan(&corpus, &text) else { panic!("{text}") };
        let mega_batches = random.between(1, 5) as u64;
        met += 1;
        let steps = steps(&corpus, &planned, mega_batches);
        let is_classed = text.contains("power-of-two");
        check_steps(&steps, is_classed, &text);
        moved += u64::from(steps.longest.as_ref().is_some_and(|longest| longest.mega_batch > 0));
        let shown: u64 = steps.mega_batches.iter().map(|mega| mega.rows).sum();
        let all = streamed(&corpus, &planned, 0);
        let (mut given, mut own) = (0, steps.batches.iter());
        for batch in all {
            if given >= shown {
                break;
            }
            given += batch.rows.iter().filter(|row| !row.segments().is_empty()).count() as u64;
            let step = own.next().unwrap_or_else(|| panic!("batch {}\n{text}", batch.number));
            assert_eq!(step.number, batch.number);
            let real = batch.rows.iter().filter(|row| !row.segments().is_empty());
            let real = real.map(|row| {
                let [segment] = row.segments() else { panic!("{text}") };
                (segment.document.0, segment.offset, segment.length)
            });
            let real: Vec<_> = real.collect();
            assert_eq!(rows(&step.rows), real, "{text}");
            let longest = u64::from(real.iter().map(|row| row.2).max().unwrap());
            let tokens: u64 = real.iter().map(|row| u64::from(row.2)).sum();
            assert_eq!(step.places, longest * batch.rows.len() as u64, "{text}");
            assert_eq!(step.pads, step.places - tokens);
        }
        assert_eq!(own.next(), None, "{text}");
        assert!(steps.to_string().lines().all(|line| line.len() <= 80), "{steps}");
    }
    assert!(moved > 0, "no longest row was in another mega-batch");
});

corpusdb_test!(steps_need_a_recipe_that_groups, WordCorpus::of(&[4; 9]), |t| {
    t.recipe("plain.toml", "[pack]\nlength = 8\n");
    for flag in ["--steps 1", "--sweep"] {
        let option = flag.split(' ').next().unwrap();
        let refused = t.scratch.ran(&format!("epoch explain corpus plain.toml {flag}"));
        refused.fails(&[option, "order.kind = \"length-grouped\""]);
    }
    t.recipe("r.toml", THREES);
    for count in [0, 65] {
        let refused = t.scratch.ran(&format!("epoch explain corpus r.toml --steps {count}"));
        refused.fails(&["--steps", "from 1 to 64"]);
    }
    let told = t.scratch.run("epoch explain corpus r.toml --json").json();
    assert!(told.get("grouping").is_none() && told.get("sweep").is_none());
});

// ---- other multipliers ----

corpusdb_test!(a_sweep_agrees_with_the_recipe, WordCorpus::of(&lengths(62, 240)), |t| {
    let corpus = read(&t);
    let head = "[tokenizer.specials]\npad = \"<pad>\"\n[pack]\nkind = \"none\"\nlength = 64\n[output]\nformat = \"jsonl\"\n";
    let batches = ["rows = 7\n", "rows = 7\ntail = \"pad\"\n", "max_tokens = 200\n"];
    let orders = ["mega_batch_mult = 3", "window = \"epoch\"", "", "buckets = \"power-of-two\""];
    let exact = ["exact = \"torch\"", "exact = \"torch\", mega_batch_mult = 4"];
    for (batch, order) in batches.iter().flat_map(|batch| {
        let exact = exact.iter().filter(|_| batch.starts_with("rows"));
        orders.iter().chain(exact).map(move |order| (batch, order))
    }) {
        let text = format!(
            "{head}[order]\nkind = \"length-grouped\"\nlength_grouped = {{ {order} }}\n[batch]\n{batch}"
        );
        let planned = plan(&corpus, &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let told = corpus.explain(&planned, &Context::new()).unwrap();
        let sweep = corpus.sweep_multipliers(&planned, &Context::new()).unwrap();
        assert_eq!((sweep.rows, sweep.epoch_rows), (240, 240));
        let own: Vec<_> = sweep.multipliers.iter().filter(|of| of.is_of_recipe).collect();
        let [own] = own.as_slice() else { panic!("{text}\n{sweep}") };
        assert_eq!(own.padding_percent, told.batch_padding.unwrap().percent, "{text}\n{sweep}");
        let batches = streamed(&corpus, &planned, 0);
        let sizes = batches.iter().map(|batch| {
            let tokens = batch.rows.iter().flat_map(|row| row.segments()).map(|part| part.length);
            let longest = tokens.clone().max().unwrap_or(0) as usize;
            (tokens.sum::<u32>(), longest * batch.rows.len())
        });
        let (tokens, places): (Vec<u32>, Vec<usize>) = sizes.unzip();
        assert_eq!(own.largest_tokens, u64::from(*tokens.iter().max().unwrap()), "{text}");
        assert_eq!(own.largest_places, *places.iter().max().unwrap() as u64, "{text}");
        let (first, last) = (&sweep.multipliers[0], sweep.multipliers.last().unwrap());
        assert_eq!((first.mega_batch_mult, last.mega_batch_mult), (Some(1), None));
        assert!(last.padding_percent < first.padding_percent, "{text}\n{sweep}");
        assert!(last.randomness_percent < first.randomness_percent, "{text}\n{sweep}");
        if !text.contains("power") {
            assert!(last.rank_correlation > 0.95, "{text}\n{sweep}");
        }
        assert!(first.rank_correlation.abs() < 0.2, "{text}\n{sweep}");
        if batch.starts_with("rows") && !text.contains("power") {
            assert_eq!(first.randomness_percent, 100.0, "{text}\n{sweep}");
        }
        assert!(sweep.to_string().lines().all(|line| line.chars().count() <= 80), "{sweep}");
    }
});

// Two epochs of the sampler that is reproduced are those that are streamed.
corpusdb_test!(a_sweep_compares_two_epochs, WordCorpus::of(&lengths(63, 90)), |t| {
    let corpus = read(&t);
    let text = format!(
        "{THREES}length_grouped = {{ exact = \"torch\", mega_batch_mult = 10 }}\n[[source]]\nname = \"web\"\nmax_repeats = 2\n"
    )
    .replace("length = 16", "length = 64");
    let planned = plan(&corpus, &text).unwrap();
    let places = |epoch: u64| -> Vec<f64> {
        let rows = streamed(&corpus, &planned, epoch).into_iter().flat_map(|batch| batch.rows);
        let mut places = vec![0.0; 90];
        for (place, row) in rows.enumerate() {
            places[row.segments()[0].document.0 as usize] = place as f64;
        }
        places
    };
    let (one, other) = (places(0), places(1));
    let product = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - 44.5) * (b - 44.5)).sum()
    };
    let expected = product(&one, &other) / product(&one, &one);
    let sweep = corpus.sweep_multipliers(&planned, &Context::new()).unwrap();
    let own = sweep.multipliers.iter().find(|of| of.is_of_recipe).unwrap();
    assert_eq!(own.mega_batch_mult, Some(10));
    assert!((own.rank_correlation - expected).abs() < 1e-9, "{expected}\n{sweep}");
});

// ---- padding instead of packing ----

// "The sentences have 14 tokens, the longest 6": 18 places, 4 of them pads, 22 % (an article on packed sequences).
corpusdb_test!(three_sentences_say_what_padding_wastes, WordCorpus::of(&[4, 4, 6]), |t| {
    for kind in ["best-fit", "greedy", "concat", "none"] {
        t.recipe("r.toml", &format!("[pack]\nkind = \"{kind}\"\nlength = 14\n"));
        let told = t.scratch.run("epoch explain corpus r.toml --json").json();
        let padding = &told["document_padding"];
        let counts = ["rows", "tokens", "batch_rows"].map(|name| padding[name].as_u64().unwrap());
        assert_eq!(counts, [3, 14, 3], "{kind}");
        let cost = |of: &str| {
            let share = |name: &str| (padding[of][name].as_f64().unwrap() * 100.0).round() / 100.0;
            (
                padding[of]["places"].clone(),
                padding[of]["pads"].clone(),
                share("percent"),
                share("gain"),
            )
        };
        // What is padded to the row is three rows, of which packing makes one.
        assert_eq!(cost("to_longest"), (json!(18), json!(4), 22.22, 1.29), "{kind}");
        assert_eq!(cost("to_row_length"), (json!(42), json!(28), 66.67, 3.0), "{kind}");
        let text = t.scratch.run("epoch explain corpus r.toml").stdout;
        let line =
            "one document a row: 22.22 % pads to the longest of 3, 66.67 % to the row length";
        assert!(text.contains(line), "{text}");
        let gain = "row length; packing gives 1.29 and 3.00 times the tokens a step\n";
        assert_eq!(text.contains(gain), kind != "none", "{text}");
    }
    // With EOS in the rows, as packing needs it, every document has a token more.
    t.recipe(
        "r.toml",
        "[tokenizer.specials]\neos = \"<eos>\"\n[pack]\nlength = 17\n[batch]\nrows = 1\n",
    );
    let told = t.scratch.run("epoch explain corpus r.toml --json").json();
    let padding = &told["document_padding"];
    assert_eq!((&padding["tokens"], &padding["batch_rows"]), (&json!(17), &json!(1)));
    assert_eq!(padding["to_longest"]["pads"], 0);
});

// What is expected of batches in random order is what they have.
corpusdb_test!(expected_padding_is_measured, WordCorpus::of(&lengths(64, 500)), |mut t| {
    let longer: Vec<usize> = lengths(65, 300).iter().map(|length| length * 3 / 2).collect();
    t.add("code", &longer);
    let corpus = read(&t);
    for (batch, tail) in [
        (4, ""),
        (16, "[[source]]\nname = \"web\"\nweight = 2\n[[source]]\nname = \"code\"\nweight = 1\n"),
    ] {
        let text = format!("[pack]\nkind = \"none\"\nlength = 64\n[batch]\nrows = {batch}\n{tail}");
        let told = corpus.explain(&plan(&corpus, &text).unwrap(), &Context::new()).unwrap();
        let expected = told.document_padding.to_longest.percent;
        let measured = told.batch_padding.unwrap().percent;
        assert!((expected - measured).abs() < 2.0, "{expected}, {measured}\n{text}");
        let (rows, all) = (told.document_padding.rows, told.rows);
        assert!(rows.abs_diff(all) <= 8, "{rows}, {all}\n{text}");
        let packed = text.replace("kind = \"none\"", "kind = \"best-fit\"");
        let told = corpus.explain(&plan(&corpus, &packed).unwrap(), &Context::new()).unwrap();
        let padding = told.document_padding;
        let gain =
            (1.0 - told.padding_percent / 100.0) / (1.0 - padding.to_longest.percent / 100.0);
        assert!((padding.to_longest.gain - gain).abs() < 1e-9 && gain > 1.2, "{padding}");
    }
});
