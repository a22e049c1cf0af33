//! SQL functions that score the quality of texts: those of `signals`, for every row of a batch.
//!
//! A null text, or a null argument, gives null. Each text is scored by itself, so memory is bounded by the longest one.

use super::arguments::Texts;
use arrow::array::{
    ArrayRef, Float64Array, Int64Array, Int64Builder, ListBuilder, StringBuilder, StringViewArray,
    StringViewBuilder, StructBuilder,
};
use arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::{ScalarValue, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use model::invariant::text_part;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use text::signals as of;

/// Places of personal data listed for one text, at most.
const PLACES: usize = 1000;

#[derive(Clone, Copy, Debug)]
enum Answer {
    Count(fn(&str) -> u64),
    Number(fn(&str) -> f64),
    /// Takes an integer beside the text, of at least this value.
    CountOf(i64, fn(&str, u64) -> u64),
    NumberOf(i64, fn(&str, u64) -> f64),
    StopWords,
    Language,
    LanguageScore,
    Flags,
    Places,
}

type Told = (&'static str, Answer, &'static str, &'static str);

/// The functions: what they answer, how they are called, and what they mean.
const FUNCTIONS: [Told; 25] = [
    (
        "word_count",
        Answer::Count(of::word_count),
        "TEXT",
        "words, separated by white space, that are not only punctuation",
    ),
    (
        "mean_word_length",
        Answer::Number(of::mean_word_length),
        "TEXT",
        "mean number of characters of these words",
    ),
    (
        "symbol_ratio",
        Answer::Number(of::symbol_ratio),
        "TEXT",
        "`#`, or ellipses if there are more, per word",
    ),
    ("alpha_ratio", Answer::Number(of::alpha_ratio), "TEXT", "share of the words with a letter"),
    ("newline_ratio", Answer::Number(of::newline_ratio), "TEXT", "line feeds per word"),
    (
        "stopword_count",
        Answer::StopWords,
        "TEXT, LANGUAGE",
        "how many of eight stop words of a language it has, null for a language without a list",
    ),
    (
        "bullet_fraction",
        Answer::Number(of::bullet_fraction),
        "TEXT",
        "share of the lines that begin with `•` or `-`",
    ),
    (
        "ellipsis_fraction",
        Answer::Number(of::ellipsis_fraction),
        "TEXT",
        "share of the lines that end with an ellipsis",
    ),
    (
        "terminal_punctuation_fraction",
        Answer::Number(of::terminal_punctuation_fraction),
        "TEXT",
        "share of the lines without blank ones that end like a sentence",
    ),
    (
        "short_line_fraction",
        Answer::NumberOf(0, of::short_line_fraction),
        "TEXT, CHARS",
        "share of the lines without blank ones that have at most N characters",
    ),
    (
        "long_line_count",
        Answer::CountOf(0, of::long_line_count),
        "TEXT, CHARS",
        "lines of at least N characters",
    ),
    (
        "char_dup_fraction",
        Answer::Number(of::char_dup_fraction),
        "TEXT",
        "share of the characters in lines without blank ones that equal an earlier line",
    ),
    (
        "dup_line_fraction",
        Answer::Number(of::dup_line_fraction),
        "TEXT",
        "share of the lines that equal an earlier line",
    ),
    (
        "dup_line_char_fraction",
        Answer::Number(of::dup_line_char_fraction),
        "TEXT",
        "share of the characters in such lines",
    ),
    (
        "dup_paragraph_fraction",
        Answer::Number(of::dup_paragraph_fraction),
        "TEXT",
        "share of the paragraphs that equal an earlier paragraph",
    ),
    (
        "dup_paragraph_char_fraction",
        Answer::Number(of::dup_paragraph_char_fraction),
        "TEXT",
        "share of the characters in such paragraphs",
    ),
    (
        "dup_ngram_fraction",
        Answer::NumberOf(1, of::dup_ngram_fraction),
        "TEXT, N",
        "share of the characters in runs of n words that occurred before",
    ),
    (
        "top_ngram_fraction",
        Answer::NumberOf(1, of::top_ngram_fraction),
        "TEXT, N",
        "share of the characters in the most frequent run of n words",
    ),
    (
        "c4_line_fraction",
        Answer::Number(of::c4_line_fraction),
        "TEXT",
        "share of the lines that C4 keeps",
    ),
    (
        "c4_sentence_count",
        Answer::Count(of::c4_sentence_count),
        "TEXT",
        "sentences in the lines that C4 keeps",
    ),
    (
        "compression_ratio",
        Answer::Number(of::compression_ratio),
        "TEXT",
        "bytes of text per byte of its zstd frame",
    ),
    ("lang", Answer::Language, "TEXT", "its language, by ISO 639-1; null without letters"),
    (
        "lang_score",
        Answer::LanguageScore,
        "TEXT",
        "how much better this language fits than the next one, 0 to 1",
    ),
    (
        "pii_flags",
        Answer::Flags,
        "TEXT",
        "kinds of personal data in it, as a list: card, email, iban, ipv4, ipv6, phone",
    ),
    (
        "pii_spans",
        Answer::Places,
        "TEXT",
        "places of personal data: kind, start and length in characters, for substr; the first 1,000",
    ),
];

/// The functions: how they are called, and what they mean.
pub(in crate::sql) fn functions() -> impl Iterator<Item = (&'static str, String, &'static str)> {
    let usage = |name: &str, takes: &str| format!("{name}({takes})");
    FUNCTIONS.iter().map(move |(name, _, takes, meaning)| (*name, usage(name, takes), *meaning))
}

pub(in crate::sql) fn register(registry: &mut dyn FunctionRegistry) -> Result<()> {
    for (name, answer, takes, _) in FUNCTIONS {
        let signature = Signature::user_defined(Volatility::Immutable);
        let function = TextFunction { name, answer, takes, signature };
        registry.register_udf(Arc::new(ScalarUDF::from(function)))?;
    }
    Ok(())
}

#[derive(Debug)]
struct TextFunction {
    name: &'static str,
    answer: Answer,
    takes: &'static str,
    signature: Signature,
}

impl PartialEq for TextFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TextFunction {}

impl Hash for TextFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for TextFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.answer {
            Answer::Count(_) | Answer::CountOf(..) | Answer::StopWords => DataType::Int64,
            Answer::Number(_) | Answer::NumberOf(..) | Answer::LanguageScore => DataType::Float64,
            Answer::Language => DataType::Utf8View,
            Answer::Flags => list_of(DataType::Utf8View),
            Answer::Places => list_of(DataType::Struct(place())),
        })
    }

    fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
        let (name, takes) = (self.name, self.takes);
        let text = |kind: &DataType| match kind {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(kind.clone()),
            DataType::Null => Some(DataType::Utf8),
            DataType::Dictionary(_, values) if values.is_string() => Some((**values).clone()),
            _ => None,
        };
        let number =
            |kind: &DataType| (kind.is_integer() || kind.is_null()).then_some(DataType::Int64);
        let coerced = match (self.answer, kinds) {
            (Answer::CountOf(..) | Answer::NumberOf(..), [first, second]) => {
                text(first).zip(number(second)).map(|(first, second)| vec![first, second])
            }
            (Answer::StopWords, [first, second]) => {
                text(first).zip(text(second)).map(|(first, second)| vec![first, second])
            }
            (Answer::CountOf(..) | Answer::NumberOf(..) | Answer::StopWords, _) => None,
            (_, [first]) => text(first).map(|first| vec![first]),
            _ => None,
        };
        match coerced {
            Some(coerced) => Ok(coerced),
            None => {
                let given: Vec<String> = kinds.iter().map(ToString::to_string).collect();
                let given = given.join(", ");
                plan_err!("the function is called as {name}({takes}); this is {name}({given})")
            }
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values: Vec<Texts<'_>> = args.args.iter().map(Texts::of).collect();
        let varies = values.iter().any(Texts::varies);
        let rows = if varies { args.number_rows } else { 1 };
        let array = self.answers(&values, rows)?;
        Ok(match varies {
            true => ColumnarValue::Array(array),
            false => ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?),
        })
    }
}

