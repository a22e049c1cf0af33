//! The pipeline: reading, fingerprinting and writing, each on a thread of its own.

use super::alarm::Alarm;
use super::decisions::DecisionsFile;
use super::error::IngestError;
use super::feed::SignalFields;
use super::flight::InFlightBudget;
use super::form::RecordConverter;
use super::judge::LoadValidator;
use super::options::IngestOptions;
use super::prepare::{FingerprintedChunk, fingerprint_chunk};
use super::produce::{IngestChunk, IngestInput, InputState, load_input_states, read_chunks};
use super::report::IngestReport;
use super::sift::IngestFilter;
use super::waiting::ChunkMerger;
use super::watch::IngestMonitor;
use super::write::{ChunkOutcome, Committer};
use crate::contamination::Seeds;
use crate::decide::{DecideError, LoadedTokenizer};
use crate::model::{Context, DocId, IncomingFilter, Progress};
use crate::store::Writer;
use rayon::ThreadPool;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Instant;

/// What records are let in by, encoded by and searched with.
pub struct IngestResources<'a> {
    /// The condition of the options, where they have one.
    pub filter: Option<Arc<dyn IncomingFilter>>,
    /// All tokenizers of the corpus.
    pub tokenizers: &'a [LoadedTokenizer],
    /// What is looked for of its suites.
    pub seeds: Seeds,
    /// Takes decisions over that come with the records, where they do.
    pub judge: Option<&'a mut LoadValidator>,
}

/// Ingests `inlets` in order: of their records those that the filter lets in. Every committed batch stays, whatever
/// happens after it.
///
/// # Errors
/// [`IngestError`]; a truncated or damaged input is one only after all before the damage is committed.
pub fn ingest(
    writer: &mut Writer,
    inlets: Vec<IngestInput<'_>>,
    options: &IngestOptions,
    crafts: IngestResources<'_>,
    context: &Context<'_>,
) -> Result<IngestReport, IngestError> {
    let IngestResources { filter, tokenizers, seeds, judge } = crafts;
    let started = Instant::now();
    let Context { progress, interrupt, .. } = *context;
    let former = RecordConverter::new(options, tokenizers, interrupt)?.with_filter(filter, options);
    let former =
        former.with_seeds(seeds).with_decisions(judge.as_ref().map(|judge| judge.ids.clone()));
    let pool = pool(context)?;
    let first = DocId(writer.view().documents());
    let watch = IngestMonitor::new(options, writer.view());
    let inputs_size = inlets.iter().map(IngestInput::size).sum();
    let inputs = load_input_states(inlets, writer.view(), options)?;
    let report = IngestReport {
        source: options.source.clone(),
        policy: writer.view().policy().to_string(),
        tokens: tokenizers.iter().map(|tokenizer| (tokenizer.name.clone(), 0)).collect(),
        ..IngestReport::default()
    };
    let mut commits = Committer { options, tokenizers, interrupt, watch, report, judge };
    progress.begin("ingesting", Some(inputs_size));
    let result = in_stages(writer, inputs, &former, &pool, &mut commits, progress);
    let Committer { watch, mut report, .. } = commits;
    let flushing = Instant::now();
    writer.flush()?;
    report.stages.commit += flushing.elapsed().as_secs_f64();
    progress.end();
    report.count_standings(writer.view(), first)?;
    report.alarms = former.alarms().to_vec();
    report.alarms.extend(watch.alarms(writer.view(), report.read, report.unchanged)?);
    if report.passed.html > 0 {
        report.alarms.push(Alarm::Html { pages: report.passed.html });
    }
    let unseen = former.sieve().map(IngestFilter::unknown_fields).unwrap_or_default();
    if report.filtered > 0 && !unseen.is_empty() {
        report.alarms.push(Alarm::UnknownFields { fields: unseen });
    }
    report.seconds = started.elapsed().as_secs_f64();
    result?;
    if interrupt.is_raised() {
        return Err(IngestError::Interrupted { report: Box::new(report) });
    }
    Ok(report)
}

/// The threads that fingerprint and encode.
///
/// # Errors
/// [`IngestError::Threads`] when they cannot be started.
pub(super) fn pool(context: &Context<'_>) -> Result<ThreadPool, IngestError> {
    let threads = context.threads;
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| IngestError::Threads { threads, why: error.to_string() })
}

