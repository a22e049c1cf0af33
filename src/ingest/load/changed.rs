//! Stored documents that stand otherwise with a load: what its folder `changed` says of them, read as often as it
//! takes.

use super::LoadOptions;
use super::manifest::LoadManifest;
use super::said::ExpectedStatus;
use crate::ingest::decided::{StoredStatusChange, parse_status_change};
use crate::ingest::error::IngestError;
use crate::ingest::judge::load_row;
use crate::ingest::produce::expand_files;
use crate::input::{InputFile, InputFormat, InputReader, ReadItem, ReadOptions};
use crate::model::{DocId, Interrupt, Standing, key_identity};
use crate::store::View;
use roaring::RoaringTreemap;

/// The files of these documents.
pub(super) struct StatusChangeFiles {
    files: Vec<InputFile>,
    read: ReadOptions,
    /// Documents that the corpus had before the load.
    before: u64,
}

impl StatusChangeFiles {
    /// Those of a load.
    ///
    /// # Errors
    /// [`IngestError`] when the files are not there or cannot be looked up.
    pub(super) fn of(
        directory: &str,
        manifest: &LoadManifest,
        options: &LoadOptions,
        interrupt: &Interrupt,
    ) -> Result<Self, IngestError> {
        let stopped = || IngestError::Interrupted { report: Box::default() };
        let paths = [format!("{directory}/changed")];
        let mut files = match manifest.changed {
            0 => Vec::new(),
            _ => expand_files(&paths, &options.stores, interrupt, stopped)?,
        };
        files.retain(|file| file.name().ends_with(".parquet"));
        let stores = options.stores.clone();
        let read = ReadOptions {
            format: InputFormat::Parquet,
            whole: true,
            stores,
            ..ReadOptions::default()
        };
        Ok(Self { files, read, before: manifest.before })
    }

    /// The documents that are superseded; each is told of once, and there are as many as the manifest counts.
    ///
    /// # Errors
    /// [`IngestError::LoadRow`] for a row that cannot be true, [`IngestError::Load`] when there are more or less.
    pub(super) fn superseded(
        &self,
        manifest: &LoadManifest,
        interrupt: &Interrupt,
    ) -> Result<RoaringTreemap, IngestError> {
        let (mut all, mut superseded) = (RoaringTreemap::new(), RoaringTreemap::new());
        self.rows(interrupt, |row, file, number| {
            let id = row.id;
            let why = if id >= self.before {
                format!("`id` is {id}, and the load was decided against {} documents", self.before)
            } else if all.insert(id) {
                if row.standing == Standing::Superseded {
                    superseded.insert(id);
                }
                return Ok(());
            } else {
                format!("an earlier row has the `id` {id}")
            };
            Err(load_row(&file.path, number, why))
        })?;
        if all.len() == manifest.changed {
            return Ok(superseded);
        }
        Err(IngestError::Load(format!(
            "{} stored documents are said to stand otherwise, and the manifest counts {}: files are missing or were added",
            all.len(),
            manifest.changed
        )))
    }

    /// Calls `each` with how every one of them is said to stand.
    ///
    /// # Errors
    /// [`IngestError::LoadRow`] for one that is another document; [`IngestError`] when a row cannot be read, or as
    /// `each`.
    pub(super) fn each_expected(
        &self,
        view: &View,
        interrupt: &Interrupt,
        mut each: impl FnMut(ExpectedStatus) -> Result<(), IngestError>,
    ) -> Result<(), IngestError> {
        self.rows(interrupt, |row, file, number| {
            let document = DocId(row.id);
            let header = view.expect_header(document)?;
            let (key, source) = (view.display_key(&header)?, view.source_name(header.source));
            let is_it = row.key.as_ref().is_none_or(|said| *said == key)
                && row.source.as_ref().is_none_or(|said| said == source);
            if !is_it {
                let said = (row.key.unwrap_or(key.clone()), row.source);
                let why = format!(
                    "document {document} is said to be {:?} of `{}`, and is {key:?} of `{source}`",
                    said.0,
                    said.1.as_deref().unwrap_or(source)
                );
                return Err(load_row(&file.path, number, why));
            }
            each(ExpectedStatus {
                document,
                identity: key_identity(source, &key),
                standing: row.standing,
                removal: row.removal,
                source: source.to_owned(),
                path: file.path.as_ref().clone(),
                row: number,
            })
        })
    }

    fn rows(
        &self,
        interrupt: &Interrupt,
        mut each: impl FnMut(StoredStatusChange, &InputFile, u64) -> Result<(), IngestError>,
    ) -> Result<(), IngestError> {
        for file in &self.files {
            let mut reader = InputReader::open(file, &self.read)?;
            while let Some(item) = reader.next()? {
                if interrupt.is_raised() {
                    return Err(IngestError::Interrupted { report: Box::default() });
                }
                let record = match item {
                    ReadItem::Record(record) => record,
                    ReadItem::Reject(reject) => {
                        let (path, row) = (&reject.origin.path, reject.origin.number);
                        return Err(load_row(path, row, reject.reason.to_string()));
                    }
                };
                let number = record.origin.number;
                let row = parse_status_change(&record.metadata)
                    .map_err(|why| load_row(&file.path, number, why))?;
                each(row, file, number)?;
            }
        }
        Ok(())
    }
}
