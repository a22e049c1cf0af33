//! Decodes files that people write: UTF-8 without the byte order mark that editors on Windows put before it.

use super::Error;

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

/// The text of a file that a person wrote, without the mark of byte order; `name` says in an error which file it is.
///
/// # Errors
/// [`Error`] that says which file is no text, and where.
pub fn decode_text(name: &str, bytes: Vec<u8>) -> Result<String, Error> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(Error::bad_input(format!(
            "{name} is UTF-16; save it as UTF-8 (in PowerShell: `Set-Content -Encoding utf8`)"
        )));
    }
    match String::from_utf8(bytes) {
        Ok(text) if text.starts_with(MARK) => Ok(without_byte_order_mark(&text).to_owned()),
        Ok(text) => Ok(text),
        Err(error) => {
            let byte = error.utf8_error().valid_up_to();
            Err(Error::bad_input(format!("{name} is not UTF-8 text at byte {byte}")))
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
        assert_eq!(decode_text("f", b"\xef\xbb\xbfa".to_vec()).unwrap(), "a");
        assert_eq!(decode_text("f", b"a".to_vec()).unwrap(), "a");
    }

    #[test]
    fn errors_of_non_texts_name_encoding_or_byte() {
        let told = |bytes: &[u8]| decode_text("q.sql", bytes.to_vec()).unwrap_err().to_string();
        assert!(told(b"\xff\xfeS\0").starts_with("q.sql is UTF-16"));
        assert!(told(b"\xfe\xff\0S").starts_with("q.sql is UTF-16"));
        assert_eq!(told(b"ab\xff"), "q.sql is not UTF-8 text at byte 2");
    }
}
