//! Prints a pair on a terminal: the item to the left, the document to the right, with what both have marked.

use crate::cli::output::{Output, Paint};
use corpusdb::contamination::Excerpt;
use corpusdb::inspect::{ReviewPair, ReviewPart};
use corpusdb::show;

/// Columns that are needed to print two texts side by side.
const WIDE: usize = 80;
/// Columns of two texts side by side, at most: longer lines are hard to read.
const WIDEST: usize = 200;
/// What stands between the columns.
const BETWEEN: &str = " | ";

/// Parts of a line, each with its colour.
type Parts = Vec<(Paint, String)>;

/// A line of a column: its pieces, marked or not, and their width.
#[derive(Default)]
struct ColumnLine {
    pieces: Vec<(bool, String)>,
    width: usize,
}

impl ColumnLine {
    fn parts(&self) -> impl Iterator<Item = (Paint, String)> {
        self.pieces.iter().map(|(is_marked, text)| {
            (if *is_marked { Paint::Highlight } else { Paint::Plain }, text.clone())
        })
    }
}

pub(super) fn print_pair(pair: &ReviewPair, out: &mut Output) {
    out.line(heading(pair));
    let (width, marks) = (out.width().min(WIDEST), out.marks_width(Paint::Highlight));
    for part in &pair.parts {
        let turn = if part.turn > 0 { format!(" {}", part.turn + 1) } else { String::new() };
        out.line(format!(
            "{}{turn}: score {:.3}, {} tokens, longest run {}{}",
            part.part,
            part.score,
            part.tokens,
            part.longest_run,
            if part.enough { "" } else { "; not enough on its own" }
        ));
        for line in side_by_side(part, width, marks) {
            out.painted(&line);
        }
    }
    out.line("");
}

fn heading(pair: &ReviewPair) -> String {
    let weak = if pair.weak { ", weak (the item has no answer)" } else { "" };
    let verdict = pair.verdict.map_or_else(String::new, |verdict| format!(", {verdict}"));
    format!(
        "{} {} and document {} ({} {}): score {:.3}{weak}{verdict}",
        pair.suite,
        plain(&pair.item),
        pair.document,
        plain(&pair.source),
        plain(&pair.key),
        pair.score
    )
}

/// The lines of a part of an item, next to its excerpts of the document; `marks` is the width of marks.
fn side_by_side(part: &ReviewPart, width: usize, marks: usize) -> Vec<Parts> {
    if width < WIDE {
        let asked = column(&part.asked, width, marks);
        let found = column(&part.found, width, marks);
        let rule = vec![(Paint::Plain, "-".repeat(width))];
        let parts = |line: &ColumnLine| line.parts().collect();
        let (asked, found) = (asked.iter().map(parts), found.iter().map(parts));
        return asked.chain([rule]).chain(found).collect();
    }
    let each = (width - BETWEEN.len()) / 2;
    let (asked, found) = (column(&part.asked, each, marks), column(&part.found, each, marks));
    let none = ColumnLine::default();
    (0..asked.len().max(found.len()))
        .map(|at| {
            let (left, right) = (asked.get(at).unwrap_or(&none), found.get(at).unwrap_or(&none));
            let space = " ".repeat(each.saturating_sub(left.width));
            // A line without text of the document ends at the bar.
            let between = if right.pieces.is_empty() { BETWEEN.trim_end() } else { BETWEEN };
            let between = (Paint::Plain, space + between);
            left.parts().chain([between]).chain(right.parts()).collect()
        })
        .collect()
}

/// Breaks pieces of a text into lines of at most `width` columns; dots stand where text is left out.
fn column(pieces: &[Excerpt], width: usize, marks: usize) -> Vec<ColumnLine> {
    let mut column = ExcerptColumn { lines: Vec::new(), line: ColumnLine::default(), width, marks };
    for piece in pieces {
        if piece.from > 0 {
            column.put(false, "..");
        }
        for (is_marked, part) in piece.parts() {
            column.put(is_marked, part);
        }
        if piece.more {
            column.put(false, "..");
        }
        column.end();
    }
    column.lines
}

