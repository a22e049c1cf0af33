//! Which documents are on the asked side of the border between training and validation.

use super::moment::PlanMoment;
use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::permutation::coin;
use crate::epoch::recipe::{Holdout, HoldoutSide};
use crate::store::TOO_MANY_ROOTS;
use roaring::RoaringTreemap;

/// The documents of `base` on the side that the holdout takes, told by keyed coins of groups alone, so
/// that no later ingest moves the border; and those on neither side.
///
/// A group of clusters is a lineage, told by its root: the document that came first of those whose place
/// was taken since. Where two lineages met and their coins differ, what has both is on neither side: it is
/// like something trained on before and like something held out before.
///
/// # Errors
/// [`EpochError::Select`]; [`EpochError::Store`].
pub(super) fn divide(
    corpora: &Corpora,
    moment: &PlanMoment,
    holdout: &Holdout,
    base: &RoaringTreemap,
) -> Result<(RoaringTreemap, RoaringTreemap), EpochError> {
    let is_held = |group: &[u8]| coin("holdout", holdout.seed, group) < holdout.share;
    let wanted = |held: bool| held == (holdout.take == HoldoutSide::Holdout);
    let mut of_lineage = base.clone();
    let mut side = RoaringTreemap::new();
    if !matches!(holdout.by.as_str(), "cluster" | "document") {
        corpora.texts(&holdout.by, |id, value| {
            // A document without a value goes by its lineage.
            if let Some(group) = value
                && of_lineage.remove(id)
                && wanted(is_held(group.as_bytes()))
            {
                side.insert(id);
            }
        })?;
    }
    // Documents with a root on the wanted side, and with one on the other side.
    let (mut here, mut there) = (RoaringTreemap::new(), RoaringTreemap::new());
    corpora.lineages_at(moment, |document, root| {
        if !of_lineage.contains(document.0) {
            return;
        }
        if root == TOO_MANY_ROOTS || wanted(is_held(&root.0.to_le_bytes())) {
            here.insert(document.0);
        }
        if root == TOO_MANY_ROOTS || !wanted(is_held(&root.0.to_le_bytes())) {
            there.insert(document.0);
        }
    })?;
    let alone = of_lineage - &here - &there;
    side.extend(alone.iter().filter(|id| wanted(is_held(&id.to_le_bytes()))));
    side |= &here - &there;
    Ok((side, here & there))
}
