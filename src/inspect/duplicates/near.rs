//! Where two texts begin to differ: a difference short enough for a page, whatever the lengths of the texts.

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
}
