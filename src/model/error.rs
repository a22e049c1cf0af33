//! An error in words, with what is behind it.

use std::error::Error;

/// The words of an error and of what is behind it, without what stands there twice.
#[must_use]
pub fn error_words(error: &(dyn Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let more = source.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        next = source.source();
    }
    words
}
