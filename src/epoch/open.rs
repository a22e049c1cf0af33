//! A plan opened against the store it was computed from: names become ids, digests are compared.

use super::documents::{Documents, digest, histogram_digest};
use super::error::EpochError;
use super::plan::Plan;
use super::rows::SourceRows;
use crate::model::TokenizerId;
use crate::store::View;
use roaring::RoaringTreemap;

/// What a plan's sources are opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Counting rows and tokens.
    Count,
    /// Giving rows.
    Give,
}

/// A plan with its sources ready.
pub(super) struct Opened<'a> {
    pub tokenizer: TokenizerId,
    pub sources: Vec<SourceRows<'a>>,
}

/// Opens the sources of `plan`.
///
/// # Errors
/// [`EpochError::Stale`] when tokenizer, documents or lengths are not those of the plan.
pub(super) fn open<'a>(
    view: &'a View,
    plan: &'a Plan,
    selections: &'a [(String, RoaringTreemap)],
    purpose: Purpose,
) -> Result<Opened<'a>, EpochError> {
    let name = &plan.tokenizer.name;
    let (tokenizer, record) = view
        .tokenizer_named(name)
        .ok_or_else(|| EpochError::Stale(format!("tokenizer `{name}` is gone")))?;
    if blake3::Hash::from_bytes(record.hash).to_hex().as_str() != plan.tokenizer.hash {
        return Err(EpochError::Stale(format!("tokenizer `{name}` has another file")));
    }
    let mut sources = Vec::new();
    for source in &plan.sources {
        let selection = selections
            .iter()
            .find(|(name, _)| *name == source.name)
            .map(|(_, selection)| selection);
        let selection = selection.ok_or_else(|| {
            EpochError::Stale(format!("the documents of source `{}` are gone", source.name))
        })?;
        if digest(selection) != source.selection {
            return Err(EpochError::Stale(format!("source `{}` has other documents", source.name)));
        }
        let rules = plan.rules(source);
        let documents = Documents {
            view,
            tokenizer,
            tokenizer_name: name,
            selection,
            overhead: rules.policy.overhead(),
        };
        let (rows, histogram) = match purpose {
            Purpose::Count => SourceRows::to_count(rules, documents)?,
            Purpose::Give => SourceRows::to_give(rules, documents)?,
        };
        if histogram_digest(&histogram) != source.histogram {
            return Err(EpochError::Stale(format!(
                "documents of source `{}` have other lengths",
                source.name
            )));
        }
        sources.push(rows);
    }
    Ok(Opened { tokenizer, sources })
}
