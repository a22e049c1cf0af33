//! A suite: records to items (the layouts that are known, and fields that are named), and items to what is searched for:
//! their n-grams, numbered in the order of the items, and short questions.

use super::{PIECE, SEED, SHORT, SHORTEST};
use crate::dedup::TokenHashes;
use crate::model::near_names::UnknownName;
use crate::model::{GramPlace, Normaliser, ShortItem, SuiteGram, SuiteItem, SuitePart};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Which fields of the records of a suite have what; those of known layouts are found without.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct SuiteFields {
    /// The field with the question. By default the first of question, prompt and problem.
    ///
    /// Nested members are separated by dots.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FIELD"))]
    pub question: Option<String>,
    /// The field with the answer. By default the first of answer, canonical_solution, solution and answers.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FIELD"))]
    pub answer: Option<String>,
    /// The field with the text that the question is about. By default the first of passage and context.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FIELD"))]
    pub passage: Option<String>,
}

const QUESTIONS: [&str; 3] = ["question", "prompt", "problem"];
const ANSWERS: [&str; 4] = ["answer", "canonical_solution", "solution", "answers"];
const PASSAGES: [&str; 2] = ["passage", "context"];
const IDS: [&str; 3] = ["task_id", "id", "question_id"];
const LETTERS: [&str; 5] = ["A", "B", "C", "D", "E"];

/// The item that a record is; `place` names one that has no id of its own.
///
/// # Errors
/// What is wrong with the record, in words.
pub fn item_of(
    record: &Map<String, Value>,
    fields: &SuiteFields,
    place: &str,
) -> Result<SuiteItem, String> {
    let question = found(record, fields.question.as_deref(), &QUESTIONS)?;
    let Some(question) = question.and_then(text) else {
        let known: Vec<&str> = record.keys().map(String::as_str).collect();
        return Err(format!(
            "no field has the question ({} were tried); its fields are {}: name one with `question=`",
            fields.question.as_deref().map_or_else(|| QUESTIONS.join(", "), str::to_owned),
            known.join(", ")
        ));
    };
    let answer = found(record, fields.answer.as_deref(), &ANSWERS)?;
    let answer = answer.and_then(|answer| chosen(record, answer).or_else(|| text(answer)));
    let passage = found(record, fields.passage.as_deref(), &PASSAGES)?.and_then(text);
    let id = IDS.iter().find_map(|name| record.get(*name).and_then(text));
    let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| place.to_owned());
    let parts = [question, answer.unwrap_or_default(), passage.unwrap_or_default()];
    Ok(SuiteItem { id, parts })
}

/// The value of the field that is named, which must be there, or of the first known one.
fn found<'r>(
    record: &'r Map<String, Value>,
    named: Option<&str>,
    known: &[&str],
) -> Result<Option<&'r Value>, String> {
    let Some(named) = named else {
        return Ok(known.iter().find_map(|name| record.get(*name)));
    };
    if let Some(value) = record.get(named) {
        return Ok(Some(value));
    }
    let mut members = named.split('.');
    let first = members.next().and_then(|member| record.get(member));
    let value = members.try_fold(first, |value, member| Some(value?.get(member))).flatten();
    let missing = || {
        let unknown = UnknownName::new("field", named, record.keys().map(String::as_str));
        format!("{unknown}; {}", unknown.hint())
    };
    value.ok_or_else(missing).map(Some)
}

/// The choice that an answer names, by its number from 0 or its letter, where a record has choices.
fn chosen(record: &Map<String, Value>, answer: &Value) -> Option<String> {
    let choices: Vec<&Value> = match record.get("choices").or_else(|| record.get("options")) {
        Some(Value::Array(choices)) => choices.iter().collect(),
        _ => LETTERS.iter().map_while(|letter| record.get(*letter)).collect(),
    };
    let at = match answer {
        Value::Number(number) => usize::try_from(number.as_u64()?).ok()?,
        Value::String(answer) => {
            let letter = LETTERS.iter().position(|letter| *letter == answer.trim());
            letter.or_else(|| answer.trim().parse().ok())?
        }
        _ => return None,
    };
    choices.get(at).and_then(|choice| text(choice))
}

/// The text of a value: of a list its first, of an object its member `text`.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Array(values) => values.first().and_then(text),
        Value::Object(members) => members.get("text").and_then(text),
        Value::Null => None,
    }
}

/// What a suite comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuiteNgrams {
    /// What it has under each hash.
    pub grams: BTreeMap<u64, SuiteGram>,
    /// blake3 over its items.
    pub hash: [u8; 32],
    /// Distinct n-grams.
    pub seeds: u32,
    /// Items without an answer.
    pub weak: u32,
    /// Items without any part long enough to search for.
    pub unsearchable: u32,
}

