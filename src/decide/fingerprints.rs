//! Fingerprints of stored documents by the policy of a view: read from the store, or computed during a redo.
//!
//! They are computed while a corpus is decided again by another part of its documents or under the other version of its
//! normaliser.
//!
//! Rows of a generation's own would be a second family of headers and sketches, 300 bytes a document, for one run. They
//! are written once the policy is current. Until then a record blocks other commits, since the rows of neither policy
//! are valid, and look-ups compute what is not written yet.

use model::{DocId, Error, ErrorKind, Hint};
use store::{DocumentPrint, DocumentRecord, StoreError, View};
use text::dedup::{Fingerprint, Fingerprinter, Sketch};

/// The header of a stored document.
///
/// # Errors
/// [`StoreError`] when it cannot be read, or its text cannot where it is asked.
pub(super) fn stored_header(view: &View, document: DocId) -> Result<DocumentRecord, StoreError> {
    let header = view.expect_header(document)?;
    Ok(match other_version(view, document, &header)? {
        Some(print) => with_fingerprint(header, &print),
        None => header,
    })
}

/// The sketch of a stored document, its owner's when it borrows one; none when too short for one.
///
/// # Errors
/// [`Error`] when it cannot be read or does not match the view's policy.
pub fn stored_sketch(view: &View, document: DocId) -> Result<Option<Sketch>, Error> {
    if is_of_other_version(view)
        && let Some(print) = other_version(view, document, &view.expect_header(document)?)?
    {
        return Ok(print.sketch);
    }
    match view.sketch_of(document)? {
        None => Ok(None),
        Some(bytes) => match Sketch::from_bytes(&bytes, view.policy()) {
            Some(sketch) => Ok(Some(sketch)),
            None => {
                let message = format!(
                    "the sketch of document {document} has {} bytes, which does not match the policy",
                    bytes.len()
                );
                Err(Error::of(ErrorKind::Corrupt, message).with_hint(Hint::deep_check()))
            }
        },
    }
}

/// Header and sketch of a stored document, as [`stored_header`] and [`stored_sketch`] have them.
///
/// # Errors
/// As there.
pub fn stored_fingerprint(
    view: &View,
    document: DocId,
) -> Result<(DocumentRecord, Option<Sketch>), Error> {
    let header = view.expect_header(document)?;
    match other_version(view, document, &header)? {
        Some(print) => Ok((with_fingerprint(header, &print), print.sketch)),
        None => Ok((header, stored_sketch(view, document)?)),
    }
}

/// A header with what a fingerprint says.
#[must_use]
pub fn with_fingerprint(header: DocumentRecord, print: &Fingerprint) -> DocumentRecord {
    let print = DocumentPrint {
        raw: header.print.raw,
        normalised: print.normalised,
        words: print.tokens,
        shingles: u32::try_from(print.shingles.len()).unwrap_or(u32::MAX),
    };
    DocumentRecord { print, ..header }
}

fn is_of_other_version(view: &View) -> bool {
    !view.stored_policy().has_fingerprints_of(view.policy())
}

/// The fingerprint of a stored text by the view's policy, where the store has it by another one. A text of no bytes is
/// the same by all.
fn other_version(
    view: &View,
    document: DocId,
    header: &DocumentRecord,
) -> Result<Option<Fingerprint>, StoreError> {
    if !is_of_other_version(view) || header.bytes == 0 {
        return Ok(None);
    }
    let text = view.compared_text(document)?;
    Ok(Some(Fingerprinter::new(view.policy()).fingerprint(&text)))
}
