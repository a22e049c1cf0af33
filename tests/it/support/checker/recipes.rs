//! Recipes that are drawn by chance, and what is said of those that cannot be met.

use crate::support::Random;
use crate::support::checker::corpus::{THREE, plan};
use corpusdb::epoch::{EpochError, Planned, recipe};
use corpusdb::{Corpus, Error, ErrorKind};
use std::fmt::Write;

/// A recipe that does not contradict itself, drawn by chance.
pub fn drawn(random: &mut Random) -> String {
    let mut text = format!("seed = {}\n", random.below(1000));
    let kind = *random.pick(&["best-fit", "greedy", "concat", "none"]);
    let batch = random.below(if kind == "none" { 4 } else { 3 });
    let order = match (kind, batch) {
        ("best-fit", _) => *random.pick(&["shuffle", "shuffle", "curriculum"]),
        ("none", 1..) => *random.pick(&["shuffle", "sequential", "length-grouped", "curriculum"]),
        _ => *random.pick(&["shuffle", "sequential", "curriculum"]),
    };
    let pad = random.chance(80);
    select(random, &mut text);
    specials(random, &mut text, pad);
    mix(random, &mut text, batch == 1);
    match order {
        "curriculum" => {
            let by = *random.pick(&["quality", "year", "surprisal", "chars"]);
            let pacing = *random.pick(&["linear", "sqrt", "root-p", "exp", "step"]);
            let strata = random.between(1, 9);
            let replace = matches!(kind, "best-fit" | "none") && random.chance(25);
            let c0 = *random.pick(&[0.3, 0.5, 1.0]);
            let descending = random.chance(50);
            writeln!(
                text,
                "[order]\nkind = \"curriculum\"\ncurriculum = {{ by = \"{by}\", pacing = \"{pacing}\", strata = {strata}, \
                 c0 = {c0:?}, replace = {replace}, descending = {descending} }}"
            )
        }
        "length-grouped" => {
            let more = *random.pick(&["mega_batch_mult = 3", "buckets = \"power-of-two\"", ""]);
            writeln!(text, "[order]\nkind = \"length-grouped\"\nlength_grouped = {{ {more} }}")
        }
        order => writeln!(text, "[order]\nkind = \"{order}\""),
    }
    .unwrap();
    let length = *random.pick(&[24, 64, 96, 192]);
    let longs: &[&str] = if kind == "concat" {
        &["split", "truncate", "drop"]
    } else {
        &["split", "paragraph", "truncate", "drop"]
    };
    let long = *random.pick(longs);
    let extra = random.chance(20);
    let longest = kind == "none" && batch > 0 && pad && length != 96;
    let multiple = if extra { 4 } else { *random.pick(&[1, 1, 4, 8]) };
    let multiple = if pad && (kind != "none" || longest) { multiple } else { 1 };
    let target = if extra { "extra" } else { "inside" };
    let side = random.pick(&["right", "left"]);
    let view = random.pick(&["suffix", "each"]);
    writeln!(
        text,
        "[pack]\nkind = \"{kind}\"\nlength = {length}\noptions = {{ target = \"{target}\", long = \"{long}\", \
         doc_multiple = {multiple}, pad_side = \"{side}\", pad_view = \"{view}\" }}"
    )
    .unwrap();
    match batch {
        0 => {}
        3 => {
            let count = random.pick(&["real", "padded"]);
            writeln!(
                text,
                "[batch]\nmax_tokens = {}\ncount = \"{count}\"",
                random.between(length, 900)
            )
            .unwrap();
        }
        _ => {
            let tail =
                *random.pick(if pad { &["drop", "carry", "pad"][..] } else { &["drop", "carry"] });
            writeln!(text, "[batch]\nrows = {}\ntail = \"{tail}\"", random.pick(&[1, 5, 12, 24]))
                .unwrap();
            if random.chance(40) {
                writeln!(text, "balance = {}", random.pick(&[0, 300, 24_576])).unwrap();
            }
        }
    }
    if longest {
        text.push_str("pad = \"longest\"\n");
    }
    output(random, &mut text, pad, if longest { "longest" } else { kind });
    sources(random, &mut text, kind);
    text
}

pub fn output(random: &mut Random, text: &mut String, pad: bool, kind: &str) {
    // Formats of equal rows need a pad, and litdata has no other rows.
    let mut formats = vec!["parquet", "jsonl", "arrow"];
    if pad {
        formats.extend(["megatron", "mds", "raw", "raw", "raw"]);
    }
    if pad && !matches!(kind, "none" | "longest") {
        formats.push("litdata");
    }
    let mut format = *random.pick(&formats);
    let layout = (format == "raw")
        .then(|| *random.pick(&["plain", "nanogpt", "llm.c", "datatrove", "olmo"]));
    if kind == "longest" && matches!(format, "megatron" | "raw") {
        format = "mds";
    }
    writeln!(text, "[output]\nformat = \"{format}\"\nshard_bytes = 50_000").unwrap();
    if matches!(format, "parquet" | "arrow" | "jsonl" | "mds") && text.len().is_multiple_of(2) {
        let mut chance = Random::new(text.len() as u64);
        let mut columns: Vec<String> = recipe::Column::ALL
            .iter()
            .filter(|_| chance.chance(40))
            .map(|column| format!("\"{}\"", column.name()))
            .collect();
        if chance.chance(50) {
            columns.reverse();
        }
        writeln!(text, "columns = [{}]", columns.join(", ")).unwrap();
    }
    if let Some(layout) = layout.filter(|_| format == "raw") {
        writeln!(text, "layout = \"{layout}\"").unwrap();
    }
}

