//! Schedules whole rows from fluid shares: among the sources that are due, the one whose next row is needed first.
//!
//! A row of a source is due from the moment its fluid share begins to serve it, the end of its plateau at what the
//! source has emitted, and it has its deadline when the share has served all of it. Of the rows that are due, the one
//! with the earliest deadline goes. This is WF2Q (Bennett and Zhang, INFOCOM 1996) for shares that may change.
//!
//! Some source is always due: what the sources have emitted and what their shares are both sum to `T`, so one is not
//! ahead, and if none is behind, one is being served. And with `L` the largest row (of those emitted and those next),
//! at every prefix `|emitted_i - W_i(T)| <= L`:
//! * above: a row is due when `emitted <= W_i(T)`, and shares never fall.
//! * below: rows due at or after `t` with deadlines by `d` hold at most `d - t`, as the fluid serves them all in
//!   between. So a row ends by its deadline `d` plus the one longer row, `l`, that was under way when it became due:
//!   the last row before it with a deadline after `d`. A row `r` that starts at `T > d` ends at `T + r <= d + l`, so the
//!   share is at most `emitted + r + (T - d) <= emitted + l`, as no share grows faster than `T`.
//!
//! "Most behind first" and plain earliest deadline both break that bound.

use super::fluid::Fluid;
use super::fluid::{SchedulePart, ShareTime};
use model::invariant::at;
use std::cmp::Ordering;
use std::sync::Arc;

/// The state of an interleaving.
#[derive(Clone, Debug)]
pub struct Scheduler {
    fluid: Arc<Fluid>,
    lanes: Vec<Lane>,
    emitted: Vec<u64>,
    total: u64,
}

/// The eligible time and the deadline of a source's next row: a function of the fluid, of what the source has emitted
/// and of the row.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// The total from which it is due; the largest number when its share never grows again.
    release: u64,
    /// The row `due` is for.
    row: Option<u64>,
    /// The deadline; none when its share never gets there.
    due: Option<ShareTime>,
    /// Where the last moment was found, to find the next one fast.
    place: SchedulePart,
}

impl Scheduler {
    /// Starts with nothing emitted.
    #[must_use]
    pub fn new(fluid: Arc<Fluid>) -> Self {
        let emitted = vec![0; fluid.sources()];
        let mut scheduler = Self { fluid, lanes: Vec::new(), emitted: Vec::new(), total: 0 };
        scheduler.restore(emitted);
        scheduler
    }

    /// Restores the state in which the sources had emitted this much; the same picks follow as then.
    ///
    /// Amounts that are missing are 0, those of sources that do not exist are ignored.
    pub fn restore(&mut self, mut emitted: Vec<u64>) {
        emitted.resize(self.fluid.sources(), 0);
        self.total = emitted.iter().fold(0, |sum, emitted| sum.saturating_add(*emitted));
        self.emitted = emitted;
        self.lanes = vec![Lane::default(); self.emitted.len()];
        for (source, (lane, emitted)) in self.lanes.iter_mut().zip(&self.emitted).enumerate() {
            lane.wait(&self.fluid, source, *emitted);
        }
    }

    /// Emitted by all sources.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Emitted by each source.
    #[must_use]
    pub fn emitted(&self) -> &[u64] {
        &self.emitted
    }

    /// The fluid that is followed.
    #[cfg(test)]
    pub fn fluid(&self) -> &Fluid {
        &self.fluid
    }

    /// The source that goes next; `next` gives the amount of each source's next row, or none where it has no
    /// more: such a source has the earliest deadline of all, so that running out shows. Ties by order.
    ///
    /// A pick changes nothing but the deadlines that are remembered. A source without a share at present is picked
    /// only while it is owed something. None only when no source has a share at all.
    #[must_use]
    pub fn pick(&mut self, next: impl Fn(usize) -> Option<u64>) -> Option<usize> {
        let mut best: Option<(usize, u64)> = None;
        for source in 0..self.lanes.len() {
            let Some(lane) = self.lanes.get_mut(source) else { continue };
            if self.total < lane.release {
                continue;
            }
            let Some(row) = next(source) else { return Some(source) };
            if lane.row != Some(row) {
                lane.expect(&self.fluid, source, *at(&self.emitted, source), row);
            }
            // Whole numbers decide nearly always; the exact moments are examined when they tie.
            let floor = lane.due.map_or(u64::MAX, |due| due.floor);
            let earlier = best.is_none_or(|(other, least)| {
                floor < least || (floor == least && self.is_before(source, other))
            });
            if earlier {
                best = Some((source, floor));
            }
        }
        best.map(|(source, _)| source)
    }

    /// Whether the deadline of `source` is before that of `other`; a deadline that never comes is the last.
    fn is_before(&self, source: usize, other: usize) -> bool {
        let due = |source: usize| self.lanes.get(source).and_then(|lane| lane.due.as_ref());
        match (due(source), due(other)) {
            (Some(due), Some(other)) => due.order(other) == Ordering::Less,
            (due, other) => due.is_some() && other.is_none(),
        }
    }

    /// Notes that `source` gave a row of `amount`.
    pub fn record(&mut self, source: usize, amount: u64) {
        let (Some(lane), Some(emitted)) =
            (self.lanes.get_mut(source), self.emitted.get_mut(source))
        else {
            return;
        };
        *emitted = emitted.saturating_add(amount);
        self.total = self.total.saturating_add(amount);
        match lane.due {
            // The next row begins where this one has its deadline, but for a plateau in between.
            Some(due) if lane.row == Some(amount) && !due.ends && amount > 0 => {
                lane.release = due.ceil();
                lane.row = None;
            }
            _ => lane.wait(&self.fluid, source, *emitted),
        }
    }

    /// How far the source furthest from its share is from it, rounded up.
    #[must_use]
    pub fn deviation(&self) -> u64 {
        self.fluid.distance(&self.emitted, self.total)
    }
}

impl Lane {
    fn wait(&mut self, fluid: &Fluid, source: usize, emitted: u64) {
        let moment = fluid.when(source, emitted, true, self.place);
        self.place = moment.map_or(self.place, |moment| moment.place);
        self.release = moment.map_or(u64::MAX, |moment| moment.ceil());
        self.row = None;
    }

    fn expect(&mut self, fluid: &Fluid, source: usize, emitted: u64, row: u64) {
        self.due = fluid.when(source, emitted.saturating_add(row), false, self.place);
        self.place = self.due.map_or(self.place, |moment| moment.place);
        self.row = Some(row);
    }
}
