//! `corpusdb dedup`: what a dedup policy comes to, and deciding again under another one.

use super::policy::{DecisionArgs, NormaliserName, PolicyArgs};
use super::setup::CommandSession;
use super::{Outcome, print};
use corpusdb::DedupMode;
use corpusdb::curate::RedoReport;
use corpusdb::duplicates::{DedupExplanation, explain_policy};
use std::path::PathBuf;

/// Say what a dedup policy comes to, or decide again under another one
#[derive(clap::Subcommand)]
pub(super) enum Verb {
    Explain(Explain),
    Redo(Redo),
    Settle(Settle),
}

/// Decide again under another policy, from stored sketches and texts: nothing is read again
///
/// The decisions in force stay until all others are made; then what changes is printed and one commit makes
/// them current. After an interrupt run the same command again: it goes on where it stopped. Without a flag
/// the corpus's own policy is applied anew.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb dedup redo crawl --threshold 0.7 --dry-run\n  corpusdb dedup redo crawl --threshold 0.7\n  corpusdb dedup redo crawl --mode components --keep longest\n  corpusdb dedup redo crawl --keep field:quality --scope per-source\n  corpusdb dedup redo crawl --normaliser web"
)]
pub(super) struct Redo {
    /// The corpus
    corpus: PathBuf,
    #[command(flatten)]
    decision: DecisionArgs,
    /// Another version of the corpus's normaliser: `web` is the newest, web@1 that of earlier releases
    ///
    /// Fingerprints of all documents are made again from their texts. What removals block stays blocked.
    #[arg(long, value_enum, hide_possible_values = true)]
    normaliser: Option<NormaliserName>,
    /// Say what would change, and change nothing (works on a copy that is removed)
    #[arg(long)]
    dry_run: bool,
}

/// Compare what crowded buckets left out for want of memory, and decide those documents again
///
/// An ingest that meets more members of crowded buckets than an eighth of --memory holds compares with the
/// closest, marks the documents concerned (`crowded` in SQL) and says so. Here a quarter of --memory holds them;
/// what still does not fit is passed in parts, in another quarter. After an interrupt run the same command again.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb dedup settle crawl --memory 16GB\n  corpusdb dedup settle crawl --dry-run\n  corpusdb sql crawl \"SELECT id, key FROM documents WHERE crowded\""
)]
pub(super) struct Settle {
    /// The corpus
    corpus: PathBuf,
    /// Say what would change, and change nothing (works on a copy that is removed)
    #[arg(long)]
    dry_run: bool,
}

/// Say what a dedup policy finds, stores and costs, before it is chosen
///
/// Without a corpus: a profile with what is to be otherwise. With one: its policy, measured; or what another
/// threshold, banding, mode, keep order or scope would change. Nothing is written.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb dedup explain --profile fineweb\n  corpusdb dedup explain --threshold 0.7\n  corpusdb dedup explain --bands 64 --rows 4\n  corpusdb dedup explain crawl\n  corpusdb dedup explain crawl --threshold 0.7"
)]
pub(super) struct Explain {
    /// A corpus: its policy, with what is measured in it
    corpus: Option<PathBuf>,
    #[command(flatten)]
    policy: PolicyArgs,
}

pub(super) fn run(verb: Verb, session: &CommandSession) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Explain(args) => explain(&args, session),
        Verb::Redo(args) => redo(&args, session),
        Verb::Settle(args) => settle(&args, session),
    }
}

fn redo(args: &Redo, session: &CommandSession) -> anyhow::Result<Outcome> {
    let target = session.target(&args.corpus, args.dry_run)?;
    let mut writer = session.write(target.path())?;
    let policy = args.decision.changed(writer.view().policy(), args.normaliser)?;
    args.decision.remark(&policy);
    let report = writer.redo(&policy, &session.context())?;
    if !args.dry_run {
        writer.switch(&policy, &session.context())?;
    }
    if session.json {
        print::report("redo", &report, args.dry_run)?;
    } else {
        show_redo(&report, args.dry_run)?;
    }
    Ok(Outcome::Good)
}

fn settle(args: &Settle, session: &CommandSession) -> anyhow::Result<Outcome> {
    let target = session.target(&args.corpus, args.dry_run)?;
    let mut writer = session.write(target.path())?;
    let report = writer.settle(&session.context())?;
    if session.json {
        print::report("settle", &report, args.dry_run)?;
        return Ok(Outcome::Good);
    }
    let n = print::number;
    if report.crowded == 0 {
        print::line("no document has candidates that were not compared")?;
    } else {
        let verb = if args.dry_run { "would be " } else { "" };
        print::line(&format!(
            "{} of {} documents {verb}settled: {} no longer kept, {} kept again",
            n(report.settled),
            n(report.crowded),
            n(report.no_longer_kept),
            n(report.kept_again)
        ))?;
    }
    Ok(Outcome::Good)
}

