//! Suites of evaluation items: added, searched for in what is stored, and dropped.

use super::error::CurateError;
use super::texts::next_texts;
use crate::contamination::{Built, Looker, Seeds, SuiteItem, build};
use crate::dedup::TokenHashes;
use crate::model::{Context, DocId, Sightings, SuiteGram, SuiteId};
use crate::store::{CommitRecord, Fault, Header, StoreError, SuiteRecord, View, Writer};
use rayon::prelude::*;
use serde::Serialize;

/// Documents searched as one piece of parallel work.
const PIECE: usize = 32;
/// Documents searched in one commit, at most; fewer where they are long.
const CHUNK: u64 = 1 << 16;

/// What became of a suite that was added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SuiteReport {
    /// Its name.
    pub suite: String,
    /// Items.
    pub items: u64,
    /// Of these, those without an answer: evidence of them is marked weak.
    pub weak: u64,
    /// Items of which nothing is long enough to be looked for.
    pub unsearchable: u64,
    /// Distinct n-grams that are looked for.
    pub grams: u64,
    /// Stored documents that were searched for it now.
    pub searched: u64,
    /// Of these, those that have an n-gram or pieces of it.
    pub sighted: u64,
    /// How many commits were made.
    pub commits: u64,
}

/// Bytes of suites that are held in memory, at most.
fn most(view: &View) -> u64 {
    view.query_memory() as u64 / 2
}

/// What is looked for of the suites of a corpus, those included that are not searched for to the end.
///
/// # Errors
/// [`CurateError::Suites`] when it takes more memory than there is for it.
pub fn load_seeds(view: &View) -> Result<Seeds, CurateError> {
    seeds_of(view, view.suites()?.iter().map(|(suite, _)| *suite).collect())
}

fn seeds_of(view: &View, suites: Vec<SuiteId>) -> Result<Seeds, CurateError> {
    let rows = |suite| Ok::<_, StoreError>((suite, view.suite_grams(suite)?));
    let rows: Vec<_> = suites.into_iter().map(rows).collect::<Result<_, _>>()?;
    let seeds = Seeds::of(rows.into_iter())?;
    fits(seeds.bytes(), most(view))?;
    Ok(seeds)
}

fn fits(bytes: u64, most: u64) -> Result<(), CurateError> {
    if bytes <= most { Ok(()) } else { Err(CurateError::Suites { bytes, most }) }
}

/// Stores a suite and searches what is stored for it; from then on every ingest does. The same again goes on where an
/// interrupt stopped, and changes nothing once all is searched.
///
/// # Errors
/// [`CurateError::Store`] when another suite has the name; [`CurateError::Suites`]; [`CurateError::Interrupted`] leaves
/// what was committed.
pub fn add_suite(
    writer: &mut Writer,
    name: &str,
    items: &[SuiteItem],
    files: &[String],
    context: &Context<'_>,
) -> Result<SuiteReport, CurateError> {
    let built = build(items);
    let known = writer.view().suite(name)?;
    let is_same = known.is_some_and(|(_, known)| known.hash == built.hash);
    let mut report = SuiteReport {
        suite: name.to_owned(),
        items: items.len() as u64,
        weak: built.weak.into(),
        unsearchable: built.unsearchable.into(),
        grams: built.seeds.into(),
        ..SuiteReport::default()
    };
    if !is_same {
        let held = load_seeds(writer.view())?.bytes();
        fits(held + Seeds::bytes_of(built.grams.values()), most(writer.view()))?;
        put(writer, name, items, files, &built)?;
        report.commits += 1;
    }
    search_stored(writer, context, &mut report)?;
    writer.flush()?;
    Ok(report)
}

fn put(
    writer: &mut Writer,
    name: &str,
    items: &[SuiteItem],
    files: &[String],
    built: &Built,
) -> Result<(), CurateError> {
    let record = SuiteRecord {
        name: name.to_owned(),
        files: files.to_vec(),
        hash: built.hash,
        items: u32::try_from(items.len()).unwrap_or(u32::MAX),
        weak: built.weak,
        unsearchable: built.unsearchable,
        grams: built.seeds,
        next: 0,
    };
    let mut batch = writer.begin()?;
    let grams = built.grams.iter().map(|(hash, gram)| (*hash, gram));
    batch.add_suite(&record, items.iter(), grams)?;
    batch.commit(&about(name))?;
    Ok(())
}

