//! Finds the similar sets among many that are much alike, without comparing with all of them.
//!
//! Documents of one template share most of their shingles, so that buckets of sketches hold them all and
//! an estimate tells few of them apart. What tells them apart is what is rare among them (`rarity`). [`FamilyIndex`] is
//! an exact join by prefix filter over such sets, as published for all pairs by Bayardo et al. (2007) and Xiao
//! et al. (2008), with both prefixes cut for each pair of sizes. The answer holds every set that reaches the threshold,
//! whatever the order of shingles: that decides only what it costs.

use super::rarity::{CommonBits, CommonShingles, PrefixPostings, RarityOrder};
use super::similarity::{largest_similar, least_shared, smallest_similar};
use super::sketch::Sketch;
use model::invariant::{at, run};
use model::{DocId, PremixedState};
use std::collections::{BTreeMap, HashMap};

/// Sets whose shares give the order, at most: more tell no more.
const SAMPLE: usize = 1024;
/// Steps a member, since the order was made, from which making it again would pay, if there are twice as many.
const PAYS: u64 = 4096;
/// Steps that comparing with a member takes, beside walking to it.
const MET: u64 = 64;

/// Documents much alike, by their shingles and sketches.
#[derive(Debug)]
pub struct FamilyIndex {
    threshold: f64,
    order: RarityOrder,
    documents: Vec<DocId>,
    /// Member by document.
    known: HashMap<DocId, u32, PremixedState>,
    sketches: Vec<Sketch>,
    sizes: Vec<u32>,
    /// Where the keys of each member end.
    ends: Vec<usize>,
    keys: Vec<u32>,
    postings: PrefixPostings,
    common: CommonShingles,
    /// Postings of members that are searched by group.
    apart: BTreeMap<u32, PrefixPostings>,
    /// The question in which each member was met last, and the present one.
    met: Vec<u32>,
    question: u32,
    /// Members when the order was made, and steps since.
    ordered: usize,
    steps: u64,
    /// How often the order was made again though the family had hardly grown: each time it takes twice as many steps.
    patience: u32,
}

/// A set to find similar ones of.
#[derive(Clone, Copy, Debug)]
pub struct FamilyQuery<'a> {
    /// Its shingles, ascending and distinct.
    pub shingles: &'a [u64],
    /// Its sketch.
    pub sketch: &'a Sketch,
    /// The least estimate of what is similar.
    pub floor: f64,
}

impl FamilyIndex {
    /// An empty family of sets like those of `sample`; similar ones at `threshold`, above 0, are to be found.
    #[must_use]
    pub fn new<S: AsRef<[u64]>>(threshold: f64, sample: &[S]) -> Self {
        let step = sample.len().div_ceil(SAMPLE).max(1);
        let sample: Vec<&[u64]> = sample.iter().step_by(step).map(AsRef::as_ref).collect();
        let order = RarityOrder::of(&sample);
        Self {
            threshold,
            common: CommonShingles::new(order.words()),
            order,
            documents: Vec::new(),
            known: HashMap::default(),
            sketches: Vec::new(),
            sizes: Vec::new(),
            ends: Vec::new(),
            keys: Vec::new(),
            postings: PrefixPostings::default(),
            apart: BTreeMap::new(),
            met: Vec::new(),
            question: 0,
            ordered: 0,
            steps: 0,
            patience: 0,
        }
    }

    /// How many members it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The members, in the order they came.
    #[must_use]
    pub fn documents(&self) -> &[DocId] {
        &self.documents
    }

    /// Whether a document is a member.
    #[must_use]
    pub fn contains(&self, document: DocId) -> bool {
        self.known.contains_key(&document)
    }

    /// Adds a document, once. An empty set is similar to nothing and is left out.
    pub fn insert(&mut self, document: DocId, sketch: Sketch, shingles: &[u64]) {
        self.insert_in(None, document, sketch, shingles);
    }

