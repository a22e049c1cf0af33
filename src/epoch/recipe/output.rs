//! The table `[output]`: what is written.

use files::output::{IdType, OutputCompression, RowColumn, RowFormat, row_format};
use model::named;
use serde::{Deserialize, Serialize};

/// The files that a build writes: format, columns, compression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct OutputRecipe {
    /// How the files of an export are laid out.
    pub format: Format,
    /// Largest size of a shard in bytes: one row excepted, or one group of rows where only encoding
    /// tells their size (Parquet, Arrow, JSON lines).
    pub shard_bytes: u64,
    /// The framing of the ids of `raw`; `plain` by default. No other format has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// How Parquet (by default `zstd`), and JSON lines and MDS (by default `none`; `zstd`) are compressed. No
    /// other format has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<OutputCompression>,
    /// Whether content cuts the pages of Parquet, so that a build of rows that are mostly the same shares most of its
    /// bytes with the one before, in stores that keep equal chunks once. No other format has pages.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub content_defined_chunks: bool,
    /// The type of the ids of MDS, `i32` by default. That of other formats follows from the vocabulary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<IdType>,
    /// The columns of Parquet, Arrow, MDS and JSON lines besides ids and segments; absent: those of
    /// [`OutputRecipe::columns`]. No other format has columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<RowColumn>>,
    /// Train on every token and ignore masks and weights of documents; formats without masks are not refused then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ignore_loss: bool,
}

impl Default for OutputRecipe {
    fn default() -> Self {
        Self {
            format: Format::Parquet,
            shard_bytes: 268_435_456,
            layout: None,
            compression: None,
            content_defined_chunks: false,
            ids: None,
            columns: None,
            ignore_loss: false,
        }
    }
}

impl OutputRecipe {
    /// The layout of `raw`.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout.unwrap_or(Layout::Plain)
    }

    /// What the words of format and layout stand for.
    pub(crate) fn file_format(&self) -> &'static dyn RowFormat {
        let layout = (self.format == Format::Raw).then(|| self.layout().name());
        // Every word has its format: a test holds it.
        row_format(self.format.name(), layout).unwrap_or_else(|| Self::default().file_format())
    }

    /// The type of ids of a vocabulary of `vocab`.
    pub(crate) fn id_type(&self, vocab: u32) -> IdType {
        self.file_format().id_type(vocab, self.ids)
    }

    /// The compression of Parquet, JSON lines and MDS.
    #[must_use]
    pub fn compression(&self) -> OutputCompression {
        let default = self.file_format().compressions().first().copied();
        self.compression.or(default).unwrap_or(OutputCompression::None)
    }

    /// The columns beside ids and segments, ascending; `masked`: documents say what is trained on;
    /// `padded`: rows are padded to the longest of their batch.
    #[must_use]
    pub fn columns(&self, masked: bool, padded: bool) -> Vec<RowColumn> {
        let mut columns = match (&self.columns, self.file_format().default_columns(masked)) {
            (Some(columns), _) => columns.clone(),
            (None, None) => Vec::new(),
            (None, Some(columns)) => {
                let more = [(masked, RowColumn::LossWeights), (padded, RowColumn::AttentionMask)];
                let more = more.into_iter().filter(|(is, _)| *is).map(|(_, column)| column);
                columns.iter().copied().chain(more).collect()
            }
        };
        columns.sort_unstable();
        columns
    }

    /// The format and, where it has one, its layout.
    #[must_use]
    pub fn describe(&self) -> String {
        match self.format {
            Format::Raw => format!("raw with layout {}", self.layout().name()),
            format => format.name().to_owned(),
        }
    }

    /// Writes out the defaults that depend on the format. Recipes are stored and hashed in this form: which defaults
    /// are written out never changes.
    pub(super) fn fill_defaults(&mut self) {
        match self.format {
            Format::Raw => self.layout = Some(self.layout()),
            Format::Parquet | Format::Jsonl => self.compression = Some(self.compression()),
            _ => {}
        }
    }
}

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Megatron `.bin` and `.idx`.
    Megatron,
    /// Parquet with all views as columns.
    Parquet,
    /// What `datasets.load_from_disk` opens, with the columns of Parquet.
    Arrow,
    /// The shards that MosaicML Streaming reads.
    Mds,
    /// Chunks of litdata's `TokensLoader`.
    Litdata,
    /// A JSON object a line.
    Jsonl,
    /// Bare token ids, in one of several layouts.
    Raw,
}

named!(Format {
    Megatron = "megatron", Parquet = "parquet", Arrow = "arrow", Mds = "mds", Litdata = "litdata",
    Jsonl = "jsonl", Raw = "raw",
});

/// The framing of bare token ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Nothing: ids of the narrowest type.
    Plain,
    /// Nothing: ids u16, as nanoGPT reads them.
    Nanogpt,
    /// A header of 1,024 bytes, as llm.c and modded-nanogpt read it; ids u16.
    #[serde(rename = "llm.c")]
    LlmC,
    /// `.ds`, `.ds.index` and `.ds.metadata`, as datatrove and nanotron read them.
    Datatrove,
    /// `.npy` without a header and `.csv.gz`, as OLMo-core reads them.
    Olmo,
}

named!(Layout {
    Plain = "plain", Nanogpt = "nanogpt", LlmC = "llm.c", Datatrove = "datatrove", Olmo = "olmo",
});
