//! `corpusdb contamination`: suites of evaluation items, and what of them is in a corpus.

mod add;
mod check;
mod review;
mod told;

use super::setup::CommandSession;
use super::{Outcome, find, print};
use corpusdb::contamination::Rule;
use corpusdb::pages::precision_sentence;
use corpusdb::query::{SuiteContamination, SuiteSummary};
use std::path::{Path, PathBuf};

/// Find what of evaluation suites is in a corpus, with evidence; leave it out of epochs
#[derive(clap::Subcommand)]
pub(super) enum Verb {
    Add(add::Args),
    Check(check::Args),
    /// List the suites: items, n-grams, how far stored texts were searched
    #[command(
        after_help = "Examples:\n  corpusdb contamination list crawl\n  corpusdb contamination list crawl --json"
    )]
    List {
        /// The corpus
        corpus: PathBuf,
    },
    /// Show the evidence of a suite, worst first, or of a document, beside what stands in it
    ///
    /// Exit code 1 when nothing of it was found.
    #[command(
        after_help = "Examples:\n  corpusdb contamination show crawl gsm8k --limit 3\n  corpusdb contamination show crawl 42"
    )]
    Show {
        /// The corpus
        corpus: PathBuf,
        /// A suite, or a document by its id or key
        #[arg(value_name = "NAME|ID")]
        what: String,
        /// At most so much evidence of a suite
        #[arg(long, value_name = "N", default_value_t = 10)]
        limit: usize,
        #[command(flatten)]
        rule: RuleArgs,
    },
    Review(review::Args),
    /// Forget a suite, what stored texts have of it, and what was decided about that
    #[command(after_help = "Example:\n  corpusdb contamination drop crawl gsm8k")]
    Drop {
        /// The corpus
        corpus: PathBuf,
        /// The suite
        name: String,
    },
    /// Say how much of each suite is in the corpus: items, documents, sources, the worst examples
    ///
    /// Kept documents count; those that are not kept are counted apart. N-grams that very many documents of several
    /// sources have count for nothing: how many these are is said too. Every figure follows from the table
    /// `contamination` (`corpusdb sql`), where other thresholds can be asked about.
    #[command(
        after_help = "Examples:\n  corpusdb contamination report crawl\n  corpusdb contamination report crawl gsm8k --score 0.8 --limit 20"
    )]
    Report {
        /// The corpus
        corpus: PathBuf,
        /// Only this suite
        name: Option<String>,
        /// Examples of each suite
        #[arg(long, value_name = "N", default_value_t = 5)]
        limit: usize,
        #[command(flatten)]
        rule: RuleArgs,
    },
}

/// From where on a document counts as contaminated.
#[derive(clap::Args)]
pub(super) struct RuleArgs {
    /// The least score, the weighted share of a question or an answer that stands in the document
    #[arg(long, value_name = "0..1", default_value_t = Rule::default().score)]
    score: f64,
    /// The least tokens of it that do, within runs of 8, or of 5 to 7 at one distance
    #[arg(long, value_name = "N", default_value_t = Rule::default().tokens)]
    tokens: u32,
    /// N-grams that the texts of so many kept documents have count for nothing (equal texts once),
    #[arg(long, value_name = "N", default_value_t = Rule::default().common_documents, value_parser = clap::value_parser!(u32).range(1..))]
    common_documents: u32,
    /// when these are of so many sources
    #[arg(long, value_name = "N", default_value_t = Rule::default().common_sources, value_parser = clap::value_parser!(u32).range(1..=8))]
    common_sources: u32,
}

impl RuleArgs {
    fn rule(&self) -> anyhow::Result<Rule> {
        anyhow::ensure!(
            (0.0..=1.0).contains(&self.score),
            "--score is a share from 0 to 1, not {}",
            self.score
        );
        let Self { score, tokens, common_documents, common_sources } = *self;
        Ok(Rule { score, tokens, common_documents, common_sources })
    }
}

impl Verb {
    /// Whether the verb looks for Ctrl-C itself, to stop where nothing is lost.
    pub(super) const fn has_safe_points(&self) -> bool {
        matches!(self, Self::Add(_) | Self::Check(_))
    }
}

