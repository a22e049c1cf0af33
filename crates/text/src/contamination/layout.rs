//! Reads records of evaluation suites as items, by known layouts or by fields that the user names.
//!
//! An answer may be the number of an option. No single record says whether a suite counts them from 0 or from 1: all of
//! its records together do, so such answers are resolved when all are read.

use super::options::{Answered, ItemOptions, NumberedAnswer, OptionNumbers};
use super::record_fields::{RecordFields, has_text, leave_one_of_each, listed, texts, texts_of};
use model::{SuiteItem, SuitePart};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Which fields of the records of a suite have what; those of known layouts are found without.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct SuiteFields {
    /// The field with the question. By default the first of question, prompt, problem, turns, messages and others.
    ///
    /// Nested members are separated by dots. Each text of a list, and each turn, is searched for.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FIELD"))]
    pub question: Option<String>,
    /// The field with the answer. By default all of answer, canonical_solution, solution, answers and others.
    ///
    /// A text, a list of accepted texts, or the letter or number of an option.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FIELD"))]
    pub answer: Option<String>,
    /// The field with the text that the question is about. By default all of passage, context, article and support.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FIELD"))]
    pub passage: Option<String>,
}

/// Fields with texts of which nothing is searched for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct UnsearchedField {
    /// Its name; `(other options)` behind it where only the option that is the answer is searched for.
    pub field: String,
    /// Items that have a text there.
    pub items: u64,
}

/// The version of the rule by which records become items. Suites that were stored by an earlier one keep their items.
pub const ITEM_RULE: u32 = 2;

// Names of fields, without case, spaces, dashes and underscores.

/// Fields of questions, each with a field that must stand beside it, if any.
const QUESTIONS: [(&str, &str); 14] = [
    ("question", ""),
    ("prompt", ""),
    ("problem", ""),
    ("turns", ""),
    ("messages", ""),
    ("conversations", ""),
    ("questionstem", ""),
    ("query", ""),
    ("ctx", "endings"),
    ("goal", "sol1"),
    ("sentence", "option1"),
    ("text", "code"),
    ("input", "target"),
    ("input", "targets"),
];
/// Answers that may name an option.
const CHOICES: [&str; 11] = [
    "answer",
    "answerkey",
    "correctanswer",
    "correctoption",
    "correct",
    "gold",
    "target",
    "label",
    "answeridx",
    "answerindex",
    "cop",
];
/// Fields of [`CHOICES`] that are no answers where there are no options.
const ONLY_CHOICES: [&str; 4] = ["label", "answeridx", "answerindex", "cop"];
const ANSWERS: [&str; 17] = [
    "canonicalsolution",
    "solution",
    "answers",
    "answersspans",
    "bestanswer",
    "correctanswers",
    "finalanswer",
    "groundtruth",
    "targets",
    "reference",
    "references",
    "code",
    "explanation",
    "rationale",
    "cotcontent",
    "mc1targets",
    "mc2targets",
];
const PASSAGES: [&str; 5] = ["passage", "context", "article", "support", "story"];
const IDS: [&str; 5] = ["taskid", "id", "questionid", "recordid", "promptid"];
/// Pairs of a turn and an accepted answer of one item.
const PAIRS: usize = 4096;
/// Names of fields that are not searched for, at most: those of further ones count together.
const NAMES: usize = 1024;

/// The turns of a list of messages, by who says them: people ask, models answer, and what a system says is only to be
/// read.
fn turns(value: &Value) -> Option<[Vec<String>; 3]> {
    let messages = value.as_array().filter(|messages| !messages.is_empty())?;
    let mut parts = [const { Vec::new() }; 3];
    for message in messages {
        let role = message.get("role").or_else(|| message.get("from"))?.as_str()?;
        let part = match role {
            "assistant" | "gpt" | "model" | "bot" => SuitePart::Answer,
            "system" | "developer" | "tool" => SuitePart::Passage,
            _ => SuitePart::Question,
        };
        if let Some(part) = parts.get_mut(part as usize) {
            part.extend(texts(message));
        }
    }
    Some(parts)
}

/// A record whose question is an object with a stem, as the first ARC and OpenBookQA have it: its members stand beside
/// the question, which is the stem.
fn nested_question(record: &Map<String, Value>) -> Option<Map<String, Value>> {
    let question = record.get("question")?.as_object()?;
    let mut flat = record.clone();
    flat.insert("question".to_owned(), question.get("stem")?.clone());
    for (name, value) in question.iter().filter(|(name, _)| *name != "stem") {
        flat.entry(name.clone()).or_insert_with(|| value.clone());
    }
    Some(flat)
}

