//! `corpusdb remove` and `corpusdb restore`: documents that the user does not want, and taking that back.

use super::setup::{self, CommandSession, on_disk};
use super::{Outcome, find, print, purge};
use corpusdb::Corpus;
use corpusdb::curate::{BlockReach, RemovalReport, RemovalRequest};
use corpusdb::query::Selection;
use roaring::RoaringTreemap;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The `type` of the JSON object of a removal.
const REMOVE: &str = "remove";
/// The same where a removal is taken back.
const RESTORE: &str = "restore";

/// Remove documents: they stay stored, and are neither kept nor come back with the next ingest
///
/// What had been removed for their sake is decided again. Equal texts, and new content under their keys, are stored as
/// `blocked` until `corpusdb restore`; with `--block` also what equals or resembles them. `corpusdb show` says what
/// keeps a document out.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb remove crawl 17 42\n  corpusdb remove crawl https://example.org/page --reason \"asked for by its author\"\n  corpusdb remove crawl --where \"source = 'web' AND quality < 0.1\" --dry-run\n  corpusdb remove crawl --where \"commit > 12\" --no-block\n  corpusdb remove crawl 17 --block similar"
)]
pub(super) struct Remove {
    #[command(flatten)]
    which: Which,
    /// What the removal keeps out from now on, beside new content under the same keys
    #[arg(long, value_enum, default_value_t = Block::Exact)]
    block: Block,
    /// Let the same texts and keys come in again
    #[arg(long, conflicts_with = "block")]
    no_block: bool,
    /// Why: kept with the commit, and shown by `corpusdb sql CORPUS "SELECT * FROM removals"`
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Erase the documents too, as `corpusdb purge` does: nothing brings them back
    #[arg(long)]
    purge: bool,
    /// With --purge: also where snapshots or plans show the documents
    #[arg(long, requires = "purge")]
    force: bool,
    /// With --purge: search every row and file afterwards, and write the certificate of it to this file
    #[arg(long, requires = "purge", conflicts_with = "dry_run", value_name = "FILE.json", value_parser = on_disk())]
    prove: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum Block {
    /// Equal texts
    Exact,
    /// Also texts that are equal but for case, spacing and punctuation
    Normalised,
    /// Also texts whose similarity reaches the threshold of the policy: takedowns
    Similar,
}

/// Take removals back: the documents and what they blocked are decided again
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb restore crawl 17\n  corpusdb restore crawl --where \"standing = 'removed' AND source = 'web'\""
)]
pub(super) struct Restore {
    #[command(flatten)]
    which: Which,
}

#[derive(clap::Args)]
struct Which {
    /// The corpus
    corpus: PathBuf,
    /// Ids or keys of documents
    #[arg(required_unless_present = "condition", value_name = "ID|KEY")]
    documents: Vec<String>,
    /// All documents of a SQL condition
    #[arg(long = "where", value_name = "SQL", conflicts_with = "documents")]
    condition: Option<String>,
    /// Say what would change, and change nothing (works on a copy that is removed)
    #[arg(long)]
    dry_run: bool,
}

impl Which {
    /// The documents that are named; those of the condition.
    fn select(&self, corpus: &Corpus) -> anyhow::Result<(RoaringTreemap, Option<Selection>)> {
        if let Some(condition) = &self.condition {
            let selection = find::selection(corpus, condition)?;
            return Ok((selection.documents.clone(), Some(selection)));
        }
        let mut found = RoaringTreemap::new();
        for document in &self.documents {
            let named = find::documents(corpus, Some(document), None)?;
            anyhow::ensure!(!named.is_empty(), "nothing was changed: `{document}` is no document");
            found.extend(named.iter().map(|id| id.0));
        }
        Ok((found, None))
    }

