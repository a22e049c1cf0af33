//! Flags that choose a dedup policy: a profile, and what is to be otherwise than in it.

use super::print;
use clap::ValueEnum;
use corpusdb::dedup::{
    ComparedPart, DedupScope, KeepOrder, Normaliser, PolicyError, PolicySettings, Profile,
};
use corpusdb::{DedupMode, Policy};

/// A profile and what is to be otherwise.
#[derive(clap::Args)]
#[command(next_help_heading = "Deduplication")]
pub(super) struct PolicyArgs {
    /// Settings to begin with: normaliser, shingle length, hashes, bands, threshold and mode
    #[arg(long, value_enum)]
    profile: Option<ProfileName>,
    #[command(flatten)]
    decision: DecisionArgs,
    /// What of a document is compared [default: the profile's; turns for chat, else text]
    #[arg(long, value_enum)]
    compare: Option<ComparedName>,
    /// How text becomes tokens [default: the profile's]
    #[arg(long, value_enum)]
    normaliser: Option<NormaliserName>,
    /// Tokens per shingle, 1 to 64 [default: the profile's]
    #[arg(long, value_name = "N")]
    shingle: Option<u32>,
    /// Slots of the sketch, 1 to 4096; of profile bigcode only, the others have 256
    #[arg(long, value_name = "K")]
    hashes: Option<u32>,
}

