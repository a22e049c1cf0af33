//! `corpusdb source`: renames a source.

use crate::cli::output::Output;
use crate::cli::verb::{DryRun, Manners, PythonMethod, Report, Verb, VerbCall};
use corpusdb::CorpusWriter;
use corpusdb::curate::SourceRenameReport;
use corpusdb::show::{count, number};

/// Give a source another name; refused while a stored plan draws from it.
///
/// Files ingested again under the new name find their documents unchanged. Rename before a purge: of purged documents
/// the keys are no longer stored, so their blocks by key hold only under the old name. Other corpora of a sharded one
/// are renamed one by one. Backups and exports keep the old name, and so does the disk until `purge` or `compact`.
#[derive(clap::Args)]
pub(super) struct SourceRenameArgs {
    /// Its name.
    old: String,
    /// Its new name.
    new: String,
    /// Rename it even if purged documents of it block records by their keys, and give these blocks up.
    #[arg(long)]
    force: bool,
}

impl Verb for SourceRenameArgs {
    const PATH: &str = "source rename";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Writer.rename_source");
    const EXAMPLES: &[&str] = &["corpusdb source rename crawl web web-2024 --dry-run"];
    const DRY_RUN: DryRun = DryRun::Copy;
    const MANNERS: Manners = Manners::STOPS_AND_WAITS;
    type On = CorpusWriter;
    type Report = SourceRenameReport;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        Ok(writer.rename_source(&self.old, &self.new, self.force, &call.context)?)
    }
}

impl Report for SourceRenameReport {
    const TYPE: &'static str = "source_renamed";

    fn print(&self, out: &mut Output) {
        let verb = if out.is_dry_run() { "would be renamed" } else { "is renamed" };
        let (documents, rejects) = (number(self.documents), number(self.rejects));
        let name = &self.source;
        out.line(format!("the source {verb} to {name}: {documents} documents, {rejects} rejects"));
        if self.lifted > 0 {
            let lifted = count(self.lifted, "block by key", "blocks by key");
            out.line(format!("  {lifted} of purged documents are given up"));
        }
    }
}
