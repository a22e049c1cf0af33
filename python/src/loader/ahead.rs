//! The threads that read batches ahead and make tensors of them.
//!
//! One thread reads batches while the other turns earlier ones into tensors; neither needs the interpreter. For batches
//! of ids alone, handing over a tensor costs as much as making it: so ids are handed over as they were read, many
//! batches at once, and the calling thread makes the tensors.

use super::batch::{IdMaker, Maker, ReadyBatch};
use super::corpus::{LoaderCorpus, lock, raised};
use crate::process::ProcessOwned;
use corpusdb::Error;
use corpusdb::epoch::{EpochBatch, EpochSteps, IdBatch, IdSteps, StreamEntry};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use std::vec::IntoIter;

/// How often a waiting trainer checks for signals.
const TICK: Duration = Duration::from_millis(50);

/// The end is sent as a message, too: a thread that ends without it has panicked.
enum Message {
    Batch(Box<ReadyBatch>),
    Ids(Vec<IdBatch>),
    Failed(Error),
    End,
}

/// The messages from the reading thread to the one that makes tensors: batches that were read together, each with the
/// global batch after its step. The end is sent as a message, too.
type Read = Result<Vec<(EpochBatch, u64)>, Error>;

/// The steps to read, and the maker of their batches.
pub(super) enum Work {
    Rows(Box<EpochSteps>, Maker),
    Ids(IdSteps, IdMaker),
}

/// The threads and their finished batches. Dropping it stops the threads at their next batch and waits for them: they
/// must not read when the process ends.
struct Running {
    opened: Arc<LoaderCorpus>,
    receiver: Option<Receiver<Message>>,
    threads: Vec<JoinHandle<()>>,
    /// Batches of ids whose tensors are still to be made, and their maker.
    ids: IntoIter<IdBatch>,
    maker: Option<IdMaker>,
    /// The record entry of the batches that are given, and the global batch after the last one.
    entry: Option<(StreamEntry, u64)>,
}

/// The answer to a request for a batch.
enum Next {
    Batch(ReadyBatch),
    Failed(Error),
    End,
    /// No batch is ready yet.
    Wait,
    /// A thread has ended without a message.
    Gone,
}

impl Running {
    fn next(&mut self) -> Next {
        // Documents may have been purged since the batch was read ahead.
        if let Err(error) = self.opened.refuse_purged_if_due() {
            return Next::Failed(error);
        }
        loop {
            if let (Some(batch), Some(maker)) = (self.ids.next(), &self.maker) {
                return self.given(maker.make(&batch));
            }
            let Some(receiver) = &self.receiver else { return Next::End };
            match receiver.recv_timeout(TICK) {
                Ok(Message::Batch(made)) => return self.given(*made),
                Ok(Message::Ids(batches)) => self.ids = batches.into_iter(),
                Ok(Message::Failed(error)) => return Next::Failed(error),
                Ok(Message::End) => return Next::End,
                Err(RecvTimeoutError::Timeout) => return Next::Wait,
                Err(RecvTimeoutError::Disconnected) => return Next::Gone,
            }
        }
    }
}

impl Running {
    /// Gives a batch to the trainer; the entry on record ends behind it.
    fn given(&mut self, made: ReadyBatch) -> Next {
        if let Some((_, next)) = &mut self.entry {
            *next = made.after();
        }
        Next::Batch(made)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.receiver.take());
        for thread in self.threads.drain(..) {
            // A panic has printed its own message.
            let _ = thread.join();
        }
        if let Some((entry, next)) = self.entry.take() {
            // If this fails, the entry on record covers more than was given, which is safe.
            let _ = entry.end(next);
        }
    }
}

/// Batches read ahead.
#[pyclass(frozen, module = "corpusdb._native", name = "Batches")]
pub(crate) struct PyBatches {
    running: ProcessOwned<Mutex<Option<Running>>>,
}

