//! The report of an ingest: its counts, and alarms about what a careful person looks at before going on.

use super::file_tally::FileTally;
use crate::decide::{DecisionCounts, RefusedTexts};
use files::input::SkippedContent;
use model::{DocId, FieldKind, ProgressTally, RecordOrigin, Standing, is_zero};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use store::{StoreError, View};
use tokenizer::EngineTexts;

/// Seconds each stage was busy; stages overlap, so they add up to more than the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct StageSeconds {
    /// Reading, decompressing, parsing.
    pub read: f64,
    /// Normalising, hashing, sketching.
    pub fingerprint: f64,
    /// Candidates, verification, standing.
    pub decide: f64,
    /// Token ids and compression of texts.
    pub encode: f64,
    /// Building and writing the batch, synced.
    pub commit: f64,
}

/// The report of an ingest. `added` counts stored documents, kept or removed.
///
/// Every record read is counted once: `read` is `added + (unchanged - unchanged_unread) + purged + rejected +
/// rejected_before + filtered`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct IngestReport {
    /// The source that was ingested into.
    pub source: String,
    /// Records read, bad ones included.
    pub read: u64,
    /// Documents that were stored, kept or not.
    pub added: u64,
    /// Of these, kept when the ingest ended; so with the next three.
    pub kept: u64,
    /// Of these, removed with raw bytes equal to a kept document's.
    pub exact_duplicates: u64,
    /// Of these, removed for similarity.
    pub near_duplicates: u64,
    /// Of these, without a single token.
    pub empty: u64,
    /// Records seen before with the same content, and those of files skipped unread.
    pub unchanged: u64,
    /// Of the unchanged, those of files skipped unread, and those before the place where a file was continued.
    pub unchanged_unread: u64,
    /// Of the added, those that superseded an earlier document of their key.
    pub updated: u64,
    /// Records whose text or key was purged: they are not stored.
    #[serde(skip_serializing_if = "is_zero")]
    pub purged: u64,
    /// Records rejected now, and not before.
    pub rejected: u64,
    /// Records read that an earlier ingest rejected, too.
    pub rejected_before: u64,
    /// Rejects of earlier readings of these files that were deleted: their records could be read now, were skipped
    /// or are not there any more.
    pub rejects_settled: u64,
    /// Of the records read, those that do not meet the condition of the ingest.
    pub filtered: u64,
    /// Counts of files.
    pub files: FileTally,
    /// Contents of web archives that are not text, and were skipped.
    #[serde(skip_serializing_if = "SkippedContent::is_nothing")]
    pub passed: SkippedContent,
    /// Columns of tables that were skipped, each with its type, since JSON cannot represent their values.
    #[serde(skip)]
    pub(super) left_columns: BTreeSet<String>,
    /// Values that JSON cannot represent (`NaN`, `Infinity`, a moment that no calendar has) among the fields of added
    /// documents, where they are null.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_finite: u64,
    /// Tokens encoded, by tokenizer.
    pub tokens: BTreeMap<String, u64>,
    /// Texts encoded, by tokenizer: how many by each engine.
    pub engines: BTreeMap<String, EngineTexts>,
    /// Documents that spell a special token, which was encoded as plain text: by tokenizer, by token.
    pub special_tokens_in_text: BTreeMap<String, BTreeMap<String, u64>>,
    /// Documents whose texts a tokenizer refused, by tokenizer: they are stored without its ids.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, RefusedTexts>,
    /// Values of new documents that the types of their declared fields cannot hold, by field: they stay in the metadata
    /// and are null.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub misfits: BTreeMap<String, FieldMisfits>,
    /// Bytes of text read, and those of rejected records.
    pub bytes: u64,
    /// Seconds from the beginning to the end.
    pub seconds: f64,
    /// How many commits were made.
    pub commits: u64,
    /// The corpus's policy, in words.
    pub policy: String,
    /// Candidates, verifications and limits met.
    pub dedup: DecisionCounts,
    /// Findings to look at before you continue.
    pub alarms: Vec<Alarm>,
    /// Where the time went.
    pub stages: StageSeconds,
}

impl IngestReport {
    /// Counts what a tokenizer made of the documents of a commit.
    pub(super) fn encoded(
        &mut self,
        tokenizer: &str,
        tokens: u64,
        refused: RefusedTexts,
        engines: EngineTexts,
    ) {
        self.engines.entry(tokenizer.to_owned()).or_default().add(engines);
        if refused.documents > 0 {
            self.refused.entry(tokenizer.to_owned()).or_default().and(refused);
        }
        *self.tokens.entry(tokenizer.to_owned()).or_default() += tokens;
    }