    fn change(
        &self,
        verb: &'static str,
        session: &CommandSession,
        change: impl FnOnce(&Path, &RoaringTreemap) -> anyhow::Result<RemovalReport>,
    ) -> anyhow::Result<Outcome> {
        let (documents, selection) = self.select(&session.read(&self.corpus)?)?;
        let target = session.target(&self.corpus, self.dry_run)?;
        let report = change(target.path(), &documents)?;
        if session.json {
            print::report(verb, &Changed { report: &report, selection }, self.dry_run)?;
        } else {
            show(verb == REMOVE, &report, self.dry_run)?;
        }
        Ok(Outcome::Good)
    }
}

/// What was changed, and what the condition took.
#[derive(Serialize)]
struct Changed<'a> {
    #[serde(flatten)]
    report: &'a RemovalReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    selection: Option<Selection>,
}

impl Block {
    pub(super) const fn reach(self) -> BlockReach {
        match self {
            Self::Exact => BlockReach::Exact,
            Self::Normalised => BlockReach::Normalised,
            Self::Similar => BlockReach::Similar,
        }
    }
}

pub(super) fn remove(args: Remove, session: &CommandSession) -> anyhow::Result<Outcome> {
    if args.purge {
        let Remove { which, block, no_block, reason, force, prove, .. } = args;
        let Which { corpus, documents, condition, dry_run } = which;
        let asked = purge::Args {
            corpus,
            documents,
            condition,
            block,
            no_block,
            reason,
            force,
            prove,
            dry_run,
        };
        return purge::run(asked, session);
    }
    args.which.change(REMOVE, session, |path, selection| {
        let mut writer = session.write(path)?;
        let reach = if args.no_block { BlockReach::Nothing } else { args.block.reach() };
        let removal = removal(reach, args.reason, args.which.condition.as_deref());
        Ok(writer.remove(selection, removal, &session.context())?)
    })
}

/// What goes on record of a removal that is asked for now.
pub(super) fn removal(
    reach: BlockReach,
    reason: Option<String>,
    condition: Option<&str>,
) -> RemovalRequest {
    let mut removal = RemovalRequest::new(reach);
    if let Some(reason) = reason {
        removal = removal.because(reason);
    }
    if let Some(condition) = condition {
        removal = removal.of(condition);
    }
    match setup::now() {
        Some(time) => removal.at(time),
        None => removal,
    }
}

pub(super) fn restore(args: Restore, session: &CommandSession) -> anyhow::Result<Outcome> {
    args.which.change(RESTORE, session, |path, selection| {
        let mut writer = session.write(path)?;
        Ok(writer.restore(selection, &session.context())?)
    })
}

fn show(is_removal: bool, report: &RemovalReport, dry_run: bool) -> anyhow::Result<()> {
    let n = print::number;
    let verb = match (is_removal, dry_run) {
        (true, false) => "removed",
        (true, true) => "would remove",
        (false, false) => "restored",
        (false, true) => "would restore",
    };
    print::line(&format!("{verb} {} of {} documents", n(report.changed), n(report.selected)))?;
    if report.unchanged > 0 {
        let state = if is_removal { "removed before" } else { "not removed" };
        print::line(&format!("  {} were {state}", n(report.unchanged)))?;
    }
    print::line(&format!(
        "  {} are no longer kept, {} are kept again",
        n(report.no_longer_kept),
        n(report.kept_again)
    ))?;
    if report.copies > 0 {
        print::line(&format!(
            "  {} copies of them stand, {} of these kept: `--block similar` takes what is like them out too",
            n(report.copies),
            n(report.kept_again)
        ))?;
    }
    if report.spared > 0 {
        let spared = n(report.spared);
        print::line(&format!(
            "  {spared} were to be purged: the purge that was stopped spares them"
        ))?;
    }
    match (is_removal, report.blocked) {
        (_, 0) => Ok(()),
        (true, blocked) => print::line(&format!("  {} of such texts are blocked", n(blocked))),
        (false, blocked) => print::line(&format!(
            "  {} stay blocked by other removed documents of the same text or key",
            n(blocked)
        )),
    }
}
