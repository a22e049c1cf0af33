//! Excerpts of two texts around the places where they differ.

use super::diff::{DiffPart, texts};
use crate::inspect::InspectError;
use model::DocId;
use store::View;

/// Characters of equal text that are shown beside a change.
const BESIDE: usize = 80;
/// Characters of the texts that are compared, for each one that is shown.
const COMPARED: usize = 8;

/// How the texts of two documents differ, by words, from shortly before the first change on, in at most some
/// `characters` characters. `…` stands for what is left out.
///
/// # Errors
/// [`InspectError`] when a text is absent or cannot be read.
pub fn diff_near(
    view: &View,
    a: DocId,
    b: DocId,
    characters: usize,
) -> Result<Vec<DiffPart>, InspectError> {
    Ok(near(&view.text(a)?, &view.text(b)?, characters))
}

fn near(a: &str, b: &str, characters: usize) -> Vec<DiffPart> {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let start = same.saturating_sub(2 * BESIDE);
    let (a, b) = (cut(a, start, characters), cut(b, start, characters));
    let mut left = characters;
    let mut shown = Vec::new();
    let all = texts(&a.text, &b.text);
    let last = all.len().saturating_sub(1);
    for (at, part) in all.into_iter().enumerate() {
        let part = match part {
            DiffPart::Same(text) => {
                let ends = (at == 0 && start == 0, at == last && !a.goes_on && !b.goes_on);
                DiffPart::Same(shortened(&text, (at == 0, at == last), ends))
            }
            other => other,
        };
        let (text, rest) = split(part.text(), left);
        left = left.saturating_sub(text.chars().count());
        let text = if rest { format!("{text}…") } else { text.to_owned() };
        shown.push(part.with(text));
        if left == 0 {
            break;
        }
    }
    shown
}

/// The beginning of a text, and whether more follows.
struct TextWindow {
    text: String,
    goes_on: bool,
}

fn cut(text: &str, start: usize, characters: usize) -> TextWindow {
    let mut rest = text.chars().skip(start);
    let text = rest.by_ref().take(characters.saturating_mul(COMPARED)).collect();
    TextWindow { text, goes_on: rest.next().is_some() }
}

/// Equal text without what is far from a change: only its end if it is the `first` part, only its beginning if it is
/// the `last`, else both. `whole` tells at which ends of the texts nothing was cut before.
fn shortened(text: &str, (first, last): (bool, bool), whole: (bool, bool)) -> String {
    let length = text.chars().count();
    let head = if first { 0 } else { BESIDE };
    let tail = if last { 0 } else { BESIDE };
    let marks = |at: bool| if at { "" } else { "…" };
    if first && last {
        let (shown, more) = split(text, 2 * BESIDE);
        return format!("{}{shown}{}", marks(whole.0), marks(whole.1 && !more));
    }
    if length <= head + tail {
        let (before, behind) = (!first || whole.0, !last || whole.1);
        return format!("{}{text}{}", marks(before), marks(behind));
    }
    let before: String = text.chars().take(head).collect();
    let behind: String = text.chars().skip(length - tail).collect();
    format!("{before}…{behind}")
}

/// The first `characters` of a text, and whether there are more.
fn split(text: &str, characters: usize) -> (&str, bool) {
    match text.char_indices().nth(characters) {
        Some((at, _)) => (text.get(..at).unwrap_or(text), true),
        None => (text, false),
    }
}

/// Characters of an excerpt.
const CHARACTERS: usize = 120;

/// Characters of an excerpt before the place where two texts differ.
const BEFORE: usize = 40;

/// The first 120 characters of a text, white space as single spaces, with `…` where more follow.
pub(in crate::inspect) fn beginning(text: &str) -> String {
    from(text, 0)
}

/// Both texts from shortly before the first character in which they differ, as [`beginning`] shows them, with `…` at
/// the front where more precede. For texts that differ in white space alone, their beginnings.
pub(in crate::inspect) fn parting(a: &str, b: &str) -> (String, String) {
    let same = flat(a).zip(flat(b)).take_while(|(a, b)| a == b).count();
    let parts = flat(a).nth(same) != flat(b).nth(same);
    let start = if parts && same > CHARACTERS / 2 { same - BEFORE } else { 0 };
    (from(a, start), from(b, start))
}

