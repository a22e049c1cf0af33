//! The content of a record as canonical JSON: one form for one record, whichever program wrote it.
//!
//! Only hashes are taken of this form; stored is what came. It is the stored form ([`canonical`](super::canonical)),
//! but:
//!
//! * members are sorted by name, in every object;
//! * a member of null, or of an object without members, is absent: tables have every column in every row. Within
//!   `tools` and `arguments` it is a value: a schema may say `"default": null`;
//! * a number is its value (`3.0` is `3`), and so is a text that is a date, a date and time, or a time;
//! * names that the caller leaves out are absent.

use super::field_value::FieldValue;
use super::id::FieldKind;
use super::json::{JsonCursor, JsonFault};
use super::json_number::number_by_value;
use super::timestamp::{moment_by_value, shown_timestamp};
use crate::invariant::text_part;
use std::borrow::Cow;
use std::ops::Range;

/// Members below which null and empty objects are values.
const WITH_NULLS: [&str; 2] = ["\"tools\"", "\"arguments\""];

/// What is known of the members of records beside their spelling.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContentFields<'f> {
    /// Members that are not content.
    pub left_out: &'f [String],
    /// Members whose values have a type: a text is the number, truth or moment that it spells
    /// ([`FieldValue::of_json`]).
    pub typed: &'f [(String, FieldKind)],
    /// The members are cells of a row, which are texts: `3.0` is `3`, as a writer spells it whose column has a hole.
    pub is_row: bool,
}

impl ContentFields<'_> {
    /// The type of a member of the record itself, its name in quotes.
    fn kind(&self, name: &str) -> Option<FieldKind> {
        let typed = self.typed.iter().find(|(typed, _)| is_name(name, typed));
        typed.map(|(_, kind)| *kind)
    }

    fn leaves_out(&self, name: &str) -> bool {
        self.left_out.iter().any(|left| is_name(name, left))
    }
}

/// Whether a name in quotes is this one.
fn is_name(quoted: &str, name: &str) -> bool {
    quoted.get(1..quoted.len() - 1) == Some(name)
}

/// The content of a JSON object in its canonical form.
///
/// # Errors
/// In words, for what is not JSON.
pub fn content_form(object: &str, fields: ContentFields<'_>) -> Result<String, String> {
    written(object, Some(fields))
}

/// The whole number that a text spells as pandas does in a column with a hole, `3.0`; any other text as it is.
fn without_hole(text: &str) -> &str {
    let whole = text.strip_suffix(".0").filter(|whole| {
        let digits = whole.strip_prefix('-').unwrap_or(whole);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    whole.unwrap_or(text)
}

/// The value of a member that has a type, in one spelling; none for what its type cannot hold.
fn typed_value(raw: &str, kind: FieldKind) -> Option<String> {
    match FieldValue::of_json(raw, kind).ok()?? {
        FieldValue::Keyword(_) => None,
        FieldValue::Int(number) => Some(number.to_string()),
        FieldValue::Float(_) => Some(number_by_value(raw.trim_matches('"')).into_owned()),
        FieldValue::Bool(truth) => Some(truth.to_string()),
        FieldValue::Timestamp(moment) => {
            moment_by_value(&shown_timestamp(moment)).map(|moment| format!("\"{moment}\""))
        }
    }
}

/// The form that releases stored and took hashes of that had the canonical form without null members, at any depth.
///
/// # Errors
/// In words, for what is not JSON.
pub fn without_null_members(object: &str) -> Result<Cow<'_, str>, String> {
    if !object.contains(":null") {
        return Ok(Cow::Borrowed(object));
    }
    written(object, None).map(Cow::Owned)
}

fn written(object: &str, content: Option<ContentFields<'_>>) -> Result<String, String> {
    let mut writer = ContentWriter {
        from: JsonCursor { from: object, at: 0 },
        out: String::with_capacity(object.len()),
        content,
    };
    writer.value(0, false).map_err(JsonFault::words)?;
    Ok(writer.out)
}

struct ContentWriter<'l> {
    from: JsonCursor<'l>,
    out: String,
    /// None: only members of null go.
    content: Option<ContentFields<'l>>,
}

/// What was written of a value.
#[derive(PartialEq, Eq)]
enum WrittenValue {
    Null,
    EmptyObject,
    Other,
}

