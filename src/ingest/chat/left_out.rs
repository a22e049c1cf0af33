//! Finds contents and members of messages that a chat template leaves out of the conversation's text.

use super::budget::RenderBudget;
use super::conversation::{Conversation, REASONING, SWITCHES, items};
use super::template::{ChatTemplate, MARKS};
use super::values::{Members, each_text, with_texts};
use minijinja::value::{Value, ValueKind};
use model::json_string;
use std::collections::BTreeSet;

/// Bytes of a text that is no part of another by chance.
const LONG: usize = 24;

/// Fails for a message whose content has no part in `text`: whatever stood in its place, the text would be the same.
pub(super) fn check_contents(
    template: &ChatTemplate,
    (turns, text): (&Conversation, &str),
    work: &mut RenderBudget<'_>,
) -> Result<(), String> {
    let mut from = 0;
    for (number, message) in turns.messages.iter().enumerate() {
        let Some(content) = message.get("content") else { continue };
        let mut is_there = true;
        each_piece(content, &mut |piece| match find(text, from, piece) {
            // Contents stand in their order nearly always, and then each is searched for once.
            Some(end) => from = end,
            // A short one may be a word of something else.
            None => is_there &= piece.trim().len() >= LONG && find(text, 0, piece).is_some(),
        });
        if is_there {
            continue;
        }
        let messages = turns.messages.iter().enumerate().map(|(at, message)| {
            if at == number { with_other_content(message) } else { message.to_value() }
        });
        let messages: Vec<Value> = messages.collect();
        let other = template.render(&messages, &turns.context, false, work);
        if other.is_ok_and(|other| other.replace(MARKS, "") == text) {
            let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
            let what = match content.kind() {
                ValueKind::Seq => "a list of parts, and the template writes",
                _ => "a text, and the template writes",
            };
            return Err(format!(
                "message {number} ({role}): its content is {what} nothing of it, so it would be missing"
            ));
        }
    }
    Ok(())
}

/// The message with another text in the place of its content, or of the texts of its parts.
fn with_other_content(message: &Members) -> Value {
    let other = |value: &Value| with_texts(value, &|_| Some("x".to_owned()));
    let with = |of: &Members, changed: &str, other: &dyn Fn(&Value) -> Value| -> Value {
        let members = of.iter().map(|(name, value)| {
            (name.clone(), if name == changed { other(value) } else { value.clone() })
        });
        members.collect()
    };
    let of_part = |part: Value| match Members::of(&part) {
        Some(members) => with(&members, "text", &other),
        None => part,
    };
    let content = |value: &Value| match items(value) {
        Some(parts) => parts.into_iter().map(of_part).collect::<Vec<Value>>().into(),
        None => other(value),
    };
    with(message, "content", &content)
}

/// Calls `each` with the text of a content, or with those of its parts.
fn each_piece(content: &Value, each: &mut dyn FnMut(&str)) {
    if let Some(text) = content.as_str() {
        return each(text);
    }
    for part in items(content).into_iter().flatten() {
        if let Some(text) = part.get_attr("text").ok().as_ref().and_then(Value::as_str) {
            each(text);
        }
    }
}

/// Where a text ends in a longer one from `from` on: as it is but for space around it, without the thoughts before the
/// answer, or as JSON spells it.
fn find(text: &str, from: usize, piece: &str) -> Option<usize> {
    let piece = piece.trim();
    let rest = text.get(from..)?;
    let answer = piece.rsplit_once("</think>").map_or(piece, |(_, answer)| answer.trim());
    for form in [piece, answer] {
        if let Some(at) = rest.find(form) {
            return Some(from + at + form.len());
        }
    }
    let spelled = json_string(piece);
    let spelled = spelled.get(1..spelled.len() - 1)?;
    rest.find(spelled).map(|at| from + at + spelled.len())
}

/// Names of members of messages whose texts are not in `text`.
pub(super) fn members_left_out(turns: &Conversation, text: &str) -> Vec<String> {
    let mut found = BTreeSet::new();
    let is_absent = |piece: &str| !piece.trim().is_empty() && find(text, 0, piece).is_none();
    for message in &turns.messages {
        let mut has_reasoning = false;
        for (name, value) in message.iter() {
            match name.as_str() {
                "role" | "weight" => {}
                name if SWITCHES.iter().any(|(switch, _)| *switch == name) => {}
                "content" => each_piece(value, &mut |piece| {
                    let thought = piece.rsplit_once("</think>").map(|(thought, _)| thought);
                    if thought
                        .is_some_and(|thought| is_absent(thought.replace("<think>", "").as_str()))
                    {
                        found.insert("content (its reasoning)");
                    }
                }),
                name if REASONING.contains(&name) => {
                    // Another name of the same.
                    if !std::mem::replace(&mut has_reasoning, true)
                        && value.as_str().is_some_and(is_absent)
                    {
                        found.insert("reasoning");
                    }
                }
                "tool_calls" => {
                    for call in items(value).into_iter().flatten() {
                        let text_of = |value: Result<Value, _>| {
                            let value: Option<Value> = value.ok();
                            value.and_then(|value| value.as_str().map(str::to_owned))
                        };
                        let function =
                            call.get_attr("function").ok().filter(|of| !of.is_undefined());
                        let function = function.unwrap_or_else(|| call.clone());
                        if text_of(call.get_attr("id")).is_some_and(|id| is_absent(&id)) {
                            found.insert("tool_calls.id");
                        }
                        if text_of(function.get_attr("name")).is_some_and(|name| is_absent(&name)) {
                            found.insert("tool_calls");
                        }
                    }
                }
                name => {
                    let (mut has_text, mut has_any) = (false, false);
                    each_text(value, &mut |text| {
                        has_text |= !text.trim().is_empty();
                        has_any |= !is_absent(text);
                    });
                    if has_text && !has_any {
                        found.insert(name);
                    }
                }
            }
        }
    }
    found.into_iter().map(str::to_owned).collect()
}
