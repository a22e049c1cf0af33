//! `corpusdb epoch`: plan, explain, build and verify packed epochs.

use super::setup::Context;
use super::{Outcome, print};
use anyhow::Context as _;
use corpusdb::{
    BuildJob, Corpus, Explanation, Manifest, Plan, Planned, Recipe, Selections, Verification,
};
use std::path::{Path, PathBuf};
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  corpusdb epoch explain crawl recipe.toml
  corpusdb epoch plan crawl recipe.toml
  corpusdb epoch build crawl 1 --out epoch-0
  corpusdb epoch verify crawl epoch-0

RECIPE is a TOML file (docs/EPOCHS.md); PLAN is the number that `epoch plan` prints.";

/// Plan, explain, build and verify packed, source-mixed epochs
#[derive(clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(super) enum Verb {
    /// Compute and store a plan; without a `snapshot` in the recipe, one of this moment is made and pinned
    Plan {
        /// The corpus
        corpus: PathBuf,
        /// The recipe
        recipe: PathBuf,
    },
    /// Say what an epoch will be, and what every setting came to; writes nothing
    Explain {
        /// The corpus
        corpus: PathBuf,
        /// A recipe or the number of a plan
        #[arg(value_name = "RECIPE|PLAN")]
        what: String,
    },
    /// Write the shards and manifest.json of an epoch to a new directory
    Build {
        /// The corpus
        corpus: PathBuf,
        /// A recipe (it is planned first) or the number of a plan
        #[arg(value_name = "RECIPE|PLAN")]
        what: String,
        /// The directory to make
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Which epoch of the plan
        #[arg(long, default_value_t = 0, value_name = "E")]
        epoch: u64,
    },
    /// Read a written epoch back and check it against its plan and the corpus; exit code 1 if it fails
    Verify {
        /// The corpus
        corpus: PathBuf,
        /// What `epoch build` wrote
        directory: PathBuf,
    },
}

pub(super) fn run(verb: Verb, context: &Context) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Plan { corpus, recipe } => {
            let recipe = read_recipe(&recipe)?;
            let mut writer = context.write(&corpus)?;
            let (record, plan, _) = writer.plan(&recipe, context.progress.as_ref())?;
            report_plan(record.number, &plan, context)?;
        }
        Verb::Explain { corpus, what } => {
            let corpus = context.read(&corpus)?;
            let (plan, selections) = match number(&what) {
                Some(number) => corpus.stored_plan(number)?,
                None => {
                    let Planned { plan, selections } =
                        corpus.plan(&read_recipe(Path::new(&what))?, context.progress.as_ref())?;
                    (plan, selections)
                }
            };
            let explanation = corpus.explain(&plan, &selections)?;
            report_explanation(&explanation, context)?;
        }
        Verb::Build { corpus, what, out, epoch } => {
            let (plan, selections) = planned(&corpus, &what, context)?;
            let opened = context.read(&corpus)?;
            let started = Instant::now();
            let job = BuildJob {
                epoch,
                out: &out,
                threads: context.threads,
                progress: context.progress.as_ref(),
                interrupt: &context.interrupt,
            };
            let manifest = opened.build(&plan, &selections, &job)?;
            report_manifest(&manifest, &out, started.elapsed().as_secs_f64(), context)?;
        }
        Verb::Verify { corpus, directory } => {
            let opened = context.read(&corpus)?;
            let (plan, selections) = plan_of(&opened, &directory)?;
            let verification =
                opened.verify(&plan, &selections, &directory, context.progress.as_ref())?;
            return report_verification(&verification, context);
        }
    }
    Ok(Outcome::Good)
}

fn number(what: &str) -> Option<u32> {
    what.parse().ok()
}

fn read_recipe(path: &Path) -> anyhow::Result<Recipe> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("reading the recipe {}", path.display()))?;
    Recipe::parse(&text).map_err(corpusdb::Error::from).with_context(|| path.display().to_string())
}

