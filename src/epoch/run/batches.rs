//! Arranges rows that come in the order of the mix into global batches.
//!
//! Windows of rows are sorted, cut and permuted, so that the mix is exact at every window's end. `length-grouped` sorts
//! a window of `mega_batch_mult` batches by length, longest first, ties as they came (transformers' sampler within a
//! mega-batch), or puts rows of one power-of-two class together. Batches of a token budget are filled in that order, as
//! long as the next row fits. Positions of a batch of packed rows are permuted by key, or stand by falling cost when
//! ranks are to be balanced.

use super::open::OpenPlan;
use crate::epoch::error::EpochError;
use crate::epoch::permutation::{Permutation, Purpose};
use crate::epoch::plan::PlanHeader;
use crate::epoch::recipe::{
    BatchTail, BudgetCount, LengthBuckets, LengthGrouped, OrderKind, SortWindow,
};
use crate::epoch::rows::RowRef;
use std::cmp::Reverse;

/// More batches than any epoch has: a window of this many is the whole epoch. Sums of rows stay far from an overflow.
const WHOLE: u64 = 1 << 40;

/// Rows that are put in order together, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::epoch) struct BatchSampler {
    /// Rows of a window.
    pub window: u64,
    seed: u64,
    grouping: WindowOrder,
    cut: BatchSize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WindowOrder {
    /// Rows stay in the order in which they come.
    Kept,
    /// Positions permuted within a batch.
    Permuted,
    /// By falling cost a * tokens + sum of squares within a batch.
    Costly(u64),
    /// Longest first within the window.
    Sorted,
    /// By power-of-two class of length within the window.
    Classed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BatchSize {
    /// Every row by itself: there are no batches.
    Single,
    /// Batches of a number of rows.
    Rows(u64, BatchTail),
    /// Batches of a number of tokens.
    Tokens(u64, BudgetCount),
}

/// A global batch, or a row where a recipe has no batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::epoch) struct GlobalBatch {
    pub rows: Vec<RowRef>,
    /// Rows of pads that fill it.
    pub pads: u64,
}

impl GlobalBatch {
    /// Its rows, those of pads included.
    pub fn count(&self) -> u64 {
        self.rows.len() as u64 + self.pads
    }

    /// The length to which rows of the batch are padded, if they are: that of all its rows, whatever rank has them, so
    /// that rows do not depend on the world.
    pub fn width(&self, plan: &PlanHeader) -> Option<u32> {
        let longest = self.rows.iter().map(|row| plan.slot(row.tokens)).max();
        longest.filter(|_| plan.pads_batches())
    }
}

impl BatchSampler {
    pub fn of(plan: &PlanHeader) -> Self {
        Self::grouped_by(plan, plan.recipe.order.length_grouped.unwrap_or_default())
    }

    /// The sampler of a plan if its recipe had this `order.length_grouped`, where its rows are grouped by length.
    pub fn grouped_by(plan: &PlanHeader, grouped: LengthGrouped) -> Self {
        let recipe = &plan.recipe;
        let kept = Self {
            window: 1,
            seed: recipe.seed,
            grouping: WindowOrder::Kept,
            cut: BatchSize::Single,
        };
        let Some(batch) = &recipe.batch else { return kept };
        let grouped = (recipe.order.kind == OrderKind::LengthGrouped).then_some(grouped);
        let exact = grouped.is_some_and(|grouped| grouped.exact.is_some());
        let whole = grouped.is_some_and(|grouped| grouped.window == Some(SortWindow::Epoch));
        let mega = match whole {
            true => WHOLE,
            false => u64::from(grouped.unwrap_or_default().mega_batch()),
        };
        let grouping = match (grouped, batch.balance) {
            _ if exact => WindowOrder::Kept,
            (Some(grouped), _) if grouped.buckets == Some(LengthBuckets::PowerOfTwo) => {
                WindowOrder::Classed
            }
            (Some(_), _) => WindowOrder::Sorted,
            (None, Some(balance)) => WindowOrder::Costly(balance),
            (None, None) => WindowOrder::Permuted,
        };
        match (batch.rows, batch.max_tokens) {
            (Some(rows), _) => Self {
                window: if grouped.is_some() && !exact { window(rows, mega) } else { rows },
                grouping,
                cut: BatchSize::Rows(rows, batch.tail),
                ..kept
            },
            (None, Some(tokens)) => {
                let all_rows: u64 = plan.sources.iter().map(|source| source.rows).sum();
                let all: u64 = plan.sources.iter().map(|source| source.packed_tokens).sum();
                // A window has as many rows as such batches hold of documents of mean length.
                let rows = u128::from(tokens) * u128::from(all_rows) / u128::from(all.max(1));
                let rows = u64::try_from(rows).unwrap_or(u64::MAX).max(1);
                let grouping =
                    if grouping == WindowOrder::Permuted { WindowOrder::Kept } else { grouping };
                let cut = BatchSize::Tokens(tokens, batch.count);
                Self { window: window(rows, mega), grouping, cut, ..kept }
            }
            (None, None) => kept,
        }
    }

