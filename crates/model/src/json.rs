//! JSON text: its canonical form, one spelling for one value, and how it is read and built without losing a number.
//!
//! Metadata is stored in the canonical form, so that a record is the same whichever way it comes in: no space between
//! values, only the escapes that JSON needs, of a doubled name the last value at the first place, numbers as [`number`]
//! spells them. What of it counts as content says [`content_form`](super::content_form). What is rewritten is text that
//! `serde_json` has proved to be JSON.
//!
//! With the spelling that came, the same record would differ by program: Python writes `"\u0418"` and `1e+16`, Arrow
//! neither. The price is a second identity for records that an older release stored, asked for only where the spelling
//! differs.

use super::json_number::number;
use crate::invariant::text_part;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// How deep lists and objects may stand in one another.
pub const MAX_DEPTH: usize = 512;
/// Members of an object that a new one is compared with one by one; among more it is looked up.
const FEW_MEMBERS: usize = 16;

/// The members of an object in their order, each value as it is spelled.
pub struct JsonMembers<'l>(pub Vec<(Cow<'l, str>, &'l RawValue)>);

impl<'l> Deserialize<'l> for JsonMembers<'l> {
    fn deserialize<D: Deserializer<'l>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(JsonMembersVisitor)
    }
}

struct JsonMembersVisitor;

/// A name, borrowed unless it has escapes.
#[derive(Deserialize)]
pub struct JsonName<'l>(#[serde(borrow)] pub Cow<'l, str>);

impl<'l> Visitor<'l> for JsonMembersVisitor {
    type Value = JsonMembers<'l>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'l>>(self, mut map: A) -> Result<JsonMembers<'l>, A::Error> {
        let mut members = Vec::new();
        while let Some((JsonName(name), value)) = map.next_entry()? {
            members.push((name, value));
        }
        Ok(JsonMembers(members))
    }
}

/// A text as JSON has it.
#[must_use]
pub fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The bytes of an object with members before its own: their names, and their values as JSON.
pub fn with_members<'m>(
    members: impl IntoIterator<Item = (&'m str, Vec<u8>)>,
    object: &str,
) -> Vec<u8> {
    let mut all = b"{".to_vec();
    for (name, value) in members {
        let separator: &[u8] = if all.len() > 1 { b"," } else { b"" };
        all.extend([separator, json_string(name).as_bytes(), b":", &value].concat());
    }
    match object.strip_prefix('{').unwrap_or_default() {
        "}" | "" => all.push(b'}'),
        own => {
            all.extend(if all.len() > 1 { &b","[..] } else { b"" });
            all.extend(own.bytes());
        }
    }
    all
}

/// A JSON object that grows by a member at a time.
#[derive(Clone)]
pub struct JsonObject(String);

impl Default for JsonObject {
    fn default() -> Self {
        Self("{".to_owned())
    }
}

impl JsonObject {
    /// One more member: its name as JSON has it, and its value as JSON.
    pub fn push_raw(&mut self, name: &str, value: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(name);
        self.0.push(':');
        self.0.push_str(value);
    }

    /// One more member of text, whose name is one as JSON has it.
    pub fn push_text(&mut self, name: &str, text: &str) {
        let is_escaped = |byte: u8| byte < b' ' || matches!(byte, b'"' | b'\\');
        if text.bytes().any(is_escaped) {
            return self.push_raw(name, &json_string(text));
        }
        self.push_raw(name, "\"");
        self.0.push_str(text);
        self.0.push('"');
    }

    /// One more member of text.
    pub fn push(&mut self, name: &str, value: &str) {
        self.push_raw(&json_string(name), &json_string(value));
    }

