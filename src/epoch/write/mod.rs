//! Writes an epoch: rows in order, ids gathered in the order of the store, files complete or absent.
//!
//! `spec` is what a plan says of its rows to their format, `columns` makes rows into what formats take, `shards` cuts
//! them into groups and shards. What is finished waits beside the output until all is ([`output`](files::output)).
//! `stream` and `unpadded` give batches without files. Two files are the way back: `id_files` reads the ids of an
//! epoch's rows from its files, and `collator` makes batches of their rows where there is no corpus.

mod collator;
mod columns;
mod id_files;
mod manifest;
mod shards;
mod spec;
mod stream;
mod unpadded;

pub use collator::{BuiltCollator, BuiltRow};
pub use files::output::ManifestFile;
pub(super) use manifest::{ExportCounts, RowCounts};
pub use manifest::{Manifest, ManifestSource, ManifestTotals};
pub(super) use spec::{check_output, row_spec};
pub use stream::{BatchPrinter, BatchTable, StreamFormat, StreamViews};

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::plan::{Plan, PlanHeader, masks};
use crate::epoch::rows::OpenPurpose;
use crate::epoch::run::{BatchCursor, BatchSampler, EpochIndex, OpenPlan};
use crate::epoch::stream::{EpochRow, Gatherer};
use files::output::{
    FileRename, LocalDestination, LocalStaging, OutputRequest, Staging, refuse_occupied,
};
use manifest::BUILDS;
use model::{Context, refuse_without_room};
use shards::{EpochPosition, FinishedDirectory, FinishedShard, Shards};
use spec::RowContext;
use std::path::Path;

/// Rows read at a time.
const CHUNK_ROWS: usize = 1 << 20;
/// Tokens of the first chunk: small, so that writing begins early. Chunks double from there.
const FIRST_TOKENS: u64 = 1 << 20;
/// Tokens of a chunk that serve any corpus.
const ENOUGH_TOKENS: u64 = 16 << 20;
/// Bytes that a token of a chunk takes: in the rows that are written, in those that are read meanwhile, as it was
/// read, and its part of what is known of segments.
const TOKEN_BYTES: u64 = 20;

/// Most tokens of a chunk. A chunk is read in the order of the store, so an epoch larger than memory is
/// made range by range, each in one pass over the documents it draws from; the larger the chunk, the closer
/// those passes come to reading the store from end to end.
fn chunk_tokens(tokens: u64, memory: u64) -> u64 {
    // Half of the memory; the rest is caches and buffers of the files.
    let most = (memory / 2 / TOKEN_BYTES).max(FIRST_TOKENS);
    (tokens / 8).max(ENOUGH_TOKENS).min(most)
}

/// What to build, and where.
#[derive(Clone, Copy)]
pub struct BuildJob<'a> {
    /// The epoch of the plan, counted from 0.
    pub epoch: u64,
    /// The directory to create.
    pub out: &'a Path,
}

impl BuildJob<'_> {
    /// Refuses a directory that cannot be made: before a plan is stored for it, say.
    ///
    /// # Errors
    /// [`EpochError`]: among them [`EpochError::Io`].
    pub fn refuse_taken(&self) -> Result<(), EpochError> {
        self.destination().map(drop)
    }

    /// The directory, which is not there, or empty.
    fn destination(&self) -> Result<LocalDestination, EpochError> {
        let request = OutputRequest {
            to: self.out,
            stores: None,
            is_directory: true,
            force: false,
            maker: &BUILDS,
        };
        Ok(refuse_occupied(&request)?)
    }
}

/// Writes epoch `epoch` of `plan`: its shards into the directory `out`, and its manifest: `.OUT.manifest.json` beside it where engines
/// read such a directory as one table, else `manifest.json` in it. The files are
/// made in `OUT.tmp-HASH` beside it, and the directory appears by one rename. Rows in flight take about half of the memory
/// at most; the bytes written depend neither on it nor on the threads. Progress is counted in tokens.
///
/// A build that was interrupted, killed or ran out of disk leaves its finished shards in `OUT.tmp-HASH`; the next one
/// of the same plan and epoch continues after them and gives the same bytes.
///
/// # Errors
/// [`EpochError`] when `out` is taken or an id too large, [`EpochError::Infeasible`], [`EpochError::Stale`],
/// [`EpochError::Limit`], [`EpochError::PadNeeded`], [`EpochError::Interrupted`], [`EpochError::Io`],
/// [`EpochError::Parquet`], [`EpochError::Store`]. `out` is then as it was.
pub fn build(
    corpora: &Corpora,
    planned: &Plan,
    epoch: u64,
    out: &Path,
    context: &Context<'_>,
) -> Result<Manifest, EpochError> {
    let plan = &planned.plan;
    let is_table = plan.recipe.output.file_format().is_read_as_table();
    let destination = BuildJob { epoch, out }.destination()?.with_manifest_inside(!is_table);
    plan.check_feasible(epoch)?;
    check_output(plan)?;
    let threads = context.threads;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| EpochError::Threads { threads, why: error.to_string() })?;
    let (staging, finished) = LocalStaging::begin_or_resume(destination, &identity(plan, epoch))?;
    let staging: Box<LocalStaging> = Box::new(staging);
    let written = pool.install(|| write_all(corpora, planned, epoch, finished, &staging, context));
    match written {
        Ok((manifest, renames)) => {
            let text = manifest.to_json();
            Staging::<EpochPosition>::publish(staging, &renames, Some(&text), context)?;
            Ok(manifest)
        }
        Err(error) => {
            Staging::<EpochPosition>::abandon(staging, error.can_pass());
            Err(error)
        }
    }
}

