//! A chat template and the values it may name, rendered as transformers' `apply_chat_template` does.
//!
//! A template is Jinja with `trim_blocks` and `lstrip_blocks`, loop controls, Python's methods of strings, lists and
//! dictionaries, `tojson`, `raise_exception`; and `{% generation %}`, which marks what is trained on. The markers that
//! it writes between turns are read from its source: a tokenizer must know them, and no message may contain one.

use super::budget::{RenderAllowance, RenderBudget, STEPS};
use super::functions::CalendarDay;
use super::rewrite::CompiledTemplate;
use super::tags::{mark_generation, with_line_ends, writes_unasked};
use super::values::Members;
use super::{functions, sandbox};
use minijinja::value::Value;
use minijinja::{Environment, ErrorKind};
use model::Error;
use serde_json::{Map, Value as Json};

/// What a template may name besides messages, where a record has it.
pub(super) const RECORD_LISTS: [&str; 2] = ["tools", "documents"];

/// Around what `{% generation %}` encloses: noncharacters, which no record may hold.
pub(super) const MARKS: [char; 2] = ['\u{fdd0}', '\u{fdd1}'];
/// Fields of a tokenizer_config.json that templates name.
const TOKENS: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// A compiled chat template with the values that it may name.
pub struct ChatTemplate {
    source: String,
    variables: Map<String, Json>,
    specials: Vec<String>,
    /// Names of special tokens that have no value, by a configuration.
    nothing: Vec<&'static str>,
    day: Option<CalendarDay>,
    environment: Environment<'static>,
    program: CompiledTemplate,
    is_marked: bool,
    /// A configuration says which tokens are special; others only look so.
    is_declared: bool,
}

impl std::fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatTemplate").field("source", &self.source).finish_non_exhaustive()
    }
}

impl ChatTemplate {
    /// Compiles a template; nothing but messages is known to it yet.
    ///
    /// # Errors
    /// [`Error`] for what is no template.
    pub fn new(source: &str) -> Result<Self, Error> {
        let (compiled, is_marked) = mark_generation(&with_line_ends(source));
        Ok(Self {
            source: source.to_owned(),
            variables: Map::new(),
            specials: Vec::new(),
            nothing: Vec::new(),
            day: None,
            environment: environment(None),
            program: CompiledTemplate::compile(compiled)
                .map_err(|error| format!("the chat template does not compile: {}", words(&error)))
                .map_err(Error::bad_input)?,
            is_marked,
            is_declared: false,
        })
    }

    /// Takes the special tokens that a configuration names.
    pub(super) fn set_tokens(&mut self, config: &Map<String, Json>) {
        for name in TOKENS {
            match config.get(name) {
                // What has no value on purpose is written as nothing, but an answer must end.
                Some(Json::Null) if name != "eos_token" => self.nothing.push(name),
                Some(token) => self.extend_tokens(Some(name), token),
                None => {}
            }
        }
        let lists = ["additional_special_tokens", "extra_special_tokens"];
        let lists = lists.map(|name| config.get(name));
        for list in lists.into_iter().flatten() {
            for token in list.as_array().into_iter().flatten() {
                self.extend_tokens(None, token);
            }
            for (name, token) in list.as_object().into_iter().flatten() {
                self.extend_tokens(Some(name), token);
            }
        }
        let added = config.get("added_tokens_decoder").and_then(Json::as_object);
        for token in added.into_iter().flat_map(Map::values) {
            if token.get("special").and_then(Json::as_bool) == Some(true) {
                self.extend_tokens(None, token);
            }
        }
        self.is_declared = lists.iter().any(Option::is_some) || added.is_some();
        self.specials.sort_unstable();
        self.specials.dedup();
    }

    /// Takes one, under the name that templates have for it.
    fn extend_tokens(&mut self, name: Option<&str>, token: &Json) {
        let Some(token) = spelling(token) else { return };
        if let Some(name) = name {
            self.variables.insert(name.to_owned(), Json::from(token));
        }
        self.specials.push(token.to_owned());
    }