/// What is searched for of `items`, by the tokens of a normaliser.
pub fn suite_ngrams(items: &[SuiteItem], normaliser: Normaliser) -> SuiteNgrams {
    let mut built = SuiteNgrams::default();
    let mut hasher = blake3::Hasher::new();
    let mut craft = TokenHashes::new(normaliser);
    let mut hashes = Vec::new();
    for (number, item) in (0_u32..).zip(items) {
        for text in std::iter::once(&item.id).chain(&item.parts) {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        built.weak += u32::from(item.is_weak());
        let mut is_searchable = false;
        for part in SuitePart::ALL {
            let tokens = craft.of(item.part(part));
            TokenHashes::runs(tokens, SEED, &mut hashes);
            is_searchable |= !hashes.is_empty();
            let place = |position: u32| GramPlace { item: number, part, position };
            for (position, hash) in (0..).zip(&hashes) {
                built.stands(*hash, place(position));
            }
            // Of others no n-gram counts either.
            if part != SuitePart::Passage && tokens.len() >= SHORT {
                TokenHashes::runs(tokens, PIECE, &mut hashes);
                for (position, hash) in (0..).zip(&hashes) {
                    built.is_piece(*hash, place(position));
                }
            }
        }
        if let Some(short) = short_item(number, item, &mut craft) {
            is_searchable = true;
            built.is_short(short);
        }
        built.unsearchable += u32::from(!is_searchable);
    }
    built.hash = *hasher.finalize().as_bytes();
    built
}

impl SuiteNgrams {
    fn stands(&mut self, hash: u64, place: GramPlace) {
        let next = self.seeds;
        let mut is_new = false;
        let found = self.grams.entry(hash).or_insert_with(|| {
            is_new = true;
            SuiteGram::Seed(next, Vec::new())
        });
        self.seeds += u32::from(is_new);
        // Two kinds under one hash would be a collision of hashes: one of them is not found.
        if let SuiteGram::Seed(_, places) = found {
            places.push(place);
        }
    }

    fn is_piece(&mut self, hash: u64, place: GramPlace) {
        let key = piece_key(hash);
        let found = self.grams.entry(key).or_insert_with(|| SuiteGram::Piece(Vec::new()));
        if let SuiteGram::Piece(places) = found {
            places.push(place);
        }
    }

    fn is_short(&mut self, item: ShortItem) {
        let mut first = Vec::new();
        TokenHashes::runs(item.question.get(..SHORTEST).unwrap_or_default(), SHORTEST, &mut first);
        for hash in first {
            let found = self.grams.entry(hash).or_insert_with(|| SuiteGram::Short(Vec::new()));
            if let SuiteGram::Short(items) = found {
                items.push(item.clone());
            }
        }
    }
}

/// What the hash of a piece is stored as, and the hash of what is stored: short questions may begin with the same
/// tokens.
pub(super) const fn piece_key(hash: u64) -> u64 {
    !hash
}

/// A question of few tokens, with the first tokens of its answer: of what is behind the last `####`, where there is
/// that.
fn short_item(number: u32, item: &SuiteItem, craft: &mut TokenHashes) -> Option<ShortItem> {
    let question = craft.of(item.part(SuitePart::Question)).to_vec();
    if !(SHORTEST..SHORT).contains(&question.len()) {
        return None;
    }
    let answer = item.part(SuitePart::Answer);
    let answer = answer.rsplit_once("####").map_or(answer, |(_, last)| last);
    let answer: Vec<u64> = craft.of(answer).iter().take(SEED).copied().collect();
    (!answer.is_empty()).then_some(ShortItem { item: number, question, answer })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(record: &str, fields: &SuiteFields) -> Result<(String, [String; 3]), String> {
        let item = item_of(&serde_json::from_str(record).unwrap(), fields, "file:7")?;
        Ok((item.id, item.parts))
    }

    #[test]
    fn layouts_that_are_known_need_no_fields() {
        let known = |record: &str| read(record, &SuiteFields::default()).unwrap();
        let parts = |parts: [&str; 3]| parts.map(str::to_owned);
        let gsm8k = r#"{"question": "How many?", "answer": "48 #### 72"}"#;
        assert_eq!(known(gsm8k), ("file:7".to_owned(), parts(["How many?", "48 #### 72", ""])));
        let humaneval = r#"{"task_id": "HumanEval/0", "prompt": "def f():", "entry_point": "f", "canonical_solution": "return 1", "test": "x"}"#;
        let expected = parts(["def f():", "return 1", ""]);
        assert_eq!(known(humaneval), ("HumanEval/0".to_owned(), expected));
        let mmlu =
            r#"{"question": "Which?", "subject": "law", "choices": ["no", "yes"], "answer": 1}"#;
        assert_eq!(known(mmlu).1, parts(["Which?", "yes", ""]));
        let table = r#"{"question": "Which?", "A": "no", "B": "yes", "answer": "B"}"#;
        assert_eq!(known(table).1, parts(["Which?", "yes", ""]));
        let squad = r#"{"id": 5, "context": "A text.", "question": "Which?", "answers": {"text": ["this"], "answer_start": [0]}}"#;
        assert_eq!(known(squad), ("5".to_owned(), parts(["Which?", "this", "A text."])));
        let boolq = r#"{"question": "is it", "passage": "A text.", "answer": true}"#;
        assert_eq!(known(boolq).1, parts(["is it", "true", "A text."]));
    }

    #[test]
    fn missing_fields_are_named() {
        let fields = SuiteFields {
            question: Some("q".to_owned()),
            answer: Some("gold.text".to_owned()),
            passage: None,
        };
        let found = read(r#"{"q": "Which?", "gold": {"text": "this"}}"#, &fields).unwrap();
        assert_eq!(found.1, ["Which?", "this", ""].map(str::to_owned));
        let error = read(r#"{"q": "Which?", "a": 1}"#, &fields).unwrap_err();
        assert_eq!(error, "no field `gold.text`; there are `q`, `a`");
        let error = read(r#"{"x": "Which?"}"#, &SuiteFields::default()).unwrap_err();
        assert!(error.contains("its fields are x: name one with `question=`"));
    }
}
