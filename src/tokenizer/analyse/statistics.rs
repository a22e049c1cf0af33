//! Numbers drawn from how often each id is used, and from the spread over groups.

use super::subject::AnalysedTokenizer;
use serde::Serialize;

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
    pub lengths: Vec<LengthBin>,
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
pub struct LengthBin {
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
        let unused = subject.iter().filter(|(id, token)| {
            !token.is_added() && uses.get(*id as usize).is_none_or(|count| *count == 0)
        });
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
    // Of one id alone the entropy is a zero with a sign.
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

fn lengths(subject: &AnalysedTokenizer<'_>, uses: &[u64]) -> Vec<LengthBin> {
    let mut bins = std::collections::BTreeMap::<u64, (u64, u64)>::new();
    for (id, token) in subject.iter().filter(|(_, token)| !token.is_added()) {
        let bin = bins.entry(token.surface.len() as u64).or_default();
        bin.0 += 1;
        bin.1 += uses.get(id as usize).copied().unwrap_or(0);
    }
    bins.into_iter().map(|(bytes, (ids, tokens))| LengthBin { bytes, ids, tokens }).collect()
}
