//! The dedup policy fixed at `init`: mode, normaliser, shingle size, sketch and threshold.

use super::SourceId;
use super::error::{Error, ErrorKind};
use crate::named;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Version of everything that turns text into sketch and bands. Stored; never mixed in a corpus.
pub const SIGNATURE_VERSION: u32 = 1;

/// How duplicates are decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum DedupMode {
    /// Equal and similar texts are removed, each with a kept witness that is verified
    Witness,
    /// Verified pairs form clusters, and one document of each is kept: a chain of small changes is one cluster
    Components,
    /// Shared bands form clusters without verification, and one document of each is kept, as in published pipelines
    Lsh,
    /// Equal raw bytes only; where prompts are compared, prompts that are equal under the normaliser
    Exact,
    /// Nothing is removed
    None,
}

named!(DedupMode {
    Witness = "witness", Components = "components", Lsh = "lsh", Exact = "exact", None = "none",
});

impl DedupMode {
    /// Whether near duplicates are searched for, by sketch and bands.
    #[must_use]
    pub const fn is_near(self) -> bool {
        matches!(self, Self::Witness | Self::Components | Self::Lsh)
    }

    /// Whether similarity is transitive: whole components have one kept document.
    #[must_use]
    pub const fn is_transitive(self) -> bool {
        matches!(self, Self::Components | Self::Lsh)
    }
}

/// How text becomes tokens before shingling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Normaliser {
    /// Version 1 of `web`: NFC, lower case, UAX-29 words; punctuation and space dropped; digits and diacritics kept;
    /// one token per character for scripts written without spaces. Stored as `web`, without a version.
    #[serde(alias = "web@1")]
    #[cfg_attr(
        feature = "cli",
        value(
            name = "web@1",
            help = "The word rules of earlier releases: lower case; punctuation and space dropped"
        )
    )]
    Web,
    /// Version 2 of `web`, which new corpora have: case folded in full (`ß` as `ss`), apostrophes as one, presentation
    /// forms as the letters that they present, characters that nobody sees skipped; a text without words is one token,
    /// itself.
    #[serde(rename = "web@2")]
    #[cfg_attr(
        feature = "cli",
        value(
            name = "web",
            alias = "web@2",
            help = "Words; ignores case, punctuation, space, invisible characters and kinds of apostrophes"
        )
    )]
    Web2,
    /// As `Web`, but punctuation is kept as tokens; whitespace is ignored.
    #[cfg_attr(feature = "cli", value(help = "As web, but punctuation counts"))]
    Code,
    /// What stands between characters other than ASCII letters, digits and underscores, empty pieces
    /// too, as it is: the BigCode article.
    #[cfg_attr(
        feature = "cli",
        value(help = "Runs of ASCII letters, digits and underscores, unchanged")
    )]
    Bigcode,
    /// Lower case, numbers as `0`, punctuation as space, marks dropped, words between spaces: datatrove.
    #[cfg_attr(
        feature = "cli",
        value(help = "Lower case, numbers as 0, marks and punctuation dropped")
    )]
    Fineweb,
    /// NFC, lower case, ASCII punctuation dropped, runs of space as one; tokens are characters:
    /// SlimPajama.
    #[cfg_attr(
        feature = "cli",
        value(help = "Lower case, punctuation dropped; tokens are characters")
    )]
    Slimpajama,
}

named!(Normaliser {
    Web = "web@1", Web2 = "web@2", Code = "code", Bigcode = "bigcode", Fineweb = "fineweb",
    Slimpajama = "slimpajama",
});

impl Normaliser {
    /// Reads a name; one without a version means the newest.
    ///
    /// # Errors
    /// [`Error`] for anything else.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let newest = Self::ALL.into_iter().rev();
        let mut named = newest.filter(|one| one.name() == text || one.family() == text);
        named.next().ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            bad_policy(format!(
                "`{text}` is not a normaliser; there are {names}; `web` is the newest version"
            ))
        })
    }

    /// The other version of the same words, where there is one.
    #[must_use]
    pub const fn other_version(self) -> Option<Self> {
        match self {
            Self::Web => Some(Self::Web2),
            Self::Web2 => Some(Self::Web),
            Self::Code | Self::Bigcode | Self::Fineweb | Self::Slimpajama => None,
        }
    }

    /// The name without the version.
    #[must_use]
    pub fn family(self) -> &'static str {
        let name = self.name();
        name.split_once('@').map_or(name, |(family, _)| family)
    }
}

