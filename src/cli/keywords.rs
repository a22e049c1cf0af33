//! Parses keywords of Python as arguments of the same clap command.
//!
//! So conflicts, requirements, ranges, defaults and texts hold in both faces. serde as a second parser was rejected:
//! with `flatten` its errors name no key, it knows neither conflicts nor ranges, and it suggests no similar names. clap
//! costs 16 us a call, and 1.7 us for each value of a list; long lists of ids bypass it.

use super::verbs::documents::SampleSeed;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command};
use corpusdb::dedup::KeepOrder;
use corpusdb::ingest::{JoinBy, JoinColumn};
use corpusdb::near_names::did_you_mean;
use corpusdb::tokenizer::PretokenPattern;
use corpusdb::{FieldKind, NamedKind};
use serde_json::{Map, Value};
use std::any::TypeId;
use std::error::Error as _;
use std::path::PathBuf;

/// What Python may give for one value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// True or False.
    Flag,
    /// Text.
    Text,
    /// Text, or something that is a path.
    Path,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A number of bytes, or a text with a unit.
    Size,
    /// Text `NAME=VALUE`, or a mapping of names to values; the sign stands between them.
    Pair(char),
}

/// A type that a parser makes, and the kind of its values.
type KindRow = (fn() -> TypeId, ValueKind);

/// The types that parsers make, and the kinds of their values. A type with a row here works in all faces; one without
/// is an error of the tests.
const KINDS: &[KindRow] = &[
    (TypeId::of::<String>, ValueKind::Text),
    (TypeId::of::<PathBuf>, ValueKind::Path),
    (TypeId::of::<KeepOrder>, ValueKind::Text),
    (TypeId::of::<NamedKind>, ValueKind::Pair(':')),
    (TypeId::of::<(String, String)>, ValueKind::Pair('=')),
    (TypeId::of::<(String, Value)>, ValueKind::Pair('=')),
    (TypeId::of::<(String, u32)>, ValueKind::Pair('=')),
    (TypeId::of::<(String, f64)>, ValueKind::Pair('=')),
    (TypeId::of::<PretokenPattern>, ValueKind::Text),
    (TypeId::of::<FieldKind>, ValueKind::Text),
    (TypeId::of::<JoinBy>, ValueKind::Text),
    (TypeId::of::<SampleSeed>, ValueKind::Text),
    (TypeId::of::<JoinColumn>, ValueKind::Pair('=')),
    // A character.
    (TypeId::of::<u8>, ValueKind::Text),
    (TypeId::of::<u16>, ValueKind::Integer),
    (TypeId::of::<u32>, ValueKind::Integer),
    (TypeId::of::<u64>, ValueKind::Integer),
    (TypeId::of::<usize>, ValueKind::Integer),
    (TypeId::of::<i64>, ValueKind::Integer),
    (TypeId::of::<f32>, ValueKind::Number),
    (TypeId::of::<f64>, ValueKind::Number),
];

/// The kind of an argument.
///
/// # Errors
/// That the type of its values stands in no row.
pub fn kind(arg: &Arg) -> anyhow::Result<ValueKind> {
    if matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::SetFalse) {
        return Ok(ValueKind::Flag);
    }
    // A number of bytes may have a unit.
    if arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == "BYTES")) {
        return Ok(ValueKind::Size);
    }
    let made = arg.get_value_parser().type_id();
    match KINDS.iter().find(|(id, _)| made == id()) {
        Some((_, kind)) => Ok(*kind),
        None if !arg.get_possible_values().is_empty() => Ok(ValueKind::Text),
        None => anyhow::bail!("the type of `{}` is in no row of `KINDS`", arg.get_id()),
    }
}

/// Whether several values may be given.
pub fn is_list(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
        || arg.get_num_args().is_some_and(|number| number.max_values() > 1)
}

/// What the command would make of these keywords. A keyword that is null is absent.
///
/// # Errors
/// Which keyword no option has, with the nearest one; which value does not fit, by its path (`columns[1]`).
pub fn matches(command: Command, given: &Map<String, Value>) -> anyhow::Result<ArgMatches> {
    let (mut flags, mut positional) = (Vec::new(), vec!["--".to_owned()]);
    for (key, value) in given.iter().filter(|(_, value)| !value.is_null()) {
        let arg = command.get_arguments().find(|arg| arg.get_id() == key.as_str());
        let arg = arg.ok_or_else(|| unknown(key, &command))?;
        let kind = kind(arg)?;
        if kind == ValueKind::Flag {
            let Value::Bool(on) = value else { return Err(misfit(key, "True or False", value)) };
            if *on == matches!(arg.get_action(), ArgAction::SetTrue) {
                flags.push(format!("--{}", arg.get_long().unwrap_or(key)));
            }
            continue;
        }
        // No value of a list is not its default: such an option takes one empty value for none.
        let is_none = value.as_array().is_some_and(Vec::is_empty) && is_list(arg);
        if is_none && !arg.get_default_values().is_empty() {
            flags.push(format!("--{}=", arg.get_long().unwrap_or(key)));
        }
        for (path, value) in values(key, value, arg, kind)? {
            let text = text(&path, &value, kind)?;
            match (arg.get_long(), arg.get_short()) {
                (Some(long), _) => flags.push(format!("--{long}={text}")),
                (None, Some(short)) => flags.push(format!("-{short}={text}")),
                (None, None) => positional.push(text),
            }
        }
    }
    // A value of a Python list may contain a comma: only the command splits one word into several values.
    let command = command.mut_args(|arg| arg.value_delimiter(None::<char>));
    let mut command = command.no_binary_name(true).disable_help_flag(true);
    let matches = command.try_get_matches_from_mut(flags.into_iter().chain(positional));
    matches.map_err(|error| refused(&error, &command))
}

