//! The decisions file: one JSON line a record with the standing that it has when the ingest has ended.
//!
//! The file is complete or, after a failure, what it was before.

use super::identify::RecordOutcome;
use files::output::{OutputError, OutputFile, OutputWriter};
use model::{DocId, Error, ErrorKind, IoError, parse_object};
use serde::Serialize;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use store::View;

/// Bytes of a line of decisions, which has keys.
const LONGEST_LINE: u64 = 1 << 20;

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
/// a later one may change. Under the final name there is a whole file, or what was there.
pub(super) struct DecisionsFile {
    path: PathBuf,
    /// One line for each record: the id of its document, or the finished line of a record without one.
    notes: BufWriter<File>,
    written: OutputWriter,
}

impl DecisionsFile {
    /// Begins a file under a name that stands for none of the `inputs`, nor for a file of another kind; `notes` is a file
    /// without a name.
    pub(super) fn create<P: AsRef<Path>>(
        path: &Path,
        inputs: &[P],
        notes: File,
    ) -> Result<Self, Error> {
        let written = OutputFile::judge(path)
            .and_then(|judged| judged.beside_inputs(inputs))
            .and_then(|judged| judged.replacing("no decisions of an ingest", has_decisions))
            .and_then(OutputFile::create)
            .map_err(refused)?;
        Ok(Self { path: path.to_path_buf(), notes: BufWriter::new(notes), written })
    }

    /// Notes what became of records that were committed, in their order.
    pub(super) fn note(&mut self, outcomes: &[RecordOutcome]) -> Result<(), Error> {
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
                    reason: Some("its content was purged: it is not stored".to_owned()),
                    ..DecisionLine::of("purged")
                }),
            };
            writeln!(self.notes, "{line}").map_err(|source| self.failed(source))?;
        }
        Ok(())
    }

    /// Writes the decisions as they stand in `view`.
    pub(super) fn finish(mut self, view: &View) -> Result<(), Error> {
        let rewound = self.notes.flush().and_then(|()| self.notes.get_ref().rewind());
        rewound.map_err(|source| self.failed(source))?;
        for line in BufReader::new(self.notes.get_ref()).lines() {
            let line = line.map_err(|source| self.failed(source))?;
            let line = match line.parse() {
                Ok(id) => decision(view, DocId(id))?,
                Err(_) => line,
            };
            let written = writeln!(self.written, "{line}");
            written.map_err(|source| self.failed(source))?;
        }
        self.written.finish().map_err(refused)
    }

    fn failed(&self, source: std::io::Error) -> IoError {
        IoError::of("writing", &self.path)(source)
    }
}

/// What stands under the name of the file, or keeps it from being written, is no fault of an input.
fn refused(error: OutputError) -> Error {
    Error::new(ErrorKind::Failed, error)
}

/// Whether a file has decisions of an earlier ingest, or nothing: it may be replaced.
fn has_decisions(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let mut line = String::new();
    if BufReader::new(file.take(LONGEST_LINE)).read_line(&mut line).is_err() {
        return false;
    }
    let names = ["key", "id", "standing", "witness", "jaccard"];
    line.is_empty()
        || parse_object(&line).is_ok_and(|line| names.iter().all(|name| line.contains_key(*name)))
}

/// The line of a stored document.
fn decision(view: &View, id: DocId) -> Result<String, Error> {
    let matched = view.match_of(id)?;
    let witness = matched.map(|matched| matched.witness);
    Ok(json(&DecisionLine {
        key: Some(view.display_key(id)?),
        id: Some(id.0),
        kind: matched.map(|matched| matched.kind.name()),
        witness: witness.map(|witness| witness.0),
        witness_key: witness.map(|id| view.display_key(id)).transpose()?,
        witness_source: witness.map(|id| view.source_name(view.place(id)?.source)).transpose()?,
        jaccard: matched.map(|matched| matched.jaccard()),
        ..DecisionLine::of(view.standing(id)?.name())
    }))
}

fn json(line: &DecisionLine<'_>) -> String {
    serde_json::json!(line).to_string()
}