/// The function from shingles to sketch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Signature {
    /// 256 slots of 8 bits by bucket rounds.
    #[default]
    Native,
    /// 32-bit slots: SHA-1 of the joined shingle, permuted modulo 2^61 - 1, as in the BigCode article.
    Bigcode,
}

named!(Signature { Native = "native", Bigcode = "bigcode" });

/// Which of two similar documents stays. Ties: hash of the text, then the one stored first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum KeepOrder {
    /// The one stored first.
    #[default]
    First,
    /// The one with more characters.
    Longest,
    /// The one whose source is named earlier; sources not named come last.
    SourcePriority(Vec<String>),
    /// The one with the larger number in this declared field; documents without one come last.
    Field(String),
}

/// Reads `first`, `longest`, `source-priority:A,B,...` or `field:NAME`.
///
/// # Errors
/// [`Error`] for anything else, and for a source that is named twice.
impl FromStr for KeepOrder {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.split_once(':') {
            None if text == "first" => Ok(Self::First),
            None if text == "longest" => Ok(Self::Longest),
            Some(("source-priority", names)) if names.split(',').all(|name| !name.is_empty()) => {
                let mut named: Vec<String> = Vec::new();
                for name in names.split(',') {
                    if named.iter().any(|before| before == name) {
                        return Err(bad_policy(format!(
                            "source `{name}` is named twice; name each once, the preferred one first"
                        )));
                    }
                    named.push(name.to_owned());
                }
                Ok(Self::SourcePriority(named))
            }
            Some(("field", name)) if !name.is_empty() => Ok(Self::Field(name.to_owned())),
            _ => Err(bad_policy(format!(
                "`{text}` is not a keep order; write first, longest, source-priority:A,B,... or field:NAME"
            ))),
        }
    }
}

impl fmt::Display for KeepOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => f.write_str("first"),
            Self::Longest => f.write_str("longest"),
            Self::SourcePriority(names) => write!(f, "source-priority:{}", names.join(",")),
            Self::Field(name) => write!(f, "field:{name}"),
        }
    }
}

/// Which documents are compared with each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum DedupScope {
    /// All documents
    #[default]
    Global,
    /// Only documents of the same source
    PerSource,
}

named!(DedupScope { Global = "global", PerSource = "per-source" });

/// What of a document is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum ComparedPart {
    /// The stored text
    #[default]
    Text,
    /// The content of a conversation's turns, without system messages and the template's markers; for other records the
    /// text
    Turns,
    /// All that stands before the last answer that is trained on, system messages included; without such an answer the
    /// text
    Prompt,
}

named!(ComparedPart { Text = "text", Turns = "turns", Prompt = "prompt" });

impl ComparedPart {
    const fn is_text(&self) -> bool {
        matches!(self, Self::Text)
    }
}

/// Published settings that go together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Prose: our defaults.
    #[default]
    Web,
    /// Source code: punctuation counts.
    Code,
    /// Conversations: as `web`, but the content of turns is compared, without shared system prompts.
    Chat,
    /// The MinHash of The Stack.
    Bigcode,
    /// The MinHash of FineWeb.
    Fineweb,
    /// The MinHash of SlimPajama.
    Slimpajama,
}

named!(Profile {
    Web = "web", Code = "code", Chat = "chat", Bigcode = "bigcode", Fineweb = "fineweb",
    Slimpajama = "slimpajama",
});

impl Profile {
    /// Reads a name, with the normaliser where a version of it is asked for: `web@1` and `chat@1` are the profiles with
    /// the words of earlier releases.
    ///
    /// # Errors
    /// [`Error`] for anything else.
    pub fn parse(text: &str) -> Result<(Self, Option<Normaliser>), Error> {
        let unknown = || {
            let names = Self::ALL.map(Self::name).join(", ");
            bad_policy(format!(
                "`{text}` is not a profile; there are {names}, and web@1 and chat@1 with the word rules of earlier releases"
            ))
        };
        let (name, version) = match text.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let profile = Self::from_name(name).ok_or_else(unknown)?;
        let Some(version) = version else { return Ok((profile, None)) };
        let of = Policy::of(profile).normaliser.family();
        let normaliser = Normaliser::ALL
            .into_iter()
            .find(|one| one.name().split_once('@').is_some_and(|found| found == (of, version)));
        Ok((profile, Some(normaliser.ok_or_else(unknown)?)))
    }
}

