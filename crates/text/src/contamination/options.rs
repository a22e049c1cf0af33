//! The options of a multiple-choice item, and which of them its answer names: by letter, label, number or text.

use super::literal::parse_list;
use super::record_fields::{RecordFields, leave_one_of_each, texts};
use model::SuiteItem;
use serde_json::Value;

/// Fields with all options of an item.
const FIELDS: [&str; 3] = ["choices", "options", "endings"];
/// What fields with one option each are named by, before a letter or a number, and the number that the first has where
/// answers are numbers and do not show it.
const COLUMNS: [(&str, u64); 6] =
    [("option", 1), ("choice", 1), ("ending", 0), ("sol", 0), ("op", 1), ("answer", 1)];

/// The options of an item.
pub(super) struct ItemOptions {
    /// The field, or the first and the last one.
    pub(super) name: String,
    /// The texts of the options; empty where there is none.
    pub(super) texts: Vec<String>,
    /// What they are called, where they say so.
    labels: Vec<String>,
    /// The number of the first, where answers are numbers that do not show it.
    pub(super) first: u64,
    /// The field is a text that is no list: there are no texts then.
    is_unreadable: bool,
}

/// What an answer is.
pub(super) enum Answered {
    /// The options that it names, as texts.
    Options(Vec<String>),
    /// The option of that number, from 0 or from 1.
    Number(u64),
    /// A text of its own.
    Text,
}

impl ItemOptions {
    /// The options of a record, if it has any.
    pub(super) fn of(fields: &mut RecordFields<'_>) -> Option<Self> {
        let whole = FIELDS.iter().find_map(|name| fields.take(name));
        let mut options = match whole {
            Some((name, value)) => Self::of_field(name, value),
            None => Self::of_columns(fields)?,
        };
        options.strip_letters();
        Some(options)
    }

    fn of_field(name: &str, value: &Value) -> Self {
        let mut options = Self {
            name: name.to_owned(),
            texts: Vec::new(),
            labels: Vec::new(),
            first: 0,
            is_unreadable: false,
        };
        let listed = match value {
            Value::String(text) => match parse_list(text) {
                Some(listed) => listed,
                None => {
                    options.is_unreadable = true;
                    return options;
                }
            },
            value => value.clone(),
        };
        let one = |value: &Value| texts(value).into_iter().next().unwrap_or_default();
        match &listed {
            Value::Object(members) => match (members.get("text"), members.get("label")) {
                (Some(Value::Array(texts)), labels) => {
                    options.texts = texts.iter().map(one).collect();
                    let labels = labels.and_then(Value::as_array);
                    options.labels = labels.into_iter().flatten().map(one).collect();
                }
                // By their letters or numbers.
                _ => {
                    options.texts = members.values().map(one).collect();
                    options.labels = members.keys().cloned().collect();
                }
            },
            Value::Array(values) => {
                options.texts = values.iter().map(one).collect();
                let label =
                    |value: &Value| value.get("label").or_else(|| value.get("key")).map(one);
                options.labels = values.iter().filter_map(label).collect();
            }
            _ => options.is_unreadable = true,
        }
        if options.labels.len() != options.texts.len() {
            options.labels.clear();
        }
        options
    }

    /// The options of fields with one each: A, B, C, or a word before letters or numbers.
    fn of_columns(fields: &mut RecordFields<'_>) -> Option<Self> {
        let mut first = 0;
        let mut found: Vec<(&str, &Value)> =
            ('A'..='Z').map_while(|letter| fields.exactly(&letter.to_string())).collect();
        for (word, from) in COLUMNS {
            if found.len() < 2 {
                first = from;
                found = ('a'..='z').map_while(|at| fields.any(&format!("{word}{at}"))).collect();
            }
            for start in [0, 1] {
                if found.len() < 2 {
                    let numbers = (start..100).map_while(|at| fields.any(&format!("{word}{at}")));
                    found = numbers.collect();
                }
            }
        }
        let [(name, _), .., (last, _)] = found.as_slice() else { return None };
        let name = format!("{name} to {last}");
        let one = |(_, value): &(&str, &Value)| texts(value).into_iter().next().unwrap_or_default();
        let mut texts: Vec<String> = found.iter().map(one).collect();
        while texts.last().is_some_and(|text| text.trim().is_empty()) {
            texts.pop();
        }
        Some(Self { name, texts, labels: Vec::new(), first, is_unreadable: false })
    }

