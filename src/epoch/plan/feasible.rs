//! Checks that the passes of the sources last to the end of an epoch, and computes settings with which they would.

use super::{EPOCHS, PlanHeader, PlannedSource, RowRules, largest_total, narrow};
use crate::epoch::error::{EpochError, ShortSource};
use crate::epoch::recipe::{MixMethod, SourceRecipe};
use model::invariant;

impl PlanHeader {
    /// Checks that the passes of every source reach to the end of `epoch`.
    ///
    /// # Errors
    /// [`EpochError::Infeasible`] naming the sources that do not; [`EpochError::OutOfRange`] for an epoch that no plan has.
    pub(in crate::epoch) fn check_feasible(&self, epoch: u64) -> Result<(), EpochError> {
        self.check_reach(epoch, None)
    }

    /// Checks the first epoch of a plan that is made, as [`PlanHeader::check_feasible`] does. `before` are the passes
    /// of each source that are over, which `max_repeats` of a recipe counts too.
    pub(in crate::epoch) fn check_first_epoch(&self, before: &[u32]) -> Result<(), EpochError> {
        self.check_reach(0, Some(before))
    }

    fn check_reach(&self, epoch: u64, before: Option<&[u32]>) -> Result<(), EpochError> {
        if epoch >= EPOCHS {
            return Err(EpochError::OutOfRange { what: "epoch", asked: epoch, there_are: EPOCHS });
        }
        let fluid = self.fluid()?;
        let end = u128::from(self.budget) * (u128::from(epoch) + 1);
        let end = u64::try_from(end).unwrap_or(u64::MAX);
        if self.is_endless() {
            return Ok(());
        }
        let short = |(at, source): (usize, &PlannedSource)| {
            let available = source.available();
            fluid.inverse(at, available).filter(|reach| end > *reach)?;
            let share = fluid.share(at, end).max(available.saturating_add(1));
            // A share is rounded down: it may end before the epoch does.
            let is_enough = fluid.inverse(at, share).is_none_or(|reach| end <= reach);
            let asked = if is_enough { share } else { share.saturating_add(1) };
            let over = before.map_or(0, |before| *invariant::at(before, at));
            let needed = source.passes_for(asked, &self.rules(at)).saturating_add(over.into());
            let (name, max_repeats) = (source.name.clone(), source.max_repeats);
            Some(ShortSource { name, asked, max_repeats, available, needed })
        };
        let sources: Vec<ShortSource> = self.sources.iter().enumerate().filter_map(short).collect();
        if sources.is_empty() {
            return Ok(());
        }
        let largest = largest_total(&self.sources, &fluid).unwrap_or(u64::MAX);
        let (feasible, lower) = self.lower_amounts(epoch, &sources, largest / (epoch + 1));
        let raise = self.more_passes(&sources, before.is_some());
        let weights = self.lower_weights(&sources);
        Err(EpochError::Infeasible {
            epoch,
            budget: self.budget,
            unit: self.recipe.mix.unit.name(),
            feasible,
            sources,
            ways: [lower, raise, weights].into_iter().flatten().collect(),
        })
    }

    fn recipe_of(&self, name: &str) -> Option<&SourceRecipe> {
        self.recipe.sources.iter().find(|source| source.name == name)
    }