/// Everything that decides which documents are duplicates. Fixed at `init`; `dedup redo` may change mode, threshold,
/// bands, keep order, scope, what is compared and the version of the normaliser, but no other setting of sketches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Policy {
    /// The profile from which this policy started.
    #[serde(default)]
    pub profile: Profile,
    /// How duplicates are decided.
    pub mode: DedupMode,
    /// What of a document is compared.
    #[serde(default, skip_serializing_if = "ComparedPart::is_text")]
    pub compared: ComparedPart,
    /// How text becomes tokens.
    pub normaliser: Normaliser,
    /// Tokens per shingle.
    pub shingle: u32,
    /// How shingles become a sketch.
    #[serde(default)]
    pub signature: Signature,
    /// Slots of a sketch: the more, the sharper its estimate of similarity.
    pub hashes: u32,
    /// Exact Jaccard similarity from which a document is a near duplicate.
    pub threshold: f64,
    /// Bands of the index.
    pub bands: u32,
    /// Sketch slots per band.
    pub rows: u32,
    /// Which of two similar documents stays.
    pub keep: KeepOrder,
    /// Which documents are compared.
    #[serde(default)]
    pub scope: DedupScope,
    /// The version of the craft that made the stored sketches: [`SIGNATURE_VERSION`].
    pub signature_version: u32,
}

/// The error of an invalid policy.
pub(super) fn bad_policy(message: impl Into<String>) -> Error {
    Error::of(ErrorKind::BadPolicy, message)
}

/// Refuses a threshold at which no banding finds pairs; the error of a threshold in percent says the way out.
fn check_threshold(threshold: f64) -> Result<(), Error> {
    if (0.1..=1.0).contains(&threshold) {
        return Ok(());
    }
    let percent = match (10.0..=100.0).contains(&threshold) {
        true => format!("; for {threshold} percent write {}", threshold / 100.0),
        false => String::new(),
    };
    Err(bad_policy(format!("threshold {threshold} is not in 0.1..=1.0{percent}")))
}

impl Policy {
    /// The profile `web` in `mode` at `threshold`: 5-token shingles, 256 slots, and the largest
    /// number of rows per band, at most 16, that still finds a pair at the threshold with probability
    /// 0.99 or more (`1 - (1 - t^r)^b`, b = 256 / r rounded down).
    ///
    /// # Errors
    /// [`Error`] when `threshold` is outside 0.1..=1.0.
    pub fn new(mode: DedupMode, threshold: f64) -> Result<Self, Error> {
        let mut policy = Self::of(Profile::Web);
        policy.mode = mode;
        policy.set_threshold(threshold)?;
        Ok(policy)
    }

    /// The settings of a profile. The published ones: `bigcode` 256 permutations in 25 bands of 10
    /// over 5-grams at 0.7; `fineweb` 14 bands of 8 over 5-grams; `slimpajama` 9 bands of 13 over
    /// 13-character grams at 0.8; all three unverified and transitive.
    #[must_use]
    pub fn of(profile: Profile) -> Self {
        use DedupMode::{Lsh, Witness};
        let (mode, normaliser, shingle, signature, threshold, bands, rows) = match profile {
            Profile::Web | Profile::Chat => {
                (Witness, Normaliser::Web2, 5, Signature::Native, 0.8, 32, 8)
            }
            Profile::Code => (Witness, Normaliser::Code, 10, Signature::Native, 0.7, 42, 6),
            Profile::Bigcode => (Lsh, Normaliser::Bigcode, 5, Signature::Bigcode, 0.7, 25, 10),
            Profile::Fineweb => (Lsh, Normaliser::Fineweb, 5, Signature::Native, 0.75, 14, 8),
            Profile::Slimpajama => (Lsh, Normaliser::Slimpajama, 13, Signature::Native, 0.8, 9, 13),
        };
        Self {
            profile,
            mode,
            compared: if profile == Profile::Chat {
                ComparedPart::Turns
            } else {
                ComparedPart::Text
            },
            normaliser,
            shingle,
            signature,
            hashes: 256,
            threshold,
            bands,
            rows,
            keep: KeepOrder::First,
            scope: DedupScope::Global,
            signature_version: SIGNATURE_VERSION,
        }
    }

    /// Changes the threshold, and the bands to those that find pairs at it.
    ///
    /// # Errors
    /// [`Error`] when it is outside 0.1..=1.0.
    pub fn set_threshold(&mut self, threshold: f64) -> Result<(), Error> {
        check_threshold(threshold)?;
        self.threshold = threshold;
        (self.bands, self.rows) = banding(self.hashes, threshold);
        Ok(())
    }