    /// Takes its letter from the beginning of every option, where all have it: `B) a bell`.
    fn strip_letters(&mut self) {
        let without = |(letter, text): (char, &String)| {
            let text = text.trim_start().trim_start_matches('(').strip_prefix(letter)?;
            text.strip_prefix([')', '.', ':']).map(|text| text.trim_start().to_owned())
        };
        let stripped: Option<Vec<String>> = ('A'..='Z').zip(&self.texts).map(without).collect();
        if let Some(stripped) = stripped.filter(|stripped| stripped.len() == self.texts.len()) {
            self.texts = stripped;
        }
    }

    /// What an answer is, beside these options.
    ///
    /// # Errors
    /// A letter or label that none of them has, in words.
    pub(super) fn answered(&self, answer: &Value) -> Result<Answered, String> {
        let text = match answer {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            Value::Array(values) => {
                return match values.as_slice() {
                    [] => Ok(Answered::Text),
                    [only] => self.answered(only),
                    values => self.all_answered(values),
                };
            }
            _ => return Ok(Answered::Text),
        };
        // Sets whose answers are kept back have `-1`.
        if text == "-1" {
            return Ok(Answered::Options(Vec::new()));
        }
        let letters = letters(&text);
        let number = whole_number(&text);
        if self.is_unreadable && (letters.is_some() || number.is_some()) {
            return Err(format!(
                "its answer is `{text}`, and `{}` is a text that is no list of options: write it as a JSON list",
                self.name
            ));
        }
        if let Some(at) = self.labels.iter().position(|label| *label == text) {
            return self.chosen(&text, &[at]);
        }
        let is_it = |option: &&String| option.trim() == text;
        if let (true, Some(option)) = (text.len() > 1, self.texts.iter().find(is_it))
            && number.is_none()
        {
            return Ok(Answered::Options(vec![option.clone()]));
        }
        if let Some(letters) = letters {
            let by_label = |letter: &usize| {
                let name = char::from(b'A' + u8::try_from(*letter).unwrap_or_default());
                self.labels.iter().position(|label| label.eq_ignore_ascii_case(&name.to_string()))
            };
            let places: Option<Vec<usize>> = match self.labels.is_empty() {
                true => Some(letters),
                false => letters.iter().map(by_label).collect(),
            };
            let found = places.and_then(|places| self.chosen(&text, &places).ok());
            return match (found, self.texts.iter().find(is_it)) {
                (Some(found), _) => Ok(found),
                (None, Some(option)) => Ok(Answered::Options(vec![option.clone()])),
                (None, None) => self.chosen(&text, &[usize::MAX]),
            };
        }
        if let Some(number) = number {
            return Ok(Answered::Number(number));
        }
        if let Some(answered) = self.spelled_out(&text) {
            return Ok(answered);
        }
        let is_like = |option: &&String| option.trim().to_lowercase() == text.to_lowercase();
        let option = self.texts.iter().find(is_like);
        Ok(option.map_or(Answered::Text, |option| Answered::Options(vec![option.clone()])))
    }

    /// What a list of answers is: options where each of them names one.
    fn all_answered(&self, values: &[Value]) -> Result<Answered, String> {
        let mut all = Vec::new();
        for value in values {
            match self.answered(value)? {
                Answered::Options(chosen) => all.extend(chosen),
                Answered::Number(_) => {
                    return Err("its answers are several numbers: name the options by their letters or texts".to_owned());
                }
                Answered::Text => return Ok(Answered::Text),
            }
        }
        Ok(Answered::Options(all))
    }

    /// The option whose letter and text an answer has: `B) a bell`.
    fn spelled_out(&self, answer: &str) -> Option<Answered> {
        let (letter, text) = answer.split_once([')', '.', ':'])?;
        let [at]: [usize; 1] = letters(letter)?.try_into().ok()?;
        let option = self.texts.get(at)?;
        (option.trim() == text.trim()).then(|| Answered::Options(vec![option.clone()]))
    }

