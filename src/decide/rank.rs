//! The keep order: which of two similar documents stays.

pub(super) use crate::dedup::Rank;
use crate::model::{BucketMap, DocId, FieldId, KeepOrder, Policy};
use crate::store::{Header, View};
use std::sync::Arc;

/// The removed members of buckets, each with the rank of its witness: the worst-ranked first.
pub(super) type Followers = BucketMap<Arc<[(Rank, DocId)]>>;

/// Computes ranks under one policy.
pub(super) enum Ranker {
    First,
    Longest,
    /// Places of the sources, by source id; sources beyond are not named by the order.
    Sources {
        places: Vec<u64>,
        others: u64,
    },
    Field(Option<FieldId>),
}

impl Ranker {
    pub(super) fn new(view: &View) -> Self {
        let policy: &Policy = view.policy();
        match &policy.keep {
            KeepOrder::First => Self::First,
            KeepOrder::Longest => Self::Longest,
            KeepOrder::SourcePriority(names) => {
                let others = names.len() as u64;
                let place = |name: &str| Rank::place_of_source(names, name);
                let places = view.sources().map(|(_, record)| place(&record.name)).collect();
                Self::Sources { places, others }
            }
            KeepOrder::Field(name) => Self::Field(view.field_named(name).map(|field| field.id)),
        }
    }

    /// Whether ids are ranks, so that a newcomer never outranks what is stored.
    pub(super) const fn is_first(&self) -> bool {
        matches!(self, Self::First)
    }

    /// The field whose number the order looks at.
    pub(super) const fn field(&self) -> Option<FieldId> {
        match self {
            Self::Field(field) => *field,
            _ => None,
        }
    }

    /// The source of this commit that the view does not know yet.
    pub(super) fn name_source(&mut self, policy: &Policy, source: usize, name: &str) {
        let (Self::Sources { places, others }, KeepOrder::SourcePriority(names)) =
            (self, &policy.keep)
        else {
            return;
        };
        if places.len() <= source {
            places.resize(source + 1, *others);
        }
        if let Some(slot) = places.get_mut(source) {
            *slot = Rank::place_of_source(names, name);
        }
    }

    /// The rank of a document; `number` is its value in the order's field.
    pub(super) fn rank(&self, document: DocId, header: &Header, number: Option<i64>) -> Rank {
        let place = match self {
            Self::First => return Rank::first(document),
            Self::Longest => Rank::place_of_length(header.chars),
            Self::Sources { places, others } => {
                places.get(header.source.0 as usize).copied().unwrap_or(*others)
            }
            Self::Field(_) => Rank::place_of_number(number),
        };
        Rank::at(place, &header.raw, document)
    }
}
