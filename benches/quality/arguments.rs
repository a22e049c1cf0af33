//! What the command line says.

use crate::stored::MEMORY;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};

/// How to run it.
pub const USAGE: &str = "\
usage: cargo bench --bench quality -- truth DIR [--corpus NAME] [--normaliser NAME]
       cargo bench --bench quality -- edits DIR [--text NAME]
       cargo bench --bench quality -- stress [--documents N] [--scenario NAME] [--memory GIB]
DIR holds tldr.jsonl.zst, peps.jsonl.zst and code.jsonl.zst, one object a line with `id` and `text`";

/// A command with its directory and options.
pub struct Arguments {
    /// Which proof.
    pub command: String,
    directory: Option<PathBuf>,
    options: Vec<(String, String)>,
}

impl Arguments {
    /// Reads the arguments behind the program's name. Cargo adds `--bench`, which says nothing here.
    pub fn parse(words: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let mut words = words.filter(|word| word != "--bench");
        let Some(command) = words.next() else { bail!("no command\n{USAGE}") };
        let mut arguments = Self { command, directory: None, options: Vec::new() };
        while let Some(word) = words.next() {
            match word.strip_prefix("--") {
                Some("corpus" | "normaliser" | "text" | "documents" | "scenario" | "memory") => {
                    let value = words.next().with_context(|| format!("{word} has no value"))?;
                    arguments.options.push((word, value));
                }
                Some(_) => bail!("no option `{word}`\n{USAGE}"),
                None if arguments.directory.is_none() => {
                    arguments.directory = Some(PathBuf::from(word));
                }
                None => bail!("one directory, not also `{word}`\n{USAGE}"),
            }
        }
        Ok(arguments)
    }

    /// The directory of data, which must be there.
    pub fn directory(&self) -> anyhow::Result<&Path> {
        let Some(directory) = &self.directory else {
            bail!("`{}` needs the directory of the data\n{USAGE}", self.command)
        };
        if !directory.is_dir() {
            bail!("{} is not a directory\n{USAGE}", directory.display());
        }
        Ok(directory)
    }

    /// The value of an option, written with its dashes.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Whether `value` is asked for: no such option, or this value.
    pub fn wants(&self, name: &str, value: &str) -> bool {
        self.option(name).is_none_or(|wanted| wanted == value)
    }

    /// The number of documents to stress with: a multiple of eight.
    pub fn documents(&self) -> anyhow::Result<usize> {
        let documents = match self.option("--documents") {
            None => 100_000,
            Some(word) => word.parse().context("--documents is not a number")?,
        };
        if documents < 8 {
            bail!("--documents must be 8 or more");
        }
        Ok(documents / 8 * 8)
    }

    /// GiB of memory that a corpus may use.
    pub fn memory(&self) -> anyhow::Result<u64> {
        match self.option("--memory") {
            None => Ok(MEMORY),
            Some(word) => word.parse().context("--memory is not a number of GiB"),
        }
    }
}
