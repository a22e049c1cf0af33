//! The plan: everything that decides the bytes of an epoch, in a few kilobytes whatever the corpus.

mod feasible;
pub(super) mod masks;
mod rules;
mod shards;
mod tokenizers;

pub(super) use rules::{
    RowRules, SegmentLayout, capacity, has_rows_of_one_length, pads_batches, policy, rules, spare,
};
pub use shards::PinnedShard;
pub(super) use shards::{check_shards, shards as pinned_shards};
pub(super) use tokenizers::{pass_tokenizers, pinned_tokenizer};

use crate::epoch::coverage::PinnedSource;
use crate::epoch::error::EpochError;
use crate::epoch::mix::{Fluid, PlannedPoint};
use crate::epoch::pack::PackLosses;
use crate::epoch::recipe::{LongDocuments, MixUnit, ResolvedRecipe, SpecialIds};
use model::is_zero;
use roaring::RoaringTreemap;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::REDACTED;

/// Version of the plan's form and of everything it decides (permutations, packing, interleaving).
const PLAN_VERSION: u32 = 2;

/// Epochs that any plan has, at most.
const EPOCHS: u64 = 1 << 40;

/// A plan with the documents it pins, to be stored together.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What was computed, without the documents.
    pub plan: PlanHeader,
    /// What the passes of each source hold; in the plan's order.
    pub pinned: Vec<Arc<PinnedSource>>,
    /// The number under which it is stored, where it is.
    pub(crate) stored: Option<u32>,
}

impl Plan {
    /// A plan that is not stored.
    pub(crate) const fn unstored(plan: PlanHeader, pinned: Vec<Arc<PinnedSource>>) -> Self {
        Self { plan, pinned, stored: None }
    }

    /// This plan without its stored marks: what is opened follows from the plan alone.
    pub(in crate::epoch) fn without_checkpoints(&self) -> Self {
        Self::unstored(self.plan.clone(), self.pinned.clone())
    }

    /// Whether its recipe quoted a purged document, and says no more how it was made.
    pub(in crate::epoch) fn is_redacted(&self) -> bool {
        self.plan.recipe.expressions().any(|expression| expression == REDACTED)
    }

    /// How many of these documents the plan draws.
    #[must_use]
    pub fn count_drawn(&self, documents: &RoaringTreemap) -> u64 {
        self.documents().intersection_len(documents)
    }

    /// The documents that the plan draws, each once.
    pub(crate) fn documents(&self) -> RoaringTreemap {
        let of = self.pinned.iter().map(|pinned| pinned.documents());
        of.fold(RoaringTreemap::new(), |all, of| all | of)
    }

    /// How many epochs it has: the passes of its sources reach to the end of the last one.
    #[must_use]
    pub fn epochs(&self) -> u64 {
        self.plan.feasible_epochs().min(EPOCHS)
    }

    /// The number under which the plan is stored; none where it is not.
    #[must_use]
    pub const fn number(&self) -> Option<u32> {
        self.stored
    }
}

/// Everything that decides the bytes of an epoch, beside the documents of each source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanHeader {
    /// Version of the plan's form: 2.
    pub version: u32,
    /// The recipe with every default and name filled in.
    #[cfg_attr(feature = "cli", schemars(with = "crate::epoch::recipe::Recipe"))]
    pub recipe: ResolvedRecipe,
    /// The snapshot drawn from.
    pub snapshot: PinnedSnapshot,
    /// The corpora drawn from beside the one that stores the plan, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<PinnedShard>,
    /// The tokenizer whose tokens are counted and written.
    pub tokenizer: PinnedTokenizer,
    /// The plan that this one extends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentPlan>,
    /// Tokens a row holds: `pack.length`, one more with `target = "extra"`.
    pub capacity: u32,
    /// Size of one epoch, in the mix's unit.
    pub budget: u64,
    /// How the shares of the sources go with time; empty: constant, by `weight`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<PlannedPoint>,
    /// The sources, in the recipe's order.
    pub sources: Vec<PlannedSource>,
}

/// What has been consumed of a parent plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ParentPlan {
    /// blake3 of the parent plan, in hexadecimal.
    pub plan: String,
    /// Rows of its run that are consumed: the next one is the first that is not.
    pub next_row: u64,
}

/// The snapshot a plan draws from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PinnedSnapshot {
    /// The name of the snapshot.
    pub name: String,
    /// The commit it shows.
    pub commit: u64,
}

