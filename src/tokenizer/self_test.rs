//! Proves the fast encoder against the oracle before it is trusted with a corpus.

use super::fast::{Fast, FastScratch};
use super::oracle::Oracle;

/// Bytes of the caller's sample that are compared: half a second of the oracle.
const SAMPLE_BYTES: usize = 2 << 20;

/// Characters that Unicode 17 made letters or numbers: first and last of each run.
#[rustfmt::skip]
pub(super) const UNICODE_17: [(u32, u32); 27] = [
    (0x088F, 0x088F), (0x0C5C, 0x0C5C), (0x0CDC, 0x0CDC), (0xA7CE, 0xA7CF), (0xA7D2, 0xA7D2),
    (0xA7D4, 0xA7D4), (0xA7F1, 0xA7F1), (0x10940, 0x10959), (0x10EC5, 0x10EC7), (0x11DB0, 0x11DDB),
    (0x11DE0, 0x11DE9), (0x16EA0, 0x16EB8), (0x16EBB, 0x16ED3), (0x16FF2, 0x16FF3),
    (0x16FF4, 0x16FF6), (0x187F8, 0x187FF), (0x18D09, 0x18D1E), (0x18D80, 0x18DF2),
    (0x1E6C0, 0x1E6DE), (0x1E6E0, 0x1E6E2), (0x1E6E4, 0x1E6E5), (0x1E6E7, 0x1E6ED),
    (0x1E6F0, 0x1E6F4), (0x1E6FE, 0x1E6FF), (0x2B73A, 0x2B73F), (0x2CEA2, 0x2CEAD),
    (0x323B0, 0x33479),
];

/// Compares both encoders; on a difference says on what.
pub(super) fn compare(fast: &Fast, oracle: &Oracle, sample: &[&str]) -> Result<(), String> {
    let mut scratch = FastScratch::default();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut left = SAMPLE_BYTES;
    let sample = sample.iter().map_while(|text| {
        let text = cut(text, left);
        left -= text.len();
        (!text.is_empty()).then(|| text.to_owned())
    });
    for text in hostile().into_iter().chain(sample) {
        ours.clear();
        theirs.clear();
        let fast_result = fast.encode(&text, &mut scratch, &mut ours);
        let oracle_result = oracle.encode(&text, &mut theirs);
        match (fast_result, oracle_result) {
            (Ok(()), Ok(())) if ours == theirs => {}
            // A text both refuse is no difference: encoding falls back and fails alike.
            (Err(_), Err(_)) => {}
            (Err(why), Ok(())) => {
                return Err(format!("the fast encoder fails on {}: {why}", excerpt(&text)));
            }
            _ => return Err(format!("the fast encoder gives other ids on {}", excerpt(&text))),
        }
    }
    Ok(())
}

/// As [`compare`] where special tokens in the text are special: around, between and inside them.
pub(super) fn compare_specials(fast: &Fast, oracle: &Oracle) -> Result<(), String> {
    /// Vocabularies reserve hundreds, all alike.
    const MOST: usize = 64;
    let specials: Vec<String> =
        oracle.specials().into_iter().take(MOST).map(|(_, special)| special).collect();
    let mut texts = hostile();
    for (at, special) in specials.iter().enumerate() {
        let next = specials.get((at + 1) % specials.len()).map_or("", String::as_str);
        let cut = cut(special, special.len().saturating_sub(1));
        texts.push(format!(
            "a{special}b {special} \n{special}\n{special}{next}é{special}語{special}"
        ));
        texts.push(format!("{cut} {cut}{special}{cut}{next}  {special}  user\nHi!\t{special}'s"));
    }
    if let Some(special) = specials.first() {
        texts.push(hostile().join(special));
    }
    let mut scratch = FastScratch::default();
    for text in texts {
        let mut ours = Vec::new();
        let fast_result = fast.encode_special(&text, &mut scratch, &mut ours);
        match (fast_result, oracle.encode_placed(&text, true)) {
            (Ok(()), Ok((theirs, _))) if ours == theirs => {}
            (Err(_), Err(_)) => {}
            _ => return Err(format!("the fast encoder differs on {}", excerpt(&text))),
        }
    }
    Ok(())
}

