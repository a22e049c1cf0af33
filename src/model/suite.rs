//! Evaluation suites: their items by parts, and where stored texts say the same.

use std::fmt;

/// A part of an item of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SuitePart {
    /// What is asked.
    Question = 0,
    /// What is to be answered.
    Answer = 1,
    /// What the question is about: a text to be read.
    Passage = 2,
}

impl SuitePart {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Question, Self::Answer, Self::Passage];

    /// Its name in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Answer => "answer",
            Self::Passage => "passage",
        }
    }
}

impl fmt::Display for SuitePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An item of a suite, as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuiteItem {
    /// Its id in its file, or the file's name and its number.
    pub id: String,
    /// Question, answer and passage; empty where it has none.
    pub parts: [String; 3],
}

impl SuiteItem {
    /// The text of a part.
    #[must_use]
    pub fn part(&self, part: SuitePart) -> &str {
        let [question, answer, passage] = &self.parts;
        match part {
            SuitePart::Question => question,
            SuitePart::Answer => answer,
            SuitePart::Passage => passage,
        }
    }

    /// Whether it says no answer: what is found of it may be anybody's text.
    #[must_use]
    pub fn is_weak(&self) -> bool {
        self.part(SuitePart::Answer).trim().is_empty()
    }
}

/// Where a suite has an n-gram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GramPlace {
    /// The number of the item.
    pub item: u32,
    /// The part of it.
    pub part: SuitePart,
    /// Tokens of the part before it.
    pub position: u32,
}

/// An item whose question is too short for n-grams: it is searched for as a whole, with its answer near it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShortItem {
    /// The number of the item.
    pub item: u32,
    /// Hashes of the tokens of its question.
    pub question: Vec<u64>,
    /// Hashes of the tokens of its answer.
    pub answer: Vec<u64>,
}

/// What a suite has under a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuiteGram {
    /// An n-gram: its number, counted in the order of the items, and everywhere it stands, ascending.
    Seed(u32, Vec<GramPlace>),
    /// The first tokens of short questions.
    Short(Vec<ShortItem>),
    /// A run of fewer tokens than an n-gram: everywhere it stands, ascending.
    Piece(Vec<GramPlace>),
}

/// Bytes of a text, from one up to another.
pub type ByteSpan = (u64, u64);

/// N-grams of a text that stand one behind the other in it and in a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GramRun {
    /// Tokens of the text before the first.
    pub token: u64,
    /// The number of the first.
    pub gram: u32,
    /// How many there are; at least one.
    pub count: u32,
    /// The bytes of the text that they cover.
    pub span: ByteSpan,
}

impl GramRun {
    /// The numbers of its n-grams, of a suite of so many: a damaged row may name more.
    #[must_use]
    pub fn grams(&self, all: usize) -> std::ops::Range<u32> {
        let all = u32::try_from(all).unwrap_or(u32::MAX);
        self.gram..self.gram.saturating_add(self.count).min(all)
    }
}

/// A run of fewer tokens than an n-gram that a text and a part of an item have, at the same distance as others of the
/// part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuitePiece {
    /// Tokens of the text before it.
    pub token: u64,
    /// Where it stands in the suite.
    pub place: GramPlace,
    /// How many tokens it has.
    pub tokens: u32,
    /// The bytes of the text that they cover.
    pub span: ByteSpan,
}

impl SuitePiece {
    /// Where each of its tokens stands in the suite.
    pub(crate) fn places(&self) -> impl Iterator<Item = GramPlace> {
        let Self { place, tokens, .. } = *self;
        let end = place.position.saturating_add(tokens);
        (place.position..end).map(move |position| GramPlace { position, ..place })
    }
}

/// A short question in a text, with its answer near it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WholeItem {
    /// The number of the item.
    pub item: u32,
    /// The bytes of the question.
    pub question: ByteSpan,
    /// The bytes of the answer.
    pub answer: ByteSpan,
}

/// All that a text has of a suite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sightings {
    /// Runs of n-grams, in the order of the text.
    pub runs: Vec<GramRun>,
    /// Pieces, in the order of the text.
    pub pieces: Vec<SuitePiece>,
    /// Short questions with their answers: the first of each item, ascending by item.
    pub whole: Vec<WholeItem>,
    /// Runs and pieces that are not listed, since there are too many: the shortest.
    pub unlisted: u64,
}

impl Sightings {
    /// Whether the text has nothing of the suite.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.pieces.is_empty() && self.whole.is_empty()
    }
}

/// What somebody who looked at an item and a text decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SuiteVerdict {
    /// The text does not have the item: it is not contaminated by it, whatever rules say.
    Rejected = 0,
    /// The text has the item.
    Accepted = 1,
}

impl SuiteVerdict {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Rejected, Self::Accepted];

    /// Its name in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Accepted => "accepted",
        }
    }

    /// The verdict with this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl fmt::Display for SuiteVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
