//! Makes the passes of a source from its documents: strata, copies, fragments, and what a parent plan left.

use super::PlanInputs;
use super::paragraph::{TokenAligner, fragments, in_order};
use super::strata::strata;
use crate::epoch::error::EpochError;
use crate::epoch::lengths::{LengthReader, blocks_of};
use crate::epoch::pack::PackPolicy;
use crate::epoch::permutation::coin;
use crate::epoch::plan::{PinnedPool, PinnedSource, PinnedStratum, PinnedTokenizer, policy};
use crate::epoch::recipe::{LongDocuments, PackKind, Recipe, SourceRecipe};
use crate::epoch::run::Remainder;
use crate::model::{DocId, TokenizerId};
use roaring::RoaringTreemap;
use std::collections::BTreeMap;

/// Copies of a document in one pass, at most.
const COPIES: usize = 1000;

/// What passes are made from, besides the documents of a source.
pub(super) struct PassBuilder<'a> {
    against: &'a PlanInputs<'a>,
    tokenizer: TokenizerId,
    pinned: &'a PinnedTokenizer,
    /// Layer `k`: documents that come more than `k + 1` times a pass, and those that never do.
    copies: Option<(Vec<RoaringTreemap>, RoaringTreemap)>,
    /// By source, under a curriculum.
    strata: Option<BTreeMap<String, Vec<RoaringTreemap>>>,
    remainder: Option<&'a Remainder>,
}

impl<'a> PassBuilder<'a> {
    /// # Errors
    /// [`EpochError::Recipe`] for a `repeat` that is not a number of copies; [`EpochError::Select`].
    pub fn new(
        against: &'a PlanInputs<'a>,
        recipe: &Recipe,
        tokenizer: TokenizerId,
        pinned: &'a PinnedTokenizer,
        remainder: Option<&'a Remainder>,
        selections: &[(String, RoaringTreemap)],
    ) -> Result<Self, EpochError> {
        let copies = match &recipe.select.repeat {
            Some(expression) => Some(copies(against, recipe.seed, expression)?),
            None => None,
        };
        let curriculum = recipe.order.curriculum.as_ref();
        let by = |curriculum| strata(against.corpora, tokenizer, curriculum, selections);
        let strata = curriculum.map(by).transpose()?;
        Ok(Self { against, tokenizer, pinned, copies, strata, remainder })
    }

    /// What the passes of a source over `selection` hold; with `anew`, the first is whole even if a parent plan goes
    /// before.
    ///
    /// # Errors
    /// [`EpochError::NotEncoded`]; [`EpochError::Recipe`]; [`EpochError::Select`]; [`EpochError::Store`].
    pub fn source(
        &self,
        recipe: &Recipe,
        source: &SourceRecipe,
        selection: &RoaringTreemap,
        anew: bool,
    ) -> Result<PinnedSource, EpochError> {
        let policy = policy(recipe, Some(source), &self.pinned.specials);
        let strata = match &self.strata {
            Some(strata) => strata.get(&source.name).cloned().unwrap_or_default(),
            None => vec![selection.clone()],
        };
        let mut pinned = PinnedSource { name: source.name.clone(), strata: Vec::new() };
        for documents in strata {
            let whole = self.layers(&documents);
            let mut pools = Vec::new();
            let remainder = self.remainder.filter(|_| !anew);
            if let Some(remainder) = remainder {
                let left = remainder.left(&documents, &whole);
                pools.push(self.pool(&policy, left)?);
            }
            if remainder.is_none() || source.max_repeats > 1 {
                pools.push(self.pool(&policy, PinnedPool { layers: whole, fragments: vec![] })?);
            }
            pinned.strata.push(PinnedStratum { pools });
        }
        // A stratum that only later passes have anything of would end each first pass at once.
        let empty = |stratum: &PinnedStratum| {
            let empty = |pool: &PinnedPool| pool.layers.is_empty() && pool.fragments.is_empty();
            stratum.pools.iter().all(empty)
        };
        pinned.strata.retain(|stratum| !empty(stratum));
        Ok(pinned)
    }

