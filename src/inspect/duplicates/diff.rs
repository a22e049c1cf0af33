//! The difference of two texts: by lines first, then by words where lines differ.

use crate::inspect::InspectError;
use crate::sql::SqlError;
use model::DocId;
use model::invariant::part;
use serde::Serialize;
use store::View;

/// Edits of the longest script that is searched for; texts that differ more are shown as one replaced by the other.
/// Bounds memory to 16 MB, and time to edits times length.
const EDITS: usize = 2000;

/// A stretch of the difference; the stretches in order are both texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(tag = "part", content = "text", rename_all = "lowercase")]
pub enum DiffPart {
    /// In both texts.
    Same(String),
    /// Only in the first text.
    Removed(String),
    /// Only in the second text.
    Added(String),
}

impl DiffPart {
    /// The stretch.
    #[must_use]
    pub fn text(&self) -> &str {
        let (Self::Same(text) | Self::Removed(text) | Self::Added(text)) = self;
        text
    }

    /// A part with another text.
    pub(super) fn with(&self, text: String) -> Self {
        match self {
            Self::Same(_) => Self::Same(text),
            Self::Removed(_) => Self::Removed(text),
            Self::Added(_) => Self::Added(text),
        }
    }
}

/// The difference of the texts of two documents, by words.
///
/// # Errors
/// [`InspectError`] when a text is absent or cannot be read.
pub fn diff(view: &View, a: DocId, b: DocId) -> Result<Vec<DiffPart>, InspectError> {
    for document in [a, b] {
        if document.0 >= view.documents() {
            return Err(SqlError::NoDocument { document, documents: view.documents() }.into());
        }
    }
    Ok(texts(&view.text(a)?, &view.text(b)?))
}

/// The difference of two texts, by words.
pub(super) fn texts(a: &str, b: &str) -> Vec<DiffPart> {
    let mut parts = DiffBuilder::default();
    let a_lines: Vec<&str> = a.split_inclusive('\n').collect();
    let b_lines: Vec<&str> = b.split_inclusive('\n').collect();
    let mut gap = (String::new(), String::new());
    for edit in edits(&a_lines, &b_lines) {
        match edit {
            DiffEdit::Same(line) => {
                parts.words(&gap.0, &gap.1);
                gap = (String::new(), String::new());
                parts.push(Kind::Same, line);
            }
            DiffEdit::Removed(line) => gap.0.push_str(line),
            DiffEdit::Added(line) => gap.1.push_str(line),
        }
    }
    parts.words(&gap.0, &gap.1);
    parts.0
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Same,
    Removed,
    Added,
}

#[derive(Default)]
struct DiffBuilder(Vec<DiffPart>);

impl DiffBuilder {
    fn words(&mut self, a: &str, b: &str) {
        for edit in edits(&words(a), &words(b)) {
            match edit {
                DiffEdit::Same(word) => self.push(Kind::Same, word),
                DiffEdit::Removed(word) => self.push(Kind::Removed, word),
                DiffEdit::Added(word) => self.push(Kind::Added, word),
            }
        }
    }

    fn push(&mut self, kind: Kind, text: &str) {
        match (kind, self.0.last_mut()) {
            (Kind::Same, Some(DiffPart::Same(last)))
            | (Kind::Removed, Some(DiffPart::Removed(last)))
            | (Kind::Added, Some(DiffPart::Added(last))) => last.push_str(text),
            (Kind::Same, _) => self.0.push(DiffPart::Same(text.to_owned())),
            (Kind::Removed, _) => self.0.push(DiffPart::Removed(text.to_owned())),
            (Kind::Added, _) => self.0.push(DiffPart::Added(text.to_owned())),
        }
    }
}

/// Runs of letters and digits, runs of white space, and every other character by itself.
fn words(text: &str) -> Vec<&str> {
    #[derive(PartialEq, Clone, Copy)]
    enum WordClass {
        Word,
        Space,
        Other,
    }
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => WordClass::Word,
        c if c.is_whitespace() => WordClass::Space,
        _ => WordClass::Other,
    };
    let mut found = Vec::new();
    let mut start = 0;
    let mut last: Option<WordClass> = None;
    for (at, c) in text.char_indices() {
        let now = class(c);
        if last.is_some_and(|last| last != now || last == WordClass::Other) {
            found.extend(text.get(start..at));
            start = at;
        }
        last = Some(now);
    }
    found.extend(text.get(start..).filter(|rest| !rest.is_empty()));
    found
}

