//! `corpusdb epoch explain`, `build` and `verify`: describes an epoch, writes its files, and checks them.

use super::epoch::{
    EpochShards, RECIPE_OR_PLAN, note_removed, plan_number, planned, read_recipe, refuse_removed,
};
use crate::cli::columns::shown_path;
use crate::cli::output::Output;
use crate::cli::record::{OnRecord, RecordArgs};
use crate::cli::session::{now, on_disk};
use crate::cli::verb::{CorpusPath, ExitStatus, Manners, PythonMethod, Report, Verb, VerbCall};
use corpusdb::Corpus;
use corpusdb::epoch::{BuildJob, Explanation, Manifest, Plan, Verification};
use corpusdb::pages::{PlanPage, corpus_title};
use corpusdb::show::number;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Explain what an epoch will contain and what every setting means for it; writes nothing.
#[derive(clap::Args)]
pub(super) struct EpochExplainArgs {
    /// A recipe or the number of a plan.
    #[arg(value_name = "RECIPE|PLAN")]
    what: String,
    /// Write a self-contained page.
    #[arg(long, value_name = "FILE", value_parser = on_disk())]
    html: Option<PathBuf>,
    /// Show how the rows of the first N mega-batches are grouped by length, step by step.
    ///
    /// For recipes with order.kind = "length-grouped": the rows permuted, cut into mega-batches, sorted, the longest of
    /// all moved to the front (with exact = "torch"), and in batches with their pads. Rows are written as
    /// document:tokens. N is at most 64.
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Try other multipliers of the mega-batch: pads, the largest batch, and what is left to chance.
    ///
    /// For recipes with order.kind = "length-grouped". It reads lengths only, of at most 1,048,576 rows. The rank
    /// correlation is that of the places of rows in two epochs; what is left to chance is that of which rows share a
    /// batch.
    #[arg(long)]
    sweep: bool,
    /// Show all sources and columns, and every setting of the recipe with the defaults.
    #[arg(long)]
    settings: bool,
    #[command(flatten)]
    shards: EpochShards,
}

/// What an epoch will contain, with what is shown of it.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub(super) struct ExplainAnswer {
    explanation: Box<Explanation>,
    /// The command that shows the settings; none where they are shown.
    #[serde(skip)]
    settings: Option<String>,
}

impl Verb for EpochExplainArgs {
    const PATH: &str = "epoch explain";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Plan.explain");
    const EXAMPLES: &[&str] = &[
        "corpusdb epoch explain crawl recipe.toml",
        "corpusdb epoch explain crawl 1 --settings",
        "corpusdb epoch explain crawl 1 --html plan.html",
        "corpusdb epoch explain crawl grouped.toml --steps 2 --sweep",
    ];
    const NOTES: &str = RECIPE_OR_PLAN;
    const MANNERS: Manners = Manners::STOPS;
    type On = CorpusPath;
    type Report = ExplainAnswer;

    fn run(self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let corpus = self.shards.open(path, call)?;
        let planned = planned(&corpus, &self.what, call)?;
        let mut explanation = corpus.explain(&planned, &call.context)?;
        if let Some(mega_batches) = self.steps {
            let steps = corpus.grouping_steps(&planned, mega_batches, &call.context)?;
            explanation.grouping = Some(steps);
        }
        if self.sweep {
            explanation.sweep = Some(corpus.sweep_multipliers(&planned, &call.context)?);
        }
        if let Some(file) = &self.html {
            let page = PlanPage::new(&explanation, &corpus_title(path));
            call.write_page(file, &page)?;
        }
        let shown = path.to_string_lossy();
        let command =
            || format!("corpusdb epoch explain {} {} --settings", shown_path(&shown), self.what);
        let settings = (!self.settings).then(command);
        Ok(ExplainAnswer { explanation: Box::new(explanation), settings })
    }
}

impl Report for ExplainAnswer {
    const TYPE: &'static str = "explanation";

    fn print(&self, out: &mut Output) {
        let Self { explanation, settings } = self;
        match settings {
            Some(command) => {
                out.line(explanation.to_string());
                out.line(format!("settings  {command}"));
            }
            None => {
                out.line(format!("{explanation:#}"));
                out.line(format!("\nevery setting:\n{}", explanation.recipe.trim_end()));
            }
        }
    }
}

/// Write the shards of an epoch to a new directory, with a manifest.
#[derive(clap::Args)]
pub(super) struct EpochBuildArgs {
    /// A recipe (it is planned first) or the number of a plan.
    #[arg(value_name = "RECIPE|PLAN")]
    what: String,
    /// The directory to create.
    #[arg(long, value_name = "DIR", value_parser = on_disk())]
    out: PathBuf,
    /// The epoch of the plan, counted from 0.
    #[arg(long, default_value_t = 0, value_name = "E")]
    epoch: u64,
    /// Refuse a plan with documents that were removed after its snapshot.
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    record: RecordArgs,
    #[command(flatten)]
    shards: EpochShards,
}

/// An epoch that was written.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct BuildReport {
    /// The directory.
    out: String,
    /// Seconds that it took.
    seconds: f64,
    /// Bytes of its files.
    bytes: u64,
    /// Millions of bytes a second.
    mb_per_second: f64,
    /// Its manifest.
    manifest: Manifest,
    #[serde(flatten)]
    on_record: OnRecord,
}

