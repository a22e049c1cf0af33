//! What decided an extended tokenizer, as it is stored with it.

use crate::tokenizer::{Extension, GrowthOptions, TermCounts, TermOptions};
use serde::Serialize;

/// What a tokenizer is extended by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtendedBy<'a> {
    /// Terms that become tokens.
    Terms(TermOptions),
    /// Byte-pair training that goes on, on the kept documents of a SQL condition, or on all of them.
    Growth(GrowthOptions, Option<&'a str>),
}

/// Everything that decided an extended tokenizer, and what it came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExtendDecisions {
    /// Always `extended`.
    pub kind: &'static str,
    /// The tokenizer that was extended.
    pub base: String,
    /// blake3 of its `tokenizer.json`.
    pub base_hash: String,
    /// The commit at which it was.
    pub commit: u64,
    /// New tokens that were asked of a growth; none where terms were given.
    pub grow: Option<u32>,
    /// The SQL condition of the documents that it grew on; none: all kept ones.
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// A pair seen less often made no token.
    pub min_frequency: Option<u64>,
    /// The longest token that a growth made; none: any.
    pub max_token_length: Option<usize>,
    /// Whether terms that the pre-tokenizer splits became added tokens.
    pub added_tokens: bool,
    /// What became of the terms.
    pub terms: TermCounts,
    /// How many ids are new.
    pub new_ids: usize,
    /// How many merges are.
    pub new_merges: u64,
    /// The first new id.
    pub base_vocab_size: u32,
}

impl ExtendDecisions {
    /// Those of an extension of the tokenizer `base`, made at a commit.
    #[must_use]
    pub fn of(base: &str, by: ExtendedBy<'_>, extension: &Extension, commit: u64) -> Self {
        let (growth, condition, added_tokens) = match by {
            ExtendedBy::Terms(options) => (None, None, options.added_tokens),
            ExtendedBy::Growth(options, condition) => (Some(options), condition, false),
        };
        Self {
            kind: "extended",
            base: base.to_owned(),
            base_hash: extension.map.base.clone(),
            commit,
            grow: growth.map(|growth| growth.new_tokens),
            condition: condition.map(str::to_owned),
            min_frequency: growth.map(|growth| growth.min_frequency),
            max_token_length: growth.and_then(|growth| growth.max_token_length),
            added_tokens,
            terms: TermCounts::of(&extension.terms),
            new_ids: extension.map.rows.len(),
            new_merges: extension.merges,
            base_vocab_size: extension.map.base_vocab_size,
        }
    }

    /// Where the tokenizer came from, in a line.
    #[must_use]
    pub fn lineage(&self) -> String {
        let how = if self.grow.is_some() { "grown" } else { "extended by terms" };
        format!("{} {how}, {} new ids", self.base, self.new_ids)
    }
}
