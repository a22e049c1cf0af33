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

/// The digits of a JSON number before its point, with its sign, and behind it, and its exponent, which is none where it
/// is too large for 64 bits. None for what is no number.
pub(super) fn number_parts(spelled: &str) -> Option<(&str, &str, Option<i64>)> {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match spelled.split_once(['e', 'E']) {
        None => (spelled, Some(0)),
        Some((mantissa, exponent)) => {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            is_digits(digits).then_some(())?;
            (mantissa, exponent.parse().ok())
        }
    };
    let (before, behind) = match mantissa.split_once('.') {
        None => (mantissa, ""),
        Some((before, behind)) => (before, is_digits(behind).then_some(behind)?),
    };
    let digits = before.strip_prefix('-').unwrap_or(before);
    let is_number = is_digits(digits) && (digits == "0" || !digits.starts_with('0'));
    is_number.then_some((before, behind, exponent))
}