    /// Fails for a special token that the template writes and that nobody gave it: nothing would stand in its place.
    ///
    /// # Errors
    /// [`Error`] that names it.
    pub(in crate::ingest) fn expect_tokens(&self) -> Result<(), Error> {
        let source = with_line_ends(&self.source);
        let is_known =
            |name: &str| self.variables.contains_key(name) || self.nothing.contains(&name);
        let unknown =
            TOKENS.into_iter().find(|name| !is_known(name) && writes_unasked(&source, name));
        unknown.map_or(Ok(()), |name| {
            Err(Error::bad_input(format!(
                "the chat template writes `{name}` and nothing says what that is: every text would have nothing in its place; give the tokenizer's directory, or the value with `chat_set=`"
            )))
        })
    }

    /// The texts that must be one token each, so that turns are distinguished from content, ascending: what the
    /// configuration calls special and the template writes; without one, what is spelled like it.
    #[must_use]
    pub fn markers(&self) -> Vec<String> {
        let is_named = |token: &&String| {
            let mut variables = self.variables.iter();
            let is_value = |(name, value): (&String, &Json)| {
                value.as_str() == Some(token.as_str()) && self.source.contains(name.as_str())
            };
            self.source.contains(token.as_str()) || variables.any(is_value)
        };
        let mut found: Vec<String> = self.specials.iter().filter(is_named).cloned().collect();
        if !self.is_declared {
            found.extend(special_markers(&self.source));
        }
        found.retain(|marker| !marker.is_empty());
        found.sort_unstable();
        found.dedup();
        found
    }

    /// What no message may say: special tokens, and all that looks as if it set turns apart.
    pub(super) fn forbidden(&self) -> Vec<String> {
        self.specials.iter().cloned().chain(turn_markers(&self.source)).collect()
    }

    /// Sets a value that the template may name, such as `bos_token` or `enable_thinking`.
    pub fn set(&mut self, name: &str, value: Json) {
        if let (true, Some(token)) = (TOKENS.contains(&name), value.as_str())
            && !token.is_empty()
        {
            self.specials.push(token.to_owned());
        }
        self.variables.insert(name.to_owned(), value);
    }

    /// Sets the day that `strftime_now` gives, as `2024-07-26`; without one, templates that ask are refused.
    ///
    /// # Errors
    /// [`Error`] for what is no day.
    pub fn set_date(&mut self, date: &str) -> Result<(), Error> {
        let day = CalendarDay::parse(date).ok_or_else(|| {
            Error::bad_input(format!("`{date}` is not a day; write it as 2024-07-26"))
        })?;
        self.day = Some(day);
        self.environment = environment(self.day);
        self.variables.insert("date".to_owned(), Json::from(date));
        Ok(())
    }

    /// The template, verbatim.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// blake3 of the template.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        *blake3::hash(self.source.as_bytes()).as_bytes()
    }

    pub(in super::super) fn hash_words(&self) -> String {
        blake3::hash(self.source.as_bytes()).to_hex().to_string()
    }

    /// The values set, as a JSON object.
    pub(in super::super) fn variables_words(&self) -> String {
        Json::Object(self.variables.clone()).to_string()
    }

    /// Whether `{% generation %}` says what is trained on.
    pub(super) const fn is_marked(&self) -> bool {
        self.is_marked
    }

    /// What the template writes of `messages`; the words of its refusal otherwise, or of what it would take.
    pub(super) fn render(
        &self,
        messages: &[Value],
        context: &Members,
        add_generation_prompt: bool,
        work: &mut RenderBudget<'_>,
    ) -> Result<String, String> {
        work.check_interrupt_of_render()?;
        let set = self.variables.iter();
        let set = set.map(|(name, value)| (name.clone(), Value::from_serialize(value)));
        // What a record has none of is none, as transformers gives it: it is not undefined.
        let none = RECORD_LISTS.map(|name| (name.to_owned(), Value::from(())));
        let named = none.into_iter().chain(set).chain(context.iter().cloned());
        let ours = [
            ("messages".to_owned(), Value::from(messages.to_vec())),
            ("add_generation_prompt".to_owned(), Value::from(add_generation_prompt)),
        ];
        let values: Value = named.chain(ours).collect();
        let allowance = RenderAllowance::begin(work.limits());
        let rendered = self.program.render(&self.environment, values);
        drop(allowance);
        let (text, steps) = rendered.map_err(|error| match error.kind() {
            _ if work.check_interrupt_of_render().is_err() => "interrupted".to_owned(),
            ErrorKind::OutOfFuel => format!(
                "the template takes more than {STEPS} steps: it does not end, or the record is too large for it"
            ),
            _ => words(&error),
        })?;
        work.spend(steps)?;
        work.check_length(&text)?;
        Ok(text)
    }
}