/// The single values of a keyword, each with its path. Fails for a name in a mapping that the parser would split
/// differently.
fn values(
    key: &str,
    value: &Value,
    arg: &Arg,
    kind: ValueKind,
) -> anyhow::Result<Vec<(String, Value)>> {
    Ok(match (value, kind) {
        (Value::Array(values), _) if is_list(arg) => {
            let path = |(at, one): (usize, &Value)| (format!("{key}[{at}]"), one.clone());
            values.iter().enumerate().map(path).collect()
        }
        (Value::Object(members), ValueKind::Pair(sign)) => {
            let made = arg.get_value_parser().type_id();
            let is_json = made == TypeId::of::<(String, Value)>();
            // The parsers of these types split at the last sign.
            let is_free = made == TypeId::of::<(String, u32)>()
                || made == TypeId::of::<(String, f64)>()
                || made == TypeId::of::<NamedKind>();
            let mut pairs = Vec::new();
            for (name, value) in members {
                let path = format!("{key}[{name:?}]");
                anyhow::ensure!(
                    is_free || !name.contains(sign),
                    "{path}: a name cannot have `{sign}` in it"
                );
                let value = match value {
                    Value::Null if !is_json => continue,
                    Value::String(text) if !is_json => text.clone(),
                    other => other.to_string(),
                };
                pairs.push((path, Value::String(format!("{name}{sign}{value}"))));
            }
            pairs
        }
        (one, _) => vec![(key.to_owned(), one.clone())],
    })
}

fn text(path: &str, value: &Value, kind: ValueKind) -> anyhow::Result<String> {
    use ValueKind::{Flag, Integer, Number, Pair, Path, Size, Text};
    match (kind, value) {
        (Text | Path | Size | Pair(_), Value::String(text)) => Ok(text.clone()),
        (Integer | Size, Value::Number(number)) if !number.is_f64() => Ok(number.to_string()),
        (Number, Value::Number(number)) => Ok(number.to_string()),
        (Text | Path, _) => Err(misfit(path, "text", value)),
        (Pair(sign), _) => Err(misfit(path, &format!("a mapping, or text NAME{sign}VALUE"), value)),
        (Size, _) => Err(misfit(path, "a number of bytes, or text such as \"256MiB\"", value)),
        (Integer, _) => Err(misfit(path, "a whole number", value)),
        (Number | Flag, _) => Err(misfit(path, "a number", value)),
    }
}

fn misfit(path: &str, expected: &str, value: &Value) -> anyhow::Error {
    anyhow::anyhow!("{path}: expected {expected}, got {value}")
}

/// The error for a keyword that no option has.
fn unknown(key: &str, command: &Command) -> anyhow::Error {
    let names = command.get_arguments().map(|arg| arg.get_id().as_str());
    match did_you_mean(key, names) {
        Some(question) => anyhow::anyhow!("no option `{key}`; {question}"),
        None => anyhow::anyhow!("no option `{key}`"),
    }
}

/// An error of clap with the names of options in backticks, so that each face can spell them. The command must have
/// been built: clap cannot show an argument otherwise.
fn refused(error: &clap::Error, command: &Command) -> anyhow::Error {
    let named = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![field(text, command)],
        Some(ContextValue::Strings(texts)) => {
            texts.iter().map(|text| field(text, command)).collect()
        }
        _ => Vec::new(),
    };
    let args = named(ContextKind::InvalidArg).join(", ");
    let value = error.get(ContextKind::InvalidValue).map_or(String::new(), ToString::to_string);
    anyhow::Error::msg(match error.kind() {
        ErrorKind::MissingRequiredArgument => format!("{args} is needed"),
        ErrorKind::ArgumentConflict => {
            format!("{args} cannot be combined with {}", named(ContextKind::PriorArg).join(", "))
        }
        ErrorKind::ValueValidation => match error.source() {
            Some(reason) => format!("{args}: {reason}"),
            None => format!("{args}: {value:?} is refused"),
        },
        ErrorKind::InvalidValue => match error.get(ContextKind::ValidValue) {
            Some(ContextValue::Strings(valid)) => {
                let question = did_you_mean(&value, valid.iter().map(String::as_str));
                let question = question.map_or(String::new(), |question| format!("; {question}"));
                format!("{args}: {value:?} is not one of {}{question}", valid.join(", "))
            }
            _ => format!("{args}: {value:?} is refused"),
        },
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            first.strip_prefix("error: ").unwrap_or(first).to_owned()
        }
    })
}

/// `--shard-bytes <BYTES>` -> `` `shard_bytes` ``.
fn field(shown: &str, command: &Command) -> String {
    let long = shown.strip_prefix("--").and_then(|name| name.split([' ', '=']).next());
    // In some usages an argument is shown as `<FILE>`, while it prints itself as `[FILE]`.
    let bare = |text: &str| text.trim_matches(['<', '>', '[', ']', '.']).to_owned();
    let is_it = |arg: &&Arg| match long {
        Some(long) => arg.get_long() == Some(long),
        None => bare(&arg.to_string()) == bare(shown),
    };
    let arg = command.get_arguments().find(is_it);
    arg.map_or(shown.to_owned(), |arg| format!("`{}`", arg.get_id()))
}
