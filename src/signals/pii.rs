//! Personal data in a text: where addresses, telephone numbers, cards and accounts stand. Nothing is rewritten.
//!
//! One walk over the text: where a word or number begins, it is tried as an account (IBAN), a card, an address of IPv4
//! or IPv6, and a telephone number; around every `@` as an address for mail.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// What personal data are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PersonalData {
    /// The number of a payment card.
    Card,
    /// An address for mail.
    Email,
    /// The number of a bank account.
    Iban,
    /// A public address of IPv4.
    Ipv4,
    /// A public address of IPv6.
    Ipv6,
    /// A telephone number.
    Phone,
}

impl PersonalData {
    /// Its word in answers.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::Email => "email",
            Self::Iban => "iban",
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
            Self::Phone => "phone",
        }
    }
}

/// Personal data of a text with their bytes, in the order in which they stand; none overlap.
pub(crate) fn pii(text: &str) -> impl Iterator<Item = (PersonalData, Range<usize>)> {
    let bytes = text.as_bytes();
    let (mut at, mut from) = (0, 0);
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let here = at;
            at += 1;
            if let Some((what, place)) = found(bytes, here, from) {
                (at, from) = (place.end, place.end);
                return Some((what, place));
            }
        }
        None
    })
}

/// What begins at a byte, or around an `@` there; nothing before `from` belongs to it.
fn found(bytes: &[u8], at: usize, from: usize) -> Option<(PersonalData, Range<usize>)> {
    let first = *bytes.get(at)?;
    if first == b'@' {
        return email(bytes, at, from).map(|place| (PersonalData::Email, place));
    }
    let begins = first.is_ascii_alphanumeric() || matches!(first, b'+' | b'(');
    if !begins || at.checked_sub(1).is_some_and(|before| is_word(bytes, before)) {
        return None;
    }
    let upto = |end: usize| at..end;
    if first.is_ascii_uppercase()
        && let Some(end) = iban(bytes, at)
    {
        return Some((PersonalData::Iban, upto(end)));
    }
    if first.is_ascii_digit() {
        if let Some(end) = card(bytes, at) {
            return Some((PersonalData::Card, upto(end)));
        }
        if let Some(end) = ipv4(bytes, at) {
            return Some((PersonalData::Ipv4, upto(end)));
        }
        if let Some(end) = ipv6(bytes, at) {
            return Some((PersonalData::Ipv6, upto(end)));
        }
    }
    phone(bytes, at).map(|end| (PersonalData::Phone, upto(end)))
}

/// Whether a byte is of a word or number: what begins behind it would be a part of it.
fn is_word(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte > 127)
}

/// Whether a number or word ends before `end`: no letter or digit follows, and no sign with a digit behind it.
fn ends(bytes: &[u8], end: usize, signs: &[u8]) -> bool {
    if is_word(bytes, end) {
        return false;
    }
    let is_sign = bytes.get(end).is_some_and(|byte| signs.contains(byte));
    !(is_sign && bytes.get(end + 1).is_some_and(u8::is_ascii_digit))
}

/// Bytes that a part of an address has at most (RFC 5321).
const LOCAL: usize = 64;
const DOMAIN: usize = 255;

/// The address around an `@`: before it letters, digits and `._%+-`; behind it two labels or more, the last one of
/// letters alone.
fn email(bytes: &[u8], at: usize, from: usize) -> Option<Range<usize>> {
    let before = bytes.get(from.max(at.saturating_sub(LOCAL + 1))..at)?;
    let is_local = |byte: &&u8| byte.is_ascii_alphanumeric() || b"._%+-".contains(byte);
    let local = before.iter().rev().take_while(is_local).count();
    let run = bytes.get(at - local..at)?;
    let dots = run.iter().take_while(|byte| !byte.is_ascii_alphanumeric()).count();
    let local = run.get(dots..)?;
    if local.is_empty() || local.len() > LOCAL || local.ends_with(b".") {
        return None;
    }
    let after = bytes.get(at + 1..bytes.len().min(at + 1 + DOMAIN))?;
    let is_domain = |byte: &&u8| byte.is_ascii_alphanumeric() || b".-".contains(byte);
    let run = after.get(..after.iter().take_while(is_domain).count())?;
    let mut best = None;
    let mut end = 0;
    for (nth, label) in run.split(|byte| *byte == b'.').enumerate() {
        if label.is_empty() || label.starts_with(b"-") || label.ends_with(b"-") {
            break;
        }
        end += label.len() + usize::from(nth > 0);
        if nth > 0 && label.len() > 1 && label.iter().all(u8::is_ascii_alphabetic) {
            best = Some(end);
        }
    }
    Some(at - local.len()..at + 1 + best?)
}

