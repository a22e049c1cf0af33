//! The manifest of an export: the corpus it is of, the options it was asked for, and every file with its hash.

use super::layout::ExportLayout;
use super::options::ExportOptions;
use arrow::datatypes::{DataType, SchemaRef};
use files::output::{FormatName, ManifestFile, OutputMaker};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the manifest's form.
const VERSION: u32 = 1;
/// Exports, as those who make room for them know them.
pub(super) const EXPORTS: OutputMaker = OutputMaker {
    name: "export",
    option: "`to=`",
    manifest_inside: ".manifest.json",
    instead: "replace it with `force=`, or give another path",
    listed: |text| {
        let manifest: ExportManifest = serde_json::from_slice(text).ok()?;
        Some(manifest.files.into_iter().map(ManifestFile::from).collect())
    },
};

/// Answers to statements, of which there is no manifest.
pub(super) const ANSWERS: OutputMaker = OutputMaker { option: "`output=`", ..EXPORTS };

/// The manifest of an export: a pure function of the corpus at its commit and of the options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExportManifest {
    /// Version of the manifest's form: 1.
    pub version: u32,
    /// `documents`, or `duplicates`.
    pub rows_are: String,
    /// The last commit of the corpus.
    pub commit: u64,
    /// The snapshot whose documents these are, where one was named.
    pub snapshot: Option<String>,
    /// The condition, as it was given.
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// Whether documents of any standing were exported, not only kept ones.
    pub all: bool,
    /// The form of the files.
    pub format: String,
    /// How they are compressed.
    pub compression: String,
    /// Whether content cuts the pages of Parquet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub content_defined_chunks: bool,
    /// The columns of the files.
    pub columns: Vec<ExportColumn>,
    /// Columns whose values are in the names of directories.
    pub partition_by: Vec<String>,
    /// Bytes at which a file ends; none: there is one file.
    pub shard_bytes: Option<u64>,
    /// The text after each document, in the text format.
    pub separator: Option<String>,
    /// Rows of all files.
    pub rows: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Every file, in the order in which they were written.
    pub files: Vec<ExportedFile>,
}

/// A column of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExportColumn {
    /// Its name; `meta.*` stands for the fields of a record at top level.
    pub name: String,
    /// `string`, `uint64`, `int64`, `float64`, `bool`, `timestamp`, or `json`: an object, as text where the format has
    /// no objects.
    #[serde(rename = "type")]
    pub kind: String,
}

/// A file of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExportedFile {
    /// Its path in the directory; of a file alone, its name.
    pub name: String,
    /// Bytes of the file.
    pub bytes: u64,
    /// Rows in it.
    pub rows: u64,
    /// blake3 of its bytes, in hexadecimal.
    pub blake3: String,
    /// The values of its directory, if the export is partitioned; null: documents without a value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub partition: BTreeMap<String, Option<String>>,
    /// Columns with values that the format cannot hold, with their number: numbers that are not finite in JSON lines
    /// and CSV, texts that contain the separator.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub losses: BTreeMap<String, u64>,
}

/// What an export to a stream wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportedStream {
    /// Rows.
    pub rows: u64,
    /// What to say of values that the format cannot hold: a sentence for each column that has such values.
    pub loss_notes: Vec<String>,
}

impl From<ExportedFile> for ManifestFile {
    fn from(file: ExportedFile) -> Self {
        let ExportedFile { name, bytes, rows, blake3, .. } = file;
        Self { name, bytes, rows, blake3 }
    }
}

impl ExportManifest {
    pub(super) fn new(
        options: &ExportOptions,
        layout: &ExportLayout,
        commit: u64,
        schema: &SchemaRef,
        files: Vec<ExportedFile>,
    ) -> Self {
        let names = layout.columns.as_deref();
        let column = |(at, field): (usize, &arrow::datatypes::FieldRef)| {
            let name = names.and_then(|names| names.get(at)).unwrap_or(field.name());
            ExportColumn {
                name: name.clone(),
                kind: kind(field.name(), field.data_type()).to_owned(),
            }
        };
        Self {
            version: VERSION,
            rows_are: if options.duplicates { "duplicates" } else { "documents" }.to_owned(),
            commit,
            snapshot: options.snapshot.clone(),
            condition: options.condition.clone(),
            all: options.all,
            format: layout.format.name().to_owned(),
            compression: layout.compression.name().to_owned(),
            content_defined_chunks: layout.content_defined_chunks,
            columns: schema.fields().iter().enumerate().map(column).collect(),
            partition_by: options.partition_by.clone(),
            shard_bytes: layout.shard_bytes,
            separator: layout.separator.clone(),
            rows: files.iter().map(|file| file.rows).sum(),
            bytes: files.iter().map(|file| file.bytes).sum(),
            files,
        }
    }

    /// What to say of values that the format cannot hold: a sentence for each column that has such values.
    #[must_use]
    pub fn loss_notes(&self) -> Vec<String> {
        let mut losses: BTreeMap<&str, u64> = BTreeMap::new();
        for (column, values) in self.files.iter().flat_map(|file| &file.losses) {
            *losses.entry(column).or_default() += values;
        }
        let format = FormatName::from_name(&self.format);
        let note = |format: FormatName| {
            losses.iter().map(move |(column, values)| format.loss_note(column, *values))
        };
        format.map(note).into_iter().flatten().collect()
    }

    /// The manifest as its file has it.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Strings, numbers and lists: nothing in it fails.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// What formats lost of the values of columns, by their names.
pub(super) fn losses(schema: &SchemaRef, lost: &[u64]) -> BTreeMap<String, u64> {
    let columns = schema.fields().iter().map(|field| field.name().clone());
    columns.zip(lost.iter().copied()).filter(|(_, lost)| *lost > 0).collect()
}

fn kind(name: &str, of: &DataType) -> &'static str {
    match of {
        DataType::LargeUtf8 if name == super::layout::META => "json",
        DataType::UInt64 => "uint64",
        DataType::Int64 => "int64",
        DataType::Float64 => "float64",
        DataType::Boolean => "bool",
        DataType::Timestamp(..) => "timestamp",
        _ => "string",
    }
}
