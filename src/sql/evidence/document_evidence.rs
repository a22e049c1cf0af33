//! Evidence that a document has an item of a suite, as reports show it.

use super::weights::{EvidenceSubject, WeightedSuite};
use crate::sql::error::SqlError;
use model::{ByteSpan, DocId, ItemText, Sightings, SuiteVerdict};
use serde::Serialize;
use std::cmp::Ordering;
use std::ops::ControlFlow;
use store::View;
use text::contamination::{ContaminationRule, Evidence};

/// Evidence: how much of a part of a suite's item a document contains.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ItemEvidence {
    /// The document; none for a text that is not stored.
    pub document: Option<u64>,
    /// The key of the document, as it is shown; absent for a text that is not stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The suite.
    pub suite: String,
    /// The id of the item.
    pub item: String,
    /// `question`, `answer` or `passage`.
    pub part: &'static str,
    /// Texts of the part before this one: of a question its turns, of an answer all that are accepted.
    pub turn: u32,
    /// The weighted share of the part that the document contains: 0 to 1.
    pub score: f64,
    /// Tokens of the part that it contains, within n-grams and pieces.
    pub tokens: u32,
    /// The longest of these runs.
    pub longest_run: u32,
    /// N-grams of the part that the document contains.
    pub matched: u32,
    /// N-grams of the part.
    pub grams: u32,
    /// Whether the item has no answer, so that a match may be ordinary text.
    pub weak: bool,
    /// A person's verdict on the item and the text: `accepted` or `rejected`.
    pub verdict: Option<&'static str>,
    /// Whether it meets the rule and was not rejected.
    pub contaminated: bool,
    /// The bytes of the text with the evidence: from, and up to.
    pub spans: Vec<ByteSpan>,
    /// The text there, if it was requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<String>,
    /// The number of the item.
    #[serde(skip)]
    pub(crate) number: u32,
    /// The text of it.
    #[serde(skip)]
    pub(crate) of: ItemText,
    /// Whether it meets the rule, regardless of verdicts.
    #[serde(skip)]
    pub(crate) is_enough: bool,
    /// The tokens of the part that the document contains.
    #[serde(skip)]
    pub(crate) covered: Vec<(u32, u32)>,
}

impl ItemEvidence {
    /// The text of the item that this evidence is about.
    #[must_use]
    pub const fn item_text(&self) -> ItemText {
        self.of
    }

    /// Worst first: contaminated before others, then by score and run, then in the order of documents and items.
    pub(crate) fn worst_first(&self, other: &Self) -> Ordering {
        let by = |one: &Self| (!one.contaminated, one.weak);
        let same = || (self.document, &self.item, self.part, self.turn);
        by(self)
            .cmp(&by(other))
            .then_with(|| other.score.total_cmp(&self.score))
            .then_with(|| other.longest_run.cmp(&self.longest_run))
            .then_with(|| same().cmp(&(other.document, &other.item, other.part, other.turn)))
    }

    /// Fills in the quotations: what stands at the spans of `text`.
    pub(crate) fn quote(&mut self, text: &str) {
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let quoted =
            self.spans.iter().filter_map(|(start, end)| text.get(place(*start)..place(*end)));
        self.quotes = quoted.map(str::to_owned).collect();
    }

    /// Fills in the key of the document.
    pub(crate) fn name(&mut self, view: &View) -> Result<(), SqlError> {
        if let Some(document) = self.document.map(DocId) {
            self.key = Some(view.display_key(document)?);
        }
        Ok(())
    }
}

