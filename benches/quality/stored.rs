//! The whole way: an ingest into a temporary corpus, and what stands in it afterwards.

use crate::join::Pair;
use anyhow::ensure;
use corpusdb::dedup::{reaches, shared};
use corpusdb::ingest::ReadOptions;
use corpusdb::{Context, Corpus, IngestOptions, IngestReport, Policy};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// GiB of memory that a corpus may use unless told: what it takes of a machine of 8 GiB.
pub const MEMORY: u64 = 2;

/// A corpus in a directory of its own, removed with it.
pub struct Stored {
    directory: tempfile::TempDir,
    path: PathBuf,
    /// Bytes.
    memory: u64,
}

/// What stands in a corpus, by document number.
pub struct Standings {
    /// Whether it is kept.
    pub kept: Vec<bool>,
    /// Removed documents with their witnesses, and whether the two were said to be equal byte for byte.
    pub matches: Vec<(usize, usize, bool)>,
}

impl Stored {
    /// An empty corpus that may use so many GiB of memory.
    pub fn new(policy: &Policy, memory: u64) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("corpus");
        Corpus::init(&path, policy, &[])?;
        Ok(Self { directory, path, memory: memory << 30 })
    }

    /// A place for inputs that goes with the corpus.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Ingests one file as `corpusdb ingest` does. Keys are positions: nothing is superseded, and documents
    /// are numbered as they stand in the file.
    pub fn ingest(&self, file: &Path) -> anyhow::Result<IngestReport> {
        let mut writer =
            Corpus::options().memory(self.memory).threads(threads()).open_writer(&self.path)?;
        let read = ReadOptions { text_field: Some("text".to_owned()), ..ReadOptions::default() };
        let options = IngestOptions { read, ..IngestOptions::new("quality") };
        let paths = [file.display().to_string()];
        let report = writer.ingest(&paths, &options, &Context::new())?;
        ensure!(report.rejected == 0, "{} records of {} rejected", report.rejected, file.display());
        Ok(report)
    }

    /// What stands in it now.
    pub fn standings(&self) -> anyhow::Result<Standings> {
        let corpus = Corpus::options().memory(self.memory).open(&self.path)?;
        let documents = usize::try_from(corpus.view().documents())?;
        let mut kept = vec![false; documents];
        for document in corpus.view().kept()? {
            kept[usize::try_from(document)?] = true;
        }
        let matches = corpus
            .duplicates(None)?
            .map(|pair| {
                let pair = pair?;
                Ok((
                    usize::try_from(pair.id)?,
                    usize::try_from(pair.witness)?,
                    pair.kind == "exact",
                ))
            })
            .collect::<anyhow::Result<_>>()?;
        Ok(Standings { kept, matches })
    }
}

impl Standings {
    /// Removals that are not explained as promised: the witness is not kept, the similarity, computed anew
    /// from what `set` gives of each document, is below the threshold, or there is no witness at all.
    /// `is_empty` names documents that need none.
    pub fn unexplained(
        &self,
        threshold: f64,
        mut set: impl FnMut(usize) -> Vec<u64>,
        is_empty: impl Fn(usize) -> bool,
    ) -> usize {
        let mut explained = vec![false; self.kept.len()];
        let mut witnesses: HashMap<usize, Vec<u64>> = HashMap::new();
        for (removed, witness, _) in &self.matches {
            let own = set(*removed);
            let other = witnesses.entry(*witness).or_insert_with(|| set(*witness));
            let overlap = shared(&own, other) as usize;
            explained[*removed] = self.kept[*witness]
                && !self.kept[*removed]
                && reaches(overlap, own.len(), other.len(), threshold);
        }
        (0..self.kept.len())
            .filter(|id| !self.kept[*id] && !explained[*id] && !is_empty(*id))
            .count()
    }

    /// Of `pairs`, those of which both are kept.
    pub fn both_kept<'a>(&self, pairs: impl Iterator<Item = &'a Pair>) -> u64 {
        pairs.filter(|pair| self.kept[pair.a as usize] && self.kept[pair.b as usize]).count() as u64
    }

    /// Documents in the largest cluster, its witness included.
    pub fn largest_cluster(&self) -> usize {
        let mut members: HashMap<usize, usize> = HashMap::new();
        for (_, witness, _) in &self.matches {
            *members.entry(*witness).or_insert(1) += 1;
        }
        members.into_values().max().unwrap_or_else(|| usize::from(self.kept.contains(&true)))
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