    /// Counts the standings of the documents from `first` on as they are now: a later document of the
    /// same ingest may have changed an earlier one's.
    pub(super) fn count_standings(&mut self, view: &View, first: DocId) -> Result<(), StoreError> {
        let counts = [
            (Standing::Kept, &mut self.kept),
            (Standing::Exact, &mut self.exact_duplicates),
            (Standing::Near, &mut self.near_duplicates),
            (Standing::Empty, &mut self.empty),
        ];
        for (standing, count) in counts {
            let set = view.documents_standing(standing)?;
            *count = set.len() - first.0.checked_sub(1).map_or(0, |before| set.rank(before));
        }
        Ok(())
    }

    pub(super) fn tally(&self, input_bytes: u64) -> ProgressTally {
        ProgressTally {
            input_bytes,
            bytes: self.bytes,
            records: self.read,
            kept: self.kept,
            duplicates: self.exact_duplicates + self.near_duplicates,
        }
    }
}

/// Values that the type of a declared field cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FieldMisfits {
    /// The type: `keyword`, `int`, `float`, `bool` or `timestamp`.
    pub kind: &'static str,
    /// How many there are.
    pub misfits: u64,
    /// Values of the field in total, with these; null does not count.
    pub values: u64,
    /// The first of them, as JSON spells it, cut to 60 characters.
    pub example: String,
    /// The file that contains it.
    pub file: String,
    /// Its record there, counted from 0.
    pub record: u64,
}

impl FieldMisfits {
    /// With a first value that is not counted yet.
    pub(super) fn of(kind: FieldKind, value: &str, origin: &RecordOrigin) -> Self {
        Self {
            kind: kind.name(),
            misfits: 0,
            values: 0,
            example: value.to_owned(),
            file: origin.path.display().to_string(),
            record: origin.number,
        }
    }
}

/// A removed document beside its witness.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AlarmPair {
    /// The removed document; 0 when its batch was not committed.
    pub removed: u64,
    /// The beginning of its text; empty when its batch was not committed.
    pub removed_text: String,
    /// Its witness.
    pub witness: u64,
    /// The witness's key.
    pub witness_key: String,
    /// The beginning of its text.
    pub witness_text: String,
    /// Exact Jaccard similarity of the two.
    pub jaccard: f64,
}

/// Two documents whose sketches are close and whose texts were not compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CrowdedPair {
    /// The one that was decided.
    pub document: u64,
    /// The beginning of its text.
    pub text: String,
    /// The other.
    pub other: u64,
    /// The beginning of its text.
    pub other_text: String,
}

