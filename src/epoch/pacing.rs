//! The pace of a curriculum: how much of the data, easiest first, is open at which token.
//!
//! A pacing function `c(t)` gives the share of the data released at the share `t` of the run, with
//! `c(1) = 1`. [`Pace::opens`] turns it into integers: the token at which each stratum opens. Floats are
//! used inside only; released amounts are rounded to whole tokens before anything is compared.
//!
//! ```
//! use corpusdb::epoch::pacing::{Pace, Pacing};
//!
//! let pace = Pace { pacing: Pacing::Sqrt, c0: 0.0 };
//! assert_eq!(pace.opens(&[250, 250, 500], 1000)?, [0, 63, 250]);
//! # Ok::<(), corpusdb::epoch::pacing::PacingError>(())
//! ```

#[cfg(test)]
#[path = "pacing_tests.rs"]
mod tests;

/// The share released at the beginning unless a recipe says otherwise (Platanios et al. 2019).
pub const DEFAULT_C0: f64 = 0.01;

/// How fast the exponential pace saturates.
const EXP_RATE: f64 = 3.0;

/// The shape of a pacing function.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Pacing {
    /// `c0 + (1 - c0) t`.
    Linear,
    /// [`Pacing::Root`] with `p = 2`: new data comes fast at first, then ever slower.
    Sqrt,
    /// `(c0^p + (1 - c0^p) t)^(1/p)` (Platanios et al. 2019).
    Root(f64),
    /// `c0 + (1 - c0) (1 - exp(-3 t)) / (1 - exp(-3))`.
    Exp,
    /// Baby steps: `(floor(t steps) + 1) / steps`, at least `c0`. As many steps as there are equal
    /// strata releases one after the other.
    Step(u32),
}

/// A pacing function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// The shape of the function: linear, a root, in steps.
    pub pacing: Pacing,
    /// The share released at the beginning, 0 to 1.
    pub c0: f64,
}

/// A curriculum that cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PacingError {
    /// The share at the beginning is not a share.
    #[error("curriculum c0 is {0}, not a share from 0 to 1")]
    BadStart(f64),
    /// The root is not a number above 0.
    #[error("curriculum root-p has p = {0}; give a number above 0")]
    BadRoot(f64),
    /// A curriculum in steps that names none.
    #[error("a curriculum of 0 steps releases nothing; give at least 1")]
    NoSteps,
    /// Nothing to order, or nothing to order it over.
    #[error(
        "a curriculum over {strata} strata of {total} tokens and a run of {horizon} tokens has nothing to pace"
    )]
    Nothing {
        /// Strata given.
        strata: usize,
        /// The tokens of the strata.
        total: u64,
        /// Tokens of the run.
        horizon: u64,
    },
    /// More tokens than can be counted.
    #[error("the strata of a curriculum add up to more than 2^64 tokens")]
    TooMany,
    /// The pace is slower than the run reads.
    #[error(
        "the curriculum runs dry at token {time}: {released} of {total} tokens are released by then; \
         raise c0, choose a faster pacing, or allow replacement"
    )]
    RunsDry {
        /// The first token time at which more is read than is released.
        time: u64,
        /// Tokens released by then.
        released: u64,
        /// Tokens of all strata.
        total: u64,
    },
}

impl Pace {
    /// The shape with the default [`DEFAULT_C0`].
    #[must_use]
    pub const fn new(pacing: Pacing) -> Self {
        Self { pacing, c0: DEFAULT_C0 }
    }

    /// `c(t)`: the share of the data released at the share `t` of the run. Never falls; 1 at `t = 1` and after.
    #[must_use]
    pub fn share(&self, t: f64) -> f64 {
        let (t, c0) = (t.max(0.0), self.c0);
        if t >= 1.0 {
            return 1.0;
        }
        let share = match self.pacing {
            Pacing::Linear => c0 + (1.0 - c0) * t,
            // Square roots are the same on every machine; powers need not be.
            Pacing::Sqrt => (c0 * c0 + (1.0 - c0 * c0) * t).sqrt(),
            Pacing::Root(p) => (c0.powf(p) + (1.0 - c0.powf(p)) * t).powf(p.recip()),
            Pacing::Exp => c0 + (1.0 - c0) * (-EXP_RATE * t).exp_m1() / (-EXP_RATE).exp_m1(),
            Pacing::Step(steps) => {
                (((t * f64::from(steps)).floor() + 1.0) / f64::from(steps)).max(c0)
            }
        };
        share.min(1.0)
    }

    /// The token times at which strata open, one for each of `amounts` (tokens, easiest first), over a
    /// run of `horizon` tokens. The first opens at 0; another at the earliest time when all easier ones
    /// are released in whole: `c(T / horizon) * total >= ` their tokens. With [`Pacing::Step`], which
    /// releases in leaps, at the first leap that releases more than them. Never falls, and none is
    /// later than `horizon`.
    ///
    /// # Errors
    /// A parameter out of its range; no strata, no tokens or no run; more than 2^64 tokens.
    pub fn opens(&self, amounts: &[u64], horizon: u64) -> Result<Vec<u64>, PacingError> {
        let total = self.total(amounts, horizon)?;
        let mut easier = 0_u64;
        let mut latest = 0;
        let mut opens = Vec::with_capacity(amounts.len());
        for amount in amounts {
            if easier > 0 {
                let wanted = match self.pacing {
                    Pacing::Step(_) => easier.saturating_add(1).min(total),
                    _ => easier,
                };
                // From the time before: it never falls, and the search is shorter.
                latest =
                    earliest(latest, horizon, |time| self.released(total, time, horizon) >= wanted);
            }
            opens.push(latest);
            easier = easier.saturating_add(*amount);
        }
        Ok(opens)
    }

