//! Computes the fingerprint of a text (token hashes, shingles, sketch), with buffers that one text leaves to the next.

use super::normalise::{NormaliserBuffers, tokens};
use super::shingle::{shingle, sorted_distinct};
use super::sketch::{Permutations, Sketch};
use model::invariant::part;
use model::{Normaliser, Policy, Signature};
use xxhash_rust::xxh3::xxh3_64;

/// Tokens of a text that is no longer usual: a megabyte has some 200,000.
pub(super) const MOST_TOKENS: usize = 1 << 18;

/// What dedup knows of one text: a function of the text and the policy alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Tokens after normalisation; `u32::MAX` if there are more.
    pub tokens: u32,
    /// The first 16 bytes of BLAKE3 over the token hashes (little-endian, in order): equal for equal
    /// normalised texts and, but for a collision of hashes, for no others.
    pub normalised: [u8; 16],
    /// Sorted distinct shingle hashes: one for a text of fewer tokens than a shingle, none for a text
    /// without tokens.
    pub shingles: Vec<u64>,
    /// None for a text of fewer tokens than a shingle, which matches only exactly.
    pub sketch: Option<Sketch>,
}

/// Makes fingerprints. Holds scratch memory; have one per thread.
#[derive(Clone, Debug)]
pub struct Fingerprinter {
    normaliser: Normaliser,
    shingle: usize,
    scratch: NormaliserBuffers,
    tokens: Vec<u64>,
    hashes: Vec<u64>,
    bytes: Vec<u8>,
    published: Option<PublishedSignature>,
}

/// What a signature of the joined tokens needs.
#[derive(Clone, Debug)]
struct PublishedSignature {
    joined: NgramBuffer,
    permutations: Permutations,
}

impl Fingerprinter {
    /// For texts under `policy`; it uses the settings of sketches only: normaliser, shingle length, signature and
    /// slots.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        Self {
            normaliser: policy.normaliser,
            shingle: usize::try_from(policy.shingle).unwrap_or(usize::MAX).max(1),
            scratch: NormaliserBuffers::default(),
            tokens: Vec::new(),
            hashes: Vec::new(),
            bytes: Vec::new(),
            published: match policy.signature {
                Signature::Native => None,
                Signature::Bigcode => Some(PublishedSignature {
                    joined: NgramBuffer::default(),
                    permutations: Permutations::new(policy.hashes),
                }),
            },
        }
    }

    /// Everything dedup needs to know of one text.
    pub fn fingerprint(&mut self, text: &str) -> Fingerprint {
        let shingles = self.shingles(text);
        let normalised = self.digest();
        let sketched = self.tokens.len() >= self.shingle;
        let tokens = u32::try_from(self.tokens.len()).unwrap_or(u32::MAX);
        let sketch = sketched.then(|| self.sketch(&shingles));
        if self.tokens.len() > MOST_TOKENS {
            // The buffers are released now, not with the next text: the caller is about to copy the shingles, which
            // are as long.
            self.release();
        }
        Fingerprint { tokens, normalised, shingles, sketch }
    }

    /// The sketch of the text that was tokenised last, whose shingles are given.
    fn sketch(&mut self, shingles: &[u64]) -> Sketch {
        match &mut self.published {
            None => Sketch::of(shingles),
            Some(PublishedSignature { joined, permutations }) => {
                permutations.sketch(joined.runs(self.shingle))
            }
        }
    }

    /// Sorted distinct shingle hashes of the text, as in its [`Fingerprint`].
    pub fn shingles(&mut self, text: &str) -> Vec<u64> {
        self.tokens(text);
        shingle(&self.tokens, self.shingle, &mut self.hashes);
        if self.hashes.len() > MOST_TOKENS {
            // A list of a hundred megabytes is not held twice; its place is given back anyway.
            let mut sorted = std::mem::take(&mut self.hashes);
            sorted.sort_unstable();
            sorted.dedup();
            return sorted;
        }
        sorted_distinct(&self.hashes)
    }

    /// Hash (xxh3-64 of the UTF-8 bytes) of every token of the text, in order.
    pub fn tokens(&mut self, text: &str) -> &[u64] {
        self.release();
        let Self { normaliser, scratch, tokens: hashes, published, .. } = self;
        match published {
            None => tokens(text, *normaliser, scratch, &mut |token| hashes.push(xxh3_64(token))),
            Some(PublishedSignature { joined, .. }) => {
                tokens(text, *normaliser, scratch, &mut |token| {
                    hashes.push(xxh3_64(token));
                    joined.push(token);
                });
            }
        }
        &self.tokens
    }

    /// Hashes of the tokens of the text that was asked about last; none when it was unusually long.
    #[doc(hidden)]
    pub fn last_tokens(&self) -> &[u64] {
        &self.tokens
    }

    fn digest(&mut self) -> [u8; 16] {
        /// Token hashes given to BLAKE3 at a time: enough for its widest vectors.
        const PART: usize = 4096;
        let mut hasher = blake3::Hasher::new();
        for part in self.tokens.chunks(PART) {
            self.bytes.clear();
            self.bytes.extend(part.iter().flat_map(|token| token.to_le_bytes()));
            hasher.update(&self.bytes);
        }
        let mut digest = [0; 16];
        hasher.finalize_xof().fill(&mut digest);
        digest
    }

    /// Empties the buffers, and gives the memory of an unusually long text back.
    fn release(&mut self) {
        self.tokens.clear();
        if let Some(PublishedSignature { joined, .. }) = &mut self.published {
            joined.clear();
        }
        if self.tokens.capacity() > MOST_TOKENS {
            self.tokens.shrink_to(MOST_TOKENS);
            self.hashes.clear();
            self.hashes.shrink_to(MOST_TOKENS);
            self.scratch.shrink(MOST_TOKENS);
            if let Some(PublishedSignature { joined, permutations }) = &mut self.published {
                joined.shrink(MOST_TOKENS);
                permutations.shrink(MOST_TOKENS);
            }
        }
    }
}

/// Tokens joined by one space each, so that every run of them is a slice.
#[derive(Clone, Debug, Default)]
pub(super) struct NgramBuffer {
    bytes: Vec<u8>,
    /// Where each token begins and ends.
    places: Vec<(usize, usize)>,
}

impl NgramBuffer {
    pub(super) fn push(&mut self, token: &[u8]) {
        if !self.places.is_empty() {
            self.bytes.push(b' ');
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(token);
        self.places.push((start, self.bytes.len()));
    }

    /// Every run of `length` tokens in order; nothing if there are fewer.
    pub(super) fn runs(&self, length: usize) -> impl Iterator<Item = &[u8]> {
        let lasts = self.places.iter().skip(length.max(1) - 1);
        self.places.iter().zip(lasts).map(|((start, _), (_, end))| part(&self.bytes, *start..*end))
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// Gives memory beyond that for `tokens` back.
    pub(super) fn shrink(&mut self, tokens: usize) {
        self.clear();
        self.bytes.shrink_to(tokens);
        self.places.shrink_to(tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_the_tokens_joined() {
        let mut joined = NgramBuffer::default();
        for token in ["a", "", "bc", "d"] {
            joined.push(token.as_bytes());
        }
        let runs = |length| -> Vec<&str> {
            joined.runs(length).map(|run| str::from_utf8(run).unwrap()).collect()
        };
        assert_eq!(runs(1), ["a", "", "bc", "d"]);
        assert_eq!(runs(2), ["a ", " bc", "bc d"]);
        assert_eq!(runs(4), ["a  bc d"]);
        assert!(runs(5).is_empty());
    }
}
