//! `corpusdb duplicates`: shows removed documents and their matches, in numbers, as a list, or for one document.

use super::duplicates_text::{
    SummaryAnswer, pair_line, print_diff, print_document, print_matrix, print_summary,
};
use crate::cli::columns::{policy_name, shown_path};
use crate::cli::find;
use crate::cli::output::{self, Output};
use crate::cli::session::{on_disk, parse_document};
use crate::cli::verb::{ExitStatus, PythonMethod, Report, Verb, VerbCall};
use anyhow::ensure;
use corpusdb::inspect::ReportOptions;
use corpusdb::inspect::{DiffPart, DocumentDuplicates, DuplicatesMatrix, DuplicatesOptions};
use corpusdb::pages::{DuplicatesPage, corpus_title};
use corpusdb::sql::DuplicatePair;
use corpusdb::{Corpus, DocId};
use serde::Serialize;
use std::path::PathBuf;

/// Largest clusters on a page, at most.
const PAGED: usize = 100;

/// Show which duplicates were removed, and what each matched.
///
/// Without a document: duplicates by source (`by`: all groups, else the 12 that lost most), by similarity and by size of
/// cluster, and the largest clusters, each with its least similar member. With one: what it matched, the bands they
/// share, its cluster.
#[derive(clap::Args)]
pub(super) struct DuplicatesArgs {
    /// One document, by id or key: shows what it matched or, if it is kept, what it removed.
    #[arg(value_name = "ID|KEY", value_parser = parse_document)]
    document: Option<String>,
    /// One document by its key, also one made of digits.
    #[arg(long, conflicts_with_all = ["document", "list"], allow_hyphen_values = true)]
    key: Option<String>,
    /// List every removed duplicate with the kept document it matched.
    #[arg(long, conflicts_with = "document")]
    list: bool,
    /// Show how the texts differ, word by word; for a list or one document.
    #[arg(long)]
    diff: bool,
    /// Only duplicates of this source (their witnesses may be of any); for the summary or a list.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["document", "key"])]
    source: Option<String>,
    /// Group by declared fields (not floats) or by language, instead of by source.
    ///
    /// A timestamp is grouped by year, quarter, month, week, day or hour, as in published:month. Several fields form
    /// one group.
    #[arg(long, value_name = "FIELD[:UNIT]", value_delimiter = ',', conflicts_with_all = ["document", "key", "list"])]
    by: Vec<String>,
    /// Count the removed documents of each source (or group of `by`) by the source of their witnesses.
    #[arg(long, conflicts_with_all = ["document", "key", "list", "limit"])]
    matrix: bool,
    /// Show at most N duplicates of a list, members of the document's cluster, or largest clusters of the summary.
    ///
    /// By default all of a list, 20 members, 10 clusters.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Write the summary as a self-contained page; it shows excerpts of texts.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["document", "key", "list", "source", "by", "matrix"], value_parser = on_disk())]
    html: Option<PathBuf>,
}

/// Duplicates in numbers, by group, or of documents.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum DuplicatesAnswer {
    /// In numbers.
    Summary(Box<SummaryAnswer>),
    /// By group of the removed and of their witnesses.
    Matrix(Box<DuplicatesMatrix>),
    /// Documents among their duplicates.
    Documents(Vec<DocumentDuplicates>),
    /// A list that went to standard output.
    Streamed {},
}

