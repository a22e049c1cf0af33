//! The fields of a record as turns of a conversation.

use super::options::ChatShape;
use super::template::RECORD_LISTS;
use super::values::{Members, parse};
use minijinja::value::{Value, ValueKind};
use model::JsonMembers;

const VARIABLES: &str = "chat_template_kwargs";

/// A conversation, in the fields that chat templates know.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// The messages: objects with role and content, and whatever other members the record has.
    pub(super) messages: Vec<Members>,
    /// The weight of each message in the loss; 0 for all but the assistant's.
    pub(super) weights: Vec<f32>,
    /// What the template may name besides: tools, documents.
    pub(super) context: Members,
    /// The conversation as plain texts, if its form has them: what is read, and what is trained on.
    pub(super) plain: Option<(String, String)>,
}

/// Reads the turns of a record in its canonical form; `spelled` is the same as the input has it, where that says more.
/// `field` names the list of messages when it has another name.
pub(super) fn read_conversation(
    record: &str,
    spelled: Option<&str>,
    shape: ChatShape,
    field: Option<&str>,
) -> Result<Conversation, String> {
    let record = Members::of(&parse(record)?).ok_or("not a JSON object")?;
    let shape = match shape {
        ChatShape::Auto => shape_of(&record, field)?,
        given => given,
    };
    let turns = match shape {
        ChatShape::ShareGpt => share_gpt(&record, field.unwrap_or("conversations")),
        ChatShape::Alpaca => alpaca(&record),
        ChatShape::PromptCompletion => prompt_completion(&record),
        ChatShape::Auto | ChatShape::Messages => messages(&record, field.unwrap_or("messages")),
    };
    let mut turns = turns
        .map_err(|why| preferences(&record).map_or(why.clone(), |way| format!("{why}; {way}")))?;
    if turns.messages.is_empty() {
        return Err("a conversation without messages".to_owned());
    }
    turns.weigh_by_list(&record)?;
    turns.put_in_front(system_prompt(&record)?)?;
    turns.context = match spelled {
        Some(spelled) => context(&named(spelled, record)?)?,
        None => context(&record)?,
    };
    Ok(turns)
}

/// The shape that a record has by its fields.
fn shape_of(record: &Members, field: Option<&str>) -> Result<ChatShape, String> {
    let has = |name: &str| record.get(name).is_some_and(|value| !value.is_none());
    if has(field.unwrap_or("messages")) {
        return Ok(ChatShape::Messages);
    }
    if has("conversations") {
        return Ok(ChatShape::ShareGpt);
    }
    if has("instruction") && has("output") {
        return Ok(ChatShape::Alpaca);
    }
    if has("prompt") && has("completion") {
        return Ok(ChatShape::PromptCompletion);
    }
    if let Some(way) = preferences(record) {
        return Err(way);
    }
    let names: Vec<String> = record.iter().map(|(name, _)| format!("`{name}`")).collect();
    Err(format!(
        "not a conversation: it has neither `messages`, `conversations`, `instruction` and `output`, nor `prompt` and `completion`, but {}",
        names.join(", ")
    ))
}

/// What works for a record of preferences, if it is one.
fn preferences(record: &Members) -> Option<String> {
    let (chosen, _) = (record.get("chosen")?, record.get("rejected")?);
    let is_list = parsed(chosen).kind() == ValueKind::Seq;
    let way = match (record.get("prompt").is_some(), is_list) {
        // With the prompt in front, or without.
        (true, true) => {
            "--chat messages --text-field chosen where that is a whole conversation, or --chat prompt-completion --map completion=chosen where it is the answer to `prompt`"
        }
        (true, false) => "--chat prompt-completion --map completion=chosen",
        (false, true) => "--chat messages --text-field chosen",
        (false, false) => "--text-field chosen without --chat",
    };
    Some(format!(
        "it is a preference (`chosen`, `rejected`), and one answer can become the text: {way}; the other fields are kept"
    ))
}

/// What templates name besides messages as the input spells it. Null members count there: a schema may say
/// `"default": null`. In messages they do not, or a table, where every message has every column, would be another text.
fn named(spelled: &str, record: Members) -> Result<Members, String> {
    let wrong = |error: serde_json::Error| format!("not JSON: {error}");
    let JsonMembers(members) = serde_json::from_str(spelled).map_err(wrong)?;
    let mut found = Members::default();
    for name in RECORD_LISTS.into_iter().chain([VARIABLES]) {
        // The last member of a doubled name counts.
        if let Some((_, raw)) = members.iter().rev().find(|(known, _)| known == name)
            && record.get(name).is_some()
        {
            found.push(name, parse(raw.get())?);
        }
    }
    Ok(found)
}

