//! What other multipliers of the mega-batch would cost and leave to chance: pads, the largest batch, and how alike two
//! epochs are.
//!
//! Batches are made by the sampler of the plan, from the lengths of its rows alone. Randomness is counted in the ways to
//! deal rows to batches: of n rows in batches of b, n! / (b!)^(n/b). Sorting leaves of these the ways to deal rows to
//! mega-batches, and within each those of rows of one length to its batches.

use super::measure::PaddingSum;
use super::padding::ln_factorial;
use super::steps::refuse_ungrouped;
use super::text::write_table;
use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::permutation::{Permutation, Purpose};
use crate::epoch::plan::{Plan, PlanHeader};
use crate::epoch::recipe::{LengthGrouped, SortWindow};
use crate::epoch::rows::OpenPurpose;
use crate::epoch::run::{BatchSampler, EpochIndex, OpenPlan, RunCursor};
use crate::epoch::torch::Generator;
use model::Interrupt;
use model::invariant::at;
use model::show::number;
use serde::Serialize;
use std::fmt;

/// Multipliers that are tried beside that of the recipe, and all batches together.
const MULTIPLIERS: [u32; 8] = [1, 2, 5, 10, 25, 50, 100, 200];
/// Rows that are put in order, at most.
const ROWS: u64 = 1 << 20;

/// What each of some multipliers of the mega-batch does to an epoch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MultiplierSweep {
    /// Rows that were put in order: of an epoch with more the first 1,048,576, or as many drawn from all where another
    /// sampler's order is reproduced.
    pub rows: u64,
    /// Rows of the epoch.
    pub epoch_rows: u64,
    /// The multipliers, ascending.
    pub multipliers: Vec<MultiplierCost>,
}

/// What a multiplier of the mega-batch does to an epoch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MultiplierCost {
    /// Batches that are sorted together; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mega_batch_mult: Option<u32>,
    /// Whether the recipe has it.
    pub is_of_recipe: bool,
    /// Share of the places that is padding, where rows are padded to the longest of their batch, in percent.
    pub padding_percent: f64,
    /// Places of the largest batch: its rows times its longest.
    pub largest_places: u64,
    /// Real tokens of the batch that has most.
    pub largest_tokens: u64,
    /// Spearman's rank correlation of the places of rows with those in another epoch: 0 where nothing of the order
    /// comes again, 1 where all of it does.
    pub rank_correlation: f64,
    /// How much of what decides which rows share a batch is left to chance, in percent of its bits.
    pub randomness_percent: f64,
}

/// Tries some multipliers on the epoch that [`super::explain`] explains. Reads lengths only.
///
/// # Errors
/// [`EpochError::Recipe`] where rows are not grouped by length; as [`super::explain`].
pub fn sweep_multipliers(
    corpora: &Corpora,
    planned: &Plan,
    interrupt: &Interrupt,
) -> Result<MultiplierSweep, EpochError> {
    let plan = &planned.plan;
    refuse_ungrouped(plan, "sweep")?;
    let opened = OpenPlan::open(corpora, planned, OpenPurpose::Count, interrupt)?;
    let marks = EpochIndex::first_with_rows(&opened, &BatchSampler::of(plan), interrupt)?;
    let (rows, epoch_rows) = SweepRows::of(&opened, &marks, interrupt)?;
    let grouped = plan.recipe.order.length_grouped.unwrap_or_default();
    let own = match (grouped.window, rows.reproduced) {
        (Some(SortWindow::Epoch), _) => None,
        (None, None) => Some(grouped.mega_batch()),
        (None, Some((batch, _))) => Some(grouped.mega_batch_mult.unwrap_or_else(|| {
            let quarter = (epoch_rows / batch.saturating_mul(4)).clamp(1, 50);
            u32::try_from(quarter).unwrap_or(50)
        })),
    };
    let mut tried = Vec::from(MULTIPLIERS);
    tried.extend(own);
    tried.sort_unstable();
    tried.dedup();
    // A mega-batch that is not smaller than the epoch is all of it.
    tried.retain(|multiplier| rows.mega_batch(plan, Some(*multiplier)) < rows.count());
    let own = own.filter(|own| tried.contains(own));
    let mut multipliers = Vec::new();
    for multiplier in tried.into_iter().map(Some).chain([None]) {
        interrupt.check()?;
        let cost = rows.cost(plan, multiplier)?;
        multipliers.push(MultiplierCost { is_of_recipe: multiplier == own, ..cost });
    }
    Ok(MultiplierSweep { rows: rows.count(), epoch_rows, multipliers })
}

