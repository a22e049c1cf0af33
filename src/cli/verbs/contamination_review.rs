//! `corpusdb contamination review`: shows pairs of an item and a document, and stores what a person decides about them.

use super::review_columns::print_pair;
use super::review_verdicts;
use crate::cli::find;
use crate::cli::output::{self, Output};
use crate::cli::session::on_disk;
use crate::cli::verb::{CorpusPath, PythonMethod, Report, Verb, VerbCall};
use corpusdb::contamination::{RulePrecision, SuiteVerdict};
use corpusdb::curate::{JudgeReport, Judgement};
use corpusdb::inspect::{ReviewOptions, ReviewPair};
use corpusdb::pages::{ReviewPage, corpus_title, precision_sentence};
use corpusdb::{Corpus, DocId};
use serde::Serialize;
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

/// Show items beside the matching texts of documents, worst first, and accept or reject each pair.
///
/// On a terminal you answer for each pair: a if the document is contaminated by the item, r if not, s to leave it open,
/// q to stop. Elsewhere pairs are printed, and you give verdicts with `accept`, `reject` and `verdicts`. A verdict
/// holds for the text: every document with the same text has it, also a later one. A rejected pair does not count as
/// contaminated in SQL, reports or recipes. The precision of the rule is estimated from the verdicts; draw random pairs
/// for it with `sample`.
#[derive(clap::Args)]
pub(super) struct ContaminationReviewArgs {
    /// Accept the pair: the document (id or key) is contaminated by the item.
    #[arg(long, value_name = "SUITE:ITEM=ID|KEY", conflicts_with = "html")]
    accept: Vec<String>,
    /// Reject the pair: the document (id or key) is not contaminated by the item.
    #[arg(long, value_name = "SUITE:ITEM=ID|KEY", conflicts_with = "html")]
    reject: Vec<String>,
    /// Verdicts as JSON lines; `-` reads standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "html")]
    verdicts: Option<PathBuf>,
    /// Write the pairs as a self-contained page; it shows items and excerpts of texts.
    #[arg(long, value_name = "FILE", value_parser = on_disk())]
    html: Option<PathBuf>,
    #[command(flatten)]
    options: ReviewOptions,
}

/// Pairs that were shown, or verdicts that were stored.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum ReviewAnswer {
    /// Verdicts that were stored.
    Judged(JudgedPairs),
    /// Pairs.
    Pairs(ReviewedPairs),
}

/// Verdicts that were stored, and the precision of the rule by all verdicts.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "JudgeReport")]
pub(super) struct JudgedPairs {
    #[serde(flatten)]
    report: JudgeReport,
    #[serde(skip)]
    estimates: Vec<(String, RulePrecision)>,
}

/// Pairs of an item and a document that has it.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct ReviewedPairs {
    /// The pairs.
    pairs: Vec<ReviewPair>,
    #[serde(skip)]
    estimates: Vec<(String, RulePrecision)>,
    /// What a person sees of them.
    #[serde(skip)]
    shown: ShownPairs,
    /// The message when there is no pair.
    #[serde(skip)]
    none: &'static str,
}

/// What the answer prints about the pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ShownPairs {
    /// Each pair.
    #[default]
    All,
    /// The number of pairs on a page.
    Count,
    /// Nothing: a person was asked about each.
    Nothing,
}

impl Verb for ContaminationReviewArgs {
    const PATH: &str = "contamination review";
    const PYTHON: PythonMethod = PythonMethod::Mixed(
        "Corpus.contamination.review",
        &["suite", "accept", "reject", "verdicts", "html"],
    );
    const EXAMPLES: &[&str] = &[
        "corpusdb contamination review crawl gsm8k",
        "corpusdb contamination review crawl --sample 1 --limit 50 --html review.html",
        "corpusdb contamination review crawl --reject gsm8k:gsm8k-test.jsonl:17=42",
        "corpusdb contamination review crawl --accept gsm8k:gsm8k-test.jsonl:3=page-8",
        "corpusdb contamination review crawl --json > pairs.jsonl",
        "corpusdb contamination review crawl --verdicts judged.jsonl",
    ];
    const NOTES: &str = "\
A line of verdicts is one that --json prints, or {\"suite\", \"item\", \"document\": ID, \"verdict\"} (or \"key\" instead of
\"document\"). A verdict is accepted, rejected, none (deletes a verdict) or null (leaves the pair open).";
    type On = CorpusPath;
    type Report = ReviewAnswer;

