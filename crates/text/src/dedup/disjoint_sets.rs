//! A union-find: the connected components of members, while links between them are found.

/// Disjoint sets of members that are numbered in the order in which they are added, fewer than 2^32. Each set knows the
/// least of the names that its members were added by.
#[derive(Clone, Debug)]
pub struct DisjointSets<N = ()> {
    /// The member that each hangs on; itself for the root of a set.
    parents: Vec<u32>,
    /// What counts in the set of each root.
    sizes: Vec<u32>,
    least: Vec<N>,
}

impl<N> Default for DisjointSets<N> {
    fn default() -> Self {
        Self { parents: Vec::new(), sizes: Vec::new(), least: Vec::new() }
    }
}

impl<N: Copy + Ord> DisjointSets<N> {
    /// Adds a set of one member, and answers its number.
    pub fn add(&mut self, name: N) -> usize {
        let member = self.parents.len();
        self.parents.push(u32::try_from(member).unwrap_or(u32::MAX));
        self.sizes.push(1);
        self.least.push(name);
        member
    }

    /// The member that stands for the set of another one. A smaller set hangs on the larger one, so that no way up is
    /// longer than a logarithm.
    pub fn root(&self, member: usize) -> usize {
        let mut at = member;
        while let Some(parent) = self.parents.get(at).map(|parent| *parent as usize)
            && parent != at
        {
            at = parent;
        }
        at
    }

    /// The least name in the set of a member.
    pub fn least(&self, member: usize) -> Option<N> {
        self.least.get(self.root(member)).copied()
    }

    /// Makes one set of two; answers the root that stays and the one that gives way to it, or nothing if they were one
    /// already.
    pub fn join(&mut self, a: usize, b: usize) -> Option<(usize, usize)> {
        let (a, b) = (self.root(a), self.root(b));
        let (Some(of_a), Some(of_b)) = (self.sizes.get(a).copied(), self.sizes.get(b).copied())
        else {
            return None;
        };
        if a == b {
            return None;
        }
        let (stays, goes) = if of_a >= of_b { (a, b) } else { (b, a) };
        if let Some(parent) = self.parents.get_mut(goes) {
            *parent = u32::try_from(stays).unwrap_or(u32::MAX);
        }
        if let Some(size) = self.sizes.get_mut(stays) {
            *size = of_a.saturating_add(of_b);
        }
        if let Some(other) = self.least.get(goes).copied()
            && let Some(least) = self.least.get_mut(stays)
        {
            *least = other.min(*least);
        }
        Some((stays, goes))
    }

    /// Something more counts in the set of a member, which is not a member itself.
    pub fn enlarge(&mut self, member: usize) {
        let root = self.root(member);
        if let Some(size) = self.sizes.get_mut(root) {
            *size = size.saturating_add(1);
        }
    }

    /// Members that were added.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub const fn len(&self) -> usize {
        self.parents.len()
    }
}

impl<N: Copy + Ord> FromIterator<N> for DisjointSets<N> {
    /// A set of one member for each name.
    fn from_iter<I: IntoIterator<Item = N>>(names: I) -> Self {
        let mut sets = Self::default();
        names.into_iter().for_each(|name| {
            sets.add(name);
        });
        sets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_larger_set_stays_and_knows_its_least_member() {
        let mut sets: DisjointSets<char> = "edcba".chars().collect();
        assert_eq!(sets.join(3, 4), Some((3, 4)));
        assert_eq!(sets.join(0, 4), Some((3, 0)), "two against one");
        assert_eq!(sets.join(0, 3), None);
        assert_eq!((sets.root(0), sets.least(0), sets.least(1)), (3, Some('a'), Some('d')));
        sets.enlarge(1);
        sets.enlarge(1);
        sets.enlarge(1);
        assert_eq!(sets.join(4, 1), Some((1, 3)), "four against three");
        assert_eq!((sets.len(), sets.root(9), sets.least(9)), (5, 9, None));
    }

    proptest! {
        #[test]
        fn sets_are_those_that_links_connect(links in prop::collection::vec((0..40_usize, 0..40_usize), 0..60)) {
            let mut sets: DisjointSets<usize> = (0..40).collect();
            let mut names: Vec<usize> = (0..40).collect();
            for (a, b) in links {
                sets.join(a, b);
                let (a, b) = (names[a], names[b]);
                names.iter_mut().filter(|name| **name == a.max(b)).for_each(|name| *name = a.min(b));
            }
            for (member, name) in names.iter().enumerate() {
                prop_assert_eq!(sets.least(member), Some(*name));
            }
        }
    }
}
