//! Finds the part of a JSON text that a path leads to, without parsing the rest.

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer;
use serde_json::value::RawValue;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonStep<'s> {
    /// A member of an object; where the text is a number, also an element of an array. A name that no member has as a
    /// whole is split at its first dot.
    Text(&'s str),
    /// An element of an array, from 0; a negative number counts from the end.
    Number(i64),
}

/// The part that a path leads to, as it is written; none where it is missing, or the text up to it is no JSON.
pub(super) fn find<'j>(json: &'j str, path: &[JsonStep<'_>]) -> Option<&'j str> {
    let mut json = json;
    let mut steps = path.iter().copied();
    let mut next = steps.next();
    // A loop: names have as many dots as somebody writes, and objects are as deep.
    while let Some(step) = next {
        next = match step {
            JsonStep::Number(at) => {
                json = look(json, JsonTarget { at: Some(at), ..JsonTarget::default() })?.exact?;
                steps.next()
            }
            JsonStep::Text(text) => {
                let cut = text.split_once('.');
                let look_for = JsonTarget {
                    name: Some(text),
                    head: cut.map(|(head, _)| head),
                    at: spelt(text),
                };
                let found = look(json, look_for)?;
                json = found.exact.or(found.head)?;
                match cut {
                    Some((_, behind)) if found.exact.is_none() => Some(JsonStep::Text(behind)),
                    _ => steps.next(),
                }
            }
        };
    }
    whole(json)
}

/// The number, where the text is one as an index is written.
fn spelt(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

fn whole(json: &str) -> Option<&str> {
    serde_json::from_str::<&RawValue>(json).ok().map(RawValue::get)
}

/// The step that one level is searched for.
#[derive(Clone, Copy, Default)]
struct JsonTarget<'s> {
    name: Option<&'s str>,
    /// The part of the name before its first dot.
    head: Option<&'s str>,
    at: Option<i64>,
}

/// The part that was found, as it is written. Of equal names the last counts.
#[derive(Default)]
struct JsonMatch<'j> {
    exact: Option<&'j str>,
    head: Option<&'j str>,
}

fn look<'j>(json: &'j str, look_for: JsonTarget<'_>) -> Option<JsonMatch<'j>> {
    let mut reader = Deserializer::from_str(json);
    serde::Deserializer::deserialize_any(&mut reader, JsonLevelVisitor(look_for)).ok()
}

struct JsonLevelVisitor<'s>(JsonTarget<'s>);

impl<'de> Visitor<'de> for JsonLevelVisitor<'_> {
    type Value = JsonMatch<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonMatch<'de>, A::Error> {
        let mut found = JsonMatch::default();
        while let Some(name) = map.next_key_seed(JsonNameSeed(self.0))? {
            match name {
                JsonMemberKind::Exact => found.exact = Some(map.next_value::<&RawValue>()?.get()),
                JsonMemberKind::Head => found.head = Some(map.next_value::<&RawValue>()?.get()),
                JsonMemberKind::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<JsonMatch<'de>, A::Error> {
        let head = self.0.head.and_then(spelt);
        let mut found = JsonMatch::default();
        if let Some(at) = self.0.at.filter(|at| *at < 0) {
            let mut all: Vec<&'de RawValue> = Vec::new();
            while let Some(element) = list.next_element()? {
                all.push(element);
            }
            let back = usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX);
            let place = all.len().checked_sub(back);
            found.exact = place.and_then(|place| all.get(place)).map(|element| element.get());
            return Ok(found);
        }
        let mut number = 0;
        loop {
            if self.0.at == Some(number) {
                found.exact = list.next_element::<&RawValue>()?.map(RawValue::get);
            } else if head == Some(number) {
                found.head = list.next_element::<&RawValue>()?.map(RawValue::get);
            } else if list.next_element::<IgnoredAny>()?.is_none() {
                return Ok(found);
            }
            number += 1;
        }
    }

    fn visit_bool<E>(self, _: bool) -> Result<JsonMatch<'de>, E> {
        Ok(JsonMatch::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<JsonMatch<'de>, E> {
        Ok(JsonMatch::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<JsonMatch<'de>, E> {
        Ok(JsonMatch::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<JsonMatch<'de>, E> {
        Ok(JsonMatch::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<JsonMatch<'de>, E> {
        Ok(JsonMatch::default())
    }

    fn visit_unit<E>(self) -> Result<JsonMatch<'de>, E> {
        Ok(JsonMatch::default())
    }
}

enum JsonMemberKind {
    Exact,
    Head,
    Other,
}

struct JsonNameSeed<'s>(JsonTarget<'s>);

impl<'de> DeserializeSeed<'de> for JsonNameSeed<'_> {
    type Value = JsonMemberKind;

    fn deserialize<D: serde::Deserializer<'de>>(
        self,
        reader: D,
    ) -> Result<JsonMemberKind, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for JsonNameSeed<'_> {
    type Value = JsonMemberKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<JsonMemberKind, E> {
        Ok(if self.0.name == Some(name) {
            JsonMemberKind::Exact
        } else if self.0.head == Some(name) {
            JsonMemberKind::Head
        } else {
            JsonMemberKind::Other
        })
    }
}

#[cfg(test)]
mod tests {
    use super::JsonStep::{Number, Text};
    use super::*;

    #[test]
    fn a_path_finds_what_it_names() {
        let json = r#"{"a": {"b": [1, {"c": "x"}], "": 7}, "a.b": 2, "l": ["p", ["q"]],
            "a": {"b": [3, {"c": "\u00e9"}], "": null}, "d.e": {"f.g": 5}, "d": {"h": 6}}"#;
        for (path, expected) in [
            (&[Text("a"), Text("b"), Number(0)][..], Some("3")),
            (&[Text("a.b.0")], Some("3")),
            (&[Text("a.b")], Some("2")),
            (&[Text("a.b.1.c")], Some(r#""\u00e9""#)),
            (&[Text("a"), Text("b.1"), Text("c")], Some(r#""\u00e9""#)),
            (&[Text("a.")], Some("null")),
            (&[Text("l.1.0")], Some(r#""q""#)),
            (&[Text("l"), Number(-1)], Some(r#"["q"]"#)),
            (&[Text("l"), Number(-2)], Some(r#""p""#)),
            (&[Text("l"), Number(-3)], None),
            (&[Text("l"), Text("-1")], None),
            (&[Text("l"), Number(2)], None),
            (&[Text("l"), Text("p")], None),
            (&[Text("d.e"), Text("f.g")], Some("5")),
            (&[Text("d.h")], Some("6")),
            (&[Text("d.e.f")], None),
            (&[Text("d"), Text("h"), Text("i")], None),
            (&[Number(0)], None),
            (&[Text("")], None),
        ] {
            assert_eq!(find(json, path), expected, "{path:?}");
        }
        // As deep as it is dotted: no stack is.
        let levels = 5_000;
        let deep = format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
        let dotted = ["a"; 5_000].join(".");
        assert_eq!(find(&deep, &[Text(&dotted)]), Some("1"));
        assert_eq!(find(" [1] ", &[]), Some("[1]"));
        assert_eq!((find("nope", &[]), find("{\"a\": ", &[Text("a")])), (None, None));
        assert_eq!(find("{\"a\": 1} trailing", &[Text("a")]), Some("1"));
        let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(find(&deep, &[Number(0), Number(0)]).map(str::len), Some(19_997));
    }
}
