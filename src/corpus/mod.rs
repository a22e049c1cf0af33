//! `Corpus`, the type users hold, and `CorpusWriter`, its one writer. Every method is one call downwards.

mod backups;
mod contamination;
#[cfg(test)]
mod cost_tests;
mod epochs;
mod erasure;
mod exports;
mod fields;
#[cfg(feature = "generated")]
mod generated;
mod loads;
mod machine;
mod options;
mod remote_backups;
mod repair;
mod report;
#[cfg(test)]
mod report_cost_tests;
mod salvage;
mod shards;
mod signals;
mod snapshots;
#[cfg(test)]
mod statement_cost_tests;
mod tokenizer_verbs;
#[cfg(test)]
mod version_tests;

pub use backups::Backups;
pub use erasure::ShownBy;
pub use options::CorpusOptions;
pub use repair::RepairReport;
pub use salvage::{LostDocument, SalvageReport};

use crate::contamination::Seeds;
use crate::curate::{
    self, CurateError, DropRejectsReport, RedoReport, RejectSelection, RemovalReport,
    RemovalRequest, SettleReport, SuiteReport,
};
use crate::decide::LoadedTokenizer;
use crate::epoch::Corpora;
use crate::ingest::{
    self, IngestInput, IngestInputs, IngestOptions, IngestReport, IngestResources,
};
use crate::input::Records;
use crate::model::{Context, DocId, Error, FieldKind, IncomingFilter, Policy, note_little_room};
use crate::query::{
    self, DedupExplanation, DiffPart, DocumentDuplicates, Duplicates, DuplicatesMatrix,
    DuplicatesOptions, DuplicatesSummary, Info, Rows, Selection, Shown, ShownDocuments,
    SimilarOptions, SimilarReport, SimilarTo, SqlNames, SqlOptions, Stats, StatsOptions,
};
use crate::store::{self, CheckDepth, CheckFault, RejectIter, StoreWriter, View, WriterLock};
use roaring::RoaringTreemap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Families whose rows are written once more by decisions under another policy.
const REDECIDED: [&str; 7] =
    ["exact", "bands", "bands_more", "band_runs", "matches", "members", "lineage"];

/// A corpus opened for reading: its last commit at the time of opening, also beside a writer.
pub struct Corpus {
    path: PathBuf,
    view: View,
    /// The corpora beside it whose documents its epochs draw from too.
    others: Arc<[Corpus]>,
    /// All of them, once an epoch was asked for.
    corpora: OnceLock<Corpora>,
    /// Bytes that caches and work in memory may take.
    memory: u64,
    /// Threads of a call whose context names none.
    threads: usize,
    /// What a writer shows keeps its database open: until then nobody else may write. Given back last.
    _lock: Option<Arc<WriterLock>>,
}