/// Searches stored texts for every suite that was not searched for to the end, in commits that can be interrupted.
///
/// # Errors
/// [`CurateError`]; [`CurateError::Interrupted`] leaves what was committed.
pub fn search_stored(
    writer: &mut Writer,
    context: &Context<'_>,
    report: &mut SuiteReport,
) -> Result<(), CurateError> {
    let open = |(_, record): &(SuiteId, SuiteRecord)| !record.is_complete();
    let open: Vec<_> =
        writer.view().suites()?.iter().filter(|suite| open(suite)).cloned().collect();
    for (suite, mut record) in open {
        let seeds = seeds_of(writer.view(), vec![suite])?;
        let documents = writer.view().documents();
        context.progress.begin("searching stored texts", Some(documents));
        while !record.is_complete() {
            let view = writer.view().clone();
            let (work, next) = next_texts(&view, (record.next, CHUNK), writer.batch_bytes())?;
            let found = search(&view, &seeds, &work)?;
            let mut batch = writer.begin()?;
            for (document, sightings) in &found {
                batch.put_sightings(suite, *document, sightings)?;
            }
            record.next = if next >= documents { u64::MAX } else { next };
            batch.put_suite(suite, &record)?;
            batch.commit(&about(&record.name))?;
            report.commits += 1;
            report.searched += work.len() as u64;
            report.sighted += found.len() as u64;
            context.progress.advance(next);
            if !record.is_complete() && context.interrupt.is_raised() {
                return Err(CurateError::Interrupted);
            }
        }
        context.progress.end();
    }
    Ok(())
}

fn search(
    view: &View,
    seeds: &Seeds,
    work: &[(DocId, Header)],
) -> Result<Vec<(DocId, Sightings)>, StoreError> {
    let of_piece = |(craft, looker): &mut (TokenHashes, Looker), piece: &[(DocId, Header)]| {
        let mut found = Vec::new();
        for (document, header) in piece {
            let text = view.text_of_owner(header.text_owner(*document))?;
            let sighted = seeds.look(&text, craft.of(&text), looker);
            found.extend(sighted.into_iter().map(|(_, sightings)| (*document, sightings)));
        }
        Ok(found)
    };
    let buffers = || (TokenHashes::new(), Looker::default());
    let pieces: Vec<Vec<_>> =
        work.par_chunks(PIECE).map_init(buffers, of_piece).collect::<Result<_, StoreError>>()?;
    Ok(pieces.into_iter().flatten().collect())
}

/// Forgets a suite, and what stored texts have of it.
///
/// # Errors
/// [`CurateError::Store`] when there is no such suite.
pub fn drop_suite(writer: &mut Writer, name: &str) -> Result<(), CurateError> {
    let (suite, _) = writer.view().expect_suite(name)?;
    let mut batch = writer.begin()?;
    batch.drop_suite(suite)?;
    batch.commit(&about(&format!("{name} dropped")))?;
    Ok(writer.flush()?)
}

fn about(subject: &str) -> CommitRecord {
    let (kind, subject) = ("contamination".to_owned(), subject.to_owned());
    CommitRecord { kind, subject, ..CommitRecord::default() }
}

/// The n-grams of suites, against their items; what is looked for, for the texts to be checked with.
pub(super) struct SuiteCheck {
    suites: Vec<(SuiteId, SuiteRecord)>,
    seeds: Seeds,
}

impl SuiteCheck {
    pub(super) fn of(view: &View, faults: &mut Vec<Fault>) -> Result<Self, CurateError> {
        let suites = view.suites()?.to_vec();
        for (suite, record) in &suites {
            let items: Vec<SuiteItem> = view.suite_items(*suite)?.collect::<Result<_, _>>()?;
            let built = build(&items);
            let stored: Vec<_> = view.suite_grams(*suite)?.collect::<Result<_, _>>()?;
            // A suite that was added before there were pieces has none, and is looked for without.
            let is_piece = |(_, gram): &(u64, SuiteGram)| matches!(gram, SuiteGram::Piece(_));
            let has_pieces = stored.iter().any(is_piece);
            let follows = built.grams.into_iter().filter(|row| has_pieces || !is_piece(row));
            let is_same = built.hash == record.hash
                && (built.seeds, built.weak, built.unsearchable)
                    == (record.grams, record.weak, record.unsearchable);
            if !is_same || !stored.into_iter().eq(follows) {
                let what = format!("{}: they do not follow from its items", record.name);
                faults.push(Fault { place: "suite_ngrams".to_owned(), what });
            }
        }
        Ok(Self { suites, seeds: load_seeds(view)? })
    }

    /// What is wrong with what is stored of a document, whose text is given.
    pub(super) fn document(
        &self,
        view: &View,
        document: DocId,
        text: &str,
        (craft, looker): (&mut TokenHashes, &mut Looker),
    ) -> Result<Option<String>, StoreError> {
        if self.suites.is_empty() {
            return Ok(None);
        }
        let mut computed = self.seeds.look(text, craft.of(text), looker).into_iter().peekable();
        for (suite, record) in &self.suites {
            let computed = computed.next_if(|(of, _)| of == suite).map(|(_, found)| found);
            let is_searched = document.0 < record.next;
            let stored = view.sightings(*suite, document)?;
            if stored != computed.filter(|_| is_searched) {
                let name = &record.name;
                return Ok(Some(format!(
                    "document {document}: its text has other n-grams of {name}"
                )));
            }
        }
        Ok(None)
    }
}
