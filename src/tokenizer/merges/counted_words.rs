//! Sequences of symbols with their counts, packed flat.

/// Distinct words as sequences of symbols, each with one count per group (a group is a language or a
/// source; mostly there is one). No merge reaches over the end of a word.
///
/// Memory: 4 bytes a symbol, 8 a word, 8 a word and group. The products of counts and lengths must
/// together stay below 2^64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedWords {
    symbols: Vec<u32>,
    /// End of each word in `symbols`.
    ends: Vec<usize>,
    /// By word, then by group.
    counts: Vec<u64>,
    groups: usize,
}

impl CountedWords {
    /// No words yet; each will have `groups` counts, at least one.
    #[must_use]
    pub fn new(groups: usize) -> Self {
        Self { symbols: Vec::new(), ends: Vec::new(), counts: Vec::new(), groups: groups.max(1) }
    }

    /// Adds a word; missing counts are 0, further ones are ignored.
    pub fn push(&mut self, symbols: &[u32], counts: &[u64]) {
        self.symbols.extend_from_slice(symbols);
        self.ends.push(self.symbols.len());
        let padded = counts.iter().copied().chain(std::iter::repeat(0));
        self.counts.extend(padded.take(self.groups));
    }

    /// How many words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Counts per word.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// The symbols and the counts of the word at `index`; none beyond the last.
    #[must_use]
    pub fn word(&self, index: usize) -> Option<(&[u32], &[u64])> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let counts = index * self.groups;
        Some((
            self.symbols.get(start.unwrap_or(0)..end)?,
            self.counts.get(counts..counts + self.groups)?,
        ))
    }

    /// All words in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&[u32], &[u64])> {
        (0..self.len()).filter_map(|index| self.word(index))
    }

    /// Symbols counted as often as their words, per group.
    #[must_use]
    pub fn mass(&self) -> Vec<u64> {
        let mut mass = vec![0_u64; self.groups];
        for (symbols, counts) in self.iter() {
            for (total, count) in mass.iter_mut().zip(counts) {
                *total = total.wrapping_add(count.wrapping_mul(symbols.len() as u64));
            }
        }
        mass
    }
}