    /// The object.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// A value in its canonical form.
#[derive(Debug, PartialEq, Eq)]
pub struct CanonicalJson {
    /// The form.
    pub json: String,
    /// Whether more than space and escapes went: doubled names, spellings of numbers, also where these are kept.
    pub is_other_value: bool,
}

/// The canonical form of a value that is proved to be JSON.
///
/// # Errors
/// In words, for half of a surrogate pair and for more than `MAX_DEPTH` levels.
pub fn canonical(json: &str) -> Result<CanonicalJson, String> {
    rewritten(json, false)
}

/// The canonical form but for numbers, which stay as they are spelled: for records that are given back as they came.
///
/// # Errors
/// As [`canonical`].
pub fn canonical_but_numbers(json: &str) -> Result<CanonicalJson, String> {
    rewritten(json, true)
}

fn rewritten(json: &str, keeps_numbers: bool) -> Result<CanonicalJson, String> {
    let written = |is_doubled| {
        let out = String::with_capacity(json.len());
        let from = JsonCursor { from: json, at: 0 };
        let is_other_value = is_doubled;
        let mut writer = CanonicalWriter { from, out, is_doubled, keeps_numbers, is_other_value };
        writer.from.skip_space();
        writer.value(0)?;
        Ok(CanonicalJson { json: writer.out, is_other_value: writer.is_other_value })
    };
    match written(false) {
        // Once for all objects in it: what has doubled names at every level is not written twice at each.
        Err(JsonFault::Doubled) => written(true).map_err(JsonFault::words),
        done => done.map_err(JsonFault::words),
    }
}

/// Why a value cannot be read or written.
pub(super) enum JsonFault {
    /// An object has a name twice, and members were not kept apart.
    Doubled,
    Words(String),
}

impl JsonFault {
    pub(super) fn words(self) -> String {
        match self {
            Self::Doubled => "an object has a name twice".to_owned(),
            Self::Words(words) => words,
        }
    }

    fn no_json() -> Self {
        Self::Words("it is no JSON".to_owned())
    }
}

/// A place in a text that is JSON.
pub(super) struct JsonCursor<'l> {
    pub(super) from: &'l str,
    /// The byte of `from` that is next.
    pub(super) at: usize,
}

impl<'l> JsonCursor<'l> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.from.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'l str {
        self.from.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// What comes next as far as `is_part` holds.
    fn take(&mut self, is_part: impl Fn(u8) -> bool) -> &'l str {
        let rest = self.rest();
        let end = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        self.at += end;
        text_part(rest, ..end)
    }

    pub(super) fn number(&mut self) -> &'l str {
        self.take(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
    }

    pub(super) fn word(&mut self) -> Result<&'l str, JsonFault> {
        let word = self.take(|byte| byte.is_ascii_alphabetic());
        if word.is_empty() { Err(JsonFault::no_json()) } else { Ok(word) }
    }

    /// The next text as it is spelled, in its quotes.
    pub(super) fn string(&mut self) -> Result<&'l str, JsonFault> {
        let rest = self.rest();
        let mut is_escaped = false;
        let end = rest.bytes().skip(1).position(|byte| {
            let is_end = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            is_end
        });
        let spelled = end.and_then(|end| rest.get(..end + 2)).ok_or_else(JsonFault::no_json)?;
        self.at += spelled.len();
        Ok(spelled)
    }

    /// The name of the next member, as it is spelled; what comes next is its value.
    pub(super) fn name(&mut self) -> Result<&'l str, JsonFault> {
        let name = self.string()?;
        self.skip_space();
        self.at += 1;
        self.skip_space();
        Ok(name)
    }

    /// Enters a list or an object.
    pub(super) fn open(&mut self, depth: usize) -> Result<(), JsonFault> {
        if depth == MAX_DEPTH {
            return Err(JsonFault::Words(format!("it is nested deeper than {MAX_DEPTH} levels")));
        }
        self.at += 1;
        self.skip_space();
        Ok(())
    }

    /// Whether there is more before the bracket that closes; if not, skips it.
    pub(super) fn has_more(&mut self, close: u8) -> bool {
        let has_more = self.peek().is_some_and(|byte| byte != close);
        self.at += usize::from(!has_more);
        has_more
    }

    /// Skips a comma and the space around it.
    pub(super) fn skip_comma(&mut self) -> bool {
        self.skip_space();
        let is_comma = self.peek() == Some(b',');
        if is_comma {
            self.at += 1;
            self.skip_space();
        }
        is_comma
    }
}

struct CanonicalWriter<'l> {
    from: JsonCursor<'l>,
    out: String,
    /// Whether names may come twice: members are put together before they are written.
    is_doubled: bool,
    keeps_numbers: bool,
    is_other_value: bool,
}

