//! Prepares counts for a trainer: weighs groups against each other, chooses characters, scales counts under its limits.

use super::count::PretokenTable;
use super::options::{ModelLayout, TrainOptions};
use crate::error::TokenizerError;
use crate::file::SPACE_MARKER;
use model::invariant::at;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Pre-tokens of all groups together.
pub(super) struct WeightedWords<'t> {
    pub(super) words: BTreeMap<&'t str, u64>,
    /// What one occurrence in a group of weight 1 counts: 1 unless weights ask for finer steps.
    pub(super) unit: u64,
    /// One a group.
    pub(super) weights: Vec<f64>,
}

/// Binary places of a weight, below those of the unit.
const PLACES: u32 = 16;
/// The finest unit; groups of lesser weight lose their rarest words to rounding.
const MAX_UNIT: u64 = 1 << 16;

/// With `alpha` 1 and no factor the counts are those of the table.
pub(super) fn weigh<'t>(
    table: &'t PretokenTable,
    groups: &[String],
    options: &TrainOptions,
) -> Result<WeightedWords<'t>, TokenizerError> {
    let weights = weights(table, groups, options)?;
    let mut words: BTreeMap<&str, u64> = BTreeMap::new();
    if weights.iter().all(|weight| *weight == 1.0) {
        for (word, count) in table.groups.iter().flatten() {
            let total = words.entry(word).or_default();
            *total = total.saturating_add(*count);
        }
        return Ok(WeightedWords { words, unit: 1, weights });
    }
    // Small weights are lifted to whole numbers, so that rare words keep their proportion.
    let least = weights.iter().copied().filter(|weight| *weight > 0.0).fold(1.0, f64::min);
    let mut unit = 1;
    while least * to_float(unit) < 1.0 && unit < MAX_UNIT {
        unit *= 2;
    }
    let mut sums: BTreeMap<&str, u128> = BTreeMap::new();
    for (group, weight) in table.groups.iter().zip(&weights) {
        let fixed = u128::from(to_whole(weight * to_float(unit << PLACES)));
        if fixed > 0 {
            for (word, count) in group {
                *sums.entry(word).or_default() += u128::from(*count) * fixed;
            }
        }
    }
    for (word, sum) in sums {
        let rounded = (sum + (1 << (PLACES - 1))) >> PLACES;
        words.insert(word, u64::try_from(rounded).unwrap_or(u64::MAX).max(1));
    }
    Ok(WeightedWords { words, unit, weights })
}

/// w = (p^alpha / sum of p^alpha) / p for the share p of the bytes, times the factor given by name.
fn weights(
    table: &PretokenTable,
    groups: &[String],
    options: &TrainOptions,
) -> Result<Vec<f64>, TokenizerError> {
    let fail = |what: String| Err(TokenizerError::TrainOptions(what));
    if table.groups.len() != groups.len() || table.masses.len() != groups.len() {
        return fail(format!("{} names for {} groups", groups.len(), table.groups.len()));
    }
    if let Some(unknown) = options.weights.keys().find(|name| !groups.contains(name)) {
        let known = groups.join(", ");
        return fail(format!("`{unknown}` has a weight, but the groups are {known}"));
    }
    let total: f64 = table.masses.iter().map(|mass| to_float(mass.bytes)).sum();
    let shares: Vec<f64> =
        table.masses.iter().map(|mass| to_float(mass.bytes) / total.max(1.0)).collect();
    let powers = |share: &f64| if *share > 0.0 { share.powf(options.alpha) } else { 0.0 };
    let sum: f64 = shares.iter().map(powers).sum();
    let weight = |(name, share): (&String, &f64)| {
        let factor = options.weights.get(name).copied().unwrap_or(1.0);
        let is_plain = options.alpha == 1.0 || *share == 0.0;
        if is_plain { factor } else { powers(share) / sum / share * factor }
    };
    Ok(groups.iter().zip(&shares).map(weight).collect())
}

/// Beyond 2^53 to the nearest.
#[expect(clippy::cast_precision_loss, reason = "shares and weights are no exact numbers")]
pub(super) fn to_float(count: u64) -> f64 {
    count as f64
}

/// To the nearest; saturates.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "weights are finite and not negative; the cast saturates"
)]
fn to_whole(value: f64) -> u64 {
    value.round() as u64
}

