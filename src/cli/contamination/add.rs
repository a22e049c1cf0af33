//! `corpusdb contamination add`: stores a suite and searches what is stored for it.

use crate::cli::session::{CommandSession, stores};
use crate::cli::{Outcome, print};
use corpusdb::contamination::SuiteFields;
use corpusdb::ingest::ReadOptions;
use std::path::PathBuf;

/// Add a suite: search every stored text for its items; every ingest does from then on
///
/// JSON lines, Parquet or CSV, plain or compressed. The layouts of GSM8K (question, answer), HumanEval (task_id,
/// prompt, canonical_solution) and MMLU (question, choices or A to D, answer) are known, and passage or context beside
/// a question; other fields are named. Stored is which 8-grams of the items stand where in each text, and which shorter
/// runs that keep their distance: what counts as contaminated is said when it is asked about. Run the same command
/// again after an interrupt.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb contamination add crawl gsm8k gsm8k-test.jsonl\n  corpusdb contamination add crawl mmlu mmlu/*.parquet\n  corpusdb contamination add crawl ours held-out.csv --question ask --answer gold"
)]
pub(in crate::cli) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// The name of the suite
    name: String,
    /// Its files; `-` reads JSON lines from standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// The field that has what is asked; members within one another with dots between them [default: question, prompt
    /// or problem]
    #[arg(long, value_name = "FIELD")]
    question: Option<String>,
    /// The field that has the answer [default: answer, canonical_solution, solution or answers]
    #[arg(long, value_name = "FIELD")]
    answer: Option<String>,
    /// The field that has the text that the question is about [default: passage or context]
    #[arg(long, value_name = "FIELD")]
    passage: Option<String>,
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let fields =
        SuiteFields { question: args.question, answer: args.answer, passage: args.passage };
    let read = ReadOptions { stores: stores(), ..ReadOptions::default() };
    let mut writer = session.write(&args.corpus)?;
    let report = writer.add_suite(&args.name, &args.files, &read, &fields, &session.context())?;
    if session.json {
        print::typed("suite_add", &report)?;
        return Ok(Outcome::Good);
    }
    let n = print::number;
    print::line(&format!(
        "{}: {} items, {} n-grams; searched {} documents, {} have something of it",
        report.suite,
        n(report.items),
        n(report.grams),
        n(report.searched),
        n(report.sighted)
    ))?;
    if report.weak > 0 {
        print::line(&format!(
            "  {} items say no answer: evidence of them is marked weak",
            n(report.weak)
        ))?;
    }
    if report.unsearchable > 0 {
        print::line(&format!("  {} items are too short to be looked for", n(report.unsearchable)))?;
    }
    Ok(Outcome::Good)
}