impl CanonicalWriter<'_> {
    fn value(&mut self, depth: usize) -> Result<(), JsonFault> {
        match self.from.peek() {
            Some(b'{') if self.is_doubled => self.object_of_doubles(depth),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => {
                let spelled = self.from.string()?;
                self.push_string(spelled)
            }
            Some(b'-' | b'0'..=b'9') => {
                let spelled = self.from.number();
                let canonical = number(spelled);
                self.is_other_value |= canonical != spelled;
                self.out.push_str(if self.keeps_numbers { spelled } else { &canonical });
                Ok(())
            }
            _ => {
                let word = self.from.word()?;
                self.out.push_str(word);
                Ok(())
            }
        }
    }

    fn push_string(&mut self, spelled: &str) -> Result<(), JsonFault> {
        if spelled.contains('\\') {
            let text = unescaped(spelled)?;
            self.out.push_str(&json_string(&text));
        } else {
            self.out.push_str(spelled);
        }
        Ok(())
    }

    fn list(&mut self, depth: usize) -> Result<(), JsonFault> {
        self.from.open(depth)?;
        self.out.push('[');
        while self.from.has_more(b']') {
            self.value(depth + 1)?;
            if self.from.skip_comma() {
                self.out.push(',');
            }
        }
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<(), JsonFault> {
        self.from.open(depth)?;
        self.out.push('{');
        let mut names = MemberNames::default();
        let mut is_first = true;
        while self.from.has_more(b'}') {
            let name = self.from.name()?;
            if !names.insert(name)? {
                return Err(JsonFault::Doubled);
            }
            if !std::mem::take(&mut is_first) {
                self.out.push(',');
            }
            self.push_string(name)?;
            self.out.push(':');
            self.value(depth + 1)?;
            self.from.skip_comma();
        }
        self.out.push('}');
        Ok(())
    }

    fn object_of_doubles(&mut self, depth: usize) -> Result<(), JsonFault> {
        self.from.open(depth)?;
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut members: Vec<(String, String)> = Vec::new();
        while self.from.has_more(b'}') {
            let name = unescaped(self.from.name()?)?;
            let before = std::mem::take(&mut self.out);
            self.value(depth + 1)?;
            let value = std::mem::replace(&mut self.out, before);
            let place = *places.entry(name.clone()).or_insert(members.len());
            match members.get_mut(place) {
                Some(member) => member.1 = value,
                None => members.push((name, value)),
            }
            self.from.skip_comma();
        }
        let mut object = JsonObject::default();
        for (name, value) in &members {
            object.push_raw(&json_string(name), value);
        }
        self.out.push_str(&object.finish());
        Ok(())
    }
}

/// What a JSON text is read into, value by value.
pub trait JsonTree: Sized {
    /// `null`.
    fn null() -> Self;
    /// `true` or `false`.
    fn bool(value: bool) -> Self;
    /// A number, as it is spelled.
    fn number(spelled: &str) -> Self;
    /// A text.
    fn string(text: String) -> Self;
    /// A list.
    fn list(items: Vec<Self>) -> Self;
    /// An object, its members in their order; of a name that comes twice the last counts.
    fn object(members: Vec<(String, Self)>) -> Self;
}

impl JsonTree for Value {
    fn null() -> Self {
        Self::Null
    }

    fn bool(value: bool) -> Self {
        Self::Bool(value)
    }

    fn number(spelled: &str) -> Self {
        let number = serde_json::from_str::<Number>(spelled).map(Self::Number);
        number.unwrap_or_else(|_| Self::from(spelled))
    }

    fn string(text: String) -> Self {
        Self::String(text)
    }

    fn list(items: Vec<Self>) -> Self {
        Self::Array(items)
    }

    fn object(members: Vec<(String, Self)>) -> Self {
        Self::Object(members.into_iter().collect())
    }
}

/// The value of a text that is stored, to any depth that [`canonical`] lets through; a number that no double holds is
/// the text of its digits.
///
/// # Errors
/// In words, for what is no JSON.
pub fn parse(json: &str) -> Result<Value, String> {
    // To 128 levels, and of numbers that doubles hold.
    if let Ok(value) = serde_json::from_str(json) {
        return Ok(value);
    }
    parse_as(json)
}

/// The value of a stored text as [`parse`] reads it, in another tree than `serde_json`'s.
///
/// # Errors
/// In words, for what is no JSON.
pub fn parse_as<T: JsonTree>(json: &str) -> Result<T, String> {
    let proved: Result<&RawValue, _> = serde_json::from_str(json);
    let proved = proved.map_err(|error| format!("not JSON: {error}"))?;
    parse_value(&mut JsonCursor { from: proved.get(), at: 0 }, 0).map_err(JsonFault::words)
}

/// The members of a stored object, read by [`parse`].
///
/// # Errors
/// In words, for what is no JSON object.
pub fn parse_object(json: &str) -> Result<Map<String, Value>, String> {
    match parse(json)? {
        Value::Object(members) => Ok(members),
        _ => Err("not a JSON object".to_owned()),
    }
}

