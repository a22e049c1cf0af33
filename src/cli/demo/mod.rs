//! `corpusdb demo`: the whole path on real text, told step by step.
//!
//! Stages: `place` the directory, `crates`, `carried` and `input` what goes in, `crawl` (with `examples` and `differ`)
//! the ingests, `tokens`, `queries`, `epochs`; `teller` says what happens and which command does the same.

mod carried;
mod crates;
mod crawl;
mod differ;
mod directory;
mod epochs;
mod examples;
mod input;
mod queries;
mod teller;
mod tokens;

use super::session::{CommandSession, on_disk};
use super::{Outcome, print};
use corpusdb::{Context, Corpus, DedupMode, DocId, IngestReport, Interrupted, Policy};
use crates::Choice;
use directory::DemoDirectory;
use input::Inputs;
use std::path::PathBuf;
use std::time::Instant;
use teller::Teller;

/// Show the whole path on real text: the sources of the crates that cargo unpacked for the project here,
/// PATHs of yours, or, with neither, a text in many languages that the command carries
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  corpusdb demo
  corpusdb demo pages.jsonl.zst notes/ --dir /tmp/demo

Takes about a minute, and leaves the corpus in place to play with.
Exit code 1 when the written epoch does not verify.")]
pub(super) struct Args {
    /// Files, directories or patterns to use instead; each becomes a source
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// The field with the text in the files given [default: the first of text, content, raw_content, document, body]
    #[arg(long, value_name = "FIELD", requires = "paths")]
    text_field: Option<String>,
    /// Where everything goes; an earlier demo there is replaced
    #[arg(long, value_name = "DIR", default_value = "corpusdb-demo", value_parser = on_disk())]
    dir: PathBuf,
}

/// What every step needs.
struct Demo<'a> {
    session: &'a CommandSession,
    teller: Teller,
    place: DemoDirectory,
    /// The corpus, as a user would write it.
    corpus: String,
    text_field: Option<String>,
}

impl Demo<'_> {
    fn open(&self) -> anyhow::Result<Corpus> {
        self.session.read(&self.place.corpus())
    }

    /// Clears the progress bar: a stage that is never advanced is never drawn.
    fn end_bar(&self) {
        self.session.progress.end();
    }
}

