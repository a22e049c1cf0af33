//! Settings of a dedup policy when a corpus is created or decided again: a profile with overrides.

use super::error::Error;
use super::policy::{
    ComparedPart, DedupMode, DedupScope, KeepOrder, Normaliser, Policy, Profile, Signature,
    bad_policy,
};

/// A profile as it is asked for: its name, or with a version of its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum ProfileName {
    /// Prose: 5-word shingles, similarity 0.8 in 32 bands of 8, verified
    #[cfg_attr(feature = "cli", value(alias = "web@2"))]
    Web,
    /// Source code: punctuation counts; 10-token shingles, 0.7 in 42 bands of 6, verified
    Code,
    /// Conversations: as web, but only the content of turns is compared, without system messages
    #[cfg_attr(feature = "cli", value(alias = "chat@2"))]
    Chat,
    /// As web, with the word rules of earlier releases
    #[cfg_attr(feature = "cli", value(name = "web@1"))]
    Web1,
    /// As chat, with the word rules of earlier releases
    #[cfg_attr(feature = "cli", value(name = "chat@1"))]
    Chat1,
    /// The MinHash of The Stack: 5-grams, 256 permutations in 25 bands of 10, 0.7, unverified
    Bigcode,
    /// The MinHash of FineWeb: 5-grams, 14 bands of 8, 0.75, unverified
    Fineweb,
    /// The MinHash of SlimPajama: 13-character grams, 9 bands of 13, 0.8, unverified
    Slimpajama,
}

impl ProfileName {
    /// The profile, and the normaliser of a version that is asked for.
    const fn versioned(self) -> (Profile, Option<Normaliser>) {
        match self {
            Self::Web => (Profile::Web, None),
            Self::Code => (Profile::Code, None),
            Self::Chat => (Profile::Chat, None),
            Self::Web1 => (Profile::Web, Some(Normaliser::Web)),
            Self::Chat1 => (Profile::Chat, Some(Normaliser::Web)),
            Self::Bigcode => (Profile::Bigcode, None),
            Self::Fineweb => (Profile::Fineweb, None),
            Self::Slimpajama => (Profile::Slimpajama, None),
        }
    }
}

impl From<Profile> for ProfileName {
    fn from(profile: Profile) -> Self {
        match profile {
            Profile::Web => Self::Web,
            Profile::Code => Self::Code,
            Profile::Chat => Self::Chat,
            Profile::Bigcode => Self::Bigcode,
            Profile::Fineweb => Self::Fineweb,
            Profile::Slimpajama => Self::Slimpajama,
        }
    }
}

/// What may be otherwise in a corpus that has documents. What is absent is the profile's, or the corpus's own.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct DecisionOptions {
    /// How duplicates are decided. By default the profile's (witness for web, chat and code), or the corpus's.
    #[cfg_attr(feature = "cli", arg(long, value_enum))]
    pub mode: Option<DedupMode>,
    /// Exact Jaccard similarity of shingles from which a document is a near duplicate. By default the profile's, or the corpus's.
    ///
    /// A threshold other than the profile's also changes the bands: the most rows with which a pair at the threshold is
    /// found with probability 0.99. Give `bands` and `rows` to keep published ones.
    #[cfg_attr(feature = "cli", arg(long, value_name = "T"))]
    pub threshold: Option<f64>,
    /// Bands of the index, 1 to 256. By default those of `threshold`, or the profile's or corpus's.
    #[cfg_attr(feature = "cli", arg(long, value_name = "B", requires = "rows"))]
    pub bands: Option<u32>,
    /// Sketch slots per band; bands times rows are at most the hashes.
    #[cfg_attr(feature = "cli", arg(long, value_name = "R", requires = "bands"))]
    pub rows: Option<u32>,
    /// Which of two similar documents is kept. By default first, or the corpus's.
    ///
    /// `first` (the one stored first), `longest`, `source-priority:A,B,...` (other sources come last) or `field:NAME`
    /// (the one with the larger number in a declared field).
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "first|longest|source-priority:A,B,...|field:NAME")
    )]
    pub keep: Option<KeepOrder>,
    /// Which documents are compared. By default global, or the corpus's.
    #[cfg_attr(feature = "cli", arg(long, value_enum))]
    pub scope: Option<DedupScope>,
    /// How text is split into tokens; a corpus with documents can only change to another version of its own normaliser.
    ///
    /// By default the profile's, or the corpus's. `web` is the newest version, `web@1` that of earlier releases. A
    /// change in a corpus computes the fingerprints of all documents again from their texts; texts blocked by removals
    /// stay blocked.
    #[cfg_attr(feature = "cli", arg(long, value_enum))]
    pub normaliser: Option<Normaliser>,
    /// Which part of a document is compared. By default the profile's (turns for chat, else text), or the corpus's.
    ///
    /// With `prompt` no two kept documents have the same prompt: in mode exact none that are equal under the normaliser,
    /// in the others none that are similar. A change in a corpus computes the fingerprints of all documents again from
    /// their texts; it is refused while removals block normalised or similar texts.
    #[cfg_attr(feature = "cli", arg(long, value_enum))]
    pub compare: Option<ComparedPart>,
}

