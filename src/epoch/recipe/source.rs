//! `[[source]]`: one source of an epoch.

use super::draws_from::DrawsFrom;
use super::pack::{LongDocuments, PackKind};
use serde::{Deserialize, Serialize};
use toml::Value;

/// One source of the epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SourceRecipe {
    /// Its name in the epoch.
    pub name: String,
    /// The corpus's sources it draws from; the one of its name by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<DrawsFrom>,
    /// SQL boolean expression over `documents`, besides `select.where`.
    #[serde(rename = "where", default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Its share in `mix.unit`, relative to the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// The amount that one epoch takes from it, in `mix.unit`, instead of a weight.
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
            from: Some(DrawsFrom::from(name)),
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
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SourcePack {
    /// What happens to documents longer than a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long: Option<LongDocuments>,
    /// Not supported yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<PackKind>,
    /// Not supported yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u32>,
    /// Not supported yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", schemars(with = "Option<serde_json::Value>"))]
    pub options: Option<Value>,
}
