//! Selects the documents of an export.

use super::options::ExportOptions;
use crate::sql::{Dependence, dependence, kept_in, select};
use model::{BLOCK_SIZE, Context, DocId, Error, Standing};
use roaring::RoaringTreemap;
use serde::Serialize;
use store::{View, system_fields};

/// An estimate of what an export would write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ExportEstimate {
    /// Documents, or removed ones with a witness.
    pub documents: u64,
    /// Bytes of their texts, uncompressed.
    pub text_bytes: u64,
}

/// How many documents an export would write, and how long their texts are.
///
/// # Errors
/// [`Error`] when options do not go together or the condition is wrong.
pub fn estimate(
    view: &View,
    options: &ExportOptions,
    context: &Context<'_>,
) -> Result<ExportEstimate, Error> {
    let documents = selected(view, options, context)?;
    Ok(ExportEstimate { documents: documents.len(), text_bytes: text_bytes(view, &documents)? })
}

/// Bytes of the texts of documents.
pub(super) fn text_bytes(view: &View, documents: &RoaringTreemap) -> Result<u64, Error> {
    let mut sum = 0_u64;
    for block in view.blocks() {
        let base = block * BLOCK_SIZE;
        let mut inside = documents.iter();
        inside.advance_to(base);
        let mut inside = inside.take_while(|id| *id < base + BLOCK_SIZE).peekable();
        if inside.peek().is_none() {
            continue;
        }
        let bytes = view.column_block(system_fields::BYTES, block)?;
        for id in inside {
            sum = sum.saturating_add(bytes.expect(system_fields::BYTES, DocId(id))?);
        }
    }
    Ok(sum)
}

/// The documents of an export.
pub(super) fn selected(
    view: &View,
    options: &ExportOptions,
    context: &Context<'_>,
) -> Result<RoaringTreemap, Error> {
    if options.all && options.snapshot.is_some() {
        return Err(Error::bad_input(
            "a snapshot has kept documents only: leave out `all=` or `snapshot=`".to_owned(),
        ));
    }
    if let Some(condition) = &options.condition {
        check_condition(view, condition, options.snapshot.as_deref())?;
    }
    let base = match &options.snapshot {
        Some(name) => Some(kept_in(view, name)?),
        None if options.duplicates => {
            let exact = view.documents_standing(Standing::Exact)?;
            Some(exact | view.documents_standing(Standing::Near)?)
        }
        None if options.all => None,
        None => Some(view.kept()?),
    };
    Ok(match (base, &options.condition) {
        (Some(base), None) => base,
        (Some(base), Some(condition)) => base & select(view, condition, context)?,
        (None, Some(condition)) => select(view, condition, context)?,
        (None, None) => (0..view.documents()).collect(),
    })
}

/// Refuses values that differ at each call, and beside a snapshot values of this moment: an export that is repeated
/// has the same bytes.
fn check_condition(view: &View, condition: &str, snapshot: Option<&str>) -> Result<(), Error> {
    let Dependence { present, chance, .. } = dependence(view, condition)?;
    if let Some(chance) = chance {
        return Err(Error::bad_input(format!(
            "the condition uses {chance}, which returns another value each time: a continued export would have other documents; write a fixed value, or take a part with `id % 10 = 0`"
        )));
    }
    match (present, snapshot) {
        (Some(present), Some(name)) => Err(Error::bad_input(format!(
            "the condition uses {present}, which has today's values and not those of the snapshot `{name}`: use columns of the document itself (all documents of a snapshot are kept), or leave out `snapshot=`"
        ))),
        _ => Ok(()),
    }
}