    /// This sampler without grouping: batches have rows as they come.
    pub fn ungrouped(&self) -> Self {
        Self { grouping: WindowOrder::Kept, ..self.clone() }
    }

    /// Whether rows of like length are put together.
    pub fn is_grouped(&self, plan: &PlanHeader) -> bool {
        plan.recipe.order.kind == OrderKind::LengthGrouped && self.has_batches()
    }

    /// Rows of a batch, where all have as many.
    pub const fn batch_rows(&self) -> Option<u64> {
        match self.cut {
            BatchSize::Single => Some(1),
            BatchSize::Rows(rows, _) => Some(rows),
            BatchSize::Tokens(..) => None,
        }
    }

    /// Whether rows come in batches at all.
    pub fn has_batches(&self) -> bool {
        self.cut != BatchSize::Single
    }

    /// Whether the rows that fill no batch open the next epoch.
    pub fn carries(&self) -> bool {
        matches!(self.cut, BatchSize::Rows(_, BatchTail::Carry))
    }

    /// How many of `rows` rows, the last of an epoch among them, are given, and how many rows of pads.
    pub const fn rows_given(&self, rows: u64) -> (u64, u64) {
        match self.cut {
            BatchSize::Rows(batch, BatchTail::Pad) => (rows, rows.next_multiple_of(batch) - rows),
            BatchSize::Rows(batch, BatchTail::Drop | BatchTail::Carry) => (rows - rows % batch, 0),
            BatchSize::Single | BatchSize::Tokens(..) => (rows, 0),
        }
    }

    /// The batches of a window, in order; `first` is its first row in the run. A window that is not full
    /// ends its epoch.
    ///
    /// # Errors
    /// [`EpochError::Store`] where costs need documents.
    pub fn arrange(
        &self,
        opened: &OpenPlan,
        rows: Vec<RowRef>,
        first: u64,
    ) -> Result<Vec<GlobalBatch>, EpochError> {
        let batches = self.group(rows, |row| row.tokens, first).into_iter();
        let mut batches: Vec<GlobalBatch> =
            batches.map(|rows| GlobalBatch { rows, pads: 0 }).collect();
        if let Some(mut last) = batches.pop()
            && let Some(pads) = self.pads_of(last.rows.len() as u64)
        {
            last.pads = pads;
            batches.push(last);
        }
        for batch in &mut batches {
            match self.grouping {
                WindowOrder::Permuted => {
                    let n = batch.rows.len() as u64;
                    let order = Permutation::new(n, self.seed, "", 0, Purpose::Positions, first);
                    let places = (0..n).filter_map(|at| usize::try_from(order.at(at)).ok());
                    batch.rows =
                        places.filter_map(|place| batch.rows.get(place).cloned()).collect();
                }
                WindowOrder::Costly(linear) => sort_by_cost(opened, linear, &mut batch.rows)?,
                WindowOrder::Kept | WindowOrder::Sorted | WindowOrder::Classed => {}
            }
        }
        Ok(batches)
    }

