//! The part of a report about evaluation suites: how much of each is in the corpus, without items and their texts.

use crate::inspect::contamination::{SuiteContamination, contamination, suites};
use model::Error;
use serde::Serialize;
use store::View;
use text::contamination::ContaminationRule;

/// Suites that are listed, at most.
const SUITES: usize = 40;
/// Sources of a suite that are named, at most.
const NAMED: usize = 12;

/// Evaluation suites and how much of them is in the corpus.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ContaminationReport {
    /// The suites, the one with most documents first.
    pub suites: Vec<CardSuite>,
    /// How many others there are.
    pub left_out: u64,
}

/// How much of a suite is in the corpus, by the default rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CardSuite {
    /// The suite, without examples.
    #[serde(flatten)]
    pub found: SuiteContamination,
    /// How many more sources have it than are named.
    pub sources_left_out: u64,
    /// Whether all stored texts were searched for it.
    pub is_complete: bool,
}

pub(super) fn contaminated(view: &View) -> Result<ContaminationReport, Error> {
    let all = suites(view)?;
    let mut told = Vec::with_capacity(all.len());
    // Without examples: one would publish the item of a test.
    for found in contamination(view, None, &ContaminationRule::default(), 0)? {
        let is_complete = all.iter().any(|suite| suite.suite == found.suite && suite.complete);
        told.push(reported(found, is_complete));
    }
    told.sort_by_key(|suite| std::cmp::Reverse(suite.found.documents));
    let left_out = told.len().saturating_sub(SUITES) as u64;
    told.truncate(SUITES);
    Ok(ContaminationReport { suites: told, left_out })
}

fn reported(mut found: SuiteContamination, is_complete: bool) -> CardSuite {
    let sources_left_out = found.sources.len().saturating_sub(NAMED) as u64;
    found.sources.truncate(NAMED);
    found.worst.clear();
    CardSuite { found, sources_left_out, is_complete }
}
