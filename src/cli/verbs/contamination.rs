//! `corpusdb contamination`: adds, lists and drops suites of evaluation items, and shows evidence of their items.

use super::contamination_evidence::{ShownEvidence, print_table};
use crate::cli::find::DocumentName;
use crate::cli::output::{self, Output};
use crate::cli::session::stores;
use crate::cli::verb::{
    ExitStatus, ListReport, ListRow, Manners, PythonMethod, Report, ShowReport, Verb, VerbCall,
};
use corpusdb::contamination::{ContaminationRule, SuiteFields, UnsearchedField};
use corpusdb::curate::SuiteReport;
use corpusdb::ingest::ReadOptions;
use corpusdb::inspect::{CheckedText, SuiteContamination, SuiteSummary};
use corpusdb::near_names::UnknownName;
use corpusdb::pages::precision_sentence;
use corpusdb::show::number;
use corpusdb::store::StoreError;
use corpusdb::{Corpus, CorpusWriter, Error};
use serde::Serialize;
use std::io::{self, Write};

/// Fields without a search, at most, whose names are shown.
const LISTED: usize = 24;
/// The note on suites whose items an earlier release read.
pub(super) const EARLIER_ITEMS: &str = "items as an earlier release read them; `corpusdb contamination add` with the same files reads them anew";
/// The message when there is nothing to search for.
const NO_SUITE: &str = "there is no suite; `corpusdb contamination add` adds one";

/// Add a suite: search every stored text for its items, now and at every later ingest.
///
/// JSON lines, Parquet or CSV, plain or compressed. The layouts of GSM8K, HumanEval, MBPP, MMLU, MMLU-Pro, GPQA, ARC,
/// HellaSwag, TruthfulQA, MT-Bench and SQuAD are recognised; name other fields. An answer may be the letter, the number
/// or the text of an option; turns of a question and all accepted answers are searched for. The report lists fields
/// that are not. Stored is evidence: for each text, which 8-grams of the items it has and where, and shorter runs in
/// the same order and distance. Which documents count as contaminated is decided by the rule when you ask. After an
/// interrupt run the same command again.
#[derive(clap::Args)]
pub(super) struct ContaminationAddArgs {
    /// The name of the new suite.
    name: String,
    /// The files with its items; `-` reads JSON lines from standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    #[command(flatten)]
    fields: SuiteFields,
}

impl Verb for ContaminationAddArgs {
    const PATH: &str = "contamination add";
    const PYTHON: PythonMethod =
        PythonMethod::Mixed("Writer.contamination.add", &["name", "files"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb contamination add crawl gsm8k gsm8k-test.jsonl",
        "corpusdb contamination add crawl mmlu mmlu/*.parquet",
        "corpusdb contamination add crawl ours held-out.csv --question ask --answer gold",
    ];
    type On = CorpusWriter;
    type Report = SuiteReport;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let read = ReadOptions { stores: stores(), ..ReadOptions::default() };
        Ok(writer.add_suite(&self.name, &self.files, &read, &self.fields, &call.context)?)
    }
}

impl Report for SuiteReport {
    const TYPE: &'static str = "suite_add";

    fn print(&self, out: &mut Output) {
        out.line(format!(
            "{}: {} items, {} n-grams; searched {} documents, found evidence in {}",
            self.suite,
            number(self.items),
            number(self.grams),
            number(self.searched),
            number(self.sighted)
        ));
        if self.has_earlier_words() {
            out.line(format!(
                "  its words are those of {}, an earlier release's: drop it and add it again to see behind hidden characters",
                self.normaliser
            ));
        }
        if self.renewed {
            out.line("  an earlier release had read other items of these records: they were searched for anew, and verdicts stay");
        }
        if self.weak > 0 {
            let weak = number(self.weak);
            out.line(format!("  {weak} items have no answer: evidence of them is marked weak"));
        }
        if self.unsearchable > 0 {
            let short = number(self.unsearchable);
            out.line(format!("  {short} items are too short to be searched for"));
        }
        if self.uncounted > 0 {
            let uncounted = number(self.uncounted);
            out.line(format!(
                "  {uncounted} items have only a passage, or texts of fewer than 13 words without an answer: evidence of them is shown, and never enough"
            ));
        }
        if let Some(first) = self.numbers_from {
            out.line(format!("  answers are numbers of options, counted from {first}"));
        }
        if !self.unsearched.is_empty() {
            let named = |one: &UnsearchedField| format!("{} ({})", one.field, number(one.items));
            let all: Vec<String> = self.unsearched.iter().take(LISTED).map(named).collect();
            let more = self.unsearched.len().saturating_sub(LISTED);
            let more = if more > 0 {
                format!(", and {} more", number(more as u64))
            } else {
                String::new()
            };
            out.line(format!(
                "  not searched for, with the number of items: {}{more}",
                all.join(", ")
            ));
        }
    }
}

