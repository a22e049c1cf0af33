//! `[order]`: in which order documents come.

use serde::{Deserialize, Serialize};

/// In which order documents come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct OrderRecipe {
    /// How the documents of a source are ordered.
    pub kind: OrderKind,
    /// Of `kind = "curriculum"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curriculum: Option<Curriculum>,
    /// Of `kind = "length-grouped"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length_grouped: Option<LengthGrouped>,
}

/// Easy documents first: a growing share of each source, easiest first, is drawn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Curriculum {
    /// What makes a document hard: `surprisal` (mean bits a token under the unigram distribution of the
    /// source's documents), or an SQL number expression over `documents`.
    pub by: String,
    /// Whether large values are easy.
    #[serde(default)]
    pub descending: bool,
    /// How the share grows.
    #[serde(default)]
    pub pacing: CurriculumPacing,
    /// p of `root-p`.
    #[serde(default = "two")]
    pub root: f64,
    /// Stages of `step`.
    #[serde(default = "five")]
    pub steps: u32,
    /// The share at the start.
    #[serde(default = "hundredth")]
    pub c0: f64,
    /// Classes of equal size that documents are sorted into.
    #[serde(default = "strata")]
    pub strata: u32,
    /// Whether rows are drawn with replacement from what is open.
    #[serde(default)]
    pub replace: bool,
}

const fn two() -> f64 {
    2.0
}

const fn five() -> u32 {
    5
}

const fn hundredth() -> f64 {
    0.01
}

const fn strata() -> u32 {
    64
}

/// How the share of a source that is drawn from grows with time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CurriculumPacing {
    /// c0 + (1 - c0) t.
    #[default]
    Linear,
    /// `root-p` with p = 2.
    Sqrt,
    /// (c0^p + (1 - c0^p) t)^(1/p).
    RootP,
    /// 1 - exp(-3 t), scaled to end at 1.
    Exp,
    /// All stages are equally long.
    Step,
}

/// Rows of like length in a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct LengthGrouped {
    /// Batches sorted together; absent: 50, and with `exact` a quarter of them all, 50 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mega_batch_mult: Option<u32>,
    /// Reproduces another sampler index for index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<ExactSampler>,
    /// Batches of one class of lengths, instead of sorting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<LengthBuckets>,
    /// What is sorted together instead of `mega_batch_mult` batches; it is all in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<SortWindow>,
}

/// Rows that are sorted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SortWindow {
    /// All of an epoch.
    Epoch,
}

impl LengthGrouped {
    /// Batches sorted together, where no other sampler decides.
    #[must_use]
    pub fn mega_batch(&self) -> u32 {
        self.mega_batch_mult.unwrap_or(50)
    }
}

/// A sampler reproduced index for index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ExactSampler {
    /// transformers' `get_length_grouped_indices` with torch's generator, seeded with seed + epoch: an epoch is
    /// a pass over the one source.
    Torch,
}

/// Classes of lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LengthBuckets {
    /// (1, 2], (2, 4], (4, 8] and so on.
    PowerOfTwo,
}

/// An order of documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OrderKind {
    /// By keyed permutation; another one each pass.
    #[default]
    Shuffle,
    /// Documents come in the order of their ids.
    Sequential,
    /// Shuffled, then rows of like length put together.
    LengthGrouped,
    /// Easy ones first.
    Curriculum,
}
