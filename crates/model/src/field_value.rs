//! The one conversion of JSON values to values of a declared field: a keyword, a number, a boolean or a timestamp.

use super::id::{FieldKind, sortable_float};
use super::json_number::{is_number, number, whole};
use super::timestamp::{
    is_day_of_digits, rfc3339, seconds_since_1970, timestamp_by_size, timestamp_of_number,
    timestamp_of_text,
};
use crate::invariant::text_part;
use serde::Deserialize;
use serde_json::Deserializer;

/// Characters of a value that are shown of it.
const SHOWN: usize = 60;

/// The value of a declared field.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue {
    /// Text; a number in its canonical spelling; a truth.
    Keyword(String),
    /// A whole number.
    Int(i64),
    /// A number, neither infinite nor none.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// Microseconds since 1970 in UTC, within the years 1 to 9999.
    Timestamp(i64),
}

/// A value that the type of its field cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misfit;

impl FieldValue {
    /// A JSON value as a value of a kind; none for null.
    ///
    /// * keyword: a text; a number in its canonical spelling; a truth;
    /// * int: a whole number of 64 bits in any spelling (`7`, `7.0`, `1e3`), or a text of such or of its digits;
    /// * float: a number that a double can hold, or a text that spells one as JSON does;
    /// * bool: `true` and `false`, or a text of these words in any case;
    /// * timestamp: a text that [`timestamp_of_text`] reads, or a number, as `timestamp_of_number`, of nine digits or
    ///   more also as a text.
    ///
    /// # Errors
    /// [`Misfit`] for all others: lists, objects, fractions for an int, numbers for a bool.
    pub fn of_json(raw: &str, kind: FieldKind) -> Result<Option<Self>, Misfit> {
        if raw == "null" {
            return Ok(None);
        }
        let text = if raw.starts_with('"') {
            Some(serde_json::from_str::<String>(raw).map_err(|_| Misfit)?)
        } else {
            None
        };
        let value = match (kind, text) {
            (FieldKind::Keyword, Some(text)) => Some(Self::Keyword(text)),
            (FieldKind::Keyword, None) => {
                let word =
                    || if is_number(raw) { number(raw).into_owned() } else { raw.to_owned() };
                (!raw.starts_with(['[', '{'])).then(|| Self::Keyword(word()))
            }
            (FieldKind::Int, Some(text)) => whole_of_text(&text).map(Self::Int),
            (FieldKind::Int, None) => {
                whole(raw).and_then(|whole| i64::try_from(whole).ok()).map(Self::Int)
            }
            (FieldKind::Float, Some(text)) => float(&text).map(Self::Float),
            (FieldKind::Float, None) => float(raw).map(Self::Float),
            (FieldKind::Bool, Some(text)) => truth(&text.to_ascii_lowercase()).map(Self::Bool),
            (FieldKind::Bool, None) => truth(raw).map(Self::Bool),
            (FieldKind::Timestamp, Some(text)) => {
                let of_number = || epoch_of_text(&text).and_then(timestamp_of_number);
                timestamp_of_text(&text).or_else(of_number).map(Self::Timestamp)
            }
            (FieldKind::Timestamp, None) if is_number(raw) => {
                timestamp_of_number(raw).map(Self::Timestamp)
            }
            (FieldKind::Timestamp, None) => None,
        };
        value.map(Some).ok_or(Misfit)
    }

    /// The number that stands for it in a column; none for a keyword, which has a term.
    #[must_use]
    pub fn column_number(&self) -> Option<i64> {
        match self {
            Self::Keyword(_) => None,
            Self::Int(number) | Self::Timestamp(number) => Some(*number),
            Self::Float(number) => Some(sortable_float(*number)),
            Self::Bool(truth) => Some(i64::from(*truth)),
        }
    }
}