/// Check texts that are not stored against the suites.
///
/// Files are read as by an ingest. Each text with evidence is shown, and the evidence.
#[derive(clap::Args)]
pub(super) struct ContaminationCheckArgs {
    /// Files and directories; `-` reads standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// The field with the text. By default the first of the usual names.
    #[arg(long, value_name = "NAME")]
    text_field: Option<String>,
    /// The field that names a record in the answer.
    #[arg(long, value_name = "NAME")]
    id_field: Option<String>,
    #[command(flatten)]
    rule: ContaminationRule,
}

impl Verb for ContaminationCheckArgs {
    const PATH: &str = "contamination check";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Corpus.contamination.check", &["files"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb contamination check crawl new-pages.jsonl.zst",
        "curl -s https://example.org/page.txt | corpusdb contamination check crawl - --json",
    ];
    const NOTES: &str = "Exit code 1 when a text is contaminated.";
    const MANNERS: Manners = Manners::STOPS;
    type On = Corpus;
    type Report = ContaminationAnswer;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        anyhow::ensure!(
            !corpus.suites()?.is_empty(),
            "there is no suite to check against; `corpusdb contamination add` adds one"
        );
        let read = ReadOptions {
            text_field: self.text_field,
            id_field: self.id_field,
            stores: stores(),
            ..ReadOptions::default()
        };
        let Some(session) = call.session else {
            let mut found = Vec::new();
            let mut each = |checked: &CheckedText| {
                if !checked.evidence.is_empty() {
                    found.push(checked.clone());
                }
            };
            corpus.check_contamination(&self.files, &read, &self.rule, &mut each, &call.context)?;
            return Ok(ContaminationAnswer::Texts(found));
        };
        let is_json = session.json;
        let mut written = Ok(());
        let mut each = |checked: &CheckedText| {
            if written.is_ok() && !checked.evidence.is_empty() {
                written = checked_lines(checked, corpus, is_json).and_then(|lines| write(&lines));
            }
        };
        let counts =
            corpus.check_contamination(&self.files, &read, &self.rule, &mut each, &call.context)?;
        let last = match is_json {
            true => output::json_line("contamination_check", &counts, None)?,
            false => format!(
                "{} of {} texts are contaminated\n",
                number(counts.contaminated),
                number(counts.texts)
            ),
        };
        // Whoever wants no more rows still hears by the exit status what was found.
        match written.and_then(|()| write(&last)) {
            Err(error) if !is_closed_pipe(&error) => return Err(error),
            _ => {}
        }
        Ok(ContaminationAnswer::Streamed { status: ExitStatus::of(counts.contaminated == 0) })
    }
}

/// What texts have of the suites.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum ContaminationAnswer {
    /// Those that have anything.
    Texts(Vec<CheckedText>),
    /// They went to standard output.
    Streamed {
        /// How the command ends.
        #[serde(skip)]
        status: ExitStatus,
    },
}

impl Report for ContaminationAnswer {
    const TYPE: &'static str = "checked";

    fn print(&self, _: &mut Output) {}

    fn json(&self, _: Option<bool>) -> serde_json::Result<String> {
        match self {
            Self::Texts(texts) => output::json_lines(Self::TYPE, texts),
            Self::Streamed { .. } => Ok(String::new()),
        }
    }

