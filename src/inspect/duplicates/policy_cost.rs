//! What a dedup policy detects and costs: detection by similarity, candidates, stored bytes, and the cost of a change.

use super::candidates::{candidates, floor, shared_bands, sketch};
use super::sweep::DedupSweep;
use crate::inspect::InspectError;
use crate::inspect::forecast::{Forecast, forecast_layout};
use crate::inspect::policy_settings::{PolicySetting, policy_settings};
use crate::inspect::sample::sample_of;
use model::{ComparedPart, DocId, Policy, Signature};
use serde::Serialize;
use store::View;

/// Documents of a corpus whose candidates are counted.
const SAMPLED: u64 = 1000;
/// The families that dedup needs; the others hold the documents.
const DEDUP_FAMILIES: [&str; 7] =
    ["bands", "bands_more", "band_runs", "sketch_pages", "exact", "matches", "members"];

/// What a dedup policy finds, stores and costs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DedupExplanation {
    /// The policy, in words.
    pub policy: String,
    /// The same policy as values.
    pub policy_settings: Policy,
    /// Its settings with what they mean.
    pub settings: Vec<PolicySetting>,
    /// Sketch slots that no band uses.
    pub unused_slots: u32,
    /// Similarity at which a pair is found half of the time.
    pub half: f64,
    /// The smallest sketch estimate worth verifying.
    pub estimate_floor: f64,
    /// Detection by similarity, ascending.
    pub detection: Vec<DetectionLine>,
    /// What dedup stores of a document.
    pub bytes: StoredBytes,
    /// How many candidates documents have; for a corpus only.
    pub sample: Option<CandidateSample>,
    /// The cost of a change to this policy; only for a corpus with another one.
    pub change: Option<PolicyChange>,
    /// What other thresholds and shingle sizes would remove; absent unless it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<DedupSweep>,
    /// What so many documents would need under the policy; absent unless it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
}

/// Probabilities for pairs of one similarity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DetectionLine {
    /// The similarity of each of these pairs, 0 to 1.
    pub jaccard: f64,
    /// Probability that such a pair shares a band.
    pub found: f64,
    /// Expected candidates among a million such pairs.
    pub candidates_per_million: f64,
    /// Probability that its estimate is at least the floor, so that its texts are compared.
    pub verified: f64,
}

/// What dedup stores of a document.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StoredBytes {
    /// Whether it was measured in a corpus; else it is the size of the rows before compression.
    pub measured: bool,
    /// Documents it was measured over, kept or not.
    pub documents: u64,
    /// Bytes a document, by family of the store.
    pub families: Vec<FamilyBytes>,
    /// Bytes of all families together.
    pub total: f64,
}

/// Bytes a document in one family.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FamilyBytes {
    /// The family (docs/reference/format.md).
    pub family: &'static str,
    /// Bytes a document.
    pub bytes: f64,
}

/// How many candidates kept documents have in a corpus.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CandidateSample {
    /// Documents looked up: kept ones, drawn evenly, those without a sketch left out.
    pub documents: u64,
    /// Kept documents that share a band with one of them, on average.
    pub candidates: f64,
    /// Most candidates of any.
    pub most: u64,
    /// Candidates whose estimate is at least the floor, on average: their texts would be compared.
    pub verified: f64,
    /// Buckets with only their first members read.
    pub capped: u64,
    /// Of the candidates that the bands of the corpus find, those that the other policy's bands would find
    /// too, on average. It may find more: pairs that share no band now are not seen here.
    pub candidates_after: Option<f64>,
}

/// The cost of a change to another policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PolicyChange {
    /// The policy of the corpus, in words.
    pub from: String,
    /// Whether bands change; sketches only do with what is compared, and with the version of the normaliser.
    pub new_bands: bool,
    /// Rows of buckets to write: kept documents times bands; none if bands stay.
    pub band_rows: u64,
    /// The steps, in words.
    pub steps: Vec<String>,
}

impl DedupExplanation {
    /// With what so many documents, all kept, would need under the policy: disk, `memory`, hours.
    #[must_use]
    pub fn with_forecast(mut self, documents: u64, bytes_each: u64, memory: u64) -> Self {
        let families: Vec<_> = self.bytes.families.iter().map(|it| (it.family, it.bytes)).collect();
        let size = (documents, bytes_each);
        self.forecast = Some(forecast_layout(&self.policy_settings, &families, size, memory));
        self
    }
}

/// What a policy detects and costs, without a corpus.
#[must_use]
pub fn explain_policy(policy: &Policy) -> DedupExplanation {
    DedupExplanation {
        policy: policy.to_string(),
        settings: policy_settings(policy),
        unused_slots: policy.hashes.saturating_sub(policy.bands.saturating_mul(policy.rows)),
        half: half(policy),
        estimate_floor: floor(policy.threshold, policy),
        detection: lines(policy),
        bytes: by_layout(policy),
        sample: None,
        change: None,
        sweep: None,
        forecast: None,
        policy_settings: policy.clone(),
    }
}

