//! `corpusdb init`: makes an empty corpus and fixes its dedup policy.

use super::setup::Context;
use super::{Outcome, print};
use clap::ValueEnum;
use corpusdb::{Corpus, DedupMode, FieldKind, Policy};
use std::path::PathBuf;

/// Make an empty corpus
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb init crawl\n  corpusdb init crawl --threshold 0.7 --field url:keyword --field quality:float"
)]
pub(super) struct Args {
    /// The directory to make
    corpus: PathBuf,
    /// What counts as a duplicate
    #[arg(long, value_enum, default_value_t = Mode::Witness)]
    mode: Mode,
    /// Exact Jaccard similarity of 5-word shingles from which a document is a near duplicate
    #[arg(long, default_value_t = 0.8)]
    threshold: f64,
    /// Index a field of the records: NAME:keyword, NAME:int or NAME:float
    #[arg(long = "field", value_name = "NAME:KIND", value_parser = field)]
    fields: Vec<(String, FieldKind)>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    /// Equal and similar texts, each with a kept witness
    Witness,
    /// Equal raw bytes only
    Exact,
    /// Nothing is removed
    None,
}

fn field(text: &str) -> Result<(String, FieldKind), String> {
    let (name, kind) = text.rsplit_once(':').ok_or("write NAME:keyword, NAME:int or NAME:float")?;
    let kind = FieldKind::from_name(kind)
        .ok_or_else(|| format!("unknown kind `{kind}`; keyword, int or float"))?;
    Ok((name.to_owned(), kind))
}

pub(super) fn run(args: Args, context: &Context) -> anyhow::Result<Outcome> {
    let mode = match args.mode {
        Mode::Witness => DedupMode::Witness,
        Mode::Exact => DedupMode::Exact,
        Mode::None => DedupMode::None,
    };
    let policy = Policy::new(mode, args.threshold).map_err(corpusdb::Error::from)?;
    Corpus::init(&args.corpus, &policy, &args.fields)?;
    if context.json {
        print::json(
            &serde_json::json!({ "type": "init", "corpus": args.corpus, "policy": policy }),
        )?;
    } else {
        print::talk(&format!("made {} ({policy})", args.corpus.display()));
    }
    Ok(Outcome::Good)
}
