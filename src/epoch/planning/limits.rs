//! Refuses plans that cannot be had: rows too large for memory or for a format, epochs without rows.
//!
//! A plan whose first epoch has no row is refused, even if a later one would have some: nobody could begin it. Where
//! rows are carried, one epoch with a batch is enough.

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::plan::{Plan, PlanHeader, PlannedSource};
use crate::epoch::recipe::{BatchTail, LengthGrouped, MixUnit, Recipe};
use crate::epoch::rows::OpenPurpose;
use crate::epoch::run::{BatchSampler, EpochIndex, OpenPlan};
use crate::epoch::write::check_output;
use model::Interrupt;
use roaring::RoaringTreemap;

/// What a row takes whose order needs all rows in memory: itself, its length, its place in the order.
const EXACT_ROW_BYTES: u64 = 80;

/// Batches that an epoch may hold, about, for its rows to be counted while planning.
const BATCHES: u128 = 2;

/// Refuses a plan whose batches have more rows than an epoch. Rows are counted only where there are few for the size of a
/// batch. Where rows are carried, a later epoch may be the first one with a batch.
pub(super) fn check_rows(
    corpora: &Corpora,
    planned: &Plan,
    interrupt: &Interrupt,
) -> Result<(), EpochError> {
    let plan = &planned.plan;
    let Some(batch) = &plan.recipe.batch else { return Ok(()) };
    let Some(rows) = batch.rows else { return Ok(()) };
    if batch.tail == BatchTail::Pad || least_rows(plan) > BATCHES * u128::from(rows) {
        return Ok(());
    }
    let opened = OpenPlan::open(corpora, planned, OpenPurpose::Count, interrupt)?;
    let sampler = BatchSampler::of(plan);
    EpochIndex::first_with_rows(&opened, &sampler, interrupt).map(|_| ())
}

/// The approximate rows of an epoch: in proportion to its share of each pass, rounded up.
fn about_rows(plan: &PlanHeader) -> u128 {
    let of_source = |source: &PlannedSource| {
        let rows = u128::from(source.rows) * u128::from(source.expected);
        rows.div_ceil(source.amount.max(1).into())
    };
    plan.sources.iter().map(of_source).sum()
}

/// An approximate lower bound of the rows of an epoch: those of the first passes, and for the rest as many as its
/// tokens fill. The first pass of an extension may have many short rows, and the passes behind it few long ones.
fn least_rows(plan: &PlanHeader) -> u128 {
    let of_source = |source: &PlannedSource| {
        let beyond = u128::from(source.expected.saturating_sub(source.amount));
        if beyond == 0 {
            let rows = u128::from(source.rows) * u128::from(source.expected);
            return rows / u128::from(source.amount.max(1));
        }
        let further = match plan.recipe.mix.unit {
            MixUnit::Tokens | MixUnit::LossTokens => beyond / u128::from(plan.capacity.max(1)),
            MixUnit::Rows => beyond,
            MixUnit::Documents => 0,
        };
        u128::from(source.rows) + further
    };
    plan.sources.iter().map(of_source).sum()
}

/// An order that needs every row in memory has room for them.
pub(super) fn check_memory(
    recipe: &Recipe,
    selections: &[(String, RoaringTreemap)],
    memory: u64,
) -> Result<(), EpochError> {
    let in_memory = |grouped: LengthGrouped| grouped.exact.is_some() || grouped.window.is_some();
    let in_memory = recipe.order.length_grouped.is_some_and(in_memory);
    let rows: u64 = selections.iter().map(|(_, selection)| selection.len()).sum();
    if in_memory && rows.saturating_mul(EXACT_ROW_BYTES) > memory {
        return Err(EpochError::Recipe(format!(
            "length_grouped.exact and window keep all {rows} documents in memory, {EXACT_ROW_BYTES} bytes each, more than the {memory} allowed: leave them out, or raise `memory=`"
        )));
    }
    Ok(())
}

/// Rows that are put in order together have room in memory.
pub(super) fn check_window(plan: &PlanHeader, memory: u64) -> Result<(), EpochError> {
    let rows = about_rows(plan).min(BatchSampler::of(plan).window.into());
    if rows * u128::from(EXACT_ROW_BYTES) <= memory.into() {
        return Ok(());
    }
    Err(EpochError::Recipe(format!(
        "{rows} rows are put in order together, {EXACT_ROW_BYTES} bytes each, more than the {memory} allowed: lower order.length_grouped.mega_batch_mult, batch.rows or batch.max_tokens, or raise `memory=`"
    )))
}

/// Refuses a plan whose rows the format cannot hold as they are.
///
/// # Errors
/// [`EpochError::PadNeeded`]; those of the format.
pub(super) fn check_padding(plan: &PlanHeader) -> Result<(), EpochError> {
    check_output(plan)?;
    let format = plan.recipe.output.format;
    if !plan.recipe.output.file_format().needs_equal_rows()
        || !plan.fixed_length()
        || plan.pad().is_some()
    {
        return Ok(());
    }
    match plan.sources.iter().find(|source| source.full_rows < source.rows) {
        None => Ok(()),
        Some(source) => Err(EpochError::PadNeeded {
            format: format.name(),
            name: source.name.clone(),
            rows: source.rows - source.full_rows,
        }),
    }
}
