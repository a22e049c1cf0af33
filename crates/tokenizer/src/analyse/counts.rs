//! Counts over texts, their words and their ids, by group, that merge in any order to the same result.

use super::subject::AnalysedTokenizer;
use crate::error::TokenizerError;
use model::invariant::{part, text_part};
use serde::Serialize;
use std::cmp::Ordering;
use unicode_segmentation::UnicodeSegmentation;

/// What is counted of the texts of one group. 64-bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct TextCounts {
    /// How many texts were counted.
    pub documents: u64,
    /// UTF-8 bytes.
    pub bytes: u64,
    /// Unicode scalar values.
    pub characters: u64,
    /// How many tokens they have.
    pub tokens: u64,
    /// Words, of texts whose tokens could be placed.
    pub words: u64,
    /// Tokens that hold some of a word.
    pub word_tokens: u64,
    /// Words that lie in one token.
    pub single_token_words: u64,
    /// Words cut into several tokens.
    pub continued_words: u64,
    /// Texts whose tokens could not be placed: their words are not counted.
    pub unplaced_documents: u64,
}

impl TextCounts {
    /// Adds the counts of other texts.
    pub fn add(&mut self, other: &Self) {
        self.documents += other.documents;
        self.bytes += other.bytes;
        self.characters += other.characters;
        self.tokens += other.tokens;
        self.words += other.words;
        self.word_tokens += other.word_tokens;
        self.single_token_words += other.single_token_words;
        self.continued_words += other.continued_words;
        self.unplaced_documents += other.unplaced_documents;
    }
}

/// Dearest documents kept.
const DEAREST: usize = 16;
/// Shorter documents are not among the dearest: a line of symbols costs much and says little.
const DEAR_BYTES: u64 = 256;
/// Characters shown of a document.
const BEGINNING: usize = 80;

/// A document of the sample whose bytes cost most tokens: often binary data, an encoding of it, or a
/// language that the vocabulary does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CostlyDocument {
    /// The id of the document.
    pub document: u64,
    /// UTF-8 bytes.
    pub bytes: u64,
    /// Tokens.
    pub tokens: u64,
    /// Its first characters.
    pub beginning: String,
}

impl CostlyDocument {
    /// Dearer first, then by id.
    fn order(&self, other: &Self) -> Ordering {
        let cost = |ours: &Self, theirs: &Self| u128::from(ours.tokens) * u128::from(theirs.bytes);
        cost(other, self).cmp(&cost(self, other)).then(self.document.cmp(&other.document))
    }
}

/// Counts of one tokenizer: one row a group, one number an id. An id takes eight bytes, whatever is counted.
pub struct AnalysisTally<'s> {
    pub(super) subject: &'s AnalysedTokenizer<'s>,
    pub(super) groups: Vec<TextCounts>,
    /// How often each id was given.
    pub(super) uses: Vec<u64>,
    /// In order.
    pub(super) dearest: Vec<CostlyDocument>,
    placer: TokenPlacer<'s>,
}

/// Finds where the tokens of texts stand in them.
pub(super) struct TokenPlacer<'s> {
    pub(super) subject: &'s AnalysedTokenizer<'s>,
    places: Vec<(usize, usize)>,
}

impl<'s> TokenPlacer<'s> {
    pub(super) fn new(subject: &'s AnalysedTokenizer<'s>) -> Self {
        Self { subject, places: Vec::new() }
    }

    /// The place of each id, by the spelling of the ids where they spell the text, else by encoding it once more; none
    /// where that gives other ids.
    pub(super) fn place(
        &mut self,
        text: &str,
        ids: &[u32],
    ) -> Result<Option<&[(usize, usize)]>, TokenizerError> {
        if self.subject.place(text, ids, &mut self.places).is_some() {
            return Ok(Some(&self.places));
        }
        for specials in [false, true] {
            let (again, offsets) = self.subject.tokenizer.encode_with_offsets(text, specials)?;
            if again == ids {
                let wide = |(start, end): (u32, u32)| (start as usize, end as usize);
                self.places.clear();
                self.places.extend(offsets.into_iter().map(wide));
                return Ok(Some(&self.places));
            }
        }
        Ok(None)
    }
}

impl<'s> AnalysisTally<'s> {
    /// An empty tally of `groups` groups.
    #[must_use]
    pub fn new(subject: &'s AnalysedTokenizer<'s>, groups: usize) -> Self {
        Self {
            subject,
            groups: vec![TextCounts::default(); groups],
            uses: vec![0; subject.tokens.len()],
            dearest: Vec::new(),
            placer: TokenPlacer::new(subject),
        }
    }

    /// Keeps a document in mind if it is among the dearest so far. Its number stands for it.
    pub fn note(&mut self, document: u64, text: &str, tokens: usize) {
        let (bytes, tokens) = (text.len() as u64, tokens as u64);
        let mut dear = CostlyDocument { document, bytes, tokens, beginning: String::new() };
        let at = self.dearest.partition_point(|other| other.order(&dear).is_lt());
        if bytes >= DEAR_BYTES && at < DEAREST {
            dear.beginning = text.chars().take(BEGINNING).collect();
            self.dearest.insert(at, dear);
            self.dearest.truncate(DEAREST);
        }
    }

