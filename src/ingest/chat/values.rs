//! Values as Python has them: read from JSON without a loss, written as `str` and `json.dumps` write them.
//!
//! The engine prints floats otherwise (`1e-7`, sixteen zeros for `1e16`), and has whole numbers of 128 bits at most.

use minijinja::value::{DynObject, Object, ObjectRepr, Value, ValueKind};
use model::{JsonTree, parse_as};
use std::cmp::Ordering;
use std::fmt;
use std::fmt::Write;
use std::sync::Arc;

/// A whole number beyond 128 bits. It is written and compared; templates cannot count with it.
#[derive(Debug)]
struct BigInteger {
    is_negative: bool,
    digits: String,
}

impl Object for BigInteger {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        let other = other.downcast_ref::<Self>()?;
        let size = |of: &Self| (of.digits.len(), of.digits.clone());
        Some(match (self.is_negative, other.is_negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => size(self).cmp(&size(other)),
            (true, true) => size(other).cmp(&size(self)),
        })
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_negative {
            out.write_str("-")?;
        }
        out.write_str(&self.digits)
    }
}

/// A value as it is read from JSON.
struct ChatValue(Value);

impl JsonTree for ChatValue {
    fn null() -> Self {
        Self(Value::from(()))
    }

    fn bool(value: bool) -> Self {
        Self(Value::from(value))
    }

    fn number(spelled: &str) -> Self {
        Self(parse_number(spelled))
    }

    fn string(text: String) -> Self {
        Self(Value::from(text))
    }

    fn list(items: Vec<Self>) -> Self {
        Self(items.into_iter().map(|item| item.0).collect())
    }

    fn object(members: Vec<(String, Self)>) -> Self {
        Self(members.into_iter().map(|(name, value)| (name, value.0)).collect())
    }
}

/// Reads JSON.
///
/// # Errors
/// In words, for what is no JSON.
pub(super) fn parse(json: &str) -> Result<Value, String> {
    Ok(parse_as::<ChatValue>(json)?.0)
}

/// A number, as it is spelled.
fn parse_number(spelled: &str) -> Value {
    if spelled.contains(['.', 'e', 'E']) {
        return Value::from(spelled.parse::<f64>().unwrap_or(f64::NAN));
    }
    if let Ok(number) = spelled.parse::<i64>() {
        return Value::from(number);
    }
    if let Ok(number) = spelled.parse::<i128>() {
        return Value::from(number);
    }
    let (is_negative, digits) = match spelled.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, spelled),
    };
    Value::from_object(BigInteger { is_negative, digits: digits.to_owned() })
}

/// The members of an object, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Members(Vec<(String, Value)>);

impl Members {
    /// The members of a record or a message, if it is an object.
    pub(super) fn of(value: &Value) -> Option<Self> {
        if value.kind() != ValueKind::Map {
            return None;
        }
        let pairs = value.as_object()?.try_iter_pairs()?;
        Some(Self(pairs.map(|(name, value)| (name.to_string(), value)).collect()))
    }

    /// Each with its name.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(String, Value)> {
        self.0.iter()
    }

    /// The one of that name.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Takes out the one of that name.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(at).1)
    }

    /// Puts one behind these.
    pub(super) fn push(&mut self, name: &str, value: Value) {
        self.0.push((name.to_owned(), value));
    }

    /// Appends the members of another object.
    pub(super) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Calls `each` with every text in these members, at any depth; names within objects are such.
    pub(super) fn each_text(&self, each: &mut dyn FnMut(&str)) {
        for (_, value) in self.iter() {
            each_text(value, each);
        }
    }

    /// These members with other texts, where `other` gives one for a text.
    pub(super) fn with_texts(&self, other: &dyn Fn(&str) -> Option<String>) -> Self {
        Self(self.iter().map(|(name, value)| (name.clone(), with_texts(value, other))).collect())
    }

    /// The object that has these members.
    pub(super) fn to_value(&self) -> Value {
        self.iter().cloned().collect()
    }
}

