//! Scores of runs of n words: what share of a text repeats, and what the most frequent one takes.

use super::lines::length;
use super::table::Table;
use super::words::{share, words};
use xxhash_rust::xxh3::xxh3_64;

/// Share of a text's characters in runs of `n` words that came before in it: Gopher's duplicate n-grams, as datatrove
/// finds them from left to right, going on behind each that it found. White space counts for the whole and for no run.
pub(crate) fn dup_ngram_fraction(text: &str, n: u64) -> f64 {
    Ngrams::of(text).dup_fraction(n)
}

/// Share of a text's characters in the occurrences of its most frequent run of `n` words, overlaps counted; of equally
/// frequent ones, of the first. A run that occurs once counts, too.
pub(crate) fn top_ngram_fraction(text: &str, n: u64) -> f64 {
    Ngrams::of(text).top_fraction(n)
}

/// The words of a text, ready for runs of any length.
pub(super) struct Ngrams {
    /// The words behind one another, nothing between them.
    joined: Vec<u8>,
    /// Where each begins there, and behind the last one.
    starts: Vec<usize>,
    /// A hash of each, found when runs are first told by their words.
    hashes: Vec<u64>,
    /// Characters of the text.
    length: u64,
    /// Left by one length of runs to the next.
    seen: Table,
}

impl Ngrams {
    pub(super) fn of(text: &str) -> Self {
        let mut joined = Vec::with_capacity(text.len());
        let mut starts = vec![0];
        for word in words(text) {
            joined.extend_from_slice(word.as_bytes());
            starts.push(joined.len());
        }
        let (hashes, length, seen) = (Vec::new(), length(text), Table::default());
        Self { joined, starts, hashes, length, seen }
    }

    /// How many runs there are; none of no words.
    fn runs(&self, n: u64) -> Option<(usize, usize)> {
        let n = usize::try_from(n).ok().filter(|n| *n > 0)?;
        let words = self.starts.len() - 1;
        Some((n, (words + 1).checked_sub(n)?)).filter(|(_, runs)| *runs > 0)
    }

    fn bytes(&self, from: usize, n: usize) -> &[u8] {
        let place = |at: usize| self.starts.get(at).copied().unwrap_or(self.joined.len());
        self.joined.get(place(from)..place(from + n)).unwrap_or_default()
    }

    /// Characters of a run, without what stands between its words.
    fn length(&self, from: usize, n: usize) -> u64 {
        // All bytes but those that continue with a character.
        self.bytes(from, n).iter().filter(|byte| (**byte).cast_signed() >= -64).count() as u64
    }

    pub(super) fn dup_fraction(&mut self, n: u64) -> f64 {
        let Some((n, runs)) = self.runs(n) else { return 0.0 };
        let mut seen = std::mem::take(&mut self.seen);
        seen.clear_for(runs);
        let (mut repeated, mut at) = (0, 0);
        while at < runs {
            // A hash of 64 bits stands for a run.
            if seen.count(xxh3_64(self.bytes(at, n))) == 1 {
                at += 1;
            } else {
                repeated += self.length(at, n);
                at += n;
            }
        }
        self.seen = seen;
        share(repeated, self.length)
    }

    pub(super) fn top_fraction(&mut self, n: u64) -> f64 {
        let Some((n, runs)) = self.runs(n) else { return 0.0 };
        if self.hashes.is_empty() {
            let words = 0..self.starts.len() - 1;
            self.hashes = words.map(|at| xxh3_64(self.bytes(at, 1))).collect();
        }
        let mut seen = std::mem::take(&mut self.seen);
        seen.clear_for(runs);
        let (mut most, mut best) = (0, 0);
        for at in 0..runs {
            let hash = self.sequence(at, n);
            let count = seen.count(hash);
            if count > most {
                (most, best) = (count, at);
            }
        }
        // Of equally frequent ones the first: it stands before the one that was so frequent first, or is that.
        let first = (0..=best).find(|at| seen.counted(self.sequence(*at, n)) == most);
        self.seen = seen;
        let between = (n - 1) as u64;
        share((self.length(first.unwrap_or(best), n) + between) * most, self.length)
    }

    /// A hash of the words of a run, which tells where one ends.
    fn sequence(&self, from: usize, n: usize) -> u64 {
        let words = self.hashes.get(from..from + n).unwrap_or_default();
        words.iter().fold(0, |hash: u64, word| {
            (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        })
    }
}