    fn run(self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        if !self.accept.is_empty() || !self.reject.is_empty() || self.verdicts.is_some() {
            return Ok(ReviewAnswer::Judged(self.store_verdicts(path, call)?));
        }
        let corpus = call.options.open(path)?;
        let pairs = corpus.review(&self.options)?;
        let mut estimates = precision_by_suite(&corpus, &self.options)?;
        let mut shown = ShownPairs::All;
        if let Some(file) = &self.html {
            let page = ReviewPage::new(&pairs, &estimates, &corpus_title(path));
            call.write_page(file, &page)?;
            shown = ShownPairs::Count;
        } else if is_asked(call) {
            // Nothing is held open while the person thinks.
            drop(corpus);
            let answers = std::io::stdin().lock();
            ask_each(&pairs, answers, call.note, &mut |pair, verdict| {
                store_verdict(path, pair, verdict, call)
            })?;
            estimates = precision_by_suite(&call.options.open(path)?, &self.options)?;
            shown = ShownPairs::Nothing;
        }
        let none = match self.options.judged {
            true => "no document is contaminated by this rule",
            false => "every pair of this rule has a verdict; `judged=` shows them",
        };
        Ok(ReviewAnswer::Pairs(ReviewedPairs { pairs, estimates, shown, none }))
    }
}

