//! What it would cost to pad the documents of an epoch instead of packing them: to the length of a row, or to the
//! longest of each batch.
//!
//! Rows of one document each come in random order, so every batch is a random part of them. What its longest is expected
//! to be follows from how many rows there are of each length: no order needs to be walked.

use super::SourceExplanation;
use crate::epoch::pack::LengthHistogram;
use crate::epoch::plan::{PlanHeader, narrow, ratio};
use crate::epoch::recipe::OrderKind;
use crate::epoch::run::{EpochIndex, OpenPlan};
use model::show::number;
use serde::Serialize;
use std::fmt;

/// Rows of a batch where the recipe does not say.
const BATCH_ROWS: u64 = 32;

/// The documents of an epoch in rows of their own: one row a document, or part of one that is longer than a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DocumentPadding {
    /// How many rows that would be.
    pub rows: u64,
    /// Their real tokens.
    pub tokens: u64,
    /// Rows of a batch: those of the recipe, about as many as its batches have on average, or 32.
    pub batch_rows: u64,
    /// Each row padded to the length of a row of the recipe.
    pub to_row_length: PaddingCost,
    /// Each row padded to the longest of its batch, as expected of batches of rows in random order.
    pub to_longest: PaddingCost,
    /// What the recipe does instead: `packing`, `grouping`, or nothing.
    #[serde(skip)]
    instead: &'static str,
}

/// What a way of padding costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PaddingCost {
    /// Places of all rows, pads included.
    pub places: u64,
    /// Places that hold pads.
    pub pads: u64,
    /// Share of the places that is padding, in percent.
    pub percent: f64,
    /// How many times as many real tokens the places of a step hold in the epoch of the recipe.
    pub gain: f64,
}

impl PaddingCost {
    /// `filled`: the share of the places of the epoch that is real tokens.
    fn of(places: u64, tokens: u64, filled: f64) -> Self {
        let real = ratio(tokens.into(), places.into());
        let gain = if real > 0.0 { filled / real } else { 1.0 };
        Self { places, pads: places.saturating_sub(tokens), percent: (1.0 - real) * 100.0, gain }
    }
}

/// What padding costs for the documents of the epoch of `marks`, each source as often as the epoch passes through it;
/// `padding_percent` of the epoch is padding as it is.
pub(super) fn document_padding(
    opened: &OpenPlan,
    marks: &EpochIndex,
    sources: &[SourceExplanation],
    padding_percent: f64,
) -> DocumentPadding {
    let plan = &opened.plan;
    let (mut rows, mut tokens) = (LengthHistogram::new(), 0_u128);
    let begun = opened.sources.iter().zip(&marks.start.sources);
    for ((source, at), explained) in begun.zip(sources) {
        let (of_pass, tokens_of_pass) = source.without_packing(at.pass);
        tokens += (tokens_of_pass as f64 * explained.passes).round() as u128;
        // Rounded sums: rounded by themselves, the rare lengths of a part of a pass would all be lost.
        let (mut sum, mut before) = (0, 0);
        for (places, count) in of_pass {
            sum += count;
            let until = (sum as f64 * explained.passes).round() as u64;
            if until > before {
                *rows.entry(places).or_default() += until - before;
            }
            before = until;
        }
    }
    let (count, tokens) = (rows.values().sum(), narrow(tokens));
    let batch_rows = batch_rows(plan, marks).min(count).max(1);
    let filled = 1.0 - padding_percent / 100.0;
    let to_row_length = narrow(u128::from(count) * u128::from(plan.capacity));
    let instead = if plan.fixed_length() {
        "packing"
    } else if plan.recipe.order.kind == OrderKind::LengthGrouped {
        "grouping"
    } else {
        ""
    };
    DocumentPadding {
        rows: count,
        tokens,
        batch_rows,
        to_row_length: PaddingCost::of(to_row_length, tokens, filled),
        to_longest: PaddingCost::of(padded_places(&rows, batch_rows), tokens, filled),
        instead,
    }
}

fn batch_rows(plan: &PlanHeader, marks: &EpochIndex) -> u64 {
    match &plan.recipe.batch {
        Some(batch) => batch.rows.unwrap_or_else(|| marks.rows / marks.batches.max(1)),
        None => BATCH_ROWS,
    }
}

/// The expected places of rows in batches of `batch` rows, each padded to the longest of its batch, where every order of
/// the rows is as likely; `rows` has the number of rows by their places. The last batch has the rows that are left.
fn padded_places(rows: &LengthHistogram, batch: u64) -> u64 {
    let all: u64 = rows.values().sum();
    let whole = (all / batch.max(1)) as f64;
    let left = all % batch.max(1);
    let places = |count: u64| expected_longest(rows, all, count) * count as f64;
    (places(batch) * whole + places(left)).round() as u64
}

