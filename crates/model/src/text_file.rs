//! Decodes files that people write: UTF-8 without the byte order mark that editors on Windows put before it.

const MARK: &str = "\u{feff}";

/// The text without the mark of byte order before it.
#[must_use]
pub fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// The bytes of a text without the mark of byte order before them.
#[must_use]
pub fn bytes_without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK.as_bytes()).unwrap_or(bytes)
}

/// Why the bytes of a file are not text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The bytes are in an encoding with units of two bytes, by their mark.
    #[error("{name} is UTF-16; save it as UTF-8 (in PowerShell: `Set-Content -Encoding utf8`)")]
    Utf16 {
        /// The file.
        name: String,
    },
    /// The bytes are not UTF-8.
    #[error("{name} is not UTF-8 text at byte {byte}")]
    NotUtf8 {
        /// The file.
        name: String,
        /// The first byte that belongs to no character, from 0.
        byte: usize,
    },
}

/// The text of a file that a person wrote, without the mark of byte order; `name` says in an error which file it is.
///
/// # Errors
/// [`TextError`].
pub fn decode_text(name: &str, bytes: Vec<u8>) -> Result<String, TextError> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(TextError::Utf16 { name: name.to_owned() });
    }
    match String::from_utf8(bytes) {
        Ok(text) if text.starts_with(MARK) => Ok(without_byte_order_mark(&text).to_owned()),
        Ok(text) => Ok(text),
        Err(error) => {
            let byte = error.utf8_error().valid_up_to();
            Err(TextError::NotUtf8 { name: name.to_owned(), byte })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mark_before_a_text_goes_and_others_stay() {
        assert_eq!(without_byte_order_mark("\u{feff}a\u{feff}"), "a\u{feff}");
        assert_eq!(without_byte_order_mark(""), "");
        assert_eq!(bytes_without_mark(b"\xef\xbb\xbf{}"), b"{}");
        assert_eq!(decode_text("f", b"\xef\xbb\xbfa".to_vec()), Ok("a".to_owned()));
        assert_eq!(decode_text("f", b"a".to_vec()), Ok("a".to_owned()));
    }

    #[test]
    fn errors_of_non_texts_name_encoding_or_byte() {
        let told = |bytes: &[u8]| decode_text("q.sql", bytes.to_vec()).unwrap_err().to_string();
        assert!(told(b"\xff\xfeS\0").starts_with("q.sql is UTF-16"));
        assert!(told(b"\xfe\xff\0S").starts_with("q.sql is UTF-16"));
        assert_eq!(told(b"ab\xff"), "q.sql is not UTF-8 text at byte 2");
    }
}
