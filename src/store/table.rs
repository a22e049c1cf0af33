//! The table of all column families, by which opening, check, statistics and docs/reference/format.md go.
//!
//! It lies above all families; each is declared in its own file.

pub use crate::store::database::family::{FamilyInfo, FamilyShape};

use crate::store::database::family::{FamilyVisitor, StoreFamily};
use crate::store::decisions::blocks::Blocks;
use crate::store::decisions::hashes::{Exact, Keys};
use crate::store::decisions::lineage::Lineage;
use crate::store::decisions::matches::{Matches, Members};
use crate::store::documents::headers::Documents;
use crate::store::documents::loss::Loss;
use crate::store::documents::metadata::Metadata;
use crate::store::documents::numbers::Columns;
use crate::store::documents::postings::Postings;
use crate::store::documents::terms::Terms;
use crate::store::documents::texts::{Dictionaries, Sketches, Texts};
use crate::store::documents::tokens::Tokens;
use crate::store::error::StoreError;
use crate::store::index::{BandRuns, Bands, BandsMore};
use crate::store::meta::Meta;
use crate::store::records::commits::Commits;
use crate::store::records::contamination::{Contamination, Verdicts};
use crate::store::records::plans::Epochs;
use crate::store::records::rejects::Rejects;
use crate::store::records::removals::Removals;
use crate::store::records::snapshots::Snapshots;
use crate::store::records::sources::{Files, Sources};
use crate::store::records::suites::{SuiteGrams, Suites};
use crate::store::records::tokenizers::Tokenizers;
use crate::store::view::View;

macro_rules! families {
    ($($name:ident),* $(,)?) => {
        /// Calls [`FamilyVisitor::family`] with every family, in the order of docs/reference/format.md.
        pub(in crate::store) fn for_each_family(visitor: &mut impl FamilyVisitor) {
            $(visitor.family::<$name>();)*
        }

        /// Every column family, in the order of docs/reference/format.md.
        pub const FAMILIES: &[FamilyInfo] = &[$(<$name as StoreFamily>::INFO),*];
    };
}

families!(
    Meta,
    Commits,
    Removals,
    Sources,
    Files,
    Tokenizers,
    Snapshots,
    Epochs,
    Rejects,
    Dictionaries,
    Documents,
    Metadata,
    Texts,
    Tokens,
    Loss,
    Columns,
    Terms,
    Postings,
    Exact,
    Blocks,
    Sketches,
    Bands,
    BandsMore,
    BandRuns,
    Matches,
    Members,
    Lineage,
    Keys,
    Suites,
    SuiteGrams,
    Contamination,
    Verdicts,
);

impl View {
    /// Bytes of the tables of each column family, in the order of docs/reference/format.md; rows still in the
    /// log are not counted.
    ///
    /// # Errors
    /// [`StoreError`] when RocksDB does not say.
    pub fn disk_usage(&self) -> Result<Vec<(&'static str, u64)>, StoreError> {
        let mut found = Vec::new();
        for family in FAMILIES {
            found.extend(self.pinned().table_bytes(family.name)?.map(|bytes| (family.name, bytes)));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FAMILIES.len());
    }
}
