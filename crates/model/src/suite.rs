//! Evaluation suites as they are stored: items with their parts, rows to search for, sightings in texts, and verdicts.

use crate::named;
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

named!(SuitePart { Question = "question", Answer = "answer", Passage = "passage" });

impl fmt::Display for SuitePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text of an item: a question of several turns has several, and so has an item with several accepted answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemText {
    /// The part that it is of.
    pub part: SuitePart,
    /// Texts of the part before it.
    pub number: u32,
}

impl ItemText {
    /// How many parts there are.
    const PARTS: u32 = 3;

    /// The first of a part.
    #[must_use]
    pub const fn first(part: SuitePart) -> Self {
        Self { part, number: 0 }
    }

    /// What it is stored as: the first of a part as that part, as earlier releases have it.
    #[doc(hidden)]
    pub const fn code(self) -> u32 {
        self.number.saturating_mul(Self::PARTS).saturating_add(self.part as u32)
    }

    /// The text that is stored as this.
    #[doc(hidden)]
    pub const fn from_code(code: u32) -> Self {
        let part = match code % Self::PARTS {
            0 => SuitePart::Question,
            1 => SuitePart::Answer,
            _ => SuitePart::Passage,
        };
        Self { part, number: code / Self::PARTS }
    }
}

impl fmt::Display for ItemText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            0 => write!(f, "{}", self.part),
            number => write!(f, "{} {}", self.part, u64::from(number) + 1),
        }
    }
}

/// An item of a suite, as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuiteItem {
    /// Its id in its file, or the file's name and its number.
    pub id: String,
    /// The texts of question, answer and passage: of a question its turns, of an answer all that are accepted.
    pub parts: [Vec<String>; 3],
}

impl SuiteItem {
    /// The texts of a part.
    #[must_use]
    pub fn texts(&self, part: SuitePart) -> &[String] {
        let [question, answer, passage] = &self.parts;
        match part {
            SuitePart::Question => question,
            SuitePart::Answer => answer,
            SuitePart::Passage => passage,
        }
    }

    /// One text of the item; empty where there is none.
    #[must_use]
    pub fn text(&self, of: ItemText) -> &str {
        let text = self.texts(of.part).get(of.number as usize);
        text.map(String::as_str).unwrap_or_default()
    }

    /// All texts of the item, in the order of the parts.
    pub fn all(&self) -> impl Iterator<Item = (ItemText, &str)> {
        SuitePart::ALL.into_iter().flat_map(move |part| {
            let texts = (0..).zip(self.texts(part));
            texts.map(move |(number, text)| (ItemText { part, number }, text.as_str()))
        })
    }

    /// Whether it says no answer: what is found of it may be anybody's text.
    #[must_use]
    pub fn is_weak(&self) -> bool {
        self.texts(SuitePart::Answer).iter().all(|answer| answer.trim().is_empty())
    }
}

/// Where a suite has an n-gram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GramPlace {
    /// The number of the item.
    pub item: u32,
    /// The text of it.
    pub text: ItemText,
    /// Tokens of the text before it.
    pub position: u32,
}

/// An item whose question is too short for n-grams: it is searched for as a whole, with its answer near it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShortItem {
    /// The number of the item.
    pub item: u32,
    /// Texts of its question before this one.
    pub turn: u32,
    /// Hashes of the tokens of its question.
    pub question: Vec<u64>,
    /// Hashes of the tokens of an answer to it.
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

/// A run of fewer tokens than an n-gram that a text and a text of an item have, at the same distance as others of
/// that.
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
    pub fn places(&self) -> impl Iterator<Item = GramPlace> {
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
    /// Texts of its question before this one.
    pub turn: u32,
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
    /// Short questions with their answers: the first place of each, ascending by item and turn.
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

named!(SuiteVerdict { Rejected = "rejected", Accepted = "accepted" });

impl fmt::Display for SuiteVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
