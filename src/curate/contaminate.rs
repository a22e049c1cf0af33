//! The verbs about evaluation suites: add a suite, search stored texts for it, store verdicts, drop it.
//!
//! Verdicts on items and documents are stored by the documents' texts.
//!
//! What people decide about items and documents is stored by the documents' texts.

use super::commits::{CommitLoop, next_texts};
use crate::corpus::CorpusWriter;
use model::{
    Context, DocId, Error, ErrorKind, Hint, Normaliser, Sightings, SuiteGram, SuiteId, SuiteVerdict,
};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use store::{CheckFault, CommitRecord, DocumentPlace, StoreError, StoreWriter, SuiteRecord, View};
use text::contamination::{
    SeedIndex, SeedScratch, SuiteItem, SuiteNgrams, SuitePart, UnsearchedField, suite_ngrams,
};

/// Documents searched as one piece of parallel work.
const PIECE: usize = 32;
/// Documents searched in one commit, at most; fewer where they are long.
const CHUNK: u64 = 1 << 16;

/// A suite to be stored.
#[derive(Clone, Copy, Debug)]
pub struct NewSuite<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its items, in their order.
    pub items: &'a [SuiteItem],
    /// Absolute paths of the files that they were read from.
    pub files: &'a [String],
    /// What its n-grams are made by, unless it is stored already: then it keeps its own.
    pub normaliser: Normaliser,
    /// The version of the rule by which records became its items.
    pub rule: u32,
}

impl NewSuite<'_> {
    /// What suites are made by that come now.
    pub const NORMALISER: Normaliser = Normaliser::Web2;
}

/// The result of adding a suite.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SuiteReport {
    /// Its name.
    pub suite: String,
    /// Items.
    pub items: u64,
    /// Of these, those without an answer: evidence of them is marked weak.
    pub weak: u64,
    /// Items without any part long enough to search for.
    pub unsearchable: u64,
    /// Items of which only a passage, or a question of 8 to 12 tokens without an answer, is searched for: evidence of
    /// them never counts as contaminated.
    pub uncounted: u64,
    /// Fields of its records with texts that are not searched for, by name.
    pub unsearched: Vec<UnsearchedField>,
    /// The number of the first option, where answers are numbers of options.
    pub numbers_from: Option<u64>,
    /// Distinct n-grams that are searched for.
    pub grams: u64,
    /// The word rules that its n-grams are made by, with their version: `web@2`, and `web@1` for a suite that an
    /// earlier release stored.
    pub normaliser: String,
    /// Whether it was stored by an earlier release's rule, and its items are others by that of this release.
    pub renewed: bool,
    /// Stored documents that were searched for it now.
    pub searched: u64,
    /// Of these, those that have an n-gram or pieces of it.
    pub sighted: u64,
    /// How many commits were made.
    pub commits: u64,
}

impl SuiteReport {
    /// Whether its n-grams are of an earlier version of the word rules, which new suites do not have.
    #[must_use]
    pub fn has_earlier_words(&self) -> bool {
        self.normaliser != NewSuite::NORMALISER.name()
    }
}

/// A reviewer's verdict on an item and a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The suite.
    pub suite: String,
    /// The id of the item; where several have it, all of these that the document has something of.
    pub item: String,
    /// The document: the verdict is of its text, and of every other document that has the same.
    pub document: DocId,
    /// The verdict; none takes back what was decided before.
    pub verdict: Option<SuiteVerdict>,
}

/// The result of storing verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct JudgeReport {
    /// Verdicts that are stored now: pairs that were accepted,
    pub accepted: u64,
    /// and pairs that were rejected.
    pub rejected: u64,
    /// Verdicts that were deleted.
    pub withdrawn: u64,
    /// Of all these, verdicts that existed already.
    pub unchanged: u64,
}

