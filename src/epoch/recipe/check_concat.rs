//! Refuses settings of rows cut end to end that have no meaning, or none beside others.

use super::form::Recipe;
use super::mix::MixUnit;
use super::pack::{PackKind, PartialRow, RowTarget};
use crate::epoch::error::EpochError;

pub(super) fn check(recipe: &Recipe) -> Result<(), EpochError> {
    let (pack, options) = (&recipe.pack, &recipe.pack.options);
    let wrong = |message: &str| Err(EpochError::Recipe(message.to_owned()));
    if options.overlap && (pack.kind != PackKind::Concat || options.target != RowTarget::Extra) {
        return wrong(
            "pack.options.overlap = true begins each row with the last token of the one before: it needs \
             pack.kind = \"concat\" and pack.options.target = \"extra\"",
        );
    }
    if options.overlap && options.doc_multiple > 1 {
        return wrong(
            "pack.options.overlap = true repeats a single token, which pack.options.doc_multiple would fill up with \
             pads; leave one of them out",
        );
    }
    if options.partial.is_some() && pack.kind != PackKind::Concat {
        return wrong(
            "pack.options.partial concerns the one row of a pass that pack.kind = \"concat\" does not fill; leave it out",
        );
    }
    if options.partial != Some(PartialRow::Drop) {
        return Ok(());
    }
    if options.doc_multiple > 1 {
        return wrong(
            "pack.options.partial = \"drop\" leaves out tokens that do not fill a row, and with pack.options.doc_multiple rows have pads anyway; leave one of them out",
        );
    }
    if !counts_alike(recipe.mix.unit) {
        return wrong(
            "pack.options.partial = \"drop\" leaves out other documents in every pass, so passes would not count equally; use mix.unit = \"tokens\" or \"rows\", or declare tokenizer.specials.pad",
        );
    }
    Ok(())
}

/// Whether what is left out at the end of a pass counts the same in every pass.
pub(in crate::epoch) const fn counts_alike(unit: MixUnit) -> bool {
    matches!(unit, MixUnit::Tokens | MixUnit::Rows)
}
