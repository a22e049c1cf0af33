//! Calls a verb of the command by name: keywords as a JSON object in, the report as JSON out.
//!
//! The keywords become arguments of the command itself (`corpusdb::cli::rows`), so required options, conflicts, ranges
//! and defaults are the same. After Ctrl-C a verb that writes, or that has safe points, stops there; any other verb is
//! left running in the background.

use crate::blocking::{run_detached, run_to_end};
use crate::corpus::{Handle, thread_count};
use crate::error::{named, raise};
use corpusdb::cli::rows::{
    Face, HandleKind, OpenHandle, PreparedVerb, VerbAnswer, VerbCall, VerbError, spell_message,
};
use corpusdb::{Context, Corpus, CorpusOptions};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The answer of a verb, or its error, with its notes.
type Answered = (Result<VerbAnswer, VerbError>, Vec<String>);

/// Calls a verb. Returns its report as JSON text (a list as one line each), and the notes for people.
#[pyfunction]
#[pyo3(signature = (verb, keywords, handle=None, *, path=None, threads=None, listener=None))]
pub(crate) fn call(
    py: Python<'_>,
    verb: &str,
    keywords: &str,
    handle: Option<&Handle>,
    path: Option<PathBuf>,
    threads: Option<i64>,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, Vec<String>)> {
    let threads = thread_count(py, threads)?;
    let prepared = PreparedVerb::of(verb, keywords).map_err(|error| raise_any(py, error))?;
    let (on, tried, stops) = (prepared.on(), prepared.is_dry_run(), prepared.stops());
    let options = match handle {
        Some(handle) => handle.options(py)?,
        None => Corpus::options(),
    };
    let run = move |open: OpenHandle<'_>, context: &Context<'_>| -> Answered {
        run_noted(&prepared, open, (context, options, threads))
    };
    let (answer, notes) = match (on, handle, path) {
        (HandleKind::Corpus | HandleKind::AnyCorpus, Some(handle), _) if stops => {
            let corpus = handle.corpus(py)?;
            run_to_end(py, listener, |context| Ok(run(OpenHandle::Corpus(&corpus), context)))?
        }
        (HandleKind::Corpus | HandleKind::AnyCorpus, Some(handle), _) => {
            let corpus = handle.corpus(py)?;
            run_detached(py, listener, move |context| {
                Ok(run(OpenHandle::Corpus(&corpus), context))
            })?
        }
        (HandleKind::Writer, Some(handle), _) => {
            handle.write_fed(py, listener, tried, &mut |_, _| false, |writer, context| {
                Ok(run(OpenHandle::Writer(writer), context))
            })?
        }
        (HandleKind::Path, _, Some(path)) => {
            run_to_end(py, listener, |context| Ok(run(OpenHandle::Path(&path), context)))?
        }
        (HandleKind::Nothing | HandleKind::AnyCorpus, None, None) => {
            run_to_end(py, listener, |context| Ok(run(OpenHandle::Nothing, context)))?
        }
        _ => {
            return Err(named(
                py,
                "CorpusError",
                &format!("`{verb}` needs another kind of handle"),
            ));
        }
    };
    let answer = answer.map_err(|error| raise_any(py, error))?;
    let notes = notes.iter().chain(&answer.notes);
    let notes = notes.map(|note| spell_message(note, Face::Python)).collect();
    Ok((answer.text, notes))
}

/// How a call runs: its context, the options for opening the corpus, and the number of threads.
type Settings<'c, 'a> = (&'c Context<'a>, CorpusOptions, Option<usize>);

fn run_noted(
    prepared: &PreparedVerb,
    open: OpenHandle<'_>,
    (context, options, threads): Settings<'_, '_>,
) -> Answered {
    let notes = Mutex::new(Vec::new());
    let note = |text: &str| {
        notes.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
    };
    let context = match threads {
        Some(threads) => context.with_threads(threads),
        None => *context,
    };
    let answer = prepared.run(open, &VerbCall::new(context, options, prepared.is_dry_run(), &note));
    (answer, notes.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The exception of an error of the library. Errors of keywords are `BadInput`.
pub(crate) fn raise_any(py: Python<'_>, error: VerbError) -> PyErr {
    match error {
        VerbError::Library(error) => raise(py, error),
        VerbError::Arguments(words) => named(py, "BadInput", &spell_message(&words, Face::Python)),
    }
}
