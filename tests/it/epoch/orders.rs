//! Orders and mixes: what has no memory, what is exact, what keeps its time, and what cannot be had.

use crate::support::checker::corpus::{CheckedCorpus, THREE, built, open, plan, rows, stored};
use crate::support::checker::run::Run;
use crate::support::{Page, Random, corpusdb_test};
use corpusdb::epoch::{EpochError, EpochRow, torch};
use corpusdb::{Context, Corpus};
use std::collections::BTreeMap;

// ----
// Orders: shuffled ones have no memory, exact ones are those of their model, curricula keep their time.

/// Chi-square of how classes of neighbours go together, against independence.
fn chi_square(classes: &[usize], kinds: usize) -> f64 {
    let mut table = vec![vec![0.0; kinds]; kinds];
    classes.windows(2).for_each(|two| table[two[0]][two[1]] += 1.0);
    let all = (classes.len() - 1) as f64;
    let mut sum = 0.0;
    for (at, row) in table.iter().enumerate() {
        let of_row: f64 = row.iter().sum();
        for other in 0..kinds {
            let of_column: f64 = table.iter().map(|row| row[other]).sum();
            let due = of_row * of_column / all;
            assert!(due > 5.0, "class {at} or {other} is too rare to tell");
            sum += (table[at][other] - due).powi(2) / due;
        }
    }
    sum
}

/// Quartile of each value among all.
fn quartiles(values: &[u64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let cut = |part: usize| sorted[sorted.len() * part / 4];
    values.iter().map(|value| (1..4).filter(|part| *value >= cut(*part)).count()).collect()
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (ma, mb) = (mean(a), mean(b));
    let product = |x: &[f64], mx: f64, y: &[f64], my: f64| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum()
    };
    product(a, ma, b, mb) / (product(a, ma, a, ma) * product(b, mb, b, mb)).sqrt()
}

/// Documents in the order in which they begin.
fn begun(rows: &[EpochRow]) -> Vec<u64> {
    let all = rows.iter().flat_map(EpochRow::segments);
    all.filter(|segment| segment.offset == 0).map(|segment| segment.document.0).collect()
}

#[test]
fn a_shuffled_epoch_has_no_memory_and_the_next_is_another() {
    let place = CheckedCorpus::of(61, &[("web", 1100, 2, 60)]);
    let corpus = place.reader();
    let all = stored(&corpus);
    for pack in ["best-fit", "greedy", "concat", "none"] {
        let text = |seed: u64| {
            format!(
                "seed = {seed}\n[pack]\nkind = \"{pack}\"\nlength = 256\n[[source]]\nname = \"web\"\nmax_repeats = 3\n"
            )
        };
        let planned = plan(&corpus, &text(1)).unwrap();
        let epochs: Vec<Vec<EpochRow>> =
            (0..3).map(|epoch| rows(&open(&corpus, &planned, epoch))).collect();
        let other = rows(&open(&corpus, &plan(&corpus, &text(2)).unwrap(), 0));
        let orders: Vec<Vec<u64>> =
            epochs.iter().map(|rows| begun(rows)).chain([begun(&other)]).collect();
        for (at, order) in orders.iter().enumerate() {
            let places = |of: &[u64]| -> BTreeMap<u64, f64> {
                of.iter().zip(0..).map(|(id, at)| (*id, f64::from(at))).collect()
            };
            let mine = places(order);
            let ids: Vec<f64> = mine.keys().map(|id| *id as f64).collect();
            let here: Vec<f64> = mine.values().copied().collect();
            // 1,100 documents: a correlation of .1 is over three deviations.
            let with_ids = correlation(&ids, &here);
            assert!(
                with_ids.abs() < 0.1,
                "{pack}: order {at} goes with the order of ids, {with_ids}"
            );
            for earlier in orders.iter().take(at) {
                let there: Vec<f64> = places(earlier).values().copied().collect();
                assert_eq!(here.len(), there.len());
                let with = correlation(&there, &here);
                assert!(with.abs() < 0.1, "{pack}: order {at} goes with an earlier one, {with}");
            }
        }
        // Neighbours: lengths of documents by quartile; rows of packings by their number of documents.
        let values: Vec<u64> = match pack {
            "greedy" | "concat" | "none" => orders[0]
                .iter()
                .map(|id| all[*id as usize].ids.as_ref().unwrap().len() as u64)
                .collect(),
            _ => epochs[0].iter().map(|row| u64::from(row.segments()[0].length)).collect(),
        };
        if values.len() > 600 {
            let found = chi_square(&quartiles(&values), 4);
            // 9 degrees of freedom: 27.9 is passed once in a thousand.
            assert!(found < 27.9, "{pack}: lengths of neighbours go together, {found}");
        } else {
            let halves: Vec<usize> =
                quartiles(&values).into_iter().map(|quartile| quartile / 2).collect();
            let found = chi_square(&halves, 2);
            assert!(found < 10.8, "{pack}: lengths of neighbours go together, {found}");
        }
    }
}

