//! Pairs of an item and a document as a page: items to the left, documents to the right, what both have is marked.

use super::Page;
use super::figures::cut;
use crate::contamination::{Excerpt, Precision};
use crate::model::show;
use crate::query::{ReviewPair, ReviewPart};
use serde::Serialize;

/// Pairs of a corpus to be judged.
#[derive(Debug, Serialize)]
pub struct ReviewPage<'a> {
    name: String,
    /// The precision of the rule for each suite that has verdicts, in words.
    estimates: Vec<String>,
    pairs: Vec<PairView<'a>>,
}

#[derive(Debug, Serialize)]
struct PairView<'a> {
    suite: &'a str,
    item: &'a str,
    document: u64,
    source: &'a str,
    key: &'a str,
    score: f64,
    weak: bool,
    verdict: Option<&'static str>,
    parts: Vec<PartView<'a>>,
}

#[derive(Debug, Serialize)]
struct PartView<'a> {
    part: &'static str,
    score: f64,
    tokens: u32,
    longest_run: u32,
    enough: bool,
    asked: Vec<ExcerptView<'a>>,
    found: Vec<ExcerptView<'a>>,
}

/// A piece of a text, and whether more stands before and behind it.
#[derive(Debug, Serialize)]
struct ExcerptView<'a> {
    is_cut_before: bool,
    is_cut_behind: bool,
    parts: Vec<MarkedText<'a>>,
}

#[derive(Debug, Serialize)]
struct MarkedText<'a> {
    is_marked: bool,
    text: &'a str,
}

impl<'a> ReviewPage<'a> {
    /// The pairs, with the precision of each suite about which something was decided, of a corpus called `name`.
    pub fn new(pairs: &'a [ReviewPair], estimates: &[(String, Precision)], name: &str) -> Self {
        let sentence =
            |(suite, precision): &(String, Precision)| precision_sentence(&cut(suite), precision);
        Self {
            name: cut(name),
            estimates: estimates.iter().map(sentence).collect(),
            pairs: pairs.iter().map(pair_view).collect(),
        }
    }
}

impl Page for ReviewPage<'_> {
    const TEMPLATE: &'static str = "review.html";

    fn title(&self) -> String {
        format!("Test items in {}", self.name)
    }
}

/// The precision of the rule that found a suite, as its verdicts have it.
pub fn precision_sentence(suite: &str, precision: &Precision) -> String {
    let Precision { accepted, rejected, estimate, low, high, .. } = precision;
    format!(
        "{suite}: precision {estimate:.3} (95 % interval {low:.3} to {high:.3}), {} of {} pairs with a verdict were accepted",
        show::number(*accepted),
        show::number(accepted + rejected)
    )
}

fn pair_view(pair: &ReviewPair) -> PairView<'_> {
    PairView {
        suite: &pair.suite,
        item: &pair.item,
        document: pair.document,
        source: &pair.source,
        key: &pair.key,
        score: pair.score,
        weak: pair.weak,
        verdict: pair.verdict,
        parts: pair.parts.iter().map(part_view).collect(),
    }
}

fn part_view(part: &ReviewPart) -> PartView<'_> {
    PartView {
        part: part.part,
        score: part.score,
        tokens: part.tokens,
        longest_run: part.longest_run,
        enough: part.enough,
        asked: part.asked.iter().map(excerpt_view).collect(),
        found: part.found.iter().map(excerpt_view).collect(),
    }
}

fn excerpt_view(excerpt: &Excerpt) -> ExcerptView<'_> {
    ExcerptView {
        is_cut_before: excerpt.from > 0,
        is_cut_behind: excerpt.more,
        parts: excerpt.parts().map(|(is_marked, text)| MarkedText { is_marked, text }).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::page;

    #[test]
    fn hostile_names_and_texts_are_escaped() {
        let hostile = "<script>alert(1)</script>\u{202e}\"'&";
        let excerpt =
            Excerpt { text: hostile.to_owned(), marks: vec![(0, 8)], ..Excerpt::default() };
        let part = ReviewPart {
            part: "question",
            asked: vec![excerpt.clone()],
            found: vec![excerpt],
            ..ReviewPart::default()
        };
        let mut pair = ReviewPair { parts: vec![part], ..ReviewPair::default() };
        for field in [&mut pair.suite, &mut pair.item, &mut pair.source, &mut pair.key] {
            hostile.clone_into(field);
        }
        let estimate = Precision::of(3, 1).unwrap();
        let (pairs, estimates) = ([pair], [(hostile.to_owned(), estimate)]);
        let page = page(&ReviewPage::new(&pairs, &estimates, hostile)).unwrap();
        assert!(page.contains("<mark>&lt;script&gt;</mark>alert(1)"), "{page}");
        assert!(page.contains("precision 0.750 (95 % interval 0.301 to 0.954)"), "{page}");
        for bad in ["<script", "\u{202e}", "<img", "http://", "https://"] {
            assert!(!page.contains(bad), "{bad}: {page}");
        }
    }
}
