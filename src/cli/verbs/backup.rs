//! `corpusdb backup`: creates, lists, verifies, restores and drops backups, also while a writer is open.

use crate::cli::output::{Output, Paint};
use crate::cli::record::{OnRecord, RecordArgs};
use crate::cli::session::{now, on_disk, stores};
use crate::cli::verb::{
    CorpusPath, ExitStatus, ListReport, ListRow, Manners, PythonMethod, Report, Verb, VerbCall,
};
use corpusdb::Backups;
use corpusdb::show::{count, number, size};
use corpusdb::store::{BackupRecord, BackupReport, DropBackupReport, VerifyBackupsReport};
use serde::Serialize;
use std::path::{Path, PathBuf};

fn backups_at(place: PathBuf) -> Backups {
    Backups::at(place).with_stores(stores())
}

/// Take a backup of the last commit.
///
/// A backup is the last commit of a corpus, and the number of the commit is its name. Another process may write
/// meanwhile. Files that several backups share are stored once. A directory, or an address in an object store (s3://,
/// gs://, az://), holds the backups of one corpus.
#[derive(clap::Args)]
pub(super) struct BackupCreateArgs {
    /// The directory of backups, which is made if it does not exist, or an address (s3://, gs://, az://).
    directory: PathBuf,
    #[command(flatten)]
    record: RecordArgs,
}

/// A backup that was taken.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "BackupReport")]
pub(super) struct BackupTaken {
    #[serde(flatten)]
    report: BackupReport,
    #[serde(flatten)]
    on_record: OnRecord,
    #[serde(skip)]
    corpus: PathBuf,
    #[serde(skip)]
    directory: String,
}

impl Verb for BackupCreateArgs {
    const PATH: &str = "backup create";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Backups.create", &["directory", "record"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb backup create crawl /backups/crawl",
        "corpusdb backup create crawl s3://bucket/backups/crawl",
    ];
    const MANNERS: Manners = Manners::STOPS;
    type On = CorpusPath;
    type Report = BackupTaken;

    fn run(self, corpus: &Path, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let report = backups_at(self.directory.clone()).create(corpus, &call.context)?;
        let on_record = match self.record.record {
            true => {
                let opened = call.options.open(corpus);
                let made = opened.and_then(|it| it.record_backup(&self.directory, &report, now()));
                OnRecord::of(made, call)
            }
            false => OnRecord::default(),
        };
        let directory = self.directory.to_string_lossy().into_owned();
        Ok(BackupTaken { report, on_record, corpus: corpus.to_path_buf(), directory })
    }
}

impl Report for BackupTaken {
    const TYPE: &'static str = "backup";

    fn print(&self, out: &mut Output) {
        let Self { report, corpus, directory, .. } = self;
        let new = match report.new_bytes {
            bytes if bytes == report.bytes => String::new(),
            bytes => format!(" ({} of it new)", size(bytes)),
        };
        let what = format!(
            "backup {} of {}, {} in {}{new}",
            report.commit,
            corpus.display(),
            count(report.documents, "document", "documents"),
            count(report.files, "file", "files"),
        );
        out.wrote(directory, &what, report.bytes, "`corpusdb backup restore` opens it");
    }
}

/// List backups.
#[derive(clap::Args)]
pub(super) struct BackupShowArgs {
    /// The directory of backups, or an address.
    directory: PathBuf,
}

/// A backup: the commit that names it, and what it has.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Backup")]
pub(super) struct BackupRow {
    /// The commit that it ends with.
    commit: u64,
    /// Documents in it, of every standing.
    documents: u64,
    /// Its store format.
    format: u32,
    /// The release that took it.
    release: String,
    /// Its files.
    files: u64,
    /// Their bytes.
    bytes: u64,
    /// Documents of it that a later backup says were purged since: a corpus restored of it has them again.
    purged_since: u64,
}

impl BackupRow {
    fn of(record: &BackupRecord, purged_since: u64) -> Self {
        let BackupRecord { commit, documents, format, release, files, bytes, .. } = record;
        let (release, files) = (release.clone(), files.len() as u64);
        Self {
            commit: *commit,
            documents: *documents,
            format: *format,
            release,
            files,
            bytes: *bytes,
            purged_since,
        }
    }
}

impl Verb for BackupShowArgs {
    const PATH: &str = "backup show";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Backups.show", &["directory"]);
    const EXAMPLES: &[&str] =
        &["corpusdb backup show /backups/crawl", "corpusdb backup show /backups/crawl --json"];
    type On = ();
    type Report = ListReport<BackupRow>;

    fn run(self, (): (), call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let records = backups_at(self.directory).list(&call.context)?;
        let row =
            |record: &BackupRecord| BackupRow::of(record, record.purged_since(&records).len());
        Ok(ListReport(records.iter().map(row).collect()))
    }
}

impl ListRow for BackupRow {
    const TYPE: &'static str = "backup";

    fn print_all(backups: &[Self], out: &mut Output) {
        let has_purged = backups.iter().any(|backup| backup.purged_since > 0);
        let row = |Self { commit, documents, format, release, bytes, purged_since, .. }: &Self| {
            let made_by = format!("corpusdb {release}, format {format}");
            let mut row = vec![commit.to_string(), number(*documents), size(*bytes), made_by];
            row.extend(has_purged.then(|| number(*purged_since)));
            row
        };
        let head = ["commit", "documents", "size", "taken by", "purged since"];
        out.table(head.split_at(4 + usize::from(has_purged)).0, backups.iter().map(row));
    }
}

