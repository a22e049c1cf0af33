//! Names of options and verbs, as a face has them.
//!
//! Texts of options, which hold no names of users, have an option by its field (`` `id_field` ``) and a verb by its path
//! (`` `dedup settle` ``). Messages, which quote names of users in backticks, have them in forms that are no such names:
//! `` `id_field=` `` and `` `corpusdb dedup settle` ``. The command spells them `--id-field` and
//! `` `corpusdb dedup settle` ``, Python `` `id_field=` `` and `` `Writer.settle()` ``.

use clap::Command;
use clap::builder::StyledStr;

/// Who reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// At a shell.
    Command,
    /// In a Python program.
    Python,
}

/// Writes each name in backticks as the face has it; what is no name of the verb's options, nor of a verb, stays.
pub fn spell(text: &str, face: Face, command: &Command) -> String {
    let mut parts = text.split('`');
    let mut spelt = parts.next().unwrap_or_default().to_owned();
    while let Some(name) = parts.next() {
        let Some(behind) = parts.next() else {
            // No pair: the backtick is a character of the text.
            return spelt + "`" + name;
        };
        match spell_name(name, face, command) {
            Some(known) => spelt.push_str(&known),
            None => spelt.extend(["`", name, "`"]),
        }
        spelt.push_str(behind);
    }
    spelt
}

/// Writes the options and verbs that a message names as the face has them; all else stays.
pub fn spell_message(text: &str, face: Face) -> String {
    let mut parts = text.split('`');
    let mut spelt = parts.next().unwrap_or_default().to_owned();
    while let Some(name) = parts.next() {
        let Some(behind) = parts.next() else {
            return spelt + "`" + name;
        };
        match spell_marked(name, face) {
            Some(known) => spelt.push_str(&known),
            None => spelt.extend(["`", name, "`"]),
        }
        spelt.push_str(behind);
    }
    spelt
}

fn spell_marked(name: &str, face: Face) -> Option<String> {
    match face {
        Face::Command => {
            let field = name.strip_suffix('=')?;
            let is_field = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            let is_one = !field.is_empty() && field.chars().all(is_field);
            is_one.then(|| format!("--{}", field.replace('_', "-")))
        }
        Face::Python => {
            let verb = super::verb::find_verb(name.strip_prefix("corpusdb ")?)?;
            (!verb.python.is_empty()).then(|| format!("`{}()`", verb.python))
        }
    }
}

/// A name as the face has it, if it is an option of this verb or a verb.
pub fn spell_name(name: &str, face: Face, command: &Command) -> Option<String> {
    if let Some(arg) = command.get_arguments().find(|arg| arg.get_id() == name) {
        return Some(match (face, arg.get_long()) {
            (Face::Command, Some(long)) => format!("--{long}"),
            (Face::Command, None) => value_name(arg),
            (Face::Python, _) => format!("`{name}=`"),
        });
    }
    let verb = super::verb::find_verb(name)?;
    match face {
        Face::Command => Some(format!("`corpusdb {name}`")),
        Face::Python if verb.python.is_empty() => Some(format!("`corpusdb {name}`")),
        Face::Python => Some(format!("`{}()`", verb.python)),
    }
}

fn value_name(arg: &clap::Arg) -> String {
    let named = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    named.unwrap_or_else(|| arg.get_id().as_str().to_uppercase())
}

/// All texts of a command, spelt.
pub fn spell_command(command: Command, face: Face) -> Command {
    let names = command.clone();
    let spelt = |text: &StyledStr| StyledStr::from(spell(&text.to_string(), face, &names));
    let command = command.mut_args(|arg| {
        let (help, long_help) =
            (arg.get_help().map(spelt).unwrap_or_default(), arg.get_long_help().map(spelt));
        let arg = arg.help(help);
        if let Some(help) = long_help { arg.long_help(help) } else { arg }
    });
    let command = command.about(names.get_about().map(spelt).unwrap_or_default());
    match names.get_long_about().map(spelt) {
        Some(about) => command.long_about(about),
        None => command,
    }
}
