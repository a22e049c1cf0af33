//! Parses input of the shell into statements, dot commands, or the beginning of either.
//!
//! Parsing does nothing else, so all of it is tested.

use corpusdb::sql::{PrintFormat, ScriptEnd, ScriptStatement, SqlScript};
use std::path::PathBuf;

/// A command as `.help` lists it.
pub(super) struct ShellCommandHelp {
    pub(super) usage: &'static str,
    pub(super) help: &'static str,
}

/// All commands.
pub(super) const COMMANDS: [ShellCommandHelp; 8] = [
    ShellCommandHelp { usage: ".help", help: "this list" },
    ShellCommandHelp {
        usage: ".mode [table|line|csv|json|jsonl|markdown]",
        help: "set the format of answers, or show it",
    },
    ShellCommandHelp {
        usage: ".output [FILE [--force]]",
        help: "write the next answer to FILE (.parquet, .arrow, .csv, .jsonl), complete or not at all; without FILE, print it",
    },
    ShellCommandHelp {
        usage: ".schema [TABLE]",
        help: "show the columns of a table, or of all, with their meaning",
    },
    ShellCommandHelp { usage: ".tables", help: "the tables" },
    ShellCommandHelp { usage: ".timer on|off", help: "show how long each statement took" },
    ShellCommandHelp { usage: ".quit", help: "leave the shell, as Ctrl-D does" },
    ShellCommandHelp { usage: ".exit", help: "the same" },
];

/// A command with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ShellCommand {
    Help,
    Mode(Option<PrintFormat>),
    /// The file, and whether it may be replaced.
    Output(Option<(PathBuf, bool)>),
    Schema(Option<String>),
    Tables,
    Timer(bool),
    Quit,
}

impl ShellCommandHelp {
    pub(super) fn word(&self) -> &'static str {
        self.usage.split(' ').next().unwrap_or_default()
    }
}

impl ShellCommand {
    /// Parses a line that begins with a dot; the error says what is wrong. A command may be shortened to an unambiguous
    /// beginning.
    pub(super) fn read(line: &str) -> Result<Self, String> {
        let line = line.trim().trim_end_matches(';').trim_end();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let lower = word.to_ascii_lowercase();
        let found: Vec<&ShellCommandHelp> = match COMMANDS.iter().find(|it| it.word() == lower) {
            Some(exact) => vec![exact],
            None => COMMANDS.iter().filter(|it| it.word().starts_with(&lower)).collect(),
        };
        let [entry] = found.as_slice() else {
            let words: Vec<&str> = COMMANDS.iter().map(ShellCommandHelp::word).collect();
            return Err(format!("no command `{word}`; there are {}", words.join(", ")));
        };
        let misused = || format!("it is `{}`", entry.usage);
        let command = match entry.word() {
            ".mode" if rest.is_empty() => return Ok(Self::Mode(None)),
            ".mode" => Self::Mode(Some(PrintFormat::from_name(rest).ok_or_else(misused)?)),
            ".timer" => Self::Timer(match rest {
                "on" => true,
                "off" => false,
                _ => return Err(misused()),
            }),
            ".schema" => Self::Schema((!rest.is_empty()).then(|| unquoted(rest, '"'))),
            ".output" if rest.is_empty() => Self::Output(None),
            ".output" => {
                let (file, force) = match rest.strip_suffix("--force") {
                    Some(file) if file.ends_with(char::is_whitespace) => (file.trim_end(), true),
                    _ => (rest, false),
                };
                Self::Output(Some((unquoted(file, '\'').into(), force)))
            }
            _ if !rest.is_empty() => return Err(misused()),
            ".help" => Self::Help,
            ".tables" => Self::Tables,
            _ => Self::Quit,
        };
        Ok(command)
    }
}

/// The text within quotes.
fn unquoted(text: &str, quote: char) -> String {
    let within = |quote| text.strip_prefix(quote).and_then(|it| it.strip_suffix(quote));
    within(quote).or_else(|| within('"')).unwrap_or(text).to_owned()
}

/// What the shell does with an input.
#[derive(Debug, PartialEq)]
pub(super) enum ShellStep {
    /// Only space and comments.
    Nothing,
    /// A statement that continues on the next line.
    Incomplete,
    /// An error.
    Wrong(String),
    /// A dot command, or a word with which people leave shells.
    Command(ShellCommand),
    /// Statements, all ended by `;`.
    Statements(Vec<ScriptStatement>),
}

