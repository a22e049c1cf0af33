//! Ends a load: removes documents that waited for their witness, and checks that all standings are those of the load.
//!
//! The rows are read once more for that, so that waiting rows need no memory; the standings of the store show what is
//! done, so that a load that was stopped continues. Where stored documents stand otherwise, what follows from a removal
//! is decided, and the rows are read until nothing is left to do. The folder `changed` of a load lists stored documents
//! that stand otherwise with it; it is read as often as it takes.

use super::LoadOptions;
use super::manifest::LoadManifest;
use crate::decide::{DecisionSession, LoadedTokenizer, encode_again};
use crate::ingest::error::load_row;
use crate::ingest::imported_row::{
    ImportedMatch, StoredStatusChange, parse_status_change, split_imported_row,
};
use crate::ingest::load_validator::{
    LoadValidator, check_consistency, check_standing, load_row_error, stored_match,
};
use crate::ingest::options::IngestOptions;
use crate::ingest::reader::expand_files;
use crate::ingest::report::IngestReport;
use files::input::{InputFile, InputFormat, InputReader, ReadItem, ReadOptions};
use model::{
    Context, DocId, Error, Interrupt, Match, ReadRecord, RecordKey, Standing, key_identity,
};
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use store::{BlockStandings, CommitRecord, StoreError, StoreWriter, View};

/// Documents that one commit removes.
const PART: usize = 2048;
/// How often rows are read: what follows from one removal is done in the next round.
const ROUNDS: usize = 16;

/// What is read, and by what documents are encoded that are kept again.
pub(super) struct LoadFinisher<'a> {
    pub(super) files: &'a [InputFile],
    pub(super) changed: &'a StatusChangeFiles,
    pub(super) options: &'a IngestOptions,
    pub(super) tokenizers: &'a [LoadedTokenizer],
    /// What the load did so far: commits, tokens and refused texts are added to it.
    pub(super) report: &'a mut IngestReport,
}

/// What reading the rows once came to.
#[derive(Default)]
struct FinishRound {
    has_removed: bool,
    /// The first row that is not true yet, and cannot be made so.
    open: Option<Error>,
}

