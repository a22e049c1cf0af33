//! `corpusdb tokenizer encode` and `decode`: ids and pieces of a text, the text of ids.

use crate::cli::print;
use crate::cli::session::CommandSession;
use anyhow::Context as _;
use corpusdb::tokenizer::Piece;
use std::io::Read;
use std::path::PathBuf;

/// Show the tokens of a text: ids and pieces
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb tokenizer encode crawl gpt2 --text 'Hello, world'\n  corpusdb tokenizer encode crawl gpt2 --json < page.txt"
)]
pub(in crate::cli) struct Encode {
    /// The corpus
    corpus: PathBuf,
    /// The tokenizer
    name: String,
    /// The text [default: standard input]
    #[arg(long)]
    text: Option<String>,
    /// Special tokens spelled in the text are special tokens, not text
    #[arg(long)]
    specials: bool,
}

/// Show the text of ids, piece by piece
#[derive(clap::Args)]
#[command(after_help = "Example:\n  corpusdb tokenizer decode crawl gpt2 15496 11 995")]
pub(in crate::cli) struct Decode {
    /// The corpus
    corpus: PathBuf,
    /// The tokenizer
    name: String,
    /// The ids
    #[arg(value_name = "ID")]
    ids: Vec<u32>,
    /// The ids in one text, with spaces or commas between them [default: standard input]
    #[arg(long, conflicts_with = "ids", value_name = "IDS")]
    text: Option<String>,
}

pub(super) fn encode(verb: &Encode, session: &CommandSession) -> anyhow::Result<()> {
    let text = given(verb.text.as_deref())?;
    let corpus = session.read(&verb.corpus)?;
    let pieces = corpus.encode(Some(&verb.name), &text, verb.specials)?;
    show(&verb.name, &text, &pieces, session)
}

pub(super) fn decode(verb: &Decode, session: &CommandSession) -> anyhow::Result<()> {
    let ids = match verb.ids.as_slice() {
        [] => parse(&given(verb.text.as_deref())?)?,
        ids => ids.to_vec(),
    };
    let corpus = session.read(&verb.corpus)?;
    let name = Some(verb.name.as_str());
    let text = corpus.decode(name, &ids)?;
    let loaded = corpus.tokenizer(name)?;
    let piece = |id: u32| -> anyhow::Result<Piece> {
        let text = loaded.tokenizer.decode(&[id]).map_err(corpusdb::Error::from)?;
        Ok(Piece { id, text })
    };
    let pieces: Vec<Piece> = ids.iter().map(|id| piece(*id)).collect::<Result<_, _>>()?;
    show(&verb.name, &text, &pieces, session)
}

fn show(name: &str, text: &str, pieces: &[Piece], session: &CommandSession) -> anyhow::Result<()> {
    if session.json {
        return print::json(&serde_json::json!({
            "type": "tokens", "tokenizer": name, "text": text, "tokens": pieces,
        }));
    }
    let rows: Vec<Vec<String>> = pieces
        .iter()
        .map(|piece| vec![piece.id.to_string(), format!("{:?}", piece.text)])
        .collect();
    print::table(&["id", "piece"], &rows)?;
    print::line(&format!("{} tokens, {} bytes: {text:?}", pieces.len(), text.len()))
}

fn given(text: Option<&str>) -> anyhow::Result<String> {
    if let Some(text) = text {
        return Ok(text.to_owned());
    }
    let mut read = String::new();
    std::io::stdin().read_to_string(&mut read).context("reading standard input")?;
    Ok(read)
}

fn parse(text: &str) -> anyhow::Result<Vec<u32>> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']'));
    words
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().with_context(|| format!("`{word}` is not an id")))
        .collect()
}