/// The expected longest of `drawn` rows of `all`.
fn expected_longest(rows: &LengthHistogram, all: u64, drawn: u64) -> f64 {
    if drawn == 0 {
        return 0.0;
    }
    let ways = ln_choose(all, drawn);
    let (mut below, mut before, mut expected) = (0, 0.0, 0.0);
    for (places, count) in rows {
        below += count;
        // The probability that no row drawn is longer.
        let until = if below < drawn { 0.0 } else { (ln_choose(below, drawn) - ways).exp() };
        expected += f64::from(*places) * (until - before);
        before = until;
    }
    expected
}

/// The natural logarithm of the number of ways to draw `drawn` of `all`.
fn ln_choose(all: u64, drawn: u64) -> f64 {
    ln_factorial(all) - ln_factorial(drawn) - ln_factorial(all.saturating_sub(drawn))
}

/// The natural logarithm of 1 * 2 * .. * n: a product, or Stirling's series, which is exact to 12 digits from 16 on.
pub(super) fn ln_factorial(n: u64) -> f64 {
    if n < 16 {
        return (1..=n).map(|factor| factor as f64).product::<f64>().ln();
    }
    let n = n as f64;
    let series = 1.0 / (12.0 * n) - 1.0 / (360.0 * n.powi(3)) + 1.0 / (1260.0 * n.powi(5));
    n * n.ln() - n + 0.5 * (std::f64::consts::TAU * n).ln() + series
}

impl fmt::Display for DocumentPadding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (longest, length) = (&self.to_longest, &self.to_row_length);
        write!(
            f,
            "one document a row: {:.2} % pads to the longest of {}, {:.2} % to the row length",
            longest.percent,
            number(self.batch_rows),
            length.percent
        )?;
        if self.instead.is_empty() {
            return Ok(());
        }
        write!(
            f,
            "; {} gives {:.2} and {:.2} times the tokens a step",
            self.instead, longest.gain, length.gain
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The mean places over all orders of rows, one by one.
    fn mean_places(lengths: &[u32], batch: usize) -> f64 {
        let mut orders: Vec<Vec<u32>> = vec![Vec::new()];
        for length in lengths {
            let insert = |order: &Vec<u32>| {
                let order = order.clone();
                (0..=order.len()).map(move |at| {
                    let mut order = order.clone();
                    order.insert(at, *length);
                    order
                })
            };
            orders = orders.iter().flat_map(insert).collect();
        }
        let places = |order: &Vec<u32>| -> f64 {
            let batches = order.chunks(batch);
            batches.map(|of| f64::from(*of.iter().max().unwrap()) * of.len() as f64).sum()
        };
        orders.iter().map(places).sum::<f64>() / orders.len() as f64
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(64)))]
        #[test]
        fn expected_places_are_the_mean_over_all_orders(
            lengths in proptest::collection::vec(1_u32..20, 1..7),
            batch in 1_u64..9,
        ) {
            let mut rows = LengthHistogram::new();
            lengths.iter().for_each(|length| *rows.entry(*length).or_default() += 1);
            let mean = mean_places(&lengths, usize::try_from(batch).unwrap());
            let expected = padded_places(&rows, batch);
            prop_assert!((expected as f64 - mean).abs() <= 0.5 + 1e-6, "{expected}, {mean}");
        }
    }

    #[test]
    fn factorials_go_on_behind_the_product() {
        let sum = |n: u64| (1..=n).map(|factor| (factor as f64).ln()).sum::<f64>();
        for n in [0, 1, 2, 15, 16, 17, 40, 1000] {
            assert!((ln_factorial(n) - sum(n)).abs() < 1e-9, "{n}");
        }
    }

    // Three sentences of 14 tokens, the longest of 6: 18 places, 4 of them pads, 22 % (an article on packed sequences).
    #[test]
    fn three_sentences_waste_four_places_of_eighteen() {
        let rows = LengthHistogram::from([(4, 2), (6, 1)]);
        let cost = PaddingCost::of(padded_places(&rows, 3), 14, 1.0);
        assert_eq!((cost.places, cost.pads, cost.percent.round()), (18, 4, 22.0));
        assert!((cost.gain - 18.0 / 14.0).abs() < 1e-12);
        // As GPT-2 counts them.
        let rows = LengthHistogram::from([(5, 2), (6, 1)]);
        assert_eq!(padded_places(&rows, 3), 18);
    }
}
