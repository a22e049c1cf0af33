//! The formats that files are written in, a file each, and the tables that list them.
//!
//! A new format is a file here, its `mod` line, and its entry in [`FORMATS`], or in [`ROW_FORMATS`] for rows of epochs:
//! those are also read back, by the file that writes them. Beside them stands what several share: `token_file` (bare
//! ids, and what formats have beside these), `segment_table` (what is in their rows), `sample_table` (samples behind a
//! table of their offsets), `lines`, `spelling`.

mod arrow;
mod csv;
mod datatrove;
mod jsonl;
mod lines;
mod litdata;
mod mds;
mod megatron;
mod olmo;
mod parquet;
mod raw;
mod sample_table;
mod segment_table;
mod spelling;
#[cfg(test)]
mod test_only;
#[cfg(test)]
mod tests;
mod text;
mod token_file;

pub use csv::{csv_header, csv_rows};
pub use jsonl::{StreamRowNumber, json_rows, jsonl_columns, put_row};
pub use parquet::{signed_columns, signed_fields, table_columns};
pub use spelling::python_json;

use super::compression::OutputCompression;
use super::format::{OutputFormat, TableColumns};
use super::row_format::RowFormat;
use model::show::count;
use std::fmt;
use std::path::Path;

/// All formats, in the order in which help lists them.
pub(crate) static FORMATS: &[&OutputFormat] = &[
    &jsonl::JSON_LINES,
    &parquet::PARQUET,
    &arrow::ARROW,
    &csv::CSV,
    &text::TEXT,
    #[cfg(test)]
    &test_only::TEST_ONLY,
];

/// Largest vocabulary whose ids all fit u16.
const U16_VOCABULARY: u32 = 65_536;

/// The formats of epochs, by the word of a recipe and that of its layout.
static ROW_FORMATS: &[(&str, Option<&str>, &dyn RowFormat)] = &[
    ("parquet", None, &parquet::Parquet),
    ("arrow", None, &arrow::Arrow),
    ("jsonl", None, &jsonl::JsonLines),
    ("mds", None, &mds::MdsFormat),
    ("litdata", None, &litdata::LitdataFormat),
    ("megatron", None, &megatron::MegatronFormat),
    ("raw", Some("plain"), &raw::RawFormat::Plain),
    ("raw", Some("nanogpt"), &raw::RawFormat::Nanogpt),
    ("raw", Some("llm.c"), &raw::RawFormat::LlmC),
    ("raw", Some("datatrove"), &datatrove::DatatroveFormat),
    ("raw", Some("olmo"), &olmo::OlmoFormat),
];

/// The format of epochs of these words, if there is one.
pub fn row_format(name: &str, layout: Option<&str>) -> Option<&'static dyn RowFormat> {
    let found = ROW_FORMATS.iter().find(|(of, laid, _)| *of == name && *laid == layout);
    found.map(|(_, _, format)| *format)
}

/// A format of files, by its name: `jsonl`, `parquet`, `arrow`, `csv`, `text`.
#[derive(Clone, Copy)]
pub struct FormatName(&'static OutputFormat);

impl FormatName {
    /// The formats of documents.
    pub fn all() -> impl Iterator<Item = Self> {
        FORMATS.iter().filter(|format| format.table.is_some()).map(|format| Self(format))
    }

    /// The word used on the command line and in manifests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// The format of that name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|format| format.name() == name)
    }

    /// The format that the ending of a file's name tells.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        Self::of_file(&path.file_name()?.to_string_lossy()).0
    }

    /// What the name of a file says of its format and its compression.
    #[doc(hidden)]
    pub fn of_file(name: &str) -> (Option<Self>, Option<OutputCompression>) {
        let name = name.to_ascii_lowercase();
        let compressed = |compression: OutputCompression| {
            let ending = Some(compression.ending()).filter(|ending| !ending.is_empty())?;
            Some((name.strip_suffix(ending)?, Some(compression)))
        };
        let compressed = OutputCompression::ALL.into_iter().find_map(compressed);
        let (stem, compression) = compressed.unwrap_or((&name, None));
        let ending = stem.rsplit_once('.').map_or("", |(_, ending)| ending);
        let format = Self::all().find(|format| format.0.endings.contains(&ending));
        (format, format.and(compression))
    }

    /// The names of all formats of documents that `is` true of, as a sentence lists them.
    #[doc(hidden)]
    pub fn list(is: impl Fn(&OutputFormat) -> bool) -> String {
        let names =
            Self::all().filter(|format| is(format.0)).map(|format| format.name().to_owned());
        in_words(&names.collect::<Vec<_>>())
    }

    /// The endings of those that have columns, as a sentence lists them.
    #[doc(hidden)]
    pub fn list_endings() -> String {
        let ending = |format: Self| format.0.endings.first().map(|ending| format!(".{ending}"));
        let with_columns = Self::all().filter(|format| format.has_columns());
        in_words(&with_columns.filter_map(ending).collect::<Vec<_>>())
    }

    /// The names of those that have columns, as a sentence lists them.
    #[must_use]
    pub fn list_with_columns() -> String {
        Self::list(|format| format.columns != TableColumns::Texts)
    }

    /// What to say of values of a column that the format cannot hold.
    #[must_use]
    pub fn loss_note(self, column: &str, values: u64) -> String {
        let (values, loss) = (count(values, "value", "values"), self.0.loss.unwrap_or("lost"));
        format!("{values} of `{column}`: {loss}")
    }

    /// What the format is.
    #[doc(hidden)]
    pub const fn format(self) -> &'static OutputFormat {
        self.0
    }

    /// Whether it has columns, as answers do, and not texts alone.
    #[must_use]
    pub fn has_columns(self) -> bool {
        self.0.columns != TableColumns::Texts
    }
}

/// Words with commas and an "or" between them.
fn in_words(words: &[String]) -> String {
    match words {
        [before @ .., one, last] => {
            let before: String = before.iter().map(|word| format!("{word}, ")).collect();
            format!("{before}{one} or {last}")
        }
        words => words.concat(),
    }
}

impl PartialEq for FormatName {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for FormatName {}

impl fmt::Debug for FormatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(feature = "cli")]
impl clap::ValueEnum for FormatName {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: std::sync::LazyLock<Vec<FormatName>> =
            std::sync::LazyLock::new(|| FormatName::all().collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.name()).help(self.0.about))
    }
}
