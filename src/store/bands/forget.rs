//! Generations that are given up: their runs, which a later folding would make rows of again, their counters,
//! and what the filter knows of them.

use super::writer::{BandWriter, Staged};
use crate::model::Generation;
use crate::store::columns::BandRuns;
use crate::store::database::family;
use crate::store::error::StoreError;
use crate::store::rows::band_counters::BandCounters;
use crate::store::rows::keys::{BandRunKey, Key};
use rocksdb::WriteBatch;
use std::ops::Range;

fn is_in(generations: &[Range<u32>], generation: Generation) -> bool {
    generations.iter().any(|range| range.contains(&generation.0))
}

impl BandWriter {
    /// Puts into a commit, behind its own entries, that nothing of `generations` is left in runs and counters. Their
    /// rows are the caller's to delete.
    pub(in crate::store) fn forget(
        &self,
        staged: Option<Staged>,
        generations: Vec<Range<u32>>,
        batch: &mut WriteBatch,
    ) -> Result<Option<Staged>, StoreError> {
        if generations.is_empty() {
            return Ok(staged);
        }
        let mut staged = staged.unwrap_or_else(|| Staged {
            counts: self.counts.clone(),
            runs: Vec::new(),
            as_rows: false,
            forgotten: Vec::new(),
        });
        let family = family::<BandRuns>(&self.db)?;
        for run in self.runs.iter().filter(|run| is_in(&generations, run.generation)) {
            let key = BandRunKey { commit: run.commit, part: run.part };
            batch.delete_cf(&family, key.to_bytes());
        }
        staged.counts.generations.retain(|(generation, _)| !is_in(&generations, *generation));
        batch.put_cf(&family, BandCounters::KEY.to_bytes(), staged.counts.encode());
        staged.forgotten = generations;
        Ok(Some(staged))
    }

    /// The commit that forgets them stands.
    pub(super) fn let_go(&mut self, generations: &[Range<u32>]) {
        if !generations.is_empty() {
            self.runs.retain(|run| !is_in(generations, run.generation));
            // A filter cannot forget: another one is built when it is worth its cost.
            self.gate.empty();
        }
    }
}
