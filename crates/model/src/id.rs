//! Newtypes for every numeric id, the block arithmetic of document ids, and declarations of fields with their types.

use crate::named;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Documents per block: one block is one roaring container and one column block.
pub const BLOCK_SIZE: u64 = 65_536;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id!(
    /// A stored document: dense, in commit order, never reused.
    DocId(u64)
);
id!(
    /// A named origin of documents.
    SourceId(u32)
);
id!(
    /// A file within its source; 0 stands for the source itself.
    FileId(u32)
);
id!(
    /// A registered tokenizer; order of registration.
    TokenizerId(u16)
);
id!(
    /// A commit: 1 is the one made by `init`.
    CommitSeq(u64)
);
id!(
    /// A policy generation: decisions of different policies never mix.
    Generation(u32)
);
id!(
    /// A suite of evaluation items.
    SuiteId(u32)
);
id!(
    /// An indexed field.
    FieldId(u16)
);
id!(
    /// An interned (field, value).
    TermId(u32)
);
id!(
    /// A fixed-width column over documents.
    ColumnId(u16)
);

impl DocId {
    /// The block this document belongs to.
    #[must_use]
    pub const fn block(self) -> u64 {
        self.0 / BLOCK_SIZE
    }

    /// The position inside the block.
    #[must_use]
    pub const fn slot(self) -> u16 {
        (self.0 % BLOCK_SIZE) as u16
    }

    /// The document at `slot` of `block`.
    #[must_use]
    pub const fn at(block: u64, slot: u16) -> Self {
        Self(block * BLOCK_SIZE + slot as u64)
    }
}

/// What stands in the name of a folder (`lang=..`) where a field has no value, as Hive and Spark write it.
pub const HIVE_NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// What a declared field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FieldKind {
    /// Text, indexed by exact value.
    Keyword,
    /// 64-bit signed integers.
    Int,
    /// Numbers of 64 bits with a fraction.
    Float,
    /// `true` and `false`.
    Bool,
    /// Timestamps: microseconds since 1970 in UTC.
    Timestamp,
}

named!(FieldKind {
    Keyword = "keyword", Int = "int", Float = "float", Bool = "bool", Timestamp = "timestamp",
});

impl FieldKind {
    /// The version of the rule by which values of records become its values. It was first recorded of the second, so
    /// the first is that of all releases before: of fewer spellings of numbers, truths and moments.
    #[must_use]
    pub const fn rule(self) -> u32 {
        match self {
            Self::Keyword => 1,
            Self::Int | Self::Float | Self::Bool | Self::Timestamp => 2,
        }
    }
}

impl FromStr for FieldKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::from_name(name)
            .ok_or_else(|| format!("unknown kind `{name}`; keyword, int, float, bool or timestamp"))
    }
}

/// A field the user declared: its values are indexed or kept in a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDeclaration {
    /// Its number in the store.
    pub id: FieldId,
    /// Its name in the user's records and in queries.
    pub name: String,
    /// The type of its values.
    pub kind: FieldKind,
    /// Where in the records its values stand, when that is not the member of its name: a member, or members within
    /// one another with dots between them.
    pub path: Option<String>,
    /// The version of [`FieldKind::rule`] when it was declared: what is indexed of earlier documents may be by that
    /// one.
    pub rule: u32,
}

impl FieldDeclaration {
    /// The member of the records that has its values; what is set from outside is written there.
    #[must_use]
    pub fn member(&self) -> &str {
        self.path.as_deref().unwrap_or(&self.name)
    }
}

/// Maps a float to an integer of the same order, so that float columns share the integer code.
/// Not-a-number has no place in an order: callers store it as null.
#[must_use]
pub fn sortable_float(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// The inverse of [`sortable_float`], but for the negative zero, which is read as zero: they are one number, and who
/// compares bits would take them for two.
#[must_use]
pub fn unsortable_float(value: i64) -> f64 {
    let float = f64::from_bits((value ^ (((value >> 63) as u64) >> 1) as i64).cast_unsigned());
    if float == 0.0 { 0.0 } else { float }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_and_slot_recompose() {
        for id in [0, 1, 65_535, 65_536, 131_071, u64::from(u32::MAX) + 9] {
            let doc = DocId(id);
            assert_eq!(DocId::at(doc.block(), doc.slot()), doc);
        }
    }

    #[test]
    fn float_order_survives_the_integer_form() {
        let values = [f64::NEG_INFINITY, -1e300, -1.5, -0.0, 0.0, 1e-300, 0.25, 7.0, f64::INFINITY];
        for pair in values.windows(2) {
            let (a, b) = (sortable_float(pair[0]), sortable_float(pair[1]));
            assert!(a < b, "{} {}", pair[0], pair[1]);
        }
        for value in values {
            let read = if value == 0.0 { 0.0 } else { value };
            assert_eq!(unsortable_float(sortable_float(value)).to_bits(), read.to_bits());
        }
    }
}