/// Calls `each` with every text in a value, at any depth; names within objects are such.
pub(super) fn each_text(value: &Value, each: &mut dyn FnMut(&str)) {
    if let Some(text) = value.as_str() {
        return each(text);
    }
    match value.kind() {
        ValueKind::Seq => items(value).for_each(|item| each_text(&item, each)),
        ValueKind::Map => members(value).for_each(|(name, value)| {
            each_text(&name, each);
            each_text(&value, each);
        }),
        _ => {}
    }
}

/// The value with other texts, where `other` gives one for a text.
pub(super) fn with_texts(value: &Value, other: &dyn Fn(&str) -> Option<String>) -> Value {
    if let Some(text) = value.as_str() {
        return other(text).map_or_else(|| value.clone(), Value::from);
    }
    match value.kind() {
        ValueKind::Seq => {
            items(value).map(|item| with_texts(&item, other)).collect::<Vec<_>>().into()
        }
        ValueKind::Map => members(value)
            .map(|(name, value)| (with_texts(&name, other), with_texts(&value, other)))
            .collect(),
        _ => value.clone(),
    }
}

/// The value as a float, if it is one.
fn float(value: &Value) -> Option<f64> {
    let is_float = value.kind() == ValueKind::Number && !value.is_integer();
    is_float.then(|| f64::try_from(value.clone()).ok()).flatten()
}

/// Python's `repr` of a float: the shortest digits that give it, with an exponent from 1e16 on and below 1e-4.
fn float_digits(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let shortest = format!("{number:e}");
    let decimals = shortest.split_once('e').map_or(0, |(digits, _)| {
        digits.bytes().filter(u8::is_ascii_digit).count().saturating_sub(1)
    });
    // Where two spellings of that length are equally near, Python takes the even one, and `{:e}` the larger.
    let even = format!("{number:.decimals$e}");
    let is_same = even.parse().is_ok_and(|even: f64| even.to_bits() == number.to_bits());
    let spelled = if is_same { even } else { shortest };
    let (mantissa, exponent) = spelled.split_once('e').unwrap_or((&spelled, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let digits = mantissa.replace('.', "");
    let places = exponent.unsigned_abs() as usize;
    if exponent < 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(places - 1));
    }
    let (before, behind) = digits.split_at_checked(places + 1).unwrap_or((&digits, ""));
    let behind = if behind.is_empty() { "0" } else { behind };
    format!("{sign}{before:0<width$}.{behind}", width = places + 1)
}

/// Python's `round` of a float to `decimals` decimals: of its exact value, halves to even.
pub(super) fn rounded(value: &Value, decimals: usize) -> Option<Value> {
    // None has more decimals.
    let decimals = decimals.min(1100);
    float(value)
        .and_then(|number| format!("{number:.decimals$}").parse::<f64>().ok())
        .map(Value::from)
}

/// A float beyond whole numbers of 128 bits without its decimals.
pub(super) fn truncated(value: &Value) -> Option<Value> {
    let number = float(value).filter(|number| number.is_finite() && number.abs() >= 1e38)?;
    Some(parse_number(&format!("{number:.0}")))
}

/// Whether it is a whole number, of any size.
pub(super) fn is_integer(value: &Value) -> bool {
    value.is_integer() || value.downcast_object_ref::<BigInteger>().is_some()
}

/// Whether Python writes the value otherwise than the engine: floats, and what may hold some.
pub(super) fn is_written_anew(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map)
        || float(value).is_some()
}

/// Python's `str` of a value. Nothing is nothing, as in Jinja.
pub(super) fn write_str(out: &mut dyn Write, value: &Value) -> fmt::Result {
    match value.as_str() {
        Some(text) => out.write_str(text),
        None if value.is_undefined() => Ok(()),
        None => write_repr(out, value),
    }
}

