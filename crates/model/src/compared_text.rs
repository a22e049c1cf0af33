//! The text by which a document is compared with others: its own, the content of a conversation's turns, or its prompt.
//!
//! Prompts are equal by their words alone, also in mode `exact`; the raw text is no key of them. A text whose answers
//! begin in other places has several prompts, and who follows a copy of its text would be removed for the sake of a
//! prompt that it does not have.

use super::json::parse_object;
use super::policy::ComparedPart;
use super::record::{LossSpan, TextForm};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Roles whose messages are the same in many conversations and say nothing of one.
const LEFT_OUT: [&str; 2] = ["system", "developer"];

/// The part of a document that dedup compares: a function of the text, the other fields, the trained spans and the
/// policy alone, so that it is the same for a stored document as for a record. Where turns are compared: their
/// content, one a line, without system messages and without the words of a template. Where prompts are compared: all
/// that stands before the last answer that is trained on. For a record that is not a conversation, or has no such
/// answer: its text.
#[must_use]
pub fn compared_text<'t>(
    compared: ComparedPart,
    text: &'t str,
    metadata: &str,
    form: Option<&TextForm>,
) -> Cow<'t, str> {
    match compared {
        ComparedPart::Text => Cow::Borrowed(text),
        ComparedPart::Turns => match spoken_text(metadata) {
            Some(said) if !said.is_empty() => Cow::Owned(said),
            _ => Cow::Borrowed(text),
        },
        ComparedPart::Prompt => {
            let trained = form.and_then(|form| form.spans.as_deref()).unwrap_or_default();
            Cow::Borrowed(prompt(text, trained).unwrap_or(text))
        }
    }
}

/// What stands before the last run of trained bytes; none where nothing is trained, or no letter or digit stands before
/// it: all such prompts would be one. Spans that touch are one answer, whose parts weigh differently.
fn prompt<'t>(text: &'t str, trained: &[LossSpan]) -> Option<&'t str> {
    let begin = trained.iter().rev().fold(None, |begin, span| match begin {
        Some(begin) if span.end < begin => Some(begin),
        _ => Some(span.start),
    })?;
    let before = text.get(..usize::try_from(begin).ok()?)?;
    before.chars().any(char::is_alphanumeric).then_some(before)
}

fn spoken_text(metadata: &str) -> Option<String> {
    if metadata == "{}" {
        return None;
    }
    let record = parse_object(metadata).ok()?;
    let turns = |name: &str| record.get(name).and_then(turns);
    let text = |name: &str| record.get(name).and_then(Value::as_str);
    let mut said = String::new();
    if let Some(turns) = turns("messages").or_else(|| turns("conversations")) {
        turns.iter().for_each(|turn| turn_into(turn, &mut said));
    } else if let (Some(instruction), Some(output)) = (text("instruction"), text("output")) {
        for pair in record.get("history").and_then(Value::as_array).into_iter().flatten() {
            content_into(pair, &mut said);
        }
        for part in [instruction, text("input").unwrap_or_default(), output] {
            line_into(part, &mut said);
        }
    } else if let (Some(prompt), Some(completion)) = (text("prompt"), text("completion")) {
        line_into(prompt, &mut said);
        line_into(completion, &mut said);
    } else if let (Some(prompt), Some(completion)) = (turns("prompt"), turns("completion")) {
        prompt.iter().chain(&completion).for_each(|turn| turn_into(turn, &mut said));
    } else {
        // A list under another name.
        let turns = record.values().find_map(self::turns)?;
        turns.iter().for_each(|turn| turn_into(turn, &mut said));
    }
    Some(said)
}

/// The messages of a list of them; a string that spells one counts as one.
fn turns(value: &Value) -> Option<Vec<Map<String, Value>>> {
    let parsed;
    let value = match value.as_str().filter(|text| text.trim_start().starts_with('[')) {
        Some(text) => {
            parsed = serde_json::from_str(text).ok()?;
            &parsed
        }
        None => value,
    };
    let messages = value.as_array().filter(|messages| !messages.is_empty())?;
    let messages = messages.iter().map(|message| {
        let message = message.as_object()?;
        role(message).map(|_| message.clone())
    });
    messages.collect()
}

fn role(message: &Map<String, Value>) -> Option<&str> {
    message.get("role").or_else(|| message.get("from")).and_then(Value::as_str)
}