impl Verb for EpochBuildArgs {
    const PATH: &str = "epoch build";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Plan.build");
    const EXAMPLES: &[&str] = &[
        "corpusdb epoch build crawl 1 --out epoch-0",
        "corpusdb epoch build crawl recipe.toml --out epoch-0 --strict",
    ];
    const NOTES: &str = RECIPE_OR_PLAN;
    const MANNERS: Manners = Manners::STOPS;
    type On = CorpusPath;
    type Report = BuildReport;

    fn run(self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let job = BuildJob { epoch: self.epoch, out: &self.out };
        // Before planning: a refusal then leaves no plan behind.
        job.refuse_taken().map_err(corpusdb::Error::from)?;
        if self.strict {
            let corpus = self.shards.open(path, call)?;
            refuse_removed(&corpus, &planned(&corpus, &self.what, call)?)?;
        }
        let planned = self.stored_plan(path, call)?;
        let corpus = self.shards.open(path, call)?;
        note_removed(&corpus, &planned, call)?;
        let started = Instant::now();
        let (manifest, on_record) = match self.record.record {
            true => {
                let (manifest, recorded) =
                    corpus.build_on_record(&planned, &job, now(), &call.context)?;
                (manifest, OnRecord::of(recorded, call))
            }
            false => (corpus.build(&planned, &job, &call.context)?, OnRecord::default()),
        };
        let seconds = started.elapsed().as_secs_f64();
        let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
        let mb_per_second = bytes as f64 / seconds.max(1e-9) / 1e6;
        let out = self.out.to_string_lossy().into_owned();
        Ok(BuildReport { out, seconds, bytes, mb_per_second, manifest, on_record })
    }
}

impl EpochBuildArgs {
    /// A stored plan, or the plan of a recipe, which is then stored.
    fn stored_plan(&self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<Plan> {
        match plan_number(&self.what) {
            Some(number) => Ok(self.shards.open(path, call)?.stored_plan(number)?),
            None => {
                let recipe = read_recipe(Path::new(&self.what))?;
                let mut writer = self.shards.open_writer(path, call)?;
                Ok(writer.plan_epochs(&recipe, 1, &call.context)?.1)
            }
        }
    }
}

impl Report for BuildReport {
    const TYPE: &'static str = "build";

    fn print(&self, out: &mut Output) {
        let Self { out: directory, bytes, manifest, .. } = self;
        let what = format!(
            "{} rows, {} tokens, {} full, {} files",
            number(manifest.totals.rows),
            number(manifest.totals.tokens),
            fine_percent(manifest.totals.efficiency),
            manifest.files.len()
        );
        out.wrote(directory, &what, *bytes, way(manifest));
        let rows = manifest.sources.iter().map(|source| {
            vec![
                source.name.clone(),
                number(source.documents),
                number(source.rows),
                number(source.tokens),
                fine_percent(source.asked_share),
                fine_percent(source.achieved_share),
                number(source.unused_tokens),
            ]
        });
        out.table(&["source", "documents", "rows", "tokens", "asked", "achieved", "unused"], rows);
    }
}

/// What opens the files of an epoch, where they are of no format that everybody reads.
fn way(manifest: &Manifest) -> &'static str {
    match manifest.format.as_str() {
        "megatron" => "IndexedDataset of Megatron-LM, NeMo or GPT-NeoX",
        "arrow" => "datasets.load_from_disk",
        "mds" => "StreamingDataset of MosaicML Streaming",
        "litdata" => "StreamingDataset of litdata with its TokensLoader",
        "raw" => "np.memmap, or the trainer that the recipe names",
        _ => "",
    }
}

/// With three decimals: an achieved share differs from the asked one by less than a row.
fn fine_percent(share: f64) -> String {
    format!("{:.3} %", share * 100.0)
}

/// Read a written epoch back and check it against its plan and the corpus.
#[derive(clap::Args)]
pub(super) struct EpochVerifyArgs {
    /// The directory that `epoch build` wrote.
    directory: PathBuf,
    #[command(flatten)]
    shards: EpochShards,
}

impl Verb for EpochVerifyArgs {
    const PATH: &str = "epoch verify";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Plan.verify");
    const EXAMPLES: &[&str] = &["corpusdb epoch verify crawl epoch-0"];
    const NOTES: &str = "Exit code 1 when a check fails.";
    const MANNERS: Manners = Manners::STOPS;
    type On = CorpusPath;
    type Report = Verification;

    fn run(self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let corpus = self.shards.open(path, call)?;
        let planned = plan_of_manifest(&corpus, &self.directory)?;
        Ok(corpus.verify(&planned, &self.directory, &call.context)?)
    }
}

/// The stored plan that the manifest in a directory names.
fn plan_of_manifest(corpus: &Corpus, directory: &Path) -> anyhow::Result<Plan> {
    let hash = Manifest::read(directory).map_err(corpusdb::Error::from)?.plan;
    let info = corpus.info()?;
    let Some(epoch) = info.epochs.iter().find(|epoch| epoch.hash == hash) else {
        anyhow::bail!(
            "{} was built from plan {hash}, which this corpus does not have; was it built from another corpus?",
            directory.display()
        );
    };
    Ok(corpus.stored_plan(epoch.number)?)
}

impl Report for Verification {
    const TYPE: &'static str = "verification";

    fn print(&self, out: &mut Output) {
        for check in &self.checks {
            let word = if check.passed { "ok    " } else { "FAILED" };
            out.verdict(check.passed, word, &format!(" {:14} {}", check.name, check.detail));
        }
        let verdict = if self.passed() { "verified" } else { "verification failed" };
        out.verdict(self.passed(), verdict, "");
    }

    fn status(&self) -> ExitStatus {
        ExitStatus::of(self.passed())
    }
}
