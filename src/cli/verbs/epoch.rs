//! `corpusdb epoch plan`, `show`, `extend` and `drop`: stores and manages plans of epochs.

use crate::cli::files::read_text;
use crate::cli::output::Output;
use crate::cli::verb::{
    CorpusPath, ListReport, ListRow, Manners, PythonMethod, Report, Verb, VerbCall,
};
use anyhow::Context as _;
use corpusdb::epoch::{Plan, PlanHeader};
use corpusdb::show::{count, number};
use corpusdb::store::EpochRecord;
use corpusdb::{Corpus, CorpusWriter, Recipe};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The text about RECIPE and PLAN, after the examples.
pub(super) const RECIPE_OR_PLAN: &str = "RECIPE is a TOML file (docs/reference/recipe.md); PLAN is the number that `corpusdb epoch plan` prints.";

/// The other corpora of a plan that draws from several.
#[derive(clap::Args)]
pub(super) struct EpochShards {
    /// Other corpora that epochs draw documents from; `corpus` stores the plans, and the order matters.
    ///
    /// On the command line give them last, or each in its own flag with =.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    shards: Vec<PathBuf>,
}

impl EpochShards {
    /// Opens all corpora.
    pub(super) fn open(&self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<Corpus> {
        Ok(call.options.open_with(path, &self.shards)?)
    }

    /// Opens the first corpus for writing; waits for another writer to end.
    pub(super) fn open_writer(
        &self,
        path: &Path,
        call: &VerbCall<'_>,
    ) -> anyhow::Result<CorpusWriter> {
        call.session()?.write_soon_with(path, &self.shards)
    }
}

pub(super) fn read_recipe(path: &Path) -> anyhow::Result<Recipe> {
    let text = read_text(path)?;
    Recipe::parse(&text).map_err(corpusdb::Error::from).with_context(|| path.display().to_string())
}

/// The number, if `what` is that of a stored plan; else it is the path of a recipe.
pub(super) fn plan_number(what: &str) -> Option<u32> {
    what.parse().ok()
}

/// A stored plan, or the plan of a recipe, which is then not stored.
pub(super) fn planned(corpus: &Corpus, what: &str, call: &VerbCall<'_>) -> anyhow::Result<Plan> {
    match plan_number(what) {
        Some(number) => Ok(corpus.stored_plan(number)?),
        None => Ok(corpus.plan(&read_recipe(Path::new(what))?, &call.context)?),
    }
}

/// Prints a note when a plan draws documents that were removed since its snapshot.
pub(super) fn note_removed(
    corpus: &Corpus,
    planned: &Plan,
    call: &VerbCall<'_>,
) -> anyhow::Result<()> {
    let removed = corpus.removed_since(planned)?;
    if removed > 0 {
        call.note(&format!(
            "the plan draws {} documents that were removed since snapshot `{}`: `exclude_removed = true` under [select] leaves them out, `strict=` refuses such a plan",
            number(removed),
            planned.plan.snapshot.name
        ));
    }
    Ok(())
}

/// Refuses a plan that draws documents that were removed since its snapshot.
pub(super) fn refuse_removed(corpus: &Corpus, planned: &Plan) -> anyhow::Result<()> {
    let removed = corpus.removed_since(planned)?;
    anyhow::ensure!(
        removed == 0,
        "the plan draws {} documents that were removed since snapshot `{}`: `exclude_removed = true` under [select] leaves them out; nothing was planned",
        number(removed),
        planned.plan.snapshot.name
    );
    Ok(())
}

/// Compute and store a plan; if the recipe names no snapshot, one of the last commit is made and pinned.
#[derive(clap::Args)]
pub(super) struct EpochPlanArgs {
    /// The recipe, or the number of a stored plan, whose first epochs get marks.
    #[arg(value_name = "RECIPE|PLAN")]
    what: String,
    /// Store marks for the first N epochs, so that opening these does not walk over their rows.
    #[arg(long, default_value_t = 1, value_name = "N")]
    epochs: u64,
    /// Refuse a plan with documents that were removed after its snapshot.
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    shards: EpochShards,
}

/// A plan that is stored.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "StoredPlan")]
pub(super) struct PlanAnswer {
    /// Its number.
    number: u32,
    /// blake3 of the plan, in hexadecimal.
    hash: String,
    /// The plan.
    plan: PlanHeader,
    /// Documents on neither side of its holdout, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    undecided_documents: Option<u64>,
    /// Of a plan that was stored already, how many of its first epochs got marks now.
    #[serde(skip_serializing_if = "Option::is_none")]
    marked: Option<u64>,
}

impl PlanAnswer {
    fn of(record: &EpochRecord, planned: Plan, corpus: &Corpus) -> anyhow::Result<Self> {
        let undecided_documents = match planned.plan.recipe.select.holdout {
            Some(_) => corpus.undecided(&planned)?,
            None => None,
        };
        let (number, hash) = (record.number, hexadecimal(&record.hash));
        Ok(Self { number, hash, plan: planned.plan, undecided_documents, marked: None })
    }
}

impl Verb for EpochPlanArgs {
    const PATH: &str = "epoch plan";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Corpus.plan");
    const EXAMPLES: &[&str] = &[
        "corpusdb epoch plan crawl recipe.toml",
        "corpusdb epoch plan crawl 1 --epochs 4",
        "corpusdb epoch plan crawl-0 recipe.toml --shards crawl-1 crawl-2 crawl-3",
    ];
    const NOTES: &str = RECIPE_OR_PLAN;
    const MANNERS: Manners = Manners::STOPS;
    type On = CorpusPath;
    type Report = PlanAnswer;