impl Corpus {
    /// How a call of this handle runs.
    fn within<'a>(&self, context: &Context<'a>) -> Context<'a> {
        context.within(self.memory, self.threads)
    }

    /// Makes a new corpus at `path`, which must be absent or an empty directory.
    ///
    /// # Errors
    /// [`Error::Store`] when the directory is in use, or a field's name is taken or malformed, or the
    /// keep order needs a field that is not declared as a number; [`Error::Policy`] when settings do not
    /// go together.
    pub fn init(
        path: impl AsRef<Path>,
        policy: &Policy,
        declared: &[(String, FieldKind)],
    ) -> Result<(), Error> {
        policy.check()?;
        let fields = store::declare_fields(declared)?;
        store::check_keep_order(&policy.keep, &fields)?;
        Ok(store::create(path.as_ref(), policy, &fields)?)
    }

    /// How much of the machine a corpus may take, to be said before it is opened.
    pub fn options() -> CorpusOptions {
        CorpusOptions::default()
    }

    /// Opens the corpus at `path` for reading, as [`CorpusOptions::open`] does with all defaults.
    ///
    /// # Errors
    /// [`Error::Store`]: no corpus, another format, lost commits, corruption.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::options().open(path)
    }

    /// Where it lies, as it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The state of the store that this corpus reads: that of its last commit when it was opened.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Whether nothing was committed since it was opened: then opening it again would show the same. Reads the end of
    /// one file.
    ///
    /// # Errors
    /// [`Error::Store`] when that cannot be read.
    pub fn is_current(&self) -> Result<bool, Error> {
        Ok(store::last_commit(&self.path)?.is_none_or(|last| last == self.view.commit().0))
    }

    /// Policy, counts, sources, tokenizers, fields, commits, snapshots and epochs.
    ///
    /// # Errors
    /// [`Error::Query`] when a record cannot be read.
    pub fn info(&self) -> Result<Info, Error> {
        Ok(query::info(&self.view)?)
    }

    /// Documents, bytes and tokens by source and language, quantiles of lengths and declared numbers, why documents are
    /// not kept and records not read. Exact; no text is read.
    ///
    /// ```
    /// use corpusdb::query::{StatsOptions, StatsValue};
    ///
    /// # use corpusdb::ingest::{Record, Records};
    /// # use corpusdb::{Context, Corpus, DedupMode, IngestOptions, Policy};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("corpus");
    /// # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
    /// # let mut writer = Corpus::options().memory(64 << 20).threads(1).open_writer(&path)?;
    /// # let page = |n: u32| Record::new(format!("page {n} of {n} pages")).with_key(n.to_string());
    /// # let (pages, options) = (Records::new("pages", (0..3).map(page)), IngestOptions::new("web"));
    /// # writer.ingest_records(pages, &options, &[], &Context::new())?;
    /// let stats = writer.corpus().stats(&StatsOptions::default())?;
    /// assert_eq!((stats.groups[0].source.as_str(), stats.kept.documents), ("web", 3));
    /// let bytes = stats.columns.iter().find(|it| it.column == "bytes" && it.of_kept).unwrap();
    /// assert_eq!(bytes.p50, Some(StatsValue::Int(17)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Query`] for a condition, source or snapshot that cannot be used.
    pub fn stats(&self, options: &StatsOptions) -> Result<Stats, Error> {
        Ok(query::stats(&self.view, options)?)
    }

    /// Documents that satisfy a SQL boolean expression over `documents`; all stored ones without.
    ///
    /// # Errors
    /// [`Error::Query`] when the expression is wrong.
    pub fn count(&self, condition: Option<&str>) -> Result<u64, Error> {
        Ok(query::count(&self.view, condition)?)
    }

    /// The ids of the documents that satisfy a SQL boolean expression over `documents`; of all stored ones without.
    ///
    /// # Errors
    /// [`Error::Query`] when the expression is wrong.
    pub fn select(&self, condition: Option<&str>) -> Result<RoaringTreemap, Error> {
        Ok(query::select(&self.view, condition)?)
    }

    /// What a SQL boolean expression over `documents` takes: the ids, how many are of which standing, and for how many
    /// documents it is null, which it leaves out.
    ///
    /// # Errors
    /// [`Error::Query`] when the expression is wrong.
    pub fn selection(&self, condition: &str) -> Result<Selection, Error> {
        Ok(query::selection(&self.view, condition)?)
    }

    /// Runs one SELECT: its columns at once, its rows as record batches, one after another.
    ///
    /// # Errors
    /// [`Error::Query`] when the statement is wrong or no query.
    pub fn sql(&self, statement: &str) -> Result<Rows, Error> {
        Ok(query::sql(&self.view, statement)?)
    }

    /// As [`Corpus::sql`], over what a snapshot keeps, or beside files of this machine.
    ///
    /// ```
    /// # use corpusdb::{Corpus, DedupMode, Policy};
    /// use corpusdb::query::SqlOptions;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("corpus");
    /// # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
    /// # let corpus = Corpus::options().memory(64 << 20).open(&path)?;
    /// let scores = directory.path().join("scores.csv");
    /// std::fs::write(&scores, "key,score\na,0.5\n")?;
    /// let joined = format!(
    ///     "SELECT d.id, s.score FROM documents d JOIN read_csv('{}') s ON d.key = s.key",
    ///     scores.display()
    /// );
    /// assert!(corpus.sql(&joined).is_err());
    /// let rows = corpus.sql_with(&joined, &SqlOptions::default().files(true))?;
    /// assert_eq!(rows.schema().fields().len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Query`] as [`Corpus::sql`]; for a snapshot that there is not, with those that there are; for a file
    /// that cannot be read.
    pub fn sql_with(&self, statement: &str, options: &SqlOptions) -> Result<Rows, Error> {
        self.sql_with_until(statement, options, &Context::new())
    }

    /// As [`Corpus::sql_with`], until a stop is asked for. Statements of a text come apart by
    /// [`Script`](crate::query::Script).
    ///
    /// # Errors
    /// As [`Corpus::sql_with`]; after the stop [`Error::Interrupted`], as a
    /// row would come.
    pub fn sql_with_until(
        &self,
        statement: &str,
        options: &SqlOptions,
        context: &Context<'_>,
    ) -> Result<Rows, Error> {
        Ok(query::sql_with(&self.view, statement, options, context.interrupt)?)
    }

    /// The tables, columns and functions that statements can name, and the words of the language.
    ///
    /// # Errors
    /// [`Error::Query`] when the engine gives no session.
    pub fn sql_names(&self) -> Result<SqlNames, Error> {
        Ok(query::names(&self.view)?)
    }

    /// Everything known about each document that satisfies a SQL boolean expression, ascending by id; about all
    /// stored ones without.
    ///
    /// # Errors
    /// [`Error::Query`] when the expression is wrong.
    pub fn documents(&self, condition: Option<&str>) -> Result<ShownDocuments<'_>, Error> {
        Ok(query::documents(&self.view, condition)?)
    }

    /// `n` documents of a selection, uniform without replacement; a function of selection, n and seed.
    ///
    /// # Errors
    /// [`Error::Query`] when the expression is wrong.
    pub fn sample(&self, condition: Option<&str>, n: u64, seed: u64) -> Result<Vec<DocId>, Error> {
        Ok(query::sample(&self.view, condition, n, seed)?)
    }

    /// Everything known about one document.
    ///
    /// # Errors
    /// [`Error::Query`] when there is no such document.
    pub fn show(&self, document: DocId) -> Result<Shown, Error> {
        Ok(query::show(&self.view, document)?)
    }

    /// The documents that had a key, newest last.
    ///
    /// # Errors
    /// [`Error::Query`] when rows cannot be read.
    pub fn find_key(&self, key: &str) -> Result<Vec<DocId>, Error> {
        Ok(query::find_key(&self.view, key)?)
    }

    /// Removed duplicates with what they matched, ascending by id; of one document, its witness or its members.
    ///
    /// # Errors
    /// [`Error::Query`] when there is no such document.
    pub fn duplicates(&self, document: Option<DocId>) -> Result<Duplicates<'_>, Error> {
        Ok(query::duplicates(&self.view, document)?)
    }

    /// All duplicates in numbers, with the `largest` largest clusters.
    ///
    /// # Errors
    /// [`Error::Query`] when rows cannot be read.
    pub fn duplicates_summary(&self, largest: usize) -> Result<DuplicatesSummary, Error> {
        self.duplicates_summary_of(&DuplicatesOptions { largest, ..DuplicatesOptions::default() })
    }

    /// The duplicates that `options` ask for in numbers.
    ///
    /// # Errors
    /// [`Error::Query`] for a source or field that there is not, or when rows cannot be read.
    pub fn duplicates_summary_of(
        &self,
        options: &DuplicatesOptions,
    ) -> Result<DuplicatesSummary, Error> {
        Ok(query::duplicates_summary(&self.view, options)?)
    }

    /// How many documents of each group were removed and which group their witnesses are in: groups by `source`, by
    /// `language`, by declared fields but floats, or by several of them; a timestamp may have a unit behind it, as in
    /// `published:month`. Of all documents, or of those of one source. No document is read.
    ///
    /// # Errors
    /// [`Error::Query`] for a source or field that there is not, for more than 1,000 groups, or when rows cannot be
    /// read.
    pub fn duplicates_matrix(
        &self,
        by: &[String],
        source: Option<&str>,
    ) -> Result<DuplicatesMatrix, Error> {
        Ok(query::duplicates_matrix(&self.view, by, source)?)
    }

    /// A document among its duplicates, with at most `limit` members of its cluster; `with_diff` compares
    /// texts: of a removed document with its witness, of a kept one with every member listed.
    ///
    /// # Errors
    /// [`Error::Query`] when there is no such document.
    pub fn document_duplicates(
        &self,
        document: DocId,
        limit: u64,
        with_diff: bool,
    ) -> Result<DocumentDuplicates, Error> {
        Ok(query::document_duplicates(&self.view, document, limit, with_diff)?)
    }

    /// The stored documents most similar to a text or a document; nothing is ingested.
    ///
    /// # Errors
    /// [`Error::Query`] when there is no such document or source, or nothing to look for or in.
    pub fn similar(
        &self,
        to: SimilarTo<'_>,
        options: &SimilarOptions,
    ) -> Result<SimilarReport, Error> {
        self.view.policy().check()?;
        Ok(query::similar(&self.view, to, options)?)
    }

    /// What the dedup policy comes to, or another one that the stored sketches serve.
    ///
    /// # Errors
    /// [`Error::Query`] when `other` needs other sketches.
    pub fn explain_dedup(&self, other: Option<&Policy>) -> Result<DedupExplanation, Error> {
        Ok(query::explain_dedup(&self.view, other)?)
    }

    /// The texts of two documents, word by word.
    ///
    /// # Errors
    /// [`Error::Query`] when there is no such document.
    pub fn diff(&self, a: DocId, b: DocId) -> Result<Vec<DiffPart>, Error> {
        Ok(query::diff(&self.view, a, b)?)
    }

    /// The first `limit` records that could not be read, by source, path and number.
    ///
    /// # Errors
    /// [`Error::Store`] when rows cannot be read.
    pub fn rejects(&self, limit: usize) -> Result<RejectIter<'_>, Error> {
        Ok(self.view.rejects(limit)?)
    }

    /// What is not as it must be; empty when all is well.
    ///
    /// # Errors
    /// [`Error`] when the check itself cannot run.
    pub fn check(
        &self,
        depth: CheckDepth,
        context: &Context<'_>,
    ) -> Result<Vec<CheckFault>, Error> {
        let mut faults = store::check(&self.view, &self.path, depth, context)?;
        if depth == CheckDepth::Deep {
            match self.check_crafts(context) {
                Err(CurateError::Interrupted(stop)) => return Err(stop.into()),
                Err(error) => {
                    let place = error.family().unwrap_or("check").to_owned();
                    faults.push(CheckFault { place, what: error.to_string() });
                }
                Ok(found) => faults.extend(found),
            }
            match self.check_marks() {
                Ok(found) => faults.extend(found),
                Err(error) => {
                    let place = "epochs".to_owned();
                    faults.push(CheckFault { place, what: error.to_string() });
                }
            }
        }
        context.progress.end();
        Ok(faults)
    }

    /// What needs the crafts: of tokenizers and suites that cannot be loaded nothing can be compared.
    fn check_crafts(&self, context: &Context<'_>) -> Result<Vec<CheckFault>, CurateError> {
        let loaded = curate::load_all(&self.view)?;
        let tokenizers: Vec<_> =
            loaded.iter().map(|loaded| (loaded.id, loaded.tokenizer.as_ref())).collect();
        curate::check(&self.view, &tokenizers, context)
    }

    /// One hash over what the corpus means; equal for equal input, however it was split or interrupted.
    ///
    /// # Errors
    /// [`Error::Store`] when a row cannot be read.
    pub fn digest(&self, context: &Context<'_>) -> Result<String, Error> {
        let answer = store::digest(&self.view, context)?;
        context.progress.end();
        Ok(answer)
    }
}

