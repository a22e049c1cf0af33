//! Texts on which encoders are known to differ, or to take too long.

use super::unicode::{NEW_CHARACTERS, has_new_characters};

/// Strings on which encoders are known to differ: empty and blank ones, every kind of space,
/// contractions, digit runs, marks, joiners, scripts without spaces, spelled special tokens, long
/// runs of one character, and all that share a byte with something else.
pub(crate) fn hostile_texts() -> Vec<String> {
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
    // Runs that end otherwise: on them patterns that repeat what repeats try every way to share it out.
    for run in ["a", "A", "1", " ", "="] {
        all.push(format!("{}!?", run.repeat(300)));
    }
    // Ties: a Unigram model cuts an odd run into pieces that score alike in either order.
    for character in (b'!'..=b'~').map(char::from) {
        let runs: Vec<String> =
            (2..=9).map(|length| String::from(character).repeat(length)).collect();
        all.push(runs.join(" a "));
        all.push(runs.join("\n"));
    }
    // Every block of the first planes once, in strides, with and without spaces between.
    for stride in [1, 7] {
        let characters = (0..0x3000u32).step_by(stride).filter_map(char::from_u32).filter(is_known);
        all.push(characters.clone().collect());
        all.push(characters.flat_map(|c| [c, ' ']).collect());
    }
    // Characters that the fast encoder's tables have and the reference's have not.
    for (first, last) in NEW_CHARACTERS {
        for character in [first, last].into_iter().filter_map(char::from_u32) {
            for neighbour in ["a", "s", " t", "1", "é", "!", ".", "(", "\"", " -", "語", "👍"] {
                all.push(format!("{neighbour}{character}{neighbour}"));
            }
        }
    }
    let astral = (0x3000..0x11_0000u32).step_by(97).filter_map(char::from_u32).filter(is_known);
    all.push(astral.collect());
    all
}

/// What takes a fast machine noticeable time: long runs and words, every character once, and bytes that
/// came to text the wrong way. Some 2.5 MB, half a second of the reference.
pub(crate) fn long_texts() -> Vec<String> {
    const LONG: usize = 200_000;
    let mut all = Vec::new();
    for run in ["a", " ", "\n", "=", "é", "語"] {
        all.push(run.repeat(LONG / run.len()));
    }
    all.push(word(LONG, "etaoinshrdlucmfwypvbgkjqxz"));
    all.push(word(LONG, "0123456789"));
    // Marks with nothing to stand on, alone and in a row.
    let marks = (0x300..0x370u32).chain(0x483..0x48A).chain(0x64B..0x660).chain(0x20D0..0x20F1);
    let marks: Vec<char> = marks.filter_map(char::from_u32).collect();
    all.push(marks.iter().collect());
    all.extend(marks.iter().flat_map(|mark| [mark.to_string(), format!(" {mark}\n{mark}a{mark}")]));
    // The planes that have characters, and the edges of those that have none.
    let planes = (0..0x3_2400u32).chain(0xE_0000..0xE_0200).chain(0xF_FFF0..0x10_0010);
    let characters: Vec<char> =
        planes.chain(0x10_FFF0..=0x10_FFFF).filter_map(char::from_u32).collect();
    // The characters stand in texts of their own, since one that goes to the reference would take the others with it.
    let (known, new): (Vec<char>, Vec<char>) = characters.into_iter().partition(is_known);
    for characters in [known, new] {
        all.extend(characters.chunks(256).map(|chunk| chunk.iter().collect::<String>()));
    }
    all.extend(mojibake_texts());
    all
}

fn is_known(character: &char) -> bool {
    !has_new_characters(character.encode_utf8(&mut [0; 4]))
}

/// A word without an end, of letters in no order, the same each time.
fn word(length: usize, letters: &str) -> String {
    let letters: Vec<char> = letters.chars().collect();
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let next = |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let high = usize::try_from(state >> 40).unwrap_or(0);
        letters.get(high % letters.len()).copied()
    };
    (0..length).filter_map(next).collect()
}

/// Text that was bytes of something else: UTF-8 read as Latin-1 once and twice, bytes that are no
/// UTF-8 replaced, characters cut in the middle, control codes.
fn mojibake_texts() -> Vec<String> {
    let original = "naïve café — “Größe” 你好 👍🏽 Ελλάδα";
    let latin = |text: &str| text.bytes().map(char::from).collect::<String>();
    let mut all = vec![latin(original), latin(&latin(original))];
    let bytes: Vec<u8> = original.bytes().collect();
    for cut in 1..5 {
        let cut: Vec<u8> =
            bytes.chunks(7).flat_map(|chunk| chunk.iter().skip(cut)).copied().collect();
        all.push(String::from_utf8_lossy(&cut).into_owned());
    }
    let every: Vec<u8> = (0..=u8::MAX).collect();
    all.push(String::from_utf8_lossy(&every).into_owned());
    all.push(latin(&"\u{fffd}".repeat(3)));
    all.push((0x80..0xA0u32).filter_map(char::from_u32).collect());
    all.push("\u{fffd}a\u{fffd}\u{fffd} \u{fffd}\n\u{fffd}1".to_owned());
    all
}