/// Whether a person at a terminal can be asked.
fn is_asked(call: &VerbCall<'_>) -> bool {
    let is_person = call.session.is_some_and(|session| !session.json);
    is_person && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

impl ContaminationReviewArgs {
    /// Stores the verdicts that arguments and a file give.
    fn store_verdicts(self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<JudgedPairs> {
        let mut writer = call.options.open_writer(path)?;
        let (corpus, mut judgements) = (writer.corpus(), Vec::new());
        for (named, verdict) in
            [(&self.accept, SuiteVerdict::Accepted), (&self.reject, SuiteVerdict::Rejected)]
        {
            for pair in named {
                judgements.push(parse_judgement(&corpus, pair, verdict, call)?);
            }
        }
        let mut report = writer.judge(&judgements)?;
        if let Some(file) = &self.verdicts {
            review_verdicts::each(file, &mut writer, &mut report, call.note)?;
        }
        let estimates = precision_by_suite(&writer.corpus(), &self.options)?;
        Ok(JudgedPairs { report, estimates })
    }
}

/// The precision of each suite with verdicts.
fn precision_by_suite(
    corpus: &Corpus,
    options: &ReviewOptions,
) -> anyhow::Result<Vec<(String, RulePrecision)>> {
    let found = corpus.contamination(options.suite.as_deref(), &options.rule, 0)?;
    let judged = found.into_iter().filter_map(|one| Some((one.suite, one.precision?)));
    Ok(judged.collect())
}

/// Stores one verdict.
fn store_verdict(
    path: &Path,
    pair: &ReviewPair,
    verdict: SuiteVerdict,
    call: &VerbCall<'_>,
) -> anyhow::Result<()> {
    let judgement = Judgement {
        suite: pair.suite.clone(),
        item: pair.item.clone(),
        document: DocId(pair.document),
        verdict: Some(verdict),
    };
    call.session()?.write_soon(path)?.judge(&[judgement])?;
    Ok(())
}

/// Parses `SUITE:ITEM=ID|KEY`. The name of a suite has no colon. Of several `=` the first one counts that is followed
/// by the name of a document.
fn parse_judgement(
    corpus: &Corpus,
    pair: &str,
    verdict: SuiteVerdict,
    call: &VerbCall<'_>,
) -> anyhow::Result<Judgement> {
    let suites = corpus.suites()?;
    let named = suites.iter().find_map(|suite| {
        let rest = pair.strip_prefix(suite.suite.as_str())?.strip_prefix(':')?;
        Some((suite.suite.clone(), rest))
    });
    let Some((suite, rest)) = named else {
        let known: Vec<&str> = suites.iter().map(|suite| suite.suite.as_str()).collect();
        anyhow::bail!(
            "`{pair}` is not SUITE:ITEM=ID|KEY with one of the suites: {}",
            if known.is_empty() { "none".to_owned() } else { known.join(", ") }
        );
    };
    for (at, _) in rest.match_indices('=') {
        let (item, behind) = rest.split_at(at);
        let (_, document) = behind.split_at(1);
        if corpus.suite_item(&suite, item)?.is_none() {
            continue;
        }
        // Of several documents that had the key, the newest has it now.
        let found = find::documents(corpus, Some(document), None, call.note)?;
        let Some(document) = found.last() else {
            anyhow::bail!("`{pair}`: no document has the key {document}");
        };
        return Ok(Judgement {
            suite,
            item: item.to_owned(),
            document: *document,
            verdict: Some(verdict),
        });
    }
    anyhow::bail!(
        "`{pair}` names no item of suite `{suite}` before an `=`, such as `gsm8k-test.jsonl:0` (`corpusdb contamination show` lists their ids)"
    )
}

impl Report for ReviewAnswer {
    const TYPE: &'static str = "review_pair";

    fn print(&self, out: &mut Output) {
        let estimates = match self {
            Self::Judged(judged) => {
                let JudgeReport { accepted, rejected, withdrawn, unchanged, .. } = judged.report;
                out.line(format!(
                    "{accepted} accepted, {rejected} rejected, {withdrawn} deleted; {unchanged} of these verdicts existed already"
                ));
                &judged.estimates
            }
            Self::Pairs(answer) => {
                let ReviewedPairs { pairs, estimates, shown, none } = answer;
                match shown {
                    ShownPairs::Count => return out.line(format!("{} pairs", pairs.len())),
                    ShownPairs::All => pairs.iter().for_each(|pair| print_pair(pair, out)),
                    ShownPairs::Nothing => {}
                }
                if pairs.is_empty() {
                    out.note(*none);
                }
                estimates
            }
        };
        for (suite, precision) in estimates {
            out.line(precision_sentence(suite, precision));
        }
    }

    fn json(&self, _: Option<bool>) -> serde_json::Result<String> {
        match self {
            Self::Judged(judged) => output::json_line("contamination_review", judged, None),
            Self::Pairs(answer) => output::json_lines(Self::TYPE, &answer.pairs),
        }
    }
}

/// What a person answers for a pair.
enum TypedAnswer {
    Verdict(SuiteVerdict),
    Skip,
    Quit,
}

/// Shows the pairs one by one and hands each verdict to `store`, until the last pair or the end of input.
fn ask_each(
    pairs: &[ReviewPair],
    mut answers: impl BufRead,
    note: &dyn Fn(&str),
    store: &mut dyn FnMut(&ReviewPair, SuiteVerdict) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for (number, pair) in (1..).zip(pairs) {
        let mut out = Output::new(false);
        print_pair(pair, &mut out);
        output::print(&out.into_parts().0)?;
        match read_answer(&format!("{number} of {}", pairs.len()), &mut answers, note)? {
            TypedAnswer::Verdict(verdict) => store(pair, verdict)?,
            TypedAnswer::Skip => {}
            TypedAnswer::Quit => break,
        }
    }
    Ok(())
}

fn read_answer(
    place: &str,
    answers: &mut impl BufRead,
    note: &dyn Fn(&str),
) -> anyhow::Result<TypedAnswer> {
    loop {
        note(&format!("{place}: a contaminated, r not, s skip, q quit?"));
        let mut line = String::new();
        if answers.read_line(&mut line)? == 0 {
            return Ok(TypedAnswer::Quit);
        }
        match line.trim().to_lowercase().as_str() {
            "a" => return Ok(TypedAnswer::Verdict(SuiteVerdict::Accepted)),
            "r" => return Ok(TypedAnswer::Verdict(SuiteVerdict::Rejected)),
            "s" => return Ok(TypedAnswer::Skip),
            "q" => return Ok(TypedAnswer::Quit),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::review_columns::tests::pair;
    use super::*;

    fn decided(typed: &str, pairs: usize) -> Vec<(u64, SuiteVerdict)> {
        let pairs: Vec<ReviewPair> = (0..pairs as u64).map(pair).collect();
        let mut stored = Vec::new();
        ask_each(&pairs, typed.as_bytes(), &|_| {}, &mut |pair, verdict| {
            stored.push((pair.document, verdict));
            Ok(())
        })
        .unwrap();
        stored
    }

    #[test]
    fn answers_are_asked_for_until_one_is_understood() {
        use SuiteVerdict::{Accepted, Rejected};
        assert_eq!(decided("a\ns\nwhat?\n\nR\n", 3), [(0, Accepted), (2, Rejected)]);
        assert_eq!(decided("r\nq\na\n", 3), [(0, Rejected)]);
        assert_eq!(decided("a", 3), [(0, Accepted)]);
        assert_eq!(decided("", 1), []);
    }
}