impl TextFunction {
    fn answers(&self, values: &[Texts<'_>], rows: usize) -> Result<ArrayRef> {
        let Some((texts, beside)) = values.split_first() else {
            return plan_err!("`{}` takes a text", self.name);
        };
        let texts = || (0..rows).map(|row| texts.text(row));
        // A count of characters or words fits: no text has 2^63.
        let count = |count: u64| count.cast_signed();
        Ok(match self.answer {
            Answer::Count(of) => {
                Arc::new(texts().map(|text| text.map(of).map(count)).collect::<Int64Array>())
            }
            Answer::Number(of) => {
                Arc::new(texts().map(|text| text.map(of)).collect::<Float64Array>())
            }
            Answer::CountOf(least, of) => {
                let numbers = self.numbers(beside, rows, least)?;
                let both = texts().zip(numbers).map(|(text, n)| text.zip(n));
                let all = both.map(|both| both.map(|(text, n)| count(of(text, n))));
                Arc::new(all.collect::<Int64Array>())
            }
            Answer::NumberOf(least, of) => {
                let numbers = self.numbers(beside, rows, least)?;
                let both = texts().zip(numbers).map(|(text, n)| text.zip(n));
                let all = both.map(|both| both.map(|(text, n)| of(text, n)));
                Arc::new(all.collect::<Float64Array>())
            }
            Answer::StopWords => {
                let language = |row| beside.first().and_then(|beside| beside.text(row));
                let of = |(row, text): (usize, Option<&str>)| {
                    of::stopword_count(text?, language(row)?).map(count)
                };
                Arc::new(texts().enumerate().map(of).collect::<Int64Array>())
            }
            Answer::Language => {
                let all = texts().map(|text| text.and_then(of::language));
                Arc::new(all.collect::<StringViewArray>())
            }
            Answer::LanguageScore => {
                let all = texts().map(|text| text.and_then(of::language_score));
                Arc::new(all.collect::<Float64Array>())
            }
            Answer::Flags => flags(texts()),
            Answer::Places => places(texts()),
        })
    }

    /// The integer arguments; none where they are null.
    fn numbers(&self, beside: &[Texts<'_>], rows: usize, least: i64) -> Result<Vec<Option<u64>>> {
        let Some(beside) = beside.first() else {
            return plan_err!("`{}` takes a text and a number", self.name);
        };
        let number = |row| match beside.integer(row) {
            Some(number) if number < least => {
                let (name, takes) = (self.name, self.takes);
                exec_err!("{name}({takes}) takes a number of {least} or more; this is {number}")
            }
            number => Ok(number.map(i64::cast_unsigned)),
        };
        (0..rows).map(number).collect()
    }
}

fn list_of(kind: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(kind, true)))
}

