//! `stress`: inputs that make other systems quadratic, or leave nothing of a corpus.

use crate::arguments::Arguments;
use crate::data::policy;
use crate::musts::Musts;
use crate::statistics::ratio;
use crate::stored::{Standings, Stored};
use crate::table::{Table, number};
use crate::template::{SCENARIOS, Scenario, twin};
use anyhow::{Context, ensure};
use corpusdb::dedup::Normaliser;
use corpusdb::dedup::{Fingerprinter, shared_at_least};
use corpusdb::{IngestReport, Policy};
use rayon::prelude::*;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

const THRESHOLD: f64 = 0.8;
/// Documents of which the exact independent set is computed.
const SAMPLE: usize = 5_000;
/// Documents from which growth is judged: the first eighth then fills crowded buckets to their bound.
const FULL: usize = 100_000;
/// A document of the last half may cost so many times one of the first eighth. CPU time, which other
/// processes do not stretch.
const MOST_GROWTH: f64 = 3.0;
/// Of what the exact set keeps, the least share that must be kept.
const LEAST_KEPT: f64 = 0.99;

/// Runs every scenario in a process of its own, whose peak memory is then that scenario's.
pub fn run(arguments: &Arguments) -> anyhow::Result<Musts> {
    let mut musts = Musts::default();
    let documents = arguments.documents()?.to_string();
    let memory = arguments.memory()?.to_string();
    let wanted = arguments.option("--scenario");
    for name in wanted.map_or(SCENARIOS.to_vec(), |name| vec![name]) {
        let program = std::env::current_exe()?;
        let words =
            ["stress-one", "--scenario", name, "--documents", &documents, "--memory", &memory];
        let status = Command::new(program).args(words).status()?;
        ensure!(matches!(status.code(), Some(0 | 1)), "scenario {name} broke: {status}");
        musts.check(status.success(), || format!("scenario {name}: see above"));
    }
    Ok(musts)
}

/// Runs one scenario in this process.
pub fn one(arguments: &Arguments) -> anyhow::Result<Musts> {
    let name = arguments.option("--scenario").context("stress-one needs --scenario")?;
    let documents = arguments.documents()?;
    let mut musts = Musts::default();
    let policy = policy(Normaliser::Web, THRESHOLD)?;
    let scenario = Scenario::named(name, &policy)?;
    println!("## {name}: {}\n", scenario.describe());
    let stored = Stored::new(&policy, arguments.memory()?)?;
    let mut table = Table::new(&[
        "documents",
        "seconds",
        "ms a document",
        "ms of these",
        "CPU ms of these",
        "kept",
        "removed",
        "compared a document",
        "verified a document",
        "capped buckets a document",
        "peak memory, MB",
    ]);
    let mut sums = IngestReport::default();
    let mut costs = Vec::new();
    let mut done = 0;
    for parts in [1, 1, 2, 4] {
        let numbers = done..done + documents / 8 * parts;
        done = numbers.end;
        let new = numbers.len() as f64;
        let file = stored.beside(&format!("input-{done}.jsonl"));
        write(&file, &scenario, &policy, numbers)?;
        let before = cpu_seconds()?;
        let report = stored.ingest(&file)?;
        let busy = cpu_seconds()? - before;
        std::fs::remove_file(&file)?;
        sums.seconds += report.seconds;
        sums.kept += report.kept;
        sums.added += report.added;
        costs.push(busy * 1e3 / new);
        table.row(vec![
            number(done as u64),
            format!("{:.1}", sums.seconds),
            format!("{:.3}", sums.seconds * 1e3 / done as f64),
            format!("{:.3}", report.seconds * 1e3 / new),
            format!("{:.3}", busy * 1e3 / new),
            number(sums.kept),
            number(sums.added - sums.kept),
            format!("{:.0}", report.dedup.compared as f64 / new),
            format!("{:.0}", report.dedup.verified as f64 / new),
            format!("{:.1}", report.dedup.capped as f64 / new),
            format!("{:.0}", peak_memory()?),
        ]);
    }
    table.print();
    ensure!(sums.added == done as u64, "{} of {done} documents were stored", sums.added);
    let growth = costs[costs.len() - 1] / costs[0].max(1e-6);
    println!("The last half cost {growth:.2} times the CPU time a document of the first eighth.");
    if documents >= FULL {
        musts.check(growth < MOST_GROWTH, || {
            format!("{name}: a document's cost grew {growth:.2} times")
        });
    } else {
        println!(
            "That is judged from {} documents on: fewer do not fill the buckets.",
            number(FULL as u64)
        );
    }
    let standings = stored.standings()?;
    if matches!(scenario, Scenario::Family { .. }) {
        twins_found(&standings, &mut musts);
    }
    kept_as_promised(name, &scenario, &policy, &standings, &mut musts);
    Ok(musts)
}