    /// Whether a run of `horizon` tokens without replacement always finds released tokens to read:
    /// `c(T / horizon) * total >= T` at every time T.
    ///
    /// # Errors
    /// [`PacingError::RunsDry`] with the first time at which it does not; else as [`Pace::opens`].
    pub fn check(&self, amounts: &[u64], horizon: u64) -> Result<(), PacingError> {
        let total = self.total(amounts, horizon)?;
        let dry = |time| self.released(total, time, horizon) < time;
        let found = match self.pacing {
            Pacing::Step(steps) => self.dry_step(total, horizon, steps),
            // Above the diagonal first, below it after (or never), up to where the gap is widest.
            _ => {
                let widest = self.widest_gap(total, horizon);
                [widest.saturating_sub(1), widest, widest.saturating_add(1), horizon]
                    .into_iter()
                    .filter(|time| *time <= horizon)
                    .find(|time| dry(*time))
                    .map(|end| earliest(0, end, dry))
            }
        };
        found.map_or(Ok(()), |time| {
            let released = self.released(total, time, horizon);
            Err(PacingError::RunsDry { time, released, total })
        })
    }

    /// The sum of the amounts, once everything is found to be in range.
    fn total(&self, amounts: &[u64], horizon: u64) -> Result<u64, PacingError> {
        if !(0.0..=1.0).contains(&self.c0) {
            return Err(PacingError::BadStart(self.c0));
        }
        match self.pacing {
            Pacing::Root(p) if !(p > 0.0 && p.is_finite()) => return Err(PacingError::BadRoot(p)),
            Pacing::Step(0) => return Err(PacingError::NoSteps),
            _ => {}
        }
        let total = amounts.iter().try_fold(0_u64, |sum, amount| sum.checked_add(*amount));
        let total = total.ok_or(PacingError::TooMany)?;
        if total == 0 || horizon == 0 {
            return Err(PacingError::Nothing { strata: amounts.len(), total, horizon });
        }
        Ok(total)
    }

    /// `c(time / horizon) * total`, to the nearest token.
    fn released(&self, total: u64, time: u64, horizon: u64) -> u64 {
        if time >= horizon {
            return total;
        }
        if let Pacing::Step(steps) = self.pacing {
            // Whole numbers: a step begins at its very token.
            let steps = u128::from(steps);
            let step = u128::from(time) * steps / u128::from(horizon) + 1;
            let by_steps = u128::from(total) * step / steps;
            return u64::try_from(by_steps).unwrap_or(total).max(scale(self.c0, total)).min(total);
        }
        scale(self.share(ratio(time, horizon)), total)
    }

    /// The first dry time of a pace by steps: within a step, the token after the released ones.
    fn dry_step(&self, total: u64, horizon: u64, steps: u32) -> Option<u64> {
        let begin = |step: u32| {
            let tokens = (u128::from(step) * u128::from(horizon)).div_ceil(u128::from(steps));
            u64::try_from(tokens).unwrap_or(horizon)
        };
        (0..steps)
            .map(|step| (self.released(total, begin(step), horizon), begin(step + 1)))
            .find(|(released, end)| released.saturating_add(1) < *end)
            .map(|(released, _)| released.saturating_add(1))
            .or_else(|| (total < horizon).then_some(horizon))
    }

    /// The time at which the release is furthest behind the reading: the end of a concave pace; within
    /// the run where `Root` is convex (p below 1), at the time where both are as fast.
    fn widest_gap(&self, total: u64, horizon: u64) -> u64 {
        let Pacing::Root(p) = self.pacing else { return horizon };
        let start = self.c0.powf(p);
        if p >= 1.0 || start >= 1.0 {
            return horizon;
        }
        // d/dt (start + (1 - start) t)^(1/p) = horizon / total, solved for t.
        let base = (ratio(horizon, total) * p / (1.0 - start)).powf((p.recip() - 1.0).recip());
        scale(((base - start) / (1.0 - start)).clamp(0.0, 1.0), horizon)
    }
}

/// The first time of `from..=to` at which a test that once passed continues passing does pass; `to` if none before.
fn earliest(from: u64, to: u64, passes: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (from, to);
    while low < high {
        let middle = low + (high - low) / 2;
        if passes(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[expect(clippy::cast_precision_loss, reason = "a share, to 53 bits")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// `share * amount`, to the nearest whole number; `amount` at most.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rounded share of 0 to 1 of the amount; a cast from float stays in range"
)]
fn scale(share: f64, amount: u64) -> u64 {
    ((share * amount as f64).round() as u64).min(amount)
}
