//! JSON objects as records, wherever they stand: the text field is guessed from the first good one.

use super::error::ReadError;
use super::item::{ReadItem, ReadOptions, byte_len, line_limit, reject};
use super::jsonl;
use super::stream::BoundedBytes;
use crate::model::{Origin, ReadRecord, RejectReason};

/// Makes records of objects that come one after the other.
pub(super) struct Objects {
    text_field: Option<String>,
    id_field: Option<String>,
    whole: bool,
    max_doc_bytes: u64,
    limit: usize,
}

impl Objects {
    pub(super) fn new(options: &ReadOptions) -> Self {
        Self {
            text_field: options.text_field.clone(),
            id_field: options.id_field.clone(),
            whole: options.whole,
            max_doc_bytes: options.max_doc_bytes,
            limit: line_limit(options),
        }
    }

    /// How long an object may be.
    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    /// Guesses the text field from an object that is passed over.
    pub(super) fn learn(&mut self, object: &[u8]) {
        if self.text_field.is_none()
            && let Ok(guess) = jsonl::guess_field(object)
        {
            self.text_field = guess.ok().map(str::to_owned);
        }
    }

    /// The record of an object, or why it is none.
    ///
    /// # Errors
    /// [`ReadError::NoTextField`] when no field is named and none has a usual name.
    pub(super) fn item(
        &mut self,
        object: &BoundedBytes<'_>,
        origin: Origin,
    ) -> Result<ReadItem, ReadError> {
        let object = match object {
            BoundedBytes::Whole(object) => *object,
            BoundedBytes::TooLong { head, bytes } => {
                let reason = RejectReason::TooLong { bytes: *bytes, limit: byte_len(self.limit) };
                return Ok(reject(reason, origin, head, *bytes));
            }
        };
        if !self.whole && self.text_field.is_none() {
            match jsonl::guess_field(object) {
                Ok(Ok(field)) => self.text_field = Some(field.to_owned()),
                Ok(Err(found)) => {
                    return Err(ReadError::NoTextField { path: origin.path.to_path_buf(), found });
                }
                Err(reason) => return Ok(reject(reason, origin, object, byte_len(object.len()))),
            }
        }
        let fields = jsonl::JsonRecordSeed {
            text: self.text_field.as_deref().filter(|_| !self.whole),
            id: self.id_field.as_deref(),
            max_doc_bytes: self.max_doc_bytes,
        };
        Ok(match jsonl::parse(object, &fields) {
            Ok(jsonl::Parsed { key, text, metadata }) => {
                ReadItem::Record(ReadRecord { key, source: None, text, metadata, origin })
            }
            Err(reason) => reject(reason, origin, object, byte_len(object.len())),
        })
    }
}
