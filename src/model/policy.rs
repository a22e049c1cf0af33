//! The dedup policy fixed at `init`: mode, normaliser, shingle size, sketch and threshold.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Version of everything that turns text into sketch and bands. Stored; never mixed in a corpus.
pub const SIGNATURE_VERSION: u32 = 1;

/// How duplicates are decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DedupMode {
    /// Exact and near duplicates of a kept witness are removed.
    Witness,
    /// Only documents with equal raw bytes are removed.
    Exact,
    /// Nothing is removed.
    None,
}

impl DedupMode {
    /// The word used on the command line and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Witness => "witness",
            Self::Exact => "exact",
            Self::None => "none",
        }
    }
}

/// How text becomes tokens before shingling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normaliser {
    /// NFC, lower case, UAX-29 words; punctuation and space dropped; digits and diacritics kept;
    /// one token per character for scripts written without spaces.
    Web,
    /// As `Web`, but punctuation is kept as tokens; whitespace is ignored.
    Code,
}

impl Normaliser {
    /// The word used on the command line and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Code => "code",
        }
    }
}

/// Which of two similar documents stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeepOrder {
    /// The one stored first.
    First,
}

/// Everything that decides which documents are duplicates. Fixed at `init`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// How duplicates are decided.
    pub mode: DedupMode,
    /// How text becomes tokens.
    pub normaliser: Normaliser,
    /// Tokens per shingle.
    pub shingle: u32,
    /// Sketch slots.
    pub hashes: u32,
    /// Exact Jaccard similarity from which a document is a near duplicate.
    pub threshold: f64,
    /// Bands of the index.
    pub bands: u32,
    /// Sketch slots per band.
    pub rows: u32,
    /// Which of two similar documents stays.
    pub keep: KeepOrder,
    /// See [`SIGNATURE_VERSION`].
    pub signature_version: u32,
}

/// A policy that cannot be had.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The threshold leaves no banding that finds pairs at the threshold.
    #[error("threshold {0} is not in 0.1..=1.0")]
    Threshold(f64),
}

impl Policy {
    /// The default policy in `mode` at `threshold`: `web` normaliser, 5-token shingles, 256 slots,
    /// and the largest number of rows per band that still finds a pair at the threshold with
    /// probability 0.99 or more (`1 - (1 - t^r)^b`, b = 256 / r rounded down).
    ///
    /// # Errors
    /// [`PolicyError::Threshold`] when `threshold` is outside 0.1..=1.0.
    pub fn new(mode: DedupMode, threshold: f64) -> Result<Self, PolicyError> {
        if !(0.1..=1.0).contains(&threshold) {
            return Err(PolicyError::Threshold(threshold));
        }
        let hashes = 256;
        let (bands, rows) = banding(hashes, threshold);
        Ok(Self {
            mode,
            normaliser: Normaliser::Web,
            shingle: 5,
            hashes,
            threshold,
            bands,
            rows,
            keep: KeepOrder::First,
            signature_version: SIGNATURE_VERSION,
        })
    }

    /// Probability that a pair of similarity `jaccard` shares at least one band.
    #[must_use]
    pub fn detection(&self, jaccard: f64) -> f64 {
        detection(self.bands, self.rows, jaccard)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mode {}", self.mode.name())?;
        if self.mode == DedupMode::Witness {
            write!(
                f,
                ", threshold {}, normaliser {}, {}-token shingles, {} hashes in {} bands of {}, keep first",
                self.threshold,
                self.normaliser.name(),
                self.shingle,
                self.hashes,
                self.bands,
                self.rows
            )?;
        }
        Ok(())
    }
}

fn detection(bands: u32, rows: u32, jaccard: f64) -> f64 {
    1.0 - (1.0 - jaccard.powi(rows.cast_signed())).powi(bands.cast_signed())
}

fn banding(hashes: u32, threshold: f64) -> (u32, u32) {
    let fits = |rows: &u32| detection(hashes / rows, *rows, threshold) >= 0.99;
    let rows = (1..=16).rev().find(fits).unwrap_or(1);
    (hashes / rows, rows)
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
    fn thresholds_out_of_range_are_refused() {
        for bad in [0.0, 0.05, 1.01, f64::NAN] {
            assert!(Policy::new(DedupMode::Witness, bad).is_err());
        }
    }
}
