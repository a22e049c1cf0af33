//! Numbers of payment cards and telephones.

use super::ends;

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
pub(super) fn card(bytes: &[u8], at: usize) -> Option<usize> {
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
pub(super) fn phone(bytes: &[u8], at: usize) -> Option<usize> {
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