/// Countries that have them, and their lengths.
const LENGTHS: [(&[u8; 2], usize); 79] = [
    (b"AD", 24),
    (b"AE", 23),
    (b"AL", 28),
    (b"AT", 20),
    (b"AZ", 28),
    (b"BA", 20),
    (b"BE", 16),
    (b"BG", 22),
    (b"BH", 22),
    (b"BR", 29),
    (b"BY", 28),
    (b"CH", 21),
    (b"CR", 22),
    (b"CY", 28),
    (b"CZ", 24),
    (b"DE", 22),
    (b"DJ", 27),
    (b"DK", 18),
    (b"DO", 28),
    (b"EE", 20),
    (b"EG", 29),
    (b"ES", 24),
    (b"FI", 18),
    (b"FK", 18),
    (b"FO", 18),
    (b"FR", 27),
    (b"GB", 22),
    (b"GE", 22),
    (b"GI", 23),
    (b"GL", 18),
    (b"GR", 27),
    (b"GT", 28),
    (b"HR", 21),
    (b"HU", 28),
    (b"IE", 22),
    (b"IL", 23),
    (b"IQ", 23),
    (b"IS", 26),
    (b"IT", 27),
    (b"JO", 30),
    (b"KW", 30),
    (b"KZ", 20),
    (b"LB", 28),
    (b"LC", 32),
    (b"LI", 21),
    (b"LT", 20),
    (b"LU", 20),
    (b"LV", 21),
    (b"LY", 25),
    (b"MC", 27),
    (b"MD", 24),
    (b"ME", 22),
    (b"MK", 19),
    (b"MN", 20),
    (b"MR", 27),
    (b"MT", 31),
    (b"MU", 30),
    (b"NL", 18),
    (b"NO", 15),
    (b"OM", 23),
    (b"PK", 24),
    (b"PL", 28),
    (b"PS", 29),
    (b"PT", 25),
    (b"QA", 29),
    (b"RO", 24),
    (b"RS", 22),
    (b"RU", 33),
    (b"SA", 24),
    (b"SC", 31),
    (b"SD", 18),
    (b"SE", 24),
    (b"SI", 19),
    (b"SK", 24),
    (b"SM", 27),
    (b"TN", 24),
    (b"TR", 26),
    (b"UA", 29),
    (b"XK", 20),
];

/// Where the account number that begins here ends: a country, as many letters and digits as its numbers have, alone or
/// with single spaces between, and the check of ISO 7064 (97).
fn iban(bytes: &[u8], at: usize) -> Option<usize> {
    let country = bytes.get(at..at + 2)?;
    let place = LENGTHS.binary_search_by(|(other, _)| other.as_slice().cmp(country)).ok()?;
    let (_, length) = LENGTHS.get(place)?;
    let (mut number, mut here) = (Vec::with_capacity(*length), at);
    while number.len() < *length {
        match bytes.get(here)? {
            byte if byte.is_ascii_digit() || byte.is_ascii_uppercase() => number.push(*byte),
            b' ' if number.len() >= 4 && bytes.get(here - 1) != Some(&b' ') => {}
            _ => return None,
        }
        here += 1;
    }
    let checks = number.get(2..4)?.iter().all(u8::is_ascii_digit);
    let (head, tail) = number.split_at_checked(4)?;
    let value = |byte: &u8| match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        letter => u32::from(letter - b'A') + 10,
    };
    let rest = tail.iter().chain(head).map(value).fold(0, |rest, value| {
        let wide = if value > 9 { 100 } else { 10 };
        (rest * wide + value) % 97
    });
    (checks && rest == 1 && !is_word(bytes, here)).then_some(here)
}

/// Digits, one by one or in groups with a sign of `signs` between two of them: what they are, and where they end.
fn grouped(bytes: &[u8], at: usize, signs: &[u8], most: usize) -> (Vec<u8>, usize) {
    let (mut digits, mut end, mut here) = (Vec::new(), at, at);
    while digits.len() <= most {
        match bytes.get(here) {
            Some(digit) if digit.is_ascii_digit() => {
                digits.push(digit - b'0');
                here += 1;
                end = here;
            }
            Some(sign) if signs.contains(sign) && here == end && end > at => here += 1,
            _ => break,
        }
    }
    (digits, end)
}