    /// Refuses settings that do not go together.
    ///
    /// # Errors
    /// [`Error`]: which one and what is possible.
    pub fn check(&self) -> Result<(), Error> {
        let Self { hashes, bands, rows, shingle, threshold, signature, signature_version, .. } =
            *self;
        if signature_version != SIGNATURE_VERSION {
            return Err(bad_policy(format!(
                "the sketches have signature version {signature_version}, this release computes version {SIGNATURE_VERSION}, and the two cannot be compared: use a release with version {signature_version}, or ingest into a new corpus"
            )));
        }
        check_threshold(threshold)?;
        if !(1..=64).contains(&shingle) {
            return Err(bad_policy(format!(
                "{shingle}-token shingles: the length must be 1 to 64"
            )));
        }
        let (least, most, range) = match signature {
            Signature::Native => (256, 256, "256"),
            Signature::Bigcode => (1, 4096, "1 to 4,096"),
        };
        if !(least..=most).contains(&hashes) {
            return Err(bad_policy(format!(
                "{hashes} hashes: the `{}` sketch has {range}",
                signature.name()
            )));
        }
        let slots = u64::from(bands) * u64::from(rows);
        if !(1..=256).contains(&bands) || rows == 0 || slots > u64::from(hashes) {
            return Err(bad_policy(format!(
                "{bands} bands of {rows} rows need {slots} of {hashes} slots; bands are 1 to 256, rows 1 or more"
            )));
        }
        Ok(())
    }

    /// Bytes of a sketch.
    #[must_use]
    pub const fn sketch_bytes(&self) -> usize {
        let slot = match self.signature {
            Signature::Native => 1,
            Signature::Bigcode => 4,
        };
        self.hashes as usize * slot
    }

    /// What `other` needs that documents stored under this policy do not have, and what they have instead; none where
    /// the corpus can go over to it.
    ///
    /// Sketches are stored in every mode, so that mode, threshold, bands, keep order and scope can change. What
    /// sketches are made with cannot, but for what they are made of and the version of the normaliser: then they are
    /// made again.
    #[must_use]
    pub fn fixed_against(&self, other: &Self) -> Option<(String, String)> {
        let made_with: [fn(&Self) -> String; 4] = [
            |policy| format!("sketches of normaliser {}", policy.normaliser.family()),
            |policy| format!("sketches of {}-token shingles", policy.shingle),
            |policy| format!("sketches of {} {} hashes", policy.hashes, policy.signature.name()),
            |policy| format!("sketches of signature version {}", policy.signature_version),
        ];
        let both = made_with.map(|made_with| (made_with(other), made_with(self)));
        both.into_iter().find(|(asked, stored)| asked != stored)
    }

    /// Whether documents have the same fingerprints under the other policy, which the corpus can go over to.
    #[must_use]
    pub fn has_fingerprints_of(&self, other: &Self) -> bool {
        self.compared == other.compared && self.normaliser == other.normaliser
    }

    /// Whether documents are equal by their words, and not by their bytes alone.
    #[must_use]
    pub const fn compares_words(&self) -> bool {
        let is_exact = matches!(self.mode, DedupMode::Exact);
        self.mode.is_near() || (is_exact && matches!(self.compared, ComparedPart::Prompt))
    }

    /// The key under which documents of equal text meet: `hash` itself, or, in scope per source, the
    /// hash with the source's number in its first four bytes.
    #[must_use]
    pub fn text_key(&self, source: SourceId, mut hash: [u8; 16]) -> [u8; 16] {
        if self.scope == DedupScope::PerSource {
            for (byte, part) in hash.iter_mut().zip(source.0.to_le_bytes()) {
                *byte ^= part;
            }
        }
        hash
    }

    /// Probability that a pair of similarity `jaccard` shares at least one band.
    #[must_use]
    pub fn detection(&self, jaccard: f64) -> f64 {
        detection(self.bands, self.rows, jaccard)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "profile {}, mode {}", self.profile.name(), self.mode.name())?;
        if self.mode.is_near() {
            write!(
                f,
                ", threshold {}, normaliser {}, {}-token shingles, {} {} hashes in {} bands of {}",
                self.threshold,
                self.normaliser.name(),
                self.shingle,
                self.hashes,
                self.signature.name(),
                self.bands,
                self.rows
            )?;
        }
        if self.compares_words() && !self.mode.is_near() {
            write!(f, ", normaliser {}", self.normaliser.name())?;
        }
        match self.compared {
            ComparedPart::Turns if self.mode.is_near() => {
                f.write_str(", compares the content of turns")?;
            }
            ComparedPart::Prompt if self.mode != DedupMode::None => {
                f.write_str(", compares prompts")?;
            }
            ComparedPart::Text | ComparedPart::Turns | ComparedPart::Prompt => {}
        }
        if self.mode != DedupMode::None {
            write!(f, ", keep {}, scope {}", self.keep, self.scope.name())?;
        }
        Ok(())
    }
}