impl ContentWriter<'_> {
    fn value(&mut self, depth: usize, with_nulls: bool) -> Result<WrittenValue, JsonFault> {
        match self.from.peek() {
            Some(b'{') => return self.object(depth, with_nulls),
            Some(b'[') => self.list(depth, with_nulls)?,
            Some(b'"') => {
                let spelled = self.from.string()?;
                let text = text_part(spelled, 1..spelled.len() - 1);
                let is_cell = depth == 1 && self.content.is_some_and(|fields| fields.is_row);
                match self.content.and_then(|_| moment_by_value(text)) {
                    Some(moment) => self.out.extend(["\"", &moment, "\""]),
                    None if is_cell => {
                        self.out.extend(["\"", without_hole(text), "\""]);
                    }
                    None => self.out.push_str(spelled),
                }
            }
            Some(b'-' | b'0'..=b'9') => {
                let spelled = self.from.number();
                match self.content {
                    Some(_) => self.out.push_str(&number_by_value(spelled)),
                    None => self.out.push_str(spelled),
                }
            }
            _ => {
                let word = self.from.word()?;
                self.out.push_str(word);
                if word == "null" {
                    return Ok(WrittenValue::Null);
                }
            }
        }
        Ok(WrittenValue::Other)
    }

    fn list(&mut self, depth: usize, with_nulls: bool) -> Result<(), JsonFault> {
        self.from.open(depth)?;
        self.out.push('[');
        while self.from.has_more(b']') {
            self.value(depth + 1, with_nulls)?;
            if self.from.skip_comma() {
                self.out.push(',');
            }
        }
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self, depth: usize, with_nulls: bool) -> Result<WrittenValue, JsonFault> {
        self.from.open(depth)?;
        let begin = self.out.len();
        self.out.push('{');
        let mut members: Vec<ObjectMember> = Vec::new();
        while self.from.has_more(b'}') {
            let before = self.out.len();
            if !members.is_empty() {
                self.out.push(',');
            }
            let name = self.from.name()?;
            let start = self.out.len();
            self.out.extend([name, ":"]);
            let of_record = self.content.filter(|_| depth == 0);
            let with_nulls = self.content.is_some() && (with_nulls || WITH_NULLS.contains(&name));
            let kind = of_record.and_then(|fields| fields.kind(name));
            let is_absent = match self.member(depth + 1, with_nulls, kind)? {
                WrittenValue::Null => !with_nulls,
                WrittenValue::EmptyObject => !with_nulls && self.content.is_some(),
                WrittenValue::Other => false,
            };
            if is_absent || of_record.is_some_and(|fields| fields.leaves_out(name)) {
                self.out.truncate(before);
            } else {
                members.push(ObjectMember { name: start..start + name.len(), end: self.out.len() });
            }
            self.from.skip_comma();
        }
        if self.content.is_some() {
            self.sort(begin, &mut members);
        }
        self.out.push('}');
        let is_empty = members.is_empty();
        Ok(if is_empty { WrittenValue::EmptyObject } else { WrittenValue::Other })
    }

    fn member(
        &mut self,
        depth: usize,
        with_nulls: bool,
        kind: Option<FieldKind>,
    ) -> Result<WrittenValue, JsonFault> {
        let (at, start) = (self.from.at, self.out.len());
        let written = self.value(depth, with_nulls)?;
        let raw = self.from.from.get(at..self.from.at).unwrap_or_default();
        if let Some(value) = kind.and_then(|kind| typed_value(raw, kind)) {
            self.out.truncate(start);
            self.out.push_str(&value);
        }
        Ok(written)
    }

    /// Puts the members of the object that begins at a byte of the text into the order of their names.
    fn sort(&mut self, begin: usize, members: &mut [ObjectMember]) {
        let written = |range: Range<usize>| text_part(&self.out, range);
        if members.is_sorted_by_key(|member| written(member.name.clone())) {
            return;
        }
        members.sort_by_key(|member| written(member.name.clone()));
        let sorted: Vec<&str> =
            members.iter().map(|member| written(member.name.start..member.end)).collect();
        let sorted = sorted.join(",");
        self.out.truncate(begin + 1);
        self.out.push_str(&sorted);
    }
}

