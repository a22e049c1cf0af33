//! All pairs of sets above a similarity, exactly: a prefix-filter join, and brute force to check it.
//!
//! The join is that of AllPairs and PPJoin (Bayardo, Ma and Srikant 2007; Xiao, Wang, Lin and Yu 2008).
//! With the members of all sets in one order, rarest first, two sets x and y, y not the larger, that reach
//! similarity t share a member among the first `|x| - ceil(t|x|) + 1` of x and the first
//! `|y| - ceil(2t/(1+t)|y|) + 1` of y. So only the latter are indexed and only the former looked up;
//! a pair is dropped when the places of a shared member leave too few members behind them, and what is
//! left is counted member by member. No sketch, no sampling: the answer is complete.

use crate::statistics::jaccard;
use corpusdb::dedup::shared;
use rayon::prelude::*;

/// Two documents, the lower number first, and the members they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The lower number.
    pub a: u32,
    /// The higher number.
    pub b: u32,
    /// Members in both.
    pub shared: u32,
}

impl Pair {
    /// The similarity of the two.
    pub fn jaccard(&self, sets: &[Vec<u64>]) -> f64 {
        let size = |document: u32| sets[document as usize].len();
        jaccard(self.shared as usize, size(self.a), size(self.b))
    }
}

/// A set as the join sees it: members by rarity, those of no other set only counted, since they share nothing.
struct Ranked {
    /// The set's number.
    document: u32,
    /// Members that no other set has: they come first in the order.
    alone: usize,
    /// Ranks of the others, ascending.
    ranks: Vec<u32>,
}

impl Ranked {
    fn len(&self) -> usize {
        self.alone + self.ranks.len()
    }

    /// Ranks among the first `length` members, each with its place.
    fn prefix(&self, length: usize) -> impl Iterator<Item = (u32, usize)> {
        let ranks = self.ranks.iter().take(length.saturating_sub(self.alone));
        ranks.zip(self.alone..).map(|(rank, place)| (*rank, place))
    }
}

/// All pairs of similarity `least` or more, ascending. Empty sets are similar to nothing.
pub fn join(sets: &[Vec<u64>], least: f64) -> Vec<Pair> {
    let ranked = rank(sets);
    let index = Index::of(&ranked, least);
    let mut pairs: Vec<Pair> = (0..ranked.len())
        .into_par_iter()
        .with_max_len(64)
        .map_init(|| Probe::new(ranked.len()), |probe, at| probe.pairs(at, &ranked, &index, least))
        .flatten_iter()
        .collect();
    pairs.par_sort_unstable();
    pairs
}

/// The same among `documents`, which ascend, by comparing each with each.
pub fn brute_force(sets: &[Vec<u64>], documents: &[usize], least: f64) -> Vec<Pair> {
    let number = |document: usize| u32::try_from(document).unwrap_or(u32::MAX);
    let mut pairs: Vec<Pair> = (0..documents.len())
        .into_par_iter()
        .with_max_len(16)
        .flat_map_iter(|at| {
            let b = documents[at];
            documents[..at].iter().filter_map(move |a| {
                let (x, y) = (&sets[*a], &sets[b]);
                // No overlap makes sets of so different sizes similar.
                if jaccard(x.len().min(y.len()), x.len(), y.len()) < least {
                    return None;
                }
                let pair = Pair { a: number(*a), b: number(b), shared: shared(x, y) };
                (pair.jaccard(sets) >= least).then_some(pair)
            })
        })
        .collect();
    pairs.par_sort_unstable();
    pairs
}

/// `ceil(share * size)`, never above it for the rounding of the product.
fn least_of(share: f64, size: usize) -> usize {
    (share * size as f64 - 1e-6).ceil().max(0.0) as usize
}

/// The sets that are not empty, by size and number, their members by rarity.
fn rank(sets: &[Vec<u64>]) -> Vec<Ranked> {
    let mut members: Vec<u64> = sets.iter().flatten().copied().collect();
    members.par_sort_unstable();
    let mut common: Vec<(u32, u64)> = members
        .chunk_by(|a, b| a == b)
        .filter(|run| run.len() > 1)
        .map(|run| (u32::try_from(run.len()).unwrap_or(u32::MAX), run[0]))
        .collect();
    drop(members);
    common.par_sort_unstable();
    let mut rank_of: Vec<(u64, u32)> =
        (0..=u32::MAX).zip(&common).map(|(rank, (_, member))| (*member, rank)).collect();
    drop(common);
    rank_of.par_sort_unstable();
    let mut ranked: Vec<Ranked> = sets
        .par_iter()
        .enumerate()
        .filter(|(_, set)| !set.is_empty())
        .map(|(document, set)| {
            let find =
                |member: &u64| rank_of.binary_search_by_key(member, |(other, _)| *other).ok();
            let mut ranks: Vec<u32> = set.iter().filter_map(find).map(|at| rank_of[at].1).collect();
            ranks.sort_unstable();
            let document = u32::try_from(document).unwrap_or(u32::MAX);
            Ranked { document, alone: set.len() - ranks.len(), ranks }
        })
        .collect();
    ranked.par_sort_by_key(|set| (set.len(), set.document));
    ranked
}