/// Rows of an epoch that are dealt to batches; they are named by their numbers.
struct SweepRows {
    /// The tokens of each: as they come, or in the order of documents where a sampler is reproduced.
    lengths: Vec<u32>,
    epoch: u64,
    /// The number of the first in the run.
    first: u64,
    /// Rows of a batch and the seed of the generator, where a sampler is reproduced.
    reproduced: Option<(u64, u64)>,
}

/// Rows in batches, mega-batch by mega-batch.
type RowDeal = Vec<Vec<Vec<u64>>>;

impl SweepRows {
    /// Those of the epoch of `marks`, and how many it has in all.
    fn of(
        opened: &OpenPlan,
        marks: &EpochIndex,
        interrupt: &Interrupt,
    ) -> Result<(Self, u64), EpochError> {
        let (epoch, first) = (marks.epoch, marks.start.row);
        let sampler = BatchSampler::of(&opened.plan);
        if let (Some(source), Some(at)) = (opened.sources.first(), marks.start.sources.first())
            && let (Some(all), Some(batch)) =
                (source.listed_lengths(at.pass)?, sampler.batch_rows())
        {
            let count = all.len() as u64;
            let seed = opened.plan.recipe.seed;
            let order = Permutation::new(count, seed, "", epoch, Purpose::Positions, 0);
            let mut drawn: Vec<u64> = match count {
                0..=ROWS => (0..count).collect(),
                _ => (0..ROWS).map(|at| order.at(at)).collect(),
            };
            drawn.sort_unstable();
            let lengths = drawn.into_iter().filter_map(|at| all.get(usize::try_from(at).ok()?));
            let reproduced = Some((batch, source.rules().exact_seed(at.pass)));
            return Ok((
                Self { lengths: lengths.copied().collect(), epoch, first, reproduced },
                count,
            ));
        }
        let count = marks.last_run_row(&sampler) - first;
        let mut cursor = RunCursor::at(opened, &marks.start)?;
        let mut lengths = Vec::new();
        for at in 0..count.min(ROWS) {
            if at.is_multiple_of(1 << 12) {
                interrupt.check()?;
            }
            lengths.push(cursor.next_row()?.tokens);
        }
        Ok((Self { lengths, epoch, first, reproduced: None }, count))
    }

    const fn count(&self) -> u64 {
        self.lengths.len() as u64
    }

    /// The tokens of a row.
    fn tokens(&self, row: u64) -> u32 {
        *at(&self.lengths, usize::try_from(row).unwrap_or(usize::MAX))
    }

    /// The sampler of the plan with another multiplier; none: with all rows in one mega-batch.
    fn sampler(plan: &PlanHeader, multiplier: Option<u32>) -> BatchSampler {
        let window = multiplier.is_none().then_some(SortWindow::Epoch);
        let own = plan.recipe.order.length_grouped.unwrap_or_default();
        BatchSampler::grouped_by(plan, LengthGrouped { mega_batch_mult: multiplier, window, ..own })
    }

    /// Rows of a mega-batch.
    fn mega_batch(&self, plan: &PlanHeader, multiplier: Option<u32>) -> u64 {
        match (self.reproduced, multiplier) {
            (Some((batch, _)), Some(multiplier)) => batch.saturating_mul(multiplier.into()),
            (Some(_), None) => u64::MAX,
            (None, _) => Self::sampler(plan, multiplier).window,
        }
    }

    /// Deals the rows to batches as they come, or as they would come in the epoch that is `later` epochs behind.
    fn deal(
        &self,
        plan: &PlanHeader,
        multiplier: Option<u32>,
        later: u64,
    ) -> Result<RowDeal, EpochError> {
        let count = self.count();
        let mega_batch = self.mega_batch(plan, multiplier).clamp(1, count.max(1));
        let rows = match self.reproduced {
            Some((batch, seed)) => {
                let size = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
                let multiple = Some(size(mega_batch.div_ceil(batch)));
                let mut generator = Generator::new(seed.wrapping_add(later));
                generator.length_grouped_indices(&self.lengths, size(batch), multiple)?
            }
            None if later == 0 => (0..count).collect(),
            None => {
                let epoch = self.epoch + later;
                let order =
                    Permutation::new(count, plan.recipe.seed, "", epoch, Purpose::Positions, 0);
                (0..count).map(|at| order.at(at)).collect()
            }
        };
        let sampler = Self::sampler(plan, multiplier);
        let mut first = self.first;
        let mut dealt = Vec::new();
        for mega in rows.chunks(usize::try_from(mega_batch).unwrap_or(usize::MAX)) {
            dealt.push(sampler.group(mega.to_vec(), |row| self.tokens(*row), first));
            first += mega.len() as u64;
        }
        Ok(dealt)
    }

