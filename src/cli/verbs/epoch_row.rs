//! `corpusdb epoch row`: shows rows of an epoch by number or by step, with their documents and text.

use super::epoch::{EpochShards, RECIPE_OR_PLAN, planned};
use crate::cli::output::{Output, Paint};
use crate::cli::session::on_disk;
use crate::cli::verb::{CorpusPath, ListReport, ListRow, PythonMethod, Verb, VerbCall};
use corpusdb::epoch::{Epoch, EpochRow, RowPart, RowReport, RowSegment, StreamOptions};
use corpusdb::pages::{RowsPage, corpus_title};
use corpusdb::show::{count, number};
use std::path::{Path, PathBuf};

/// Rows that are shown, at most.
const MOST_ROWS: u64 = 1024;

/// Positions of all rows that are shown, at most, unless one row has more.
const MOST_POSITIONS: u64 = 1 << 22;

/// Show rows: their segments, the document and position that each comes from, their text and what is trained on.
///
/// With `step` in place of the numbers of rows it shows the rows of a step of training, of one rank or of all.
#[derive(clap::Args)]
pub(super) struct EpochRowArgs {
    /// A recipe or the number of a plan.
    #[arg(value_name = "RECIPE|PLAN")]
    what: String,
    /// Numbers of rows in the epoch.
    #[arg(value_name = "ROW", required_unless_present = "step", conflicts_with = "step")]
    row: Vec<u64>,
    /// The epoch of the plan, counted from 0.
    #[arg(long, default_value_t = 0, value_name = "E")]
    epoch: u64,
    /// Show the text, with what is trained on.
    ///
    /// On a terminal what is trained on is bold and the rest dim; elsewhere the rest stands in ⟦ and ⟧. A token is
    /// trained on if the labels have it: never the first token of a segment, which nothing predicts. Special tokens are
    /// spelled out, and pads are counted.
    #[arg(long)]
    text: bool,
    /// Show the rows of a step, counted from 0 within the epoch.
    ///
    /// It is the step of a run of `world` ranks that began with the epoch. After a resume with another number of ranks,
    /// count from there.
    #[arg(long, value_name = "S")]
    step: Option<u64>,
    /// The rank, counted from 0. By default all ranks.
    #[arg(long, value_name = "R", requires = "step", conflicts_with = "row")]
    rank: Option<u64>,
    /// Number of ranks.
    #[arg(long, default_value_t = 1, value_name = "W", requires = "step", conflicts_with = "row")]
    world: u64,
    /// Rows that a rank has of a step if the recipe has no batches, as its loader was told.
    #[arg(long, default_value_t = 1, value_name = "N", requires = "step", conflicts_with = "row")]
    step_rows: u64,
    /// Accept a number of ranks that does not divide the batches evenly.
    #[arg(long, requires = "step", conflicts_with = "row")]
    uneven: bool,
    /// Write the rows with their text as a self-contained page.
    #[arg(long, value_name = "FILE", value_parser = on_disk())]
    html: Option<PathBuf>,
    #[command(flatten)]
    shards: EpochShards,
}

impl Verb for EpochRowArgs {
    const PATH: &str = "epoch row";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Plan.row");
    const EXAMPLES: &[&str] = &[
        "corpusdb epoch row crawl 1 4711",
        "corpusdb epoch row crawl 1 0 1 2 --text",
        "corpusdb epoch row crawl 1 --step 1 --rank 0 --world 8 --text",
        "corpusdb epoch row crawl 1 4711 --html row.html",
    ];
    const NOTES: &str = RECIPE_OR_PLAN;
    type On = CorpusPath;
    type Report = ListReport<RowReport>;

    fn run(self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let corpus = self.shards.open(path, call)?;
        let planned = planned(&corpus, &self.what, call)?;
        let epoch = corpus.epoch(&planned, self.epoch, &call.context)?;
        let rows = match self.step {
            Some(step) => self.rows_of_step(&epoch, step, planned.plan.capacity, call)?,
            None => {
                refuse_many(self.row.len() as u64, planned.plan.capacity)?;
                epoch.rows_at(&self.row).map_err(corpusdb::Error::from)?
            }
        };
        let mut reports = corpus.row_reports(&planned, &rows, self.text || self.html.is_some())?;
        if let Some(file) = &self.html {
            let sources: Vec<String> =
                planned.plan.sources.iter().map(|source| source.name.clone()).collect();
            let page = RowsPage::new(&reports, self.epoch, &corpus_title(path), &sources);
            call.write_page(file, &page)?;
        }
        if !self.text {
            for report in &mut reports {
                report.parts = None;
            }
        }
        Ok(ListReport(reports))
    }
}

