//! The shape of a recipe: one file a table beside this one, every default beside its field.

use super::documents::{SelectRecipe, TokenizerRecipe};
use super::output::OutputRecipe;
use super::rows::BatchRecipe;
use super::rows::OrderRecipe;
use super::rows::PackRecipe;
use super::sources::MixRecipe;
use super::sources::SourceRecipe;
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// The user's description of epochs. [`Recipe::parse`] fills `source.from` and `mix.method`; planning makes a
/// [`ResolvedRecipe`] of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Version of the recipe's grammar: 1.
    pub version: u32,
    /// Name of the snapshot to draw from; absent: one is made and pinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// Decides every order; 0 by default.
    #[serde(default)]
    pub seed: u64,
    /// Which documents an epoch may draw.
    #[serde(default)]
    pub select: SelectRecipe,
    /// Which token ids.
    #[serde(default)]
    pub tokenizer: TokenizerRecipe,
    /// How sources share the epoch.
    #[serde(default)]
    pub mix: MixRecipe,
    /// In which order documents come.
    #[serde(default)]
    pub order: OrderRecipe,
    /// How documents become rows.
    #[serde(default)]
    pub pack: PackRecipe,
    /// How rows become global batches; absent: rows come one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchRecipe>,
    /// The files that a build writes.
    #[serde(default)]
    pub output: OutputRecipe,
    /// The sources; none listed: every source of the corpus under its own name.
    #[serde(default, rename = "source")]
    pub sources: Vec<SourceRecipe>,
}

impl Recipe {
    /// The SQL expressions over `documents` in it, and the columns that it names by themselves.
    pub(in crate::epoch) fn expressions(&self) -> impl Iterator<Item = &str> {
        let select = &self.select;
        let of_select = [select.condition.as_deref(), select.repeat.as_deref()];
        let holdout = select.holdout.as_ref().map(|holdout| holdout.by.as_str());
        let curriculum = self.order.curriculum.as_ref().map(|curriculum| curriculum.by.as_str());
        let sources = self.sources.iter().map(|source| source.condition.as_deref());
        of_select.into_iter().chain([holdout, curriculum]).chain(sources).flatten()
    }
}

/// The recipe of a plan: with its snapshot, its tokenizer, its suites as they were, and every source. Planning makes it, and
/// who reads a plan has it again. It is written as a [`Recipe`] is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResolvedRecipe(Recipe);

impl Deref for ResolvedRecipe {
    type Target = Recipe;

    fn deref(&self) -> &Recipe {
        &self.0
    }
}

impl ResolvedRecipe {
    /// To be called where names are looked up, and nowhere else.
    pub(in crate::epoch) const fn new(recipe: Recipe) -> Self {
        Self(recipe)
    }

    /// With as many passes of each source as the plan has.
    pub(in crate::epoch) fn with_passes(mut self, passes: impl Iterator<Item = u32>) -> Self {
        for (source, passes) in self.0.sources.iter_mut().zip(passes) {
            source.max_repeats = passes;
        }
        self
    }

    /// The recipe as an extension resolves it again: against its own moment, with the items of suites and the verdicts on
    /// them as they are then.
    #[must_use]
    pub(crate) fn unresolved(&self) -> Recipe {
        let mut recipe = self.0.clone();
        recipe.snapshot = None;
        for suite in &mut recipe.select.exclude_contaminated {
            (suite.items, suite.rejected) = (None, None);
        }
        recipe
    }
}
