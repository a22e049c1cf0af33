//! The decisions file: one JSON line a record, complete or absent.

use super::error::IngestError;
use super::identify::RecordOutcome;
use crate::store::View;
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

#[derive(Serialize)]
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

/// Writes beside the final name and renames at the end, so that a file under that name is whole.
pub(super) struct DecisionsFile {
    path: PathBuf,
    partial: PathBuf,
    out: BufWriter<File>,
}

impl DecisionsFile {
    pub(super) fn create(path: &Path) -> Result<Self, IngestError> {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".partial");
        let partial = path.with_file_name(name);
        let file = File::create(&partial)
            .map_err(|source| IngestError::Io { path: partial.clone(), source })?;
        Ok(Self { path: path.to_path_buf(), partial, out: BufWriter::new(file) })
    }

    pub(super) fn write(
        &mut self,
        view: &View,
        fates: &[RecordOutcome],
    ) -> Result<(), IngestError> {
        for fate in fates {
            let line = match fate {
                RecordOutcome::Rejected(reject) => DecisionLine {
                    key: Some(format!("{}:{}", reject.origin.path.display(), reject.origin.number)),
                    id: None,
                    standing: "rejected",
                    kind: None,
                    witness: None,
                    witness_key: None,
                    witness_source: None,
                    jaccard: None,
                    reason: Some(reject.reason.to_string()),
                },
                RecordOutcome::Purged(key) => DecisionLine {
                    key: key.clone(),
                    id: None,
                    standing: "purged",
                    kind: None,
                    witness: None,
                    witness_key: None,
                    witness_source: None,
                    jaccard: None,
                    reason: Some("what it says was purged: it is not stored".to_owned()),
                },
                RecordOutcome::Document(id) => {
                    let header = view.expect_header(*id)?;
                    let matched = view.match_of(*id)?;
                    let witness =
                        matched.map(|matched| view.expect_header(matched.witness)).transpose()?;
                    DecisionLine {
                        key: Some(view.display_key(&header)?),
                        id: Some(id.0),
                        standing: view.standing(*id)?.name(),
                        kind: matched.map(|matched| matched.kind.name()),
                        witness: matched.map(|matched| matched.witness.0),
                        witness_key: witness
                            .as_ref()
                            .map(|header| view.display_key(header))
                            .transpose()?,
                        witness_source: witness
                            .as_ref()
                            .map(|header| view.source_name(header.source)),
                        jaccard: matched.map(|matched| matched.jaccard()),
                        reason: None,
                    }
                }
            };
            let written = serde_json::to_writer(&mut self.out, &line).map_err(std::io::Error::from);
            written.and_then(|()| self.out.write_all(b"\n")).map_err(self.failed())?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), IngestError> {
        self.out.flush().and_then(|()| self.out.get_ref().sync_all()).map_err(self.failed())?;
        std::fs::rename(&self.partial, &self.path).map_err(self.failed())
    }

    fn failed(&self) -> impl FnOnce(std::io::Error) -> IngestError {
        let path = self.path.clone();
        move |source| IngestError::Io { path, source }
    }
}