impl WeightedSuite<'_> {
    /// The evidence of a text as reports have it.
    pub(crate) fn item_evidence(
        &mut self,
        whose: EvidenceSubject<'_>,
        found: &Sightings,
        rule: &ContaminationRule,
    ) -> Result<Vec<ItemEvidence>, SqlError> {
        let document = match whose {
            EvidenceSubject::Document(document) => Some(document.0),
            EvidenceSubject::Text(_) => None,
        };
        let decided = self.decided(whose)?;
        let judged = |evidence: Evidence| {
            let verdict = decided.of(evidence.item);
            (evidence, verdict)
        };
        let evidence: Vec<_> = self.evidence(found).into_iter().map(judged).collect();
        let told = |(evidence, verdict): (Evidence, Option<SuiteVerdict>)| {
            let name = self.item(evidence.item)?;
            let is_enough = rule.is_met(&evidence);
            Ok(ItemEvidence {
                document,
                key: None,
                suite: self.record.name.clone(),
                item: name.id,
                part: evidence.text.part.name(),
                turn: evidence.text.number,
                score: evidence.score,
                tokens: evidence.tokens,
                longest_run: evidence.longest_run,
                matched: evidence.matched,
                grams: evidence.grams,
                weak: name.is_weak,
                verdict: verdict.map(SuiteVerdict::name),
                contaminated: is_enough && verdict != Some(SuiteVerdict::Rejected),
                spans: evidence.spans,
                quotes: Vec::new(),
                number: evidence.item,
                of: evidence.text,
                is_enough,
                covered: evidence.covered,
            })
        };
        evidence.into_iter().map(told).collect()
    }
}

/// Calls `each` with all evidence of a corpus, suite by suite, ascending by document and item, until it breaks.
pub(crate) fn each_evidence(
    view: &View,
    rule: &ContaminationRule,
    each: &mut dyn FnMut(ItemEvidence) -> Result<ControlFlow<()>, SqlError>,
) -> Result<(), SqlError> {
    let kept = view.kept()?;
    for (suite, record) in view.suites()? {
        let mut weighed = WeightedSuite::among(view, (*suite, record), rule, &kept)?;
        for row in view.all_sightings(*suite)? {
            let (document, found) = row?;
            for evidence in
                weighed.item_evidence(EvidenceSubject::Document(document), &found, rule)?
            {
                if each(evidence)?.is_break() {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// The worst evidence of a suite, at most `limit` pieces, with quotations of the documents.
pub(crate) fn suite_evidence(
    view: &View,
    name: &str,
    rule: &ContaminationRule,
    limit: usize,
) -> Result<Vec<ItemEvidence>, SqlError> {
    let (suite, record) = view.expect_suite(name)?;
    let mut weighed = WeightedSuite::among(view, (suite, &record), rule, &view.kept()?)?;
    let mut worst = Worst::new(limit);
    for row in view.all_sightings(suite)? {
        let (document, found) = row?;
        for evidence in weighed.item_evidence(EvidenceSubject::Document(document), &found, rule)? {
            worst.add(evidence);
        }
    }
    let mut worst = worst.finish();
    for evidence in &mut worst {
        if let Some(document) = evidence.document {
            evidence.quote(&view.text(DocId(document))?);
            evidence.name(view)?;
        }
    }
    Ok(worst)
}

/// The evidence of a document from all suites, worst first, with quotations.
pub(crate) fn document_evidence(
    view: &View,
    document: DocId,
    rule: &ContaminationRule,
) -> Result<Vec<ItemEvidence>, SqlError> {
    if document.0 >= view.documents() {
        let documents = view.documents();
        return Err(SqlError::NoDocument { document, documents });
    }
    let text = view.text(document)?;
    let (mut all, kept) = (Vec::new(), view.kept()?);
    for (suite, record) in view.suites()? {
        if let Some(found) = view.sightings(*suite, document)? {
            let mut weighed = WeightedSuite::among(view, (*suite, record), rule, &kept)?;
            all.extend(weighed.item_evidence(EvidenceSubject::Document(document), &found, rule)?);
        }
    }
    for evidence in &mut all {
        evidence.quote(&text);
        evidence.name(view)?;
    }
    all.sort_by(ItemEvidence::worst_first);
    Ok(all)
}

/// Keeps the worst evidence of all that is added, up to a limit.
pub(crate) struct Worst {
    limit: usize,
    found: Vec<ItemEvidence>,
}

impl Worst {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { limit, found: Vec::new() }
    }

    pub(crate) fn add(&mut self, evidence: ItemEvidence) {
        self.found.push(evidence);
        if self.found.len() >= self.limit.saturating_mul(2).max(64) {
            self.prune();
        }
    }

    fn prune(&mut self) {
        self.found.sort_by(ItemEvidence::worst_first);
        self.found.truncate(self.limit);
    }

    pub(crate) fn finish(mut self) -> Vec<ItemEvidence> {
        self.prune();
        self.found
    }
}
