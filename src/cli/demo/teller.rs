//! How the demo speaks: numbered steps, the command that does the same, short lines. Silent with `--json`.

use crate::cli::print;
use std::cell::Cell;

/// Characters of a line of prose.
const WIDTH: usize = 77;

/// Tells the demo's story on stdout.
pub(super) struct Teller {
    silent: bool,
    steps: Cell<u32>,
}

impl Teller {
    pub(super) fn new(silent: bool) -> Self {
        Self { silent, steps: Cell::new(0) }
    }

    /// Begins a step.
    pub(super) fn step(&self, title: &str) -> anyhow::Result<()> {
        self.steps.set(self.steps.get() + 1);
        let heading = format!("{}. {title}", self.steps.get());
        self.say("")?;
        self.say(&heading)?;
        self.say(&"-".repeat(heading.chars().count()))
    }

    /// The command that does what comes next.
    pub(super) fn command(&self, words: &[&str]) -> anyhow::Result<()> {
        self.say(&format!("  $ {}", command(words)))
    }

    /// A command of the shell, quoted already.
    pub(super) fn command_line(&self, words: &[&str]) -> anyhow::Result<()> {
        self.say(&format!("  $ {}", words.join(" ")))
    }

    /// A line; empty for a gap.
    pub(super) fn say(&self, line: &str) -> anyhow::Result<()> {
        if self.silent { Ok(()) } else { print::line(line) }
    }

    /// Sentences, in lines that fit a terminal.
    pub(super) fn prose(&self, text: &str) -> anyhow::Result<()> {
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() && line.chars().count() + word.chars().count() >= WIDTH {
                self.say(&format!("  {line}"))?;
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.say(&format!("  {line}"))
    }

    /// A table between gaps.
    pub(super) fn table(&self, head: &[&str], rows: &[Vec<String>]) -> anyhow::Result<()> {
        if self.silent {
            return Ok(());
        }
        print::line("")?;
        print::table(head, rows)?;
        print::line("")
    }
}

/// `corpusdb` with these words, as a shell would take it.
pub(super) fn command(words: &[&str]) -> String {
    let quoted: Vec<String> =
        std::iter::once(&"corpusdb").chain(words).map(|word| quote(word)).collect();
    quoted.join(" ")
}

/// A word as a POSIX shell reads it back.
pub(super) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if word.contains('\'') && !word.contains(['"', '$', '`', '\\', '!']) {
        return format!("\"{word}\"");
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quote("a/b-1.toml"), "a/b-1.toml");
        assert_eq!(quote("two words"), "'two words'");
        assert_eq!(quote("source = 'code'"), "\"source = 'code'\"");
        assert_eq!(quote("it's $5"), "'it'\\''s $5'");
        assert_eq!(quote(""), "''");
    }
}
