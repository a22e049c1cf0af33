//! `corpusdb bulk-load`: documents with the decisions that a cluster made about them.

use super::ingest::report;
use super::setup::{CommandSession, bytes, stores};
use super::{Outcome, print};
use corpusdb::ingest::LoadOptions;
use corpusdb::{CorpusWriter, IngestOptions};
use std::path::PathBuf;

/// Bring in documents with the decisions that corpusdb.spark made about them, without deciding again
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  corpusdb bulk-load crawl s3://crawl/load-2026
  corpusdb bulk-load crawl load-2026 --check
  corpusdb bulk-load crawl-3 s3://crawl/load-2026 --shard 3

DIR is what corpusdb.spark.write_load wrote. The corpus has the policy that the documents were
decided with, and of other documents none but those that they were decided against. Run the same
command again after an interrupt: it goes on where it stopped.")]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// The load: a directory, also in a store (s3://, gs://, az://)
    #[arg(value_name = "DIR")]
    directory: String,
    /// Compare every removed document with its witness, and make all token ids again, not of one in 64
    #[arg(long)]
    check: bool,
    /// Which shard this corpus takes of a load in shards, counted from 0
    #[arg(long, value_name = "N")]
    shard: Option<u32>,
    /// Text per commit [default: 1/256 of --memory, 4 MiB to 16 MiB]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    batch_bytes: Option<u64>,
    /// Check and report, but change nothing (works on a copy that is removed; needs the room of the load)
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let options = LoadOptions {
        batch_bytes: args
            .batch_bytes
            .unwrap_or_else(|| IngestOptions::batch_bytes_within(session.memory)),
        check_all: args.check,
        shard: args.shard,
        stores: stores(),
    };
    let target = session.target(&args.corpus, args.dry_run)?;
    let mut writer: CorpusWriter = session.write(target.path())?;
    let done = writer.bulk_load(&args.directory, &options, &session.context())?;
    if session.json {
        print::report("bulk-load", &done, args.dry_run)?;
        return Ok(Outcome::Good);
    }
    report::show(&done.ingest, args.dry_run)?;
    print::line(&format!(
        "  {} removed documents compared with their witnesses; {} came before theirs; {} texts came with their token ids",
        print::number(done.compared),
        print::number(done.later),
        print::number(done.brought)
    ))?;
    Ok(Outcome::Good)
}
