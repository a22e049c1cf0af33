//! `corpusdb backup`: backups of a corpus, each one commit, taken beside a writer.

use super::Outcome;
use super::print;
use super::session::{CommandSession, on_disk, stores};
use corpusdb::Backups;
use corpusdb::store::BackupRecord;
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  corpusdb backup create crawl /backups/crawl
  corpusdb backup list /backups/crawl
  corpusdb backup verify /backups/crawl
  corpusdb backup restore /backups/crawl crawl-again
  corpusdb backup restore /backups/crawl crawl-in-june --id 412
  corpusdb backup drop /backups/crawl 412
  corpusdb backup create crawl s3://bucket/backups/crawl";

/// Take, list, verify, restore and drop backups
///
/// A backup is the last commit of a corpus, and is named by it. It is taken beside a working writer of another process.
/// Files that several backups have are stored once. Each directory holds the backups of one corpus; so does what is below
/// an address in a store of objects (s3://, gs://, az://).
#[derive(clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(super) enum Verb {
    /// Take a backup of the last commit
    Create {
        /// The corpus
        corpus: PathBuf,
        /// The directory of backups, which is made where there is none, or an address (s3://, gs://, az://)
        directory: PathBuf,
    },
    /// List backups
    List {
        /// The directory of backups, or an address
        directory: PathBuf,
    },
    /// Read every byte of every backup, and name what is damaged
    Verify {
        /// The directory of backups, or an address
        directory: PathBuf,
    },
    /// Make a corpus of a backup: whole, or not at all
    Restore {
        /// The directory of backups, or an address
        directory: PathBuf,
        /// The corpus to make
        #[arg(value_parser = on_disk())]
        target: PathBuf,
        /// The commit that names the backup [default: the newest]
        #[arg(long, value_name = "N")]
        id: Option<u64>,
    },
    /// Drop a backup, and the files that no other one has
    Drop {
        /// The directory of backups, or an address
        directory: PathBuf,
        /// The commit that names the backup
        id: u64,
    },
    /// Clear the marks of killed processes in a store, which forbid to drop or to add
    ///
    /// A store of objects has no locks: who adds or drops backups writes a mark first and deletes it last. A process that
    /// was killed leaves its mark, and nothing tells that it is gone. Clear marks only when nobody adds or drops.
    Unlock {
        /// The address of the backups; a directory has no marks
        directory: PathBuf,
    },
}

impl Verb {
    /// Whether the verb looks for Ctrl-C itself, to stop where nothing is lost.
    pub(super) const fn has_safe_points(&self) -> bool {
        !matches!(self, Self::List { .. } | Self::Unlock { .. })
    }
}

/// What clearing marks came to.
#[derive(Serialize)]
struct UnlockReport {
    marks: u64,
}

/// A backup as `list` and `restore` tell of it.
#[derive(Serialize)]
struct BackupRow<'a> {
    commit: u64,
    documents: u64,
    format: u32,
    release: &'a str,
    files: u64,
    bytes: u64,
}

impl<'a> BackupRow<'a> {
    fn of(record: &'a BackupRecord) -> Self {
        let BackupRecord { commit, documents, format, release, files, bytes } = record;
        let (commit, documents, format, bytes) = (*commit, *documents, *format, *bytes);
        Self { commit, documents, format, release, files: files.len() as u64, bytes }
    }
}

pub(super) fn run(verb: Verb, session: &CommandSession) -> anyhow::Result<Outcome> {
    let context = session.context();
    let backups = |place: PathBuf| Backups::at(place).with_stores(stores());
    match verb {
        Verb::Create { corpus, directory } => {
            let report = backups(directory).create(&corpus, &context)?;
            if session.json {
                return told("backup", &report);
            }
            print::line(&format!(
                "Backup {} of {}: {} documents, {} in {} files, {} new",
                report.commit,
                corpus.display(),
                print::number(report.documents),
                print::size(report.bytes),
                print::number(report.files),
                print::size(report.new_bytes),
            ))?;
        }
        Verb::List { directory } => {
            print_list(&backups(directory).list(&context)?, session.json)?;
        }
        Verb::Verify { directory } => {
            let report = backups(directory).verify(&context)?;
            let is_whole = report.faults.is_empty();
            if session.json {
                told("verify_backups", &report)?;
            } else {
                for fault in &report.faults {
                    print::line(&format!(
                        "backup {}, {}: {}",
                        fault.commit, fault.file, fault.what
                    ))?;
                }
                let word = if is_whole { "whole" } else { "DAMAGED" };
                let count = report.backups.len();
                let noun = if count == 1 { "backup" } else { "backups" };
                print::line(&format!("{count} {noun}: {word}"))?;
            }
            return Ok(if is_whole { Outcome::Good } else { Outcome::Bad });
        }
        Verb::Restore { directory, target, id } => {
            let record = backups(directory).restore(&target, id, &context)?;
            if session.json {
                return told("restore_backup", &BackupRow::of(&record));
            }
            print::line(&format!(
                "{} is the corpus as of commit {}: {} documents",
                target.display(),
                record.commit,
                print::number(record.documents)
            ))?;
        }
        Verb::Drop { directory, id } => {
            let report = backups(directory).drop_backup(id, &context)?;
            if session.json {
                return told("drop_backup", &report);
            }
            print::line(&format!("Dropped backup {id}: {} freed", print::size(report.bytes)))?;
        }
        Verb::Unlock { directory } => {
            let report = UnlockReport { marks: backups(directory).unlock(&context)? };
            if session.json {
                return told("unlock_backups", &report);
            }
            let noun = if report.marks == 1 { "mark" } else { "marks" };
            print::line(&format!("{} {noun} cleared", report.marks))?;
        }
    }
    Ok(Outcome::Good)
}

fn print_list(found: &[BackupRecord], json: bool) -> anyhow::Result<()> {
    if json {
        return found.iter().try_for_each(|record| print::typed("backup", &BackupRow::of(record)));
    }
    let rows = found.iter().map(|record| {
        let BackupRow { commit, documents, format, release, bytes, .. } = BackupRow::of(record);
        let made_by = format!("corpusdb {release}, format {format}");
        vec![commit.to_string(), print::number(documents), print::size(bytes), made_by]
    });
    let rows: Vec<_> = rows.collect();
    print::table(&["commit", "documents", "size", "taken by"], &rows)
}

/// Prints a report as one JSON object of that type.
fn told(kind: &'static str, report: &impl Serialize) -> anyhow::Result<Outcome> {
    print::typed(kind, report)?;
    Ok(Outcome::Good)
}
