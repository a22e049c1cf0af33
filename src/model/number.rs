//! Numbers as JSON spells them, read without a loss.

/// Digits of a whole number that are read: those of 128 bits.
const MOST_DIGITS: usize = 38;

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
/// is too large for 64 bits. None for what is no number.
pub(super) fn number_parts(spelled: &str) -> Option<(&str, &str, Option<i64>)> {
    is_number(spelled).then_some(())?;
    let (mantissa, exponent) = match spelled.split_once(['e', 'E']) {
        None => (spelled, Some(0)),
        Some((mantissa, exponent)) => (mantissa, exponent.parse().ok()),
    };
    let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    Some((before, behind, exponent))
}
