//! What many of a family have, a bit for each shingle: how many of these two sets share is told at once.

/// The common shingles of each member, and how many others it has.
#[derive(Debug, Default)]
pub(super) struct Common {
    /// Words of 64 bits a member.
    width: usize,
    words: Vec<u64>,
    rare: Vec<u32>,
}

/// The same of a set that is compared with members.
#[derive(Clone, Debug, Default)]
pub(super) struct Commons {
    pub(super) words: Vec<u64>,
    pub(super) rare: u32,
}

impl Common {
    /// For members with so many words each.
    pub(super) fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Whether any shingle is common.
    pub(super) const fn is_any(&self) -> bool {
        self.width > 0
    }

    /// Adds the next member.
    pub(super) fn push(&mut self, of: &Commons) {
        debug_assert_eq!(of.words.len(), self.width);
        self.words.extend_from_slice(&of.words);
        self.rare.push(of.rare);
    }

    /// How many shingles a member shares with a set, at most.
    pub(super) fn shared_at_most(&self, of: &Commons, member: u32) -> usize {
        let at = member as usize;
        let rare = self.rare.get(at).map_or(0, |rare| of.rare.min(*rare));
        let theirs = self.words.get(at * self.width..(at + 1) * self.width).unwrap_or_default();
        common(&of.words, theirs) + rare as usize
    }

    /// How many common shingles each member shares with a set, in the order they came.
    pub(super) fn shared(&self, of: &Commons) -> impl Iterator<Item = usize> {
        self.words.chunks_exact(self.width.max(1)).map(|theirs| common(&of.words, theirs))
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.words.capacity() * 8 + self.rare.capacity() * 4
    }
}

fn common(a: &[u64], b: &[u64]) -> usize {
    a.iter().zip(b).map(|(a, b)| (a & b).count_ones() as usize).sum()
}