fn write_repr(out: &mut dyn Write, value: &Value) -> fmt::Result {
    if let Some(text) = value.as_str() {
        return write_quoted(out, text);
    }
    match value.kind() {
        ValueKind::Undefined => out.write_str("Undefined"),
        ValueKind::Number => match float(value) {
            Some(number) => out.write_str(&float_digits(number)),
            None => write!(out, "{value}"),
        },
        ValueKind::Seq | ValueKind::Iterable => {
            out.write_char('[')?;
            for (at, item) in items(value).enumerate() {
                out.write_str(if at == 0 { "" } else { ", " })?;
                write_repr(out, &item)?;
            }
            out.write_char(']')
        }
        ValueKind::Map => {
            out.write_char('{')?;
            for (at, (key, value)) in members(value).enumerate() {
                out.write_str(if at == 0 { "" } else { ", " })?;
                write_repr(out, &key)?;
                out.write_str(": ")?;
                write_repr(out, &value)?;
            }
            out.write_char('}')
        }
        _ => write!(out, "{value}"),
    }
}

fn items(value: &Value) -> impl Iterator<Item = Value> {
    value.try_iter().into_iter().flatten()
}

fn members(value: &Value) -> impl Iterator<Item = (Value, Value)> {
    let object = value.as_object().cloned();
    object.and_then(|object| object.try_iter_pairs()).into_iter().flatten()
}

/// A text as Python's source has it.
fn write_quoted(out: &mut dyn Write, text: &str) -> fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.write_char(quote)?;
    for character in text.chars() {
        match character {
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            '\\' => out.write_str("\\\\")?,
            _ if character == quote => write!(out, "\\{character}")?,
            ' '..='~' => out.write_char(character)?,
            _ if is_printable(character) => out.write_char(character)?,
            _ => match u32::from(character) {
                code @ ..0x100 => write!(out, "\\x{code:02x}")?,
                code @ ..0x1_0000 => write!(out, "\\u{code:04x}")?,
                code => write!(out, "\\U{code:08x}")?,
            },
        }
    }
    out.write_char(quote)
}

/// Python's `isprintable` of a letter that is not ASCII; the standard library has the same rule for what it escapes,
/// but for marks at the beginning of a text.
fn is_printable(character: char) -> bool {
    let behind_a_letter = String::from_iter(['a', character]);
    behind_a_letter.escape_debug().nth(1) != Some('\\')
}

/// How Python's `json.dumps` is asked to write.
pub(super) struct JsonStyle {
    /// What stands before a value on its line, once for every level; none: all is on one line.
    pub(super) indent: Option<String>,
    /// Between values.
    pub(super) comma: String,
    /// Between a name and its value.
    pub(super) colon: String,
    /// Letters that are not ASCII are escaped.
    pub(super) is_ascii: bool,
    /// Members are in the order of their names.
    pub(super) is_sorted: bool,
}

impl JsonStyle {
    /// Writes a value at a level of nesting.
    pub(super) fn write(&self, out: &mut dyn Write, value: &Value, level: usize) -> fmt::Result {
        if let Some(text) = value.as_str() {
            return self.write_text(out, text);
        }
        match value.kind() {
            ValueKind::Bool => out.write_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::None | ValueKind::Undefined => out.write_str("null"),
            ValueKind::Number => out.write_str(&json_number(value)),
            ValueKind::Seq | ValueKind::Iterable => {
                let mut is_empty = true;
                out.write_char('[')?;
                for item in items(value) {
                    self.write_break(out, &mut is_empty, level)?;
                    self.write(out, &item, level + 1)?;
                }
                self.write_end(out, is_empty, level)?;
                out.write_char(']')
            }
            ValueKind::Map => {
                let mut members: Vec<(String, Value)> =
                    members(value).map(|(key, value)| (json_name(&key), value)).collect();
                if self.is_sorted {
                    members.sort_by(|a, b| a.0.cmp(&b.0));
                }
                let mut is_empty = true;
                out.write_char('{')?;
                for (name, value) in &members {
                    self.write_break(out, &mut is_empty, level)?;
                    self.write_text(out, name)?;
                    out.write_str(&self.colon)?;
                    self.write(out, value, level + 1)?;
                }
                self.write_end(out, is_empty, level)?;
                out.write_char('}')
            }
            _ if value.downcast_object_ref::<BigInteger>().is_some() => write!(out, "{value}"),
            _ => self.write_text(out, &value.to_string()),
        }
    }