impl PyBatches {
    pub(super) fn start(
        opened: Arc<LoaderCorpus>,
        work: Work,
        prefetch: usize,
        entry: Option<(StreamEntry, u64)>,
    ) -> PyResult<Self> {
        // A batch that waits to be sent is ready, too.
        let (sender, receiver) = sync_channel(prefetch.saturating_sub(1));
        let mut running = Running {
            opened: Arc::clone(&opened),
            receiver: Some(receiver),
            threads: Vec::new(),
            ids: Vec::new().into_iter(),
            maker: None,
            entry,
        };
        match work {
            Work::Ids(steps, maker) => {
                running.maker = Some(maker);
                running.threads.push(spawn("corpusdb reader", move || {
                    read_ids(steps, |message| sender.send(message).is_ok());
                })?);
            }
            Work::Rows(steps, maker) => {
                // The channel has no buffer: the maker takes a read once it has made all batches of the one before.
                let (read, taken) = sync_channel(0);
                let theirs = Arc::clone(&opened);
                // The maker starts first: without it the reader would end at once.
                running.threads.push(spawn("corpusdb loader", move || {
                    make(&opened, &maker, &taken, |message| sender.send(message).is_ok());
                })?);
                running.threads.push(spawn("corpusdb reader", move || {
                    read_all(&theirs, *steps, |batches| read.send(batches).is_ok());
                })?);
            }
        }
        Ok(Self { running: ProcessOwned::new(Mutex::new(Some(running))) })
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> PyResult<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map_err(|error| PyOSError::new_err(error.to_string()))
}

#[pymethods]
impl PyBatches {
    /// The next batch; `None` at the end of the epoch, or after `stop`.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let running = self.running.get(py)?;
        loop {
            let next = py.detach(|| lock(running).as_mut().map_or(Next::End, Running::next));
            match next {
                Next::Batch(made) => return made.into_python(py).map(Some),
                Next::Wait => py.check_signals()?,
                Next::Failed(error) => {
                    self.stop(py)?;
                    return Err(raised(py, error));
                }
                Next::End => {
                    self.stop(py)?;
                    return Ok(None);
                }
                Next::Gone => {
                    self.stop(py)?;
                    return Err(PyRuntimeError::new_err(
                        "the thread that reads ahead failed unexpectedly (see its message above); please report it",
                    ));
                }
            }
        }
    }

    /// Stops the threads and waits for them.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        let running = self.running.get(py)?;
        py.detach(|| {
            let taken = lock(running).take();
            drop(taken);
        });
        Ok(())
    }
}

/// Reads until the end, an error, or until the receiver is gone.
fn read_all(opened: &LoaderCorpus, mut steps: EpochSteps, mut send: impl FnMut(Read) -> bool) {
    loop {
        // Files are read on this thread: to hand the work to the pool would only add a wait for its thread.
        let read = match steps.reads_files() {
            true => steps.read_together(),
            false => opened.pool.install(|| steps.read_together()),
        };
        let read = read.map_err(Error::from);
        let last = read.as_ref().map_or(true, Vec::is_empty);
        if !send(read) || last {
            return;
        }
    }
}

/// Reads ids until the end, an error, or until the receiver is gone.
fn read_ids(mut steps: IdSteps, mut send: impl FnMut(Message) -> bool) {
    loop {
        let message = match steps.read_together() {
            Ok(batches) if batches.is_empty() => Message::End,
            Ok(batches) => Message::Ids(batches),
            Err(error) => Message::Failed(error.into()),
        };
        let last = !matches!(message, Message::Ids(_));
        if !send(message) || last {
            return;
        }
    }
}

/// Makes batches from the reads, until the end, an error, or until the receiver is gone.
fn make(
    opened: &LoaderCorpus,
    maker: &Maker,
    read: &Receiver<Read>,
    mut send: impl FnMut(Message) -> bool,
) {
    for batches in read {
        let batches = match batches {
            Ok(batches) if batches.is_empty() => {
                send(Message::End);
                return;
            }
            Ok(batches) => batches,
            Err(error) => {
                send(Message::Failed(error));
                return;
            }
        };
        for (batch, after) in batches {
            let sent = match maker.make(&batch, after, &opened.sources) {
                Ok(made) => send(Message::Batch(Box::new(made))),
                Err(error) => {
                    send(Message::Failed(error));
                    false
                }
            };
            if !sent {
                return;
            }
        }
    }
}