/// A finding to look at before you continue.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[non_exhaustive]
pub enum Alarm {
    /// More than a limit of the added documents were removed as duplicates.
    RemovedShare {
        /// How many documents the ingest added.
        added: u64,
        /// Of these, removed as duplicates.
        removed: u64,
        /// A pair that shows what was taken for a duplicate.
        example: Option<AlarmPair>,
    },
    /// Nearly all documents of one source were removed as duplicates.
    SourceRemoved {
        /// The source.
        source: String,
        /// How many documents of it the ingest added.
        added: u64,
        /// Of these, removed as duplicates.
        removed: u64,
        /// A pair that shows what was taken for a duplicate.
        example: Option<AlarmPair>,
    },
    /// Half of the documents that a source got, 20 or more, are near duplicates of one document.
    NearOne {
        /// The source.
        source: String,
        /// How many documents of it the ingest added.
        added: u64,
        /// Of these, near duplicates of that document.
        removed: u64,
        /// One of them, beside that document.
        example: Option<AlarmPair>,
    },
    /// Every record was rejected; none is unchanged.
    AllRejected {
        /// How many.
        records: u64,
        /// The first of them: file and number, and why.
        first: String,
        /// The most likely way out for most of them, if one is known.
        mend: Option<String>,
    },
    /// More than a tenth of at least 100 records were rejected.
    RejectedShare {
        /// Records read.
        records: u64,
        /// Of these, rejected.
        rejected: u64,
        /// Of these, those for the most frequent kind of reason.
        alike: u64,
        /// The first of these: file and number, and why.
        first: String,
        /// The most likely way out for these, if one is known.
        mend: Option<String>,
    },
    /// Files that are truncated, damaged or unreadable: the records before the damage were read.
    DamagedFiles {
        /// How many.
        files: u64,
        /// The first of them, and why.
        first: String,
    },
    /// Files without records of the expected form, beside others.
    ForeignFiles {
        /// How many.
        files: u64,
        /// The first of them, and why.
        first: String,
    },
    /// Files of folders and patterns that were skipped by their names, or since they are texts beside records, with one
    /// in a hundred or more of all bytes.
    FilesLeft {
        /// How many.
        files: u64,
        /// Their bytes.
        bytes: u64,
        /// Bytes of the files that were read.
        read: u64,
        /// The first of them, and why.
        first: String,
    },
    /// HTML pages were ingested as text, with their tags and scripts.
    HtmlFiles {
        /// How many.
        files: u64,
        /// The first of them.
        first: String,
    },
    /// Compressed files with bytes after their last frame.
    TrailingBytes {
        /// How many.
        files: u64,
        /// The first of them.
        first: String,
    },
    /// Tables some of whose quotes may be meant otherwise: their values were read by the usual rule.
    OddQuotes {
        /// How many.
        files: u64,
        /// The first of them, with what is odd and on which line.
        first: String,
    },
    /// The id is missing in one in a hundred or more of at least 100 records.
    MissingIds {
        /// Records read.
        records: u64,
        /// Of these, rejected for want of an id.
        missing: u64,
        /// The first of these: file and number, and why.
        first: String,
        /// The most likely way out.
        mend: Option<String>,
    },
    /// A turn marker of the chat template is ordinary text to a tokenizer.
    MarkerAsText {
        /// The name of the tokenizer.
        tokenizer: String,
        /// The first such spelling.
        marker: String,
        /// Tokens that it becomes.
        tokens: u64,
    },
    /// Arguments of tool calls came as JSON texts, and the chat template quoted them a second time.
    QuotedArguments {
        /// Conversations with such arguments.
        conversations: u64,
        /// The first of them: its file and number.
        first: String,
    },
    /// Conversations were removed as similar by their whole text, with shared system prompts.
    WholeChats {
        /// How many documents the ingest added.
        added: u64,
        /// Of these, removed for similarity.
        removed: u64,
        /// A pair that shows what was taken for a duplicate.
        example: Option<AlarmPair>,
    },
    /// A member of messages that the template left out of the text, in 1 of 100 conversations or more.
    LeftOut {
        /// Its name.
        member: String,
        /// Conversations whose text has nothing of it.
        conversations: u64,
        /// Conversations that were read.
        of: u64,
        /// The first of them: its file and number.
        first: String,
    },
    /// Conversations without ids came into a source whose texts another chat template wrote.
    OtherTemplate {
        /// The source.
        source: String,
        /// Documents added.
        added: u64,
        /// blake3 of the template before, in hexadecimal.
        earlier: String,
    },
    /// Conversations of whose text nothing is trained on.
    Untrained {
        /// How many.
        conversations: u64,
        /// The first of them: its file and number.
        first: String,
    },
    /// Records superseded documents of the same text: only fields differ.
    FieldUpdates {
        /// How many documents superseded an earlier one of their key.
        updated: u64,
        /// Of these, with the text of the earlier one.
        same_text: u64,
        /// The fields that differ in the first of these.
        fields: Vec<String>,
    },
    /// Records without ids came into a source whose documents have ids.
    IdsForgotten {
        /// The source.
        source: String,
        /// How many documents the ingest added.
        added: u64,
        /// The key of the last document before it.
        key: String,
    },
    /// Files that are neither records nor a text.
    NotText {
        /// How many.
        files: u64,
        /// The first of them: file, and what it is.
        first: String,
    },
    /// Pages of web archives whose text has to be extracted before.
    Html {
        /// How many.
        pages: u64,
    },
    /// Columns of tables that were skipped, since JSON cannot represent their values.
    ColumnsLeft {
        /// Each with its type.
        columns: Vec<String>,
    },
    /// Objects of a bucket that were skipped, since no request can name them.
    ObjectsLeft {
        /// How many.
        objects: u64,
        /// The first of them, and why.
        first: String,
    },
    /// The condition of the ingest names fields that no record had.
    UnknownFields {
        /// Their names.
        fields: Vec<String>,
    },
    /// No new document has a value of a declared field.
    FieldAbsent {
        /// The field.
        field: String,
        /// The path of its values in the records.
        member: String,
        /// How many documents the ingest added.
        documents: u64,
        /// A field of the records with a similar name.
        similar: Option<String>,
    },
    /// At least half of the values of a declared field are of another type.
    FieldMisfits {
        /// The field.
        field: String,
        /// How many, and the first of them.
        misfits: FieldMisfits,
    },
    /// One document is the witness of very many.
    Cluster {
        /// The witness.
        witness: u64,
        /// Documents of its cluster, itself included.
        size: u64,
        /// A pair of it.
        example: Option<AlarmPair>,
    },
    /// Members of crowded buckets did not fit into memory, and decisions left candidates out.
    Crowded {
        /// Documents with such a decision.
        documents: u64,
        /// A pair that was not compared, if one is known.
        example: Option<CrowdedPair>,
    },
}
