//! `corpusdb tokenizer encode`: the tokens of a text, and the text of ids.

use crate::cli::output::Output;
use crate::cli::verb::{PythonMethod, Report, Verb, VerbCall};
use anyhow::Context as _;
use corpusdb::Corpus;
use corpusdb::tokenizer::{BestSegmentations, ScoredSegmentation, Segmentation, TokenPiece};
use serde::Serialize;
use std::io::Read;

/// Show the tokens of a text, or the text of ids: ids and pieces.
#[derive(clap::Args)]
pub(super) struct TokenizerEncodeArgs {
    /// The tokenizer.
    name: String,
    /// The text. By default standard input is read.
    #[arg(long, allow_hyphen_values = true)]
    text: Option<String>,
    /// Whether special tokens spelled in the text become special tokens. By default they are plain text.
    #[arg(long)]
    specials: bool,
    /// Show the N best segmentations of a Unigram with their probabilities: up to 1,024.
    #[arg(long, value_name = "N", conflicts_with_all = ["alpha", "dropout", "segmentation_seed"])]
    nbest: Option<usize>,
    /// Draw a segmentation of a Unigram with probability proportional to P^A.
    ///
    /// All are alike at 0, and if A is large it is the best one. As SentencePiece's parameter of that name, over all segmentations.
    #[arg(long, value_name = "A")]
    alpha: Option<f64>,
    /// Draw a segmentation of a BPE, where each merge is passed over with this probability.
    #[arg(long, value_name = "P")]
    dropout: Option<f64>,
    /// The seed of `alpha` or `dropout`: the same seed and text give the same segmentation.
    #[arg(long, value_name = "SEED")]
    segmentation_seed: Option<u64>,
    /// Show the text of these ids, separated by spaces or commas; without a value, of those on standard input.
    #[arg(
        long,
        value_name = "ID",
        num_args = 0..,
        conflicts_with_all = ["text", "specials", "nbest", "alpha", "dropout", "segmentation_seed"]
    )]
    ids: Option<Vec<String>>,
}

/// A text and its tokens.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct TokenizedText {
    /// The tokenizer.
    tokenizer: String,
    /// The text.
    text: String,
    /// Its tokens, each with its text.
    tokens: Vec<TokenPiece>,
    /// Its best segmentations, if they were asked for; the first has these tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    nbest: Option<BestSegmentations>,
}

impl Verb for TokenizerEncodeArgs {
    const PATH: &str = "tokenizer encode";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Corpus.tokenizers.encode");
    const EXAMPLES: &[&str] = &[
        "corpusdb tokenizer encode crawl gpt2 --text 'Hello, world'",
        "corpusdb tokenizer encode crawl gpt2 --json < page.txt",
        "corpusdb tokenizer encode crawl gpt2 --ids 15496 11 995",
        "corpusdb tokenizer encode crawl multi --text 'Hello, world' --nbest 5",
        "corpusdb tokenizer encode crawl multi --text 'Hello, world' --alpha 0.2 --segmentation-seed 7",
    ];
    type On = Corpus;
    type Report = TokenizedText;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        if let Some(ids) = self.ids {
            let words = (!ids.is_empty()).then(|| ids.join(" "));
            return text_of(corpus, self.name, &parse_ids(&text_or_stdin(words, call)?)?);
        }
        let text = text_or_stdin(self.text, call)?;
        let name = Some(&*self.name);
        let (tokens, nbest) = match self.nbest {
            Some(count) => {
                let best = corpus.best_segmentations(name, &text, self.specials, count)?;
                let first = best.segmentations.first();
                (first.map(|first| first.tokens.clone()).unwrap_or_default(), Some(best))
            }
            None => {
                let Self { segmentation_seed, alpha, dropout, .. } = self;
                let segmentation = Segmentation::of_options(segmentation_seed, alpha, dropout)
                    .map_err(corpusdb::Error::from)?;
                (corpus.encode(name, &text, self.specials, segmentation)?, None)
            }
        };
        Ok(TokenizedText { tokenizer: self.name, text, tokens, nbest })
    }
}

/// The text of ids, with the text of each.
fn text_of(corpus: &Corpus, tokenizer: String, ids: &[u32]) -> anyhow::Result<TokenizedText> {
    let text = corpus.decode(Some(&tokenizer), ids)?;
    let loaded = corpus.tokenizer(Some(&tokenizer))?;
    let piece = |id: u32| -> anyhow::Result<TokenPiece> {
        let text = loaded.tokenizer.decode(&[id]).map_err(corpusdb::Error::from)?;
        Ok(TokenPiece { id, text })
    };
    let tokens = ids.iter().map(|id| piece(*id)).collect::<Result<_, _>>()?;
    Ok(TokenizedText { tokenizer, text, tokens, nbest: None })
}

impl Report for TokenizedText {
    const TYPE: &'static str = "tokens";

    fn print(&self, out: &mut Output) {
        if let Some(best) = &self.nbest {
            return print_segmentations(best, out);
        }
        let row = |piece: &TokenPiece| vec![piece.id.to_string(), format!("{:?}", piece.text)];
        out.table(&["id", "piece"], self.tokens.iter().map(row));
        let (tokens, bytes) = (self.tokens.len(), self.text.len());
        out.line(format!("{tokens} tokens, {bytes} bytes: {:?}", self.text));
    }
}

fn print_segmentations(best: &BestSegmentations, out: &mut Output) {
    let row = |one: &ScoredSegmentation| {
        let pieces: Vec<String> = one.tokens.iter().map(|piece| quoted(&piece.text)).collect();
        let (share, log) = (one.probability, one.log_probability);
        vec![format!("{share:.6}"), format!("{log:.4}"), pieces.join(" ")]
    };
    let head = ["probability", "log probability", "pieces"];
    out.table(&head, best.segmentations.iter().map(row));
    out.line(format!(
        "entropy of all segmentations {:.4} nats, log likelihood {:.4}",
        best.entropy, best.log_likelihood
    ));
}

/// A piece as it is, unless that would not be seen as one.
fn quoted(piece: &str) -> String {
    let is_plain = !piece.is_empty()
        && !piece.chars().any(|character| character.is_whitespace() || character.is_control());
    if is_plain { piece.to_owned() } else { format!("{piece:?}") }
}

/// The text of the argument, else of standard input.
fn text_or_stdin(text: Option<String>, call: &VerbCall<'_>) -> anyhow::Result<String> {
    if let Some(text) = text {
        return Ok(text);
    }
    anyhow::ensure!(call.session.is_some(), "give `text=`: standard input is for the command");
    let mut read = String::new();
    std::io::stdin().read_to_string(&mut read).context("reading standard input")?;
    Ok(read)
}

fn parse_ids(text: &str) -> anyhow::Result<Vec<u32>> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']'));
    words
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().with_context(|| format!("`{word}` is not an id")))
        .collect()
}
