//! Edits of known kind, planted in real text.

use crate::random::Random;
use unicode_normalization::UnicodeNormalization;

/// Words of a header or a footer.
const FRAME: usize = 20;
/// Of a tail, one part in so many is cut.
const TAIL: usize = 10;
const STRIDE: usize = 50;
const MARKS: &[char] = &['.', ',', ';', ':', '!', '?', '。', '，', '、', '；', '：', '！', '？'];

/// A kind of edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Twenty words before it.
    Header,
    /// Twenty words behind it.
    Footer,
    /// The last tenth is gone, one word at least.
    Tail,
    /// One word is another.
    OneWord,
    /// Every fiftieth word is another.
    EveryFiftieth,
    /// Sentences (prose) or lines (the others) in random order.
    Order,
    /// Every ASCII digit is another.
    Digits,
    /// Both texts fill the same template, with a slot every 30 to 150 words, with other words.
    Slots,
    /// Capitals throughout.
    Case,
    /// Every mark is another or none.
    Punctuation,
    /// Unicode's other canonical form.
    Nfd,
}

impl Edit {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::Header,
        Self::Footer,
        Self::Tail,
        Self::OneWord,
        Self::EveryFiftieth,
        Self::Order,
        Self::Digits,
        Self::Slots,
        Self::Case,
        Self::Punctuation,
        Self::Nfd,
    ];

    /// What the tables call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Header => "header of 20 words",
            Self::Footer => "footer of 20 words",
            Self::Tail => "last tenth cut",
            Self::OneWord => "one word changed",
            Self::EveryFiftieth => "every 50th word changed",
            Self::Order => "sentences or lines reordered",
            Self::Digits => "digits changed",
            Self::Slots => "template with new slots",
            Self::Case => "capitals",
            Self::Punctuation => "punctuation changed",
            Self::Nfd => "NFC against NFD",
        }
    }

    /// A text of the words of `base` before and after the edit. `more` gives words from elsewhere.
    pub fn plant<'t>(
        self,
        base: &[&'t str],
        random: &mut Random,
        more: &mut dyn FnMut(&mut Random, usize) -> Vec<&'t str>,
    ) -> (String, String) {
        let text = base.concat();
        let mut words = base.to_vec();
        let edited = match self {
            Self::Header => more(random, FRAME).concat() + "\n" + &text,
            Self::Footer => text.clone() + "\n" + &more(random, FRAME).concat(),
            Self::Tail => words[..words.len() - (words.len() / TAIL).max(1)].concat(),
            Self::OneWord => {
                let at = random.below(words.len());
                words[at] = other_word(words[at], random, more);
                words.concat()
            }
            Self::EveryFiftieth => {
                let first = random.below(STRIDE.min(words.len()));
                for at in (first..words.len()).step_by(STRIDE) {
                    words[at] = other_word(words[at], random, more);
                }
                words.concat()
            }
            Self::Order => reorder(&words, random),
            Self::Digits => text.chars().map(|c| other_digit(c, random)).collect(),
            Self::Slots => return slots(words, random, more),
            Self::Case => text.to_uppercase(),
            Self::Punctuation => text.chars().filter_map(|c| other_mark(c, random)).collect(),
            Self::Nfd => return (text.nfc().collect(), text.nfd().collect()),
        };
        (text, edited)
    }
}

type More<'m, 't> = &'m mut dyn FnMut(&mut Random, usize) -> Vec<&'t str>;

/// A word from elsewhere that is not `word`; after many tries any.
fn other_word<'t>(word: &str, random: &mut Random, more: More<'_, 't>) -> &'t str {
    let mut other = "";
    for _ in 0..100 {
        other = more(random, 1)[0];
        let has_letters = other.contains(char::is_alphanumeric);
        if has_letters && other.trim().to_lowercase() != word.trim().to_lowercase() {
            break;
        }
    }
    other
}

fn other_digit(c: char, random: &mut Random) -> char {
    match c.to_digit(10) {
        Some(digit) => char::from_digit((digit + 1 + random.below(9) as u32) % 10, 10).unwrap_or(c),
        None => c,
    }
}

fn other_mark(c: char, random: &mut Random) -> Option<char> {
    if !MARKS.contains(&c) {
        return Some(c);
    }
    (random.below(2) == 0).then(|| *random.choice(MARKS))
}

/// Blocks that end with a sentence or a line, shuffled.
fn reorder(words: &[&str], random: &mut Random) -> String {
    let is_prose = words.iter().any(|word| word.trim_end().ends_with('.'));
    let ends = |word: &&str| match is_prose {
        true => word.trim_end().ends_with(['.', '!', '?', '。']),
        false => word.ends_with('\n'),
    };
    let mut blocks: Vec<String> = words.split_inclusive(ends).map(<[&str]>::concat).collect();
    random.shuffle(&mut blocks);
    for block in &mut blocks {
        if !block.ends_with(char::is_whitespace) {
            block.push('\n');
        }
    }
    blocks.concat()
}

/// The same words twice with different ones in the slots.
fn slots<'t>(mut words: Vec<&'t str>, random: &mut Random, more: More<'_, 't>) -> (String, String) {
    let distance = 30 + random.below(121);
    let first = random.below(distance.min(words.len()));
    let mut other = words.clone();
    for at in (first..words.len()).step_by(distance) {
        words[at] = other_word("", random, more);
        other[at] = other_word(words[at], random, more);
    }
    (words.concat(), other.concat())
}
