//! Counts of pre-tokens by group, bounded in memory, in any order of texts and over any threads.

use crate::engine::splitter::PretokenSplitter;
use crate::error::TokenizerError;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Longer pre-tokens are not counted: one megabyte of a single letter would else be a "word" that
/// outweighs the language. Runs of dashes and of letters without spaces stay below.
const MAX_PRETOKEN_BYTES: usize = 16 << 10;
/// Bytes of a pre-token that an entry of the table has room for; longer ones count as several.
const ENTRY_BYTES: usize = 64;
/// Levels of sampling, from every text to one in 2^63.
const LEVELS: usize = 64;

type PretokenCounts = HashMap<Box<str>, u64, BuildHasherDefault<PretokenHasher>>;

/// Counts the pre-tokens of texts by group (a language, a source).
///
/// Memory is bounded by sampling whole texts: each has a level drawn from a hash of its content
/// (half the texts 0, a quarter 1, ...), every level has its own tables, and when the tables
/// together pass the limit the lowest level is dropped. Which levels remain depends on the texts
/// and their groups alone, not on their order nor on how they were spread over threads.
pub struct PretokenCounter {
    splitter: PretokenSplitter,
    groups: usize,
    limit: usize,
    lowest: usize,
    /// By level and group; no longer than what was met.
    levels: Vec<Vec<GroupCounts>>,
    entries: usize,
}

#[derive(Clone, Default)]
struct GroupCounts {
    counts: PretokenCounts,
    mass: TextTotals,
    entries: usize,
}

/// How much was counted of one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct TextTotals {
    /// How many texts were counted.
    pub texts: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their characters.
    pub characters: u64,
    /// Pre-tokens left out because they are longer than 16 KiB.
    pub skipped: u64,
}

/// Pre-tokens with their counts, by group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PretokenTable {
    /// Pre-token to count, one map a group. Keys are as the splitter gives them.
    pub groups: Vec<BTreeMap<Box<str>, u64>>,
    /// How much was counted, one a group.
    pub masses: Vec<TextTotals>,
    /// One in how many texts the counts are of: 1 while memory sufficed, then powers of two.
    pub sampled_one_in: u64,
}

impl PretokenTable {
    /// Pre-tokens left out because they are longer than 16 KiB.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.masses.iter().map(|mass| mass.skipped).sum()
    }
}

impl PretokenCounter {
    /// Entries of the default limit: some 200 MB.
    pub const DEFAULT_LIMIT: usize = 2 << 20;

    /// A counter of the pre-tokens that the `tokenizer.json` splits, for `groups` groups, which holds
    /// at most `limit` entries (about 100 bytes each; long pre-tokens count as several) beyond those of
    /// the text at hand.
    ///
    /// # Errors
    /// [`TokenizerError::Load`] when the reference implementation cannot read the file.
    pub fn new(json: &[u8], groups: usize, limit: usize) -> Result<Self, TokenizerError> {
        Ok(Self::with(PretokenSplitter::of(json)?, groups, limit))
    }

    fn with(splitter: PretokenSplitter, groups: usize, limit: usize) -> Self {
        Self { splitter, groups, limit, lowest: 0, levels: vec![Vec::new(); LEVELS], entries: 0 }
    }

    /// An empty counter of the same kind, cheaply; for another thread.
    #[must_use]
    pub fn empty_like(&self) -> Self {
        Self::with(self.splitter.clone(), self.groups, self.limit)
    }

