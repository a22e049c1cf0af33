//! The fluid share of each source: the exact amount that it is due when a given amount was given in all.
//!
//! Ramps between mixes are included, and so is the inverse: the exact moment at which a source's share reaches an
//! amount.
//!
//! A ramp is a stretch on which shares go in a straight line from one mix to another, cut into equal linear pieces. The
//! amount of a source is then a parabola. With `n` pieces, breakpoint `j` is at `length * j / n` and its amount there is
//! exactly `(from * j * (2n - j) + to * j * j) / n^2`: all integers in units of `1 / n^2`, whatever `n`, so any
//! breakpoint costs two products and none is stored. Between breakpoints a line lies within
//! `slope change * length / (8 n^2)` of the parabola.

use super::shares::{MixError, apportion, bounded};
use model::invariant::at;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Fraction bits of the amounts at the points of a schedule: rounding there costs a source 1/256 at most.
const FRACTION: u32 = 8;
/// Points of a schedule are before this.
const LATEST: u64 = 1 << 50;
/// Largest sum of the weights that hold at the end of a schedule; larger ones are halved.
const WHOLE: u64 = 1 << 55;

/// A point of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlannedPoint {
    /// The total amount at which it holds.
    pub at: u64,
    /// Shares of the sources, relative to their sum, which is above 0; a source may have none for a while.
    pub shares: Vec<u64>,
    /// How the shares go from here to the next point; the last point holds for ever.
    pub ramp: Ramp,
}

/// How shares go from one point of a schedule to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Ramp {
    /// They stay until the next point.
    #[default]
    Step,
    /// They go in a straight line to those of the next point.
    Linear,
}

/// The amount `W_i(T)` that source `i` should have had when `T` were given in all.
///
/// Continuous, never falling, and `sum_i W_i(T) = T` exactly for every `T`. It is linear on pieces: a schedule is
/// stretches between points, a linear ramp among them is cut into pieces that are computed when asked for.
#[derive(Clone, Debug)]
pub struct Fluid {
    sources: usize,
    /// Fraction bits of `amounts`.
    fraction: u32,
    /// Where each stretch starts, in whole amounts.
    starts: Vec<u64>,
    /// What each source has at the start of each stretch: stretch by stretch, in fractions.
    amounts: Vec<u64>,
    /// The stretches that are ramps; may be shorter than `starts`.
    ramps: Vec<Option<Parabola>>,
    /// The last stretch continues for ever: per `last_run` in all, source `i` gets `last_rise[i]` fractions.
    last_run: u64,
    last_rise: Vec<u64>,
}

impl Fluid {
    /// The fluid of constant weights, exactly: `W_i(T) = T * weight_i / sum of weights`.
    ///
    /// A weight of zero never gets anything; with no positive weight nothing is ever due.
    #[must_use]
    pub fn constant(weights: &[u64]) -> Self {
        let weights = bounded(weights, u64::MAX);
        Self {
            sources: weights.len(),
            fraction: 0,
            starts: vec![0],
            amounts: vec![0; weights.len()],
            ramps: Vec::new(),
            last_run: weights.iter().sum::<u64>().max(1),
            last_rise: weights,
        }
    }

