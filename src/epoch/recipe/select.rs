//! `[select]` and `[tokenizer]`: which documents, and which ids of them.

use super::excluded::ExcludedSuite;
use serde::{Deserialize, Serialize};

/// Which documents an epoch may draw: `[select]` of a recipe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SelectRecipe {
    /// SQL boolean expression over `documents`; absent: all kept documents.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Fewest stored tokens of a document; 1 by default, since one without tokens fills no row.
    pub min_tokens: u64,
    /// Leaves out documents that were removed after the snapshot.
    #[serde(skip_serializing_if = "is_not")]
    pub exclude_removed: bool,
    /// Leaves out documents contaminated by these suites.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_contaminated: Vec<ExcludedSuite>,
    /// Keeps a share of the documents apart for validation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holdout: Option<Holdout>,
    /// SQL number expression over `documents`: how often a document comes in one pass; its floor, and
    /// once more with the fraction as probability. Absent: once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<String>,
}

/// What is not asked for is not in the hash of a plan.
const fn is_not(asked: &bool) -> bool {
    !*asked
}

impl Default for SelectRecipe {
    fn default() -> Self {
        Self {
            condition: None,
            min_tokens: 1,
            exclude_removed: false,
            exclude_contaminated: Vec::new(),
            holdout: None,
            repeat: None,
        }
    }
}

/// A share of the documents kept apart, stable under anything that is added later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Holdout {
    /// Share of the groups held out, in 0..1.
    pub share: f64,
    /// What is held out together: `cluster` (default), `document`, or a column of `documents`.
    #[serde(default = "cluster")]
    pub by: String,
    /// Which side this epoch draws from.
    #[serde(default)]
    pub take: HoldoutSide,
    /// Decides which groups; 0 by default, and apart from the recipe's seed, so that an epoch in
    /// another order has the same border.
    #[serde(default)]
    pub seed: u64,
}

fn cluster() -> String {
    "cluster".to_owned()
}

/// A side of the border between training and validation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum HoldoutSide {
    /// The documents that are not held out.
    #[default]
    Train,
    /// The documents that are held out.
    Holdout,
}

/// Which token ids.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct TokenizerRecipe {
    /// Name of the tokenizer; absent: the corpus's only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Special tokens put around documents.
    pub specials: SpecialTokens,
}

/// Special tokens by their text in the tokenizer; absent: none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SpecialTokens {
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
