//! Commits one prepared chunk: identifies and decides its records, makes token ids, writes rows and progress of files.
//!
//! Progress is the rejects of the chunk and the resume points of its files. Rejects that a file gave before and does
//! not give now are settled in the same commit.

use super::decider::{arrive, find_equal_texts, store_document};
use super::decisions_file::DecisionsFile;
use super::encoder::{EncodedDocuments, encode, store_ids};
use super::field_tally::FieldTally;
use super::file_state::{FileNumbers, reading_key_of_part};
use super::fingerprinter::{FingerprintedChunk, FingerprintedItem, FingerprintedRecord};
use super::identify::{ChunkSources, IdentifiedChunk, PendingDocument, RecordOutcome, identify};
use super::load_validator::LoadValidator;
use super::monitor::IngestMonitor;
use super::options::{IngestOptions, RecordForm};
use super::reader::{InputPart, PartKind};
use super::report::IngestReport;
use super::settlement::RejectSettlement;
use crate::decide::{
    CommitDecisions, DecisionSession, EncodedBatch, LoadedTokenizer, Orphans, encode_again,
};
use files::input::CAPTURE_DATE;
use model::{DocId, Error, FileId, Interrupt, Reject, SourceId, Standing};
use std::collections::BTreeSet;
use std::time::Instant;
use store::{
    CommitBatch, CommitRecord, FileRecord, RejectNovelty, RejectRecord, StoreWriter, View,
};

/// What became of a chunk.
pub(super) enum ChunkOutcome {
    /// The chunk is committed, with the fate of every record in order.
    Committed(Vec<RecordOutcome>),
    /// The chunk should wait for more documents.
    Waits(MinBatch),
}

/// Why a chunk waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinBatch {
    /// New documents for which it should wait.
    pub(super) documents: usize,
    /// New documents it has.
    pub(super) has: usize,
}

/// Makes commits of chunks, one after the other; watches and counts over all of them.
pub(super) struct Committer<'a> {
    pub(super) options: &'a IngestOptions,
    pub(super) tokenizers: &'a [LoadedTokenizer],
    pub(super) interrupt: &'a Interrupt,
    pub(super) watch: IngestMonitor,
    pub(super) report: IngestReport,
    pub(super) fields: FieldTally,
    /// Where a file of decisions is asked for.
    pub(super) decisions: Option<DecisionsFile>,
    /// Where decisions come with the records: takes them over.
    pub(super) judge: Option<&'a mut LoadValidator>,
    /// The numbers of its files before it.
    pub(super) numbers: FileNumbers,
    /// The stored rejects of its files.
    pub(super) settlement: RejectSettlement,
    /// The file whose parts come now.
    pub(super) file: Option<FileProgress>,
}

/// How far a file was read.
pub(super) struct FileProgress {
    path: Vec<u8>,
    records: u64,
    /// Records among them that were rejected.
    rejected: u64,
}

/// What some work gave, and the seconds that it took.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let started = Instant::now();
    let made = work();
    (made, started.elapsed().as_secs_f64())
}

/// Documents that are kept by the decisions of a commit.
struct KeptDocuments<'c> {
    newcomers: Vec<(DocId, &'c FingerprintedRecord)>,
    /// Stored ones that were not kept before.
    again: Vec<DocId>,
}

