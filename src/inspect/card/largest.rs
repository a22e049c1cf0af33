//! Keeps the largest items of a list, and the sum of the others.

use crate::inspect::{GroupStats, LicenceCount, LossStats, RejectStats};
use serde::Serialize;

/// The largest of some things, largest first, and the sum of the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "cli", schemars(rename = "Largest{T}"))]
#[non_exhaustive]
pub struct Largest<T> {
    /// The largest.
    pub shown: Vec<T>,
    /// The sum of the others, with empty names. Absent if there are no others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<T>,
    /// How many others there are.
    pub left_out: u64,
}

pub(super) trait Summable: Clone {
    /// The size by which items are ordered.
    fn size(&self) -> u64;
    /// Clears the names, for a sum.
    fn unnamed(self) -> Self;
    /// Adds another one.
    fn add(&mut self, other: &Self);
}

/// The `most` largest items; items of equal size stay in their order.
pub(super) fn largest<T: Summable>(mut all: Vec<T>, most: usize) -> Largest<T> {
    all.sort_by_key(|it| std::cmp::Reverse(it.size()));
    let rest = all.split_off(most.min(all.len()));
    let left_out = rest.len() as u64;
    let others = rest.into_iter().map(T::unnamed).reduce(|mut sum, other| {
        sum.add(&other);
        sum
    });
    Largest { shown: all, others, left_out }
}

impl Summable for GroupStats {
    fn size(&self) -> u64 {
        self.all.documents
    }

    fn unnamed(self) -> Self {
        Self { source: String::new(), language: None, ..self }
    }

    fn add(&mut self, other: &Self) {
        self.all.add(&other.all);
        self.kept.add(&other.kept);
    }
}

impl Summable for LossStats {
    fn size(&self) -> u64 {
        self.documents
    }

    fn unnamed(self) -> Self {
        Self { source: String::new(), ..self }
    }

    fn add(&mut self, other: &Self) {
        self.documents += other.documents;
        self.kept += other.kept;
        self.exact += other.exact;
        self.near += other.near;
        self.superseded += other.superseded;
        self.removed += other.removed;
        self.blocked += other.blocked;
        self.purged += other.purged;
        self.empty += other.empty;
        self.unknown += other.unknown;
        let rate = |part: u64| part as f64 / self.documents.max(1) as f64;
        let rates = [self.exact, self.near, self.superseded, self.removed].map(rate);
        [self.exact_rate, self.near_rate, self.superseded_rate, self.removed_rate] = rates;
    }
}

impl Summable for RejectStats {
    fn size(&self) -> u64 {
        self.records
    }

    fn unnamed(self) -> Self {
        Self { source: String::new(), reason: String::new(), ..self }
    }

    fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.bytes += other.bytes;
    }
}

impl Summable for LicenceCount {
    fn size(&self) -> u64 {
        self.documents
    }

    fn unnamed(self) -> Self {
        Self { licence: String::new(), ..self }
    }

    fn add(&mut self, other: &Self) {
        self.documents += other.documents;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_of_what_is_not_shown() {
        let of = |source: &str, documents, exact| LossStats {
            source: source.to_owned(),
            documents,
            kept: documents - exact,
            exact,
            exact_rate: exact as f64 / documents as f64,
            ..LossStats::default()
        };
        let all = vec![of("a", 10, 1), of("b", 30, 3), of("c", 10, 5), of("d", 20, 0)];
        let two = largest(all.clone(), 2);
        let names: Vec<&str> = two.shown.iter().map(|it| it.source.as_str()).collect();
        assert_eq!((names, two.left_out), (vec!["b", "d"], 2));
        let others = two.others.unwrap();
        assert_eq!((others.source.as_str(), others.documents, others.exact), ("", 20, 6));
        assert_eq!(others.exact_rate, 0.3);
        let whole = largest(all, 4);
        assert_eq!((whole.shown.len(), whole.others, whole.left_out), (4, None, 0));
    }
}
