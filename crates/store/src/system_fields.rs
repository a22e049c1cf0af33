//! Numbers of the system fields and columns, and the byte forms of term values.

use model::invariant::text_part;
use model::{ColumnId, FieldId, Generation, SourceId, Standing, TokenizerId};

/// Standing under a generation: every document has exactly one.
pub const STANDING: FieldId = FieldId(0);
/// The source of a document: every document has one.
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
/// Bytes of it that its value begins with, at most; then the mark and hexadecimal digits.
const HEAD_MAX: usize = VALUE_MAX - 40;
const CUT: &str = "…";
const DIGITS: usize = 32;

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

/// The term value of a keyword: its bytes, or head and blake3 when longer than 1,024 bytes. One that is
/// spelled like head and blake3 counts as longer, so that no two keywords have the same.
#[must_use]
pub fn keyword_value(keyword: &str) -> Vec<u8> {
    if keyword.len() <= VALUE_MAX && !is_shortened(keyword.as_bytes()) {
        return keyword.as_bytes().to_vec();
    }
    let mut value = text_part(keyword, ..keyword.floor_char_boundary(HEAD_MAX)).as_bytes().to_vec();
    value.extend_from_slice(CUT.as_bytes());
    value.extend_from_slice(
        text_part(&blake3::hash(keyword.as_bytes()).to_hex(), ..DIGITS).as_bytes(),
    );
    value
}

/// Whether a term value stands for a keyword that it does not hold: head and blake3.
#[must_use]
pub fn is_shortened(value: &[u8]) -> bool {
    let Some((head, digits)) =
        value.len().checked_sub(DIGITS).and_then(|at| value.split_at_checked(at))
    else {
        return false;
    };
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    // A head ends between characters, so it may be three bytes short.
    head.strip_suffix(CUT.as_bytes())
        .is_some_and(|head| (HEAD_MAX - 3..=HEAD_MAX).contains(&head.len()))
        && digits.iter().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_keyword_has_a_value_of_its_own_that_is_known_as_such() {
        let long = "é".repeat(600);
        let value = keyword_value(&long);
        assert!(is_shortened(&value) && value.len() <= VALUE_MAX);
        assert_ne!(value, keyword_value(&"é".repeat(601)));
        for plain in ["", "a", &"x".repeat(VALUE_MAX), &"é".repeat(VALUE_MAX / 2)] {
            assert_eq!(keyword_value(plain), plain.as_bytes());
            assert!(!is_shortened(plain.as_bytes()), "{plain}");
        }
        // A keyword spelled as the value of another is not taken for it.
        let spelled = String::from_utf8(value.clone()).expect("is text");
        assert_ne!(keyword_value(&spelled), value);
        assert!(is_shortened(&keyword_value(&spelled)));
    }
}