/// A list of messages.
fn messages(record: &Members, name: &str) -> Result<Conversation, String> {
    let mut turns = Conversation::default();
    for message in list(record, name)? {
        turns.push(message)?;
    }
    Ok(turns)
}

impl Conversation {
    fn push(&mut self, message: Members) -> Result<(), String> {
        let number = self.messages.len();
        if message.get("role").and_then(Value::as_str).is_none() {
            return Err(format!("message {number} has no role"));
        }
        self.weights.push(weight(&message).map_err(|why| format!("message {number}: {why}"))?);
        self.messages.push(with_names_of_reasoning(message));
        Ok(())
    }

    /// Puts a system prompt that stands beside the messages before them; the field's name and text.
    fn put_in_front(&mut self, system: Option<(&str, String)>) -> Result<(), String> {
        let Some((name, system)) = system else { return Ok(()) };
        let first = self.messages.first();
        let role = first.and_then(|message| message.get("role")).and_then(Value::as_str);
        if let (Some("system" | "developer"), Some(first)) = (role, first) {
            return match first.get("content").and_then(Value::as_str) {
                Some(content) if content == system => Ok(()),
                _ => Err(format!(
                    "field `{name}` has a system prompt and message 0 another one; which of them counts?"
                )),
            };
        }
        let mut message = Members::default();
        message.push("role", Value::from("system"));
        message.push("content", Value::from(system));
        self.messages.insert(0, message);
        self.weights.insert(0, 0.0);
        // Without a template it would be lost.
        self.plain = None;
        Ok(())
    }

    /// Takes the messages out of the loss that a list beside them has a 0 for.
    fn weigh_by_list(&mut self, record: &Members) -> Result<(), String> {
        const NAME: &str = "loss_mask";
        let Some(list) = record.get(NAME).map(parsed).and_then(|list| items(&list)) else {
            return Ok(());
        };
        if list.len() != self.weights.len() {
            return Err(format!(
                "field `{NAME}` has {} items beside {} messages",
                list.len(),
                self.weights.len()
            ));
        }
        for (weight, given) in self.weights.iter_mut().zip(&list) {
            if !switch(NAME, given)? {
                *weight = 0.0;
            }
        }
        Ok(())
    }

    fn push_text(&mut self, role: &str, content: String) -> Result<(), String> {
        let mut message = Members::default();
        message.push("role", Value::from(role));
        message.push("content", Value::from(content));
        self.push(message)
    }
}

/// Words of templates that met a value of another type than a text.
const TYPE_WORDS: [&str; 3] = ["unsupported types", "where a string was expected", "undefined"];

impl Conversation {
    /// The words of a template that took a content for a text, behind the first message that has another one.
    pub(super) fn with_odd_message(&self, why: String) -> String {
        if !TYPE_WORDS.iter().any(|words| why.contains(words)) {
            return why;
        }
        let has_undefined = why.contains("undefined");
        let odd = self.messages.iter().enumerate().find_map(|(number, message)| {
            let content = message.get("content").filter(|content| !content.is_none());
            let what = match content.map(Value::kind) {
                Some(ValueKind::Seq) if !has_undefined => "its content is a list of parts",
                Some(ValueKind::Map) if !has_undefined => "its content is an object",
                None if has_undefined && message.get("tool_calls").is_some() => {
                    "it has no content (tool_calls alone)"
                }
                None if has_undefined => "it has no content",
                _ => return None,
            };
            let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
            Some(format!("message {number} ({role}): {what}"))
        });
        odd.map_or(why.clone(), |odd| format!("{odd}, which the template takes for a text: {why}"))
    }
}

/// The names under which data of different authors have the reasoning of an answer.
pub(super) const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// The message with its reasoning under both names that templates read, in the places that transformers gives them.
fn with_names_of_reasoning(mut message: Members) -> Members {
    let Some(reasoning) = REASONING.iter().find_map(|name| message.get(name)).cloned() else {
        return message;
    };
    let mut named = Members::default();
    let thinking = message.take("thinking");
    named.push("thinking", thinking.unwrap_or_else(|| reasoning.clone()));
    let is_named = message.get("reasoning_content").is_some();
    named.extend(message);
    if !is_named {
        named.push("reasoning_content", reasoning);
    }
    named
}

/// Members of a message that say whether it is trained on, by different trainers, and what they say when they are true.
pub(super) const SWITCHES: [(&str, bool); 6] = [
    ("train", true),
    ("training", true),
    ("loss", true),
    ("loss_mask", true),
    ("trainable", true),
    ("masked", false),
];