    /// The documents as often as they come.
    fn layers(&self, documents: &RoaringTreemap) -> Vec<RoaringTreemap> {
        let mut layers = vec![documents.clone()];
        if let Some((more, never)) = &self.copies {
            layers = vec![documents - never];
            layers.extend(more.iter().map(|layer| layer & documents));
        }
        while layers.last().is_some_and(RoaringTreemap::is_empty) {
            layers.pop();
        }
        layers
    }

    /// Cuts what is longer than a row and what is cut by hand.
    fn pool(&self, policy: &PackPolicy, mut pool: PinnedPool) -> Result<PinnedPool, EpochError> {
        if policy.kind != PackKind::Concat {
            pool.fragments =
                pool.fragments.iter().flat_map(|part| part.cut(policy.capacity)).collect();
        }
        if policy.long == LongDocuments::Paragraph {
            let ends = self.against.ends.ok_or_else(|| {
                EpochError::Recipe(
                    "long = \"paragraph\" needs the tokenizer to tell where tokens end".to_owned(),
                )
            })?;
            self.cut_paragraphs(policy, ends, &mut pool)?;
        }
        pool.fragments.sort_unstable();
        while pool.layers.last().is_some_and(RoaringTreemap::is_empty) {
            pool.layers.pop();
        }
        Ok(pool)
    }

    /// Moves documents longer than a row from the layers to the fragments.
    fn cut_paragraphs(
        &self,
        policy: &PackPolicy,
        ends: &dyn TokenAligner,
        pool: &mut PinnedPool,
    ) -> Result<(), EpochError> {
        let lengths = LengthReader {
            corpora: self.against.corpora.clone(),
            tokenizer: self.tokenizer,
            tokenizer_name: self.pinned.name.as_str().into(),
            overhead: policy.overhead(),
            known: None,
            sharing: 1,
        };
        for layer in &mut pool.layers {
            let mut long = RoaringTreemap::new();
            for (block, _) in blocks_of(layer) {
                let mut longer = Vec::new();
                for (slot, length) in lengths.of(layer, block)? {
                    if length > policy.capacity {
                        let document = DocId::at(block, slot);
                        long.insert(document.0);
                        longer.push((document, length));
                    }
                }
                let cut = in_order(&longer, |(document, length)| {
                    let measure = (length, policy.capacity);
                    fragments(&lengths, ends, policy.bos, document, measure)
                })?;
                pool.fragments.extend(cut.into_iter().flatten());
            }
            *layer -= long;
        }
        Ok(())
    }
}

fn copies(
    against: &PlanInputs<'_>,
    seed: u64,
    expression: &str,
) -> Result<(Vec<RoaringTreemap>, RoaringTreemap), EpochError> {
    let mut more: Vec<RoaringTreemap> = Vec::new();
    let mut never = RoaringTreemap::new();
    let mut wrong: Option<(u64, Option<f64>)> = None;
    against.corpora.numbers(expression, |id, value| {
        if !against.kept.contains(id) {
            return;
        }
        let Some(times) = value.filter(|times| (0.0..=COPIES as f64).contains(times)) else {
            if wrong.is_none_or(|(before, _)| id < before) {
                wrong = Some((id, value));
            }
            return;
        };
        let once_more = coin("repeat", seed, &id.to_le_bytes()) < times.fract();
        // Between 0 and COPIES, so the cast keeps it.
        let times = times as usize + usize::from(once_more);
        if times == 0 {
            never.insert(id);
        }
        for layer in 1..times {
            if more.len() < layer {
                more.push(RoaringTreemap::new());
            }
            if let Some(layer) = more.get_mut(layer - 1) {
                layer.insert(id);
            }
        }
    })?;
    match wrong {
        Some((id, value)) => Err(EpochError::Recipe(format!(
            "select.repeat is {} for document {id}; it must be a number from 0 to {COPIES}",
            value.map_or("not a number".to_owned(), |value| value.to_string())
        ))),
        None => Ok((more, never)),
    }
}
