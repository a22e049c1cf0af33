//! Lists the settings of a dedup policy, each with what it means.

use model::{ComparedPart, DedupMode, DedupScope, KeepOrder, Normaliser, Policy};
use serde::Serialize;

/// One setting of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PolicySetting {
    /// The name of the setting.
    pub setting: &'static str,
    /// What it is set to.
    pub value: String,
    /// What that means.
    pub meaning: String,
}

/// The settings of a policy that have an effect in its mode, in the order in which they act.
#[must_use]
pub fn policy_settings(policy: &Policy) -> Vec<PolicySetting> {
    let mut found = Vec::new();
    let mut add = |setting, value: String, meaning: String| {
        found.push(PolicySetting { setting, value, meaning });
    };
    let t = policy.threshold;
    add(
        "profile",
        policy.profile.name().to_owned(),
        "the settings from which this policy started".to_owned(),
    );
    add("mode", policy.mode.name().to_owned(), mode(policy));
    let lower = |by: f64| ((t - by).max(0.0) * 1e4).round() / 1e4;
    if policy.compares_words() {
        let part = match policy.compared {
            ComparedPart::Text => None,
            ComparedPart::Turns => Some(
                "the content of a conversation's turns, without system messages; for other records the text",
            ),
            ComparedPart::Prompt => Some(
                "all that stands before the last answer that is trained on; without such an answer the text",
            ),
        };
        if let Some(part) = part {
            add("compares", policy.compared.name().to_owned(), part.to_owned());
        }
        add("normaliser", policy.normaliser.name().to_owned(), normaliser(policy.normaliser));
    }
    if policy.mode.is_near() {
        let (bands, rows) = (policy.bands, policy.rows);
        let unit =
            if policy.normaliser == Normaliser::Slimpajama { "characters" } else { "tokens" };
        add(
            "shingle",
            policy.shingle.to_string(),
            format!(
                "every run of {} {unit} is compared; shorter texts match only exactly",
                policy.shingle
            ),
        );
        add(
            "hashes",
            policy.hashes.to_string(),
            format!("slots of the `{}` sketch of a text", policy.signature.name()),
        );
        let verified = if policy.mode == DedupMode::Lsh {
            "sets the bands; similarity is not verified in mode lsh"
        } else {
            "exact Jaccard similarity of shingles from which two documents are duplicates"
        };
        add("threshold", t.to_string(), verified.to_owned());
        add(
            "bands x rows",
            format!("{bands} x {rows}"),
            format!(
                "documents meet when all {rows} slots of one of {bands} bands agree: found with probability {} at {t}, {} at {}, {} at {}",
                probability(policy.detection(t)),
                probability(policy.detection(lower(0.1))),
                lower(0.1),
                probability(policy.detection(lower(0.2))),
                lower(0.2),
            ),
        );
    }
    if policy.mode != DedupMode::None {
        add("keep", policy.keep.to_string(), keep(&policy.keep).to_owned());
        let scope = match policy.scope {
            DedupScope::Global => "all documents are compared with each other",
            DedupScope::PerSource => "only documents of one source are compared with each other",
        };
        add("scope", policy.scope.name().to_owned(), scope.to_owned());
    }
    add(
        "signature version",
        policy.signature_version.to_string(),
        "version of normalising, hashing and sketching; never mixed in a corpus".to_owned(),
    );
    found
}

/// A probability with enough digits to differ from 0 and 1.
#[must_use]
pub(super) fn probability(value: f64) -> String {
    let value = value.clamp(0.0, 1.0);
    if value > 0.9999 && value < 1.0 {
        "over 0.9999".to_owned()
    } else if value > 0.0 && value < 0.0001 {
        "under 0.0001".to_owned()
    } else {
        format!("{value:.4}")
    }
}

fn mode(policy: &Policy) -> String {
    let t = policy.threshold;
    match policy.mode {
        DedupMode::Witness => {
            format!("a document is removed when a kept one is at least {t} similar, verified")
        }
        DedupMode::Components => {
            format!(
                "pairs at least {t} similar, verified, form clusters; one document of each is kept"
            )
        }
        DedupMode::Lsh => {
            "shared bands, unverified, form clusters; one document of each is kept".to_owned()
        }
        DedupMode::Exact if policy.compares_words() => {
            "a document is removed when a kept one has an equal prompt under the normaliser"
                .to_owned()
        }
        DedupMode::Exact => "a document is removed when a kept one has equal raw bytes".to_owned(),
        DedupMode::None => "nothing is removed".to_owned(),
    }
}

fn normaliser(normaliser: Normaliser) -> String {
    let words = match normaliser {
        Normaliser::Web => "lower case, words; punctuation and space do not count",
        Normaliser::Web2 => {
            "words; case, punctuation, space, invisible characters and kinds of apostrophes are ignored"
        }
        Normaliser::Code => "as `web`, but punctuation counts",
        Normaliser::Bigcode => "runs of ASCII letters, digits and underscores, unchanged",
        Normaliser::Fineweb => "lower case, numbers as 0, marks and punctuation dropped",
        Normaliser::Slimpajama => "lower case, punctuation dropped; tokens are characters",
    };
    words.to_owned()
}

fn keep(order: &KeepOrder) -> &'static str {
    match order {
        KeepOrder::First => "the duplicate stored first is kept",
        KeepOrder::Longest => "the duplicate with most characters is kept",
        KeepOrder::SourcePriority(_) => "the duplicate whose source is named first is kept",
        KeepOrder::Field(_) => "the duplicate with the largest number in the field is kept",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Profile;

    #[test]
    fn settings_without_effect_are_left_out() {
        let names = |mode| -> Vec<&str> {
            let mut policy = Policy::of(Profile::Web);
            policy.mode = mode;
            policy_settings(&policy).iter().map(|setting| setting.setting).collect()
        };
        assert_eq!(names(DedupMode::None), ["profile", "mode", "signature version"]);
        assert_eq!(
            names(DedupMode::Exact),
            ["profile", "mode", "keep", "scope", "signature version"]
        );
        assert_eq!(names(DedupMode::Lsh).len(), 10);
    }

    #[test]
    fn probabilities_are_never_rounded_to_certainty() {
        let shown: Vec<String> =
            [0.0, 1e-9, 0.5, 0.99721, 1.0 - 1e-9, 1.0].map(probability).to_vec();
        assert_eq!(shown, ["0.0000", "under 0.0001", "0.5000", "0.9972", "over 0.9999", "1.0000"]);
    }
}
