//! Finds documents that say what of them is trained on and have too few labels in the rows of a plan.

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::pack::PackPolicy;
use crate::epoch::plan::{PlanHeader, policy};
use crate::epoch::recipe::{LongDocuments, Recipe, SpecialIds};
use model::{LossSpan, MaskRule, TokenizerId};
use roaring::RoaringTreemap;
use std::collections::BTreeMap;

/// Documents with fewer labels than asked for.
#[derive(Default)]
pub(super) struct FewLabels {
    /// By how many tokens of a document are packed at most.
    by_limit: BTreeMap<u32, RoaringTreemap>,
}

impl FewLabels {
    /// `select.min_trained` where a recipe does not name it. A tokenizer of an earlier rule draws all, as it did, so that
    /// the same recipe gives the same plan.
    pub(super) const LEAST: u64 = 1;

    /// Finds them in one scan of what documents say is trained on; nothing is read where no document says anything.
    pub(super) fn of(
        corpora: &Corpora,
        recipe: &Recipe,
        (tokenizer, specials): (TokenizerId, &SpecialIds),
    ) -> Result<Self, EpochError> {
        let mut tokenizers = corpora.first().tokenizers();
        let rule = tokenizers.find(|(id, _)| *id == tokenizer).map(|(_, record)| record.mask_rule);
        let default = if rule >= Some(MaskRule::Hold) { Self::LEAST } else { 0 };
        let least = recipe.select.min_trained.unwrap_or(default);
        if least == 0 || recipe.output.ignore_loss || !corpora.has_loss(tokenizer)? {
            return Ok(Self::default());
        }
        let limits =
            recipe.sources.iter().map(|source| limit(&policy(recipe, Some(source), specials)));
        let mut by_limit: BTreeMap<u32, RoaringTreemap> =
            limits.map(|limit| (limit, RoaringTreemap::new())).collect();
        for loss in corpora.all_losses(tokenizer)? {
            let (document, spans) = loss?;
            for (limit, few) in &mut by_limit {
                if labels(&spans, specials, *limit) < least {
                    few.insert(document.0);
                }
            }
        }
        Ok(Self { by_limit })
    }

    /// The documents that a plan leaves out; a plan that does not say so leaves out none.
    pub(super) fn of_plan(
        corpora: &Corpora,
        plan: &PlanHeader,
        tokenizer: TokenizerId,
    ) -> Result<Self, EpochError> {
        match plan.recipe.select.min_trained {
            None => Ok(Self::default()),
            Some(_) => Self::of(corpora, &plan.recipe, (tokenizer, &plan.tokenizer.specials)),
        }
    }

    /// Drops `documents` from these sets.
    pub(super) fn without(mut self, documents: &RoaringTreemap) -> Self {
        self.by_limit.values_mut().for_each(|few| *few -= documents);
        self
    }

    /// The documents that a source with this policy leaves out.
    pub(super) fn of_source(&self, policy: &PackPolicy) -> Option<&RoaringTreemap> {
        self.by_limit.get(&limit(policy)).filter(|few| !few.is_empty())
    }
}

/// Tokens of a document that are packed at most.
fn limit(policy: &PackPolicy) -> u32 {
    if policy.long == LongDocuments::Truncate { policy.step() } else { u32::MAX }
}

/// Labels among the first tokens of a document: trained tokens, of which the first of all is none. Where there is an EOS,
/// that may be trained with the first one, of a document of one token; then it counts.
fn labels(spans: &[LossSpan], specials: &SpecialIds, limit: u32) -> u64 {
    let bos = u32::from(specials.bos.is_some());
    let first = u32::from(specials.bos.is_none() && specials.eos.is_none());
    let label = |span: &LossSpan| {
        let place = |at: u32| at.saturating_add(bos).clamp(first, limit.max(first));
        u64::from(place(span.end) - place(span.start))
    };
    spans.iter().map(label).sum()
}
