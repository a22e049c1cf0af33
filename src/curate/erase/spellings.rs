//! The spellings in which text may quote a document: as it is, or escaped for JSON, CSV, URLs or base64, also nested.

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};
use model::invariant::part;
use model::percent_decoded;

/// The names of the decodings, for readers of a certificate.
pub(super) const DECODINGS: [&str; 5] = ["as it is", "JSON", "CSV", "percent", "base64"];
/// Escapes inside escapes that are looked through.
const DEPTH: usize = 3;
/// Characters from which on a word may be base64: shorter ones hold no run.
const WORD: usize = 12;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const OF_ADDRESSES: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Whether `has` finds something in `bytes` as they are or in what they spell.
pub(super) fn any(bytes: &[u8], has: &mut dyn FnMut(&[u8]) -> bool) -> bool {
    has(bytes) || within(bytes, DEPTH, has)
}

fn within(bytes: &[u8], depth: usize, has: &mut dyn FnMut(&[u8]) -> bool) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    [unescaped, undoubled, unquoted, decoded]
        .iter()
        .filter_map(|spelling| spelling(bytes))
        .any(|inner| has(&inner) || within(&inner, depth, has))
}

/// Removes the escapes of JSON. A rejected record need not be JSON: other bytes stay.
fn unescaped(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    let mut found = false;
    while let Some((first, behind)) = rest.split_first() {
        let plain = match (first, behind.first()) {
            (b'\\', Some(b'n')) => Some(b'\n'),
            (b'\\', Some(b't')) => Some(b'\t'),
            (b'\\', Some(b'r')) => Some(b'\r'),
            (b'\\', Some(b'b')) => Some(8),
            (b'\\', Some(b'f')) => Some(12),
            (b'\\', Some(other @ (b'"' | b'\\' | b'/' | b'\''))) => Some(*other),
            _ => None,
        };
        if let Some(plain) = plain {
            out.push(plain);
            rest = part(behind, 1..);
        } else if let Some((character, length)) = numbered(rest) {
            out.extend(character.encode_utf8(&mut [0; 4]).bytes());
            rest = part(rest, length..);
        } else {
            out.push(*first);
            rest = behind;
            continue;
        }
        found = true;
    }
    found.then_some(out)
}

/// The character that `\uXXXX`, or two of them, stand for, and their length.
fn numbered(bytes: &[u8]) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
    };
    let first = unit(0)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, 6));
    }
    let second = unit(6)?;
    let pair = char::decode_utf16([u16::try_from(first).ok()?, u16::try_from(second).ok()?]);
    pair.map(Result::ok).next().flatten().map(|character| (character, 12))
}

/// Removes the second of two quotes, as CSV doubles them.
fn undoubled(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, behind)) = rest.split_first() {
        out.push(*first);
        let is_doubled = *first == b'"' && behind.first() == Some(&b'"');
        rest = if is_doubled { part(behind, 1..) } else { behind };
    }
    (out.len() < bytes.len()).then_some(out)
}

/// Decodes the escapes of URLs; behind that follows the decoding of forms, which write a space as `+`, where there is
/// one.
fn unquoted(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = percent_decoded(bytes);
    if out.len() == bytes.len() {
        return None;
    }
    if bytes.contains(&b'+') {
        let form = bytes.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte });
        out.push(b'\n');
        out.extend(percent_decoded(&form.collect::<Vec<_>>()));
    }
    Some(out)
}

/// Decodes words of base64, one behind the other.
fn decoded(bytes: &[u8]) -> Option<Vec<u8>> {
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    let mut out = Vec::new();
    for word in bytes.split(|byte| !is_of_word(byte)).filter(|word| word.len() >= WORD) {
        // A last character with too few bits for a byte is ignored.
        let word = part(word, ..word.len() - usize::from(word.len() % 4 == 1));
        let engine =
            if word.contains(&b'-') || word.contains(&b'_') { OF_ADDRESSES } else { STANDARD };
        if let Ok(plain) = engine.decode(word) {
            out.extend(plain);
            out.push(b'\n');
        }
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Иван said \"no\",\nand left + went / home 100% 🙂";

    fn finds(spelled: &str) -> bool {
        any(spelled.as_bytes(), &mut |bytes| {
            bytes.windows(TEXT.len()).any(|window| window == TEXT.as_bytes())
        })
    }

    fn ascii_json(text: &str) -> String {
        let units = text.encode_utf16().map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            _ => format!("\\u{unit:04X}"),
        });
        units.collect()
    }

    #[test]
    fn a_text_is_found_behind_every_escape_and_behind_two() {
        let json = |text: &str| serde_json::to_string(text).unwrap();
        let csv = |text: &str| format!("7,\"{}\",x", text.replace('"', "\"\""));
        let percent =
            |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
        let encode = |engine: GeneralPurpose, text: &str| format!("<{}>", engine.encode(text));
        for spelled in [
            TEXT.to_owned(),
            format!("{{\"id\":1,\"text\":{},", json(TEXT)),
            ascii_json(TEXT),
            csv(TEXT),
            percent(TEXT),
            percent(TEXT).replace("%20", "+"),
            encode(STANDARD, TEXT),
            encode(OF_ADDRESSES, TEXT).replace('=', ""),
            json(&json(TEXT)),
            csv(&json(TEXT)),
            json(&csv(TEXT)),
            json(&encode(STANDARD, TEXT)).replace('/', "\\/"),
            percent(&encode(STANDARD, TEXT)),
        ] {
            assert!(finds(&spelled), "{spelled}");
        }
        for other in ["", "\\", "\\u12", "%", "%4", "\"\"", "aGVsbG8gd29ybGQ"] {
            assert!(!finds(other), "{other}");
        }
    }
}