/// The tokenizer of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PinnedTokenizer {
    /// The name of the tokenizer.
    pub name: String,
    /// blake3 of its verbatim file, in hexadecimal.
    pub hash: String,
    /// One more than its largest id.
    pub vocab_size: u32,
    /// Ids of the special tokens.
    pub specials: SpecialIds,
    /// The draws of it whose ids the passes have, the first pass's first, where each pass draws segmentations of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub draws: Vec<String>,
}

/// A source of a plan. Token counts are effective: BOS and EOS in. Counts of passes are those of the
/// first, as often as documents come in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlannedSource {
    /// Its name in the epoch.
    pub name: String,
    /// The sources of the corpus that it draws from, where the recipe has a pattern or a list of them: what these came
    /// to in the snapshot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub draws_from: Vec<String>,
    /// Documents selected, each once.
    pub documents: u64,
    /// Stored tokens of one pass.
    pub tokens: u64,
    /// Tokens of one pass with the BOS and EOS that packing adds.
    pub effective_tokens: u64,
    /// Tokens of one pass: what the long-document policy leaves of them.
    pub packed_tokens: u64,
    /// Documents and tokens that one pass leaves out.
    pub losses: PackLosses,
    /// Rows of the first pass.
    pub rows: u64,
    /// Rows of the first pass whose every place holds a real token.
    pub full_rows: u64,
    /// Rows of the first pass with as many segments as `pack.most_segments` allows, and places left.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub segment_full_rows: u64,
    /// Share of the rows of the first pass that is real tokens; 1 when rows have no fixed length.
    pub efficiency: f64,
    /// Size of the first pass in the mix's unit.
    pub amount: u64,
    /// Size of each further pass in the mix's unit; of the next ones, where they differ.
    pub later_amount: u64,
    /// Further passes that hold the same and what each of them counts, one run after the other, where they differ: an
    /// extension has documents of which passes are used up beside new ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later_amounts: Vec<LaterPasses>,
    /// Whether the first pass of an extension holds a pass more beside what its parent left: that alone counts nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first_joined: bool,
    /// Its share, relative to the other sources' weights; 0 where a schedule sets it.
    pub weight: u64,
    /// The amount that one epoch takes from it in the mix's unit, to within a row: the first epoch, if they differ.
    pub expected: u64,
    /// Passes over its documents in the whole run, at most.
    pub max_repeats: u32,
    /// Tokens of a pass at which each stratum of a curriculum opens, by run of passes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opens: Vec<Vec<u64>>,
    /// Digest of the documents of its passes.
    pub selection: String,
    /// Digest of the histograms of their effective lengths.
    pub histogram: String,
}

/// Passes one after the other that hold the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LaterPasses {
    /// How many.
    pub passes: u32,
    /// Size of each in the mix's unit.
    pub amount: u64,
}

impl PlanHeader {
    pub(super) const VERSION: u32 = PLAN_VERSION;

    /// The canonical JSON of the plan: fixed order of fields, no spaces.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Plain fields with string keys, so this cannot fail; the text would fail to parse if it did.
        serde_json::to_string(self)
            .unwrap_or_else(|error| format!("cannot encode the plan: {error}"))
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// [`EpochError::Plan`] when the text is not a plan of this version; as
    /// [`Recipe::parse`](crate::epoch::Recipe::parse) for its recipe.
    pub fn from_json(text: &str) -> Result<Self, EpochError> {
        let plan: Self =
            serde_json::from_str(text).map_err(|error| EpochError::Plan(error.to_string()))?;
        if plan.version != PLAN_VERSION {
            let message = format!(
                "version {} is unknown to this release, which reads version {PLAN_VERSION}",
                plan.version
            );
            return Err(EpochError::Plan(message));
        }
        plan.recipe.check_stored()?;
        let scheduled = !plan.schedule.is_empty();
        let empty = plan
            .sources
            .iter()
            .any(|source| (source.weight == 0) != scheduled || source.packed_tokens == 0);
        let passes = plan.sources.iter().map(|source| source.max_repeats).max().unwrap_or(1);
        let undrawn = match plan.recipe.tokenizer.segmentation {
            Some(_) => plan.tokenizer.draws.len() as u64 != u64::from(passes),
            None => !plan.tokenizer.draws.is_empty(),
        };
        let points = plan.schedule.iter().any(|point| point.shares.len() != plan.sources.len());
        if empty
            || undrawn
            || points
            || plan.budget == 0
            || plan.sources.is_empty()
            || plan.capacity != capacity(&plan.recipe)
        {
            return Err(EpochError::Plan("its numbers contradict each other".to_owned()));
        }
        Ok(plan)
    }

