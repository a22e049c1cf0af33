//! Finds personal data in a text: e-mail and IP addresses, telephone numbers, payment cards and bank accounts.
//!
//! Nothing is rewritten. One walk over the text: where a word or number begins, it is tried as an account (IBAN), a
//! card, an address of IPv4 or IPv6, and a telephone number; around every `@` as an address for mail. What stands
//! beside is no matter, unless it makes a longer word of it: a letter of ASCII or of a script with capitals, a digit,
//! an underscore. Between the groups of a number stands one space or hyphen of any kind.

use super::top_domains::is_top_domain;
use model::invariant::{part, text_part};
use model::named;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use unicode_script::{Script, UnicodeScript};

/// Bytes that a part of an address for mail has at most (RFC 5321, and RFC 6531 for other letters).
const LOCAL: usize = 64;
const DOMAIN: usize = 255;
/// Bytes of the longest address of IPv6.
const LONGEST: usize = 45;
/// Bytes beside an address that tell what it is a part of.
const BESIDE: usize = 128;
/// Digits of the longest card number, and of the longest telephone number (E.164).
const CARD: usize = 19;
const PHONE: usize = 15;

/// Countries that have account numbers (ISO 13616), each with how long these are.
pub(super) const IBANS: &str = "\
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 \
    ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 \
    LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 \
    PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 \
    YE30";

/// Calling codes of countries (E.164), each with how many digits may follow, by the national numbering plans.
pub(super) const CALLING_CODES: &str = "\
    1:10 7:10 20:8-10 27:9 30:10 31:9 32:8-9 33:9 34:9 36:8-9 39:6-11 40:9 41:9 43:4-13 44:9-10 45:8 46:7-10 47:8 \
    48:9 49:6-11 51:8-9 52:10 53:6-8 54:10-11 55:10-11 56:9 57:8-10 58:10 60:8-10 61:9 62:7-12 63:8-10 64:8-10 65:8 \
    66:8-9 81:9-10 82:8-11 84:9-10 86:9-11 90:10 91:10 92:9-10 93:9 94:9 95:7-10 98:10 211:9 212:9 213:8-9 216:8 \
    218:8-9 220:7 221:9 222:8 223:8 224:8-9 225:10 226:8 227:8 228:8 229:8-10 230:7-8 231:7-9 232:8 233:9 234:8-10 \
    235:8 236:8 237:8-9 238:7 239:7 240:9 241:7-8 242:9 243:7-9 244:9 245:7-9 246:7 248:7 249:9 250:9 251:9 252:7-9 \
    253:8 254:9-10 255:9 256:9 257:8 258:8-9 260:9 261:9 262:9 263:8-9 264:8-9 265:7-9 266:8 267:7-8 268:8 269:7 \
    291:7 297:7 298:6 299:6 350:8 351:9 352:6-11 353:7-9 354:7-9 355:8-9 356:8 357:8 358:6-12 359:7-9 370:8 371:8 \
    372:7-8 373:8 374:8 375:9-10 376:6-9 377:8-9 378:6-10 380:9 381:8-9 382:8 383:8-9 385:8-9 386:8 387:8-9 389:8 \
    420:9 421:9 423:7-9 501:7 502:8 503:8 504:8 505:8 506:8 507:7-8 508:6-9 509:8 590:9 591:8 592:7 593:8-9 594:9 \
    595:8-9 596:9 597:6-7 598:8 599:7-8 670:7-8 672:6 673:7 674:7 675:7-8 676:7 677:7 678:7 679:7 680:7 681:6 \
    685:6-7 686:8 687:6 688:6 689:6-8 691:7 692:7 800:8 808:8 852:8 853:8 855:8-9 856:8-10 870:9 880:8-10 881:9-10 \
    886:8-9 960:7 961:7-8 962:8-9 963:8-9 964:8-10 965:8 966:9 967:7-9 968:8 970:9 971:8-9 972:8-9 973:8 974:8 \
    975:7-8 976:8 977:8-10 979:9 992:9 993:8 994:9 995:9 996:9 998:9";

/// What personal data are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PersonalData {
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