/// What decides about sketches that are made already.
#[derive(clap::Args)]
pub(super) struct DecisionArgs {
    /// How duplicates are decided [default: the profile's; witness for web and code]
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Exact Jaccard similarity of shingles from which a document is a near duplicate [default: the profile's]
    ///
    /// Another threshold than the profile's sets the bands anew, in every profile: the most rows that find a
    /// pair at the threshold with probability 0.99. Give --bands and --rows to keep published ones
    #[arg(long, value_name = "T")]
    threshold: Option<f64>,
    /// Bands of the index, 1 to 256 [default: the profile's, or those of --threshold]
    #[arg(long, value_name = "B", requires = "rows")]
    bands: Option<u32>,
    /// Sketch slots per band; bands times rows are at most the hashes
    #[arg(long, value_name = "R", requires = "bands")]
    rows: Option<u32>,
    /// Which of two similar documents stays: first (stored), longest, source-priority:A,B,... (sources
    /// not named come last), field:NAME (the larger number of a declared field) [default: first]
    #[arg(long, value_name = "ORDER", value_parser = keep)]
    keep: Option<KeepOrder>,
    /// Which documents are compared [default: global]
    #[arg(long, value_enum)]
    scope: Option<ScopeName>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ProfileName {
    /// Prose: 5-word shingles, similarity 0.8 in 32 bands of 8, verified
    #[value(alias = "web@2")]
    Web,
    /// Source code: punctuation counts; 10-token shingles, 0.7 in 42 bands of 6, verified
    Code,
    /// Conversations: as web, but what is said in the turns is compared, without system messages
    #[value(alias = "chat@2")]
    Chat,
    /// As web, with the words of earlier releases
    #[value(name = "web@1")]
    Web1,
    /// As chat, with the words of earlier releases
    #[value(name = "chat@1")]
    Chat1,
    /// The MinHash of The Stack: 5-grams, 256 permutations in 25 bands of 10, 0.7, unverified
    Bigcode,
    /// The MinHash of FineWeb: 5-grams, 14 bands of 8, 0.75, unverified
    Fineweb,
    /// The MinHash of SlimPajama: 13-character grams, 9 bands of 13, 0.8, unverified
    Slimpajama,
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    /// Equal and similar texts are removed, each with a kept witness that is verified
    Witness,
    /// Of documents connected by verified pairs one is kept: a chain of small changes is one cluster
    Components,
    /// Of documents connected by shared bands one is kept, unverified: published pipelines
    Lsh,
    /// Equal raw bytes only
    Exact,
    /// Nothing is removed
    None,
}

#[derive(Clone, Copy, ValueEnum)]
enum ComparedName {
    /// The text as it is stored
    Text,
    /// Of a conversation what is said in its turns, without system messages; of other records the text
    Turns,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum NormaliserName {
    /// Words; case, punctuation, space, unseen characters and kinds of apostrophes make no difference
    #[value(alias = "web@2")]
    Web,
    /// The words of earlier releases: lower case; punctuation and space dropped
    #[value(name = "web@1")]
    Web1,
    /// As web, but punctuation counts
    Code,
    /// Runs of ASCII letters, digits and underscores, as they are
    Bigcode,
    /// Lower case, numbers as 0, marks and punctuation dropped
    Fineweb,
    /// Lower case, punctuation dropped; tokens are characters
    Slimpajama,
}

#[derive(Clone, Copy, ValueEnum)]
enum ScopeName {
    /// All with all
    Global,
    /// Those of one source with each other
    PerSource,
}

fn keep(text: &str) -> Result<KeepOrder, String> {
    KeepOrder::parse(text).map_err(|error| error.to_string())
}

impl PolicyArgs {
    /// Says what of the flags has no effect, or one that may surprise.
    pub(super) fn remark(&self, policy: &Policy) {
        self.decision.remark(policy);
    }

    /// The policy asked for.
    pub(super) fn policy(&self) -> anyhow::Result<Policy> {
        self.settings().policy().map_err(told)
    }

    /// A corpus's policy with what may be otherwise in it; none when nothing is asked to be.
    pub(super) fn other_than(&self, current: &Policy) -> anyhow::Result<Option<Policy>> {
        self.settings().other_than(current).map_err(told)
    }

    fn settings(&self) -> PolicySettings {
        let profile = self.profile.map(ProfileName::versioned);
        PolicySettings {
            profile: profile.map(|(profile, _)| profile),
            compared: self.compare.map(Into::into),
            normaliser: self
                .normaliser
                .map(Into::into)
                .or(profile.and_then(|(_, version)| version)),
            shingle: self.shingle,
            hashes: self.hashes,
            ..self.decision.settings()
        }
    }
}

/// The words of the command for what cannot be changed.
fn told(error: PolicyError) -> anyhow::Error {
    match error {
        PolicyError::Fixed { setting } => anyhow::anyhow!(
            "--{setting} cannot be changed in a corpus: its sketches are made; leave the flag out, or leave the corpus out to see what another policy comes to"
        ),
        PolicyError::FixedHashes { profile, hashes } => anyhow::anyhow!(
            "the sketch of profile {profile} has {hashes} hashes, always; leave --hashes out, or begin with --profile bigcode"
        ),
        error => corpusdb::Error::from(error).into(),
    }
}

impl DecisionArgs {
    /// A corpus's policy with what was asked for.
    pub(super) fn changed(
        &self,
        current: &Policy,
        normaliser: Option<NormaliserName>,
    ) -> anyhow::Result<Policy> {
        let normaliser = normaliser.map(Into::into);
        let other =
            PolicySettings { normaliser, ..self.settings() }.other_than(current).map_err(told)?;
        Ok(other.unwrap_or_else(|| current.clone()))
    }

    fn settings(&self) -> PolicySettings {
        PolicySettings {
            mode: self.mode.map(Into::into),
            threshold: self.threshold,
            bands: self.bands,
            rows: self.rows,
            keep: self.keep.clone(),
            scope: self.scope.map(Into::into),
            ..PolicySettings::default()
        }
    }

    /// Says what of the flags has no effect, or one that may surprise.
    pub(super) fn remark(&self, policy: &Policy) {
        let near = [("--threshold", self.threshold.is_some()), ("--bands", self.bands.is_some())];
        for (flag, _) in near.iter().filter(|(_, given)| *given && !policy.mode.is_near()) {
            print::talk(&format!("note: {flag} has no effect in mode {}", policy.mode.name()));
        }
        if policy.mode == DedupMode::Lsh && self.threshold.is_some() {
            print::talk(
                "note: mode lsh does not verify similarity: the threshold only set the bands; --mode components verifies",
            );
        }
        let found = policy.detection(policy.threshold);
        if policy.mode.is_near() && self.bands.is_some() && found < 0.9 {
            print::talk(&format!(
                "note: {} bands of {} rows find a pair of similarity {} with probability {found:.3} only; more bands or fewer rows find more",
                policy.bands, policy.rows, policy.threshold
            ));
        }
    }
}

macro_rules! same_names {
    ($from:ident => $to:ident: $($name:ident),+) => {
        impl From<$from> for $to {
            fn from(name: $from) -> Self {
                match name { $($from::$name => Self::$name),+ }
            }
        }
    };
}
same_names!(ComparedName => ComparedPart: Text, Turns);
same_names!(Mode => DedupMode: Witness, Components, Lsh, Exact, None);

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

impl From<NormaliserName> for Normaliser {
    fn from(name: NormaliserName) -> Self {
        match name {
            NormaliserName::Web => Self::Web2,
            NormaliserName::Web1 => Self::Web,
            NormaliserName::Code => Self::Code,
            NormaliserName::Bigcode => Self::Bigcode,
            NormaliserName::Fineweb => Self::Fineweb,
            NormaliserName::Slimpajama => Self::Slimpajama,
        }
    }
}
same_names!(ScopeName => DedupScope: Global, PerSource);
