//! `exclude_contaminated`: suites whose items are kept out of an epoch, by name or with thresholds.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

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