/// Coverage where none is asked for: SentencePiece's default for languages with many characters.
const DEFAULT_COVERAGE: f64 = 0.9995;

/// One in so many characters of a group: such a character always has a token, unless a coverage is asked for.
const COMMON: u128 = 10_000;

/// The characters that become tokens: of one group the fewest that make up the share `coverage` of its weighted `words`;
/// of several, those of each group that counts, since the letters of a small one are rare among all.
pub(super) fn characters(
    table: &PretokenTable,
    weighed: &WeightedWords<'_>,
    coverage: Option<f64>,
) -> BTreeSet<char> {
    let share = coverage.unwrap_or(DEFAULT_COVERAGE);
    if let [_] = table.groups.as_slice() {
        return covering(&counts(weighed.words.iter().map(|(word, count)| (*word, *count))), share);
    }
    let mut kept = BTreeSet::new();
    for (group, weight) in table.groups.iter().zip(&weighed.weights) {
        if *weight > 0.0 {
            let counts = counts(group.iter().map(|(word, count)| (&**word, *count)));
            kept.extend(covering(&counts, share));
            if coverage.is_none() {
                kept.extend(common(&counts));
            }
        }
    }
    kept
}

fn counts<'w>(words: impl Iterator<Item = (&'w str, u64)>) -> HashMap<char, u128> {
    let mut counts: HashMap<char, u128> = HashMap::new();
    for (word, count) in words {
        for character in word.chars() {
            *counts.entry(character).or_default() += u128::from(count);
        }
    }
    counts
}

fn common(counts: &HashMap<char, u128>) -> impl Iterator<Item = char> {
    let total: u128 = counts.values().sum();
    let is_common = move |count: &u128| count.saturating_mul(COMMON) >= total;
    counts.iter().filter(move |(_, count)| is_common(count)).map(|(character, _)| *character)
}

