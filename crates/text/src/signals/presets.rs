//! The published thresholds of filters, as conditions over stored scores or over texts.

use super::scores::{Signal, SignalSet};
use std::fmt::Write as _;

/// What a published filter asks of one score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignalRule {
    /// The score.
    pub signal: &'static str,
    /// The least value that the filter lets pass.
    pub least: Option<&'static str>,
    /// The largest value that the filter lets pass.
    pub most: Option<&'static str>,
}

const fn least(signal: &'static str, least: &'static str) -> SignalRule {
    SignalRule { signal, least: Some(least), most: None }
}

const fn most(signal: &'static str, most: &'static str) -> SignalRule {
    SignalRule { signal, least: None, most: Some(most) }
}

const fn between(signal: &'static str, from: &'static str, to: &'static str) -> SignalRule {
    SignalRule { signal, least: Some(from), most: Some(to) }
}

/// Rae et al. 2021, section A.1.1 and table A1.
const GOPHER: [SignalRule; 20] = [
    between("word_count", "50", "100000"),
    between("mean_word_length", "3", "10"),
    most("symbol_ratio", "0.1"),
    most("bullet_fraction", "0.9"),
    most("ellipsis_fraction", "0.3"),
    least("alpha_ratio", "0.8"),
    least("stopword_count", "2"),
    most("dup_paragraph_fraction", "0.3"),
    most("dup_paragraph_char_fraction", "0.2"),
    most("dup_line_fraction", "0.3"),
    most("dup_line_char_fraction", "0.2"),
    most("top_2gram_fraction", "0.2"),
    most("top_3gram_fraction", "0.18"),
    most("top_4gram_fraction", "0.16"),
    most("dup_5gram_fraction", "0.15"),
    most("dup_6gram_fraction", "0.14"),
    most("dup_7gram_fraction", "0.13"),
    most("dup_8gram_fraction", "0.12"),
    most("dup_9gram_fraction", "0.11"),
    most("dup_10gram_fraction", "0.1"),
];

/// Raffel et al. 2020, section 2.2.
const C4: [SignalRule; 1] = [least("c4_sentence_count", "5")];

/// Penedo et al. 2024, section 3.6.
const FINEWEB: [SignalRule; 4] = [
    least("terminal_punctuation_fraction", "0.12"),
    most("short_line_fraction", "0.67"),
    most("char_dup_fraction", "0.01"),
    most("newline_ratio", "0.3"),
];

impl SignalSet {
    /// What the published filter of the set asks, in its order; of `all`, what all of them ask.
    #[must_use]
    pub fn rules(self) -> Vec<SignalRule> {
        match self {
            Self::Gopher => GOPHER.to_vec(),
            Self::C4 => C4.to_vec(),
            Self::FineWeb => FINEWEB.to_vec(),
            Self::All => [GOPHER.as_slice(), &C4, &FINEWEB].concat(),
        }
    }

    /// The rules as one condition: over the fields that `signals add` stores, or over `text`, without anything stored.
    #[must_use]
    pub fn condition(self, on_text: bool) -> String {
        let mut out = String::new();
        for rule in self.rules() {
            if !out.is_empty() {
                out.push_str(" AND ");
            }
            out.push_str(&rule.condition(on_text));
        }
        out
    }
}

impl SignalRule {
    /// The rule as a condition: over the field of its score, or over `text`.
    #[must_use]
    pub fn condition(&self, on_text: bool) -> String {
        let known = Signal::from_name(self.signal).filter(|_| on_text);
        let value = known.map_or(self.signal, |signal| signal.expression);
        let mut out = value.to_owned();
        // Nothing that writes to a text fails.
        let _ = match (self.least, self.most) {
            (Some(least), Some(most)) => write!(out, " BETWEEN {least} AND {most}"),
            (Some(least), None) => write!(out, " >= {least}"),
            (None, Some(most)) => write!(out, " <= {most}"),
            (None, None) => write!(out, " IS NOT NULL"),
        };
        out
    }
}
