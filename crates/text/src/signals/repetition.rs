//! Scores of repetition in a text: repeated runs of n words, the most frequent run, and the compression by zstd.

use super::lines::length;
use super::words::{share, words};
use model::invariant::{at, part};
use std::io::{self, Write};
use xxhash_rust::xxh3::xxh3_64;

/// Share of a text's characters in runs of `n` words that came before in it: Gopher's duplicate n-grams, as datatrove
/// finds them from left to right, going on behind each that it found. White space counts for the whole and for no run.
pub fn dup_ngram_fraction(text: &str, n: u64) -> f64 {
    Ngrams::of(text).dup_fraction(n)
}

/// Share of a text's characters in the occurrences of its most frequent run of `n` words, overlaps counted; of equally
/// frequent ones, of the first. A run that occurs once counts, too.
pub fn top_ngram_fraction(text: &str, n: u64) -> f64 {
    Ngrams::of(text).top_fraction(n)
}

/// The words of a text, ready for runs of any length.
#[derive(Debug)]
pub(super) struct Ngrams {
    /// The words behind one another, nothing between them.
    joined: Vec<u8>,
    /// Where each begins there, and behind the last one.
    starts: Vec<usize>,
    /// A hash of each word, computed when runs are first compared by their words.
    hashes: Vec<u64>,
    /// Characters of the text.
    length: u64,
    /// Left by one length of runs to the next.
    seen: HashCounts,
}

impl Ngrams {
    pub(super) fn of(text: &str) -> Self {
        let mut joined = Vec::with_capacity(text.len());
        let mut starts = vec![0];
        for word in words(text) {
            joined.extend_from_slice(word.as_bytes());
            starts.push(joined.len());
        }
        let (hashes, length, seen) = (Vec::new(), length(text), HashCounts::default());
        Self { joined, starts, hashes, length, seen }
    }

    /// How many runs there are; none of no words.
    fn runs(&self, n: u64) -> Option<(usize, usize)> {
        let n = usize::try_from(n).ok().filter(|n| *n > 0)?;
        let words = self.starts.len() - 1;
        Some((n, (words + 1).checked_sub(n)?)).filter(|(_, runs)| *runs > 0)
    }

    fn bytes(&self, from: usize, n: usize) -> &[u8] {
        part(&self.joined, *at(&self.starts, from)..*at(&self.starts, from + n))
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
        // Among equally frequent runs the first is taken: it stands at or before the run that reached that count
        // first.
        let first = (0..=best).find(|at| seen.counted(self.sequence(*at, n)) == most);
        self.seen = seen;
        let between = (n - 1) as u64;
        share((self.length(first.unwrap_or(best), n) + between) * most, self.length)
    }

    /// A hash of the words of a run that depends on where each word ends.
    fn sequence(&self, from: usize, n: usize) -> u64 {
        let words = part(&self.hashes, from..from + n);
        words.iter().fold(0, |hash: u64, word| {
            (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        })
    }
}

/// The level of zstd.
const LEVEL: i32 = 3;

/// Bytes of a text a byte of its zstd frame at level 3: some 2 to 4 for prose, more where it repeats itself, about 1
/// for noise. 0 for an empty text. The bytes of a frame are those of the zstd that is linked (1.5), without a checksum.
pub fn compression_ratio(text: &str) -> f64 {
    match compressed(text.as_bytes()) {
        Ok(bytes) if bytes > 0 && !text.is_empty() => text.len() as f64 / bytes as f64,
        _ => 0.0,
    }
}

/// Nothing is held of what is written: a long text takes no more than the encoder's window.
fn compressed(bytes: &[u8]) -> io::Result<u64> {
    let mut encoder = zstd::stream::write::Encoder::new(ByteCounter(0), LEVEL)?;
    encoder.set_pledged_src_size(Some(bytes.len() as u64))?;
    encoder.include_contentsize(true)?;
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.0)
}

struct ByteCounter(u64);

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How often each hash came.
#[derive(Debug, Default)]
pub(super) struct HashCounts {
    /// A hash, never 0, and how often it came; 0 where nothing stands.
    slots: Vec<(u64, u64)>,
}

impl HashCounts {
    /// Forgets all, and makes room for `hashes` hashes.
    pub(super) fn clear_for(&mut self, hashes: usize) {
        let room = (hashes + hashes / 2 + 1).next_power_of_two();
        self.slots.clear();
        self.slots.resize(room, (0, 0));
    }

    /// Counts a hash; how often it came, this time included.
    pub(super) fn count(&mut self, hash: u64) -> u64 {
        let place = self.place(hash);
        let Some(slot) = self.slots.get_mut(place) else { return 0 };
        *slot = (hash.max(1), slot.1 + 1);
        slot.1
    }

    /// How often a hash came.
    pub(super) fn counted(&self, hash: u64) -> u64 {
        at(&self.slots, self.place(hash)).1
    }

    /// Where a hash stands, or would: a third of the slots at least are free.
    fn place(&self, hash: u64) -> usize {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = usize::try_from(hash >> 16).unwrap_or(0) & mask;
        while let Some((other, count)) = self.slots.get(at)
            && *count > 0
            && *other != hash.max(1)
        {
            at = (at + 1) & mask;
        }
        at
    }
}
