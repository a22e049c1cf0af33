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

/// The print of a stored document.
///
/// # Errors
/// [`StoreError`] when it cannot be read, or its text cannot where it is asked.
pub(super) fn stored_print(view: &View, document: DocId) -> Result<DocumentPrint, StoreError> {
    let print = view.print(document)?;
    Ok(match other_version(view, document)? {
        Some(computed) => print_of(print.raw, &computed),
        None => print,
    })
}

/// The sketch of a stored document, its owner's when it borrows one; none when too short for one.
///
/// # Errors
/// [`Error`] when it cannot be read or does not match the view's policy.
pub fn stored_sketch(view: &View, document: DocId) -> Result<Option<Sketch>, Error> {
    if let Some(print) = other_version(view, document)? {
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

/// Header and sketch of a stored document, as [`stored_print`] and [`stored_sketch`] have them.
///
/// # Errors
/// As there.
pub fn stored_fingerprint(
    view: &View,
    document: DocId,
) -> Result<(DocumentRecord, Option<Sketch>), Error> {
    let header = view.document(document)?;
    match other_version(view, document)? {
        Some(print) => {
            let header = DocumentRecord { print: print_of(header.print.raw, &print), ..header };
            Ok((header, print.sketch))
        }
        None => Ok((header, stored_sketch(view, document)?)),
    }
}

/// The print of a text with this raw hash and this fingerprint.
#[must_use]
pub fn print_of(raw: [u8; 16], print: &Fingerprint) -> DocumentPrint {
    let shingles = u32::try_from(print.shingles.len()).unwrap_or(u32::MAX);
    DocumentPrint { raw, normalised: print.normalised, words: print.tokens, shingles }
}

fn is_of_other_version(view: &View) -> bool {
    !view.stored_policy().has_fingerprints_of(view.policy())
}

/// The fingerprint of a stored text by the view's policy, where the store has it by another one. A text of no bytes is
/// the same by all.
fn other_version(view: &View, document: DocId) -> Result<Option<Fingerprint>, StoreError> {
    if !is_of_other_version(view) || view.print(document)?.is_of_empty_text() {
        return Ok(None);
    }
    let text = view.compared_text(document)?;
    Ok(Some(Fingerprinter::new(view.policy()).fingerprint(&text)))
}
