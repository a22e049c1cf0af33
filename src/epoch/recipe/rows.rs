//! The tables `[order]`, `[pack]` and `[batch]`: the order of documents, how they become rows, and rows batches.

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

impl OrderRecipe {
    /// The order as a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match (self.kind, &self.curriculum) {
            (OrderKind::Shuffle, _) => {
                "The documents of a source are shuffled, anew in each pass over it.".to_owned()
            }
            (OrderKind::Sequential, _) => {
                "The documents of a source come in the order in which they were stored.".to_owned()
            }
            (OrderKind::LengthGrouped, _) => {
                "The documents of a source are shuffled, then rows of like length stand together."
                    .to_owned()
            }
            (OrderKind::Curriculum, Some(curriculum)) => format!(
                "Easy documents come first: those of a {} {}.",
                if curriculum.descending { "large" } else { "small" },
                curriculum.by
            ),
            (OrderKind::Curriculum, None) => "Easy documents come first.".to_owned(),
        }
    }
}

/// How documents become rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct PackRecipe {
    /// The way of packing.
    pub kind: PackKind,
    /// Tokens of a row.
    pub length: u32,
    /// Each part of a document that is cut ends with EOS, which counts as any token of the row does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut_eos: bool,
    /// Segments of a row, at most, as attention kernels limit them; absent: as many as fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_segments: Option<u32>,
    /// Further options of packing.
    pub options: PackOptions,
}

impl Default for PackRecipe {
    fn default() -> Self {
        Self {
            kind: PackKind::BestFit,
            length: 2048,
            cut_eos: false,
            most_segments: None,
            options: PackOptions::default(),
        }
    }
}

/// A way of packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PackKind {
    /// Best-fit-decreasing over the whole source: fewest rows, no document cut that fits.
    BestFit,
    /// Documents in order; a new row when the next one does not fit.
    Greedy,
    /// Documents in order, end to end, cut into full rows.
    Concat,
    /// One document a row.
    None,
}

/// Details of packing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct PackOptions {
    /// Whether rows hold one more token for the last target.
    pub target: RowTarget,
    /// What happens to documents longer than a row.
    pub long: LongDocuments,
    /// Every document takes up a multiple of this; pads fill it. `length` must be a multiple too.
    pub doc_multiple: u32,
    /// Where pads stand.
    pub pad_side: PadSide,
    /// What pads are to readers that derive segments.
    pub pad_view: PadView,
    /// What happens to the tokens at the end of a pass that do not fill a row of `concat`; absent: they become a
    /// shorter row, or are left out if the format needs rows of one length and there is no pad token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<PartialRow>,
    /// Every row of a pass but the first begins with the last token of the one before, so that none is without
    /// its prediction: of `concat` with `target = "extra"`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub overlap: bool,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self {
            target: RowTarget::Inside,
            long: LongDocuments::Split,
            doc_multiple: 1,
            pad_side: PadSide::Right,
            pad_view: PadView::Suffix,
            partial: None,
            overlap: false,
        }
    }
}

/// Whether rows hold one more token for the last target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RowTarget {
    /// Rows hold `length` tokens.
    Inside,
    /// Rows hold `length + 1` tokens.
    Extra,
}

/// What happens to documents longer than a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LongDocuments {
    /// Cut into fragments of a row each, and a tail.
    Split,
    /// Cut where a paragraph ends, into fragments of at most a row.
    Paragraph,
    /// Keep the head that fits one row; the rest is lost and counted.
    Truncate,
    /// Leave the document out; counted.
    Drop,
}

/// What happens to tokens at the end of a pass that do not fill a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PartialRow {
    /// They are a row, shorter or filled with pads.
    Keep,
    /// They are left out, and counted.
    Drop,
}

/// Where pads stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PadSide {
    /// Pads stand after the tokens of a row.
    Right,
    /// Pads stand before the tokens of a row.
    Left,
}

/// What pads are to readers that derive segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PadView {
    /// No segment.
    Suffix,
    /// Each a segment of its own.
    Each,
}

/// How rows become global batches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct BatchRecipe {
    /// Rows a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Tokens a batch, at most; a row longer than that is a batch by itself. Instead of `rows`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Which positions `max_tokens` counts.
    pub count: BudgetCount,
    /// The weight of tokens in the cost of a row, which is `balance` * tokens + the sum of the squares of its segment
    /// lengths. Rows are dealt to ranks by falling cost, so that ranks have about equal work. Absent: the rows of a
    /// batch are put in a random order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<u64>,
    /// What happens to the rows that fill no batch at an epoch's end.
    pub tail: BatchTail,
    /// To what length rows are padded; absent: they stay as long as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pad: Option<PadTo>,
}

/// To what length the rows of a batch are padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PadTo {
    /// That of the longest of the batch, or the next multiple of `pack.options.doc_multiple`.
    Longest,
}

/// Which positions of a batch `max_tokens` counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum BudgetCount {
    /// Tokens are counted without pads.
    #[default]
    Real,
    /// Rows times the longest of them.
    Padded,
}

/// What happens to the rows that fill no batch at an epoch's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum BatchTail {
    /// They are left out and counted.
    #[default]
    Drop,
    /// The last batch is filled with rows of pads.
    Pad,
    /// They open the next epoch.
    Carry,
}
