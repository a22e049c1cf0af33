//! `corpusdb tokenizer`: register, train and list tokenizers.

use super::setup::Context;
use super::{Outcome, print};
use anyhow::Context as _;
use clap::ValueEnum;
use corpusdb::{CorpusWriter, TokenizerRecord, TrainOptions, from_vocab_and_merges};
use std::path::{Path, PathBuf};

/// Register, train and list tokenizers
#[derive(clap::Subcommand)]
pub(super) enum Verb {
    /// Register a tokenizer and encode what is stored
    #[command(
        after_help = "Examples:\n  corpusdb tokenizer add crawl llama tokenizer.json\n  corpusdb tokenizer add crawl gpt2 --vocab vocab.json --merges merges.txt"
    )]
    Add {
        /// The corpus
        corpus: PathBuf,
        /// The name it gets
        name: String,
        /// A tokenizer.json
        #[arg(required_unless_present_all = ["vocab", "merges"])]
        file: Option<PathBuf>,
        /// GPT-2's vocab.json
        #[arg(long, requires = "merges", conflicts_with = "file")]
        vocab: Option<PathBuf>,
        /// GPT-2's merges.txt
        #[arg(long, requires = "vocab", conflicts_with = "file")]
        merges: Option<PathBuf>,
    },
    /// Train a tokenizer on the kept documents, register it and encode what is stored
    #[command(
        after_help = "Example:\n  corpusdb tokenizer train crawl own-32k --model bpe --vocab-size 32768"
    )]
    Train {
        /// The corpus
        corpus: PathBuf,
        /// The name it gets
        name: String,
        /// The kind of model
        #[arg(long, value_enum, default_value_t = Model::Bpe)]
        model: Model,
        /// Tokens, special ones and the 256 bytes included
        #[arg(long, default_value_t = 32_768, value_name = "N")]
        vocab_size: u32,
        /// Special tokens, first ids first
        #[arg(long = "special", value_name = "TOKEN", default_value = "<|endoftext|>")]
        specials: Vec<String>,
    },
    /// List tokenizers
    List {
        /// The corpus
        corpus: PathBuf,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Model {
    /// Byte-level byte-pair encoding
    Bpe,
}

pub(super) fn run(verb: Verb, context: &Context) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Add { corpus, name, file, vocab, merges } => {
            let (json, lineage) = match (file, vocab, merges) {
                (Some(file), _, _) => (read(&file)?, file.display().to_string()),
                (None, Some(vocab), Some(merges)) => {
                    let json = from_vocab_and_merges(&read(&vocab)?, &read(&merges)?)
                        .map_err(corpusdb::Error::from)?;
                    (json, format!("{} and {}", vocab.display(), merges.display()))
                }
                _ => anyhow::bail!("give a tokenizer.json, or --vocab and --merges"),
            };
            let mut writer = context.write(&corpus)?;
            register(&mut writer, &name, &json, &lineage, context)?;
        }
        Verb::Train { corpus, name, model: Model::Bpe, vocab_size, specials } => {
            let mut writer = context.write(&corpus)?;
            let options = TrainOptions { vocab_size, specials };
            let json = writer.train_bpe(&options, context.progress.as_ref())?;
            let lineage =
                format!("bpe, {vocab_size} ids, trained at commit {}", writer.view().commit());
            register(&mut writer, &name, &json, &lineage, context)?;
        }
        Verb::List { corpus } => {
            for (_, record) in context.read(&corpus)?.view().tokenizers() {
                report(record, None, context)?;
            }
        }
    }
    Ok(Outcome::Good)
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("reading {}", path.display()))
}

fn register(
    writer: &mut CorpusWriter,
    name: &str,
    json: &[u8],
    lineage: &str,
    context: &Context,
) -> anyhow::Result<()> {
    let (record, tokens) =
        writer.add_tokenizer(name, json, lineage, context.progress.as_ref(), &context.interrupt)?;
    report(&record, Some(tokens), context)
}

fn report(record: &TokenizerRecord, tokens: Option<u64>, context: &Context) -> anyhow::Result<()> {
    let hash: String = record.hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let complete = record.encoded_to == u64::MAX;
    if context.json {
        return print::json(&serde_json::json!({
            "type": "tokenizer", "name": record.name, "vocab_size": record.vocab_size, "hash": hash,
            "lineage": record.lineage, "backend": record.backend, "complete": complete, "encoded_tokens": tokens,
        }));
    }
    let encoded = tokens
        .map_or(String::new(), |tokens| format!(", encoded {} tokens", print::number(tokens)));
    let state = if complete { "" } else { "; encoding was interrupted, add it again to go on" };
    print::line(&format!(
        "{}: {} ids, {} encoder{encoded}{state} ({})",
        record.name, record.vocab_size, record.backend, record.lineage
    ))
}
