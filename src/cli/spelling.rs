//! Names of options and verbs, as a face has them.
//!
//! Texts of options, which hold no names of users, have an option by its field (`` `id_field` ``) and a verb by its path
//! (`` `dedup settle` ``). Messages, which quote names of users in backticks, have them in forms that are no such names:
//! `` `id_field=` `` and `` `corpusdb dedup settle` ``, with a value `` `chat=messages` ``. The command spells them
//! `--id-field`, `` `corpusdb dedup settle` `` and `--chat messages`, Python `` `id_field=` ``, `` `Writer.settle()` ``
//! and `` `chat="messages"` ``.

use clap::Command;
use clap::builder::StyledStr;
use std::collections::BTreeSet;
use std::sync::LazyLock;

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
    if let Some((field, value)) = name.split_once('=').filter(|(field, _)| is_option(field)) {
        return Some(spell_option(field, value, face));
    }
    let verb = super::verb::find_verb(name.strip_prefix("corpusdb ")?)?;
    (face == Face::Python && !verb.python.is_empty()).then(|| format!("`{}()`", verb.python))
}

/// An option with its value, where there is one.
fn spell_option(field: &str, value: &str, face: Face) -> String {
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    match face {
        Face::Command => {
            let flag = field.replace('_', "-");
            match value {
                "" | "true" => format!("--{flag}"),
                "false" => format!("--no-{flag}"),
                value => format!("--{flag} {value}"),
            }
        }
        Face::Python => match value {
            "" => format!("`{field}=`"),
            "true" => format!("`{field}=True`"),
            "false" => format!("`{field}=False`"),
            value if is_number => format!("`{field}={value}`"),
            value => format!("`{field}=\"{value}\"`"),
        },
    }
}

/// Whether a verb has an option of that name: what users quote may have an equals sign in it, too.
fn is_option(field: &str) -> bool {
    static OPTIONS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let mut found = BTreeSet::new();
        options_of(&super::command(), &mut found);
        found
    });
    OPTIONS.contains(field)
}

fn options_of(command: &Command, found: &mut BTreeSet<String>) {
    found.extend(command.get_arguments().map(|arg| arg.get_id().to_string()));
    command.get_subcommands().for_each(|verb| options_of(verb, found));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_spelt_by_the_face_and_what_users_quote_is_not() {
        for (text, command, python) in [
            ("give `id_field=`", "give --id-field", "give `id_field=`"),
            ("`chat=messages`, then", "--chat messages, then", "`chat=\"messages\"`, then"),
            ("`quotes=false`", "--no-quotes", "`quotes=False`"),
            ("`memory=5000`", "--memory 5000", "`memory=5000`"),
            ("no source `memory`", "no source `memory`", "no source `memory`"),
            ("`a=b` is no size", "`a=b` is no size", "`a=b` is no size"),
            ("an odd ` alone", "an odd ` alone", "an odd ` alone"),
        ] {
            assert_eq!(spell_message(text, Face::Command), command);
            assert_eq!(spell_message(text, Face::Python), python);
        }
    }
}