    fn status(&self) -> ExitStatus {
        match self {
            Self::Texts(_) => ExitStatus::Done,
            Self::Streamed { status } => *status,
        }
    }

    fn is_streamed(&self) -> bool {
        matches!(self, Self::Streamed { .. })
    }
}

fn checked_lines(checked: &CheckedText, corpus: &Corpus, is_json: bool) -> anyhow::Result<String> {
    if is_json {
        return Ok(output::json_line("checked", checked, None)?);
    }
    let mut out = Output::new(false);
    out.line(&checked.text);
    for evidence in &checked.evidence {
        ShownEvidence::of(evidence.clone(), corpus)?.print(&mut out);
    }
    Ok(out.into_parts().0)
}

fn write(lines: &str) -> anyhow::Result<()> {
    let mut out = output::stdout();
    out.write_all(lines.as_bytes())?;
    Ok(out.flush()?)
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

impl ListRow for SuiteSummary {
    const TYPE: &'static str = "suite";

    fn print_all(suites: &[Self], out: &mut Output) {
        if suites.is_empty() {
            return out.note(NO_SUITE);
        }
        let row = |suite: &Self| {
            let searched = match suite.complete {
                true => "all".to_owned(),
                false => format!("{} (add it again to continue)", number(suite.searched)),
            };
            let counts = [suite.items, suite.weak, suite.unsearchable, suite.grams].map(number);
            let last = vec![suite.normaliser.to_owned(), searched];
            [vec![suite.suite.clone()], counts.to_vec(), last].concat()
        };
        let head =
            ["suite", "items", "weak", "too short", "n-grams", "words", "documents searched"];
        out.table(&head, suites.iter().map(row));
        let outdated: Vec<&str> = outdated_names(suites);
        if !outdated.is_empty() {
            out.note(format!("{}: {EARLIER_ITEMS}", outdated.join(", ")));
        }
    }
}

fn outdated_names(suites: &[SuiteSummary]) -> Vec<&str> {
    suites.iter().filter(|suite| suite.outdated).map(|suite| suite.suite.as_str()).collect()
}

/// List the suites, or show the evidence of a suite, worst first, or of a document, beside the document's text.
#[derive(clap::Args)]
pub(super) struct ContaminationShowArgs {
    /// A suite, or a document by its id or key. By default all suites are listed: items, n-grams, how far stored texts were searched.
    #[arg(value_name = "NAME|ID")]
    what: Option<String>,
    /// Show at most N pairs of a suite.
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    #[command(flatten)]
    rule: ContaminationRule,
}

/// Evidence of a suite or of a document.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub(super) struct EvidenceAnswer(Vec<ShownEvidence>);

impl Verb for ContaminationShowArgs {
    const PATH: &str = "contamination show";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Corpus.contamination.show", &["what"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb contamination show crawl",
        "corpusdb contamination show crawl gsm8k --limit 3",
        "corpusdb contamination show crawl 42",
    ];
    const NOTES: &str = "Exit code 1 when there is no evidence.";
    type On = Corpus;
    type Report = ShowReport<SuiteSummary, EvidenceAnswer>;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let Self { what, limit, rule } = self;
        let Some(what) = what else { return Ok(ShowReport::All(ListReport(corpus.suites()?))) };
        let (name, suites) = (DocumentName::of(&what), corpus.suites()?);
        let is_suite = suites.iter().any(|suite| suite.suite == what);
        let evidence = if is_suite && !matches!(name, DocumentName::Id(_)) {
            corpus.suite_evidence(&what, &rule, limit)?
        } else {
            // Of several documents that had the key, the newest has it now.
            let Some(document) = name.documents(corpus, &|_| {})?.pop() else {
                let known = suites.into_iter().map(|suite| suite.suite);
                let unknown = UnknownName::new("suite or document", &what, known);
                return Err(Error::from(StoreError::Unknown(unknown)).into());
            };
            corpus.document_evidence(document, &rule)?
        };
        if evidence.is_empty() {
            call.note(&format!("no evidence of a suite was found in {what}"));
        }
        let shown = evidence.into_iter().map(|evidence| ShownEvidence::of(evidence, corpus));
        Ok(ShowReport::One(Box::new(EvidenceAnswer(shown.collect::<anyhow::Result<_>>()?))))
    }
}

