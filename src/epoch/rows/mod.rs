//! The rows of one source: pass after pass, each a pure function of (source, pass, row).
//!
//! A source is one stratum, or several under a curriculum. `pool` packs what one pass over a stratum holds and finds
//! what is in a row; `documents` goes through a pool in the order of documents; `pass` goes through the rows of a
//! stratum, `source` through those of the source, and both say where they stand in a few numbers from which they
//! continue.

mod documents;
mod paced;
mod pass;
mod pool;
mod source;

pub(super) use paced::strata_table;
pub(super) use pass::PassPosition;
pub(super) use source::{SourceCursor, SourcePosition};

use crate::epoch::error::EpochError;
use crate::epoch::lengths::{LengthReader, LossReader};
use crate::epoch::mix::Fluid;
use crate::epoch::pack::{LengthHistogram, Segment, own};
use crate::epoch::plan::{PinnedSource, RowRules};
use pool::PassRows;
use roaring::RoaringTreemap;
use std::sync::Arc;

/// Passes whose rows are counted, at most, where each has another number of them.
const PASSES_WALKED: u32 = 64;

/// A source opened to give its rows.
pub(super) struct SourceRows {
    rules: RowRules,
    pinned: Arc<PinnedSource>,
    /// By stratum, by pool.
    strata: Vec<Vec<Arc<PassRows>>>,
    /// The schedule of the strata, by pool; empty with one stratum.
    schedules: Vec<Arc<Fluid>>,
}

/// A row of a source, named by where it is; [`SourceRows::segments`] finds what is in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowPlace {
    /// The pass it belongs to.
    pub pass: u32,
    /// Its real tokens, those repeated apart.
    pub tokens: u32,
    /// Tokens at its beginning that the row before has too.
    pub repeated: u32,
    /// What it counts in the mix's unit.
    pub amount: u64,
    stratum: u16,
    place: RowContent,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RowContent {
    /// Position among the rows of its pool.
    Packed(u64),
    /// What is in it.
    Cut(Vec<Segment>),
}

/// What sources are opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenPurpose {
    /// Counting rows and tokens.
    Count,
    /// Giving rows.
    Give,
}

impl SourceRows {
    /// Opens a source: its lengths are scanned once for every stratum and pool.
    ///
    /// # Errors
    /// [`EpochError::NotEncoded`]; [`EpochError::Store`].
    pub fn open(
        rules: RowRules,
        lengths: &LengthReader,
        pinned: Arc<PinnedSource>,
        trained: &LossReader,
        purpose: OpenPurpose,
    ) -> Result<Self, EpochError> {
        let mut strata = Vec::new();
        for (stratum, of) in pinned.strata.iter().enumerate() {
            let mut pools = Vec::new();
            for pool in 0..of.pools.len() {
                let place = pool::PassKey { pinned: Arc::clone(&pinned), stratum, pool };
                let opened = PassRows::open(&rules, lengths, place, trained, purpose)?;
                pools.push(Arc::new(opened));
            }
            strata.push(pools);
        }
        let mut source = Self { rules, pinned, strata, schedules: Vec::new() };
        if source.strata.len() > 1 && !source.rules.replace {
            for (pool, opens) in source.rules.opens.iter().enumerate() {
                let amounts = source.amounts(pool);
                source.schedules.push(Arc::new(strata_table(&amounts, opens)?));
            }
        }
        Ok(source)
    }

    pub const fn rules(&self) -> &RowRules {
        &self.rules
    }

    /// What the source's passes hold.
    pub fn pinned(&self) -> &PinnedSource {
        &self.pinned
    }

    /// Pools that passes draw from: pass `p` from pool `p`, the last one serving all that follow.
    pub fn pools(&self) -> usize {
        self.strata.first().map_or(0, Vec::len)
    }

    /// Strata that are scheduled by themselves.
    pub fn strata(&self) -> usize {
        self.strata.len()
    }

    fn pool_of(&self, pass: u32) -> usize {
        (pass as usize).min(self.pools().saturating_sub(1))
    }

    fn stratum(&self, stratum: u16, pass: u32) -> Result<&Arc<PassRows>, EpochError> {
        let pools = self.strata.get(usize::from(stratum));
        pools
            .and_then(|pools| pools.get(self.pool_of(pass)))
            .ok_or_else(|| EpochError::bug("a row of no stratum"))
    }

    fn of_pool(&self, pool: usize) -> impl Iterator<Item = &Arc<PassRows>> {
        self.strata.iter().filter_map(move |pools| pools.get(pool))
    }

    /// Packed tokens of each stratum in a pool.
    pub fn amounts(&self, pool: usize) -> Vec<u64> {
        self.of_pool(pool).map(|rows| rows.packed_tokens()).collect()
    }

    /// Documents by effective length, whole ones of all strata of a pool, each as often as it comes.
    pub fn histogram(&self, pool: usize) -> LengthHistogram {
        let mut all = LengthHistogram::new();
        for rows in self.of_pool(pool) {
            for (length, count) in rows.histogram() {
                *all.entry(*length).or_default() += count;
            }
        }
        all
    }