/// A whole policy: a profile with overrides; `None` keeps the profile's value.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Args), command(next_help_heading = "Deduplication"))]
pub struct PolicySettings {
    /// Named settings to start from: normaliser, shingle length, hashes, bands, threshold and mode. By default web.
    #[cfg_attr(feature = "cli", arg(long, value_enum))]
    pub profile: Option<ProfileName>,
    /// What is to be otherwise, and may be so in a corpus, too.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub decision: DecisionOptions,
    /// Tokens per shingle, 1 to 64. By default the profile's.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub shingle: Option<u32>,
    /// Slots of the sketch, 1 to 4096; for profile bigcode only, the others have 256.
    #[cfg_attr(feature = "cli", arg(long, value_name = "K"))]
    pub hashes: Option<u32>,
}

impl DecisionOptions {
    /// The policy of a corpus, `current`, with what was asked for.
    ///
    /// # Errors
    /// As [`PolicySettings::other_than`].
    pub fn changed(&self, current: &Policy) -> Result<Policy, Error> {
        let settings = PolicySettings { decision: self.clone(), ..PolicySettings::default() };
        Ok(settings.other_than(current)?.unwrap_or_else(|| current.clone()))
    }

    /// What of the options has no effect under `policy`, or one that may surprise, each as a sentence.
    #[must_use]
    pub fn remarks(&self, policy: &Policy) -> Vec<String> {
        let mut remarks = Vec::new();
        let near = [("threshold", self.threshold.is_some()), ("bands", self.bands.is_some())];
        for (name, _) in near.iter().filter(|(_, given)| *given && !policy.mode.is_near()) {
            remarks.push(format!("`{name}=` has no effect in mode {}", policy.mode.name()));
        }
        if policy.mode == DedupMode::Lsh && self.threshold.is_some() {
            remarks.push(
                "mode lsh does not verify similarity: the threshold only sets the bands; `mode=components` verifies"
                    .to_owned(),
            );
        }
        if self.compare == Some(ComparedPart::Prompt) && policy.mode.is_near() {
            remarks.push(format!(
                "mode {} removes similar prompts, too, and counts the words of system messages: `mode=exact` removes equal prompts only",
                policy.mode.name()
            ));
        }
        let found = policy.detection(policy.threshold);
        if policy.mode.is_near() && self.bands.is_some() && found < 0.9 {
            remarks.push(format!(
                "{} bands of {} rows find a pair of similarity {} with probability {found:.3} only; more bands or fewer rows find more",
                policy.bands, policy.rows, policy.threshold
            ));
        }
        remarks
    }
}

impl PolicySettings {
    /// The policy of a corpus that is made.
    ///
    /// # Errors
    /// [`Error`]: which setting cannot be had, and what is possible.
    pub fn policy(&self) -> Result<Policy, Error> {
        let (profile, version) = self.profile.unwrap_or(ProfileName::Web).versioned();
        let mut policy = Policy::of(profile);
        policy.normaliser = self.decision.normaliser.or(version).unwrap_or(policy.normaliser);
        policy.shingle = self.shingle.unwrap_or(policy.shingle);
        if let Some(hashes) = self.hashes.filter(|hashes| *hashes != policy.hashes) {
            if policy.signature != Signature::Bigcode {
                return Err(bad_policy(format!(
                    "the sketch of profile {} always has {} hashes; leave `hashes=` out, or use `profile=` bigcode",
                    policy.profile.name(),
                    policy.hashes
                )));
            }
            policy.hashes = hashes;
            // The published bands fill 256 slots: others get bands for the threshold.
            policy.set_threshold(policy.threshold)?;
        }
        self.decision.change(&mut policy)?;
        Ok(policy)
    }

    /// The policy of a corpus, `current`, with what may be otherwise in it; none when nothing is asked to be.
    ///
    /// # Errors
    /// [`Error`] for a setting that stored sketches were made by, or that cannot be had.
    pub fn other_than(&self, current: &Policy) -> Result<Option<Policy>, Error> {
        let fixed = [
            ("profile", self.profile.is_some()),
            ("normaliser", !self.is_of_family(current.normaliser)),
            ("shingle", self.shingle.is_some()),
            ("hashes", self.hashes.is_some()),
        ];
        if let Some((setting, _)) = fixed.into_iter().find(|(_, given)| *given) {
            return Err(bad_policy(format!(
                "`{setting}=` cannot be changed in a corpus, which has its sketches already; leave it out, or run `corpusdb dedup explain` without a corpus to see another policy"
            )));
        }
        let mut policy = current.clone();
        policy.normaliser = self.decision.normaliser.unwrap_or(policy.normaliser);
        self.decision.change(&mut policy)?;
        Ok((policy != *current).then_some(policy))
    }

    /// Whether no other normaliser is asked for, but maybe another version of it.
    fn is_of_family(&self, current: Normaliser) -> bool {
        self.decision.normaliser.is_none_or(|asked| asked.family() == current.family())
    }
}