    fn run(self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        if let Some(number) = plan_number(&self.what) {
            let marked = self.shards.open_writer(path, call)?.mark_epochs(
                number,
                self.epochs,
                &call.context,
            )?;
            let corpus = self.shards.open(path, call)?;
            let records = corpus.epochs()?;
            let record = records.iter().find(|record| record.number == number);
            let record = record.with_context(|| format!("plan {number} was dropped meanwhile"))?;
            let answer = PlanAnswer::of(record, corpus.stored_plan(number)?, &corpus)?;
            return Ok(PlanAnswer { marked: Some(marked), ..answer });
        }
        let recipe = read_recipe(Path::new(&self.what))?;
        if self.strict {
            let corpus = self.shards.open(path, call)?;
            refuse_removed(&corpus, &corpus.plan(&recipe, &call.context)?)?;
        }
        let mut writer = self.shards.open_writer(path, call)?;
        let (record, planned) = writer.plan_epochs(&recipe, self.epochs, &call.context)?;
        drop(writer);
        let corpus = self.shards.open(path, call)?;
        note_removed(&corpus, &planned, call)?;
        let notes = corpus.plan_notes(&planned, &call.context)?;
        notes.iter().for_each(|note| call.note(note));
        PlanAnswer::of(&record, planned, &corpus)
    }
}

impl Report for PlanAnswer {
    const TYPE: &'static str = "plan";

    fn print(&self, out: &mut Output) {
        let Self { number: plan_number, hash, plan, undecided_documents, marked } = self;
        out.line(format!(
            "plan {plan_number}: {} {} an epoch from {}, snapshot {}, hash {}",
            number(plan.budget),
            plan.recipe.mix.unit.name(),
            count(plan.sources.len() as u64, "source", "sources"),
            plan.snapshot.name,
            short_hash(hash)
        ));
        if let Some(undecided) = undecided_documents {
            out.line(format!("holdout: {} documents are on neither side", number(*undecided)));
        }
        if let Some(marked) = marked {
            out.line(format!("{} got marks", count(*marked, "epoch", "epochs")));
        }
    }
}

/// List the stored plans; `epoch explain` shows what one gives.
#[derive(clap::Args)]
pub(super) struct EpochShowArgs {}

/// A stored plan in a list.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct PlanRow {
    /// Its number.
    number: u32,
    /// blake3 of the plan, in hexadecimal.
    hash: String,
    /// The snapshot that it draws from.
    snapshot: String,
    /// Size of one epoch, in the unit of the mix.
    budget: Option<u64>,
    /// Tokens that a row holds.
    capacity: Option<u64>,
    /// blake3 of the plan that it extends.
    parent: Option<String>,
    /// How documents are packed into rows.
    pack: Option<String>,
    /// The order of rows.
    order: Option<String>,
    #[serde(skip)]
    sources: usize,
}

impl PlanRow {
    /// The fields as they were stored, so that a plan that this release cannot use is listed, too.
    fn of(record: EpochRecord) -> anyhow::Result<Self> {
        let plan: Value = serde_json::from_str(&record.plan)
            .with_context(|| format!("plan {} is damaged", record.number))?;
        let count = |path: &str| plan.pointer(path).and_then(Value::as_u64);
        let word = |path: &str| plan.pointer(path).and_then(Value::as_str).map(str::to_owned);
        Ok(Self {
            number: record.number,
            hash: hexadecimal(&record.hash),
            snapshot: record.snapshot,
            budget: count("/budget"),
            capacity: count("/capacity"),
            parent: word("/parent/plan"),
            pack: word("/recipe/pack/kind"),
            order: word("/recipe/order/kind"),
            sources: plan.pointer("/sources").and_then(Value::as_array).map_or(0, Vec::len),
        })
    }
}

