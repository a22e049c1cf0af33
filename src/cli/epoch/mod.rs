//! `corpusdb epoch`: plan, explain, stream, build, extend and verify packed epochs.

mod report;

use super::setup::{CommandSession, on_disk};
use super::{Outcome, print};
use anyhow::Context as _;
use corpusdb::epoch::recipe::Column;
use corpusdb::epoch::{BuildJob, EpochError, Planned, StreamFormat, StreamViews};
use corpusdb::pages::{self, PlanPage, corpus_title};
use corpusdb::{Corpus, Recipe};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  corpusdb epoch explain crawl recipe.toml
  corpusdb epoch plan crawl recipe.toml
  corpusdb epoch mark crawl 1 --epochs 4
  corpusdb epoch build crawl 1 --out epoch-0
  corpusdb epoch verify crawl epoch-0
  corpusdb epoch stream crawl 1 --rank 0 --world 8 --from-batch 1200 --format arrow > batches.arrow
  corpusdb epoch row crawl 1 4711
  corpusdb epoch extend crawl 1 --consumed 614400 new-weights.toml
  corpusdb epoch plan crawl-0 recipe.toml --shards crawl-1 crawl-2 crawl-3

RECIPE is a TOML file (docs/reference/recipe.md); PLAN is the number that `epoch plan` prints.";

/// Batches read ahead of those that are written.
const AHEAD: usize = 4;

/// Plan, explain, stream, build, extend and verify packed, source-mixed epochs
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) verb: Verb,
    /// Corpora whose documents epochs draw from beside those of CORPUS, which has the plans; the order counts. Name
    /// them last, or each as --shards=DIR
    #[arg(long, global = true, value_name = "DIR", num_args = 1..)]
    shards: Vec<PathBuf>,
}

#[derive(clap::Subcommand)]
pub(super) enum Verb {
    /// Compute and store a plan; without a `snapshot` in the recipe, one of this moment is made and pinned
    Plan {
        /// The corpus
        corpus: PathBuf,
        /// The recipe
        recipe: PathBuf,
        /// Along how many epochs marks are stored, as `epoch mark` stores them
        #[arg(long, default_value_t = 1, value_name = "N")]
        epochs: u64,
        /// Refuse a plan that draws documents that were removed since its snapshot
        #[arg(long)]
        strict: bool,
    },
    /// Store marks along the first epochs of a plan: one that has them is opened without a walk over its rows
    Mark {
        /// The corpus
        corpus: PathBuf,
        /// Number of the plan
        plan: u32,
        /// Along how many epochs, those included that have them
        #[arg(long, default_value_t = 1, value_name = "N")]
        epochs: u64,
    },
    /// List the stored plans
    List {
        /// The corpus
        corpus: PathBuf,
    },
    /// Say what an epoch will be, and what every setting came to; writes nothing
    Explain {
        /// The corpus
        corpus: PathBuf,
        /// A recipe or the number of a plan
        #[arg(value_name = "RECIPE|PLAN")]
        what: String,
        /// Write a page that needs no server, script or other file
        #[arg(long, value_name = "FILE", value_parser = on_disk())]
        html: Option<PathBuf>,
    },
    /// Write the shards and manifest.json of an epoch to a new directory
    Build {
        /// The corpus
        corpus: PathBuf,
        /// A recipe (it is planned first) or the number of a plan
        #[arg(value_name = "RECIPE|PLAN")]
        what: String,
        /// The directory to make
        #[arg(long, value_name = "DIR", value_parser = on_disk())]
        out: PathBuf,
        /// Which epoch of the plan
        #[arg(long, default_value_t = 0, value_name = "E")]
        epoch: u64,
        /// Refuse a plan that draws documents that were removed since its snapshot
        #[arg(long)]
        strict: bool,
    },
    /// Give the batches of one rank from any batch on, without an export, on stdout
    Stream(Stream),
    /// Show one row: what is in it, from which document and where in it
    Row {
        /// The corpus
        corpus: PathBuf,
        /// A recipe or the number of a plan
        #[arg(value_name = "RECIPE|PLAN")]
        what: String,
        /// Number of the row in the epoch
        row: u64,
        /// Which epoch of the plan
        #[arg(long, default_value_t = 0, value_name = "E")]
        epoch: u64,
    },
    /// Plan what a plan has left, with new documents, weights or length: no repeat, no loss
    Extend {
        /// The corpus
        corpus: PathBuf,
        /// Number of the plan to go on from
        plan: u32,
        /// Rows consumed: batches given times their rows, from the beginning of the epoch on
        #[arg(long, value_name = "ROW")]
        consumed: u64,
        /// The epoch that ROW counts from; rows beyond its end are of the epochs after it
        #[arg(long, default_value_t = 0, value_name = "E")]
        epoch: u64,
        /// A recipe for the rest [default: that of the plan]
        recipe: Option<PathBuf>,
    },
    /// Forget a plan; refused while another one goes on from it
    Drop {
        /// The corpus
        corpus: PathBuf,
        /// Number of the plan
        plan: u32,
    },
    /// Read a written epoch back and check it against its plan and the corpus; exit code 1 if it fails
    Verify {
        /// The corpus
        corpus: PathBuf,
        /// What `epoch build` wrote
        directory: PathBuf,
    },
}

