//! Counts rejected records by the kind of their reason, and suggests the option that would mend most of them.

use super::options::IngestOptions;
use model::{Reject, RejectReason};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The least records for an alarm that many of them were rejected.
pub(super) const WORTH_A_WORD: u64 = 100;
/// Names of fields that a question lists.
const LISTED: usize = 10;

/// Rejects of an ingest, known before or not, among the records that it read.
#[derive(Default)]
pub(super) struct RejectTally {
    text_field: Option<String>,
    id_field: Option<String>,
    /// Records read, whatever became of them.
    pub(super) records: u64,
    /// Rejected records.
    pub(super) rejected: u64,
    /// The first rejected record: file and number, and why.
    pub(super) first: Option<String>,
    /// Rejects that are whole files which are not text.
    pub(super) files: u64,
    pub(super) first_file: Option<String>,
    kinds: BTreeMap<&'static str, RejectsOfKind>,
}

/// Rejects for one kind of reason.
pub(super) struct RejectsOfKind {
    pub(super) count: u64,
    /// The first rejected record: file and number, and why.
    pub(super) first: String,
    reason: RejectReason,
    /// The fields of the first rejected record, where it is an object.
    fields: Vec<String>,
}

impl RejectTally {
    pub(super) fn new(options: &IngestOptions) -> Self {
        let read = &options.read;
        let (text_field, id_field) = (read.text_field.clone(), read.id_field.clone());
        Self { text_field, id_field, ..Self::default() }
    }

    pub(super) fn count(&mut self, reject: &Reject) {
        let Reject { reason, origin, raw, .. } = reject;
        let words = || format!("{}: {reason}", origin.record());
        self.rejected += 1;
        self.first.get_or_insert_with(words);
        if matches!(reason, RejectReason::NotText(_)) {
            self.files += 1;
            self.first_file.get_or_insert_with(|| format!("{}: {reason}", origin.path.display()));
        }
        let of_kind = self.kinds.entry(reason.kind_word()).or_insert_with(|| RejectsOfKind {
            count: 0,
            first: words(),
            reason: reason.clone(),
            fields: fields(raw),
        });
        of_kind.count += 1;
    }

    /// Whether more than a tenth of enough records were rejected.
    pub(super) fn is_loud(&self) -> bool {
        self.records >= WORTH_A_WORD && self.rejected.saturating_mul(10) > self.records
    }

    #[expect(clippy::cast_precision_loss, reason = "record counts are below 2^53")]
    pub(super) fn share(&self) -> f64 {
        self.rejected as f64 / self.records.max(1) as f64
    }

    /// The rejects of the most frequent kind.
    pub(super) fn most_frequent(&self) -> Option<&RejectsOfKind> {
        // Among equally frequent kinds, the first by name.
        self.kinds.values().rev().max_by_key(|of_kind| of_kind.count)
    }

    /// The rejects for lack of an id, where these are one in a hundred or more of enough records.
    pub(super) fn missing_ids(&self) -> Option<&RejectsOfKind> {
        let is_of_ids = |of: &&RejectsOfKind| matches!(of.reason, RejectReason::BadId(_));
        let of_kind = self.kinds.values().find(is_of_ids)?;
        let is_often = of_kind.count.saturating_mul(100) >= self.records;
        (self.records >= WORTH_A_WORD && is_often).then_some(of_kind)
    }

    /// What most likely repairs these, as a question, where that is known.
    pub(super) fn mend(&self, of_kind: &RejectsOfKind) -> Option<String> {
        let (what, field, other) = match &of_kind.reason {
            RejectReason::BadId(field) => ("id", field, self.text_field.as_deref()),
            RejectReason::NoText(field) => ("text", field, self.id_field.as_deref()),
            _ => return None,
        };
        let (count, records) = (of_kind.count, self.records);
        if of_kind.fields.iter().any(|name| name == field) {
            return Some(format!(
                "{what} field `{field}` has no usable value in {count} of {records} records"
            ));
        }
        let other = other.or((what == "id").then_some("text"));
        let names = of_kind.fields.iter().filter(|name| Some(name.as_str()) != other);
        let names: Vec<String> = names.take(LISTED).map(|name| format!("`{name}`")).collect();
        let missing = format!("{what} field `{field}` is missing in {count} of {records} records");
        Some(match names.is_empty() {
            true => missing,
            false => format!("{missing}: is it one of {}?", names.join(", ")),
        })
    }
}

fn fields(raw: &[u8]) -> Vec<String> {
    let object: Result<Map<String, Value>, _> = serde_json::from_slice(raw);
    object.map(|object| object.into_iter().map(|(name, _)| name).collect()).unwrap_or_default()
}