fn turn_into(message: &Map<String, Value>, said: &mut String) {
    if role(message).is_some_and(|role| LEFT_OUT.contains(&role)) {
        return;
    }
    for name in ["reasoning_content", "thinking", "content", "value", "tool_calls"] {
        if let Some(content) = message.get(name) {
            content_into(content, said);
        }
    }
}

/// Every string in it, one a line; of parts of a content only what is text in them.
fn content_into(content: &Value, said: &mut String) {
    match content {
        Value::String(text) => line_into(text, said),
        Value::Array(parts) => parts.iter().for_each(|part| content_into(part, said)),
        Value::Object(fields) => match fields.get("text") {
            Some(text) => content_into(text, said),
            None => fields.values().for_each(|value| content_into(value, said)),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn line_into(line: &str, said: &mut String) {
    if line.is_empty() {
        return;
    }
    if !said.is_empty() {
        said.push('\n');
    }
    said.push_str(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_what_is_said_without_system_messages() {
        let compared = |metadata: &str| {
            compared_text(ComparedPart::Turns, "text", metadata, None).into_owned()
        };
        let messages = r#"[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":"a","tool_calls":[{"function":{"name":"f","arguments":{"x":"y"}}}]}]"#;
        let quoted = serde_json::to_string(messages).expect("is written");
        for metadata in [
            format!(r#"{{"id":1,"messages":{messages}}}"#),
            format!(r#"{{"dialog":{messages}}}"#),
            format!(r#"{{"conversations":{quoted}}}"#),
        ] {
            assert_eq!(compared(&metadata), "q\na\nf\ny", "{metadata}");
        }
        assert_eq!(
            compared(
                r#"{"conversations":[{"from":"system","value":"s"},{"from":"gpt","value":"a"}]}"#
            ),
            "a"
        );
        assert_eq!(compared(r#"{"instruction":"i","input":"","output":"o","system":"s"}"#), "i\no");
        assert_eq!(compared(r#"{"prompt":"p","completion":"c"}"#), "p\nc");
        assert_eq!(
            compared(
                r#"{"prompt":[{"role":"user","content":"p"}],"completion":[{"role":"assistant","content":"c"}]}"#
            ),
            "p\nc"
        );
        for plain in
            ["{}", r#"{"tags":["a"]}"#, r#"{"messages":[{"role":"system","content":"s"}]}"#, "{"]
        {
            assert_eq!(compared(plain), "text", "{plain}");
        }
        let record = r#"{"prompt":"p","completion":"c"}"#;
        let whole = compared_text(ComparedPart::Text, "text", record, None);
        assert_eq!(whole, "text");
    }

    #[test]
    fn a_prompt_is_what_stands_before_the_last_answer() {
        let text = "ask. 1st! more? 2nd!";
        let of = |spans: Option<&[(u32, u32)]>| {
            let span =
                |(start, end): &(u32, u32)| LossSpan { start: *start, end: *end, weight: 1.0 };
            let spans = spans.map(|spans| spans.iter().map(span).collect());
            let form = TextForm { spans, ..TextForm::default() };
            compared_text(ComparedPart::Prompt, text, "{}", Some(&form)).into_owned()
        };
        assert_eq!(of(Some(&[(5, 9), (16, 20)])), "ask. 1st! more? ");
        assert_eq!(of(Some(&[(5, 9)])), "ask. ");
        // Parts of one answer that weigh differently.
        assert_eq!(of(Some(&[(5, 9), (16, 18), (18, 20)])), "ask. 1st! more? ");
        assert_eq!(of(Some(&[(5, 8), (9, 12), (12, 20)])), "ask. 1st!");
        // Nothing is trained, all is, nothing with a letter stands before it, or it is no place of this text.
        for whole in [Some(&[][..]), None, Some(&[(0, 9)]), Some(&[(20, 21)]), Some(&[(90, 99)])] {
            let expected = if whole == Some(&[(20, 21)]) { &text[..20] } else { text };
            assert_eq!(of(whole), expected, "{whole:?}");
        }
        let without = compared_text(ComparedPart::Prompt, " ?! answer", "{}", None);
        assert_eq!(without, " ?! answer");
        let span = LossSpan { start: 3, end: 10, weight: 1.0 };
        let form = TextForm { spans: Some(vec![span]), ..TextForm::default() };
        let mark = compared_text(ComparedPart::Prompt, " ?!answers", "{}", Some(&form));
        assert_eq!(mark, " ?!answers");
    }
}