/// Lengths of the sampler's published example.
const EXAMPLE: [usize; 12] = [3, 2, 5, 1, 4, 6, 7, 8, 3, 4, 1, 5];

/// A corpus with a source `lengths` of documents of as many tokens. Digits are in no text that the
/// tokenizer was trained on, so that each is a token.
fn of_lengths(lengths: &[usize]) -> CheckedCorpus {
    let place = CheckedCorpus::of(62, &[("other", 60, 5, 30)]);
    let mut writer = place.writer();
    let mut random = Random::new(62);
    let digits = |length: usize, random: &mut Random| -> String {
        (0..length).map(|_| char::from(b'0' + u8::try_from(random.below(10)).unwrap())).collect()
    };
    let pages = lengths.iter().enumerate();
    let pages =
        pages.map(|(at, length)| Page::keyed(format!("n-{at}"), digits(*length, &mut random)));
    place.pour(&mut writer, "lengths", &pages.collect::<Vec<Page>>());
    drop(writer);
    let all = stored(&place.reader());
    let found = all.iter().filter(|of| of.source == "lengths" && of.kept);
    let found: Vec<usize> = found.map(|of| of.ids.as_ref().unwrap().len()).collect();
    assert_eq!(found, lengths);
    place
}

/// Numbers of the documents of a source in the order of the rows.
fn order_of(corpus: &Corpus, text: &str, epoch: u64, first: u64) -> Vec<u64> {
    let planned = plan(corpus, text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let rows = rows(&open(corpus, &planned, epoch));
    rows.iter().map(|row| row.segments()[0].document.0 - first).collect()
}

#[test]
fn the_length_grouped_sampler_is_reproduced_index_for_index() {
    // The order is of lengths as they compare; ten times the lengths have the same.
    let place = of_lengths(&EXAMPLE.map(|length| 10 * length));
    let corpus = place.reader();
    let first = (0..).zip(stored(&corpus)).find(|(_, of)| of.source == "lengths").unwrap().0;
    let text = |batch: usize, more: &str, seed: u64| {
        format!(
            "seed = {seed}\n[pack]\nkind = \"none\"\nlength = 4096\n[order]\nkind = \"length-grouped\"\n\
             length_grouped = {{ exact = \"torch\"{more} }}\n[batch]\nrows = {batch}\ntail = \"carry\"\n[[source]]\nname = \"lengths\"\n"
        )
    };
    let batch = 3;
    let found = order_of(&corpus, &text(batch, ", mega_batch_mult = 2", 42), 0, first);
    assert_eq!(found, [7, 6, 2, 8, 0, 1, 5, 11, 4, 9, 10, 3]);
    let found = order_of(&corpus, &text(batch, "", 42), 0, first);
    assert_eq!(found, [7, 8, 1, 6, 2, 0, 11, 4, 10, 5, 9, 3]);
    // Any other: as the sampler orders the lengths, over rows of a larger corpus.
    for (seed, batch, mult) in [(0, 2, None), (7, 3, Some(1)), (123, 4, Some(3)), (9, 1, None)] {
        let more = mult.map_or(String::new(), |mult| format!(", mega_batch_mult = {mult}"));
        let text = text(batch, &more, seed).replace("\"lengths\"", "\"other\"");
        let text = text.replace("\"carry\"", "\"drop\"");
        let all = stored(&corpus);
        let ids: Vec<u64> = (0..)
            .zip(&all)
            .filter(|(_, of)| of.kept && of.source == "other")
            .map(|(id, _)| id)
            .collect();
        let lengths: Vec<usize> =
            ids.iter().map(|id| all[*id as usize].ids.as_ref().unwrap().len()).collect();
        let order = torch::length_grouped_indices(&lengths, batch, mult, seed).unwrap();
        let wanted: Vec<u64> = order.iter().map(|at| ids[*at as usize]).collect();
        let whole = wanted.len() / batch * batch;
        assert_eq!(order_of(&corpus, &text, 0, 0), wanted[..whole]);
    }
}

const STRATA: usize = 8;

/// Checks that no stratum of a source comes before the pace lets it. Time is tokens given, out of `horizon`, or
/// with replacement rows drawn, out of as many.
fn check_pace(
    values: &BTreeMap<u64, f64>,
    tokens: &BTreeMap<u64, u64>,
    rows: &[EpochRow],
    share: impl Fn(f64) -> f64,
    (horizon, by_rows): (f64, bool),
) -> usize {
    let mut sorted: Vec<f64> = values.values().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let cuts: Vec<f64> = (1..STRATA).map(|part| sorted[sorted.len() * part / STRATA]).collect();
    let stratum = |id: u64| cuts.iter().filter(|cut| **cut <= values[&id]).count();
    let mut held = [0_u64; STRATA];
    values.keys().for_each(|id| held[stratum(*id)] += tokens[id]);
    let all: u64 = held.iter().sum();
    let (mut given, mut seen) = (0, 0);
    for row in rows {
        let of = row.segments().iter().map(|segment| stratum(segment.document.0)).max().unwrap();
        let before: u64 = held.iter().take(of).sum();
        let open = share((given as f64 + if by_rows { 0.001 * horizon } else { 1.0 }) / horizon);
        assert!(
            open + 1e-9 >= before as f64 / all as f64,
            "stratum {of} comes after {given} tokens, when {open} is open"
        );
        seen = seen.max(of);
        let tokens: u64 = row.segments().iter().map(|segment| u64::from(segment.length)).sum();
        given += if by_rows { 1 } else { tokens };
    }
    seen
}

#[test]
fn a_curriculum_opens_no_stratum_before_its_time() {
    let place = CheckedCorpus::of(63, &[("web", 400, 2, 40)]);
    let corpus = place.reader();
    let all = stored(&corpus);
    let tokens: BTreeMap<u64, u64> = (0..)
        .zip(&all)
        .filter(|(_, of)| of.kept && of.ids.as_ref().is_some_and(|ids| !ids.is_empty()))
        .map(|(id, of)| (id, of.ids.as_ref().unwrap().len() as u64))
        .collect();
    let whole: u64 = tokens.values().sum();
    // The mean surprisal of a document among the tokens of its source, by its definition.
    let mut counts: BTreeMap<u32, f64> = BTreeMap::new();
    let ids_of = |id: u64| all[id as usize].ids.as_ref().unwrap();
    tokens.keys().flat_map(|id| ids_of(*id)).for_each(|id| *counts.entry(*id).or_default() += 1.0);
    let bits = |id: &u32| -(counts[id] / whole as f64).log2();
    let surprisal: BTreeMap<u64, f64> = tokens
        .keys()
        .map(|id| (*id, ids_of(*id).iter().map(bits).sum::<f64>() / ids_of(*id).len() as f64))
        .collect();
    let lengths: BTreeMap<u64, f64> =
        tokens.iter().map(|(id, tokens)| (*id, *tokens as f64)).collect();
    let c0 = 0.25;
    let linear = |t: f64| c0 + (1.0 - c0) * t;
    let paces: [(&str, &dyn Fn(f64) -> f64); 4] = [
        ("linear", &linear),
        ("sqrt", &|t: f64| (c0 * c0 + (1.0 - c0 * c0) * t).sqrt()),
        ("exp", &|t: f64| c0 + (1.0 - c0) * (1.0 - (-3.0 * t).exp()) / (1.0 - (-3.0_f64).exp())),
        ("step", &|t: f64| (((t * 5.0).floor() + 1.0) / 5.0).max(c0)),
    ];
    for (by, values) in [("surprisal", &surprisal), ("tokens", &lengths)] {
        for (pacing, share) in &paces {
            for (pack, descending) in
                [("none", false), ("none", true), ("best-fit", false), ("greedy", true)]
            {
                let text = format!(
                    "[pack]\nkind = \"{pack}\"\nlength = 4096\n[order]\nkind = \"curriculum\"\ncurriculum = {{ by = \"{by}\", \
                     pacing = \"{pacing}\", c0 = {c0}, strata = {STRATA}, descending = {descending} }}\n"
                );
                let planned =
                    plan(&corpus, &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
                let rows = rows(&open(&corpus, &planned, 0));
                let signed: BTreeMap<u64, f64> =
                    values.iter().map(|(id, value)| (*id, *value)).collect();
                if descending {
                    // From the other end: what is hardest comes late.
                    let first: Vec<f64> = rows
                        .iter()
                        .take(rows.len() / 8 + 1)
                        .flat_map(|row| row.segments())
                        .map(|s| signed[&s.document.0])
                        .collect();
                    let last: Vec<f64> = rows
                        .iter()
                        .rev()
                        .take(rows.len() / 8 + 1)
                        .flat_map(|row| row.segments())
                        .map(|s| signed[&s.document.0])
                        .collect();
                    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
                    assert!(mean(&first) > mean(&last), "{text}");
                    continue;
                }
                let found = check_pace(&signed, &tokens, &rows, share, (whole as f64, false));
                assert_eq!(found, STRATA - 1, "{text}");
            }
        }
    }
}

/// At `c0 = 0` nothing is released at the start, and still every document comes, easiest strata first.
#[test]
fn an_exponential_curriculum_has_every_document_once() {
    let place = CheckedCorpus::of(66, &[("web", 200, 2, 30)]);
    let corpus = place.reader();
    let tokens: BTreeMap<u64, u64> = (0..)
        .zip(&stored(&corpus))
        .filter(|(_, of)| of.kept && of.ids.as_ref().is_some_and(|ids| !ids.is_empty()))
        .map(|(id, of)| (id, of.ids.as_ref().unwrap().len() as u64))
        .collect();
    let lengths: BTreeMap<u64, f64> =
        tokens.iter().map(|(id, tokens)| (*id, *tokens as f64)).collect();
    let whole: u64 = tokens.values().sum();
    let text = format!(
        "[pack]\nkind = \"none\"\nlength = 4096\n[order]\nkind = \"curriculum\"\ncurriculum = {{ by = \"tokens\", \
         pacing = \"exp\", c0 = 0.0, strata = {STRATA} }}\n"
    );
    let rows = rows(&open(&corpus, &plan(&corpus, &text).unwrap(), 0));
    let share = |t: f64| (1.0 - (-3.0 * t).exp()) / (1.0 - (-3.0_f64).exp());
    assert_eq!(check_pace(&lengths, &tokens, &rows, share, (whole as f64, false)), STRATA - 1);
    let mut given: Vec<u64> =
        rows.iter().flat_map(|row| row.segments()).map(|s| s.document.0).collect();
    given.sort_unstable();
    assert_eq!(given, tokens.keys().copied().collect::<Vec<_>>());
}

#[test]
fn a_curriculum_with_replacement_gives_rows_for_any_budget() {
    let place = CheckedCorpus::of(64, &[("web", 200, 2, 30), ("code", 100, 1, 9)]);
    let corpus = place.reader();
    let all = stored(&corpus);
    for pack in ["best-fit", "none"] {
        let text = format!(
            "[mix]\ntokens = 90_000\n[pack]\nkind = \"{pack}\"\nlength = 128\n[order]\nkind = \"curriculum\"\n\
             curriculum = {{ by = \"tokens\", pacing = \"linear\", c0 = 0.05, strata = 8, replace = true }}\n\
             [[source]]\nname = \"web\"\nweight = 0.5\n[[source]]\nname = \"code\"\nweight = 0.5\n"
        );
        let planned = plan(&corpus, &text).unwrap();
        let rows = rows(&open(&corpus, &planned, 0));
        let given: u64 =
            rows.iter().flat_map(EpochRow::segments).map(|s| u64::from(s.length)).sum();
        assert!((90_000..90_128).contains(&given), "{given} tokens");
        for (source, whole) in [("web", 45_000), ("code", 45_000)] {
            let tokens: BTreeMap<u64, u64> = (0..)
                .zip(&all)
                .filter(|(_, of)| of.kept && of.source == source)
                .map(|(id, of)| (id, of.ids.as_ref().unwrap().len() as u64))
                .collect();
            let lengths = tokens.iter().map(|(id, tokens)| (*id, *tokens as f64)).collect();
            let mine = rows.iter().filter(|row| row.source() == Some(source)).cloned();
            // Paced over a pass, which is less than what the epoch takes.
            let pass: u64 = tokens.values().sum();
            assert!(pass < whole);
            let share = |t: f64| (0.05 + 0.95 * t).min(1.0);
            let mine: Vec<EpochRow> = mine.collect();
            let of = planned.plan.sources.iter().find(|of| of.name == source).unwrap();
            let drawn = of.rows as f64;
            assert_eq!(check_pace(&lengths, &tokens, &mine, share, (drawn, true)), STRATA - 1);
            let mut times: BTreeMap<u64, u32> = BTreeMap::new();
            mine.iter()
                .flat_map(EpochRow::segments)
                .for_each(|s| *times.entry(s.document.0).or_default() += 1);
            assert!(times.len() * 10 > tokens.len() * 9, "everything is drawn from in the end");
        }
        built(&place, &corpus, &planned, 1, pack, 2);
    }
}

// ----
// Mixes: schedules, fixed budgets, and what cannot be had.

const SPECIALS: &str = "[tokenizer]\nspecials = { eos = \"<|eos|>\", pad = \"<|pad|>\" }\n";

fn listed(repeats: u32, of: impl Fn(usize) -> String) -> String {
    let sources = THREE.iter().enumerate().map(|(at, (name, ..))| {
        format!("[[source]]\nname = \"{name}\"\nmax_repeats = {repeats}\n{}\n", of(at))
    });
    sources.collect()
}

corpusdb_test!(a_schedule_changes_weights_alone, CheckedCorpus::of(31, &THREE), |place| {
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
});

// Of what a budget cannot be had, the error says of which source and how much could be; that then can.
corpusdb_test!(an_unreachable_budget_names_the_largest, CheckedCorpus::of(32, &THREE), |place| {
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
});

corpusdb_test!(temperature_and_unimax_share_as_defined, CheckedCorpus::of(33, &THREE), |place| {
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
});