impl Verb for EpochShowArgs {
    const PATH: &str = "epoch show";
    const PYTHON: PythonMethod = PythonMethod::Generated("Corpus.plans");
    const EXAMPLES: &[&str] = &["corpusdb epoch show crawl", "corpusdb epoch show crawl --json"];
    type On = Corpus;
    type Report = ListReport<PlanRow>;

    fn run(self, corpus: &Corpus, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let rows = corpus.epochs()?.into_iter().map(PlanRow::of);
        Ok(ListReport(rows.collect::<anyhow::Result<_>>()?))
    }
}

impl ListRow for PlanRow {
    const TYPE: &'static str = "plan";

    fn print_all(plans: &[Self], out: &mut Output) {
        if plans.is_empty() {
            return out.note("there is no plan; `corpusdb epoch plan` makes one");
        }
        let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "-".to_owned());
        let amount = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), number);
        let row = |plan: &Self| {
            vec![
                plan.number.to_string(),
                short_hash(&plan.hash),
                plan.snapshot.clone(),
                plan.sources.to_string(),
                amount(plan.budget),
                amount(plan.capacity),
                word(&plan.pack),
                word(&plan.order),
                short_hash(&word(&plan.parent)),
            ]
        };
        let head =
            ["plan", "hash", "snapshot", "sources", "budget", "row", "pack", "order", "parent"];
        out.table(&head, plans.iter().map(row));
    }
}

/// As much of a hash as tells plans apart.
fn short_hash(hash: &str) -> String {
    hash.chars().take(12).collect()
}

fn hexadecimal(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Plan the rest of a run with new documents, weights or length; nothing repeats.
#[derive(clap::Args)]
pub(super) struct EpochExtendArgs {
    /// Number of the plan to extend.
    plan: u32,
    /// A recipe for the rest. By default that of the plan.
    recipe: Option<PathBuf>,
    /// Rows consumed since the beginning of the epoch: batches times rows per batch.
    #[arg(long, value_name = "ROW")]
    consumed: u64,
    /// The epoch in which `consumed` starts to count; rows beyond its end belong to the next epochs.
    #[arg(long, default_value_t = 0, value_name = "E")]
    epoch: u64,
    #[command(flatten)]
    shards: EpochShards,
}

impl Verb for EpochExtendArgs {
    const PATH: &str = "epoch extend";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Plan.extend");
    const EXAMPLES: &[&str] = &["corpusdb epoch extend crawl 1 --consumed 614400 new-weights.toml"];
    const MANNERS: Manners = Manners::STOPS;
    type On = CorpusPath;
    type Report = PlanAnswer;

    fn run(self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let recipe = self.recipe.as_deref().map(read_recipe).transpose()?;
        let reader = self.shards.open(path, call)?;
        let parent = reader.stored_plan(self.plan)?;
        let epoch = reader.epoch(&parent, self.epoch, &call.context)?;
        let next_row = epoch.run_row_after(self.consumed, &call.context);
        let next_row = next_row.map_err(corpusdb::Error::from)?;
        // Whoever takes batches for rows sees it here.
        let (consumed, rows) = (number(self.consumed), count(epoch.rows(), "row", "rows"));
        call.note(&format!(
            "continues plan {} after {consumed} of the {rows} of epoch {}",
            self.plan, self.epoch
        ));
        drop(reader);
        let mut writer = self.shards.open_writer(path, call)?;
        let (record, planned) =
            writer.extend(self.plan, next_row, recipe.as_ref(), &call.context)?;
        drop(writer);
        PlanAnswer::of(&record, planned, &self.shards.open(path, call)?)
    }
}

/// Delete a stored plan; refused while another plan extends it.
#[derive(clap::Args)]
pub(super) struct EpochDropArgs {
    /// Number of the plan.
    plan: u32,
}

/// A plan that was dropped.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct PlanDropReport {
    /// Its number.
    number: u32,
}

impl Verb for EpochDropArgs {
    const PATH: &str = "epoch drop";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Plan.drop", &["plan"]);
    const EXAMPLES: &[&str] = &["corpusdb epoch drop crawl 1"];
    const MANNERS: Manners = Manners::WAITS;
    type On = CorpusWriter;
    type Report = PlanDropReport;

    fn run(self, writer: &mut CorpusWriter, _: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        writer.drop_plan(self.plan)?;
        Ok(PlanDropReport { number: self.plan })
    }
}

impl Report for PlanDropReport {
    const TYPE: &'static str = "plan_dropped";

    fn print(&self, out: &mut Output) {
        out.line(format!("plan {} is dropped", self.number));
    }
}
