//! Finds where the texts of messages stand in a conversation's text, by rendering it again with signs around each.
//!
//! The signs are taken out of the result. That finds answers where a template writes a turn otherwise when others
//! follow it, and tells which message a part between generation marks is of. What stands between the texts of two
//! messages is the end of one turn and the opening of the next; it is compared with the same place where the
//! conversation ends there, asked for an answer or answered.

use super::budget::RenderBudget;
use super::conversation::{Conversation, REASONING};
use super::template::{ChatTemplate, MARKS};
use super::values::Members;
use minijinja::value::{Value, ValueKind};
use model::invariant::{part, text_part};

/// Stand before the number of a text, behind it and before it: noncharacters. The number is a character of a plane for
/// private use.
const SIGN: char = '\u{fdd3}';
const OPENING_SIGN: char = '\u{fdd4}';
const FIRST: u32 = 0xf_0000;
const MOST: u32 = 0xffff;

/// Longest name of what looks like a special token, in bytes.
const LONGEST: usize = 64;

/// The texts of messages in a rendering.
pub(super) struct Trace {
    /// The rendering without signs and generation marks.
    pub(super) text: String,
    /// Beginnings of texts, ascending, where the template takes signs there: the byte, and the number of the text.
    starts: Vec<(usize, u32)>,
    /// Ends of texts, ascending.
    ends: Vec<(usize, u32)>,
    /// Generation marks, from where to where, each with the messages whose texts end within it.
    pub(super) marked: Vec<(usize, usize, Vec<usize>)>,
    /// For every text, its message.
    messages: Vec<usize>,
}

impl Trace {
    /// Renders the first `count` messages with signs, opened for an answer if `is_asked`; none where there are too many
    /// texts, a record has a sign, or anything but the signs is otherwise than in `plain`.
    pub(super) fn of(
        (template, turns): (&ChatTemplate, &Conversation),
        count: usize,
        is_asked: bool,
        plain: &str,
        work: &mut RenderBudget<'_>,
    ) -> Result<Option<Self>, String> {
        // A template may look at the first letters of a text.
        for is_opened in [true, false] {
            let mut signs = Signs { messages: Vec::new(), message: 0, has_sign: false, is_opened };
            let messages = turns.messages.iter().take(count).enumerate();
            let messages: Vec<Value> =
                messages.map(|(at, message)| signs.sign(at, message)).collect();
            if signs.has_sign || signs.messages.len() > MOST as usize {
                return Ok(None);
            }
            let Ok(rendered) = template.render(&messages, &turns.context, is_asked, work) else {
                work.check_interrupt_of_render()?;
                continue;
            };
            let mut trace = Self {
                text: String::new(),
                starts: Vec::new(),
                ends: Vec::new(),
                marked: Vec::new(),
                messages: signs.messages,
            };
            trace.read(&rendered);
            if trace.text == plain {
                return Ok(Some(trace));
            }
        }
        Ok(None)
    }

