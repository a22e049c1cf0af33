//! Which language a text is in, by whatlang, from a sample of its prose.

use super::characters::{is_letter, is_space};
use super::words::words;
use std::borrow::Cow;

/// Bytes of prose that are examined: more changes few answers, and costs as much again.
const SAMPLE: usize = 4096;

/// The language of a text as a code of ISO 639-1 (of 639-3 where that has none), told from the first 4 KiB of its
/// prose; none where there is no letter of a known script.
pub(crate) fn language(text: &str) -> Option<&'static str> {
    detect_language(text).map(|(language, _)| language)
}

/// How much better the language fits than the next one, 0 to 1; 1 where its script is of one language alone.
pub(crate) fn language_score(text: &str) -> Option<f64> {
    detect_language(text).map(|(_, score)| score)
}

pub(super) fn detect_language(text: &str) -> Option<(&'static str, f64)> {
    let sample = prose(text);
    // Of texts without letters nothing can be told, and whatlang divides by their number.
    if !sample.chars().any(is_letter) {
        return None;
    }
    let found = whatlang::detect(&sample)?;
    Some((short(found.lang().code()), found.confidence()))
}

/// The first words of a text that are prose: no code between backticks, no addresses, names of files, numbers. Where
/// there are none, its beginning.
fn prose(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut is_code = false;
    for word in words(text) {
        let ticks = word.bytes().filter(|byte| *byte == b'`').count();
        let was_code = is_code;
        is_code ^= ticks % 2 == 1;
        if was_code || ticks > 0 || !is_prose(word) {
            continue;
        }
        if out.len() + word.len() >= SAMPLE {
            if out.is_empty() {
                return head(word).into();
            }
            break;
        }
        out.push_str(word);
        out.push(' ');
    }
    if out.is_empty() { head(text.trim_start_matches(is_space)).into() } else { out.into() }
}

/// No signs nor digits of ASCII in it, those at the ends aside.
fn is_prose(word: &str) -> bool {
    let core = word.trim_matches(|character: char| !character.is_alphanumeric());
    let of_prose =
        |byte: u8| !byte.is_ascii() || byte.is_ascii_alphabetic() || b"-',".contains(&byte);
    !core.is_empty() && core.bytes().all(of_prose)
}

fn head(text: &str) -> &str {
    text.get(..text.floor_char_boundary(SAMPLE.min(text.len()))).unwrap_or_default()
}

/// The code of two letters, where the language has one.
fn short(code: &'static str) -> &'static str {
    let at = CODES.binary_search_by(|(long, _)| (*long).cmp(code)).ok();
    at.and_then(|at| CODES.get(at)).map_or(code, |(_, short)| short)
}

const CODES: [(&str, &str); 69] = [
    ("afr", "af"),
    ("aka", "ak"),
    ("amh", "am"),
    ("ara", "ar"),
    ("aze", "az"),
    ("bel", "be"),
    ("ben", "bn"),
    ("bul", "bg"),
    ("cat", "ca"),
    ("ces", "cs"),
    ("cmn", "zh"),
    ("dan", "da"),
    ("deu", "de"),
    ("ell", "el"),
    ("eng", "en"),
    ("epo", "eo"),
    ("est", "et"),
    ("fin", "fi"),
    ("fra", "fr"),
    ("guj", "gu"),
    ("heb", "he"),
    ("hin", "hi"),
    ("hrv", "hr"),
    ("hun", "hu"),
    ("hye", "hy"),
    ("ind", "id"),
    ("ita", "it"),
    ("jav", "jv"),
    ("jpn", "ja"),
    ("kan", "kn"),
    ("kat", "ka"),
    ("khm", "km"),
    ("kor", "ko"),
    ("lat", "la"),
    ("lav", "lv"),
    ("lit", "lt"),
    ("mal", "ml"),
    ("mar", "mr"),
    ("mkd", "mk"),
    ("mya", "my"),
    ("nep", "ne"),
    ("nld", "nl"),
    ("nob", "no"),
    ("ori", "or"),
    ("pan", "pa"),
    ("pes", "fa"),
    ("pol", "pl"),
    ("por", "pt"),
    ("ron", "ro"),
    ("rus", "ru"),
    ("sin", "si"),
    ("slk", "sk"),
    ("slv", "sl"),
    ("sna", "sn"),
    ("spa", "es"),
    ("srp", "sr"),
    ("swe", "sv"),
    ("tam", "ta"),
    ("tel", "te"),
    ("tgl", "tl"),
    ("tha", "th"),
    ("tuk", "tk"),
    ("tur", "tr"),
    ("ukr", "uk"),
    ("urd", "ur"),
    ("uzb", "uz"),
    ("vie", "vi"),
    ("yid", "yi"),
    ("zul", "zu"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_of_the_detector_has_its_short_code() {
        assert!(CODES.is_sorted());
        for language in whatlang::Lang::all() {
            assert_eq!(short(language.code()).len(), 2, "{language}");
        }
    }
}
