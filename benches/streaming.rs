//! What a rank of a training run gets of a stored plan: seconds to its first batch from any place, rows and tokens a
//! second after that, and the memory that the process holds.
//!
//! Corpus model: any corpus with a plan, with every page of it in the page cache (a first pass is not counted).
//! Everything is timed as a loader does it: open the corpus, read the plan, open the epoch, begin at a batch.
//!
//! Run: `cargo bench --bench streaming -- CORPUS PLAN`, with `--memory MIB` for what the corpus is opened with,
//! `--epoch E`, `--at 0.9` for where it begins, `--world W` for the ranks (this one is 0), `--seconds S` for how long
//! it streams. Without a corpus it says so and ends well.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a bench talks on its outputs")]

use corpusdb::epoch::StreamOptions;
use corpusdb::{Context, Corpus};
use std::error::Error;
use std::time::Instant;

type Answer<T> = Result<T, Box<dyn Error>>;

struct Arguments {
    corpus: String,
    plan: u32,
    memory: u64,
    epoch: u64,
    at: f64,
    world: u64,
    seconds: f64,
}

fn main() -> Answer<()> {
    let Some(arguments) = arguments()? else {
        eprintln!("streaming: no corpus given; nothing measured");
        return Ok(());
    };
    println!(
        "plan {} epoch {} from {} on, {} MiB",
        arguments.plan, arguments.epoch, arguments.at, arguments.memory
    );
    for time in ["first", "again"] {
        first_batch(&arguments, time)?;
    }
    stream(&arguments)?;
    memory("end");
    Ok(())
}

fn arguments() -> Answer<Option<Arguments>> {
    let mut found = Arguments {
        corpus: String::new(),
        plan: 1,
        memory: 64,
        epoch: 0,
        at: 0.9,
        world: 1,
        seconds: 5.0,
    };
    let mut given = std::env::args().skip(1).filter(|given| given != "--bench");
    let mut names = 0;
    while let Some(argument) = given.next() {
        let mut value = || given.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--memory" => found.memory = value()?.parse()?,
            "--epoch" => found.epoch = value()?.parse()?,
            "--at" => found.at = value()?.parse()?,
            "--world" => found.world = value()?.parse()?,
            "--seconds" => found.seconds = value()?.parse()?,
            _ => {
                match names {
                    0 => found.corpus = argument,
                    _ => found.plan = argument.parse()?,
                }
                names += 1;
            }
        }
    }
    Ok((names > 0).then_some(found))
}

fn open(arguments: &Arguments) -> Answer<Corpus> {
    Ok(Corpus::options().memory(arguments.memory << 20).open(&arguments.corpus)?)
}

/// Seconds from nothing to the first batch, and what they go into.
fn first_batch(arguments: &Arguments, time: &str) -> Answer<()> {
    let started = Instant::now();
    let corpus = open(arguments)?;
    let opened = started.elapsed();
    let planned = corpus.stored_plan(arguments.plan)?;
    let read = started.elapsed();
    let epoch = corpus.epoch(&planned, arguments.epoch, &Context::new())?;
    let marked = started.elapsed();
    let from = (epoch.batches() as f64 * arguments.at) as u64;
    let mut stream = epoch.stream(&StreamOptions {
        from_batch: from,
        ..StreamOptions::of_rank(0, arguments.world)
    })?;
    let stood = started.elapsed();
    let rows = stream.next().transpose()?.map_or(0, |batch| batch.rows.len());
    let all = started.elapsed();
    let ms = |to: std::time::Duration, from: std::time::Duration| (to - from).as_secs_f64() * 1e3;
    println!(
        "{time}: batch {from} of {} ({rows} rows) after {:.1} ms: corpus {:.1}, plan {:.1}, epoch {:.1}, place {:.1}, batch {:.1}",
        epoch.batches(),
        all.as_secs_f64() * 1e3,
        opened.as_secs_f64() * 1e3,
        ms(read, opened),
        ms(marked, read),
        ms(stood, marked),
        ms(all, stood),
    );
    memory(time);
    Ok(())
}

/// Rows and tokens a second over whole epochs, from the beginning, for some seconds.
fn stream(arguments: &Arguments) -> Answer<()> {
    let corpus = open(arguments)?;
    let planned = corpus.stored_plan(arguments.plan)?;
    let epoch = corpus.epoch(&planned, arguments.epoch, &Context::new())?;
    for time in ["first pass", "later passes"] {
        let (started, mut rows, mut tokens, mut sum) = (Instant::now(), 0_u64, 0_u64, 0_u64);
        let mut passes = 0;
        let ahead = StreamOptions { prefetch: 4, ..StreamOptions::of_rank(0, arguments.world) };
        while passes == 0
            || (time != "first pass" && started.elapsed().as_secs_f64() < arguments.seconds)
        {
            for batch in epoch.stream(&ahead)? {
                for row in batch?.rows {
                    rows += 1;
                    tokens += row.ids().len() as u64;
                    sum = sum.wrapping_add(u64::from(row.ids().first().copied().unwrap_or(0)));
                }
            }
            passes += 1;
        }
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "{time}: {rows} rows in {seconds:.2} s: {:.0} rows/s, {:.1} million tokens/s ({sum})",
            rows as f64 / seconds,
            tokens as f64 / seconds / 1e6
        );
    }
    Ok(())
}

/// Memory of this process as the system counts it.
fn memory(when: &str) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0)
    };
    println!(
        "{when}: {} MiB resident, {} at most, {} threads",
        of("VmRSS") >> 10,
        of("VmHWM") >> 10,
        of("Threads")
    );
}