    /// Adds a document, once, to a group that can be searched by itself, if one is given.
    pub fn insert_in(
        &mut self,
        group: Option<u32>,
        document: DocId,
        sketch: Sketch,
        shingles: &[u64],
    ) {
        let Ok(member) = u32::try_from(self.documents.len()) else { return };
        let Ok(size) = u32::try_from(shingles.len()) else { return };
        if size == 0 || self.known.contains_key(&document) {
            return;
        }
        let mut keys = Vec::new();
        let commons = self.order.first_keys(shingles, self.reach(shingles.len()), &mut keys);
        self.common.push(&commons);
        self.known.insert(document, member);
        self.documents.push(document);
        self.sketches.push(sketch);
        self.sizes.push(size);
        self.keys.extend_from_slice(&keys);
        self.ends.push(self.keys.len());
        self.met.push(0);
        let postings = match group {
            Some(group) => self.apart.entry(group).or_default(),
            None => &mut self.postings,
        };
        let mut last = None;
        for (place, key) in (0..).zip(keys) {
            // A key that stands twice is found by its first place.
            if last.replace(key) != Some(key) {
                let (ends, all, sizes) = (&self.ends, &self.keys, &self.sizes);
                let place_of = |member: u32| {
                    let keys = keys_of(ends, all, member);
                    let place = keys.partition_point(|other| *other < key);
                    (size_of(sizes, member), u32::try_from(place).unwrap_or(u32::MAX))
                };
                postings.insert(key, member, (size, place), place_of);
            }
        }
    }

    /// Says that all that the order was made for are in.
    pub fn settle(&mut self) {
        self.ordered = self.documents.len();
        self.steps = 0;
    }

    /// How many of the rarest keys of a set of `size` a similar one has one of at least.
    fn reach(&self, size: usize) -> usize {
        (size + 1).saturating_sub(smallest_similar(size, self.threshold))
    }

    /// The members that `admit` lets pass whose estimate reaches the floor and whose similarity may
    /// reach the threshold: every one whose similarity does is among them. In no order, and without those
    /// of groups.
    pub fn find(
        &mut self,
        sought: FamilyQuery<'_>,
        admit: impl FnMut(DocId) -> bool,
    ) -> Vec<DocId> {
        self.find_in(None, sought, admit)
    }

    /// Groups that can be searched by themselves, ascending.
    pub fn groups(&self) -> impl Iterator<Item = u32> {
        self.apart.keys().copied()
    }

    /// [`FamilyIndex::find`] among the members of a group, or among those of none.
    pub fn find_in(
        &mut self,
        group: Option<u32>,
        sought: FamilyQuery<'_>,
        mut admit: impl FnMut(DocId) -> bool,
    ) -> Vec<DocId> {
        let size = sought.shingles.len();
        let reach = self.reach(size);
        let mut keys = Vec::new();
        let commons = self.order.first_keys(sought.shingles, reach, &mut keys);
        let mut found = Vec::new();
        for member in self.meet(group, size, &keys, &commons) {
            let (Some(document), Some(sketch)) =
                (self.documents.get(member as usize), self.sketches.get(member as usize))
            else {
                continue;
            };
            if admit(*document)
                && sought.sketch.estimate(sketch) >= sought.floor
                && self.may_be_similar(size, &keys, member)
            {
                found.push(*document);
            }
        }
        found
    }

    /// Members that have a key in common with `keys`, the first ones of a set of `size`, early enough in
    /// both: of two sets that share `needed` shingles, the rarest of these has all others behind it. Those that share
    /// too few, by what is common, are left out.
    fn meet(
        &mut self,
        group: Option<u32>,
        size: usize,
        keys: &[u32],
        commons: &CommonBits,
    ) -> Vec<u32> {
        self.question = self.question.checked_add(1).unwrap_or_else(|| {
            self.met.fill(0);
            1
        });
        let (question, sizes, common) = (self.question, &self.sizes, &self.common);
        let wide = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
        let least = wide(smallest_similar(size, self.threshold));
        let most = wide(largest_similar(size, self.threshold));
        let mut needed = RequiredOverlap::new(size, self.threshold);
        let (mut members, mut steps) = (Vec::new(), 0_usize);
        let asked = match group {
            Some(group) => self.apart.get(&group),
            None => Some(&self.postings),
        };
        let Some(postings) = asked else { return members };
        let met = &mut self.met;
        let mut take = |member: u32, place: usize, needed: &mut RequiredOverlap| {
            let Some(last) = met.get_mut(member as usize) else { return };
            if *last != question
                && let Some(needed) = needed.of(size_of(sizes, member))
                && place + needed <= size
            {
                *last = question;
                if common.shared_at_most(commons, member) >= needed {
                    members.push(member);
                }
            }
        };
        let mut before = None;
        let mut walk: Vec<(usize, &[u32])> = Vec::new();
        let mut walked = 0;
        for (place, key) in keys.iter().enumerate() {
            if before.replace(*key) == Some(*key) {
                continue;
            }
            // The chains hold members of any size, which are separated above.
            let mut chain = Vec::new();
            postings.visit_chain(*key, |member| chain.push(member));
            steps += chain.len();
            chain.into_iter().for_each(|member| take(member, place, &mut needed));
            let is_walked = !self.order.is_common(*key);
            let within = |other: u32| {
                let needed = needed.of(other).filter(|needed| place + needed <= size)?;
                u32::try_from(other as usize - needed + 1).ok()
            };
            let mut groups = Vec::new();
            postings.visit_groups(*key, least, most, within, |members| groups.push(members));
            if is_walked {
                steps += groups.iter().map(|members| members.len()).sum::<usize>();
                let all = groups.into_iter().flatten();
                all.for_each(|member| take(*member, place, &mut needed));
            } else {
                walked += groups.iter().map(|members| members.len()).sum::<usize>();
                walk.extend(groups.into_iter().map(|members| (place, members)));
            }
        }
        if walked > sizes.len() && common.is_any() {
            // All that is rare of the set was asked for: who was not met shares what is common, and nothing else.
            steps += sizes.len();
            for (member, shared) in (0..).zip(common.shared(commons)) {
                if needed.of(size_of(sizes, member)).is_some_and(|needed| shared >= needed) {
                    take(member, 0, &mut needed);
                }
            }
        } else {
            steps += walked;
            for (place, group) in walk {
                group.iter().for_each(|member| take(*member, place, &mut needed));
            }
        }
        self.steps += steps as u64 + MET * members.len() as u64;
        members
    }

