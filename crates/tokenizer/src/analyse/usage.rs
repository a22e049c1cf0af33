//! Statistics of a vocabulary: how its ids are used in the sample, and what kinds of tokens it is made of.

use super::subject::{AnalysedTokenizer, VocabularyOrigin, VocabularyToken};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use unicode_script::{Script, UnicodeScript};

/// The order of the Rényi entropy that correlated best with translation quality (Zouhar et al. 2023,
/// "Tokenization and the noiseless channel").
const RENYI_ORDER: f64 = 2.5;
/// An id used less often than this in the sample is rare.
const RARE: u64 = 10;
/// Shares of the tokens whose ids are counted, in percent.
const SHARES: [u32; 3] = [50, 90, 99];

/// How the ids of a vocabulary are used in the sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct VocabularyUse {
    /// Ids used at least once.
    pub used_ids: u64,
    /// Ids never used; added tokens are not counted, text does not give them.
    pub unused_ids: u64,
    /// Ids used, but less than ten times.
    pub rare_ids: u64,
    /// How many ids, most used first, cover a share of the tokens.
    pub covered: Vec<CoveredShare>,
    /// Shannon entropy of the ids, in bits a token.
    pub entropy_bits: f64,
    /// Shannon entropy over the logarithm of the vocabulary size.
    pub shannon_efficiency: f64,
    /// Rényi entropy of order 2.5 over the logarithm of the vocabulary size.
    pub renyi_efficiency: f64,
    /// How often the id of a rank is used, at ranks spaced by a tenth of a power of ten.
    pub ranks: Vec<RankedCount>,
    /// Ids and tokens by bytes of text that they stand for.
    pub lengths: Vec<TokenLengthBin>,
}

/// Ids that cover a share of the tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct CoveredShare {
    /// The share, in percent of the tokens.
    pub percent: u32,
    /// The fewest ids that give it.
    pub ids: u64,
}

/// The use of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct RankedCount {
    /// From 1, the most used.
    pub rank: u64,
    /// How often it is used.
    pub count: u64,
}

/// Ids and tokens of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "cli", schemars(rename = "TokenLengthBin"))]
pub struct TokenLengthBin {
    /// Bytes of text.
    pub bytes: u64,
    /// Ids of that length.
    pub ids: u64,
    /// Tokens of that length in the sample.
    pub tokens: u64,
}

impl VocabularyUse {
    pub(super) fn of(subject: &AnalysedTokenizer<'_>, uses: &[u64]) -> Self {
        let mut counts: Vec<u64> = uses.iter().copied().filter(|count| *count > 0).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let unused = subject
            .iter()
            .filter(|(id, token)| !token.is_added() && subject.uses_of(uses, *id) == 0);
        let size = subject.token_count();
        Self {
            used_ids: counts.len() as u64,
            unused_ids: unused.count() as u64,
            rare_ids: counts.iter().filter(|count| **count < RARE).count() as u64,
            covered: covered(&counts),
            entropy_bits: shannon(&counts) / std::f64::consts::LN_2,
            shannon_efficiency: efficiency(shannon(&counts), size),
            renyi_efficiency: efficiency(renyi(&counts, RENYI_ORDER), size),
            ranks: ranks(&counts),
            lengths: lengths(subject, uses),
        }
    }
}

fn covered(descending: &[u64]) -> Vec<CoveredShare> {
    let total: u128 = descending.iter().map(|count| u128::from(*count)).sum();
    let of_share = |percent: u32| {
        let (mut sum, mut ids) = (0u128, 0u64);
        for count in descending {
            if sum * 100 >= total * u128::from(percent) {
                break;
            }
            sum += u128::from(*count);
            ids += 1;
        }
        CoveredShare { percent, ids }
    };
    SHARES.into_iter().map(of_share).collect()
}

