//! Computes how many bytes each function that makes texts would make of a row.

use crate::sql::functions::arguments::TextArgument;

/// Bytes that a two-letter word of a format becomes, at most: `%+` is `2001-07-08T00:34:60.026490+09:30`.
const WORD: u64 = 64;
/// For shorter texts the upper bound of the result is little, so their letters are not counted.
const SHORT: usize = 64 << 10;

pub(super) fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

pub(super) fn joined(args: &[TextArgument<'_>], row: usize) -> u64 {
    args.iter().map(|arg| arg.bytes(row)).fold(0, u64::saturating_add)
}

pub(super) fn joined_with(args: &[TextArgument<'_>], row: usize) -> u64 {
    let between = args.first().map_or(0, |separator| separator.bytes(row));
    joined(args, row).saturating_add(between.saturating_mul(length(args.len())))
}

pub(super) fn repeated(args: &[TextArgument<'_>], row: usize) -> u64 {
    let [text, times, ..] = args else { return 0 };
    text.bytes(row).saturating_mul(times.number(row))
}

pub(super) fn padded(args: &[TextArgument<'_>], row: usize) -> u64 {
    let [text, wide, fill @ ..] = args else { return 0 };
    let fill = fill.first().and_then(|fill| fill.text(row)).unwrap_or(" ");
    let widest = fill.chars().map(char::len_utf8).max().unwrap_or(0);
    text.bytes(row).saturating_add(wide.number(row).saturating_mul(length(widest)))
}

pub(super) fn replaced(args: &[TextArgument<'_>], row: usize) -> u64 {
    let [text, from, to, ..] = args else { return 0 };
    let (Some(text), Some(from), Some(to)) = (text.text(row), from.text(row), to.text(row)) else {
        return 0;
    };
    if to.len() <= from.len() {
        return length(text.len());
    }
    let each = length(to.len() - from.len());
    length(text.len()).saturating_add(length(text.matches(from).count()).saturating_mul(each))
}

pub(super) fn replaced_by_pattern(args: &[TextArgument<'_>], row: usize) -> u64 {
    let [text, _, by, flags @ ..] = args else { return 0 };
    let (text, by) = (text.bytes(row), by.text(row).unwrap_or_default());
    // Matches do not overlap, so what one group captures over all matches is at most the text.
    let groups = length(by.matches(['\\', '$']).count());
    let everywhere = flags.first().and_then(|f| f.text(row)).is_some_and(|f| f.contains('g'));
    let times = if everywhere { text.saturating_add(1) } else { 1 };
    text.saturating_mul(groups.saturating_add(1))
        .saturating_add(length(by.len()).saturating_mul(times))
}

/// At worst groups are nested, and each captures the whole text.
pub(super) fn matched(args: &[TextArgument<'_>], row: usize) -> u64 {
    let [text, pattern, ..] = args else { return 0 };
    let groups = pattern.text(row).map_or(0, |pattern| length(pattern.matches('(').count()));
    text.bytes(row).saturating_mul(groups.saturating_add(1))
}

/// With a negative count of letters to replace, the result has all of the text again. The engine copies the replacement
/// for each row before it inserts it.
pub(super) fn overlaid(args: &[TextArgument<'_>], row: usize) -> u64 {
    let [text, put_in, ..] = args else { return 0 };
    text.bytes(row).saturating_add(put_in.bytes(row)).saturating_mul(2)
}

/// A letter becomes another one, of four bytes at most.
pub(super) fn translated(args: &[TextArgument<'_>], row: usize) -> u64 {
    let [text, _, to, ..] = args else { return 0 };
    let widest = to.text(row).and_then(|to| to.chars().map(char::len_utf8).max()).unwrap_or(0);
    let Some(text) = text.text(row) else { return 0 };
    let letters = if text.len() < SHORT { text.len() } else { text.chars().count() };
    length(text.len()).max(length(letters).saturating_mul(length(widest)))
}

/// Some letters have two or three of the other case: `ß` and `SS`, `İ` and `i̇`. If `translate` turned one back and the
/// case was changed again, and so on, the text would grow without end.
pub(super) fn cased(args: &[TextArgument<'_>], row: usize) -> u64 {
    let Some(text) = args.first().and_then(|text| text.text(row)) else { return 0 };
    if text.is_ascii() {
        return length(text.len());
    }
    if text.len() < SHORT {
        return length(text.len()).saturating_mul(3);
    }
    let bytes =
        |letters: &mut dyn Iterator<Item = char>| letters.map(char::len_utf8).sum::<usize>();
    text.chars()
        .map(|c| length(bytes(&mut c.to_uppercase()).max(bytes(&mut c.to_lowercase()))))
        .fold(0, u64::saturating_add)
}

pub(super) fn formatted(args: &[TextArgument<'_>], row: usize) -> u64 {
    let format = args.get(1).and_then(|format| format.text(row)).unwrap_or_default();
    let words = length(format.matches('%').count()).saturating_add(1);
    length(format.len()).saturating_add(words.saturating_mul(WORD))
}

/// Two hexadecimal digits for each byte; base64 takes less, with its padding.
pub(super) fn encoded(args: &[TextArgument<'_>], row: usize) -> u64 {
    args.first().map_or(0, |bytes| bytes.bytes(row)).saturating_mul(2).saturating_add(4)
}
