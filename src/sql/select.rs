//! Selects or counts the documents for which a SQL boolean expression is true; by the indexes alone where they suffice.

use super::expression::{ConditionAnswer, SqlExpression};
use crate::sql::documents::filter::{ResolvedPredicate, StoredBlock};
use crate::sql::documents::predicate::Predicate;
use crate::sql::error::SqlError;
use crate::sql::syntax::parameters::SqlParameters;
use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use model::{BLOCK_SIZE, Context};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use roaring::{RoaringBitmap, RoaringTreemap};
use store::View;

/// The documents, kept or not, that satisfy a SQL boolean expression over `documents`. It blocks; do not call it on a
/// thread that drives an async runtime.
///
/// # Errors
/// [`SqlError::Where`] for an expression that cannot be used, with the columns there are; [`SqlError::Interrupted`];
/// [`SqlError`] for what fails while it runs.
pub fn select(
    view: &View,
    expression: &str,
    context: &Context<'_>,
) -> Result<RoaringTreemap, SqlError> {
    let condition = SqlExpression::parse(view, expression, &SqlParameters::default())?;
    documents(view, condition, context)
}

/// The documents for which a SQL boolean expression over `documents` is null. It blocks as [`select`] does.
///
/// # Errors
/// As [`select`].
pub(crate) fn select_nulls(
    view: &View,
    expression: &str,
    context: &Context<'_>,
) -> Result<RoaringTreemap, SqlError> {
    let condition = SqlExpression::parse(view, expression, &SqlParameters::default())?;
    documents(view, condition.is_null(), context)
}

/// The documents that satisfy a condition on those of the same view. It blocks as [`select`] does.
///
/// # Errors
/// As [`select`].
pub(super) fn documents(
    view: &View,
    condition: SqlExpression,
    context: &Context<'_>,
) -> Result<RoaringTreemap, SqlError> {
    let mut found = RoaringTreemap::new();
    match condition.matches(context.interrupt)? {
        ConditionAnswer::Index(predicate) => {
            let of_block = |block, slots| (block * BLOCK_SIZE, slots);
            for (base, slots) in by_block(view, &predicate, of_block, context)? {
                // Blocks come in order, so every id is larger than all before it.
                let _ = found.append(slots.iter().map(|slot| base + u64::from(slot)));
            }
        }
        ConditionAnswer::Engine(rows) => {
            for batch in rows {
                let batch = batch?;
                let ids = batch.columns().first();
                let ids = ids.and_then(|ids| ids.as_primitive_opt::<UInt64Type>());
                found.extend(ids.into_iter().flat_map(|ids| ids.values()));
            }
        }
    }
    Ok(found)
}

/// How many documents satisfy a condition on those of the same view; none is examined when the indexes can answer. It
/// blocks as [`select`] does.
///
/// # Errors
/// As [`select`].
pub(super) fn count(
    view: &View,
    condition: SqlExpression,
    context: &Context<'_>,
) -> Result<u64, SqlError> {
    match condition.matches(context.interrupt)? {
        ConditionAnswer::Index(predicate) => {
            let counts = by_block(view, &predicate, |_, slots| slots.len(), context)?;
            Ok(counts.iter().sum())
        }
        ConditionAnswer::Engine(mut rows) => {
            rows.try_fold(0, |sum, batch| Ok(sum + batch?.num_rows() as u64))
        }
    }
}

/// What `of` makes of the documents of each block, in the order of blocks.
fn by_block<T: Send>(
    view: &View,
    predicate: &Predicate,
    of: impl Fn(u64, RoaringBitmap) -> T + Sync,
    context: &Context<'_>,
) -> Result<Vec<T>, SqlError> {
    let test = ResolvedPredicate::resolve(predicate, view)?;
    let of_block = |block| {
        context.check_interrupt()?;
        Ok(of(block, test.select(&StoredBlock::new(view, block))?))
    };
    test.blocks(view.blocks()).into_par_iter().map(of_block).collect()
}
