//! Counts of pre-tokens by group, bounded in memory, in any order of texts and over any threads.

use crate::engine::splitter::PretokenSplitter;
use crate::error::TokenizerError;
use crate::sampled::{SampledCounts, SampledTable};

/// Counts the pre-tokens of texts by group (a language, a source). Where the table is full, whole texts are left out,
/// the same ones in any order of texts and over any threads.
pub struct PretokenCounter {
    splitter: PretokenSplitter,
    counts: SampledCounts<u64>,
}

/// Pre-tokens with their counts, by group. Keys are as the splitter gives them.
pub type PretokenTable = SampledTable<u64>;

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
        let splitter = PretokenSplitter::of(json)?;
        Ok(Self { splitter, counts: SampledCounts::new(groups, limit) })
    }

    /// An empty counter of the same kind, cheaply; for another thread.
    #[must_use]
    pub fn empty_like(&self) -> Self {
        Self { splitter: self.splitter.clone(), counts: self.counts.empty_like() }
    }

    /// Counts the pre-tokens of one text of `group`. Equal texts count each time. Texts of groups that there are not
    /// are skipped.
    ///
    /// # Errors
    /// [`TokenizerError::Split`] or [`TokenizerError::Panicked`] when the pre-tokenizer fails.
    pub fn add_text(&mut self, group: usize, text: &str) -> Result<(), TokenizerError> {
        let Self { splitter, counts } = self;
        let cut =
            counts.add_text(group, text, |counts| splitter.split(text, |word| counts.add(word, 1)));
        cut.unwrap_or(Ok(()))
    }

    /// Adds what another counter of the same kind counted.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self { splitter: self.splitter, counts: self.counts.merge(other.counts) }
    }

    /// The table of all that was counted.
    #[must_use]
    pub fn finish(self) -> PretokenTable {
        self.counts.finish()
    }
}
