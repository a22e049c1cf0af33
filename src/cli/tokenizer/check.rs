//! `corpusdb tokenizer check`: whether ids can be trusted, and what the tokenizer does with odd texts.

use crate::cli::session::CommandSession;
use crate::cli::{Outcome, print};
use corpusdb::tokenizer::Verdict;
use std::path::PathBuf;

/// Check tokenizers: both encoders, stored ids, and a table of odd texts
///
/// Exit code 1 when a case is at fault or a stored id is not the one that its text has.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  corpusdb tokenizer check crawl gpt2")]
pub(in crate::cli) struct Check {
    /// The corpus
    corpus: PathBuf,
    /// The tokenizer [default: all]
    name: Option<String>,
}

pub(super) fn run(verb: &Check, session: &CommandSession) -> anyhow::Result<Outcome> {
    let corpus = session.read(&verb.corpus)?;
    let names = match &verb.name {
        Some(name) => vec![name.clone()],
        None => corpus.view().tokenizers().map(|(_, record)| record.name.clone()).collect(),
    };
    let mut is_good = true;
    for name in names {
        let (check, other) = corpus.check_tokenizer(&name)?;
        is_good &= check.is_good() && other.is_none();
        if session.json {
            print::json(&serde_json::json!({
                "type": "tokenizer_check", "name": name, "good": check.is_good() && other.is_none(),
                "other_ids": other.map(|document| document.0), "check": check,
            }))?;
            continue;
        }
        let reason = check.reason.as_ref().map_or(String::new(), |why| format!(" ({why})"));
        print::line(&format!(
            "{name}: {} ids, {} encoder{reason}",
            check.vocab_size, check.backend
        ))?;
        let rows: Vec<Vec<String>> = check
            .cases
            .iter()
            .map(|case| {
                let verdict = match case.verdict {
                    Verdict::Ok => "ok",
                    Verdict::Notice => "notice",
                    Verdict::Fault => "FAULT",
                };
                vec![case.name.to_string(), verdict.to_owned(), case.what.clone()]
            })
            .collect();
        for row in &rows {
            if let [name, verdict, what] = row.as_slice() {
                print::line(&format!("  {verdict:<6}  {name}: {what}"))?;
            }
        }
        match other {
            Some(document) => print::line(&format!(
                "  FAULT   stored ids: those of document {document} are not the ones that its text has"
            ))?,
            None => print::line(
                "  ok      stored ids: those of a sample are the ones that the texts have",
            )?,
        }
    }
    Ok(if is_good { Outcome::Good } else { Outcome::Bad })
}