    /// The rows of a window, in the batches into which their `tokens` put them; those that fill no batch are the last.
    pub fn group<R>(
        &self,
        mut rows: Vec<R>,
        tokens: impl Fn(&R) -> u32 + Copy,
        first: u64,
    ) -> Vec<Vec<R>> {
        self.sort(&mut rows, tokens);
        match self.grouping {
            WindowOrder::Classed => self.cut_classes(rows, tokens, first),
            _ => self.cut(rows, tokens),
        }
    }

    /// Puts the rows of a window in the order in which batches are cut from them.
    pub fn sort<R>(&self, rows: &mut [R], tokens: impl Fn(&R) -> u32) {
        rows.sort_by_key(|row| Reverse(self.sort_key(tokens(row))));
    }

    /// By what rows of a window are sorted, the largest first; none where they stay as they come.
    pub fn sort_key(&self, tokens: u32) -> Option<u32> {
        match self.grouping {
            WindowOrder::Sorted => Some(tokens),
            WindowOrder::Classed => Some(tokens.next_power_of_two()),
            WindowOrder::Kept | WindowOrder::Permuted | WindowOrder::Costly(_) => None,
        }
    }

    /// Rows of pads that fill the last batch of a window, if it has `rows` rows; none where it is not given.
    pub fn pads_of(&self, rows: u64) -> Option<u64> {
        match self.cut {
            BatchSize::Rows(size, BatchTail::Pad) => Some(size.saturating_sub(rows)),
            BatchSize::Rows(size, BatchTail::Drop | BatchTail::Carry) => {
                (rows >= size).then_some(0)
            }
            BatchSize::Single | BatchSize::Tokens(..) => Some(0),
        }
    }

    fn cut<R>(&self, rows: Vec<R>, tokens: impl Fn(&R) -> u32) -> Vec<Vec<R>> {
        let mut batches: Vec<Vec<R>> = Vec::new();
        let (mut held, mut longest) = (0_u64, 0_u64);
        for row in rows {
            let tokens = u64::from(tokens(&row));
            let count = batches.last().map_or(0, |batch| batch.len() as u64);
            let fits = match self.cut {
                BatchSize::Single => false,
                BatchSize::Rows(size, _) => count < size,
                BatchSize::Tokens(most, BudgetCount::Real) => held + tokens <= most,
                BatchSize::Tokens(most, BudgetCount::Padded) => {
                    (count + 1) * longest.max(tokens) <= most
                }
            };
            if !fits {
                (held, longest) = (0, 0);
            }
            held += tokens;
            longest = longest.max(tokens);
            match batches.last_mut().filter(|_| fits) {
                Some(batch) => batch.push(row),
                None => batches.push(vec![row]),
            }
        }
        batches
    }

    /// Batches of one power-of-two class each, as far as they are full; what is left of the classes makes
    /// the last ones, longest first. The full ones come in a keyed order.
    fn cut_classes<R>(
        &self,
        rows: Vec<R>,
        tokens: impl Fn(&R) -> u32 + Copy,
        first: u64,
    ) -> Vec<Vec<R>> {
        let (mut whole, mut left) = (Vec::new(), Vec::new());
        let mut rows = rows.into_iter().peekable();
        while let Some(row) = rows.next() {
            let class = self.sort_key(tokens(&row));
            let mut alike = vec![row];
            while let Some(next) = rows.next_if(|next| self.sort_key(tokens(next)) == class) {
                alike.push(next);
            }
            let mut batches = self.cut(alike, tokens);
            if let Some(last) = batches.pop() {
                let full =
                    matches!(self.cut, BatchSize::Rows(size, _) if last.len() as u64 == size);
                if full { batches.push(last) } else { left.extend(last) }
            }
            whole.extend(batches);
        }
        let n = whole.len() as u64;
        let order = Permutation::new(n, self.seed, "", 0, Purpose::Batches, first);
        let places = (0..n).filter_map(|at| usize::try_from(order.at(at)).ok());
        let mut batches: Vec<Vec<R>> =
            places.filter_map(|place| whole.get_mut(place).map(std::mem::take)).collect();
        batches.extend(self.cut(left, tokens));
        batches
    }

