//! The inputs of an ingest: files by their paths, or records that a program has.

use super::reader::{IngestInput, IngestInputs, expand_inputs};
use files::input::{ReadOptions, Records};
use model::{Error, Interrupt};

/// What an ingest or a join reads. Paths and [`Records`] become one by themselves:
/// [`CorpusWriter::ingest`](crate::CorpusWriter::ingest) takes either.
#[derive(Debug)]
pub enum Inputs<'m> {
    /// Files, directories, patterns, addresses of objects, `-` for standard input; in this order.
    Paths(Vec<String>),
    /// Records that the program has: one by one, as JSON objects, or as Arrow batches ([`Records::batches`]).
    Records(Records<'m>),
}

impl<'m> Inputs<'m> {
    /// One path.
    pub fn path(path: impl Into<String>) -> Self {
        Self::Paths(vec![path.into()])
    }

    /// Each file by itself.
    pub(crate) fn expand(
        self,
        options: &ReadOptions,
        interrupt: &Interrupt,
    ) -> Result<IngestInputs<'m>, Error> {
        match self {
            Self::Paths(paths) => expand_inputs(&paths, options, interrupt),
            Self::Records(records) => Ok(vec![IngestInput::Memory(records)].into()),
        }
    }
}

impl<P: AsRef<[String]> + ?Sized> From<&P> for Inputs<'_> {
    fn from(paths: &P) -> Self {
        Self::Paths(paths.as_ref().to_vec())
    }
}

impl From<Vec<String>> for Inputs<'_> {
    fn from(paths: Vec<String>) -> Self {
        Self::Paths(paths)
    }
}

impl<'m> From<Records<'m>> for Inputs<'m> {
    fn from(records: Records<'m>) -> Self {
        Self::Records(records)
    }
}