/// Bytes of suites that are held in memory, at most.
fn most(view: &View) -> u64 {
    view.query_memory() as u64 / 2
}
impl CorpusWriter {
    /// Stores what somebody decided about items and documents, all or nothing. A verdict is of a text: every document
    /// with the same text has it, whenever it comes; one with another text under the same key does not. What is
    /// rejected counts as contaminated nowhere.
    ///
    /// # Errors
    /// [`Error`] when there is no such suite, item or document, or the two have nothing in common.
    pub fn judge(&mut self, judgements: &[Judgement]) -> Result<JudgeReport, Error> {
        judge(self.store(), judgements)
    }

    /// Forgets a suite, what stored texts have of it, and what was decided about that.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when there is no such suite.
    pub fn drop_suite(&mut self, name: &str) -> Result<(), Error> {
        drop_suite(self.store(), name)
    }
}

/// What is searched for of the suites of a corpus, those included that are not searched for to the end.
///
/// # Errors
/// [`Error`] when it takes more memory than there is for it.
pub fn load_seeds(view: &View) -> Result<SeedIndex, Error> {
    seeds_of(view, view.suites()?)
}

fn seeds_of(view: &View, suites: &[(SuiteId, SuiteRecord)]) -> Result<SeedIndex, Error> {
    let rows = |(suite, record): &(SuiteId, SuiteRecord)| {
        Ok::<_, StoreError>((*suite, record.normaliser, view.suite_grams(*suite)?))
    };
    let rows: Vec<_> = suites.iter().map(rows).collect::<Result<_, _>>()?;
    let seeds = SeedIndex::of(rows.into_iter())?;
    fits(seeds.bytes(), most(view))?;
    Ok(seeds)
}

fn fits(bytes: u64, most: u64) -> Result<(), Error> {
    if bytes <= most {
        return Ok(());
    }
    let message =
        format!("the n-grams of the suites need {bytes} bytes of memory, and {most} are available");
    let enough = bytes.saturating_mul(8);
    let hint = format!("give `memory={enough}` bytes or more, or drop a suite");
    Err(Error::of(ErrorKind::Failed, message).with_hint(Hint::text(hint)))
}

/// Stores a suite and searches what is stored for it; from then on every ingest does. The same call continues where an
/// interrupt stopped, and changes nothing once all is searched. A suite that an earlier rule read is made anew, and keeps
/// its verdicts.
///
/// # Errors
/// [`Error`] when another suite has the name, or the suites do not fit into memory; an interrupt leaves what was
/// committed.
pub fn add_suite(
    writer: &mut StoreWriter,
    new: &NewSuite<'_>,
    context: &Context<'_>,
) -> Result<SuiteReport, Error> {
    let NewSuite { name, items, .. } = *new;
    let known = writer.view().suite(name)?.cloned();
    let normaliser = known.as_ref().map_or(new.normaliser, |(_, known)| known.normaliser);
    let built = suite_ngrams(items, normaliser);
    let is_same = known.as_ref().is_some_and(|(_, known)| known.hash == built.hash);
    let mut report = SuiteReport {
        suite: name.to_owned(),
        items: items.len() as u64,
        weak: built.weak.into(),
        unsearchable: built.unsearchable.into(),
        uncounted: built.uncounted.into(),
        grams: built.seeds.into(),
        normaliser: normaliser.name().to_owned(),
        ..SuiteReport::default()
    };
    // By the rule of this release the same records may give other items, which take the place of the earlier ones.
    let earlier = known.filter(|(_, known)| known.rule < new.rule);
    if let (Some((suite, record)), true) = (&earlier, is_same) {
        let mut batch = writer.begin()?;
        batch.put_suite(*suite, &SuiteRecord { rule: new.rule, ..record.clone() })?;
        batch.commit(&about(name))?;
        report.commits += 1;
    }
    if !is_same {
        let held = load_seeds(writer.view())?.bytes();
        fits(held + SeedIndex::bytes_of(built.grams.values()), most(writer.view()))?;
        let earlier = match earlier {
            Some((suite, _)) if is_of(writer.view(), suite, items)? => Some(suite),
            _ => None,
        };
        report.renewed = earlier.is_some();
        put(writer, &NewSuite { normaliser, ..*new }, &built, earlier)?;
        report.commits += 1;
    }
    search_stored(writer, context, &mut report)?;
    writer.flush_if_long()?;
    Ok(report)
}