named!(PersonalData {
    Card = "card", Email = "email", Iban = "iban", Ipv4 = "ipv4", Ipv6 = "ipv6", Phone = "phone",
});

/// Personal data of a text with their bytes, in the order in which they stand; none overlap.
pub fn pii(text: &str) -> impl Iterator<Item = (PersonalData, Range<usize>)> {
    let bytes = text.as_bytes();
    let (mut at, mut from) = (0, 0);
    std::iter::from_fn(move || {
        while let Some(first) = bytes.get(at) {
            let here = at;
            at += 1;
            let begins = first.is_ascii_alphanumeric() || matches!(first, b'+' | b'(' | b'@');
            if begins && let Some((what, place)) = found_at(text, *first, here, from) {
                (at, from) = (place.end, place.end);
                return Some((what, place));
            }
        }
        None
    })
}

/// What begins at a byte of ASCII, or around an `@` there; nothing before `from` belongs to it.
fn found_at(text: &str, first: u8, at: usize, from: usize) -> Option<(PersonalData, Range<usize>)> {
    if first == b'@' {
        return email(text, at, from).map(|place| (PersonalData::Email, place));
    }
    if before(text, at).is_some_and(is_word) {
        return None;
    }
    let upto = |end: usize| at..end;
    if first.is_ascii_uppercase()
        && let Some(end) = iban(text, at)
    {
        return Some((PersonalData::Iban, upto(end)));
    }
    if first.is_ascii_digit() {
        if let Some(end) = card(text, at) {
            return Some((PersonalData::Card, upto(end)));
        }
        if let Some(end) = ipv4(text, at) {
            return Some((PersonalData::Ipv4, upto(end)));
        }
        if let Some(end) = ipv6(text, at) {
            return Some((PersonalData::Ipv6, upto(end)));
        }
    }
    phone(text, at).map(|end| (PersonalData::Phone, upto(end)))
}

/// The character that ends before a byte.
fn before(text: &str, at: usize) -> Option<char> {
    // Nearly always, and asked for at every letter.
    let last = text.as_bytes().get(at.checked_sub(1)?)?;
    if last.is_ascii() { Some(char::from(*last)) } else { text.get(..at)?.chars().next_back() }
}

/// The character that begins at a byte.
fn behind(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}

/// Whether a character makes a longer word of what stands beside it. Scripts without capitals write their words right
/// beside numbers and addresses, without a space: their letters do not.
fn is_word(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric() || character == '_';
    }
    is_cased(character)
}

fn is_cased(letter: char) -> bool {
    letter.is_ascii_alphabetic()
        || !letter.to_lowercase().eq(std::iter::once(letter))
        || !letter.to_uppercase().eq(std::iter::once(letter))
}

