//! The key of a record in any format: a text that is not blank, or a whole number.
//!
//! A value of a table of separated values is a text.

use model::{RecordKey, is_number};

/// 2^53: a double beyond it may stand for several whole numbers.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The key that a text is, as it is spelled; none where it is blank.
pub(super) fn of_text(text: &str) -> Option<RecordKey> {
    (!text.trim().is_empty()).then(|| RecordKey::Given(text.to_owned()))
}

/// The key that a number is, spelled as JSON spells it: the digits of a whole one, also where a program that has
/// nothing but doubles wrote `1001.0`. None for a fraction, for what is not a number, and for a double beyond 2^53.
pub(super) fn of_number(spelled: &str) -> Option<RecordKey> {
    let digits = spelled.strip_prefix('-').unwrap_or(spelled);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let digits = if spelled == "-0" { "0" } else { spelled };
        return Some(RecordKey::Given(digits.to_owned()));
    }
    let double: f64 = spelled.parse().ok()?;
    let is_whole = double.fract() == 0.0 && double.abs() < EXACT;
    is_whole.then(|| RecordKey::Given((double as i64).to_string()))
}

/// The key that earlier releases made of a value of a table without quotes, where that is another than the value: they
/// took it for a number, and spelled that anew.
pub(super) fn earlier_of_cell(value: &str) -> Option<String> {
    // Most keys are digits, or no number at all.
    let may_differ = value == "-0" || value.contains(['.', 'e', 'E']) && is_number(value);
    match may_differ.then(|| of_number(value)).flatten()? {
        RecordKey::Given(key) => Some(key).filter(|key| key != value),
        RecordKey::Position => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(key: &str) -> Option<RecordKey> {
        Some(RecordKey::Given(key.to_owned()))
    }

    #[test]
    fn keys_are_texts_that_say_something_and_whole_numbers() {
        for (text, expected) in [("a", "a"), (" a ", " a "), ("007", "007"), ("NaN", "NaN")] {
            assert_eq!(of_text(text), given(expected), "{text}");
        }
        for blank in ["", " ", "\t\n", "\u{a0}"] {
            assert_eq!(of_text(blank), None, "{blank:?}");
        }
        for (spelled, expected) in [
            ("7", "7"),
            ("-7", "-7"),
            ("-0", "0"),
            ("9007199254740993", "9007199254740993"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("1001.0", "1001"),
            ("1001.00", "1001"),
            ("1e3", "1000"),
            ("-0.0", "0"),
            ("9007199254740991.0", "9007199254740991"),
        ] {
            assert_eq!(of_number(spelled), given(expected), "{spelled}");
        }
        for (value, expected) in [
            ("1e3", Some("1000")),
            ("7.0", Some("7")),
            ("-0", Some("0")),
            ("7", None),
            ("007", None),
            ("1.10", None),
            ("a.example/1e3", None),
            ("+7.0", None),
        ] {
            assert_eq!(earlier_of_cell(value).as_deref(), expected, "{value}");
        }
        for none in ["", "-", "1.5", "NaN", "inf", "1e400", "9007199254740992.0", "1e16", "x"] {
            assert_eq!(of_number(none), None, "{none}");
        }
    }
}