    /// Shares that change at points. `grain` is the amount of one row: linear ramps are followed to within an
    /// eighth of it, amounts at points to within 1/256 each (largest remainder).
    ///
    /// # Errors
    /// [`MixError::NoStart`], [`MixError::Order`], [`MixError::Shares`].
    pub fn scheduled(points: &[PlannedPoint], grain: u64) -> Result<Self, MixError> {
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return Err(MixError::NoStart);
        };
        check_points(first, points)?;
        let mut amounts = vec![0; first.shares.len()];
        let mut fluid = Self {
            sources: first.shares.len(),
            fraction: FRACTION,
            starts: points.iter().map(|point| point.at).collect(),
            amounts: amounts.clone(),
            ramps: Vec::new(),
            last_run: 1,
            last_rise: Vec::new(),
        };
        for (point, next) in points.iter().zip(points.iter().skip(1)) {
            let length = next.at - point.at;
            let gains = if point.ramp == Ramp::Step {
                fluid.ramps.push(None);
                apportion(length << FRACTION, &point.shares)
            } else {
                let half = |shares: &[u64]| apportion(length << (FRACTION - 1), shares);
                let (from, to) = (half(&point.shares), half(&next.shares));
                let ramp = Parabola::new(length, from, to, FRACTION, grain);
                let gains = (0..fluid.sources).map(|source| ramp.gain(source)).collect();
                fluid.ramps.push(Some(ramp));
                gains
            };
            for (amount, gain) in amounts.iter_mut().zip(gains) {
                *amount += gain;
            }
            fluid.amounts.extend(&amounts);
        }
        let weights = bounded(&last.shares, WHOLE);
        fluid.last_run = weights.iter().sum();
        fluid.last_rise = weights.iter().map(|weight| weight << FRACTION).collect();
        Ok(fluid)
    }

    /// A table of the caller: at `times[k]` source `i` has had `amounts[k][i]`, in a line between; the last line
    /// continues for ever. Everything starts at 0, which the table need not say.
    ///
    /// # Errors
    /// [`MixError::Table`] where a row does not sum to its time, times do not ascend or an amount falls;
    /// [`MixError::NoStart`] for a table without a time above 0.
    pub fn from_table(times: Vec<u64>, amounts: Vec<Vec<u64>>) -> Result<Self, MixError> {
        let sources = amounts.first().map_or(0, Vec::len);
        let mut fluid = Self {
            sources,
            fraction: 0,
            starts: vec![0],
            amounts: vec![0; sources],
            ramps: Vec::new(),
            last_run: 0,
            last_rise: Vec::new(),
        };
        if times.len() != amounts.len() {
            return Err(MixError::Table { row: times.len().min(amounts.len()) });
        }
        let (mut before, mut had) = (0, vec![0; sources]);
        for (row, (time, now)) in times.into_iter().zip(amounts).enumerate() {
            let sum: u128 = now.iter().map(|amount| u128::from(*amount)).sum();
            let falls = now.iter().zip(&had).any(|(now, had)| now < had);
            let late = time > before || (row == 0 && time == 0);
            if now.len() != sources || sum != u128::from(time) || falls || !late {
                return Err(MixError::Table { row });
            }
            if time == 0 {
                continue;
            }
            fluid.last_run = time - before;
            fluid.last_rise = now.iter().zip(&had).map(|(now, had)| now - had).collect();
            if before > 0 {
                fluid.starts.push(before);
                fluid.amounts.extend(&had);
            }
            (before, had) = (time, now);
        }
        if before == 0 { Err(MixError::NoStart) } else { Ok(fluid) }
    }

    /// Sources there are.
    #[must_use]
    pub const fn sources(&self) -> usize {
        self.sources
    }

    /// `W_i(total)`, rounded down; 0 for a source that does not exist.
    #[must_use]
    pub fn share(&self, source: usize, total: u64) -> u64 {
        let level = self.level(source, total, self.stretch_at(total));
        narrow(level.floor >> level.bits)
    }

    /// Whether `W_i(total)` is above `amount`, if only by a fraction.
    #[cfg(test)]
    pub fn exceeds(&self, source: usize, amount: u64, total: u64) -> bool {
        let level = self.level(source, total, self.stretch_at(total));
        level.ceil > u128::from(amount) << level.bits
    }

    /// The largest total at which `source` should not have had more than `amount`; none when it never will.
    #[must_use]
    pub fn inverse(&self, source: usize, amount: u64) -> Option<u64> {
        self.when(source, amount, true, SchedulePart::default()).map(|moment| moment.floor)
    }

    /// How far `emitted` is from the shares at `total`: of the source furthest off, rounded up.
    pub(super) fn distance(&self, emitted: &[u64], total: u64) -> u64 {
        let stretch = self.stretch_at(total);
        let off = emitted.iter().enumerate().map(|(source, emitted)| {
            let level = self.level(source, total, stretch);
            let have = u128::from(*emitted) << level.bits;
            let off = have.saturating_sub(level.floor).max(level.ceil.saturating_sub(have));
            off.div_ceil(1 << level.bits)
        });
        narrow(off.max().unwrap_or(0))
    }

    /// The moment at which `source` should have had `amount`; with `beyond`, the last at which it should not have
    /// had more. None when that never is. `near` is a guess at where.
    pub(super) fn when(
        &self,
        source: usize,
        amount: u64,
        beyond: bool,
        near: SchedulePart,
    ) -> Option<ShareTime> {
        let amount = u128::from(amount) << self.fraction;
        let stretch = self.stretch_of(source, amount, beyond, near.stretch);
        let start = self.starts.get(stretch).copied()?;
        let above = amount.saturating_sub(self.begin(stretch, source)?.into());
        if let Some(Some(ramp)) = self.ramps.get(stretch) {
            let above = above << ramp.bits();
            let near = if near.stretch == stretch { near.piece } else { 0 };
            let piece = ramp.piece(source, above, near);
            let above = above - ramp.at(source, piece);
            let rise = ramp.rise(source, piece);
            let across = above * u128::from(ramp.length);
            let (pieces, rest) = (across / rise.max(1), across % rise.max(1));
            let pieces = pieces + u128::from(piece) * u128::from(ramp.length);
            let within = pieces >> ramp.log_pieces;
            return Some(ShareTime {
                floor: start.saturating_add(narrow(within)),
                whole: rest == 0 && within << ramp.log_pieces == pieces,
                ends: above == rise,
                place: SchedulePart { stretch, piece },
                above,
                rise: rise.max(1),
            });
        }
        let (run, rise, last) = self.line(stretch, source)?;
        if last && rise == 0 && (beyond || above > 0) {
            return None;
        }
        let across = above * u128::from(run);
        let rise = u128::from(rise.max(1));
        let (within, rest) = divide(across, rise);
        Some(ShareTime {
            floor: start.saturating_add(narrow(within)),
            whole: rest == 0,
            ends: !last && above == rise,
            place: SchedulePart { stretch, piece: 0 },
            above,
            rise,
        })
    }

    /// The first stretch by whose end `source` should have had `amount` (more, if `beyond`), or the last one.
    fn stretch_of(&self, source: usize, amount: u128, beyond: bool, near: usize) -> usize {
        let last = self.starts.len() - 1;
        let reached = |stretch: usize| {
            let end = self.begin(stretch + 1, source).map_or(u128::MAX, u128::from);
            stretch >= last || if beyond { end > amount } else { end >= amount }
        };
        let near = near.min(last);
        let (mut low, mut high) = (0, last);
        if near > 0 && reached(near - 1) {
            high = near - 1;
        } else if reached(near) {
            return near;
        } else {
            low = near + 1;
            if reached(low) {
                return low;
            }
        }
        while low < high {
            let middle = low.midpoint(high);
            if reached(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    fn stretch_at(&self, total: u64) -> usize {
        self.starts.partition_point(|start| *start <= total).saturating_sub(1)
    }

    fn begin(&self, stretch: usize, source: usize) -> Option<u64> {
        self.amounts.get(stretch * self.sources + source).copied()
    }

    /// The run of a linear stretch, what the source gains on it, and whether it continues for ever.
    fn line(&self, stretch: usize, source: usize) -> Option<(u64, u64, bool)> {
        match self.starts.get(stretch + 1) {
            None => Some((self.last_run, self.last_rise.get(source).copied()?, true)),
            Some(end) => {
                let rise = self.begin(stretch + 1, source)? - self.begin(stretch, source)?;
                Some((end - self.starts.get(stretch)?, rise, false))
            }
        }
    }

    fn level(&self, source: usize, total: u64, stretch: usize) -> ShareLevel {
        let found = self.begin(stretch, source).zip(self.starts.get(stretch));
        let Some((begin, start)) = found else { return ShareLevel { floor: 0, ceil: 0, bits: 0 } };
        let past = u128::from(total - start);
        if let Some(Some(ramp)) = self.ramps.get(stretch) {
            let length = u128::from(ramp.length);
            let across = past << ramp.log_pieces;
            let piece = narrow(across / length);
            let base = (u128::from(begin) << ramp.bits()) + ramp.at(source, piece);
            let gained = ramp.rise(source, piece) * (across % length);
            return ShareLevel::new(base, gained, length, self.fraction + ramp.bits());
        }
        let (run, rise, _) = self.line(stretch, source).unwrap_or((1, 0, true));
        ShareLevel::new(begin.into(), u128::from(rise) * past, run.into(), self.fraction)
    }
}

/// An amount between two integers, in units of `2^-bits`.
struct ShareLevel {
    floor: u128,
    ceil: u128,
    bits: u32,
}

impl ShareLevel {
    fn new(base: u128, gained: u128, run: u128, bits: u32) -> Self {
        let (floor, rest) = divide(gained, run);
        Self { floor: base + floor, ceil: base + floor + u128::from(rest != 0), bits }
    }
}

/// Quotient and remainder; most of the time both fit 64 bits, which is several times faster.
fn divide(of: u128, by: u128) -> (u128, u128) {
    match (u64::try_from(of), u64::try_from(by)) {
        (Ok(of), Ok(by)) => ((of / by).into(), (of % by).into()),
        _ => (of / by, of % by),
    }
}

fn check_points(first: &PlannedPoint, points: &[PlannedPoint]) -> Result<(), MixError> {
    if first.at != 0 {
        return Err(MixError::NoStart);
    }
    let sources = first.shares.len();
    let mut least = 0;
    for (index, point) in points.iter().enumerate() {
        if point.at < least || point.at >= LATEST {
            return Err(MixError::Order { point: index, at: point.at });
        }
        if point.shares.len() != sources || point.shares.iter().all(|share| *share == 0) {
            return Err(MixError::Shares { point: index, sources });
        }
        least = point.at + 1;
    }
    Ok(())
}

fn narrow(amount: u128) -> u64 {
    u64::try_from(amount).unwrap_or(u64::MAX)
}

/// A piece on which shares are linear: pieces ascend with time and do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SchedulePart {
    /// The stretch of the schedule.
    pub stretch: usize,
    /// The piece within it.
    pub piece: u64,
}

/// A moment inside piece `place`, `above / rise` of a full run after its start.
///
/// `floor` orders almost everything in one comparison; the fraction decides the rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShareTime {
    /// The total then, rounded down.
    pub floor: u64,
    /// Whether `floor` is all of it.
    pub whole: bool,
    /// Whether the source's share may stand still from here on: the moment is the end of its piece.
    pub ends: bool,
    pub place: SchedulePart,
    pub above: u128,
    pub rise: u128,
}