/// A space within a line, of any width.
const fn is_gap(character: char) -> bool {
    matches!(
        character,
        ' ' | '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// A hyphen, or a dash that is set in its place.
const fn is_hyphen(character: char) -> bool {
    matches!(character, '-' | '\u{ad}' | '\u{2010}'..='\u{2013}' | '\u{fe63}' | '\u{ff0d}')
}

/// Whether a number or word ends before `end`: no letter or digit follows, and no sign with a digit behind it.
fn ends(text: &str, end: usize, is_sign: fn(char) -> bool) -> bool {
    let Some(next) = behind(text, end) else { return true };
    let is_before_digit =
        || behind(text, end + next.len_utf8()).is_some_and(|next| next.is_ascii_digit());
    !(is_word(next) || is_sign(next) && is_before_digit())
}

/// Whether a digit goes on with a number that began before it: behind a decimal point, or a hyphen in a longer number.
fn is_continued(text: &str, at: usize) -> bool {
    let Some(sign) = before(text, at) else { return false };
    let earlier = before(text, at - sign.len_utf8());
    let is_digit = |earlier: Option<char>| earlier.is_some_and(|one| one.is_ascii_digit());
    match sign {
        '.' => earlier.is_none_or(|one| !one.is_alphabetic() && one != '.'),
        // `0,25`, and not the second number of a list.
        ',' => {
            earlier == Some('0')
                && !before(text, at - 2).is_some_and(|one| one.is_alphanumeric() || one == '.')
        }
        _ => is_hyphen(sign) && is_digit(earlier),
    }
}

/// Whether a full stop stands before a byte that is not the end of an ellipsis.
fn is_behind_point(text: &str, at: usize) -> bool {
    before(text, at) == Some('.') && before(text, at - 1) != Some('.')
}

/// Digits in groups, with one sign between two of them.
struct DigitGroups {
    digits: Vec<u8>,
    /// Digits up to the end of each group, and the byte where it ends.
    ends: Vec<(usize, usize)>,
    /// The signs between groups.
    signs: Vec<char>,
}

impl DigitGroups {
    /// The groups that begin at byte `at`, up to the one that would make more than `most` digits.
    fn read(text: &str, at: usize, is_sign: fn(char) -> bool, most: usize) -> Self {
        let mut groups = Self { digits: Vec::new(), ends: Vec::new(), signs: Vec::new() };
        let mut rest = text.get(at..).unwrap_or_default();
        loop {
            let length = rest.bytes().take(most + 1).take_while(u8::is_ascii_digit).count();
            if length == 0 || groups.digits.len() + length > most {
                return groups;
            }
            let Some((group, after)) = rest.split_at_checked(length) else { return groups };
            groups.digits.extend(group.bytes().map(|digit| digit - b'0'));
            groups.ends.push((groups.digits.len(), text.len() - after.len()));
            let Some(sign) = after.chars().next().filter(|sign| is_sign(*sign)) else {
                return groups;
            };
            groups.signs.push(sign);
            rest = text_part(after, sign.len_utf8()..);
        }
    }

    /// The end of the longest sequence of whole groups that is right, by its digits, the digits of each group, and its
    /// end.
    fn longest(&self, is_right: impl Fn(&[u8], &[usize], usize) -> bool) -> Option<usize> {
        let mut before = 0;
        let length = |(count, _): &(usize, usize)| count - std::mem::replace(&mut before, *count);
        let lengths: Vec<usize> = self.ends.iter().map(length).collect();
        let mut all = self.ends.iter().enumerate().rev();
        all.find_map(|(last, (count, end))| {
            let (digits, groups) = (self.digits.get(..*count)?, lengths.get(..=last)?);
            is_right(digits, groups, *end).then_some(*end)
        })
    }
}

/// Where the card number that begins here ends: 13 to 19 digits that begin as those of the large networks do, alone or
/// in the groups that cards have, with one space or hyphen between, and the check digit of Luhn.
fn card(text: &str, at: usize) -> Option<usize> {
    let first = text.as_bytes().get(at..at + 4)?;
    // Nearly every number ends here: a group has four digits at least.
    if !matches!(first, [b'2'..=b'6', rest @ ..] if rest.iter().all(u8::is_ascii_digit))
        || is_continued(text, at)
    {
        return None;
    }
    let groups = DigitGroups::read(text, at, |sign| is_gap(sign) || is_hyphen(sign), CARD);
    groups.longest(|digits, groups, end| {
        let is_grouped = match groups {
            [_] | [4, 6, 4 | 5] => true,
            [all @ .., last] => all.iter().all(|length| *length == 4) && *last <= 4,
            [] => false,
        };
        is_grouped && is_card(digits) && ends(text, end, |sign| ".,".contains(sign))
    })
}

fn is_card(digits: &[u8]) -> bool {
    let is_network = match digits {
        [4, ..] | [5, 1..=5, ..] | [2, 2..=7, ..] | [3, 4 | 7, ..] | [6, 0 | 2 | 4 | 5, ..] => true,
        [3, 0 | 6 | 8, ..] => digits.len() == 14,
        _ => false,
    };
    let is_other = || digits.iter().any(|digit| Some(digit) != digits.first());
    is_network && (13..=CARD).contains(&digits.len()) && is_other() && is_luhn(digits)
}

fn is_luhn(digits: &[u8]) -> bool {
    let doubled = |digit: u8| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
    let weighed = digits.iter().rev().enumerate();
    let sum: u32 =
        weighed.map(|(at, d)| u32::from(if at % 2 == 1 { doubled(*d) } else { *d })).sum();
    sum.is_multiple_of(10)
}

/// Where the telephone number that begins here ends: `+` with the code of a country and as many digits as its numbers
/// have, in groups; or a number of North America, ten digits as `(212) 555-0123`, `212-555-0123` or `212.555.0123`.
fn phone(text: &str, at: usize) -> Option<usize> {
    match text.as_bytes().get(at)? {
        b'+' => international(text, at + 1),
        b'(' => {
            let closed = three(text, at + 1).filter(|end| behind(text, *end) == Some(')'))? + 1;
            let gap = behind(text, closed).filter(|sign| is_gap(*sign));
            local(text, closed + gap.map_or(0, char::len_utf8), |_| true)
        }
        digit if digit.is_ascii_digit() => {
            let is_part = is_behind_point(text, at) || before(text, at).is_some_and(is_hyphen);
            let area = three(text, at).filter(|_| !is_part)?;
            let sign = behind(text, area).filter(|sign| *sign == '.' || is_hyphen(*sign))?;
            local(text, area + sign.len_utf8(), |other| other == sign)
        }
        _ => None,
    }
}

/// Behind an area of North America: three digits, a sign, four digits.
fn local(text: &str, at: usize, is_sign: impl Fn(char) -> bool) -> Option<usize> {
    let exchange = three(text, at)?;
    let sign = behind(text, exchange).filter(|sign| *sign == '.' || is_hyphen(*sign))?;
    let line = exchange + sign.len_utf8();
    let end = line + 4;
    let digits = text.as_bytes().get(line..end)?;
    let is_whole = is_sign(sign) && digits.iter().all(u8::is_ascii_digit);
    (is_whole && ends(text, end, |sign| sign == '.' || is_hyphen(sign))).then_some(end)
}

/// Where three digits end that may be an area or an exchange: none begins below 2.
fn three(text: &str, at: usize) -> Option<usize> {
    let digits = text.as_bytes().get(at..at + 3)?;
    let is_fit = digits.iter().all(u8::is_ascii_digit);
    (is_fit && !matches!(digits.first(), Some(b'0' | b'1'))).then_some(at + 3)
}

/// Behind `+`. One area in brackets is skipped: `+44 (20) 7946 0958`, `+44 (0)20 7946 0958`.
fn international(text: &str, at: usize) -> Option<usize> {
    let is_sign = |sign: char| sign == '.' || is_gap(sign) || is_hyphen(sign);
    let groups = DigitGroups::read(text, at, is_sign, PHONE);
    let (count, end) = *groups.ends.first()?;
    let gap = behind(text, end).filter(|sign| is_gap(*sign)).map_or(0, char::len_utf8);
    if count <= 3 && behind(text, end + gap) == Some('(') {
        let area = DigitGroups::read(text, end + gap + 1, |_| false, 5);
        let closed = area.ends.first().map(|(_, end)| *end);
        let closed = closed.filter(|end| behind(text, *end) == Some(')'))? + 1;
        let gap = behind(text, closed).filter(|sign| is_gap(*sign)).map_or(0, char::len_utf8);
        let rest = DigitGroups::read(text, closed + gap, is_sign, PHONE);
        let head = groups.digits.get(..count)?;
        let trunk: &[u8] = if area.digits == [0] { &[] } else { &area.digits };
        return rest.longest(|digits, _, end| {
            is_phone(&[head, trunk, digits].concat()) && ends(text, end, |_| false)
        });
    }
    // A full stop alone is a decimal point: `+48.8566140, ..`, and not `+1.212.555.0123`.
    let signs = part(&groups.signs, ..groups.ends.len() - 1);
    if matches!(signs, ['.'] | ['.', ' ' | '\u{a0}', ..]) {
        return None;
    }
    groups.longest(|digits, groups, end| {
        is_phone(digits) && !is_amount(digits, groups) && ends(text, end, |sign| sign == '.')
    })
}

/// Whether digits stand in groups as thousands do, and are so few that they are an amount: `+100 000 000`.
fn is_amount(digits: &[u8], groups: &[usize]) -> bool {
    let thousands = groups.get(1..).unwrap_or_default();
    digits.len() <= 9 && !thousands.is_empty() && thousands.iter().all(|length| *length == 3)
}

/// Whether digits are the code of a country, and a number as long as its numbers are.
fn is_phone(digits: &[u8]) -> bool {
    (1..=3).any(|length| {
        let Some((code, number)) = digits.split_at_checked(length) else { return false };
        let code: String = code.iter().map(|digit| char::from(b'0' + digit)).collect();
        let lengths = CALLING_CODES
            .split(' ')
            .find_map(|country| country.strip_prefix(code.as_str())?.strip_prefix(':'));
        let Some(lengths) = lengths else { return false };
        let (least, most) = lengths.split_once('-').unwrap_or((lengths, lengths));
        let is_long = |count: usize| {
            least.parse().is_ok_and(|least| count >= least)
                && most.parse().is_ok_and(|most| count <= most)
        };
        // Within a country a zero is dialled first; of North America area and exchange begin with none below 2.
        let number = number.strip_prefix(&[0]).filter(|_| code != "39").unwrap_or(number);
        let is_fit = match number {
            [0, ..] => code == "39",
            [area, _, _, exchange, ..] if code == "1" => *area > 1 && *exchange > 1,
            _ => true,
        };
        is_fit && is_long(number.len()) && (8..=PHONE).contains(&digits.len())
    })
}

/// Where the account number that begins here ends: a country, as many letters and digits as its numbers have, alone or
/// with single spaces between, and the check of ISO 7064 (97).
pub(super) fn iban(text: &str, at: usize) -> Option<usize> {
    let country =
        text.get(at..at + 2).filter(|country| country.bytes().all(|b| b.is_ascii_uppercase()))?;
    let lengths = &mut IBANS.split(' ');
    let length: usize = lengths.find_map(|entry| entry.strip_prefix(country))?.parse().ok()?;
    let mut number = Vec::with_capacity(length);
    let (mut here, mut was_gap) = (at, true);
    while number.len() < length {
        let next = behind(text, here)?;
        if next.is_ascii_digit() || next.is_ascii_uppercase() {
            number.push(next);
            was_gap = false;
        } else if is_gap(next) && !was_gap && number.len() >= 4 {
            was_gap = true;
        } else {
            return None;
        }
        here += next.len_utf8();
    }
    let (head, tail) = number.split_at_checked(4)?;
    let checks = head.get(2..)?.iter().all(char::is_ascii_digit);
    let rest = tail.iter().chain(head).try_fold(0, |rest, sign| {
        let value = sign.to_digit(36)?;
        Some((rest * if value > 9 { 100 } else { 10 } + value) % 97)
    });
    (checks && rest == Some(1) && ends(text, here, |_| false)).then_some(here)
}

/// Names that stand behind the `@` of a digest; functions of numerical libraries that are top-level domains; pictures,
/// styles and scripts, whose names have an `@` for a density or a version.
const HASHES: [&str; 7] = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake3"];
const FUNCTIONS: [&str; 4] = ["cat", "dot", "int", "to"];
const ASSETS: [&str; 11] =
    ["avif", "cjs", "css", "gif", "ico", "jpeg", "jpg", "js", "mjs", "png", "webp"];

/// The address around an `@`: before it letters, digits and `._%+-'`, behind it two labels or more, the last one a
/// top-level domain. A letter is any of Unicode; but scripts that do not part words leave open where an address begins,
/// so that it ends there.
fn email(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    let head = text.get(from..at)?;
    let mut run = 0;
    let mut has_case = None;
    for character in head.chars().rev() {
        let is_letter = character.is_alphabetic() && !character.is_ascii_digit();
        let is_other_kind =
            is_letter && *has_case.get_or_insert(is_cased(character)) != is_cased(character);
        let is_of_it = is_letter || is_in_label(character) || "._%+'".contains(character);
        if !is_of_it || is_other_kind || is_unparted(character) {
            break;
        }
        run += character.len_utf8();
        if run > LOCAL + 1 {
            return None;
        }
    }
    let run = head.get(head.len() - run..)?;
    let local = run.trim_start_matches(|character: char| !character.is_alphanumeric());
    if local.is_empty() || local.len() > LOCAL || local.ends_with('.') {
        return None;
    }
    let begin = at - local.len();
    let end = at + 1 + domain(text.get(at + 1..)?)?;
    let is_other = is_code(text.get(at + 1..end)?, text.get(end..)?)
        || is_before_path(local, text.get(end..)?)
        || is_login(text.get(..begin)?, text.get(end..)?);
    (!is_other).then_some(begin..end)
}

/// Whether what stands behind an `@` is none of a place: a digest (`sha256.abc`), a version (`1.0.dev`), or a member of
/// an object that is called (`b.to(device)`).
fn is_code(domain: &str, behind: &str) -> bool {
    let mut labels = domain.split('.');
    let (first, second) = (labels.next().unwrap_or_default(), labels.next().unwrap_or_default());
    let top = domain.rsplit('.').next().unwrap_or_default();
    let is_number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    (HASHES.contains(&first) && top.bytes().all(|byte| byte.is_ascii_hexdigit()))
        || (is_number(first) && is_number(second))
        || (behind.starts_with('(') && FUNCTIONS.contains(&top))
}

/// Whether a path on the machine follows, as remotes and copies are written: `git@host:group/project`,
/// `ann@host:/srv`. Of any other word behind a colon nobody knows that it is none of a list of logins.
fn is_before_path(local: &str, behind: &str) -> bool {
    let Some(path) = behind.strip_prefix(':') else { return false };
    let path = text_part(path, ..path.floor_char_boundary(BESIDE));
    let is_end = |sign: char| sign.is_whitespace() || "\"'`<>()[]{},;".contains(sign);
    let path = path.split(is_end).next().unwrap_or_default().trim_end_matches('.');
    path.starts_with(['/', '~'])
        || path.starts_with("./")
        || path.ends_with(".git")
        || (matches!(local, "git" | "hg") && !path.is_empty())
}

/// Whether it is the login and the machine of an address in the web: `ssh://git@host/x`, `https://ann:secret@host/x`.
fn is_login(before: &str, behind: &str) -> bool {
    let is_of_login = |sign: char| sign.is_ascii_alphanumeric() || "._%~+-!$&'*;=:".contains(sign);
    let scheme = near(before).trim_end_matches(is_of_login);
    // In `ftp://anonymous:ann@host@place` this is the password; `mailto://` is written, too.
    scheme.ends_with("://") && !scheme.ends_with("mailto://") && !behind.starts_with('@')
}

/// Bytes of the domain that a text begins with; none of what goes on behind it as the name of a picture, style or
/// script does (`next.pro.js`).
fn domain(text: &str) -> Option<usize> {
    let text = text.get(..text.floor_char_boundary(DOMAIN))?;
    let (mut best, mut end, mut last) = (None, 0, "");
    for nth in 0.. {
        let rest = text.get(end..)?;
        let is_apart = rest.chars().next().is_some_and(is_unparted);
        let length = label_bytes(rest, is_apart);
        let run = rest.get(..length)?;
        let label = run.trim_end_matches('-');
        // What follows an address in a script that does not part words is the sentence.
        if label.is_empty() || label.starts_with('-') || (is_apart && best.is_some()) {
            break;
        }
        if nth > 0 && is_top_label(label) {
            best = Some(end + label.len());
        }
        last = label;
        end += length;
        if label.len() < length || !text.get(end..)?.starts_with('.') {
            break;
        }
        end += 1;
    }
    best.filter(|_| !ASSETS.contains(&last))
}

/// Bytes of the label that a text begins with: its letters are all of scripts that part words, or none is; and all of
/// scripts with capitals, or none is.
fn label_bytes(text: &str, is_apart: bool) -> usize {
    let (mut bytes, mut has_case) = (0, None);
    for character in text.chars() {
        let is_of_it = is_in_label(character) && is_unparted(character) == is_apart;
        let is_other_kind = character.is_alphabetic()
            && *has_case.get_or_insert(is_cased(character)) != is_cased(character);
        if !is_of_it || is_other_kind {
            break;
        }
        bytes += character.len_utf8();
    }
    bytes
}

/// A letter, a digit of ASCII, a hyphen, or a mark that stands on a letter.
fn is_in_label(character: char) -> bool {
    character.is_alphabetic()
        || character.is_ascii_digit()
        || character == '-'
        || matches!(character, '\u{300}'..='\u{36f}')
}

/// Whether a label can be the last of a domain: a top-level domain, of letters of another script, or in the form of
/// IDNA.
fn is_top_label(label: &str) -> bool {
    if label.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return is_top_domain(label);
    }
    let is_idna = label.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("xn--"));
    let is_of_letters = label
        .chars()
        .all(|letter| is_in_label(letter) && !letter.is_ascii_digit() && letter != '-');
    is_idna || (is_of_letters && label.chars().nth(1).is_some())
}