/// Read every byte of every backup, and report damaged files.
#[derive(clap::Args)]
pub(super) struct BackupVerifyArgs {
    /// The directory of backups, or an address.
    directory: PathBuf,
}

impl Verb for BackupVerifyArgs {
    const PATH: &str = "backup verify";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Backups.verify", &["directory"]);
    const EXAMPLES: &[&str] = &["corpusdb backup verify /backups/crawl"];
    const NOTES: &str = "Exit code 1 when a file is damaged.";
    const MANNERS: Manners = Manners::STOPS;
    type On = ();
    type Report = VerifyBackupsReport;

    fn run(self, (): (), call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        Ok(backups_at(self.directory).verify(&call.context)?)
    }
}

impl Report for VerifyBackupsReport {
    const TYPE: &'static str = "verify_backups";

    fn print(&self, out: &mut Output) {
        for fault in &self.faults {
            out.line(format!("backup {}, {}: {}", fault.commit, fault.file, fault.what));
        }
        let word = if self.faults.is_empty() { "whole" } else { "DAMAGED" };
        let backups = count(self.backups.len() as u64, "backup", "backups");
        let paint = if self.faults.is_empty() { Paint::Good } else { Paint::Bad };
        out.painted(&[(Paint::Plain, format!("{backups}: ").as_str()), (paint, word)]);
    }

    fn status(&self) -> ExitStatus {
        ExitStatus::of(self.faults.is_empty())
    }
}

/// Purged documents that are named, at most.
const NAMED: usize = 5;

/// Restore a backup as a new corpus.
#[derive(clap::Args)]
pub(super) struct BackupRestoreArgs {
    /// The directory of backups, or an address.
    directory: PathBuf,
    /// The corpus to make.
    #[arg(value_parser = on_disk())]
    target: PathBuf,
    /// The commit that names the backup. By default the newest.
    #[arg(long, value_name = "N")]
    id: Option<u64>,
    /// Purge the documents again that a later backup says were purged since.
    #[arg(long)]
    repeat_purges: bool,
}

/// A corpus restored from a backup.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct RestoredBackup {
    #[serde(flatten)]
    backup: BackupRow,
    /// The documents that were purged again.
    purged: u64,
    #[serde(skip)]
    target: PathBuf,
}

impl Verb for BackupRestoreArgs {
    const PATH: &str = "backup restore";
    const PYTHON: PythonMethod =
        PythonMethod::Mixed("Backups.restore", &["directory", "target", "id", "repeat_purges"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb backup restore /backups/crawl crawl-again",
        "corpusdb backup restore /backups/crawl crawl-in-june --id 412",
        "corpusdb backup restore /backups/crawl crawl-in-june --id 412 --repeat-purges",
    ];
    const MANNERS: Manners = Manners::STOPS;
    type On = ();
    type Report = RestoredBackup;

    fn run(self, (): (), call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let backups = backups_at(self.directory);
        let record = backups.restore(&self.target, self.id, &call.context)?;
        let others = backups.list(&call.context)?;
        let since = record.purged_since(&others);
        let backup = BackupRow::of(&record, since.len());
        let mut purged = 0;
        if self.repeat_purges && !since.is_empty() {
            let mut writer = call.options.open_writer(&self.target)?;
            purged = writer.purge(&since, true, true, &call.context)?.purged;
            writer.reopen()?;
        } else if !since.is_empty() {
            let some: Vec<String> = since.iter().take(NAMED).map(|id| id.to_string()).collect();
            let more = if since.len() as usize > NAMED { ", .." } else { "" };
            call.note(&format!(
                "{} that were purged since (ids {}{more}): `corpusdb purge {} ID ..` erases them here too, and so does --repeat-purges",
                count(since.len(), "document is there again", "documents are there again"),
                some.join(", "),
                self.target.display()
            ));
        }
        Ok(RestoredBackup { backup, purged, target: self.target })
    }
}

impl Report for RestoredBackup {
    const TYPE: &'static str = "restore_backup";

    fn print(&self, out: &mut Output) {
        out.line(format!(
            "{} is the corpus as of commit {}: {} documents",
            self.target.display(),
            self.backup.commit,
            number(self.backup.documents)
        ));
        if self.purged > 0 {
            out.line(format!(
                "{} purged again",
                count(self.purged, "document is", "documents are")
            ));
        }
        out.line("it is a corpus of its own: give its backups a new directory");
    }
}

/// Delete a backup, and the files that no other backup uses.
#[derive(clap::Args)]
pub(super) struct BackupDropArgs {
    /// The directory of backups, or an address.
    directory: PathBuf,
    /// The commit that names the backup.
    id: u64,
}

impl Verb for BackupDropArgs {
    const PATH: &str = "backup drop";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Backups.drop", &["directory", "id"]);
    const EXAMPLES: &[&str] = &["corpusdb backup drop /backups/crawl 412"];
    const MANNERS: Manners = Manners::STOPS;
    type On = ();
    type Report = DropBackupReport;

    fn run(self, (): (), call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        Ok(backups_at(self.directory).drop_backup(self.id, &call.context)?)
    }
}

impl Report for DropBackupReport {
    const TYPE: &'static str = "drop_backup";

    fn print(&self, out: &mut Output) {
        out.line(format!("Dropped backup {}: {} freed", self.commit, size(self.bytes)));
    }
}
