//! The published split patterns by name, and the split pattern that a user gave.

use crate::error::{TokenizerError, guard};
use model::invariant::text_part;
use serde::{Deserialize, Serialize};
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::normalizer::SplitDelimiterBehavior;

/// GPT-2's, also known as r50k and p50k.
pub(crate) const GPT2: &str =
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
/// GPT-4's and Llama 3's: digits in groups of three, line breaks apart.
pub(crate) const CL100K: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// Qwen 2's: that of GPT-4 with single digits.
pub(crate) const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// GPT-4o's: letter runs end where the case changes.
const O200K: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// Mistral's: that of GPT-4o with single digits and no contractions.
const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Names of split patterns with their regular expressions, as published `tokenizer.json` files spell
/// them. Some patterns have several names.
pub const NAMED_PATTERNS: [(&str, &str); 8] = [
    ("gpt2", GPT2),
    ("r50k", GPT2),
    ("p50k", GPT2),
    ("cl100k", CL100K),
    ("llama3", CL100K),
    ("qwen2", QWEN2),
    ("o200k", O200K),
    ("tekken", TEKKEN),
];

/// What splits texts into pre-tokens: matches, and what lies between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PretokenPattern {
    /// One of [`NAMED_PATTERNS`].
    Named(String),
    /// A regular expression of the reference implementation (Oniguruma).
    Regex(String),
}

impl Default for PretokenPattern {
    fn default() -> Self {
        Self::Named("gpt2".to_owned())
    }
}

impl PretokenPattern {
    /// A name of [`NAMED_PATTERNS`], or else a regular expression.
    ///
    /// # Errors
    /// [`TokenizerError::Pattern`] with the part that is at fault.
    pub fn parse(given: &str) -> Result<Self, TokenizerError> {
        if NAMED_PATTERNS.iter().any(|(name, _)| *name == given) {
            return Ok(Self::Named(given.to_owned()));
        }
        // An unknown name would be a pattern that splits at its own letters.
        if !given.is_empty() && given.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
        {
            let what = format!(
                "is not a known name, and as a regular expression matches only itself; known are {}",
                names()
            );
            return Err(TokenizerError::Pattern { pattern: given.to_owned(), what });
        }
        let pattern = Self::Regex(given.to_owned());
        pattern.check()?;
        Ok(pattern)
    }

    /// The regular expression.
    ///
    /// # Errors
    /// [`TokenizerError::Pattern`] for an unknown name.
    pub fn regex(&self) -> Result<&str, TokenizerError> {
        match self {
            Self::Regex(regex) => Ok(regex),
            Self::Named(name) => NAMED_PATTERNS
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, regex)| *regex)
                .ok_or_else(|| TokenizerError::Pattern {
                    pattern: name.clone(),
                    what: format!("is not a known name; known are {}", names()),
                }),
        }
    }

    /// Checks that the reference implementation takes the pattern.
    ///
    /// # Errors
    /// [`TokenizerError::Pattern`]: of alternatives, the first that does not compile.
    pub fn check(&self) -> Result<(), TokenizerError> {
        let regex = self.regex()?;
        let fail = |what| Err(TokenizerError::Pattern { pattern: regex.to_owned(), what });
        if regex.is_empty() {
            return fail(format!("is empty; give a regular expression or one of {}", names()));
        }
        let Some(fault) = fault(regex)? else { return Ok(()) };
        for (number, alternative) in (1..).zip(alternatives(regex)) {
            if let Some(fault) = self::fault(alternative)? {
                return fail(format!("alternative {number}, `{alternative}`: {fault}"));
            }
        }
        fail(fault)
    }
}

fn names() -> String {
    NAMED_PATTERNS.map(|(name, _)| name).join(", ")
}

/// What the regular expression engine says against it.
fn fault(regex: &str) -> Result<Option<String>, TokenizerError> {
    let pattern = SplitPattern::Regex(regex.to_owned());
    let split = guard("reading a split pattern", || {
        Split::new(pattern, SplitDelimiterBehavior::Isolated, false)
    })?;
    Ok(split.err().map(|error| error.to_string()))
}

/// The parts between the `|` that stand in no group and no class.
fn alternatives(regex: &str) -> Vec<&str> {
    let (mut parts, mut start, mut groups, mut classes) = (Vec::new(), 0, 0_usize, 0_usize);
    let mut is_escaped = false;
    for (at, character) in regex.char_indices() {
        if std::mem::take(&mut is_escaped) {
            continue;
        }
        match character {
            '\\' => is_escaped = true,
            '[' => classes += 1,
            ']' => classes = classes.saturating_sub(1),
            '(' if classes == 0 => groups += 1,
            ')' if classes == 0 => groups = groups.saturating_sub(1),
            '|' if classes == 0 && groups == 0 => {
                parts.push(text_part(regex, start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text_part(regex, start..));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_pattern_is_taken_and_has_a_fast_splitter() {
        for (name, regex) in NAMED_PATTERNS {
            let pattern = PretokenPattern::parse(name).unwrap();
            assert_eq!((pattern.regex().unwrap(), pattern.check().is_ok()), (regex, true));
            let fast = tokenizers_fast::utils::recognize(regex);
            assert!(fast.is_some(), "{name}");
        }
    }

    #[test]
    fn errors_of_patterns_show_the_faulty_part() {
        let told = |regex: &str| PretokenPattern::parse(regex).unwrap_err().to_string();
        let error = told(r"\p{L}+|a(b|c)|[|]|x{2,1}y(|\s+");
        assert!(error.contains("alternative 4, `x{2,1}y(|\\s+`"), "{error}");
        assert!(told(r"\p{Foo}+|\s").contains("alternative 1, `\\p{Foo}+`"));
        assert!(told("").contains("is empty"));
        // A name misspelled was taken for an expression that splits at its letters.
        assert!(told("cl100").contains("known are gpt2"), "{}", told("cl100"));
        assert!(
            PretokenPattern::Named("gpt9".into()).check().unwrap_err().to_string().contains("gpt2")
        );
        assert_eq!(
            PretokenPattern::parse("gpt3.*").unwrap(),
            PretokenPattern::Regex("gpt3.*".into())
        );
    }
}