/// Whether a stored suite has these items, in their order: the same ids, and what was read of their questions.
fn is_of(view: &View, suite: SuiteId, items: &[SuiteItem]) -> Result<bool, StoreError> {
    let mut items = items.iter();
    for stored in view.suite_items(suite)? {
        let stored = stored?;
        let asked = |item: &SuiteItem| {
            let now = item.texts(SuitePart::Question);
            stored.texts(SuitePart::Question).iter().all(|question| now.contains(question))
        };
        if !items.next().is_some_and(|item| item.id == stored.id && asked(item)) {
            return Ok(false);
        }
    }
    Ok(items.next().is_none())
}

/// Stores a suite: a new one, or in the place of an `earlier` one of the same items.
fn put(
    writer: &mut StoreWriter,
    new: &NewSuite<'_>,
    built: &SuiteNgrams,
    earlier: Option<SuiteId>,
) -> Result<(), Error> {
    let NewSuite { name, items, files, normaliser, rule } = *new;
    let record = SuiteRecord {
        name: name.to_owned(),
        files: files.to_vec(),
        hash: built.hash,
        items: u32::try_from(items.len()).unwrap_or(u32::MAX),
        weak: built.weak,
        unsearchable: built.unsearchable,
        grams: built.seeds,
        next: 0,
        normaliser,
        rule,
    };
    let mut batch = writer.begin()?;
    let grams = built.grams.iter().map(|(hash, gram)| (*hash, gram));
    match earlier {
        Some(suite) => batch.replace_suite(suite, &record, items.iter(), grams)?,
        None => {
            batch.add_suite(&record, items.iter(), grams)?;
        }
    }
    batch.commit(&about(name))?;
    Ok(())
}

/// Searches stored texts for every suite that was not searched for to the end, in commits that can be interrupted.
///
/// # Errors
/// [`Error`]; an interrupt leaves what was committed.
pub fn search_stored(
    writer: &mut StoreWriter,
    context: &Context<'_>,
    report: &mut SuiteReport,
) -> Result<(), Error> {
    let open = |(_, record): &(SuiteId, SuiteRecord)| !record.is_complete();
    let open: Vec<_> =
        writer.view().suites()?.iter().filter(|suite| open(suite)).cloned().collect();
    for (suite, mut record) in open {
        let seeds = seeds_of(writer.view(), &[(suite, record.clone())])?;
        let documents = writer.view().documents();
        let mut commits = CommitLoop::begin("searching stored texts", Some(documents), context);
        while !record.is_complete() {
            let most = writer.batch_bytes();
            let mut batch = commits.batch(writer)?;
            let view = batch.view().clone();
            let (work, next) = next_texts(&view, (record.next, CHUNK), most)?;
            let found = search(&view, &seeds, &work)?;
            for (document, sightings) in &found {
                batch.put_sightings(suite, *document, sightings)?;
            }
            record.next = if next >= documents { u64::MAX } else { next };
            batch.put_suite(suite, &record)?;
            report.searched += work.len() as u64;
            report.sighted += found.len() as u64;
            commits.commit(batch, &about(&record.name), next)?;
        }
        report.commits += commits.end();
    }
    Ok(())
}

