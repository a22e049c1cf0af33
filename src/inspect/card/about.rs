//! The part of a report about the corpus itself: its policy, its fields, its tokenizers.

use crate::inspect::{self, CorpusInfo, FieldInfo, PolicySetting, StandingCount, TokenizerInfo};
use model::Error;
use serde::Serialize;
use std::collections::BTreeMap;
use store::View;

/// What a corpus is.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CardOverview {
    /// The dedup policy, in words.
    pub policy: String,
    /// Its settings with what they mean.
    pub settings: Vec<PolicySetting>,
    /// The last commit.
    pub commit: u64,
    /// The policy generation.
    pub generation: u32,
    /// How many sources there are.
    pub sources: u64,
    /// The sources of which several chat templates wrote the texts of kept documents, with how many.
    pub mixed_templates: BTreeMap<String, u64>,
    /// Documents of each standing that has any.
    pub standings: Vec<StandingCount>,
    /// The declared fields.
    pub fields: Vec<FieldInfo>,
    /// The registered tokenizers.
    pub tokenizers: Vec<TokenizerInfo>,
    /// Rejected records.
    pub rejects: u64,
    /// Bytes of the corpus's tables on disk.
    pub disk_bytes: u64,
}

pub(super) fn about(view: &View) -> Result<CardOverview, Error> {
    let info: CorpusInfo = inspect::info(view)?;
    Ok(CardOverview {
        policy: info.policy,
        settings: info.settings,
        commit: info.commit,
        generation: info.generation,
        sources: info.sources.len() as u64,
        mixed_templates: info.mixed_templates,
        standings: info.standings,
        fields: info.fields,
        tokenizers: info.tokenizers,
        rejects: info.rejects,
        disk_bytes: info.disk.iter().map(|family| family.bytes).sum(),
    })
}