/// What a message counts in the loss: its `weight`, unless a switch says no.
fn weight(message: &Members) -> Result<f32, String> {
    let mut weight = 1.0;
    if let Some(given) = message.get("weight").filter(|given| !given.is_none()) {
        let number = f64::try_from(given.clone()).ok().filter(|_| given.is_number());
        let number = number.filter(|number| *number >= 0.0);
        // From 64 to 32 bits is what the format keeps of it.
        #[expect(clippy::cast_possible_truncation, reason = "a weight beyond f32 is refused")]
        let narrow = number.map(|number| number as f32).filter(|number| number.is_finite());
        weight =
            narrow.ok_or_else(|| format!("its weight {given} is not a number of 0 or more"))?;
    }
    let mut said: Option<(&str, bool)> = None;
    for (name, yes) in SWITCHES {
        let Some(given) = message.get(name).filter(|given| !given.is_none()) else { continue };
        let is_trained = switch(name, given)? == yes;
        match said {
            Some((other, before)) if before != is_trained => {
                let no = if is_trained { other } else { name };
                let yes = if is_trained { name } else { other };
                return Err(format!("it is trained on by its `{yes}` and not by its `{no}`"));
            }
            _ => said = Some((name, is_trained)),
        }
    }
    if said.is_some_and(|(_, is_trained)| !is_trained) {
        weight = 0.0;
    }
    let is_trained = message.get("role").and_then(Value::as_str) == Some("assistant");
    Ok(if is_trained { weight } else { 0.0 })
}

/// A truth value, also written as 0 or 1.
fn switch(name: &str, given: &Value) -> Result<bool, String> {
    let number = given.as_i64().filter(|_| given.is_integer());
    match (given.kind(), number) {
        (ValueKind::Bool, _) => Ok(given.is_true()),
        (_, Some(number @ (0 | 1))) => Ok(number == 1),
        _ => Err(format!("its `{name}` is {given}, neither true nor false")),
    }
}

/// A system prompt beside the messages, with the name of its field.
fn system_prompt(record: &Members) -> Result<Option<(&'static str, String)>, String> {
    let mut found: Option<(&str, String)> = None;
    for name in ["system", "system_prompt"] {
        let Some(given) = text(record, name)?.filter(|text| !text.trim().is_empty()) else {
            continue;
        };
        match &found {
            Some((_, known)) if *known != given => {
                return Err("fields `system` and `system_prompt` are two system prompts".to_owned());
            }
            _ => found = Some((name, given)),
        }
    }
    Ok(found)
}

/// A field that is a list of objects; a string is parsed, as Parquet files often hold it.
fn list(record: &Members, name: &str) -> Result<Vec<Members>, String> {
    let value = record.get(name).ok_or_else(|| format!("field `{name}` is absent"))?;
    let items = items(&parsed(value)).ok_or_else(|| format!("field `{name}` is not a list"))?;
    let objects = items.iter().enumerate().map(|(number, item)| {
        Members::of(item).ok_or_else(|| format!("message {number} of `{name}` is not an object"))
    });
    objects.collect()
}

/// The items of a list, if it is one.
pub(super) fn items(value: &Value) -> Option<Vec<Value>> {
    if value.kind() == ValueKind::Seq { value.try_iter().ok().map(Iterator::collect) } else { None }
}

/// The value; if it is a string that holds a list or an object, that.
fn parsed(value: &Value) -> Value {
    parsed_text(value).unwrap_or_else(|| value.clone())
}

/// The list or object that a string holds.
fn parsed_text(value: &Value) -> Option<Value> {
    let text = value.as_str().map(str::trim_start).filter(|text| text.starts_with(['[', '{']))?;
    parse(text).ok()
}

/// What templates name besides messages.
fn context(record: &Members) -> Result<Members, String> {
    let mut context = Members::default();
    for name in RECORD_LISTS {
        let Some(given) = record.get(name).map(parsed).filter(|given| !given.is_none()) else {
            continue;
        };
        let given = items(&given).ok_or_else(|| format!("field `{name}` is not a list"))?;
        let given: Vec<Value> = given.iter().map(parsed).collect();
        if let Some(odd) = given.iter().position(|item| item.kind() != ValueKind::Map) {
            return Err(format!("item {odd} of field `{name}` is not an object"));
        }
        context.push(name, Value::from(given));
    }
    if let Some(given) = record.get(VARIABLES).filter(|given| !given.is_none()) {
        let named = Members::of(given);
        context.extend(named.ok_or_else(|| format!("field `{VARIABLES}` is not an object"))?);
    }
    Ok(context)
}

