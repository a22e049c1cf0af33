//! Suites with what is common in the corpus, and the verdicts of their items.

use crate::sql::error::SqlError;
use model::{DocId, Sightings, SuiteId, SuiteVerdict, hash64, text_hash};
use roaring::RoaringTreemap;
use std::collections::{BTreeMap, BTreeSet};
use store::{SuiteRecord, VerdictSubject, View};
use text::contamination::{CommonGrams, ContaminationRule, Evidence, SuiteIndex};

/// Estimated bytes that an n-gram takes while evidence is made.
const GRAM_BYTES: u64 = 80;
const TEXT_BYTES: u64 = 20;
const VERDICT_BYTES: u64 = 64;

/// The text whose n-grams are examined.
#[derive(Clone, Copy)]
pub(crate) enum EvidenceSubject<'t> {
    Document(DocId),
    Text(&'t str),
}

/// A suite with the weights of its n-grams and the names of its items.
pub(crate) struct WeightedSuite<'v> {
    view: &'v View,
    pub(crate) suite: SuiteId,
    pub(crate) record: SuiteRecord,
    index: SuiteIndex,
    /// N-grams and short questions that are too common to count.
    pub(crate) common: u64,
    items: BTreeMap<u32, SuiteItemName>,
    verdicts: BTreeMap<VerdictSubject, SuiteVerdict>,
}

/// What reviewers decided about one text.
pub(crate) struct TextVerdicts<'w> {
    verdicts: &'w BTreeMap<VerdictSubject, SuiteVerdict>,
    hash: [u8; 16],
}

impl TextVerdicts<'_> {
    pub(crate) fn of(&self, item: u32) -> Option<SuiteVerdict> {
        self.verdicts.get(&(self.hash, item)).copied()
    }
}

#[derive(Clone)]
pub(crate) struct SuiteItemName {
    pub(crate) id: String,
    pub(crate) is_weak: bool,
}

impl<'v> WeightedSuite<'v> {
    /// Weighs by what is common in `kept`, the documents kept now or in a snapshot.
    pub(crate) fn among(
        view: &'v View,
        suite: (SuiteId, &SuiteRecord),
        rule: &ContaminationRule,
        kept: &RoaringTreemap,
    ) -> Result<Self, SqlError> {
        Self::beside(view, suite, rule, kept, 0)
    }

    /// As [`among`](Self::among), beside other suites that hold `held` bytes.
    pub(crate) fn beside(
        view: &'v View,
        (suite, record): (SuiteId, &SuiteRecord),
        rule: &ContaminationRule,
        kept: &RoaringTreemap,
        held: u64,
    ) -> Result<Self, SqlError> {
        let (bytes, most) =
            (held + u64::from(record.grams) * GRAM_BYTES, view.query_memory() as u64);
        if bytes > most {
            return Err(SqlError::Suites { suite: record.name.clone(), bytes, most });
        }
        let mut index =
            SuiteIndex::of(view.suite_grams(suite)?, (record.items, record.grams), |hash, why| {
                View::corrupt_gram(suite, hash, why)
            })?;
        let mut counted = 0;
        if let Some(common) = common(view, (suite, &record.name, index.grams()), rule, kept)? {
            index.ignore_common(&common);
            counted = (0..index.grams()).filter(|gram| common.has_gram(*gram)).count() as u64;
            counted += common.whole() as u64;
        }
        let mut verdicts = BTreeMap::new();
        for row in view.verdicts(suite)? {
            let (of, verdict) = row?;
            verdicts.insert(of, verdict);
            let bytes = bytes + verdicts.len() as u64 * VERDICT_BYTES;
            if bytes > most {
                return Err(SqlError::Suites { suite: record.name.clone(), bytes, most });
            }
        }
        let (record, common) = (record.clone(), counted);
        Ok(Self { view, suite, record, index, common, items: BTreeMap::new(), verdicts })
    }

    /// Estimated bytes that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.record.grams) * GRAM_BYTES + self.verdicts.len() as u64 * VERDICT_BYTES
    }

    /// What reviewers decided about a text, by item. Reads nothing where no decision is stored.
    pub(crate) fn decided(&self, whose: EvidenceSubject<'_>) -> Result<TextVerdicts<'_>, SqlError> {
        let hash = match whose {
            _ if self.verdicts.is_empty() => [0; 16],
            EvidenceSubject::Document(document) => self.view.print(document)?.raw,
            EvidenceSubject::Text(text) => text_hash(text),
        };
        Ok(TextVerdicts { verdicts: &self.verdicts, hash })
    }

    pub(crate) fn evidence(&self, found: &Sightings) -> Vec<Evidence> {
        self.index.evidence(found)
    }

    /// The name of an item, and whether the item lacks an answer.
    pub(crate) fn item(&mut self, item: u32) -> Result<SuiteItemName, SqlError> {
        if let Some(known) = self.items.get(&item) {
            return Ok(known.clone());
        }
        let found = self.view.suite_item(self.suite, item)?.unwrap_or_default();
        let name = SuiteItemName { is_weak: found.is_weak(), id: found.id };
        self.items.insert(item, name.clone());
        Ok(name)
    }
}

/// N-grams that are common in the texts of kept documents; none where there are too few documents, or sources.
fn common(
    view: &View,
    (suite, name, grams): (SuiteId, &str, u32),
    rule: &ContaminationRule,
    kept: &RoaringTreemap,
) -> Result<Option<CommonGrams>, SqlError> {
    let enough = kept.len() >= u64::from(rule.common_documents);
    if !enough || view.sources().count() < rule.common_sources as usize {
        return Ok(None);
    }
    let mut common = CommonGrams::new(rule.common_documents, rule.common_sources, grams);
    // A set, since where no duplicates are removed, very many documents may have one text.
    let mut texts = BTreeSet::new();
    for row in view.all_sightings(suite)? {
        let (document, found) = row?;
        if !kept.contains(document.0) {
            continue;
        }
        let is_copy = !texts.insert(hash64(&view.print(document)?.raw));
        let (bytes, most) = (texts.len() as u64 * TEXT_BYTES, view.query_memory() as u64);
        if bytes > most {
            return Err(SqlError::Suites { suite: name.to_owned(), bytes, most });
        }
        common.count(view.source_of(document)?, &found, is_copy);
    }
    Ok(Some(common))
}

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