fn environment(day: Option<CalendarDay>) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_fuel(Some(STEPS));
    environment.set_formatter(functions::write);
    environment.add_function("raise_exception", |why: String| functions::raise_exception(&why));
    environment
        .add_function("strftime_now", move |format: String| functions::strftime_now(day, &format));
    environment.add_filter("tojson", functions::tojson);
    environment.add_filter("generation", |text: String| {
        let [open, close] = MARKS;
        format!("{open}{text}{close}")
    });
    sandbox::add_checked_functions(&mut environment);
    environment
}

/// An error in one line, with what it says beside its kind.
fn words(error: &minijinja::Error) -> String {
    let place =
        error.line().map_or_else(String::new, |line| format!(" (line {line} of the template)"));
    error.detail().map_or_else(|| error.to_string(), |detail| format!("{detail}{place}"))
}

/// A token as a string, or as an object with its content.
fn spelling(token: &Json) -> Option<&str> {
    token.as_str().or_else(|| token.get("content").and_then(Json::as_str))
}

/// Pairs of brackets that special tokens are spelled with, as `<|im_start|>`, `<|turn>` and `<turn|>`.
const BRACKETS: [(&str, &str); 4] =
    [("<|", "|>"), ("<\u{ff5c}", "\u{ff5c}>"), ("<|", ">"), ("<", "|>")];
/// Longest name within them, in bytes.
const LONGEST: usize = 64;

/// What is spelled like special tokens in the source of a template, ascending: `<|...|>`, `<start_of_...>`.
fn special_markers(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (open, close) in BRACKETS {
        found.extend(between(source, open, close, |name| {
            !name.contains(|c: char| c.is_whitespace() || "<>{}[]()=+'\"|\u{ff5c}".contains(c))
        }));
    }
    found.extend(between(source, "<", ">", |name| {
        let is_turn = name.starts_with("start_of_") || name.starts_with("end_of_");
        is_turn && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    }));
    sorted(found)
}

/// Special markers, and what older templates set turns apart with in plain text: `[INST]`, `<<SYS>>`.
fn turn_markers(source: &str) -> Vec<String> {
    let mut found = special_markers(source);
    let is_upper = |name: &str| {
        let name = name.strip_prefix('/').unwrap_or(name);
        name.len() > 2 && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    };
    found.extend(between(source, "[", "]", is_upper));
    found.extend(between(source, "<<", ">>", is_upper));
    sorted(found)
}

fn between(source: &str, open: &str, close: &str, is_name: impl Fn(&str) -> bool) -> Vec<String> {
    let found = source.match_indices(open).filter_map(|(at, _)| {
        let rest = source.get(at + open.len()..)?;
        let within = rest.get(..rest.floor_char_boundary(LONGEST + close.len()))?;
        let name = within.get(..within.find(close)?)?;
        (!name.is_empty() && is_name(name)).then(|| format!("{open}{name}{close}"))
    });
    found.collect()
}

fn sorted(mut found: Vec<String>) -> Vec<String> {
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod markers_tests {
    use super::*;

    #[test]
    fn markers_of_turns_are_found_in_a_template() {
        let source = "{% if a <b %}{{ '<|im_start|>' + m.role }}<|im_end|>{% endif %}{{ '<start_of_turn>user' }}[INST] {{ m[0] }} [/INST]<<SYS>>{{ x['A'] }} <| a |>";
        assert_eq!(special_markers(source), ["<start_of_turn>", "<|im_end|>", "<|im_start|>"]);
        assert_eq!(
            turn_markers(source),
            ["<<SYS>>", "<start_of_turn>", "<|im_end|>", "<|im_start|>", "[/INST]", "[INST]"]
        );
    }
}
