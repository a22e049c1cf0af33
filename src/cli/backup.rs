//! `corpusdb backup`: backups of a corpus, each one commit, taken beside a writer.

use super::Outcome;
use super::print;
use super::setup::CommandSession;
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
  corpusdb backup drop /backups/crawl 412";

/// Take, list, verify, restore and drop backups
///
/// A backup is the last commit of a corpus, and is named by it. It is taken beside a working writer of another process.
/// Files that several backups have are stored once. Each directory holds the backups of one corpus.
#[derive(clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(super) enum Verb {
    /// Take a backup of the last commit
    Create {
        /// The corpus
        corpus: PathBuf,
        /// The directory of backups, which is made where there is none
        directory: PathBuf,
    },
    /// List backups
    List {
        /// The directory of backups
        directory: PathBuf,
    },
    /// Read every byte of every backup, and name what is damaged
    Verify {
        /// The directory of backups
        directory: PathBuf,
    },
    /// Make a corpus of a backup: whole, or not at all
    Restore {
        /// The directory of backups
        directory: PathBuf,
        /// The corpus to make
        target: PathBuf,
        /// The commit that names the backup [default: the newest]
        #[arg(long, value_name = "N")]
        id: Option<u64>,
    },
    /// Drop a backup, and the files that no other one has
    Drop {
        /// The directory of backups
        directory: PathBuf,
        /// The commit that names the backup
        id: u64,
    },
}

impl Verb {
    /// Whether the verb looks for Ctrl-C itself, to stop where nothing is lost.
    pub(super) const fn has_safe_points(&self) -> bool {
        matches!(self, Self::Create { .. } | Self::Verify { .. } | Self::Restore { .. })
    }
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
    match verb {
        Verb::Create { corpus, directory } => {
            let report = Backups::at(&directory).create(&corpus, &context)?;
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
            let backups = Backups::at(&directory).list()?;
            if session.json {
                for record in &backups {
                    told("backup", &BackupRow::of(record))?;
                }
                return Ok(Outcome::Good);
            }
            let rows = backups.iter().map(|record| {
                let BackupRow { commit, documents, format, release, bytes, .. } =
                    BackupRow::of(record);
                let made_by = format!("corpusdb {release}, format {format}");
                vec![commit.to_string(), print::number(documents), print::size(bytes), made_by]
            });
            let rows: Vec<_> = rows.collect();
            print::table(&["commit", "documents", "size", "taken by"], &rows)?;
        }
        Verb::Verify { directory } => {
            let report = Backups::at(&directory).verify(&context)?;
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
            let record = Backups::at(&directory).restore(&target, id, &context)?;
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
            let report = Backups::at(&directory).drop_backup(id)?;
            if session.json {
                return told("drop_backup", &report);
            }
            print::line(&format!("Dropped backup {id}: {} freed", print::size(report.bytes)))?;
        }
    }
    Ok(Outcome::Good)
}

/// Prints a report as one JSON object of that type.
fn told(kind: &'static str, report: &impl Serialize) -> anyhow::Result<Outcome> {
    print::typed(kind, report)?;
    Ok(Outcome::Good)
}
