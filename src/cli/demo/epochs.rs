//! The demo's epoch: planned, explained, built, verified.

use super::teller::quote;
use super::{Demo, Shape};
use crate::cli::print;
use anyhow::Context as _;
use corpusdb::Recipe;
use corpusdb::epoch::{BuildJob, Explanation, Manifest, Planned, Verification};
use std::time::Instant;

/// The mix of the crates, as source, weight and most passes: mostly code, and licences a little
/// although there are few of them.
const MIX: [(&str, f64, u32); 3] = [("code", 0.90, 1), ("docs", 0.09, 2), ("licenses", 0.01, 4)];

/// The mix of paths that nothing is known of.
const NATURAL: &str = "\
[mix]
method = \"natural\"       # every source as much as it holds

";

/// The recipe: for crates, the mix without sources that have nothing.
fn recipe(shape: &Shape, has: impl Fn(&str) -> bool) -> String {
    let table = |(name, weight, passes): &(&str, f64, u32)| {
        let repeats = match passes {
            1 => String::new(),
            passes => {
                format!("max_repeats = {passes}          # its documents may come so often\n")
            }
        };
        format!(
            "[[source]]\nname = \"{name}\"\nweight = {weight:.2}            # share of all tokens\n{repeats}\n"
        )
    };
    let mix = match shape.is_code {
        true => MIX.iter().filter(|(name, ..)| has(name)).map(table).collect(),
        false => NATURAL.to_owned(),
    };
    format!(
        "version = 1
seed = 42

[tokenizer]
name = \"{}\"
specials = {{ eos = \"<|endoftext|>\", pad = \"<|endoftext|>\" }}

{mix}[pack]
kind = \"best-fit\"        # documents are combined so that rows are full
length = {:<16}# tokens in a row

[output]
format = \"parquet\"
",
        shape.tokenizer, shape.row
    )
}

/// A stored plan.
pub(super) struct Stored {
    pub(super) number: u32,
    pub(super) planned: Planned,
    pub(super) explanation: Explanation,
    pub(super) seconds: f64,
}

/// Writes the recipe, plans it and tells what the epoch will be.
pub(super) fn plan(demo: &Demo<'_>, shape: &Shape) -> anyhow::Result<Stored> {
    let path = demo.place.recipe();
    let shown = demo.place.show(&path);
    let info = demo.open()?.info()?;
    let text = recipe(shape, |name| {
        info.sources.iter().any(|source| source.name == name && source.kept > 0)
    });
    std::fs::write(&path, &text).with_context(|| format!("writing {}", path.display()))?;
    demo.teller.command_line(&["cat", &quote(&shown)])?;
    for line in text.lines() {
        demo.teller.say(format!("  {line}").trim_end())?;
    }
    demo.teller.say("")?;
    demo.teller.command(&["epoch", "plan", &demo.corpus, &shown])?;
    let recipe = Recipe::parse(&text).map_err(corpusdb::Error::from)?;
    let session = demo.session;
    let started = Instant::now();
    let mut writer = session.write(&demo.place.corpus())?;
    let (record, planned) = writer.plan(&recipe, &session.context())?;
    demo.end_bar();
    drop(writer);
    let explanation = demo.open()?.explain(&planned, &session.context())?;
    let seconds = started.elapsed().as_secs_f64();
    demo.teller.command(&["epoch", "explain", &demo.corpus, &record.number.to_string()])?;
    let rows = explanation.sources.iter().map(|source| {
        vec![
            source.name.clone(),
            print::number(source.documents),
            print::number(source.tokens + source.specials_added),
            format!("{:.2}", source.passes),
            print::number(source.epoch_tokens),
            print::number(source.rows),
            percent(source.asked_share),
            percent(source.achieved_share),
        ]
    });
    let head =
        ["source", "documents", "tokens", "passes", "tokens taken", "rows", "asked", "will get"];
    demo.teller.table(&head, &rows.collect::<Vec<_>>())?;
    demo.teller.say(&format!(
        "  Plan {}: {} rows of {}, snapshot {}; computed in {seconds:.2} s from lengths alone.",
        record.number,
        print::number(explanation.rows),
        explanation.capacity,
        explanation.snapshot
    ))?;
    Ok(Stored { number: record.number, planned, explanation, seconds })
}

/// Writes the epoch.
pub(super) fn build(demo: &Demo<'_>, plan: &Stored) -> anyhow::Result<(Manifest, f64)> {
    let out = demo.place.epoch();
    demo.teller.command(&[
        "epoch",
        "build",
        &demo.corpus,
        &plan.number.to_string(),
        "--out",
        &demo.place.show(&out),
    ])?;
    let session = demo.session;
    let job = BuildJob { epoch: 0, out: &out };
    let started = Instant::now();
    let manifest = demo.open()?.build(&plan.planned, &job, &session.context())?;
    let seconds = started.elapsed().as_secs_f64();
    demo.end_bar();
    let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
    demo.teller.say("")?;
    demo.teller.say(&format!(
        "  {} rows, {} tokens; {} in {seconds:.1} s",
        print::number(manifest.totals.rows),
        print::number(manifest.totals.tokens),
        print::size(bytes)
    ))?;
    Ok((manifest, seconds))
}

/// Reads the epoch back.
pub(super) fn verify(demo: &Demo<'_>, plan: &Stored) -> anyhow::Result<(Verification, f64)> {
    let out = demo.place.epoch();
    demo.teller.command(&["epoch", "verify", &demo.corpus, &demo.place.show(&out)])?;
    let started = Instant::now();
    let verification = demo.open()?.verify(&plan.planned, &out, &demo.session.context())?;
    let seconds = started.elapsed().as_secs_f64();
    demo.end_bar();
    demo.teller.say("")?;
    for check in &verification.checks {
        let word = if check.passed { "ok" } else { "FAILED" };
        demo.teller.say(
            format!("  {word:6} {:<13} {:<18} {}", check.name, check.detail, meaning(&check.name))
                .trim_end(),
        )?;
    }
    demo.teller.say("")?;
    let verdict = if verification.passed() { "Verified" } else { "NOT verified" };
    demo.teller.say(&format!("  {verdict} in {seconds:.1} s."))?;
    Ok((verification, seconds))
}

/// Asked against achieved, and how full the rows are.
pub(super) fn figures(demo: &Demo<'_>, manifest: &Manifest) -> anyhow::Result<()> {
    let rows = manifest.sources.iter().map(|source| {
        vec![
            source.name.clone(),
            percent(source.asked_share),
            percent(source.achieved_share),
            print::number(source.tokens),
            print::number(source.rows),
        ]
    });
    demo.teller
        .table(&["source", "asked", "achieved", "tokens", "rows"], &rows.collect::<Vec<_>>())?;
    demo.teller.say(&format!(
        "  Packing efficiency {:.3} %: {} of {} positions are padding.",
        manifest.totals.efficiency * 100.0,
        print::number(manifest.totals.pad_tokens),
        print::number(manifest.totals.pad_tokens + manifest.totals.tokens)
    ))
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// What a check of a verification means.
fn meaning(check: &str) -> &'static str {
    match check {
        "manifest" => "the manifest is what these files and this plan give",
        "files" => "all files are there, and no others",
        "hashes" => "no byte has changed",
        "order" => "rows come as planned",
        "conservation" => "no token is lost or doubled",
        "integrity" => "documents are cut only where they must be",
        "ids" => "token ids equal those in the corpus",
        "boundaries" => "rows say where documents begin and end",
        "positions" => "positions restart with every document",
        "labels" => "labels stop at document ends",
        "mix" => "at every row, sources are within one row of their share",
        _ => "",
    }
}