    /// What stands before a value in a list or an object.
    fn write_break(&self, out: &mut dyn Write, is_first: &mut bool, level: usize) -> fmt::Result {
        if !std::mem::take(is_first) {
            out.write_str(&self.comma)?;
        }
        self.write_line(out, level + 1)
    }

    fn write_end(&self, out: &mut dyn Write, is_empty: bool, level: usize) -> fmt::Result {
        if is_empty { Ok(()) } else { self.write_line(out, level) }
    }

    fn write_line(&self, out: &mut dyn Write, level: usize) -> fmt::Result {
        let Some(indent) = &self.indent else { return Ok(()) };
        out.write_char('\n')?;
        (0..level).try_for_each(|_| out.write_str(indent))
    }

    fn write_text(&self, out: &mut dyn Write, text: &str) -> fmt::Result {
        out.write_char('"')?;
        let is_escaped = |letter: char| {
            letter < ' ' || matches!(letter, '"' | '\\') || self.is_ascii && letter > '~'
        };
        let mut rest = text;
        while let Some(at) = rest.find(is_escaped) {
            let (before, from) = rest.split_at(at);
            out.write_str(before)?;
            let mut letters = from.chars();
            match letters.next().unwrap_or_default() {
                '"' => out.write_str("\\\"")?,
                '\\' => out.write_str("\\\\")?,
                '\n' => out.write_str("\\n")?,
                '\r' => out.write_str("\\r")?,
                '\t' => out.write_str("\\t")?,
                '\u{8}' => out.write_str("\\b")?,
                '\u{c}' => out.write_str("\\f")?,
                letter => {
                    for unit in letter.encode_utf16(&mut [0; 2]) {
                        write!(out, "\\u{unit:04x}")?;
                    }
                }
            }
            rest = letters.as_str();
        }
        out.write_str(rest)?;
        out.write_char('"')
    }
}

fn json_number(value: &Value) -> String {
    match float(value) {
        None => value.to_string(),
        Some(number) if number.is_nan() => "NaN".to_owned(),
        Some(f64::INFINITY) => "Infinity".to_owned(),
        Some(f64::NEG_INFINITY) => "-Infinity".to_owned(),
        Some(number) => float_digits(number),
    }
}

/// A key of a dictionary as `json.dumps` makes a name of it.
fn json_name(key: &Value) -> String {
    match key.kind() {
        ValueKind::Bool => if key.is_true() { "true" } else { "false" }.to_owned(),
        ValueKind::None => "null".to_owned(),
        ValueKind::Number => json_number(key),
        _ => key.to_string(),
    }
}

/// The values of `%` in a format, those that `%s` writes as Python's texts.
pub(super) fn printf_values(format: &str, values: &[Value]) -> Vec<Value> {
    let mut values = values.to_vec();
    // With a mapping, or a width that comes from a value, places do not follow each other.
    if format.contains("%(") || format.contains('*') {
        return values;
    }
    let (mut rest, mut place) = (format, 0);
    while let Some((_, field)) = rest.split_once('%') {
        let kind = field.find(|letter: char| {
            !matches!(letter, '#' | ' ' | '+' | '-' | '.' | '0'..='9' | 'h' | 'l' | 'L')
        });
        let (spec, behind) = field.split_at(kind.unwrap_or(field.len()));
        let mut letters = behind.chars();
        match letters.next() {
            Some('%') if spec.is_empty() => {}
            Some('s') => {
                if let Some(value) = values.get_mut(place) {
                    *value = text_of_float(value).unwrap_or_else(|| value.clone());
                }
                place += 1;
            }
            _ => place += 1,
        }
        rest = letters.as_str();
    }
    values
}

