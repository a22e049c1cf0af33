//! Tokens of the BigCode project: the text split at every character but ASCII letters, digits and
//! underscores, as Python's `re.split("[^A-Za-z_0-9]", text)` does.
//!
//! Case is kept, and so are the empty pieces between two such characters: they are part of the published
//! n-grams. Text in other scripts is nothing but empty pieces. A text of nothing but white space has no
//! token here, so that it counts as empty.

/// Calls `sink` with every piece of `text`, empty ones too.
pub(super) fn tokens(text: &str, sink: &mut impl FnMut(&[u8])) {
    if text.trim().is_empty() {
        return;
    }
    for piece in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
        sink(piece.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use crate::dedup::words;
    use crate::model::Normaliser::Bigcode;

    /// Made with `re.split("[^A-Za-z_0-9]", text)`.
    #[test]
    fn pieces_of_many_texts() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            (" \r\n\t\u{3000}", &[]),
            ("one", &["one"]),
            ("a.b", &["a", "b"]),
            (".a", &["", "a"]),
            ("a, B!", &["a", "", "B", ""]),
            ("x_1+=Y[0];\n", &["x_1", "", "Y", "0", "", "", ""]),
            ("...", &["", "", "", ""]),
            ("naïve", &["na", "ve"]),
            ("e\u{301}x", &["e", "x"]),
            ("我爱 GPT4", &["", "", "", "GPT4"]),
            ("漢字", &["", "", ""]),
            ("٣ λ", &["", "", "", ""]),
            ("👍🏽a", &["", "", "a"]),
        ];
        for (text, expected) in table {
            assert_eq!(&words(text, Bigcode), expected, "{text:?}");
        }
    }
}
