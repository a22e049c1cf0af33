//! `corpusdb tokenizer`: register, train, extend, ask and drop tokenizers.

mod add;
mod analyse;
mod ask;
mod check;
mod export;
mod extend;
pub mod told;
mod train;

use super::Outcome;
use super::session::CommandSession;
use std::path::PathBuf;

/// Register, train, extend, analyse, ask and drop tokenizers
#[derive(clap::Subcommand)]
pub(super) enum Verb {
    /// Register a tokenizer and encode what is stored
    Add(add::Add),
    Train(train::Train),
    Extend(extend::Extend),
    Diff(extend::Diff),
    Analyse(analyse::Analyse),
    Check(check::Check),
    Export(export::Export),
    /// Encode what a registered tokenizer has not encoded yet; goes on where an interrupt stopped
    #[command(after_help = "Example:\n  corpusdb tokenizer backfill crawl llama")]
    Backfill {
        /// The corpus
        corpus: PathBuf,
        /// The tokenizer
        name: String,
    },
    /// Forget a tokenizer with all its ids; refused while a stored plan is by it
    #[command(after_help = "Example:\n  corpusdb tokenizer drop crawl old")]
    Drop {
        /// The corpus
        corpus: PathBuf,
        /// The tokenizer
        name: String,
        /// Also when plans depend on it (they cannot be opened afterwards) or ids of it came with records
        #[arg(long)]
        force: bool,
    },
    /// List tokenizers
    List {
        /// The corpus
        corpus: PathBuf,
    },
    /// Show where a tokenizer came from: record, files, and every decision of its training
    #[command(after_help = "Example:\n  corpusdb tokenizer show crawl own-32k")]
    Show {
        /// The corpus
        corpus: PathBuf,
        /// The tokenizer
        name: String,
    },
    /// Show the tokens of a text: ids and pieces
    Encode(ask::Encode),
    /// Show the text of ids, piece by piece
    Decode(ask::Decode),
}

impl Verb {
    /// Whether the verb looks for Ctrl-C itself, to stop where nothing is lost.
    pub(super) const fn has_safe_points(&self) -> bool {
        matches!(
            self,
            Self::Add(_)
                | Self::Train(_)
                | Self::Extend(_)
                | Self::Analyse(_)
                | Self::Backfill { .. }
        )
    }
}

pub(super) fn run(verb: Verb, session: &CommandSession) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Add(add) => add::run(&add, session)?,
        Verb::Train(train) => train::run(&train, session)?,
        Verb::Extend(extend) => return extend::run(&extend, session),
        Verb::Analyse(analyse) => analyse::run(&analyse, session)?,
        Verb::Check(check) => return check::run(&check, session),
        Verb::Export(export) => export::run(&export, session)?,
        Verb::Diff(diff) => extend::diff(&diff, session)?,
        Verb::Backfill { corpus, name } => {
            let mut writer = session.write(&corpus)?;
            let added = writer.backfill(&name, &session.context())?;
            told::record(&added.record, Some(&added), session)?;
        }
        Verb::Drop { corpus, name, force } => {
            let plans = session.write(&corpus)?.drop_tokenizer(&name, force)?;
            told::dropped(&name, &plans, session)?;
        }
        Verb::List { corpus } => {
            for (_, record) in session.read(&corpus)?.view().tokenizers() {
                told::record(record, None, session)?;
            }
        }
        Verb::Show { corpus, name } => told::show(&session.read(&corpus)?, &name, session)?,
        Verb::Encode(encode) => ask::encode(&encode, session)?,
        Verb::Decode(decode) => ask::decode(&decode, session)?,
    }
    Ok(Outcome::Good)
}
