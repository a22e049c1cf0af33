//! Which members have a key among their first ones.

use super::order::Mixed;
use std::collections::{BTreeMap, HashMap};

/// Where a key stands in a member: the member's size, then the key's place among its keys.
pub(super) type Place = (u32, u32);

/// No further member.
const END: u32 = u32::MAX;
/// Members of a chain from which a list is grouped by place.
const SHORT: u32 = 32;

/// Members by key. Most keys have few: a chain. A key of the template has many, grouped by place, so that
/// those in whose first ones it comes too late for a pair are not walked.
#[derive(Debug, Default)]
pub(super) struct Postings {
    heads: HashMap<u32, Head, Mixed>,
    links: Vec<Link>,
    long: HashMap<u32, BTreeMap<Place, Vec<u32>>, Mixed>,
    /// Members and groups in `long`.
    grouped: usize,
    groups: usize,
}

#[derive(Clone, Copy, Debug)]
struct Head {
    first: u32,
    length: u32,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    member: u32,
    next: u32,
}

impl Postings {
    /// Adds a member under a key. `place_of` tells where members that were added before have it.
    pub(super) fn insert(
        &mut self,
        key: u32,
        member: u32,
        place: Place,
        place_of: impl Fn(u32) -> Place,
    ) {
        if let Some(groups) = self.long.get_mut(&key) {
            Self::group(groups, member, place, &mut self.groups);
            self.grouped += 1;
            return;
        }
        let at = u32::try_from(self.links.len()).unwrap_or(END);
        let head = self.heads.entry(key).or_insert(Head { first: END, length: 0 });
        self.links.push(Link { member, next: head.first });
        *head = Head { first: at, length: head.length + 1 };
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

    fn group(groups: &mut BTreeMap<Place, Vec<u32>>, member: u32, place: Place, count: &mut usize) {
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

    /// Calls `touch` with the members of a key in groups, with those that `within` lets pass: it tells, for a size,
    /// the places below which the key must stand; none for a size that cannot be similar. The sizes asked for
    /// are from `least` to `most`.
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
fn chain(links: &[Link], first: u32) -> impl Iterator<Item = u32> {
    let link = |at: u32| links.get(usize::try_from(at).ok()?).copied();
    std::iter::successors(link(first), move |last| link(last.next)).map(|link| link.member)
}