/// Runs the stages side by side: one thread reads, one fingerprints on the pool, this one writes.
fn in_stages(
    writer: &mut Writer,
    inputs: Vec<InputState<'_>>,
    former: &RecordConverter,
    pool: &ThreadPool,
    commits: &mut Committer<'_>,
    progress: &dyn Progress,
) -> Result<(), IngestError> {
    let (options, interrupt) = (commits.options, commits.interrupt);
    let (policy, feed) = (writer.view().policy().clone(), SignalFields::of(writer.view())?);
    let (send_raw, receive_raw) = sync_channel::<IngestChunk>(1);
    let (send_ready, receive_ready) = sync_channel::<FingerprintedChunk>(1);
    let flight = InFlightBudget::of(options.batch_bytes);
    std::thread::scope(|scope| {
        let (policy, feed, flight) = (&policy, &feed, &flight);
        let reading = scope.spawn(move || {
            read_chunks(inputs, options, former, interrupt, &mut |chunk| {
                flight.acquire(chunk.bytes);
                send_raw.send(chunk).is_ok()
            });
        });
        let fingerprinting = scope.spawn(move || {
            let mut seconds = 0.0;
            for chunk in receive_raw {
                let started = Instant::now();
                let ready = pool
                    .install(|| fingerprint_chunk(chunk, &options.source, policy, feed, former));
                seconds += started.elapsed().as_secs_f64();
                if former.is_interrupted() {
                    break;
                }
                if send_ready.send(ready).is_err() {
                    break;
                }
            }
            seconds
        });
        let taker = flight.guard();
        let written = drain(writer, receive_ready, commits, pool, progress, flight);
        drop(taker);
        match (reading.join(), fingerprinting.join()) {
            (Ok(()), Ok(seconds)) => commits.report.stages.fingerprint = seconds,
            // The input was not read to its end: that must not look like success.
            _ => return written.and(Err(IngestError::Panicked)),
        }
        written
    })
}

/// Writes the chunks that come, one after the other.
fn drain(
    writer: &mut Writer,
    chunks: Receiver<FingerprintedChunk>,
    commits: &mut Committer<'_>,
    pool: &ThreadPool,
    progress: &dyn Progress,
    flight: &InFlightBudget,
) -> Result<(), IngestError> {
    let options = commits.options;
    let mut decisions = options.decisions.as_deref().map(DecisionsFile::create).transpose()?;
    let mut waiting = ChunkMerger::new(options, writer.batch_bytes());
    let mut chunks = chunks.into_iter();
    loop {
        let next = chunks.next();
        let is_last = next.is_none();
        let bytes = next.as_ref().map_or(0, |chunk| chunk.chunk.bytes);
        commits.report.stages.read += next.as_ref().map_or(0.0, |chunk| chunk.chunk.seconds);
        let Some(mut chunk) = waiting.merge(next) else { break };
        // What waits is bounded by itself: were it under way too, nothing could come to it.
        let may_wait = !is_last && waiting.admits(&chunk);
        if may_wait && waiting.needs_more(&chunk) {
            waiting.keep(chunk);
            flight.release(bytes);
            continue;
        }
        // Only the work goes to the pool: a thread of it that waited here would be one too few.
        let written = pool.install(|| commits.write(writer, &chunk, may_wait));
        let fates = match written {
            Ok(ChunkOutcome::Waits(want)) => {
                waiting.keep_until(chunk, want);
                flight.release(bytes);
                continue;
            }
            Ok(ChunkOutcome::Committed(fates)) => fates,
            // The chunk is not stored; who calls sees that a stop was asked for.
            Err(IngestError::Decide(DecideError::Interrupted)) => break,
            Err(error) => return Err(error),
        };
        if let Some(decisions) = &mut decisions {
            decisions.write(writer.view(), &fates)?;
        }
        progress.advance(chunk.chunk.input_bytes);
        progress.tally(&commits.report.tally(chunk.chunk.input_bytes));
        if let Some(error) = chunk.chunk.error.take() {
            return Err(error);
        }
        drop(chunk);
        waiting.reset();
        flight.release(bytes);
    }
    decisions.map_or(Ok(()), DecisionsFile::finish)
}
