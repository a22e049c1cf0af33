//! A family of templates: texts that differ in three slots.

use crate::support::{Page, Random};

/// A template of 128 words with three slots. Any two fills share 109 of 139 shingles, which is 0.784.
pub struct Template(pub Vec<String>);

impl Template {
    pub const SLOTS: usize = 3;

    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        Self((0..128).map(|at| format!("w{at}x{}", random.below(1 << 20))).collect())
    }

    /// A fill; of `changed` slots the words are a twin's.
    pub fn fill(&self, number: usize, changed: usize) -> String {
        let mut words = self.0.clone();
        for slot in 0..Self::SLOTS {
            let twin = if slot < changed { "twin" } else { "" };
            words[20 + slot * 40] = format!("{twin}fill{number}s{slot}");
        }
        words.join(" ")
    }

    /// With these words in the slots: two that share one are similar at 0.8, two that share none are not.
    pub fn with(&self, words: [String; Self::SLOTS]) -> String {
        let mut all = self.0.clone();
        for (slot, word) in words.into_iter().enumerate() {
            all[20 + slot * 40] = word;
        }
        all.join(" ")
    }

    /// Between two fills: of `count` slots the words are the one's, of the others the other's.
    pub fn between(&self, one: usize, other: usize, count: usize) -> String {
        let mut words = self.0.clone();
        for slot in 0..Self::SLOTS {
            let of = if slot < count { one } else { other };
            words[20 + slot * 40] = format!("fill{of}s{slot}");
        }
        words.join(" ")
    }

    /// `count` fills, and after them twins of every tenth: of one or two slots.
    pub fn pages(&self, count: usize) -> Vec<Page> {
        let mut random = Random::new(count as u64);
        let fills = (0..count).map(|number| self.fill(number, 0));
        let twins = (0..count / 10).map(|at| self.fill(at * 10, [1, 2, 2][at % 3]));
        fills
            .chain(twins)
            .map(|text| {
                let mut page = Page::new(text);
                // Orders have something to go by.
                page.fields["quality"] = (random.below(4) as f64 / 10.0).into();
                page.fields["year"] = (1998 + random.below(4)).into();
                page
            })
            .collect()
    }
}
