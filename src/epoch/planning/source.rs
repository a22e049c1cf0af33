//! What a plan says of one source: its documents, tokens and rows, counted.

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::lengths::{LengthReader, LossReader};
use crate::epoch::pack::{LengthHistogram, PackLosses, PackPolicy};
use crate::epoch::plan::{PinnedSource, PinnedTokenizer, PlannedSource, long_name, ratio, rules};
use crate::epoch::recipe::{PackKind, Recipe, SourceRecipe};
use crate::epoch::rows::{OpenPurpose, SourceRows};
use crate::model::TokenizerId;
use std::sync::Arc;

/// What the sources of a plan are planned with.
pub(super) struct SourceInputs<'a> {
    pub recipe: &'a Recipe,
    pub tokenizer: TokenizerId,
    pub pinned: &'a PinnedTokenizer,
    /// Documents of the source by stored tokens, where every pass holds each of them once.
    pub known: Option<Arc<LengthHistogram>>,
}

/// What a plan says of a source, and its rows, opened to be counted.
///
/// # Errors
/// [`EpochError::Empty`] when no row comes of it; [`EpochError::NotEncoded`]; [`EpochError::Store`].
pub(super) fn plan_source(
    corpora: &Corpora,
    basis: &SourceInputs<'_>,
    source: &SourceRecipe,
    documents: &Arc<PinnedSource>,
    trained: &LossReader,
) -> Result<(PlannedSource, SourceRows), EpochError> {
    let specials = &basis.pinned.specials;
    let rules = rules(basis.recipe, Some(source), &source.name, specials, Vec::new());
    let policy = rules.policy;
    let lengths = LengthReader {
        corpora: corpora.clone(),
        tokenizer: basis.tokenizer,
        tokenizer_name: basis.pinned.name.as_str().into(),
        overhead: policy.overhead(),
        known: basis.known.clone(),
        sharing: documents.sets().saturating_mul(basis.recipe.sources.len()),
    };
    let opened =
        SourceRows::open(rules, &lengths, Arc::clone(documents), trained, OpenPurpose::Count)?;
    let first = opened.count_first()?;
    let later_amount = opened.count_later(&first)?;
    let histogram = opened.histogram(0);
    let fragments = documents.strata.iter().filter_map(|stratum| stratum.pools.first());
    let fragments = fragments.flat_map(|pool| &pool.fragments);
    let (mut effective, mut added) = (0_u64, 0_u64);
    for (length, count) in &histogram {
        effective += u64::from(*length) * count;
        added += u64::from(policy.overhead()) * count;
    }
    for part in fragments {
        effective += u64::from(part.length);
        added += u64::from(policy.bos && part.offset == 0);
        added += u64::from(policy.eos && part.offset + part.length == part.document_length);
    }
    let all = documents.documents().len();
    let partial_tokens = opened.partial_tokens(0);
    check_rows(source, &policy, all, first.tokens, partial_tokens)?;
    let space = u128::from(first.rows) * u128::from(policy.capacity);
    let fixed = policy.kind != PackKind::None;
    let planned = PlannedSource {
        name: source.name.clone(),
        draws_from: Vec::new(),
        documents: all,
        tokens: effective - added,
        effective_tokens: effective,
        packed_tokens: first.tokens,
        losses: PackLosses { partial_tokens, ..policy.losses(&histogram) },
        rows: first.rows,
        full_rows: first.full_rows,
        efficiency: if fixed { ratio(first.tokens.into(), space) } else { 1.0 },
        amount: first.amount,
        later_amount,
        weight: 0,
        expected: 0,
        max_repeats: source.max_repeats,
        opens: Vec::new(),
        selection: documents.digest(),
        histogram: opened.lengths_digest(),
    };
    Ok((planned, opened))
}

/// Refuses a source without rows: `tokens` of its `all` documents are in rows, `partial_tokens` do not fill one.
fn check_rows(
    source: &SourceRecipe,
    policy: &PackPolicy,
    all: u64,
    tokens: u64,
    partial_tokens: u64,
) -> Result<(), EpochError> {
    if all == 0 {
        let why =
            "its passes are over and it has no new document; raise its max_repeats, or remove it";
        let what = format!("what is left of source `{}`", source.name);
        return Err(EpochError::Empty { what, why: why.to_owned() });
    }
    if tokens == 0 && partial_tokens > 0 {
        let why = format!(
            "its {partial_tokens} tokens fill no row of {}: lower pack.length, or declare tokenizer.specials.pad with pack.options.partial = \"keep\"",
            policy.capacity
        );
        return Err(EpochError::Empty { what: format!("source `{}`", source.name), why });
    }
    if tokens == 0 {
        let why = format!(
            "all {all} are longer than a row of {} tokens and pack.long is {}",
            policy.capacity,
            long_name(policy.long)
        );
        return Err(EpochError::Empty { what: format!("source `{}`", source.name), why });
    }
    Ok(())
}
