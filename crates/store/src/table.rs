//! The table of all column families, by which opening, check, statistics and docs/reference/format.md go.
//!
//! It lies above all families; each is declared in its own file.

pub use crate::database::family::{FamilyInfo, FamilyShape};

use crate::database::family::{FamilyVisitor, StoreFamily};
use crate::decisions::blocks::Blocks;
use crate::decisions::hashes::{Exact, Keys};
use crate::decisions::lineage::Lineage;
use crate::decisions::matches::{Matches, Members};
use crate::documents::grid::{PlacePages, PrintPages, SketchPages};
use crate::documents::loss::Loss;
use crate::documents::numbers::Columns;
use crate::documents::pages::{KeyPages, MetadataPages, TextPages};
use crate::documents::postings::Postings;
use crate::documents::terms::Terms;
use crate::documents::tokens::Tokens;
use crate::error::StoreError;
use crate::index::{BandRuns, Bands, BandsMore};
use crate::meta::Meta;
use crate::records::commits::Commits;
use crate::records::contamination::{Contamination, Verdicts};
use crate::records::plans::Epochs;
use crate::records::rejects::Rejects;
use crate::records::removals::Removals;
use crate::records::snapshots::Snapshots;
use crate::records::sources::{Files, Sources};
use crate::records::suites::{SuiteGrams, Suites};
use crate::records::tokenizers::Tokenizers;
use crate::view::View;

macro_rules! families {
    ($($name:ident),* $(,)?) => {
        /// Calls [`FamilyVisitor::family`] with every family, in the order of docs/reference/format.md.
        pub(crate) fn for_each_family(visitor: &mut impl FamilyVisitor) {
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
    PlacePages,
    PrintPages,
    KeyPages,
    MetadataPages,
    TextPages,
    Tokens,
    Loss,
    Columns,
    Terms,
    Postings,
    Exact,
    Blocks,
    SketchPages,
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
