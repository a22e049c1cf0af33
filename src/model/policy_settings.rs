//! What is said of a dedup policy when a corpus is made or decided again: a profile, and what is to be otherwise.

use super::policy::{
    ComparedPart, DedupMode, DedupScope, KeepOrder, Normaliser, Policy, PolicyError, Profile,
    Signature,
};

/// A profile with overrides. `None` keeps the value of the profile, or of the corpus.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicySettings {
    /// The settings to begin with; [`Profile::Web`] unless said.
    pub profile: Option<Profile>,
    /// How duplicates are decided.
    pub mode: Option<DedupMode>,
    /// Exact Jaccard similarity from which a document is a near duplicate. Another one than the profile's sets the
    /// bands again.
    pub threshold: Option<f64>,
    /// Bands of the index; goes together with `rows`.
    pub bands: Option<u32>,
    /// Sketch slots per band.
    pub rows: Option<u32>,
    /// Which of two similar documents stays.
    pub keep: Option<KeepOrder>,
    /// Which documents are compared.
    pub scope: Option<DedupScope>,
    /// What of a document is compared.
    pub compared: Option<ComparedPart>,
    /// How text becomes tokens.
    pub normaliser: Option<Normaliser>,
    /// Tokens per shingle.
    pub shingle: Option<u32>,
    /// Slots of the sketch.
    pub hashes: Option<u32>,
}

impl PolicySettings {
    /// The policy of a corpus that is made.
    ///
    /// # Errors
    /// [`PolicyError`]: which setting cannot be had, and what is possible.
    pub fn policy(&self) -> Result<Policy, PolicyError> {
        let mut policy = Policy::of(self.profile.unwrap_or_default());
        policy.compared = self.compared.unwrap_or(policy.compared);
        policy.normaliser = self.normaliser.unwrap_or(policy.normaliser);
        policy.shingle = self.shingle.unwrap_or(policy.shingle);
        if let Some(hashes) = self.hashes.filter(|hashes| *hashes != policy.hashes) {
            if policy.signature != Signature::Bigcode {
                let (profile, hashes) = (policy.profile.name(), policy.hashes);
                return Err(PolicyError::FixedHashes { profile, hashes });
            }
            policy.hashes = hashes;
            // The published bands fill 256 slots: others get bands for the threshold.
            policy.set_threshold(policy.threshold)?;
        }
        self.change(&mut policy)?;
        Ok(policy)
    }

    /// The policy of a corpus, `current`, with what may be otherwise in it; none when nothing is asked to be.
    ///
    /// # Errors
    /// [`PolicyError::Fixed`] for a setting that stored sketches were made by; [`PolicyError`] for what cannot be had.
    pub fn other_than(&self, current: &Policy) -> Result<Option<Policy>, PolicyError> {
        let fixed = [
            ("profile", self.profile.is_some()),
            ("compare", self.compared.is_some()),
            ("normaliser", !self.is_of_family(current.normaliser)),
            ("shingle", self.shingle.is_some()),
            ("hashes", self.hashes.is_some()),
        ];
        if let Some((setting, _)) = fixed.into_iter().find(|(_, given)| *given) {
            return Err(PolicyError::Fixed { setting });
        }
        let mut policy = current.clone();
        policy.normaliser = self.normaliser.unwrap_or(policy.normaliser);
        self.change(&mut policy)?;
        Ok((policy != *current).then_some(policy))
    }

    /// Whether no other normaliser is asked for, but maybe another version of it.
    fn is_of_family(&self, current: Normaliser) -> bool {
        self.normaliser.is_none_or(|asked| asked.family() == current.family())
    }

