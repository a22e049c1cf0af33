//! SQL functions that score the quality of texts: those of `signals`, for every row of a batch.
//!
//! A null text, or a null argument, gives null. Each text is scored by itself, so memory is bounded by the longest one.

use super::arguments::TextArgument;
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
enum TextAnswer {
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

type TextFunctionSpec = (&'static str, TextAnswer, &'static str, &'static str);

/// The functions: what they answer, how they are called, and what they mean.
const FUNCTIONS: [TextFunctionSpec; 25] = [
    (
        "word_count",
        TextAnswer::Count(of::word_count),
        "TEXT",
        "words, separated by white space, that are not only punctuation",
    ),
    (
        "mean_word_length",
        TextAnswer::Number(of::mean_word_length),
        "TEXT",
        "mean number of characters of these words",
    ),
    (
        "symbol_ratio",
        TextAnswer::Number(of::symbol_ratio),
        "TEXT",
        "`#`, or ellipses if there are more, per word",
    ),
    (
        "alpha_ratio",
        TextAnswer::Number(of::alpha_ratio),
        "TEXT",
        "share of the words with a letter",
    ),
    ("newline_ratio", TextAnswer::Number(of::newline_ratio), "TEXT", "line feeds per word"),
    (
        "stopword_count",
        TextAnswer::StopWords,
        "TEXT, LANGUAGE",
        "how many of eight stop words of a language it has, null for a language without a list",
    ),
    (
        "bullet_fraction",
        TextAnswer::Number(of::bullet_fraction),
        "TEXT",
        "share of the lines that begin with `•` or `-`",
    ),
    (
        "ellipsis_fraction",
        TextAnswer::Number(of::ellipsis_fraction),
        "TEXT",
        "share of the lines that end with an ellipsis",
    ),
    (
        "terminal_punctuation_fraction",
        TextAnswer::Number(of::terminal_punctuation_fraction),
        "TEXT",
        "share of the lines without blank ones that end like a sentence",
    ),
    (
        "short_line_fraction",
        TextAnswer::NumberOf(0, of::short_line_fraction),
        "TEXT, CHARS",
        "share of the lines without blank ones that have at most N characters",
    ),
    (
        "long_line_count",
        TextAnswer::CountOf(0, of::long_line_count),
        "TEXT, CHARS",
        "lines of at least N characters",
    ),
    (
        "char_dup_fraction",
        TextAnswer::Number(of::char_dup_fraction),
        "TEXT",
        "share of the characters in lines without blank ones that equal an earlier line",
    ),
    (
        "dup_line_fraction",
        TextAnswer::Number(of::dup_line_fraction),
        "TEXT",
        "share of the lines that equal an earlier line",
    ),
    (
        "dup_line_char_fraction",
        TextAnswer::Number(of::dup_line_char_fraction),
        "TEXT",
        "share of the characters in such lines",
    ),
    (
        "dup_paragraph_fraction",
        TextAnswer::Number(of::dup_paragraph_fraction),
        "TEXT",
        "share of the paragraphs that equal an earlier paragraph",
    ),
    (
        "dup_paragraph_char_fraction",
        TextAnswer::Number(of::dup_paragraph_char_fraction),
        "TEXT",
        "share of the characters in such paragraphs",
    ),
    (
        "dup_ngram_fraction",
        TextAnswer::NumberOf(1, of::dup_ngram_fraction),
        "TEXT, N",
        "share of the characters in runs of n words that occurred before",
    ),
    (
        "top_ngram_fraction",
        TextAnswer::NumberOf(1, of::top_ngram_fraction),
        "TEXT, N",
        "share of the characters in the most frequent run of n words",
    ),
    (
        "c4_line_fraction",
        TextAnswer::Number(of::c4_line_fraction),
        "TEXT",
        "share of the lines that C4 keeps",
    ),
    (
        "c4_sentence_count",
        TextAnswer::Count(of::c4_sentence_count),
        "TEXT",
        "sentences in the lines that C4 keeps",
    ),
    (
        "compression_ratio",
        TextAnswer::Number(of::compression_ratio),
        "TEXT",
        "bytes of text per byte of its zstd frame",
    ),
    ("lang", TextAnswer::Language, "TEXT", "its language, by ISO 639-1; null without letters"),
    (
        "lang_score",
        TextAnswer::LanguageScore,
        "TEXT",
        "how much better this language fits than the next one, 0 to 1",
    ),
    (
        "pii_flags",
        TextAnswer::Flags,
        "TEXT",
        "kinds of personal data in it, as a list: card, email, iban, ipv4, ipv6, phone",
    ),
    (
        "pii_spans",
        TextAnswer::Places,
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
    answer: TextAnswer,
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
            TextAnswer::Count(_) | TextAnswer::CountOf(..) | TextAnswer::StopWords => {
                DataType::Int64
            }
            TextAnswer::Number(_) | TextAnswer::NumberOf(..) | TextAnswer::LanguageScore => {
                DataType::Float64
            }
            TextAnswer::Language => DataType::Utf8View,
            TextAnswer::Flags => list_of(DataType::Utf8View),
            TextAnswer::Places => list_of(DataType::Struct(place())),
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
            (TextAnswer::CountOf(..) | TextAnswer::NumberOf(..), [first, second]) => {
                text(first).zip(number(second)).map(|(first, second)| vec![first, second])
            }
            (TextAnswer::StopWords, [first, second]) => {
                text(first).zip(text(second)).map(|(first, second)| vec![first, second])
            }
            (TextAnswer::CountOf(..) | TextAnswer::NumberOf(..) | TextAnswer::StopWords, _) => None,
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
        let values: Vec<TextArgument<'_>> = args.args.iter().map(TextArgument::of).collect();
        let varies = values.iter().any(TextArgument::varies);
        let rows = if varies { args.number_rows } else { 1 };
        let array = self.answers(&values, rows)?;
        Ok(match varies {
            true => ColumnarValue::Array(array),
            false => ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?),
        })
    }
}

impl TextFunction {
    fn answers(&self, values: &[TextArgument<'_>], rows: usize) -> Result<ArrayRef> {
        let Some((texts, beside)) = values.split_first() else {
            return plan_err!("`{}` takes a text", self.name);
        };
        let texts = || (0..rows).map(|row| texts.text(row));
        // A count of characters or words fits: no text has 2^63.
        let count = |count: u64| count.cast_signed();
        Ok(match self.answer {
            TextAnswer::Count(of) => {
                Arc::new(texts().map(|text| text.map(of).map(count)).collect::<Int64Array>())
            }
            TextAnswer::Number(of) => {
                Arc::new(texts().map(|text| text.map(of)).collect::<Float64Array>())
            }
            TextAnswer::CountOf(least, of) => {
                let numbers = self.numbers(beside, rows, least)?;
                let both = texts().zip(numbers).map(|(text, n)| text.zip(n));
                let all = both.map(|both| both.map(|(text, n)| count(of(text, n))));
                Arc::new(all.collect::<Int64Array>())
            }
            TextAnswer::NumberOf(least, of) => {
                let numbers = self.numbers(beside, rows, least)?;
                let both = texts().zip(numbers).map(|(text, n)| text.zip(n));
                let all = both.map(|both| both.map(|(text, n)| of(text, n)));
                Arc::new(all.collect::<Float64Array>())
            }
            TextAnswer::StopWords => {
                let language = |row| beside.first().and_then(|beside| beside.text(row));
                let of = |(row, text): (usize, Option<&str>)| {
                    of::stopword_count(text?, language(row)?).map(count)
                };
                Arc::new(texts().enumerate().map(of).collect::<Int64Array>())
            }
            TextAnswer::Language => {
                let all = texts().map(|text| text.and_then(of::language));
                Arc::new(all.collect::<StringViewArray>())
            }
            TextAnswer::LanguageScore => {
                let all = texts().map(|text| text.and_then(of::language_score));
                Arc::new(all.collect::<Float64Array>())
            }
            TextAnswer::Flags => flags(texts()),
            TextAnswer::Places => places(texts()),
        })
    }

    /// The integer arguments; none where they are null.
    fn numbers(
        &self,
        beside: &[TextArgument<'_>],
        rows: usize,
        least: i64,
    ) -> Result<Vec<Option<u64>>> {
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