fn detection(bands: u32, rows: u32, jaccard: f64) -> f64 {
    1.0 - (1.0 - jaccard.powi(rows.cast_signed())).powi(bands.cast_signed())
}

fn banding(hashes: u32, threshold: f64) -> (u32, u32) {
    let bands = |rows: u32| (hashes / rows).min(256);
    let fits = |rows: &u32| detection(bands(*rows), *rows, threshold) >= 0.99;
    let rows = (1..=16.min(hashes)).rev().find(fits).unwrap_or(1);
    (bands(rows), rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banding_is_that_of_the_published_table() {
        assert_eq!(banding(256, 0.8), (32, 8));
        assert_eq!(banding(256, 0.7), (42, 6));
        let policy = Policy::new(DedupMode::Witness, 0.8).expect("in range");
        assert!((policy.detection(0.8) - 0.9972).abs() < 1e-4);
    }

    #[test]
    fn another_signature_version_is_refused() {
        let policy = Policy { signature_version: 2, ..Policy::of(Profile::Web) };
        let refused = policy.check().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::BadPolicy);
        assert!(refused.to_string().starts_with("the sketches have signature version 2, "));
        for profile in Profile::ALL {
            assert!(Policy::of(profile).check().is_ok(), "{}", profile.name());
        }
    }

    #[test]
    fn versions_of_words_have_names() {
        assert_eq!(Profile::parse("web").unwrap(), (Profile::Web, None));
        assert_eq!(Profile::parse("web@1").unwrap(), (Profile::Web, Some(Normaliser::Web)));
        assert_eq!(Profile::parse("chat@2").unwrap(), (Profile::Chat, Some(Normaliser::Web2)));
        for wrong in ["web@", "web@3", "@1", "code@1", "Web", ""] {
            let refused = Profile::parse(wrong).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::BadPolicy);
            let words = format!("`{wrong}` is not a profile; there are web, ");
            assert!(refused.to_string().starts_with(&words), "{refused}");
        }
        assert_eq!(Normaliser::parse("web").unwrap(), Normaliser::Web2);
        for normaliser in Normaliser::ALL {
            assert_eq!(Normaliser::parse(normaliser.name()).unwrap(), normaliser);
        }
        let said = Normaliser::parse("words").unwrap_err().to_string();
        assert!(said.contains("there are web@1, web@2, code"), "{said}");
    }

    #[test]
    fn a_stored_policy_without_a_version_has_the_first() {
        let first = Policy { normaliser: Normaliser::Web, ..Policy::of(Profile::Web) };
        let stored = serde_json::to_string(&first).expect("JSON");
        assert!(stored.contains(r#""normaliser":"web","#), "{stored}");
        let newest = serde_json::to_string(&Policy::of(Profile::Web)).expect("JSON");
        // A name that earlier releases do not know: they refuse the corpus.
        assert!(newest.contains(r#""normaliser":"web@2","#), "{newest}");
        for (stored, policy) in [(stored, first), (newest, Policy::of(Profile::Web))] {
            assert_eq!(serde_json::from_str::<Policy>(&stored).expect("a policy"), policy);
        }
    }

    #[test]
    fn a_policy_of_prompts_is_one_that_earlier_releases_refuse() {
        let exact = Policy { mode: DedupMode::Exact, ..Policy::of(Profile::Web) };
        let prompts = Policy { compared: ComparedPart::Prompt, ..exact.clone() };
        let stored = serde_json::to_string(&prompts).expect("JSON");
        // Earlier releases know `text`, which is not written, and `turns`.
        assert!(stored.contains(r#""compared":"prompt","#), "{stored}");
        assert_eq!(serde_json::from_str::<Policy>(&stored).expect("a policy"), prompts);
        assert!(prompts.to_string().contains("normaliser web@2, compares prompts, keep first"));
        assert!(prompts.compares_words() && !exact.compares_words());
        assert_eq!(exact.fixed_against(&prompts), None);
        assert!(!exact.has_fingerprints_of(&prompts));
    }

    #[test]
    fn thresholds_out_of_range_are_refused() {
        for bad in [0.0, 0.05, 1.01, f64::NAN] {
            assert!(Policy::new(DedupMode::Witness, bad).is_err());
        }
    }
}
