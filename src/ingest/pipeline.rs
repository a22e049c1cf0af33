//! The pipeline of an ingest: reading, fingerprinting and writing, each on a thread of its own.
//!
//! A budget bounds the text that is under way between the stages. Some chunks wait for those behind them and are
//! committed with them: a chunk that takes the witness of many stored documents away has all of these decided again,
//! and with later chunks, most of them perhaps these documents under their keys, fewer are left. What is decided does
//! not depend on how the input is cut; a chunk that waits is not stored, nor is it said that its file was read so far.

use super::committer::{ChunkOutcome, Committer, MinBatch};
use super::converter::RecordConverter;
use super::decisions_file::DecisionsFile;
use super::field_tally::FieldTally;
use super::file_state::FileNumbers;
use super::file_tally::FileTally;
use super::filter::IngestFilter;
use super::fingerprinter::{
    FingerprintContext, FingerprintedChunk, SignalFields, fingerprint_chunk,
};
use super::load_validator::LoadValidator;
use super::monitor::IngestMonitor;
use super::options::IngestOptions;
use super::reader::{
    IngestChunk, IngestInput, IngestInputs, InputState, load_input_states, read_chunks,
};
use super::report::{Alarm, IngestReport};
use super::settlement::RejectSettlement;
use crate::decide::LoadedTokenizer;
use files::input::{LeftFile, LeftRole};
use model::{Context, DocId, Error, ErrorKind, IncomingFilter, Interrupted, Progress};
use rayon::ThreadPool;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;
use store::StoreWriter;
use text::contamination::SeedIndex;

/// What records are let in by, encoded by and searched with.
pub struct IngestResources<'a> {
    /// The condition of the options, where they have one.
    pub filter: Option<Arc<dyn IncomingFilter>>,
    /// All tokenizers of the corpus.
    pub tokenizers: &'a [LoadedTokenizer],
    /// What is searched for of its suites.
    pub seeds: SeedIndex,
    /// Takes decisions over that come with the records, where they do.
    pub judge: Option<&'a mut LoadValidator>,
}

/// Ingests `inputs` in order: of their records those that the filter lets in. Every committed batch stays, whatever
/// happens after it.
///
/// # Errors
/// [`Error`]; a truncated or damaged input is one only after all before the damage is committed.
pub fn ingest(
    writer: &mut StoreWriter,
    inputs: IngestInputs<'_>,
    options: &IngestOptions,
    crafts: IngestResources<'_>,
    context: &Context<'_>,
) -> Result<IngestReport, Error> {
    let IngestResources { filter, tokenizers, seeds, judge } = crafts;
    let IngestInputs { list: inlets, left } = inputs;
    let started = Instant::now();
    let Context { progress, interrupt, .. } = *context;
    let former = RecordConverter::new(options, tokenizers, interrupt)?.with_filter(filter, options);
    let former = former
        .with_seeds(seeds)
        .with_decisions(judge.as_ref().map(|judge| judge.ids.clone()))
        .with_declared(writer.view().fields())
        .with_stored(writer.view().documents());
    let pool = pool(context)?;
    let first = DocId(writer.view().documents());
    let watch = IngestMonitor::new(options, writer.view());
    let inputs_size = inlets.iter().map(IngestInput::size).sum();
    let settlement = RejectSettlement::of(&inlets, writer.view(), options)?;
    let paths = inlets.iter().map(IngestInput::path).collect::<Result<Vec<_>, _>>()?;
    let files: Vec<&Path> = inlets.iter().filter_map(IngestInput::file).collect();
    let decisions = match &options.decisions {
        Some(file) => Some(DecisionsFile::create(file, &files, writer.unnamed_file()?)?),
        None => None,
    };
    let mut numbers = FileNumbers::of(paths, writer.view(), options)?;
    let inputs = load_input_states(inlets, &mut numbers, writer.view(), options)?;
    let report = IngestReport {
        source: options.source.clone(),
        files: FileTally::of_left(left),
        policy: writer.view().policy().to_string(),
        tokens: tokenizers.iter().map(|tokenizer| (tokenizer.name.clone(), 0)).collect(),
        ..IngestReport::default()
    };
    let fields = FieldTally::of(writer.view().fields());
    let mut commits = Committer {
        options,
        tokenizers,
        interrupt,
        watch,
        report,
        fields,
        decisions,
        judge,
        numbers,
        settlement,
        file: None,
    };
    progress.begin("ingesting", Some(inputs_size));
    let result = in_stages(writer, inputs, &former, &pool, &mut commits, progress);
    let Committer { watch, mut report, fields, decisions, .. } = commits;
    let flushing = Instant::now();
    writer.flush_if_long()?;
    report.stages.commit += flushing.elapsed().as_secs_f64();
    progress.end();
    report.count_standings(writer.view(), first)?;
    report.alarms = former.alarms().to_vec();
    report.alarms.extend(watch.alarms(writer.view(), first, report.read, report.unchanged)?);
    report.alarms.extend(fields.alarms(writer.view(), first)?);
    report.misfits = fields.misfits();
    if report.passed.html > 0 {
        report.alarms.push(Alarm::Html { pages: report.passed.html });
    }
    report.alarms.extend(file_alarms(&report, inputs_size));
    if !report.left_columns.is_empty() {
        let columns = report.left_columns.iter().cloned().collect();
        report.alarms.push(Alarm::ColumnsLeft { columns });
    }
    let unseen = former.sieve().map(IngestFilter::unknown_fields).unwrap_or_default();
    if report.filtered > 0 && !unseen.is_empty() {
        report.alarms.push(Alarm::UnknownFields { fields: unseen });
    }
    report.seconds = started.elapsed().as_secs_f64();
    result?;
    if interrupt.is_raised() {
        return Err(Interrupted { done: Some((report.added, "documents were added")) }.into());
    }
    if let Some(decisions) = decisions {
        decisions.finish(writer.view())?;
    }
    Ok(report)
}

