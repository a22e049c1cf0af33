//! Opens a plan, and proves that the store still holds what it pins: lengths are scanned, digests compared.

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::lengths::{LengthReader, LossReader};
use crate::epoch::mix::Fluid;
use crate::epoch::plan::{
    Plan, PlanHeader, check_shards, masks, pass_tokenizers, pinned_tokenizer,
};
use crate::epoch::rows::{OpenPurpose, RowRef, SourceRows};
use model::{Interrupt, Standing, TokenizerId};
use roaring::RoaringTreemap;
use std::sync::Arc;

/// A plan with its sources ready to give rows; cheap to share between threads.
pub(in crate::epoch) struct OpenPlan {
    pub plan: Arc<PlanHeader>,
    pub corpora: Corpora,
    /// That of the first pass.
    pub tokenizer: TokenizerId,
    /// That of each pass and what it says is trained on, where each has ids of its own.
    draws: Vec<(TokenizerId, LossReader)>,
    pub sources: Vec<Arc<SourceRows>>,
    /// What the documents of the plan say is trained on, whether it is ignored or not.
    pub trained: LossReader,
    /// What each source is due at any moment of the run.
    pub fluid: Arc<Fluid>,
    /// The number under which the plan is stored, where its stored marks are to be believed.
    pub stored: Option<u32>,
}

impl OpenPlan {
    /// Whether rows come in an order that needs them all in memory, another sampler's.
    pub fn is_listed(&self) -> bool {
        let grouped = self.plan.recipe.order.length_grouped;
        grouped.is_some_and(|grouped| grouped.exact.is_some())
    }

    /// Whether written and given rows mark tokens that are not trained on.
    pub fn masked(&self) -> bool {
        self.trained.any() && !self.plan.recipe.output.ignore_loss
    }

    /// The source of a row of the run.
    ///
    /// # Errors
    /// [`EpochError::Bug`] for a row of another plan.
    pub fn source(&self, row: &RowRef) -> Result<&SourceRows, EpochError> {
        let source = self.sources.get(row.source).map(Arc::as_ref);
        source.ok_or_else(|| EpochError::bug("a row of no source"))
    }

    /// The tokenizer whose ids the rows of a pass have.
    pub fn tokenizer_in(&self, pass: u32) -> TokenizerId {
        self.draw(pass).map_or(self.tokenizer, |(tokenizer, _)| *tokenizer)
    }

    /// What the documents say is trained on in a pass.
    pub fn trained_in(&self, pass: u32) -> &LossReader {
        self.draw(pass).map_or(&self.trained, |(_, trained)| trained)
    }

    /// Whether each pass has ids of its own.
    pub fn has_draws(&self) -> bool {
        !self.draws.is_empty()
    }

    fn draw(&self, pass: u32) -> Option<&(TokenizerId, LossReader)> {
        usize::try_from(pass).ok().and_then(|pass| self.draws.get(pass))
    }

    /// The documents of the plan, each once.
    pub fn documents(&self) -> RoaringTreemap {
        let sources = self.sources.iter().map(|source| source.pinned().documents());
        sources.fold(RoaringTreemap::new(), |all, of| all | of)
    }

    /// Opens the sources of a plan.
    ///
    /// # Errors
    /// [`EpochError::Stale`] when tokenizer, documents or lengths are not those of the plan; [`EpochError::Interrupted`].
    pub fn open(
        corpora: &Corpora,
        planned: &Plan,
        purpose: OpenPurpose,
        interrupt: &Interrupt,
    ) -> Result<Arc<Self>, EpochError> {
        let Plan { plan, pinned, stored } = planned;
        corpora.expect(plan.shards.len() + 1)?;
        // A purged document has no text any more by which its corpus is recognised.
        refuse_purged(corpora, planned)?;
        check_shards(corpora, planned)?;
        let name = &plan.tokenizer.name;
        let tokenizer = pinned_tokenizer(corpora, &plan.tokenizer).map_err(EpochError::Stale)?;
        let draws = pass_tokenizers(corpora, &plan.tokenizer).map_err(EpochError::Stale)?;
        let tokenizer = draws.first().map_or(tokenizer, |first| first.id);
        let mut trained = LossReader::of(
            corpora,
            tokenizer,
            (plan.tokenizer.specials, plan.recipe.pack.cut_eos),
        )?;
        if trained.any() {
            let documents = masks::documents(pinned);
            trained = trained.with_spans(masks::any(corpora, tokenizer, &documents)?);
        }
        let sets: usize = pinned.iter().map(|pinned| pinned.sets()).sum();
        let sharing = sets.saturating_mul(draws.len().max(1));
        let mut sources = Vec::new();
        for (at, source) in plan.sources.iter().enumerate() {
            let found = pinned.iter().find(|pinned| pinned.name == source.name);
            let found = found.ok_or_else(|| {
                EpochError::Stale(format!("the documents of source `{}` are gone", source.name))
            })?;
            if found.digest() != source.selection {
                let why = format!("source `{}` has other documents", source.name);
                return Err(EpochError::Stale(why));
            }
            let rules = plan.rules(at);
            let lengths = LengthReader {
                corpora: corpora.clone(),
                tokenizer,
                tokenizer_name: name.as_str().into(),
                draws: Arc::clone(&draws),
                overhead: rules.policy.overhead(),
                known: None,
                sharing,
                interrupt: interrupt.clone(),
            };
            let opened = SourceRows::open(rules, &lengths, Arc::clone(found), &trained, purpose)?;
            if opened.lengths_digest() != source.histogram {
                return Err(EpochError::Stale(format!(
                    "documents of source `{}` have other lengths",
                    source.name
                )));
            }
            sources.push(Arc::new(opened));
        }
        let fluid = Arc::new(plan.fluid()?);
        let plan = Arc::new(plan.clone());
        let (corpora, stored) = (corpora.clone(), *stored);
        let draws = draws.iter().map(|of| (of.id, trained.by(of.id))).collect();
        Ok(Arc::new(Self { plan, corpora, tokenizer, draws, sources, trained, fluid, stored }))
    }
}

/// Refuses a plan that would train on purged documents, and one whose recipe is redacted.
pub(crate) fn refuse_purged(corpora: &Corpora, planned: &Plan) -> Result<(), EpochError> {
    if planned.is_redacted() {
        return Err(EpochError::Redacted);
    }
    let purged = corpora.documents_standing(Standing::Purged)?;
    if purged.is_empty() {
        return Ok(());
    }
    let documents = planned.count_drawn(&purged);
    if documents == 0 { Ok(()) } else { Err(EpochError::Purged { documents }) }
}