    /// Changes what decides about sketches that are made already.
    fn change(&self, policy: &mut Policy) -> Result<(), PolicyError> {
        policy.mode = self.mode.unwrap_or(policy.mode);
        // A threshold that is the policy's own leaves published bands as they are.
        if let Some(threshold) = self.threshold.filter(|threshold| *threshold != policy.threshold) {
            policy.set_threshold(threshold)?;
        }
        match (self.bands, self.rows) {
            (Some(bands), Some(rows)) => (policy.bands, policy.rows) = (bands, rows),
            (None, None) => {}
            _ => return Err(PolicyError::BandsWithoutRows),
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

    fn refused(settings: &PolicySettings) -> String {
        settings.policy().unwrap_err().to_string()
    }

    #[test]
    fn settings_change_what_they_say_and_nothing_else() {
        for profile in Profile::ALL {
            let settings = PolicySettings { profile: Some(profile), ..PolicySettings::default() };
            assert_eq!(settings.policy().unwrap(), Policy::of(profile));
            // What a profile says itself changes nothing, published bands included.
            let of = Policy::of(profile);
            let again = PolicySettings {
                mode: Some(of.mode),
                threshold: Some(of.threshold),
                hashes: Some(of.hashes),
                ..settings
            };
            assert_eq!(again.policy().unwrap(), of);
        }
        let settings = PolicySettings {
            mode: Some(DedupMode::Exact),
            threshold: Some(0.5),
            bands: Some(12),
            rows: Some(3),
            keep: Some(KeepOrder::Longest),
            scope: Some(DedupScope::PerSource),
            ..PolicySettings::default()
        };
        let web = Policy::of(Profile::Web);
        let expected = Policy {
            mode: DedupMode::Exact,
            threshold: 0.5,
            bands: 12,
            rows: 3,
            keep: KeepOrder::Longest,
            scope: DedupScope::PerSource,
            ..web.clone()
        };
        assert_eq!(settings.policy().unwrap(), expected);
        assert_eq!(settings.other_than(&web).unwrap(), Some(expected.clone()));
        assert_eq!(settings.other_than(&expected).unwrap(), None);
        assert_eq!(PolicySettings::default().other_than(&expected).unwrap(), None);
        let fewer = PolicySettings {
            profile: Some(Profile::Bigcode),
            hashes: Some(64),
            ..PolicySettings::default()
        };
        let fewer = fewer.policy().unwrap();
        assert!(fewer.hashes == 64 && fewer.bands * fewer.rows <= 64, "{fewer}");
    }

    #[test]
    fn what_cannot_be_had_is_refused_by_name() {
        let web = PolicySettings::default();
        let percent = PolicySettings { threshold: Some(80.0), ..web.clone() };
        assert!(refused(&percent).ends_with("for 80 percent write 0.8"));
        let far = PolicySettings { threshold: Some(8.0), ..web.clone() };
        assert_eq!(refused(&far), "threshold 8 is not in 0.1..=1.0");
        let half = PolicySettings { rows: Some(3), ..web.clone() };
        assert!(refused(&half).contains("give both or none"));
        let hashes = PolicySettings { hashes: Some(128), ..web.clone() };
        assert!(refused(&hashes).starts_with("the sketch of profile web has 256 hashes"));
        let shingle = PolicySettings { shingle: Some(0), ..web };
        assert!(refused(&shingle).contains("must be 1 to 64"));
        let made = Policy::of(Profile::Web);
        for (setting, asked) in [
            ("shingle", shingle),
            ("hashes", hashes),
            ("profile", PolicySettings { profile: Some(Profile::Web), ..half.clone() }),
            ("compare", PolicySettings { compared: Some(ComparedPart::Text), ..half.clone() }),
            ("normaliser", PolicySettings { normaliser: Some(Normaliser::Code), ..half }),
        ] {
            assert_eq!(asked.other_than(&made), Err(PolicyError::Fixed { setting }));
        }
        // Fingerprints are made again by another version of the same words.
        let version =
            PolicySettings { normaliser: Some(Normaliser::Web), ..PolicySettings::default() };
        let other = Policy { normaliser: Normaliser::Web, ..made.clone() };
        assert_eq!(version.other_than(&made), Ok(Some(other.clone())));
        assert_eq!(version.other_than(&other), Ok(None));
        let twice = KeepOrder::parse("source-priority:a,b,a").unwrap_err().to_string();
        assert!(twice.starts_with("source `a` is named twice"), "{twice}");
    }
}
