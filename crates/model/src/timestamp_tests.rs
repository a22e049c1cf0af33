//! Tests of timestamps in every spelling, and of the units of time that they lie in.

use super::*;
use proptest::prelude::*;

#[test]
fn texts_of_the_standard_are_read() {
    for (text, microseconds) in [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01", 0),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("2024-02-29T12:00:00+02:00", 1_709_200_800_000_000),
        ("2024-02-29t10:00:00.5z", 1_709_200_800_500_000),
        ("2024-02-29 10:00:00.1234567", 1_709_200_800_123_456),
        ("1990-12-31T15:59:60-08:00", 662_688_000_000_000),
        ("0001-01-01T00:00:00Z", YEARS.start),
        ("9999-12-31T23:59:59.999999999Z", YEARS.end - 1),
    ] {
        assert_eq!(timestamp_of_text(text), Some(microseconds), "{text}");
        assert_eq!(rfc3339(text), Some(microseconds), "{text}");
    }
}

#[test]
fn one_moment_is_read_from_every_spelling_that_programs_write() {
    for text in [
        "2024-03-31T01:30:00Z",
        "2024-03-31T03:30:00+0200",
        "2024-03-31T03:30:00+02",
        "2024-03-31 03:30:00 +0200",
        "2024-03-31 03:30:00 +02:00",
        "2024-03-30T20:00:00-05:30",
        "2024-03-31 01:30:00 UTC",
        "2024-03-31 01:30:00 GMT",
        "2024-03-31 01:30:00UTC",
        "2024-03-31 01:30:00.000 Z",
        "2024-03-31T01:30:00,000Z",
        "2024-03-31T01:30",
        "2024-03-31T01:30Z",
        "2024-03-31 03:30+02:00",
        "2024-03-31T01:30:00.000000000Z",
        "20240331T013000Z",
        "20240331T0130Z",
        "20240331T033000+0200",
        "20240331013000",
        "Sun, 31 Mar 2024 01:30:00 GMT",
        "Sun, 31 Mar 2024 03:30:00 +0200",
        "31 Mar 2024 01:30:00 UT",
        "31 Mar 2024 01:30 GMT",
        "Sunday, 31-Mar-24 01:30:00 GMT",
        "Sun, 31-Mar-2024 01:30:00 GMT",
        "Sun Mar 31 01:30:00 2024",
        "Sun Mar 31 01:30:00 UTC 2024",
        "Sun Mar 31 03:30:00 +0200 2024",
    ] {
        assert_eq!(timestamp_of_text(text), Some(1_711_848_600_000_000), "{text}");
    }
    for (text, same) in [
        ("20240331", "2024-03-31"),
        ("21001231", "2100-12-31"),
        ("Fri Mar  1 01:30:00 2024", "2024-03-01T01:30:00Z"),
        ("Fri, 1 Mar 2024 01:30:00 GMT", "2024-03-01T01:30:00Z"),
        ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("2024-03-31T01:30:00.123456789+0000", "2024-03-31T01:30:00.123456Z"),
    ] {
        assert_eq!(timestamp_of_text(text), rfc3339(same), "{text}");
        assert!(timestamp_of_text(text).is_some(), "{text}");
    }
}

#[test]
fn ambiguous_timestamps_are_refused() {
    for text in [
        "",
        "2023-02-29",
        "2024-02-30T00:00:00Z",
        "2024-13-01",
        "2024-00-01",
        "2024-01-32",
        "2024-1-1",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:60:00Z",
        "2024-01-01T00:00:61Z",
        "2024-01-01T00:00:00.Z",
        "2024-01-01T00:00:00+2",
        "2024-01-01T00:00:00+020",
        "2024-01-01T00:00:00+24",
        "2024-01-01T00:00:00 CET",
        "2024-01-01T00",
        "2024-01-01X00:00:00Z",
        "01/02/2024",
        "2024/03/31",
        "2024-03",
        "20241331",
        "18991231",
        "21010101",
        "202403310130",
        "1711848600",
        "20241331013000",
        "0000",
        "0000-03-01T00:00:00Z",
        "yesterday!",
        "+024-01-01",
        "20\u{e9}4-01-01",
        "Sun, 31 Mar 2024 01:30:00 EST",
        "Sun, 31 Mars 2024 01:30:00 GMT",
        "Sun, 30 Feb 2024 01:30:00 GMT",
        "Foo, 31 Mar 2024 01:30:00 GMT",
        "Sun, 31 Mar 2024 0130 GMT",
        "31 Mar 2024",
    ] {
        assert_eq!(timestamp_of_text(text), None, "{text}");
    }
}

