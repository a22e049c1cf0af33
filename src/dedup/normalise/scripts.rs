//! What the tokenising rules need to know of characters beyond their standard properties.

/// Whether the character belongs to a script that is written without spaces between words, so that
/// each of its letters is a token. Hangul is not among them: Korean has spaces.
pub(super) fn is_unspaced(character: char) -> bool {
    let listed = match character {
        // Nothing below Thai; the bulk of text stops here.
        '\0'..='\u{dff}' => return false,
        // Thai, Lao, Tibetan, Myanmar, Khmer
        '\u{e00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        // Tai Le, New Tai Lue, Tai Tham, Balinese
        | '\u{1950}'..='\u{19df}' | '\u{1a20}'..='\u{1aaf}' | '\u{1b00}'..='\u{1b7f}'
        // Ideographic marks and numerals, Hiragana, Katakana, Bopomofo
        | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3038}'..='\u{303c}'
        | '\u{3041}'..='\u{312f}' | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}'
        // Han
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}'
        // Javanese, Myanmar extended, Tai Viet
        | '\u{a980}'..='\u{a9ff}' | '\u{aa60}'..='\u{aadf}'
        // Half-width Katakana, old Kana
        | '\u{ff66}'..='\u{ff9f}' | '\u{1aff0}'..='\u{1b16f}' => true,
        _ => false,
    };
    listed && character.is_alphabetic()
}

/// Whether the character is a symbol that means something by itself: an emoji or other pictograph,
/// a dingbat, a Braille cell. Given by blocks, which never change.
pub(super) fn is_pictograph(character: char) -> bool {
    matches!(
        character,
        '\u{2600}'..='\u{27bf}' | '\u{2801}'..='\u{28ff}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}'
    )
}

/// Whether the character is invisible and changes only how its neighbours are shown or joined.
pub(super) fn is_format(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}'
    )
}

/// Whether the character lies in a block without case, so that the case table need not be asked.
pub(super) fn is_uncased(character: char) -> bool {
    matches!(character, '\u{2e80}'..='\u{a63f}' | '\u{ac00}'..='\u{d7ff}')
}
