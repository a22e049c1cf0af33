//! `corpusdb epoch stream` and `row`: the rows of an epoch, without an export.

use super::epoch::{EpochShards, RECIPE_OR_PLAN, planned};
use crate::cli::output::{self, Output};
use crate::cli::verb::{
    ALL_BY_HAND, CorpusPath, ExitStatus, NoOptions, Report, Streamed, Verb, VerbCall,
};
use corpusdb::Corpus;
use corpusdb::epoch::{Corpora, EpochError, EpochRow, StreamFormat, StreamOptions, StreamViews};
use serde::Serialize;
use std::io::BufWriter;
use std::path::Path;

/// Batches read ahead of those that are written.
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
    shards: EpochShards,
    #[command(flatten)]
    views: StreamViews,
}

impl Verb for EpochStreamArgs {
    const PATH: &str = "epoch stream";
    const PYTHON: &str = "Plan.loader";
    const PYTHON_BY_HAND: &[&str] = ALL_BY_HAND;
    const EXAMPLES: &[&str] = &[
        "corpusdb epoch stream crawl 1 | head -1",
        "corpusdb epoch stream crawl 1 --rank 0 --world 8 --from-batch 1200 --format arrow > batches.arrow",
    ];
    const NOTES: &str = RECIPE_OR_PLAN;
    type On = CorpusPath;
    type Options = StreamViews;
    type Report = Streamed;

    fn run(self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<Streamed> {
        call.session()?;
        let corpus = self.shards.open(path, call)?;
        let planned = planned(&corpus, &self.what, call)?;
        let epoch = corpus.epoch(&planned, self.epoch, &call.context)?;
        let (asked, there_are) = (self.from_batch, epoch.batches());
        if asked >= there_are {
            let past = EpochError::OutOfRange { what: "batch", asked, there_are };
            return Err(corpusdb::Error::from(past).into());
        }
        let batches = epoch.stream(&StreamOptions {
            from_batch: self.from_batch,
            rank: self.rank,
            world: self.world,
            prefetch: AHEAD,
            uneven: self.uneven,
            ..StreamOptions::default()
        })?;
        let most = self.batches.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        let out = BufWriter::with_capacity(1 << 20, output::stdout());
        let mut printer = epoch.stream_writer_with(self.format, &self.views, out)?;
        for batch in batches.take(most) {
            printer.write(&batch?)?;
        }
        printer.finish()?;
        Ok(ExitStatus::Done.into())
    }
}

/// Show one row: its segments, and the document and position that each comes from.
#[derive(clap::Args)]
pub(super) struct EpochRowArgs {
    /// A recipe or the number of a plan.
    #[arg(value_name = "RECIPE|PLAN")]
    what: String,
    /// Number of the row in the epoch.
    row: u64,
    /// The epoch of the plan, counted from 0.
    #[arg(long, default_value_t = 0, value_name = "E")]
    epoch: u64,
    #[command(flatten)]
    shards: EpochShards,
}

/// A row of an epoch.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct RowReport {
    /// Its number in the epoch.
    row: u64,
    /// Its global batch; none if the recipe has no batches.
    batch: Option<u64>,
    /// Its source; none for a row of pads.
    source: Option<String>,
    /// Positions of the row.
    width: u32,
    /// The documents in it, in order.
    segments: Vec<RowSegment>,
    /// Its ids, pads included.
    input_ids: Vec<u32>,
}

/// A document or a part of one in a row.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct RowSegment {
    /// The document; with several corpora its number among those of all.
    document: u64,
    /// Its key.
    key: String,
    /// The first token of the document that is in the row.
    offset: u32,
    /// The number of its tokens in the row.
    length: u32,
    /// Tokens of the document.
    document_length: u32,
    /// The position of the first one in the row.
    start: u32,
    /// The corpus that it is in, from 0, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<u64>,
    /// Its id in that corpus.
    #[serde(skip)]
    id: u64,
}

impl Verb for EpochRowArgs {
    const PATH: &str = "epoch row";
    const PYTHON: &str = "Plan.row";
    const PYTHON_BY_HAND: &[&str] = ALL_BY_HAND;
    const EXAMPLES: &[&str] = &["corpusdb epoch row crawl 1 4711"];
    const NOTES: &str = RECIPE_OR_PLAN;
    type On = CorpusPath;
    type Options = NoOptions;
    type Report = RowReport;

    fn run(self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<RowReport> {
        let corpus = self.shards.open(path, call)?;
        let planned = planned(&corpus, &self.what, call)?;
        let found = corpus.epoch(&planned, self.epoch, &call.context)?.row(self.row)?;
        RowReport::of(&found, &corpus, !planned.plan.shards.is_empty())
    }
}

impl RowReport {
    fn of(row: &EpochRow, corpus: &Corpus, is_sharded: bool) -> anyhow::Result<Self> {
        let spans = row.segments().iter().zip(&row.shape().spans);
        let segments = spans.map(|(segment, span)| {
            let (shard, id) = Corpora::place(segment.document);
            anyhow::Ok(RowSegment {
                document: segment.document.0,
                key: corpus.key_of(segment.document)?,
                offset: segment.offset,
                length: segment.length,
                document_length: segment.document_length,
                start: span.start,
                shard: is_sharded.then_some(shard),
                id: id.0,
            })
        });
        Ok(Self {
            row: row.number(),
            batch: row.batch(),
            source: row.source().map(str::to_owned),
            width: row.shape().width,
            segments: segments.collect::<anyhow::Result<_>>()?,
            input_ids: row.ids().to_vec(),
        })
    }
}

impl Report for RowReport {
    const TYPE: &'static str = "row";

    fn print(&self, out: &mut Output) {
        let Self { row, width, segments, .. } = self;
        let real: u32 = segments.iter().map(|segment| segment.length).sum();
        let batch = self.batch.map_or_else(String::new, |batch| format!(", batch {batch}"));
        let source = self.source.as_deref().unwrap_or("none, pads only");
        out.line(format!("row {row}{batch}: source {source}, {real} real tokens of {width}"));
        let line = |segment: &RowSegment| {
            let rest = [segment.length, segment.offset, segment.document_length];
            let mut line = vec![segment.key.clone()];
            line.extend(segment.shard.map(|shard| shard.to_string()));
            line.extend([segment.id.to_string(), segment.start.to_string()]);
            line.extend(rest.map(|number| number.to_string()));
            line
        };
        let lines: Vec<Vec<String>> = segments.iter().map(line).collect();
        let is_sharded = segments.iter().any(|segment| segment.shard.is_some());
        let mut head = vec!["key"];
        head.extend(is_sharded.then_some("shard"));
        head.extend(["document", "at", "tokens", "from", "of"]);
        out.table(&head, &lines);
    }
}
