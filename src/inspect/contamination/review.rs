//! Pairs of an item and a document, side by side, for a reviewer who judges whether they are the same.

use crate::inspect::InspectError;
use crate::sql::ItemEvidence;
use crate::sql::{EvidenceSubject, WeightedSuite};
use model::{ByteSpan, DocId, Normaliser, SuiteId, SuiteItem};
use roaring::RoaringTreemap;
use serde::Serialize;
use store::View;
use text::contamination::{ContaminationRule, Excerpt, excerpts};
use text::dedup::TokenPlaces;

/// Bytes shown before and behind a mark.
const AROUND: usize = 160;
/// Bytes shown of a part of an item, and of a document, at most.
const SHOWN: usize = 4000;

/// Which pairs are reviewed.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct ReviewOptions {
    /// Only this suite.
    pub suite: Option<String>,
    /// Show at most N pairs.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = 10))]
    pub limit: usize,
    /// Show random pairs, drawn with this seed, instead of the worst.
    ///
    /// Only a random draw estimates the precision for all pairs.
    #[cfg_attr(feature = "cli", arg(long, value_name = "SEED"))]
    pub sample: Option<u64>,
    /// Show pairs with a verdict, too.
    #[cfg_attr(feature = "cli", arg(long))]
    pub judged: bool,
    /// From where on a document counts as contaminated: pairs below it are not shown.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub rule: ContaminationRule,
}

impl Default for ReviewOptions {
    fn default() -> Self {
        Self {
            suite: None,
            rule: ContaminationRule::default(),
            limit: 10,
            judged: false,
            sample: None,
        }
    }
}

/// An item, and a document that has it by a rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReviewPair {
    /// The suite.
    pub suite: String,
    /// The id of the item.
    pub item: String,
    /// The document: of several with the same text the first.
    pub document: u64,
    /// Its key, or its file and number.
    pub key: String,
    /// Its source.
    pub source: String,
    /// The highest score of the parts that meet the rule.
    pub score: f64,
    /// Whether the item has no answer.
    pub weak: bool,
    /// The verdict: `accepted` or `rejected`.
    pub verdict: Option<&'static str>,
    /// The parts with evidence in the document.
    pub parts: Vec<ReviewPart>,
}

/// A part of an item beside its evidence in a document.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReviewPart {
    /// `question`, `answer` or `passage`.
    pub part: &'static str,
    /// Texts of the part before this one: of a question its turns, of an answer all that are accepted.
    pub turn: u32,
    /// The weighted share of it that the document contains.
    pub score: f64,
    /// Tokens of it that the document contains.
    pub tokens: u32,
    /// The longest run of them.
    pub longest_run: u32,
    /// Whether this meets the rule.
    pub enough: bool,
    /// The text of the part, with the shared words marked.
    pub asked: Vec<Excerpt>,
    /// The text of the document around the shared words, which are marked.
    pub found: Vec<Excerpt>,
}

/// A pair that may be shown.
struct ReviewCandidate {
    /// Order of review: smaller comes first.
    order: [u64; 3],
    suite: SuiteId,
    /// The normaliser by which the suite's n-grams were made.
    normaliser: Normaliser,
    item: u32,
    text: [u8; 16],
    document: DocId,
    /// Evidence of the item in the document.
    evidence: Vec<ItemEvidence>,
}

/// The pairs of kept documents that a rule holds for, worst first, each item and text once.
pub(crate) fn review(
    view: &View,
    options: &ReviewOptions,
) -> Result<Vec<ReviewPair>, InspectError> {
    let mut suites = Vec::new();
    match &options.suite {
        Some(name) => suites.push(view.expect_suite(name)?),
        None => suites.extend(view.suites()?.iter().cloned()),
    }
    let kept = view.kept()?;
    let mut first = Vec::new();
    for (suite, record) in &suites {
        let mut weighed = WeightedSuite::among(view, (*suite, record), &options.rule, &kept)?;
        candidates(view, &mut weighed, (options, &kept), &mut first)?;
    }
    prune(&mut first, options.limit);
    first.iter().map(|one| pair(view, one)).collect()
}