/// The records of a suite, as they become items.
pub struct SuiteLayout<'f> {
    fields: &'f SuiteFields,
    numbers: OptionNumbers,
    items: usize,
    /// Items whose answer is a letter though they have no options, and what is said of the first.
    letters: (usize, String),
    unsearched: BTreeMap<String, u64>,
}

/// What is to be said of a suite that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayoutNotes {
    /// Fields with texts of which nothing is searched for, by name.
    pub unsearched: Vec<UnsearchedField>,
    /// The number of the first option, where answers are numbers.
    pub numbers_from: Option<u64>,
}

impl<'f> SuiteLayout<'f> {
    /// Reads items by these fields.
    #[doc(hidden)]
    pub const fn new(fields: &'f SuiteFields) -> Self {
        Self {
            fields,
            numbers: OptionNumbers::new(),
            items: 0,
            letters: (0, String::new()),
            unsearched: BTreeMap::new(),
        }
    }

    /// The item that a record is; `place` names one that has no id of its own. An answer that is a number is put in by
    /// [`SuiteLayout::finish`].
    pub fn item_of(
        &mut self,
        record: &Map<String, Value>,
        place: &str,
    ) -> Result<SuiteItem, String> {
        let nested = self.fields.question.is_none().then(|| nested_question(record)).flatten();
        let mut fields = RecordFields::of(nested.as_ref().unwrap_or(record));
        let id = IDS.iter().find_map(|name| texts(fields.take(name)?.1).into_iter().next());
        let id = id.filter(|id| !id.trim().is_empty()).unwrap_or_else(|| place.to_owned());
        let mut item = SuiteItem { id, parts: self.question(&mut fields)? };
        let options = ItemOptions::of(&mut fields);
        self.answers(&mut fields, options.as_ref(), &mut item)
            .map_err(|why| format!("item `{}`: {why}", item.id))?;
        let [questions, answers, passages] = &mut item.parts;
        match &self.fields.passage {
            Some(named) => passages.extend(texts_of(named, fields.named(named)?)),
            None => {
                for known in PASSAGES {
                    let Some((name, value)) = fields.take(known) else { continue };
                    passages.extend(fields.searched(name, value));
                }
            }
        }
        for texts in [&mut *questions, &mut *answers, passages] {
            leave_one_of_each(texts);
        }
        let pairs = questions.len().saturating_mul(answers.len());
        if questions.len() > 1 && pairs > PAIRS {
            let (turns, answers) = (questions.len(), answers.len());
            return Err(format!(
                "item `{}`: it has {turns} turns and {answers} answers, and at most {PAIRS} pairs of them are searched for: name fields with fewer by `question=` and `answer=`",
                item.id
            ));
        }
        self.count_unsearched(&fields, options.as_ref(), &item);
        self.items += 1;
        Ok(item)
    }

    fn question(&self, fields: &mut RecordFields<'_>) -> Result<[Vec<String>; 3], String> {
        let found = match &self.fields.question {
            Some(named) => Some((named.as_str(), fields.named(named)?)),
            None => {
                let is_there = |(name, beside): &&(&str, &str)| {
                    fields.has(name) && (beside.is_empty() || fields.has(beside))
                };
                let known = QUESTIONS.iter().find(is_there).map(|(name, _)| *name);
                known.and_then(|name| fields.take(name))
            }
        };
        let parts = found.map(|(name, value)| {
            let list = listed(name, value);
            let value = list.as_ref().unwrap_or(value);
            turns(value).unwrap_or_else(|| [texts_of(name, value), Vec::new(), Vec::new()])
        });
        let is_asked = |parts: &[Vec<String>; 3]| {
            parts.first().is_some_and(|asked| asked.iter().any(|text| !text.trim().is_empty()))
        };
        parts.filter(is_asked).ok_or_else(|| {
            let tried = self.fields.question.clone().unwrap_or_else(|| {
                let names: Vec<&str> =
                    QUESTIONS.iter().filter(|(_, beside)| beside.is_empty()).map(|(name, _)| *name).collect();
                names.join(", ")
            });
            let known: Vec<&str> = fields.record.keys().map(String::as_str).collect();
            format!(
                "no field has the question ({tried} were tried); its fields are {}: name one with `question=`",
                known.join(", ")
            )
        })
    }

