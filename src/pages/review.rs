//! A page of pairs to be judged: items to the left, documents to the right, with what both have marked.

use super::PageModel;
use super::figures::cut;
use crate::inspect::ReviewPair;
use model::show;
use serde::Serialize;
use text::contamination::RulePrecision;

/// Pairs to be judged.
#[derive(Debug, Serialize)]
pub struct ReviewPage<'a> {
    name: String,
    /// The precision of the rule for each suite with verdicts, in words.
    estimates: Vec<String>,
    pairs: &'a [ReviewPair],
}

impl<'a> ReviewPage<'a> {
    /// The page for pairs of a corpus called `name`, with the precision for each suite with verdicts.
    pub fn new(pairs: &'a [ReviewPair], estimates: &[(String, RulePrecision)], name: &str) -> Self {
        let sentence = |(suite, precision): &(String, RulePrecision)| {
            precision_sentence(&cut(suite), precision)
        };
        Self { name: cut(name), estimates: estimates.iter().map(sentence).collect(), pairs }
    }
}

impl PageModel for ReviewPage<'_> {
    const TEMPLATE: &'static str = "review.html";

    fn title(&self) -> String {
        format!("Test items in {}", self.name)
    }
}

/// A sentence about the precision of the rule for a suite, estimated from its verdicts.
pub fn precision_sentence(suite: &str, precision: &RulePrecision) -> String {
    let RulePrecision { accepted, rejected, estimate, low, high, .. } = precision;
    format!(
        "{suite}: precision {estimate:.3} (95 % interval {low:.3} to {high:.3}), {} of {} pairs with a verdict were accepted",
        show::number(*accepted),
        show::number(accepted + rejected)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::ReviewPart;
    use crate::pages::page;
    use text::contamination::Excerpt;

    #[test]
    fn hostile_names_and_texts_are_escaped() {
        let hostile = "<script>alert(1)</script>\u{202e}\"'&";
        let excerpt = Excerpt::of(hostile.to_owned(), vec![(0, 8)]);
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
        let estimate = RulePrecision::of(3, 1).unwrap();
        let (pairs, estimates) = ([pair], [(hostile.to_owned(), estimate)]);
        let page = page(&ReviewPage::new(&pairs, &estimates, hostile)).unwrap();
        assert!(page.contains("<mark>&lt;script&gt;</mark>alert(1)"), "{page}");
        assert!(page.contains("precision 0.750 (95 % interval 0.301 to 0.954)"), "{page}");
        for bad in ["<script", "\u{202e}", "<img", "http://", "https://"] {
            assert!(!page.contains(bad), "{bad}: {page}");
        }
    }
}