/// Where the card number that begins here ends: 13 to 19 digits that begin as those of the large networks do, alone or
/// in groups with one space or hyphen between, and the check digit of Luhn.
fn card(bytes: &[u8], at: usize) -> Option<usize> {
    let (digits, end) = grouped(bytes, at, b" -", 19);
    let is_network = match digits.as_slice() {
        [4, ..] | [5, 1..=5, ..] | [2, 2..=7, ..] | [3, 4 | 7, ..] | [6, 0 | 2 | 4 | 5, ..] => true,
        [3, 0 | 6 | 8, ..] => digits.len() == 14,
        _ => false,
    };
    let is_long = (13..=19).contains(&digits.len());
    let is_other = digits.iter().any(|digit| Some(digit) != digits.first());
    (is_network && is_long && is_other && luhn(&digits) && ends(bytes, end, b".,")).then_some(end)
}

fn luhn(digits: &[u8]) -> bool {
    let doubled = |digit: u8| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
    let weighed = digits.iter().rev().enumerate();
    let sum: u32 =
        weighed.map(|(at, d)| u32::from(if at % 2 == 1 { doubled(*d) } else { *d })).sum();
    sum.is_multiple_of(10)
}

/// Where the telephone number that begins here ends: `+` with 8 to 15 digits in groups (E.164), or a number of North
/// America, ten digits as `(212) 555-0123`, `212-555-0123` or `212.555.0123`.
fn phone(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'+' => international(bytes, at),
        b'(' => {
            let area = three(bytes, at + 1, true)?;
            let closed = (bytes.get(area)? == &b')').then_some(area + 1)?;
            let gap = if bytes.get(closed) == Some(&b' ') { closed + 1 } else { closed };
            rest(bytes, gap, b'-').or_else(|| rest(bytes, gap, b'.'))
        }
        digit if digit.is_ascii_digit() => {
            if at.checked_sub(1).and_then(|at| bytes.get(at)).is_some_and(|b| b"-.".contains(b)) {
                return None;
            }
            let area = three(bytes, at, true)?;
            let sign = *bytes.get(area).filter(|sign| b"-.".contains(sign))?;
            rest(bytes, area + 1, sign)
        }
        _ => None,
    }
}

fn international(bytes: &[u8], at: usize) -> Option<usize> {
    let first = bytes.get(at + 1)?;
    if !matches!(first, b'1'..=b'9') {
        return None;
    }
    // One area in brackets is skipped: `+44 (20) 7946 0958`.
    let (mut digits, mut end) = grouped(bytes, at + 1, b" -.", 15);
    let mut count = digits.len();
    let open = if bytes.get(end) == Some(&b' ') { end + 1 } else { end };
    if bytes.get(open) == Some(&b'(') && count <= 3 {
        let (area, close) = grouped(bytes, open + 1, b"", 5);
        let gap = close + 1;
        let next = if bytes.get(gap) == Some(&b' ') { gap + 1 } else { gap };
        if bytes.get(close) == Some(&b')') && !area.is_empty() {
            (digits, end) = grouped(bytes, next, b" -.", 15);
            count += area.len() + digits.len();
        }
    }
    ((8..=15).contains(&count) && ends(bytes, end, b"")).then_some(end)
}

/// Behind an area: three digits, the sign, four digits.
fn rest(bytes: &[u8], at: usize, sign: u8) -> Option<usize> {
    let exchange = three(bytes, at, true)?;
    (bytes.get(exchange)? == &sign).then_some(())?;
    let line = bytes.get(exchange + 1..exchange + 5)?;
    let end = exchange + 5;
    (line.iter().all(u8::is_ascii_digit) && ends(bytes, end, b"-.")).then_some(end)
}

/// Where three digits end; an area or exchange begins with none below 2.
fn three(bytes: &[u8], at: usize, is_area: bool) -> Option<usize> {
    let digits = bytes.get(at..at + 3)?;
    let is_fit = digits.iter().all(u8::is_ascii_digit);
    (is_fit && !(is_area && matches!(digits.first(), Some(b'0' | b'1')))).then_some(at + 3)
}

/// Bytes of the longest address.
const LONGEST: usize = 45;

/// Where the IPv4 address that begins here ends.
fn ipv4(bytes: &[u8], at: usize) -> Option<usize> {
    let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    if at.checked_sub(1).and_then(|before| bytes.get(before)).is_some_and(is_part) {
        return None;
    }
    let rest = bytes.get(at..)?;
    let run = rest.iter().take(16).take_while(|byte| is_part(byte)).count();
    let run = rest.get(..run)?;
    // A full stop behind it ends the sentence.
    let run = run.strip_suffix(b".").unwrap_or(run);
    let address: Ipv4Addr = std::str::from_utf8(run).ok()?.parse().ok()?;
    let end = at + run.len();
    (is_public(address) && ends(bytes, end, b".")).then_some(end)
}

