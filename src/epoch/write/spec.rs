//! The specification that a plan gives the format of its rows, and the limits that it must keep.

use crate::epoch::error::EpochError;
use crate::epoch::plan::PlanHeader;
use crate::epoch::run::OpenPlan;
use crate::epoch::stream::EpochRow;
use files::output::{RowColumn, RowSize, RowSpec};
use model::{Error, ErrorKind, LossSpan};

/// Checks that the output format can hold the rows of `plan`.
///
/// # Errors
/// [`EpochError::Limit`] saying what does not fit and the way out.
pub(in crate::epoch) fn check_output(plan: &PlanHeader) -> Result<(), EpochError> {
    let output = &plan.recipe.output;
    // Whether documents have masks is not known yet: as if they had.
    let columns = output.columns(true, plan.pads_batches());
    output.file_format().check(&spec(plan, columns, (true, true))).map_err(|limit| {
        EpochError::Limit {
            format: output.describe(),
            why: limit.why,
            instead: limit.instead.to_owned(),
        }
    })
}

/// What the files of a plan hold. No more than `memory` bytes of samples are held while they are written.
pub(in crate::epoch) fn row_spec(opened: &OpenPlan, memory: u64) -> RowSpec {
    let plan = &opened.plan;
    let columns = plan.recipe.output.columns(opened.masked(), plan.pads_batches());
    RowSpec { memory, ..spec(plan, columns, (opened.trained.any(), opened.masked())) }
}

fn spec(
    plan: &PlanHeader,
    columns: Vec<RowColumn>,
    (has_loss_spans, has_loss_masks): (bool, bool),
) -> RowSpec {
    let output = &plan.recipe.output;
    let vocab = plan.tokenizer.vocab_size;
    RowSpec {
        columns,
        compression: output.compression(),
        content_defined_chunks: output.content_defined_chunks,
        shard_bytes: output.shard_bytes,
        id_type: output.id_type(vocab),
        vocab,
        tokenizer: plan.tokenizer.name.clone(),
        plan: plan.hash_hex(),
        capacity: plan.capacity,
        is_packed: plan.fixed_length(),
        has_loss_spans,
        has_loss_masks,
        memory: 0,
    }
}

/// What rows of a plan are made into columns with.
#[derive(Clone, Debug)]
pub(super) struct RowContext {
    pub spec: RowSpec,
    /// Names of the sources, by index.
    pub sources: Vec<String>,
    /// Word of the format.
    pub format: &'static str,
    /// Whether all is trained on whatever documents say.
    pub ignore_loss: bool,
}

impl RowContext {
    pub fn of(opened: &OpenPlan, memory: u64) -> Self {
        let plan = &opened.plan;
        Self {
            spec: row_spec(opened, memory),
            sources: plan.sources.iter().map(|source| source.name.clone()).collect(),
            format: plan.recipe.output.format.name(),
            ignore_loss: plan.recipe.output.ignore_loss,
        }
    }

    /// The name of a row's source; empty for a row of pads.
    pub fn source(&self, row: &EpochRow) -> &str {
        self.sources.get(row.source).map_or("", String::as_str)
    }

    /// The loss mask of a row for the trainer; `None`: train on all of it.
    pub fn trained<'a>(&self, row: &'a EpochRow) -> Option<&'a [LossSpan]> {
        row.trained.as_deref().filter(|_| !self.ignore_loss)
    }

    pub fn size(&self, row: &EpochRow) -> RowSize {
        RowSize {
            tokens: row.ids.len(),
            segments: row.segments.len(),
            source: self.source(row).len(),
        }
    }

    /// Refuses a row with an id that the type does not hold.
    ///
    /// # Errors
    /// [`EpochError`] that names it.
    pub fn check_ids(&self, row: &EpochRow) -> Result<(), EpochError> {
        let id_type = self.spec.id_type;
        // No early way out, so that the loop is of vector instructions.
        let all = id_type.max() == u32::MAX;
        if all || row.ids.iter().fold(0, |largest, id| largest.max(*id)) <= id_type.max() {
            return Ok(());
        }
        let message = format!(
            "token id {} of document {} does not fit {}, the width of format {} for a vocabulary of {}",
            row.ids.iter().copied().find(|id| *id > id_type.max()).unwrap_or_default(),
            row.segments.first().map_or(0, |segment| segment.document.0),
            id_type.name(),
            self.format,
            self.spec.vocab
        );
        Err(Error::of(ErrorKind::Failed, message).into())
    }
}
