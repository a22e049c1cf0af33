//! `corpusdb epoch stream`: writes the rows of an epoch to standard output, without an export.

use super::epoch::{EpochShards, RECIPE_OR_PLAN, planned};
use crate::cli::output;
use crate::cli::record::RecordArgs;
use crate::cli::session::now;
use crate::cli::verb::{CorpusPath, ExitStatus, PythonMethod, Streamed, Verb, VerbCall};
use corpusdb::Corpus;
use corpusdb::epoch::{
    Epoch, EpochError, Plan, StreamEntry, StreamFormat, StreamOptions, StreamViews,
};
use std::io::BufWriter;
use std::path::Path;

/// Batches that are read ahead of the one written.
const AHEAD: usize = 4;

/// Write the batches of one rank to standard output, from any batch on.
#[derive(clap::Args)]
pub(super) struct EpochStreamArgs {
    /// A recipe or the number of a plan.
    #[arg(value_name = "RECIPE|PLAN")]
    what: String,
    /// The epoch of the plan, counted from 0.
    #[arg(long, default_value_t = 0, value_name = "E")]
    epoch: u64,
    /// The rank, counted from 0.
    #[arg(long, default_value_t = 0, value_name = "R")]
    rank: u64,
    /// Number of ranks; it must divide batch.rows of the recipe.
    ///
    /// Each batch of max_tokens (or row, if the recipe has no batches) goes to one rank as a whole.
    #[arg(long, default_value_t = 1, value_name = "W")]
    world: u64,
    /// The first global batch to write, the same on all ranks; if the recipe has no batches, the first row.
    #[arg(long, default_value_t = 0, value_name = "N")]
    from_batch: u64,
    /// Accept a number of ranks that does not divide the batches evenly.
    ///
    /// Some ranks then get a row less, or no row, in turns.
    #[arg(long)]
    uneven: bool,
    /// Number of batches to write. By default all up to the end of the epoch.
    #[arg(long, value_name = "N")]
    batches: Option<u64>,
    /// The output format.
    #[arg(long, value_enum, default_value_t = StreamFormat::Jsonl)]
    format: StreamFormat,
    #[command(flatten)]
    record: RecordArgs,
    #[command(flatten)]
    shards: EpochShards,
    #[command(flatten)]
    views: StreamViews,
}

impl Verb for EpochStreamArgs {
    const PATH: &str = "epoch stream";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Plan.loader");
    const EXAMPLES: &[&str] = &[
        "corpusdb epoch stream crawl 1 | head -1",
        "corpusdb epoch stream crawl 1 --rank 0 --world 8 --from-batch 1200 --format arrow > batches.arrow",
    ];
    const NOTES: &str = RECIPE_OR_PLAN;
    type On = CorpusPath;
    type Report = Streamed;

    fn run(self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        call.session()?;
        let corpus = self.shards.open(path, call)?;
        let planned = planned(&corpus, &self.what, call)?;
        let epoch = corpus.epoch(&planned, self.epoch, &call.context)?;
        let (asked, there_are) = (self.from_batch, epoch.batches());
        if asked >= there_are {
            let past = EpochError::OutOfRange { what: "batch", asked, there_are };
            return Err(corpusdb::Error::from(past).into());
        }
        let options = StreamOptions {
            from_batch: self.from_batch,
            rank: self.rank,
            world: self.world,
            prefetch: AHEAD,
            uneven: self.uneven,
            ..StreamOptions::default()
        };
        let mut batches = epoch.stream(&options)?;
        let most = self.batches.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        let out = BufWriter::with_capacity(1 << 20, output::stdout());
        let mut printer = epoch.stream_writer_with(self.format, &self.views, out)?;
        let entry = match self.record.record {
            true => self.entry(&corpus, &planned, &epoch, &options, call),
            false => None,
        };
        let written = batches
            .by_ref()
            .take(most)
            .try_for_each(|batch| printer.write(&batch?))
            .and_then(|()| printer.finish());
        // A batch that was read but not taken may have gone out in part.
        let ended = entry.map(|entry| entry.end(batches.state().1));
        if let Some(Err(error)) = ended {
            call.note(&format!("not recorded: {:#}", anyhow::Error::from(error)));
        }
        written?;
        Ok(ExitStatus::Done.into())
    }
}

impl EpochStreamArgs {
    /// Puts the stream on record; without an entry a note says why.
    fn entry(
        &self,
        corpus: &Corpus,
        planned: &Plan,
        epoch: &Epoch,
        options: &StreamOptions,
        call: &VerbCall<'_>,
    ) -> Option<StreamEntry> {
        match corpus.record_stream(planned, epoch, options, ("stdout", now())) {
            Ok(entry) => Some(entry),
            Err(error) => {
                call.note(&format!("not recorded: {:#}", anyhow::Error::from(error)));
                None
            }
        }
    }
}
