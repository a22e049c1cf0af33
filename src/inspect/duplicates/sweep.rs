//! The question of a sweep over thresholds and shingle sizes, and its answer; `curate` has the work, since it decides.

use crate::sql::DocumentFilter;
use serde::Serialize;

/// Thresholds, shingle sizes and documents of a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct SweepOptions {
    /// Thresholds to compare; 0.5, 0.6, 0.7, 0.8, 0.9 and 0.95 if none is named.
    ///
    /// The corpus's own is always among them. Each has the bands that `dedup redo` would give it.
    #[cfg_attr(
        feature = "cli",
        arg(long, value_delimiter = ',', value_name = "T,..", requires = "sweep")
    )]
    pub thresholds: Vec<f64>,
    /// Shingle sizes to compare, in tokens; 3, 5 and 7 if none is named.
    ///
    /// The corpus's own is always among them: its sketches are stored. For each other one, sketches are made from all
    /// texts, which takes about as long as an ingest of them.
    #[cfg_attr(
        feature = "cli",
        arg(long, value_delimiter = ',', value_name = "N,..", requires = "sweep")
    )]
    pub shingles: Vec<u32>,
    /// The documents that are compared with one another, as if the corpus held no others; all by default.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub filter: DocumentFilter,
}

/// What each threshold and shingle size would remove.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DedupSweep {
    /// Documents compared: those that are not removed, blocked, superseded or empty, and pass the filter.
    pub documents: u64,
    /// Distinct normalised texts of them.
    pub texts: u64,
    /// UTF-8 bytes of these texts.
    pub bytes: u64,
    /// A line for each shingle size and threshold, both ascending.
    pub lines: Vec<SweepLine>,
}

/// What one threshold and shingle size would remove.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SweepLine {
    /// Tokens per shingle.
    pub shingle: u32,
    /// The threshold.
    pub threshold: f64,
    /// Bands of the index.
    pub bands: u32,
    /// Sketch slots per band.
    pub rows: u32,
    /// Whether shingle size and threshold are the corpus's own.
    pub own: bool,
    /// What mode `witness` removes: every removal has its similarity.
    pub verified: SweepRemovals,
    /// What mode `lsh` removes, which takes a shared band for similarity.
    pub unverified: SweepRemovals,
    /// Of these, documents whose exact similarity to the one that is kept in their place is below the threshold.
    pub unverified_below: u64,
}

/// What a mode removes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SweepRemovals {
    /// Documents removed.
    pub removed: u64,
    /// `removed / documents`.
    pub share: f64,
    /// Of the removed ones, those whose text is equal, after normalisation, to the kept one.
    pub equal: u64,
    /// Kept documents in whose place others are removed.
    pub clusters: u64,
    /// Documents of the largest cluster, the kept one included.
    pub largest: u64,
    /// Exact similarity of the removed documents, but for equal ones, to the one that is kept; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<SimilarityQuartiles>,
}

/// The spread of similarities: each is one that was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SimilarityQuartiles {
    /// The least.
    pub least: f64,
    /// A quarter are not above it.
    pub lower: f64,
    /// Half are not above it.
    pub median: f64,
    /// Three quarters are not above it.
    pub upper: f64,
    /// The greatest.
    pub most: f64,
}