fn show_redo(report: &RedoReport, dry_run: bool) -> anyhow::Result<()> {
    let n = print::number;
    print::line(&format!("from: {}", report.before))?;
    print::line(&format!("to:   {}", report.policy))?;
    let verb = if dry_run { "would be kept" } else { "kept" };
    print::line(&format!(
        "{} of {} documents {verb}, {} before",
        n(report.kept_after),
        n(report.documents),
        n(report.kept_before)
    ))?;
    let rows: Vec<Vec<String>> = report
        .sources
        .iter()
        .map(|source| {
            vec![
                source.name.clone(),
                n(source.kept_before),
                n(source.kept_after),
                n(source.newly_removed),
                n(source.newly_kept),
                print::size(source.bytes_before),
                print::size(source.bytes_after),
            ]
        })
        .collect();
    let head = ["source", "kept", "then", "removed now", "kept now", "text", "then"];
    print::table(&head, &rows)?;
    print::capped(report.capped)
}

fn explain(args: &Explain, session: &CommandSession) -> anyhow::Result<Outcome> {
    let found = match &args.corpus {
        None => explain_policy(&args.policy.policy()?),
        Some(path) => {
            let corpus = session.read(path)?;
            let other = args.policy.other_than(corpus.view().policy())?;
            corpus.explain_dedup(other.as_ref())?
        }
    };
    if session.json {
        print::typed("dedup_explanation", &found)?;
        return Ok(Outcome::Good);
    }
    print::settings(&found.settings)?;
    if found.policy_settings.mode.is_near() {
        detection(&found)?;
    }
    bytes(&found)?;
    sample(&found)?;
    change(&found)?;
    args.policy.remark(&found.policy_settings);
    Ok(Outcome::Good)
}

fn detection(found: &DedupExplanation) -> anyhow::Result<()> {
    if found.unused_slots > 0 {
        print::line(&format!("sketch slots in no band: {}", found.unused_slots))?;
    }
    // Nothing is verified in mode lsh: no estimate is asked for.
    let verifies = found.policy_settings.mode != DedupMode::Lsh;
    print::line(&format!("a pair of similarity {:.3} is found half of the time", found.half))?;
    if verifies {
        print::line(&format!(
            "texts are compared from a sketch estimate of {:.3}; `compared` is the share of pairs that reach it",
            found.estimate_floor
        ))?;
    }
    let rows: Vec<Vec<String>> = found
        .detection
        .iter()
        .map(|line| {
            let mark = if line.jaccard == found.policy_settings.threshold { " = T" } else { "" };
            let mut row = vec![
                format!("{}{mark}", (line.jaccard * 1e4).round() / 1e4),
                print::probability(line.found),
                print::number(line.candidates_per_million.round() as u64),
            ];
            row.extend(verifies.then(|| print::probability(line.verified)));
            row
        })
        .collect();
    let head = ["similarity", "found with", "candidates in a million pairs", "compared"];
    print::table(head.get(..if verifies { 4 } else { 3 }).unwrap_or(&head), &rows)
}

fn bytes(found: &DedupExplanation) -> anyhow::Result<()> {
    let bytes = &found.bytes;
    let how = if bytes.measured {
        format!(
            "measured over {} documents; rows still in the log are not counted",
            print::number(bytes.documents)
        )
    } else {
        "rows of a kept document, before compression".to_owned()
    };
    let families: Vec<String> = bytes
        .families
        .iter()
        .map(|family| format!("{} {:.0}", family.family, family.bytes))
        .collect();
    print::line(&format!("bytes a document: {:.0} ({how}): {}", bytes.total, families.join(", ")))
}

fn sample(found: &DedupExplanation) -> anyhow::Result<()> {
    let Some(sample) = &found.sample else { return Ok(()) };
    let crowded = match sample.capped {
        0 => "no crowded buckets".to_owned(),
        capped => format!(
            "of {} crowded buckets only the first 1,024 documents each were counted",
            print::number(capped)
        ),
    };
    print::line(&format!(
        "candidates of {} kept documents: {:.2} each, {} at most; {:.2} each compared by text; {}",
        print::number(sample.documents),
        sample.candidates,
        print::number(sample.most),
        sample.verified,
        crowded
    ))?;
    match sample.candidates_after {
        None => Ok(()),
        Some(after) => print::line(&format!(
            "of these {:.2} each share one of the other bands, too; pairs that share none now are not counted",
            after
        )),
    }
}

fn change(found: &DedupExplanation) -> anyhow::Result<()> {
    let Some(change) = &found.change else { return Ok(()) };
    print::line(&format!("the corpus has: {}", change.from))?;
    print::line("to go over to this policy:")?;
    for step in &change.steps {
        print::line(&format!("  {step}"))?;
    }
    if change.band_rows > 0 {
        print::line(&format!("  {} rows of buckets are written", print::number(change.band_rows)))?;
    }
    Ok(())
}