impl DecisionOptions {
    /// Changes what decides about sketches that are made already.
    fn change(&self, policy: &mut Policy) -> Result<(), Error> {
        policy.mode = self.mode.unwrap_or(policy.mode);
        policy.compared = self.compare.unwrap_or(policy.compared);
        // A threshold that is the policy's own leaves published bands as they are.
        if let Some(threshold) = self.threshold.filter(|threshold| *threshold != policy.threshold) {
            policy.set_threshold(threshold)?;
        }
        match (self.bands, self.rows) {
            (Some(bands), Some(rows)) => (policy.bands, policy.rows) = (bands, rows),
            (None, None) => {}
            _ => {
                let message = "`bands=` and `rows=` belong together: give both or neither";
                return Err(bad_policy(message));
            }
        }
        if let Some(keep) = &self.keep {
            policy.keep = keep.clone();
        }
        policy.scope = self.scope.unwrap_or(policy.scope);
        policy.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn decided(decision: DecisionOptions) -> PolicySettings {
        PolicySettings { decision, ..PolicySettings::default() }
    }

    fn refused(settings: &PolicySettings) -> String {
        settings.policy().unwrap_err().to_string()
    }

    #[test]
    fn settings_change_what_they_say_and_nothing_else() {
        for profile in Profile::ALL {
            let settings =
                PolicySettings { profile: Some(profile.into()), ..PolicySettings::default() };
            assert_eq!(settings.policy().unwrap(), Policy::of(profile));
            // What a profile says itself changes nothing, published bands included.
            let of = Policy::of(profile);
            let again = PolicySettings {
                decision: DecisionOptions {
                    mode: Some(of.mode),
                    threshold: Some(of.threshold),
                    ..DecisionOptions::default()
                },
                hashes: Some(of.hashes),
                ..settings
            };
            assert_eq!(again.policy().unwrap(), of);
        }
        let settings = decided(DecisionOptions {
            mode: Some(DedupMode::Exact),
            threshold: Some(0.5),
            bands: Some(12),
            rows: Some(3),
            keep: Some(KeepOrder::Longest),
            scope: Some(DedupScope::PerSource),
            normaliser: None,
            compare: Some(ComparedPart::Prompt),
        });
        let web = Policy::of(Profile::Web);
        let expected = Policy {
            mode: DedupMode::Exact,
            threshold: 0.5,
            bands: 12,
            rows: 3,
            keep: KeepOrder::Longest,
            scope: DedupScope::PerSource,
            compared: ComparedPart::Prompt,
            ..web.clone()
        };
        assert_eq!(settings.policy().unwrap(), expected);
        assert_eq!(settings.other_than(&web).unwrap(), Some(expected.clone()));
        assert_eq!(settings.other_than(&expected).unwrap(), None);
        assert_eq!(PolicySettings::default().other_than(&expected).unwrap(), None);
        let fewer = PolicySettings {
            profile: Some(ProfileName::Bigcode),
            hashes: Some(64),
            ..PolicySettings::default()
        };
        let fewer = fewer.policy().unwrap();
        assert!(fewer.hashes == 64 && fewer.bands * fewer.rows <= 64, "{fewer}");
    }

    #[test]
    fn impossible_settings_are_refused_by_name() {
        let web = PolicySettings::default();
        let of = |threshold| decided(DecisionOptions { threshold, ..DecisionOptions::default() });
        let percent = of(Some(80.0));
        assert!(refused(&percent).ends_with("for 80 percent write 0.8"));
        let far = of(Some(8.0));
        assert_eq!(refused(&far), "threshold 8 is not in 0.1..=1.0");
        let half = decided(DecisionOptions { rows: Some(3), ..DecisionOptions::default() });
        assert!(refused(&half).contains("give both or neither"));
        let hashes = PolicySettings { hashes: Some(128), ..web.clone() };
        assert!(refused(&hashes).starts_with("the sketch of profile web always has 256 hashes"));
        let shingle = PolicySettings { shingle: Some(0), ..web };
        assert!(refused(&shingle).contains("must be 1 to 64"));
        let made = Policy::of(Profile::Web);
        let normalised = |normaliser| {
            decided(DecisionOptions { normaliser: Some(normaliser), ..DecisionOptions::default() })
        };
        for (setting, asked) in [
            ("shingle", shingle),
            ("hashes", hashes),
            ("profile", PolicySettings { profile: Some(ProfileName::Web), ..half.clone() }),
            ("normaliser", normalised(Normaliser::Code)),
        ] {
            let refused = asked.other_than(&made).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::BadPolicy);
            let words = format!("`{setting}=` cannot be changed in a corpus, ");
            assert!(refused.to_string().starts_with(&words), "{refused}");
        }
        // Fingerprints are made again by another version of the same words.
        let version = normalised(Normaliser::Web);
        let other = Policy { normaliser: Normaliser::Web, ..made.clone() };
        assert_eq!(version.other_than(&made).unwrap(), Some(other.clone()));
        assert_eq!(version.other_than(&other).unwrap(), None);
        let twice = "source-priority:a,b,a".parse::<KeepOrder>().unwrap_err().to_string();
        assert!(twice.starts_with("source `a` is named twice"), "{twice}");
    }
}
