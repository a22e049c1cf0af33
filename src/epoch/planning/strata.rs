//! Classes of documents of like difficulty: quantiles of a number, easiest first.

use super::surprisal::surprisals;
use crate::epoch::error::EpochError;
use crate::epoch::keyed;
use crate::epoch::recipe::Curriculum;
use crate::model::TokenizerId;
use crate::query::numbers;
use crate::store::View;
use roaring::RoaringTreemap;

/// Values that quantiles are taken from, at most: 32 MiB of them.
const SAMPLED: u64 = 1 << 22;

/// `selection` in strata of about as many documents each, easiest first. Equal values share a stratum;
/// empty strata are left out.
///
/// # Errors
/// [`EpochError::Recipe`] when a document has no value; [`EpochError::Select`]; [`EpochError::Store`].
pub(super) fn strata(
    view: &View,
    tokenizer: TokenizerId,
    curriculum: &Curriculum,
    source: &str,
    selection: &RoaringTreemap,
) -> Result<Vec<RoaringTreemap>, EpochError> {
    let each = |each: &mut dyn FnMut(u64, Option<f64>)| -> Result<(), EpochError> {
        if curriculum.by == "surprisal" {
            return surprisals(view, tokenizer, selection, each);
        }
        Ok(numbers(view, &curriculum.by, each)?)
    };
    let rate = SAMPLED as f64 / selection.len().max(1) as f64;
    let mut values: Vec<f64> = Vec::new();
    let (mut missing, mut example) = (0_u64, u64::MAX);
    each(&mut |id, value| {
        if !selection.contains(id) {
            return;
        }
        match value {
            // By the document, not by the order of arrival, so that the sample is always the same.
            Some(value) if rate >= 1.0 || keyed::share("strata", 0, &id.to_le_bytes()) < rate => {
                values.push(value);
            }
            Some(_) => {}
            None => {
                missing += 1;
                example = example.min(id);
            }
        }
    })?;
    if missing > 0 {
        return Err(EpochError::Recipe(format!(
            "order.curriculum.by = \"{}\" is no number for {missing} documents of source `{source}` (document {example} is one); leave them out with where, or use coalesce(...)",
            curriculum.by
        )));
    }
    values.sort_unstable_by(f64::total_cmp);
    let mut cuts: Vec<f64> = Vec::new();
    for stratum in 1..curriculum.strata as usize {
        let at = values.len() * stratum / curriculum.strata as usize;
        cuts.extend(values.get(at).copied());
    }
    drop(values);
    let mut strata = vec![RoaringTreemap::new(); cuts.len() + 1];
    each(&mut |id, value| {
        let Some(value) = value.filter(|_| selection.contains(id)) else { return };
        let at = cuts.partition_point(|cut| cut.total_cmp(&value).is_le());
        if let Some(stratum) = strata.get_mut(at) {
            stratum.insert(id);
        }
    })?;
    strata.retain(|stratum| !stratum.is_empty());
    if curriculum.descending {
        strata.reverse();
    }
    Ok(strata)
}
