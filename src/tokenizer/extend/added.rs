//! Added tokens: how a file has them, and the texts that they are tried in.

use serde_json::{Value, json};

/// A text alone, inside a word, between lines, behind a space; and whether the token of just this text is found there:
/// behind a space it may be the form with the space.
pub(super) fn trial_contexts(text: &str) -> [(String, bool); 4] {
    [
        (text.to_owned(), true),
        (format!("x{text}y"), true),
        (format!("a\n{text}\nb"), true),
        (format!("a {text} b"), false),
    ]
}

/// The entry of an added token in a `tokenizer.json`: it is found as it stands, also inside words, and decoded as text.
pub(super) fn added_token_entry(token: &str, id: u32) -> Value {
    json!({
        "id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": false
    })
}
