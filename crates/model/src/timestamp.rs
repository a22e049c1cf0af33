//! Timestamps as microseconds since 1970 in UTC: read from many spellings, shown in one, and counted by units of time.
//!
//! The units are year, quarter, month, week, day and hour.

use super::json_number::whole;
use crate::named;
use std::ops::Range;

const MICROSECONDS: i64 = 1_000_000;
const DAY: i64 = 86_400;
/// Days from the first of March of the year 0 to the first of January of 1970.
const BEFORE_1970: i64 = 719_468;
/// Days of 400 years.
const ERA: i64 = 146_097;
/// The years 1 to 9999, which every spelling and every engine has.
const YEARS: Range<i64> = -62_135_596_800_000_000..253_402_300_800_000_000;
/// The years 1900 to 2100, in which digits alone are a day.
const CENTURIES: Range<i64> = -2_208_988_800_000_000..4_133_980_800_000_000;
/// Days of these years in eight digits, and their seconds in fourteen, with numbers between that are neither.
const DAYS: Range<i128> = 19_000_101..21_010_101;
const SECONDS: Range<i128> = 19_000_101_000_000..21_010_101_000_000;
/// Two digits of a year from these on are of the last century, as POSIX reads them.
const LAST_CENTURY: i64 = 69;
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] =
    ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// Microseconds since 1970 of a date, or of a date and time:
///
/// * RFC 3339 and its relatives: `2024-03-31T01:30:00Z`, `2024-03-31 03:30:00.5+0200`, `.. 01:30 UTC`, `20240331T013000Z`;
///   an offset has hours alone, or minutes with a colon or without;
/// * of mail and the web: `Sun, 31 Mar 2024 01:30:00 GMT`, `Sunday, 31-Mar-24 01:30:00 GMT`,
///   `Sun Mar 31 01:30:00 2024`;
/// * fourteen digits, as web archives have them: `20240331013000`; eight, as warehouses have days, from 1900 to 2100.
///
/// A day alone is its first moment, a year alone is not a moment, a time without an offset is UTC, and what is finer
/// than microseconds is cut off. None for anything else, and outside the years 1 to 9999.
pub fn timestamp_of_text(text: &str) -> Option<i64> {
    let found = rfc3339(text).or_else(|| digits_alone(text)).or_else(|| iso(text));
    found.or_else(|| of_mail(text)).filter(|moment| YEARS.contains(moment))
}

/// Microseconds since 1970 of a number as JSON spells it. Eight digits that are a day from 1900 to 2100, and fourteen
/// that are a second of these years, are that: as seconds they would lie in 1970, as milliseconds after 2570, where
/// nobody has been. The size of any other says what it counts: below 10^11 seconds, below 10^14 milliseconds, below
/// 10^17 microseconds, else nanoseconds. None for what is not a number, and outside the years 1 to 9999.
pub(super) fn timestamp_of_number(spelled: &str) -> Option<i64> {
    let is_of_digits = |whole: &i128| DAYS.contains(whole) || SECONDS.contains(whole);
    let digits = whole(spelled).filter(is_of_digits).map(|whole| whole.to_string());
    let moment = digits.and_then(|digits| digits_alone(&digits));
    moment.or_else(|| timestamp_by_size(spelled))
}

/// Microseconds since 1970 of a number, by its size alone: as earlier releases read days and seconds in digits.
pub(super) fn timestamp_by_size(spelled: &str) -> Option<i64> {
    let moment = if let Some(whole) = whole(spelled) {
        match whole.unsigned_abs() {
            ..100_000_000_000 => whole.checked_mul(1_000_000)?,
            100_000_000_000..100_000_000_000_000 => whole.checked_mul(1_000)?,
            100_000_000_000_000..100_000_000_000_000_000 => whole,
            _ => whole.div_euclid(1_000),
        }
    } else {
        let number = spelled.parse().ok().filter(|number: &f64| number.is_finite())?;
        let moment = match number.abs() {
            size if size < 1e11 => number * 1e6,
            size if size < 1e14 => number * 1e3,
            size if size < 1e17 => number,
            _ => number / 1e3,
        };
        // A cast of what is too large is outside all years.
        moment.round() as i128
    };
    i64::try_from(moment).ok().filter(|moment| YEARS.contains(moment))
}