fn stop_if_asked(context: &Context<'_>) -> anyhow::Result<()> {
    match context.is_interrupted() {
        true => Err(corpusdb::Error::from(Interrupted::default()).into()),
        false => Ok(()),
    }
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let choice = if args.paths.is_empty() { Some(crates::choose()) } else { None };
    let place = DemoDirectory::make(&args.dir, session.memory)?;
    let corpus = place.show(&place.corpus());
    let demo = Demo {
        session,
        teller: Teller::new(session.json),
        place,
        corpus,
        text_field: args.text_field,
    };
    let teller = &demo.teller;
    teller.say("corpusdb demo: from raw text to packed training rows, with the commands.")?;
    teller.say(&format!("Everything stays in {}.", demo.place.shown))?;

    let inputs = match choice {
        Some(Ok(choice)) => gather(&demo, choice)?,
        Some(Err(reason)) => carried(&demo, &reason)?,
        None => input::given(&args.paths),
    };
    let shape = Shape::of(&inputs);

    teller.step("Make a corpus")?;
    teller.command(&["init", &demo.corpus])?;
    let policy = Policy::new(DedupMode::Witness, 0.8).map_err(corpusdb::Error::from)?;
    Corpus::init(demo.place.corpus(), &policy, &[])?;
    teller.prose(
        "An empty corpus and its policy: of texts that are at least 80 % similar, one is kept.",
    )?;

    let crawls = crawls(&demo, &inputs)?;

    stop_if_asked(&session.context())?;
    teller.step("See what was removed, and in favour of what")?;
    let (pairs, near) = crawl::duplicates(&demo)?;

    stop_if_asked(&session.context())?;
    teller.step("Ingest the same again: nothing is added")?;
    let added_again = crawl::again(&demo, &inputs.crawls)?;

    stop_if_asked(&session.context())?;
    teller.step("Train a tokenizer on what was kept")?;
    let trained = tokens::train(&demo, &shape)?;

    stop_if_asked(&session.context())?;
    teller.step("Ask questions")?;
    let query_seconds = queries::run(&demo, &shape)?;

    stop_if_asked(&session.context())?;
    teller.step("Plan an epoch: which documents, in which mix, packed how")?;
    let planned = epochs::plan(&demo, &shape)?;

    teller.step("Build it")?;
    let (manifest, build_seconds) = epochs::build(&demo, &planned)?;
    epochs::figures(&demo, &manifest)?;

    stop_if_asked(&session.context())?;
    teller.step("Verify it: read the files back and compare them with the corpus")?;
    let (verification, verify_seconds) = epochs::verify(&demo, &planned)?;

    let seconds = started.elapsed().as_secs_f64();
    let good = verification.passed() && added_again == 0;
    if added_again > 0 {
        teller
            .say(&format!("\nFAILED: ingesting the same again added {added_again} documents."))?;
    }
    next(&demo, near, planned.number, seconds)?;
    if session.json {
        print::json(&serde_json::json!({
            "type": "demo", "corpus": demo.place.corpus(), "seconds": seconds, "passed": good,
            "crates": inputs.crates.as_ref().map(|choice| serde_json::json!({ "taken": choice.taken.len(), "left": choice.left })),
            "crawls": crawls, "added_again": added_again,
            "duplicates": pairs.len(), "near_duplicates": pairs.iter().filter(|pair| pair.kind == "near").count(),
            "tokenizer": {
                "name": shape.tokenizer, "vocab_size": trained.vocab_size, "tokens": trained.tokens,
                "bytes_per_token": trained.bytes_per_token, "train_seconds": trained.train_seconds,
                "encode_seconds": trained.encode_seconds,
            },
            "query_seconds": query_seconds,
            "plan": planned.number, "plan_seconds": planned.seconds, "explanation": planned.explanation,
            "build_seconds": build_seconds, "manifest": manifest,
            "verify_seconds": verify_seconds, "verification": verification,
        }))?;
    }
    Ok(if good { Outcome::Good } else { Outcome::Bad })
}

/// Ingests the crawls, one after the other.
fn crawls(demo: &Demo<'_>, inputs: &Inputs) -> anyhow::Result<Vec<Vec<IngestReport>>> {
    let (teller, session) = (&demo.teller, demo.session);
    let mut crawls: Vec<Vec<IngestReport>> = Vec::new();
    for (number, crawl) in inputs.crawls.iter().enumerate() {
        stop_if_asked(&session.context())?;
        teller.step(if number == 0 {
            "Ingest a crawl"
        } else {
            "Ingest the next crawl, against all that is there"
        })?;
        if number == 0 {
            teller.prose(
                "Each new document is compared with the stored ones whose sketch (a hash of its words) is \
                 alike, and kept only if it is similar to none of them.",
            )?;
        }
        let reports = crawl::ingest(demo, crawl)?;
        let (bytes, seconds, rate) = crawl::throughput(&reports);
        teller.prose(&format!(
            "{} in {seconds:.1} s: {rate:.1} MB/s with {} {}, deduplicated, indexed and synced to disk.",
            print::size(bytes),
            session.threads,
            if session.threads == 1 { "thread" } else { "threads" }
        ))?;
        crawls.push(reports);
    }
    Ok(crawls)
}

/// Gathers what to ingest, and says what it is.
fn gather(demo: &Demo<'_>, choice: Choice) -> anyhow::Result<Inputs> {
    let teller = &demo.teller;
    teller.step("Gather real text")?;
    let inputs = input::gather(choice, &demo.place, &demo.session.context())?;
    teller.prose(
        "The source code, documentation and licences of the crates that cargo has unpacked for this \
         project, copied into two \"crawls\", every other crate to each. They are full of near duplicates: \
         licences, READMEs, generated code, several versions of one crate.",
    )?;
    teller.table(&["directory", "source", "files", "bytes"], &inputs.rows())?;
    if let Some(choice) = &inputs.crates {
        let mut left = choice.left.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
        if choice.left.len() > 4 {
            left.push_str(", ...");
        }
        let (taken, large) = (choice.taken.len(), choice.large_files);
        let left = match choice.left.len() {
            0 => String::new(),
            count => format!(" Left out to keep it short: the {count} largest crates ({left})."),
        };
        teller.prose(&format!(
            "{taken} crates, without their {large} code files of over 256 KiB.{left}"
        ))?;
    }
    Ok(inputs)
}

