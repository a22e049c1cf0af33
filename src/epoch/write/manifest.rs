//! The manifest of a build: what it is, what it was made from, what is in it, and the hash of every file.

use crate::epoch::error::EpochError;
use crate::epoch::pack::PackLosses;
use crate::epoch::plan::{PinnedSnapshot, PinnedTokenizer, PlanHeader, ratio};
use crate::epoch::run::EpochIndex;
use files::output::{ManifestFile, OutputMaker};
use model::{IoError, find_manifest, is_zero};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Version of the manifest's form.
const MANIFEST_VERSION: u32 = 1;

/// Builds of epochs, as those who make room for them know them.
pub(super) const BUILDS: OutputMaker = OutputMaker {
    name: "build",
    option: "`out=`",
    manifest_inside: "manifest.json",
    instead: "it is not an empty directory: give another `out=`, or remove it first",
    listed: |text| serde_json::from_slice(text).ok().map(|manifest: Manifest| manifest.files),
};

/// What an export is. Written last; a pure function of plan, epoch and files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the manifest's form: 1.
    pub version: u32,
    /// blake3 of the plan, in hexadecimal.
    pub plan: String,
    /// The snapshot drawn from.
    pub snapshot: PinnedSnapshot,
    /// The number of the epoch, from 0.
    pub epoch: u64,
    /// The tokenizer whose ids the files hold.
    pub tokenizer: PinnedTokenizer,
    /// The output format.
    pub format: String,
    /// The type token ids are written as.
    pub dtype: String,
    /// Tokens a row holds.
    pub capacity: u32,
    /// The sources, in the plan's order.
    pub sources: Vec<ManifestSource>,
    /// All sources together.
    pub totals: ManifestTotals,
    /// Every file, by name.
    pub files: Vec<ManifestFile>,
    /// The recipe with every default, as TOML.
    pub recipe: String,
}

/// A source in an export.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ManifestSource {
    /// The name of the source.
    pub name: String,
    /// Documents whose first token is in this export.
    pub documents: u64,
    /// Rows of this source in the export.
    pub rows: u64,
    /// Real tokens: BOS and EOS in, pads out.
    pub tokens: u64,
    /// Tokens of its first pass not reached by the end of this epoch.
    pub unused_tokens: u64,
    /// What one pass leaves out by policy.
    pub dropped: PackLosses,
    /// Its share in the mix's unit, as asked.
    pub asked_share: f64,
    /// Its share in the mix's unit, as written.
    pub achieved_share: f64,
}

/// All sources of an export together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ManifestTotals {
    /// Rows, those of pads included.
    pub rows: u64,
    /// Rows of pads that fill the last batch, which no source has.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pad_rows: u64,
    /// Tokens of documents, pads not counted.
    pub tokens: u64,
    /// Pad tokens written.
    pub pad_tokens: u64,
    /// Global batches, where the recipe has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batches: Option<u64>,
    /// Rows left out because they fill no batch.
    pub left_out_rows: u64,
    /// Real tokens / (rows x capacity); where rows have no fixed length, real tokens / all of them.
    pub efficiency: f64,
}

/// What was counted while rows went by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::epoch) struct ExportCounts {
    sources: Vec<SourceCounts>,
    pads: u64,
    /// Rows of no source.
    pad_rows: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceCounts {
    documents: u64,
    rows: u64,
    tokens: u64,
    /// In the mix's unit.
    amount: u64,
}

/// What a row counts.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::epoch) struct RowCounts {
    /// Tokens of documents, pads not counted.
    pub tokens: usize,
    /// Pads.
    pub pads: usize,
    /// Documents that begin in it.
    pub documents: usize,
    /// What it counts in the mix's unit.
    pub amount: u64,
}

impl ExportCounts {
    pub fn new(sources: usize) -> Self {
        Self { sources: vec![SourceCounts::default(); sources], pads: 0, pad_rows: 0 }
    }

    /// Real tokens of all rows counted.
    pub fn tokens(&self) -> u64 {
        self.sources.iter().map(|source| source.tokens).sum()
    }

    /// Counts a row.
    pub fn add(&mut self, source: usize, row: RowCounts) {
        match self.sources.get_mut(source) {
            Some(counts) => {
                counts.rows += 1;
                counts.tokens += row.tokens as u64;
                counts.documents += row.documents as u64;
                counts.amount += row.amount;
            }
            None => self.pad_rows += 1,
        }
        self.pads += row.pads as u64;
    }
}