/// Files that somebody should look at; `read` are the bytes of those that were to be read.
fn file_alarms(report: &IngestReport, read: u64) -> Vec<Alarm> {
    let files = &report.files;
    let named = |file: &LeftFile| format!("{}: {}", file.path, file.why);
    let left_as = |role| files.left_as(role).map(|(files, first)| (files, named(first)));
    let mut alarms = Vec::new();
    if let Some((files, first)) = left_as(LeftRole::Damaged) {
        alarms.push(Alarm::DamagedFiles { files, first });
    }
    if let Some((files, first)) = left_as(LeftRole::Foreign) {
        alarms.push(Alarm::ForeignFiles { files, first });
    }
    if let Some((objects, first)) = left_as(LeftRole::Unreachable) {
        alarms.push(Alarm::ObjectsLeft { objects, first });
    }
    let by_rule = [LeftRole::Leftover, LeftRole::Description];
    let bytes: u64 = by_rule.iter().map(|role| files.bytes_left_as(*role)).sum();
    let of_rule: Vec<_> = by_rule.iter().filter_map(|role| files.left_as(*role)).collect();
    if let Some((_, first)) = of_rule.first()
        && bytes > 0
        && bytes.saturating_mul(SKIPPED_SHARE) >= bytes.saturating_add(read)
    {
        let (files, first) = (of_rule.iter().map(|(files, _)| files).sum(), named(first));
        alarms.push(Alarm::FilesLeft { files, bytes, read, first });
    }
    if let Some(first) = files.first_page.clone() {
        alarms.push(Alarm::HtmlFiles { files: files.pages, first });
    }
    if let Some(first) = files.trailing.first() {
        let (files, first) = (files.trailing.len() as u64, first.clone());
        alarms.push(Alarm::TrailingBytes { files, first });
    }
    if let Some(first) = files.odd_quotes.first() {
        let (files, first) = (files.odd_quotes.len() as u64, first.clone());
        alarms.push(Alarm::OddQuotes { files, first });
    }
    alarms
}

/// The threads that fingerprint and encode.
///
/// # Errors
/// [`Error`] when they cannot be started.
pub(super) fn pool(context: &Context<'_>) -> Result<ThreadPool, Error> {
    let threads = context.threads;
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| format!("cannot start {threads} threads: {error}"))
        .map_err(|message| Error::of(ErrorKind::Failed, message))
}