/// Whether a letter is of a script that does not part words by spaces.
fn is_unparted(letter: char) -> bool {
    !letter.is_ascii()
        && matches!(
            letter.script(),
            Script::Han
                | Script::Hiragana
                | Script::Katakana
                | Script::Bopomofo
                | Script::Thai
                | Script::Lao
                | Script::Khmer
                | Script::Myanmar
                | Script::Tibetan
        )
}

/// Where the IPv4 address that begins here ends.
fn ipv4(text: &str, at: usize) -> Option<usize> {
    let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    if is_behind_point(text, at) {
        return None;
    }
    let rest = text.get(at..)?;
    let run = rest.get(..rest.bytes().take(16).take_while(is_part).count())?;
    // Full stops behind it are the sentence's.
    let run = run.trim_end_matches('.');
    let address: Ipv4Addr = run.parse().ok()?;
    let end = at + run.len();
    (is_public(address) && ends(text, end, |sign| sign == '.')).then_some(end)
}

/// Reachable from everywhere: not private, local, reserved or for documentation.
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
fn ipv6(text: &str, at: usize) -> Option<usize> {
    if !matches!(text.as_bytes().get(at), Some(b'2' | b'3')) || before(text, at) == Some(':') {
        return None;
    }
    let rest = text.get(at..)?;
    let is_part = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b':';
    let run = rest.get(..rest.bytes().take(LONGEST).take_while(is_part).count())?;
    if run.bytes().filter(|byte| *byte == b':').count() < 2 {
        return None;
    }
    // The last colon of `2a00::1:` belongs to the sentence.
    let run = match run.strip_suffix(':') {
        Some(short) if !short.ends_with(':') => short,
        _ => run,
    };
    let address: Ipv6Addr = run.parse().ok()?;
    let [first, second, ..] = address.segments();
    let is_given_out = first >> 13 == 1 && !(first == 0x2001 && second == 0xdb8);
    let end = at + run.len();
    (is_given_out && !is_index(text, at, run) && ends(text, end, |_| false)).then_some(end)
}

/// Whether two numbers with colons between stand in the brackets behind a name, as indices do: `b[2001::4]`.
fn is_index(text: &str, at: usize, run: &str) -> bool {
    let is_step = run.bytes().filter(|byte| *byte == b':').count() == 2
        && run.bytes().all(|byte| byte == b':' || byte.is_ascii_digit());
    if !is_step {
        return false;
    }
    let before = near(text_part(text, ..at));
    let open = before.rfind(['[', ']', '\n']).and_then(|place| before.get(..=place));
    let name = open.and_then(|open| open.strip_suffix('['));
    name.is_some_and(|name| name.ends_with(|sign: char| is_word(sign) || ")]".contains(sign)))
}

/// The end of a text, which is beside what follows.
fn near(before: &str) -> &str {
    let from = before.ceil_char_boundary(before.len().saturating_sub(BESIDE));
    text_part(before, from..)
}