    /// Puts the answers of a record into its item.
    fn answers(
        &mut self,
        fields: &mut RecordFields<'_>,
        options: Option<&ItemOptions>,
        item: &mut SuiteItem,
    ) -> Result<(), String> {
        let mut found: Vec<(&str, &Value)> = Vec::new();
        let layout = self.fields;
        if let Some(named) = &layout.answer {
            let value = fields.named(named)?;
            if !self.choose(value, options, item)? {
                found.push((named.as_str(), value));
            }
        } else {
            let mut is_chosen = false;
            for known in CHOICES {
                let only_chooses = ONLY_CHOICES.contains(&known);
                if only_chooses && options.is_none() {
                    continue;
                }
                let Some((name, value)) = fields.take(known) else { continue };
                // Beside an option that is chosen, another spelling of it says nothing more.
                let is_same = |options: &ItemOptions| {
                    !value.is_string() || !matches!(options.answered(value), Ok(Answered::Text))
                };
                let is_option = match is_chosen {
                    true => options.is_some_and(is_same),
                    false => self.choose(value, options, item)?,
                };
                is_chosen |= is_option;
                if !is_option && !only_chooses {
                    found.push((name, value));
                }
            }
            found.extend(ANSWERS.iter().filter_map(|name| fields.take(name)));
        }
        let mut texts = Vec::new();
        for (name, value) in found {
            texts.extend(fields.searched(name, value));
        }
        if let ([only], None) = (texts.as_slice(), options)
            && matches!(only.trim().as_bytes(), [b'A'..=b'Z'])
        {
            if self.letters.0 == 0 {
                let known: Vec<&str> = fields.record.keys().map(String::as_str).collect();
                self.letters.1 = format!(
                    "item `{}`: its answer is the letter {}, and no field has its options (`choices`, `options`, or columns A, B, C ..); its fields are {}: name the one with the text of the answer with `answer=`",
                    item.id,
                    only.trim(),
                    known.join(", ")
                );
            }
            self.letters.0 += 1;
        }
        let [_, answers, _] = &mut item.parts;
        answers.extend(texts);
        Ok(())
    }

    /// Whether an answer names options, which are the answers then.
    fn choose(
        &mut self,
        value: &Value,
        options: Option<&ItemOptions>,
        item: &mut SuiteItem,
    ) -> Result<bool, String> {
        let Some(options) = options else { return Ok(false) };
        let mut answered = options.answered(value)?;
        if let (Answered::Text, Some(list)) = (&answered, listed("answer", value)) {
            answered = options.answered(&list)?;
        }
        match answered {
            Answered::Options(chosen) => {
                let [_, answers, _] = &mut item.parts;
                answers.extend(chosen);
                Ok(true)
            }
            Answered::Number(number) => {
                let texts = options.texts.clone();
                let first = options.first;
                let is_text = value.is_string();
                self.numbers.add(NumberedAnswer {
                    item: self.items,
                    number,
                    texts,
                    first,
                    is_text,
                });
                Ok(true)
            }
            Answered::Text => Ok(false),
        }
    }

    fn count_unsearched(
        &mut self,
        fields: &RecordFields<'_>,
        options: Option<&ItemOptions>,
        item: &SuiteItem,
    ) {
        let is_searched = |value: &Value| match value {
            Value::String(text) => item.all().any(|(_, searched)| searched.contains(text.trim())),
            Value::Number(_) | Value::Bool(_) => true,
            value => !has_text(value),
        };
        let rest = fields.record.iter().filter(|(name, value)| {
            !fields.used.contains(name.as_str()) && has_text(value) && !is_searched(value)
        });
        let rest = rest.map(|(name, _)| name.clone());
        let options = options.map(|options| format!("{} (other options)", options.name));
        for name in rest.chain(options) {
            let is_known = self.unsearched.contains_key(&name);
            let is_named = is_known || self.unsearched.len() < NAMES;
            let name = if is_named { name } else { "(other fields)".to_owned() };
            *self.unsearched.entry(name).or_default() += 1;
        }
    }

    /// Bytes that are held until all records are read.
    pub const fn held(&self) -> u64 {
        self.numbers.bytes
    }

    /// Puts the options into `items`, in the order in which they were read, whose answers are numbers.
    ///
    /// # Errors
    /// An item whose number is that of no option, and a suite whose answers are letters without options, in words.
    pub fn finish(self, items: &mut [SuiteItem]) -> Result<LayoutNotes, String> {
        let (letters, first) = self.letters;
        if letters > 0 && letters == self.items {
            return Err(first);
        }
        let numbers_from = self.numbers.put_into(items)?;
        let unsearched = self.unsearched.into_iter();
        let unsearched =
            unsearched.map(|(field, items)| UnsearchedField { field, items }).collect();
        Ok(LayoutNotes { unsearched, numbers_from })
    }
}