/// The fewest characters that make up the share `coverage` of all but those that stand for spaces,
/// commonest first, equals by code.
fn covering(counts: &HashMap<char, u128>, coverage: f64) -> BTreeSet<char> {
    if coverage >= 1.0 {
        return counts.keys().copied().collect();
    }
    let mut kept: BTreeSet<char> =
        SPACE_MARKER.chars().filter(|space| counts.contains_key(space)).collect();
    let others = counts.iter().filter(|(character, _)| !kept.contains(character));
    let mut by_count: Vec<(char, u128)> =
        others.map(|(character, count)| (*character, *count)).collect();
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
        for character in word.chars().filter(|character| !SPACE_MARKER.contains(*character)) {
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
    let bound = *at(&counts, most);
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

pub(super) const MAX_PAIR_COUNT: u64 = i32::MAX as u64;
const MAX_UNIGRAM_COUNT: u64 = u32::MAX as u64;

/// Brings the counts of words, spelled in symbols, under the limit of the trainer; answers the factor
/// that was applied: 1 if they were under it.
pub(super) fn scale_to_limit(words: &mut BTreeMap<String, u64>, form: ModelLayout) -> f64 {
    let (largest, lifted, limit) = match form {
        ModelLayout::Unigram => largest_of_characters(words),
        ModelLayout::ByteLevel
        | ModelLayout::Characters
        | ModelLayout::WordEnds
        | ModelLayout::WordPiece => largest_pair(words, form),
    };
    scale(words, largest, lifted, limit)
}

/// Brings the counts of words under the limit of our own trainer, whose counts of symbols have 64 bits: no later symbol
/// can pass the commonest character. Answers as [`scale_to_limit`].
pub(super) fn scale_to_64_bits(words: &mut BTreeMap<String, u64>) -> f64 {
    let (largest, lifted, _) = largest_of_characters(words);
    scale(words, largest, lifted, u64::MAX)
}

/// No later pair of tokens can pass the commonest pair of symbols: each stands on one such pair.
fn largest_pair(words: &BTreeMap<String, u64>, form: ModelLayout) -> (u128, u64, u64) {
    // In WordPiece the first symbol of a word differs from the same character inside.
    let is_first_apart = form == ModelLayout::WordPiece;
    let mut pairs: HashMap<(char, char, bool), (u128, u64)> = HashMap::new();
    for (word, count) in words {
        let following = word.chars().skip(1);
        for (place, (left, right)) in word.chars().zip(following).enumerate() {
            let pair = (left, right, is_first_apart && place == 0);
            let (sum, rows) = pairs.entry(pair).or_default();
            *sum += u128::from(*count);
            *rows += 1;
        }
    }
    let largest = pairs.values().map(|(sum, _)| *sum).max().unwrap_or(0);
    let lifted = pairs.values().map(|(_, rows)| *rows).max().unwrap_or(0);
    (largest, lifted, MAX_PAIR_COUNT)
}

/// The sum over words, and over the occurrences of the commonest character.
fn largest_of_characters(words: &BTreeMap<String, u64>) -> (u128, u64, u64) {
    let mut characters: HashMap<char, (u128, u64)> = HashMap::new();
    for (word, count) in words {
        for character in word.chars() {
            let (sum, rows) = characters.entry(character).or_default();
            *sum += u128::from(*count);
            *rows += 1;
        }
    }
    let largest = characters.values().map(|(sum, _)| *sum).max().unwrap_or(0);
    let lifted = characters.values().map(|(_, rows)| *rows).max().unwrap_or(0);
    let total: u128 = words.values().map(|count| u128::from(*count)).sum();
    let rows = u64::try_from(words.len()).unwrap_or(u64::MAX);
    (largest.max(total), lifted.max(rows), MAX_UNIGRAM_COUNT)
}

/// One factor for all, chosen so that the largest sum stays under the limit although nothing falls
/// below 1: there is room for the `lifted` rows that this raises.
fn scale(words: &mut BTreeMap<String, u64>, largest: u128, lifted: u64, limit: u64) -> f64 {
    if largest <= u128::from(limit) {
        return 1.0;
    }
    let target = u128::from(limit.saturating_sub(lifted).max(1));
    for count in words.values_mut() {
        // Twice 64 bits: no overflow.
        let share = u128::from(*count) * target / largest;
        *count = u64::try_from(share).unwrap_or(u64::MAX).max(1);
    }
    share(target, largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampled::TextTotals;

    fn table() -> PretokenTable {
        let group = |words: &[(&str, u64)]| {
            words.iter().map(|(word, count)| ((*word).into(), *count)).collect()
        };
        let mass = |bytes| TextTotals { bytes, texts: 1, ..TextTotals::default() };
        PretokenTable {
            groups: vec![group(&[("the", 900), ("rare", 1)]), group(&[("na", 90), ("the", 10)])],
            masses: vec![mass(9000), mass(1000)],
            sampled_one_in: 1,
        }
    }

    fn names() -> Vec<String> {
        vec!["en".to_owned(), "sw".to_owned()]
    }

    #[test]
    fn alpha_one_leaves_the_counts() {
        let table = table();
        let weighed = weigh(&table, &names(), &TrainOptions::default()).unwrap();
        assert_eq!((weighed.words["the"], weighed.words["na"], weighed.unit), (910, 90, 1));
        assert_eq!(weighed.weights, [1.0, 1.0]);
    }

    #[test]
    fn alpha_zero_makes_groups_equal() {
        let table = table();
        let options = TrainOptions { alpha: 0.0, ..TrainOptions::default() };
        let weighed = weigh(&table, &names(), &options).unwrap();
        // 0.5 / 0.9 and 0.5 / 0.1.
        assert!((weighed.weights[0] - 5.0 / 9.0).abs() < 1e-12);
        assert!((weighed.weights[1] - 5.0).abs() < 1e-12);
        assert_eq!(weighed.unit, 2);
        assert_eq!(weighed.words["na"], 900);
        assert_eq!(weighed.words["the"], 1100);
        assert_eq!(weighed.words["rare"], 1, "10 / 9 of a half");
        let total: f64 = weighed.weights[0] * 0.9 + weighed.weights[1] * 0.1;
        assert!((total - 1.0).abs() < 1e-12, "the mass stays");
    }

    #[test]
    fn factors_multiply_and_unknown_names_are_refused() {
        let table = table();
        let weights = BTreeMap::from([("sw".to_owned(), 3.0), ("en".to_owned(), 0.0)]);
        let options = TrainOptions { weights, ..TrainOptions::default() };
        let weighed = weigh(&table, &names(), &options).unwrap();
        assert_eq!(weighed.words, BTreeMap::from([("na", 270), ("the", 30)]));
        let weights = BTreeMap::from([("sv".to_owned(), 3.0)]);
        let options = TrainOptions { weights, ..TrainOptions::default() };
        let error = weigh(&table, &names(), &options).err().unwrap().to_string();
        assert!(error.contains("`sv` has a weight, but the groups are en, sw"), "{error}");
    }
}

#[cfg(test)]
mod alphabet_tests {
    use super::*;

    #[test]
    fn the_commonest_characters_cover() {
        let words = counts([("▁aab", 98), ("▁c", 1), ("▁é", 1)].into_iter());
        let all = covering(&words, 1.0);
        assert_eq!(all.iter().collect::<String>(), "abcé▁");
        let most = covering(&words, 0.98);
        assert_eq!(most.iter().collect::<String>(), "ab▁");
        let group = BTreeMap::from([("▁aab".into(), 1), ("é".into(), 1)]);
        assert!((coverage(&group, &most) - 0.75).abs() < 1e-12);
        // Equal counts: the lower code comes first.
        let words = counts([("▁b", 10), ("▁a", 10)].into_iter());
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
    fn words_are_cut_at_reserved_spellings() {
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

#[cfg(test)]
mod scale_tests {
    use super::*;
    use proptest::prelude::*;

    fn words(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
        counts.iter().map(|(word, count)| ((*word).to_owned(), *count)).collect()
    }

    fn largest(words: &BTreeMap<String, u64>, form: ModelLayout) -> u128 {
        match form {
            ModelLayout::Unigram => largest_of_characters(words).0,
            _ => largest_pair(words, form).0,
        }
    }

    #[test]
    fn counts_are_scaled_under_the_limit_and_keep_their_order() {
        let counts = [("aa", 9_000_000_000), ("aab", 3_000_000_000), ("ab", 5), ("b", 1 << 60)];
        let mut scaled = words(&counts);
        let factor = scale_to_limit(&mut scaled, ModelLayout::ByteLevel);
        let found = largest(&scaled, ModelLayout::ByteLevel);
        assert!(found <= MAX_PAIR_COUNT.into() && found > (MAX_PAIR_COUNT / 2).into());
        assert!((factor - 2_147_483_645.0 / 12e9).abs() < 1e-9, "{factor}");
        assert_eq!(scaled["ab"], 1);
        assert_eq!(scaled["aa"] / scaled["aab"], 3);
        let mut small = words(&[("aa", 7)]);
        assert_eq!((scale_to_limit(&mut small, ModelLayout::ByteLevel), small["aa"]), (1.0, 7));
    }

    #[test]
    fn the_first_symbol_of_a_wordpiece_is_another_one() {
        // `ab` and `##a ##b` stay below the limit each, not together.
        let counts = [("ab", MAX_PAIR_COUNT), ("cab", MAX_PAIR_COUNT)];
        assert_eq!(scale_to_limit(&mut words(&counts), ModelLayout::WordPiece), 1.0);
        assert!(scale_to_limit(&mut words(&counts), ModelLayout::Characters) < 1.0);
    }

    #[test]
    fn characters_and_words_of_a_unigram_stay_below_32_bits() {
        for counts in [[("aaa", 2_000_000_000), ("b", 1)], [("a", 3_000_000_000), ("b", 3 << 30)]] {
            let mut scaled = words(&counts);
            assert!(scale_to_limit(&mut scaled, ModelLayout::Unigram) < 1.0);
            assert!(largest(&scaled, ModelLayout::Unigram) <= u128::from(u32::MAX));
            assert!(scaled.values().all(|count| u32::try_from(*count).is_ok()));
        }
    }

    proptest! {
        #[test]
        fn any_counts_fit(counts in proptest::collection::btree_map("[a-c語]{1,6}", any::<u64>(), 1..40)) {
            for form in [ModelLayout::ByteLevel, ModelLayout::Characters, ModelLayout::WordPiece, ModelLayout::Unigram] {
                let mut scaled = counts.clone();
                scale_to_limit(&mut scaled, form);
                let limit = if form == ModelLayout::Unigram { MAX_UNIGRAM_COUNT } else { MAX_PAIR_COUNT };
                prop_assert!(largest(&scaled, form) <= u128::from(limit));
                prop_assert_eq!(scaled.len(), counts.len());
            }
        }
    }
}