impl LoadFinisher<'_> {
    /// Removes what waited for its witness.
    ///
    /// # Errors
    /// [`Error`] for a row that cannot be true, and when rows cannot be read or written.
    pub(super) fn finish(
        &mut self,
        writer: &mut StoreWriter,
        judge: &mut LoadValidator,
        context: &Context<'_>,
    ) -> Result<(), Error> {
        for _ in 0..ROUNDS {
            let round = self.round(writer, judge, context)?;
            if round.has_removed && judge.changes {
                continue;
            }
            if let Some(error) = round.open {
                return Err(error);
            }
            writer.flush_if_long()?;
            return Ok(());
        }
        Err(Error::bad_input(format!(
            "after {ROUNDS} rounds the standings of documents differ from the load; the same command continues. If this happens again, the load contradicts itself: ingest the documents into a new corpus, or into a copy of the one that they were decided against"
        )))
    }

    /// Reads all rows, stored documents first, and removes what can be removed.
    fn round(
        &mut self,
        writer: &mut StoreWriter,
        judge: &mut LoadValidator,
        context: &Context<'_>,
    ) -> Result<FinishRound, Error> {
        let (kept, view) = (writer.view().kept()?, writer.view().clone());
        let documents = view.documents().saturating_sub(judge.before);
        context.progress.begin("removing documents that waited for their witness", Some(documents));
        let (mut round, mut rows, mut part) = (FinishRound::default(), 0, Vec::new());
        let (changed, files) = (self.changed, self.files);
        changed.each_expected(&view, context.interrupt, |said| {
            part.push(said);
            if part.len() < PART {
                return Ok(());
            }
            self.part(writer, &std::mem::take(&mut part), judge, context, &mut round)
        })?;
        let read = self.options.reads_all();
        for file in files {
            let mut reader = InputReader::open(file, &read)?;
            while let Some(item) = reader.next()? {
                context.interrupt.check()?;
                let document = DocId(judge.before + rows);
                rows += 1;
                let is_kept = kept.contains(document.0);
                // Decided alone a document is removed as soon as it can be, and stays so.
                if !is_kept && !judge.changes {
                    continue;
                }
                let said = ExpectedStatus::of(item, document, judge)?;
                if !said.is_settled_by_standing(is_kept) {
                    part.push(said);
                }
                if part.len() >= PART {
                    self.part(writer, &std::mem::take(&mut part), judge, context, &mut round)?;
                    context.progress.advance(rows);
                }
            }
        }
        self.part(writer, &part, judge, context, &mut round)?;
        context.progress.end();
        Ok(round)
    }

    /// Removes the documents that the load removes and that are not removed yet, or not for that witness.
    fn part(
        &mut self,
        writer: &mut StoreWriter,
        part: &[ExpectedStatus],
        judge: &mut LoadValidator,
        context: &Context<'_>,
        round: &mut FinishRound,
    ) -> Result<(), Error> {
        let given = pending_removals(writer, part, judge, round)?;
        if given.is_empty() {
            return Ok(());
        }
        let of_given = || part.iter().filter_map(|one| Some((one, *given.get(&one.document)?)));
        let sample = of_given().filter(|(one, _)| judge.is_compared(&one.identity));
        let sample: Vec<(DocId, Match)> =
            sample.map(|(one, matched)| (one.document, matched)).collect();
        let mut batch = writer.begin()?;
        let session = DecisionSession::begin(&batch, context.interrupt);
        let failed = |error| row_error(error, part);
        let decisions = session.import_removals(&given, judge.takeover()).map_err(failed)?;
        for (one, matched) in of_given() {
            let found = decisions.decision(one.document)?;
            // What followed may have brought back a better witness.
            if found.matched.is_some_and(|found| found.witness == matched.witness) {
                check_standing(one.standing, found.standing).map_err(|why| one.wrong(why))?;
            }
        }
        decisions.check_overlaps(&sample).map_err(failed)?;
        let again = decisions.newly_kept(true);
        decisions.apply(&mut batch)?;
        for tokenizer in self.tokenizers {
            let (mut refused, mut engines) = Default::default();
            let tokens = encode_again(&mut batch, tokenizer, &again, (&mut refused, &mut engines))?;
            self.report.encoded(&tokenizer.name, tokens, refused, engines);
        }
        let record = CommitRecord::about("load", &self.options.source);
        batch.commit(&CommitRecord { changed: given.len() as u64, ..record })?;
        judge.compared += sample.len() as u64;
        self.report.commits += 1;
        round.has_removed = true;
        Ok(())
    }
}

/// The documents that do not stand as said, with their removals; those that cannot be removed are noted in the round.
fn pending_removals(
    writer: &StoreWriter,
    part: &[ExpectedStatus],
    judge: &LoadValidator,
    round: &mut FinishRound,
) -> Result<BTreeMap<DocId, Match>, Error> {
    let view = writer.view();
    let own: Vec<[u8; 16]> = part.iter().map(|one| one.identity).collect();
    let witness =
        |one: &ExpectedStatus| one.removal.as_ref().map(|of| judge.identity(of, &one.source));
    let witnesses: Vec<[u8; 16]> =
        part.iter().map(|one| witness(one).unwrap_or_default()).collect();
    let (own, witnesses) = (view.identities(&own)?, view.identities(&witnesses)?);
    let mut given = BTreeMap::new();
    let mut block: Option<(u64, BlockStandings)> = None;
    for ((one, own), witness) in part.iter().zip(own).zip(witnesses) {
        let is_stored = one.document.0 < judge.before;
        if !is_stored && own != Some(one.document) {
            return Err(one.wrong("another row was loaded in its place: the files were changed"));
        }
        let matched = one.matched(view, judge, witness)?;
        if !judge.changes {
            given.extend(matched.map(|matched| (one.document, matched)));
            continue;
        }
        let at = one.document.block();
        let standings = match block.take().filter(|(known, _)| *known == at) {
            Some((_, standings)) => standings,
            None => view.block_standings(at)?,
        };
        let standing = standings.of(one.document.slot()).unwrap_or(Standing::Purged);
        block = Some((at, standings));
        // The document has the key of a removed one, which was examined when it came.
        let is_kept_out = !is_stored && standing == Standing::Blocked;
        if is_kept_out || one.is_current(view, standing, matched.as_ref())? {
            continue;
        }
        match matched {
            Some(matched)
                if standing.is_eligible() && view.standing(matched.witness)? == Standing::Kept =>
            {
                given.insert(one.document, matched);
            }
            _ => {
                let why = explain_difference(one, standing);
                round.open.get_or_insert_with(|| one.wrong(why));
            }
        }
    }
    Ok(given)
}