fn candidates(
    view: &View,
    weighed: &mut WeightedSuite<'_>,
    (options, kept): (&ReviewOptions, &RoaringTreemap),
    found: &mut Vec<ReviewCandidate>,
) -> Result<(), InspectError> {
    for row in view.all_sightings(weighed.suite)? {
        let (document, sightings) = row?;
        if !kept.contains(document.0) {
            continue;
        }
        let evidence = weighed.item_evidence(
            EvidenceSubject::Document(document),
            &sightings,
            &options.rule,
        )?;
        let is_shown =
            |one: &&ItemEvidence| one.is_enough && (options.judged || one.verdict.is_none());
        let mut text = None;
        for of_item in evidence.chunk_by(|a, b| a.number == b.number) {
            let shown = of_item.iter().filter(is_shown);
            let Some(worst) = shown.min_by(|a, b| a.worst_first(b)) else { continue };
            let text = match text {
                Some(text) => text,
                None => *text.insert(view.print(document)?.raw),
            };
            let item = worst.number;
            let order = match options.sample {
                Some(seed) => drawn(seed, (&weighed.record.hash, item), &text),
                None => [u64::from(worst.weak), below(worst.score), !u64::from(worst.longest_run)],
            };
            let evidence = of_item.to_vec();
            let (suite, normaliser) = (weighed.suite, weighed.record.normaliser);
            found.push(ReviewCandidate {
                order,
                suite,
                normaliser,
                item,
                text,
                document,
                evidence,
            });
        }
        if found.len() >= options.limit.saturating_mul(2).max(64) {
            prune(found, options.limit);
        }
    }
    Ok(())
}

/// Keeps the first `limit` pairs, each item and text once.
fn prune(found: &mut Vec<ReviewCandidate>, limit: usize) {
    let by = |one: &ReviewCandidate| (one.order, one.suite, one.item, one.text);
    found.sort_by_key(|one| (by(one), one.document));
    found.dedup_by(|a, b| by(a) == by(b));
    found.truncate(limit);
}

/// Smaller for higher scores. Scores are from 0 to 1, where the order of bits is that of numbers.
fn below(score: f64) -> u64 {
    !score.max(0.0).to_bits()
}

/// A random number for an item of a suite and a text, the same each time.
fn drawn(seed: u64, (suite, item): (&[u8; 32], u32), text: &[u8; 16]) -> [u64; 3] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(suite);
    hasher.update(&item.to_le_bytes());
    hasher.update(text);
    let mut first = [0; 8];
    hasher.finalize_xof().fill(&mut first);
    [u64::from_le_bytes(first), 0, 0]
}

fn pair(view: &View, candidate: &ReviewCandidate) -> Result<ReviewPair, InspectError> {
    let ReviewCandidate { document, suite, normaliser, evidence, .. } = candidate;
    let (text, place) = (view.text(*document)?, view.place(*document)?);
    let item = view.suite_item(*suite, candidate.item)?.unwrap_or_default();
    let enough = evidence.iter().filter(|one| one.is_enough);
    let parts = evidence.iter().map(|one| {
        side_by_side(one, (&item, *normaliser), &text).ok_or_else(|| {
            let why = format!("its text does not have the words that document {document} shares");
            View::corrupt_item(*suite, candidate.item, why)
        })
    });
    Ok(ReviewPair {
        suite: evidence.first().map(|one| one.suite.clone()).unwrap_or_default(),
        document: document.0,
        key: view.display_key(*document)?,
        source: view.source_name(place.source)?.to_owned(),
        score: enough.map(|one| one.score).fold(0.0, f64::max),
        weak: item.is_weak(),
        verdict: evidence.first().and_then(|one| one.verdict),
        parts: parts.collect::<Result<_, _>>()?,
        item: item.id,
    })
}

/// None where the item does not have the tokens of the evidence.
fn side_by_side(
    one: &ItemEvidence,
    (item, normaliser): (&SuiteItem, Normaliser),
    text: &str,
) -> Option<ReviewPart> {
    let asked = item.text(one.of);
    Some(ReviewPart {
        part: one.part,
        turn: one.turn,
        score: one.score,
        tokens: one.tokens,
        longest_run: one.longest_run,
        enough: one.is_enough,
        // All of it, up to where it is cut.
        asked: excerpts(asked, &marked(asked, normaliser, &one.covered)?, SHOWN, SHOWN),
        found: excerpts(text, &one.spans, AROUND, SHOWN),
    })
}

/// The bytes of tokens of a part by a normaliser, from and up to; none where the text has fewer.
fn marked(text: &str, normaliser: Normaliser, covered: &[(u32, u32)]) -> Option<Vec<ByteSpan>> {
    let ends = |(from, to): &(u32, u32)| [u64::from(*from), u64::from(to.saturating_sub(1))];
    let mut asked: Vec<u64> = covered.iter().flat_map(ends).collect();
    asked.dedup();
    let spans = TokenPlaces::new(normaliser).of(text, &asked);
    let span = |token: u64| spans.get(asked.binary_search(&token).ok()?);
    let between = |[first, last]: [u64; 2]| {
        let (first, last) = (span(first)?, span(last)?);
        Some((first.0, last.1.max(first.0)))
    };
    covered.iter().map(ends).map(between).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // They were marked at the beginning of the text.
    #[test]
    fn words_that_a_text_does_not_have_are_not_marked() {
        let marked = |covered| marked("one two three", Normaliser::Web, covered);
        assert_eq!(marked(&[(0, 1), (1, 3)]), Some(vec![(0, 3), (4, 13)]));
        assert_eq!(marked(&[(1, 4)]), None);
        assert_eq!(marked(&[(0, 1), (7, 9)]), None);
    }
}