#[test]
fn the_size_of_a_number_says_what_it_counts() {
    for number in [
        "1711848600",
        "1711848600.0",
        "1.7118486e9",
        "1711848600000",
        "1711848600000000",
        "1711848600000000999",
        "1711848600000.2e-3",
    ] {
        let moment = timestamp_of_number(number).unwrap();
        assert_eq!(moment - moment % MICROSECONDS, 1_711_848_600_000_000, "{number}");
    }
    for (number, moment) in [
        ("0", 0),
        ("2024", 2_024_000_000),
        ("-0.25", -250_000),
        ("-1711848600000", -1_711_848_600_000_000),
        ("99999999999", 99_999_999_999_000_000),
        ("100000000000", 100_000_000_000_000),
        ("-62135596800", YEARS.start),
        ("20000000000000000000", 20_000_000_000_000_000),
        ("-1000000000000000001", -1_000_000_000_000_001),
    ] {
        assert_eq!(timestamp_of_number(number), Some(moment), "{number}");
    }
    for (digits, same) in [
        ("20240331", "2024-03-31"),
        ("20240331.0", "2024-03-31"),
        ("19000101", "1900-01-01"),
        ("21001231", "2100-12-31"),
        ("20240331013000", "2024-03-31T01:30:00Z"),
        ("19691231235959", "1969-12-31T23:59:59Z"),
        // No day and no second of these years: seconds and milliseconds.
        ("18991231", "1970-08-08T19:20:31Z"),
        ("20241331", "1970-08-23T06:35:31Z"),
        ("20240230", "1970-08-23T06:17:10Z"),
        ("-20240331", "1969-05-11T17:41:09Z"),
        ("20240331016000", "2611-05-24T02:10:16Z"),
    ] {
        assert_eq!(timestamp_of_number(digits), timestamp_of_text(same), "{digits}");
    }
    for none in ["-62135596801", "1e30", "1e300", "1e400", "NaN", "\"1\"", "true", ""] {
        assert_eq!(timestamp_of_number(none), None, "{none}");
    }
}

proptest! {
    #[test]
    fn shown_timestamps_read_back(microseconds in YEARS) {
        let shown = shown_timestamp(microseconds);
        prop_assert_eq!(timestamp_of_text(&shown), Some(microseconds), "{}", shown);
    }

    #[test]
    fn no_text_panics(text in "[0-9TZSunMar:+., -]{0,30}|.{0,20}") {
        let _ = (timestamp_of_text(&text), timestamp_of_number(&text));
    }
}

#[test]
fn moments_lie_in_the_units_that_calendars_have() {
    let shown = |text: &str| {
        let moment = timestamp_of_text(text).unwrap();
        TimeUnit::ALL.map(|unit| unit.shown(moment)).join(" ")
    };
    for (text, units) in [
        ("2024-03-05T14:59:59Z", "2024 2024-Q1 2024-03 2024-W10 2024-03-05 2024-03-05T14"),
        ("2024-12-30T00:00:00Z", "2024 2024-Q4 2024-12 2025-W01 2024-12-30 2024-12-30T00"),
        ("2021-01-03T23:00:00Z", "2021 2021-Q1 2021-01 2020-W53 2021-01-03 2021-01-03T23"),
        ("1969-12-31T23:59:59.5Z", "1969 1969-Q4 1969-12 1970-W01 1969-12-31 1969-12-31T23"),
        ("2024-02-29T01:00:00+02:00", "2024 2024-Q1 2024-02 2024-W09 2024-02-28 2024-02-28T23"),
    ] {
        assert_eq!(shown(text), units, "{text}");
    }
    assert_eq!(TimeUnit::from_name("month"), Some(TimeUnit::Month));
    assert_eq!(TimeUnit::from_name("Month"), None);
}

proptest! {
    /// A unit begins at or before its moments, is the same for its beginning, and another one just before that.
    #[test]
    fn a_unit_is_known_by_its_first_moment(
        microseconds in -62_135_596_800_000_000_i64..253_402_300_800_000_000,
        unit in proptest::sample::select(&TimeUnit::ALL[..]),
    ) {
        let begin = unit.begin(microseconds);
        prop_assert!(begin <= microseconds);
        prop_assert_eq!(unit.begin(begin), begin);
        prop_assert_eq!(unit.shown(begin), unit.shown(microseconds));
        prop_assert!(unit.begin(begin - 1) < begin);
        prop_assert!(unit.shown(begin - 1) < unit.shown(begin));
    }
}

#[test]
fn the_first_and_last_moments_there_are_have_units() {
    for unit in TimeUnit::ALL {
        for moment in [i64::MIN, i64::MAX] {
            assert!(unit.begin(moment) <= moment && !unit.shown(moment).is_empty());
        }
    }
}

#[test]
fn one_moment_has_one_value() {
    for (text, value) in [
        ("2024-03-31 01:30:00", "2024-03-31T01:30:00Z"),
        ("2024-03-31T03:30:00.100000+02:00", "2024-03-31T01:30:00.1Z"),
        ("2024-03-31T01:30:00.123456789Z", "2024-03-31T01:30:00.123456789Z"),
        ("2024-03-31 01:30:00.1230+00", "2024-03-31T01:30:00.123Z"),
        ("2024-03-31T00:00:00.000", "2024-03-31"),
        ("2024-03-31", "2024-03-31"),
        ("01:30:00.500000", "01:30:00.5"),
        ("23:59:59", "23:59:59"),
    ] {
        assert_eq!(moment_by_value(text).as_deref(), Some(value), "{text}");
        assert_eq!(moment_by_value(value).as_deref(), Some(value), "{value}");
    }
    for text in [
        "20240331",
        "31 Mar 2024 01:30 GMT",
        "2024-13-01",
        "1:30:00",
        "01:30:00Z",
        "24:00:00",
        "",
        "2024",
    ] {
        assert_eq!(moment_by_value(text), None, "{text}");
    }
}

/// Regression: the year before 0 was `-001`.
#[test]
fn years_of_other_lengths_have_their_sign() {
    for (seconds, shown) in [
        (-62_167_402_800, "-0001-12-29T21:00:00Z"),
        (-62_167_219_200, "0000-01-01T00:00:00Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z"),
        (253_402_300_800, "+10000-01-01T00:00:00Z"),
    ] {
        assert_eq!(shown_moment(seconds, 0), shown);
    }
}
