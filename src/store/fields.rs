//! Numbers of the system fields and columns, and the byte forms of term values.

use crate::model::{ColumnId, FieldId, Generation, SourceId, Standing, TokenizerId};

/// Standing under a generation: every document has exactly one.
pub const STANDING: FieldId = FieldId(0);
/// The source.
pub const SOURCE: FieldId = FieldId(1);
/// The `language` field of the record, when it has one.
pub const LANGUAGE: FieldId = FieldId(2);
/// Documents whose decision left candidates out, by generation.
pub const CROWDED: FieldId = FieldId(3);
/// Declared fields count from here.
pub const FIRST_DECLARED: u16 = 16;

/// UTF-8 bytes of the text.
pub const BYTES: ColumnId = ColumnId(0);
/// Unicode scalar values of the text.
pub const CHARS: ColumnId = ColumnId(1);
/// The source's id.
pub const SOURCE_OF: ColumnId = ColumnId(2);
/// The commit that added the document.
pub const COMMIT_OF: ColumnId = ColumnId(3);
const TOKENS_FROM: u16 = 0x1000;
const FIELDS_FROM: u16 = 0x2000;

/// Longest keyword indexed as it is, in bytes; a longer one is indexed by its head and its hash.
const VALUE_MAX: usize = 1024;

/// Token counts of one tokenizer; null where the document was never encoded.
#[must_use]
pub const fn tokens_of(tokenizer: TokenizerId) -> ColumnId {
    ColumnId(TOKENS_FROM + tokenizer.0 % 0x1000)
}

/// A declared field's numbers, or its term ids when it is a keyword (`language` likewise).
#[must_use]
pub const fn column_of(field: FieldId) -> ColumnId {
    ColumnId(FIELDS_FROM + field.0 % 0x1000)
}

/// The term value of a standing.
#[must_use]
pub fn standing_value(generation: Generation, standing: Standing) -> Vec<u8> {
    let mut value = generation.0.to_le_bytes().to_vec();
    value.push(standing as u8);
    value
}

/// The term value of documents whose decision left candidates out.
#[must_use]
pub fn crowded_value(generation: Generation) -> Vec<u8> {
    generation.0.to_le_bytes().to_vec()
}

/// The term value of a source.
#[must_use]
pub fn source_value(source: SourceId) -> Vec<u8> {
    source.0.to_le_bytes().to_vec()
}

/// The term value of a keyword: its bytes, or head and blake3 when longer than 1,024 bytes.
#[must_use]
pub fn keyword_value(keyword: &str) -> Vec<u8> {
    if keyword.len() <= VALUE_MAX {
        return keyword.as_bytes().to_vec();
    }
    let head = (0..=VALUE_MAX - 40).rev().find(|end| keyword.is_char_boundary(*end)).unwrap_or(0);
    let mut value = keyword.as_bytes().get(..head).unwrap_or_default().to_vec();
    value.extend_from_slice("…".as_bytes());
    value.extend_from_slice(
        blake3::hash(keyword.as_bytes()).to_hex().get(..32).unwrap_or_default().as_bytes(),
    );
    value
}
