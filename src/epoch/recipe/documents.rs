//! The tables `[select]` and `[tokenizer]`: which documents, without which suites, and which ids of them.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use tokenizer::Segmentation;

/// A suite whose contaminated documents are not drawn. A plan stores all settings written out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct ExcludedSuite {
    /// Its name.
    pub suite: String,
    /// The least score of a document that is left out; absent: that of the default rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The fewest tokens of an item; absent: that of the default rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// blake3 over the items of the suite, in hexadecimal; absent: those that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<String>,
    /// blake3 over the pairs of its items and texts that were rejected, in hexadecimal, or `none`; absent: those that
    /// are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<String>,
}

impl From<&str> for ExcludedSuite {
    fn from(suite: &str) -> Self {
        Self { suite: suite.to_owned(), score: None, tokens: None, items: None, rejected: None }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteTable {
    suite: String,
    score: Option<f64>,
    tokens: Option<u32>,
    items: Option<String>,
    rejected: Option<String>,
}

impl<'de> Deserialize<'de> for ExcludedSuite {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SuiteVisitor)
    }
}

struct SuiteVisitor;

impl<'de> Visitor<'de> for SuiteVisitor {
    type Value = ExcludedSuite;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a suite, or { suite = \"gsm8k\", score = 0.8 }")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<ExcludedSuite, E> {
        Ok(name.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ExcludedSuite, A::Error> {
        let SuiteTable { suite, score, tokens, items, rejected } =
            SuiteTable::deserialize(MapAccessDeserializer::new(map))?;
        Ok(ExcludedSuite { suite, score, tokens, items, rejected })
    }
}

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
    /// Fewest tokens with a label of a document that says what of it is trained on, within what is packed of it. Absent: 1,
    /// or 0 where the tokenizer was registered by a release that knew no such rule; an extension by the recipe of its plan
    /// draws what that plan drew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_trained: Option<u64>,
    /// Leaves out documents that were removed after the snapshot.
    #[serde(skip_serializing_if = "is_not")]
    pub exclude_removed: bool,
    /// Leaves out documents contaminated by these suites.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_contaminated: Vec<ExcludedSuite>,
    /// The most documents that are drawn of a cluster of near duplicates: the kept one, then removed ones in the keep order.
    /// 1 by default: what is kept.
    #[serde(skip_serializing_if = "is_kept_alone")]
    pub per_cluster: u32,
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

const fn is_kept_alone(per_cluster: &u32) -> bool {
    *per_cluster == 1
}

impl Default for SelectRecipe {
    fn default() -> Self {
        Self {
            condition: None,
            min_tokens: 1,
            min_trained: None,
            exclude_removed: false,
            exclude_contaminated: Vec::new(),
            per_cluster: 1,
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
    /// Draws segmentations of every document, another one in each pass; absent: the stored ids in all passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segmentation: Option<Segmentation>,
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
