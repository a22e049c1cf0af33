//! The fields of a record as turns of a conversation.

use super::options::ChatShape;
use serde_json::{Map, Value};

/// A conversation, in the fields that chat templates know.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Conversation {
    /// Objects with role and content, and whatever else the record has of them.
    pub(super) messages: Vec<Map<String, Value>>,
    /// Of each message what it counts in the loss; 0 for all but the assistant's.
    pub(super) weights: Vec<f32>,
    /// What the template may name besides: tools, documents.
    pub(super) context: Map<String, Value>,
    /// The same without a template, if the form has one: what is read, and what is trained on.
    pub(super) plain: Option<(String, String)>,
}

/// Reads a record's turns; `field` names the list of messages when it has another name.
pub(super) fn read_conversation(
    record: &Map<String, Value>,
    shape: ChatShape,
    field: Option<&str>,
) -> Result<Conversation, String> {
    let has = |name: &str| record.get(name).is_some_and(|value| !value.is_null());
    let shape = match shape {
        ChatShape::Auto if has(field.unwrap_or("messages")) => ChatShape::Messages,
        ChatShape::Auto if has("conversations") => ChatShape::ShareGpt,
        ChatShape::Auto if has("instruction") && has("output") => ChatShape::Alpaca,
        ChatShape::Auto if has("prompt") && has("completion") => ChatShape::PromptCompletion,
        ChatShape::Auto => {
            let names: Vec<String> = record.keys().map(|name| format!("`{name}`")).collect();
            return Err(format!(
                "not a conversation: neither `messages`, `conversations`, `instruction` and `output`, nor `prompt` and `completion` is among its fields {}",
                names.join(", ")
            ));
        }
        given => given,
    };
    let mut turns = match shape {
        ChatShape::ShareGpt => share_gpt(record, field.unwrap_or("conversations"))?,
        ChatShape::Alpaca => alpaca(record)?,
        ChatShape::PromptCompletion => prompt_completion(record)?,
        ChatShape::Auto | ChatShape::Messages => {
            let name = field.unwrap_or("messages");
            let mut turns = Conversation::default();
            for message in list(record, name)? {
                turns.push(message)?;
            }
            turns
        }
    };
    if turns.messages.is_empty() {
        return Err("a conversation without messages".to_owned());
    }
    turns.context = context(record)?;
    Ok(turns)
}

impl Conversation {
    fn push(&mut self, message: Map<String, Value>) -> Result<(), String> {
        let number = self.messages.len();
        if !message.get("role").is_some_and(Value::is_string) {
            return Err(format!("message {number} has no role"));
        }
        self.weights.push(weight(&message).map_err(|why| format!("message {number}: {why}"))?);
        self.messages.push(message);
        Ok(())
    }

    fn push_text(&mut self, role: &str, content: String) -> Result<(), String> {
        let mut message = Map::new();
        message.insert("role".to_owned(), Value::from(role));
        message.insert("content".to_owned(), Value::from(content));
        self.push(message)
    }
}

/// What a message counts in the loss: its `weight`, unless `train` (or `training`) says no.
fn weight(message: &Map<String, Value>) -> Result<f32, String> {
    let mut weight = 1.0;
    match message.get("weight") {
        None | Some(Value::Null) => {}
        Some(given) => {
            let number = given.as_f64().filter(|number| *number >= 0.0);
            // From 64 to 32 bits is what the format keeps of it.
            #[expect(clippy::cast_possible_truncation, reason = "a weight beyond f32 is refused")]
            let narrow = number.map(|number| number as f32).filter(|number| number.is_finite());
            weight =
                narrow.ok_or_else(|| format!("its weight {given} is not a number of 0 or more"))?;
        }
    }
    for name in ["train", "training"] {
        match message.get(name) {
            None | Some(Value::Null | Value::Bool(true)) => {}
            Some(Value::Bool(false)) => weight = 0.0,
            Some(other) => return Err(format!("its `{name}` is {other}, neither true nor false")),
        }
    }
    let is_trained = message.get("role").and_then(Value::as_str) == Some("assistant");
    Ok(if is_trained { weight } else { 0.0 })
}