fn search(
    view: &View,
    seeds: &SeedIndex,
    work: &[(DocId, DocumentPlace)],
) -> Result<Vec<(DocId, Sightings)>, StoreError> {
    let of_piece = |scratch: &mut SeedScratch, piece: &[(DocId, DocumentPlace)]| {
        let mut found = Vec::new();
        for (document, place) in piece {
            let text = view.text_of_owner(place.text_owner(*document))?;
            let sighted = seeds.scan(&text, None, scratch);
            found.extend(sighted.into_iter().map(|(_, sightings)| (*document, sightings)));
        }
        Ok(found)
    };
    let pieces: Vec<Vec<_>> = work
        .par_chunks(PIECE)
        .map_init(SeedScratch::default, of_piece)
        .collect::<Result<_, StoreError>>()?;
    Ok(pieces.into_iter().flatten().collect())
}

/// Forgets a suite, and what stored texts have of it.
///
/// # Errors
/// [`Error`] when there is no such suite.
pub fn drop_suite(writer: &mut StoreWriter, name: &str) -> Result<(), Error> {
    let (suite, _) = writer.view().expect_suite(name)?;
    let mut batch = writer.begin()?;
    batch.drop_suite(suite)?;
    batch.commit(&about(&format!("{name} dropped")))?;
    Ok(writer.flush_if_long()?)
}

fn about(subject: &str) -> CommitRecord {
    CommitRecord::about("contamination", subject)
}

/// The n-grams of suites, against their items; what is searched for, for the texts to be checked with.
pub(super) struct SuiteCheck {
    suites: Vec<(SuiteId, SuiteRecord)>,
    seeds: SeedIndex,
}

impl SuiteCheck {
    pub(super) fn of(view: &View, faults: &mut Vec<CheckFault>) -> Result<Self, Error> {
        let suites = view.suites()?.to_vec();
        for (suite, record) in &suites {
            let items: Vec<SuiteItem> = view.suite_items(*suite)?.collect::<Result<_, _>>()?;
            let built = suite_ngrams(&items, record.normaliser);
            let stored: Vec<_> = view.suite_grams(*suite)?.collect::<Result<_, _>>()?;
            // A suite that was added before there were pieces has none, and is searched for without.
            let is_piece = |(_, gram): &(u64, SuiteGram)| matches!(gram, SuiteGram::Piece(_));
            let has_pieces = stored.iter().any(is_piece);
            let follows = built.grams.into_iter().filter(|row| has_pieces || !is_piece(row));
            let is_same = built.hash == record.hash
                && (built.seeds, built.weak, built.unsearchable)
                    == (record.grams, record.weak, record.unsearchable);
            if !is_same || !stored.into_iter().eq(follows) {
                let what =
                    format!("{}: they differ from those computed from its items", record.name);
                faults.push(CheckFault { place: "suite_ngrams".to_owned(), what });
            }
        }
        Ok(Self { suites, seeds: load_seeds(view)? })
    }

