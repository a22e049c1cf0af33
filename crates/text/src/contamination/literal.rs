//! Parses lists that a table stores as text: JSON, and the literals of Python and numpy that pandas writes into a cell.

use serde_json::{Map, Number, Value};

/// Values within one another, at most.
const DEPTH: usize = 16;

/// What a text says that is one list or object; none where it is anything else.
pub(super) fn parse_list(text: &str) -> Option<Value> {
    let text = text.trim();
    if !text.starts_with(['[', '{', '(']) && !text.starts_with("array(") {
        return None;
    }
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return Some(value);
    }
    let mut reader = LiteralReader { rest: text };
    let value = reader.value(0)?;
    reader.rest.trim().is_empty().then_some(value)
}

struct LiteralReader<'t> {
    rest: &'t str,
}

impl LiteralReader<'_> {
    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH {
            return None;
        }
        self.skip_space();
        // A list of numpy within another value: its type may stand behind it.
        if self.takes("array(") {
            let value = self.value(depth + 1)?;
            if self.takes(",") && !self.takes("dtype=") {
                return None;
            }
            let (_, rest) = self.rest.split_once(')')?;
            self.rest = rest;
            return Some(value);
        }
        match self.rest.chars().next()? {
            '[' => self.list("[", "]", depth),
            '(' => self.list("(", ")", depth),
            '{' => self.object(depth),
            quote @ ('\'' | '"') => self.text(quote).map(Value::String),
            _ => self.word(),
        }
    }

    /// Values between brackets. Those of numpy are separated by space alone.
    fn list(&mut self, open: &str, close: &str, depth: usize) -> Option<Value> {
        let mut values = Vec::new();
        self.takes(open).then_some(())?;
        while !self.takes(close) {
            values.push(self.value(depth + 1)?);
            self.takes(",");
        }
        Some(Value::Array(values))
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let mut members = Map::new();
        self.takes("{").then_some(())?;
        while !self.takes("}") {
            let Value::String(name) = self.value(depth + 1)? else { return None };
            self.takes(":").then_some(())?;
            members.insert(name, self.value(depth + 1)?);
            self.takes(",");
        }
        Some(Value::Object(members))
    }

    fn text(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            if character == quote {
                self.rest = self.rest.get(at + 1..)?;
                return Some(text);
            }
            if character != '\\' {
                text.push(character);
                continue;
            }
            let digits = match characters.next()?.1 {
                'n' => return_to(&mut text, '\n'),
                't' => return_to(&mut text, '\t'),
                'r' => return_to(&mut text, '\r'),
                'x' => 2,
                'u' => 4,
                'U' => 8,
                same @ ('\\' | '\'' | '"') => return_to(&mut text, same),
                other => {
                    text.push('\\');
                    return_to(&mut text, other)
                }
            };
            if digits > 0 {
                let code: String =
                    characters.by_ref().take(digits).map(|(_, digit)| digit).collect();
                text.push(char::from_u32(u32::from_str_radix(&code, 16).ok()?)?);
            }
        }
        None
    }

    /// A number or a constant.
    fn word(&mut self) -> Option<Value> {
        let ends = |character: char| character.is_whitespace() || ",]})(:[{'\"".contains(character);
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word {
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            "None" | "nan" => Some(Value::Null),
            word => {
                let whole = word.parse::<i64>().ok().map(Number::from);
                let number = whole.or_else(|| Number::from_f64(word.parse().ok()?));
                number.map(Value::Number)
            }
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Whether this comes next, behind space: then it is behind it.
    fn takes(&mut self, what: &str) -> bool {
        self.skip_space();
        let rest = self.rest.strip_prefix(what);
        if let Some(rest) = rest {
            self.rest = rest;
        }
        rest.is_some()
    }
}

/// Appends what an escape stands for: no digits of it follow.
fn return_to(text: &mut String, character: char) -> usize {
    text.push(character);
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn lists_are_read_as_tables_have_them() {
        let both = json!(["a \"quay\"", "b's mole\n"]);
        for text in [
            r#"["a \"quay\"", "b's mole\n"]"#,
            r#"['a "quay"', "b's mole\n"]"#,
            r#"['a "quay"' "b's mole\n"]"#,
            "['a \"quay\"'\n \"b's mole\\n\"]",
            r#"('a "quay"', 'b\'s mole\n',)"#,
        ] {
            assert_eq!(parse_list(text), Some(both.clone()), "{text}");
        }
        let arc = "{'text': array(['gate', 'b\u{e9}c'], dtype=object), 'label': array(['A', 'B'], dtype=object)}";
        let expected = json!({ "text": ["gate", "b\u{e9}c"], "label": ["A", "B"] });
        assert_eq!(parse_list(arc), Some(expected));
        assert_eq!(parse_list("[1 2.5 True None]"), Some(json!([1, 2.5, true, null])));
        assert_eq!(parse_list(r"['\xe9\u2603']"), Some(json!(["é☃"])));
        assert_eq!(parse_list("[]"), Some(json!([])));
        // Elements that were left out, lists without quotes, and texts that are none.
        for text in
            ["['a' ... 'b']", "[a lantern, a bell]", "['a'] and more", "['a", "A lantern", "", "["]
        {
            assert_eq!(parse_list(text), None, "{text}");
        }
        assert_eq!(parse_list(&"[".repeat(10_000)), None);
    }

    proptest! {
        #[test]
        fn texts_of_lists_come_back(texts in prop::collection::vec("[a-c'\"\\\\ \n,é☃\\[\\]]{0,8}", 0..6)) {
            let quoted = |text: &String| {
                let escaped = text.replace('\\', r"\\").replace('\n', r"\n").replace('\'', r"\'");
                format!("'{escaped}'")
            };
            let quoted: Vec<String> = texts.iter().map(quoted).collect();
            for between in [", ", " ", "\n "] {
                let text = format!("[{}]", quoted.join(between));
                prop_assert_eq!(parse_list(&text), Some(json!(texts)));
            }
        }

        #[test]
        fn any_text_is_a_list_or_none(text in "[\\[\\]{}()'\":,a1 \\\\x]{0,40}") {
            let _ = parse_list(&text);
        }
    }
}