/// A corpus opened for writing. One process at a time; readers may go on.
pub struct CorpusWriter {
    path: PathBuf,
    writer: StoreWriter,
    /// The corpora beside it whose documents its epochs draw from too.
    others: Arc<[Corpus]>,
    /// Bytes that caches and work in memory may take.
    memory: u64,
    /// Threads of a call whose context names none.
    threads: usize,
}

impl CorpusWriter {
    /// How a call of this handle runs.
    fn within<'a>(&self, context: &Context<'a>) -> Context<'a> {
        context.within(self.memory, self.threads)
    }

    /// Opens the corpus at `path` for writing, as [`CorpusOptions::open_writer`] does with all defaults.
    ///
    /// # Errors
    /// [`Error::Store`]: no corpus, a newer format, another writer, lost commits, corruption;
    /// [`Error::Policy`]: sketches that this release does not make.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Corpus::options().open_writer(path)
    }

    /// What is committed by now, to be read without a second opening. It goes on showing this moment while the writer
    /// writes on; ask again for a later one. It keeps the database open: until it is dropped too, no other writer
    /// can be.
    #[must_use]
    pub fn corpus(&self) -> Corpus {
        let (path, view) = (self.path.clone(), self.view().clone());
        let Self { memory, threads, .. } = *self;
        let others = Arc::clone(&self.others);
        let corpora = OnceLock::new();
        Corpus { path, view, others, corpora, memory, threads, _lock: Some(self.writer.lock()) }
    }

    /// The last committed moment.
    #[must_use]
    pub fn view(&self) -> &View {
        self.writer.view()
    }

    /// Ingests paths (files, directories, patterns, `-`) in order. Every tokenizer of the corpus
    /// encodes what is kept; those named in `tokenizers` must be among them.
    ///
    /// # Errors
    /// [`Error::Ingest`]; what was committed before it stays.
    pub fn ingest(
        &mut self,
        paths: &[String],
        options: &IngestOptions,
        tokenizers: &[String],
        context: &Context<'_>,
    ) -> Result<IngestReport, Error> {
        let inlets = ingest::expand_inputs(paths, &options.read, context.interrupt)?;
        self.pour(inlets, options, tokenizers, context)
    }

    /// Ingests records that the program has, with the same pipeline, batches, decisions and report as a file of them;
    /// [`Records`] says where they may come from. After an error or an interrupt what was committed stays: hand the
    /// same records over again, and those that are stored are passed over.
    ///
    /// ```
    /// # use corpusdb::{Context, Corpus, CorpusWriter, DedupMode, IngestOptions, Policy};
    /// use corpusdb::ingest::{Record, Records};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("corpus");
    /// # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
    /// # let mut writer = CorpusWriter::open(&path)?;
    /// # let options = IngestOptions::new("web");
    /// let pages = (0..3).map(|n| Record::new(format!("page {n}")).with_key(format!("https://a.example/{n}")));
    /// let records = Records::new("crawl", pages);
    /// let report = writer.ingest_records(records, &options, &[], &Context::new())?;
    /// assert_eq!(report.added, 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Ingest`]: among them the error of an iterator, as
    /// [`ReadError::Records`](crate::ingest::ReadError::Records).
    pub fn ingest_records(
        &mut self,
        records: Records<'_>,
        options: &IngestOptions,
        tokenizers: &[String],
        context: &Context<'_>,
    ) -> Result<IngestReport, Error> {
        self.pour(vec![IngestInput::Memory(records)].into(), options, tokenizers, context)
    }

    fn pour(
        &mut self,
        inlets: IngestInputs<'_>,
        options: &IngestOptions,
        tokenizers: &[String],
        context: &Context<'_>,
    ) -> Result<IngestReport, Error> {
        for name in tokenizers {
            curate::find(self.view(), name)?;
        }
        let filter = match &options.condition {
            Some(sql) => Some(query::IncomingCondition::new(sql, self.memory)?),
            None => None,
        };
        let filter = filter.map(|filter| Arc::new(filter) as Arc<dyn IncomingFilter>);
        let context = self.within(context);
        let (loaded, seeds) = self.ready(&context)?;
        let crafts = IngestResources { filter, tokenizers: &loaded, seeds, judge: None };
        Ok(ingest::ingest(&mut self.writer, inlets, options, crafts, &context)?)
    }

    /// Finishes what an interrupted command left half done of what newcomers are given, and loads what gives it.
    fn ready(&mut self, context: &Context<'_>) -> Result<(Vec<LoadedTokenizer>, Seeds), Error> {
        let loaded = curate::load_to_write(&mut self.writer)?;
        for LoadedTokenizer { id, tokenizer, .. } in &loaded {
            // An interrupted `tokenizer add` is finished first: kept documents have ids of every tokenizer.
            curate::encode_stored(&mut self.writer, *id, tokenizer, context)?;
        }
        // And so is the search for a suite.
        curate::search_stored(&mut self.writer, context, &mut SuiteReport::default())?;
        let seeds = curate::load_seeds(self.view())?;
        Ok((loaded, seeds))
    }

    /// Removes documents; see [`RemovalReport`]. What the removal reaches is stored as `blocked` from now on: `true`
    /// stands for equal texts and equal keys. Its reason, condition and time are kept with its commits.
    ///
    /// # Errors
    /// [`Error::Curate`]; what was committed before it stays.
    pub fn remove(
        &mut self,
        selection: &RoaringTreemap,
        removal: impl Into<RemovalRequest>,
        context: &Context<'_>,
    ) -> Result<RemovalReport, Error> {
        let loaded = curate::load_to_write(&mut self.writer)?;
        let removal = removal.into();
        let context = self.within(context);
        Ok(curate::remove(&mut self.writer, &loaded, selection, &removal, &context)?)
    }

    /// Takes removals back.
    ///
    /// # Errors
    /// [`Error::Curate`]; what was committed before it stays.
    pub fn restore(
        &mut self,
        selection: &RoaringTreemap,
        context: &Context<'_>,
    ) -> Result<RemovalReport, Error> {
        let loaded = curate::load_to_write(&mut self.writer)?;
        let context = self.within(context);
        Ok(curate::restore(&mut self.writer, &loaded, selection, &context)?)
    }

    /// Decides every document again under another policy, beside the decisions in force: the answer
    /// says what would change. Goes on where an interrupted call stopped.
    ///
    /// # Errors
    /// [`Error::Curate`] when the policy wants other sketches than the stored ones, [`Error::Policy`]
    /// when its settings do not go together, [`Error::Store`] when it ranks by a field that is not
    /// declared as a number.
    pub fn redo(&mut self, policy: &Policy, context: &Context<'_>) -> Result<RedoReport, Error> {
        policy.check()?;
        store::check_keep_order(&policy.keep, self.view().fields())?;
        let loaded = curate::load_to_write(&mut self.writer)?;
        let context = self.within(context);
        // The decisions in force stay beside the new ones until the switch.
        let mut usage = self.view().disk_usage()?;
        usage.retain(|(family, _)| REDECIDED.contains(family));
        let most = usage.iter().map(|(_, bytes)| *bytes).sum();
        note_little_room("deciding again", &self.path, most, &context);
        Ok(curate::redo(&mut self.writer, &loaded, policy, &context)?)
    }

    /// Decides those documents again whose decision left candidates out, with all of these. After an interrupt
    /// the same call goes on with what is left.
    ///
    /// # Errors
    /// [`Error::Curate`]; what was committed before it stays.
    pub fn settle(&mut self, context: &Context<'_>) -> Result<SettleReport, Error> {
        let loaded = curate::load_to_write(&mut self.writer)?;
        let context = self.within(context);
        Ok(curate::settle(&mut self.writer, &loaded, &context)?)
    }

    /// Makes the outcome of [`CorpusWriter::redo`] current. After an interrupt the same call goes on, and what was decided
    /// before is in force until it is through.
    ///
    /// # Errors
    /// [`Error::Curate`] when none is finished under this policy, or for an interrupt.
    pub fn switch(&mut self, policy: &Policy, context: &Context<'_>) -> Result<(), Error> {
        let context = self.within(context);
        Ok(curate::switch(&mut self.writer, policy, &context)?)
    }

    /// Forgets records that could not be read: of a source, of a file or of all. What their files still give comes back
    /// when these are read again.
    ///
    /// # Errors
    /// [`Error::Curate`]: among them [`CurateError::NoSource`](curate::CurateError::NoSource).
    pub fn drop_rejects(
        &mut self,
        selection: &RejectSelection,
        context: &Context<'_>,
    ) -> Result<DropRejectsReport, Error> {
        let context = self.within(context);
        Ok(curate::drop_rejects(&mut self.writer, selection, &context)?)
    }

    /// Rewrites the files of the corpus into their most compact form. What is stored stays the same, also after an
    /// interrupt, which is heard between pieces of some 256 MiB of tables: those before stay compact.
    ///
    /// # Errors
    /// [`Error::Store`] when the disk refuses, or for an interrupt.
    pub fn compact(&mut self, context: &Context<'_>) -> Result<(), Error> {
        let context = self.within(context);
        // The tables that a family is rewritten from go when the new ones are there.
        let largest = self.view().disk_usage()?.iter().map(|(_, bytes)| *bytes).max();
        note_little_room("compacting", &self.path, largest.unwrap_or(0), &context);
        Ok(self.writer.compact(&context)?)
    }
}

impl std::fmt::Debug for Corpus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Corpus")
            .field("path", &self.path)
            .field("commit", &self.view.commit())
            .finish()
    }
}

impl std::fmt::Debug for CorpusWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CorpusWriter").field("commit", &self.view().commit()).finish()
    }
}