/// Lists of `from` and `value`; those of `role` and `content` are taken as they are.
fn share_gpt(record: &Members, name: &str) -> Result<Conversation, String> {
    let mut turns = Conversation::default();
    for mut message in list(record, name)? {
        if message.get("role").is_some() {
            turns.push(message)?;
            continue;
        }
        let number = turns.messages.len();
        let from = message.take("from");
        let role = match from.as_ref().and_then(Value::as_str) {
            Some("human" | "user") => "user",
            Some("gpt" | "assistant" | "chatgpt" | "bing" | "bard" | "model" | "function_call") => {
                "assistant"
            }
            Some("system") => "system",
            Some("tool" | "observation" | "function_response") => "tool",
            Some(other) => {
                return Err(format!("message {number} is from `{other}`, an unknown role"));
            }
            None => return Err(format!("message {number} has no sender (`from`)")),
        };
        let mut said = Members::default();
        said.push("role", Value::from(role));
        let value = message.take("value");
        said.push("content", value.unwrap_or_default());
        said.extend(message);
        turns.push(said)?;
    }
    Ok(turns)
}

/// An optional field that must be a string.
fn text(record: &Members, name: &str) -> Result<Option<String>, String> {
    let Some(given) = record.get(name).filter(|given| !given.is_none()) else { return Ok(None) };
    let text = given.as_str().ok_or_else(|| format!("field `{name}` is not a string"))?;
    Ok(Some(text.to_owned()))
}

fn expect_text(record: &Members, name: &str) -> Result<String, String> {
    text(record, name)?.ok_or_else(|| format!("field `{name}` is absent or null"))
}

/// `instruction`, `input`, `output`; without a template in the words that Alpaca was trained with.
fn alpaca(record: &Members) -> Result<Conversation, String> {
    let instruction = expect_text(record, "instruction")?;
    let output = expect_text(record, "output")?;
    let input = text(record, "input")?.filter(|input| !input.is_empty());
    let mut turns = Conversation::default();
    for pair in record.get("history").and_then(items).into_iter().flatten() {
        let said = items(&pair).unwrap_or_default();
        let [Some(asked), Some(answered)] = [0, 1].map(|at| said.get(at).and_then(Value::as_str))
        else {
            return Err("field `history` is not a list of pairs of strings".to_owned());
        };
        turns.push_text("user", asked.to_owned())?;
        turns.push_text("assistant", answered.to_owned())?;
    }
    let asked = match &input {
        Some(input) => format!("{instruction}\n{input}"),
        None => instruction.clone(),
    };
    if turns.messages.is_empty() {
        turns.plain = Some((alpaca_prompt(&instruction, input.as_deref()), output.clone()));
    }
    turns.push_text("user", asked)?;
    turns.push_text("assistant", output)?;
    Ok(turns)
}

fn alpaca_prompt(instruction: &str, input: Option<&str>) -> String {
    const TASK: &str = "Below is an instruction that describes a task";
    const ASK: &str = "Write a response that appropriately completes the request.";
    match input {
        Some(input) => format!(
            "{TASK}, paired with an input that provides further context. {ASK}\n\n### Instruction:\n{instruction}\n\n### Input:\n{input}\n\n### Response:\n"
        ),
        None => format!("{TASK}. {ASK}\n\n### Instruction:\n{instruction}\n\n### Response:\n"),
    }
}

/// Two strings, or two lists of messages; only the second is trained on.
fn prompt_completion(record: &Members) -> Result<Conversation, String> {
    let mut turns = Conversation::default();
    if record.get("prompt").is_some_and(|prompt| prompt.kind() == ValueKind::Seq) {
        for message in list(record, "prompt")? {
            turns.push(message)?;
        }
        turns.weights.fill(0.0);
        for message in list(record, "completion")? {
            turns.push(message)?;
        }
        return Ok(turns);
    }
    let (prompt, completion) = (expect_text(record, "prompt")?, expect_text(record, "completion")?);
    turns.push_text("user", prompt.clone())?;
    turns.push_text("assistant", completion.clone())?;
    turns.plain = Some((prompt, completion));
    Ok(turns)
}

/// Arguments of tool calls that are spelled as JSON texts, as interfaces send them: a template that expects objects quotes
/// them a second time.
pub(super) fn spelled_arguments(message: &Members) -> Vec<String> {
    let function =
        |call: &Value| call.get_attr("function").ok().filter(|named| !named.is_undefined());
    let calls = message.get("tool_calls").and_then(items).unwrap_or_default();
    let calls = calls.iter().map(|call| function(call).unwrap_or_else(|| call.clone()));
    let calls = calls.chain(message.get("function_call").cloned());
    let arguments = calls.filter_map(|call| call.get_attr("arguments").ok());
    let spelled = arguments.filter(|given| parsed_text(given).is_some());
    spelled.filter_map(|given| given.as_str().map(str::to_owned)).collect()
}
