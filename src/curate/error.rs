//! What can go wrong with changes of mind.

use crate::decide::DecideError;
use crate::query::QueryError;
use files::output::OutputError;
use model::near_names::UnknownName;
use model::show::count;
use model::{DocId, Error, ErrorKind, Hint, Interrupted, IoError, from_lower};
use store::StoreError;
use tokenizer::TokenizerError;

/// An error of the curate layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CurateError {
    /// Rows that cannot be read or written.
    #[error(transparent)]
    Store(StoreError),
    /// A tokenizer that refused a text, a file or a training.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// A name that nothing is written under, or a file that could not be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A decision that could not be taken.
    #[error(transparent)]
    Decide(DecideError),
    /// A policy that the stored sketches do not serve.
    #[error("this corpus cannot change to {asked}: it has {stored}")]
    OtherSketches {
        /// The setting asked for.
        asked: String,
        /// The setting that the corpus was made with.
        stored: String,
    },
    /// Removals that block by the part of documents that is compared now.
    #[error(
        "this corpus cannot change to comparing {asked}: removals block normalised or similar texts by {stored}, and these blocks would hold no more"
    )]
    BlockedPart {
        /// What was to be compared.
        asked: &'static str,
        /// What is.
        stored: &'static str,
    },
    /// Nothing that could be made current.
    #[error("no finished redo under this policy")]
    NoRedo,
    /// A policy that cannot be written.
    #[error("the policy cannot be stored: {0}")]
    Policy(String),
    /// A reason that is too long to be on record.
    #[error("the reason has {bytes} bytes; at most {most} are stored")]
    Reason {
        /// Its length.
        bytes: usize,
        /// The longest.
        most: usize,
    },
    /// Snapshots and plans that show documents that are to be purged.
    #[error("{}{}{}", shown_by(snapshots, plans, quoted_by), held_by(*copies), named_by(names))]
    Shown {
        /// Names of snapshots, and how many of the documents each one shows as kept.
        snapshots: Vec<(String, u64)>,
        /// Numbers of plans, and how many of the documents each one draws.
        plans: Vec<(u32, u64)>,
        /// Words of users that quote a text or a key.
        quoted_by: Vec<String>,
        /// Other documents that hold the text of one of them.
        copies: u64,
        /// Names that hold a key or a value of one, each with what mends it.
        names: Vec<String>,
    },
    /// A verb that cannot be undone.
    #[error("{what} cannot be undone: {why}")]
    NoUndo {
        /// The verb.
        what: String,
        /// Why.
        why: String,
        /// The command that does it, where one does.
        command: Option<String>,
    },
    /// Documents that nothing is left of.
    #[error("{documents} of these documents were purged and cannot be restored")]
    Purged {
        /// How many.
        documents: u64,
    },
    /// A document that a tokenizer never encoded.
    #[error(
        "document {document} was never encoded by tokenizer `{tokenizer}`: only kept documents are"
    )]
    NotEncoded {
        /// The document.
        document: DocId,
        /// The tokenizer's name.
        tokenizer: String,
    },
    /// Ids that another reference library made, and that this one would not.
    #[error(
        "the ids of tokenizer `{tokenizer}` were computed by {stored}, and this release computes others (document {document})"
    )]
    OtherLineage {
        /// The tokenizer's name.
        tokenizer: String,
        /// The library that made the stored ids.
        stored: String,
        /// A document whose ids differ.
        document: DocId,
    },
    /// A tokenizer that something depends on.
    #[error("{}", in_use(tokenizer, plans, *given))]
    InUse {
        /// The tokenizer's name.
        tokenizer: String,
        /// Plans that could not be opened without it.
        plans: Vec<u32>,
        /// Documents whose ids came with their records.
        given: u64,
    },
    /// A field that the corpus does not have.
    #[error(transparent)]
    Unknown(UnknownName),
    /// A field that cannot be had as it is asked for.
    #[error("{0}")]
    Field(String),
    /// A source that cannot have another name.
    #[error("{0}")]
    Source(String),
    /// Blocks by key of purged documents, which would hold no more under another name of their source.
    #[error(
        "{} of source `{name}` by key, and their keys are not stored: under another name of the source these blocks hold no more; those by text do",
        count(*documents, "purged document blocks records", "purged documents block records")
    )]
    BlockedKeys {
        /// The name of the source.
        name: String,
        /// How many documents.
        documents: u64,
    },
    /// A field that recipes of stored plans name.
    #[error(
        "the recipes of plans {} use field `{field}`: the plans stay, but cannot be planned or extended again without it",
        listed(plans)
    )]
    FieldInUse {
        /// The field's name.
        field: String,
        /// The plans.
        plans: Vec<u32>,
    },
    /// A selection that cannot be had.
    #[error(transparent)]
    Select(Box<QueryError>),
    /// A text that was to be one token.
    #[error("seed token `{token}` cannot be one token: {reason}")]
    SeedToken {
        /// As given.
        token: String,
        /// Why not.
        reason: String,
    },
    /// Nothing to train on.
    #[error("there are no kept documents to train a tokenizer on")]
    NothingToTrainOn,
    /// Nothing to analyse on.
    #[error("no kept document is selected, so there is nothing to analyse a tokenizer on")]
    NothingToAnalyse,
    /// Suites that do not fit into memory.
    #[error("the n-grams of the suites need {bytes} bytes of memory, and {most} are available")]
    Suites {
        /// Bytes that they take.
        bytes: u64,
        /// Bytes that they may take.
        most: u64,
    },
    /// An item and a document that nothing can be decided about.
    #[error("{why}")]
    NoPair {
        /// Why.
        why: String,
    },
    /// A stop was asked for.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl CurateError {
    /// The family of the store whose rows are at fault, where it is one.
    #[must_use]
    pub(crate) const fn family(&self) -> Option<&'static str> {
        match self {
            Self::Store(error) | Self::Decide(DecideError::Store(error)) => error.family(),
            _ => None,
        }
    }

    /// The way out, where there is one to name.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::Store(error) => return error.hint(),
            Self::Tokenizer(error) => return error.hint(),
            Self::Decide(error) => return error.hint(),
            Self::Select(error) => return error.hint(),
            Self::OtherSketches { .. } => Hint::text(
                "the settings of sketches are fixed when a corpus is created: create a new corpus and ingest again",
            ),
            Self::BlockedPart { .. } => Hint::text(
                "restore these documents, change, and remove them again with `block=`; where they were purged, ingest into a new corpus",
            ),
            Self::Unknown(unknown) => unknown.hint(),
            Self::NoRedo => Hint::text("decide again").with_command("corpusdb dedup redo"),
            Self::Reason { .. } => Hint::text("name a document with the details instead"),
            Self::Shown { .. } => Hint::text(
                "`force=` purges them anyway: the snapshots lose them, the plans can no longer be opened, and quotes of them are redacted",
            ),
            Self::NoUndo { command: Some(command), .. } => {
                Hint::text("run it").with_command(command.clone())
            }
            Self::NoUndo { .. } => {
                Hint::text("the verbs that can be undone are listed").with_command("corpusdb log")
            }
            Self::Purged { .. } => Hint::text("select others (`standing = 'removed'`)"),
            Self::OtherLineage { .. } => Hint::text(
                "register its file under another name and backfill, or keep using the older release",
            ),
            Self::InUse { .. } | Self::FieldInUse { .. } => Hint::text("`force=` drops it anyway"),
            Self::BlockedKeys { .. } => Hint::text(
                "rename before a purge, and they hold under the new name; `force=` renames it anyway",
            ),
            Self::NothingToTrainOn => Hint::text("ingest some, or widen the condition (`where=`)"),
            Self::NothingToAnalyse => Hint::text("select others, or ingest some first"),
            Self::Suites { bytes, .. } => {
                let enough = bytes.saturating_mul(8);
                Hint::text(format!("give `memory={enough}` bytes or more, or drop a suite"))
            }
            _ => return None,
        })
    }
}

