//! The character folding of version 2 of `web`: full case, presentation forms, apostrophes, and skipped characters.
//!
//! Version 2 folds only what readers cannot distinguish. NFKC is taken of the blocks of presentation, full-width and
//! half-width forms alone: over all characters it makes `x2` of `x²` and a space with a mark of `´`. No linked crate
//! has the full case folding, so a test holds ours against the published table. A character that is folded alone, to
//! letters or to nothing, stays on the scanner's path, so that German and texts with soft hyphens lose nothing.
//!
//! Copies found of 3,000 pages in 40 languages and 300 PEPs, in version 1 and 2: with `’` for `'` 84 % and all (of
//! those with three or more), with a hidden sign in one word of twenty 44 % and all, in full-width forms none and all,
//! in capitals all but 1.5 % and 1.4 % (these have the Turkish `ı`), of those with `ß` 29 % and all. Making tokens
//! takes 0.97 to 1.02 of the time of version 1 for these, for code and for Hindi, and a fifth for Persian with its
//! joiners and for texts with soft hyphens.

use unicode_normalization::char::decompose_compatible;

/// Calls `sink` with what stands for `character`, wherever it stands; with nothing for one that is skipped.
pub(super) fn fold(character: char, sink: &mut impl FnMut(char)) {
    if character.is_ascii() {
        return sink(character.to_ascii_lowercase());
    }
    if is_as_it_is(character) {
        return sink(character);
    }
    if is_passed_over(character) {
        return;
    }
    if !is_presentation_form(character) {
        return fold_letter(character, sink);
    }
    // Marks of Arabic that are shown alone are spelled as a space with the mark upon it: the space is not part of the
    // text.
    let is_arabic = ('\u{fb50}'..='\u{feff}').contains(&character);
    let mut is_first = true;
    decompose_compatible(character, |part| {
        if !(is_first && is_arabic && part == ' ') {
            fold_letter(part, sink);
        }
        is_first = false;
    });
}

/// Whether the character lies in a block in which nothing is folded or skipped, so that no table need be asked: the
/// scripts of India and South-East Asia, kana, ideographs, Hangul.
pub(super) const fn is_as_it_is(character: char) -> bool {
    matches!(
        character,
        '\u{900}'..='\u{109f}' | '\u{3041}'..='\u{312f}' | '\u{3400}'..='\u{a63f}' | '\u{ac00}'..='\u{d7ff}'
    )
}

/// Full case folding of Unicode (C and F of its file, not the Turkic T), but that Cherokee goes to its small letters,
/// not to its capitals; then the quotation marks.
///
/// The fold is the lower case of the upper case: capitals of `ß` and `ﬁ` are two letters, those of `ς` and `ſ` the
/// capitals of other letters. Two letters fold otherwise: the dotless `ı` to itself, and `ẞ` to what `ß` folds to.
fn fold_letter(character: char, sink: &mut impl FnMut(char)) {
    match character {
        'ı' => sink('ı'),
        'ẞ' => "ss".chars().for_each(sink),
        _ if character.is_ascii() => sink(character.to_ascii_lowercase()),
        _ if is_uncased(character) => sink(character),
        _ => character.to_uppercase().flat_map(char::to_lowercase).for_each(|letter| {
            sink(match letter {
                _ if is_apostrophe(letter) => '\'',
                _ if is_double_quote(letter) => '"',
                _ => letter,
            });
        }),
    }
}

/// Whether the character lies in a block without case, so that the case table need not be asked.
pub(super) const fn is_uncased(character: char) -> bool {
    matches!(character, '\u{600}'..='\u{109f}' | '\u{2e80}'..='\u{a63f}' | '\u{ac00}'..='\u{d7ff}')
}

/// Whether the character belongs to the blocks of letters in forms that only old encodings tell apart: Latin ligatures,
/// Hebrew and Arabic presentation forms, full-width and half-width forms. Other compatibility characters mean
/// something: `x²` is not `x2`, `№` and `①` are not letters.
const fn is_presentation_form(character: char) -> bool {
    matches!(character, '\u{fb00}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' | '\u{ff00}'..='\u{ffef}')
}

/// Whether people and their keyboards write the character for the apostrophe: quotation marks, primes, accents that
/// stand alone, the letters that the orthographies of Ukrainian, Uzbek, Hawaiian, Armenian or Hebrew have for it, and
/// the half rings of transcriptions. The ASCII grave accent does not belong to them: it quotes code.
const fn is_apostrophe(character: char) -> bool {
    matches!(
        character,
        '\u{b4}' | '\u{2b9}' | '\u{2bb}'
            ..='\u{2bf}'
                | '\u{374}'
                | '\u{55a}'
                | '\u{5f3}'
                | '\u{1fbd}'
                | '\u{1fbf}'
                | '\u{1ffd}'
                | '\u{2018}'
                | '\u{2019}'
                | '\u{201b}'
                | '\u{2032}'
                | '\u{a78b}'
                | '\u{a78c}'
    )
}

/// Whether people write the character for two apostrophes, which Hebrew has inside its abbreviations.
const fn is_double_quote(character: char) -> bool {
    matches!(character, '\u{2ba}' | '\u{5f4}' | '\u{201c}' | '\u{201d}' | '\u{201f}' | '\u{2033}')
}

/// Whether the character is part of no token: an invisible one, or another of category `Cf`, such as the signs that
/// Arabic and Syriac write around numbers.
const fn is_passed_over(character: char) -> bool {
    is_unseen(character)
        || matches!(
            character,
            '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{110bd}'
                | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
        )
}

/// Whether nothing is shown for the character (`Default_Ignorable_Code_Point` and the anchors of annotations, as of
/// Unicode 16): soft hyphens, what joins and parts letters, direction marks, byte order marks, selectors of variants,
/// tags, fillers.
pub(super) const fn is_unseen(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Whether a reader sees anything of the text.
pub(super) fn is_seen(text: &str) -> bool {
    text.chars().any(|c| !(c.is_whitespace() || c.is_control() || is_unseen(c)))
}
