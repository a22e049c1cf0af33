//! The characters that get tokens of their own, and the words as the trainer is to see them.

use super::options::ModelLayout;
use super::pipeline::SPACE;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Coverage where none is asked for: SentencePiece's default for languages with many characters.
pub(super) const DEFAULT_COVERAGE: f64 = 0.9995;

/// The fewest characters that make up the share `coverage` of all but those that stand for spaces,
/// commonest first, equals by code.
pub(super) fn covering(words: &BTreeMap<&str, u64>, coverage: f64) -> BTreeSet<char> {
    let mut counts: HashMap<char, u128> = HashMap::new();
    for (word, count) in words {
        for character in word.chars() {
            *counts.entry(character).or_default() += u128::from(*count);
        }
    }
    if coverage >= 1.0 {
        return counts.into_keys().collect();
    }
    let mut kept: BTreeSet<char> =
        SPACE.chars().filter(|space| counts.contains_key(space)).collect();
    let mut by_count: Vec<(char, u128)> =
        counts.into_iter().filter(|(character, _)| !kept.contains(character)).collect();
    by_count.sort_unstable_by(|(a, counted_a), (b, counted_b)| {
        counted_b.cmp(counted_a).then_with(|| a.cmp(b))
    });
    let total: u128 = by_count.iter().map(|(_, count)| count).sum();
    let mut covered = 0;
    for (character, count) in by_count {
        if share(covered, total) >= coverage {
            break;
        }
        covered += count;
        kept.insert(character);
    }
    kept
}

/// The share of the characters of a group that are in `kept`, those that stand for spaces aside.
pub(super) fn coverage(group: &BTreeMap<Box<str>, u64>, kept: &BTreeSet<char>) -> f64 {
    let (mut covered, mut total) = (0_u128, 0_u128);
    for (word, count) in group {
        for character in word.chars().filter(|character| !SPACE.contains(*character)) {
            total += u128::from(*count);
            covered += if kept.contains(&character) { u128::from(*count) } else { 0 };
        }
    }
    if total == 0 { 1.0 } else { share(covered, total) }
}

#[expect(clippy::cast_precision_loss, reason = "a share is no exact number")]
fn share(part: u128, total: u128) -> f64 {
    part as f64 / (total as f64).max(1.0)
}

/// Words as the trainer is to see them: without characters that get no token, and cut inside what is
/// spelled like a token of another kind, so that no merge can ever make that token of text.
///
/// A word is cut at such a place, since joining what stands around it would teach pairs that no text
/// has; a WordPiece word is left out, since as a whole it is unknown, and one whose end is marked, since its parts
/// end nowhere.
pub(super) fn cut(
    words: &BTreeMap<&str, u64>,
    kept: Option<&BTreeSet<char>>,
    reserved: &[String],
    form: ModelLayout,
) -> BTreeMap<String, u64> {
    let openings: BTreeSet<char> =
        reserved.iter().filter_map(|token| token.chars().next()).collect();
    let is_kept = |character: char| kept.is_none_or(|kept| kept.contains(&character));
    let mut cut: BTreeMap<String, u64> = BTreeMap::new();
    for (word, count) in words {
        let mut parts: Vec<&str> = Vec::new();
        for part in word.split(|character| !is_kept(character)).filter(|part| !part.is_empty()) {
            let mut rest = part;
            if part.contains(|character| openings.contains(&character)) {
                while let Some((before, after)) = cut_first(rest, reserved) {
                    parts.push(before);
                    rest = after;
                }
            }
            parts.push(rest);
        }
        let is_whole = matches!(parts.as_slice(), [only] if only.len() == word.len());
        if matches!(form, ModelLayout::WordPiece | ModelLayout::WordEnds) && !is_whole {
            continue;
        }
        for part in parts {
            if let Some(total) = cut.get_mut(part) {
                *total = total.saturating_add(*count);
            } else {
                cut.insert(part.to_owned(), *count);
            }
        }
    }
    cut
}

/// Takes the rarest words away until at most `most` are left, equally common ones together. Answers how
/// many went and their share of all occurrences.
pub(super) fn prune(words: &mut BTreeMap<String, u64>, most: usize) -> (u64, f64) {
    if words.len() <= most {
        return (0, 0.0);
    }
    let mut counts: Vec<u64> = words.values().copied().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    // The first that has no place; all like it go.
    let bound = counts.get(most).copied().unwrap_or(0);
    let total: u128 = counts.iter().map(|count| u128::from(*count)).sum();
    let before = words.len();
    words.retain(|_, count| *count > bound);
    let left: u128 = words.values().map(|count| u128::from(*count)).sum();
    let gone = u64::try_from(before - words.len()).unwrap_or(u64::MAX);
    (gone, share(total - left, total))
}

/// Cuts after the first character of the first reserved spelling.
fn cut_first<'w>(word: &'w str, reserved: &[String]) -> Option<(&'w str, &'w str)> {
    let found = reserved.iter().filter_map(|token| {
        let opening = token.chars().next()?.len_utf8();
        word.find(token.as_str()).map(|at| at + opening)
    });
    word.split_at_checked(found.min()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commonest_characters_cover() {
        let words = BTreeMap::from([("▁aab", 98), ("▁c", 1), ("▁é", 1)]);
        let all = covering(&words, 1.0);
        assert_eq!(all.iter().collect::<String>(), "abcé▁");
        let most = covering(&words, 0.98);
        assert_eq!(most.iter().collect::<String>(), "ab▁");
        let group = BTreeMap::from([("▁aab".into(), 1), ("é".into(), 1)]);
        assert!((coverage(&group, &most) - 0.75).abs() < 1e-12);
        // Equal counts: the lower code comes first.
        let words = BTreeMap::from([("▁b", 10), ("▁a", 10)]);
        assert_eq!(covering(&words, 0.5).iter().collect::<String>(), "a▁");
    }

    #[test]
    fn the_rarest_words_go_when_there_are_too_many() {
        let all = |counts: &[u64]| -> BTreeMap<String, u64> {
            counts.iter().enumerate().map(|(at, count)| (format!("w{at}"), *count)).collect()
        };
        let mut words = all(&[5, 1, 2, 1, 1]);
        assert_eq!(prune(&mut words, 5), (0, 0.0));
        assert_eq!(prune(&mut words, 3), (3, 0.3));
        assert_eq!(words.values().collect::<Vec<_>>(), [&5, &2]);
    }

    #[test]
    fn words_are_cut_at_what_is_left_out_and_inside_reserved_spellings() {
        let kept: BTreeSet<char> = "ab<unk>x0A▁".chars().collect();
        let reserved = ["<unk>".to_owned(), "<0x0A>".to_owned()];
        let words = BTreeMap::from([("▁aéb", 2), ("a<unk><unk>b", 3), ("▁a", 1), ("b<0x0A>", 1)]);
        let cut_words = cut(&words, Some(&kept), &reserved, ModelLayout::Characters);
        let expected = [("▁a", 3), ("b", 2), ("a<", 3), ("unk><", 3), ("unk>b", 3), ("b<", 1)];
        for (part, count) in expected {
            assert_eq!(cut_words.get(part), Some(&count), "{part}");
        }
        assert_eq!((cut_words["0x0A>"], cut_words.len()), (1, 7));
        let pieces = cut(&words, Some(&kept), &reserved, ModelLayout::WordPiece);
        assert_eq!(pieces, BTreeMap::from([("▁a".to_owned(), 1)]));
        let whole = cut(&words, None, &[], ModelLayout::Unigram);
        assert_eq!(whole.len(), words.len());
    }
}