impl Manifest {
    /// The manifest of the epoch of `marks` with these counts and files.
    pub(in crate::epoch) fn new(
        plan: &PlanHeader,
        marks: &EpochIndex,
        counts: &ExportCounts,
        mut files: Vec<ManifestFile>,
    ) -> Self {
        let rows = counts.sources.iter().map(|source| source.rows).sum::<u64>() + counts.pad_rows;
        let amount: u64 = counts.sources.iter().map(|source| source.amount).sum();
        let tokens: u64 = counts.sources.iter().map(|source| source.tokens).sum();
        let space = match plan.fixed_length() {
            true => u128::from(rows) * u128::from(plan.capacity),
            false => u128::from(tokens) + u128::from(counts.pads),
        };
        let sources = plan.sources.iter().zip(&counts.sources).zip(&marks.end.tokens).map(
            |((source, counts), reached)| ManifestSource {
                name: source.name.clone(),
                documents: counts.documents,
                rows: counts.rows,
                tokens: counts.tokens,
                unused_tokens: source.packed_tokens.saturating_sub(*reached),
                dropped: source.losses,
                asked_share: plan.asked_share(source),
                achieved_share: ratio(counts.amount.into(), amount.into()),
            },
        );
        files.sort_by(|a, b| a.name.cmp(&b.name));
        let output = &plan.recipe.output;
        Self {
            version: MANIFEST_VERSION,
            plan: plan.hash_hex(),
            snapshot: plan.snapshot.clone(),
            epoch: marks.epoch,
            tokenizer: plan.tokenizer.clone(),
            format: output.format.name().to_owned(),
            dtype: output.id_type(plan.tokenizer.vocab_size).name().to_owned(),
            capacity: plan.capacity,
            sources: sources.collect(),
            totals: ManifestTotals {
                rows,
                pad_rows: counts.pad_rows,
                tokens,
                pad_tokens: counts.pads,
                batches: plan.recipe.batch.as_ref().map(|_| marks.batches),
                left_out_rows: marks.left_out,
                efficiency: ratio(tokens.into(), space),
            },
            files,
            recipe: plan.recipe.to_toml_with_defaults(),
        }
    }

    /// The bytes of the file: JSON, indented, fixed order of fields.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Plain fields with string keys, so this cannot fail; verify would show it if it did.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Where the manifest of the epoch stands that was built in `dir`: beside it or in it.
    pub(in crate::epoch) fn path(dir: &Path) -> PathBuf {
        find_manifest(dir, BUILDS.manifest_inside)
    }

    /// Reads the manifest of the epoch that was built in `dir`.
    ///
    /// # Errors
    /// [`EpochError::Files`] when there is none; [`EpochError::Io`]; [`EpochError::Plan`].
    pub fn read(dir: &Path) -> Result<Self, EpochError> {
        let path = Self::path(dir);
        let text = String::from_utf8(Self::read_bytes(dir, &path)?).map_err(|error| {
            EpochError::Plan(format!("{} is not UTF-8: {error}", path.display()))
        })?;
        Self::from_json(&text)
    }

    /// The bytes of the manifest at `path` of the epoch that was built in `dir`.
    ///
    /// # Errors
    /// [`EpochError::Files`] when there is none; [`EpochError::Io`].
    pub(in crate::epoch) fn read_bytes(dir: &Path, path: &Path) -> Result<Vec<u8>, EpochError> {
        let absent = |kind| matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        match fs::read(path) {
            Err(error) if absent(error.kind()) => Err(EpochError::Files {
                path: dir.to_path_buf(),
                why: format!(
                    "no epoch was built here, there is no manifest.json in it and no {} beside it: give the directory that `corpusdb epoch build` wrote, and move the two together",
                    path.file_name().unwrap_or_default().to_string_lossy()
                ),
            }),
            read => Ok(read.map_err(IoError::of("reading", path))?),
        }
    }

    /// Reads the text of a manifest.
    ///
    /// # Errors
    /// [`EpochError::Plan`] when the text is not a manifest of this version.
    pub fn from_json(text: &str) -> Result<Self, EpochError> {
        let manifest: Self = serde_json::from_str(text)
            .map_err(|error| EpochError::Plan(format!("the manifest: {error}")))?;
        if manifest.version != MANIFEST_VERSION {
            let message = format!(
                "the manifest has version {}, this release reads {MANIFEST_VERSION}",
                manifest.version
            );
            return Err(EpochError::Plan(message));
        }
        Ok(manifest)
    }
}
