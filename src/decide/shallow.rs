//! Which clusters the crowd of mode `components` holds in part, and where their other members are.

use super::labels::Label;
use crate::model::{BucketMap, DocId};
use std::collections::BTreeSet;

/// Bytes of a note.
const NOTE: usize = 64;

/// Which clusters are held in part.
#[derive(Default)]
pub(super) struct Shallow {
    /// Of each bucket the clusters of whose members some were passed over.
    pub(super) passed: BucketMap<Vec<Label>>,
    /// Names in these, in all buckets.
    notes: usize,
    /// The clusters of which a family holds all members, and those for whose members it has no room.
    pub(super) deep: BTreeSet<(u32, Label)>,
    pub(super) beyond: BTreeSet<(u32, Label)>,
    /// Of this commit: members that were passed over. The store does not have them in a cluster yet.
    pub(super) joined: Vec<(Label, DocId)>,
}

impl Shallow {
    /// Forgets what is of one commit.
    pub(super) fn end(&mut self) {
        self.joined = Vec::new();
    }

    /// There may be room now.
    pub(super) fn try_again(&mut self) {
        self.beyond.clear();
    }

    pub(super) fn bytes(&self) -> usize {
        (self.passed.len() + self.deep.len() + self.beyond.len()) * NOTE
            + self.notes * size_of::<Label>()
            + self.joined.len() * size_of::<(Label, DocId)>()
    }

    pub(super) fn note(&mut self, bucket: (u8, u64), label: Label) {
        let noted = self.passed.entry(bucket).or_default();
        if !noted.contains(&label) {
            noted.push(label);
            self.notes += 1;
        }
    }
}

/// How much of a cluster is in a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    Some,
    All,
    /// There is no room for all.
    Full,
}