struct ExcerptColumn {
    lines: Vec<ColumnLine>,
    line: ColumnLine,
    width: usize,
    /// Columns of the marks around a marked piece.
    marks: usize,
}

impl ExcerptColumn {
    /// Appends text: breaks where the line is full, and at line ends; leaves empty lines out.
    fn put(&mut self, is_marked: bool, text: &str) {
        for character in text.chars() {
            if character == '\n' {
                if self.line.width > 0 {
                    self.end();
                }
                continue;
            }
            let character = visible(character);
            let wide = console::measure_text_width(character.encode_utf8(&mut [0; 4]));
            let is_begun = self.line.pieces.last().is_none_or(|(last, _)| *last != is_marked);
            let marks = if is_begun && is_marked { self.marks } else { 0 };
            if self.line.width + marks + wide > self.width && self.line.width > 0 {
                self.end();
            }
            let is_begun = self.line.pieces.last().is_none_or(|(last, _)| *last != is_marked);
            if is_begun {
                self.line.width += if is_marked { self.marks } else { 0 };
                self.line.pieces.push((is_marked, String::new()));
            }
            if let Some((_, piece)) = self.line.pieces.last_mut() {
                piece.push(character);
            }
            self.line.width += wide;
        }
    }

    fn end(&mut self) {
        self.lines.push(std::mem::take(&mut self.line));
    }
}

/// The character that is printed: a space for a tab or return, and a sign for one that would control a terminal.
fn visible(character: char) -> char {
    match character {
        '\t' | '\r' => ' ',
        '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2069}' => '\u{fffd}',
        other if show::acts_on_terminals(other) => '\u{fffd}',
        other => other,
    }
}

fn plain(text: &str) -> String {
    text.chars().take(120).map(|c| if c == '\n' { ' ' } else { visible(c) }).collect()
}

#[cfg(test)]
#[expect(
    clippy::field_reassign_with_default,
    reason = "programs cannot write these structs as literals, and the command does as they do"
)]
pub(super) mod tests {
    use super::*;

    /// A pair of that document, without further values.
    pub(in crate::cli::verbs) fn pair(document: u64) -> ReviewPair {
        let mut pair = ReviewPair::default();
        pair.document = document;
        pair
    }

    fn excerpt(text: &str, marks: &[(u64, u64)]) -> Excerpt {
        let mut excerpt = Excerpt::default();
        (excerpt.text, excerpt.marks) = (text.to_owned(), marks.to_vec());
        excerpt
    }

    #[test]
    fn two_texts_stand_side_by_side_with_what_is_marked() {
        let mut part = ReviewPart::default();
        part.asked = vec![excerpt("how many\n\nrolls?", &[(0, 8)])];
        part.found =
            vec![excerpt(&format!("well, {}how many\u{1b}[31m?", "x".repeat(40)), &[(46, 54)])];
        let lines = drawn(side_by_side(&part, 83, 4));
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0].starts_with("[[how many]]    ") && lines[1].starts_with("rolls?   "),
            "{lines:?}"
        );
        assert!(lines[1].contains("[[how many]]\u{fffd}[31m?"), "{lines:?}");
        let bars: Vec<usize> = lines.iter().map(|line| line.find(BETWEEN).unwrap()).collect();
        assert_eq!(bars, [40, 40]);
        // Without room for two columns the texts stand below each other, and no line is too wide.
        let lines = drawn(side_by_side(&part, 40, 4));
        assert!(lines.iter().all(|line| line.chars().count() <= 40), "{lines:?}");
        assert!(lines.contains(&"-".repeat(40)));
    }

    /// As they are printed to a pipe.
    fn drawn(lines: Vec<Parts>) -> Vec<String> {
        let piece = |(paint, text): (Paint, String)| match paint {
            Paint::Highlight => format!("[[{text}]]"),
            _ => text,
        };
        lines.into_iter().map(|line| line.into_iter().map(piece).collect()).collect()
    }
}