fn is_public(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let reserved = match a {
        0 | 10 | 127 | 224.. => true,
        100 => (64..128).contains(&b),
        169 => b == 254,
        172 => (16..32).contains(&b),
        192 => b == 168 || (b == 0 && (c == 0 || c == 2)),
        198 => b == 18 || b == 19 || (b == 51 && c == 100),
        203 => b == 0 && c == 113,
        _ => false,
    };
    !reserved
}

/// Where the IPv6 address that begins here ends; of the addresses given out so far, which begin with 2 or 3.
fn ipv6(bytes: &[u8], at: usize) -> Option<usize> {
    if !matches!(bytes.get(at), Some(b'2' | b'3')) {
        return None;
    }
    if at.checked_sub(1).and_then(|before| bytes.get(before)) == Some(&b':') {
        return None;
    }
    let rest = bytes.get(at..bytes.len().min(at + LONGEST))?;
    let is_part = |byte: &&u8| byte.is_ascii_hexdigit() || **byte == b':';
    let run = rest.get(..rest.iter().take_while(is_part).count())?;
    if run.iter().filter(|byte| **byte == b':').count() < 2 {
        return None;
    }
    // Of a sentence: `2a00::1:` has a colon too many.
    let run = match run.strip_suffix(b":") {
        Some(short) if !short.ends_with(b":") => short,
        _ => run,
    };
    let address: Ipv6Addr = std::str::from_utf8(run).ok()?.parse().ok()?;
    let [first, second, ..] = address.segments();
    let is_given_out = first >> 13 == 1 && !(first == 0x2001 && second == 0xdb8);
    let end = at + run.len();
    (is_given_out && !is_word(bytes, end)).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::{PersonalData, pii};
    use proptest::prelude::*;

    fn found(text: &str) -> Vec<(&'static str, &str)> {
        pii(text).map(|(what, place)| (what.name(), &text[place])).collect()
    }

    #[test]
    fn personal_data_are_found_where_they_stand() {
        for (text, expected) in [
            (
                "Write to <ann.lee+x@mail.example.org>.",
                vec![("email", "ann.lee+x@mail.example.org")],
            ),
            ("mail é@ü.de, a@b, .a@b.co", vec![("email", "a@b.co")]),
            ("host 8.8.8.8, not 10.0.0.1 or 1.2.3.4.5 or 999.1.1.1", vec![("ipv4", "8.8.8.8")]),
            ("At 93.184.216.34. Then", vec![("ipv4", "93.184.216.34")]),
            (
                "[2a00:1450:4001:82b::200e] and 2001:db8::1",
                vec![("ipv6", "2a00:1450:4001:82b::200e")],
            ),
            ("std::vec 2::", vec![]),
            ("call +44 20 7946 0958 now", vec![("phone", "+44 20 7946 0958")]),
            ("call +44 (20) 7946-0958 now", vec![("phone", "+44 (20) 7946-0958")]),
            (
                "(212) 555-0123 or 212-555-0123",
                vec![("phone", "(212) 555-0123"), ("phone", "212-555-0123")],
            ),
            ("2024-01-02, 123-456-7890-1, 1+23456789", vec![]),
            ("card 4111 1111 1111 1111.", vec![("card", "4111 1111 1111 1111")]),
            ("not 4111 1111 1111 1112 and not 0000000000000000", vec![]),
            ("378282246310005", vec![("card", "378282246310005")]),
            (
                "IBAN DE89 3704 0044 0532 0130 00, please",
                vec![("iban", "DE89 3704 0044 0532 0130 00")],
            ),
            ("GB82WEST12345698765432", vec![("iban", "GB82WEST12345698765432")]),
            ("GB82WEST12345698765431 XDE89370400440532013000", vec![]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn an_address_takes_nothing_that_was_found_before() {
        assert_eq!(found("a@b.co@d.org"), [("email", "a@b.co")]);
        assert_eq!(PersonalData::Card.name(), "card");
    }

    proptest! {
        #[test]
        fn spans_ascend_within_any_text(text in "(\\PC|[0-9@.:+() -]|[A-Z]{2}[0-9]{2}){0,60}") {
            let mut before = 0;
            for (_, place) in pii(&text) {
                prop_assert!(before <= place.start && place.start < place.end);
                prop_assert!(text.get(place.clone()).is_some());
                before = place.end;
            }
        }
    }
}