/// The numbers that earlier releases had in a column for a JSON value, or none, oldest rule first. The first read whole
/// numbers without a point, no number or truth from a text, of timestamps RFC 3339 and seconds; later ones took numbers
/// of eight and fourteen digits for seconds and milliseconds, and no day from eight digits of a text. What they stored
/// stays until the document or the field is indexed again, and is not damage.
#[must_use]
pub fn earlier_column_numbers(raw: &str, kind: FieldKind) -> [Option<i64>; 2] {
    let today = || FieldValue::of_json(raw, kind).ok().flatten()?.column_number();
    match kind {
        FieldKind::Keyword => [None; 2],
        FieldKind::Int => [i64::deserialize(&mut Deserializer::from_str(raw)).ok(), today()],
        FieldKind::Float => {
            let float = f64::deserialize(&mut Deserializer::from_str(raw)).ok();
            [float.map(sortable_float), today()]
        }
        FieldKind::Bool => [truth(raw).map(i64::from), today()],
        FieldKind::Timestamp => match serde_json::from_str::<String>(raw) {
            Ok(text) => [rfc3339(&text), today().filter(|_| !is_day_of_digits(&text))],
            Err(_) => [seconds_since_1970(raw), timestamp_by_size(raw)],
        },
    }
}

/// The beginning of a value as it is spelled, for messages.
#[must_use]
pub fn value_excerpt(raw: &str) -> String {
    match raw.char_indices().nth(SHOWN) {
        None => raw.to_owned(),
        Some((end, _)) => format!("{}\u{2026}", text_part(raw, ..end)),
    }
}