impl EpochRowArgs {
    /// The rows that one rank has of a step, or those of all ranks in their order.
    fn rows_of_step(
        &self,
        epoch: &Epoch,
        step: u64,
        capacity: u32,
        call: &VerbCall<'_>,
    ) -> anyhow::Result<Vec<EpochRow>> {
        let mut options = StreamOptions {
            world: self.world,
            rows: self.step_rows,
            uneven: self.uneven,
            ..StreamOptions::default()
        };
        options.from_batch = epoch.first_batch_of(step, &options).map_err(corpusdb::Error::from)?;
        let ranks = match self.rank {
            Some(rank) => rank..rank.saturating_add(1),
            None => 0..self.world.max(1),
        };
        // There is a row for each rank, unless the epoch ends.
        refuse_many(ranks.end - ranks.start, 1)?;
        let mut rows: Vec<EpochRow> = Vec::new();
        for rank in ranks {
            let batch = epoch.batch(&StreamOptions { rank, ..options });
            rows.extend(batch.map_err(corpusdb::Error::from)?.rows);
            refuse_many(rows.len() as u64, capacity)?;
        }
        if let Some(rank) = self.rank.filter(|_| rows.is_empty()) {
            call.note(&format!("step {step} has no row for rank {rank} of {}", self.world));
        }
        Ok(rows)
    }
}

/// Refuses more rows than can be shown.
fn refuse_many(rows: u64, capacity: u32) -> anyhow::Result<()> {
    let is_few = rows <= MOST_ROWS && rows.saturating_mul(capacity.into()) <= MOST_POSITIONS;
    anyhow::ensure!(
        is_few || rows <= 1,
        "{} rows of up to {} are more than are shown at once ({} rows, {} positions): name some of them by their numbers, or one rank of a step",
        number(rows),
        count(capacity.into(), "token", "tokens"),
        number(MOST_ROWS),
        number(MOST_POSITIONS)
    );
    Ok(())
}

impl ListRow for RowReport {
    const TYPE: &'static str = "row";

    fn print_all(all: &[Self], out: &mut Output) {
        for (at, row) in all.iter().enumerate() {
            if at > 0 {
                out.line("");
            }
            print_row(row, out);
        }
    }
}

fn print_row(report: &RowReport, out: &mut Output) {
    let RowReport { row, width, segments, trained, .. } = report;
    let real: u32 = segments.iter().map(|segment| segment.length).sum();
    let batch = report.batch.map_or_else(String::new, |batch| format!(", batch {batch}"));
    let source = report.source.as_deref().unwrap_or("none, pads only");
    let pass = report.pass.map_or_else(String::new, |pass| format!(", pass {pass}"));
    out.line(format!(
        "row {row}{batch}: source {source}{pass}, {real} real tokens of {width}, {trained} trained on"
    ));
    let line = |segment: &RowSegment| {
        let rest = [segment.length, segment.offset, segment.document_length];
        let mut line = vec![segment.key.clone()];
        line.extend(segment.shard.map(|shard| shard.to_string()));
        line.extend([segment.id.to_string(), segment.start.to_string()]);
        line.extend(rest.map(|number| number.to_string()));
        line.push(segment.source.clone());
        line
    };
    let is_sharded = segments.iter().any(|segment| segment.shard.is_some());
    let mut head = vec!["key"];
    head.extend(is_sharded.then_some("shard"));
    head.extend(["document", "at", "tokens", "from", "of", "source"]);
    out.table(&head, segments.iter().map(line));
    let parts = report.parts.as_deref().unwrap_or_default();
    for parts in parts.chunk_by(|a, b| a.segment == b.segment) {
        let segment = parts.first().and_then(|part| part.segment);
        print_parts(segment.and_then(|number| segments.get(number)), parts, out);
    }
}

/// The text of a segment, below a line that names it; or a line for pads.
fn print_parts(segment: Option<&RowSegment>, parts: &[RowPart], out: &mut Output) {
    let Some(segment) = segment else {
        let pads: u64 = parts.iter().map(|part| u64::from(part.length)).sum();
        return out.painted(&[(Paint::Untrained, count(pads, "pad", "pads"))]);
    };
    out.line(format!(
        "{}, tokens {} to {} of {}:",
        segment.key,
        segment.offset,
        segment.offset.saturating_add(segment.length.saturating_sub(1)),
        segment.document_length
    ));
    let paint = |part: &RowPart| if part.trained { Paint::Trained } else { Paint::Untrained };
    let texts: Vec<(Paint, &str)> =
        parts.iter().map(|part| (paint(part), part.text.as_str())).collect();
    out.painted(&texts);
}