/// A stored plan, or the plan of a recipe, which is stored.
fn planned(corpus: &Path, what: &str, context: &Context) -> anyhow::Result<(Plan, Selections)> {
    match number(what) {
        Some(number) => Ok(context.read(corpus)?.stored_plan(number)?),
        None => {
            let recipe = read_recipe(Path::new(what))?;
            let (_, plan, selections) =
                context.write(corpus)?.plan(&recipe, context.progress.as_ref())?;
            Ok((plan, selections))
        }
    }
}

/// The stored plan that the manifest in a directory names.
fn plan_of(corpus: &Corpus, directory: &Path) -> anyhow::Result<(Plan, Selections)> {
    let path = directory.join("manifest.json");
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let manifest: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?;
    let hash = manifest.get("plan").and_then(|hash| hash.as_str()).unwrap_or_default();
    let info = corpus.info()?;
    let Some(epoch) = info.epochs.iter().find(|epoch| epoch.hash == hash) else {
        anyhow::bail!(
            "{} names plan {hash}, which this corpus does not have; was it built from another corpus?",
            path.display()
        );
    };
    Ok(corpus.stored_plan(epoch.number)?)
}

fn report_plan(number: u32, plan: &Plan, context: &Context) -> anyhow::Result<()> {
    let hash: String = plan.hash().iter().map(|byte| format!("{byte:02x}")).collect();
    if context.json {
        let plan: serde_json::Value = serde_json::from_str(&plan.to_json())?;
        return print::json(
            &serde_json::json!({ "type": "plan", "number": number, "hash": hash, "plan": plan }),
        );
    }
    print::line(&format!(
        "plan {number}: {} tokens an epoch from {} sources, snapshot {}, hash {hash}",
        print::number(plan.budget),
        plan.sources.len(),
        plan.snapshot.name
    ))
}

fn report_explanation(explanation: &Explanation, context: &Context) -> anyhow::Result<()> {
    if context.json {
        return print::typed("explanation", explanation);
    }
    print::line(explanation.to_string().trim_end())?;
    print::line(&format!("\nevery setting:\n{}", explanation.recipe.trim_end()))
}

fn report_manifest(
    manifest: &Manifest,
    out: &Path,
    seconds: f64,
    context: &Context,
) -> anyhow::Result<()> {
    let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
    let rate = bytes as f64 / seconds.max(1e-9) / 1e6;
    if context.json {
        return print::json(&serde_json::json!({
            "type": "build", "out": out, "seconds": seconds, "bytes": bytes, "mb_per_second": rate, "manifest": manifest,
        }));
    }
    print::line(&format!(
        "{}: {} rows, {} tokens, {:.3} % of them full, {} files, {} in {seconds:.1} s ({rate:.0} MB/s)",
        out.display(),
        print::number(manifest.totals.rows),
        print::number(manifest.totals.tokens),
        manifest.totals.efficiency * 100.0,
        manifest.files.len(),
        print::size(bytes)
    ))?;
    let rows = manifest.sources.iter().map(|source| {
        let percent = |share: f64| format!("{:.3} %", share * 100.0);
        vec![
            source.name.clone(),
            print::number(source.documents),
            print::number(source.rows),
            print::number(source.tokens),
            percent(source.asked_share),
            percent(source.achieved_share),
            print::number(source.unused_tokens),
        ]
    });
    print::table(
        &["source", "documents", "rows", "tokens", "asked", "achieved", "unused"],
        &rows.collect::<Vec<_>>(),
    )
}

fn report_verification(verification: &Verification, context: &Context) -> anyhow::Result<Outcome> {
    let passed = verification.passed();
    if context.json {
        print::typed("verification", verification)?;
    } else {
        for check in &verification.checks {
            print::line(&format!(
                "{:6} {:14} {}",
                if check.passed { "ok" } else { "FAILED" },
                check.name,
                check.detail
            ))?;
        }
        print::line(if passed { "verified" } else { "verification failed" })?;
    }
    Ok(if passed { Outcome::Good } else { Outcome::Bad })
}