/// Microseconds since 1970 of an RFC 3339 date and time, of any year: what releases before the other spellings read.
pub(super) fn rfc3339(text: &str) -> Option<i64> {
    let (day, rest) = text.split_at_checked(10)?;
    let mut parts = day.split('-');
    let (year, month, day) =
        (digits(parts.next()?, 4)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    if parts.next().is_some() || !(1..=12).contains(&month) || day < 1 || day > days(year, month) {
        return None;
    }
    let seconds = days_since_1970(year, month, day) * DAY;
    if rest.is_empty() {
        return Some(seconds * MICROSECONDS);
    }
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, rest) = rest.split_at_checked(8)?;
    let mut parts = clock.split(':');
    let (hour, minute, second) =
        (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    // A leap second is the one after it.
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (fraction, rest) = fraction(rest, &['.'])?;
    let seconds = seconds + hour * 3600 + minute * 60 + second - offset(rest)?;
    Some(seconds * MICROSECONDS + fraction)
}

/// Microseconds since 1970 of seconds since then, whatever their size: what releases before the other units read. None
/// for what is not a number or beyond 290,000 years.
pub(super) fn seconds_since_1970(spelled: &str) -> Option<i64> {
    if let Ok(seconds) = spelled.parse::<i64>() {
        return seconds.checked_mul(MICROSECONDS);
    }
    let microseconds = (spelled.parse::<f64>().ok()? * MICROSECONDS as f64).round();
    // Beyond 2^63 a double is not an integer of 64 bits.
    (microseconds.abs() < 9.2e18).then_some(microseconds as i64)
}

/// One spelling for one value of a text that is a date, a date and time, or a time with seconds, in the forms of ISO
/// 8601 that programs write: a moment is in UTC, without zeros at the end of its fraction, a first moment of a day is
/// that day. None for any other text.
pub(super) fn moment_by_value(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    if !bytes.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    if clock.len() == 8 && bytes.get(2) == Some(&b':') {
        self::clock(clock)?;
        let is_fraction = fraction.bytes().all(|byte| byte.is_ascii_digit());
        return is_fraction.then(|| with_fraction(clock, fraction, ""));
    }
    let is_date = bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-');
    let moment = is_date.then(|| timestamp_of_text(text)).flatten()?;
    let fraction = text.split_once(['.', ',']).map_or("", |(_, fraction)| fraction);
    let fraction = fraction.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    let shown = shown_moment(moment.div_euclid(MICROSECONDS), 0);
    let shown = with_fraction(shown.trim_end_matches('Z'), fraction, "Z");
    Some(shown.strip_suffix("T00:00:00Z").map(str::to_owned).unwrap_or(shown))
}

/// A time with a fraction that has no zeros at its end, if there is one, and what stands behind it.
fn with_fraction(clock: &str, fraction: &str, behind: &str) -> String {
    match fraction.trim_end_matches('0') {
        "" => format!("{clock}{behind}"),
        fraction => format!("{clock}.{fraction}{behind}"),
    }
}

/// The RFC 3339 form of a timestamp, in UTC; a fraction only where there is one.
#[must_use]
pub fn shown_timestamp(microseconds: i64) -> String {
    let fraction = microseconds.rem_euclid(MICROSECONDS) * 1000;
    shown_moment(microseconds.div_euclid(MICROSECONDS), fraction)
}

/// The RFC 3339 form of seconds since 1970 and nanoseconds: six digits of a fraction, or nine where it has more.
#[must_use]
pub fn shown_moment(seconds: i64, nanoseconds: i64) -> String {
    let (year, month, day) = date(seconds.div_euclid(DAY));
    let clock = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    let fraction = match nanoseconds {
        0 => String::new(),
        some if some % 1000 == 0 => format!(".{:06}", some / 1000),
        some => format!(".{some:09}"),
    };
    // Beyond four digits ISO 8601 asks for a sign.
    let sign = match year {
        ..0 => "-",
        10_000.. => "+",
        _ => "",
    };
    let year = year.abs();
    format!("{sign}{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// Microseconds of a fraction of a second at the beginning of a text, 0 where there is none, and the rest.
fn fraction<'t>(text: &'t str, points: &[char]) -> Option<(i64, &'t str)> {
    let Some(rest) = text.strip_prefix(points) else { return Some((0, text)) };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (fraction, rest) = rest.split_at_checked(end)?;
    if fraction.is_empty() {
        return None;
    }
    let six: String = fraction.chars().chain("000000".chars()).take(6).collect();
    Some((six.parse().ok()?, rest))
}

/// Fourteen digits, or eight of a day from 1900 to 2100.
fn digits_alone(text: &str) -> Option<i64> {
    let (day, clock) = text.split_at_checked(8)?;
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match (is_digits, clock.len()) {
        (true, 0) => compact_day(day).filter(|moment| CENTURIES.contains(moment)),
        (true, 6) => Some(compact_day(day)? + self::clock(clock)?),
        _ => None,
    }
}

/// Whether a text is eight digits, which may be a day.
pub(super) fn is_day_of_digits(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What is like RFC 3339: without marks between the digits, without seconds, with another offset.
fn iso(text: &str) -> Option<i64> {
    let length = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    let (date, rest) = text.split_at_checked(length)?;
    let mut parts = date.split('-');
    let day = match (parts.next()?, parts.next(), parts.next(), parts.next()) {
        (year, Some(month), Some(day), None) => {
            midnight(digits(year, 4)?, digits(month, 2)?, digits(day, 2)?)?
        }
        (day, None, ..) => compact_day(day)?,
        _ => return None,
    };
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let length = rest.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(rest.len());
    let (clock, rest) = rest.split_at_checked(length)?;
    let (fraction, rest) = fraction(rest, &['.', ','])?;
    Some(day + self::clock(clock)? + fraction - zone(rest)? * MICROSECONDS)
}

/// A date of mail and of the web: RFC 2822 and 9110, and that of C's `asctime` with a zone or without.
fn of_mail(text: &str) -> Option<i64> {
    let words: Vec<&str> = text.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let words = match words.as_slice() {
        [first, rest @ ..] if is_name_of(first, &WEEKDAYS) => rest,
        all => all,
    };
    let (day, clock, zone) = match words {
        [month, day, clock, zone, year] if place_of(month, &MONTHS).is_some() => {
            (dated(day, month, year)?, clock, *zone)
        }
        [month, day, clock, year] if place_of(month, &MONTHS).is_some() => {
            (dated(day, month, year)?, clock, "")
        }
        [day, month, year, clock, zone] => (dated(day, month, year)?, clock, *zone),
        [day, month, year, clock] => (dated(day, month, year)?, clock, ""),
        [date, clock, zone] => {
            let mut parts = date.split('-');
            let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
            (parts.next().is_none().then(|| dated(day, month, year))??, clock, *zone)
        }
        _ => return None,
    };
    clock.contains(':').then_some(())?;
    Some(day + self::clock(clock)? - self::zone(zone)? * MICROSECONDS)
}

/// Whether a word is one of some names, or their first three letters.
fn is_name_of(word: &str, names: &[&str]) -> bool {
    let word = word.to_ascii_lowercase();
    names.iter().any(|name| *name == word || name.get(..3) == Some(word.as_str()))
}

fn place_of(word: &str, names: &[&str]) -> Option<i64> {
    let place = names.iter().position(|name| word.eq_ignore_ascii_case(name))?;
    i64::try_from(place).ok()
}

/// The first moment of a day whose month is a name, and whose year may have two digits.
fn dated(day: &str, month: &str, year: &str) -> Option<i64> {
    let year = match year.len() {
        2 => {
            let year = digits(year, 2)?;
            year + if year < LAST_CENTURY { 2000 } else { 1900 }
        }
        _ => digits(year, 4)?,
    };
    midnight(year, place_of(month, &MONTHS)? + 1, digits(day, day.len().clamp(1, 2))?)
}

fn compact_day(day: &str) -> Option<i64> {
    let (year, month_and_day) = day.split_at_checked(4)?;
    let (month, day) = month_and_day.split_at_checked(2)?;
    midnight(digits(year, 4)?, digits(month, 2)?, digits(day, 2)?)
}

/// The first moment of a day.
fn midnight(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_day = (1..=12).contains(&month) && day >= 1 && day <= days(year, month);
    is_day.then(|| days_since_1970(year, month, day) * DAY * MICROSECONDS)
}

/// Microseconds of hours, minutes and perhaps seconds, with colons or without. A leap second is the one after it.
fn clock(text: &str) -> Option<i64> {
    let digits_of = |at: usize| digits(text.get(at..at + 2)?, 2);
    let colon = |at: usize| text.get(at..=at) == Some(":");
    let (hour, minute, second) = match text.len() {
        4 => (digits_of(0)?, digits_of(2)?, 0),
        5 if colon(2) => (digits_of(0)?, digits_of(3)?, 0),
        6 => (digits_of(0)?, digits_of(2)?, digits_of(4)?),
        8 if colon(2) && colon(5) => (digits_of(0)?, digits_of(3)?, digits_of(6)?),
        _ => return None,
    };
    let is_clock = hour < 24 && minute < 60 && second <= 60;
    is_clock.then_some((hour * 3600 + minute * 60 + second) * MICROSECONDS)
}

/// Seconds that a zone is east of UTC: as an offset, or as a name of UTC, behind a space or not.
fn zone(text: &str) -> Option<i64> {
    let text = text.strip_prefix(' ').unwrap_or(text);
    if ["UTC", "GMT", "UT"].iter().any(|name| text.eq_ignore_ascii_case(name)) {
        return Some(0);
    }
    if let Some(offset) = offset(text) {
        return Some(offset);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let rest = text.strip_prefix(['+', '-'])?;
    let (hours, minutes) = match rest.len() {
        2 => (digits(rest, 2)?, 0),
        4 => (digits(rest.get(..2)?, 2)?, digits(rest.get(2..)?, 2)?),
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Seconds that an offset is east of UTC; none for what is not an offset.
fn offset(text: &str) -> Option<i64> {
    if matches!(text, "" | "Z" | "z") {
        return Some(0);
    }
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// A number of exactly `count` digits.
fn digits(text: &str, count: usize) -> Option<i64> {
    let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

const fn days(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days of the Gregorian calendar, with years that begin in March so that the leap day comes last.
const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - BEFORE_1970
}

/// Year, month and day: the inverse of [`days_since_1970`].
const fn date(days: i64) -> (i64, i64, i64) {
    let days = days + BEFORE_1970;
    let (era, of_era) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + if month <= 2 { 1 } else { 0 }, month, day)
}

/// Days of a week.
const WEEK: i64 = 7;

/// A unit of time. Its moments are known by the first one, in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// From the first of January on.
    Year,
    /// From the first of January, April, July or October on.
    Quarter,
    /// From the first of a month on.
    Month,
    /// From a Monday on (ISO 8601).
    Week,
    /// From midnight on.
    Day,
    /// From a full hour on.
    Hour,
}

named!(TimeUnit {
    Year = "year", Quarter = "quarter", Month = "month", Week = "week", Day = "day", Hour = "hour",
});

impl TimeUnit {
    /// The first moment of the unit that a moment lies in.
    #[must_use]
    pub fn begin(self, microseconds: i64) -> i64 {
        let seconds = microseconds.div_euclid(MICROSECONDS);
        let day = seconds.div_euclid(DAY);
        let (year, month, _) = date(day);
        let day = match self {
            Self::Hour => {
                return (seconds - seconds.rem_euclid(3600)).saturating_mul(MICROSECONDS);
            }
            Self::Year => days_since_1970(year, 1, 1),
            Self::Quarter => days_since_1970(year, (month - 1) / 3 * 3 + 1, 1),
            Self::Month => days_since_1970(year, month, 1),
            Self::Week => day - weekday(day),
            Self::Day => day,
        };
        (day * DAY).saturating_mul(MICROSECONDS)
    }

    /// The unit that a moment lies in, as people write it; what is earlier sorts first.
    #[must_use]
    pub fn shown(self, microseconds: i64) -> String {
        let seconds = microseconds.div_euclid(MICROSECONDS);
        let days = seconds.div_euclid(DAY);
        let (year, month, day) = date(days);
        match self {
            Self::Year => format!("{year:04}"),
            Self::Quarter => format!("{year:04}-Q{}", (month - 1) / 3 + 1),
            Self::Month => format!("{year:04}-{month:02}"),
            Self::Week => {
                // A week is of the year that its Thursday lies in.
                let thursday = days - weekday(days) + 3;
                let (year, _, _) = date(thursday);
                let week = (thursday - days_since_1970(year, 1, 1)) / WEEK + 1;
                format!("{year:04}-W{week:02}")
            }
            Self::Day => format!("{year:04}-{month:02}-{day:02}"),
            Self::Hour => {
                format!("{year:04}-{month:02}-{day:02}T{:02}", seconds.rem_euclid(DAY) / 3600)
            }
        }
    }
}

/// Days since Monday; the first of January of 1970 was a Thursday.
const fn weekday(days: i64) -> i64 {
    (days + 3).rem_euclid(WEEK)
}

#[cfg(test)]
#[path = "timestamp_tests.rs"]
mod tests;
