//! The forms of a term, as the model spells them.

use super::base::ExtensionBase;
use crate::tokenizer::error::TokenizerError;

/// Where a term is to be one token. Where a model spells both alike, they are one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum TermForms {
    /// Behind a space and elsewhere: two tokens in most models; a marker, as <|im_end|> or [SEP], elsewhere alone.
    #[default]
    Both,
    /// Only after a space.
    AfterSpace,
    /// Only without a space before it, such as at the start of a line.
    Bare,
}

/// A form of a term as the model spells it, or why it is not one word of it.
pub(super) type TermForm = Result<String, TermRejection>;

/// A form that the model never sees as one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TermRejection {
    /// As text.
    pub(super) text: String,
    pub(super) reason: String,
    /// Whether the pre-tokenizer splits it.
    pub(super) is_split: bool,
}

impl TermRejection {
    fn new(text: &str, reason: &str) -> Self {
        Self { text: text.to_owned(), reason: reason.to_owned(), is_split: false }
    }
}

/// The asked forms of a term, each once.
pub(super) fn spellings(
    base: &ExtensionBase,
    term: &str,
    forms: TermForms,
) -> Result<Vec<TermForm>, TokenizerError> {
    if term.is_empty() {
        return Ok(vec![Err(TermRejection::new("", "it is empty"))]);
    }
    if base.added.contains_key(term) {
        let reason = "it is an added token, which text must not become";
        return Ok(vec![Err(TermRejection::new(term, reason))]);
    }
    let (mut found, spaced): (Vec<TermForm>, _) = (Vec::new(), format!(" {term}"));
    // A template writes its markers without a space: with one they would be a second end of a turn.
    let is_spaced = match forms {
        TermForms::Both => !is_marker(term),
        TermForms::AfterSpace => true,
        TermForms::Bare => false,
    };
    let asked = [(forms != TermForms::AfterSpace, "a\n", term), (is_spaced, "a", spaced.as_str())];
    for (_, before, text) in asked.into_iter().filter(|(is_asked, _, _)| *is_asked) {
        let spelled = word_behind(base, before, text)?;
        if !found.contains(&spelled) {
            found.push(spelled);
        }
    }
    Ok(found)
}

/// Whether a term sets something apart, and is no word: it stands in angle or square brackets.
fn is_marker(term: &str) -> bool {
    [('<', '>'), ('[', ']')]
        .iter()
        .any(|(open, close)| term.len() > 2 && term.starts_with(*open) && term.ends_with(*close))
}

/// The one word that the model sees of `text` when it stands behind `before`.
fn word_behind(base: &ExtensionBase, before: &str, text: &str) -> Result<TermForm, TokenizerError> {
    let whole = format!("{before}{text}");
    let (Some(context), Some(words)) = (base.words(before)?, base.words(&whole)?) else {
        return Ok(Err(TermRejection::new(text, "it contains an added token")));
    };
    if let Some(word) = remainder(&context, &words) {
        return Ok(Ok(word));
    }
    // Behind what was tried it does not stand alone; by itself it may.
    let alone = base.words(text)?.unwrap_or_default();
    if let [word] = alone.as_slice() {
        return Ok(Ok(word.clone()));
    }
    let pieces: Vec<String> = alone.iter().map(|word| format!("`{word}`")).collect();
    let reason = format!(
        "the pre-tokenizer splits it into {}, and tokens of the model cannot cross such a border; it can become an added token",
        pieces.join(" ")
    );
    Ok(Err(TermRejection { text: text.to_owned(), reason, is_split: true }))
}

/// What follows `context` in `words`, if it is one word or the rest of one.
fn remainder(context: &[String], words: &[String]) -> Option<String> {
    if let Some([word]) = words.strip_prefix(context) {
        return Some(word.clone());
    }
    let ((last, context), (whole, words)) = (context.split_last()?, words.split_last()?);
    let rest = whole.strip_prefix(last.as_str()).filter(|rest| !rest.is_empty())?;
    (context == words).then(|| rest.to_owned())
}
