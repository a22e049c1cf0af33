//! Checks texts that are not stored against the suites of a corpus.

use crate::inspect::InspectError;
use crate::sql::ItemEvidence;
use crate::sql::{EvidenceSubject, WeightedSuite};
use model::SuiteId;
use serde::Serialize;
use store::View;
use text::contamination::{ContaminationRule, SeedIndex, SeedScratch};

/// The evidence of suites in a text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CheckedText {
    /// Its key, or its file and number.
    pub text: String,
    /// Whether the rule holds of any of the evidence.
    pub contaminated: bool,
    /// All evidence, worst first.
    pub evidence: Vec<ItemEvidence>,
}

/// How many texts were checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CheckedTexts {
    /// All of them.
    pub texts: u64,
    /// How many of these are contaminated by the rule.
    pub contaminated: u64,
}

/// Checks one text after another, and counts.
pub(crate) struct TextCheck<'v> {
    suites: Vec<(SuiteId, WeightedSuite<'v>)>,
    seeds: SeedIndex,
    rule: ContaminationRule,
    scratch: SeedScratch,
    pub(crate) counts: CheckedTexts,
}

impl<'v> TextCheck<'v> {
    /// A check against the suites of a view, whose n-grams are in `seeds`.
    pub(crate) fn new(
        view: &'v View,
        seeds: SeedIndex,
        rule: ContaminationRule,
    ) -> Result<Self, InspectError> {
        let kept = view.kept()?;
        let mut held = 0;
        let mut suites = Vec::new();
        for (suite, record) in view.suites()? {
            let weighed = WeightedSuite::beside(view, (*suite, record), &rule, &kept, held)?;
            held += weighed.bytes();
            suites.push((*suite, weighed));
        }
        let scratch = SeedScratch::default();
        Ok(Self { suites, seeds, rule, scratch, counts: CheckedTexts::default() })
    }

    /// The evidence of one text.
    pub(crate) fn text(&mut self, name: &str, text: &str) -> Result<CheckedText, InspectError> {
        let mut evidence = Vec::new();
        for (of, found) in self.seeds.scan(text, None, &mut self.scratch) {
            if let Some((_, weighed)) = self.suites.iter_mut().find(|(suite, _)| *suite == of) {
                evidence.extend(weighed.item_evidence(
                    EvidenceSubject::Text(text),
                    &found,
                    &self.rule,
                )?);
            }
        }
        evidence.iter_mut().for_each(|one: &mut ItemEvidence| one.quote(text));
        evidence.sort_by(ItemEvidence::worst_first);
        let contaminated = evidence.iter().any(|one| one.contaminated);
        self.counts.texts += 1;
        self.counts.contaminated += u64::from(contaminated);
        Ok(CheckedText { text: name.to_owned(), contaminated, evidence })
    }
}