    fn cost(
        &self,
        plan: &PlanHeader,
        multiplier: Option<u32>,
    ) -> Result<MultiplierCost, EpochError> {
        let sampler = Self::sampler(plan, multiplier);
        let dealt = self.deal(plan, multiplier, 0)?;
        let mut sum = PaddingSum::default();
        for batch in dealt.iter().flatten() {
            if let Some(pads) = sampler.pads_of(batch.len() as u64) {
                sum.add(plan, batch.iter().map(|row| self.tokens(*row)), pads);
            }
        }
        let kind = |row: u64| sampler.sort_key(self.tokens(row)).unwrap_or(self.tokens(row));
        Ok(MultiplierCost {
            mega_batch_mult: multiplier,
            is_of_recipe: false,
            padding_percent: sum.percent(),
            largest_places: sum.most_places,
            largest_tokens: sum.most_tokens,
            rank_correlation: rank_correlation(&dealt, &self.deal(plan, multiplier, 1)?),
            randomness_percent: 100.0 * randomness(&dealt, kind),
        })
    }
}

/// Spearman's rank correlation of the places that two orders give to the same rows.
fn rank_correlation(one: &RowDeal, other: &RowDeal) -> f64 {
    let rows = |of: &RowDeal| of.iter().flatten().flatten().copied().collect::<Vec<u64>>();
    let (one, other) = (rows(one), rows(other));
    let mut places = vec![0_u64; one.len()];
    for (place, row) in (0..).zip(&one) {
        if let Some(of_row) = usize::try_from(*row).ok().and_then(|row| places.get_mut(row)) {
            *of_row = place;
        }
    }
    let squares = (0_u64..).zip(&other).filter_map(|(place, row)| {
        let before = places.get(usize::try_from(*row).ok()?)?;
        Some(u128::from(before.abs_diff(place)).pow(2))
    });
    let (squares, n) = (squares.sum::<u128>() as f64, one.len() as f64);
    if n < 2.0 { 1.0 } else { 1.0 - 6.0 * squares / (n * (n * n - 1.0)) }
}

/// The share of the bits of a random deal of rows to batches that sorting within mega-batches leaves random; rows of one
/// `kind` are not told apart by it.
fn randomness(dealt: &RowDeal, kind: impl Fn(u64) -> u32) -> f64 {
    // The logarithm of the number of orders of rows that differ in nothing but the order of those of a kind.
    let alike = |rows: &mut Vec<u32>| -> f64 {
        rows.sort_unstable();
        rows.chunk_by(|a, b| a == b).map(|alike| ln_factorial(alike.len() as u64)).sum()
    };
    let all: usize = dealt.iter().flatten().map(Vec::len).sum();
    let (mut ways, mut left) = (ln_factorial(all as u64), ln_factorial(all as u64));
    for mega in dealt {
        let mut kinds: Vec<u32> = Vec::new();
        for batch in mega {
            let mut of_batch: Vec<u32> = batch.iter().map(|row| kind(*row)).collect();
            kinds.extend(&of_batch);
            ways -= ln_factorial(batch.len() as u64);
            left -= alike(&mut of_batch);
        }
        left += alike(&mut kinds) - ln_factorial(kinds.len() as u64);
    }
    // Rounding aside, nothing is left of one batch.
    if ways < 1e-9 { 1.0 } else { (left / ways).clamp(0.0, 1.0) }
}

