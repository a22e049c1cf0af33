//! Real texts, and what dedup makes of them under a normaliser.

use anyhow::{Context, bail};
use corpusdb::dedup::{Fingerprinter, Sketch, estimate_floor, words};
use corpusdb::dedup::{Normaliser, Profile};
use corpusdb::{DedupMode, Policy};
use rayon::prelude::*;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// The corpora, by the name of their file.
pub const CORPORA: [&str; 3] = ["tldr", "peps", "code"];

/// A document of a corpus.
#[derive(serde::Deserialize)]
pub struct Text {
    /// Its key.
    pub id: String,
    /// Its text.
    pub text: String,
}

/// The file of a corpus.
pub fn path(directory: &Path, corpus: &str) -> PathBuf {
    directory.join(format!("{corpus}.jsonl.zst"))
}

/// Reads a corpus, in the order of the file.
pub fn load(directory: &Path, corpus: &str) -> anyhow::Result<Vec<Text>> {
    let path = path(directory, corpus);
    let shown = || path.display().to_string();
    let file = std::fs::File::open(&path).with_context(shown)?;
    let lines = std::io::BufReader::new(zstd::Decoder::new(file).with_context(shown)?).lines();
    let texts: Vec<Text> = lines
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect::<anyhow::Result<_>>()
        .with_context(shown)?;
    if texts.is_empty() {
        bail!("{} is empty", path.display());
    }
    Ok(texts)
}

/// The policy in mode `witness` for a normaliser: shingles and sketch of the profile of its name, bands for
/// the threshold.
pub fn policy(normaliser: Normaliser, threshold: f64) -> anyhow::Result<Policy> {
    let profile = Profile::ALL.into_iter().find(|profile| profile.name() == normaliser.family());
    let mut policy = Policy::of(profile.context("a normaliser without a profile")?);
    policy.normaliser = normaliser;
    policy.mode = DedupMode::Witness;
    policy.set_threshold(threshold)?;
    policy.check()?;
    Ok(policy)
}

/// The smallest sketch estimate that `policy` verifies.
pub fn floor(policy: &Policy) -> f64 {
    estimate_floor(policy)
}

/// Whether this build has the normaliser: each treats some text otherwise than `web`.
pub fn exists(normaliser: Normaliser) -> bool {
    let probe = "Été: THE_end 12, a-b";
    normaliser == Normaliser::Web || words(probe, normaliser) != words(probe, Normaliser::Web)
}

/// Texts as dedup sees them, by document number.
pub struct Prints {
    /// Sorted distinct shingle hashes.
    pub sets: Vec<Vec<u64>>,
    /// None for a document too short for a shingle, which matches only exactly.
    pub sketches: Vec<Option<Sketch>>,
}

impl Prints {
    /// Fingerprints of all texts.
    pub fn of(texts: &[Text], policy: &Policy) -> Self {
        let (sets, sketches) = texts
            .par_iter()
            .map_init(
                || Fingerprinter::new(policy),
                |craft, text| {
                    let print = craft.fingerprint(&text.text);
                    (print.shingles, print.sketch)
                },
            )
            .unzip();
        Self { sets, sketches }
    }

    /// Whether a document is too short for a shingle, and not empty.
    pub fn is_short(&self, document: usize) -> bool {
        self.sketches[document].is_none() && !self.sets[document].is_empty()
    }
}
