//! The curve of a sample's length in tokens against vocabulary size, with its knee and the price of each size.
//!
//! Of a byte-pair model all sizes are known from how many pairs each merge joined (`replay`): a merge takes
//! one token from the sample for every pair that it joins, so that
//! tokens(first V merges) = symbols - sum of the first V counts. Of a WordPiece all are known from the order
//! of its pieces (`greedy`), of a Unigram those that were trained (`retrained`).

use serde::Serialize;

/// Points kept of the curve: enough to draw it.
const POINTS: u32 = 160;
/// The smallest size in the table.
pub(super) const SMALLEST: u64 = 1024;
/// Ids over which the marginal gain is taken.
pub(super) const MARGIN: u64 = 1000;

/// What a replay of all merges over the counted pre-tokens gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeCounts {
    /// Names of the groups.
    pub groups: Vec<String>,
    /// UTF-8 bytes of the counted texts, by group.
    pub bytes: Vec<u64>,
    /// Symbols before the first merge, by group.
    pub symbols: Vec<u64>,
    /// Ids before the first merge: bytes or characters, and added tokens.
    pub base_ids: u64,
    /// For each merge, whether it makes a new id: another merge may have made the id before.
    pub makes_id: Vec<bool>,
    /// Pairs joined, by merge, then by group.
    pub joined: Vec<u64>,
    /// One in how many texts were counted.
    pub sampled_one_in: u64,
    /// Pre-tokens that were left out, because they are too long.
    pub skipped: u64,
}

/// The curve of sequence length against vocabulary size.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct VocabularyCurve {
    /// Names of the groups of the points.
    pub groups: Vec<String>,
    /// Bytes of the counted text, by group.
    pub bytes: Vec<u64>,
    /// Points of the curve, ascending: evenly spaced in the logarithm of the size; of a Unigram the sizes that
    /// were trained, half powers of two and a thousand beyond powers of two.
    pub points: Vec<CurvePoint>,
    /// Where the tokens over the logarithm of the size turn.
    pub knee: Option<Knee>,
    /// Where the tokens over the size itself, so over its price, turn; later than the other.
    pub price_knee: Option<Knee>,
    /// Powers of two, both knees and the whole vocabulary with their price, ascending.
    pub prices: Vec<SizePrice>,
    /// Width of a row of the embedding.
    pub embedding_width: u64,
    /// The curve uses one in this many texts of the sample: 1 if memory sufficed, else a power of two.
    pub sampled_one_in: u64,
    /// Pre-tokens that are not in the curve, because they are longer than 16 KiB.
    pub skipped_pretokens: u64,
    /// Whether the last point is the number of tokens that encoding the counted pre-tokens gives.
    pub confirmed: bool,
}

/// The sample at one size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CurvePoint {
    /// The size of the vocabulary, in ids.
    pub vocab_size: u64,
    /// Tokens of the sample.
    pub tokens: u64,
    /// Tokens by group.
    pub by_group: Vec<u64>,
}

/// A size where the curve is farthest below its chord.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Knee {
    /// Ids.
    pub vocab_size: u64,
    /// Tokens of the sample.
    pub tokens: u64,
    /// Distance to the chord, as a share of the fall from the first point to the last.
    pub distance: f64,
}

/// The effect and the cost of a size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SizePrice {
    /// Ids.
    pub vocab_size: u64,
    /// Tokens of the sample.
    pub tokens: u64,
    /// Bytes a token.
    pub bytes_per_token: f64,
    /// Tokens relative to those at the whole vocabulary.
    pub length_ratio: f64,
    /// Share of the tokens that the next thousand ids save; none if there are fewer.
    pub next_thousand: Option<f64>,
    /// Parameters of an embedding that is the output layer too.
    pub parameters_tied: u64,
    /// Parameters of an embedding and an output layer of its own.
    pub parameters_untied: u64,
}