/// What the policy of a corpus detects and costs, or another one that the corpus could change to.
///
/// # Errors
/// [`InspectError::Fixed`] when `other` needs other sketches; [`InspectError`] when a row cannot be
/// read.
pub fn explain_dedup(
    view: &View,
    other: Option<&Policy>,
) -> Result<DedupExplanation, InspectError> {
    let current = view.policy();
    let policy = other.unwrap_or(current);
    if let Some((asked, stored)) = current.fixed_against(policy) {
        return Err(InspectError::Fixed { asked, stored });
    }
    let mut explanation = explain_policy(policy);
    if view.documents() > 0 {
        explanation.bytes = measured(view)?;
    }
    // Modes that look for no near duplicates store no bands.
    let new_bands = (current.bands, current.rows) != (policy.bands, policy.rows)
        || !policy.has_fingerprints_of(current)
        || (policy.mode.is_near() && !current.mode.is_near());
    // The stored sketches cannot tell what another compared part would find.
    if current.mode.is_near() && current.compared == policy.compared && view.state().kept > 0 {
        explanation.sample = Some(candidate_sample(view, policy, new_bands)?);
    }
    if policy != current {
        explanation.change = Some(change(view, policy, new_bands));
    }
    Ok(explanation)
}

/// Lines for similarities from 0.3 to 1 in steps of 0.05, and for the threshold.
fn lines(policy: &Policy) -> Vec<DetectionLine> {
    let mut similarities: Vec<f64> = (6..=20_u32).map(|step| f64::from(step * 5) / 100.0).collect();
    if !similarities.contains(&policy.threshold) {
        similarities.push(policy.threshold);
        similarities.sort_by(f64::total_cmp);
    }
    let line = |jaccard| {
        let found = policy.detection(jaccard);
        DetectionLine {
            jaccard,
            found,
            candidates_per_million: found * 1e6,
            verified: passes(jaccard, policy),
        }
    };
    similarities.into_iter().map(line).collect()
}

/// The similarity that is detected half of the time. By bisection: detection grows with similarity.
fn half(policy: &Policy) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if policy.detection(middle) < 0.5 { low = middle } else { high = middle }
    }
    high
}

/// Probability that the estimate of a pair is at least the floor: of n slots each agrees with probability
/// J or by chance, independently; the terms of the binomial are summed from the largest down.
fn passes(jaccard: f64, policy: &Policy) -> f64 {
    let chance = match policy.signature {
        Signature::Native => 1.0 / 256.0,
        Signature::Bigcode => 0.0,
    };
    let agree = jaccard + (1.0 - jaccard) * chance;
    if agree >= 1.0 {
        return 1.0;
    }
    let n = policy.hashes;
    let least = floor(policy.threshold, policy);
    let ln = |value: f64| value.max(f64::MIN_POSITIVE).ln();
    let mut term = f64::from(n) * ln(agree);
    let mut sum = 0.0;
    for agreeing in (0..=n).rev() {
        let estimate = (f64::from(agreeing) / f64::from(n) - chance) / (1.0 - chance);
        if estimate < least {
            break;
        }
        sum += term.exp();
        // From C(n, k) p^k q^(n-k) to that of k - 1.
        let k = f64::from(agreeing);
        term += ln(k) - ln(f64::from(n) - k + 1.0) + ln(1.0 - agree) - ln(agree);
    }
    sum.min(1.0)
}

/// Keys and values of the rows of a kept document, before compression.
fn by_layout(policy: &Policy) -> StoredBytes {
    let mut families = Vec::new();
    let slot = match policy.signature {
        Signature::Native => 1.0,
        Signature::Bigcode => 4.0,
    };
    if policy.mode.is_near() {
        // Key: generation, band number, 40-bit hash; value: a 40-bit document id.
        families.push(FamilyBytes { family: "bands", bytes: f64::from(policy.bands) * 15.0 });
        families.push(FamilyBytes {
            family: "sketch_pages",
            bytes: 1.0 + f64::from(policy.hashes) * slot,
        });
    }
    // Raw text, and normalised text where there is one, or a prompt alone: kind and hash to a document.
    let has_both = policy.mode.is_near() && policy.compared != ComparedPart::Prompt;
    let forms = if has_both { 2.0 } else { 1.0 };
    families.push(FamilyBytes { family: "exact", bytes: forms * 25.0 });
    let total = families.iter().map(|family| family.bytes).sum();
    StoredBytes { measured: false, documents: 0, families, total }
}

