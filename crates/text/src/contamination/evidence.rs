//! Evidence that a text contains items of a suite, and the rule by which a document counts as contaminated.
//!
//! Evidence is made by item and part: how much of the part is there, and in how long a run.

use super::index::SuiteIndex;
use super::{GAP, SEED, SHORT, VERDICT};
use model::invariant::part;
use model::{ByteSpan, GramPlace, ItemText, Sightings, SuitePart, SuitePiece, WholeItem};

/// How much of a text of an item, called its part here, stands in a text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evidence {
    /// The number of the item, from 0.
    pub item: u32,
    /// The text of it.
    pub text: ItemText,
    /// The share of the part's tokens that stand in the text within an n-gram or a piece of the part, each weighted by
    /// how few items of the suite have its n-grams (idf): 0 to 1. What is common counts for nothing.
    pub score: f64,
    /// Tokens of the part that stand in the text within an n-gram or a piece of the part.
    pub tokens: u32,
    /// The longest run of the part's tokens that stands in the text.
    pub longest_run: u32,
    /// N-grams of the part that stand in the text.
    pub matched: u32,
    /// N-grams of the part.
    pub grams: u32,
    /// Whether it is a short question as a whole, with its answer near it.
    pub is_whole: bool,
    /// The tokens of the part that stand in the text: from, and up to, ascending.
    pub covered: Vec<(u32, u32)>,
    /// The bytes of the text that have it, ascending; of a short question those of its answer too.
    pub spans: Vec<ByteSpan>,
}

/// An n-gram or a piece of an item at a token of the text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct EvidenceHit {
    item: u32,
    text: ItemText,
    token: u64,
    position: u32,
    tokens: u32,
    span: ByteSpan,
}

impl EvidenceHit {
    const fn of(token: u64, place: GramPlace, tokens: u32, span: ByteSpan) -> Self {
        let GramPlace { item, text, position } = place;
        Self { item, text, token, position, tokens, span }
    }

    /// No piece is as long as an n-gram.
    const fn is_gram(&self) -> bool {
        self.tokens == SEED as u32
    }
}

impl SuiteIndex {
    /// The evidence of what a text has: by item and text of it, of several places in the text the one that has most.
    pub fn evidence(&self, found: &Sightings) -> Vec<Evidence> {
        let mut hits: Vec<EvidenceHit> = Vec::new();
        for run in &found.runs {
            for (token, gram) in (run.token..).zip(run.grams(self.grams() as usize)) {
                let hit = |place: &GramPlace| EvidenceHit::of(token, *place, SEED as u32, run.span);
                hits.extend(self.places(gram).iter().map(hit));
            }
        }
        let pieces = found.pieces.iter().filter(|piece| self.counts(piece));
        hits.extend(pieces.map(|piece: &SuitePiece| {
            EvidenceHit::of(piece.token, piece.place, piece.tokens, piece.span)
        }));
        hits.sort_unstable();
        let mut all = Vec::new();
        for of_part in hits.chunk_by(|a, b| (a.item, a.text) == (b.item, b.text)) {
            let mut best: Option<Evidence> = None;
            for together in of_part.chunk_by(|a, b| b.token - a.token <= GAP + SEED as u64) {
                let Some(evidence) = self.of_hits(together) else { continue };
                if best.as_ref().is_none_or(|best| is_more(&evidence, best)) {
                    best = Some(evidence);
                }
            }
            all.extend(best);
        }
        self.add_whole(found, &mut all);
        all
    }

    /// The evidence of hits of one part that stand together.
    fn of_hits(&self, hits: &[EvidenceHit]) -> Option<Evidence> {
        let first = hits.first()?;
        let weights = self.part(first.item, first.text)?;
        let mut runs: Vec<(u32, u32)> = hits.iter().map(|hit| (hit.position, hit.tokens)).collect();
        runs.sort_unstable();
        runs.dedup();
        let matched = runs.iter().filter(|(_, tokens)| *tokens == SEED as u32).count();
        let (mut weight, mut tokens, mut next) = (0.0, 0, 0);
        let mut covered: Vec<(u32, u32)> = Vec::new();
        for (position, of_run) in &runs {
            let end = position.saturating_add(*of_run);
            let start = next.max(*position as usize);
            let new = part(&weights.tokens, start.min(end as usize)..end as usize);
            weight += new.iter().sum::<f64>();
            tokens += new.len();
            next = next.max(end as usize);
            match covered.last_mut() {
                Some((_, last)) if *position <= *last => *last = end.max(*last),
                _ => covered.push((*position, end)),
            }
        }
        let mut spans: Vec<ByteSpan> = hits.iter().map(|hit| hit.span).collect();
        merge(&mut spans);
        Some(Evidence {
            item: first.item,
            text: first.text,
            score: if weights.whole > 0.0 { (weight / weights.whole).min(1.0) } else { 0.0 },
            tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
            longest_run: longest(hits),
            matched: u32::try_from(matched).unwrap_or(u32::MAX),
            grams: u32::try_from(weights.grams.len()).unwrap_or(u32::MAX),
            is_whole: false,
            covered,
            spans,
        })
    }

