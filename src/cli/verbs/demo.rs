//! `corpusdb demo`: puts a script and its texts into a directory, and runs the script.

use crate::cli::session::{CommandSession, on_disk};
use crate::cli::verb::{ExitStatus, Manners, Streamed, Verb, VerbCall};
use anyhow::{Context as _, bail};
use corpusdb::{Corpus, Error, ErrorKind, Interrupted};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The script.
const SCRIPT: &str = include_str!("../../../examples/demo/demo.sh");
/// The texts: on each line the name of a file, a tab, and a record. Later versions are in the second crawl.
const TEXTS: &[u8] = include_bytes!("../../../examples/demo/texts.zst");

const MARKER: &str = ".corpusdb-demo";
const MARK: &str =
    "Made by `corpusdb demo`, which replaces what it made here when it is run again.\n";

/// Run from ingest to training batch on real text.
///
/// The text is that of crates that cargo unpacked here, of your files, or a bundled one. It runs the shell script demo.sh in its directory: read it, and copy from it.
#[derive(clap::Args)]
pub(super) struct DemoArgs {
    /// Your files, directories or patterns; each becomes a source.
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// The field with the text in your files. By default the first of text, content, raw_content, document, body.
    #[arg(long, value_name = "FIELD", requires = "paths")]
    text_field: Option<String>,
    /// The directory to write; an earlier demo there is replaced.
    #[arg(long, value_name = "DIR", default_value = "corpusdb-demo", value_parser = on_disk())]
    dir: PathBuf,
}

impl Verb for DemoArgs {
    const PATH: &str = "demo";
    const EXAMPLES: &[&str] =
        &["corpusdb demo", "corpusdb demo pages.jsonl.zst notes/ --dir /tmp/demo"];
    const NOTES: &str = "\
It takes about a minute, and leaves the corpus for your own experiments.
Exit code 1 when the written epoch does not verify.";
    const MANNERS: Manners = Manners::STOPS;
    type On = ();
    type Report = Streamed;

    fn run(self, (): (), call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        Ok(run(self, call.session()?)?.into())
    }
}

fn run(args: DemoArgs, session: &CommandSession) -> anyhow::Result<ExitStatus> {
    enter(&args.dir, session)?;
    let script = args.dir.join("demo.sh");
    std::fs::write(&script, SCRIPT).with_context(|| format!("writing {}", script.display()))?;
    unpack_texts(&args.dir)?;
    let mut shell = Command::new("sh");
    // A path that begins with a hyphen is not a flag.
    shell.arg("--").arg(&script).args(&args.paths);
    shell.env("CORPUSDB", command_words(session)).env("DIR", &args.dir);
    shell.env("TEXT_FIELD", args.text_field.unwrap_or_default());
    shell.env("JSON", if session.json { "--json" } else { "" });
    let ended = shell.status().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow::anyhow!(
            "no shell (`sh`) was found to run {}; run its commands one by one",
            script.display()
        ),
        _ => anyhow::Error::new(error).context("running sh"),
    })?;
    match ended.code() {
        Some(0) => Ok(ExitStatus::Done),
        Some(1) => Ok(ExitStatus::BadAnswer),
        Some(130) | None => Err(Error::from(Interrupted::default()).into()),
        Some(code) => bail!("{} ended with exit status {code}", script.display()),
    }
}

/// Makes the directory. Refuses one that holds other things than an earlier demo, and a demo in use.
fn enter(directory: &Path, session: &CommandSession) -> anyhow::Result<()> {
    let shown = directory.display();
    let marker = directory.join(MARKER);
    let is_empty = match std::fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(error).with_context(|| format!("looking into {shown}")),
    };
    if !is_empty && !marker.is_file() {
        bail!("{shown} is not empty and was not made by a demo; name another directory with --dir");
    }
    let corpus = directory.join("corpus");
    if corpus.exists()
        && let Err(error) = Corpus::options().memory(session.memory).threads(1).open_writer(&corpus)
        && error.kind() == ErrorKind::Locked
    {
        return Err(error).context("the earlier demo is in use");
    }
    std::fs::create_dir_all(directory).with_context(|| format!("making {shown}"))?;
    std::fs::write(&marker, MARK).with_context(|| format!("writing {}", marker.display()))
}

/// Writes the texts, replacing those of an earlier demo.
fn unpack_texts(directory: &Path) -> anyhow::Result<()> {
    for crawl in ["crawl-1", "crawl-2"] {
        let path = directory.join(crawl);
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("removing {}", path.display()));
            }
            _ => {
                std::fs::create_dir(&path).with_context(|| format!("making {}", path.display()))?
            }
        }
    }
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for line in BufReader::new(zstd::Decoder::new(TEXTS)?).lines() {
        let line = line?;
        let (name, record) =
            line.split_once('\t').context("a line of the bundled texts names no file")?;
        let text = files.entry(name.to_owned()).or_default();
        text.push_str(record);
        text.push('\n');
    }
    for (name, text) in files {
        let path = directory.join(name);
        std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// The words of the shell that start this command again, with the options that every verb of the script gets.
fn command_words(session: &CommandSession) -> String {
    let quoted = |word: &OsString| format!("'{}'", word.to_string_lossy().replace('\'', "'\\''"));
    let mut words: Vec<String> = session.program.iter().map(quoted).collect();
    words.push(format!("--memory {} --threads {}", session.memory, session.threads));
    if session.no_progress {
        words.push("--no-progress".to_owned());
    }
    words.join(" ")
}