fn parse_value<T: JsonTree>(from: &mut JsonCursor<'_>, depth: usize) -> Result<T, JsonFault> {
    Ok(match from.peek() {
        Some(b'{') => {
            from.open(depth)?;
            let mut members = Vec::new();
            while from.has_more(b'}') {
                let name = unescaped(from.name()?)?;
                members.push((name, parse_value(from, depth + 1)?));
                from.skip_comma();
            }
            T::object(members)
        }
        Some(b'[') => {
            from.open(depth)?;
            let mut items = Vec::new();
            while from.has_more(b']') {
                items.push(parse_value(from, depth + 1)?);
                from.skip_comma();
            }
            T::list(items)
        }
        Some(b'"') => T::string(unescaped(from.string()?)?),
        Some(b'-' | b'0'..=b'9') => T::number(from.number()),
        _ => match from.word()? {
            "true" => T::bool(true),
            "false" => T::bool(false),
            "null" => T::null(),
            _ => return Err(JsonFault::no_json()),
        },
    })
}

/// A text without its quotes and escapes.
fn unescaped(spelled: &str) -> Result<String, JsonFault> {
    serde_json::from_str(spelled)
        .map_err(|_| JsonFault::Words("a text has half of a surrogate pair".to_owned()))
}

/// The names of an object so far.
#[derive(Default)]
struct MemberNames<'l> {
    few: Vec<Cow<'l, str>>,
    many: HashSet<Cow<'l, str>>,
}

impl<'l> MemberNames<'l> {
    /// Whether the name, spelled in its quotes, is a new one.
    fn insert(&mut self, spelled: &'l str) -> Result<bool, JsonFault> {
        let name = match spelled.contains('\\') {
            true => Cow::Owned(unescaped(spelled)?),
            false => Cow::Borrowed(spelled.trim_matches('"')),
        };
        if self.many.is_empty() {
            if self.few.contains(&name) {
                return Ok(false);
            }
            self.few.push(name);
            if self.few.len() > FEW_MEMBERS {
                self.many.extend(self.few.drain(..));
            }
            return Ok(true);
        }
        Ok(self.many.insert(name))
    }
}

/// Values that JSON does not know, which are null in it: a moment that no calendar has is infinite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotFinite {
    /// How many they were.
    pub count: u64,
    /// Members of the object that are such a number themselves, each as it was spelled.
    pub fields: Vec<(String, &'static str)>,
}

/// How Python's writer spells numbers that JSON does not know.
const NOT_FINITE: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// The text with null in the place of `NaN`, `Infinity` and `-Infinity`, and what stood there; none where there are
/// none.
#[must_use]
pub fn without_not_finite(json: &str) -> Option<(String, NotFinite)> {
    let (plain, count) = replace_not_finite(json, |_| "null".to_owned());
    if count == 0 {
        return None;
    }
    // A copy with texts in the place of the numbers tells which member was which.
    let (texts, _) = replace_not_finite(json, json_string);
    let members = serde_json::from_str::<JsonMembers<'_>>(&plain);
    let spelled = serde_json::from_str::<JsonMembers<'_>>(&texts);
    let mut fields = Vec::new();
    if let (Ok(JsonMembers(members)), Ok(JsonMembers(spelled))) = (members, spelled) {
        let nulls =
            members.into_iter().zip(spelled).filter(|((_, value), _)| value.get() == "null");
        for ((name, _), (_, spelled)) in nulls {
            let word = NOT_FINITE.iter().find(|word| json_string(word) == spelled.get());
            fields.extend(word.map(|word| (name.into_owned(), *word)));
        }
    }
    Some((plain, NotFinite { count, fields }))
}

fn replace_not_finite(json: &str, with: impl Fn(&str) -> String) -> (String, u64) {
    let mut out = String::with_capacity(json.len());
    let (mut count, mut rest, mut in_string) = (0, json, false);
    while let Some(first) = rest.chars().next() {
        let word = NOT_FINITE.into_iter().find(|word| !in_string && rest.starts_with(word));
        let taken = match word {
            Some(word) => {
                count += 1;
                out.push_str(&with(word));
                word.len()
            }
            None => {
                let is_escape = in_string && first == '\\';
                let escaped = rest.chars().nth(1).filter(|_| is_escape).map_or(0, char::len_utf8);
                let taken = first.len_utf8() + escaped;
                in_string ^= first == '"';
                out.push_str(text_part(rest, ..taken));
                taken
            }
        };
        rest = text_part(rest, taken..);
    }
    (out, count)
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
