//! `corpusdb check` and `compact`: looks for faults, and rewrites the files of the store.

use crate::cli::columns::shown_path;
use crate::cli::output::{self, Output};
use crate::cli::verb::{CorpusPath, ExitStatus, Manners, PythonMethod, Report, Verb, VerbCall};
use corpusdb::show::{number, seconds, size};
use corpusdb::store::{CheckDepth, CheckFault};
use corpusdb::{CorpusWriter, RepairReport, SalvageReport};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Faults of a family that are listed, at most.
const LISTED: usize = 3;

/// Check a corpus, repair it, or copy what is intact.
///
/// By default journal, bitmaps and counters are checked, and every file's checksums.
#[derive(clap::Args)]
pub(super) struct CheckArgs {
    /// Recompute all derived rows from the documents, and compare.
    #[arg(long)]
    deep: bool,
    /// Journal, bitmaps and counters only.
    #[arg(long, conflicts_with = "deep")]
    quick: bool,
    /// Print one hash over the content of the corpus, instead of checking.
    #[arg(long, conflicts_with_all = ["deep", "quick"])]
    digest: bool,
    /// Recompute damaged derived rows; continues an interrupted repair.
    #[arg(long, conflicts_with_all = ["deep", "quick", "digest"])]
    repair: bool,
    /// Copy all intact documents into a new corpus, and list the others.
    #[arg(long, value_name = "NEW", conflicts_with_all = ["deep", "quick", "digest", "repair"])]
    salvage: Option<PathBuf>,
}

/// The result of a check, a repair or a salvage.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum CheckAnswer {
    /// What was found.
    Checked(CheckReport),
    /// The hash over the content of the corpus.
    Digest(DigestReport),
    /// The recomputed families.
    Repaired(RepairReport),
    /// What was copied.
    Salvaged(SalvageReport),
}

/// What a check found.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct CheckReport {
    /// The commit that was checked.
    commit: u64,
    /// Documents stored.
    documents: u64,
    /// Documents with candidates that were not compared.
    crowded: u64,
    /// The faults that were found.
    faults: Vec<CheckFault>,
    /// Column families with tables, where all their blocks were read.
    families: u64,
    /// The bytes of these tables.
    bytes: u64,
    #[serde(skip)]
    seconds: f64,
    #[serde(skip)]
    corpus: PathBuf,
}

/// One hash over the content of a corpus.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct DigestReport {
    /// The hash, in hexadecimal.
    digest: String,
    /// The commit that it describes.
    commit: u64,
    /// Documents stored.
    documents: u64,
}

impl Verb for CheckArgs {
    const PATH: &str = "check";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Corpus.check");
    const EXAMPLES: &[&str] = &[
        "corpusdb check crawl",
        "corpusdb check crawl --deep",
        "corpusdb check crawl --digest",
        "corpusdb check crawl --repair",
        "corpusdb check crawl --salvage rescued",
    ];
    const NOTES: &str = "\
The answer is one line where nothing is wrong: the commit, and what was read. Else each damaged
family has its first faults, and the command that mends it; `--json` has all faults.
Exit code 1 when faults are found, or documents are lost.";
    const MANNERS: Manners = Manners::STOPS;
    type On = CorpusPath;
    type Report = CheckAnswer;

