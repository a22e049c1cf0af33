//! Where the texts of messages stand in the text of a conversation: it is rendered again with a sign behind each of them,
//! and the signs are taken out.
//!
//! That finds answers where a template writes a turn otherwise when others follow it, and tells which message a part
//! between generation marks is of.

use super::budget::RenderBudget;
use super::conversation::{Conversation, REASONING};
use super::template::{ChatTemplate, MARKS};
use super::values::Members;
use minijinja::value::{Value, ValueKind};

/// Stands before the number of a text: a noncharacter. The number is a character of a plane for private use.
const SIGN: char = '\u{fdd3}';
const FIRST: u32 = 0xf_0000;
const MOST: u32 = 0xffff;

/// The texts of messages in a rendering.
pub(super) struct Trace {
    /// The rendering without signs and generation marks.
    pub(super) text: String,
    /// Ends of texts, ascending: the byte, and the number of the text.
    ends: Vec<(usize, u32)>,
    /// Generation marks, from where to where, each with the messages whose texts end within it.
    pub(super) marked: Vec<(usize, usize, Vec<usize>)>,
    /// Of every text its message.
    messages: Vec<usize>,
}

impl Trace {
    /// Renders the first `count` messages with signs; none where there are too many texts, or a record has a sign.
    pub(super) fn of(
        template: &ChatTemplate,
        turns: &Conversation,
        count: usize,
        work: &mut RenderBudget<'_>,
    ) -> Result<Option<Self>, String> {
        let mut signs = Signs { messages: Vec::new(), message: 0, has_sign: false };
        let messages = turns.messages.iter().take(count).enumerate();
        let messages: Vec<Value> = messages.map(|(at, message)| signs.sign(at, message)).collect();
        if signs.has_sign || signs.messages.len() > MOST as usize {
            return Ok(None);
        }
        let rendered = template.render(&messages, &turns.context, false, work)?;
        let mut trace = Self {
            text: String::new(),
            ends: Vec::new(),
            marked: Vec::new(),
            messages: signs.messages,
        };
        trace.read(&rendered);
        Ok(Some(trace))
    }

    fn read(&mut self, rendered: &str) {
        let [open, close] = MARKS;
        let (mut letters, mut begun) = (rendered.chars(), None);
        while let Some(letter) = letters.next() {
            if letter == open {
                begun = Some((self.text.len(), self.ends.len()));
            } else if letter == close {
                let Some((start, first)) = begun.take() else { continue };
                let within = self.ends.get(first..).unwrap_or_default();
                let mut of: Vec<usize> =
                    within.iter().filter_map(|(_, text)| self.message(*text)).collect();
                of.dedup();
                self.marked.push((start, self.text.len(), of));
            } else if letter == SIGN {
                let number = letters.next().and_then(|letter| u32::from(letter).checked_sub(FIRST));
                self.ends.extend(number.map(|number| (self.text.len(), number)));
            } else {
                self.text.push(letter);
            }
        }
    }

    fn message(&self, text: u32) -> Option<usize> {
        self.messages.get(text as usize).copied()
    }

    /// The last text of a message, and where it ends.
    fn last_of(&self, message: usize) -> Option<(usize, u32)> {
        let mut ends = self.ends.iter().rev();
        ends.find(|(_, text)| self.message(*text) == Some(message)).copied()
    }

    /// Where the first text of a message ends, and where the last of those before it does.
    fn first_of(&self, message: usize) -> Option<(usize, usize)> {
        let at = self.ends.iter().position(|(_, text)| self.message(*text) == Some(message))?;
        let (first, _) = self.ends.get(at)?;
        let before = self.ends.get(..at)?.last().map_or(0, |(end, _)| *end);
        Some((before, *first))
    }

    /// Where an answer begins and ends in this rendering of all: `alone` is the one up to it, `opener` what the template
    /// writes to ask for it. It begins behind the opener, or behind a special token or line of it that stands there, and
    /// ends as it does alone, or with the special token that stands there instead.
    pub(super) fn answer(
        &self,
        message: usize,
        alone: &Self,
        opener: &str,
        special: impl Fn(&str) -> Option<usize>,
    ) -> Option<(usize, usize)> {
        let (before, first) = self.first_of(message)?;
        let between = self.text.get(before..first)?;
        let starts = (1..=opener.len()).rev().filter_map(|length| opener.get(..length));
        let start = starts
            .filter(|part| *part == opener || is_whole(part, &special))
            .find_map(|part| between.rfind(part).map(|at| before + at + part.len()))?;
        let (ends_alone, last) = alone.last_of(message)?;
        let (end, _) = self.ends.iter().find(|(_, text)| *text == last)?;
        let (tail, rest) = (alone.text.get(ends_alone..)?, self.text.get(*end..)?);
        if rest.starts_with(tail) {
            return Some((start, end + tail.len()));
        }
        special(tail)?;
        Some((start, end + special(rest)?))
    }
}

/// Whether the beginning of an opener ends where an answer can begin: behind a special token, or behind its line. The next
/// letters of the opener may be those of the answer by chance (`<` of `<think>`).
fn is_whole(part: &str, special: &impl Fn(&str) -> Option<usize>) -> bool {
    let ends = |(at, _): (usize, char)| Some(at + special(part.get(at..)?)?);
    let mut ends = part.char_indices().filter_map(ends);
    if part.ends_with('\n') { ends.next().is_some() } else { ends.any(|end| end == part.len()) }
}

/// Puts signs behind texts, and counts them.
struct Signs {
    messages: Vec<usize>,
    message: usize,
    has_sign: bool,
}

impl Signs {
    /// A message with a sign behind its content, its reasoning and what its calls say.
    fn sign(&mut self, number: usize, message: &Members) -> Value {
        self.message = number;
        message.each_text(&mut |text| self.has_sign |= text.contains(SIGN));
        let signed = message.iter().map(|(name, value)| {
            let value = match name.as_str() {
                "content" => self.of_each(value, &["text"]),
                "tool_calls" => self.of_each(value, &["function", "name", "arguments"]),
                name if REASONING.contains(&name) => self.text(value),
                _ => value.clone(),
            };
            (name.clone(), value)
        });
        signed.collect()
    }

    /// A text, or the members of these names in a list or an object.
    fn of_each(&mut self, value: &Value, names: &[&str]) -> Value {
        match value.kind() {
            ValueKind::Seq => {
                let items = value.try_iter().into_iter().flatten();
                items.map(|item| self.of_each(&item, names)).collect::<Vec<_>>().into()
            }
            ValueKind::Map => {
                let Some(members) = Members::of(value) else { return value.clone() };
                let signed = members.iter().map(|(name, value)| {
                    let is_named = names.contains(&name.as_str());
                    let nested = ["name", "arguments"];
                    let value = match value.kind() {
                        ValueKind::Map if name == "function" && is_named => {
                            self.of_each(value, &nested)
                        }
                        _ if is_named => self.text(value),
                        _ => value.clone(),
                    };
                    (name.clone(), value)
                });
                signed.collect()
            }
            _ => self.text(value),
        }
    }

    /// The sign stands before the space that a template may cut off.
    fn text(&mut self, value: &Value) -> Value {
        let Some(text) = value.as_str().filter(|text| !text.trim().is_empty()) else {
            return value.clone();
        };
        let number = u32::try_from(self.messages.len()).unwrap_or(MOST).min(MOST);
        self.messages.push(self.message);
        let number = char::from_u32(FIRST + number).unwrap_or(SIGN);
        let said = text.trim_end();
        let space = text.get(said.len()..).unwrap_or_default();
        Value::from(format!("{said}{SIGN}{number}{space}"))
    }
}