    /// Short questions take the place of what their n-grams say.
    fn add_whole(&self, found: &Sightings, all: &mut Vec<Evidence>) {
        let is_common = |whole: &&WholeItem| self.common.contains(&(whole.item, whole.turn));
        for whole in found.whole.iter().filter(|whole| !is_common(whole)) {
            let (item, turn) = (whole.item, whole.turn);
            let text = ItemText { part: SuitePart::Question, number: turn };
            let tokens = self.short.get(&(item, turn)).copied().unwrap_or_default();
            let grams = tokens.saturating_sub(SEED as u32 - 1);
            let mut spans = vec![whole.question, whole.answer];
            merge(&mut spans);
            let evidence = Evidence {
                item,
                text,
                score: 1.0,
                tokens,
                longest_run: tokens,
                matched: grams,
                grams,
                is_whole: true,
                covered: vec![(0, tokens)],
                spans,
            };
            match all.binary_search_by_key(&(item, text), |known| (known.item, known.text)) {
                Ok(at) => all.splice(at..=at, [evidence]),
                Err(at) => all.splice(at..at, [evidence]),
            };
        }
    }
}

fn is_more(a: &Evidence, b: &Evidence) -> bool {
    a.score > b.score || (a.score >= b.score && a.longest_run > b.longest_run)
}

/// The longest run of tokens that follow one another in the text as in the part.
fn longest(hits: &[EvidenceHit]) -> u32 {
    let mut along: Vec<(i64, u32)> = hits
        .iter()
        .filter(|hit| hit.is_gram())
        .map(|hit| {
            let token = i64::try_from(hit.token).unwrap_or(i64::MAX);
            (token.saturating_sub(hit.position.into()), hit.position)
        })
        .collect();
    along.sort_unstable();
    let follows = |a: &(i64, u32), b: &(i64, u32)| a.0 == b.0 && a.1 + 1 == b.1;
    let most = along.chunk_by(follows).map(<[_]>::len).max();
    let of_grams = most.map(|most| u32::try_from(most + SEED - 1).unwrap_or(u32::MAX));
    let longest = hits.iter().map(|hit| hit.tokens).max();
    of_grams.or(longest).unwrap_or_default()
}

/// Spans in their order, those that touch as one.
fn merge(spans: &mut Vec<ByteSpan>) {
    spans.sort_unstable();
    let mut merged: Vec<ByteSpan> = Vec::with_capacity(spans.len());
    for span in spans.drain(..) {
        match merged.last_mut() {
            Some(last) if span.0 <= last.1 => last.1 = last.1.max(span.1),
            _ => merged.push(span),
        }
    }
    *spans = merged;
}

/// What is needed. A passage alone is never enough: it is mostly a text that anybody may have. Nor is a part of fewer
/// than [`SHORT`] tokens, but for a question as a whole with its answer near it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ContaminationRule {
    /// Lowest score: the weighted share of a question or an answer that the document has.
    #[cfg_attr(feature = "cli", arg(long, value_name = "0..1", default_value_t = Self::default().score, value_parser = model::parse_share))]
    pub score: f64,
    /// Fewest tokens of it that the document must have, in runs of 8, or of 5 to 7 with the same offset.
    ///
    /// Of a short question the document must have all tokens, and the answer near them.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = Self::default().tokens))]
    pub tokens: u32,
    /// Ignore n-grams found in at least N kept documents that come from at least `common_sources` sources.
    ///
    /// Equal texts count once.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = Self::default().common_documents, value_parser = clap::value_parser!(u32).range(1..)))]
    pub common_documents: u32,
    /// Sources that must have an n-gram of `common_documents` before it is ignored.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = Self::default().common_sources, value_parser = clap::value_parser!(u32).range(1..=8)))]
    pub common_sources: u32,
}

impl Default for ContaminationRule {
    fn default() -> Self {
        Self { score: 0.3, tokens: VERDICT as u32, common_documents: 50, common_sources: 3 }
    }
}

impl ContaminationRule {
    /// Whether the evidence is enough.
    #[must_use]
    pub fn is_met(&self, evidence: &Evidence) -> bool {
        let part = evidence.grams.saturating_add(SEED as u32 - 1);
        let has_enough = part >= SHORT as u32 && evidence.tokens >= self.tokens;
        let is_long = evidence.is_whole || has_enough;
        evidence.text.part != SuitePart::Passage && is_long && evidence.score >= self.score
    }
}
