//! `corpusdb tokenizer export`: writes a tokenizer for other programs.

use crate::cli::files::{read_text, write_file};
use crate::cli::output::{self, Output};
use crate::cli::session::on_disk;
use crate::cli::verb::{PythonMethod, Report, Verb, VerbCall};
use anyhow::Context as _;
use corpusdb::Corpus;
use corpusdb::epoch::recipe::SpecialTokens;
use corpusdb::export::OutputFile;
use corpusdb::show::count;
use serde::Serialize;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Write a tokenizer: tokenizer.json, a SentencePiece .model, or a directory for transformers.
///
/// A name that ends in .model gets a SentencePiece model (of a BPE on characters or a Unigram), any other name the
/// tokenizer.json; - prints the latter.
#[derive(clap::Args)]
pub(super) struct TokenizerExportArgs {
    /// The tokenizer.
    name: String,
    /// The file to write.
    #[arg(value_parser = on_disk())]
    file: PathBuf,
    /// Write the files from which it was registered, unchanged, to the new directory `file`.
    #[arg(long, conflicts_with = "pretrained")]
    originals: bool,
    /// Write the new directory `file`, which AutoTokenizer.from_pretrained of transformers loads.
    ///
    /// With the special tokens that are named here and the chat template that wrote the conversations of the corpus.
    #[arg(long)]
    pretrained: bool,
    /// The token before a document, for `pretrained`.
    #[arg(long, requires = "pretrained", value_name = "TOKEN")]
    bos: Option<String>,
    /// The token behind a document, for `pretrained`.
    #[arg(long, requires = "pretrained", value_name = "TOKEN")]
    eos: Option<String>,
    /// The token that fills rows, for `pretrained`.
    #[arg(long, requires = "pretrained", value_name = "TOKEN")]
    pad: Option<String>,
    /// The chat template for `pretrained`, a Jinja file. By default the one by which conversations came in.
    #[arg(long, requires = "pretrained", value_name = "FILE")]
    chat_template: Option<PathBuf>,
}

/// A tokenizer that was written to files.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct TokenizerExportReport {
    /// The tokenizer.
    name: String,
    /// The file, or the directory.
    to: String,
    /// Bytes that were written.
    bytes: u64,
    /// What was written, and how to open it.
    #[serde(skip)]
    what: String,
    #[serde(skip)]
    way: &'static str,
    /// Whether the file went to standard output.
    #[serde(skip)]
    is_streamed: bool,
}

impl Verb for TokenizerExportArgs {
    const PATH: &str = "tokenizer export";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Corpus.tokenizers.export");
    const EXAMPLES: &[&str] = &[
        "corpusdb tokenizer export crawl own-32k tokenizer.json",
        "corpusdb tokenizer export crawl multi multi.model",
        "corpusdb tokenizer export crawl gpt2 files/ --originals",
        "corpusdb tokenizer export crawl own-32k own/ --pretrained --eos '<|endoftext|>'",
    ];
    type On = Corpus;
    type Report = TokenizerExportReport;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let (file, mut is_streamed) = (&self.file, false);
        let mut what = format!("the tokenizer {}", self.name);
        let mut way = "Tokenizer.from_file of tokenizers";
        let files = match (self.originals, self.pretrained) {
            (true, _) => Some(corpus.tokenizer_originals(&self.name)?),
            (_, true) => {
                note_other_ids(corpus, &self.name, call)?;
                let specials = SpecialTokens { bos: self.bos, eos: self.eos, pad: self.pad };
                let template = self.chat_template.as_deref().map(read_text).transpose()?;
                Some(corpus.pretrained_tokenizer(&self.name, &specials, template)?)
            }
            _ => None,
        };
        let bytes = if let Some(files) = files {
            // Checks that may fail come before the directory is made.
            for (name, _) in &files {
                OutputFile::judge(&file.join(name))?;
            }
            std::fs::create_dir(file)
                .with_context(|| format!("making the new directory {}", file.display()))?;
            for (name, bytes) in &files {
                write_file(&file.join(name), bytes)?;
            }
            what = format!("{what} in {}", count(files.len() as u64, "file", "files"));
            way =
                if self.pretrained { "AutoTokenizer.from_pretrained of transformers" } else { "" };
            files.iter().map(|(_, bytes)| bytes.len()).sum()
        } else if file.extension().is_some_and(|end| end == "model") {
            let model = corpus.sentencepiece_model(&self.name)?;
            if let Some(text) = &model.rounded {
                call.note(&format!(
                    "SentencePiece adds scores in 32 bits: of two ways with nearly equal scores it may take the other, as on {text}"
                ));
            }
            write_file(file, &model.bytes)?;
            way = "SentencePieceProcessor of sentencepiece";
            model.bytes.len()
        } else {
            let json = corpus.tokenizer_json(&self.name)?;
            note_other_ids(corpus, &self.name, call)?;
            is_streamed = file == Path::new("-") && call.session.is_some();
            match is_streamed {
                true => output::stdout().write_all(&json)?,
                false => write_file(file, &json)?,
            }
            json.len()
        };
        let to = file.to_string_lossy().into_owned();
        let (name, bytes) = (self.name, bytes as u64);
        Ok(TokenizerExportReport { name, to, bytes, what, way, is_streamed })
    }
}

/// Notes that the tokenizer.json of a SentencePiece model has other ids in other programs.
fn note_other_ids(corpus: &Corpus, name: &str, call: &VerbCall<'_>) -> anyhow::Result<()> {
    if let Some(text) = corpus.tokenizer_json_difference(name)? {
        call.note(&format!(
            "by this file the tokenizers library gives other ids than SentencePiece, as on {text}; give other programs NAME.model"
        ));
    }
    Ok(())
}

impl Report for TokenizerExportReport {
    const TYPE: &'static str = "tokenizer_export";

    fn print(&self, out: &mut Output) {
        out.wrote(&self.to, &self.what, self.bytes, self.way);
    }

    fn is_streamed(&self) -> bool {
        self.is_streamed
    }
}
