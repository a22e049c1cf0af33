//! The errors of the way out: recipe mistakes, plans that cannot be had, output that cannot be written.

use crate::corpus::ShardError;
use crate::sql::SqlError;
use files::output::{OutputError, WriteError};
use model::near_names::UnknownName;
use model::show::number;
use model::{Error, ErrorKind, Hint, Interrupted, IoError, from_lower};
use std::fmt;
use std::path::{Path, PathBuf};
use store::StoreError;
use tokenizer::TokenizerError;

/// What [`EpochError::Unknown`] says of a token that a recipe names and no added token is.
pub(super) const SPECIAL_TOKEN: &str = "special token";

/// An error of planning, building or verifying an epoch.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EpochError {
    /// The recipe does not parse, or contradicts itself.
    #[error("recipe: {0}")]
    Recipe(String),
    /// A plan that draws purged documents.
    #[error(
        "the plan draws {documents} documents that were purged, so it can no longer be built or read; plan the recipe again, without them"
    )]
    Purged {
        /// How many.
        documents: u64,
    },
    /// A plan whose recipe quoted a purged document.
    #[error(
        "the recipe of the plan quoted a purged document and is redacted, so the plan can no longer be built or read; plan the recipe again, without those words"
    )]
    Redacted,
    /// A plan, source, tokenizer, snapshot, suite or special token that does not exist.
    #[error(transparent)]
    Unknown(UnknownName),
    /// Nothing is left to pack.
    #[error("{what} has no documents to pack: {why}")]
    Empty {
        /// A source of the recipe, or the whole selection.
        what: String,
        /// The setting or the state of the corpus that leaves it no documents.
        why: String,
    },
    /// A selected document has no token ids.
    #[error(
        "document {document} has no tokens of tokenizer `{tokenizer}`{}",
        not_encoded_words(*near_of)
    )]
    NotEncoded {
        /// The tokenizer.
        tokenizer: String,
        /// The first such document.
        document: u64,
        /// The corpus, counted from 0, of a near duplicate that is drawn beside what is kept.
        near_of: Option<u64>,
    },
    /// The budget asks sources for more than their passes hold.
    #[error(
        "epoch {epoch} with a budget of {} {unit} asks {}",
        number(*.budget),
        infeasible_words(unit, *.epoch, sources, ways)
    )]
    Infeasible {
        /// The epoch asked for.
        epoch: u64,
        /// Size of one epoch.
        budget: u64,
        /// The unit of the mix that budget and shares are counted in.
        unit: &'static str,
        /// The largest budget of an epoch that would do.
        feasible: u64,
        /// The sources that fall short, in the order of the recipe; one at least.
        sources: Vec<ShortSource>,
        /// The settings that would do, in words.
        ways: Vec<String>,
    },
    /// A fixed-width format needs a pad token.
    #[error(
        "format {format} writes rows of equal length and source `{name}` has {rows} rows that are not full: declare tokenizer.specials.pad, or use output.format = \"parquet\""
    )]
    PadNeeded {
        /// The output format.
        format: &'static str,
        /// The source.
        name: String,
        /// Its rows that are not full.
        rows: u64,
    },
    /// The output format cannot hold what the plan asks.
    #[error("output format {format} cannot hold this epoch: {why}; {instead}")]
    Limit {
        /// The format, with its layout.
        format: String,
        /// The property of the epoch that the format cannot hold.
        why: String,
        /// The setting or the format to use instead.
        instead: String,
    },
    /// The stream written to.
    #[error("writing the stream")]
    Output(#[source] std::io::Error),
    /// A row, batch or rank that there is not.
    #[error("{what} {asked} is out of range: {}", range(what, *there_are))]
    OutOfRange {
        /// `row`, `batch`, `step`, `rank` or `epoch`.
        what: &'static str,
        /// The number asked for.
        asked: u64,
        /// How many there are.
        there_are: u64,
    },
    /// An epoch without a row.
    #[error("epoch {epoch} has no rows: {why}")]
    NoRows {
        /// The epoch.
        epoch: u64,
        /// Why, and the way out.
        why: EmptyEpoch,
    },
    /// Corpora that cannot be taken together.
    #[error(transparent)]
    Shards(ShardError),
    /// A corpus that is not the one that a plan draws from.
    #[error(
        "shard {shard} is not the corpus that the plan draws from: name the corpora in the order in which it was planned"
    )]
    OtherShard {
        /// Which one, counted from 0.
        shard: u64,
    },
    /// The store no longer holds what the plan was computed from.
    #[error("the plan does not fit this corpus: {0}; plan again")]
    Stale(String),
    /// A stored plan cannot be read.
    #[error("epoch plan: {0}")]
    Plan(String),
    /// Files that do not have the ids of an epoch.
    #[error("{}: {why}", path.display())]
    Files {
        /// The directory, or the file in it.
        path: PathBuf,
        /// Why not, and the way out.
        why: String,
    },
    /// The file system.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The Parquet library.
    #[error("{action} {}", path.display())]
    Parquet {
        /// The operation that failed, such as `write`.
        action: &'static str,
        /// The file or folder that it was done to.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// Worker threads could not be had.
    #[error("starting {threads} worker threads: {why}")]
    Threads {
        /// Threads asked for.
        threads: usize,
        /// Why not.
        why: String,
    },
    /// A broken invariant of this code.
    #[error("bug in epoch building: {0}; please report it")]
    Bug(String),
    /// A `where` of the recipe.
    #[error(transparent)]
    Select(SqlError),
    /// Rows that cannot be read or written.
    #[error(transparent)]
    Store(StoreError),
    /// The tokenizer of the recipe cannot be loaded.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// Whatever else is wrong, with its own kind.
    #[error(transparent)]
    Other(#[from] Error),
}

from_lower!(EpochError::Select(SqlError));
from_lower!(EpochError::Store(StoreError));

impl From<ShardError> for EpochError {
    fn from(error: ShardError) -> Self {
        match error {
            ShardError::Store(error) => error.into(),
            other => Self::Shards(other),
        }
    }
}

impl From<OutputError> for EpochError {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::Io(error) => error.into(),
            OutputError::Interrupted(stop) => stop.into(),
            error => Self::Other(error.into()),
        }
    }
}

