//! `corpusdb tokenizer add`: registers a tokenizer that exists as files.

use super::told;
use crate::cli::session::CommandSession;
use anyhow::Context as _;
use corpusdb::tokenizer::{Given, NewTokenizer, convert};
use std::path::{Path, PathBuf};

/// Register a tokenizer and encode what is stored
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb tokenizer add crawl llama tokenizer.json\n  corpusdb tokenizer add crawl gpt2 --vocab vocab.json --merges merges.txt\n  corpusdb tokenizer add crawl t5 spiece.model\n  corpusdb tokenizer add crawl gpt4 cl100k_base.tiktoken --pattern cl100k \\\n      --special '<|endoftext|>=100257'"
)]
pub(in crate::cli) struct Add {
    /// The corpus
    corpus: PathBuf,
    /// The name it gets
    name: String,
    /// A tokenizer.json (of tokenizers 0.x or 1.0), a SentencePiece .model, or, with --pattern, a tiktoken rank file
    #[arg(required_unless_present_all = ["vocab", "merges"])]
    file: Option<PathBuf>,
    /// GPT-2's vocab.json
    #[arg(long, requires = "merges", conflicts_with = "file")]
    vocab: Option<PathBuf>,
    /// GPT-2's merges.txt
    #[arg(long, requires = "vocab", conflicts_with = "file")]
    merges: Option<PathBuf>,
    /// The split pattern of a tiktoken rank file, which does not hold it: gpt2, cl100k, llama3, o200k, qwen2, tekken,
    /// or a regular expression
    #[arg(long, requires = "file")]
    pattern: Option<String>,
    /// A special token of a tiktoken rank file
    #[arg(long = "special", value_name = "TOKEN=ID", requires = "pattern", value_parser = special)]
    specials: Vec<(String, u32)>,
    /// Register only; `tokenizer backfill`, or the next ingest, encodes what is stored
    #[arg(long)]
    no_backfill: bool,
}

pub(super) fn run(verb: &Add, session: &CommandSession) -> anyhow::Result<()> {
    let (converted, lineage) = match (&verb.file, &verb.vocab, &verb.merges) {
        (Some(file), _, _) => {
            let bytes = read(file)?;
            let given = match &verb.pattern {
                Some(pattern) => {
                    Given::Tiktoken { ranks: &bytes, pattern, specials: &verb.specials }
                }
                None if file.extension().is_some_and(|end| end == "model") => {
                    Given::SentencePiece(&bytes)
                }
                None => Given::TokenizerJson(&bytes),
            };
            let converted = convert(given).map_err(corpusdb::Error::from);
            (converted.with_context(|| file.display().to_string())?, file.display().to_string())
        }
        (None, Some(vocab), Some(merges)) => {
            let lineage = format!("{} and {}", vocab.display(), merges.display());
            let (vocab, merges) = (read(vocab)?, read(merges)?);
            let given = Given::VocabAndMerges { vocab: &vocab, merges: &merges };
            (convert(given).map_err(corpusdb::Error::from)?, lineage)
        }
        _ => anyhow::bail!("give a file, or --vocab and --merges"),
    };
    let new = NewTokenizer {
        name: &verb.name,
        json: &converted.json,
        lineage: &lineage,
        originals: &converted.originals,
        ..NewTokenizer::default()
    };
    let mut writer = session.write(&verb.corpus)?;
    let record = writer.register(&new)?;
    if verb.no_backfill {
        return told::record(&record, None, session);
    }
    let added = writer.backfill(&verb.name, &session.context())?;
    told::record(&added.record, Some(&added), session)
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("reading {}", path.display()))
}

fn special(text: &str) -> Result<(String, u32), String> {
    let (token, id) = text
        .rsplit_once('=')
        .filter(|(token, _)| !token.is_empty())
        .ok_or_else(|| format!("`{text}` is not TOKEN=ID"))?;
    let id = id.parse().map_err(|_| format!("`{id}` in `{text}` is not an id"))?;
    Ok((token.to_owned(), id))
}