/// A format with `{}` and its values, in which fields without a type have Python's texts of floats.
pub(super) fn format_values(format: &str, values: &[Value]) -> (String, Vec<Value>) {
    let (mut out, mut values) = (String::with_capacity(format.len()), values.to_vec());
    if !values.iter().any(|value| float(value).is_some()) {
        return (format.to_owned(), values);
    }
    let (mut rest, mut place) = (format, 0);
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let is_sign = ["{{", "}}"].iter().any(|sign| from.starts_with(sign));
        let end = if is_sign { 2 } else { from.find('}').map_or(from.len(), |end| end + 1) };
        let (field, behind) = from.split_at(end);
        rest = behind;
        let Some(within) =
            field.strip_prefix('{').and_then(|field| field.strip_suffix('}')).filter(|_| !is_sign)
        else {
            out.push_str(field);
            continue;
        };
        let (name, spec) = within.split_once(':').unwrap_or((within, ""));
        let number = if name.is_empty() { Some(place) } else { name.parse().ok() };
        place += usize::from(name.is_empty());
        let Some(number) = number else {
            out.push_str(field);
            continue;
        };
        let (number, align) = match values.get(number).and_then(text_of_float) {
            Some(text) if is_width(spec) => {
                values.push(text);
                // Numbers stand at the right.
                let is_told = spec.is_empty() || spec.contains(['<', '>', '^']);
                (values.len() - 1, if is_told { "" } else { ">" })
            }
            _ => (number, ""),
        };
        let colon = if spec.is_empty() { "" } else { ":" };
        let _ = write!(out, "{{{number}{colon}{align}{spec}}}");
    }
    out.push_str(rest);
    (out, values)
}

/// Whether the spec of a field says no more than how wide it is, and where in it the value stands.
fn is_width(spec: &str) -> bool {
    let width = spec.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let align = spec.strip_suffix(width).unwrap_or_default();
    let is_align =
        align.is_empty() || align.ends_with(['<', '>', '^']) && align.chars().count() <= 2;
    is_align && !width.starts_with('0') && width.bytes().all(|byte| byte.is_ascii_digit())
}

fn text_of_float(value: &Value) -> Option<Value> {
    float(value).map(|number| Value::from(float_digits(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> Value {
        parse(json).unwrap()
    }

    fn written(json: &str) -> String {
        let mut out = String::new();
        write_str(&mut out, &value(json)).unwrap();
        out
    }

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        for (json, python) in [
            ("1e-7", "1e-07"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("1e15", "1000000000000000.0"),
            ("1e16", "1e+16"),
            ("123456789012345680.0", "1.2345678901234568e+17"),
            ("977379258273460.25", "977379258273460.2"),
            ("-123456.5", "-123456.5"),
            ("123e3", "123000.0"),
            ("-0.0", "-0.0"),
            ("-0", "0"),
            ("2.50", "2.5"),
            ("1e400", "inf"),
            ("5e-324", "5e-324"),
            ("18446744073709551616", "18446744073709551616"),
            (
                "-170141183460469231731687303715884105729",
                "-170141183460469231731687303715884105729",
            ),
            (
                "[1.0, 1e100, \"a'b\", \"a\\n\\u00e9\\u200b\", null, true]",
                "[1.0, 1e+100, \"a'b\", 'a\\né\\u200b', None, True]",
            ),
            ("{\"a\": {}}", "{'a': {}}"),
        ] {
            assert_eq!(written(json), python, "{json}");
        }
        let big = "123456789012345678901234567890123456789012345";
        assert_eq!(written(big), big);
        assert!(value(big) == value(big) && value(big) > value(&format!("-{big}")));
    }

    #[test]
    fn fields_of_formats_have_floats_as_texts() {
        let floats = [value("1e-7"), value("3"), value("0.0")];
        let texts = |values: &[Value]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
        let printf = printf_values("%% %5s %d %f", &floats);
        assert_eq!(texts(&printf), ["1e-07", "3", "0.0"]);
        assert!(printf[0].as_str().is_some() && printf[2].as_str().is_none());
        let (format, values) = format_values("{} {{}} {:5} {:6} {2:.1f} {name}", &floats);
        assert_eq!(format, "{3} {{}} {1:5} {4:>6} {2:.1f} {name}");
        assert_eq!(texts(&values)[3..], ["1e-07", "0.0"]);
    }
}
