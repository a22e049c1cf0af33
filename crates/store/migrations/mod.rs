//! The migration ladder: ordered steps from one store format to the next. See README.md here.

mod v0001_baseline;
mod v0002_generations;
mod v0003_loss;
mod v0004_tokenizers;
mod v0005_lineage;
mod v0006_removals;
mod v0007_contamination;
mod v0008_verdicts;

use super::StoreError;
use rocksdb::{DB, WriteBatch};

/// One step of the ladder.
pub struct MigrationStep {
    /// The format version the store has after the step.
    pub to: u32,
    /// Adds the step's writes to the batch that also raises the version. Must be idempotent.
    pub apply: fn(&DB, &mut WriteBatch) -> Result<(), StoreError>,
}

/// All steps, in order; the last one's `to` is the format this release writes.
pub const STEPS: &[MigrationStep] = &[
    v0001_baseline::STEP,
    v0002_generations::STEP,
    v0003_loss::STEP,
    v0004_tokenizers::STEP,
    v0005_lineage::STEP,
    v0006_removals::STEP,
    v0007_contamination::STEP,
    v0008_verdicts::STEP,
];