/// Tells builds apart, so that one goes on only with shards of its own.
fn identity(plan: &PlanHeader, epoch: u64) -> String {
    let built = format!("{}\0{}\0{epoch}", env!("CARGO_PKG_VERSION"), plan.hash_hex());
    blake3::hash(built.as_bytes()).to_hex().to_string()
}

/// Refuses what has no room for its ids alone, where those are written as they are: as other files it may be smaller.
fn refuse_too_large(
    plan: &PlanHeader,
    marks: &EpochIndex,
    finished: &[FinishedShard],
    place: &Path,
) -> Result<(), EpochError> {
    let output = &plan.recipe.output;
    if output.file_format().has_ids_as_they_are(output.compression()) {
        let written = finished.last().map_or(0, |shard| shard.position.counts.tokens());
        let tokens = marks.tokens().saturating_sub(written);
        let id_bytes = output.id_type(plan.tokenizer.vocab_size).bytes();
        let bytes = tokens.saturating_mul(id_bytes as u64);
        refuse_without_room("building", place, bytes)?;
    }
    Ok(())
}

fn write_all(
    corpora: &Corpora,
    planned: &Plan,
    epoch: u64,
    finished: Vec<FinishedShard>,
    staging: &LocalStaging,
    context: &Context<'_>,
) -> Result<(Manifest, Vec<FileRename>), EpochError> {
    let Plan { plan, pinned, .. } = planned;
    let Context { progress, interrupt, memory, .. } = *context;
    progress.begin("lengths", None);
    let opened = OpenPlan::open(corpora, planned, OpenPurpose::Give, interrupt)?;
    masks::check(corpora, opened.tokenizer, plan, pinned)?;
    let sampler = BatchSampler::of(plan);
    let marks = EpochIndex::of(&opened, &sampler, epoch, interrupt)?;
    marks.refuse_empty(plan)?;
    let mut ordered = BatchCursor::at(&opened, &sampler, &marks, 0)?;
    progress.begin("rows", Some(marks.tokens()));
    refuse_too_large(plan, &marks, &finished, staging.data())?;
    let mut done = finished.last().map_or(0, |shard| shard.position.counts.tokens());
    progress.advance(done);
    ordered.skip_rows(finished.last().map_or(0, |shard| shard.position.rows))?;
    // A quarter of the half that rows in flight do not take.
    let context = RowContext::of(&opened, memory / 8);
    let (format, dir) = (plan.recipe.output.file_format(), staging.data().to_path_buf());
    let mut shards = Shards::new(format, context, dir, plan.recipe.mix.unit, finished, memory / 8);
    let most = chunk_tokens(marks.tokens(), memory);
    let mut chunk = FIRST_TOKENS;
    let gatherer = Gatherer::new(&opened);
    let mut rows = read(&gatherer, &mut ordered, chunk)?;
    let finished = |shards: &[FinishedShard]| {
        if let Some(last) = shards.last() {
            staging.record(last)?;
            progress.advance(last.position.counts.tokens());
        }
        Ok(interrupt.check()?)
    };
    while !rows.is_empty() {
        interrupt.check()?;
        done += rows.iter().map(|row| row.own() as u64).sum::<u64>();
        chunk = chunk.saturating_mul(2).min(most);
        // The next chunk is read while this one is written.
        let (written, following) = rayon::join(
            || shards.write(rows, |written| gatherer.give_back(written), finished),
            || read(&gatherer, &mut ordered, chunk),
        );
        written?;
        progress.advance(done);
        rows = following?;
    }
    let FinishedDirectory { files, renames, counts } = shards.finish(finished)?;
    Ok((Manifest::new(plan, &marks, &counts, files), renames))
}

/// The next rows, with their ids.
fn read(
    gatherer: &Gatherer<'_>,
    ordered: &mut BatchCursor,
    tokens: u64,
) -> Result<Vec<EpochRow>, EpochError> {
    gatherer.rows(&ordered.next_rows(CHUNK_ROWS, tokens)?)
}

#[cfg(test)]
mod format_tests;
#[cfg(test)]
mod law_tests;