impl ShareTime {
    /// The total then, rounded up.
    pub const fn ceil(&self) -> u64 {
        self.floor.saturating_add(if self.whole { 0 } else { 1 })
    }

    /// Which comes first, exactly.
    pub fn order(&self, other: &Self) -> Ordering {
        self.floor.cmp(&other.floor).then_with(|| self.order_within(other))
    }

    fn order_within(&self, other: &Self) -> Ordering {
        self.place
            .cmp(&other.place)
            .then_with(|| wide(self.above, other.rise).cmp(&wide(other.above, self.rise)))
    }
}

/// `a * b` as (high, low) halves of 256 bits.
fn wide(a: u128, b: u128) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    if (a | b) >> 64 == 0 {
        return (0, a * b);
    }
    let (a_high, a_low, b_high, b_low) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let low = a_low * b_low;
    // Each half is below 2^64, so a product and two carries of 64 bits fit.
    let middle = a_high * b_low + (low >> 64);
    let other = a_low * b_high + (middle & LOW);
    (a_high * b_high + (middle >> 64) + (other >> 64), (other << 64) | (low & LOW))
}

/// Most pieces, as a power of two: products stay below 128 bits up to a length of 2^50.
const FINEST: u32 = 20;

/// One stretch: what its sources have at breakpoints, relative to its start.
#[derive(Clone, Debug)]
pub(super) struct Parabola {
    /// Its length in amounts.
    pub length: u64,
    /// Pieces, as a power of two.
    pub log_pieces: u32,
    /// Half of what each source would have with the shares of the start, in fractions of an amount.
    from: Vec<u64>,
    /// The shares at the end of the ramp.
    to: Vec<u64>,
}