    fn chosen(&self, answer: &str, places: &[usize]) -> Result<Answered, String> {
        let text = |at: &usize| self.texts.get(*at).filter(|text| !text.trim().is_empty()).cloned();
        let chosen: Option<Vec<String>> = places.iter().map(text).collect();
        chosen.map(Answered::Options).ok_or_else(|| {
            format!(
                "its answer is `{answer}`, and none of its {} options in `{}` is that",
                self.texts.len(),
                self.name
            )
        })
    }
}

/// The places that letters name: `B`, `(b)`, `B.`, and several: `A, C`.
fn letters(text: &str) -> Option<Vec<usize>> {
    let place = |word: &str| {
        let word = word.trim_matches(['(', ')', '.', ':', '[', ']', ' ']);
        match word.as_bytes() {
            [letter] if letter.is_ascii_alphabetic() => {
                Some(usize::from(letter.to_ascii_uppercase() - b'A'))
            }
            _ => None,
        }
    };
    text.split([',', ';', '|', '&', '/']).map(place).collect()
}

/// A number of an option; a table that was of floating point has `3.0`.
fn whole_number(text: &str) -> Option<u64> {
    text.strip_suffix(".0").unwrap_or(text).parse().ok()
}

/// An answer that is the number of an option.
pub(super) struct NumberedAnswer {
    /// The item, in the order in which they are read.
    pub(super) item: usize,
    pub(super) number: u64,
    pub(super) texts: Vec<String>,
    /// The number of the first option, where nothing shows it.
    pub(super) first: u64,
    /// The answer is a text, so that it may be the text of an option too.
    pub(super) is_text: bool,
}

impl NumberedAnswer {
    /// The option of that number, counted from `first`.
    fn option(&self, first: u64) -> Option<&String> {
        let at = usize::try_from(self.number.checked_sub(first)?).ok()?;
        self.texts.get(at).filter(|text| !text.trim().is_empty())
    }

    /// The option that is that number, as a text.
    fn same(&self) -> Option<&String> {
        self.texts.iter().find(|text| whole_number(text.trim()) == Some(self.number))
    }
}

/// All answers of a suite that are numbers of options.
pub(super) struct OptionNumbers {
    all: Vec<NumberedAnswer>,
    /// Bytes of their options.
    pub(super) bytes: u64,
}

impl OptionNumbers {
    pub(super) const fn new() -> Self {
        Self { all: Vec::new(), bytes: 0 }
    }

    pub(super) fn add(&mut self, answer: NumberedAnswer) {
        self.bytes += answer.texts.iter().map(|text| text.len() as u64).sum::<u64>();
        self.all.push(answer);
    }

    /// Puts the options into the items; answers the number of the first option, unless every number is the text of an
    /// option. One number that only one way of counting knows decides for the suite.
    pub(super) fn put_into(&self, items: &mut [SuiteItem]) -> Result<Option<u64>, String> {
        let Some(leader) = self.all.first() else { return Ok(None) };
        let holds = |first: u64| self.all.iter().all(|answer| answer.option(first).is_some());
        let is_same = self.all.iter().all(|answer| answer.same().is_some());
        let (from_zero, from_one) = (holds(0), holds(1));
        let first = match (from_zero, from_one) {
            _ if is_same && (leader.is_text || !(from_zero || from_one)) => None,
            (true, true) => Some(leader.first),
            (true, false) => Some(0),
            (false, true) => Some(1),
            (false, false) => Some(u64::from(!self.all.iter().any(|answer| answer.number == 0))),
        };
        for answer in &self.all {
            let Some(item) = items.get_mut(answer.item) else { continue };
            let option = match first {
                Some(first) => answer.option(first),
                None => answer.same(),
            };
            let Some(option) = option else {
                return Err(format!(
                    "item `{}`: its answer is option {}, and it has {} options, counted from {}",
                    item.id,
                    answer.number,
                    answer.texts.len(),
                    first.unwrap_or_default()
                ));
            };
            let [_, answers, _] = &mut item.parts;
            answers.insert(0, option.clone());
            leave_one_of_each(answers);
        }
        Ok(first)
    }
}