impl From<IoError> for CurateError {
    fn from(error: IoError) -> Self {
        Self::Store(error.into())
    }
}

from_lower!(CurateError::Store(StoreError));
from_lower!(CurateError::Decide(DecideError));

impl From<CurateError> for Error {
    /// Errors of files, conditions and tokenizers keep their own kind, whichever room met them.
    fn from(error: CurateError) -> Self {
        let kind = match error {
            CurateError::Interrupted(stop) => return stop.into(),
            CurateError::Store(error) => return error.into(),
            CurateError::Tokenizer(error) => return error.into(),
            CurateError::Decide(error) => return error.into(),
            CurateError::Select(error) => return (*error).into(),
            CurateError::OtherSketches { .. }
            | CurateError::BlockedPart { .. }
            | CurateError::Policy(_)
            | CurateError::NoRedo => ErrorKind::BadPolicy,
            CurateError::Unknown(_)
            | CurateError::NothingToTrainOn
            | CurateError::NothingToAnalyse
            | CurateError::NotEncoded { .. } => ErrorKind::NotFound,
            CurateError::SeedToken { .. } => ErrorKind::BadTokenizer,
            CurateError::Field(_)
            | CurateError::Source(_)
            | CurateError::NoPair { .. }
            | CurateError::NoUndo { .. } => ErrorKind::BadInput,
            _ => ErrorKind::Failed,
        };
        let hint = error.hint();
        Self::new(kind, error).with_hint(hint)
    }
}

/// Snapshots and plans that an error names; the rest is counted.
const NAMED: usize = 20;

/// That others hold the text too, where some do.
fn held_by(copies: u64) -> String {
    match copies {
        0 => String::new(),
        _ => format!(
            "; {} their text too (`copies=` takes these)",
            count(copies, "other document holds", "other documents hold")
        ),
    }
}

fn named_by(names: &[String]) -> String {
    names.iter().take(NAMED).map(|name| format!("; {name}")).collect()
}

fn shown_by(snapshots: &[(String, u64)], plans: &[(u32, u64)], quoted_by: &[String]) -> String {
    let mut what: Vec<String> = Vec::new();
    let named = snapshots.iter().take(NAMED);
    what.extend(named.map(|(name, documents)| format!("snapshot `{name}` keeps {documents}")));
    let named = plans.iter().take(NAMED);
    what.extend(named.map(|(number, documents)| format!("plan {number} draws {documents}")));
    let named = quoted_by.iter().take(NAMED);
    what.extend(named.map(|words| format!("{words} quotes one")));
    let all = snapshots.len() + plans.len() + quoted_by.len();
    let more = all.saturating_sub(what.len());
    if more > 0 {
        what.push(format!("{more} more show some"));
    }
    format!("of these documents {}", what.join(", "))
}

fn listed(plans: &[u32]) -> String {
    plans.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn in_use(tokenizer: &str, plans: &[u32], given: u64) -> String {
    let mut what = Vec::new();
    if !plans.is_empty() {
        what.push(format!("plans {} use tokenizer `{tokenizer}`", listed(plans)));
    }
    if given > 0 {
        what.push(format!("the ids of {given} documents by `{tokenizer}` came with their records and cannot be recomputed"));
    }
    what.join(", and ")
}
