//! The rarity of shingles in a family of sets: an order by it, bitmaps of common shingles, posting lists of rare keys.
//!
//! The order sorts the rarest first.

use model::PremixedState;
use model::invariant::{at, part};
use std::collections::{BTreeMap, HashMap};

/// Shingles as keys of 32 bits that sort the rarest first, by their shares in a sample of sets. What is in none or one
/// of them counts as rarest.
#[derive(Debug, Default)]
pub(super) struct RarityOrder {
    shares: HashMap<u64, ShingleShare, PremixedState>,
    /// Shingles that have a bit.
    bits: u32,
    /// The class from which they have.
    common: u8,
}

/// How common a shingle is.
#[derive(Clone, Copy, Debug)]
struct ShingleShare {
    class: u8,
    /// The shingle's place among the common ones.
    bit: u32,
}

impl RarityOrder {
    /// Classes above that of the rarest.
    const CLASSES: u64 = 62;
    /// Bits of a key that are the hash's.
    const HASH: u32 = 26;
    /// Common shingles there are at most, of as many as a set has.
    const COMMON: usize = 4;
    /// The bit of a shingle that is not common.
    const NONE: u32 = u32::MAX;

    /// The order by the shares in `sets`.
    pub(super) fn of<S: AsRef<[u64]>>(sets: &[S]) -> Self {
        let mut counts: HashMap<u64, u32, PremixedState> = HashMap::default();
        for shingle in sets.iter().flat_map(|set| set.as_ref()) {
            *counts.entry(*shingle).or_default() += 1;
        }
        let all = u64::try_from(sets.len()).unwrap_or(u64::MAX).max(1);
        let class = |count: u32| 1 + u64::from(count).saturating_mul(Self::CLASSES) / all;
        let shared = counts.into_iter().filter(|(_, count)| *count > 1);
        let mut shares: HashMap<u64, ShingleShare, PremixedState> = shared
            .map(|(shingle, count)| {
                let class = u8::try_from(class(count)).unwrap_or(u8::MAX).min(63);
                (shingle, ShingleShare { class, bit: Self::NONE })
            })
            .collect();
        let size = sets.iter().map(|set| set.as_ref().len()).sum::<usize>() / sets.len().max(1);
        let common = Self::common_class(shares.values(), Self::COMMON * size);
        let mut bits = 0;
        // Any bit will do for a shingle, as long as all members use one order.
        for share in shares.values_mut().filter(|share| share.class >= common) {
            share.bit = bits;
            bits += 1;
        }
        Self { shares, bits, common }
    }

    /// The lowest class that has, together with the higher ones, at most `most` shingles.
    fn common_class<'s>(shares: impl Iterator<Item = &'s ShingleShare>, most: usize) -> u8 {
        let mut of_class = [0_usize; 64];
        for share in shares {
            if let Some(count) = of_class.get_mut(usize::from(share.class)) {
                *count += 1;
            }
        }
        let (mut above, mut least) = (0, 64);
        for (class, count) in (0..64_u8).zip(of_class).skip(1).rev() {
            above += count;
            if above > most {
                break;
            }
            least = class;
        }
        least
    }

    /// Words of 64 bits that hold the common shingles of a set.
    pub(super) const fn words(&self) -> usize {
        self.bits.div_ceil(u64::BITS) as usize
    }

    /// Whether the shingles of a key are common: all of it are, or none, and rare ones come first.
    pub(super) fn is_common(&self, key: u32) -> bool {
        key >> Self::HASH >= u32::from(self.common)
    }

    /// Replaces `keys` by the `most` smallest keys of a set, ascending, and answers which shingles of the set are
    /// common. Two shingles with one key make an overlap look larger, never smaller.
    pub(super) fn first_keys(
        &self,
        shingles: &[u64],
        most: usize,
        keys: &mut Vec<u32>,
    ) -> CommonBits {
        let mut commons = CommonBits { words: vec![0; self.words()], rare: 0 };
        keys.clear();
        keys.extend(shingles.iter().map(|shingle| {
            let share = self.shares.get(shingle);
            let bit = share.map_or(Self::NONE, |share| share.bit);
            match commons.words.get_mut((bit / u64::BITS) as usize) {
                Some(word) => *word |= 1 << (bit % u64::BITS),
                None => commons.rare += 1,
            }
            Self::key(*shingle, share.map_or(0, |share| share.class))
        }));
        if let Some(last) = most.checked_sub(1)
            && last < keys.len()
        {
            keys.select_nth_unstable(last);
        }
        keys.truncate(most);
        keys.sort_unstable();
        commons
    }

    fn key(shingle: u64, class: u8) -> u32 {
        let [_, _, _, _, low @ ..] = shingle.to_le_bytes();
        u32::from(class) << Self::HASH | u32::from_le_bytes(low) >> (u32::BITS - Self::HASH)
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.shares.capacity() * 18
    }
}

/// What many of a family have, a bit for each shingle, so that the number two sets share is found at once: the common
/// shingles of each member, and how many others it has.
#[derive(Debug, Default)]
pub(super) struct CommonShingles {
    /// Words of 64 bits a member.
    width: usize,
    words: Vec<u64>,
    rare: Vec<u32>,
}

