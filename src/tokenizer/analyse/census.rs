//! What the vocabulary is made of: kinds of tokens, scripts, the longest and the unused ones.

use super::subject::{AnalysedTokenizer, VocabularyOrigin, VocabularyToken};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use unicode_script::{Script, UnicodeScript};

/// Tokens listed of each sort.
const LISTED: usize = 24;

/// What the vocabulary is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct VocabularyCensus {
    /// Ids and tokens by kind; every id is of one.
    pub kinds: Vec<CensusRow>,
    /// Ids and tokens that hold letters, by the script of these; most ids first.
    pub scripts: Vec<CensusRow>,
    /// Ids whose text begins with a space.
    pub begin_with_space: u64,
    /// The longest by characters, most first, then by id.
    pub longest_by_characters: Vec<ListedToken>,
    /// The longest by bytes, most first, then by id.
    pub longest_by_bytes: Vec<ListedToken>,
    /// Ids of the model that the sample never used, spread over the vocabulary.
    pub unused: Vec<ListedToken>,
}

/// A part of the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CensusRow {
    /// What the ids have in common.
    pub name: String,
    /// How many ids of the vocabulary are of this kind.
    pub ids: u64,
    /// Tokens of these ids in the sample.
    pub tokens: u64,
}

/// One token of the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ListedToken {
    /// The id of the token.
    pub id: u32,
    /// The text that it stands for; bytes that are not characters are U+FFFD.
    pub text: String,
    /// Characters of the text.
    pub characters: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Its use in the sample.
    pub tokens: u64,
}

impl VocabularyCensus {
    pub(super) fn of(subject: &AnalysedTokenizer<'_>, uses: &[u64]) -> Self {
        let use_of = |id: u32| uses.get(id as usize).copied().unwrap_or(0);
        let (mut kinds, mut scripts) = (BTreeMap::new(), BTreeMap::new());
        let mut begin_with_space = 0;
        let count = |rows: &mut BTreeMap<&'static str, (u64, u64)>, name, id| {
            let row = rows.entry(name).or_default();
            row.0 += 1;
            row.1 += use_of(id);
        };
        for (id, token) in subject.iter() {
            count(&mut kinds, kind_of(token), id);
            if !token.is_added() {
                begin_with_space += u64::from(token.surface.first() == Some(&b' '));
                if let Some(script) = token.text().and_then(script_of) {
                    count(&mut scripts, script, id);
                }
            }
        }
        let ours = || subject.iter().filter(|(_, token)| !token.is_added());
        let shown = |(id, token): (u32, &VocabularyToken)| {
            let text = String::from_utf8_lossy(&token.surface).into_owned();
            ListedToken {
                id,
                characters: text.chars().count() as u64,
                bytes: token.surface.len() as u64,
                tokens: use_of(id),
                text,
            }
        };
        let longest = |size: fn(&VocabularyToken) -> usize| {
            let mut all: Vec<(u32, &VocabularyToken)> = ours().collect();
            all.sort_by_key(|(id, token)| (Reverse(size(token)), *id));
            all.into_iter().take(LISTED).map(shown).collect()
        };
        let unused: Vec<(u32, &VocabularyToken)> =
            ours().filter(|(id, _)| use_of(*id) == 0).collect();
        let step = unused.len().div_ceil(LISTED).max(1);
        Self {
            kinds: rows(kinds),
            scripts: rows(scripts),
            begin_with_space,
            longest_by_characters: longest(|token| {
                token.text().map_or(0, |text| text.chars().count())
            }),
            longest_by_bytes: longest(|token| token.surface.len()),
            unused: unused.into_iter().step_by(step).map(shown).collect(),
        }
    }
}

fn rows(counts: BTreeMap<&'static str, (u64, u64)>) -> Vec<CensusRow> {
    let row = |(name, (ids, tokens)): (&str, _)| CensusRow { name: name.to_owned(), ids, tokens };
    let mut rows: Vec<CensusRow> = counts.into_iter().map(row).collect();
    // Stable: equal rows stay in the order of their names.
    rows.sort_by_key(|row| Reverse(row.ids));
    rows
}

fn kind_of(token: &VocabularyToken) -> &'static str {
    match token.origin {
        VocabularyOrigin::Special => return "special",
        VocabularyOrigin::Added => return "added",
        VocabularyOrigin::Byte => return "byte",
        VocabularyOrigin::Model => {}
    }
    let Some(text) = token.text() else { return "part of a character" };
    let inner = text.trim();
    let has = |test: fn(char) -> bool| inner.chars().any(test);
    if inner.is_empty() {
        "white space"
    } else if !has(char::is_alphanumeric) {
        "punctuation and symbols"
    } else if inner.chars().all(char::is_numeric) {
        "digits"
    } else if !has(|c| !c.is_alphabetic() && !is_mark(c)) {
        "letters"
    } else {
        "mixed"
    }
}

/// Marks belong to the letter before them: vowel signs, accents, joiners.
fn is_mark(character: char) -> bool {
    !character.is_ascii() && !character.is_alphanumeric() && character.script() != Script::Common
}

/// The script of the letters; none without letters.
fn script_of(text: &str) -> Option<&'static str> {
    let mut found = None;
    for character in text.chars().filter(|character| character.is_alphabetic()) {
        let script = character.script();
        if matches!(script, Script::Common | Script::Inherited | Script::Unknown) {
            continue;
        }
        if found.is_some_and(|found| found != script) {
            return Some("several scripts");
        }
        found = Some(script);
    }
    found.map(Script::full_name)
}
