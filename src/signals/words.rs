//! Scores of words: how many, how long, of letters, beside signs and line ends; how many stop words of a language.

use super::characters::{is_letter, is_punctuation, is_space};
use std::collections::BTreeSet;

/// The words of a text: what stands between white space, as Python's `str.split` cuts it.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// What one walk over the words of a text counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WordStatistics {
    /// Words.
    all: u64,
    /// Words that are not of punctuation alone.
    spoken: u64,
    /// Characters of these.
    spoken_chars: u64,
    /// Words with a letter.
    lettered: u64,
    /// Number signs in the text.
    hashes: u64,
    /// Ellipses in the text, of one character or of three.
    ellipses: u64,
    /// Line feeds in the text.
    newlines: u64,
}

impl WordStatistics {
    pub(super) fn of(text: &str) -> Self {
        let mut counts = Self::default();
        for word in words(text) {
            let (mut chars, mut is_spoken, mut is_lettered) = (0, false, false);
            for character in word.chars() {
                chars += 1;
                is_spoken = is_spoken || !is_punctuation(character);
                is_lettered = is_lettered || is_letter(character);
            }
            counts.all += 1;
            counts.lettered += u64::from(is_lettered);
            counts.spoken += u64::from(is_spoken);
            counts.spoken_chars += if is_spoken { chars } else { 0 };
        }
        let count = |sign: u8| text.bytes().filter(|byte| *byte == sign).count() as u64;
        counts.hashes = count(b'#');
        counts.newlines = count(b'\n');
        counts.ellipses = (text.matches("...").count() + text.matches('…').count()) as u64;
        counts
    }

    pub(super) const fn word_count(&self) -> u64 {
        self.spoken
    }

    pub(super) fn mean_word_length(&self) -> f64 {
        share(self.spoken_chars, self.spoken)
    }

    pub(super) fn symbol_ratio(&self) -> f64 {
        share(self.hashes.max(self.ellipses), self.all)
    }

    pub(super) fn alpha_ratio(&self) -> f64 {
        share(self.lettered, self.all)
    }

    pub(super) fn newline_ratio(&self) -> f64 {
        share(self.newlines, self.all)
    }
}

/// A share; 0 of nothing.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Words that are not of punctuation alone.
pub(crate) fn word_count(text: &str) -> u64 {
    WordStatistics::of(text).word_count()
}

/// Mean length in characters of the words that are not of punctuation alone.
pub(crate) fn mean_word_length(text: &str) -> f64 {
    WordStatistics::of(text).mean_word_length()
}

/// Number signs, or ellipses where these are more, a word.
pub(crate) fn symbol_ratio(text: &str) -> f64 {
    WordStatistics::of(text).symbol_ratio()
}

/// Share of the words that have a letter.
pub(crate) fn alpha_ratio(text: &str) -> f64 {
    WordStatistics::of(text).alpha_ratio()
}

/// Line feeds a word.
pub(crate) fn newline_ratio(text: &str) -> f64 {
    WordStatistics::of(text).newline_ratio()
}

/// By language: words that nearly every page of it has. Those of English are Gopher's; the others are as frequent.
const LISTS: [(&str, [&str; 8]); 26] = [
    ("ar", ["في", "من", "على", "أن", "إلى", "عن", "التي", "هذا"]),
    ("bg", ["и", "на", "да", "се", "за", "от", "в", "с"]),
    ("ca", ["de", "la", "i", "el", "que", "en", "per", "amb"]),
    ("cs", ["a", "se", "na", "je", "v", "že", "to", "s"]),
    ("da", ["og", "i", "at", "det", "er", "en", "til", "af"]),
    ("de", ["der", "die", "und", "in", "zu", "den", "das", "mit"]),
    ("el", ["και", "το", "να", "του", "η", "της", "με", "για"]),
    ("en", ["the", "be", "to", "of", "and", "that", "have", "with"]),
    ("es", ["de", "la", "que", "el", "en", "y", "los", "con"]),
    ("fa", ["و", "در", "به", "از", "که", "این", "را", "با"]),
    ("fi", ["ja", "on", "ei", "että", "se", "hän", "oli", "myös"]),
    ("fr", ["de", "la", "le", "et", "les", "des", "en", "que"]),
    ("hi", ["के", "में", "की", "है", "और", "से", "को", "का"]),
    ("hu", ["a", "az", "és", "hogy", "nem", "is", "egy", "meg"]),
    ("id", ["yang", "dan", "di", "untuk", "dengan", "ini", "dari", "dalam"]),
    ("it", ["di", "e", "che", "la", "il", "in", "per", "con"]),
    ("nl", ["de", "het", "een", "van", "en", "in", "is", "dat"]),
    ("no", ["og", "i", "det", "er", "på", "til", "som", "en"]),
    ("pl", ["w", "i", "na", "z", "się", "do", "to", "jest"]),
    ("pt", ["de", "a", "o", "que", "e", "do", "da", "com"]),
    ("ro", ["de", "și", "în", "la", "a", "cu", "pe", "care"]),
    ("ru", ["и", "в", "не", "на", "что", "с", "по", "как"]),
    ("sr", ["и", "у", "је", "да", "се", "на", "за", "од"]),
    ("sv", ["och", "i", "att", "det", "som", "en", "är", "på"]),
    ("tr", ["ve", "bir", "bu", "da", "de", "için", "ile", "çok"]),
    ("uk", ["і", "в", "на", "не", "що", "до", "з", "як"]),
];

/// How many of the eight most frequent words of a language a text has, each counted once and as it is spelled; none for
/// a language without a list.
pub(crate) fn stopword_count(text: &str, language: &str) -> Option<u64> {
    let at = LISTS.binary_search_by(|(other, _)| (*other).cmp(language)).ok()?;
    let (_, list) = LISTS.get(at)?;
    let mut found = BTreeSet::new();
    for word in words(text) {
        found.extend(list.iter().position(|stop| *stop == word));
        if found.len() == list.len() {
            break;
        }
    }
    Some(found.len() as u64)
}
