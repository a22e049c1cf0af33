//! `corpusdb similar`: stored documents similar to a text, without ingesting it.

use super::setup::CommandSession;
use super::{Outcome, find, print};
use anyhow::Context as _;
use corpusdb::Corpus;
use corpusdb::duplicates::{SimilarDocument, SimilarOptions, SimilarReport, SimilarTo};
use corpusdb::text_file::decode_text;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Find stored documents similar to a text or a document; nothing is ingested
///
/// The text is normalised and sketched by the corpus's policy; documents that share a band with it are
/// ranked by their exact similarity. One that is less similar than the threshold may share none: its chance
/// is the `found with` of the answer (`corpusdb dedup explain` has the whole curve).
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb similar crawl 42\n  corpusdb similar crawl --file page.txt -k 3\n  corpusdb similar crawl --text \"to be or not to be that is the question\" --all\n  curl -s https://example.org/page.txt | corpusdb similar crawl -\n\nA text of fewer tokens than a shingle has no sketch: only documents of exactly its tokens are found.\nExit code 1 when nothing is found."
)]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// A stored document, by id or key; `-` reads a text from standard input
    #[arg(value_name = "ID|KEY|-", conflicts_with_all = ["key", "text", "file"])]
    document: Option<String>,
    /// A stored document by its key, also one made of digits
    #[arg(long, conflicts_with_all = ["text", "file"])]
    key: Option<String>,
    /// The text
    #[arg(long, conflicts_with = "file")]
    text: Option<String>,
    /// A file with the text, all of it one document; `-` reads standard input
    #[arg(long)]
    file: Option<PathBuf>,
    /// At most so many documents
    #[arg(short, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,
    /// Removed documents too, not only kept ones
    #[arg(long)]
    all: bool,
    /// Only documents of this source
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    anyhow::ensure!(
        args.document.is_some() || args.key.is_some() || args.text.is_some() || args.file.is_some(),
        "say what to look for: a stored document (its id or key), --text T, --file F, or `-` to read standard input"
    );
    let corpus = session.read(&args.corpus)?;
    let options = SimilarOptions {
        k: usize::try_from(args.k).unwrap_or(usize::MAX),
        all: args.all,
        source: args.source.clone(),
    };
    if let Some(text) = text(&args)? {
        return report(&corpus.similar(SimilarTo::Text(&text), &options)?, &corpus, session);
    }
    let found = find::documents(&corpus, args.document.as_deref(), args.key.as_deref())?;
    // A key that was given again: the newest document has it now.
    match found.last() {
        None => Ok(Outcome::Bad),
        Some(id) => report(&corpus.similar(SimilarTo::Document(*id), &options)?, &corpus, session),
    }
}

/// The text to look for, unless it is a stored document's.
fn text(args: &Args) -> anyhow::Result<Option<String>> {
    let stdin = Path::new("-");
    let is_stdin = args.document.as_deref() == Some("-") || args.file.as_deref() == Some(stdin);
    let (name, bytes) = match (&args.file, is_stdin) {
        (_, true) => {
            let mut bytes = Vec::new();
            std::io::stdin()
                .lock()
                .read_to_end(&mut bytes)
                .context("cannot read standard input")?;
            ("standard input".to_owned(), bytes)
        }
        (Some(path), false) => {
            let name = path.display().to_string();
            let bytes = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
            (name, bytes)
        }
        (None, false) => return Ok(args.text.clone()),
    };
    let text = decode_text(&name, bytes).map_err(|error| {
        anyhow::anyhow!("{error}; a compressed file must be unpacked, and records of JSON or Parquet given one text at a time")
    })?;
    Ok(Some(text))
}

fn report(
    found: &SimilarReport,
    corpus: &Corpus,
    session: &CommandSession,
) -> anyhow::Result<Outcome> {
    let outcome = if found.found.is_empty() { Outcome::Bad } else { Outcome::Good };
    if session.json {
        print::typed("similar", found)?;
        return Ok(outcome);
    }
    let n = print::number;
    match found.by {
        "equal-bytes" => print::talk(
            "mode exact looks for no near duplicates: only documents with exactly these bytes are found",
        ),
        "equal-text" => print::talk(&format!(
            "the text has {} tokens, fewer than a shingle of {}: only documents of exactly these tokens are found",
            found.tokens,
            corpus.view().policy().shingle
        )),
        _ => print::talk(&format!(
            "{} tokens, {} shingles; candidates in {} buckets: {}, read in full: {}; a document {} similar is found with probability {}",
            n(found.tokens.into()),
            n(found.shingles),
            n(found.buckets),
            n(found.candidates),
            n(found.verified),
            found.threshold,
            print::probability(found.found_at_threshold)
        )),
    }
    if found.capped > 0 {
        print::talk(&format!(
            "{} crowded buckets, of more than {} documents each: the sketches of all of these were looked at",
            n(found.capped),
            n(found.cap)
        ));
    }
    if found.passed_over > 0 {
        print::talk(&format!(
            "{} members of large clusters, or less likely than 65,536 others, were passed over",
            n(found.passed_over)
        ));
    }
    if found.found.is_empty() {
        print::talk("nothing similar found");
    }
    for document in &found.found {
        one(document)?;
    }
    Ok(outcome)
}

fn one(found: &SimilarDocument) -> anyhow::Result<()> {
    let standing = if found.standing == "kept" { "" } else { found.standing };
    let estimate = found.estimate.map(|estimate| format!(", estimated {estimate:.3}"));
    print::line(&format!(
        "{:.3}  {} {} ({}){}{}",
        found.jaccard,
        found.id,
        found.key,
        found.source,
        if standing.is_empty() { String::new() } else { format!(" {standing}") },
        if found.duplicate { " duplicate" } else { "" },
    ))?;
    print::line(&format!(
        "       it has {:.1} % of the text, the text {:.1} % of it{}; {} bands shared, found with {}",
        found.containment_text * 100.0,
        found.containment_document * 100.0,
        estimate.unwrap_or_default(),
        found.shared_bands,
        print::probability(found.detection)
    ))?;
    print::line(&format!("       {}", found.beginning))
}