/// Where each rank occurs in the prefixes that are indexed: (place of the set in the order, place in the set).
struct Index {
    starts: Vec<usize>,
    places: Vec<(u32, u32)>,
}

impl Index {
    fn of(ranked: &[Ranked], least: f64) -> Self {
        let prefix =
            |set: &Ranked| set.len() - least_of(2.0 * least / (1.0 + least), set.len()).max(1) + 1;
        let ranks = ranked.iter().filter_map(|set| set.ranks.last()).max();
        let mut starts = vec![0_usize; ranks.map_or(0, |rank| *rank as usize + 1) + 1];
        for set in ranked {
            for (rank, _) in set.prefix(prefix(set)) {
                starts[rank as usize + 1] += 1;
            }
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut places = vec![(0, 0); starts.last().copied().unwrap_or(0)];
        for (order, set) in (0_u32..).zip(ranked) {
            for (rank, place) in set.prefix(prefix(set)) {
                let free = &mut next[rank as usize];
                places[*free] = (order, u32::try_from(place).unwrap_or(u32::MAX));
                *free += 1;
            }
        }
        Self { starts, places }
    }

    fn of_rank(&self, rank: u32) -> &[(u32, u32)] {
        &self.places[self.starts[rank as usize]..self.starts[rank as usize + 1]]
    }
}

/// Counters for one look-up after another.
struct Probe {
    /// Members shared so far, by place in the order; [`Probe::OUT`] for sets that cannot be similar.
    seen: Vec<u32>,
    touched: Vec<u32>,
}

impl Probe {
    const OUT: u32 = u32::MAX;

    fn new(sets: usize) -> Self {
        Self { seen: vec![0; sets], touched: Vec::new() }
    }

    /// Pairs of the set at `at` with sets before it.
    fn pairs(&mut self, at: usize, ranked: &[Ranked], index: &Index, least: f64) -> Vec<Pair> {
        let set = &ranked[at];
        let shortest = least_of(least, set.len());
        let first = ranked.partition_point(|other| other.len() < shortest);
        for (rank, place) in set.prefix(set.len() - shortest.max(1) + 1) {
            let places = index.of_rank(rank);
            let from = places.partition_point(|(order, _)| (*order as usize) < first);
            for (order, other_place) in &places[from..] {
                let order = *order as usize;
                if order >= at {
                    break;
                }
                let seen = &mut self.seen[order];
                if *seen == 0 {
                    self.touched.push(order as u32);
                }
                if *seen == Self::OUT {
                    continue;
                }
                let other = &ranked[order];
                let enough = least_of(least / (1.0 + least), set.len() + other.len());
                let behind = (set.len() - place).min(other.len() - *other_place as usize);
                *seen = if (*seen as usize) + behind < enough { Self::OUT } else { *seen + 1 };
            }
        }
        let mut pairs = Vec::new();
        for order in self.touched.drain(..) {
            let seen = std::mem::take(&mut self.seen[order as usize]);
            if seen == Self::OUT {
                continue;
            }
            let other = &ranked[order as usize];
            let shared = overlap(&set.ranks, &other.ranks);
            if jaccard(shared, set.len(), other.len()) >= least {
                let (a, b) = (set.document.min(other.document), set.document.max(other.document));
                pairs.push(Pair { a, b, shared: u32::try_from(shared).unwrap_or(u32::MAX) });
            }
        }
        pairs
    }
}

/// Members that two ascending lists share.
fn overlap(mut a: &[u32], mut b: &[u32]) -> usize {
    let mut shared = 0;
    while let (Some((x, rest_a)), Some((y, rest_b))) = (a.split_first(), b.split_first()) {
        shared += usize::from(x == y);
        (a, b) = (if x <= y { rest_a } else { a }, if y <= x { rest_b } else { b });
    }
    shared
}
