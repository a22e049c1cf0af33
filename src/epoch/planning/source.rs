//! What a plan says of one source: its documents, tokens and rows, counted.

use crate::corpus::Corpora;
use crate::epoch::coverage::PinnedSource;
use crate::epoch::error::EpochError;
use crate::epoch::lengths::{LengthReader, LossReader};
use crate::epoch::pack::{LengthHistogram, PackLosses, PackPolicy};
use crate::epoch::plan::{PinnedTokenizer, PlannedSource, long_name, ratio, rules};
use crate::epoch::recipe::{PackKind, Recipe, SourceRecipe};
use crate::epoch::rows::{OpenPurpose, PassCount, SourceRows};
use crate::model::{Interrupt, TokenizerId};
use std::sync::Arc;

/// What the sources of a plan are planned with.
pub(super) struct SourceInputs<'a> {
    pub recipe: &'a Recipe,
    pub tokenizer: TokenizerId,
    pub pinned: &'a PinnedTokenizer,
    /// Documents of the source by stored tokens, where every pass holds each of them once.
    pub known: Option<Arc<LengthHistogram>>,
    pub interrupt: &'a Interrupt,
}

/// The rows of a source that passes hold so, opened to be counted.
///
/// # Errors
/// [`EpochError::NotEncoded`]; [`EpochError::Store`].
pub(super) fn open_source(
    corpora: &Corpora,
    inputs: &SourceInputs<'_>,
    source: &SourceRecipe,
    documents: &Arc<PinnedSource>,
    trained: &LossReader,
) -> Result<SourceRows, EpochError> {
    let specials = &inputs.pinned.specials;
    let rules = rules(inputs.recipe, Some(source), &source.name, specials, Vec::new());
    let lengths = LengthReader {
        corpora: corpora.clone(),
        tokenizer: inputs.tokenizer,
        tokenizer_name: inputs.pinned.name.as_str().into(),
        overhead: rules.policy.overhead(),
        known: inputs.known.clone(),
        interrupt: inputs.interrupt.clone(),
        sharing: documents.sets().saturating_mul(inputs.recipe.sources.len()),
    };
    SourceRows::open(rules, &lengths, Arc::clone(documents), trained, OpenPurpose::Count)
}

/// What a plan says of a source whose first pass comes to `first`.
///
/// # Errors
/// [`EpochError::Empty`] when no row comes of it; [`EpochError::Store`].
pub(super) fn plan_source(
    source: &SourceRecipe,
    opened: &SourceRows,
    first: &PassCount,
) -> Result<PlannedSource, EpochError> {
    let (policy, documents) = (opened.rules().policy, opened.pinned());
    let later = opened.count_later(first)?;
    let histogram = opened.histogram(0);
    let parts = documents.strata_of(0).flat_map(|of| of.parts.segments());
    let (mut effective, mut added) = (0_u64, 0_u64);
    for (length, count) in &histogram {
        effective += u64::from(*length) * count;
        added += u64::from(policy.overhead()) * count;
    }
    for part in parts {
        effective += u64::from(part.length);
        added += u64::from(policy.bos && part.offset == 0);
        added += u64::from(policy.eos && part.end() == part.document_length);
    }
    let all = documents.documents().len();
    let partial_tokens = opened.unfilled_tokens(0);
    check_rows(source, &policy, all, first.tokens, partial_tokens)?;
    let space = u128::from(first.rows) * u128::from(policy.capacity);
    let fixed = policy.kind != PackKind::None;
    Ok(PlannedSource {
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
        later_amount: later.first().map_or(0, |run| run.amount),
        later_amounts: if later.len() > 1 { later } else { Vec::new() },
        first_joined: false,
        weight: 0,
        expected: 0,
        max_repeats: source.max_repeats,
        opens: Vec::new(),
        selection: documents.digest(),
        histogram: opened.lengths_digest(),
    })
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