#[derive(clap::Args)]
pub(super) struct Stream {
    /// The corpus
    corpus: PathBuf,
    /// A recipe or the number of a plan
    #[arg(value_name = "RECIPE|PLAN")]
    what: String,
    /// Which epoch of the plan
    #[arg(long, default_value_t = 0, value_name = "E")]
    epoch: u64,
    /// This rank, from 0
    #[arg(long, default_value_t = 0, value_name = "R")]
    rank: u64,
    /// Number of ranks; it must divide `batch.rows`. Batches of max_tokens, and rows where there is no [batch], are
    /// dealt to ranks whole
    #[arg(long, default_value_t = 1, value_name = "W")]
    world: u64,
    /// The first global batch to give: where all ranks stand; batches are rows where the recipe has no [batch]
    #[arg(long, default_value_t = 0, value_name = "N")]
    from_batch: u64,
    /// Divide batches among ranks that they do not divide among evenly: some ranks then have a row less, or none, in
    /// turns
    #[arg(long)]
    uneven: bool,
    /// Batches to give [default: to the end of the epoch]
    #[arg(long, value_name = "N")]
    batches: Option<u64>,
    /// What is written
    #[arg(long, value_enum, default_value_t = Form::Jsonl)]
    format: Form,
    /// What rows come with beside their ids and segments, separated by commas: attention_mask, cu_seqlens, labels,
    /// loss_mask, loss_weights, max_seqlen, position_ids, segment_ids, seq_idx, seq_start_id [default: output.columns
    /// of the recipe]
    #[arg(long, value_name = "VIEWS", value_delimiter = ',', value_parser = view)]
    views: Option<Vec<Column>>,
    /// One record or line a batch, without pads: its ids end to end, indices, cu_seqlens, max_seqlen, and the aligned
    /// --views
    #[arg(long)]
    unpad: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Form {
    /// The Arrow IPC stream format, a record batch for each global batch
    Arrow,
    /// A row a line
    Jsonl,
}

pub(super) fn run(arguments: Arguments, session: &CommandSession) -> anyhow::Result<Outcome> {
    let Arguments { verb, shards } = arguments;
    let shards = shards.as_slice();
    match verb {
        Verb::Plan { corpus, recipe, epochs, strict } => {
            let recipe = read_recipe(&recipe)?;
            if strict {
                let opened = session.read_with(&corpus, shards)?;
                refuse_removed(&opened, &opened.plan(&recipe, &session.context())?)?;
            }
            let mut writer = session.write_soon_with(&corpus, shards)?;
            let (record, planned) = writer.plan_epochs(&recipe, epochs, &session.context())?;
            drop(writer);
            warn_of_removed(&session.read_with(&corpus, shards)?, &planned)?;
            let undecided = undecided(&corpus, shards, &planned, session)?;
            report::plan(record.number, &planned.plan, undecided, session)?;
        }
        Verb::Mark { corpus, plan, epochs } => mark(&corpus, shards, plan, epochs, session)?,
        Verb::List { corpus } => report::list(&session.read(&corpus)?.epochs()?, session)?,
        Verb::Explain { corpus: path, what, html } => {
            let corpus = session.read_with(&path, shards)?;
            let planned = planned(&corpus, &what, session)?;
            let explained = corpus.explain(&planned, &session.context())?;
            if let Some(file) = &html {
                let page = PlanPage::new(&explained, &corpus_title(&path));
                pages::write_page(file, &pages::page(&page)?)?;
            }
            report::explanation(&explained, session)?;
        }
        Verb::Build { corpus, what, out, epoch, strict } => {
            let job = BuildJob { epoch, out: &out };
            // Before the recipe is planned: what is refused leaves no plan behind.
            job.refuse_taken()?;
            if strict {
                let opened = session.read_with(&corpus, shards)?;
                refuse_removed(&opened, &planned(&opened, &what, session)?)?;
            }
            let planned = stored(&corpus, shards, &what, session)?;
            let opened = session.read_with(&corpus, shards)?;
            warn_of_removed(&opened, &planned)?;
            let started = Instant::now();
            let manifest = opened.build(&planned, &job, &session.context())?;
            report::manifest(&manifest, &out, started.elapsed().as_secs_f64(), session)?;
        }
        Verb::Stream(arguments) => stream(&arguments, shards, session)?,
        Verb::Row { corpus, what, row: number, epoch } => {
            row(&session.read_with(&corpus, shards)?, &what, epoch, number, session)?;
        }
        Verb::Extend { corpus, plan, consumed, epoch, recipe } => {
            let recipe = recipe.as_deref().map(read_recipe).transpose()?;
            let reader = session.read_with(&corpus, shards)?;
            let parent = reader.stored_plan(plan)?;
            let next_row = reader.run_row(&parent, epoch, consumed, &session.context())?;
            drop(reader);
            let mut writer = session.write_soon_with(&corpus, shards)?;
            let (record, planned) =
                writer.extend(plan, next_row, recipe.as_ref(), &session.context())?;
            drop(writer);
            let undecided = undecided(&corpus, shards, &planned, session)?;
            report::plan(record.number, &planned.plan, undecided, session)?;
        }
        Verb::Drop { corpus, plan } => forget(&corpus, plan, session)?,
        Verb::Verify { corpus, directory } => {
            let opened = session.read_with(&corpus, shards)?;
            let planned = plan_of(&opened, &directory)?;
            let verification = opened.verify(&planned, &directory, &session.context())?;
            return report::verification(&verification, session);
        }
    }
    Ok(Outcome::Good)
}

/// Stores marks along epochs of a plan.
fn mark(
    corpus: &Path,
    shards: &[PathBuf],
    plan: u32,
    epochs: u64,
    session: &CommandSession,
) -> anyhow::Result<()> {
    let mut writer = session.write_soon_with(corpus, shards)?;
    let marked = writer.mark_epochs(plan, epochs, &session.context())?;
    drop(writer);
    report::marked(plan, epochs, marked, session)
}

/// Forgets a stored plan.
fn forget(corpus: &Path, plan: u32, session: &CommandSession) -> anyhow::Result<()> {
    session.write_soon(corpus)?.drop_plan(plan)?;
    if session.json {
        print::json(&serde_json::json!({ "type": "plan_dropped", "number": plan }))?;
    } else {
        print::line(&format!("plan {plan} is forgotten"))?;
    }
    Ok(())
}

/// Shows a row with the keys of its documents.
fn row(
    corpus: &Corpus,
    what: &str,
    epoch: u64,
    number: u64,
    session: &CommandSession,
) -> anyhow::Result<()> {
    let planned = planned(corpus, what, session)?;
    let found = corpus.epoch(&planned, epoch, &session.context())?.row(number)?;
    let keys = found.segments().iter().map(|segment| corpus.key_of(segment.document));
    let keys: Vec<String> = keys.collect::<Result<_, _>>()?;
    report::row(&found, &keys, !planned.plan.shards.is_empty(), session)
}

fn stream(arguments: &Stream, shards: &[PathBuf], session: &CommandSession) -> anyhow::Result<()> {
    let corpus = session.read_with(&arguments.corpus, shards)?;
    let planned = planned(&corpus, &arguments.what, session)?;
    let mut epoch = corpus.epoch(&planned, arguments.epoch, &session.context())?;
    if arguments.uneven {
        epoch = epoch.allow_uneven();
    }
    let (asked, there_are) = (arguments.from_batch, epoch.batches());
    if asked >= there_are {
        let past = EpochError::OutOfRange { what: "batch", asked, there_are };
        return Err(corpusdb::Error::from(past).into());
    }
    let format = match arguments.format {
        Form::Arrow => StreamFormat::Arrow,
        Form::Jsonl => StreamFormat::Jsonl,
    };
    let views = StreamViews { columns: arguments.views.clone(), unpadded: arguments.unpad };
    let out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    let batches = epoch.stream(arguments.from_batch, arguments.rank, arguments.world, AHEAD)?;
    let most = arguments.batches.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    let write = || -> anyhow::Result<()> {
        let mut printer = epoch.printer_of(format, &views, out)?;
        for batch in batches.take(most) {
            printer.write(&batch?)?;
        }
        Ok(printer.finish()?)
    };
    match write() {
        // A reader that has had enough closes the pipe.
        Err(error) if is_closed_pipe(&error) => Ok(()),
        other => other,
    }
}

/// A view by its name.
fn view(name: &str) -> Result<Column, String> {
    let found = Column::ALL.into_iter().find(|column| column.name() == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = Column::ALL.iter().map(|column| column.name()).collect();
        format!("there is no such view; there is {}", names.join(", "))
    })
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    causes.any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

fn number(what: &str) -> Option<u32> {
    what.parse().ok()
}

fn read_recipe(path: &Path) -> anyhow::Result<Recipe> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("reading the recipe {}", path.display()))?;
    Recipe::parse(&text).map_err(corpusdb::Error::from).with_context(|| path.display().to_string())
}