impl From<WriteError> for EpochError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Io(error) => Self::Io(error),
            WriteError::Library { action, path, source } => Self::Parquet { action, path, source },
            WriteError::Stream(error) => {
                IoError::of("writing", Path::new("the stream"))(error).into()
            }
            WriteError::Unfit(why) | WriteError::Bug(why) => Self::Bug(why),
        }
    }
}

/// A source whose passes do not reach to the end of an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShortSource {
    /// Its name.
    pub name: String,
    /// How much the mix takes of it by the end of that epoch, in the unit of the mix.
    pub asked: u64,
    /// The passes that it may have.
    pub max_repeats: u32,
    /// How much these hold, in the same unit.
    pub available: u64,
    /// The `max_repeats` that would do: of a plan that is made, with passes of the plans that it extends.
    pub needed: u64,
}

/// Why a near duplicate has no tokens.
fn not_encoded_words(near_of: Option<u64>) -> String {
    let words = ": select.per_cluster draws it, a near duplicate";
    match near_of {
        None => String::new(),
        Some(0) => format!("{words} that no stored plan drew"),
        Some(shard) => format!("{words} of shard {shard} that no plan stored there drew"),
    }
}

/// What each source is asked and has, and the ways out.
fn infeasible_words(unit: &str, epoch: u64, sources: &[ShortSource], ways: &[String]) -> String {
    let asked = sources.iter().map(|source| {
        let ShortSource { name, asked, max_repeats, available, .. } = source;
        let (asked, available) = (number(*asked), number(*available));
        let passes = match max_repeats {
            1 => "one pass holds".to_owned(),
            passes => format!("{passes} passes hold"),
        };
        format!("{asked} {unit} of source `{name}` by its end, but {passes} {available}")
    });
    let asked: Vec<String> = asked.collect();
    let mut ways: Vec<&str> = ways.iter().map(String::as_str).collect();
    if ways.len() <= 1 && epoch > 0 {
        ways.push("ask for an earlier epoch");
    }
    let asked = asked.join(", and ");
    match ways.split_last() {
        None => asked,
        Some((only, [])) => format!("{asked}; {only}"),
        Some((last, others)) => {
            let or = if others.len() > 1 { "," } else { "" };
            format!("{asked}; {}{or} or {last}", others.join(", "))
        }
    }
}

