//! Spells names of options and verbs as each face writes them.
//!
//! | where | a text of ours has | the command shows | Python shows |
//! |---|---|---|---|
//! | help ([`spell`]) | `` `id_field` `` | `--id-field` | `` `id_field=` `` |
//! | help | `` `dedup settle` `` | `` `corpusdb dedup settle` `` | `` `Writer.settle()` `` |
//! | messages ([`spell_message`]) | `` `id_field=` `` | `--id-field` | `` `id_field=` `` |
//! | messages | `` `chat=messages` `` | `--chat messages` | `` `chat="messages"` `` |
//! | messages | `` `corpusdb dedup settle` `` | as it is | `` `Writer.settle()` `` |
//! | stored messages (reasons of rejects) | `--chat messages` | as it is | `chat="messages"` |
//!
//! Help holds no names of users. Messages quote them in backticks, so names of ours have forms there that users' names
//! hardly have: [`OptionSpelling::may_have`] says which values are ours, and what the user typed stays.

use super::session::GlobalArgs;
use super::verbs::{VERBS, find_verb};
use clap::builder::StyledStr;
use clap::{Args as _, Command};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{LazyLock, OnceLock};

/// The face that a text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// At a shell.
    Command,
    /// In a Python program.
    Python,
}

/// Spells each name in backticks of a help text; what names neither an option of this command nor a verb stays.
pub fn spell(text: &str, face: Face, command: &Command) -> String {
    spell_quoted(text, |name| spell_name(name, face, command))
}

/// Spells the options and verbs that a message names; all else stays.
pub fn spell_message(text: &str, face: Face) -> String {
    let text = match face {
        Face::Command => text.to_owned(),
        Face::Python => flags_as_keywords(text),
    };
    spell_quoted(&text, |name| spell_in_message(name, face))
}

/// Replaces each text in backticks, and the backticks, by what `spell` makes of it; where it makes none, they stay.
fn spell_quoted(text: &str, spell: impl Fn(&str) -> Option<String>) -> String {
    let mut parts = text.split('`');
    let mut spelt = parts.next().unwrap_or_default().to_owned();
    while let Some(name) = parts.next() {
        let Some(behind) = parts.next() else {
            // No pair: the backtick is a character of the text.
            return spelt + "`" + name;
        };
        match spell(name) {
            Some(known) => spelt.push_str(&known),
            None => spelt.extend(["`", name, "`"]),
        }
        spelt.push_str(behind);
    }
    spelt
}

/// Spells what a message has in backticks: an option, with or without a value; for Python a verb, too.
fn spell_in_message(name: &str, face: Face) -> Option<String> {
    if let Some((field, value)) = name.split_once('=')
        && let Some(option) = OPTIONS.get(field)
        && option.may_have(value)
        && !is_typed(name)
    {
        return Some(spell_option(field, value, option, face));
    }
    let path = name.strip_prefix("corpusdb ").filter(|_| face == Face::Python)?;
    // `corpusdb check CORPUS --salvage NEW`: the verb is what stands before the first argument.
    let words: Vec<&str> = path.split(' ').collect();
    let verb = [2, 1].iter().find_map(|many| find_verb(&words.get(..*many)?.join(" ")))?;
    let keywords = keywords(path);
    let is_given = |option: &str| {
        keywords.iter().any(|keyword| keyword.split_once('=').is_some_and(|(id, _)| id == option))
    };
    let other = CHECK_CALLS.iter().find(|(option, _)| verb.path == "check" && is_given(option));
    match other {
        Some((_, call)) => Some(format!("`{call}`")),
        None => verb.python.name().map(|name| format!("`{name}({})`", keywords.join(", "))),
    }
}

/// The calls in Python for `check` with one of these options.
const CHECK_CALLS: [(&str, &str); 3] =
    [("deep", "Corpus.check(\"deep\")"), ("repair", "repair()"), ("salvage", "salvage()")];

/// The keywords with values of a command line whose flags are keywords: `CORPUS where="a > 1"` has one.
fn keywords(line: &str) -> Vec<&str> {
    let mut keywords = Vec::new();
    let mut rest = line;
    while let Some((_, from)) = rest.split_once(' ') {
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let name = from.len() - from.trim_start_matches(is_name).len();
        let end = match from.get(name..) {
            Some(value) if name > 0 && value.starts_with("=\"") => {
                value.get(2..).and_then(|text| text.find('"')).map(|end| name + 2 + end + 1)
            }
            Some(value) if name > 0 && value.starts_with('=') => {
                Some(from.find(' ').unwrap_or(from.len()))
            }
            _ => None,
        };
        rest = from;
        if let Some(end) = end {
            let (keyword, behind) = from.split_at(end);
            keywords.push(keyword);
            rest = behind;
        }
    }
    keywords
}