/// Writes the text that the command carries, and says why that is taken.
fn carried(demo: &Demo<'_>, reason: &anyhow::Error) -> anyhow::Result<Inputs> {
    let teller = &demo.teller;
    teller.step("Take a real text")?;
    let inputs = carried::write(&demo.place)?;
    teller.prose(
        "The Universal Declaration of Human Rights, an article a document, in 23 languages, two of them \
         in several versions: the command carries it. In a Rust project the demo works on the crates that \
         cargo has unpacked, some 70 MB; and on PATHs that you give it.",
    )?;
    let reason = format!("{reason:#}");
    teller.say(&format!("  Not on crates here: {}", differ::beginning(&reason)))?;
    teller.table(&["file", "source", "files", "bytes"], &inputs.rows())?;
    Ok(inputs)
}

/// What the size and kind of the input decide.
struct Shape {
    /// Whether the sources are those of crates.
    is_code: bool,
    /// The tokenizer's name and its ids.
    tokenizer: &'static str,
    vocab_size: u32,
    /// Tokens of a row.
    row: u32,
}

impl Shape {
    fn of(inputs: &Inputs) -> Self {
        let is_code = inputs.crates.is_some();
        if inputs.is_carried {
            // Half a megabyte of short documents.
            return Self { is_code, tokenizer: "bpe-4k", vocab_size: 4096, row: 512 };
        }
        Self { is_code, tokenizer: "bpe-8k", vocab_size: 8192, row: 2048 }
    }
}

/// What to try next, with paths and ids of this run.
fn next(demo: &Demo<'_>, near: Option<DocId>, plan: u32, seconds: f64) -> anyhow::Result<()> {
    let teller = &demo.teller;
    let corpus = demo.corpus.as_str();
    teller.say("")?;
    teller.say(&format!("Done in {seconds:.0} s. The corpus stays in {corpus}. Try next:"))?;
    teller.say("")?;
    if let Some(directory) = program_directory() {
        teller.command_line(&["export", &format!("PATH={directory}:$PATH")])?;
    }
    let tried = |why: &str, words: &[&str]| {
        teller.say(&format!("  # {why}"))?;
        teller.command(words)
    };
    tried("what the corpus holds", &["info", corpus])?;
    if let Some(DocId(id)) = near {
        let id = id.to_string();
        tried(
            "why one document was removed, and how it differs from what it matched",
            &["show", corpus, &id],
        )?;
        teller.command(&["duplicates", corpus, &id, "--diff"])?;
    }
    tried(
        "three short documents, the same three every time",
        &["sample", corpus, "-n", "3", "--seed", "7", "--where", "kept AND tokens < 300"],
    )?;
    tried(
        "anything else, in SQL",
        &["sql", corpus, "SELECT standing, count(*) AS n FROM documents GROUP BY standing"],
    )?;
    tried(
        "every setting and figure of the plan",
        &["epoch", "explain", corpus, &plan.to_string()],
    )?;
    tried(
        "recompute everything that was derived from the documents, and compare",
        &["check", corpus, "--deep"],
    )?;
    tried(
        "the same with your own text",
        &["demo", "pages.jsonl.zst", "notes/", "--dir", "my-demo"],
    )?;
    teller.say("")?;
    teller.say(&format!("To remove it all: rm -r {}", teller::quote(&demo.place.shown)))
}

/// Where this program is, when the shell would not find it.
fn program_directory() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let directory = program.parent()?;
    let found = std::env::split_paths(&std::env::var_os("PATH")?).any(|path| path == directory);
    if found { None } else { Some(teller::quote(&directory.display().to_string())) }
}
