//! How many of a language's most frequent words a text has.

use super::words::words;
use std::collections::BTreeSet;

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