    /// blake3 of the canonical JSON.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        *blake3::hash(self.to_json().as_bytes()).as_bytes()
    }

    pub(in crate::epoch) fn hash_hex(&self) -> String {
        blake3::Hash::from_bytes(self.hash()).to_hex().to_string()
    }

    /// The commits that the corpora drawn from show, the first one's first.
    pub(super) fn commits(&self) -> impl Iterator<Item = u64> {
        let others = self.shards.iter().map(|shard| shard.commit);
        std::iter::once(self.snapshot.commit).chain(others)
    }

    /// Whether rows have a fixed length and are padded to it when a pad token is declared.
    pub(super) fn fixed_length(&self) -> bool {
        has_rows_of_one_length(&self.recipe)
    }

    /// Places at the end of a row that no document takes up.
    pub(super) fn spare(&self) -> u32 {
        spare(&self.recipe)
    }

    /// Whether rows are padded to the longest of their batch.
    pub(super) fn pads_batches(&self) -> bool {
        pads_batches(&self.recipe)
    }

    /// The token that fills rows; none when rows stay as they are.
    pub(super) fn pad(&self) -> Option<u32> {
        self.tokenizer.specials.pad.filter(|_| self.fixed_length() || self.pads_batches())
    }

    /// The share of a source in epoch 0 as asked, in 0..=1.
    pub(super) fn asked_share(&self, source: &PlannedSource) -> f64 {
        ratio(source.expected.into(), self.budget.into())
    }

    /// Where segments and pads lie in its rows.
    pub(in crate::epoch) fn layout(&self) -> SegmentLayout {
        SegmentLayout::of(&self.recipe, &self.tokenizer.specials)
    }

    /// Places that `tokens` tokens of a document take up in a row.
    pub(in crate::epoch) fn slot(&self, tokens: u32) -> u32 {
        self.layout().slot(tokens)
    }

    /// What decides the rows of source `at`.
    pub(super) fn rules(&self, at: usize) -> RowRules {
        let source = self.sources.get(at);
        let name = source.map_or("", |source| source.name.as_str());
        let recipe = self.recipe.sources.iter().find(|recipe| recipe.name == name);
        let opens = source.map_or(Vec::new(), |source| source.opens.clone());
        rules(&self.recipe, (at, recipe), name, &self.tokenizer.specials, opens)
    }

    /// What each source is due at any moment of the run.
    ///
    /// # Errors
    /// [`EpochError::Plan`] for an invalid schedule.
    pub(super) fn fluid(&self) -> Result<Fluid, EpochError> {
        fluid(&self.sources, &self.schedule, self.capacity)
    }

    /// Whether documents are drawn with replacement, so that no source runs out.
    pub(super) fn is_endless(&self) -> bool {
        self.recipe.order.curriculum.as_ref().is_some_and(|curriculum| curriculum.replace)
    }

    /// Epochs to whose end the passes of every source reach.
    pub(super) fn feasible_epochs(&self) -> u64 {
        let Ok(fluid) = self.fluid() else { return 0 };
        if self.is_endless() {
            return u64::MAX;
        }
        largest_total(&self.sources, &fluid).map_or(u64::MAX, |total| total / self.budget.max(1))
    }
}

impl PlannedSource {
    /// What all its passes count.
    pub(super) fn available(&self) -> u64 {
        let later = self.later().into_iter();
        let later = later.map(|run| u128::from(run.amount) * u128::from(run.passes));
        narrow(u128::from(self.amount) + later.sum::<u128>())
    }

    /// The passes after the first.
    fn later(&self) -> Vec<LaterPasses> {
        if self.later_amounts.is_empty() {
            let passes = self.max_repeats.saturating_sub(1);
            return vec![LaterPasses { passes, amount: self.later_amount }];
        }
        self.later_amounts.clone()
    }

