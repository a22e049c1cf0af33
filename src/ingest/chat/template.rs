//! A chat template and the values it may name, rendered as transformers' `apply_chat_template` does.
//!
//! Jinja with `trim_blocks` and `lstrip_blocks`, loop controls, Python's methods of strings, lists and
//! dictionaries, `tojson`, `raise_exception`; and `{% generation %}`, which marks what is trained on.
//!
//! What a template writes to set turns apart, which a tokenizer must know and no message may say.

use super::budget::{RenderAllowance, RenderBudget, STEPS};
use super::functions::CalendarDay;
use super::rewrite::CompiledTemplate;
use super::values::Members;
use super::{functions, sandbox};
use crate::model::near_names::UnknownName;
use crate::model::text_file::{bytes_without_mark, decode_text};
use minijinja::value::Value;
use minijinja::{Environment, ErrorKind};
use serde_json::{Map, Value as Json};
use std::path::{Path, PathBuf};

/// Around what `{% generation %}` encloses: noncharacters, which no record may hold.
pub(super) const MARKS: [char; 2] = ['\u{fdd0}', '\u{fdd1}'];
/// Fields of a tokenizer_config.json that templates name.
const TOKENS: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// A template that cannot be had or does not compile.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A file.
    #[error("reading {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// A tokenizer_config.json without what is needed.
    #[error("{}: {why}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Not a template.
    #[error("the chat template does not compile: {0}")]
    Compile(String),
    /// Not a day.
    #[error("`{0}` is not a day; write it as 2024-07-26")]
    Date(String),
}

/// A compiled chat template with the values that it may name.
pub struct ChatTemplate {
    source: String,
    variables: Map<String, Json>,
    specials: Vec<String>,
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
    /// [`TemplateError::Compile`].
    pub fn new(source: &str) -> Result<Self, TemplateError> {
        let (compiled, is_marked) = mark_generation(source);
        Ok(Self {
            source: source.to_owned(),
            variables: Map::new(),
            specials: Vec::new(),
            day: None,
            environment: environment(None),
            program: CompiledTemplate::compile(compiled)
                .map_err(|error| TemplateError::Compile(words(&error)))?,
            is_marked,
            is_declared: false,
        })
    }

    /// Reads a template: a `.jinja` file, a tokenizer_config.json, or the directory of a tokenizer. A
    /// `chat_template.jinja` goes before the one in the configuration, whose special tokens are known
    /// to either. `name` chooses among several; else it is the one named `default`.
    ///
    /// # Errors
    /// [`TemplateError`].
    pub fn load(path: &Path, name: Option<&str>) -> Result<Self, TemplateError> {
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
        let config_path =
            if is_json { path.to_path_buf() } else { folder.join("tokenizer_config.json") };
        let config = if is_json || config_path.is_file() {
            let config: Json = serde_json::from_slice(bytes_without_mark(&read(&config_path)?))
                .map_err(|error| config_error(&config_path, format!("not JSON: {error}")))?;
            Some(config)
        } else {
            None
        };
        let beside = folder.join("chat_template.jinja");
        let file = if path.is_dir() || is_json {
            Some(beside).filter(|beside| name.is_none() && beside.is_file())
        } else {
            Some(path.to_path_buf())
        };
        let source = match (file, &config) {
            (Some(file), _) => decode_text("it", read(&file)?)
                .map_err(|error| config_error(&file, error.to_string()))?,
            (None, Some(config)) => {
                choose(config, name).map_err(|why| config_error(&config_path, why))?
            }
            (None, None) => {
                let why = "neither chat_template.jinja nor tokenizer_config.json is in it";
                return Err(config_error(path, why.to_owned()));
            }
        };
        let mut template = Self::new(&source)?;
        if let Some(config) = &config {
            template.read_special_tokens(config);
        }
        Ok(template)
    }

