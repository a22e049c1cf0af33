//! The scores that can be stored, by name, and several of them of one text in one go.

use super::c4::C4Cleaning;
use super::language::detect_language;
use super::lines::{
    RepeatedPieces, bullet_fraction, char_dup_fraction, ellipsis_fraction, length,
    short_line_fraction, terminal_punctuation_fraction,
};
use super::pii::pii;
use super::repetition::{Ngrams, compression_ratio};
use super::words::{WordStatistics, share, stopword_count};
use crate::model::FieldKind;
use serde_json::value::RawValue;
use std::cell::{LazyCell, OnceCell, RefCell};
use std::collections::BTreeSet;

/// Characters of a line that FineWeb calls short.
pub(super) const SHORT_LINE: u64 = 30;

/// A score that can be stored as a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signal {
    /// Its name, which is that of its field.
    pub name: &'static str,
    /// The type of its values.
    pub kind: FieldKind,
    /// The function that it is, in SQL over `documents`.
    pub expression: &'static str,
    /// The set it belongs to.
    pub set: SignalSet,
    what: What,
}

/// A set of scores that go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum SignalSet {
    /// The signals of Gopher's rules: words, lines, repetition.
    Gopher,
    /// The signals of C4's rules.
    C4,
    /// The signals of FineWeb's own rules.
    #[cfg_attr(feature = "cli", value(name = "fineweb"))]
    FineWeb,
    /// All of these, and compression, language and personal data.
    All,
}

impl SignalSet {
    /// All sets.
    pub const ALL: [Self; 4] = [Self::Gopher, Self::C4, Self::FineWeb, Self::All];

    /// Its word on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gopher => "gopher",
            Self::C4 => "c4",
            Self::FineWeb => "fineweb",
            Self::All => "all",
        }
    }

    /// The set of that name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.name() == name)
    }

    /// Its scores.
    #[must_use]
    pub fn signals(self) -> Vec<Signal> {
        let is_of = |signal: &&Signal| self == Self::All || signal.set == self;
        SIGNALS.iter().filter(is_of).copied().collect()
    }
}

impl Signal {
    /// Every score that can be stored.
    pub const ALL: &'static [Self] = &SIGNALS;

    /// The score of that name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        SIGNALS.iter().find(|signal| signal.name == name).copied()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    WordCount,
    MeanWordLength,
    SymbolRatio,
    AlphaRatio,
    StopwordCount,
    Bullets,
    Ellipses,
    DupLines,
    DupLineChars,
    DupParagraphs,
    DupParagraphChars,
    Top(u64),
    Dup(u64),
    C4Lines,
    C4Sentences,
    Terminal,
    ShortLines,
    DupChars,
    Newlines,
    Compression,
    Language,
    LanguageScore,
    Pii,
}

const fn of(
    set: SignalSet,
    name: &'static str,
    kind: FieldKind,
    expression: &'static str,
    what: What,
) -> Signal {
    Signal { name, kind, expression, set, what }
}

const fn gopher(name: &'static str, expression: &'static str, what: What) -> Signal {
    of(SignalSet::Gopher, name, FieldKind::Float, expression, what)
}

const fn fineweb(name: &'static str, expression: &'static str, what: What) -> Signal {
    of(SignalSet::FineWeb, name, FieldKind::Float, expression, what)
}

static SIGNALS: [Signal; 30] = [
    of(SignalSet::Gopher, "word_count", FieldKind::Int, "word_count(text)", What::WordCount),
    gopher("mean_word_length", "mean_word_length(text)", What::MeanWordLength),
    gopher("symbol_ratio", "symbol_ratio(text)", What::SymbolRatio),
    gopher("alpha_ratio", "alpha_ratio(text)", What::AlphaRatio),
    of(
        SignalSet::Gopher,
        "stopword_count",
        FieldKind::Int,
        "stopword_count(text, 'en')",
        What::StopwordCount,
    ),
    gopher("bullet_fraction", "bullet_fraction(text)", What::Bullets),
    gopher("ellipsis_fraction", "ellipsis_fraction(text)", What::Ellipses),
    gopher("dup_line_fraction", "dup_line_fraction(text)", What::DupLines),
    gopher("dup_line_char_fraction", "dup_line_char_fraction(text)", What::DupLineChars),
    gopher("dup_paragraph_fraction", "dup_paragraph_fraction(text)", What::DupParagraphs),
    gopher(
        "dup_paragraph_char_fraction",
        "dup_paragraph_char_fraction(text)",
        What::DupParagraphChars,
    ),
    gopher("top_2gram_fraction", "top_ngram_fraction(text, 2)", What::Top(2)),
    gopher("top_3gram_fraction", "top_ngram_fraction(text, 3)", What::Top(3)),
    gopher("top_4gram_fraction", "top_ngram_fraction(text, 4)", What::Top(4)),
    gopher("dup_5gram_fraction", "dup_ngram_fraction(text, 5)", What::Dup(5)),
    gopher("dup_6gram_fraction", "dup_ngram_fraction(text, 6)", What::Dup(6)),
    gopher("dup_7gram_fraction", "dup_ngram_fraction(text, 7)", What::Dup(7)),
    gopher("dup_8gram_fraction", "dup_ngram_fraction(text, 8)", What::Dup(8)),
    gopher("dup_9gram_fraction", "dup_ngram_fraction(text, 9)", What::Dup(9)),
    gopher("dup_10gram_fraction", "dup_ngram_fraction(text, 10)", What::Dup(10)),
    of(
        SignalSet::C4,
        "c4_line_fraction",
        FieldKind::Float,
        "c4_line_fraction(text)",
        What::C4Lines,
    ),
    of(
        SignalSet::C4,
        "c4_sentence_count",
        FieldKind::Int,
        "c4_sentence_count(text)",
        What::C4Sentences,
    ),
    fineweb("terminal_punctuation_fraction", "terminal_punctuation_fraction(text)", What::Terminal),
    fineweb("short_line_fraction", "short_line_fraction(text, 30)", What::ShortLines),
    fineweb("char_dup_fraction", "char_dup_fraction(text)", What::DupChars),
    fineweb("newline_ratio", "newline_ratio(text)", What::Newlines),
    of(
        SignalSet::All,
        "compression_ratio",
        FieldKind::Float,
        "compression_ratio(text)",
        What::Compression,
    ),
    of(SignalSet::All, "lang", FieldKind::Keyword, "lang(text)", What::Language),
    of(SignalSet::All, "lang_score", FieldKind::Float, "lang_score(text)", What::LanguageScore),
    of(
        SignalSet::All,
        "pii_flags",
        FieldKind::Keyword,
        "array_to_string(pii_flags(text), ' ')",
        What::Pii,
    ),
];