    /// The largest budget of an epoch that would do, `feasible` where sources have shares of it alone, and the amounts
    /// to lower for it. What sources with a weight share stays as large as they can give.
    fn lower_amounts(
        &self,
        epoch: u64,
        short: &[ShortSource],
        feasible: u64,
    ) -> (u64, Option<String>) {
        let tokens = |source: &PlannedSource| self.recipe_of(&source.name).and_then(|of| of.tokens);
        let (fixed, shared): (Vec<&PlannedSource>, Vec<&PlannedSource>) =
            self.sources.iter().partition(|source| tokens(source).is_some());
        if fixed.is_empty() || !self.schedule.is_empty() {
            return (feasible, (feasible > 0).then(|| format!("lower mix.tokens to {feasible}")));
        }
        let reach = |source: &PlannedSource| {
            let is_short = short.iter().any(|short| short.name == source.name);
            is_short.then(|| source.available() / (epoch + 1))
        };
        let (mut sum, mut least, mut settings) = (0_u64, u64::MAX, Vec::new());
        for source in fixed {
            let asked = tokens(source).unwrap_or_default();
            let amount = reach(source).unwrap_or(asked);
            if amount < asked {
                settings.push(format!("`tokens` of `{}` to {amount}", source.name));
            }
            (sum, least) = (sum.saturating_add(amount), least.min(amount));
        }
        let rest: u64 = shared.iter().map(|source| source.weight).sum();
        // Amounts of several sources are rounded: a share may be one more.
        let rounded = u64::from(shared.len() > 1);
        let most = shared.iter().filter_map(|source| {
            let share = u128::from(source.weight) + u128::from(rounded);
            Some(narrow(u128::from(reach(source)?) * u128::from(rest) / share.max(1)))
        });
        let most = most.min().unwrap_or(rest).min(rest);
        if !shared.is_empty() {
            least = least.min(most);
        }
        let budget = sum.saturating_add(most);
        if self.recipe.mix.tokens.is_some_and(|asked| budget < asked) {
            settings.push(format!("mix.tokens to {budget}"));
        }
        let lower = format!("lower {}", settings.join(" and "));
        (budget, (least > 0 && !settings.is_empty()).then_some(lower))
    }

    /// The passes that would do; none where no recipe may have as many, or a budget that is not given grows with them.
    /// A plan that extends another does not know how many are over before it: `is_whole` says that they are counted.
    fn more_passes(&self, short: &[ShortSource], is_whole: bool) -> Option<String> {
        let mix = &self.recipe.mix;
        let is_fixed = self.recipe.sources.iter().all(|source| source.tokens.is_some());
        let grows = match mix.method {
            Some(MixMethod::Weights) => !is_fixed || !self.schedule.is_empty(),
            Some(MixMethod::Temperature | MixMethod::Unimax) => true,
            Some(MixMethod::Natural) | None => false,
        };
        let is_possible = short.iter().all(|source| source.needed <= u32::MAX.into());
        if !is_possible || (grows && mix.tokens.is_none()) {
            return None;
        }
        let needs = short.iter().map(|ShortSource { name, needed, max_repeats, .. }| {
            match self.parent.is_some() && !is_whole {
                true => format!("of `{name}` by {}", needed - u64::from(*max_repeats)),
                false => format!("of `{name}` to {needed}"),
            }
        });
        Some(format!("raise max_repeats {}", needs.collect::<Vec<_>>().join(" and ")))
    }

    /// Weights are shares: they help where another source that has one has more.
    fn lower_weights(&self, short: &[ShortSource]) -> Option<String> {
        let is_weighted = |name: &str| {
            !self.schedule.is_empty() || self.recipe_of(name).is_some_and(|of| of.weight.is_some())
        };
        let weighted = self.sources.iter().filter(|source| is_weighted(&source.name)).count();
        let helps = short.iter().all(|short| is_weighted(&short.name)) && short.len() < weighted;
        let weights = if short.len() == 1 { "its weight" } else { "their weights" };
        helps.then(|| format!("lower {weights}"))
    }
}

impl PlannedSource {
    /// The number of passes that surely count `amount`.
    fn passes_for(&self, amount: u64, rules: &RowRules) -> u64 {
        let later = self.fewest_later(rules).max(1);
        // Where passes differ, only the sum over the existing ones is known.
        let (known, passes) = match rules.passes_differ() {
            true => (self.amount, 1),
            false => (self.available(), u64::from(self.max_repeats)),
        };
        amount.saturating_sub(known).div_ceil(later).saturating_add(passes)
    }
}