/// How long a sample is at sizes of the vocabulary.
pub(super) struct SizeLengths {
    /// Names of the groups.
    pub(super) groups: Vec<String>,
    /// UTF-8 bytes of the counted texts, by group.
    pub(super) bytes: Vec<u64>,
    /// Sizes, ascending.
    pub(super) sizes: Vec<u64>,
    /// Tokens, by size, then by group.
    pub(super) tokens: Vec<u64>,
    /// Whether there are no other sizes, from the first to the last.
    pub(super) are_all: bool,
    /// One in how many texts were counted.
    pub(super) sampled_one_in: u64,
    /// Pre-tokens that were left out, because they are too long.
    pub(super) skipped: u64,
}

impl From<&MergeCounts> for SizeLengths {
    /// Before the first merge and at every size after it; of merges that make no new id the last counts for
    /// the size before.
    fn from(counts: &MergeCounts) -> Self {
        let groups = counts.symbols.len().max(1);
        let mut by_group = counts.symbols.clone();
        by_group.resize(groups, 0);
        let mut sizes = vec![counts.base_ids];
        let mut tokens = by_group.clone();
        let mut size = counts.base_ids;
        for (makes_id, joined) in counts.makes_id.iter().zip(counts.joined.chunks(groups)) {
            for (tokens, joined) in by_group.iter_mut().zip(joined) {
                *tokens = tokens.saturating_sub(*joined);
            }
            if *makes_id {
                size += 1;
                sizes.push(size);
            } else {
                tokens.truncate(tokens.len().saturating_sub(groups));
            }
            tokens.extend_from_slice(&by_group);
        }
        Self {
            groups: counts.groups.clone(),
            bytes: counts.bytes.clone(),
            sizes,
            tokens,
            are_all: true,
            sampled_one_in: counts.sampled_one_in,
            skipped: counts.skipped,
        }
    }
}

impl SizeLengths {
    /// (ids, tokens) at every size.
    fn totals(&self) -> Vec<(u64, u64)> {
        let sums = self.tokens.chunks(self.width()).map(|tokens| tokens.iter().sum());
        self.sizes.iter().copied().zip(sums).collect()
    }

    fn width(&self) -> usize {
        (self.tokens.len() / self.sizes.len().max(1)).max(1)
    }

    /// Sizes to draw.
    fn drawn(&self, base: u64, whole: u64) -> Vec<u64> {
        if self.are_all { spaced(base, whole).collect() } else { self.sizes.clone() }
    }

    fn is_known(&self, size: u64) -> bool {
        self.are_all || self.sizes.binary_search(&size).is_ok()
    }

    /// The sample at the last size up to this one.
    fn point(&self, size: u64) -> Option<CurvePoint> {
        let at = self.sizes.partition_point(|known| *known <= size).checked_sub(1)?;
        let by_group = self.tokens.chunks(self.width()).nth(at)?.to_vec();
        let (vocab_size, tokens) = (*self.sizes.get(at)?, by_group.iter().sum());
        Some(CurvePoint { vocab_size, tokens, by_group })
    }
}

impl VocabularyCurve {
    /// Draws the curve. `counted` is how many tokens encoding the counted pre-tokens gave.
    #[must_use]
    pub fn new(counts: &MergeCounts, embedding_width: u64, counted: u64) -> Self {
        Self::of(&SizeLengths::from(counts), embedding_width, counted)
    }