/// Parses `input`, one line or several.
pub(super) fn step(input: &str) -> ShellStep {
    let line = input.trim();
    if line.starts_with('.') {
        return match ShellCommand::read(line) {
            Ok(command) => ShellStep::Command(command),
            Err(why) => ShellStep::Wrong(why),
        };
    }
    match line.to_ascii_lowercase().trim_end_matches(';') {
        "quit" | "exit" => return ShellStep::Command(ShellCommand::Quit),
        "help" => return ShellStep::Command(ShellCommand::Help),
        _ => {}
    }
    let script = SqlScript::read(input);
    match script.end {
        ScriptEnd::Ended if script.statements.is_empty() => ShellStep::Nothing,
        ScriptEnd::Ended => ShellStep::Statements(script.statements),
        ScriptEnd::Fault(fault) => {
            ShellStep::Wrong(format!("line {}, column {}: {}", fault.line, fault.column, fault.why))
        }
        // A later line closes the string.
        _ => ShellStep::Incomplete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_take_what_they_say_and_may_be_cut_short() {
        let read = |line: &str| ShellCommand::read(line);
        assert_eq!(read(".h"), Ok(ShellCommand::Help));
        assert_eq!(read(".mode csv;"), Ok(ShellCommand::Mode(Some(PrintFormat::Csv))));
        assert_eq!(read(".MODE jsonl"), Ok(ShellCommand::Mode(Some(PrintFormat::Json))));
        assert_eq!(read(".mode"), Ok(ShellCommand::Mode(None)));
        assert_eq!(read(".timer on"), Ok(ShellCommand::Timer(true)));
        assert_eq!(
            read(".schema \"my table\""),
            Ok(ShellCommand::Schema(Some("my table".to_owned())))
        );
        assert_eq!(read(".schema"), Ok(ShellCommand::Schema(None)));
        let output = |file: &str, force| Ok(ShellCommand::Output(Some((file.into(), force))));
        assert_eq!(read(".output a b.csv"), output("a b.csv", false));
        assert_eq!(read(".output 'a b.csv' --force"), output("a b.csv", true));
        assert_eq!(read(".o"), Ok(ShellCommand::Output(None)));
        for line in [".mode xml", ".timer", ".timer maybe", ".tables documents", ".help me"] {
            assert!(read(line).unwrap_err().starts_with("it is `."), "{line}");
        }
        // Two commands begin so.
        for line in [".t", ".", ".foo"] {
            let told = read(line).unwrap_err();
            assert!(COMMANDS.iter().all(|it| told.contains(it.word())), "{line}: {told}");
        }
    }

    #[test]
    fn help_names_every_form_there_is() {
        let usage = COMMANDS.iter().find(|it| it.word() == ".mode").unwrap().usage;
        assert!(PrintFormat::ALL.iter().all(|format| usage.contains(format.name())));
    }

    fn statements(input: &str) -> Vec<String> {
        match step(input) {
            ShellStep::Statements(statements) => statements.into_iter().map(|it| it.text).collect(),
            other => panic!("{input}: {other:?}"),
        }
    }

    #[test]
    fn a_statement_goes_on_until_its_semicolon() {
        for typed in [
            "SELECT 1",
            "SELECT\n1",
            "SELECT ';'",
            "SELECT ';",
            "SELECT 1 /* ;",
            "a; b",
            "SELECT 1 -- ;",
        ] {
            assert_eq!(step(typed), ShellStep::Incomplete, "{typed}");
        }
        assert_eq!(statements("SELECT\n  1;"), ["SELECT\n  1"]);
        assert_eq!(statements("SELECT ';\n'; SELECT 2 ; -- done"), ["SELECT ';\n'", "SELECT 2"]);
        for typed in ["", "  \n ", "-- nothing", "/* nothing */", ";"] {
            assert_eq!(step(typed), ShellStep::Nothing, "{typed}");
        }
    }

    #[test]
    fn commands_have_a_point_and_people_leave_as_they_are_used_to() {
        assert_eq!(step(" .tables "), ShellStep::Command(ShellCommand::Tables));
        for typed in ["quit", "EXIT;", ".quit", ".exit"] {
            assert_eq!(step(typed), ShellStep::Command(ShellCommand::Quit), "{typed}");
        }
        assert_eq!(step("help"), ShellStep::Command(ShellCommand::Help));
        assert!(matches!(step(".foo"), ShellStep::Wrong(why) if why.contains(".tables")));
        // A dot within a statement does not start a command.
        assert_eq!(step("SELECT\n.5"), ShellStep::Incomplete);
    }
}