fn measured(view: &View) -> Result<StoredBytes, InspectError> {
    let documents = view.documents();
    let families: Vec<FamilyBytes> = view
        .disk_usage()?
        .into_iter()
        .filter(|(family, bytes)| *bytes > 0 && DEDUP_FAMILIES.contains(family))
        .map(|(family, bytes)| FamilyBytes { family, bytes: per(bytes, documents) })
        .collect();
    let total = families.iter().map(|family| family.bytes).sum();
    Ok(StoredBytes { measured: true, documents, families, total })
}

fn candidate_sample(
    view: &View,
    policy: &Policy,
    new_bands: bool,
) -> Result<CandidateSample, InspectError> {
    let kept = view.kept()?;
    let least = floor(policy.threshold, policy);
    let (mut documents, mut all, mut most, mut verified, mut capped, mut after) =
        (0, 0, 0, 0, 0, 0);
    for document in sample_of(&view.kept()?, SAMPLED, 0) {
        let Some(own) = sketch(view, document)? else { continue };
        let source = view.place(document)?.source;
        let admit = |other: DocId| other != document && kept.contains(other.0);
        let found = candidates(view, &own, Some(source), admit)?;
        documents += 1;
        capped += found.capped;
        let count = u64::try_from(found.found.len()).unwrap_or(u64::MAX);
        all += count;
        most = most.max(count);
        for other in found.found {
            let Some(other) = sketch(view, other)? else { continue };
            let is_found = !new_bands || !shared_bands(&own, &other, policy).is_empty();
            after += u64::from(is_found);
            verified += u64::from(is_found && own.estimate(&other) >= least);
        }
    }
    Ok(CandidateSample {
        documents,
        candidates: per(all, documents),
        most,
        verified: per(verified, documents),
        capped,
        candidates_after: new_bands.then(|| per(after, documents)),
    })
}

fn change(view: &View, policy: &Policy, new_bands: bool) -> PolicyChange {
    let current = view.policy();
    let kept = view.state().kept;
    let mut steps = Vec::new();
    let near = policy.mode.is_near();
    if !policy.has_fingerprints_of(current) {
        let bands = match near {
            true => format!(", and {} bands of each are indexed", policy.bands),
            false => String::new(),
        };
        steps.push(format!(
            "sketches are made again from stored texts ({}), by the rules of {}{bands}",
            policy.compared.name(),
            policy.normaliser.name(),
        ));
    } else if new_bands && near {
        steps.push(format!(
            "the sketches stay; {} bands of {} slots of each are indexed again, in a new generation",
            policy.bands, policy.rows
        ));
    } else {
        steps.push("sketches and bands stay".to_owned());
    }
    steps.push("no input file is read again; pairs are verified from stored texts".to_owned());
    if policy.threshold < current.threshold {
        steps.push(
            "a lower threshold removes more; a removed document may come back if its witness is removed"
                .to_owned(),
        );
    } else if policy.threshold > current.threshold {
        steps.push(
            "a higher threshold brings documents back; every tokenizer encodes them".to_owned(),
        );
    }
    PolicyChange {
        from: current.to_string(),
        new_bands: new_bands && near,
        band_rows: if new_bands && near { kept.saturating_mul(policy.bands.into()) } else { 0 },
        steps,
    }
}

/// An average; 0 over nothing.
#[expect(clippy::cast_precision_loss, reason = "an average is shown with a few digits")]
fn per(sum: u64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum as f64 / count as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Profile;

    #[test]
    fn detection_is_that_of_the_published_tables() {
        let found = |profile, jaccard: f64| {
            let explanation = explain_policy(&Policy::of(profile));
            let line = explanation.detection.iter().find(|line| line.jaccard == jaccard).unwrap();
            (line.found * 1e4).round() / 1e4
        };
        assert_eq!(found(Profile::Web, 0.8), 0.9972);
        assert_eq!(found(Profile::Web, 0.5), 0.1177);
        assert_eq!(found(Profile::Fineweb, 0.75), 0.7716);
        assert_eq!(found(Profile::Bigcode, 0.7), 0.5115);
        assert_eq!(explain_policy(&Policy::of(Profile::Fineweb)).unused_slots, 144);
    }

    #[test]
    fn half_of_the_pairs_are_found_at_the_half_point() {
        for profile in Profile::ALL {
            let policy = Policy::of(profile);
            assert!((policy.detection(half(&policy)) - 0.5).abs() < 1e-6);
        }
    }

    #[test]
    fn the_estimate_passes_what_it_must_and_little_else() {
        let policy = Policy::of(Profile::Web);
        assert_eq!(passes(1.0, &policy), 1.0);
        assert!(passes(0.8, &policy) > 0.9999 && passes(0.8, &policy) < 1.0);
        assert!(passes(0.5, &policy) < 1e-3);
        assert!(passes(0.7, &policy) > 0.3 && passes(0.7, &policy) < 0.7);
    }
}
