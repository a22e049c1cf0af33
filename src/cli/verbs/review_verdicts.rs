//! Reads verdicts from JSON lines and stores them.

use anyhow::Context as _;
use corpusdb::contamination::SuiteVerdict;
use corpusdb::curate::{JudgeReport, Judgement};
use corpusdb::show::number;
use corpusdb::text_file::without_byte_order_mark;
use corpusdb::{Corpus, CorpusWriter, DocId};
use serde::Deserialize;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Verdicts of one commit.
const CHUNK: usize = 1 << 12;

/// A line of verdicts; other members of a printed pair are skipped.
#[derive(Deserialize)]
struct VerdictLine {
    suite: String,
    item: String,
    document: Option<Value>,
    key: Option<String>,
    verdict: Option<String>,
}

/// Stores the verdicts of a file, many in a commit, and counts them.
pub(super) fn each(
    path: &Path,
    writer: &mut CorpusWriter,
    report: &mut JudgeReport,
    note: &dyn Fn(&str),
) -> anyhow::Result<()> {
    let name = path.display();
    let input: Box<dyn BufRead> = if path.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(BufReader::new(
            std::fs::File::open(path).with_context(|| format!("opening {name}"))?,
        ))
    };
    let (mut waiting, mut first, mut open) = (Vec::new(), 1, 0_u64);
    let corpus = writer.corpus();
    for (number, line) in (1_u64..).zip(input.lines()) {
        let place = || format!("{name}, line {number}");
        let line = line.with_context(place)?;
        let line = if number == 1 { without_byte_order_mark(&line) } else { &line };
        if line.trim().is_empty() {
            continue;
        }
        match judgement(line, &corpus).with_context(place)? {
            Some(judgement) => waiting.push(judgement),
            None => open += 1,
        }
        if waiting.len() >= CHUNK {
            let place = || format!("{name}, lines {first} to {number}");
            store(writer, &mut waiting, report).with_context(place)?;
            first = number + 1;
        }
    }
    store(writer, &mut waiting, report).with_context(|| format!("{name}, from line {first} on"))?;
    if open > 0 {
        note(&format!("{} lines have no verdict", number(open)));
    }
    Ok(())
}

fn store(
    writer: &mut CorpusWriter,
    waiting: &mut Vec<Judgement>,
    report: &mut JudgeReport,
) -> anyhow::Result<()> {
    let stored = writer.judge(waiting)?;
    waiting.clear();
    report.accepted += stored.accepted;
    report.rejected += stored.rejected;
    report.withdrawn += stored.withdrawn;
    report.unchanged += stored.unchanged;
    Ok(())
}

/// The verdict of a line; none where the pair is left open.
fn judgement(line: &str, corpus: &Corpus) -> anyhow::Result<Option<Judgement>> {
    let VerdictLine { suite, item, document, key, verdict } =
        serde_json::from_str(line).context("no line of verdicts")?;
    let Some(verdict) = verdict else { return Ok(None) };
    let verdict = match verdict.as_str() {
        "none" => None,
        name => match SuiteVerdict::from_name(name) {
            Some(verdict) => Some(verdict),
            None => anyhow::bail!("verdict {verdict:?} is not accepted, rejected, none or null"),
        },
    };
    let document = match (document, key) {
        (Some(document), _) => match document.as_u64() {
            Some(id) => DocId(id),
            None => anyhow::bail!("`document` is an id, got {document}; a key goes under `key`"),
        },
        (None, Some(key)) => match corpus.find_key(&key)?.last() {
            Some(document) => *document,
            None => anyhow::bail!("no document has the key {key}"),
        },
        (None, None) => anyhow::bail!("it names no document, by `document` or `key`"),
    };
    Ok(Some(Judgement { suite, item, document, verdict }))
}