impl Committer<'_> {
    /// Commits a chunk, unless it `may_wait` and should be committed with the next one.
    pub(super) fn write(
        &mut self,
        writer: &mut StoreWriter,
        chunk: &FingerprintedChunk,
        may_wait: bool,
    ) -> Result<ChunkOutcome, Error> {
        let mut batch = writer.begin()?;
        let sources = self.sources(&mut batch, chunk)?;
        let first = batch.next_document();
        let started = Instant::now();
        let before = (self.report.read, self.report.bytes);
        let date = self.options.read.name_of(CAPTURE_DATE);
        let identified =
            identify(&batch, chunk, (&sources, &self.numbers), date, &mut self.report)?;
        let IdentifiedChunk { mut new, fates, overtaken, unchanged, older, updated, purged } =
            identified;
        let superseded = new.iter().filter_map(|new| new.supersedes);
        let orphans = Orphans::of(&batch, superseded)?;
        if may_wait && let Some(documents) = orphans.want(new.len()) {
            (self.report.read, self.report.bytes) = before;
            return Ok(ChunkOutcome::Waits(MinBatch { documents, has: new.len() }));
        }
        self.watch.count_records(chunk);
        self.watch.check_rejected_share(chunk.chunk.is_last, batch.view())?;
        if let Some(judge) = &mut self.judge {
            judge.validate_rows(batch.view(), chunk, &sources, (&new, &fates))?;
        }
        let mut counts =
            ChunkCounts { unchanged, older, updated, purged, ..ChunkCounts::default() };
        for (source, file, by) in overtaken {
            batch.note_overtaking(source, file, by)?;
        }
        let mut session = self.session(&batch, &sources, orphans);
        find_equal_texts(&mut session, &mut new)?;
        self.report.stages.decide += started.elapsed().as_secs_f64();

        let decisions = self.settle(&mut batch, session, &new)?;
        let kept = self.kept(&decisions, batch.view(), &new, &mut counts)?;
        self.apply(&mut batch, decisions, &sources, &kept)?;

        let started = Instant::now();
        let stored = self.store_progress(&mut batch, &sources, chunk)?;
        counts.rejects = stored;
        if stored.is_change() || !new.is_empty() || chunk.advances_files() {
            batch.commit(&CommitRecord {
                kind: "ingest".to_owned(),
                subject: self.options.source.clone(),
                first: first.0,
                added: new.len() as u64,
                kept: counts.kept,
                changed: kept.again.len() as u64 + counts.updated,
                rejected: stored.new,
                ..CommitRecord::default()
            })?;
            self.report.commits += 1;
        }
        self.report.stages.commit += started.elapsed().as_secs_f64();
        for PendingDocument { prepared, .. } in &new {
            self.fields.count(&prepared.indexed, &prepared.record.origin);
        }
        self.report.passed += chunk.chunk.passed;
        self.report.files.merge(chunk.chunk.files.clone());
        self.report.left_columns.extend(chunk.chunk.left_columns.iter().cloned());
        self.report.not_finite +=
            new.iter().map(|new| new.prepared.record.not_finite.count).sum::<u64>();
        self.report.filtered += chunk.chunk.filtered;
        self.report.read += chunk.chunk.filtered;
        counts.add_to(&mut self.report, new.len() as u64, chunk.chunk.unchanged);
        Ok(ChunkOutcome::Committed(fates))
    }

    /// The sources that the documents belong to, with the template that their texts are made by. A file that says
    /// again all it said before is not overtaken any more.
    fn sources(
        &self,
        batch: &mut CommitBatch<'_>,
        chunk: &FingerprintedChunk,
    ) -> Result<ChunkSources, Error> {
        let sources = ChunkSources::of(batch, chunk, self.options)?;
        if let RecordForm::Chat(chat) = &self.options.form
            && let Some(template) = &chat.template
        {
            batch.template(template.source(), &template.variables_words())?;
        }
        for part in chunk.chunk.parts.iter().filter(|part| part.reread_is_complete()) {
            for (source, file) in self.numbers.of_file(part.path()) {
                batch.forget_overtaken(*source, *file)?;
            }
        }
        Ok(sources)
    }

    /// A session that decides about newcomers of these sources.
    fn session(
        &self,
        batch: &CommitBatch<'_>,
        sources: &ChunkSources,
        orphans: Orphans,
    ) -> DecisionSession {
        let mut session = DecisionSession::begin(batch, self.interrupt);
        for (source, name) in sources.names(self.options) {
            session.name_source(source, name);
        }
        session.cache_clusters(orphans);
        session
    }

    /// Decides about all that arrives, and stores it.
    fn settle(
        &mut self,
        batch: &mut CommitBatch<'_>,
        mut session: DecisionSession,
        new: &[PendingDocument<'_>],
    ) -> Result<CommitDecisions, Error> {
        let (view, judge) = (batch.view().clone(), &mut self.judge);
        let decisions = timed(|| {
            arrive(&mut session, &view, new)?;
            match judge {
                None => Ok::<_, Error>(session.settle()?),
                Some(judge) => judge.apply(session, &view, new),
            }
        });
        self.report.stages.decide += decisions.1;
        let decisions = decisions.0?;
        let started = Instant::now();
        for document in new {
            store_document(batch, &decisions, self.tokenizers, document)?;
        }
        self.report.stages.commit += started.elapsed().as_secs_f64();
        Ok(decisions)
    }

    /// What is kept by the decisions, which are counted and watched.
    fn kept<'c>(
        &mut self,
        decisions: &CommitDecisions,
        view: &View,
        new: &[PendingDocument<'c>],
        counts: &mut ChunkCounts,
    ) -> Result<KeptDocuments<'c>, Error> {
        let mut newcomers = Vec::new();
        for document in new {
            let outcome = decisions.decision(document.id)?;
            counts.standing(outcome.standing);
            if outcome.standing == Standing::Kept {
                newcomers.push((document.id, document.prepared));
            }
            self.watch.count_decision(document.id, &outcome);
            self.watch.count_new(document);
        }
        self.watch.count_unsettled(decisions.unsettled());
        self.watch.check_removed_share(decisions, view)?;
        Ok(KeptDocuments { newcomers, again: decisions.newly_kept(true) })
    }

    /// Puts the decisions into the batch, and has every tokenizer encode what is kept now: the first beside them.
    fn apply(
        &mut self,
        batch: &mut CommitBatch<'_>,
        mut decisions: CommitDecisions,
        sources: &ChunkSources,
        kept: &KeptDocuments<'_>,
    ) -> Result<(), Error> {
        // Ids take the place of shingles.
        decisions.release_shingles();
        let (tokenizers, judge) = (self.tokenizers, self.judge.as_deref());
        let newcomers = &kept.newcomers;
        let (applied, mut first) = rayon::join(
            || timed(|| decisions.apply(batch)),
            || timed(|| tokenizers.first().map(|first| encode(first, newcomers, judge))),
        );
        self.report.stages.decide += applied.1;
        self.report.stages.encode += first.1;
        self.report.dedup += applied.0?.counts;
        let started = Instant::now();
        let mut untrained = BTreeSet::new();
        for tokenizer in tokenizers {
            let judge = self.judge.as_deref();
            let encoded = first.0.take().unwrap_or_else(|| encode(tokenizer, newcomers, judge))?;
            untrained.extend(self.store_ids(batch, tokenizer, sources, (kept, &encoded))?);
        }
        let newcomers = newcomers.iter().filter(|(id, _)| untrained.contains(id));
        newcomers.for_each(|(_, prepared)| self.watch.count_untrained(prepared));
        self.report.stages.encode += started.elapsed().as_secs_f64();
        Ok(())
    }

    /// Stores the ids of newcomers and of stored documents that are kept again; answers the newcomers none of whose
    /// tokens are trained on.
    fn store_ids(
        &mut self,
        batch: &mut CommitBatch<'_>,
        tokenizer: &LoadedTokenizer,
        sources: &ChunkSources,
        (kept, encoded): (&KeptDocuments<'_>, &[EncodedBatch]),
    ) -> Result<BTreeSet<DocId>, Error> {
        let on_error = self.options.on_error;
        let EncodedDocuments { tokens, spelled, mut refused, brought, mut engines, untrained } =
            store_ids(batch, tokenizer, sources, (&kept.newcomers, encoded), on_error)?;
        if let Some(judge) = &mut self.judge {
            judge.brought += brought;
        }
        let again = encode_again(batch, tokenizer, &kept.again, (&mut refused, &mut engines))?;
        self.report.encoded(&tokenizer.name, tokens + again, refused, engines);
        if !spelled.is_empty() {
            let known = &mut self.report.special_tokens_in_text;
            let known = known.entry(tokenizer.name.clone()).or_default();
            for (special, documents) in spelled {
                *known.entry(special).or_default() += documents;
            }
        }
        Ok(untrained)
    }

    /// Stores a chunk's rejects and how far each of its files was read, and forgets the rejects that these do not give
    /// any more.
    fn store_progress(
        &mut self,
        batch: &mut CommitBatch<'_>,
        sources: &ChunkSources,
        chunk: &FingerprintedChunk,
    ) -> Result<RejectChanges, Error> {
        let (options, own) = (self.options, sources.own());
        let mut changes = RejectChanges::default();
        for (at, (part, items)) in chunk.chunk.parts.iter().zip(&chunk.items).enumerate() {
            let before = self.reached(batch, own, part)?;
            let mut given = BTreeSet::new();
            for item in items {
                let FingerprintedItem::Reject(reject, identity) = item else { continue };
                given.insert(*identity);
                let novelty = batch.reject(*identity, &reject_record(reject, part, options))?;
                changes.new += u64::from(novelty == RejectNovelty::New);
                changes.before += u64::from(novelty != RejectNovelty::New);
                changes.changed += u64::from(novelty == RejectNovelty::Changed);
            }
            let view = batch.view().clone();
            for hash in self.settlement.settled(&view, part, before.records, &given)? {
                batch.forget_reject(hash)?;
                changes.settled += 1;
            }
            let rejected = before.rejected + given.len() as u64;
            let path = part.path().to_vec();
            self.file = Some(FileProgress { path, records: part.end.records, rejected });
            if part.advances_file() {
                let record = file_record(batch.file(own, part.path())?, part, rejected, options);
                batch.put_file(own, part.path(), &record)?;
                for (source, file) in sources.files(at).filter(|(source, _)| *source != own) {
                    let record = FileRecord {
                        reading: reading_key_of_part(options),
                        ..file_record(file, part, 0, options)
                    };
                    batch.put_file(source, part.path(), &record)?;
                }
            }
        }
        Ok(changes)
    }

    /// How far the file of a part was read before it: by the parts before, or, where reading continues behind what is
    /// stored, as the store says.
    fn reached(
        &mut self,
        batch: &CommitBatch<'_>,
        source: SourceId,
        part: &InputPart,
    ) -> Result<FileProgress, Error> {
        let path = part.path();
        if let Some(file) = self.file.take().filter(|file| file.path == path) {
            return Ok(file);
        }
        let stored =
            if part.kind == PartKind::Next { batch.view().file(source, path)? } else { None };
        let (mut records, mut rejected) = stored.map_or((0, 0), |it| (it.records, it.rejected));
        if let Some(torn) = part.torn.as_ref().filter(|torn| torn.number < records) {
            // The torn record is read again.
            rejected -= u64::from(torn.stored.is_empty()).min(rejected);
            records = torn.number;
        }
        Ok(FileProgress { path: path.to_vec(), records, rejected })
    }
}

