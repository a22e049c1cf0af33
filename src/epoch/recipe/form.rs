//! The shape of a recipe: one type a table, every default beside its field.

use serde::{Deserialize, Serialize};
use toml::Value;

/// What a user asks of an epoch. [`Recipe::parse`] fills `source.from` and `mix.method`;
/// planning fills `snapshot`, `tokenizer.name` and, when none is listed, the sources.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Which documents.
    #[serde(default)]
    pub select: Select,
    /// Which token ids.
    #[serde(default)]
    pub tokenizer: TokenizerChoice,
    /// How sources share the epoch.
    #[serde(default)]
    pub mix: Mix,
    /// In which order documents come.
    #[serde(default)]
    pub order: Order,
    /// How documents become rows.
    #[serde(default)]
    pub pack: Pack,
    /// How rows become batches; not built yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<Batch>,
    /// What is written.
    #[serde(default)]
    pub output: Output,
    /// The sources; none listed: every source of the corpus under its own name.
    #[serde(default, rename = "source")]
    pub sources: Vec<SourceRecipe>,
}

/// Which documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Select {
    /// SQL boolean expression over `documents`; absent: all kept documents.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Fewest stored tokens of a document; 1 by default, since one without tokens fills no row.
    pub min_tokens: u64,
    /// Not built yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude_contaminated: Option<Value>,
    /// Not built yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holdout: Option<Value>,
    /// Not built yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Value>,
}

impl Default for Select {
    fn default() -> Self {
        Self {
            condition: None,
            min_tokens: 1,
            exclude_contaminated: None,
            holdout: None,
            repeat: None,
        }
    }
}

/// Which token ids.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TokenizerChoice {
    /// Name of the tokenizer; absent: the corpus's only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Special tokens put around documents.
    pub specials: Specials,
}

/// Special tokens by their text in the tokenizer; absent: none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Specials {
    /// Before the first token of every document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bos: Option<String>,
    /// After the last token of every document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eos: Option<String>,
    /// Fills rows that are not full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pad: Option<String>,
}

/// One source of the epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceRecipe {
    /// Its name in the epoch.
    pub name: String,
    /// The corpus's source it draws from; its name by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// SQL boolean expression over `documents`, besides `select.where`.
    #[serde(rename = "where", default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Its share in `mix.unit`, relative to the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Not built yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Passes over its documents in the whole run, at most; 1 by default.
    #[serde(default = "one")]
    pub max_repeats: u32,
    /// Overrides of `[pack]`.
    #[serde(default)]
    pub pack: SourcePack,
}

impl SourceRecipe {
    /// The source `name`, drawn from the corpus's source of that name once.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            from: Some(name.to_owned()),
            condition: None,
            weight: None,
            tokens: None,
            max_repeats: 1,
            pack: SourcePack::default(),
        }
    }
}

const fn one() -> u32 {
    1
}

/// What a source may override of `[pack]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SourcePack {
    /// What happens to documents longer than a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long: Option<Long>,
    /// Not built yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<PackKind>,
    /// Not built yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u32>,
    /// Not built yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Value>,
}

/// How sources share the epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mix {
    /// Absent: `weights` when a source has a weight, else `natural`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
    /// What shares are counted in.
    pub unit: Unit,
    /// Size of one epoch in `unit`; absent: the largest that `max_repeats` allows, and with
    /// `natural` one pass over everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Not built yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Not built yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Value>,
}

/// How shares are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// By `source.weight`.
    Weights,
    /// In proportion to what the sources hold.
    Natural,
    /// Not built yet.
    Temperature,
    /// Not built yet.
    Unimax,
}

/// What shares are counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Real tokens: BOS and EOS in, pads out.
    #[default]
    Tokens,
    /// Not built yet.
    LossTokens,
    /// Not built yet.
    Documents,
    /// Not built yet.
    Rows,
}

/// In which order documents come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Order {
    /// The order.
    pub kind: OrderKind,
    /// Not built yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curriculum: Option<Value>,
    /// Not built yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length_grouped: Option<Value>,
}

/// An order of documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OrderKind {
    /// By keyed permutation; another one each pass.
    #[default]
    Shuffle,
    /// As stored.
    Sequential,
    /// Not built yet.
    LengthGrouped,
    /// Not built yet.
    Curriculum,
}

/// How documents become rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pack {
    /// The way of packing.
    pub kind: PackKind,
    /// Tokens of a row.
    pub length: u32,
    /// Details.
    pub options: PackOptions,
}

impl Default for Pack {
    fn default() -> Self {
        Self { kind: PackKind::BestFit, length: 2048, options: PackOptions::default() }
    }
}

/// A way of packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[serde(deny_unknown_fields, default)]
pub struct PackOptions {
    /// Whether rows hold one more token for the last target.
    pub target: Target,
    /// What happens to documents longer than a row.
    pub long: Long,
    /// Lengths are rounded up to a multiple of this; only 1 is built.
    pub doc_multiple: u32,
    /// Where pads stand.
    pub pad_side: PadSide,
    /// What pads are to readers that derive segments.
    pub pad_view: PadView,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self {
            target: Target::Inside,
            long: Long::Split,
            doc_multiple: 1,
            pad_side: PadSide::Right,
            pad_view: PadView::Suffix,
        }
    }
}

/// Whether rows hold one more token for the last target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// Rows hold `length` tokens.
    Inside,
    /// Rows hold `length + 1` tokens.
    Extra,
}

/// What happens to documents longer than a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Long {
    /// Cut into fragments of a row each, and a tail.
    Split,
    /// Not built yet.
    Paragraph,
    /// Keep the head that fits one row; the rest is lost and counted.
    Truncate,
    /// Leave the document out; counted.
    Drop,
}

/// Where pads stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PadSide {
    /// After the tokens.
    Right,
    /// Not built yet.
    Left,
}

/// What pads are to readers that derive segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PadView {
    /// One run at the end.
    Suffix,
    /// Not built yet.
    Each,
}

/// How rows become batches; not built yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Batch {
    /// Rows a batch.
    pub rows: Option<u64>,
    /// Tokens a batch.
    pub max_tokens: Option<u64>,
    /// `real` or `padded`.
    pub count: Option<String>,
    /// The linear share of a row's cost.
    pub balance: Option<u64>,
    /// `drop`, `pad` or `carry`.
    pub tail: Option<String>,
}

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// The format.
    pub format: Format,
    /// Largest size of a shard in bytes, one row excepted.
    pub shard_bytes: u64,
}

impl Default for Output {
    fn default() -> Self {
        Self { format: Format::Parquet, shard_bytes: 268_435_456 }
    }
}

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Megatron `.bin` and `.idx`.
    Megatron,
    /// Parquet with all views as columns.
    Parquet,
    /// Headerless token ids.
    Raw,
}

impl Format {
    /// The word used in recipes and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Megatron => "megatron",
            Self::Parquet => "parquet",
            Self::Raw => "raw",
        }
    }
}
