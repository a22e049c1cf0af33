//! Counts of texts' words by group, bounded in memory, in any order of texts and over any threads.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::AddAssign;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Longer words are not counted: one megabyte of a single letter would else be a "word" that
/// outweighs the language. Runs of dashes and of letters without spaces stay below.
const MAX_WORD_BYTES: usize = 16 << 10;
/// Bytes of a word that an entry of the table has room for; longer ones count as several.
const ENTRY_BYTES: usize = 64;
/// Levels of sampling, from every text to one in 2^63.
const LEVELS: usize = 64;

type WordCounts<V> = HashMap<Box<str>, V, BuildHasherDefault<WordHasher>>;

/// Counts what texts are cut into by group (a language, a source).
///
/// Memory is bounded by sampling whole texts: each has a level drawn from a hash of its content
/// (half the texts 0, a quarter 1, ...), every level has its own tables, and when the tables
/// together pass the limit the lowest level is dropped. Which levels remain depends on the texts
/// and their groups alone, not on their order nor on how they were spread over threads.
pub(crate) struct SampledCounts<V> {
    groups: usize,
    limit: usize,
    lowest: usize,
    /// By level and group; no longer than what was met.
    levels: Vec<Vec<GroupCounts<V>>>,
    entries: usize,
}

/// The counts of a group at one level.
pub(crate) struct GroupCounts<V> {
    counts: WordCounts<V>,
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

/// Words with their counts, by group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampledTable<V> {
    /// Word to count, one map a group. Keys are as they were given.
    pub groups: Vec<BTreeMap<Box<str>, V>>,
    /// How much was counted, one a group.
    pub masses: Vec<TextTotals>,
    /// One in how many texts the counts are of: 1 while memory sufficed, then powers of two.
    pub sampled_one_in: u64,
}

impl<V> SampledTable<V> {
    /// Words left out because they are longer than 16 KiB.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.masses.iter().map(|mass| mass.skipped).sum()
    }
}

impl<V: Default + AddAssign> SampledCounts<V> {
    /// No counts yet, of `groups` groups, which hold at most `limit` entries (about 100 bytes each; long words count
    /// as several) beyond those of the text at hand.
    pub(crate) fn new(groups: usize, limit: usize) -> Self {
        let levels = std::iter::repeat_with(Vec::new).take(LEVELS).collect();
        Self { groups, limit, lowest: 0, levels, entries: 0 }
    }

    pub(crate) fn empty_like(&self) -> Self {
        Self::new(self.groups, self.limit)
    }

    /// Counts one text of `group`, whose words `cut` counts. Equal texts count each time. Texts that are not in the
    /// sample, or of groups that there are not, are skipped.
    pub(crate) fn add_text<T>(
        &mut self,
        group: usize,
        text: &str,
        cut: impl FnOnce(&mut GroupCounts<V>) -> T,
    ) -> Option<T> {
        let level = level(text);
        if level < self.lowest || group >= self.groups {
            return None;
        }
        let groups = self.levels.get_mut(level)?;
        if groups.len() <= group {
            groups.resize_with(group + 1, GroupCounts::default);
        }
        let counts = groups.get_mut(group)?;
        let before = counts.entries;
        counts.mass.texts += 1;
        counts.mass.bytes += text.len() as u64;
        counts.mass.characters += text.chars().count() as u64;
        let counted = cut(counts);
        self.entries += counts.entries - before;
        self.shrink();
        Some(counted)
    }

    /// Adds what others of the same kind counted.
    #[must_use]
    pub(crate) fn merge(mut self, mut other: Self) -> Self {
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
                ours.add_all(theirs);
            }
        }
        self.entries = self.levels.iter().flatten().map(|group| group.entries).sum();
        self.shrink();
        self
    }

    /// The table of all that was counted.
    #[must_use]
    pub(crate) fn finish(self) -> SampledTable<V> {
        let sampled_one_in =
            1u64.checked_shl(u32::try_from(self.lowest).unwrap_or(u32::MAX)).unwrap_or(u64::MAX);
        let mut table = SampledTable {
            groups: std::iter::repeat_with(BTreeMap::new).take(self.groups).collect(),
            masses: vec![TextTotals::default(); self.groups],
            sampled_one_in,
        };
        for groups in self.levels {
            let sums = table.groups.iter_mut().zip(&mut table.masses);
            for (GroupCounts { counts, mass, .. }, (sum, total)) in groups.into_iter().zip(sums) {
                total.add(mass);
                for (word, count) in counts {
                    *sum.entry(word).or_default() += count;
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

impl<V> Default for GroupCounts<V> {
    fn default() -> Self {
        Self { counts: WordCounts::default(), mass: TextTotals::default(), entries: 0 }
    }
}

impl<V: Default + AddAssign> GroupCounts<V> {
    /// Counts a word, unless it is overlong.
    pub(crate) fn add(&mut self, word: &str, count: V) {
        if word.len() > MAX_WORD_BYTES {
            self.mass.skipped += 1;
        } else if let Some(total) = self.counts.get_mut(word) {
            *total += count;
        } else {
            self.counts.insert(word.into(), count);
            self.entries += entries_of(word);
        }
    }

    fn add_all(&mut self, other: Self) {
        self.mass.add(other.mass);
        if self.counts.is_empty() {
            (self.counts, self.entries) = (other.counts, other.entries);
            return;
        }
        for (word, count) in other.counts {
            if let Some(total) = self.counts.get_mut(&word) {
                *total += count;
            } else {
                self.entries += entries_of(&word);
                self.counts.insert(word, count);
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

fn entries_of(word: &str) -> usize {
    1 + word.len() / ENTRY_BYTES
}

fn level(text: &str) -> usize {
    let zeros = xxh3_128(text.as_bytes()).trailing_zeros();
    usize::try_from(zeros).unwrap_or(0).min(LEVELS - 1)
}

/// Words are short, and hashed whole.
#[derive(Clone, Copy, Debug, Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 ^= xxh3_64(bytes);
    }

    // What ends a string says nothing of it.
    fn write_u8(&mut self, _: u8) {}
}