/// Strings on which encoders are known to differ: empty and blank ones, every kind of space,
/// contractions, digit runs, marks, joiners, scripts without spaces, spelled special tokens, long
/// runs of one character, and all that share a byte with something else.
pub(super) fn hostile() -> Vec<String> {
    let mut all: Vec<String> = [
        "",
        " ",
        "  ",
        "\n",
        "\r\n",
        "\t \t",
        " a",
        "a ",
        "  a  b   c    ",
        "a\n\n\nb\r\n\r\n c\n ",
        "trailing spaces   \n   leading",
        "\u{a0}nbsp\u{a0}\u{2003}em\u{3000}wide\u{200b}zero\u{feff}bom\u{85}nel\u{2028}ls\u{180e}",
        "\0nul\u{1}\u{7f}\u{80}\u{9f}",
        "don't DON'T 'tis we'll they're I've I'm he'd o'clock ''s '' ' s",
        "0 1 12 123 1234 12345 123456789012 3.14159 1,000,000 ½ ² Ⅷ ٣٤ ४५",
        "if x:\n        return {'a': [1, 2], \"b\": None}  # comment\n\n\tpass",
        "e\u{301} é ﬁ ﬀ Å Å ǆ ß ẞ İ ı ſ K",
        "o\u{308}\u{323}\u{301} a\u{300}\u{301}\u{302}\u{303} \u{301}leading mark",
        "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇫🇷 👍🏽 ☺️ ☺",
        "שלום עולם مرحبا بالعالم \u{202b}rtl\u{202c}",
        "你好世界。日本語のテキスト、カタカナ 한국어 텍스트 ภาษาไทย ལྷ་ས་ नमस्ते",
        "<|endoftext|> a<|endoftext|>b <s> </s> [CLS][SEP][PAD][UNK][MASK] <unk> <pad> <|im_start|>",
        "▁underline ▁▁ Ġ Ċ ĠĠ",
        "!!!???...---___***///\\\\\\ ~!@#$%^&*()_+{}|:\"<>?`-=[];',./",
        "CamelCaseWord snake_case_word kebab-case-word SCREAMING_CASE x1y2z3",
        "http://example.com/a?b=c&d=%20#e user@example.org /usr/lib/x86_64 C:\\Windows",
        "\u{fffd}\u{10ffff}\u{e000}\u{fffe}\u{d7ff}",
        "𝕳𝖊𝖑𝖑𝖔 𐍈 𠜎 🀄",
    ]
    .map(str::to_owned)
    .to_vec();
    let runs = ["a", " ", "\n", "=", "1", "é", "語", "👍", "ab", "\t", " a", "'s"];
    for run in runs {
        for length in [2, 3, 5, 17, 64, 300, 5000] {
            all.push(run.repeat(length));
        }
    }
    // Every block of the first planes once, in strides, with and without spaces between.
    for stride in [1, 7] {
        let characters = (0..0x3000u32).step_by(stride).filter_map(char::from_u32);
        all.push(characters.clone().collect());
        all.push(characters.flat_map(|c| [c, ' ']).collect());
    }
    // Letters of Unicode 17: the fast encoder's tables have them, the oracle's do not. Where a merge
    // reaches over such a character's edge the ids differ, and the oracle must be used.
    for (first, last) in UNICODE_17 {
        for character in [first, last].into_iter().filter_map(char::from_u32) {
            for neighbour in ["a", "s", " t", "1", "é", "!", ".", "(", "\"", " -", "語", "👍"] {
                all.push(format!("{neighbour}{character}{neighbour}"));
            }
        }
    }
    let astral = (0x3000..0x11_0000u32).step_by(97).filter_map(char::from_u32);
    all.push(astral.collect());
    all
}

fn cut(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

fn excerpt(text: &str) -> String {
    let head = cut(text, 40);
    format!("`{}`{}", head.escape_debug(), if head.len() < text.len() { ".." } else { "" })
}
