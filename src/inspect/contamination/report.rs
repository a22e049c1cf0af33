//! Items of suites in numbers, in the corpus and in texts that are not stored.

use crate::inspect::InspectError;
use crate::sql::{EvidenceSubject, ItemEvidence, WeightedSuite, Worst};
use model::{DocId, SuiteId, SuiteVerdict, hexadecimal};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use store::{SuiteRecord, VerdictSubject, View, system_fields};
use text::contamination::{ContaminationRule, ITEM_RULE, RulePrecision, SeedIndex, SeedScratch};

/// A stored suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
#[cfg_attr(feature = "cli", schemars(rename = "Suite"))]
pub struct SuiteSummary {
    /// Its name.
    pub suite: String,
    /// Items.
    pub items: u64,
    /// Of these, those without an answer.
    pub weak: u64,
    /// Items without any part long enough to search for.
    pub unsearchable: u64,
    /// Distinct n-grams.
    pub grams: u64,
    /// The word rules that these are made by, with their version: `web@2`, and `web@1` for a suite that an earlier
    /// release stored.
    pub normaliser: &'static str,
    /// Whether an earlier release's rule read its items of the records: `contamination add` with the same files reads
    /// them anew.
    pub outdated: bool,
    /// Whether all stored texts were searched for it; else how many were.
    pub complete: bool,
    /// Documents that were searched.
    pub searched: u64,
    /// blake3 over its items, in hexadecimal.
    pub hash: String,
    /// The files that it was read from.
    pub files: Vec<String>,
}

/// How much of a suite is in a corpus.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SuiteContamination {
    /// Its name.
    pub suite: String,
    /// Items.
    pub items: u64,
    /// Items in kept documents.
    pub contaminated_items: u64,
    /// Of these, those without an answer.
    pub weak_items: u64,
    /// Kept documents that have an item.
    pub documents: u64,
    /// Documents with an item that are not kept.
    pub removed_documents: u64,
    /// Documents that have an n-gram or pieces at least, kept or not.
    pub sighted_documents: u64,
    /// N-grams and short questions that are ignored, since very many documents have them.
    pub common: u64,
    /// The kept ones by source, most first.
    pub sources: Vec<SourceCount>,
    /// How often the rule is right, by the verdicts on items and texts of kept documents that meet it; each pair of
    /// item and text counts once.
    pub precision: Option<RulePrecision>,
    /// Evidence of kept documents, worst first.
    pub worst: Vec<ItemEvidence>,
}

/// How many documents of a source have an item of a suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SourceCount {
    /// Its name.
    pub source: String,
    /// Kept documents of it that have an item.
    pub documents: u64,
}

/// The suites of a corpus, by name.
pub(crate) fn suites(view: &View) -> Result<Vec<SuiteSummary>, InspectError> {
    let mut found: Vec<SuiteSummary> =
        view.suites()?.iter().map(|(_, record)| summary(view, record)).collect();
    found.sort_unstable_by(|a, b| a.suite.cmp(&b.suite));
    Ok(found)
}

fn summary(view: &View, record: &SuiteRecord) -> SuiteSummary {
    SuiteSummary {
        suite: record.name.clone(),
        items: record.items.into(),
        weak: record.weak.into(),
        unsearchable: record.unsearchable.into(),
        grams: record.grams.into(),
        normaliser: record.normaliser.name(),
        outdated: record.rule < ITEM_RULE,
        complete: record.is_complete(),
        searched: record.next.min(view.documents()),
        hash: hexadecimal(&record.hash),
        files: record.files.clone(),
    }
}

/// How much of each suite, or of one, is in a corpus by a rule, with at most `limit` examples for each.
pub(crate) fn contamination(
    view: &View,
    only: Option<&str>,
    rule: &ContaminationRule,
    limit: usize,
) -> Result<Vec<SuiteContamination>, InspectError> {
    let names = match only {
        Some(name) => vec![name.to_owned()],
        None => suites(view)?.into_iter().map(|summary| summary.suite).collect(),
    };
    let kept = view.kept()?;
    names.iter().map(|name| of_suite(view, name, rule, limit, &kept)).collect()
}