    /// Takes the special tokens of a tokenizer_config.json.
    fn read_special_tokens(&mut self, config: &Json) {
        for name in TOKENS {
            if let Some(token) = config.get(name).and_then(spelling) {
                self.variables.insert(name.to_owned(), Json::from(token));
                self.specials.push(token.to_owned());
            }
        }
        let additional = config.get("additional_special_tokens").and_then(Json::as_array);
        self.specials
            .extend(additional.into_iter().flatten().filter_map(spelling).map(str::to_owned));
        let added = config.get("added_tokens_decoder").and_then(Json::as_object);
        for token in added.into_iter().flat_map(Map::values) {
            if token.get("special").and_then(Json::as_bool) == Some(true) {
                self.specials.extend(spelling(token).map(str::to_owned));
            }
        }
        self.is_declared = additional.is_some() || added.is_some();
        self.specials.sort_unstable();
        self.specials.dedup();
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

    /// Sets the day that `strftime_now` tells, as `2024-07-26`; without one, templates that ask are refused.
    ///
    /// # Errors
    /// [`TemplateError::Date`].
    pub fn set_date(&mut self, date: &str) -> Result<(), TemplateError> {
        let day = CalendarDay::parse(date).ok_or_else(|| TemplateError::Date(date.to_owned()))?;
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

    pub(super) fn hash_words(&self) -> String {
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
        let named = set.chain(context.iter().cloned());
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

/// Turns `{% generation %}` blocks into filter blocks, which trim space alike; says whether there was one.
fn mark_generation(source: &str) -> (String, bool) {
    let mut out = String::with_capacity(source.len() + 32);
    let (mut rest, mut is_marked) = (source, false);
    while let Some((before, tag, after)) = next_tag(rest) {
        out.push_str(before);
        let word = tag.trim_matches(['-', '+']).trim();
        match word {
            "generation" => {
                is_marked = true;
                out.push_str(&tag.replacen("generation", " filter generation ", 1));
            }
            "endgeneration" => out.push_str(&tag.replacen("endgeneration", " endfilter ", 1)),
            _ => out.push_str(tag),
        }
        rest = after;
    }
    out.push_str(rest);
    (out, is_marked)
}

/// Splits at the first block tag: up to its `{%`, between, and from its `%}`.
fn next_tag(source: &str) -> Option<(&str, &str, &str)> {
    let open = source.find("{%")? + 2;
    let (before, inner) = source.split_at_checked(open)?;
    let (tag, after) = inner.split_at_checked(inner.find("%}")?)?;
    Some((before, tag, after))
}

/// An error in one line, with what it says beside its kind.
fn words(error: &minijinja::Error) -> String {
    let place =
        error.line().map_or_else(String::new, |line| format!(" (line {line} of the template)"));
    error.detail().map_or_else(|| error.to_string(), |detail| format!("{detail}{place}"))
}

fn read(path: &Path) -> Result<Vec<u8>, TemplateError> {
    std::fs::read(path).map_err(|source| TemplateError::Io { path: path.to_path_buf(), source })
}

fn config_error(path: &Path, why: String) -> TemplateError {
    TemplateError::Config { path: path.to_path_buf(), why }
}

/// A token as a string, or as an object with its content.
fn spelling(token: &Json) -> Option<&str> {
    token.as_str().or_else(|| token.get("content").and_then(Json::as_str))
}

/// The template of a configuration: its one, the one asked for, or the default.
fn choose(config: &Json, name: Option<&str>) -> Result<String, String> {
    match config.get("chat_template") {
        Some(Json::String(source)) => match name {
            None => Ok(source.clone()),
            Some(name) => {
                Err(format!("it has one chat_template without a name, none named `{name}`"))
            }
        },
        Some(Json::Array(all)) => {
            let named = |wanted: &str| {
                let is = |entry: &&Json| entry.get("name").and_then(Json::as_str) == Some(wanted);
                all.iter().find(is).and_then(|entry| entry.get("template")).and_then(Json::as_str)
            };
            let wanted = name.unwrap_or("default");
            let names: Vec<&str> =
                all.iter().filter_map(|entry| entry.get("name").and_then(Json::as_str)).collect();
            named(wanted).map(str::to_owned).ok_or_else(|| {
                let unknown = UnknownName::new("chat_template", wanted, names);
                format!("{unknown}; {}", unknown.hint())
            })
        }
        _ => Err("it has no chat_template".to_owned()),
    }
}

/// Pairs of brackets that special tokens are spelled with, as `<|im_start|>`.
const BRACKETS: [(&str, &str); 2] = [("<|", "|>"), ("<\u{ff5c}", "\u{ff5c}>")];
/// Longest name within them, in bytes.
const LONGEST: usize = 64;

/// What is spelled like special tokens in the source of a template, ascending: `<|...|>`, `<start_of_...>`.
fn special_markers(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (open, close) in BRACKETS {
        found.extend(between(source, open, close, |name| {
            !name.contains(|c: char| c.is_whitespace() || "<>{}'\"|\u{ff5c}".contains(c))
        }));
    }
    found.extend(between(source, "<", ">", |name| {
        let is_turn = name.starts_with("start_of_") || name.starts_with("end_of_");
        is_turn && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    }));
    sorted(found)
}

/// These, and what older templates set turns apart with in plain text: `[INST]`, `<<SYS>>`.
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
mod template_tests {
    use super::*;

    #[test]
    fn generation_tags_become_filter_blocks() {
        assert_eq!(
            mark_generation("{% if generation %}{%- generation -%}x{%endgeneration%}"),
            ("{% if generation %}{%-  filter generation  -%}x{% endfilter %}".to_owned(), true)
        );
        assert_eq!(
            mark_generation("{{ generation }} {%"),
            ("{{ generation }} {%".to_owned(), false)
        );
    }
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
