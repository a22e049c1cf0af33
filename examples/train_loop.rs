//! Plans an epoch and streams its batches to a training loop, which is killed halfway and goes on where it was.
//!
//! Run: `cargo run --release --example train_loop`
#![expect(clippy::print_stdout, reason = "an example talks")]

use corpusdb::curate::TrainingTexts;
use corpusdb::epoch::{EpochBatch, StreamOptions};
use corpusdb::ingest::{Record, Records};
use corpusdb::tokenizer::TrainOptions;
use corpusdb::{Context, Corpus, DedupMode, IngestOptions, Policy, Recipe};
use std::error::Error;
use std::path::Path;

const RECIPE: &str = r#"
version = 1
seed = 7
[tokenizer]
specials = { eos = "<|endoftext|>" }
[pack]
kind = "concat"
length = 128
[batch]
rows = 4
"#;

/// What a checkpoint keeps beside the weights: the epoch with the next batch of all ranks, and tokens seen.
type Checkpoint = ((u64, u64), usize);

/// Makes a corpus and its plan, then trains on it: in two parts, and in one.
pub fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("corpus");
    let plan = plan(&path)?;
    let killed = train(&path, plan, ((0, 0), 0), 5)?;
    let end = train(&path, plan, killed, usize::MAX)?;
    let whole = train(&path, plan, ((0, 0), 0), usize::MAX)?;
    println!("{} tokens in two parts, {} in one", end.1, whole.1);
    assert_eq!(end, whole);
    Ok(())
}

/// Trains on rank 0 of 2 for at most `steps` steps.
fn train(
    path: &Path,
    plan: u32,
    ((number, next), mut tokens): Checkpoint,
    steps: usize,
) -> Result<Checkpoint, Box<dyn Error>> {
    let corpus = Corpus::options().memory(256 << 20).open(path)?;
    let epoch = corpus.epoch(&corpus.stored_plan(plan)?, number, &Context::new())?;
    let mut stream =
        epoch.stream(&StreamOptions { from_batch: next, ..StreamOptions::of_rank(0, 2) })?;
    for batch in stream.by_ref().take(steps) {
        tokens += step(&batch?);
    }
    println!("stopped before batch {} of {}", stream.state().1, epoch.batches());
    Ok((stream.state(), tokens))
}

/// Where the model would be: answers the tokens that it saw.
fn step(batch: &EpochBatch) -> usize {
    batch.rows.iter().map(|row| row.ids().len()).sum()
}

/// A corpus with a tokenizer of its own and the plan of a run; answers the number of the plan.
fn plan(path: &Path) -> Result<u32, Box<dyn Error>> {
    Corpus::init(path, &Policy::new(DedupMode::Exact, 0.8)?, &[])?;
    let mut writer = Corpus::options().memory(256 << 20).threads(2).open_writer(path)?;
    let logs = (0..2000).map(|n| Record::new(format!("Ship {n} passes the light at {}.", n % 24)));
    let (records, options) = (Records::new("log", logs), IngestOptions::new("log"));
    writer.ingest(records, &options, &Context::new())?;
    let specials = vec!["<|endoftext|>".to_owned()];
    let options = TrainOptions { vocab_size: 400, specials, ..TrainOptions::default() };
    let on = TrainingTexts::default();
    let trained = writer.train_tokenizer(&options, &on, &Context::new())?;
    writer.add_tokenizer("own", &trained.json, "trained here", &Context::new())?;
    let (record, _) = writer.plan(&Recipe::parse(RECIPE)?, &Context::new())?;
    Ok(record.number)
}
