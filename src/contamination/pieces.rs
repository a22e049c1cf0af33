//! Pieces: runs of a part that are too short for an n-gram, in a text at the same distance from one another.
//!
//! Where names, numbers or words of an item were replaced one by one, what is left stands where it stood: the first
//! token in the text minus the first in the part is the same for all of it. Runs of so few tokens stand in many texts;
//! that several of one part keep their distance is no accident.

use super::{ALIGNED, GAP, MOST_RUNS, PIECE, SEED};
use crate::model::{GramPlace, SuitePart};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Lines that are open before those that ended are searched for.
const OPEN: usize = 1024;

/// Tokens that a text and a part have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Same {
    /// Tokens of the text before them.
    pub(super) token: u64,
    /// Where they stand in the suite.
    pub(super) place: GramPlace,
    /// How many there are.
    pub(super) tokens: u32,
}

/// Runs of one part at one distance, with at most [`GAP`] tokens between two of them.
#[derive(Default)]
struct Diagonal {
    runs: Vec<Same>,
    /// Tokens of the text before the end of the last.
    end: u64,
}

/// The pieces of a suite in a text. Its lines are kept while they may continue: their number is bounded.
#[derive(Default)]
pub(super) struct Pieces {
    /// By item, part and distance.
    open: BTreeMap<(u32, SuitePart, u64), Diagonal>,
    /// Lines that were open when those that ended were searched for last.
    open_before: usize,
    found: Found,
}

#[derive(Default)]
struct Found {
    pieces: Vec<Same>,
    unlisted: u64,
}

impl Pieces {
    /// A run of [`PIECE`] tokens of the text; they come in the order of the text.
    pub(super) fn add(&mut self, token: u64, place: GramPlace) {
        if self.open.len() >= OPEN.max(2 * self.open_before) {
            self.open.retain(|_, line| {
                let goes_on = line.end + GAP >= token;
                if !goes_on {
                    self.found.add(line);
                }
                goes_on
            });
            self.open_before = self.open.len();
        }
        let distance = token.wrapping_sub(place.position.into());
        let line = self.open.entry((place.item, place.part, distance)).or_default();
        if line.end + GAP < token {
            self.found.add(line);
            line.runs.clear();
        }
        let end = token + PIECE as u64;
        match line.runs.last_mut() {
            Some(last) if token <= line.end => {
                last.tokens = last.tokens.saturating_add((end - line.end) as u32);
            }
            _ => line.runs.push(Same { token, place, tokens: PIECE as u32 }),
        }
        line.end = end;
    }

    /// All pieces in the order of the text, and how many more there are.
    pub(super) fn finish(mut self) -> (Vec<Same>, u64) {
        self.open.values().for_each(|line| self.found.add(line));
        self.found.prune();
        self.found.pieces.sort_unstable();
        (self.found.pieces, self.found.unlisted)
    }
}

impl Found {
    /// What a line has that ended. Its longer runs are n-grams, and found as such.
    fn add(&mut self, line: &Diagonal) {
        let tokens: u64 = line.runs.iter().map(|run| u64::from(run.tokens)).sum();
        if tokens < ALIGNED as u64 {
            return;
        }
        self.pieces.extend(line.runs.iter().filter(|run| run.tokens < SEED as u32));
        if self.pieces.len() >= 2 * MOST_RUNS {
            self.prune();
        }
    }

    /// Leaves the longest, of equal ones the first.
    fn prune(&mut self) {
        if self.pieces.len() > MOST_RUNS {
            self.pieces.sort_unstable_by_key(|one| (Reverse(one.tokens), *one));
            self.unlisted += (self.pieces.len() - MOST_RUNS) as u64;
            self.pieces.truncate(MOST_RUNS);
        }
    }
}
