//! `corpusdb tokenizer export`: a tokenizer as a file.

use crate::cli::report::write_file;
use crate::cli::session::{CommandSession, on_disk};
use anyhow::Context as _;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write a tokenizer to a file: tokenizer.json, or a SentencePiece .model
///
/// A name that ends in `.model` gives a SentencePiece model of a BPE on characters or a Unigram; any other name its
/// tokenizer.json; `-` prints that.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb tokenizer export crawl own-32k tokenizer.json\n  corpusdb tokenizer export crawl multi multi.model\n  corpusdb tokenizer export crawl gpt2 files/ --originals"
)]
pub(in crate::cli) struct Export {
    /// The corpus
    corpus: PathBuf,
    /// The tokenizer
    name: String,
    /// The file to write
    #[arg(value_parser = on_disk())]
    file: PathBuf,
    /// Write the files that it was registered with, verbatim, to the new directory FILE
    #[arg(long)]
    originals: bool,
}

pub(super) fn run(verb: &Export, session: &CommandSession) -> anyhow::Result<()> {
    let corpus = session.read(&verb.corpus)?;
    if verb.originals {
        let files = corpus.tokenizer_originals(&verb.name)?;
        std::fs::create_dir(&verb.file)
            .with_context(|| format!("making the new directory {}", verb.file.display()))?;
        for (name, bytes) in files {
            write_file(&verb.file.join(name), &bytes)?;
        }
        return Ok(());
    }
    if verb.file.extension().is_some_and(|end| end == "model") {
        return write_file(&verb.file, &corpus.sentencepiece_model(&verb.name)?);
    }
    let json = corpus.tokenizer_json(&verb.name)?;
    if verb.file == Path::new("-") {
        return Ok(std::io::stdout().lock().write_all(&json)?);
    }
    write_file(&verb.file, &json)
}
