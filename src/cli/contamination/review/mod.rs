//! `corpusdb contamination review`: pairs of an item and a document side by side, and what somebody decides about them.

mod ask;
mod columns;
mod file;

use super::RuleArgs;
use crate::cli::setup::{CommandSession, on_disk};
use crate::cli::{Outcome, find, print};
use corpusdb::contamination::{Precision, SuiteVerdict};
use corpusdb::curate::{JudgeReport, Judgement};
use corpusdb::pages::{self, ReviewPage, corpus_title, precision_sentence};
use corpusdb::query::{ReviewOptions, ReviewPair};
use corpusdb::{Corpus, DocId};
use std::io::IsTerminal;
use std::path::PathBuf;

/// Show items beside what documents have of them, worst first; accept or reject each pair
///
/// On a terminal each pair is asked about: a when the document is contaminated by the item, r when it is not, s to
/// leave it open, q to stop. Elsewhere pairs are printed, and verdicts come by `--accept`, `--reject` and `--verdicts`.
/// A verdict is of the document's text: every document with the same text has it, also one that comes later. A rejected
/// pair counts as contaminated nowhere: not in SQL, not in reports, not in recipes. The precision of the rule is
/// estimated from the verdicts; for that, draw the pairs by chance with `--sample`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb contamination review crawl gsm8k\n  corpusdb contamination review crawl --sample 1 --limit 50 --html review.html\n  corpusdb contamination review crawl --reject gsm8k:gsm8k-test:17=42\n  corpusdb contamination review crawl --accept gsm8k:gsm8k-test:3=page-8\n  corpusdb contamination review crawl --json > pairs.jsonl\n  corpusdb contamination review crawl --verdicts judged.jsonl\n\nA line of verdicts is what --json prints, or {\"suite\", \"item\", \"document\": ID, \"verdict\"} (or \"key\" for the document), where\nverdict is accepted, rejected, none (takes it back) or null (leaves it open)."
)]
pub(in crate::cli) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// Only this suite
    suite: Option<String>,
    /// At most so many pairs
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Pairs drawn by chance with this seed, in the place of the worst
    #[arg(long, value_name = "SEED")]
    sample: Option<u64>,
    /// Also pairs that have a verdict
    #[arg(long)]
    judged: bool,
    /// The document, by id or key, is contaminated by the item
    #[arg(long, value_name = "SUITE:ITEM=ID|KEY")]
    accept: Vec<String>,
    /// It is not
    #[arg(long, value_name = "SUITE:ITEM=ID|KEY")]
    reject: Vec<String>,
    /// Verdicts as JSON lines; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    verdicts: Option<PathBuf>,
    /// Write the pairs as a page that needs no server, script or other file; it shows items and parts of texts
    #[arg(long, value_name = "FILE", value_parser = on_disk())]
    html: Option<PathBuf>,
    #[command(flatten)]
    rule: RuleArgs,
}

pub(super) fn run(args: &Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let options = options(args)?;
    if !args.accept.is_empty() || !args.reject.is_empty() || args.verdicts.is_some() {
        anyhow::ensure!(
            args.html.is_none(),
            "--html shows pairs: ask for it in a command of its own"
        );
        return given(args, session);
    }
    let corpus = session.read(&args.corpus)?;
    let pairs = corpus.review(&options)?;
    if let Some(file) = &args.html {
        let estimates = estimates(&corpus, args)?;
        let page = ReviewPage::new(&pairs, &estimates, &corpus_title(&args.corpus));
        pages::write_page(file, &pages::page(&page)?)?;
    }
    if session.json {
        pairs.iter().try_for_each(|pair| print::typed("review_pair", pair))?;
        return Ok(Outcome::Good);
    }
    if args.html.is_some() {
        print::line(&format!("{} pairs", pairs.len()))?;
        return Ok(Outcome::Good);
    }
    let is_asked = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    drop(corpus);
    if is_asked {
        let answers = std::io::stdin().lock();
        ask::each(&pairs, answers, &mut |pair, verdict| store(args, session, pair, verdict))?;
    } else {
        pairs.iter().try_for_each(columns::pair)?;
    }
    if pairs.is_empty() {
        print::talk(match args.judged {
            true => "nothing is contaminated by this rule",
            false => "nothing is left to decide by this rule; --judged shows what was decided",
        });
    }
    for (suite, precision) in estimates(&session.read(&args.corpus)?, args)? {
        print::line(&precision_sentence(&suite, &precision))?;
    }
    Ok(Outcome::Good)
}

