//! `corpusdb duplicates`: what was removed, and what it matched; in numbers, as a list, or of one document.

mod document;
mod matrix;
mod summary;

use super::setup::{CommandSession, on_disk};
use super::{Outcome, find, print};
use corpusdb::duplicates::{DiffPart, DuplicatePair, DuplicatesOptions};
use corpusdb::pages::{self, DuplicatesPage, corpus_title};
use corpusdb::report::ReportOptions;
use corpusdb::{Corpus, DocId};
use std::path::PathBuf;

/// Largest clusters that a page shows.
const PAGED: usize = 100;

/// Show what was removed and what it matched: a summary, a list, or one document
///
/// Without a document: duplicates by source and source of the witness, by similarity, by size of cluster,
/// and the largest clusters with an example. With one: what it matched, the bands they share, its cluster.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb duplicates crawl\n  corpusdb duplicates crawl --list --limit 20\n  corpusdb duplicates crawl 42 --diff\n  corpusdb duplicates crawl --source web --by month\n  corpusdb duplicates crawl --by published:month,source --matrix\n  corpusdb duplicates crawl https://example.org/page\n  corpusdb duplicates crawl --list --json > duplicates.jsonl\n\nIn modes components and lsh the similarity shown is to the kept document of the cluster, which may be below\nthe threshold: a chain leads there. Exit code 1 when no document has the key."
)]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// One document, by id or key: what it matched; of a kept one, what it removed
    #[arg(value_name = "ID|KEY")]
    document: Option<String>,
    /// One document by its key, also one made of digits
    #[arg(long, conflicts_with_all = ["document", "list"])]
    key: Option<String>,
    /// List every removed duplicate with the kept document it matched
    #[arg(long, conflicts_with = "document")]
    list: bool,
    /// Show how the texts differ, word by word; of a list or of one document
    #[arg(long)]
    diff: bool,
    /// Only what was removed from this source, whatever source its witness is of; of the summary or of a list
    #[arg(long, value_name = "NAME", conflicts_with_all = ["document", "key"])]
    source: Option<String>,
    /// Count by declared fields that are no floats, or by `language`, in the place of the source; a timestamp by the
    /// year, quarter, month, week, day or hour, as in published:month; several, separated by commas, make a group
    /// together
    #[arg(long, value_name = "FIELD[:UNIT]", value_delimiter = ',', conflicts_with_all = ["document", "key", "list"])]
    by: Vec<String>,
    /// How many documents of each source (or of each group of `--by`) were removed, and which one their witnesses are
    /// in
    #[arg(long, conflicts_with_all = ["document", "key", "list", "limit"])]
    matrix: bool,
    /// At most so many: duplicates of a list [default: all], members of the document's cluster [default: 20],
    /// largest clusters of the summary [default: 10]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Write the summary as a page that needs no server, script or other file; it shows parts of texts
    #[arg(long, value_name = "FILE", conflicts_with_all = ["document", "key", "list", "source", "by", "matrix"], value_parser = on_disk())]
    html: Option<PathBuf>,
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    if args.list {
        return list(&args, session);
    }
    if args.document.is_none() && args.key.is_none() {
        anyhow::ensure!(
            !args.diff,
            "--diff needs to know of what: give a document (`corpusdb duplicates CORPUS ID --diff`) or --list"
        );
        let corpus = session.read(&args.corpus)?;
        if args.matrix {
            let found = corpus.duplicates_matrix(&args.by, args.source.as_deref())?;
            if session.json {
                print::typed("duplicates_matrix", &found)?;
            } else {
                matrix::print(&found)?;
            }
            return Ok(Outcome::Good);
        }
        let largest = usize::try_from(args.limit.unwrap_or(10)).unwrap_or(usize::MAX);
        if let Some(file) = &args.html {
            let options =
                ReportOptions { clusters: largest.min(PAGED), ..ReportOptions::default() };
            let (found, stored) = (corpus.report_duplicates(&options)?, corpus.view().documents());
            let page = DuplicatesPage::new(&found, stored, &corpus_title(&args.corpus));
            pages::write_page(file, &pages::page(&page)?)?;
        }
        let options =
            DuplicatesOptions { largest, source: args.source.clone(), by: args.by.clone() };
        let found = corpus.duplicates_summary_of(&options)?;
        if session.json {
            print::typed("duplicates", &found)?;
        } else {
            summary::print(&found)?;
        }
        return Ok(Outcome::Good);
    }
    let corpus = session.read(&args.corpus)?;
    let found = find::documents(&corpus, args.document.as_deref(), args.key.as_deref())?;
    for id in &found {
        let found = corpus.document_duplicates(*id, args.limit.unwrap_or(20), args.diff)?;
        if session.json {
            print::typed("document_duplicates", &found)?;
        } else {
            document::print(&found)?;
        }
    }
    Ok(if found.is_empty() { Outcome::Bad } else { Outcome::Good })
}

fn list(args: &Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let corpus = session.read(&args.corpus)?;
    if let Some(name) = &args.source {
        let known: Vec<&str> =
            corpus.view().sources().map(|(_, record)| record.name.as_str()).collect();
        anyhow::ensure!(
            known.contains(&name.as_str()),
            "no source `{name}`: there is {}",
            known.join(", ")
        );
    }
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut any = false;
    for pair in corpus.duplicates(None)? {
        let pair = pair?;
        if args.source.as_ref().is_some_and(|source| *source != pair.source) {
            continue;
        }
        if left == 0 {
            break;
        }
        left -= 1;
        any = true;
        one(args, &corpus, &pair, session)?;
    }
    if !any && !session.json {
        print::talk("no duplicates");
    }
    Ok(Outcome::Good)
}

fn one(
    args: &Args,
    corpus: &Corpus,
    pair: &DuplicatePair,
    session: &CommandSession,
) -> anyhow::Result<()> {
    let diff =
        if args.diff { Some(corpus.diff(DocId(pair.witness), DocId(pair.id))?) } else { None };
    if session.json {
        #[derive(serde::Serialize)]
        struct Line<'a> {
            #[serde(flatten)]
            pair: &'a DuplicatePair,
            #[serde(skip_serializing_if = "Option::is_none")]
            diff: Option<Vec<DiffPart>>,
        }
        return print::typed("duplicate", &Line { pair, diff });
    }
    print::line(&line(pair))?;
    diff.map_or(Ok(()), |parts| document::print_diff(&parts))
}

/// A pair on one line, the witness first.
fn line(pair: &DuplicatePair) -> String {
    format!(
        "{:5} {:.3}  {} {} ({})  <-  {} {} ({})",
        pair.kind,
        pair.jaccard,
        pair.witness,
        pair.witness_key,
        pair.witness_source,
        pair.id,
        pair.key,
        pair.source
    )
}