impl EpochError {
    /// The way out, where there is one to name.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Select(error) => error.hint(),
            Self::Io(error) => error.hint(),
            Self::Tokenizer(error) => error.hint(),
            Self::Other(error) => error.hint().cloned(),
            Self::Unknown(unknown) if unknown.what == SPECIAL_TOKEN => Some(Hint::text(format!(
                "{}; any token of the vocabulary may be named as well, spelled as there",
                unknown.hint()
            ))),
            Self::Unknown(unknown) => Some(unknown.hint()),
            Self::NotEncoded { near_of: Some(0), .. } => Some(
                Hint::text("store the plan, which encodes near duplicates")
                    .with_command("corpusdb epoch plan"),
            ),
            Self::NotEncoded { near_of: Some(shard), .. } => Some(
                Hint::text(format!("plan the recipe once in the corpus of shard {shard} alone"))
                    .with_command("corpusdb epoch plan"),
            ),
            Self::NotEncoded { .. } => Some(
                Hint::text("encode the corpus, then plan a new snapshot")
                    .with_command("corpusdb tokenizer add"),
            ),
            _ => None,
        }
    }

    /// Whether the same build may go on where this one stopped.
    pub(super) const fn can_pass(&self) -> bool {
        matches!(self, Self::Interrupted(_) | Self::Io(_) | Self::Parquet { .. } | Self::Store(_))
    }

    pub(super) fn bug(what: impl Into<String>) -> Self {
        Self::Bug(what.into())
    }
}

impl EpochError {
    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            Self::Recipe(_) | Self::Limit { .. } | Self::PadNeeded { .. } => ErrorKind::BadRecipe,
            Self::Unknown(_) => ErrorKind::NotFound,
            Self::Infeasible { .. }
            | Self::Empty { .. }
            | Self::NoRows { .. }
            | Self::NotEncoded { .. } => ErrorKind::Infeasible,
            Self::OutOfRange { .. } => ErrorKind::OutOfRange,
            Self::Stale(_) | Self::Shards(ShardError::TooFew { .. }) | Self::OtherShard { .. } => {
                ErrorKind::Stale
            }
            Self::Shards(ShardError::Twice { .. }) | Self::Files { .. } => ErrorKind::BadInput,
            Self::Plan(_) => ErrorKind::Corrupt,
            Self::Other(error) => error.kind(),
            _ => ErrorKind::Failed,
        }
    }
}

impl From<EpochError> for Error {
    /// Errors of files and conditions keep their own kind, whichever room met them.
    fn from(error: EpochError) -> Self {
        match error {
            EpochError::Interrupted(stop) => stop.into(),
            EpochError::Store(error) => error.into(),
            EpochError::Select(error) => error.into(),
            EpochError::Tokenizer(error) => error.into(),
            EpochError::Other(error) => error,
            error => {
                let (kind, hint) = (error.kind(), error.hint());
                Self::new(kind, error).with_hint(hint)
            }
        }
    }
}

impl From<ShardError> for Error {
    fn from(error: ShardError) -> Self {
        EpochError::from(error).into()
    }
}

/// The numbers that there are, counted from 0.
fn range(what: &str, count: u64) -> String {
    match count.checked_sub(1) {
        None => format!("there is no {what}"),
        Some(last) => format!("there are {count}, 0 to {last}"),
    }
}

/// Why an epoch has no rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyEpoch {
    /// What it counts lies within the last row of the epoch before it.
    BudgetWithinRow {
        /// Size of an epoch.
        budget: u64,
        /// In what.
        unit: &'static str,
    },
    /// Its rows fill no batch, and are left out.
    FillsNoBatch {
        /// Its rows.
        rows: u64,
        /// Rows of a batch.
        batch_rows: u64,
    },
    /// Its rows fill no batch, and open the next epoch.
    AllCarried {
        /// Its rows.
        rows: u64,
        /// Rows of a batch.
        batch_rows: u64,
    },
}

impl fmt::Display for EmptyEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BudgetWithinRow { budget, unit } => write!(
                f,
                "an epoch is {budget} {unit}, and the last row of the epoch before it reaches beyond its end; raise mix.tokens"
            ),
            Self::FillsNoBatch { rows, batch_rows } => write!(
                f,
                "its {rows} rows do not fill a batch of batch.rows = {batch_rows}, and they are all left out; lower batch.rows, or use batch.tail = \"pad\" or \"carry\""
            ),
            Self::AllCarried { rows, batch_rows } => write!(
                f,
                "its {rows} rows do not fill a batch of batch.rows = {batch_rows}, and they are all carried to the next epoch; lower batch.rows"
            ),
        }
    }
}