fn of_suite(
    view: &View,
    name: &str,
    rule: &ContaminationRule,
    limit: usize,
    kept: &RoaringTreemap,
) -> Result<SuiteContamination, InspectError> {
    let (suite, record) = view.expect_suite(name)?;
    let mut weighed = WeightedSuite::among(view, (suite, &record), rule, kept)?;
    let (mut items, mut weak) = (BTreeSet::new(), BTreeSet::new());
    let (mut tainted, mut worst) = (RoaringTreemap::new(), Worst::new(limit));
    let mut judged = VerdictCounts::default();
    let mut sighted = 0;
    for row in view.all_sightings(suite)? {
        let (document, found) = row?;
        sighted += 1;
        for evidence in weighed.item_evidence(EvidenceSubject::Document(document), &found, rule)? {
            if evidence.contaminated {
                tainted.insert(document.0);
            }
            if !kept.contains(document.0) {
                continue;
            }
            judged.add(view, document, &evidence)?;
            if evidence.contaminated && items.insert(evidence.item.clone()) && evidence.weak {
                weak.insert(evidence.item.clone());
            }
            worst.add(evidence);
        }
    }
    let documents = &tainted & kept;
    let mut worst = worst.finish();
    worst.iter_mut().try_for_each(|evidence| evidence.name(view))?;
    Ok(SuiteContamination {
        suite: record.name,
        items: record.items.into(),
        contaminated_items: items.len() as u64,
        weak_items: weak.len() as u64,
        documents: documents.len(),
        removed_documents: tainted.len() - documents.len(),
        sighted_documents: sighted,
        common: weighed.common,
        sources: sources(view, &documents)?,
        precision: judged.precision(),
        worst,
    })
}

/// What reviewers decided about items and texts that a rule holds for.
#[derive(Default)]
struct VerdictCounts(BTreeMap<VerdictSubject, bool>);

impl VerdictCounts {
    fn add(
        &mut self,
        view: &View,
        document: DocId,
        evidence: &ItemEvidence,
    ) -> Result<(), InspectError> {
        if let Some(verdict) = evidence.verdict.filter(|_| evidence.is_enough) {
            let text = view.print(document)?.raw;
            self.0.insert((text, evidence.number), verdict == SuiteVerdict::Accepted.name());
        }
        Ok(())
    }

    fn precision(&self) -> Option<RulePrecision> {
        let accepted = self.0.values().filter(|is_accepted| **is_accepted).count() as u64;
        RulePrecision::of(accepted, self.0.len() as u64 - accepted)
    }
}

fn sources(view: &View, documents: &RoaringTreemap) -> Result<Vec<SourceCount>, InspectError> {
    let mut found = Vec::new();
    for (source, record) in view.sources() {
        let of =
            view.documents_with(system_fields::SOURCE, &system_fields::source_value(source))?;
        let documents = of.intersection_len(documents);
        if documents > 0 {
            found.push(SourceCount { source: record.name.clone(), documents });
        }
    }
    found.sort_unstable_by(|a, b| (b.documents, &a.source).cmp(&(a.documents, &b.source)));
    Ok(found)
}

/// The evidence of suites in a text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CheckedText {
    /// Its key, or its file and number.
    pub text: String,
    /// Whether the rule holds of any of the evidence.
    pub contaminated: bool,
    /// All evidence, worst first.
    pub evidence: Vec<ItemEvidence>,
}

/// How many texts were checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CheckedTexts {
    /// All of them.
    pub texts: u64,
    /// How many of these are contaminated by the rule.
    pub contaminated: u64,
}

/// Checks one text after another, and counts.
pub(crate) struct TextCheck<'v> {
    suites: Vec<(SuiteId, WeightedSuite<'v>)>,
    seeds: SeedIndex,
    rule: ContaminationRule,
    scratch: SeedScratch,
    pub(crate) counts: CheckedTexts,
}

impl<'v> TextCheck<'v> {
    /// A check against the suites of a view, whose n-grams are in `seeds`.
    pub(crate) fn new(
        view: &'v View,
        seeds: SeedIndex,
        rule: ContaminationRule,
    ) -> Result<Self, InspectError> {
        let kept = view.kept()?;
        let mut held = 0;
        let mut suites = Vec::new();
        for (suite, record) in view.suites()? {
            let weighed = WeightedSuite::beside(view, (*suite, record), &rule, &kept, held)?;
            held += weighed.bytes();
            suites.push((*suite, weighed));
        }
        let scratch = SeedScratch::default();
        Ok(Self { suites, seeds, rule, scratch, counts: CheckedTexts::default() })
    }

    /// The evidence of one text.
    pub(crate) fn text(&mut self, name: &str, text: &str) -> Result<CheckedText, InspectError> {
        let mut evidence = Vec::new();
        for (of, found) in self.seeds.scan(text, None, &mut self.scratch) {
            if let Some((_, weighed)) = self.suites.iter_mut().find(|(suite, _)| *suite == of) {
                evidence.extend(weighed.item_evidence(
                    EvidenceSubject::Text(text),
                    &found,
                    &self.rule,
                )?);
            }
        }
        evidence.iter_mut().for_each(|one: &mut ItemEvidence| one.quote(text));
        evidence.sort_by(ItemEvidence::worst_first);
        let contaminated = evidence.iter().any(|one| one.contaminated);
        self.counts.texts += 1;
        self.counts.contaminated += u64::from(contaminated);
        Ok(CheckedText { text: name.to_owned(), contaminated, evidence })
    }
}
