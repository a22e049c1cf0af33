//! Numbers as JSON spells them: one spelling for one value, and read without a loss.

use std::borrow::Cow;

/// Digits of a whole number that are read: those of 128 bits.
const MOST_DIGITS: usize = 38;

/// The canonical spelling of a JSON number. A whole number is its digits, of any length, and zero has no sign. Any
/// other is its own digits without zeros at the ends, laid out as the shortest spelling of a double is: `1.50` is
/// `1.5`, `1e3` is `1000.0`, `100000000000000000000.0` is `1e20`; `1e400` and `0.10000000000000000001` stay what they
/// are.
#[must_use]
pub fn number(spelled: &str) -> Cow<'_, str> {
    if !spelled.contains(['.', 'e', 'E']) {
        return if spelled == "-0" { Cow::Borrowed("0") } else { Cow::Borrowed(spelled) };
    }
    Decimal::read(spelled).map_or(Cow::Borrowed(spelled), |decimal| Cow::Owned(decimal.spelled()))
}

/// Digits up to which a whole number is spelled out as its value.
const MOST_WHOLE: i64 = 40;

/// One spelling for one value, of a number in its canonical form: `3.0` is `3`, `1e20` is `100000000000000000000`, and
/// a zero has no sign. Exact, whatever its size.
pub(super) fn number_by_value(spelled: &str) -> Cow<'_, str> {
    if spelled.len() <= 40 && !spelled.contains(['.', 'e', 'E']) {
        return number(spelled);
    }
    let Some(decimal) = Decimal::read(spelled) else { return Cow::Borrowed(spelled) };
    let Decimal { is_negative, digits, exponent } = &decimal;
    let length = i64::try_from(digits.len()).unwrap_or(i64::MAX);
    Cow::Owned(match usize::try_from(exponent - length) {
        _ if digits.is_empty() => "0".to_owned(),
        Ok(zeros) if *exponent <= MOST_WHOLE => {
            format!("{}{digits}{}", if *is_negative { "-" } else { "" }, "0".repeat(zeros))
        }
        _ => decimal.spelled(),
    })
}

/// A decimal number: `0.DIGITS` times ten to the `exponent`.
struct Decimal {
    is_negative: bool,
    /// Without zeros at either end; none for zero.
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// None where the exponent is beyond all reckoning.
    fn read(spelled: &str) -> Option<Self> {
        let (whole, fraction, exponent) = number_parts(spelled)?;
        let exponent = i32::try_from(exponent?).ok()?;
        let is_negative = whole.starts_with('-');
        let whole = whole.trim_start_matches('-');
        let all = format!("{whole}{fraction}");
        let digits = all.trim_start_matches('0');
        let leading = all.len() - digits.len();
        let digits = digits.trim_end_matches('0').to_owned();
        let point = i64::try_from(whole.len()).ok()? - i64::try_from(leading).ok()?;
        let exponent = if digits.is_empty() { 0 } else { point + i64::from(exponent) };
        Some(Self { is_negative, digits, exponent })
    }

    /// Spells the number as a double of its size would be: with a point from 1e-5 to below 1e16, else with an
    /// exponent.
    fn spelled(&self) -> String {
        let Self { digits, exponent, .. } = self;
        let sign = if self.is_negative { "-" } else { "" };
        let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or(0));
        let length = i64::try_from(digits.len()).unwrap_or(i64::MAX);
        match exponent {
            _ if digits.is_empty() => format!("{sign}0.0"),
            -4..=0 => format!("{sign}0.{}{digits}", zeros(-exponent)),
            1..=16 if length <= *exponent => {
                format!("{sign}{digits}{}.0", zeros(exponent - length))
            }
            1..=16 => {
                let (whole, fraction) = digits.split_at(usize::try_from(*exponent).unwrap_or(0));
                format!("{sign}{whole}.{fraction}")
            }
            _ => {
                let (first, rest) = digits.split_at(digits.len().min(1));
                let point = if rest.is_empty() { "" } else { "." };
                format!("{sign}{first}{point}{rest}e{}", exponent - 1)
            }
        }
    }
}

/// A number as JSON spells it, if it is a whole one; exact, whatever its exponent.
pub(super) fn whole(spelled: &str) -> Option<i128> {
    if let Ok(whole) = spelled.parse::<i64>() {
        return number_parts(spelled).map(|_| i128::from(whole));
    }
    let (before, behind, exponent) = number_parts(spelled)?;
    let digits = format!("{before}{behind}");
    let (digits, sign) = match digits.strip_prefix('-') {
        Some(digits) => (digits, "-"),
        None => (digits.as_str(), ""),
    };
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    let dropped = i64::try_from(digits.len() - significant.len()).ok()?;
    let shift = exponent?.checked_sub(i64::try_from(behind.len()).ok()?)?.checked_add(dropped)?;
    let zeros = usize::try_from(shift).ok().filter(|zeros| *zeros <= MOST_DIGITS)?;
    format!("{sign}{significant}{}", "0".repeat(zeros)).parse().ok()
}

/// Whether a text is spelled as JSON spells a number: no zeros before it, no sign but a minus, digits around a point.
#[must_use]
pub fn is_number(text: &str) -> bool {
    let rest = match text.as_bytes() {
        [b'-', rest @ ..] | rest => rest,
    };
    let rest = match rest {
        [b'0', rest @ ..] => Some(rest),
        rest => behind(rest),
    };
    let rest = match rest {
        Some([b'.', rest @ ..]) => behind(rest),
        rest => rest,
    };
    let rest = match rest {
        Some([b'e' | b'E', b'+' | b'-', rest @ ..] | [b'e' | b'E', rest @ ..]) => behind(rest),
        rest => rest,
    };
    matches!(rest, Some([]))
}

/// What stands behind one digit or more.
fn behind(bytes: &[u8]) -> Option<&[u8]> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    bytes.get(digits..).filter(|_| digits > 0)
}

/// The digits of a JSON number before its point, with its sign, and behind it, and its exponent, which is none where it
/// is too large for 64 bits. None for what is not a number.
pub(super) fn number_parts(spelled: &str) -> Option<(&str, &str, Option<i64>)> {
    is_number(spelled).then_some(())?;
    let (mantissa, exponent) = match spelled.split_once(['e', 'E']) {
        None => (spelled, Some(0)),
        Some((mantissa, exponent)) => (mantissa, exponent.parse().ok()),
    };
    let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    Some((before, behind, exponent))
}