/// Runs the stages side by side: one thread reads, one fingerprints on the pool, this one writes.
fn in_stages(
    writer: &mut StoreWriter,
    inputs: Vec<InputState<'_>>,
    former: &RecordConverter,
    pool: &ThreadPool,
    commits: &mut Committer<'_>,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let (options, interrupt) = (commits.options, commits.interrupt.of_part());
    let (policy, feed) = (writer.view().policy().clone(), SignalFields::of(writer.view())?);
    let (send_raw, receive_raw) = sync_channel::<IngestChunk>(1);
    let (send_ready, receive_ready) = sync_channel::<FingerprintedChunk>(1);
    let flight = InFlightBudget::of(options.batch_bytes);
    let tokenizers = commits.tokenizers;
    std::thread::scope(|scope| {
        // Beside the reading of the first chunk.
        let building = (pool.current_num_threads() > 1)
            .then(|| scope.spawn(|| tokenizers.iter().for_each(|it| it.tokenizer.build_encoder())));
        let (policy, feed, flight, interrupt) = (&policy, &feed, &flight, &interrupt);
        let reading = scope.spawn(move || {
            read_chunks(inputs, options, former.read(), interrupt, &mut |chunk| {
                flight.acquire(chunk.bytes);
                send_raw.send(chunk).is_ok()
            });
        });
        let fingerprinting = scope.spawn(move || {
            let mut seconds = 0.0;
            let context = FingerprintContext {
                source: &options.source,
                policy,
                signals: feed,
                converter: former,
                on_error: options.on_error,
                pool,
            };
            for chunk in receive_raw {
                let started = Instant::now();
                let ready = fingerprint_chunk(chunk, &context);
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
        let chunks = receive_ready.into_iter().inspect({
            let mut building = building;
            move |_| building.take().map_or((), |building| building.join().unwrap_or_default())
        });
        let written = drain(writer, chunks, commits, pool, progress, flight);
        drop(taker);
        // Whoever waits for a pipe waits in vain.
        interrupt.raise();
        match (reading.join(), fingerprinting.join()) {
            (Ok(()), Ok(seconds)) => commits.report.stages.fingerprint = seconds,
            // The input was not read to its end: that must not look like success.
            _ => {
                let message = "a stage of the ingest failed unexpectedly (see its message above); commits stay";
                return written.and(Err(Error::of(ErrorKind::Failed, message)));
            }
        }
        written
    })
}

/// Writes the chunks that come, one after the other.
fn drain(
    writer: &mut StoreWriter,
    mut chunks: impl Iterator<Item = FingerprintedChunk>,
    commits: &mut Committer<'_>,
    pool: &ThreadPool,
    progress: &dyn Progress,
    flight: &InFlightBudget,
) -> Result<(), Error> {
    let options = commits.options;
    let mut waiting = ChunkMerger::new(options, writer.batch_bytes());
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
            // The chunk is not stored; who calls sees that a stop was requested.
            Err(error) if error.is_interrupt() => break,
            Err(error) => return Err(error),
        };
        if let Some(decisions) = &mut commits.decisions {
            decisions.note(&fates)?;
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
    Ok(())
}

/// Chunks that the stages and the channels between them hold when all are busy.
const CHUNKS: u64 = 5;
/// Skipped files are an alarm from this part of all bytes on.
const SKIPPED_SHARE: u64 = 100;

/// Bytes that were read and are not committed yet. A chunk has at least one record, however long: many chunks of very
/// long records must not be held at once.
struct InFlightBudget {
    limit: u64,
    /// None when no stage takes chunks any more.
    bytes: Mutex<Option<u64>>,
    landed: Condvar,
}

/// Ends the budget when the stage that takes chunks ends, however it ends: then no reader waits.
struct BudgetGuard<'f>(&'f InFlightBudget);

impl Drop for BudgetGuard<'_> {
    fn drop(&mut self) {
        *self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.landed.notify_all();
    }
}

impl InFlightBudget {
    /// Chunks of `batch_bytes` never wait.
    pub(super) fn of(batch_bytes: u64) -> Self {
        let limit = batch_bytes.saturating_mul(CHUNKS);
        Self { limit, bytes: Mutex::new(Some(0)), landed: Condvar::new() }
    }

    /// Waits until there is room for a chunk, or nothing else is under way.
    pub(super) fn acquire(&self, chunk: u64) {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |bytes: &mut Option<u64>| {
            bytes.is_some_and(|bytes| bytes > 0 && bytes.saturating_add(chunk) > self.limit)
        };
        let waited = self.landed.wait_while(bytes, is_full);
        let mut bytes = waited.unwrap_or_else(PoisonError::into_inner);
        *bytes = bytes.map(|bytes| bytes.saturating_add(chunk));
    }

    /// A chunk is gone, committed or not.
    pub(super) fn release(&self, chunk: u64) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        *bytes = bytes.map(|bytes| bytes.saturating_sub(chunk));
        self.landed.notify_all();
    }

    /// Whoever takes chunks holds this while it does.
    pub(super) const fn guard(&self) -> BudgetGuard<'_> {
        BudgetGuard(self)
    }
}

