//! One file as one document.

use super::stream::Stretch;
use crate::model::RejectReason;

/// The document, or why the file is none.
pub(super) fn parse(piece: &Stretch<'_>, max_doc_bytes: u64) -> Result<String, RejectReason> {
    match piece {
        Stretch::TooLong { bytes, .. } => {
            Err(RejectReason::TooLong { bytes: *bytes, limit: max_doc_bytes })
        }
        Stretch::Whole(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(error) => {
                Err(RejectReason::NotUtf8(u64::try_from(error.valid_up_to()).unwrap_or(u64::MAX)))
            }
        },
    }
}