impl Verb for DuplicatesArgs {
    const PATH: &str = "duplicates";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Corpus.duplicates");
    const EXAMPLES: &[&str] = &[
        "corpusdb duplicates crawl",
        "corpusdb duplicates crawl --list --limit 20",
        "corpusdb duplicates crawl 42 --diff",
        "corpusdb duplicates crawl --source web --by month",
        "corpusdb duplicates crawl --by published:month,source --matrix",
        "corpusdb duplicates crawl https://example.org/page",
        "corpusdb duplicates crawl --list --json > duplicates.jsonl",
    ];
    const NOTES: &str = "\
In modes components and lsh the similarity shown is that to the kept document of the cluster. It may be below the
threshold: a chain of similar documents connects the two. Exit code 1 when no document has the key.";
    type On = Corpus;
    type Report = DuplicatesAnswer;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        if self.list {
            self.stream(corpus, call)?;
            return Ok(DuplicatesAnswer::Streamed {});
        }
        if self.document.is_some() || self.key.is_some() {
            let (document, key) = (self.document.as_deref(), self.key.as_deref());
            let found = find::documents(corpus, document, key, call.note)?;
            let of =
                |id: &DocId| corpus.document_duplicates(*id, self.limit.unwrap_or(20), self.diff);
            return Ok(DuplicatesAnswer::Documents(
                found.iter().map(of).collect::<Result<_, _>>()?,
            ));
        }
        ensure!(!self.diff, "`diff=` needs a document or `list=`");
        if self.matrix {
            let matrix = corpus.duplicates_matrix(&self.by, self.source.as_deref())?;
            return Ok(DuplicatesAnswer::Matrix(Box::new(matrix)));
        }
        let largest = usize::try_from(self.limit.unwrap_or(10)).unwrap_or(usize::MAX);
        if let Some(file) = &self.html {
            let options =
                ReportOptions { clusters: largest.min(PAGED), ..ReportOptions::default() };
            let (found, stored) = (corpus.report_duplicates(&options)?, corpus.view().documents());
            let page = DuplicatesPage::new(&found, stored, &corpus_title(corpus.path()));
            call.write_page(file, &page)?;
        }
        let all = !self.by.is_empty();
        let options = DuplicatesOptions { largest, source: self.source, by: self.by };
        Ok(DuplicatesAnswer::Summary(Box::new(SummaryAnswer {
            summary: corpus.duplicates_summary(&options)?,
            policy: policy_name(corpus.view().policy()),
            corpus: shown_path(&corpus.path().to_string_lossy()).to_owned(),
            all,
        })))
    }
}

impl DuplicatesArgs {
    fn stream(&self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<()> {
        #[derive(Serialize)]
        struct PairLine {
            #[serde(flatten)]
            pair: DuplicatePair,
            #[serde(skip_serializing_if = "Option::is_none")]
            diff: Option<Vec<DiffPart>>,
        }
        let is_json = call.session()?.json;
        if let Some(name) = &self.source {
            corpus.view().expect_source(name).map_err(corpusdb::Error::from)?;
        }
        let is_other = |pair: &DuplicatePair| {
            self.source.as_ref().is_some_and(|source| *source != pair.source)
        };
        let pairs = corpus.duplicates(None)?.filter(|pair| !pair.as_ref().is_ok_and(is_other));
        let most = self.limit.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        let lines = pairs.take(most).map(|pair| {
            let pair = pair?;
            let diff = self.diff.then(|| corpus.diff(DocId(pair.witness), DocId(pair.id)));
            Ok(PairLine { diff: diff.transpose()?, pair })
        });
        let written = output::stream_rows(("duplicate", is_json), lines, |line, out| {
            out.line(pair_line(&line.pair));
            line.diff.iter().for_each(|parts| print_diff(parts, out));
        })?;
        if written == 0 && !is_json {
            call.note("no duplicates");
        }
        Ok(())
    }
}

impl Report for DuplicatesAnswer {
    const TYPE: &'static str = "duplicates";

    fn print(&self, out: &mut Output) {
        match self {
            Self::Summary(summary) => print_summary(summary, out),
            Self::Matrix(matrix) => print_matrix(matrix, out),
            Self::Documents(documents) => documents.iter().for_each(|one| print_document(one, out)),
            Self::Streamed {} => {}
        }
    }

    fn json(&self, _: Option<bool>) -> serde_json::Result<String> {
        match self {
            Self::Summary(summary) => output::json_line(Self::TYPE, summary, None),
            Self::Matrix(matrix) => output::json_line("duplicates_matrix", matrix, None),
            Self::Documents(documents) => output::json_lines("document_duplicates", documents),
            Self::Streamed {} => Ok(String::new()),
        }
    }

    fn status(&self) -> ExitStatus {
        ExitStatus::of(!matches!(self, Self::Documents(documents) if documents.is_empty()))
    }

    fn is_streamed(&self) -> bool {
        matches!(self, Self::Streamed {})
    }
}
