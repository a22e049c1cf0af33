//! Ingests paths, Arrow streams and iterators of mappings.

use crate::call::raise_any;
use crate::corpus::Handle;
use crate::feed::{RecordFeeder, feed};
use crate::words::tried;
use corpusdb::cli::rows::{Face, IngestSettings, VerbCall, options_of, spell_message};
use corpusdb::ingest::{Alarm, Inputs, Records};
use corpusdb::{Context, CorpusWriter, Error};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};
use pyo3_arrow::PyRecordBatchReader;

/// The input of an ingest. Data that is not in a file has a name in the place of a path.
pub(crate) enum PyInput<'py> {
    Paths(Vec<String>),
    Batches(String, PyRecordBatchReader),
    Mappings(String, Bound<'py, PyIterator>),
}

impl<'py> PyInput<'py> {
    /// The input as the Python half classified it: a list of paths, or an object with an Arrow `stream` or with an
    /// iterator `records`.
    pub(crate) fn of(given: &Bound<'py, PyAny>, name: String) -> PyResult<Self> {
        if given.is_instance_of::<PyList>() {
            return Ok(Self::Paths(given.extract()?));
        }
        match given.getattr_opt("stream")? {
            Some(stream) => Ok(Self::Batches(name, stream.extract()?)),
            None => Ok(Self::Mappings(name, given.getattr("records")?.cast_into()?)),
        }
    }

    /// The input for a thread of the library, and, for an iterator, the side that the calling thread pulls.
    fn split(self) -> PyResult<(Inputs<'static>, Option<RecordFeeder<'py>>)> {
        Ok(match self {
            Self::Paths(paths) => (Inputs::Paths(paths), None),
            Self::Batches(name, reader) => {
                (Inputs::Records(Records::batches(name, reader.into_reader()?)), None)
            }
            Self::Mappings(name, records) => {
                let (feeder, fed) = feed(records);
                (Inputs::Records(Records::objects(name, fed)), Some(feeder))
            }
        })
    }
}

/// Runs a call that reads `input` into a corpus.
pub(crate) fn with_input<T: Send>(
    py: Python<'_>,
    handle: &Handle,
    input: PyInput<'_>,
    dry_run: bool,
    listener: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&mut CorpusWriter, Inputs<'static>, &Context<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let (inputs, mut feeder) = input.split()?;
    let mut pull = |py: Python<'_>, is_stopped: bool| {
        feeder.as_mut().is_some_and(|feeder| feeder.step(py, is_stopped))
    };
    handle.write_fed(py, listener, dry_run, &mut pull, |writer, context| {
        work(writer, inputs, context)
    })
}

/// Ingests files, the rows of an Arrow stream, or the mappings of an iterator. `name` stands for the path of data that
/// is not in a file; `keywords` are the verb's options. Returns the report as JSON text, and its alarms.
#[pyfunction]
#[pyo3(signature = (handle, given, name, keywords, dry_run, listener=None))]
pub(crate) fn ingest(
    py: Python<'_>,
    handle: &Handle,
    given: &Bound<'_, PyAny>,
    name: String,
    keywords: &str,
    dry_run: bool,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, Vec<String>)> {
    let input = PyInput::of(given, name)?;
    let settings = options_of::<IngestSettings>(keywords).map_err(|error| raise_any(py, error))?;
    let call = VerbCall::new(Context::new(), handle.options(py)?, dry_run, &|_| {});
    let options = settings.options(&call).map_err(|error| raise_any(py, error.into()))?;
    let work = |writer: &mut CorpusWriter, inputs: Inputs<'_>, context: &Context<'_>| {
        writer.ingest(inputs, &options, context)
    };
    let report = with_input(py, handle, input, dry_run, listener.as_ref(), work)?;
    let words = |alarm: &Alarm| match dry_run {
        true => alarm.words_of_dry_run(),
        false => alarm.to_string(),
    };
    let alarms = report.alarms.iter().map(|alarm| spell_message(&words(alarm), Face::Python));
    Ok((tried(py, &report, dry_run)?, alarms.collect()))
}