#[derive(Default)]
struct ChunkCounts {
    kept: u64,
    exact: u64,
    near: u64,
    empty: u64,
    unchanged: u64,
    older: u64,
    updated: u64,
    purged: u64,
    rejects: RejectChanges,
}

impl ChunkCounts {
    fn standing(&mut self, standing: Standing) {
        match standing {
            Standing::Kept => self.kept += 1,
            Standing::Exact => self.exact += 1,
            Standing::Near => self.near += 1,
            Standing::Empty => self.empty += 1,
            Standing::Superseded | Standing::Blocked | Standing::Removed | Standing::Purged => {}
        }
    }

    fn add_to(&self, report: &mut IngestReport, added: u64, skipped: u64) {
        report.added += added;
        report.kept += self.kept;
        report.exact_duplicates += self.exact;
        report.near_duplicates += self.near;
        report.empty += self.empty;
        report.unchanged += self.unchanged + skipped;
        report.passed.older += self.older;
        report.updated += self.updated;
        report.purged += self.purged;
        report.unchanged_unread += skipped;
        report.rejected += self.rejects.new;
        report.rejected_before += self.rejects.before;
        report.rejects_settled += self.rejects.settled;
    }
}

/// What a chunk changed among the stored rejects.
#[derive(Clone, Copy, Debug, Default)]
struct RejectChanges {
    new: u64,
    /// Rejects that were stored before.
    before: u64,
    /// Rejects that were stored before with another reason or position.
    changed: u64,
    /// Stored rejects that their files do not give any more.
    settled: u64,
}

impl RejectChanges {
    const fn is_change(self) -> bool {
        self.new + self.changed + self.settled > 0
    }
}

fn reject_record(reject: &Reject, part: &InputPart, options: &IngestOptions) -> RejectRecord {
    RejectRecord {
        source: options.source.clone(),
        path: part.input.path.to_string_lossy().into_owned(),
        number: reject.origin.number,
        offset: reject.origin.offset,
        reason: reject.reason.to_string(),
        bytes: reject.raw_bytes,
        raw: reject.raw.clone(),
    }
}

/// A file, known by that number, that was read to the end of a part.
fn file_record(
    file: FileId,
    part: &InputPart,
    rejected: u64,
    options: &IngestOptions,
) -> FileRecord {
    FileRecord {
        file: file.0,
        size: part.input.size,
        modified: part.input.version,
        single: part.is_single,
        whole: part.is_last,
        offset: part.end.offset,
        records: part.end.records,
        rejected,
        prefix: part.end.prefix,
        reading: options.reading_key(),
    }
}