/// Where in the text a member stands that is written.
struct ObjectMember {
    /// Its name in quotes; the member begins with it.
    name: Range<usize>,
    end: usize,
}

#[cfg(test)]
mod tests {
    use super::super::{canonical, json_string};
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::Index;

    fn form(json: &str) -> String {
        content_form(&canonical(json).unwrap().json, ContentFields::default()).unwrap()
    }

    #[test]
    fn order_nulls_and_spellings_are_no_content() {
        for (json, expected) in [
            (
                r#"{"b":1,"a":{"d":2,"c":[{"f":1,"e":null},null]}}"#,
                r#"{"a":{"c":[{"f":1},null],"d":2},"b":1}"#,
            ),
            (
                r#"{"a":3.0,"b":3e0,"c":-0.0,"d":1.50,"e":1e20,"f":30}"#,
                r#"{"a":3,"b":3,"c":0,"d":1.5,"e":100000000000000000000,"f":30}"#,
            ),
            (r#"{"a":{},"b":{"c":null,"d":{"e":null}},"f":[{}]}"#, r#"{"f":[{}]}"#),
            (r#"{"arguments":{"at":null,"b":{}},"x":null}"#, r#"{"arguments":{"at":null,"b":{}}}"#),
            (r#"{"tools":null,"n":[null]}"#, r#"{"n":[null],"tools":null}"#),
            (
                r#"{"a":"2024-03-31 01:30:00","b":"2024-03-31T03:30:00.500000+02:00"}"#,
                r#"{"a":"2024-03-31T01:30:00Z","b":"2024-03-31T01:30:00.5Z"}"#,
            ),
            (
                r#"{"a":"2024-03-31T00:00:00Z","b":"2024-03-31"}"#,
                r#"{"a":"2024-03-31","b":"2024-03-31"}"#,
            ),
            (r#"{"a":"01:30:00.000000","b":"1:30"}"#, r#"{"a":"01:30:00","b":"1:30"}"#),
            ("{}", "{}"),
        ] {
            assert_eq!(form(json), expected, "{json}");
            assert_eq!(form(expected), expected, "{expected}, again");
        }
    }

    #[test]
    fn members_left_out_are_those_of_the_record() {
        let object = r#"{"date":"x","a":{"date":"y"},"url":"u"}"#;
        let fields = ContentFields { left_out: &["date".to_owned()], ..ContentFields::default() };
        let left = content_form(object, fields).unwrap();
        assert_eq!(left, r#"{"a":{"date":"y"},"url":"u"}"#);
    }

    #[test]
    fn texts_of_typed_members_are_what_they_spell() {
        let kinds = [
            FieldKind::Int,
            FieldKind::Float,
            FieldKind::Bool,
            FieldKind::Timestamp,
            FieldKind::Keyword,
        ];
        let named = |at: usize| ["i", "f", "b", "t", "k"][at].to_owned();
        let typed: Vec<_> =
            kinds.into_iter().enumerate().map(|(at, kind)| (named(at), kind)).collect();
        let fields = ContentFields { typed: &typed, ..ContentFields::default() };
        for (object, expected) in [
            (
                r#"{"i":"007","f":"3.00","b":"True","t":"20240331","k":"1.10"}"#,
                r#"{"b":true,"f":3,"i":7,"k":"1.10","t":"2024-03-31"}"#,
            ),
            (
                r#"{"i":7.0,"f":3,"b":true,"t":1711848600000,"k":1.5}"#,
                r#"{"b":true,"f":3,"i":7,"k":1.5,"t":"2024-03-31T01:30:00Z"}"#,
            ),
            (
                r#"{"i":"n/a","f":null,"t":[1],"x":{"i":"007"}}"#,
                r#"{"i":"n/a","t":[1],"x":{"i":"007"}}"#,
            ),
        ] {
            assert_eq!(content_form(object, fields).unwrap(), expected);
        }
    }

    #[test]
    fn whole_numbers_of_a_row_have_no_point() {
        let fields = ContentFields { is_row: true, ..ContentFields::default() };
        let object = r#"{"a":"3.0","b":"-7.0","c":"1.10","d":"v3.0","e":".0","f":"3.00"}"#;
        let expected = r#"{"a":"3","b":"-7","c":"1.10","d":"v3.0","e":".0","f":"3.00"}"#;
        assert_eq!(content_form(object, fields).unwrap(), expected);
        assert_eq!(content_form(object, ContentFields::default()).unwrap(), object);
    }

    #[test]
    fn other_values_are_other_contents() {
        let all = [
            "{}",
            r#"{"a":1}"#,
            r#"{"a":"1"}"#,
            r#"{"a":[1]}"#,
            r#"{"a":[1,null]}"#,
            r#"{"a":[]}"#,
            r#"{"a":true}"#,
            r#"{"a":0.1}"#,
            r#"{"a":0.10000000000000000001}"#,
            r#"{"a":9007199254740993}"#,
            r#"{"a":9007199254740992}"#,
            r#"{"a":"2024-03-31"}"#,
            r#"{"a":"2024-03-31T01:30:00.123456789"}"#,
            r#"{"a":"2024-03-31T01:30:00.123456788"}"#,
            r#"{"a":{"b":1}}"#,
            r#"{"b":{"a":1}}"#,
            r#"{"a":"","b":1}"#,
            r#"{"a":1e400}"#,
            r#"{"a":1e401}"#,
        ];
        let forms: std::collections::BTreeSet<_> = all.iter().map(|json| form(json)).collect();
        assert_eq!(forms.len(), all.len(), "{forms:?}");
    }

    #[test]
    fn the_form_of_earlier_releases_keeps_order_and_spelling() {
        let object = r#"{"b":3.0,"a":{"c":null,"d":[{"e":null}]},"n":null,"t":"2024-03-31 01:30:00","o":{}}"#;
        let earlier = r#"{"b":3.0,"a":{"d":[{}]},"t":"2024-03-31 01:30:00","o":{}}"#;
        assert_eq!(without_null_members(object).unwrap(), earlier);
        assert_eq!(
            without_null_members(r#"{"tools":[{"default":null}]}"#).unwrap(),
            r#"{"tools":[{}]}"#
        );
        assert!(matches!(without_null_members(earlier).unwrap(), Cow::Borrowed(_)));
    }

    /// A value in two spellings of the same content.
    fn two_spellings() -> impl Strategy<Value = (String, String)> {
        let number = (-100_000_i64..100_000).prop_map(|number| {
            let (whole, cents) = (number / 100, (number % 100).abs());
            match cents {
                0 => (whole.to_string(), format!("{whole}.00")),
                _ => (
                    format!("{number}e-2"),
                    format!("{}{}.{cents:02}0", if number < 0 { "-" } else { "" }, whole.abs()),
                ),
            }
        });
        let text = "[ -~é\u{1f600}]{0,6}".prop_map(|text| (json_string(&text), json_string(&text)));
        let leaf = prop_oneof![
            number,
            text,
            Just(("true".to_owned(), "true".to_owned())),
            Just(("null".to_owned(), "null".to_owned())),
            Just((
                "\"2024-02-29T23:59:59.25Z\"".to_owned(),
                "\"2024-03-01 00:59:59.250+01:00\"".to_owned()
            )),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            let members = prop::collection::btree_map("[a-d]{1,2}", inner.clone(), 0..5);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(|all| {
                    let of = |side: fn(&(String, String)) -> &str| {
                        format!("[{}]", all.iter().map(side).collect::<Vec<_>>().join(","))
                    };
                    (of(|both| &both.0), of(|both| &both.1))
                }),
                (members, any::<Index>()).prop_map(|(members, turn)| {
                    let of = |side: fn(&(String, String)) -> &str| {
                        members
                            .iter()
                            .map(|(name, value)| format!("\"{name}\":{}", side(value)))
                            .collect::<Vec<_>>()
                    };
                    let (one, mut other) = (of(|both| &both.0), of(|both| &both.1));
                    other.push("\"zz\":{\"y\":null}".to_owned());
                    let turn = turn.index(other.len());
                    other.rotate_left(turn);
                    (format!("{{{}}}", one.join(",")), format!("{{{}}}", other.join(",")))
                }),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(256)))]

        #[test]
        fn one_record_in_two_spellings_has_one_content((one, other) in two_spellings()) {
            let (one, other) = (format!("{{\"v\":{one}}}"), format!("{{\"v\":{other}}}"));
            prop_assert_eq!(form(&one), form(&other));
            prop_assert_eq!(form(&form(&one)), form(&one));
        }
    }
}