    /// How ranks share the rows.
    pub const fn sharing(&self) -> RankSharing {
        match self.cut {
            BatchSize::Rows(rows, _) => RankSharing::Divided(rows),
            BatchSize::Single | BatchSize::Tokens(..) => RankSharing::Dealt,
        }
    }

    /// Which places of batch `batch` a rank of `world` ranks takes: first `real` rows, then `pads` rows of pads. Rows
    /// are dealt in turns that change direction where they stand by cost, else in runs; pads then fill every rank up to
    /// as many places as the others have, so that none has only pads while another has two rows. Where places do not
    /// divide evenly, ranks change places from batch to batch, so that none has more than its share in the long run.
    pub fn places(&self, batch: u64, (real, pads): (u64, u64), rank: u64, world: u64) -> Vec<u64> {
        let (rows, world) = (real + pads, world.max(1));
        let rank = if rows.is_multiple_of(world) { rank } else { (rank + batch % world) % world };
        if matches!(self.grouping, WindowOrder::Costly(_)) {
            let turns = 0..rows.div_ceil(world);
            let place = |turn: u64| {
                turn * world + if turn.is_multiple_of(2) { rank } else { world - 1 - rank }
            };
            return turns.map(place).filter(|place| *place < rows).collect();
        }
        let cut = |of: u64, rank: u64| {
            let place = u128::from(of) * u128::from(rank) / u128::from(world);
            u64::try_from(place).unwrap_or(of)
        };
        let mine = cut(real, rank)..cut(real, rank + 1);
        if pads == 0 {
            return mine.collect();
        }
        let least = rows / world;
        // Places beyond the least of a rank, which its own rows take first.
        let mut more = rows % world - real.saturating_sub(least * world);
        let mut pads_of = |rank: u64| {
            let own = cut(real, rank + 1) - cut(real, rank);
            if own > least {
                return 0;
            }
            let one = more.min(1);
            more -= one;
            least + one - own
        };
        let first = real + (0..rank).map(&mut pads_of).sum::<u64>();
        mine.chain(first..first + pads_of(rank)).collect()
    }
}

/// The rows of a window of `batches` batches, in whole batches.
fn window(rows: u64, batches: u64) -> u64 {
    rows.max(1).saturating_mul(batches.min((1 << 48) / rows.max(1)).max(1))
}

/// How the ranks of a world share an epoch. Either way all of them have as many batches, and as the
/// world changes the sequence of global batches does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::epoch) enum RankSharing {
    /// Every batch has this many rows, and every rank gets its part of them.
    Divided(u64),
    /// A step is as many batches as there are ranks, and every rank has one of them whole: batches of a
    /// token budget are what one device holds, and without batches every row is one.
    Dealt,
}

impl RankSharing {
    /// Which of the batches of the step that begins with batch `first` a rank of `world` ranks has. Ranks
    /// change places from step to step: where the longest come first, no rank has them always.
    pub const fn batch_of_rank(first: u64, rank: u64, world: u64) -> u64 {
        (rank + first / world) % world
    }
}

/// The cost of attending to a row: a * tokens + the sum of squared segment lengths.
pub(in crate::epoch) fn cost(
    opened: &OpenPlan,
    linear: u64,
    row: &RowRef,
) -> Result<u128, EpochError> {
    let lengths = opened.source(row)?.segment_lengths(row)?;
    let squares: u128 = lengths.iter().map(|length| u128::from(*length).pow(2)).sum();
    Ok(u128::from(linear) * u128::from(row.tokens) + squares)
}

fn sort_by_cost(opened: &OpenPlan, linear: u64, rows: &mut Vec<RowRef>) -> Result<(), EpochError> {
    let mut costs = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        costs.push((std::cmp::Reverse(cost(opened, linear, row)?), at));
    }
    costs.sort_unstable();
    *rows = costs.into_iter().filter_map(|(_, at)| rows.get(at).cloned()).collect();
    Ok(())
}
