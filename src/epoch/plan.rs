//! The plan: everything that decides the bytes of an epoch, in a few kilobytes whatever the corpus.

use super::error::EpochError;
use super::pack::{Losses, Policy};
use super::recipe::{Long, PackKind, Recipe, SourceRecipe, Target};
use super::rows::Rules;
use super::special::SpecialIds;
use serde::{Deserialize, Serialize};

/// Version of the plan's form and of everything it decides (permutations, packing, interleaving).
const PLAN_VERSION: u32 = 1;

/// Everything that decides the bytes of an epoch, beside the documents of each source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of the plan's form: 1.
    pub version: u32,
    /// The recipe with every default and name filled in.
    pub recipe: Recipe,
    /// The snapshot drawn from.
    pub snapshot: PinnedSnapshot,
    /// The tokenizer.
    pub tokenizer: PinnedTokenizer,
    /// Tokens a row holds: `pack.length`, one more with `target = "extra"`.
    pub capacity: u32,
    /// Real tokens of one epoch.
    pub budget: u64,
    /// The sources, in the recipe's order.
    pub sources: Vec<PlannedSource>,
}

/// The snapshot a plan draws from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedSnapshot {
    /// Its name.
    pub name: String,
    /// The commit it shows.
    pub commit: u64,
}

/// The tokenizer of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedTokenizer {
    /// Its name.
    pub name: String,
    /// blake3 of its verbatim file, in hexadecimal.
    pub hash: String,
    /// One more than its largest id.
    pub vocab_size: u32,
    /// Ids of the special tokens.
    pub specials: SpecialIds,
}

/// A source of a plan. Token counts are effective: BOS and EOS in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedSource {
    /// Its name in the epoch.
    pub name: String,
    /// Documents selected.
    pub documents: u64,
    /// Their stored tokens.
    pub tokens: u64,
    /// Their tokens with BOS and EOS.
    pub effective_tokens: u64,
    /// Tokens of one pass: what the long-document policy leaves of them.
    pub packed_tokens: u64,
    /// What one pass leaves out.
    pub losses: Losses,
    /// Rows of the first pass.
    pub rows: u64,
    /// Rows of the first pass that are full.
    pub full_rows: u64,
    /// Share of the rows of the first pass that is real tokens; 1 when rows have no fixed length.
    pub efficiency: f64,
    /// Its share, relative to the other sources' weights.
    pub weight: u64,
    /// Tokens one epoch asks of it, to within a row.
    pub expected_tokens: u64,
    /// Passes over its documents in the whole run, at most.
    pub max_repeats: u32,
    /// Digest of the set of documents.
    pub selection: String,
    /// Digest of the histogram of their effective lengths.
    pub histogram: String,
}

impl Plan {
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
    /// [`EpochError::Plan`] when the text is no plan of this version; as [`Recipe::parse`] for its recipe.
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
        plan.recipe.check()?;
        let empty =
            plan.sources.iter().any(|source| source.weight == 0 || source.packed_tokens == 0);
        if empty
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

    pub(super) fn hash_hex(&self) -> String {
        blake3::Hash::from_bytes(self.hash()).to_hex().to_string()
    }

    /// Whether rows have a fixed length and are padded to it when a pad token is declared.
    pub(super) fn fixed_length(&self) -> bool {
        self.recipe.pack.kind != PackKind::None
    }

    /// The token that fills rows; none when rows stay as they are.
    pub(super) fn pad(&self) -> Option<u32> {
        self.tokenizer.specials.pad.filter(|_| self.fixed_length())
    }

    /// The share of a source, in 0..=1.
    pub(super) fn asked_share(&self, source: &PlannedSource) -> f64 {
        ratio(source.weight.into(), self.whole_weight())
    }

    fn whole_weight(&self) -> u128 {
        self.sources.iter().map(|source| u128::from(source.weight)).sum()
    }

    /// What decides the rows of a source.
    pub(super) fn rules<'a>(&self, source: &'a PlannedSource) -> Rules<'a> {
        let recipe = self.recipe.sources.iter().find(|recipe| recipe.name == source.name);
        Rules {
            name: &source.name,
            seed: self.recipe.seed,
            policy: policy(&self.recipe, recipe, &self.tokenizer.specials),
            order: self.recipe.order.kind,
            max_repeats: source.max_repeats,
        }
    }

    /// Epochs to whose end the passes of every source reach.
    pub(super) fn feasible_epochs(&self) -> u64 {
        let whole = self.whole_weight();
        let reach = self.sources.iter().map(|source| {
            let per_epoch = u128::from(source.weight) * u128::from(self.budget);
            source.available() * whole / per_epoch.max(1)
        });
        narrow(reach.min().unwrap_or(0))
    }

    /// Whether the passes of every source reach to the end of `epoch`.
    ///
    /// # Errors
    /// [`EpochError::Infeasible`] naming the source that does not.
    pub(super) fn check_feasible(&self, epoch: u64) -> Result<(), EpochError> {
        let whole = self.whole_weight();
        let end = u128::from(self.budget) * (u128::from(epoch) + 1);
        for source in &self.sources {
            let available = source.available();
            if u128::from(source.weight) * end <= available * whole {
                continue;
            }
            let asked = (u128::from(source.weight) * end).div_ceil(whole.max(1));
            return Err(EpochError::Infeasible {
                epoch,
                budget: self.budget,
                asked: narrow(asked),
                name: source.name.clone(),
                passes: match source.max_repeats {
                    1 => "one pass".to_owned(),
                    passes => format!("{passes} passes"),
                },
                tokens: source.packed_tokens,
                available: narrow(available),
                feasible: largest_budget(&self.sources, epoch),
                needed: narrow(asked.div_ceil(u128::from(source.packed_tokens.max(1)))),
            });
        }
        Ok(())
    }
}

impl PlannedSource {
    fn available(&self) -> u128 {
        u128::from(self.packed_tokens) * u128::from(self.max_repeats)
    }
}

/// The largest budget of an epoch with which `max_repeats` reaches to the end of `epoch`.
pub(super) fn largest_budget(sources: &[PlannedSource], epoch: u64) -> u64 {
    let whole: u128 = sources.iter().map(|source| u128::from(source.weight)).sum();
    let largest = sources.iter().map(|source| {
        source.available() * whole / (u128::from(source.weight).max(1) * (u128::from(epoch) + 1))
    });
    narrow(largest.min().unwrap_or(0))
}

/// The packing rules of a source of a recipe.
pub(super) fn policy(
    recipe: &Recipe,
    source: Option<&SourceRecipe>,
    specials: &SpecialIds,
) -> Policy {
    Policy {
        kind: recipe.pack.kind,
        capacity: capacity(recipe),
        long: source.and_then(|source| source.pack.long).unwrap_or(recipe.pack.options.long),
        bos: specials.bos.is_some(),
        eos: specials.eos.is_some(),
    }
}

pub(super) fn capacity(recipe: &Recipe) -> u32 {
    recipe.pack.length + u32::from(recipe.pack.options.target == Target::Extra)
}

/// `part / whole`, 0 when there is no whole.
pub(super) fn ratio(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

pub(super) fn narrow(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// The word of a long-document policy.
pub(super) const fn long_name(long: Long) -> &'static str {
    match long {
        Long::Split => "split",
        Long::Paragraph => "paragraph",
        Long::Truncate => "truncate",
        Long::Drop => "drop",
    }
}
