//! The thread that reads ahead: one batch is read while the one before becomes tensors, and neither needs the interpreter.

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

/// What is read, and of what every how many-th.
pub(super) struct Course {
    pub steps: EpochSteps,
    pub maker: Maker,
    pub stride: u64,
}

/// An end is sent like all else: a thread that ends without one has panicked.
enum Message {
    Batch(Box<Made>),
    Failed(Error),
    End,
}

/// The thread and what it has ready. Dropped, it stops at its next batch and is waited for: it must not read when
/// the process ends.
struct Running {
    receiver: Option<Receiver<Message>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.receiver.take());
        if let Some(thread) = self.thread.take() {
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
    pub(super) fn start(opened: Arc<Opened>, course: Course, prefetch: usize) -> PyResult<Self> {
        // The batch that waits to be sent is ready too.
        let (sender, receiver) = sync_channel(prefetch.saturating_sub(1));
        let thread = std::thread::Builder::new()
            .name("corpusdb loader".to_owned())
            .spawn(move || read(&opened, course, |message| sender.send(message).is_ok()))
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        let running = Running { receiver: Some(receiver), thread: Some(thread) };
        Ok(Self { running: Owned::new(Mutex::new(Some(running))) })
    }
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
fn read(opened: &Opened, course: Course, mut send: impl FnMut(Message) -> bool) {
    let Course { mut steps, maker, stride } = course;
    let mut first = true;
    let mut next = || -> Result<Option<(EpochBatch, u64)>, Error> {
        if !first {
            // What stands between the steps of this reader belongs to others.
            steps.skip_steps(stride.saturating_sub(1))?;
        }
        first = false;
        let Some(batch) = steps.next().transpose()? else { return Ok(None) };
        Ok(Some((batch, steps.state().1)))
    };
    let mut held = opened.pool.install(&mut next);
    loop {
        let (batch, after) = match held {
            Ok(Some(batch)) => batch,
            Ok(None) => {
                send(Message::End);
                return;
            }
            Err(error) => {
                send(Message::Failed(error));
                return;
            }
        };
        let make = || maker.make(&batch, after, &opened.sources);
        let (made, following) = opened.pool.install(|| rayon::join(make, &mut next));
        let sent = match made {
            Ok(made) => send(Message::Batch(Box::new(made))),
            Err(error) => {
                send(Message::Failed(error));
                false
            }
        };
        if !sent {
            return;
        }
        held = following;
    }
}
