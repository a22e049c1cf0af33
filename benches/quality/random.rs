//! Seeded randomness with a fixed stream (SplitMix64), and words that are made of it.

/// A generator.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    /// The stream of a list of numbers: other lists have unrelated streams.
    pub fn of(parts: &[u64]) -> Self {
        Self(parts.iter().fold(0x0c0a_9d5b, |state, part| mix(state ^ mix(*part))))
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`, which is not 0; biased by less than `bound` / 2^64.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// One of `all`, which is not empty.
    pub fn choice<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// Brings `all` into a random order.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            all.swap(last, self.below(last + 1));
        }
    }

    /// A pronounceable word of two to five syllables.
    pub fn word(&mut self) -> String {
        const HEADS: &[u8] = b"bcdfghjklmnprstvwz";
        const HEARTS: &[u8] = b"aeiou";
        let mut word = String::new();
        for _ in 0..2 + self.below(4) {
            word.push(char::from(*self.choice(HEADS)));
            word.push(char::from(*self.choice(HEARTS)));
        }
        word
    }

    /// That many words.
    pub fn words(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.word()).collect()
    }
}

/// SplitMix64's bijection.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