impl Parabola {
    /// A ramp within an eighth of `grain` of the parabola; `fraction` is the fraction bits of `from` and `to`.
    pub fn new(length: u64, from: Vec<u64>, to: Vec<u64>, fraction: u32, grain: u64) -> Self {
        // The parabola bends by this over the whole length: twice the difference of the halves.
        let widest = from.iter().zip(&to).map(|(from, to)| from.abs_diff(*to)).max().unwrap_or(0);
        let bend = (u128::from(widest) * 2) >> fraction;
        let mut log_pieces = 0;
        while log_pieces < FINEST && u128::from(grain.max(1)) << (2 * log_pieces) < bend {
            log_pieces += 1;
        }
        Self { length, log_pieces, from, to }
    }

    /// Bits by which amounts here are finer than `from` and `to`.
    pub const fn bits(&self) -> u32 {
        2 * self.log_pieces
    }

    /// What `source` gains over the whole stretch.
    pub fn gain(&self, source: usize) -> u64 {
        let (from, to) = self.ends(source);
        from + to
    }

    fn ends(&self, source: usize) -> (u64, u64) {
        (*at(&self.from, source), *at(&self.to, source))
    }

    /// What `source` has at breakpoint `piece`.
    pub fn at(&self, source: usize, piece: u64) -> u128 {
        let (from, to) = self.ends(source);
        let rest = (2 << self.log_pieces) - piece;
        // piece, rest <= 2^21, so their products fit 64 bits.
        u128::from(from) * u128::from(piece * rest) + u128::from(to) * u128::from(piece * piece)
    }