/// How many documents are on neither side of the holdout of a plan that was just stored, where it has one.
fn undecided(
    corpus: &Path,
    shards: &[PathBuf],
    planned: &Planned,
    session: &CommandSession,
) -> anyhow::Result<Option<u64>> {
    match planned.plan.recipe.select.holdout {
        Some(_) => Ok(session.read_with(corpus, shards)?.undecided(planned)?),
        None => Ok(None),
    }
}

/// Says when a plan draws documents that were removed since its snapshot.
fn warn_of_removed(corpus: &Corpus, planned: &Planned) -> anyhow::Result<()> {
    let removed = corpus.removed_since(planned)?;
    if removed > 0 {
        print::talk(&format!(
            "the plan draws {} documents that were removed since snapshot `{}`: `exclude_removed = true` under [select] leaves them out, `--strict` refuses such a plan",
            print::number(removed),
            planned.plan.snapshot.name
        ));
    }
    Ok(())
}

fn refuse_removed(corpus: &Corpus, planned: &Planned) -> anyhow::Result<()> {
    let removed = corpus.removed_since(planned)?;
    anyhow::ensure!(
        removed == 0,
        "the plan draws {} documents that were removed since snapshot `{}`: `exclude_removed = true` under [select] leaves them out; nothing was planned",
        print::number(removed),
        planned.plan.snapshot.name
    );
    Ok(())
}

/// A stored plan, or the plan of a recipe, which is not stored.
fn planned(corpus: &Corpus, what: &str, session: &CommandSession) -> anyhow::Result<Planned> {
    match number(what) {
        Some(number) => Ok(corpus.stored_plan(number)?),
        None => Ok(corpus.plan(&read_recipe(Path::new(what))?, &session.context())?),
    }
}

/// A stored plan, or the plan of a recipe, which is stored.
fn stored(
    corpus: &Path,
    shards: &[PathBuf],
    what: &str,
    session: &CommandSession,
) -> anyhow::Result<Planned> {
    match number(what) {
        Some(number) => Ok(session.read_with(corpus, shards)?.stored_plan(number)?),
        None => {
            let recipe = read_recipe(Path::new(what))?;
            let mut writer = session.write_soon_with(corpus, shards)?;
            Ok(writer.plan_epochs(&recipe, 1, &session.context())?.1)
        }
    }
}

/// The stored plan that the manifest in a directory names.
fn plan_of(corpus: &Corpus, directory: &Path) -> anyhow::Result<Planned> {
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
