//! The threads that read ahead: some batches are read while those before become tensors, and neither needs the
//! interpreter.

use super::made::{Made, Maker};
use super::reader::{Opened, lock, raised};
use crate::process::Owned;
use corpusdb::Error;
use corpusdb::epoch::{EpochBatch, EpochSteps};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often a waiting trainer looks for signals.
const TICK: Duration = Duration::from_millis(50);

/// An end is sent like all else: a thread that ends without one has panicked.
enum Message {
    Batch(Box<Made>),
    Failed(Error),
    End,
}

/// What the reading thread hands to the one that makes tensors: batches that were read together, each with the global
/// batch after its step. An end is sent like all else.
type Read = Result<Vec<(EpochBatch, u64)>, Error>;

/// The threads and what they have ready. Dropped, they stop at their next batch and are waited for: they must not read
/// when the process ends.
struct Running {
    receiver: Option<Receiver<Message>>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.receiver.take());
        for thread in self.threads.drain(..) {
            // A panic has said so itself.
            let _ = thread.join();
        }
    }
}

/// Batches read ahead.
#[pyclass(frozen, module = "corpusdb._native", name = "Batches")]
pub(crate) struct Batches {
    running: Owned<Mutex<Option<Running>>>,
}

impl Batches {
    pub(super) fn start(
        opened: Arc<Opened>,
        steps: EpochSteps,
        maker: Maker,
        prefetch: usize,
    ) -> PyResult<Self> {
        // The batch that waits to be sent is ready too.
        let (sender, receiver) = sync_channel(prefetch.saturating_sub(1));
        // None waits between them: what one has read the other takes when it has made all of what came before.
        let (read, taken) = sync_channel(0);
        let theirs = Arc::clone(&opened);
        let mut running = Running { receiver: Some(receiver), threads: Vec::new() };
        // The maker first: without it the reader has nobody to read for, and ends.
        running.threads.push(spawn("corpusdb loader", move || {
            make(&opened, &maker, &taken, |message| sender.send(message).is_ok());
        })?);
        running.threads.push(spawn("corpusdb reader", move || {
            read_all(&theirs, steps, |batches| read.send(batches).is_ok());
        })?);
        Ok(Self { running: Owned::new(Mutex::new(Some(running))) })
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> PyResult<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map_err(|error| PyOSError::new_err(error.to_string()))
}

#[pymethods]
impl Batches {
    /// The next batch; none at the end of the epoch, or when it was stopped.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let running = self.running.get(py)?;
        loop {
            let waited = py.detach(|| {
                let held = lock(running);
                let receiver = held.as_ref().and_then(|running| running.receiver.as_ref());
                receiver.map(|receiver| receiver.recv_timeout(TICK))
            });
            match waited {
                Some(Ok(Message::Batch(made))) => return made.into_python(py).map(Some),
                Some(Ok(Message::Failed(error))) => {
                    self.stop(py)?;
                    return Err(raised(py, error));
                }
                Some(Ok(Message::End)) => {
                    self.stop(py)?;
                    return Ok(None);
                }
                Some(Err(RecvTimeoutError::Timeout)) => py.check_signals()?,
                Some(Err(RecvTimeoutError::Disconnected)) => {
                    self.stop(py)?;
                    return Err(PyRuntimeError::new_err(
                        "the thread that reads ahead failed unexpectedly (its message stands above); please report it",
                    ));
                }
                None => return Ok(None),
            }
        }
    }

    /// Ends the thread and waits for it.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        let running = self.running.get(py)?;
        py.detach(|| {
            let taken = lock(running).take();
            drop(taken);
        });
        Ok(())
    }
}

/// Reads until the end, an error, or until nobody takes what is read.
fn read_all(opened: &Opened, mut steps: EpochSteps, mut send: impl FnMut(Read) -> bool) {
    loop {
        // What one thread does need not wait for another to wake.
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

/// Makes what is read ready, until the end, an error, or until nobody takes it.
fn make(
    opened: &Opened,
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