/// At most one chunk, of all that wait.
struct ChunkMerger {
    /// Bytes of text up to which chunks are put together.
    limit: u64,
    chunk: Option<FingerprintedChunk>,
    /// Records with which it continues.
    until: usize,
}

impl ChunkMerger {
    /// Nothing waits. `most` is the text of a commit that memory has room for, whatever the user says.
    pub(super) const fn new(options: &IngestOptions, most: u64) -> Self {
        Self { limit: most.saturating_sub(options.batch_bytes), chunk: None, until: 0 }
    }

    /// What waits, with the chunk that comes behind it.
    pub(super) fn merge(&mut self, next: Option<FingerprintedChunk>) -> Option<FingerprintedChunk> {
        let Some(mut chunk) = self.chunk.take() else { return next };
        if let Some(FingerprintedChunk { chunk: behind, items }) = next {
            chunk.items.extend(items);
            let all = &mut chunk.chunk;
            all.parts.extend(behind.parts);
            all.left_columns.extend(behind.left_columns);
            all.unchanged += behind.unchanged;
            all.passed += behind.passed;
            all.files.merge(behind.files);
            all.filtered += behind.filtered;
            all.input_bytes = behind.input_bytes;
            all.bytes += behind.bytes;
            all.error = behind.error;
            all.is_last = behind.is_last;
        }
        Some(chunk)
    }

    /// Whether a chunk may wait, if another one comes: with that one it is within the limit.
    pub(super) const fn admits(&self, chunk: &FingerprintedChunk) -> bool {
        chunk.chunk.error.is_none() && chunk.chunk.bytes <= self.limit
    }

    /// Whether what waited waits on.
    pub(super) fn needs_more(&self, chunk: &FingerprintedChunk) -> bool {
        records(chunk) < self.until
    }

    /// A chunk waits on.
    pub(super) fn keep(&mut self, chunk: FingerprintedChunk) {
        self.chunk = Some(chunk);
    }

    /// A chunk waits until it has as many documents as it wants, if further records are as often new ones as these.
    pub(super) fn keep_until(&mut self, chunk: FingerprintedChunk, want: MinBatch) {
        let records = records(&chunk);
        self.until = records.saturating_mul(want.documents) / want.has.max(1);
        self.chunk = Some(chunk);
    }

    /// What waited is committed: what comes next waits for reasons of its own.
    pub(super) const fn reset(&mut self) {
        self.until = 0;
    }
}

fn records(chunk: &FingerprintedChunk) -> usize {
    chunk.items.iter().map(Vec::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Five chunks of 60 MB each were held at once, whatever --memory said.
    #[test]
    fn long_records_pass_one_at_a_time() {
        for (chunk, most) in [(100, 5), (60_000, 1), (300, 1), (250, 2)] {
            let flight = InFlightBudget::of(100);
            let (inside, peak) = (AtomicU64::new(0), AtomicU64::new(0));
            std::thread::scope(|scope| {
                for _ in 0..16 {
                    scope.spawn(|| {
                        flight.acquire(chunk);
                        peak.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        flight.release(chunk);
                    });
                }
            });
            assert!(peak.into_inner() <= most, "chunks of {chunk}");
        }
        let flight = InFlightBudget::of(100);
        let taker = flight.guard();
        (0..5).for_each(|_| flight.acquire(100));
        drop(taker);
        (0..5).for_each(|_| flight.acquire(100));
    }
}
