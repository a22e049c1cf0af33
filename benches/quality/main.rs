//! Proof of what dedup promises, on real and on hostile text, that a sceptic can run again.
//!
//! `truth DIR`: every pair of `tldr`, `peps` and `code` (`.jsonl.zst`, fields `id` and `text`) with Jaccard
//! similarity 0.5 or more, by an exact join without any hashing trick, against what sketches and bands
//! find and what an ingest keeps. `edits DIR`: planted edits of known similarity on the same texts.
//! `stress`: templates, a crowded bucket and a hundred thousand copies, as time, memory and kept share.
//! `docs/BENCHMARKS.md` tells how to read the tables. The exit code is 0 when every must holds, 1 when one
//! does not, 2 when the run itself failed.
//!
//! Run: `cargo bench --bench quality -- truth DIR`, `-- edits DIR`, `-- stress`.
#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of its own: indices are those of its own lists, and its tables go to stdout"
)]

mod arguments;
mod checked;
mod data;
mod edits;
mod graph;
mod join;
mod musts;
mod plant;
mod random;
mod recall;
mod statistics;
mod stored;
mod stress;
mod table;
mod template;
mod truth;

use arguments::Arguments;
use musts::Musts;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(musts) => musts.conclude(),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> anyhow::Result<Musts> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    match arguments.command.as_str() {
        "truth" => truth::run(&arguments),
        "edits" => edits::run(&arguments),
        "stress" => stress::run(&arguments),
        "stress-one" => stress::one(&arguments),
        other => anyhow::bail!("no command `{other}`\n{}", arguments::USAGE),
    }
}