fn spell_option(field: &str, value: &str, option: &OptionSpelling, face: Face) -> String {
    let OptionSpelling { flag, takes_value, .. } = option;
    match (face, value) {
        (Face::Command, "" | "true") => format!("--{flag}"),
        // The flag of an option that is on by default already contains the `no`.
        (Face::Command, "false") => format!("--no-{}", flag.trim_start_matches("no-")),
        (Face::Command, value) => format!("--{flag} {value}"),
        (Face::Python, "") if *takes_value => format!("`{field}=`"),
        (Face::Python, "" | "true") => format!("`{field}=True`"),
        (Face::Python, "false") => format!("`{field}=False`"),
        (Face::Python, value) if value.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("`{field}={value}`")
        }
        (Face::Python, value) => format!("`{field}=\"{value}\"`"),
    }
}

/// The spelling of an option, and the values that it may have in any verb with an option of this name.
#[derive(Default)]
struct OptionSpelling {
    /// The flag as it is typed, without its hyphens.
    flag: String,
    takes_value: bool,
    /// The values that verbs list.
    choices: Vec<String>,
    /// Whether a verb lists no values, so that any may come.
    takes_any: bool,
}

impl OptionSpelling {
    /// Whether a message of ours can name the option with this value. Quotations of users may have an equals sign, too:
    /// a condition (`source = 'web'` without the spaces), the name of a snapshot.
    fn may_have(&self, value: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,;@\"{}".contains(c);
        match value {
            "" => true,
            "true" | "false" => !self.takes_value,
            value if !self.takes_value => value == "True" || value == "False",
            value => {
                self.choices.iter().any(|choice| choice == value)
                    || (self.takes_any && value.chars().all(is_plain))
            }
        }
    }
}

/// The options of all verbs by their names. Arguments without a flag are in no message.
static OPTIONS: LazyLock<BTreeMap<String, OptionSpelling>> = LazyLock::new(|| {
    let mut options = BTreeMap::new();
    add_options(&GlobalArgs::augment_args(Command::new("globals")), &mut options);
    VERBS.iter().for_each(|row| add_options(&row.arguments(), &mut options));
    options
});

fn add_options(command: &Command, options: &mut BTreeMap<String, OptionSpelling>) {
    for arg in command.get_arguments() {
        let Some(flag) = arg.get_long() else { continue };
        let option = options.entry(arg.get_id().to_string()).or_default();
        if option.flag.is_empty() {
            flag.clone_into(&mut option.flag);
        }
        let choices = arg.get_possible_values();
        let takes_value = arg.get_action().takes_values();
        option.takes_value |= takes_value;
        option.takes_any |= takes_value && choices.is_empty();
        option.choices.extend(choices.iter().map(|choice| choice.get_name().to_owned()));
    }
}

/// The words that the user typed at the shell.
static TYPED: OnceLock<Vec<String>> = OnceLock::new();

/// Remembers what the user typed: where a message quotes a part of it, that is no name of ours.
pub fn remember_typed(arguments: &[OsString]) {
    let words = arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
    TYPED.get_or_init(|| words.collect());
}

fn is_typed(name: &str) -> bool {
    !name.ends_with('=')
        && TYPED.get().is_some_and(|words| words.iter().any(|word| word.contains(name)))
}

/// Writes flags of verbs as keywords of Python, `--text-field body` as `text_field="body"`; other words that look like
/// a flag stay.
fn flags_as_keywords(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("--") {
        let (before, from) = rest.split_at(at);
        let is_begin = before.chars().next_back().or(out.chars().next_back());
        let is_begin = is_begin.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '`' | '"'));
        let name = from.trim_start_matches('-');
        let end = name.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(name.len());
        let (name, behind) = name.split_at(end);
        out.push_str(before);
        let option = PYTHON_OPTIONS.get(name).filter(|_| is_begin);
        match option.filter(|_| from.starts_with(&format!("--{name}"))) {
            None => {
                out.push_str(from.split_at(from.len() - behind.len()).0);
                rest = behind;
            }
            Some((id, takes_value)) => {
                out.push_str(&format!("{id}={}", keyword_value(behind, *takes_value)));
                rest = if *takes_value { text_behind_value(behind) } else { behind };
            }
        }
    }
    out + rest
}

