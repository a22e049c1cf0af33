//! C4's cleaning of pages, as counts: which lines it would keep, and how many sentences they have.

use super::characters::{is_space, is_terminal};
use super::lines::lines;
use super::words::{share, words};
use crate::dedup::is_decimal;

/// Characters of the longest word that a line may have.
const LONGEST: usize = 1000;
/// Words that a line must have.
const LEAST: usize = 3;
const POLICY: [&str; 6] = [
    "terms of use",
    "privacy policy",
    "cookie policy",
    "uses cookies",
    "use of cookies",
    "use cookies",
];

/// What C4 does with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineFate {
    /// The line is kept, and has this many sentences.
    Kept(u64),
    /// The line is left out.
    Out,
    /// The page is left out because of the line.
    Page,
}

/// What C4 makes of a page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct C4Cleaning {
    lines: u64,
    kept: u64,
    sentences: u64,
    is_out: bool,
}

impl C4Cleaning {
    pub(super) fn of(text: &str) -> Self {
        let mut found = Self::default();
        for line in lines(text) {
            found.lines += 1;
            match fate(line.trim_matches(is_space)) {
                LineFate::Kept(sentences) => {
                    found.kept += 1;
                    found.sentences += sentences;
                }
                LineFate::Out => {}
                LineFate::Page => found.is_out = true,
            }
        }
        found
    }

    pub(super) fn line_fraction(&self) -> f64 {
        share(if self.is_out { 0 } else { self.kept }, self.lines)
    }

    pub(super) const fn sentence_count(&self) -> u64 {
        if self.is_out { 0 } else { self.sentences }
    }
}

/// Share of the lines that C4 keeps: those that end with one of `. ? ! " '` and no ellipsis, have three words or more
/// and none of over 1,000 characters, and speak neither of JavaScript nor of cookies and terms of use. 0 where C4 drops
/// the page, because such a line says `lorem ipsum` or has a curly bracket.
pub fn c4_line_fraction(text: &str) -> f64 {
    C4Cleaning::of(text).line_fraction()
}

/// Sentences in the lines that C4 keeps; 0 where it drops the page for `lorem ipsum` or a curly bracket.
pub fn c4_sentence_count(text: &str) -> u64 {
    C4Cleaning::of(text).sentence_count()
}

fn fate(line: &str) -> LineFate {
    if words(line).any(|word| word.len() > LONGEST && word.chars().nth(LONGEST).is_some()) {
        return LineFate::Out;
    }
    let cleaned = without_citations(line);
    if !cleaned.ends_with(['.', '?', '!', '"', '\'']) || cleaned.ends_with("...") {
        return LineFate::Out;
    }
    if words(line).take(LEAST).count() < LEAST {
        return LineFate::Out;
    }
    let lower = cleaned.to_lowercase();
    if lower.contains("lorem ipsum") {
        return LineFate::Page;
    }
    if lower.contains("javascript") {
        return LineFate::Out;
    }
    if cleaned.contains('{') {
        return LineFate::Page;
    }
    if POLICY.iter().any(|policy| lower.contains(policy)) {
        return LineFate::Out;
    }
    LineFate::Kept(sentences(&cleaned))
}

/// A line without `[1]`, `[]`, `[edit]` and `[citation needed]`.
fn without_citations(line: &str) -> std::borrow::Cow<'_, str> {
    if !line.contains('[') {
        return line.into();
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        let digits = after.trim_start_matches(is_decimal).strip_prefix(']');
        let cited = digits
            .or_else(|| after.strip_prefix("edit]"))
            .or_else(|| after.strip_prefix("citation needed]"));
        rest = match cited {
            Some(after) => after,
            None => {
                out.push('[');
                after
            }
        };
    }
    out.push_str(rest);
    out.into()
}

/// Sentences of a line: words that end with what ends a sentence, quotes and brackets behind it aside; what follows the
/// last of them is one more.
fn sentences(line: &str) -> u64 {
    let (mut ended, mut is_open) = (0, false);
    for word in words(line) {
        let word = word.trim_end_matches(['"', '\'', ')', ']', '”', '’', '»']);
        is_open = !word.ends_with(is_terminal);
        ended += u64::from(!is_open);
    }
    ended + u64::from(is_open)
}