fn from(text: &str, start: usize) -> String {
    let mut shown = String::new();
    let mut rest = flat(text).skip(start);
    if start > 0 {
        shown.push('…');
    }
    shown.extend(rest.by_ref().take(CHARACTERS));
    if rest.next().is_some() {
        shown.push('…');
    }
    shown
}

/// The characters of a text, runs of white space as one space, none at either end.
fn flat(text: &str) -> impl Iterator<Item = char> + '_ {
    let words = text.split_whitespace().enumerate();
    // Control characters would act on a terminal.
    words.flat_map(spaced).map(|c| if c.is_control() { '\u{fffd}' } else { c })
}

fn spaced((at, word): (usize, &str)) -> impl Iterator<Item = char> + '_ {
    (at > 0).then_some(' ').into_iter().chain(word.chars())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same(text: &str) -> DiffPart {
        DiffPart::Same(text.to_owned())
    }

    fn changed(a: &str, b: &str) -> [DiffPart; 2] {
        [DiffPart::Removed(a.to_owned()), DiffPart::Added(b.to_owned())]
    }

    #[test]
    fn a_change_is_shown_with_what_is_beside_it() {
        let [removed, added] = changed("three", "3");
        let parts = [same("one two "), removed.clone(), added.clone(), same(" four")];
        assert_eq!(near("one two three four", "one two 3 four", 1000), parts);
        let far = "word ".repeat(500);
        let parts = near(&format!("{far}three {far}"), &format!("{far}3 {far}"), 1000);
        let beside = "word ".repeat(16);
        let (before, behind) = (format!("…{beside}"), format!(" {}…", &beside[..79]));
        assert_eq!(parts, [same(&before), removed, added, same(&behind)]);
        assert_eq!(near("same", "same", 1000), [same("same")]);
    }

    proptest! {
        #[test]
        fn shown_passages_are_bounded_and_from_the_texts(
            a in "[ab \\né]{0,400}", b in "[ab \\né]{0,400}", characters in 1_usize..300,
        ) {
            let parts = near(&a, &b, characters);
            let shown: usize = parts.iter().map(|part| part.text().chars().count()).sum();
            prop_assert!(shown <= characters + 1, "{shown}");
            for part in &parts {
                for piece in part.text().split('…') {
                    let known = match part {
                        DiffPart::Added(_) => b.contains(piece),
                        _ => a.contains(piece),
                    };
                    prop_assert!(known, "{piece:?}");
                }
            }
        }
    }

    #[test]
    fn a_beginning_is_one_bounded_line() {
        assert_eq!(beginning("  one\n\ttwo  "), "one two");
        assert_eq!(beginning("a\x1b[31mb"), "a\u{fffd}[31mb");
        assert_eq!(beginning(&"ab ".repeat(40)), ["ab"; 40].join(" "));
        assert_eq!(beginning(&"é".repeat(120)), "é".repeat(120));
        assert_eq!(beginning(&"é".repeat(121)), format!("{}…", "é".repeat(120)));
        assert_eq!(beginning(""), "");
    }

    #[test]
    fn an_example_pair_shows_where_its_texts_part() {
        // Two equal beginnings would not show how the texts differ.
        let common = "word ".repeat(500);
        let (a, b) = parting(&format!("{common} one\n end"), &format!("{common}two end"));
        assert!(a.starts_with("…") && a.ends_with("word one end"), "{a}");
        assert!(b.starts_with("…") && b.ends_with("word two end"), "{b}");
        assert_eq!(parting("a b", "a c"), ("a b".to_owned(), "a c".to_owned()));
        let (a, b) = parting(&common, &format!("{common}more"));
        assert!(a.starts_with('…') && b.ends_with("word more"), "{a} {b}");
        assert_eq!(parting("a\nb", " a b"), ("a b".to_owned(), "a b".to_owned()));
        assert!(parting(&common, &common).0.starts_with("word"));
    }
}