/// In nats.
pub(super) fn shannon(counts: &[u64]) -> f64 {
    let total: f64 = counts.iter().map(|count| *count as f64).sum();
    let term = |count: &u64| {
        let p = *count as f64 / total;
        if p > 0.0 { -p * p.ln() } else { 0.0 }
    };
    counts.iter().map(term).sum()
}

/// In nats; `order` is not 1.
pub(super) fn renyi(counts: &[u64], order: f64) -> f64 {
    let total: f64 = counts.iter().map(|count| *count as f64).sum();
    if total <= 0.0 {
        return 0.0;
    }
    let sum: f64 = counts.iter().map(|count| (*count as f64 / total).powf(order)).sum();
    // The entropy of one id alone is a zero with a sign.
    (sum.ln() / (1.0 - order)).max(0.0)
}

fn efficiency(entropy: f64, size: u64) -> f64 {
    if size < 2 { 0.0 } else { entropy / (size as f64).ln() }
}

/// Gini coefficient of values of at least 0: 0 when all are equal, towards 1 when one has all.
pub(super) fn gini(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let sum: f64 = sorted.iter().sum();
    let n = sorted.len() as f64;
    if sum <= 0.0 {
        return 0.0;
    }
    let weighted: f64 = (1u32..).zip(&sorted).map(|(rank, value)| f64::from(rank) * value).sum();
    (2.0 * weighted / (n * sum) - (n + 1.0) / n).max(0.0)
}

fn ranks(descending: &[u64]) -> Vec<RankedCount> {
    let mut points: Vec<RankedCount> = Vec::new();
    for step in 0..=100 {
        let rank = 10f64.powf(f64::from(step) / 10.0).round();
        // Up to 10^10: exact in a float.
        let rank = (rank as u64).min(descending.len() as u64);
        let Some(count) =
            usize::try_from(rank).ok().and_then(|r| descending.get(r.checked_sub(1)?))
        else {
            break;
        };
        if points.last().is_none_or(|last| last.rank != rank) {
            points.push(RankedCount { rank, count: *count });
        }
    }
    points
}

fn lengths(subject: &AnalysedTokenizer<'_>, uses: &[u64]) -> Vec<TokenLengthBin> {
    let mut bins = std::collections::BTreeMap::<u64, (u64, u64)>::new();
    for (id, token) in subject.iter().filter(|(_, token)| !token.is_added()) {
        let bin = bins.entry(token.surface.len() as u64).or_default();
        bin.0 += 1;
        bin.1 += subject.uses_of(uses, id);
    }
    bins.into_iter().map(|(bytes, (ids, tokens))| TokenLengthBin { bytes, ids, tokens }).collect()
}

/// Tokens listed of each sort.
const LISTED: usize = 24;

/// What the vocabulary is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct VocabularyCensus {
    /// Ids and tokens by kind; every id is of one.
    pub kinds: Vec<CensusRow>,
    /// Ids and tokens that hold letters, by the script of these; most ids first.
    pub scripts: Vec<CensusRow>,
    /// Ids whose text begins with a space.
    pub begin_with_space: u64,
    /// The longest by characters, most first, then by id.
    pub longest_by_characters: Vec<ListedToken>,
    /// The longest by bytes, most first, then by id.
    pub longest_by_bytes: Vec<ListedToken>,
    /// Ids of the model that the sample never used, spread over the vocabulary.
    pub unused: Vec<ListedToken>,
}

/// A part of the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CensusRow {
    /// What the ids have in common.
    pub name: String,
    /// How many ids of the vocabulary are of this kind.
    pub ids: u64,
    /// Tokens of these ids in the sample.
    pub tokens: u64,
}

/// One token of the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ListedToken {
    /// The id of the token.
    pub id: u32,
    /// The text that it stands for; bytes that are not characters are U+FFFD.
    pub text: String,
    /// Characters of the text.
    pub characters: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Its use in the sample.
    pub tokens: u64,
}