pub fn select(random: &mut Random, text: &mut String) {
    let mut lines = Vec::new();
    if random.chance(30) {
        lines.push(format!("min_tokens = {}", random.between(1, 8)));
    }
    if random.chance(30) {
        let repeat = random.pick(&["2", "1 + year % 2", "1.5", "(year % 3) * 0.7 + 0.3"]);
        lines.push(format!("repeat = \"{repeat}\""));
    }
    if random.chance(30) {
        lines.push("where = \"quality > 0.2\"".to_owned());
    }
    writeln!(text, "[select]\n{}", lines.join("\n")).unwrap();
}

pub fn specials(random: &mut Random, text: &mut String, pad: bool) {
    let mut names = Vec::new();
    for (name, chance) in [("bos", 40), ("eos", 80)] {
        if random.chance(chance) {
            names.push(format!("{name} = \"<|{name}|>\""));
        }
    }
    if pad {
        names.push("pad = \"<|pad|>\"".to_owned());
    }
    writeln!(text, "[tokenizer]\nspecials = {{ {} }}", names.join(", ")).unwrap();
}

pub fn mix(random: &mut Random, text: &mut String, steps: bool) {
    let unit = *random.pick(&["tokens", "tokens", "rows", "documents", "loss-tokens"]);
    let kinds = ["weights", "natural", "temperature", "unimax", "schedule", "fixed"];
    let kind = *random.pick(&kinds);
    writeln!(text, "# sources: {kind}\n[mix]\nunit = \"{unit}\"").unwrap();
    let some = match unit {
        "rows" => random.between(8, 60),
        "documents" => random.between(20, 150),
        _ => random.between(900, 6000),
    };
    match kind {
        "temperature" => writeln!(text, "method = \"temperature\"\ntemperature = 3.0"),
        "unimax" => writeln!(text, "method = \"unimax\""),
        "schedule" => {
            let ramp = random.pick(&["step", "linear"]);
            let step = steps && matches!(unit, "rows" | "tokens") && random.chance(50);
            let (name, at) = if step { ("at_step", 2) } else { ("at_tokens", some / 3) };
            writeln!(
                text,
                "tokens = {some}\nschedule = [ {{ {name} = 0, weights = {{ web = 0.7, books = 0.3 }}, ramp = \"{ramp}\" }}, \
                 {{ {name} = {at}, weights = {{ books = 0.2, code = 0.5, web = 0.3 }} }} ]"
            )
        }
        _ if random.chance(40) => writeln!(text, "tokens = {some}"),
        _ => Ok(()),
    }
    .unwrap();
}

pub fn sources(random: &mut Random, text: &mut String, kind: &str) {
    let natural = text.contains("# sources: natural") || text.contains("method = ");
    let fixed = text.contains("# sources: fixed");
    let schedule = text.contains("schedule = ");
    let repeats = random.between(1, 5);
    for (at, (name, ..)) in THREE.into_iter().enumerate() {
        writeln!(text, "[[source]]\nname = \"{name}\"\nmax_repeats = {repeats}").unwrap();
        if fixed && !text.contains("unit = \"rows\"") {
            writeln!(
                text,
                "tokens = {}",
                [700, 300, 150][at] / if text.contains("documents") { 10 } else { 1 }
            )
            .unwrap();
        } else if !natural && !schedule {
            writeln!(text, "weight = {:?}", [0.6, 0.3, 0.1][at]).unwrap();
        }
        if at == 1 && random.chance(30) {
            let long = if kind == "concat" { "truncate" } else { "paragraph" };
            writeln!(text, "pack = {{ long = \"{long}\" }}").unwrap();
        }
    }
}

/// Plans a recipe. One that cannot be met names its source and the largest budget, which then can.
#[track_caller]
pub fn feasible(corpus: &Corpus, text: &str) -> Option<Planned> {
    let error = match plan(corpus, text) {
        Ok(planned) => return Some(planned),
        Err(error) => error,
    };
    match error.origin() {
        Some(EpochError::Infeasible { sources, feasible, budget, .. }) => {
            assert_eq!(error.kind(), ErrorKind::Infeasible);
            let (feasible, budget, told) = (*feasible, *budget, error.to_string());
            assert!(!sources.is_empty() && told.contains(&feasible.to_string()), "{told}");
            for source in sources {
                assert!(THREE.iter().any(|known| known.0 == source.name), "{told}");
                assert!(told.contains(&source.name), "{told}");
            }
            assert!(feasible < budget, "{told}");
            if feasible == 0 {
                return None;
            }
            let lower = match text.contains("\ntokens = ") && !text.contains("# sources: fixed") {
                true => text.replace(
                    &format!("\ntokens = {budget}\n"),
                    &format!("\ntokens = {feasible}\n"),
                ),
                false => return None,
            };
            Some(plan(corpus, &lower).unwrap_or_else(|error| panic!("{told}\n{error}\n{lower}")))
        }
        // What a chance recipe may run into, said in words.
        Some(EpochError::Empty { .. } | EpochError::Recipe(_)) => None,
        _ => panic!("{error}\n{text}"),
    }
}

/// Whether an epoch has no row, which is said.
pub fn has_no_rows(error: &Error) -> bool {
    matches!(error.origin(), Some(EpochError::NoRows { .. }))
}