    /// Counts the pre-tokens of one text of `group`. Equal texts count each time. Texts of groups that there are not
    /// are skipped.
    ///
    /// # Errors
    /// [`TokenizerError::Split`] or [`TokenizerError::Panicked`] when the pre-tokenizer fails.
    pub fn add_text(&mut self, group: usize, text: &str) -> Result<(), TokenizerError> {
        let level = level(text);
        if level < self.lowest || group >= self.groups {
            return Ok(());
        }
        let Some(groups) = self.levels.get_mut(level) else { return Ok(()) };
        if groups.len() <= group {
            groups.resize_with(group + 1, GroupCounts::default);
        }
        let Some(GroupCounts { counts, mass, entries }) = groups.get_mut(group) else {
            return Ok(());
        };
        let mut added = 0;
        mass.texts += 1;
        mass.bytes += text.len() as u64;
        mass.characters += text.chars().count() as u64;
        let counted = self.splitter.split(text, |pretoken| {
            if pretoken.len() > MAX_PRETOKEN_BYTES {
                mass.skipped += 1;
            } else if let Some(count) = counts.get_mut(pretoken) {
                *count += 1;
            } else {
                counts.insert(pretoken.into(), 1);
                added += entries_of(pretoken);
            }
        });
        *entries += added;
        self.entries += added;
        self.shrink();
        counted
    }

    /// Adds what another counter of the same kind counted.
    #[must_use]
    pub fn merge(mut self, mut other: Self) -> Self {
        if self.entries < other.entries {
            std::mem::swap(&mut self, &mut other);
        }
        self.lowest = self.lowest.max(other.lowest);
        for (level, (ours, theirs)) in self.levels.iter_mut().zip(other.levels).enumerate() {
            if level < self.lowest {
                ours.clear();
                continue;
            }
            if ours.len() < theirs.len() {
                ours.resize_with(theirs.len(), GroupCounts::default);
            }
            for (ours, theirs) in ours.iter_mut().zip(theirs) {
                ours.add(theirs);
            }
        }
        self.entries = self.levels.iter().flatten().map(|group| group.entries).sum();
        self.shrink();
        self
    }

    /// The table of all that was counted.
    #[must_use]
    pub fn finish(self) -> PretokenTable {
        let sampled_one_in =
            1u64.checked_shl(u32::try_from(self.lowest).unwrap_or(u32::MAX)).unwrap_or(u64::MAX);
        let mut table = PretokenTable {
            groups: vec![BTreeMap::new(); self.groups],
            masses: vec![TextTotals::default(); self.groups],
            sampled_one_in,
        };
        for groups in self.levels {
            let sums = table.groups.iter_mut().zip(&mut table.masses);
            for (GroupCounts { counts, mass, .. }, (sum, total)) in groups.into_iter().zip(sums) {
                total.add(mass);
                for (pretoken, count) in counts {
                    *sum.entry(pretoken).or_default() += count;
                }
            }
        }
        table
    }

    fn shrink(&mut self) {
        while self.entries > self.limit && self.lowest + 1 < LEVELS {
            for group in self.levels.get_mut(self.lowest).map(std::mem::take).unwrap_or_default() {
                self.entries -= group.entries;
            }
            self.lowest += 1;
        }
    }
}

impl GroupCounts {
    fn add(&mut self, other: Self) {
        self.mass.add(other.mass);
        if self.counts.is_empty() {
            (self.counts, self.entries) = (other.counts, other.entries);
            return;
        }
        for (pretoken, count) in other.counts {
            if let Some(total) = self.counts.get_mut(&pretoken) {
                *total += count;
            } else {
                self.entries += entries_of(&pretoken);
                self.counts.insert(pretoken, count);
            }
        }
    }
}

impl TextTotals {
    fn add(&mut self, other: Self) {
        self.texts += other.texts;
        self.bytes += other.bytes;
        self.characters += other.characters;
        self.skipped += other.skipped;
    }
}

fn entries_of(pretoken: &str) -> usize {
    1 + pretoken.len() / ENTRY_BYTES
}

fn level(text: &str) -> usize {
    let zeros = xxh3_128(text.as_bytes()).trailing_zeros();
    usize::try_from(zeros).unwrap_or(0).min(LEVELS - 1)
}

/// Words are short, and hashed whole.
#[derive(Clone, Copy, Debug, Default)]
struct PretokenHasher(u64);

impl Hasher for PretokenHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 ^= xxh3_64(bytes);
    }

    // What ends a string says nothing of it.
    fn write_u8(&mut self, _: u8) {}
}