impl VocabularyCensus {
    pub(super) fn of(subject: &AnalysedTokenizer<'_>, uses: &[u64]) -> Self {
        let use_of = |id: u32| subject.uses_of(uses, id);
        let (mut kinds, mut scripts) = (BTreeMap::new(), BTreeMap::new());
        let mut begin_with_space = 0;
        let count = |rows: &mut BTreeMap<&'static str, (u64, u64)>, name, id| {
            let row = rows.entry(name).or_default();
            row.0 += 1;
            row.1 += use_of(id);
        };
        for (id, token) in subject.iter() {
            count(&mut kinds, kind_of(token), id);
            if !token.is_added() {
                begin_with_space += u64::from(token.surface.first() == Some(&b' '));
                if let Some(script) = token.text().and_then(script_of) {
                    count(&mut scripts, script, id);
                }
            }
        }
        let ours = || subject.iter().filter(|(_, token)| !token.is_added());
        let shown = |(id, token): (u32, &VocabularyToken)| {
            let text = String::from_utf8_lossy(&token.surface).into_owned();
            ListedToken {
                id,
                characters: text.chars().count() as u64,
                bytes: token.surface.len() as u64,
                tokens: use_of(id),
                text,
            }
        };
        let longest = |size: fn(&VocabularyToken) -> usize| {
            let mut all: Vec<(u32, &VocabularyToken)> = ours().collect();
            all.sort_by_key(|(id, token)| (Reverse(size(token)), *id));
            all.into_iter().take(LISTED).map(shown).collect()
        };
        let unused: Vec<(u32, &VocabularyToken)> =
            ours().filter(|(id, _)| use_of(*id) == 0).collect();
        let step = unused.len().div_ceil(LISTED).max(1);
        Self {
            kinds: rows(kinds),
            scripts: rows(scripts),
            begin_with_space,
            longest_by_characters: longest(|token| {
                token.text().map_or(0, |text| text.chars().count())
            }),
            longest_by_bytes: longest(|token| token.surface.len()),
            unused: unused.into_iter().step_by(step).map(shown).collect(),
        }
    }
}

fn rows(counts: BTreeMap<&'static str, (u64, u64)>) -> Vec<CensusRow> {
    let row = |(name, (ids, tokens)): (&str, _)| CensusRow { name: name.to_owned(), ids, tokens };
    let mut rows: Vec<CensusRow> = counts.into_iter().map(row).collect();
    // Stable: equal rows stay in the order of their names.
    rows.sort_by_key(|row| Reverse(row.ids));
    rows
}

fn kind_of(token: &VocabularyToken) -> &'static str {
    match token.origin {
        VocabularyOrigin::Special => return "special",
        VocabularyOrigin::Added => return "added",
        VocabularyOrigin::Byte => return "byte",
        VocabularyOrigin::Model => {}
    }
    let Some(text) = token.text() else { return "part of a character" };
    let inner = text.trim();
    let has = |test: fn(char) -> bool| inner.chars().any(test);
    if inner.is_empty() {
        "white space"
    } else if !has(char::is_alphanumeric) {
        "punctuation and symbols"
    } else if inner.chars().all(char::is_numeric) {
        "digits"
    } else if !has(|c| !c.is_alphabetic() && !is_mark(c)) {
        "letters"
    } else {
        "mixed"
    }
}

/// Marks belong to the letter before them: vowel signs, accents, joiners.
fn is_mark(character: char) -> bool {
    !character.is_ascii() && !character.is_alphanumeric() && character.script() != Script::Common
}

/// The script of a letter; none where several share it.
pub(super) fn script_of_letter(letter: char) -> Option<Script> {
    let script = letter.script();
    (!matches!(script, Script::Common | Script::Inherited | Script::Unknown)).then_some(script)
}

/// The script of the letters; none without letters.
fn script_of(text: &str) -> Option<&'static str> {
    let mut found = None;
    for character in text.chars().filter(|character| character.is_alphabetic()) {
        let Some(script) = script_of_letter(character) else { continue };
        if found.is_some_and(|found| found != script) {
            return Some("several scripts");
        }
        found = Some(script);
    }
    found.map(Script::full_name)
}