/// The common shingles of a set that is compared with members, a bit for each, and how many others it has.
#[derive(Clone, Debug, Default)]
pub(super) struct CommonBits {
    pub(super) words: Vec<u64>,
    pub(super) rare: u32,
}

impl CommonShingles {
    /// An empty table for members with `width` words each.
    pub(super) fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Whether any shingle is common.
    pub(super) const fn is_any(&self) -> bool {
        self.width > 0
    }

    /// Adds the next member.
    pub(super) fn push(&mut self, of: &CommonBits) {
        debug_assert_eq!(of.words.len(), self.width);
        self.words.extend_from_slice(&of.words);
        self.rare.push(of.rare);
    }

    /// How many shingles a member shares with a set, at most.
    pub(super) fn shared_at_most(&self, of: &CommonBits, member: u32) -> usize {
        let member = member as usize;
        let rare = of.rare.min(*at(&self.rare, member));
        let theirs = part(&self.words, member * self.width..(member + 1) * self.width);
        common(&of.words, theirs) + rare as usize
    }

    /// How many common shingles each member shares with a set, in the order they came.
    pub(super) fn shared(&self, of: &CommonBits) -> impl Iterator<Item = usize> {
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

/// Where a key stands in a member: the member's size, then the key's place among its keys.
pub(super) type KeyPlace = (u32, u32);

/// No further member.
const END: u32 = u32::MAX;
/// Members of a chain from which a list is grouped by place.
const SHORT: u32 = 32;

/// Members by key. Most keys have few: a chain. A key of the template has many, grouped by place, so that
/// those in whose first ones it comes too late for a pair are not walked.
#[derive(Debug, Default)]
pub(super) struct PrefixPostings {
    heads: HashMap<u32, ChainHead, PremixedState>,
    links: Vec<ChainLink>,
    long: HashMap<u32, BTreeMap<KeyPlace, Vec<u32>>, PremixedState>,
    /// Members and groups in `long`.
    grouped: usize,
    groups: usize,
}

#[derive(Clone, Copy, Debug)]
struct ChainHead {
    first: u32,
    length: u32,
}

#[derive(Clone, Copy, Debug)]
struct ChainLink {
    member: u32,
    next: u32,
}

impl PrefixPostings {
    /// Adds a member under a key. `place_of` gives the place of the key in members that were added before.
    pub(super) fn insert(
        &mut self,
        key: u32,
        member: u32,
        place: KeyPlace,
        place_of: impl Fn(u32) -> KeyPlace,
    ) {
        if let Some(groups) = self.long.get_mut(&key) {
            Self::group(groups, member, place, &mut self.groups);
            self.grouped += 1;
            return;
        }
        let at = u32::try_from(self.links.len()).unwrap_or(END);
        let head = self.heads.entry(key).or_insert(ChainHead { first: END, length: 0 });
        self.links.push(ChainLink { member, next: head.first });
        *head = ChainHead { first: at, length: head.length + 1 };
        if head.length > SHORT {
            let first = head.first;
            self.heads.remove(&key);
            let mut groups = BTreeMap::new();
            for member in chain(&self.links, first) {
                Self::group(&mut groups, member, place_of(member), &mut self.groups);
                self.grouped += 1;
            }
            self.long.insert(key, groups);
        }
    }

    fn group(
        groups: &mut BTreeMap<KeyPlace, Vec<u32>>,
        member: u32,
        place: KeyPlace,
        count: &mut usize,
    ) {
        let group = groups.entry(place).or_default();
        *count += usize::from(group.is_empty());
        group.push(member);
    }

    /// Calls `touch` with the members of a key that are a chain: all of them.
    pub(super) fn visit_chain(&self, key: u32, touch: impl FnMut(u32)) {
        if let Some(head) = self.heads.get(&key) {
            chain(&self.links, head.first).for_each(touch);
        }
    }

    /// Calls `touch` with the members of a key, in groups, that `within` lets pass: for a size from `least` to `most`
    /// it gives the place below which the key must stand, none for a size that cannot be similar.
    pub(super) fn visit_groups<'p>(
        &'p self,
        key: u32,
        least: u32,
        most: u32,
        mut within: impl FnMut(u32) -> Option<u32>,
        mut touch: impl FnMut(&'p [u32]),
    ) {
        let Some(groups) = self.long.get(&key) else { return };
        let mut from = least;
        while let Some(((size, _), _)) = groups.range((from, 0)..=(most, u32::MAX)).next() {
            if let Some(end) = within(*size) {
                let near = groups.range((*size, 0)..(*size, end));
                near.for_each(|(_, members)| touch(members));
            }
            let Some(next) = size.checked_add(1).filter(|next| *next <= most) else { return };
            from = next;
        }
    }

    /// Bytes held, about.
    pub(super) fn bytes(&self) -> usize {
        (self.heads.capacity() + self.long.capacity()) * 14
            + self.links.capacity() * 8
            + self.grouped * 6
            + self.groups * 64
    }
}

/// The members of a chain, the last one added first.
fn chain(links: &[ChainLink], first: u32) -> impl Iterator<Item = u32> {
    let link = |at: u32| links.get(usize::try_from(at).ok()?).copied();
    std::iter::successors(link(first), move |last| link(last.next)).map(|link| link.member)
}