    fn run(self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        if self.repair {
            return Ok(CheckAnswer::Repaired(call.options.repair(path, &call.context)?));
        }
        if let Some(target) = &self.salvage {
            return Ok(CheckAnswer::Salvaged(call.options.salvage(path, target, &call.context)?));
        }
        let corpus = call.options.open(path)?;
        let (documents, commit) = (corpus.view().documents(), corpus.view().commit().0);
        if self.digest {
            let digest = corpus.digest(&call.context)?;
            return Ok(CheckAnswer::Digest(DigestReport { digest, commit, documents }));
        }
        let depth = match (self.deep, self.quick) {
            (true, _) => CheckDepth::Deep,
            (_, true) => CheckDepth::Quick,
            _ => CheckDepth::Full,
        };
        let started = Instant::now();
        let faults = corpus.check(depth, &call.context)?;
        let usage = match depth {
            CheckDepth::Quick => Vec::new(),
            _ => match corpus.view().disk_usage() {
                Ok(usage) => usage,
                // The faults have it already.
                Err(_) if !faults.is_empty() => Vec::new(),
                Err(error) => return Err(corpusdb::Error::from(error).into()),
            },
        };
        let read: Vec<u64> = usage.iter().map(|(_, bytes)| *bytes).filter(|it| *it > 0).collect();
        let crowded = match corpus.view().crowded() {
            Ok(crowded) => crowded.len(),
            // The faults have it already.
            Err(_) if !faults.is_empty() => 0,
            Err(error) => return Err(corpusdb::Error::from(error).into()),
        };
        Ok(CheckAnswer::Checked(CheckReport {
            commit,
            documents,
            crowded,
            faults,
            families: read.len() as u64,
            bytes: read.iter().sum(),
            seconds: started.elapsed().as_secs_f64(),
            corpus: path.to_path_buf(),
        }))
    }
}

impl Report for CheckAnswer {
    const TYPE: &'static str = "check";

    fn print(&self, out: &mut Output) {
        match self {
            Self::Checked(report) => print_check(report, out),
            Self::Digest(report) => out.line(&report.digest),
            Self::Repaired(report) => print_repair(report, out),
            Self::Salvaged(report) => print_salvage(report, out),
        }
    }

    fn json(&self, _: Option<bool>) -> serde_json::Result<String> {
        match self {
            Self::Checked(report) => output::json_line(Self::TYPE, report, None),
            Self::Digest(report) => output::json_line("digest", report, None),
            Self::Repaired(report) => output::json_line("repair", report, None),
            Self::Salvaged(report) => output::json_line("salvage", report, None),
        }
    }

    fn status(&self) -> ExitStatus {
        ExitStatus::of(match self {
            Self::Checked(report) => report.faults.is_empty(),
            Self::Digest(_) => true,
            Self::Repaired(report) => report.is_sound(),
            Self::Salvaged(report) => report.is_whole(),
        })
    }
}

fn print_check(report: &CheckReport, out: &mut Output) {
    let mut places: BTreeMap<&str, Vec<&CheckFault>> = BTreeMap::new();
    for fault in &report.faults {
        places.entry(&fault.place).or_default().push(fault);
    }
    let corpus = report.corpus.to_string_lossy();
    let corpus = shown_path(&corpus);
    for (place, faults) in places {
        for fault in faults.iter().take(LISTED) {
            out.verdict(false, place, &format!(": {}", fault.what));
        }
        if let Some(more) = faults.len().checked_sub(LISTED).filter(|more| *more > 0) {
            out.line(format!("  {} more: `corpusdb check {corpus} --json`", number(more as u64)));
        }
        let mended: BTreeSet<_> = faults.iter().filter_map(|fault| fault.mends()).collect();
        for option in mended {
            out.line(match option {
                "repair" => format!("  recomputed by `corpusdb check {corpus} --repair`"),
                _ => format!(
                    "  not recomputed: restore a backup, or copy what is intact with `corpusdb check {corpus} --salvage NEW`"
                ),
            });
        }
    }
    if report.crowded > 0 {
        out.line(format!(
            "note: {} documents have candidates that were not compared; `corpusdb dedup settle` compares these",
            number(report.crowded)
        ));
    }
    let read = match report.families {
        0 => String::new(),
        families => {
            let (bytes, time) = (size(report.bytes), seconds(report.seconds));
            format!("   {families} families, {bytes} read in {time}")
        }
    };
    print_verdict((report.faults.len(), "faults"), (report.commit, report.documents), &read, out);
}