pub(super) fn run(verb: Verb, session: &CommandSession) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Add(args) => add::run(args, session),
        Verb::Check(args) => check::run(&args, session),
        Verb::List { corpus } => {
            let suites = session.read(&corpus)?.suites()?;
            if session.json {
                suites.iter().try_for_each(|suite| print::typed("suite", suite))?;
            } else {
                list(&suites)?;
            }
            Ok(Outcome::Good)
        }
        Verb::Show { corpus, what, limit, rule } => show(&corpus, &what, limit, &rule, session),
        Verb::Review(args) => review::run(&args, session),
        Verb::Drop { corpus, name } => {
            session.write(&corpus)?.drop_suite(&name)?;
            if session.json {
                print::typed("suite_drop", &serde_json::json!({ "suite": name }))?;
            } else {
                print::line(&format!("dropped {name}"))?;
            }
            Ok(Outcome::Good)
        }
        Verb::Report { corpus, name, limit, rule } => {
            let corpus = session.read(&corpus)?;
            let found = corpus.contamination(name.as_deref(), &rule.rule()?, limit)?;
            if session.json {
                found.iter().try_for_each(|one| print::typed("contamination", one))?;
            } else {
                report(&found)?;
            }
            Ok(Outcome::Good)
        }
    }
}

fn list(suites: &[SuiteSummary]) -> anyhow::Result<()> {
    if suites.is_empty() {
        print::talk("there is no suite; `corpusdb contamination add` adds one");
        return Ok(());
    }
    let row = |suite: &SuiteSummary| {
        let searched = match suite.complete {
            true => "all".to_owned(),
            false => format!("{} (add it again to go on)", print::number(suite.searched)),
        };
        let counts = [suite.items, suite.weak, suite.unsearchable, suite.grams].map(print::number);
        [vec![suite.suite.clone()], counts.to_vec(), vec![searched]].concat()
    };
    let rows: Vec<Vec<String>> = suites.iter().map(row).collect();
    let head = ["suite", "items", "weak", "too short", "n-grams", "documents searched"];
    print::table(&head, &rows)
}

fn show(
    corpus: &Path,
    what: &str,
    limit: usize,
    rule: &RuleArgs,
    session: &CommandSession,
) -> anyhow::Result<Outcome> {
    let corpus = session.read(corpus)?;
    let rule = rule.rule()?;
    let found = if corpus.suites()?.iter().any(|suite| suite.suite == what) {
        corpus.suite_evidence(what, &rule, limit)?
    } else {
        let documents = find::documents(&corpus, Some(what), None)?;
        // A key that was given again: the newest document has it now.
        let Some(document) = documents.last() else { return Ok(Outcome::Bad) };
        corpus.document_evidence(*document, &rule)?
    };
    for evidence in &found {
        if session.json {
            print::typed("evidence", evidence)?;
        } else {
            told::evidence(&corpus, evidence)?;
        }
    }
    if found.is_empty() {
        print::talk(&format!("nothing of a suite was found in {what}"));
    }
    Ok(if found.is_empty() { Outcome::Bad } else { Outcome::Good })
}

fn report(found: &[SuiteContamination]) -> anyhow::Result<()> {
    if found.is_empty() {
        print::talk("there is no suite; `corpusdb contamination add` adds one");
    }
    let n = print::number;
    for suite in found {
        print::line(&format!(
            "{}: {} of {} items are in {} kept documents ({} more that are not kept)",
            suite.suite,
            n(suite.contaminated_items),
            n(suite.items),
            n(suite.documents),
            n(suite.removed_documents)
        ))?;
        if suite.weak_items > 0 {
            print::line(&format!("  {} of these items say no answer", n(suite.weak_items)))?;
        }
        print::line(&format!(
            "  {} documents have something of it; {} n-grams are common and count for nothing",
            n(suite.sighted_documents),
            n(suite.common)
        ))?;
        for source in &suite.sources {
            print::line(&format!("  {}: {} documents", source.source, n(source.documents)))?;
        }
        if let Some(precision) = &suite.precision {
            print::line(&format!("  {}", precision_sentence("by its verdicts", precision)))?;
        }
        told::table(&suite.worst)?;
    }
    Ok(())
}
