//! The registry of the scores that can be stored, and the computation of several of them for one text at once.

use super::c4::C4Cleaning;
use super::language::{detect_language, stopword_count};
use super::lines::{
    RepeatedPieces, bullet_fraction, char_dup_fraction, ellipsis_fraction, length,
    short_line_fraction, terminal_punctuation_fraction, trimmed,
};
use super::pii::{PersonalData, pii};
use super::repetition::{Ngrams, compression_ratio};
use super::words::{WordStatistics, share};
use model::FieldKind;
use model::named;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;

/// Characters of a line that FineWeb calls short.
const SHORT_LINE: u64 = 30;

/// A score that can be stored as a field.
#[derive(Clone, Copy, Debug)]
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
    /// Which rule it has: another number than a text's score was stored by says that it may get another one now.
    pub version: u16,
    function: ScoreFunction,
}

impl PartialEq for Signal {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Signal {}

/// How a score is made of what is found of a text, by the type of its values.
#[derive(Clone, Copy, Debug)]
enum ScoreFunction {
    Count(fn(&TextFindings<'_>) -> u64),
    Number(fn(&TextFindings<'_>) -> f64),
    /// A number that not every text has.
    NumberIfAny(fn(&TextFindings<'_>) -> Option<f64>),
    Word(fn(&TextFindings<'_>) -> Option<String>),
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

named!(SignalSet { Gopher = "gopher", C4 = "c4", FineWeb = "fineweb", All = "all" });

impl SignalSet {
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

    /// What its field is stored with: the function, and which version of it, so that no release takes the values of
    /// another one for its own.
    #[must_use]
    pub fn stored_expression(&self) -> String {
        self.spelled(self.version)
    }

    /// The version that a field of its name is stored with; none where that is no version that this release knows.
    #[must_use]
    pub fn stored_version(&self, expression: &str) -> Option<u16> {
        (1..=self.version).find(|version| self.spelled(*version) == expression)
    }

    fn spelled(&self, version: u16) -> String {
        match version {
            1 => self.expression.to_owned(),
            later => format!("{} /* version {later} */", self.expression),
        }
    }

    const fn at_version(self, version: u16) -> Self {
        Self { version, ..self }
    }
}

const fn signal(
    set: SignalSet,
    name: &'static str,
    expression: &'static str,
    function: ScoreFunction,
) -> Signal {
    let kind = match function {
        ScoreFunction::Count(_) => FieldKind::Int,
        ScoreFunction::Number(_) | ScoreFunction::NumberIfAny(_) => FieldKind::Float,
        ScoreFunction::Word(_) => FieldKind::Keyword,
    };
    Signal { name, kind, expression, set, version: 1, function }
}

/// In the order of the columns.
#[rustfmt::skip]
static SIGNALS: [Signal; 30] = {
    use ScoreFunction::{Count, Number, NumberIfAny, Word};
    use SignalSet::{All, C4, FineWeb, Gopher};
    [
        signal(Gopher, "word_count", "word_count(text)", Count(|of| of.words().word_count())),
        signal(Gopher, "mean_word_length", "mean_word_length(text)", Number(|of| of.words().mean_word_length())),
        signal(Gopher, "symbol_ratio", "symbol_ratio(text)", Number(|of| of.words().symbol_ratio())),
        signal(Gopher, "alpha_ratio", "alpha_ratio(text)", Number(|of| of.words().alpha_ratio())),
        signal(Gopher, "stopword_count", "stopword_count(text, 'en')", Count(|of| stopword_count(of.text, "en").unwrap_or_default())),
        signal(Gopher, "bullet_fraction", "bullet_fraction(text)", Number(|of| bullet_fraction(of.text))),
        signal(Gopher, "ellipsis_fraction", "ellipsis_fraction(text)", Number(|of| ellipsis_fraction(of.text))),
        signal(Gopher, "dup_line_fraction", "dup_line_fraction(text)", Number(|of| of.lines().fraction())).at_version(2),
        signal(Gopher, "dup_line_char_fraction", "dup_line_char_fraction(text)", Number(|of| share(of.lines().chars, of.chars()))).at_version(2),
        signal(Gopher, "dup_paragraph_fraction", "dup_paragraph_fraction(text)", Number(|of| of.paragraphs().fraction())).at_version(2),
        signal(Gopher, "dup_paragraph_char_fraction", "dup_paragraph_char_fraction(text)", Number(|of| share(of.paragraphs().chars, of.chars()))).at_version(2),
        signal(Gopher, "top_2gram_fraction", "top_ngram_fraction(text, 2)", Number(|of| of.ngrams().top_fraction(2))),
        signal(Gopher, "top_3gram_fraction", "top_ngram_fraction(text, 3)", Number(|of| of.ngrams().top_fraction(3))),
        signal(Gopher, "top_4gram_fraction", "top_ngram_fraction(text, 4)", Number(|of| of.ngrams().top_fraction(4))),
        signal(Gopher, "dup_5gram_fraction", "dup_ngram_fraction(text, 5)", Number(|of| of.ngrams().dup_fraction(5))),
        signal(Gopher, "dup_6gram_fraction", "dup_ngram_fraction(text, 6)", Number(|of| of.ngrams().dup_fraction(6))),
        signal(Gopher, "dup_7gram_fraction", "dup_ngram_fraction(text, 7)", Number(|of| of.ngrams().dup_fraction(7))),
        signal(Gopher, "dup_8gram_fraction", "dup_ngram_fraction(text, 8)", Number(|of| of.ngrams().dup_fraction(8))),
        signal(Gopher, "dup_9gram_fraction", "dup_ngram_fraction(text, 9)", Number(|of| of.ngrams().dup_fraction(9))),
        signal(Gopher, "dup_10gram_fraction", "dup_ngram_fraction(text, 10)", Number(|of| of.ngrams().dup_fraction(10))),
        signal(C4, "c4_line_fraction", "c4_line_fraction(text)", Number(|of| of.cleaning().line_fraction())),
        signal(C4, "c4_sentence_count", "c4_sentence_count(text)", Count(|of| of.cleaning().sentence_count())),
        signal(FineWeb, "terminal_punctuation_fraction", "terminal_punctuation_fraction(text)", Number(|of| terminal_punctuation_fraction(of.trimmed()))).at_version(2),
        signal(FineWeb, "short_line_fraction", "short_line_fraction(text, 30)", Number(|of| short_line_fraction(of.trimmed(), SHORT_LINE))).at_version(2),
        signal(FineWeb, "char_dup_fraction", "char_dup_fraction(text)", Number(|of| char_dup_fraction(of.trimmed()))).at_version(2),
        signal(FineWeb, "newline_ratio", "newline_ratio(text)", Number(|of| of.words().newline_ratio())),
        signal(All, "compression_ratio", "compression_ratio(text)", Number(|of| compression_ratio(of.text))),
        signal(All, "lang", "lang(text)", Word(|of| of.language().map(|(code, _)| code.to_owned()))).at_version(3),
        signal(All, "lang_score", "lang_score(text)", NumberIfAny(|of| of.language().map(|(_, score)| score))).at_version(3),
        signal(All, "pii_flags", "array_to_string(pii_flags(text), ' ')", Word(|of| Some(pii_kinds(of.text).join(" ")))).at_version(3),
    ]
};

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
    /// The value as it is spelled in JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::Number(number) => serde_json::Value::from(*number).to_string(),
            Self::Word(word) => serde_json::Value::from(word.as_deref()).to_string(),
        }
    }
}

/// What scores of one text share, each part found when it is first asked for.
#[derive(Debug)]
struct TextFindings<'t> {
    text: &'t str,
    trimmed: OnceCell<Cow<'t, str>>,
    words: OnceCell<WordStatistics>,
    lines: OnceCell<RepeatedPieces>,
    paragraphs: OnceCell<RepeatedPieces>,
    cleaning: OnceCell<C4Cleaning>,
    language: OnceCell<Option<(&'static str, f64)>>,
    chars: OnceCell<u64>,
    ngrams: OnceCell<RefCell<Ngrams>>,
}

impl<'t> TextFindings<'t> {
    const fn of(text: &'t str) -> Self {
        Self {
            text,
            trimmed: OnceCell::new(),
            words: OnceCell::new(),
            lines: OnceCell::new(),
            paragraphs: OnceCell::new(),
            cleaning: OnceCell::new(),
            language: OnceCell::new(),
            chars: OnceCell::new(),
            ngrams: OnceCell::new(),
        }
    }

    fn words(&self) -> &WordStatistics {
        self.words.get_or_init(|| WordStatistics::of(self.text))
    }

    /// The text whose lines are counted.
    fn trimmed(&self) -> &str {
        self.trimmed.get_or_init(|| trimmed(self.text))
    }

    fn lines(&self) -> &RepeatedPieces {
        self.lines.get_or_init(|| RepeatedPieces::of_lines(self.trimmed()))
    }

    fn paragraphs(&self) -> &RepeatedPieces {
        self.paragraphs.get_or_init(|| RepeatedPieces::of_paragraphs(self.trimmed()))
    }

    fn cleaning(&self) -> &C4Cleaning {
        self.cleaning.get_or_init(|| C4Cleaning::of(self.text))
    }

    fn language(&self) -> Option<(&'static str, f64)> {
        *self.language.get_or_init(|| detect_language(self.text))
    }

    fn chars(&self) -> u64 {
        *self.chars.get_or_init(|| length(self.trimmed()))
    }

    fn ngrams(&self) -> std::cell::RefMut<'_, Ngrams> {
        self.ngrams.get_or_init(|| RefCell::new(Ngrams::of(self.text))).borrow_mut()
    }

    fn score(&self, signal: &Signal) -> ScoreValue {
        match signal.function {
            ScoreFunction::Count(function) => ScoreValue::Count(function(self)),
            ScoreFunction::Number(function) => ScoreValue::Number(function(self)),
            ScoreFunction::NumberIfAny(function) => {
                function(self).map_or(ScoreValue::Word(None), ScoreValue::Number)
            }
            ScoreFunction::Word(function) => ScoreValue::Word(function(self)),
        }
    }
}

/// Several scores of a text, in their order; what they share is found once.
#[must_use]
pub fn scores(text: &str, signals: &[Signal]) -> Vec<ScoreValue> {
    let findings = TextFindings::of(text);
    signals.iter().map(|signal| findings.score(signal)).collect()
}

/// Values as they stand in metadata.
///
/// # Errors
/// For a number that JSON cannot represent; this does not happen.
pub fn scores_json(values: &[ScoreValue]) -> serde_json::Result<Vec<Box<RawValue>>> {
    values.iter().map(|value| RawValue::from_string(value.to_json())).collect()
}

/// The kinds of personal data of a text, each once, by name.
pub fn pii_kinds(text: &str) -> Vec<&'static str> {
    let kinds: BTreeSet<_> = pii(text).map(|(what, _)| what).collect();
    kinds.into_iter().map(PersonalData::name).collect()
}