fn options(args: &Args) -> anyhow::Result<ReviewOptions> {
    let mut options = ReviewOptions::default();
    options.suite.clone_from(&args.suite);
    options.rule = args.rule.rule()?;
    (options.limit, options.sample, options.judged) = (args.limit, args.sample, args.judged);
    Ok(options)
}

/// The precision of each suite about which something was decided.
fn estimates(corpus: &Corpus, args: &Args) -> anyhow::Result<Vec<(String, Precision)>> {
    let found = corpus.contamination(args.suite.as_deref(), &args.rule.rule()?, 0)?;
    let judged = found.into_iter().filter_map(|one| Some((one.suite, one.precision?)));
    Ok(judged.collect())
}

/// Stores one verdict; nothing is held open while somebody thinks.
fn store(
    args: &Args,
    session: &CommandSession,
    pair: &ReviewPair,
    verdict: SuiteVerdict,
) -> anyhow::Result<()> {
    let judgement = Judgement {
        suite: pair.suite.clone(),
        item: pair.item.clone(),
        document: DocId(pair.document),
        verdict: Some(verdict),
    };
    session.write_soon(&args.corpus)?.judge(&[judgement])?;
    Ok(())
}

/// Stores the verdicts of arguments and of a file.
fn given(args: &Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let mut writer = session.write(&args.corpus)?;
    let (corpus, mut judgements) = (writer.corpus(), Vec::new());
    for (named, verdict) in
        [(&args.accept, SuiteVerdict::Accepted), (&args.reject, SuiteVerdict::Rejected)]
    {
        for pair in named {
            judgements.push(of_argument(&corpus, pair, verdict)?);
        }
    }
    let mut report = writer.judge(&judgements)?;
    if let Some(path) = &args.verdicts {
        file::each(path, &mut writer, &mut report)?;
    }
    let JudgeReport { accepted, rejected, withdrawn, unchanged, .. } = report;
    if session.json {
        print::typed("contamination_review", &report)?;
    } else {
        print::line(&format!(
            "{accepted} accepted, {rejected} rejected, {withdrawn} taken back; {unchanged} of these were so before"
        ))?;
        let found = writer.corpus().contamination(args.suite.as_deref(), &args.rule.rule()?, 0)?;
        for suite in found {
            if let Some(precision) = &suite.precision {
                print::line(&precision_sentence(&suite.suite, precision))?;
            }
        }
    }
    Ok(Outcome::Good)
}

/// `SUITE:ITEM=ID|KEY`; a name has no colon before that of its item, and of several `=` that counts behind which a
/// document is named.
fn of_argument(corpus: &Corpus, pair: &str, verdict: SuiteVerdict) -> anyhow::Result<Judgement> {
    let suites = corpus.suites()?;
    let named = suites.iter().find_map(|suite| {
        let rest = pair.strip_prefix(suite.suite.as_str())?.strip_prefix(':')?;
        Some((suite.suite.clone(), rest))
    });
    let Some((suite, rest)) = named else {
        let known: Vec<&str> = suites.iter().map(|suite| suite.suite.as_str()).collect();
        anyhow::bail!(
            "`{pair}` is not SUITE:ITEM=ID|KEY with one of the suites that there are: {}",
            if known.is_empty() { "none".to_owned() } else { known.join(", ") }
        );
    };
    for (at, _) in rest.match_indices('=') {
        let (item, document) = (rest.get(..at), rest.get(at + 1..).unwrap_or_default());
        let Some(item) = item else { continue };
        if corpus.suite_item(&suite, item)?.is_none() {
            continue;
        }
        // A key that was given again: the newest document has it now.
        let found = find::documents(corpus, Some(document), None)?;
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
        "`{pair}` names no item of suite `{suite}` before an `=` (`corpusdb contamination show` tells their ids)"
    )
}
