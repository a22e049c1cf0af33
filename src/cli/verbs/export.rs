//! `corpusdb export`: writes documents as files that other programs read.

use crate::cli::columns::reading;
use crate::cli::output::{self, Output};
use crate::cli::record::{OnRecord, RecordArgs};
use crate::cli::session::{now, stores};
use crate::cli::verb::{DryRun, Manners, PythonMethod, Report, Verb, VerbCall};
use corpusdb::Corpus;
use corpusdb::export::{ExportEstimate, ExportJob, ExportManifest, ExportOptions};
use corpusdb::show;
use serde::Serialize;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Write documents as JSON lines, Parquet, Arrow, CSV or text.
#[derive(clap::Args)]
pub(super) struct ExportArgs {
    /// The file or directory to write, also in a bucket (s3://, gs://, az://).
    ///
    /// `-` is standard output, for jsonl, csv, text and arrow.
    #[arg(long, value_name = "FILE|DIR")]
    to: PathBuf,
    /// Replace the file, or the directory that an export wrote.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    record: RecordArgs,
    #[command(flatten)]
    options: ExportOptions,
}

/// What an export wrote, or would write.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum ExportAnswer {
    /// The files that were written.
    Written(Box<WrittenExport>),
    /// What would be written.
    Estimated(ExportEstimate),
    /// The rows went to standard output.
    Streamed {},
}

/// An export that was written: its manifest, place and duration.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Export")]
pub(super) struct WrittenExport {
    #[serde(flatten)]
    manifest: ExportManifest,
    /// The file or directory.
    to: String,
    /// Seconds that it took.
    seconds: f64,
    #[serde(flatten)]
    on_record: OnRecord,
}

impl Verb for ExportArgs {
    const PATH: &str = "export";
    const PYTHON: PythonMethod =
        PythonMethod::Mixed("Corpus.export", &["to", "where", "force", "record", "dry_run"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb export crawl --to kept.jsonl.zst",
        "corpusdb export crawl --where \"language = 'en' AND quality > 0.5\" --to english.parquet",
        "corpusdb export crawl --to shards --format parquet --partition-by source,language",
        "corpusdb export crawl --to monthly.parquet --content-defined-chunks",
        "corpusdb export crawl --columns key,text --to - --format csv | head",
        "corpusdb export crawl --snapshot v1 --columns key,text,meta --to v1.arrow",
        "corpusdb export crawl --duplicates --to removed.parquet",
        "corpusdb export crawl --to s3://bucket/kept/ --format parquet",
        "corpusdb ingest other kept.jsonl.zst --source web --id-field key",
    ];
    const NOTES: &str = "\
The same corpus and options give the same bytes. After an interrupt run the same command again: it
continues after the last finished file.";
    const DRY_RUN: DryRun = DryRun::Looks;
    const MANNERS: Manners = Manners::STOPS;
    type On = Corpus;
    type Report = ExportAnswer;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        if call.dry_run {
            return Ok(ExportAnswer::Estimated(corpus.export_estimate(&self.options)?));
        }
        if self.to == Path::new("-") {
            anyhow::ensure!(
                call.session.is_some(),
                "`to=`: standard output is for the command; give a path"
            );
            let mut out = BufWriter::with_capacity(1 << 20, output::stdout());
            let streamed = match self.record.record {
                true => {
                    let place = ("stdout", now());
                    let options = &self.options;
                    let (streamed, recorded) =
                        corpus.export_stream_on_record(options, &mut out, place, &call.context)?;
                    OnRecord::of(recorded, call);
                    streamed
                }
                false => corpus.export_stream(&self.options, &mut out, &call.context)?,
            };
            out.flush()?;
            streamed.loss_notes.iter().for_each(|note| call.note(note));
            return Ok(ExportAnswer::Streamed {});
        }
        let stores = stores();
        let job = ExportJob { to: &self.to, stores: Some(&stores), force: self.force };
        let started = Instant::now();
        let (manifest, on_record) = match self.record.record {
            true => {
                let (manifest, recorded) =
                    corpus.export_on_record(&self.options, &job, now(), &call.context)?;
                (manifest, OnRecord::of(recorded, call))
            }
            false => {
                let manifest = corpus.export(&self.options, &job, &call.context)?;
                (manifest, OnRecord::default())
            }
        };
        manifest.loss_notes().iter().for_each(|note| call.note(note));
        let (to, seconds) =
            (self.to.to_string_lossy().into_owned(), started.elapsed().as_secs_f64());
        Ok(ExportAnswer::Written(Box::new(WrittenExport { manifest, to, seconds, on_record })))
    }
}

impl Report for ExportAnswer {
    const TYPE: &'static str = "export";

    fn print(&self, out: &mut Output) {
        match self {
            Self::Streamed {} => {}
            Self::Estimated(estimate) => out.line(format!(
                "{} documents with {} of text",
                show::number(estimate.documents),
                show::size(estimate.text_bytes)
            )),
            Self::Written(written) => {
                let ExportManifest { rows, bytes, files, format, .. } = &written.manifest;
                let files = match files.len() {
                    1 => String::new(),
                    files => format!(" in {} files", show::number(files as u64)),
                };
                let what = format!("{}{files}", show::count(*rows, "row", "rows"));
                out.wrote(&written.to, &what, *bytes, &reading(format, &written.to));
            }
        }
    }

    fn is_streamed(&self) -> bool {
        matches!(self, Self::Streamed {})
    }
}