enum DiffEdit<'a> {
    Same(&'a str),
    Removed(&'a str),
    Added(&'a str),
}

/// A shortest edit script (Myers 1986), or all removed and all added when it is longer than [`EDITS`].
fn edits<'a>(a: &[&'a str], b: &[&'a str]) -> Vec<DiffEdit<'a>> {
    let head = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (same_head, a) = a.split_at(head);
    let b = part(b, head..);
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, same_tail) = a.split_at(a.len() - tail);
    let b = part(b, ..b.len() - tail);
    let mut script: Vec<DiffEdit<'a>> = same_head.iter().map(|item| DiffEdit::Same(item)).collect();
    match trace(a, b) {
        Some(trace) => script.extend(replay(a, b, &trace)),
        None => {
            script.extend(a.iter().map(|item| DiffEdit::Removed(item)));
            script.extend(b.iter().map(|item| DiffEdit::Added(item)));
        }
    }
    script.extend(same_tail.iter().map(|item| DiffEdit::Same(item)));
    script
}

/// For every number of edits `d`, the furthest place in `a` on each diagonal `-d, -d + 2, ..= d`; none when more than
/// [`EDITS`] are needed.
fn trace(a: &[&str], b: &[&str]) -> Option<Vec<Vec<u32>>> {
    let mut rounds: Vec<Vec<u32>> = Vec::new();
    for d in 0..=a.len().saturating_add(b.len()).min(EDITS) {
        let mut round = Vec::with_capacity(d + 1);
        for step in 0..=d {
            let (mut x, _) = reach(rounds.last(), d, step);
            // Diagonal = x - y = 2 * step - d.
            let mut y = (x + d).checked_sub(2 * step).unwrap_or(usize::MAX);
            while x < a.len() && y < b.len() && a.get(x) == b.get(y) {
                x += 1;
                y += 1;
            }
            round.push(u32::try_from(x).unwrap_or(u32::MAX));
            if x >= a.len() && y >= b.len() && x - a.len() == 0 && y - b.len() == 0 {
                rounds.push(round);
                return Some(rounds);
            }
        }
        rounds.push(round);
    }
    None
}

/// Where edit `d` begins on its `step`-th diagonal, and whether it removes (moves on in `a`).
fn reach(before: Option<&Vec<u32>>, d: usize, step: usize) -> (usize, bool) {
    let Some(before) = before else { return (0, false) };
    // The diagonal below is the previous round's `step - 1`, the one above its `step`.
    let place = |step: Option<usize>| step.and_then(|step| before.get(step)).map(|x| *x as usize);
    let (below, above) = (place(step.checked_sub(1)), place(Some(step)));
    let remove = step == d || (step > 0 && below >= above);
    if remove { (below.unwrap_or(0) + 1, true) } else { (above.unwrap_or(0), false) }
}

fn replay<'a>(a: &[&'a str], b: &[&'a str], rounds: &[Vec<u32>]) -> Vec<DiffEdit<'a>> {
    let mut script = Vec::new();
    let (mut x, mut y) = (a.len(), b.len());
    for d in (0..rounds.len()).rev() {
        let step = (x + d).saturating_sub(y) / 2;
        let before = d.checked_sub(1).and_then(|at| rounds.get(at));
        let (from, removes) = reach(before, d, step);
        while x > from && y > 0 {
            x -= 1;
            y -= 1;
            script.extend(a.get(x).map(|item| DiffEdit::Same(item)));
        }
        if before.is_none() {
            break;
        }
        if removes {
            x -= 1;
            script.extend(a.get(x).map(|item| DiffEdit::Removed(item)));
        } else {
            y -= 1;
            script.extend(b.get(y).map(|item| DiffEdit::Added(item)));
        }
    }
    script.reverse();
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sides(parts: &[DiffPart]) -> (String, String) {
        let mut sides = (String::new(), String::new());
        for part in parts {
            match part {
                DiffPart::Same(text) => {
                    sides.0.push_str(text);
                    sides.1.push_str(text);
                }
                DiffPart::Removed(text) => sides.0.push_str(text),
                DiffPart::Added(text) => sides.1.push_str(text),
            }
        }
        sides
    }

    /// Edits of a shortest script, by the quadratic recurrence.
    fn distance(a: &[&str], b: &[&str]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut next = vec![i + 1];
            for (j, y) in b.iter().enumerate() {
                next.push(if x == y { row[j] } else { 1 + row[j + 1].min(next[j]) });
            }
            row = next;
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn parts_are_both_texts(a in "[ab \\n.é]{0,40}", b in "[ab \\n.é]{0,40}") {
            prop_assert_eq!(sides(&texts(&a, &b)), (a, b));
        }

        #[test]
        fn scripts_are_shortest(a in "[abc]{0,25}", b in "[abc]{0,25}") {
            let a: Vec<&str> = a.split_inclusive(|_| true).collect();
            let b: Vec<&str> = b.split_inclusive(|_| true).collect();
            let changed = edits(&a, &b).iter().filter(|edit| !matches!(edit, DiffEdit::Same(_))).count();
            prop_assert_eq!(changed, distance(&a, &b));
        }
    }

    #[test]
    fn words_are_compared_inside_a_changed_line() {
        let parts = texts("one\ntwo three, four\nfive\n", "one\ntwo 3, four\nfive\n");
        let expected = vec![
            DiffPart::Same("one\ntwo ".to_owned()),
            DiffPart::Removed("three".to_owned()),
            DiffPart::Added("3".to_owned()),
            DiffPart::Same(", four\nfive\n".to_owned()),
        ];
        assert_eq!(parts, expected);
    }

    #[test]
    fn texts_too_far_apart_replace_one_another() {
        let a: String = (0..5000).map(|n| format!("a{n}\n")).collect();
        let b: String = (0..5000).map(|n| format!("b{n}\n")).collect();
        let parts = texts(&a, &b);
        assert_eq!(sides(&parts), (a, b));
    }
}
