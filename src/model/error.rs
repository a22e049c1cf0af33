//! What errors of all rooms are made of: a file that the system refused, a stop that was asked for, a hint; and an error
//! in words, with what is behind it.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What the system refused to do to a file or directory.
#[derive(Debug, thiserror::Error)]
#[error("{doing} {}", path.display())]
pub struct IoError {
    /// What was being done, such as `writing`.
    pub doing: &'static str,
    /// To what.
    pub path: PathBuf,
    /// Why it failed.
    #[source]
    pub source: io::Error,
}

impl IoError {
    /// The error of doing so to a path, for `map_err`.
    pub(crate) fn of(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self { doing, path, source }
    }
}

/// A stop that was asked for: what was committed before it stays, and the same call goes on from there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interrupted {
    /// What this call had done by then, where it counts: how many, and of what, such as `documents were added`.
    pub done: Option<(u64, &'static str)>,
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted; ")?;
        if let Some((count, what)) = self.done {
            write!(f, "{count} {what}, ")?;
        }
        f.write_str("run the same command again to go on")
    }
}

impl Error for Interrupted {}

/// The way out of an error, beside a message that says only what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// What to do, in words for every face.
    pub text: Cow<'static, str>,
    /// The command or flag that does it, as the shell has it; the command line prints it, others leave it.
    pub command: Option<Cow<'static, str>>,
}

impl Hint {
    /// What to do, in words.
    pub(crate) fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), command: None }
    }

    /// The way out of a row that is not as it was written.
    pub(crate) fn deep_check() -> Self {
        Self::text("find out what else is damaged").with_command("corpusdb check --deep")
    }

    /// The same, with what does it in a shell.
    pub(crate) fn with_command(self, command: impl Into<Cow<'static, str>>) -> Self {
        Self { command: Some(command.into()), ..self }
    }
}

/// As the command line prints it, behind the message.
impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match &self.command {
            Some(command) => write!(f, ": `{command}`"),
            None => Ok(()),
        }
    }
}

/// `From` of the error of a lower room: a stop stays a stop, whoever hears of it.
macro_rules! from_lower {
    ($error:ident :: $variant:ident ( $lower:ident )) => {
        impl From<$lower> for $error {
            fn from(error: $lower) -> Self {
                match error {
                    $lower::Interrupted(stop) => Self::Interrupted(stop),
                    other => Self::$variant(other),
                }
            }
        }
    };
}

pub(crate) use from_lower;

/// The words of an error and of what is behind it, without what stands there twice.
#[must_use]
pub fn error_words(error: &(dyn Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let more = source.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        next = source.source();
    }
    words
}