fn truth(word: &str) -> Option<bool> {
    match word {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

fn float(spelled: &str) -> Option<f64> {
    is_number(spelled).then_some(())?;
    f64::deserialize(&mut Deserializer::from_str(spelled)).ok().filter(|number| number.is_finite())
}

fn whole_of_text(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match is_whole {
        true => text.parse().ok(),
        // A value of a table, where a column of whole numbers with a hole in it has `7.0`.
        false => whole(text).and_then(|whole| i64::try_from(whole).ok()),
    }
}

/// A text that is a number since 1970, as tables have it; fewer digits may be those of a year or a day.
fn epoch_of_text(text: &str) -> Option<&str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 8 && is_number(text)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: FieldKind, raws: &[&str]) -> Vec<Result<Option<FieldValue>, Misfit>> {
        raws.iter().map(|raw| FieldValue::of_json(raw, kind)).collect()
    }

    fn misfits(kind: FieldKind, raws: &[&str]) {
        for raw in raws {
            assert_eq!(FieldValue::of_json(raw, kind), Err(Misfit), "{raw} as {}", kind.name());
        }
    }

    /// pandas writes the whole numbers of a column with a hole as `7.0`, and these were null silently.
    #[test]
    fn whole_numbers_are_ints_however_they_are_spelled() {
        for (raw, number) in [
            ("7", 7),
            ("7.0", 7),
            ("-7.000", -7),
            ("1e3", 1000),
            ("1E+3", 1000),
            ("1500e-2", 15),
            ("0.0", 0),
            ("-0", 0),
            ("-0.0", 0),
            ("0e999999999999999999999", 0),
            ("1.5e1", 15),
            ("9223372036854775807.0", i64::MAX),
            ("9007199254740993.0", 9_007_199_254_740_993),
            ("-9223372036854775808", i64::MIN),
            (r#""7""#, 7),
            (r#""-7""#, -7),
            (r#""007""#, 7),
            (r#""7.0""#, 7),
            (r#""1e3""#, 1000),
        ] {
            let value = FieldValue::of_json(raw, FieldKind::Int);
            assert_eq!(value, Ok(Some(FieldValue::Int(number))), "{raw}");
        }
        misfits(
            FieldKind::Int,
            &[
                "1.5",
                "1e-3",
                "15e-2",
                "9223372036854775808",
                "1e19",
                "1e400",
                "1e99999999999999999999",
                "true",
                "[7]",
                "{}",
                r#""1.5""#,
                r#""+7""#,
                r#"" 7""#,
                r#""""#,
                r#""-""#,
                r#""n/a""#,
                r#""\u0667""#,
            ],
        );
    }

    #[test]
    fn floats_are_numbers_that_a_double_holds() {
        let float = |number| Ok(Some(FieldValue::Float(number)));
        assert_eq!(
            of(FieldKind::Float, &["2", "0.5", "1e300", "1e-400", r#""-1.5e3""#, "null"]),
            [float(2.0), float(0.5), float(1e300), float(0.0), float(-1500.0), Ok(None)]
        );
        misfits(
            FieldKind::Float,
            &[
                "1e400",
                "-1e400",
                "true",
                "[]",
                r#""1e400""#,
                r#""NaN""#,
                r#""nan""#,
                r#""Infinity""#,
                r#""-inf""#,
                r#""1,5""#,
                r#""1.""#,
                r#"".5""#,
                r#""0x1p3""#,
                r#""1_000""#,
                r#""50%""#,
                r#""""#,
            ],
        );
    }

    #[test]
    fn truths_are_two_words_and_keywords_have_one_spelling() {
        let truth = |truth| Ok(Some(FieldValue::Bool(truth)));
        assert_eq!(
            of(FieldKind::Bool, &["true", "false", r#""True""#, r#""FALSE""#]),
            [truth(true), truth(false), truth(true), truth(false)]
        );
        misfits(FieldKind::Bool, &["0", "1", r#""1""#, r#""yes""#, r#""t""#, "[true]", r#""""#]);
        let keyword = |text: &str| Ok(Some(FieldValue::Keyword(text.to_owned())));
        assert_eq!(
            of(FieldKind::Keyword, &[r#""a\u0062""#, "1.50", "true", r#""""#, "null"]),
            [keyword("ab"), keyword("1.5"), keyword("true"), keyword(""), Ok(None)]
        );
        misfits(FieldKind::Keyword, &["[1]", r#"{"a":1}"#]);
    }

    #[test]
    fn timestamps_are_texts_or_numbers_and_never_a_year_alone() {
        let moment = |moment| Ok(Some(FieldValue::Timestamp(moment)));
        assert_eq!(
            of(FieldKind::Timestamp, &["12", r#""1970-01-02""#, "1971", r#""1711848600""#]),
            [
                moment(12_000_000),
                moment(86_400_000_000),
                moment(1_971_000_000),
                moment(1_711_848_600_000_000),
            ]
        );
        misfits(
            FieldKind::Timestamp,
            &["true", "[1]", r#""1971""#, r#""12""#, r#""1711848600 s""#, "1e400"],
        );
        // Warehouses have days as numbers of eight digits, and these were days of 1970.
        let day = moment(1_711_843_200_000_000);
        let days = ["20240331", "20240331.0", r#""20240331""#, "20240331000000", "2.0240331e7"];
        assert_eq!(of(FieldKind::Timestamp, &days), vec![day; 5]);
    }

    #[test]
    fn values_of_earlier_releases_read_the_same_but_for_units() {
        for (raw, kind) in [
            ("7", FieldKind::Int),
            ("0.5", FieldKind::Float),
            ("true", FieldKind::Bool),
            ("12", FieldKind::Timestamp),
            (r#""2024-03-31T01:30:00Z""#, FieldKind::Timestamp),
        ] {
            let value = FieldValue::of_json(raw, kind).unwrap().unwrap();
            assert_eq!(earlier_column_numbers(raw, kind), [value.column_number(); 2], "{raw}");
        }
        for (raw, kind) in [
            ("7.0", FieldKind::Int),
            (r#""7""#, FieldKind::Float),
            (r#""True""#, FieldKind::Bool),
            (r#""20240331013000""#, FieldKind::Timestamp),
        ] {
            let value = FieldValue::of_json(raw, kind).unwrap().unwrap();
            assert_eq!(earlier_column_numbers(raw, kind), [None, value.column_number()], "{raw}");
        }
        let earlier = |raw| earlier_column_numbers(raw, FieldKind::Timestamp);
        let (seconds, milliseconds) = (1_711_848_600_000_000_000, 1_711_848_600_000_000);
        assert_eq!(earlier("1711848600000"), [Some(seconds), Some(milliseconds)]);
        assert_eq!(earlier("20240331"), [Some(20_240_331_000_000); 2]);
        assert_eq!(earlier(r#""20240331""#), [None; 2]);
    }
}