/// A field that is a list of objects; a string is parsed, as Parquet files often hold it.
fn list(record: &Map<String, Value>, name: &str) -> Result<Vec<Map<String, Value>>, String> {
    let value = record.get(name).ok_or_else(|| format!("field `{name}` is absent"))?;
    let parsed = parsed(value);
    let items = parsed.as_array().ok_or_else(|| format!("field `{name}` is not a list"))?;
    let objects = items.iter().enumerate().map(|(number, item)| {
        let object = item.as_object().cloned();
        object.ok_or_else(|| format!("message {number} of `{name}` is not an object"))
    });
    objects.collect()
}

/// The value; if it is a string that holds a list or an object, that.
fn parsed(value: &Value) -> Value {
    let text = value.as_str().map(str::trim_start).filter(|text| text.starts_with(['[', '{']));
    let inner = text.and_then(|text| serde_json::from_str(text).ok());
    inner.unwrap_or_else(|| value.clone())
}

/// What templates name besides messages.
fn context(record: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut context = Map::new();
    for name in ["tools", "documents"] {
        match record.get(name).map(parsed) {
            None | Some(Value::Null) => {}
            Some(Value::Array(items)) => {
                context.insert(name.to_owned(), Value::Array(items));
            }
            Some(_) => return Err(format!("field `{name}` is not a list")),
        }
    }
    match record.get("chat_template_kwargs") {
        None | Some(Value::Null) => {}
        Some(Value::Object(named)) => context.extend(named.clone()),
        Some(_) => return Err("field `chat_template_kwargs` is not an object".to_owned()),
    }
    Ok(context)
}

/// Lists of `from` and `value`; those of `role` and `content` are taken as they are.
fn share_gpt(record: &Map<String, Value>, name: &str) -> Result<Conversation, String> {
    let mut turns = Conversation::default();
    if let Some(system) = text(record, "system")?.filter(|system| !system.is_empty()) {
        turns.push_text("system", system)?;
    }
    for mut message in list(record, name)? {
        if message.contains_key("role") {
            turns.push(message)?;
            continue;
        }
        let number = turns.messages.len();
        let from = message.shift_remove("from");
        let role = match from.as_ref().and_then(Value::as_str) {
            Some("human" | "user") => "user",
            Some("gpt" | "assistant" | "chatgpt" | "bing" | "bard" | "model" | "function_call") => {
                "assistant"
            }
            Some("system") => "system",
            Some("tool" | "observation" | "function_response") => "tool",
            Some(other) => {
                return Err(format!("message {number} is from `{other}`, a role not known"));
            }
            None => return Err(format!("message {number} does not say from whom")),
        };
        let mut said = Map::new();
        said.insert("role".to_owned(), Value::from(role));
        let value = message.shift_remove("value");
        said.insert("content".to_owned(), value.unwrap_or(Value::Null));
        said.extend(message);
        turns.push(said)?;
    }
    Ok(turns)
}

/// An optional field that must be a string.
fn text(record: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match record.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("field `{name}` is not a string")),
    }
}

fn expect_text(record: &Map<String, Value>, name: &str) -> Result<String, String> {
    text(record, name)?.ok_or_else(|| format!("field `{name}` is absent or null"))
}

/// `instruction`, `input`, `output`; without a template in the words that Alpaca was trained with.
fn alpaca(record: &Map<String, Value>) -> Result<Conversation, String> {
    let instruction = expect_text(record, "instruction")?;
    let output = expect_text(record, "output")?;
    let input = text(record, "input")?.filter(|input| !input.is_empty());
    let mut turns = Conversation::default();
    if let Some(system) = text(record, "system")?.filter(|system| !system.is_empty()) {
        turns.push_text("system", system)?;
    }
    let history = record.get("history").and_then(Value::as_array);
    for pair in history.into_iter().flatten() {
        let said = pair.as_array().map(Vec::as_slice);
        let Some([Value::String(asked), Value::String(answered)]) = said else {
            return Err("field `history` is not a list of pairs of strings".to_owned());
        };
        turns.push_text("user", asked.clone())?;
        turns.push_text("assistant", answered.clone())?;
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

/// Two strings, or two lists of messages of which only the second is trained on.
fn prompt_completion(record: &Map<String, Value>) -> Result<Conversation, String> {
    let mut turns = Conversation::default();
    if record.get("prompt").is_some_and(Value::is_array) {
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