    /// Counts one text of `group` with the ids that the tokenizer gave for it. A group beyond the last is not counted.
    ///
    /// # Errors
    /// [`TokenizerError`] when the tokens have to be placed by the reference encoder and it fails.
    pub fn add_text(
        &mut self,
        group: usize,
        text: &TextWords<'_>,
        ids: &[u32],
    ) -> Result<(), TokenizerError> {
        let mut counts = TextCounts {
            documents: 1,
            bytes: text.text.len() as u64,
            characters: text.characters,
            tokens: ids.len() as u64,
            ..TextCounts::default()
        };
        if let Some(places) = self.placer.place(text.text, ids)? {
            let words = align(&text.words, places);
            counts.words = text.words.len() as u64;
            counts.word_tokens = words.tokens;
            counts.single_token_words = words.single;
            counts.continued_words = words.continued;
        } else {
            counts.unplaced_documents = 1;
        }
        let Some(row) = self.groups.get_mut(group) else { return Ok(()) };
        row.add(&counts);
        for id in ids {
            if let Some(uses) =
                self.subject.place_of(*id).and_then(|place| self.uses.get_mut(place))
            {
                *uses += 1;
            }
        }
        Ok(())
    }

    /// Adds what another tally of the same subject and groups counted.
    #[must_use]
    pub fn merge(mut self, other: &Self) -> Self {
        for (ours, theirs) in self.groups.iter_mut().zip(&other.groups) {
            ours.add(theirs);
        }
        for (ours, theirs) in self.uses.iter_mut().zip(&other.uses) {
            *ours += theirs;
        }
        self.dearest.extend(other.dearest.iter().cloned());
        self.dearest.sort_by(CostlyDocument::order);
        self.dearest.truncate(DEAREST);
        self
    }

    /// All groups together.
    #[must_use]
    pub fn total(&self) -> TextCounts {
        let mut total = TextCounts::default();
        self.groups.iter().for_each(|group| total.add(group));
        total
    }
}

/// A text cut into words once, for any number of tokenizers.
///
/// Words are those of Unicode Standard Annex 29 that contain a letter or a digit. Scripts written
/// without spaces have a word per character or syllable there, so that figures per word compare
/// tokenizers on one language, not languages with each other.
pub struct TextWords<'a> {
    pub(super) text: &'a str,
    pub(super) characters: u64,
    /// Half-open ranges of bytes, ascending.
    pub(super) words: Vec<(usize, usize)>,
}

impl<'a> TextWords<'a> {
    /// Cuts a text into words, as Unicode's UAX-29 does.
    ///
    /// # Errors
    /// [`TokenizerError::TooLong`] for a text over 4 GB.
    pub fn new(text: &'a str) -> Result<Self, TokenizerError> {
        if u32::try_from(text.len()).is_err() {
            return Err(TokenizerError::TooLong { bytes: text.len() });
        }
        let words = text.unicode_word_indices().map(|(at, word)| (at, at + word.len())).collect();
        Ok(Self { text, characters: text.chars().count() as u64, words })
    }

    /// The words.
    pub(super) fn each(&self) -> impl Iterator<Item = &'a str> {
        self.words.iter().map(|(start, end)| text_part(self.text, *start..*end))
    }
}

/// How the words of a text fell into tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AlignedWords {
    /// Tokens that hold some of a word.
    pub(super) tokens: u64,
    /// Words that lie in one token.
    pub(super) single: u64,
    /// Words cut into several.
    pub(super) continued: u64,
}

/// How a word fell into tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AlignedWord {
    /// Tokens that hold some of it.
    pub(super) held: u64,
    /// Those that hold nothing of a word before it.
    pub(super) owned: u64,
}

/// Counts over `words`, by where the tokens stand; both ascending. A token is of the first word that it holds some of,
/// and counts once, so that a token of several words lowers the mean.
pub(super) fn align(words: &[(usize, usize)], places: &[(usize, usize)]) -> AlignedWords {
    let mut counts = AlignedWords::default();
    align_each(words, places, |word| {
        counts.tokens += word.owned;
        counts.single += u64::from(word.held == 1);
        counts.continued += u64::from(word.held > 1);
    });
    counts
}

/// Calls `each` for every word, in their order.
pub(super) fn align_each(
    words: &[(usize, usize)],
    places: &[(usize, usize)],
    mut each: impl FnMut(AlignedWord),
) {
    let mut rest = places;
    // Tokens of `places` that were counted already.
    let mut counted = 0;
    for (start, end) in words {
        let before = rest.iter().take_while(|(_, ends)| ends <= start).count();
        rest = part(rest, before..);
        let first = places.len() - rest.len();
        let mut word = AlignedWord { held: 0, owned: 0 };
        for (at, (begins, ends)) in rest.iter().enumerate() {
            if begins >= end {
                break;
            }
            if ends > begins {
                word.held += 1;
                if first + at >= counted {
                    word.owned += 1;
                    counted = first + at + 1;
                }
            }
        }
        each(word);
    }
}