/// The value after a flag, as Python writes it.
fn keyword_value(behind: &str, takes_value: bool) -> String {
    match (takes_value, value_word(behind)) {
        (false, _) => "True".to_owned(),
        (true, Some(word)) if word.parse::<f64>().is_ok() => word.to_owned(),
        (true, Some(word)) if word.starts_with('"') => word.to_owned(),
        (true, Some(word)) => format!("\"{word}\""),
        (true, None) => String::new(),
    }
}

/// The text that follows a flag and its value, if it has one.
fn text_behind_value(behind: &str) -> &str {
    match value_word(behind) {
        Some(word) => behind.split_at(word.len() + 1).1,
        None => behind,
    }
}

/// The word after a flag and one space, if it is a value: a choice, a number, a size, a pair, a text in quotes.
fn value_word(behind: &str) -> Option<&str> {
    /// Words that continue the sentence after a flag.
    const SENTENCE_WORDS: [&str; 18] = [
        "and", "or", "is", "are", "says", "gives", "goes", "has", "was", "for", "to", "with", "of",
        "where", "in", "leaves", "names", "the",
    ];
    let from = behind.strip_prefix(' ')?;
    if let Some(end) = from.strip_prefix('"').and_then(|text| text.find('"')) {
        return from.get(..end + 2);
    }
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '=' | '@' | '.' | '/');
    let end = from.find(|c: char| !is_part(c)).unwrap_or(from.len());
    let word = from.get(..end)?.trim_end_matches('.');
    (!word.is_empty() && !SENTENCE_WORDS.contains(&word)).then_some(word)
}

/// For each flag of a verb that Python has, its keyword and whether it takes a value.
static PYTHON_OPTIONS: LazyLock<BTreeMap<String, (String, bool)>> = LazyLock::new(|| {
    let globals = ["memory", "threads"].map(|name| (name.to_owned(), (name.to_owned(), true)));
    let mut options = BTreeMap::from(globals);
    for row in VERBS.iter().filter(|row| row.python.name().is_some()) {
        for arg in row.arguments().get_arguments() {
            let Some(long) = arg.get_long() else { continue };
            let option = (arg.get_id().to_string(), arg.get_action().takes_values());
            options.entry(long.to_owned()).or_insert(option);
        }
    }
    options
});

/// Spells a name of a help text, if it is an option of this command or a verb.
pub fn spell_name(name: &str, face: Face, command: &Command) -> Option<String> {
    if let Some(arg) = command.get_arguments().find(|arg| arg.get_id() == name) {
        return Some(match (face, arg.get_long()) {
            (Face::Command, Some(long)) => format!("--{long}"),
            (Face::Command, None) => value_name(arg),
            (Face::Python, _) => format!("`{name}=`"),
        });
    }
    let method = find_verb(name)?.python.name().filter(|_| face == Face::Python);
    Some(method.map_or_else(|| format!("`corpusdb {name}`"), |method| format!("`{method}()`")))
}

fn value_name(arg: &clap::Arg) -> String {
    let named = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    named.unwrap_or_else(|| arg.get_id().as_str().to_uppercase())
}

/// Spells all texts of a command. Others are skipped: every start does this for all verbs.
pub fn spell_command(command: Command, face: Face) -> Command {
    let names = command.clone();
    let spelt = |text: Option<&StyledStr>, turns_off: bool| {
        let mut text = text?.ansi().to_string();
        if turns_off {
            text = format!("No {}{}", text[..1].to_lowercase(), &text[1..]);
        }
        (turns_off || text.contains('`')).then(|| StyledStr::from(spell(&text, face, &names)))
    };
    let command = command.mut_args(|mut arg| {
        // It says what is there unless the option is given: in Python, a member that is true.
        let turns_off =
            face == Face::Command && matches!(arg.get_action(), clap::ArgAction::SetFalse);
        if let Some(help) = spelt(arg.get_help(), turns_off) {
            arg = arg.help(help);
        }
        match spelt(arg.get_long_help(), turns_off) {
            Some(help) => arg.long_help(help),
            None => arg,
        }
    });
    let command = match spelt(names.get_about(), false) {
        Some(about) => command.about(about),
        None => command,
    };
    match spelt(names.get_long_about(), false) {
        Some(about) => command.long_about(about),
        None => command,
    }
}