    fn read(&mut self, rendered: &str) {
        let [open, close] = MARKS;
        let (mut letters, mut begun) = (rendered.chars(), None);
        while let Some(letter) = letters.next() {
            if letter == open {
                begun = Some((self.text.len(), self.ends.len()));
            } else if letter == close {
                let Some((start, first)) = begun.take() else { continue };
                let within = part(&self.ends, first..);
                let mut of: Vec<usize> =
                    within.iter().filter_map(|(_, text)| self.message(*text)).collect();
                of.dedup();
                self.marked.push((start, self.text.len(), of));
            } else if letter == SIGN || letter == OPENING_SIGN {
                let number = letters.next().and_then(|letter| u32::from(letter).checked_sub(FIRST));
                let places = if letter == SIGN { &mut self.ends } else { &mut self.starts };
                places.extend(number.map(|number| (self.text.len(), number)));
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

    /// Whether a message has texts of which this rendering has none.
    pub(super) fn is_silent(&self, message: usize) -> bool {
        self.messages.contains(&message) && self.last_of(message).is_none()
    }

    /// Where an answer begins and ends in this rendering of all. `asked` is the conversation before it, opened for an
    /// answer, `answered` the one up to it, `opener` what the template writes to ask for it.
    pub(super) fn answer(
        &self,
        message: usize,
        (asked, answered): (&Self, &Self),
        opener: &str,
        special: impl Fn(&str) -> Option<usize>,
    ) -> Option<(usize, usize)> {
        let start = self.start_of(message, asked, opener, &special)?;
        let end = self.end_of(message, answered, opener, &special)?;
        (start <= end).then_some((start, end))
    }

    /// The start of an answer: behind the text that asks for it, or behind the opener; where another opening stands
    /// there, behind the last token or line that both share.
    fn start_of(
        &self,
        message: usize,
        asked: &Self,
        opener: &str,
        special: &impl Fn(&str) -> Option<usize>,
    ) -> Option<usize> {
        let at = self.ends.iter().position(|(_, text)| self.message(*text) == Some(message))?;
        let (first_end, _) = *self.ends.get(at)?;
        let (before, asked_before) = (self.ends.get(..at)?.last(), asked.ends.last());
        if before.map(|(_, text)| text) != asked_before.map(|(_, text)| text) {
            return None;
        }
        let end_of = |place: Option<&(usize, u32)>| place.map_or(0, |(end, _)| *end);
        let from = end_of(before);
        let mut starts =
            self.starts.iter().filter(|(_, text)| self.message(*text) == Some(message));
        let begins = starts.next().map(|(start, _)| *start);
        let begins = begins.filter(|begins| (from..=first_end).contains(begins));
        let between = self.text.get(from..begins.unwrap_or(first_end))?;
        let opened = asked.text.get(end_of(asked_before)..)?;
        if between.starts_with(opened) {
            return Some(from + opened.len());
        }
        if let Some(at) = between.rfind(opener).filter(|_| !opener.is_empty()) {
            return Some(from + at + opener.len());
        }
        let common = common(opened, between);
        if begins.is_some() && common == between {
            return Some(from + common.len());
        }
        let mut parts = (1..opener.len()).rev().filter_map(|length| opener.get(..length));
        let part = parts.find_map(|part| {
            let is_opening = whole(part) == part && first_token(part, special).is_some();
            between.rfind(part).filter(|_| is_opening).map(|at| at + part.len())
        });
        let length = whole(common).len().max(part.unwrap_or(0));
        (length > 0).then_some(from + length)
    }

    /// An answer ends as it does where nothing follows, without the opening of another turn; or with the token that stands
    /// there instead. Where only the opening of the next turn follows, it ends with its text.
    fn end_of(
        &self,
        message: usize,
        answered: &Self,
        opener: &str,
        special: &impl Fn(&str) -> Option<usize>,
    ) -> Option<usize> {
        let (last_end, last) = answered.last_of(message)?;
        let (end, _) = *self.ends.iter().find(|(_, text)| *text == last)?;
        let (tail, rest) = (answered.text.get(last_end..)?, self.text.get(end..)?);
        if rest.starts_with(tail) {
            return Some(end + tail.len());
        }
        let opens =
            first_token(opener, special).and_then(|(at, length)| opener.get(at..at + length));
        let turn = |part: &str| opens.and_then(|opens| part.find(opens)).filter(|at| *at > 0);
        let common = whole(common(tail, rest));
        if let Some(length) = turn(common) {
            return Some(end + length);
        }
        if first_token(common, special).is_some() {
            return Some(end + common.len());
        }
        let others = self
            .starts
            .iter()
            .filter(|(at, text)| *at >= end && self.message(*text) != Some(message));
        let next = others.map(|(at, _)| *at).min().unwrap_or(self.text.len());
        let between = self.text.get(end..next)?;
        let tail = tail.get(..turn(tail).unwrap_or(tail.len()))?;
        let closing = tail.char_indices().rev().find_map(|(at, _)| {
            let closing = tail.get(at..)?;
            token(closing, special).map(|length| (closing, length))
        });
        let (closing, length) = closing?;
        for closing in [closing, closing.get(..length)?] {
            if let Some(at) = between.find(closing) {
                return Some(end + at + closing.len());
            }
        }
        token(tail, special)?;
        let instead = token(between, special)?;
        let is_end = first_token(between.get(instead..)?, special).is_some();
        Some(end + if is_end { instead } else { 0 })
    }
}

/// What two texts both begin with.
pub(super) fn common<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    text_part(one, ..one.floor_char_boundary(same))
}

/// The beginning of a text up to its last token or line. The next letters may be those of an answer by chance (`<` of
/// `<think>`).
fn whole(part: &str) -> &str {
    part.rfind(['\n', '>', ']']).map_or("", |at| text_part(part, ..=at))
}

/// How long the special token is that a text begins with, or what is spelled like one: `<turn|>`, `</s>`, `[INST]`.
fn token(text: &str, special: &impl Fn(&str) -> Option<usize>) -> Option<usize> {
    special(text).or_else(|| spelled_like_token(text))
}

/// How long what is spelled like a special token is that a text begins with.
pub(super) fn spelled_like_token(text: &str) -> Option<usize> {
    let within = text.get(..text.floor_char_boundary(LONGEST))?;
    let close = if within.starts_with('<') { '>' } else { ']' };
    let name = within.strip_prefix(['<', '['])?;
    let name = name.get(..name.find(close)?)?;
    let is_name = |letter: char| match close {
        '>' => !letter.is_whitespace() && letter != '<',
        _ => letter.is_ascii_uppercase() || matches!(letter, '_' | '/'),
    };
    (!name.is_empty() && name.chars().all(is_name)).then_some(name.len() + 2)
}

/// Where the first special token of a text is, and how long.
fn first_token(text: &str, special: &impl Fn(&str) -> Option<usize>) -> Option<(usize, usize)> {
    let mut places = text.char_indices();
    places.find_map(|(at, _)| token(text.get(at..)?, special).map(|length| (at, length)))
}

/// Puts signs around texts, and counts them.
struct Signs {
    messages: Vec<usize>,
    message: usize,
    has_sign: bool,
    /// Whether opening signs stand before the texts, too.
    is_opened: bool,
}

impl Signs {
    /// A message with signs around its content, its reasoning and what its calls say.
    fn sign(&mut self, number: usize, message: &Members) -> Value {
        self.message = number;
        message.each_text(&mut |text| self.has_sign |= text.contains([SIGN, OPENING_SIGN]));
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

    /// The signs stand within the space that a template may cut off.
    fn text(&mut self, value: &Value) -> Value {
        let Some(text) = value.as_str().filter(|text| !text.trim().is_empty()) else {
            return value.clone();
        };
        let number = u32::try_from(self.messages.len()).unwrap_or(MOST).min(MOST);
        self.messages.push(self.message);
        let number = char::from_u32(FIRST + number).unwrap_or(SIGN);
        let said = text.trim();
        let (before, rest) = text.split_at(text.len() - text.trim_start().len());
        let behind = text_part(rest, said.len()..);
        let opening =
            if self.is_opened { format!("{OPENING_SIGN}{number}") } else { String::new() };
        Value::from(format!("{before}{opening}{said}{SIGN}{number}{behind}"))
    }
}