    /// Checks the stored findings of a document, whose text is given.
    pub(super) fn document(
        &self,
        view: &View,
        document: DocId,
        text: &str,
        scratch: &mut SeedScratch,
    ) -> Result<Option<String>, StoreError> {
        if self.suites.is_empty() {
            return Ok(None);
        }
        let mut computed = self.seeds.scan(text, None, scratch).into_iter().peekable();
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

/// Stores judgements, all in one commit; the last one counts where several are of one pair.
///
/// # Errors
/// [`Error`] when there is no such suite, item or document, or the two have nothing in common. Nothing is stored then.
pub fn judge(writer: &mut StoreWriter, all: &[Judgement]) -> Result<JudgeReport, Error> {
    let view = writer.view().clone();
    let mut by_suite: BTreeMap<SuiteId, Vec<&Judgement>> = BTreeMap::new();
    for judgement in all {
        let (suite, _) = view.expect_suite(&judgement.suite)?;
        by_suite.entry(suite).or_default().push(judgement);
    }
    let mut report = JudgeReport::default();
    let mut batch = writer.begin()?;
    for (suite, judgements) in by_suite {
        let asked = JudgedItems::of(&view, suite, &judgements)?;
        let known: BTreeMap<_, _> = view.verdicts(suite)?.collect::<Result<_, _>>()?;
        let mut decided = BTreeMap::new();
        for judgement in judgements {
            let found = asked.found(&view, suite, judgement)?;
            let text = view.print(judgement.document)?.raw;
            decided.extend(found.into_iter().map(|item| ((text, item), judgement.verdict)));
        }
        for (of, verdict) in decided {
            report.unchanged += u64::from(known.get(&of).copied() == verdict);
            match verdict {
                Some(SuiteVerdict::Accepted) => report.accepted += 1,
                Some(SuiteVerdict::Rejected) => report.rejected += 1,
                None => report.withdrawn += 1,
            }
            batch.put_verdict(suite, of, verdict)?;
        }
    }
    let changed = (report.accepted + report.rejected + report.withdrawn) - report.unchanged;
    if changed > 0 {
        batch.commit(&CommitRecord { changed, ..about("verdicts") })?;
        writer.flush_if_long()?;
    }
    Ok(report)
}

/// The items of a suite that judgements name, with their n-grams.
struct JudgedItems {
    /// Numbers of the items by their id.
    items: BTreeMap<String, Vec<u32>>,
    /// For each n-gram of a searched item: the items that have it.
    grams: BTreeMap<u32, Vec<u32>>,
    /// How many n-grams the suite has.
    all: u32,
}

impl JudgedItems {
    fn of(view: &View, suite: SuiteId, judgements: &[&Judgement]) -> Result<Self, Error> {
        let names: BTreeSet<&str> = judgements.iter().map(|one| one.item.as_str()).collect();
        let mut items: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for (number, item) in (0..).zip(view.suite_items(suite)?) {
            let item = item?;
            if names.contains(item.id.as_str()) {
                items.entry(item.id).or_default().push(number);
            }
        }
        let numbers: BTreeSet<u32> = items.values().flatten().copied().collect();
        let (mut grams, mut all) = (BTreeMap::new(), 0);
        for row in view.suite_grams(suite)? {
            if let (_, SuiteGram::Seed(gram, places)) = row? {
                all = all.max(gram.saturating_add(1));
                let mut of: Vec<u32> = places.into_iter().map(|place| place.item).collect();
                of.retain(|item| numbers.contains(item));
                of.dedup();
                if !of.is_empty() {
                    grams.insert(gram, of);
                }
            }
        }
        Ok(Self { items, grams, all })
    }

    /// The numbers of the items that a judgement is about.
    fn found(&self, view: &View, suite: SuiteId, judgement: &Judgement) -> Result<Vec<u32>, Error> {
        let Judgement { suite: name, item, document, .. } = judgement;
        let no_pair = |why: String| Err(Error::bad_input(why));
        let Some(items) = self.items.get(item) else {
            return no_pair(format!("suite `{name}` has no item `{item}`"));
        };
        if document.0 >= view.documents() {
            let documents = view.documents();
            return no_pair(format!(
                "no document {document}: the corpus holds ids 0 to below {documents}"
            ));
        }
        let has = match view.sightings(suite, *document)? {
            Some(sightings) => self.has(&sightings),
            None => BTreeSet::new(),
        };
        let found: Vec<u32> = items.iter().copied().filter(|item| has.contains(item)).collect();
        if found.is_empty() {
            return no_pair(format!(
                "document {document} has no evidence of item `{item}` of suite `{name}`, so there is nothing to decide (`corpusdb contamination show` lists its evidence)"
            ));
        }
        Ok(found)
    }

    /// The items that a text has something of.
    fn has(&self, found: &Sightings) -> BTreeSet<u32> {
        let grams = found.runs.iter().flat_map(|run| run.grams(self.all as usize));
        let items = grams.filter_map(|gram| self.grams.get(&gram)).flatten().copied();
        let items = items.chain(found.pieces.iter().map(|piece| piece.place.item));
        items.chain(found.whole.iter().map(|whole| whole.item)).collect()
    }
}
