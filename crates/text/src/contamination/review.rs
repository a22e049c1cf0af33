//! Human review of findings: excerpts of a text around its matches, and the precision of a rule by reviewers' verdicts.

use model::ByteSpan;
use model::invariant::text_part;
use serde::Serialize;

/// A piece of a text, with the places in it that are marked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Excerpt {
    /// Bytes of the text before it.
    pub from: u64,
    /// The text of the excerpt.
    pub text: String,
    /// Marked ranges: bytes of `text`, from and up to, ascending.
    pub marks: Vec<ByteSpan>,
    /// Whether the text continues after it.
    pub more: bool,
}

impl Excerpt {
    /// A whole text with its marks.
    #[doc(hidden)]
    #[must_use]
    pub fn of(text: String, marks: Vec<ByteSpan>) -> Self {
        Self { text, marks, ..Self::default() }
    }

    /// What stands there, in turns marked and not; no part is empty.
    pub fn parts(&self) -> impl Iterator<Item = (bool, &str)> {
        let mut cuts = vec![(false, 0)];
        for (from, to) in &self.marks {
            cuts.push((true, place(*from)));
            cuts.push((false, place(*to)));
        }
        let ends: Vec<usize> =
            cuts.iter().skip(1).map(|(_, at)| *at).chain([self.text.len()]).collect();
        let part = |((is_marked, from), to): ((bool, usize), usize)| {
            Some((is_marked, self.text.get(from..to).filter(|part| !part.is_empty())?))
        };
        cuts.into_iter().zip(ends).filter_map(part)
    }
}

/// Pieces of a text around its marks, with `around` bytes before and behind, up to `most` bytes in all; the beginning
/// of the text where nothing is marked. Marks are ascending and do not overlap.
pub fn excerpts(text: &str, marks: &[ByteSpan], around: usize, most: usize) -> Vec<Excerpt> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut snapped: Vec<(usize, usize)> = Vec::with_capacity(marks.len());
    for (from, to) in marks {
        let from = text.floor_char_boundary(place(*from));
        let to = text.ceil_char_boundary(place(*to));
        match snapped.last_mut() {
            Some((_, last)) if from < *last => *last = to.max(*last),
            _ if from < to => snapped.push((from, to)),
            _ => {}
        }
    }
    for (from, to) in &snapped {
        let (from, to) = (from.saturating_sub(around), to.saturating_add(around));
        match found.last_mut() {
            Some((_, last)) if from <= *last => *last = to,
            _ => found.push((from, to)),
        }
    }
    if found.is_empty() {
        found.push((0, most));
    }
    let mut left = most;
    let mut all = Vec::with_capacity(found.len());
    for (from, to) in found {
        if left == 0 {
            break;
        }
        let from = text.floor_char_boundary(from);
        let to = text.floor_char_boundary(to.min(from.saturating_add(left)).max(from));
        left = left.saturating_sub((to - from).max(1));
        let inside = |(start, end): &(usize, usize)| {
            let (start, end) = ((*start).max(from), (*end).min(to));
            (start < end).then(|| ((start - from) as u64, (end - from) as u64))
        };
        let piece = text_part(text, from..to).to_owned();
        let marks = snapped.iter().filter_map(inside).collect();
        all.push(Excerpt { from: from as u64, text: piece, marks, more: to < text.len() });
    }
    all
}

fn place(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

/// 97.5 % of a normal distribution are below it.
const Z: f64 = 1.959_963_984_540_054;

/// The precision of a rule: the share of accepted pairs among the pairs of an item and a text with a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RulePrecision {
    /// Pairs that were accepted.
    pub accepted: u64,
    /// Pairs that were rejected.
    pub rejected: u64,
    /// The share of those accepted.
    pub estimate: f64,
    /// Lower bound of the 95 % interval (Wilson) of the share among all pairs, if the judged ones were drawn at random.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
}

impl RulePrecision {
    /// None where nothing was decided.
    #[must_use]
    pub fn of(accepted: u64, rejected: u64) -> Option<Self> {
        let all = accepted.saturating_add(rejected);
        if all == 0 {
            return None;
        }
        let (n, share) = (all as f64, accepted as f64 / all as f64);
        let squared = Z * Z / n;
        let centre = (share + squared / 2.0) / (1.0 + squared);
        let spread = Z * (share * (1.0 - share) / n + squared / (4.0 * n)).sqrt() / (1.0 + squared);
        let (low, high) = ((centre - spread).max(0.0), (centre + spread).min(1.0));
        Some(Self { accepted, rejected, estimate: share, low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pieces_stand_around_marks() {
        let text = "one two three four five six seven eight";
        let found = excerpts(text, &[(4, 7), (34, 39)], 4, 1000);
        let told: Vec<_> =
            found.iter().map(|one| (one.from, one.text.as_str(), one.more)).collect();
        assert_eq!(told, [(0, "one two thr", true), (30, "ven eight", false)]);
        let parts: Vec<_> = found.first().unwrap().parts().collect();
        assert_eq!(parts, [(false, "one "), (true, "two"), (false, " thr")]);
        // Pieces that touch are one; the beginning where nothing is marked; no more than is asked for.
        assert_eq!(excerpts(text, &[(4, 7), (14, 18)], 4, 1000).len(), 1);
        assert_eq!(excerpts(text, &[], 4, 7).first().unwrap().text, "one two");
        assert_eq!(excerpts("", &[], 4, 7).len(), 1);
    }

    proptest! {
        #[test]
        fn pieces_are_of_the_text_bounded_and_have_the_marks(
            text in "[a-zé☃ ]{0,80}",
            mut cuts in prop::collection::vec(0_u64..120, 0..8),
            around in 0_usize..12,
            most in 0_usize..100,
        ) {
            cuts.sort_unstable();
            cuts.dedup();
            let marks: Vec<ByteSpan> =
                cuts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            let found = excerpts(&text, &marks, around, most);
            prop_assert!(found.iter().map(|one| one.text.len()).sum::<usize>() <= most);
            let mut behind = 0;
            for one in &found {
                let from = one.from as usize;
                prop_assert!(from >= behind);
                behind = from + one.text.len();
                prop_assert_eq!(&text[from..behind], one.text.as_str());
                let joined: String = one.parts().map(|(_, part)| part).collect();
                prop_assert_eq!(&joined, &one.text);
            }
        }
    }

    #[test]
    fn intervals_are_those_of_published_tables() {
        assert_eq!(RulePrecision::of(0, 0), None);
        // Newcombe 1998, table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        for (accepted, rejected, low, high) in [
            (81, 182, 0.2553, 0.3662),
            (15, 133, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 28, 0.0061, 0.1718),
        ] {
            let found = RulePrecision::of(accepted, rejected).unwrap();
            assert!(
                (found.low - low).abs() < 5e-5 && (found.high - high).abs() < 5e-5,
                "{found:?}"
            );
        }
        let all = RulePrecision::of(5, 0).unwrap();
        assert!((all.estimate - 1.0).abs() < 1e-12 && all.low > 0.5 && all.high >= 0.999_999);
    }
}