impl fmt::Display for MultiplierSweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = match self.rows == self.epoch_rows {
            true => String::new(),
            false => format!(" of {}", number(self.epoch_rows)),
        };
        writeln!(f, "multipliers of the mega-batch, by {}{of} rows:", number(self.rows))?;
        let heads = ["mult", "pads", "largest: places", "tokens", "rank correlation", "random"];
        let mut lines = vec![heads.map(str::to_owned).to_vec()];
        for of in &self.multipliers {
            let multiplier =
                of.mega_batch_mult.map_or_else(|| "all".to_owned(), |one| one.to_string());
            lines.push(vec![
                if of.is_of_recipe { format!("{multiplier} *") } else { multiplier },
                format!("{:.2} %", of.padding_percent),
                number(of.largest_places),
                number(of.largest_tokens),
                format!("{:.4}", of.rank_correlation),
                format!("{:.1} %", of.randomness_percent),
            ]);
        }
        write_table(f, &lines)?;
        write!(f, "* is the recipe's; random: what is left to chance of which rows share a batch")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// All orders of `0..n`.
    fn orders(n: u64) -> Vec<Vec<u64>> {
        let mut orders = vec![Vec::new()];
        for row in 0..n {
            let insert = |order: &Vec<u64>| {
                let order = order.clone();
                (0..=order.len()).map(move |at| {
                    let mut order = order.clone();
                    order.insert(at, row);
                    order
                })
            };
            orders = orders.iter().flat_map(insert).collect();
        }
        orders
    }

    /// The rows of an order in sorted mega-batches of `multiplier` batches of `batch` rows.
    fn deal(order: &[u64], lengths: &[u32], batch: usize, multiplier: usize) -> RowDeal {
        let mega_batch = |rows: &[u64]| {
            let mut rows = rows.to_vec();
            rows.sort_by_key(|row| std::cmp::Reverse(lengths[*row as usize]));
            rows.chunks(batch).map(<[u64]>::to_vec).collect()
        };
        order.chunks(batch * multiplier).map(mega_batch).collect()
    }

    /// The bits that say in which batch each row is, where every order of rows is as likely.
    fn entropy(lengths: &[u32], batch: usize, multiplier: usize) -> f64 {
        let orders = orders(lengths.len() as u64);
        let mut deals = BTreeMap::<RowDeal, u32>::new();
        for order in &orders {
            let mut dealt = deal(order, lengths, batch, multiplier);
            dealt.iter_mut().flatten().for_each(|batch| batch.sort_unstable());
            *deals.entry(dealt).or_default() += 1;
        }
        let share = |count: &u32| f64::from(*count) / orders.len() as f64;
        deals.values().map(|count| -share(count) * share(count).log2()).sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(24)))]
        #[test]
        fn randomness_is_the_entropy_that_sorting_leaves(
            lengths in proptest::collection::vec(1_u32..5, 1..7),
            batch in 1_usize..4,
            multiplier in 1_usize..4,
        ) {
            let (without, with) = (entropy(&lengths, batch, 1), entropy(&lengths, batch, multiplier));
            let orders = orders(lengths.len() as u64);
            let left = |order: &Vec<u64>| {
                let dealt = deal(order, &lengths, batch, multiplier);
                randomness(&dealt, |row| lengths[row as usize])
            };
            // How many rows of a length are together depends on the order: the mean is the entropy.
            let mean = orders.iter().map(left).sum::<f64>() / orders.len() as f64;
            let expected = if without < 1e-9 { 1.0 } else { with / without };
            prop_assert!((mean - expected).abs() < 1e-6, "{mean}, not {expected}");
        }

        #[test]
        fn rank_correlation_is_that_of_the_places(
            keys in proptest::collection::vec((any::<u32>(), any::<u32>()), 2..40),
        ) {
            let order = |key: fn(&(u32, u32)) -> u32| {
                let mut rows: Vec<u64> = (0..keys.len() as u64).collect();
                rows.sort_by_key(|row| key(&keys[*row as usize]));
                rows
            };
            let (one, other) = (order(|key| key.0), order(|key| key.1));
            // Pearson's of the places.
            let place = |order: &[u64], row| order.iter().position(|of| *of == row).unwrap() as f64;
            let mean = (keys.len() - 1) as f64 / 2.0;
            let rows = || 0..keys.len() as u64;
            let product = |a: &[u64], b: &[u64]| -> f64 {
                rows().map(|row| (place(a, row) - mean) * (place(b, row) - mean)).sum()
            };
            let expected = product(&one, &other) / product(&one, &one);
            let found = rank_correlation(&vec![vec![one.clone()]], &vec![vec![other]]);
            prop_assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
            prop_assert_eq!(rank_correlation(&vec![vec![one.clone()]], &vec![vec![one]]), 1.0);
        }
    }
}
