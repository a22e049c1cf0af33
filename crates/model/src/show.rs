//! Numbers, sizes, shares and texts as people read them: one rule of each, for the command, pages and reports.

pub use super::timestamp::shown_timestamp;
use std::borrow::Cow;

/// A text as SQL spells it.
#[doc(hidden)]
pub fn sql_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Whether a count is left out of reports, where it is mostly zero: serde calls it with a reference.
#[doc(hidden)]
pub const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A number with thousands separated: `1,234,567`.
pub fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of things, with the word in singular or plural: `1 document`, `1,200 documents`.
pub fn count(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(value), if value == 1 { one } else { many })
}

/// A size in the unit that fits, of 1000 each: `999 B`, `1.0 kB`, `3.2 TB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    for (at, unit) in UNITS.iter().enumerate() {
        // What would be rounded to 1000.0 is one of the next unit.
        if value < 999.95 || at + 1 == UNITS.len() {
            return format!("{value:.1} {unit}");
        }
        value /= 1000.0;
    }
    format!("{bytes} B")
}

/// A share of a whole in percent, to one decimal: `12.5 %`. Neither a little is written as nothing, nor almost all as
/// all.
pub fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.0005 {
        return "<0.1 %".to_owned();
    }
    if (0.9995..1.0).contains(&share) {
        return ">99.9 %".to_owned();
    }
    format!("{:.1} %", 100.0 * share)
}

/// A part of a whole in percent; 0 of nothing.
pub fn percent_of(part: u64, whole: u64) -> String {
    percent(share(part, whole))
}

/// A part of a whole; 0 of nothing.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A probability to four decimals, never rounded to certainty: `0.9876`, `>0.9999`.
pub fn probability(value: f64) -> String {
    if value > 0.9999 && value < 1.0 {
        ">0.9999".to_owned()
    } else if value > 0.0 && value < 0.0001 {
        "<0.0001".to_owned()
    } else {
        format!("{value:.4}")
    }
}

/// A measured value to four digits: `0.1235`, `12.35`, `12,346`, `1.235e-5`. Whole numbers below a billion keep all of
/// their digits.
pub fn decimals(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return value.to_string();
    }
    if (value.fract() == 0.0 || size >= 9999.5) && size < 1e9 {
        let sign = if value <= -0.5 { "-" } else { "" };
        // Below a billion, and rounded: the cast is exact.
        return format!("{sign}{}", number(size.round() as u64));
    }
    if !(0.001..1e9).contains(&size) {
        return format!("{value:.3e}");
    }
    let digits = (3.0 - size.log10().floor()).clamp(0.0, 6.0) as usize;
    let shown = format!("{value:.digits$}");
    match shown.contains('.') {
        true => shown.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => shown,
    }
}

/// A count in thousands, millions or billions, for axes: `1.5 k`, `23 M`.
pub fn short(value: u64) -> String {
    let units = [(1_000_000_000_u32, " G"), (1_000_000, " M"), (1_000, " k")];
    match units.iter().find(|(unit, _)| value >= u64::from(*unit)) {
        Some((unit, name)) => {
            let value = value as f64 / f64::from(*unit);
            if value < 10.0 { format!("{value:.1}{name}") } else { format!("{value:.0}{name}") }
        }
        None => value.to_string(),
    }
}

/// Seconds as a person says them: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`.
pub fn seconds(value: f64) -> String {
    if value < 9.95 {
        return format!("{value:.1} s");
    }
    let whole = value.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Some things one after another, as a sentence has them: `a, b and c`.
pub fn listed<T: AsRef<str>>(items: &[T]) -> String {
    let texts: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match texts.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Text of a stranger that a terminal shows and does not obey: controls (C0, DEL, C1) and the marks that turn the
/// direction of what follows are U+FFFD. Line ends and tabs stay.
pub fn terminal_safe(text: &str) -> Cow<'_, str> {
    replaced(text, |c| matches!(c, '\n' | '\t'))
}

/// Text made safe as by [`terminal_safe`], on one line: for cells, names and messages.
pub fn one_line(text: &str) -> Cow<'_, str> {
    replaced(text, |_| false)
}

fn replaced(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_obeyed = |c: char| acts_on_terminals(c) && !stays(c);
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if is_obeyed(c) { '\u{fffd}' } else { c }).collect())
}

/// Whether a terminal acts on a character instead of showing it.
pub fn acts_on_terminals(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_sizes_are_rounded_into_the_unit_that_fits() {
        assert_eq!((number(0), number(1_234_567)), ("0".into(), "1,234,567".into()));
        let sizes = [0, 999, 1000, 999_949, 999_950, 999_999, 1_500_000_000, 3_200_000_000_000];
        let shown = ["0 B", "999 B", "1.0 kB", "999.9 kB", "1.0 MB", "1.0 MB", "1.5 GB", "3.2 TB"];
        assert_eq!(sizes.map(size), shown);
        assert_eq!(size(u64::MAX), "18446.7 PB");
    }

    #[test]
    fn a_share_is_neither_rounded_to_nothing_nor_to_all() {
        let shares = [0.0, 0.0004, 0.0005, 0.125, 0.9994, 0.9996, 1.0];
        let shown = ["0.0 %", "<0.1 %", "0.1 %", "12.5 %", "99.9 %", ">99.9 %", "100.0 %"];
        assert_eq!(shares.map(percent), shown);
        assert_eq!((percent_of(1, 0), percent_of(1, 4)), ("0.0 %".into(), "25.0 %".into()));
        assert_eq!(
            [0.99999, 0.5, 1.0, 0.00001].map(probability),
            [">0.9999", "0.5000", "1.0000", "<0.0001"]
        );
    }

    #[test]
    fn decimals_have_four_digits_and_whole_numbers_all() {
        let values = [
            0.0,
            3.0,
            -3.0,
            0.123_456,
            1.5,
            12.345_67,
            -2.25,
            9999.7,
            123_456.7,
            0.000_012_345,
            2.5e12,
        ];
        let shown = [
            "0", "3", "-3", "0.1235", "1.5", "12.35", "-2.25", "10,000", "123,457", "1.234e-5",
            "2.500e12",
        ];
        assert_eq!(values.map(decimals), shown);
        assert_eq!(
            (decimals(f64::NAN), decimals(123_456_789.0)),
            ("NaN".into(), "123,456,789".into())
        );
    }

    #[test]
    fn a_terminal_obeys_nothing_of_a_text() {
        let text = "a\x1b[31mRED\u{9b}2J\u{202e}evil\u{2066}\x07\x7f\r\tb\nc";
        assert_eq!(
            terminal_safe(text),
            "a\u{fffd}[31mRED\u{fffd}2J\u{fffd}evil\u{fffd}\u{fffd}\u{fffd}\u{fffd}\tb\nc"
        );
        assert!(!one_line("a\nb\tc").contains(['\n', '\t']));
        assert!(matches!(terminal_safe("héllo 你好\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn times_are_said_in_two_units() {
        assert_eq!(
            [0.04, 9.96, 59.6, 200.0, 7500.0].map(seconds),
            ["0.0 s", "10 s", "1 min 0 s", "3 min 20 s", "2 h 5 min"]
        );
    }
}
