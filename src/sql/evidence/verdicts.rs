//! The documents that a rule holds for, by suite.

use super::weighed::{EvidenceSubject, WeightedSuite};
use crate::sql::error::SqlError;
use model::SuiteVerdict;
use roaring::RoaringTreemap;
use store::View;
use text::contamination::ContaminationRule;

/// For each suite, by name, the documents that are contaminated by the rule.
pub(crate) fn verdicts(
    view: &View,
    rule: &ContaminationRule,
) -> Result<Vec<(String, RoaringTreemap)>, SqlError> {
    let mut suites: Vec<_> = view.suites()?.iter().collect();
    suites.sort_unstable_by(|(_, a), (_, b)| a.name.cmp(&b.name));
    let (kept, names) = (view.kept()?, suites.into_iter().map(|(_, record)| record.name.as_str()));
    names.map(|name| Ok((name.to_owned(), contaminated(view, name, rule, &kept)?))).collect()
}

/// The documents, kept or not, that the rule calls contaminated by an item whose pair was not rejected. N-grams are
/// common by their count among `kept`.
pub(crate) fn contaminated(
    view: &View,
    name: &str,
    rule: &ContaminationRule,
    kept: &RoaringTreemap,
) -> Result<RoaringTreemap, SqlError> {
    let (suite, record) = view.expect_suite(name)?;
    let weighed = WeightedSuite::among(view, (suite, &record), rule, kept)?;
    let mut found = RoaringTreemap::new();
    for row in view.all_sightings(suite)? {
        let (document, sightings) = row?;
        let decided = weighed.decided(EvidenceSubject::Document(document))?;
        let is_rejected = |item: u32| decided.of(item) == Some(SuiteVerdict::Rejected);
        let evidence = weighed.evidence(&sightings);
        if evidence.iter().any(|one| rule.is_met(one) && !is_rejected(one.item)) {
            found.insert(document.0);
        }
    }
    Ok(found)
}