    /// Whether a member may share as many shingles as are needed, by the rarest of both.
    fn may_be_similar(&self, size: usize, keys: &[u32], member: u32) -> bool {
        let other = size_of(&self.sizes, member) as usize;
        let Some(needed) = least_shared(size, other, self.threshold) else { return false };
        let mut a = keys.iter().peekable();
        let mut b = keys_of(&self.ends, &self.keys, member).iter().peekable();
        let (mut left, mut right, mut shared) = (size, other, 0);
        while shared + left.min(right) >= needed {
            let (Some(x), Some(y)) = (a.peek(), b.peek()) else { return true };
            let order = x.cmp(y);
            if order.is_le() {
                a.next();
                left -= 1;
            }
            if order.is_ge() {
                b.next();
                right -= 1;
            }
            shared += usize::from(order.is_eq());
        }
        false
    }

    /// The sketch of a member.
    #[must_use]
    pub fn sketch(&self, document: DocId) -> Option<&Sketch> {
        self.sketches.get(*self.known.get(&document)? as usize)
    }

    /// Whether a new order made of today's members would pay. Searches walk far and the family has grown, or they walk
    /// so far that new members may be of another kind, and what these share is rare by the old order.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        let times = if self.has_grown() { 0 } else { (self.patience + 1).min(32) };
        self.steps >> times > PAYS * self.documents.len() as u64
    }

    fn has_grown(&self) -> bool {
        self.documents.len() >= 2 * self.ordered.max(1)
    }

    /// The patience of a family that takes the place of this one.
    #[must_use]
    pub fn patience_after(&self) -> u32 {
        if self.has_grown() { 0 } else { self.patience + 1 }
    }

    /// Says that all that the order was made for are in, and how patient the family is with it.
    pub fn settle_with(&mut self, patience: u32) {
        self.settle();
        self.patience = patience;
    }

    /// Steps that questions took since the order was made.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// Bytes held, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let sketch = self.sketches.first().map_or(0, |sketch| sketch.as_bytes().len());
        self.order.bytes()
            + self.postings.bytes()
            + self.common.bytes()
            + self.apart.values().map(PrefixPostings::bytes).sum::<usize>()
            + self.keys.capacity() * 4
            // Document, known, size, end, met; the sketch with its box.
            + self.documents.capacity() * (8 + 20 + 4 + 8 + 4 + 24)
            + self.documents.len() * (sketch + 16)
    }
}

/// How many shingles sets of other sizes must share with one of `size`: the sizes of a family are few.
struct RequiredOverlap {
    size: usize,
    threshold: f64,
    known: HashMap<u32, Option<usize>, PremixedState>,
    last: (u32, Option<usize>),
}

impl RequiredOverlap {
    fn new(size: usize, threshold: f64) -> Self {
        Self { size, threshold, known: HashMap::default(), last: (0, None) }
    }

    fn of(&mut self, other: u32) -> Option<usize> {
        if self.last.0 != other {
            let (size, threshold) = (self.size, self.threshold);
            let needed = *self
                .known
                .entry(other)
                .or_insert_with(|| least_shared(size, other as usize, threshold));
            self.last = (other, needed);
        }
        self.last.1
    }
}

fn size_of(sizes: &[u32], member: u32) -> u32 {
    *at(sizes, member as usize)
}

fn keys_of<'k>(ends: &[usize], keys: &'k [u32], member: u32) -> &'k [u32] {
    run(keys, ends, member as usize)
}