/// The value of a score for a text.
#[derive(Clone, Debug, PartialEq)]
pub enum ScoreValue {
    /// A count.
    Count(u64),
    /// A share or ratio.
    Number(f64),
    /// A word, or none.
    Word(Option<String>),
}

impl ScoreValue {
    /// As it is spelled in JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::Number(number) => serde_json::Value::from(*number).to_string(),
            Self::Word(word) => serde_json::Value::from(word.as_deref()).to_string(),
        }
    }
}

/// Several scores of a text, in their order; what they share is found once.
#[must_use]
pub fn scores(text: &str, signals: &[Signal]) -> Vec<ScoreValue> {
    let words = LazyCell::new(|| WordStatistics::of(text));
    let lines = LazyCell::new(|| RepeatedPieces::of_lines(text));
    let paragraphs = LazyCell::new(|| RepeatedPieces::of_paragraphs(text));
    let cleaned = LazyCell::new(|| C4Cleaning::of(text));
    let language = LazyCell::new(|| detect_language(text));
    let chars = LazyCell::new(|| length(text));
    let ngrams: OnceCell<RefCell<Ngrams>> = OnceCell::new();
    let ngrams = || ngrams.get_or_init(|| RefCell::new(Ngrams::of(text)));
    let value = |signal: &Signal| {
        let number = match signal.what {
            What::WordCount => return ScoreValue::Count(words.word_count()),
            What::StopwordCount => {
                return ScoreValue::Count(stopword_count(text, "en").unwrap_or_default());
            }
            What::C4Sentences => return ScoreValue::Count(cleaned.sentence_count()),
            What::Language => return ScoreValue::Word(language.map(|(code, _)| code.to_owned())),
            What::Pii => return ScoreValue::Word(Some(pii_kinds(text).join(" "))),
            What::LanguageScore => match *language {
                Some((_, score)) => score,
                None => return ScoreValue::Word(None),
            },
            What::MeanWordLength => words.mean_word_length(),
            What::SymbolRatio => words.symbol_ratio(),
            What::AlphaRatio => words.alpha_ratio(),
            What::Newlines => words.newline_ratio(),
            What::Bullets => bullet_fraction(text),
            What::Ellipses => ellipsis_fraction(text),
            What::DupLines => lines.fraction(),
            What::DupLineChars => share(lines.chars, *chars),
            What::DupParagraphs => paragraphs.fraction(),
            What::DupParagraphChars => share(paragraphs.chars, *chars),
            What::Top(n) => ngrams().borrow_mut().top_fraction(n),
            What::Dup(n) => ngrams().borrow_mut().dup_fraction(n),
            What::C4Lines => cleaned.line_fraction(),
            What::Terminal => terminal_punctuation_fraction(text),
            What::ShortLines => short_line_fraction(text, SHORT_LINE),
            What::DupChars => char_dup_fraction(text),
            What::Compression => compression_ratio(text),
        };
        ScoreValue::Number(number)
    };
    signals.iter().map(value).collect()
}

/// Values as they stand in metadata.
///
/// # Errors
/// For a number that JSON cannot represent; this does not happen.
pub(crate) fn scores_json(values: &[ScoreValue]) -> serde_json::Result<Vec<Box<RawValue>>> {
    values.iter().map(|value| RawValue::from_string(value.to_json())).collect()
}

/// The kinds of personal data of a text, each once, by name.
pub(crate) fn pii_kinds(text: &str) -> Vec<&'static str> {
    let kinds: BTreeSet<_> = pii(text).map(|(what, _)| what).collect();
    kinds.into_iter().map(super::pii::PersonalData::name).collect()
}