/// Of the twins in a family, the share that is removed.
fn twins_found(standings: &Standings, musts: &mut Musts) {
    let twins: Vec<usize> =
        (0..standings.kept.len()).filter(|number| twin(*number).is_some()).collect();
    let found = twins.iter().filter(|number| !standings.kept[**number]).count();
    let share = ratio(found as u64, twins.len() as u64);
    println!("Of {} twins {found} are removed ({share:.4}).", twins.len());
    let least = if standings.kept.len() < FULL { 0.99 } else { 0.98 };
    musts.check(share >= least, || format!("family: {share:.4} of the twins are removed"));
}

fn kept_as_promised(
    name: &str,
    scenario: &Scenario,
    policy: &Policy,
    standings: &Standings,
    musts: &mut Musts,
) {
    let set = |number: usize, craft: &mut Fingerprinter| {
        let text = scenario.document(number, craft);
        craft.shingles(&text)
    };
    let mut craft = Fingerprinter::new(policy);
    let unexplained =
        standings.unexplained(policy.threshold, |number| set(number, &mut craft), |_| false);
    musts.check(unexplained == 0, || format!("{name}: {unexplained} removals without a witness"));
    let sample = SAMPLE.min(standings.kept.len());
    let sets: Vec<Vec<u64>> = (0..sample)
        .into_par_iter()
        .map_init(|| Fingerprinter::new(policy), |craft, number| set(number, craft))
        .collect();
    // Documents arrive by number: the set of the first ones is the first part of the set of all.
    let exact = first_independent(&sets, policy);
    let stored: Vec<usize> = (0..sample).filter(|number| standings.kept[*number]).collect();
    let similar = similarities(&sets);
    let redundant = (stored.par_iter().enumerate())
        .filter(|(at, number)| {
            let similar_to = |other: &usize| is_similar(&sets, *other, **number, policy);
            stored[..*at].iter().any(similar_to)
        })
        .count();
    println!(
        "Largest cluster {}; removals without a kept witness >= T: {unexplained}.\n\
         Similarity of pairs of the sample: {similar}.\n\
         Of the first {}, kept {} ({:.4}); the exact set keeps {} ({:.4}); kept beside a similar kept one: {redundant}.\n",
        number(standings.largest_cluster() as u64),
        number(sample as u64),
        number(stored.len() as u64),
        ratio(stored.len() as u64, sample as u64),
        number(exact.len() as u64),
        ratio(exact.len() as u64, sample as u64),
    );
    musts.check(stored.len() as f64 >= LEAST_KEPT * exact.len() as f64, || {
        format!("{name}: {} kept where the exact set keeps {}", stored.len(), exact.len())
    });
}

/// The lexicographically first maximal independent set, by comparing with everything kept.
fn first_independent(sets: &[Vec<u64>], policy: &Policy) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    for number in 0..sets.len() {
        if !kept.par_iter().with_min_len(256).any(|other| is_similar(sets, *other, number, policy))
        {
            kept.push(number);
        }
    }
    kept
}

fn is_similar(sets: &[Vec<u64>], a: usize, b: usize, policy: &Policy) -> bool {
    shared_at_least(&sets[a], &sets[b], policy.threshold).is_some()
}

/// The similarities of neighbours in number: least, median and most.
fn similarities(sets: &[Vec<u64>]) -> String {
    let mut all: Vec<f64> = (sets.windows(2))
        .map(|pair| {
            let shared = corpusdb::dedup::shared(&pair[0], &pair[1]) as usize;
            crate::statistics::jaccard(shared, pair[0].len(), pair[1].len())
        })
        .collect();
    all.sort_unstable_by(f64::total_cmp);
    match all.as_slice() {
        [] => "none".to_owned(),
        [least, .., most] => format!("{least:.3} to {most:.3}, median {:.3}", all[all.len() / 2]),
        [only] => format!("{only:.3}"),
    }
}

/// Writes documents as JSON lines.
fn write(
    file: &Path,
    scenario: &Scenario,
    policy: &Policy,
    numbers: Range<usize>,
) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(file)?);
    let numbers: Vec<usize> = numbers.collect();
    for part in numbers.chunks(4096) {
        let texts: Vec<String> = part
            .par_iter()
            .map_init(
                || Fingerprinter::new(policy),
                |craft, number| scenario.document(*number, craft),
            )
            .collect();
        for text in texts {
            writeln!(out, "{}", serde_json::json!({ "text": text }))?;
        }
    }
    Ok(out.flush()?)
}

/// CPU time of this process, all threads, user and system; Linux only.
fn cpu_seconds() -> anyhow::Result<f64> {
    /// Ticks a second in what Linux tells user space.
    const TICKS: f64 = 100.0;
    let status = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = status.rsplit_once(')').context("no name in /proc/self/stat")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / TICKS)
}

/// The most memory this process ever held, in MB; Linux only.
fn peak_memory() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes: f64 =
        line.and_then(|line| line.trim().strip_suffix("kB")).context("no VmHWM")?.trim().parse()?;
    Ok(kilobytes / 1e3)
}
