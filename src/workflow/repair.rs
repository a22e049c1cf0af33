//! Repairs a damaged corpus in place: makes derived families again from the rows that they follow from.

use crate::corpus::CorpusOptions;
use crate::curate;
use model::{Context, Error};
use serde::Serialize;
use std::path::Path;
use store::{self, CheckDepth, CheckFault, LostRows, RepairStart, StoreError};

/// The result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RepairReport {
    /// The recomputed families; `counters` if only those of sources were recomputed; `CURRENT` and `FORMAT` where these
    /// files were written again.
    pub repaired: Vec<String>,
    /// How many lengths in tokens may be gone: of documents that are not kept any more, where neither the length nor the
    /// ids can be read.
    pub lost_lengths: u64,
    /// Unreadable rows that cannot be recomputed. If there are any, nothing was changed.
    pub lost: Vec<LostRows>,
    /// What a deep check finds afterwards.
    pub faults: Vec<CheckFault>,
    /// The last commit.
    pub commit: u64,
    /// Documents, of every standing.
    pub documents: u64,
}

impl RepairReport {
    /// Whether the corpus is sound now.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.lost.is_empty() && self.faults.is_empty()
    }
}

impl CorpusOptions {
    /// Makes again what is damaged of the corpus at `path` and follows from other rows: columns, terms, bitmaps,
    /// indexes of buckets, texts and keys, sketches, members, n-grams, evidence, token ids, counters. A damaged block
    /// of these is never read again. Needs to be the only writer; where it is stopped nobody else opens the corpus
    /// until the same call has gone on and ended.
    ///
    /// ```
    /// # use corpusdb::{Context, Corpus, DedupMode, Policy};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("corpus");
    /// # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
    /// let report = Corpus::options().repair(&path, &Context::new())?;
    /// assert!(report.is_sound() && report.repaired.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError): no corpus, another writer, an older format, lost commits, what the
    /// disk refuses;
    /// [`Interrupted`](crate::Interrupted). What is beyond repair is in the report.
    pub fn repair(
        self,
        path: impl AsRef<Path>,
        context: &Context<'_>,
    ) -> Result<RepairReport, Error> {
        let (path, memory, threads) = (path.as_ref(), self.memory_bytes(), self.thread_count());
        let context = context.within(memory, threads);
        let budget = self.claim();
        let mended = store::mend_files(path)?;
        let faults = self.deep_faults(path, &context)?;
        let start = store::begin_repair(path, &faults, budget, threads, &context)?;
        let (mut writer, repaired) = match start {
            RepairStart::Nothing => {
                let corpus = self.open(path)?;
                let (commit, documents) = (corpus.view().commit().0, corpus.view().documents());
                let repaired = mended;
                let report = RepairReport::default();
                return Ok(RepairReport { repaired, faults, commit, documents, ..report });
            }
            RepairStart::Beyond(lost) => {
                return Ok(RepairReport { repaired: mended, lost, ..RepairReport::default() });
            }
            RepairStart::Fill(writer, families) => (writer, families),
            RepairStart::Counters(writer) => (writer, vec!["counters".to_owned()]),
        };
        let repaired = [mended, repaired].concat();
        let lost_lengths = writer.view().lost_lengths()?;
        curate::fill(&mut writer, &context)?;
        drop(writer);
        let corpus = self.open(path)?;
        let faults = corpus.check(CheckDepth::Deep, &context)?;
        let (commit, documents) = (corpus.view().commit().0, corpus.view().documents());
        Ok(RepairReport { repaired, lost_lengths, lost: Vec::new(), faults, commit, documents })
    }

    /// The faults that a deep check finds in a corpus that may not even open; it reads every block itself.
    fn deep_faults(self, path: &Path, context: &Context<'_>) -> Result<Vec<CheckFault>, Error> {
        let found = self.open(path).and_then(|corpus| corpus.check(CheckDepth::Deep, context));
        let is_damage = |error: &Error| {
            matches!(
                error.origin(),
                Some(
                    StoreError::Damaged { .. }
                        | StoreError::Corrupt { .. }
                        | StoreError::Missing { .. }
                        | StoreError::Repairing { .. }
                        | StoreError::Rocks(_)
                )
            )
        };
        match found {
            Err(error) if is_damage(&error) => Ok(Vec::new()),
            found => found,
        }
    }
}
