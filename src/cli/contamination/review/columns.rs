//! A pair on a terminal: the item to the left, the document to the right, what both have marked.

use crate::cli::print;
use corpusdb::contamination::Excerpt;
use corpusdb::query::{ReviewPair, ReviewPart};

/// Columns from which on two texts stand side by side.
const WIDE: usize = 80;
/// Columns of two texts side by side, at most: longer lines are hard to read.
const WIDEST: usize = 200;
/// Columns between them.
const BETWEEN: &str = " | ";

/// A line of a column: its pieces, marked or not, and how wide they are.
#[derive(Default)]
struct Line {
    pieces: Vec<(bool, String)>,
    width: usize,
}

/// How marks are shown.
#[derive(Clone, Copy)]
struct Marks {
    before: &'static str,
    behind: &'static str,
    /// Columns that the two take.
    width: usize,
}

impl Marks {
    fn here() -> Self {
        match print::has_colours() {
            true => Self { before: "\x1b[1;33m", behind: "\x1b[0m", width: 0 },
            false => Self { before: "[[", behind: "]]", width: 4 },
        }
    }
}

/// Prints a pair.
pub(super) fn pair(pair: &ReviewPair) -> anyhow::Result<()> {
    let (marks, width) = (Marks::here(), print::width().min(WIDEST));
    print::line(&told(pair))?;
    for part in &pair.parts {
        print::line(&format!(
            "{}: score {:.3}, {} tokens, longest run {}{}",
            part.part,
            part.score,
            part.tokens,
            part.longest_run,
            if part.enough { "" } else { "; not enough by itself" }
        ))?;
        for line in side_by_side(part, width, marks) {
            print::line(line.trim_end())?;
        }
    }
    print::line("")
}

fn told(pair: &ReviewPair) -> String {
    let weak = if pair.weak { ", weak (the item says no answer)" } else { "" };
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

/// The lines of a part and of what stands in the document.
fn side_by_side(part: &ReviewPart, width: usize, marks: Marks) -> Vec<String> {
    if width < WIDE {
        let asked = column(&part.asked, width, marks);
        let found = column(&part.found, width, marks);
        let rule = std::iter::once("-".repeat(width));
        let drawn = |line: &Line| drawn(line, marks);
        return asked.iter().map(drawn).chain(rule).chain(found.iter().map(drawn)).collect();
    }
    let each = (width - BETWEEN.len()) / 2;
    let (asked, found) = (column(&part.asked, each, marks), column(&part.found, each, marks));
    let none = Line::default();
    (0..asked.len().max(found.len()))
        .map(|at| {
            let (left, right) = (asked.get(at).unwrap_or(&none), found.get(at).unwrap_or(&none));
            let space = " ".repeat(each.saturating_sub(left.width));
            format!("{}{space}{BETWEEN}{}", drawn(left, marks), drawn(right, marks))
        })
        .collect()
}

fn drawn(line: &Line, marks: Marks) -> String {
    let piece = |(is_marked, text): &(bool, String)| match is_marked {
        true => format!("{}{text}{}", marks.before, marks.behind),
        false => text.clone(),
    };
    line.pieces.iter().map(piece).collect()
}

/// Pieces of a text as lines of at most so many columns; dots stand where something is left out.
fn column(pieces: &[Excerpt], width: usize, marks: Marks) -> Vec<Line> {
    let mut column = Column { lines: Vec::new(), line: Line::default(), width, marks };
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

struct Column {
    lines: Vec<Line>,
    line: Line,
    width: usize,
    marks: Marks,
}

impl Column {
    /// Cuts where the line is full, and at line ends; empty lines are left out.
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
            let marks = if is_begun && is_marked { self.marks.width } else { 0 };
            if self.line.width + marks + wide > self.width && self.line.width > 0 {
                self.end();
            }
            let is_begun = self.line.pieces.last().is_none_or(|(last, _)| *last != is_marked);
            if is_begun {
                self.line.width += if is_marked { self.marks.width } else { 0 };
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

/// What a terminal would obey, or that changes the direction of what follows, is not shown.
fn visible(character: char) -> char {
    match character {
        '\t' | '\r' => ' ',
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' => '\u{fffd}',
        other if other.is_control() => '\u{fffd}',
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

    const PLAIN: Marks = Marks { before: "[[", behind: "]]", width: 4 };

    /// A pair of that document, of which nothing is known.
    pub(in super::super) fn pair(document: u64) -> ReviewPair {
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
        let lines = side_by_side(&part, 83, PLAIN);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0].starts_with("[[how many]]    ") && lines[1].starts_with("rolls?   "),
            "{lines:?}"
        );
        assert!(lines[1].contains("[[how many]]\u{fffd}[31m?"), "{lines:?}");
        let bars: Vec<usize> = lines.iter().map(|line| line.find(BETWEEN).unwrap()).collect();
        assert_eq!(bars, [40, 40]);
        // One below the other where there is no room, and no line wider than that.
        let lines = side_by_side(&part, 40, PLAIN);
        assert!(lines.iter().all(|line| line.chars().count() <= 40), "{lines:?}");
        assert!(lines.contains(&"-".repeat(40)));
    }
}
