//! Connected components, each named by its best-ranked document.

use crate::dedup::Rank;
use std::collections::BTreeMap;

/// Disjoint sets of the numbers below a count; a set is named by its smallest.
pub(super) struct Forest(Vec<usize>);

impl Forest {
    pub(super) fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    pub(super) fn find(&mut self, member: usize) -> usize {
        let mut at = member;
        while let Some(parent) = self.0.get(at).copied().filter(|parent| *parent != at) {
            // Each step halves the way for the next who asks.
            let above = self.0.get(parent).copied().unwrap_or(parent);
            if let Some(place) = self.0.get_mut(at) {
                *place = above;
            }
            at = above;
        }
        at
    }

    pub(super) fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        if let Some(place) = self.0.get_mut(a.max(b)) {
            *place = a.min(b);
        }
    }
}

/// Every document that a link names, ascending, with the best-ranked one that it is connected to.
#[must_use]
pub fn components(links: &[(Rank, Rank)]) -> Vec<(Rank, Rank)> {
    let mut ranks: Vec<Rank> = links.iter().flat_map(|(a, b)| [*a, *b]).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let places: BTreeMap<Rank, usize> = ranks.iter().copied().zip(0..).collect();
    let mut forest = Forest::new(ranks.len());
    for (a, b) in links {
        if let (Some(a), Some(b)) = (places.get(a), places.get(b)) {
            forest.join(*a, *b);
        }
    }
    let name = |(at, rank): (usize, &Rank)| {
        let root = ranks.get(forest.find(at)).copied().unwrap_or(*rank);
        (*rank, root)
    };
    ranks.iter().enumerate().map(name).collect()
}
