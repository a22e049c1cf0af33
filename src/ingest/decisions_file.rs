//! The decisions file: one JSON line a record, as it stands when the ingest has ended. Complete or absent.

use super::error::IngestError;
use super::identify::RecordOutcome;
use crate::model::DocId;
use crate::store::{View, sync_directory};
use serde::Serialize;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

#[derive(Default, Serialize)]
struct DecisionLine<'a> {
    key: Option<String>,
    id: Option<u64>,
    standing: &'a str,
    kind: Option<&'a str>,
    witness: Option<u64>,
    witness_key: Option<String>,
    witness_source: Option<&'a str>,
    jaccard: Option<f64>,
    reason: Option<String>,
}

impl<'a> DecisionLine<'a> {
    fn of(standing: &'a str) -> Self {
        Self { standing, ..Self::default() }
    }
}

/// Notes each record's outcome while the ingest runs, and writes the decisions when it has ended: what one commit decided
/// a later one may change. Under the final name there is a whole file, or none.
pub(super) struct DecisionsFile {
    path: PathBuf,
    /// Beside it: a line a record, the id of its document or the finished line of one that is none.
    noted: TempFile,
}

/// A file that is removed when nobody needs it any more.
struct TempFile {
    path: PathBuf,
    out: BufWriter<File>,
}

impl TempFile {
    /// Beside `path`, with `ending` behind its name.
    fn beside(path: &Path, ending: &str) -> Result<Self, IngestError> {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(ending);
        let path = path.with_file_name(name);
        let file = File::create(&path).map_err(failed(&path))?;
        Ok(Self { path, out: BufWriter::new(file) })
    }

    fn line(&mut self, line: &str) -> Result<(), IngestError> {
        writeln!(self.out, "{line}").map_err(failed(&self.path))
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> IngestError {
    let path = path.to_path_buf();
    move |source| IngestError::Io { path, source }
}

impl DecisionsFile {
    pub(super) fn create(path: &Path) -> Result<Self, IngestError> {
        Ok(Self { path: path.to_path_buf(), noted: TempFile::beside(path, ".noted")? })
    }

    /// Notes what became of records that were committed, in their order.
    pub(super) fn note(&mut self, outcomes: &[RecordOutcome]) -> Result<(), IngestError> {
        for outcome in outcomes {
            let line = match outcome {
                RecordOutcome::Document(id) => id.0.to_string(),
                RecordOutcome::Rejected(reject) => json(&DecisionLine {
                    key: Some(format!("{}:{}", reject.origin.path.display(), reject.origin.number)),
                    reason: Some(reject.reason.to_string()),
                    ..DecisionLine::of("rejected")
                }),
                RecordOutcome::Purged(key) => json(&DecisionLine {
                    key: key.clone(),
                    reason: Some("what it says was purged: it is not stored".to_owned()),
                    ..DecisionLine::of("purged")
                }),
            };
            self.noted.line(&line)?;
        }
        Ok(())
    }

    /// Writes the decisions as they stand in `view`.
    pub(super) fn finish(mut self, view: &View) -> Result<(), IngestError> {
        self.noted.out.flush().map_err(failed(&self.noted.path))?;
        let mut written = TempFile::beside(&self.path, ".partial")?;
        let noted = File::open(&self.noted.path).map_err(failed(&self.noted.path))?;
        for line in BufReader::new(noted).lines() {
            let line = line.map_err(failed(&self.noted.path))?;
            match line.parse() {
                Ok(id) => written.line(&decision(view, DocId(id))?)?,
                Err(_) => written.line(&line)?,
            }
        }
        let synced = written.out.flush().and_then(|()| written.out.get_ref().sync_all());
        synced.map_err(failed(&written.path))?;
        std::fs::rename(&written.path, &self.path).map_err(failed(&self.path))?;
        // The name is on the disk once its directory is.
        let directory = self.path.parent().filter(|parent| *parent != Path::new(""));
        Ok(sync_directory(directory.unwrap_or_else(|| Path::new(".")))?)
    }
}

/// The line of a stored document.
fn decision(view: &View, id: DocId) -> Result<String, IngestError> {
    let header = view.expect_header(id)?;
    let matched = view.match_of(id)?;
    let witness = matched.map(|matched| view.expect_header(matched.witness)).transpose()?;
    Ok(json(&DecisionLine {
        key: Some(view.display_key(&header)?),
        id: Some(id.0),
        kind: matched.map(|matched| matched.kind.name()),
        witness: matched.map(|matched| matched.witness.0),
        witness_key: witness.as_ref().map(|header| view.display_key(header)).transpose()?,
        witness_source: witness.as_ref().map(|header| view.source_name(header.source)),
        jaccard: matched.map(|matched| matched.jaccard()),
        ..DecisionLine::of(view.standing(id)?.name())
    }))
}

fn json(line: &DecisionLine<'_>) -> String {
    serde_json::json!(line).to_string()
}