    pub(super) fn of(lengths: &SizeLengths, embedding_width: u64, counted: u64) -> Self {
        let totals = lengths.totals();
        let (base, _) = totals.first().copied().unwrap_or_default();
        let (whole, least) = totals.last().copied().unwrap_or_default();
        let by_log = knee(&totals, |size| (size.max(1) as f64).ln());
        let by_price = knee(&totals, |size| size as f64);
        let knees = || [by_log, by_price].into_iter().flatten().map(|knee| knee.vocab_size);
        let sorted = |mut sizes: Vec<u64>| {
            sizes.sort_unstable();
            sizes.dedup();
            sizes
        };
        let wanted = sorted(lengths.drawn(base, whole).into_iter().chain(knees()).collect());
        let round = sizes(base, whole).filter(|size| lengths.is_known(*size));
        let prices = sorted(round.chain(knees()).collect());
        let bytes = lengths.bytes.iter().sum();
        let price = |size| price(lengths, &totals, bytes, size, embedding_width);
        Self {
            groups: lengths.groups.clone(),
            bytes: lengths.bytes.clone(),
            points: wanted.into_iter().filter_map(|size| lengths.point(size)).collect(),
            knee: by_log,
            price_knee: by_price,
            prices: prices.into_iter().map(price).collect(),
            embedding_width,
            sampled_one_in: lengths.sampled_one_in,
            skipped_pretokens: lengths.skipped,
            confirmed: least == counted,
        }
    }
}

fn tokens_at(totals: &[(u64, u64)], size: u64) -> u64 {
    let after = totals.partition_point(|(ids, _)| *ids <= size);
    after.checked_sub(1).and_then(|at| totals.get(at)).map_or(0, |(_, tokens)| *tokens)
}

fn price(
    lengths: &SizeLengths,
    totals: &[(u64, u64)],
    bytes: u64,
    vocab_size: u64,
    width: u64,
) -> SizePrice {
    let tokens = tokens_at(totals, vocab_size);
    let (whole, least) = totals.last().copied().unwrap_or_default();
    let ratio = |a: u64, b: u64| if b == 0 { 0.0 } else { a as f64 / b as f64 };
    let further = vocab_size + MARGIN;
    let next = (further <= whole && lengths.is_known(further)).then(|| {
        let saved = tokens.saturating_sub(tokens_at(totals, further));
        ratio(saved, tokens)
    });
    SizePrice {
        vocab_size,
        tokens,
        bytes_per_token: ratio(bytes, tokens),
        length_ratio: ratio(tokens, least),
        next_thousand: next,
        parameters_tied: vocab_size.saturating_mul(width),
        parameters_untied: vocab_size.saturating_mul(width).saturating_mul(2),
    }
}

/// Powers of two, and the whole.
fn sizes(base: u64, whole: u64) -> impl Iterator<Item = u64> {
    let doubled = std::iter::successors(Some(SMALLEST), |size| size.checked_mul(2));
    let within = doubled.take_while(move |size| *size < whole).filter(move |size| *size > base);
    within.chain([whole])
}

fn spaced(base: u64, whole: u64) -> impl Iterator<Item = u64> {
    let (low, high) = ((base.max(1) as f64).ln(), (whole.max(1) as f64).ln());
    let at = move |step: u32| {
        let share = f64::from(step) / f64::from(POINTS);
        // A size of a vocabulary is far below 2^53.
        ((low + (high - low) * share).exp().round() as u64).clamp(base, whole)
    };
    (0..=POINTS).map(at).chain([base, whole])
}

/// Kneedle (Satopää et al. 2011) without smoothing: the curve of tokens over `scale` of the size, both
/// scaled to 1, falls below its chord; the knee is where it is farthest below. It depends on where
/// the curve ends: a larger vocabulary moves it.
pub(super) fn knee(totals: &[(u64, u64)], scale: impl Fn(u64) -> f64) -> Option<Knee> {
    let ((from, most), (to, least)) = (*totals.first()?, *totals.last()?);
    let (low, width) = (scale(from), scale(to) - scale(from));
    let fall = most.checked_sub(least).filter(|fall| *fall > 0)? as f64;
    if width <= 0.0 {
        return None;
    }
    let mut best: Option<Knee> = None;
    for (vocab_size, tokens) in totals {
        let x = (scale(*vocab_size) - low) / width;
        let distance = 1.0 - x - tokens.saturating_sub(least) as f64 / fall;
        if best.is_none_or(|best| distance > best.distance) {
            best = Some(Knee { vocab_size: *vocab_size, tokens: *tokens, distance });
        }
    }
    best.filter(|knee| knee.distance > 0.0)
}