    /// The least that each further pass counts, however many there are. Where passes count differently, the average of
    /// the walked ones does not hold for more passes. These bounds hold: the rows that the tokens fill, less a last
    /// row a stratum, and the tokens of the documents, to which a row adds at most one EOS, which counts no more than
    /// the token before it.
    fn fewest_later(&self, rules: &RowRules) -> u64 {
        if !rules.passes_differ() {
            return self.later().last().map_or(0, |run| run.amount);
        }
        let added = if rules.policy.cut_eos { self.rows } else { 0 };
        let of_documents = self.packed_tokens.saturating_sub(added);
        let amount = self.later().last().map_or(0, |run| run.amount);
        match rules.unit {
            MixUnit::Rows => {
                let filled = of_documents / u64::from(rules.policy.capacity.max(1));
                let strata = self.opens.last().map_or(1, Vec::len) as u64;
                amount.min(filled.saturating_sub(strata.saturating_sub(1)))
            }
            MixUnit::Tokens => amount.min(of_documents),
            MixUnit::LossTokens | MixUnit::Documents => amount / 2,
        }
    }

    /// The number of passes that count exactly `amount`; none when it lies inside one.
    pub(super) fn passes_of(&self, amount: u64) -> Option<u32> {
        let Some(mut later) = amount.checked_sub(self.amount) else {
            return (amount == 0).then_some(0);
        };
        // Passes that count nothing may have gone by or not.
        if self.later().iter().any(|run| run.amount == 0 && run.passes > 0) {
            return None;
        }
        let mut passes = 1_u64;
        for run in self.later() {
            let whole = later.checked_div(run.amount).unwrap_or(0).min(run.passes.into());
            passes += whole;
            later -= whole * run.amount;
            // Passes of the next run come behind all of these.
            if whole < run.passes.into() {
                break;
            }
        }
        u32::try_from(passes).ok().filter(|_| later == 0)
    }
}

/// What each source is due at any moment of the run.
pub(super) fn fluid(
    sources: &[PlannedSource],
    schedule: &[PlannedPoint],
    capacity: u32,
) -> Result<Fluid, EpochError> {
    if schedule.is_empty() {
        let weights: Vec<u64> = sources.iter().map(|source| source.weight).collect();
        return Ok(Fluid::constant(&weights));
    }
    Fluid::scheduled(schedule, capacity.into()).map_err(|why| EpochError::Plan(why.to_string()))
}

/// The largest amount of a whole run that the passes of every source reach; none when there is no end.
pub(super) fn largest_total(sources: &[PlannedSource], fluid: &Fluid) -> Option<u64> {
    let reach = sources.iter().enumerate();
    reach.filter_map(|(at, source)| fluid.inverse(at, source.available())).min()
}

/// `part / whole`, 0 when there is no whole.
pub(super) fn ratio(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

pub(super) fn narrow(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// The word of a long-document policy.
pub(super) const fn long_name(long: LongDocuments) -> &'static str {
    match long {
        LongDocuments::Split => "split",
        LongDocuments::Paragraph => "paragraph",
        LongDocuments::Truncate => "truncate",
        LongDocuments::Drop => "drop",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_whole_passes_only_in_their_order() {
        let later = |runs: &[(u32, u64)]| PlannedSource {
            name: "web".to_owned(),
            draws_from: Vec::new(),
            documents: 1,
            tokens: 1,
            effective_tokens: 1,
            packed_tokens: 1,
            losses: PackLosses::default(),
            rows: 1,
            full_rows: 1,
            segment_full_rows: 0,
            efficiency: 1.0,
            amount: 12,
            later_amount: runs[0].1,
            later_amounts: runs
                .iter()
                .map(|(passes, amount)| LaterPasses { passes: *passes, amount: *amount })
                .collect(),
            first_joined: false,
            weight: 1,
            expected: 1,
            max_repeats: 1 + runs.iter().map(|(passes, _)| passes).sum::<u32>(),
            opens: Vec::new(),
            selection: String::new(),
            histogram: String::new(),
        };
        let source = later(&[(2, 18), (2, 6)]);
        assert_eq!(source.available(), 60);
        let expected = [(0, 0), (12, 1), (30, 2), (48, 3), (54, 4), (60, 5)];
        for amount in 0..70 {
            let passes = expected.iter().find(|(whole, _)| *whole == amount);
            assert_eq!(source.passes_of(amount), passes.map(|(_, passes)| *passes), "{amount}");
        }
        // Passes that count nothing may have gone by or not.
        let source = later(&[(1, 18), (2, 0)]);
        assert_eq!([0, 12, 30].map(|amount| source.passes_of(amount)), [Some(0), None, None]);
    }
}