/// The report about a document whose standing differs from the load.
fn explain_difference(one: &ExpectedStatus, found: Standing) -> String {
    let Err(why) = check_standing(one.standing, found) else {
        return "its witness is not kept".to_owned();
    };
    match one.standing {
        Standing::Superseded => format!("{why}: no document of the load has its key"),
        _ => why,
    }
}

/// The files of a load that list documents of the corpus whose standing changes.
pub(super) struct StatusChangeFiles {
    files: Vec<InputFile>,
    read: ReadOptions,
    /// Documents that the corpus had before the load.
    before: u64,
}

impl StatusChangeFiles {
    /// The files of a load.
    ///
    /// # Errors
    /// [`Error`] when the files are not there or cannot be looked up.
    pub(super) fn of(
        directory: &str,
        manifest: &LoadManifest,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<Self, Error> {
        let paths = [format!("{directory}/changed")];
        let read = ReadOptions {
            format: InputFormat::Parquet,
            whole: true,
            stores: options.stores.clone(),
            partitions: false,
            ..ReadOptions::default()
        };
        let mut files = match manifest.changed {
            0 => Vec::new(),
            _ => expand_files(&paths, &read, interrupt)?,
        };
        files.retain(|file| file.name().ends_with(".parquet"));
        Ok(Self { files, read, before: manifest.before })
    }

    /// The documents that are superseded; each occurs once, and there are as many as the manifest counts.
    ///
    /// # Errors
    /// [`Error`] for a row that cannot be true, and when there are more or less.
    pub(super) fn superseded(
        &self,
        manifest: &LoadManifest,
        interrupt: &Interrupt,
    ) -> Result<RoaringTreemap, Error> {
        let (mut all, mut superseded) = (RoaringTreemap::new(), RoaringTreemap::new());
        self.rows(interrupt, |row, file, number| {
            let id = row.id;
            let why = if id >= self.before {
                format!("`id` is {id}, and the load was decided against {} documents", self.before)
            } else if all.insert(id) {
                if row.standing == Standing::Superseded {
                    superseded.insert(id);
                }
                return Ok(());
            } else {
                format!("an earlier row has the `id` {id}")
            };
            Err(load_row(&file.path, number, why))
        })?;
        if all.len() == manifest.changed {
            return Ok(superseded);
        }
        Err(Error::bad_input(format!(
            "the load changes the standing of {} stored documents, and its manifest counts {}: files are missing or were added",
            all.len(),
            manifest.changed
        )))
    }

    /// Calls `each` with the standing that each of these documents should have.
    ///
    /// # Errors
    /// [`Error`] for one that is another document, when a row cannot be read, or as
    /// `each`.
    pub(super) fn each_expected(
        &self,
        view: &View,
        interrupt: &Interrupt,
        mut each: impl FnMut(ExpectedStatus) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.rows(interrupt, |row, file, number| {
            let document = DocId(row.id);
            let place = view.place(document)?;
            let source = view.source_name(place.source)?;
            let key = view.display_key(document)?;
            let is_key = match &row.key {
                Some(said) => view.is_shown_as(document, said)?,
                None => true,
            };
            let is_it = is_key && row.source.as_ref().is_none_or(|said| said == source);
            if !is_it {
                let said = (row.key.unwrap_or(key.clone()), row.source);
                let why = format!(
                    "document {document} should be {:?} of `{}`, and is {key:?} of `{source}`",
                    said.0,
                    said.1.as_deref().unwrap_or(source)
                );
                return Err(load_row(&file.path, number, why));
            }
            each(ExpectedStatus {
                document,
                identity: key_identity(source, &key),
                standing: row.standing,
                removal: row.removal,
                source: source.to_owned(),
                path: file.path.as_ref().clone(),
                row: number,
            })
        })
    }

    fn rows(
        &self,
        interrupt: &Interrupt,
        mut each: impl FnMut(StoredStatusChange, &InputFile, u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for file in &self.files {
            let mut reader = InputReader::open(file, &self.read)?;
            while let Some(item) = reader.next()? {
                interrupt.check()?;
                let record = match item {
                    ReadItem::Record(record) => record,
                    ReadItem::Reject(reject) => {
                        let (path, row) = (&reject.origin.path, reject.origin.number);
                        return Err(load_row(path, row, reject.reason.to_string()));
                    }
                };
                let number = record.origin.number;
                let row = parse_status_change(&record.metadata)
                    .map_err(|why| load_row(&file.path, number, why))?;
                each(row, file, number)?;
            }
        }
        Ok(())
    }
}

/// A document, and the standing that it should have.
pub(super) struct ExpectedStatus {
    pub(super) document: DocId,
    pub(super) identity: [u8; 16],
    pub(super) standing: Standing,
    pub(super) removal: Option<ImportedMatch>,
    pub(super) source: String,
    pub(super) path: PathBuf,
    pub(super) row: u64,
}

impl ExpectedStatus {
    /// What the row of a document of the load says.
    ///
    /// # Errors
    /// [`Error`] for a row that cannot be read.
    pub(super) fn of(
        item: ReadItem,
        document: DocId,
        judge: &LoadValidator,
    ) -> Result<Self, Error> {
        let record = match item {
            ReadItem::Record(record) => record,
            ReadItem::Reject(reject) => {
                let (path, row) = (&reject.origin.path, reject.origin.number);
                return Err(load_row(path, row, reject.reason.to_string()));
            }
        };
        let ReadRecord { key, source, metadata, origin, .. } = record;
        let (path, row) = (origin.path.as_ref().clone(), origin.number);
        let (_, decided) =
            split_imported_row(&metadata, &judge.ids).map_err(|why| load_row(&path, row, why))?;
        let key = match key {
            RecordKey::Given(key) => key,
            RecordKey::Position => String::new(),
        };
        check_consistency(&decided, &key).map_err(|why| load_row(&path, row, why))?;
        let source = source.as_deref().unwrap_or(&judge.source).to_owned();
        let identity = key_identity(&source, &key);
        let (standing, removal) = (decided.standing, decided.removal);
        Ok(Self { document, identity, standing, removal, source, path, row })
    }

    /// Whether nothing but its standing is to be looked at, which is this one.
    pub(super) fn is_settled_by_standing(&self, is_kept: bool) -> bool {
        match self.standing {
            Standing::Kept => is_kept,
            standing => standing == Standing::Empty,
        }
    }

    /// The removal as it is stored, by the document that has the key of its witness.
    ///
    /// # Errors
    /// [`Error`] when there is none, or it is not the one that the row means.
    pub(super) fn matched(
        &self,
        view: &View,
        judge: &LoadValidator,
        found: Option<DocId>,
    ) -> Result<Option<Match>, Error> {
        let Some(removal) = &self.removal else { return Ok(None) };
        let witness = match removal.id {
            Some(id) => {
                judge.stored_witness(view, &self.source, removal, id, &|why| self.wrong(why))?
            }
            None => found.ok_or_else(|| {
                self.wrong(format!("no document has the key of its witness, {:?}", removal.witness))
            })?,
        };
        Ok(Some(stored_match(self.standing, removal, witness)))
    }

    /// Whether the document stands as said.
    pub(super) fn is_current(
        &self,
        view: &View,
        standing: Standing,
        matched: Option<&Match>,
    ) -> Result<bool, StoreError> {
        if self.standing != standing {
            return Ok(false);
        }
        // Whoever supersedes it has its key.
        let is_told = standing == Standing::Superseded;
        Ok(is_told || view.match_of(self.document)?.as_ref() == matched)
    }

    pub(super) fn wrong(&self, why: impl Display) -> Error {
        load_row(&self.path, self.row, why)
    }
}

/// An error of decisions as that of the row it is about.
fn row_error(error: Error, said: &[ExpectedStatus]) -> Error {
    load_row_error(error, |document, why| {
        said.iter().find(|one| one.document == document).map(|one| one.wrong(why))
    })
}