impl Report for EvidenceAnswer {
    const TYPE: &'static str = "evidence";

    fn print(&self, out: &mut Output) {
        self.0.iter().for_each(|evidence| evidence.print(out));
    }

    fn json(&self, _: Option<bool>) -> serde_json::Result<String> {
        output::json_lines(Self::TYPE, &self.0)
    }

    fn status(&self) -> ExitStatus {
        ExitStatus::of(!self.0.is_empty())
    }
}

/// Delete a suite, its evidence and its verdicts.
#[derive(clap::Args)]
pub(super) struct ContaminationDropArgs {
    /// The suite.
    name: String,
}

/// A suite that was dropped.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct SuiteDropReport {
    /// Its name.
    suite: String,
}

impl Verb for ContaminationDropArgs {
    const PATH: &str = "contamination drop";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Writer.contamination.drop", &["name"]);
    const EXAMPLES: &[&str] = &["corpusdb contamination drop crawl gsm8k"];
    const MANNERS: Manners = Manners::WAITS;
    type On = CorpusWriter;
    type Report = SuiteDropReport;

    fn run(self, writer: &mut CorpusWriter, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        writer.drop_suite(&self.name)?;
        Ok(SuiteDropReport { suite: self.name })
    }
}

impl Report for SuiteDropReport {
    const TYPE: &'static str = "suite_drop";

    fn print(&self, out: &mut Output) {
        out.line(format!("dropped {}", self.suite));
    }
}

/// Report how much of each suite is in the corpus: items, documents, sources, the worst examples.
///
/// Kept documents and others are counted separately. N-grams that many documents of several sources have are ignored;
/// the report counts them. Every figure can be computed from the table contamination of `sql`, also with other
/// thresholds.
#[derive(clap::Args)]
pub(super) struct ContaminationReportArgs {
    /// Only this suite.
    name: Option<String>,
    /// Show at most N examples of each suite.
    #[arg(long, value_name = "N", default_value_t = 5)]
    limit: usize,
    #[command(flatten)]
    rule: ContaminationRule,
}

impl Verb for ContaminationReportArgs {
    const PATH: &str = "contamination report";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Corpus.contamination.report", &["name"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb contamination report crawl",
        "corpusdb contamination report crawl gsm8k --score 0.8 --limit 20",
    ];
    type On = Corpus;
    type Report = ListReport<SuiteContamination>;

    fn run(self, corpus: &Corpus, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        Ok(ListReport(corpus.contamination(self.name.as_deref(), &self.rule, self.limit)?))
    }
}

impl ListRow for SuiteContamination {
    const TYPE: &'static str = "contamination";

    fn print_all(suites: &[Self], out: &mut Output) {
        if suites.is_empty() {
            out.note(NO_SUITE);
        }
        suites.iter().for_each(|suite| print_suite(suite, out));
    }
}

fn print_suite(suite: &SuiteContamination, out: &mut Output) {
    out.line(format!(
        "{}: {} of {} items are in {} kept documents, and in {} others",
        suite.suite,
        number(suite.contaminated_items),
        number(suite.items),
        number(suite.documents),
        number(suite.removed_documents)
    ));
    if suite.weak_items > 0 {
        out.line(format!("  {} of these items have no answer", number(suite.weak_items)));
    }
    out.line(format!(
        "  {} documents have evidence; {} common n-grams are ignored",
        number(suite.sighted_documents),
        number(suite.common)
    ));
    for source in &suite.sources {
        out.line(format!("  {}: {} documents", source.source, number(source.documents)));
    }
    if let Some(precision) = &suite.precision {
        out.line(format!("  {}", precision_sentence("by its verdicts", precision)));
    }
    print_table(&suite.worst, out);
}