fn place() -> Fields {
    Fields::from(vec![
        Field::new("kind", DataType::Utf8, true),
        Field::new("start", DataType::Int64, true),
        Field::new("length", DataType::Int64, true),
    ])
}

fn flags<'t>(texts: impl Iterator<Item = Option<&'t str>>) -> ArrayRef {
    let mut built = ListBuilder::new(StringViewBuilder::new());
    for text in texts {
        for flag in text.map(of::pii_kinds).unwrap_or_default() {
            built.values().append_value(flag);
        }
        built.append(text.is_some());
    }
    Arc::new(built.finish())
}

/// Counts characters from 1, as `substr` does.
fn places<'t>(texts: impl Iterator<Item = Option<&'t str>>) -> ArrayRef {
    let mut built = ListBuilder::new(StructBuilder::from_fields(place(), 0));
    for text in texts {
        let (mut byte, mut chars) = (0, 0);
        let known = text.unwrap_or_default();
        for (kind, place) in of::pii(known).take(PLACES) {
            let length = |from: usize, to: usize| {
                i64::try_from(text_part(known, from..to).chars().count()).unwrap_or(i64::MAX)
            };
            let start = chars + length(byte, place.start);
            let long = length(place.start, place.end);
            (byte, chars) = (place.end, start + long);
            let row = built.values();
            if let Some(kinds) = row.field_builder::<StringBuilder>(0) {
                kinds.append_value(kind.name());
            }
            for (column, number) in [(1, start + 1), (2, long)] {
                if let Some(numbers) = row.field_builder::<Int64Builder>(column) {
                    numbers.append_value(number);
                }
            }
            row.append(true);
        }
        built.append(text.is_some());
    }
    Arc::new(built.finish())
}