    /// What `source` gains from breakpoint `piece` to the next.
    pub fn rise(&self, source: usize, piece: u64) -> u128 {
        let (from, to) = self.ends(source);
        let rest = (2 << self.log_pieces) - 2 * piece - 1;
        u128::from(from) * u128::from(rest) + u128::from(to) * u128::from(2 * piece + 1)
    }

    /// The first piece by whose end `source` has `amount`; `near` is a guess. The stretch as a whole does get there.
    pub fn piece(&self, source: usize, amount: u128, near: u64) -> u64 {
        let pieces = 1 << self.log_pieces;
        let reached = |piece: u64| self.at(source, piece) >= amount;
        // Breakpoint `low` has not reached it (0 counts as such), breakpoint `high` has.
        let near = near.min(pieces - 1);
        let (mut low, mut high) = (near, pieces);
        if near > 0 && reached(near) {
            (low, high) = (0, near);
        } else {
            let mut step = 1;
            while low + step < pieces {
                if reached(low + step) {
                    high = low + step;
                    break;
                }
                low += step;
                step *= 2;
            }
        }
        while high - low > 1 {
            let middle = low.midpoint(high);
            if reached(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_moments_order_by_piece_then_fraction() {
        let moment = |piece, above, rise| {
            let place = SchedulePart { stretch: 0, piece };
            ShareTime { floor: 7, whole: false, ends: above == rise, place, above, rise }
        };
        assert_eq!(moment(3, 9, 9).order(&moment(4, 1, 100)), Ordering::Less);
        assert_eq!(moment(4, 1, 3).order(&moment(4, 33, 100)), Ordering::Greater);
        assert_eq!(moment(4, 1 << 90, 3 << 90).order(&moment(4, 1, 3)), Ordering::Equal);
        assert_eq!(moment(4, 1, 3).ceil(), 8);
    }

    #[test]
    fn products_have_256_bits() {
        assert_eq!(wide(u128::MAX, u128::MAX), (u128::MAX - 1, 1));
        assert_eq!(wide(1 << 100, 1 << 100), (1 << 72, 0));
        assert_eq!(wide((3 << 64) + 5, (7 << 64) + 11), (21, (68 << 64) + 55));
        assert_eq!(wide(u128::MAX, 2), (1, u128::MAX - 1));
        assert_eq!(wide(6, 7), (0, 42));
    }
}
