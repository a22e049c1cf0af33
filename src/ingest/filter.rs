//! Filters records by the condition of the ingest.

use super::options::{IngestOptions, RecordForm};
use files::input::{ReadItem, ReadOptions};
use model::{Incoming, IncomingFilter, IncomingVerdict, ReadRecord, RecordKey, RejectReason};
use rayon::prelude::*;
use std::sync::Arc;

/// Records that are tested together.
const TOGETHER: usize = 256;

/// Lets records in or skips them.
pub(super) struct IngestFilter {
    filter: Arc<dyn IncomingFilter>,
    /// The source of records that name none.
    source: String,
    /// How records are read: the names of their fields.
    read: ReadOptions,
    /// Texts are made of fields later.
    whole: bool,
}

impl IngestFilter {
    pub(super) fn new(filter: Arc<dyn IncomingFilter>, options: &IngestOptions) -> Self {
        Self {
            filter,
            source: options.source.clone(),
            read: options.read.clone(),
            whole: !matches!(options.form, RecordForm::Text),
        }
    }

    /// Fields that the condition names and that no record had.
    pub(super) fn unknown_fields(&self) -> Vec<String> {
        self.filter.unseen()
    }

    /// What comes in of `items`, in their order. A record about which the question has no answer is one that could not
    /// be read.
    pub(super) fn apply(&self, items: Vec<ReadItem>) -> Vec<ReadItem> {
        let verdicts: Vec<IncomingVerdict> =
            items.par_chunks(TOGETHER).flat_map_iter(|items| self.verdicts(items)).collect();
        let told = items.into_iter().zip(verdicts);
        told.filter_map(|(item, verdict)| self.keep_or_reject(item, verdict)).collect()
    }

    fn keep_or_reject(&self, item: ReadItem, verdict: IncomingVerdict) -> Option<ReadItem> {
        match (item, verdict) {
            (ReadItem::Record(_), IncomingVerdict::Out) => None,
            (ReadItem::Record(record), IncomingVerdict::Unanswered(why)) => {
                let why = RejectReason::Form(format!("the condition has no answer for it: {why}"));
                Some(ReadItem::Reject(self.read.reject(record, why)))
            }
            (item, _) => Some(item),
        }
    }

    /// One an item; a reject passes.
    fn verdicts(&self, items: &[ReadItem]) -> Vec<IncomingVerdict> {
        let records: Vec<Incoming<'_>> = items
            .iter()
            .filter_map(|item| match item {
                ReadItem::Record(record) => Some(self.incoming(record)),
                ReadItem::Reject(_) => None,
            })
            .collect();
        let mut verdicts = self.filter.verdicts(&records).into_iter();
        let of_item = |item: &ReadItem| match item {
            ReadItem::Record(_) => verdicts.next().unwrap_or(IncomingVerdict::In),
            ReadItem::Reject(_) => IncomingVerdict::In,
        };
        items.iter().map(of_item).collect()
    }

    fn incoming<'r>(&'r self, record: &'r ReadRecord) -> Incoming<'r> {
        Incoming {
            key: match &record.key {
                RecordKey::Given(key) => Some(key),
                RecordKey::Position => None,
            },
            source: record.source.as_deref().unwrap_or(&self.source),
            text: (!self.whole).then_some(&record.text),
            fields: &record.metadata,
        }
    }
}
