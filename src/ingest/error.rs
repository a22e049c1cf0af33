//! Errors of records of a file, which name the file and the number of the record.

use model::{Error, ErrorDetails, Hint, Reject};
use std::fmt::Display;
use std::path::Path;

/// The error of a rejected record where none may be rejected.
pub(super) fn rejected_record(reject: &Reject) -> Error {
    let (number, byte) = (reject.origin.number, reject.origin.offset);
    let what = format!("record {number} (counted from 0) at byte {byte}: {}", reject.reason);
    let hint = Hint::text("repair it, or store bad records as rejects (`on_error=reject`)");
    bad_record(&reject.origin.path, number, Some(byte), what).with_hint(hint)
}

/// The error of a row of a load.
pub(super) fn load_row(path: &Path, row: u64, why: impl Display) -> Error {
    let what = format!("row {row} (counted from 0): {why}; nothing of its batch is stored");
    bad_record(path, row, None, what)
}

/// The error of a record that cannot be used, with its first byte where that is known; `what` names its number.
pub(super) fn bad_record(path: &Path, number: u64, byte: Option<u64>, what: impl Display) -> Error {
    let file = path.display();
    let mut details = ErrorDetails::default();
    (details.file, details.record, details.byte) = (Some(file.to_string()), Some(number), byte);
    Error::bad_input(format!("{file}: {what}")).with_details(details)
}