/// The last line: how many faults there are and what these are, of which state of the corpus, and what was read.
fn print_verdict(
    (faults, what): (usize, &str),
    (commit, documents): (u64, u64),
    read: &str,
    out: &mut Output,
) {
    let verdict = if faults == 0 { "sound".to_owned() } else { format!("{faults} {what}") };
    let rest = format!("   commit {commit}   {} documents{read}", number(documents));
    out.verdict(faults == 0, &verdict, &rest);
}

fn print_repair(report: &RepairReport, out: &mut Output) {
    for rows in &report.lost {
        out.line(format!("lost: {}: {}", rows.family, rows.what));
    }
    if !report.lost.is_empty() {
        return out.line(
            "beyond repair, and nothing was changed: restore a backup, or copy the intact documents: `corpusdb check CORPUS --salvage NEW`",
        );
    }
    for fault in &report.faults {
        out.line(format!("{}: {}", fault.place, fault.what));
    }
    out.line(match report.repaired.as_slice() {
        [] => "nothing to repair".to_owned(),
        families => format!("recomputed: {}", families.join(", ")),
    });
    if report.lost_lengths > 0 {
        out.line(format!(
            "lost: up to {} lengths in tokens, of documents that are not kept: neither these nor their ids can be read",
            number(report.lost_lengths)
        ));
    }
    let faults = (report.faults.len(), "faults are beyond repair");
    print_verdict(faults, (report.commit, report.documents), "", out);
}

fn print_salvage(report: &SalvageReport, out: &mut Output) {
    for document in &report.listed {
        let key = document.key.as_ref().map_or_else(String::new, |key| format!(" ({key})"));
        out.line(format!("lost: document {}{key}: {}", document.document, document.why));
    }
    if report.lost > 0 {
        let (count, which) = (number(report.lost), &report.lost_documents);
        out.line(format!("lost in total: {count} documents: {which}"));
    }
    if report.bare > 0 {
        let (count, which) = (number(report.bare), &report.bare_documents);
        out.line(format!("copied without metadata: {count} documents: {which}"));
    }
    for what in &report.damage {
        out.line(format!("cannot be read: {what}"));
    }
    for what in &report.left {
        out.line(format!("not copied: {what}"));
    }
    let (copied, all) = (number(report.copied), number(report.documents));
    let (removed, purged) = (number(report.removed), number(report.purged));
    let (snapshots, plans) = (number(report.snapshots), number(report.plans));
    out.line(format!(
        "copied {copied} of {all} documents, {snapshots} snapshots and {plans} plans; {removed} removed ones are removed in the copy, too; {purged} purged ones have no content left"
    ));
}

/// Rewrite the files of a corpus in their smallest form.
///
/// The content does not change. Worth it after a large ingest, a removal or `dedup redo`. It needs free space of about
/// twice the largest column family. Ctrl-C stops it between pieces of about 256 MiB, and loses nothing.
#[derive(clap::Args)]
pub(super) struct CompactArgs {}

/// The result of a compaction.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct CompactReport {
    /// Bytes in tables before.
    before: u64,
    /// Bytes in tables now.
    after: u64,
}

impl Verb for CompactArgs {
    const PATH: &str = "compact";
    const PYTHON: PythonMethod = PythonMethod::Generated("Writer.compact");
    const EXAMPLES: &[&str] = &["corpusdb compact crawl"];
    type On = CorpusWriter;
    type Report = CompactReport;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let size = |writer: &CorpusWriter| -> anyhow::Result<u64> {
            let usage = writer.view().disk_usage().map_err(corpusdb::Error::from)?;
            Ok(usage.iter().map(|(_, bytes)| bytes).sum())
        };
        let before = size(writer)?;
        writer.compact(&call.context)?;
        Ok(CompactReport { before, after: size(writer)? })
    }
}

impl Report for CompactReport {
    const TYPE: &'static str = "compact";

    fn print(&self, out: &mut Output) {
        out.line(format!("{} in tables, {} before", size(self.after), size(self.before)));
    }
}