    /// A digest of the lengths in its pools: BLAKE3 over, pool by pool, length u32 and documents u64,
    /// little-endian, ascending, and u32 0 after each pool.
    pub fn lengths_digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for pool in 0..self.pools() {
            for (length, documents) in self.histogram(pool) {
                hasher.update(&length.to_le_bytes());
                hasher.update(&documents.to_le_bytes());
            }
            hasher.update(&0_u32.to_le_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// The `documents` that have packed tokens.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn packed_of(&self, documents: &RoaringTreemap) -> Result<RoaringTreemap, EpochError> {
        let any = self.strata.iter().flatten().next();
        any.map_or(Ok(RoaringTreemap::new()), |pool| pool.packed_of(documents))
    }

    /// What the first pass comes to; walks it where rows are cut in order.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn count_first(&self) -> Result<PassCount, EpochError> {
        self.count(0, 0)
    }

    /// What each pass after the first counts, where `first` is what the first comes to: of passes that count
    /// differently, as much as they can all be relied on to give together.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn count_later(&self, first: &PassCount) -> Result<u64, EpochError> {
        let pool = self.pools().saturating_sub(1);
        let later = self.rules.max_repeats.saturating_sub(1);
        if !self.rules.passes_differ() || later == 0 {
            return if pool == 0 { Ok(first.amount) } else { Ok(self.count(pool, 0)?.amount) };
        }
        let walked = later.min(PASSES_WALKED);
        let mut amount = u128::from(later - walked) * u128::from(self.fewest_rows(pool));
        for pass in 1..=walked {
            amount += u128::from(self.count(pool, pass)?.amount);
        }
        Ok(u64::try_from(amount / u128::from(later)).unwrap_or(u64::MAX))
    }

    fn count(&self, pool: usize, pass: u32) -> Result<PassCount, EpochError> {
        let mut count = PassCount::default();
        for (stratum, rows) in (0_u16..).zip(self.of_pool(pool)) {
            count.add(&pass::count(rows, stratum, pass)?);
        }
        Ok(count)
    }

    /// Rows that a pass over a pool has at least, whatever order it is in: those that its places fill.
    fn fewest_rows(&self, pool: usize) -> u64 {
        let capacity = u64::from(self.rules.policy.capacity);
        self.of_pool(pool).map(|rows| rows.places() / capacity.max(1)).sum()
    }

    /// Rows of a pass, where they are known without walking it.
    pub fn pass_rows(&self, pass: u32) -> Option<u64> {
        self.of_pool(self.pool_of(pass)).map(|rows| rows.rows()).sum()
    }

    /// Real tokens of a pass.
    pub fn pass_tokens(&self, pass: u32) -> u64 {
        self.amounts(self.pool_of(pass)).iter().sum()
    }

    /// Tokens at the end of a pass over a pool that fill no row and are left out.
    pub fn partial_tokens(&self, pool: usize) -> u64 {
        self.of_pool(pool).map(|rows| rows.partial_tokens()).sum()
    }

    /// What is left out at the end of a pass because it fills no row.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn partial(&self, pass: u32) -> Result<Vec<Segment>, EpochError> {
        let mut left_out = Vec::new();
        let pool = self.of_pool(self.pool_of(pass));
        for rows in pool.filter(|rows| rows.partial_tokens() > 0) {
            left_out.extend(documents::unfilled_segments(rows, pass, rows.partial_tokens())?);
        }
        Ok(left_out)
    }

    /// What is in a row and not in the row before.
    ///
    /// # Errors
    /// As [`SourceRows::segments`].
    pub fn segments_without_repeated(&self, row: &RowPlace) -> Result<Vec<Segment>, EpochError> {
        let segments = self.segments(row)?;
        Ok(if row.repeated == 0 { segments } else { own(&segments, row.repeated).collect() })
    }

    /// Tokens of each segment of a row, without finding its documents.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when there is no such row.
    pub fn segment_lengths(&self, row: &RowPlace) -> Result<Vec<u32>, EpochError> {
        match &row.place {
            RowContent::Cut(segments) => {
                Ok(segments.iter().map(|segment| segment.length).collect())
            }
            RowContent::Packed(index) => {
                self.stratum(row.stratum, row.pass)?.segment_lengths(row.pass, *index)
            }
        }
    }

    /// What is in a row.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn segments(&self, row: &RowPlace) -> Result<Vec<Segment>, EpochError> {
        match &row.place {
            RowContent::Cut(segments) => Ok(segments.clone()),
            RowContent::Packed(index) => {
                self.stratum(row.stratum, row.pass)?.segments(row.pass, *index)
            }
        }
    }
}

/// Rows, tokens and size of one pass over a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PassCount {
    pub rows: u64,
    /// Rows whose every place holds a real token.
    pub full_rows: u64,
    /// Real tokens.
    pub tokens: u64,
    /// In the mix's unit.
    pub amount: u64,
}

impl PassCount {
    fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.full_rows += other.full_rows;
        self.tokens += other.tokens;
        self.amount += other.amount;
    }
}
