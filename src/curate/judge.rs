//! What people decide about items of suites and documents, stored by the documents' texts.

use super::error::CurateError;
use crate::model::{DocId, Sightings, SuiteGram, SuiteId, SuiteVerdict};
use crate::store::{CommitRecord, View, Writer};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What somebody decided about an item and a document.
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

/// What became of judgements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct JudgeReport {
    /// Verdicts that are stored now: pairs that were accepted,
    pub accepted: u64,
    /// and pairs that were rejected.
    pub rejected: u64,
    /// Verdicts that were taken back.
    pub withdrawn: u64,
    /// Of all these, those that were so before.
    pub unchanged: u64,
}

/// Stores judgements, all in one commit; the last one counts where several are of one pair.
///
/// # Errors
/// [`CurateError::Store`] when there is no such suite; [`CurateError::NoPair`] for an item or a document that there is
/// not, or that have nothing in common. Nothing is stored then.
pub fn judge(writer: &mut Writer, all: &[Judgement]) -> Result<JudgeReport, CurateError> {
    let view = writer.view().clone();
    let mut by_suite: BTreeMap<SuiteId, Vec<&Judgement>> = BTreeMap::new();
    for judgement in all {
        let (suite, _) = view.expect_suite(&judgement.suite)?;
        by_suite.entry(suite).or_default().push(judgement);
    }
    let mut report = JudgeReport::default();
    let mut batch = writer.begin()?;
    for (suite, judgements) in by_suite {
        let asked = Asked::of(&view, suite, &judgements)?;
        let known: BTreeMap<_, _> = view.verdicts(suite)?.collect::<Result<_, _>>()?;
        let mut decided = BTreeMap::new();
        for judgement in judgements {
            let found = asked.found(&view, suite, judgement)?;
            let text = view.expect_header(judgement.document)?.raw;
            decided.extend(found.into_iter().map(|item| ((text, item), judgement.verdict)));
        }
        for (of, verdict) in decided {
            report.unchanged += u64::from(known.get(&of).copied() == verdict);
            match verdict {
                Some(SuiteVerdict::Accepted) => report.accepted += 1,
                Some(SuiteVerdict::Rejected) => report.rejected += 1,
                None => report.withdrawn += 1,
            }
            batch.judge(suite, of, verdict)?;
        }
    }
    let (kind, subject) = ("contamination".to_owned(), "verdicts".to_owned());
    let changed = (report.accepted + report.rejected + report.withdrawn) - report.unchanged;
    if changed > 0 {
        batch.commit(&CommitRecord { kind, subject, changed, ..CommitRecord::default() })?;
        writer.flush()?;
    }
    Ok(report)
}

/// The items of a suite that judgements name, and what of them is looked for.
struct Asked {
    /// Numbers of the items by their id.
    items: BTreeMap<String, Vec<u32>>,
    /// Of each n-gram that one of them has, which of them.
    grams: BTreeMap<u32, Vec<u32>>,
}

impl Asked {
    fn of(view: &View, suite: SuiteId, judgements: &[&Judgement]) -> Result<Self, CurateError> {
        let names: BTreeSet<&str> = judgements.iter().map(|one| one.item.as_str()).collect();
        let mut items: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for (number, item) in (0..).zip(view.suite_items(suite)?) {
            let item = item?;
            if names.contains(item.id.as_str()) {
                items.entry(item.id).or_default().push(number);
            }
        }
        let numbers: BTreeSet<u32> = items.values().flatten().copied().collect();
        let mut grams = BTreeMap::new();
        for row in view.suite_grams(suite)? {
            if let (_, SuiteGram::Seed(gram, places)) = row? {
                let mut of: Vec<u32> = places.into_iter().map(|place| place.item).collect();
                of.retain(|item| numbers.contains(item));
                of.dedup();
                if !of.is_empty() {
                    grams.insert(gram, of);
                }
            }
        }
        Ok(Self { items, grams })
    }

    /// The numbers of the items that a judgement is about.
    fn found(
        &self,
        view: &View,
        suite: SuiteId,
        judgement: &Judgement,
    ) -> Result<Vec<u32>, CurateError> {
        let Judgement { suite: name, item, document, .. } = judgement;
        let no_pair = |why: String| Err(CurateError::NoPair { why });
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
                "document {document} has nothing of item `{item}` of suite `{name}`: there is nothing to decide (`corpusdb contamination show` tells what it has)"
            ));
        }
        Ok(found)
    }

    /// The items that a text has something of.
    fn has(&self, found: &Sightings) -> BTreeSet<u32> {
        let grams = found.runs.iter().flat_map(|run| run.gram..run.gram.saturating_add(run.count));
        let items = grams.filter_map(|gram| self.grams.get(&gram)).flatten().copied();
        let items = items.chain(found.pieces.iter().map(|piece| piece.place.item));
        items.chain(found.whole.iter().map(|whole| whole.item)).collect()
    }
}
