//! Arrow IPC: files with a footer, and streams; a record batch a group.

use super::Shard;
use super::part::{Part, table};
use crate::export::error::ExportError;
use crate::model::IoError;
use crate::output::{HashedFile, ManifestFile};
use ::arrow::datatypes::SchemaRef;
use ::arrow::error::ArrowError;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file or a stream under way.
pub(in crate::export) struct ArrowShard<'a> {
    schema: SchemaRef,
    rows: u64,
    out: Out<'a>,
}

enum Out<'a> {
    File(Box<FileWriter<HashedFile>>, PathBuf),
    Stream(Box<StreamWriter<&'a mut (dyn Write + Send)>>),
}

impl<'a> ArrowShard<'a> {
    /// Begins `file`.
    pub fn create(file: HashedFile, schema: SchemaRef) -> Result<Self, ExportError> {
        let path = file.path().to_path_buf();
        let writer = FileWriter::try_new(file, &schema).map_err(failed(&path))?;
        Ok(Self { schema, rows: 0, out: Out::File(Box::new(writer), path) })
    }

    /// Writes to a stream.
    pub fn stream(out: &'a mut (dyn Write + Send), schema: SchemaRef) -> Result<Self, ExportError> {
        let writer = StreamWriter::try_new(out, &schema).map_err(unwritten)?;
        Ok(Self { schema, rows: 0, out: Out::Stream(Box::new(writer)) })
    }
}

impl Shard for ArrowShard<'_> {
    fn append(&mut self, parts: Vec<Part>) -> Result<(), ExportError> {
        let rows = table(&self.schema, parts)?;
        if rows.num_rows() == 0 {
            return Ok(());
        }
        self.rows += rows.num_rows() as u64;
        match &mut self.out {
            Out::File(writer, path) => Ok(writer.write(&rows).map_err(failed(path))?),
            Out::Stream(writer) => writer.write(&rows).map_err(unwritten),
        }
    }

    fn bytes(&self) -> u64 {
        match &self.out {
            Out::File(writer, _) => writer.get_ref().bytes(),
            Out::Stream(_) => 0,
        }
    }

    fn finish(self: Box<Self>) -> Result<Option<ManifestFile>, ExportError> {
        match self.out {
            Out::File(writer, path) => {
                let file = writer.into_inner().map_err(failed(&path))?;
                Ok(Some(file.finish(self.rows)?))
            }
            Out::Stream(mut writer) => {
                writer.finish().map_err(unwritten)?;
                Ok(None)
            }
        }
    }
}

fn cause(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}

fn failed(path: &Path) -> impl FnOnce(ArrowError) -> IoError {
    let fail = IoError::of("writing", path);
    move |error| fail(cause(error))
}

fn unwritten(error: ArrowError) -> ExportError {
    ExportError::Output(cause(error))
}
